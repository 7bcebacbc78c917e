//! New values on a prepared pattern, beside one copy of the values.

use girih::prelude::*;
use girih::{CpuBackend, FormatSpec};
use rayon::prelude::*;

use crate::clock::by_turns;
use crate::peer::Peer;
use crate::report::{Report, ms, times};
use crate::suite::Suite;
use crate::value::{check_product, random};
use crate::{Failure, problem};

const FORMATS: [FormatSpec; 4] = [
    FormatSpec::Csr,
    FormatSpec::Bcsr { block_rows: 4, block_cols: 4 },
    FormatSpec::Wcsr { window_rows: 16, pad_cols: 8 },
    FormatSpec::BMat { pattern_only: false },
];

/// Elements that one thread copies at a time.
const CHUNK: usize = 1 << 14;

/// Measures every format of every matrix.
pub(crate) fn measure(
    suite: &Suite,
    _: &mut Option<Peer>,
    report: &mut Report,
) -> Result<(), Failure> {
    let columns =
        ["matrix", "entries", "format", "refresh, ms", "copy, ms", "on one thread, ms", "ratio"];
    report.section("refresh: times as fast as copying the values once, on all threads", &columns);
    let cpu = CpuBackend::new();
    for name in &suite.refresh.matrices {
        let Some(a) = problem::matrix::<f32>(name)? else { continue };
        let values = random::<f32>(a.nnz(), 1, 2).into_raw_vec_and_offset().0;
        let (fresh, b) = (a.with_values(values.clone())?, random(a.ncols(), 8, 1));
        for spec in FORMATS {
            let plan = a.plan(PlanOptions::new(8).format(spec))?;
            let mut prepared = plan.prepare_on(&cpu)?;
            prepared.refresh(&values)?;
            let new = fresh.plan(PlanOptions::new(8).format(spec))?;
            check_product(name, &fresh, &new, &b, &prepared.multiply(&b)?)?;

            let (mut to, mut on_one) = (values.clone(), values.clone());
            let [ours, copy, one] = by_turns(
                suite.seconds,
                [
                    &mut || prepared.refresh(&values).expect("it ran before"),
                    &mut || {
                        let chunks = to.par_chunks_mut(CHUNK).zip(values.par_chunks(CHUNK));
                        chunks.for_each(|(to, from)| to.copy_from_slice(from));
                    },
                    &mut || on_one.copy_from_slice(&values),
                ],
            );
            report.count("refresh, beside a copy of the values", Some(1.0 / 1.2), copy / ours);
            report.row(&[
                name.clone(),
                a.nnz().to_string(),
                prepared.spec().to_string(),
                ms(ours),
                ms(copy),
                ms(one),
                times(copy / ours),
            ]);
        }
    }
    Ok(())
}
