//! What searching for an order may cost, by estimate: plans do not depend on a clock.

use girih_formats::CsrPattern;
use girih_reorder::Method;

use crate::device::DeviceKind;
use crate::explanation::Seconds;
use crate::options::PlanOptions;

/// Products whose time a search may take, by estimate, without a saving in sight, of the fifty that a
/// search which finds nothing may take: estimates of its time and of products are rough.
const FREE_PRODUCTS: f64 = 40.0;

/// Products that a plan with ordered rows is made for, at the most: what an order is predicted to save in as many
/// has to cover computing it.
const PRODUCTS: f64 = 1e6;

/// Seconds of products that it is made for, at the most: a product of 80 ms is not repeated for a day.
const PRODUCTS_SECONDS: f64 = 300.0;

/// Seconds of any step, however small the matrix is: allocation, and handing work to threads.
const STEP_SECONDS: f64 = 20e-6;

/// Seconds of counting rows and columns for the bound, for each entry; a few passes over indices.
const BOUND_SECONDS: f64 = 3e-9;

/// Seconds of sampling windows, for each entry and each row: two cores of a Zen 5 took 0.5 to 1.5 times as long for 70
/// orders, 54 of them within a quarter.
const SAMPLE_SECONDS: (f64, f64) = (8e-9, 65e-9);

/// Seconds of RCM for each entry and each vertex. Two cores of a Zen 5 took 0.18 to 2.5 times as long for 70 orders, 53 of
/// them within a factor of two. Symmetric patterns with many entries to a row take least.
const RCM_SECONDS: (f64, f64) = (12e-9, 80e-9);

/// Seconds of a window ordering for each entry and each row. Two cores of a Zen 5 took 0.12 to 1.8 times as long for 70
/// orders, 54 of them within a factor of two.
const WINDOW_SECONDS: (f64, f64) = (1.1e-6, 12e-6);

/// Seconds of pricing an order for each entry: the footprint, sampled, and windows of 16 rows; a format
/// more takes a [count](crate::choice) more.
const PRICE_SECONDS: f64 = 8e-9;

/// Seconds of moving an entry to another row or column and sorting its row. A core of a Zen 5 took 8 to
/// 12 ns, without building the matrix.
const MOVE_SECONDS: f64 = 15e-9;

/// Seconds of reading an entry of a file, which a search may take for a GPU even where that is more than
/// 50 products: they are the shorter there, and a plan is not made by the GPU.
const READ_SECONDS: f64 = 50e-9;

/// What a step of the search is estimated to cost, in seconds of one core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step(pub(super) f64);

impl Step {
    pub(super) fn bound(pattern: CsrPattern<'_>) -> Self {
        Self(STEP_SECONDS + pattern.nnz() as f64 * BOUND_SECONDS)
    }

    pub(super) fn sample(pattern: CsrPattern<'_>) -> Self {
        let (nnz, nrows) = (pattern.nnz() as f64, pattern.nrows() as f64);
        Self(STEP_SECONDS + nnz * SAMPLE_SECONDS.0 + nrows * SAMPLE_SECONDS.1)
    }

    /// Copying a matrix with its rows or columns in another order.
    pub(super) fn moving(pattern: CsrPattern<'_>) -> Self {
        Self(STEP_SECONDS + pattern.nnz() as f64 * MOVE_SECONDS)
    }

    /// Pricing an order in CSR.
    pub(super) fn pricing(pattern: CsrPattern<'_>) -> Self {
        Self(pattern.nnz() as f64 * PRICE_SECONDS)
    }

    /// Computing an ordering and pricing it in CSR.
    pub(super) fn order(method: Method, pattern: CsrPattern<'_>) -> Self {
        let (nrows, ncols, nnz) = (pattern.nrows(), pattern.ncols(), pattern.nnz() as f64);
        // A rectangular matrix is ordered as a graph of rows and columns.
        let vertices = if nrows == ncols { nrows } else { nrows + ncols } as f64;
        let seconds = match method {
            Method::Rcm => nnz * RCM_SECONDS.0 + vertices * RCM_SECONDS.1,
            Method::Window { .. } => nnz * WINDOW_SECONDS.0 + nrows as f64 * WINDOW_SECONDS.1,
            // Sorting rows, at the most.
            _ => nrows as f64 * RCM_SECONDS.1,
        };
        Self(STEP_SECONDS + seconds + nnz * PRICE_SECONDS)
    }

    /// The options with what the caller's limit leaves after this.
    pub(super) fn before(self, options: &PlanOptions) -> PlanOptions {
        let left = options.planning_seconds.map(|limit| (limit - self.0).max(0.0));
        PlanOptions { planning_seconds: left, ..options.clone() }
    }
}

/// What may still be spent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allowance {
    /// What the caller allows for all of planning.
    limit: Option<f64>,
    left: f64,
    /// What may be spent without a saving in sight.
    free: f64,
    /// Products whose savings have to cover what is spent.
    products: f64,
}

impl Allowance {
    /// For a matrix that multiplies in `product` seconds as it is, after planning took `spent`.
    pub(super) fn new(
        options: &PlanOptions,
        pattern: CsrPattern<'_>,
        product: f64,
        spent: f64,
    ) -> Self {
        let reading = match options.target.kind {
            DeviceKind::Cpu => 0.0,
            DeviceKind::Cuda => pattern.nnz() as f64 * READ_SECONDS,
        };
        let limit = options.planning_seconds;
        let left = limit.map_or(f64::INFINITY, |limit| (limit - spent).max(0.0));
        let products = PRODUCTS.min(PRODUCTS_SECONDS / product);
        Self { limit, left, free: (FREE_PRODUCTS * product).max(reading), products }
    }

    /// What the caller's limit leaves; `None` without one.
    pub(super) fn left(&self) -> Option<f64> {
        self.limit.map(|_| self.left)
    }

    /// Takes what a step costs, if it may: within the limit, and either free or covered by what products are
    /// predicted to save, `saved` seconds each.
    ///
    /// # Errors
    /// Why it may not.
    pub(super) fn spend(&mut self, step: Step, saved: f64) -> Result<(), String> {
        let Step(seconds) = step;
        if let Some(limit) = self.limit.filter(|_| seconds > self.left) {
            return Err(format!(
                "it takes about {} to compute, and {} are left of the {} for planning",
                Seconds(seconds),
                Seconds(self.left),
                Seconds(limit)
            ));
        }
        if seconds > self.free && saved * self.products < seconds {
            return Err(format!(
                "it takes about {} to compute and is predicted to save {} a product, which {:.0} products \
                 do not cover; without a saving it may take {}, the time of {FREE_PRODUCTS:.0} products",
                Seconds(seconds),
                Seconds(saved.max(0.0)),
                self.products,
                Seconds(self.free)
            ));
        }
        self.take(seconds);
        Ok(())
    }

    /// Whether the caller's limit leaves time for a step.
    pub(super) fn has(&self, step: Step) -> bool {
        step.0 <= self.left
    }

    /// Takes from the caller's limit alone what the free share was not set for.
    pub(super) fn take_from_limit(&mut self, seconds: f64) {
        self.left = (self.left - seconds).max(0.0);
    }

    /// Takes what something cost that had to be done.
    pub(super) fn take(&mut self, seconds: f64) {
        self.left = (self.left - seconds).max(0.0);
        self.free = (self.free - seconds).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use girih_generate::uniform;

    use super::*;

    #[test]
    fn a_saving_covers_a_step_in_a_million_products_or_five_minutes_of_them() {
        let a = uniform::<f32>(100, 100, 4, 1).unwrap();
        let options = PlanOptions::default();
        let spends = |product: f64, seconds: f64, saved: f64| {
            Allowance::new(&options, a.pattern(), product, 0.0).spend(Step(seconds), saved).is_ok()
        };
        // A million products of 10 µs save a microsecond each.
        assert!(spends(1e-5, 0.99, 1e-6) && !spends(1e-5, 1.01, 1e-6));
        // In five minutes there are 3000 of 100 ms.
        assert!(spends(0.1, 29.0, 0.01) && !spends(0.1, 31.0, 0.01));
        // The time of 40 products is free.
        assert!(spends(0.1, 3.9, 0.0) && !spends(0.1, 4.1, 0.0));
    }
}
