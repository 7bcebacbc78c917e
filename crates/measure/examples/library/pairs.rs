//! A and Aᵀ prepared together, beside two plans of one's own.

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
    let columns = [
        "matrix",
        "n",
        "shared",
        "planned and prepared, ms",
        "ratio",
        "A·X and Aᵀ·Y, ms",
        "ratio",
        "refresh, ms",
        "ratio",
    ];
    report.section("pairs: times as fast as a plan of A and a plan of Aᵀ", &columns);
    let cpu = CpuBackend::new();
    for name in &suite.pairs.matrices {
        let Some(a) = problem::matrix::<f32>(name)? else { continue };
        let at = a.t();
        for &n in &suite.pairs.n {
            let both = || -> Result<_, Failure> { Ok(a.plan_pair(n)?.prepare_on(&cpu)?) };
            let each = || -> Result<_, Failure> {
                let transposed = a.plan(PlanOptions::new(n).op(Op::Transpose))?;
                Ok([a.plan(n)?.prepare_on(&cpu)?, transposed.prepare_on(&cpu)?])
            };
            let (mut pair, mut two) = (both()?, each()?);
            let (x, y) = (random::<f32>(a.ncols(), n, 1), random(a.nrows(), n, 2));
            check_product(name, &a, &a.plan(n)?, &x, &pair.multiply(&x)?)?;
            check_product(name, &at, &at.plan(n)?, &y, &pair.multiply_transposed(&y)?)?;

            let planned = by_turns(
                suite.seconds,
                [
                    &mut || {
                        both().expect("it ran before");
                    },
                    &mut || {
                        each().expect("it ran before");
                    },
                ],
            );
            let run = |[plain, transposed]: [&Prepared; 2], c: &mut [Array2<f32>; 2]| {
                plain.multiply_into(1.0, &x, 0.0, &mut c[0]).expect("it ran before");
                transposed.multiply_into(1.0, &y, 0.0, &mut c[1]).expect("it ran before");
            };
            let mut c = [a.nrows(), a.ncols()].map(|rows| Array2::zeros((rows, n)));
            let mut again = c.clone();
            let products = by_turns(
                suite.seconds,
                [&mut || run([pair.plain(), pair.transposed()], &mut c), &mut || {
                    run(two.each_ref(), &mut again);
                }],
            );
            let refreshed = by_turns(
                suite.seconds,
                [&mut || pair.refresh(a.values()).expect("its own values"), &mut || {
                    for one in &mut two {
                        one.refresh(a.values()).expect("its own values");
                    }
                }],
            );
            let ratio = |[ours, other]: [f64; 2]| other / ours;
            report.count("pairs planned and prepared, beside two plans", None, ratio(planned));
            report.count("products of pairs, beside two plans", Some(0.95), ratio(products));
            report.count("refresh of pairs, beside two plans", None, ratio(refreshed));
            report.row(&[
                name.clone(),
                n.to_string(),
                pair.is_shared().to_string(),
                ms(planned[0]),
                times(ratio(planned)),
                ms(products[0]),
                times(ratio(products)),
                ms(refreshed[0]),
                times(ratio(refreshed)),
            ]);
        }
    }
    Ok(())
}
