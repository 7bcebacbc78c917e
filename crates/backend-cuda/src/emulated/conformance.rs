//! The conformance suite, on the emulated device.
//!
//! Of every kernel one value type, or two where they differ in more than a conversion, takes all products. Other
//! types and ways take every check and every plan, with a third of the products of each. `GIRIH_SWEEP=full` has
//! all of them take all; so does a device (`tests/conformance.rs`).

use girih_backend::SpmmBackend;
use girih_formats::{DType, FormatKind};
use girih_planner::Precision;
use girih_testkit::conformance::{assert_conforms, assert_conforms_in_turns, run_refusals};
use girih_testkit::{Coverage, InPrecision};

use super::Emulated;
use super::operands::Placing;
use crate::kernels::sm90_dense_gemm::{DenseConfig, FullBlocks};
use crate::{CsrLayout, CsrTeams, CtaOrder};

/// How many products are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Products {
    All,
    InTurns,
}

impl Products {
    fn conform(self, device: &dyn SpmmBackend, kind: FormatKind, dtype: DType, of: Coverage) {
        let is_full = std::env::var("GIRIH_SWEEP").is_ok_and(|sweep| sweep == "full");
        match self {
            Self::InTurns if !is_full => assert_conforms_in_turns(device, kind, dtype, of),
            _ => assert_conforms(device, kind, dtype, of),
        }
    }
}

fn csr(dtype: DType, placing: Placing, products: Products) {
    let Some(device) = Emulated::new(placing) else { return };
    products.conform(&device, FormatKind::Csr, dtype, Coverage::EverySpec);
}

fn wcsr(dtype: DType, placing: Placing, products: Products) {
    let Some(device) = Emulated::new(placing) else { return };
    products.conform(&device, FormatKind::Wcsr, dtype, Coverage::SupportedSpecs);
}

#[test]
fn csr_f16() {
    csr(DType::F16, Placing::AsGiven, Products::All);
}

/// A B whose rows are no whole vectors is copied first.
fn of_copies(kind: FormatKind, dtype: DType, coverage: Coverage) {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    let device = device.copying_b();
    Products::InTurns.conform(&device, kind, dtype, coverage);
    let copied = format!("pack_b_{}", dtype.size());
    assert!(device.executed().iter().any(|(_, entry)| *entry == copied), "{copied}");
}

#[test]
fn csr_f16_of_copies() {
    of_copies(FormatKind::Csr, DType::F16, Coverage::EverySpec);
}

#[test]
fn csr_f64_of_copies() {
    of_copies(FormatKind::Csr, DType::F64, Coverage::EverySpec);
}

#[test]
fn bcsr_f32_of_copies() {
    of_copies(FormatKind::Bcsr, DType::F32, Coverage::SupportedSpecs);
}

#[test]
fn csr_bf16() {
    csr(DType::Bf16, Placing::AsSent, Products::InTurns);
}

#[test]
fn csr_f32() {
    csr(DType::F32, Placing::AsGiven, Products::All);
}

/// All rows by teams, whatever they are like.
#[test]
fn csr_f32_by_teams() {
    let Some(device) = Emulated::new(Placing::AsSent) else { return };
    let teams =
        CsrTeams { lanes: 4, team: 8, depth: 4, vectors: 1, warps: 3, turns: 2, panel_tiles: 2 };
    let device = device.with_csr_layout(CsrLayout::Teams(teams));
    Products::InTurns.conform(&device, FormatKind::Csr, DType::F32, Coverage::EverySpec);
}

/// Tiles of a quarter of what a warp takes, several side by side.
#[test]
fn csr_f32_in_panels() {
    let Some(device) = Emulated::new(Placing::AsSent) else { return };
    let device = device.with_cta_order(CtaOrder { tile_columns: 32, panel_tiles: 3 });
    Products::InTurns.conform(&device, FormatKind::Csr, DType::F32, Coverage::EverySpec);
}

#[test]
fn csr_f64() {
    csr(DType::F64, Placing::AsSent, Products::InTurns);
}

#[test]
fn csr_c32() {
    csr(DType::C32, Placing::AsGiven, Products::InTurns);
}

/// All rows by teams.
#[test]
fn csr_c32_by_teams() {
    let Some(device) = Emulated::new(Placing::AsSent) else { return };
    let teams =
        CsrTeams { lanes: 8, team: 16, depth: 8, vectors: 1, warps: 2, turns: 3, panel_tiles: 1 };
    let device = device.with_csr_layout(CsrLayout::Teams(teams));
    Products::InTurns.conform(&device, FormatKind::Csr, DType::C32, Coverage::EverySpec);
}

#[test]
fn csr_c64() {
    csr(DType::C64, Placing::AsGiven, Products::All);
}

#[test]
fn refuses_the_rest() {
    let Some(device) = Emulated::new(Placing::AsSent) else { return };
    let report = run_refusals(&device);
    assert!(report.failures.is_empty(), "{report}");
}

#[test]
fn wcsr_f16() {
    wcsr(DType::F16, Placing::AsSent, Products::All);
}

#[test]
fn wcsr_bf16() {
    wcsr(DType::Bf16, Placing::AsGiven, Products::InTurns);
}

#[test]
fn wcsr_tf32() {
    wcsr(DType::F32, Placing::AsGiven, Products::All);
}

/// Tiles side by side, some of them beyond the last column.
#[test]
fn wcsr_tf32_in_panels() {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    let device = device.with_cta_order(CtaOrder { tile_columns: 128, panel_tiles: 2 });
    Products::InTurns.conform(&device, FormatKind::Wcsr, DType::F32, Coverage::SupportedSpecs);
}

fn hybrid(dtype: DType, placing: Placing, products: Products) {
    let Some(device) = Emulated::new(placing) else { return };
    products.conform(&device, FormatKind::Hybrid, dtype, Coverage::SupportedSpecs);
    let executed = device.executed();
    let is_there = |stem: &str| executed.iter().any(|(kernel, _)| kernel.starts_with(stem));
    assert!(is_there("sm90_wcsr_spmm") && is_there("csr_spmm"), "{executed:?}");
}

#[test]
fn hybrid_f16() {
    hybrid(DType::F16, Placing::AsSent, Products::InTurns);
}

#[test]
fn hybrid_bf16() {
    hybrid(DType::Bf16, Placing::AsGiven, Products::InTurns);
}

#[test]
fn hybrid_tf32() {
    hybrid(DType::F32, Placing::AsGiven, Products::All);
}

fn bcsr(dtype: DType, placing: Placing, products: Products) {
    let Some(device) = Emulated::new(placing) else { return };
    products.conform(&device, FormatKind::Bcsr, dtype, Coverage::SupportedSpecs);
}

#[test]
fn bcsr_f16() {
    bcsr(DType::F16, Placing::AsGiven, Products::All);
}

#[test]
fn bcsr_bf16() {
    bcsr(DType::Bf16, Placing::AsSent, Products::InTurns);
}

#[test]
fn bcsr_f32() {
    bcsr(DType::F32, Placing::AsGiven, Products::All);
}

/// Every plan whose blocks are all there is multiplied by the dense kernel, in one of the two configurations
/// of large products: the first has clusters, the second reads elements too.
fn dense(dtype: DType, placing: Placing, config: usize, products: Products) {
    let Some(device) = Emulated::new(placing) else { return };
    let device = device.with_full(FullBlocks::Dense(DenseConfig::products(dtype)[config]));
    products.conform(&device, FormatKind::Bcsr, dtype, Coverage::SupportedSpecs);
    let executed = device.executed();
    let is_dense = |kernel: &str| kernel.starts_with("sm90_dense_gemm");
    assert!(executed.iter().any(|(kernel, _)| is_dense(kernel)), "{executed:?}");
}

#[test]
fn dense_f16() {
    dense(DType::F16, Placing::AsSent, 0, Products::All);
}

#[test]
fn dense_bf16() {
    dense(DType::Bf16, Placing::AsGiven, 1, Products::InTurns);
}

#[test]
fn dense_f32() {
    dense(DType::F32, Placing::AsGiven, 0, Products::InTurns);
}

fn bmat(dtype: DType, placing: Placing, products: Products) {
    let Some(device) = Emulated::new(placing) else { return };
    products.conform(&device, FormatKind::BMat, dtype, Coverage::EverySpec);
}

#[test]
fn bmat_f16() {
    bmat(DType::F16, Placing::AsGiven, Products::All);
}

#[test]
fn bmat_bf16() {
    bmat(DType::Bf16, Placing::AsSent, Products::InTurns);
}

#[test]
fn bmat_tf32() {
    bmat(DType::F32, Placing::AsGiven, Products::InTurns);
}

fn bmat_in(precision: Precision, placing: Placing, products: Products) {
    let Some(device) = Emulated::new(placing) else { return };
    let device = InPrecision::new(device, precision);
    products.conform(&device, FormatKind::BMat, DType::F32, Coverage::EverySpec);
}

#[test]
fn bmat_3xtf32() {
    bmat_in(Precision::ThreeTf32, Placing::AsSent, Products::InTurns);
}

#[test]
fn bmat_f32() {
    bmat_in(Precision::F32, Placing::AsGiven, Products::All);
}

#[test]
fn bmat_f32_as_sent() {
    bmat_in(Precision::F32, Placing::AsSent, Products::InTurns);
}

fn two_four(dtype: DType, placing: Placing, products: Products) {
    let Some(device) = Emulated::new(placing) else { return };
    products.conform(&device, FormatKind::TwoFour, dtype, Coverage::EverySpec);
}

#[test]
fn two_four_f16() {
    two_four(DType::F16, Placing::AsSent, Products::All);
}

#[test]
fn two_four_bf16() {
    two_four(DType::Bf16, Placing::AsGiven, Products::InTurns);
}
