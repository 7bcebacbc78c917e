//! Sampled products beside torch, in f32 and f64.

use girih::backend::{SampledProduct, verify_sddmm};
use girih::ndarray::Array2;
use girih::{CpuBackend, Rounding, SddmmBackend};

use crate::clock::by_turns;
use crate::peer::{Peer, Request};
use crate::report::{Report, ms, times};
use crate::suite::Suite;
use crate::value::{Value, check_close, random};
use crate::{Failure, problem};

/// Measures every pattern and number of columns.
pub(crate) fn measure(
    suite: &Suite,
    peer: &mut Option<Peer>,
    report: &mut Report,
) -> Result<(), Failure> {
    let columns = ["pattern", "entries", "type", "d", "ms", "torch, ms", "ratio"];
    report.section("sddmm: times as fast as torch.sparse.sampled_addmm", &columns);
    for name in &suite.sddmm.matrices {
        for &d in &suite.sddmm.d {
            of_type::<f32>(name, d, suite.seconds, peer, report)?;
            of_type::<f64>(name, d, suite.seconds, peer, report)?;
        }
    }
    Ok(())
}

fn of_type<T: Value>(
    name: &str,
    d: usize,
    seconds: f64,
    peer: &mut Option<Peer>,
    report: &mut Report,
) -> Result<(), Failure> {
    let Some(a) = problem::matrix::<T>(name)? else { return Ok(()) };
    let (x, y) = (random::<T>(a.nrows(), d, 1), random::<T>(a.ncols(), d, 2));
    let (cpu, mut s) = (CpuBackend::new(), Array2::from_elem((a.nnz(), 1), T::ZERO));
    let mut run = || {
        let (x, y) = (T::erase(x.view()), T::erase(y.view()));
        cpu.sddmm(a.pattern(), 1.0, x, y, 0.0, T::erase_acc_mut(s.view_mut()))
    };
    run()?;
    let [ours] = by_turns(seconds, [&mut || run().expect("it ran before")]);
    let product =
        SampledProduct { alpha: 1.0, x: T::erase(x.view()), y: T::erase(y.view()), added: None };
    let found = T::erase_acc(s.view());
    let rounding = Rounding::exact_inputs(T::DTYPE);
    if !verify_sddmm::<T>(a.pattern(), &product, &found, rounding)?.passed() {
        return Err(format!("the sampled product of {name} is wrong").into());
    }
    let others = match peer {
        None => Vec::new(),
        Some(peer) => {
            let arrays = [("x", x), ("y", y)];
            peer.ask(&Request { job: "sddmm", a: &a, steps: 1, arrays: &arrays, seconds })?
        }
    };
    let mut cells = [String::new(), String::new()];
    for one in &others {
        check_close(&format!("sddmm of {name} in {}", one.library), &one.out, &s, 1e-4)?;
        report.count("sampled products, beside torch", Some(2.0), one.seconds / ours);
        cells = [ms(one.seconds), times(one.seconds / ours)];
    }
    let (dtype, entries) = (T::DTYPE.to_string(), a.nnz().to_string());
    let mut row = vec![name.to_owned(), entries, dtype, d.to_string(), ms(ours)];
    row.extend(cells);
    report.row(&row);
    Ok(())
}
