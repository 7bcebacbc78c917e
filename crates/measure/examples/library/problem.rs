//! Matrices by name.

use std::path::Path;

use girih::formats::io::{self, ReadOptions};
use girih::{Csr, Scalar};
use girih_generate::{Problem, fem_3d, laplacian_7pt, rmat};

use crate::Failure;

/// The matrix of a name; `None`, said, if it is a file that is not there.
pub(crate) fn matrix<T: Scalar>(name: &str) -> Result<Option<Csr<T>>, Failure> {
    if let Ok(problem) = name.parse::<Problem>() {
        return Ok(Some(problem.generate()?));
    }
    let Some((kind, sizes)) = name.split_once(':') else { return file(name) };
    let sizes = sizes.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
    Ok(Some(match (kind, &sizes[..]) {
        ("grid", &[s]) => laplacian_7pt(s, s, s)?,
        ("fem", &[s]) => fem_3d(s, s, s, 3, 1)?,
        ("rmat", &[scale, edges]) => rmat(scale as u32, edges, 1)?,
        _ => return Err(format!("no problem {name:?}").into()),
    }))
}

fn file<T: Scalar>(name: &str) -> Result<Option<Csr<T>>, Failure> {
    let Some(folder) = std::env::var_os("GIRIH_MATRICES") else {
        println!("left out: {name}, since GIRIH_MATRICES names no folder");
        return Ok(None);
    };
    let path = Path::new(&folder).join(format!("{name}.mtx.gz"));
    if !path.exists() {
        println!("left out: {} is not there", path.display());
        return Ok(None);
    }
    Ok(Some(io::read(&*path, &ReadOptions::default())?))
}
