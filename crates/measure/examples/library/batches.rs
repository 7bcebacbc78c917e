//! Batches whose matrices lie one after another, which strides do not make one matrix of: beside single products, and
//! beside a batch that is one matrix.

use girih::CpuBackend;
use girih::ndarray::{Array3, Axis};
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
    let columns =
        ["matrix", "n", "batch", "ms", "one by one, ms", "ratio", "as one matrix, ms", "ratio"];
    report
        .section("batches: times as fast as single products, and as one of all columns", &columns);
    let (cpu, batch) = (CpuBackend::new(), suite.batches.batch);
    for name in &suite.batches.matrices {
        let Some(a) = problem::matrix::<f32>(name)? else { continue };
        for &n in &suite.batches.n {
            let plan = a.plan(n)?;
            let prepared = plan.prepare_on(&cpu)?;
            let wide = a.plan(n * batch)?.prepare_on(&cpu)?;
            let (m, k) = (a.nrows(), a.ncols());
            let b = random::<f32>(batch * k, n, 1).into_shape_with_order((batch, k, n))?;
            let mut c = Array3::<f32>::zeros((batch, m, n));
            prepared.multiply_batch_into(1.0, b.view(), 0.0, c.view_mut())?;
            for (b, c) in b.outer_iter().zip(c.outer_iter()) {
                check_product(name, &a, &plan, &b.to_owned(), &c.to_owned())?;
            }
            // The same stored row by row: k×batch×n.
            let by_rows = b.view().permuted_axes([1, 0, 2]).as_standard_layout().into_owned();
            let (mut each, mut one) = (c.clone(), Array3::<f32>::zeros((m, batch, n)));
            let [ours, singly, as_one] = by_turns(
                suite.seconds,
                [
                    &mut || {
                        prepared
                            .multiply_batch_into(1.0, b.view(), 0.0, c.view_mut())
                            .expect("it ran before");
                    },
                    &mut || {
                        for (t, mut c) in each.outer_iter_mut().enumerate() {
                            let b = b.index_axis(Axis(0), t);
                            prepared.multiply_into(1.0, b, 0.0, &mut c).expect("it ran before");
                        }
                    },
                    &mut || {
                        let (b, c) = (by_rows.view(), one.view_mut());
                        let (b, c) = (b.permuted_axes([1, 0, 2]), c.permuted_axes([1, 0, 2]));
                        wide.multiply_batch_into(1.0, b, 0.0, c).expect("it fits");
                    },
                ],
            );
            report.count("batches, beside single products", Some(1.0), singly / ours);
            report.count("batches, beside one product of all columns", None, as_one / ours);
            report.row(&[
                name.clone(),
                n.to_string(),
                batch.to_string(),
                ms(ours),
                ms(singly),
                times(singly / ours),
                ms(as_one),
                times(as_one / ours),
            ]);
        }
    }
    Ok(())
}
