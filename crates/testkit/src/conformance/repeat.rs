//! The same bits every time: again, at once, prepared anew, on any number of threads.

use super::problem::{Planned, bits, multiply};
use super::rows::RowOrder;
use super::{Suite, specs};
use girih_backend::DenseScalar;

const SCALES: [(f64, f64); 2] = [(1.0, 0.0), (-2.5, 0.5)];
const CASES: [&str; 3] = ["many windows", "one dense row", "long rows"];

impl Suite<'_> {
    /// Executions into one C, from several threads at once, and of a second preparation.
    pub(super) fn repetition<T: DenseScalar>(&mut self) {
        for case in self.named(&CASES) {
            for spec in specs(self.kind) {
                let planned = Planned { tiles_per_task: Some(2), ..Planned::natural(spec) };
                self.with_plan::<T>(&case, planned, |suite, a, plan, prepared| {
                    let what = |how| format!("{spec} {}, {:?}, {how}", T::DTYPE, case.name);
                    for scale in SCALES {
                        let report = &mut suite.report;
                        report.checks += 1;
                        let first = bits(&multiply(prepared, a, 33, scale, report));
                        for _ in 0..3 {
                            if bits(&multiply(prepared, a, 33, scale, report)) != first {
                                report.fail(&what("executed again"), "other bits");
                            }
                        }
                        let at_once: Vec<_> = std::thread::scope(|scope| {
                            let run = || {
                                let mut own = super::Report::default();
                                let c = bits(&multiply(prepared, a, 33, scale, &mut own));
                                (c, own.failures)
                            };
                            let threads: Vec<_> = (0..3).map(|_| scope.spawn(run)).collect();
                            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
                        });
                        for outcome in at_once {
                            if !matches!(outcome, Ok((c, fails)) if c == first && fails.is_empty())
                            {
                                report.fail(&what("executed at once"), "other bits, or none");
                            }
                        }
                        match suite.backend.prepare(plan) {
                            Ok(anew) if bits(&multiply(&*anew, a, 33, scale, report)) == first => {}
                            Ok(_) => report.fail(&what("prepared anew"), "other bits"),
                            Err(error) => report.fail(&what("prepared anew"), error),
                        }
                    }
                    suite.one_c::<T>(&what("into one C"), a, prepared);
                });
            }
        }
    }

    /// β = 0 over and over into the very same C, which holds the last result, not NaN.
    fn one_c<T: DenseScalar>(
        &mut self,
        what: &str,
        a: &girih_formats::Csr<T>,
        prepared: &dyn girih_backend::PreparedSpmm,
    ) {
        let b = crate::operands::random::<T>(a.ncols(), 33, 1);
        let mut c = super::problem::before::<T>(a.nrows(), 33, 0.0);
        let mut first = None;
        for _ in 0..3 {
            let c_view = T::erase_acc_mut(c.view_mut());
            if let Err(error) = prepared.execute(1.0, T::erase(b.view()), 0.0, c_view) {
                return self.report.fail(what, error);
            }
            if *first.get_or_insert_with(|| bits(&c)) != bits(&c) {
                self.report.fail(what, "other bits");
            }
        }
    }

    /// Pools of 1, 2, 3 and 7 threads.
    pub(super) fn threads<T: DenseScalar>(&mut self) {
        for case in self.named(&CASES) {
            for spec in specs(self.kind) {
                let rows = RowOrder::Shuffled;
                let planned = Planned { rows, tiles_per_task: Some(2), ..Planned::natural(spec) };
                self.with_plan::<T>(&case, planned, |suite, a, plan, _| {
                    let mut first = None;
                    for threads in [1, 2, 3, 7] {
                        suite.report.checks += 1;
                        let what =
                            format!("{spec} {}, {:?}, {threads} threads", T::DTYPE, case.name);
                        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                        let backend = suite.backend;
                        let report = &mut suite.report;
                        let result = pool.map_err(|e| e.to_string()).and_then(|pool| {
                            pool.install(|| {
                                let prepared = backend.prepare(plan).map_err(|e| e.to_string())?;
                                Ok(bits(&multiply(&*prepared, a, 129, (-2.5, 0.5), report)))
                            })
                        });
                        match result {
                            Err(error) => suite.report.fail(&what, error),
                            Ok(c) => {
                                if *first.get_or_insert_with(|| c.clone()) != c {
                                    suite.report.fail(&what, "other bits than with one thread");
                                }
                            }
                        }
                    }
                });
            }
        }
    }
}
