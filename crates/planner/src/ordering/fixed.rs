//! An order that is computed by a method, as the options fix it.

use girih_formats::CsrPattern;
use girih_reorder::{BlockOptions, Method, ReorderError, Reordering, blocks};

use super::bound::block_size;
use super::choose::WINDOW_ROWS;
use super::{Reorder, Space};
use crate::options::{FormatChoice, PlanOptions};
use crate::progress::{Progress, Stage, Watch};

/// The order that options fix: a method, with windows as high as those of the format.
///
/// Options with equal fixed orders put the rows of a matrix in the same order. So a caller who plans
/// for several formats or numbers of columns can compute it once, and give it to
/// [`Planner::plan_reordered`](crate::Planner::plan_reordered).
///
/// ```
/// use girih_formats::FormatSpec;
/// use girih_generate::laplacian_5pt;
/// use girih_planner::{PlanOptions, Planner};
/// use girih_reorder::Method;
///
/// let a = laplacian_5pt::<f32>(30, 30)?;
/// let options = |n| PlanOptions::new(n).format(FormatSpec::Csr).reorder(Method::Rcm);
/// let fixed = options(8).fixed_order().ok_or("the order is fixed")?;
/// assert_eq!(options(64).fixed_order(), Some(fixed));
///
/// let order = fixed.order(a.pattern())?;
/// for n in [8, 64] {
///     let plan = Planner::new(options(n)).plan_reordered(&a, &order)?;
///     assert_eq!(plan.row_permutation(), Planner::new(options(n)).plan(&a)?.row_permutation());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedOrder {
    method: Method,
    /// The sizes of blocks that rows and columns are dealt into, where the format has blocks and columns may move.
    blocks: Option<(usize, usize)>,
}

impl PlanOptions {
    /// The order that these options fix; `None` if they leave it to the planner, to the caller or as it is.
    #[must_use]
    pub fn fixed_order(&self) -> Option<FixedOrder> {
        match self.reorder {
            Reorder::By(method) => Some(FixedOrder::by(method, self)),
            Reorder::None | Reorder::Auto | Reorder::Given => None,
        }
    }
}

impl FixedOrder {
    /// The order that a method comes to with these options, whatever order they name.
    pub(super) fn by(method: Method, options: &PlanOptions) -> Self {
        let method = for_format(method, options.format);
        let size = match (method, options.format, options.space) {
            (Method::Window { .. }, FormatChoice::Fixed(spec), Space::Caller) => block_size(spec),
            _ => None,
        };
        Self { method, blocks: size.filter(|&(rows, _)| rows > 1) }
    }

    /// The method, with the height of its windows.
    pub(super) fn method(self) -> Method {
        self.method
    }

    /// Computes the order of a matrix. Its cost is the method's.
    ///
    /// # Errors
    /// If the method does not take the matrix; see [`Method::order`].
    pub fn order(self, pattern: CsrPattern<'_>) -> Result<Reordering, ReorderError> {
        self.compute(pattern, Watch::nobody())
    }

    /// Like [`order`](Self::order), reporting its progress to `observer`.
    ///
    /// # Errors
    /// As [`order`](Self::order).
    pub fn order_observed(
        self,
        pattern: CsrPattern<'_>,
        observer: &dyn Fn(Progress),
    ) -> Result<Reordering, ReorderError> {
        self.compute(pattern, Watch::by(observer))
    }

    /// [`order`](Self::order), for a planner's watch.
    pub(super) fn compute(
        self,
        pattern: CsrPattern<'_>,
        watch: Watch<'_>,
    ) -> Result<Reordering, ReorderError> {
        if let Some((rows, cols)) = self.blocks {
            watch.stage(Stage::Blocks { rows, cols });
            let found = blocks(pattern, &BlockOptions::new(rows, cols))?;
            return Ok(Reordering::of_layout(found.rows, Some(found.cols)));
        }
        let stage = Stage::Order(self.method);
        watch.stage(stage);
        self.method.order_observed(pattern, &|done, total| watch.share(stage, done, total))
    }
}

/// The method, with windows as high as those of the format that is fixed.
pub(super) fn for_format(method: Method, format: FormatChoice) -> Method {
    match (method, format) {
        (Method::Window { window_rows: None }, FormatChoice::Fixed(spec)) => {
            // A window of one row has nothing to share; kernels that work row by row reuse what a
            // cache keeps of the last few.
            let rows = spec.window_rows().max(WINDOW_ROWS[0] as usize);
            Method::Window { window_rows: u32::try_from(rows).ok() }
        }
        _ => method,
    }
}
