//! The same matrices through scipy, where Python with scipy is at hand: `GIRIH_PYTHON` names the
//! interpreter, `python3` otherwise.

#![expect(clippy::print_stderr, reason = "a skipped test says so")]

use std::path::Path;
use std::process::Command;

use girih_formats::io::{self, Field, ReadError, ReadOptions};
use girih_formats::{Complex, Csr, DType, Duplicates};

/// Runs a script in a folder; `None`, with a word on why, if there is no scipy.
fn python(folder: &Path, script: &str) -> Option<String> {
    let interpreter = std::env::var("GIRIH_PYTHON").unwrap_or_else(|_| "python3".into());
    let probe = Command::new(&interpreter).args(["-c", "import scipy.sparse, scipy.io"]).output();
    if !probe.is_ok_and(|o| o.status.success()) {
        eprintln!("skipped: {interpreter} cannot import scipy");
        return None;
    }
    let output =
        Command::new(interpreter).args(["-c", script]).current_dir(folder).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

fn example() -> Csr<f64> {
    let cols = vec![0, 3, 5, 1, 2, 5, 4];
    let values = vec![1.5, -2.0, 1e-300, 0.1, 0.0, f64::MAX, -7.0];
    Csr::try_new(4, 6, vec![0, 3, 3, 6, 7], cols, values).unwrap()
}

#[test]
fn scipy_writes_and_we_read() {
    let dir = tempfile::tempdir().unwrap();
    let script = "
import numpy as np, scipy.sparse as sp, scipy.io, itertools
A = sp.csr_matrix((np.array([1.5,-2,1e-300,.1,0,np.finfo(float).max,-7]), np.array([0,3,5,1,2,5,4]),
                   np.array([0,3,3,6,7])), shape=(4,6))
for f, z in itertools.product(['csr','csc','coo','bsr'], [0,1]):
    sp.save_npz(f'{f}{z}.npz', A.asformat(f) if f != 'bsr' else A.tobsr((2,3)), compressed=bool(z))
B = A.copy(); B.indices = B.indices.astype(np.int64); B.indptr = B.indptr.astype(np.int64)
sp.save_npz('wide.npz', B)
U = sp.csr_matrix(([4,1,2,3.], [5,0,2,2], [0,2,2,4,4]), shape=(4,6)); sp.save_npz('unsorted.npz', U)
for d in ['bool','int8','int16','int32','int64','uint8','uint16','uint32','uint64','float32','float64']:
    sp.save_npz(f'{d}.npz', sp.csr_matrix(np.array([[0,1,2],[3,0,0]]).astype(d)))
np.savez('f2.npz', indices=np.array([1],'>i4'), indptr=np.array([0,1],'>i8'), format=np.array('csr'),
         shape=np.array([1,3]), data=np.array([.5],'>f2'))
sp.save_npz('complex.npz', sp.csr_matrix([[1j]]))
Z = sp.csr_matrix(np.array([[1+2j,0,-.5j],[0,0,3-1e-300j],[7,0,0]]))
sp.save_npz('c64.npz', Z); sp.save_npz('c32.npz', Z.astype(np.complex64)); scipy.io.mmwrite('z.mtx', Z)
scipy.io.mmwrite('zd.mtx', Z.toarray())
np.savez('zbig.npz', indices=Z.indices, indptr=Z.indptr, format=np.array('csr'), shape=np.array([3,3]), data=Z.data.astype('>c16'))
H = sp.csr_matrix(np.array([[1,2+1j,0],[2-1j,5,-3j],[0,3j,0]])); scipy.io.mmwrite('h.mtx', H); scipy.io.mmwrite('hd.mtx', H.toarray())
Q = sp.csr_matrix(np.array([[0,2+1j],[-2-1j,0]])); scipy.io.mmwrite('q.mtx', Q); scipy.io.mmwrite('y.mtx', sp.csr_matrix(np.array([[1j,2+1j],[2+1j,0]])))
sp.save_npz('dia.npz', A.todia())
sp.save_npz('array.npz', sp.csr_array(A))
scipy.io.mmwrite('a.mtx', A); scipy.io.mmwrite('d.mtx', A.toarray())
S = sp.csr_matrix(np.array([[1,2,0],[2,0,-3],[0,-3,5.]])); scipy.io.mmwrite('s.mtx', S)
K = sp.csr_matrix(np.array([[0,2,0],[-2,0,-3],[0,3,0.]])); scipy.io.mmwrite('k.mtx', K)
scipy.io.mmwrite('p.mtx', A, field='pattern'); scipy.io.mmwrite('i.mtx', sp.csr_matrix([[0,7],[-3,0]]))
";
    if python(dir.path(), script).is_none() {
        return;
    }
    let read = |name: &str| {
        let path = dir.path().join(name);
        io::read_with_info::<f64>(&path, &ReadOptions::default())
            .unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let a = example();
    for name in ["csr0", "csr1", "csc0", "csc1", "coo0", "coo1", "wide", "array"] {
        assert_eq!(read(&format!("{name}.npz")).0, a, "{name}");
    }
    // Blocks are filled up with zeros, which are entries to scipy.
    let pruned = |name: &str| {
        let options = ReadOptions::default().prune_zeros(true);
        io::read::<f64>(&dir.path().join(name), &options).unwrap()
    };
    for name in ["bsr0.npz", "bsr1.npz", "d.mtx"] {
        assert_eq!(pruned(name), pruned("csr0.npz"), "{name}");
    }
    assert_eq!(read("bsr0.npz").0.nnz(), 24);
    assert_eq!(read("a.mtx").0, a);
    let (u, _) = read("unsorted.npz");
    assert_eq!((u.row(0), u.row(2)), ((&[0, 5][..], &[1.0, 4.0][..]), (&[2][..], &[5.0][..])));
    let refuse = ReadOptions::default().duplicates(Duplicates::Refuse);
    assert!(io::read::<f32>(&dir.path().join("unsorted.npz"), &refuse).is_err());
    for (name, field, dtype, last) in [
        ("bool", Field::Pattern, None, 1.0),
        ("int8", Field::Integer, None, 3.0),
        ("int16", Field::Integer, None, 3.0),
        ("int32", Field::Integer, None, 3.0),
        ("int64", Field::Integer, None, 3.0),
        ("uint8", Field::Integer, None, 3.0),
        ("uint16", Field::Integer, None, 3.0),
        ("uint32", Field::Integer, None, 3.0),
        ("uint64", Field::Integer, None, 3.0),
        ("float32", Field::Real, Some(DType::F32), 3.0),
        ("float64", Field::Real, Some(DType::F64), 3.0),
        ("f2", Field::Real, Some(DType::F16), 0.5),
    ] {
        let (a, info) = read(&format!("{name}.npz"));
        assert_eq!((info.field, info.dtype), (field, dtype), "{name}");
        assert_eq!(a.values().last(), Some(&last), "{name}");
    }
    let fails =
        |name: &str| io::read::<f64>(&dir.path().join(name), &ReadOptions::default()).unwrap_err();
    assert!(matches!(fails("complex.npz"), ReadError::Complex { .. }));
    assert!(matches!(fails("h.mtx"), ReadError::Complex { dtype: DType::F64, .. }));
    complex_matrices_of_scipy(dir.path());
    assert!(fails("dia.npz").to_string().contains("tocsr"));
    assert_eq!(read("s.mtx").1.symmetry.to_string(), "symmetric");
    assert_eq!(read("s.mtx").0.row(1), (&[0, 2][..], &[2.0, -3.0][..]));
    assert_eq!(read("k.mtx").1.symmetry.to_string(), "skew-symmetric");
    assert_eq!(read("k.mtx").0.row(1), (&[0, 2][..], &[-2.0, -3.0][..]));
    let (p, info) = read("p.mtx");
    assert_eq!((info.field, p.values()[0]), (Field::Pattern, 1.0));
    let (i, info) = read("i.mtx");
    assert_eq!((info.field, &i.values()[..]), (Field::Integer, &[7.0, -3.0][..]));
}

fn complex_matrices_of_scipy(folder: &Path) {
    let c = Complex::new;
    let read = |name: &str| {
        let options = ReadOptions::default().prune_zeros(true);
        io::read_with_info::<Complex<f64>>(&folder.join(name), &options)
            .unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let values = [c(1.0, 2.0), c(0.0, -0.5), c(3.0, -1e-300), c(7.0, 0.0)];
    let z = Csr::try_new(3, 3, vec![0, 2, 3, 4], vec![0, 2, 2, 0], values.to_vec()).unwrap();
    for name in ["c64.npz", "z.mtx", "zd.mtx", "zbig.npz"] {
        let (found, info) = read(name);
        assert_eq!((found, info.field), (z.clone(), Field::Complex), "{name}");
    }
    assert_eq!(read("c64.npz").1.dtype, Some(DType::C64));
    let (narrow, info) = read("c32.npz");
    assert_eq!((info.dtype, narrow.get(1, 2)), (Some(DType::C32), Some(c(3.0, 0.0))));
    for name in ["h.mtx", "hd.mtx"] {
        let (h, info) = read(name);
        assert_eq!(info.symmetry.to_string(), "hermitian", "{name}");
        assert_eq!((h.get(1, 0), h.get(0, 1)), (Some(c(2.0, -1.0)), Some(c(2.0, 1.0))), "{name}");
        assert_eq!((h.nnz(), h.conj().t()), (6, h.clone()), "{name}");
    }
    let (q, info) = read("q.mtx");
    assert_eq!(
        (info.symmetry.to_string(), q.get(0, 1)),
        ("skew-symmetric".into(), Some(c(2.0, 1.0)))
    );
    let (y, info) = read("y.mtx");
    assert_eq!((info.symmetry.to_string(), y.get(0, 1)), ("symmetric".into(), y.get(1, 0)));
    // A real matrix is a complex one too.
    assert_eq!(read("s.mtx").0.get(2, 1), Some(c(-3.0, 0.0)));
}

#[test]
fn we_write_and_scipy_reads() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.mtx", "a.mtx.gz", "a.npz"] {
        io::write(dir.path().join(name), &example()).unwrap();
        io::write(dir.path().join(format!("f32{name}")), &example().cast::<f32>()).unwrap();
    }
    io::write(dir.path().join("half.npz"), &example().cast::<half::f16>()).unwrap();
    let values = vec![Complex::new(0.1, -2.5), Complex::new(-0.0, 1e-9)];
    let complex = Csr::try_new(2, 3, vec![0, 1, 2], vec![2, 0], values).unwrap();
    for name in ["z.mtx", "z.npz"] {
        io::write(dir.path().join(name), &complex).unwrap();
    }
    io::write(dir.path().join("z32.npz"), &complex.cast_complex::<Complex<f32>>()).unwrap();
    let script = "
import scipy.sparse as sp, scipy.io
def show(A):
    A = sp.csr_matrix(A); print(*A.shape, *A.indptr, *A.indices, *(repr(float(x)) for x in A.data))
for n in ['a.mtx', 'a.mtx.gz', 'f32a.mtx']: show(scipy.io.mmread(n))
show(sp.load_npz('a.npz')); show(sp.load_npz('f32a.npz')); print(sp.load_npz('f32a.npz').dtype)
print(sp.load_npz('half.npz').dtype)
for A in [scipy.io.mmread('z.mtx'), sp.load_npz('z.npz'), sp.load_npz('z32.npz')]:
    A = sp.csr_matrix(A); print(A.dtype, *A.shape, *A.indptr, *A.indices, *A.data)
";
    let Some(output) = python(dir.path(), script) else { return };
    let lines: Vec<&str> = output.lines().collect();
    let head = "4 6 0 3 3 6 7 0 3 5 1 2 5 4";
    let f64s = format!("{head} 1.5 -2.0 1e-300 0.1 0.0 1.7976931348623157e+308 -7.0");
    assert_eq!(lines[0], f64s);
    assert_eq!(lines[1], f64s);
    assert_eq!(lines[2], format!("{head} 1.5 -2.0 0.0 0.1 0.0 inf -7.0"));
    assert_eq!(lines[3], f64s);
    assert_eq!(lines[4], format!("{head} 1.5 -2.0 0.0 0.10000000149011612 0.0 inf -7.0"));
    assert_eq!(&lines[5..7], ["float32", "float32"]);
    let wide = "complex128 2 3 0 1 2 2 0 (0.1-2.5j) (-0+1e-09j)";
    assert_eq!(&lines[7..], [wide, wide, "complex64 2 3 0 1 2 2 0 (0.1-2.5j) (-0+1e-09j)"]);
}
