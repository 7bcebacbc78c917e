//! A product as a list of numbers, which can be drawn, printed, read back and made smaller.

use std::fmt;
use std::str::FromStr;

use girih::formats::FormatError;
use girih::prelude::*;
use girih_generate::{self as generate, SplitMix64};
use girih_testkit::matrices;
use girih_testkit::operands::Layout;

/// What a case is made of. The number of a field is taken modulo the choices that there are, and 0 is the
/// simplest of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Class,
    Rows,
    Cols,
    PerRow,
    Seed,
    Spec,
    DType,
    N,
    Alpha,
    Beta,
    LayoutOfB,
    LayoutOfC,
    Order,
    Threads,
    NonFinite,
    Exact,
    TilesPerTask,
    Refresh,
    File,
    Backend,
}

/// How many there are.
pub(crate) const FIELDS: usize = Field::Backend as usize + 1;

/// One product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case(pub(crate) [u64; FIELDS]);

/// Those that take complex values come first.
const SPECS: [FormatSpec; 17] = [
    FormatSpec::Csr,
    FormatSpec::Bcsr { block_rows: 1, block_cols: 1 },
    FormatSpec::Bcsr { block_rows: 8, block_cols: 4 },
    FormatSpec::Bcsr { block_rows: 3, block_cols: 5 },
    FormatSpec::Bcsr { block_rows: 64, block_cols: 64 },
    FormatSpec::Wcsr { window_rows: 1, pad_cols: 1 },
    FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
    FormatSpec::Wcsr { window_rows: 7, pad_cols: 3 },
    FormatSpec::BlockedEll { block_size: 1 },
    FormatSpec::BlockedEll { block_size: 8 },
    FormatSpec::BlockedEll { block_size: 5 },
    FormatSpec::BMat { pattern_only: false },
    FormatSpec::BMat { pattern_only: true },
    FormatSpec::TwoFour,
    FormatSpec::Hybrid { window_rows: 16, pad_cols: 8, tile_entries: 12 },
    FormatSpec::Hybrid { window_rows: 8, pad_cols: 4, tile_entries: 7 },
    FormatSpec::Hybrid { window_rows: 7, pad_cols: 3, tile_entries: 4 },
];

/// Orders of the rows, and, as the last, one of the columns alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Natural,
    By(&'static str),
    Columns,
}

const ORDERS: [Order; 7] = [
    Order::Natural,
    Order::By("reverse"),
    Order::By("degree"),
    Order::By("random:7"),
    Order::By("rcm"),
    Order::By("window:8"),
    Order::Columns,
];

/// Which operands hold NaN and infinities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NonFinite {
    Nothing,
    InB,
    InA,
    InBoth,
}

impl Case {
    /// A random case.
    pub(crate) fn draw(seed: u64) -> Self {
        let mut rng = SplitMix64::new(seed, 0x6469_6666);
        let mut this = Self([0; FIELDS]);
        this.0.fill_with(|| rng.next_u64() >> 32);
        // Most products are of what most products are of; and each of the rest comes often enough.
        for (field, often) in [
            (Field::Order, 2),
            (Field::NonFinite, 3),
            (Field::Exact, 3),
            (Field::TilesPerTask, 2),
            (Field::Refresh, 3),
            (Field::File, 3),
        ] {
            if rng.below(often) > 0 {
                this.0[field as usize] = 0;
            }
        }
        this
    }

    fn pick(&self, field: Field, choices: usize) -> usize {
        (self.0[field as usize] % choices as u64) as usize
    }

    /// Rows and columns: often few, and beside the sizes of blocks and windows.
    fn dim(&self, field: Field) -> usize {
        const SIZES: [usize; 22] =
            [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40, 63, 64, 65, 100, 129, 200, 257, 0];
        SIZES[self.pick(field, SIZES.len())]
    }

    /// Any format: of complex values three times in four one that takes them.
    pub(crate) fn spec(&self) -> FormatSpec {
        let takes_complex =
            |spec: &&FormatSpec| matches!(spec, FormatSpec::Csr | FormatSpec::Bcsr { .. });
        let suits = self.dtype().is_complex() && !self.0[Field::Spec as usize].is_multiple_of(4);
        let of = if suits { SPECS.iter().filter(takes_complex).count() } else { SPECS.len() };
        SPECS[self.pick(Field::Spec, of)]
    }

    pub(crate) fn dtype(&self) -> DType {
        let all = [DType::F32, DType::F64, DType::F16, DType::Bf16, DType::C32, DType::C64];
        all[self.pick(Field::DType, all.len())]
    }

    pub(crate) fn n(&self) -> usize {
        const SIZES: [usize; 18] =
            [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 33, 48, 64, 65, 100, 0];
        SIZES[self.pick(Field::N, SIZES.len())]
    }

    pub(crate) fn alpha(&self) -> f64 {
        [1.0, -1.0, 0.5, -2.25, 0.0][self.pick(Field::Alpha, 5)]
    }

    pub(crate) fn beta(&self) -> f64 {
        [0.0, 1.0, -1.0, 0.375][self.pick(Field::Beta, 4)]
    }

    pub(crate) fn layout_of_b(&self) -> Layout {
        Layout::ALL[self.pick(Field::LayoutOfB, Layout::ALL.len())]
    }

    pub(crate) fn layout_of_c(&self) -> Layout {
        Layout::WRITABLE[self.pick(Field::LayoutOfC, Layout::WRITABLE.len())]
    }

    pub(crate) fn order(&self) -> Order {
        ORDERS[self.pick(Field::Order, ORDERS.len())]
    }

    pub(crate) fn threads(&self) -> usize {
        1 + self.pick(Field::Threads, 4)
    }

    pub(crate) fn non_finite(&self) -> NonFinite {
        let choices = [NonFinite::Nothing, NonFinite::InB, NonFinite::InA, NonFinite::InBoth];
        choices[self.pick(Field::NonFinite, 4)]
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.pick(Field::Exact, 2) == 1
    }

    /// `None` for the schedule that a plan comes with.
    pub(crate) fn tiles_per_task(&self) -> Option<u64> {
        [None, Some(1), Some(3), Some(64)][self.pick(Field::TilesPerTask, 4)]
    }

    pub(crate) fn refreshes(&self) -> bool {
        self.pick(Field::Refresh, 2) == 1
    }

    pub(crate) fn through_file(&self) -> bool {
        self.pick(Field::File, 2) == 1
    }

    pub(crate) fn backend(&self) -> usize {
        self.pick(Field::Backend, 4)
    }

    pub(crate) fn seed(&self) -> u64 {
        self.0[Field::Seed as usize]
    }

    /// The matrix, as its format can hold it.
    ///
    /// # Errors
    /// Never, unless a generator is wrong.
    pub(crate) fn matrix(&self) -> Result<Csr<f64>, FormatError> {
        let (m, k, seed) = (self.dim(Field::Rows), self.dim(Field::Cols), self.seed());
        let per_row = (1 + self.pick(Field::PerRow, 12)).min(k);
        let at = |size: usize| (seed as usize) % size.max(1);
        let tens = |size: usize| size.div_ceil(8).max(1);
        let a = match self.pick(Field::Class, 13) {
            // Without rows or columns there is one matrix.
            _ if m == 0 || k == 0 => Csr::empty(m, k),
            0 => generate::uniform(m, k, per_row, seed),
            1 => generate::banded(m, m, per_row, per_row, seed),
            2 => generate::power_law_rows(m, k, per_row, seed),
            3 => generate::dense_row(m, k, per_row, at(m), seed),
            // Besides the dense column.
            4 => generate::dense_col(m, k, per_row.min(k - 1), at(k), seed),
            5 => generate::empty_rows(m, k, per_row, 0.6, seed),
            6 => generate::block_sparse(8 * tens(m), 8 * tens(k), 8, 0.3, seed),
            7 => generate::pruned_weights(m, k, 0.7, seed),
            8 => generate::two_four(m, k, seed),
            9 => generate::laplacian_5pt(tens(m), tens(k)),
            10 => generate::fem_2d(tens(m), 3, 2, seed),
            11 => generate::rmat(1 + (seed % 7) as u32, per_row, seed),
            _ => Csr::empty(m, k),
        }?;
        matrices::fit(&a, self.spec().kind())
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&numbers.join(","))
    }
}

impl FromStr for Case {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let numbers: Result<Vec<u64>, _> = s.split(',').map(str::parse).collect();
        let numbers = numbers.map_err(|e| format!("{s:?} is no case: {e}"))?;
        let numbers = numbers.try_into();
        numbers.map(Self).map_err(|_| format!("{s:?} does not have {FIELDS} numbers"))
    }
}
