//! Whole jobs: what a program takes that multiplies by girih, by sprs, by scipy or by torch, everything else alike.

mod block_cg;
mod chebyshev;
mod gcn;
mod pagerank;

use std::cell::Cell;
use std::time::Instant;

use girih::CpuBackend;
use girih::formats::interop::sprs::CsMatI;
use girih::formats::interop::sprs::prod::csr_mulacc_dense_rowmaj;
use girih::ndarray::Array2;
use girih::prelude::*;

use crate::Failure;
use crate::clock::by_turns;
use crate::peer::{Peer, Request};
use crate::report::{Report, ms, times};
use crate::suite::Suite;
use crate::value::{Value, check_close};

/// What multiplies: `C = A·B + β·C`.
pub(crate) trait Multiply<T> {
    fn multiply(&self, b: &Array2<T>, beta: T, c: &mut Array2<T>) -> Result<(), BackendError>;
}

impl<T: Value> Multiply<T> for Prepared {
    fn multiply(&self, b: &Array2<T>, beta: T, c: &mut Array2<T>) -> Result<(), BackendError> {
        let (b, c) = (T::erase(b.view()), T::erase_acc_mut(c.view_mut()));
        self.multiply_into(1.0, b, beta.to_f64(), c)
    }
}

impl<T: Value> Multiply<T> for CsMatI<T, u32, u64> {
    fn multiply(&self, b: &Array2<T>, beta: T, c: &mut Array2<T>) -> Result<(), BackendError> {
        if beta == T::ZERO {
            c.fill(T::ZERO);
        } else if beta != T::ONE {
            c.mapv_inplace(|x| beta * x);
        }
        csr_mulacc_dense_rowmaj(self.view(), b.view(), c.view_mut());
        Ok(())
    }
}

/// One that counts the seconds that it takes.
struct Timed<'a, T> {
    inner: &'a dyn Multiply<T>,
    seconds: Cell<f64>,
}

impl<T: Value> Multiply<T> for Timed<'_, T> {
    fn multiply(&self, b: &Array2<T>, beta: T, c: &mut Array2<T>) -> Result<(), BackendError> {
        let start = Instant::now();
        self.inner.multiply(b, beta, c)?;
        self.seconds.set(self.seconds.get() + start.elapsed().as_secs_f64());
        Ok(())
    }
}

/// What a job does with what multiplies, in so many steps, from dense matrices by name.
type Run<T> = fn(&dyn Multiply<T>, usize, &[(&str, Array2<T>)]) -> Result<Array2<T>, BackendError>;

/// A job with all that it begins with.
struct Job<T: Value> {
    name: &'static str,
    matrix: String,
    a: Csr<T>,
    /// Columns of its products.
    n: usize,
    steps: usize,
    arrays: Vec<(&'static str, Array2<T>)>,
    run: Run<T>,
    /// How far results may be apart, as a share of the largest element.
    tolerance: f64,
}

/// The share of a job's time in sprs from which on products count as what dominates it.
const DOMINATES: f64 = 0.5;

/// Measures all jobs.
pub(crate) fn measure(
    suite: &Suite,
    peer: &mut Option<Peer>,
    report: &mut Report,
) -> Result<(), Failure> {
    let columns =
        ["job", "matrix", "n", "ms", "products", "format", "sprs", "products", "scipy", "torch"];
    report.section("jobs: times as fast as with other libraries, end to end", &columns);
    for &n in &suite.jobs.n {
        for name in &suite.jobs.pagerank {
            pagerank::job(name, n)?.map_or(Ok(()), |job| job.measure(suite, peer, report))?;
        }
        for name in &suite.jobs.chebyshev {
            chebyshev::job(name, n)?.map_or(Ok(()), |job| job.measure(suite, peer, report))?;
        }
        for name in &suite.jobs.block_cg {
            block_cg::job(name, n)?.map_or(Ok(()), |job| job.measure(suite, peer, report))?;
        }
        for name in &suite.jobs.gcn {
            gcn::job(name, n)?.map_or(Ok(()), |job| job.measure(suite, peer, report))?;
        }
    }
    Ok(())
}

impl<T: Value> Job<T> {
    fn measure(
        &self,
        suite: &Suite,
        peer: &mut Option<Peer>,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let prepared = self.a.plan(self.n)?.prepare_on(&CpuBackend::new())?;
        let sprs: CsMatI<T, u32, u64> = self.a.clone().into();
        let run = |with: &dyn Multiply<T>| (self.run)(with, self.steps, &self.arrays);
        let expected = run(&sprs)?;
        check_close(&self.what("girih"), &run(&prepared)?, &expected, self.tolerance)?;

        let share = |with: &dyn Multiply<T>| -> Result<f64, BackendError> {
            let (timed, start) = (Timed { inner: with, seconds: Cell::new(0.0) }, Instant::now());
            run(&timed)?;
            Ok(timed.seconds.get() / start.elapsed().as_secs_f64())
        };
        let (our_share, share) = (share(&prepared)?, share(&sprs)?);
        let [ours, by_sprs] = by_turns(
            suite.seconds,
            [
                &mut || {
                    run(&prepared).expect("it ran before");
                },
                &mut || {
                    run(&sprs).expect("it ran before");
                },
            ],
        );
        let others = match peer {
            None => Vec::new(),
            Some(peer) => peer.ask(&Request {
                job: self.name,
                a: &self.a,
                steps: self.steps,
                arrays: &self.arrays,
                seconds: suite.seconds,
            })?,
        };
        for one in &others {
            check_close(&self.what(&one.library), &one.out, &expected, self.tolerance)?;
        }
        let of = |library: &str| others.iter().find(|one| one.library == library);
        let ratio = |library| of(library).map(|one| one.seconds / ours);
        let counted = share >= DOMINATES && self.n >= 16;
        if counted {
            report.count("jobs in which products dominate, beside sprs", Some(3.0), by_sprs / ours);
            if let Some(ratio) = ratio("scipy") {
                report.count("such jobs beside scipy", Some(1.5), ratio);
            }
            if let Some(ratio) = ratio("torch") {
                report.count("such jobs beside torch", Some(1.5), ratio);
            }
        } else {
            report.count("other jobs, beside sprs", None, by_sprs / ours);
        }
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let cell = |library| ratio(library).map_or_else(String::new, times);
        report.row(&[
            self.name.to_owned(),
            self.matrix.clone(),
            self.n.to_string(),
            ms(ours),
            percent(our_share),
            prepared.spec().to_string(),
            times(by_sprs / ours),
            percent(share),
            cell("scipy"),
            cell("torch"),
        ]);
        Ok(())
    }

    fn what(&self, library: &str) -> String {
        format!("{} of {} with {library}", self.name, self.matrix)
    }
}

/// The array of a name.
fn array<'a, T>(arrays: &'a [(&str, Array2<T>)], name: &str) -> &'a Array2<T> {
    let found = arrays.iter().find(|one| one.0 == name);
    found.map_or_else(|| panic!("a job without {name}"), |one| &one.1)
}
