//! Orders of rows in files.

use std::path::Path;

use girih::formats::io::{Source, npy};
use girih::reorder::{Permutation, Reordering};

use crate::error::CliError;

/// Reads the order of a matrix's rows: the row that comes first, the row that comes second, …
pub(crate) fn read(path: &Path, (nrows, ncols): (usize, usize)) -> Result<Reordering, CliError> {
    // A valid matrix has no more rows than 32 bits number.
    let limit = nrows as u32;
    let order =
        npy::read_indices(Source::from(path), limit).map_err(|e| CliError::input_from(path, e))?;
    if order.len() != nrows {
        let (name, found) = (path.display(), order.len());
        return Err(CliError::input(format!(
            "{name}: it orders {found} rows, but the matrix has {nrows}"
        )));
    }
    let rows = Permutation::try_from_order(&order).map_err(|e| CliError::input_from(path, e))?;
    let cols = (nrows == ncols).then(|| rows.clone());
    Ok(Reordering::new(&rows, cols))
}
