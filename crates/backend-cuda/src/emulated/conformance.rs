//! The conformance suite, on the emulated device.

use girih_formats::{DType, FormatKind};
use girih_planner::Precision;
use girih_testkit::conformance::{assert_conforms, run_refusals};
use girih_testkit::{Coverage, InPrecision};

use super::Emulated;
use super::operands::Placing;
use crate::kernels::sm90_dense_gemm::{DenseConfig, FullBlocks};
use crate::{CsrLayout, CsrTeams};

fn csr(dtype: DType, placing: Placing) {
    let Some(device) = Emulated::new(placing) else { return };
    assert_conforms(&device, FormatKind::Csr, dtype, Coverage::EverySpec);
}

fn wcsr(dtype: DType, placing: Placing) {
    let Some(device) = Emulated::new(placing) else { return };
    assert_conforms(&device, FormatKind::Wcsr, dtype, Coverage::SupportedSpecs);
}

#[test]
fn csr_f16() {
    csr(DType::F16, Placing::AsGiven);
}

#[test]
fn csr_bf16() {
    csr(DType::Bf16, Placing::AsSent);
}

#[test]
fn csr_f32() {
    csr(DType::F32, Placing::AsGiven);
}

/// All rows by teams, whatever they are like.
#[test]
fn csr_f32_by_teams() {
    let Some(device) = Emulated::new(Placing::AsSent) else { return };
    let teams = CsrTeams { lanes: 4, team: 8, depth: 4, warps: 3, turns: 2, panel_tiles: 2 };
    let device = device.with_csr_layout(CsrLayout::Teams(teams));
    assert_conforms(&device, FormatKind::Csr, DType::F32, Coverage::EverySpec);
}

#[test]
fn csr_f64() {
    csr(DType::F64, Placing::AsSent);
}

#[test]
fn refuses_the_rest() {
    let Some(device) = Emulated::new(Placing::AsSent) else { return };
    let report = run_refusals(&device);
    assert!(report.failures.is_empty(), "{report}");
}

#[test]
fn wcsr_f16() {
    wcsr(DType::F16, Placing::AsSent);
}

#[test]
fn wcsr_bf16() {
    wcsr(DType::Bf16, Placing::AsGiven);
}

#[test]
fn wcsr_tf32() {
    wcsr(DType::F32, Placing::AsGiven);
}

fn bcsr(dtype: DType, placing: Placing) {
    let Some(device) = Emulated::new(placing) else { return };
    assert_conforms(&device, FormatKind::Bcsr, dtype, Coverage::SupportedSpecs);
}

#[test]
fn bcsr_f16() {
    bcsr(DType::F16, Placing::AsGiven);
}

#[test]
fn bcsr_bf16() {
    bcsr(DType::Bf16, Placing::AsSent);
}

#[test]
fn bcsr_f32() {
    bcsr(DType::F32, Placing::AsGiven);
}

/// Every plan whose blocks are all there is multiplied by the dense kernel, in one of the two configurations
/// of large products: the first has clusters, the second reads elements too.
fn dense(dtype: DType, placing: Placing, config: usize) {
    let Some(device) = Emulated::new(placing) else { return };
    let device = device.with_full(FullBlocks::Dense(DenseConfig::products(dtype)[config]));
    assert_conforms(&device, FormatKind::Bcsr, dtype, Coverage::SupportedSpecs);
    let executed = device.executed();
    let is_dense = |kernel: &str| kernel.starts_with("sm90_dense_gemm");
    assert!(executed.iter().any(|(kernel, _)| is_dense(kernel)), "{executed:?}");
}

#[test]
fn dense_f16() {
    dense(DType::F16, Placing::AsSent, 0);
}

#[test]
fn dense_bf16() {
    dense(DType::Bf16, Placing::AsGiven, 1);
}

#[test]
fn dense_f32() {
    dense(DType::F32, Placing::AsGiven, 0);
}

fn bmat(dtype: DType, placing: Placing) {
    let Some(device) = Emulated::new(placing) else { return };
    assert_conforms(&device, FormatKind::BMat, dtype, Coverage::EverySpec);
}

#[test]
fn bmat_f16() {
    bmat(DType::F16, Placing::AsGiven);
}

#[test]
fn bmat_bf16() {
    bmat(DType::Bf16, Placing::AsSent);
}

#[test]
fn bmat_tf32() {
    bmat(DType::F32, Placing::AsGiven);
}

fn bmat_in(precision: Precision, placing: Placing) {
    let Some(device) = Emulated::new(placing) else { return };
    let device = InPrecision::new(device, precision);
    assert_conforms(&device, FormatKind::BMat, DType::F32, Coverage::EverySpec);
}

#[test]
fn bmat_3xtf32() {
    bmat_in(Precision::ThreeTf32, Placing::AsSent);
}

#[test]
fn bmat_f32() {
    bmat_in(Precision::F32, Placing::AsGiven);
}

#[test]
fn bmat_f32_as_sent() {
    bmat_in(Precision::F32, Placing::AsSent);
}

fn two_four(dtype: DType, placing: Placing) {
    let Some(device) = Emulated::new(placing) else { return };
    assert_conforms(&device, FormatKind::TwoFour, dtype, Coverage::EverySpec);
}

#[test]
fn two_four_f16() {
    two_four(DType::F16, Placing::AsSent);
}

#[test]
fn two_four_bf16() {
    two_four(DType::Bf16, Placing::AsGiven);
}
