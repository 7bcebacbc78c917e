//! SciPy beside the oracle: one Python process multiplies what the cases multiply, in f64.
//!
//! The oracle judges both products by the same bound, so a mistake that the oracle shares with the backends shows
//! as an error of SciPy's. It is left out, and says so, where no Python has SciPy.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

use girih::prelude::*;
use girih::{DenseScalar, Rounding, verify};
use ndarray::Array2;

/// Reads a product after the other, and writes each result.
const SCRIPT: &str = "
import sys, numpy as np, scipy.sparse as sp
source, sink = sys.stdin.buffer, sys.stdout.buffer
def take(dtype, count):
    return np.frombuffer(source.read(np.dtype(dtype).itemsize * count), dtype)
np.seterr(all='ignore')
while True:
    head = source.read(40)
    if len(head) < 40:
        break
    m, k, nnz, n, added = np.frombuffer(head, '<i8')
    alpha, beta = take('<f8', 2)
    indptr, indices, data = take('<i8', m + 1), take('<i8', nnz), take('<f8', nnz)
    a = sp.csr_matrix((data, indices, indptr), (m, k))
    b = take('<f8', k * n).reshape(k, n)
    # As in BLAS, nothing of A and B counts where alpha is 0: not their NaN either.
    c = alpha * (a @ b) if alpha != 0 else np.zeros((m, n))
    if added:
        c = c + beta * take('<f8', m * n).reshape(m, n)
    sink.write(np.ascontiguousarray(c, '<f8').tobytes())
    sink.flush()
";

/// A Python process that multiplies.
struct Peer {
    to: BufWriter<ChildStdin>,
    from: BufReader<ChildStdout>,
    // It ends when its input does.
    _process: Child,
}

static PEER: LazyLock<Option<Mutex<Peer>>> = LazyLock::new(|| {
    let python = std::env::var("GIRIH_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python).args(["-c", "import scipy.sparse"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        let _ = writeln!(io::stderr(), "skipped: {python} has no scipy (set GIRIH_PYTHON)");
        return None;
    }
    let mut process = Command::new(&python)
        .args(["-c", SCRIPT])
        // Small products do not gain by threads.
        .envs(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"].map(|name| (name, "1")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let to = BufWriter::new(process.stdin.take().unwrap());
    let from = BufReader::new(process.stdout.take().unwrap());
    Some(Mutex::new(Peer { to, from, _process: process }))
});

/// A product as it is sent: α, B, and β with C before.
pub(crate) struct Operands<'a, T: DenseScalar> {
    pub(crate) alpha: f64,
    pub(crate) b: &'a Array2<T>,
    pub(crate) added: Option<(f64, &'a Array2<T::Acc>)>,
}

impl Peer {
    fn multiply<T: DenseScalar>(
        &mut self,
        a: &Csr<T>,
        with: &Operands<'_, T>,
    ) -> io::Result<Array2<f64>> {
        let (m, n) = (a.nrows(), with.b.ncols());
        let to = &mut self.to;
        for number in [m, a.ncols(), a.nnz(), n, usize::from(with.added.is_some())] {
            to.write_all(&(number as u64).to_le_bytes())?;
        }
        let mut put = |x: f64| to.write_all(&x.to_le_bytes());
        put(with.alpha)?;
        put(with.added.map_or(0.0, |(beta, _)| beta))?;
        for &at in a.row_ptr().iter() {
            to.write_all(&at.to_le_bytes())?;
        }
        for &col in a.col_idx().iter() {
            to.write_all(&u64::from(col).to_le_bytes())?;
        }
        let mut put = |x: f64| to.write_all(&x.to_le_bytes());
        a.values().iter().try_for_each(|x| put(x.to_c64().re))?;
        with.b.iter().try_for_each(|x| put(x.to_c64().re))?;
        if let Some((_, before)) = with.added {
            before.iter().try_for_each(|x| put(x.to_c64().re))?;
        }
        self.to.flush()?;
        let mut c = Array2::zeros((m, n));
        for x in &mut c {
            let mut bytes = [0; 8];
            self.from.read_exact(&mut bytes)?;
            *x = f64::from_le_bytes(bytes);
        }
        Ok(c)
    }
}

/// SciPy's product; `None` where there is none.
pub(crate) fn multiply<T: DenseScalar>(a: &Csr<T>, with: &Operands<'_, T>) -> Option<Array2<f64>> {
    let mut peer = PEER.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
    Some(peer.multiply(a, with).unwrap())
}

/// What the oracle has against SciPy's product, if anything; `None` too where there is no SciPy.
pub(crate) fn disagreement<T: DenseScalar>(
    a: &Csr<T>,
    plan: &Plan,
    with: &Operands<'_, T>,
    rounding: Rounding,
) -> Result<Option<String>, BackendError> {
    // Numbers are sent as one f64 each.
    if T::DTYPE.is_complex() {
        return Ok(None);
    }
    let Some(c) = multiply(a, with) else { return Ok(None) };
    let c = c.mapv(|x| T::Acc::from_c64(x.into()));
    let added = with.added.map(|(beta, before)| (beta, T::erase_acc(before.view())));
    let product = Product { alpha: with.alpha, b: T::erase(with.b.view()), added };
    let verdict = verify(a, plan, &product, &T::erase_acc(c.view()), rounding)?;
    // SciPy multiplies entries alone.
    let agrees = verdict.passed() && verdict.non_finite == verdict.non_finite_expected;
    Ok((!agrees).then(|| format!("scipy: {verdict:?}")))
}

#[test]
fn scipy_multiplies_as_by_hand() {
    let a = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, f64::NAN, 4.0]).unwrap();
    let b = ndarray::array![[1.0, 2.0], [f64::INFINITY, 0.5], [1.0, 1.0]];
    let before = ndarray::array![[1.0, 1.0], [1.0, 1.0]];
    let with = Operands { alpha: 2.0, b: &b, added: Some((-1.0, &before)) };
    let Some(c) = multiply(&a, &with) else { return };
    assert!(c[[0, 0]].is_nan() && c[[0, 1]].is_nan());
    assert_eq!((c[[1, 0]], c[[1, 1]]), (f64::INFINITY, 3.0));
}
