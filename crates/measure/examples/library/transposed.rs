//! Products with the transpose beside plain products of the transposed matrix.

use girih::CpuBackend;
use girih::ndarray::Array2;
use girih::prelude::*;

use crate::clock::by_turns;
use crate::peer::Peer;
use crate::report::{Report, ms, times};
use crate::suite::Suite;
use crate::value::{check_product, random};
use crate::{Failure, problem};

/// Measures all matrices and numbers of columns.
pub(crate) fn measure(
    suite: &Suite,
    _: &mut Option<Peer>,
    report: &mut Report,
) -> Result<(), Failure> {
    let columns = ["matrix", "n", "Aᵀ·X, ms", "format", "plain, ms", "format", "ratio"];
    report
        .section("transposed: times as fast as plain products of the transposed matrix", &columns);
    let cpu = CpuBackend::new();
    for name in &suite.transposed.matrices {
        let Some(a) = problem::matrix::<f32>(name)? else { continue };
        let at = a.t();
        for &n in &suite.transposed.n {
            let plans = [a.plan(PlanOptions::new(n).op(Op::Transpose))?, at.plan(n)?];
            let b = random::<f32>(at.ncols(), n, 1);
            let prepare = |plan: &Plan| -> Result<Prepared, Failure> {
                let prepared = plan.prepare_on(&cpu)?;
                check_product(name, &at, plan, &b, &prepared.multiply(&b)?)?;
                Ok(prepared)
            };
            let (transposed, plain) = (prepare(&plans[0])?, prepare(&plans[1])?);
            let run = |prepared: &Prepared, c: &mut Array2<f32>| {
                prepared.multiply_into(1.0, &b, 0.0, c).expect("it ran before");
            };
            let mut c = [0; 2].map(|_| Array2::zeros((at.nrows(), n)));
            let [ours, theirs] = c.each_mut();
            let [ours, theirs] = by_turns(
                suite.seconds,
                [&mut || run(&transposed, ours), &mut || run(&plain, theirs)],
            );
            report.count("transposed products, beside plain ones", Some(0.9), theirs / ours);
            report.row(&[
                name.clone(),
                n.to_string(),
                ms(ours),
                transposed.spec().to_string(),
                ms(theirs),
                plain.spec().to_string(),
                times(theirs / ours),
            ]);
        }
    }
    Ok(())
}
