//! Sampled products by windows, emulated: the conformance suite, every entry point, and bits that strides don't
//! change.

use std::sync::atomic::Ordering;

use girih_backend::{
    BackendError, DenseScalar, DenseView, DenseViewMut, Rounding, SddmmBackend, check_sddmm,
};
use girih_formats::{Csr, CsrPattern, DType, PAD_ROW, RowLayout};
use girih_testkit::conformance::run_sddmm_in_turns;
use girih_testkit::matrices;
use girih_testkit::operands::Layout;
use half::{bf16, f16};

use super::Emulated;
use super::entries::all_executed;
use super::operands::Placing;
use super::sampled::sampled;
use crate::kernels::sm90_window_sddmm::{WINDOW_ROWS, kernel};
use crate::prepared::sddmm_layout::Choice;

/// In which order rows stand in windows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    Natural,
    /// Last row first, behind the empty slots.
    Reversed,
}

impl Order {
    pub(crate) fn layout(self, nrows: usize) -> RowLayout {
        let layout = match self {
            Self::Natural => RowLayout::natural(nrows, WINDOW_ROWS),
            Self::Reversed => {
                let padding = nrows.next_multiple_of(WINDOW_ROWS) - nrows;
                let rows = (0..nrows as u32).rev();
                let slots: Vec<u32> = std::iter::repeat_n(PAD_ROW, padding).chain(rows).collect();
                RowLayout::explicit(nrows, WINDOW_ROWS, slots)
            }
        };
        layout.unwrap()
    }
}

/// A device that samples everything by windows.
#[derive(Debug)]
struct ByWindows(Emulated, Order);

impl SddmmBackend for ByWindows {
    fn sddmm(
        &self,
        pattern: CsrPattern<'_>,
        alpha: f64,
        x: DenseView<'_>,
        y: DenseView<'_>,
        beta: f64,
        s: DenseViewMut<'_>,
    ) -> Result<(), BackendError> {
        check_sddmm(pattern, &x, &y, &s)?;
        if pattern.nnz() == 0 {
            return Ok(());
        }
        let Self(device, order) = self;
        let turn = device.0.products.fetch_add(1, Ordering::Relaxed);
        let way = device.0.ways[turn % device.0.ways.len()];
        let windows = Some(order.layout(pattern.nrows()));
        device.sample(way, pattern, windows, (alpha, beta), (&x, &y), s).map_err(|error| {
            BackendError::Failed {
                backend: "emulated".to_owned(),
                operation: format!("sample the product by windows, {way:?}"),
                source: error.into(),
            }
        })
    }

    fn sddmm_rounding(&self, dtype: DType) -> Rounding {
        let windows = Some(Order::Natural.layout(1));
        Choice { windows, why: String::new() }.rounding(dtype)
    }
}

fn conforms(dtype: DType, placing: Placing, order: Order) {
    let Some(device) = Emulated::new(placing) else { return };
    let report = run_sddmm_in_turns(&ByWindows(device, order), dtype);
    assert!(report.passed(), "{dtype}: {report}");
}

#[test]
fn f16_conforms() {
    conforms(DType::F16, Placing::AsSent, Order::Natural);
}

#[test]
fn bf16_conforms() {
    conforms(DType::Bf16, Placing::AsGiven, Order::Reversed);
}

/// Windows of many tiles, of one and of none; tiles that are full and tiles with one entry.
fn pattern() -> Csr<f64> {
    let entry = |i: usize, j: usize| match i / 16 {
        0 => (i + j).is_multiple_of(3) || i == 4,
        1 => j == 3 || j == 77 && i == 20,
        2 => false,
        _ => (i * 7 + j) % 41 == 1,
    };
    matrices::where_(55, 1040, entry).unwrap()
}

/// Both entry points, with one panel of columns and two, and bits that neither they nor the order of rows change.
fn entries<T: DenseScalar>() {
    let Some(device) = Emulated::new(Placing::AsGiven) else { return };
    let (device, pattern) = (ByWindows(device, Order::Natural), pattern());
    for d in [8, 40, 520] {
        let by_rows = sampled::<T>(&device, &pattern, d, [Layout::RowMajor; 2]);
        let by_columns = [Layout::RowMajor, Layout::ColMajor];
        assert!(by_rows == sampled::<T>(&device, &pattern, d, by_columns), "d = {d}");
        let reversed = ByWindows(device.0.clone(), Order::Reversed);
        assert!(by_rows == sampled::<T>(&reversed, &pattern, d, [Layout::RowMajor; 2]), "d = {d}");
    }
    all_executed(&device.0.executed(), &kernel(T::DTYPE));
}

#[test]
fn every_entry_samples_f16() {
    entries::<f16>();
}

#[test]
fn every_entry_samples_bf16() {
    entries::<bf16>();
}
