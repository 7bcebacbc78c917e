//! Reading plan files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use girih_formats::convert::SlotMap;
use girih_formats::tilings::Extent;
use girih_formats::{AnyTiling, Buffer, Complex, DType, MAX_DIM, RowLayout, Scalar, Tiling};
use girih_reorder::Permutation;
use xxhash_rust::xxh3::xxh3_64;

use super::arrays::Arrays;
use super::attachment;
use super::header::Header;
use super::info::PlanFileInfo;
use super::prologue::Prologue;
use super::section::{Element, SectionKind, SectionRow, check_rows};
use super::source::{BytesSource, FileSource, Source};
use super::{PAGE, PlanFileError};
use crate::ordering::{Placement, Space};
use crate::plan::Plan;
use crate::schedule::{Columns, Schedule, Task};

/// How to load a plan file.
///
/// ```no_run
/// use girih_planner::file::LoadOptions;
///
/// let plan = LoadOptions::default().max_bytes(1 << 30).read("a.girih")?;
/// # Ok::<(), girih_planner::file::PlanFileError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadOptions {
    /// Check the hash of every array. Without it a plan loads faster, its indices are still
    /// validated, and a damaged value goes unnoticed.
    pub check_hashes: bool,
    /// The largest file to load.
    pub max_bytes: u64,
    /// Accept a plan of more than 2²⁴ rows, 64 for each entry and one for each byte of the file: what is done with
    /// it takes memory for every row, far more than the file.
    pub allow_hypersparse: bool,
}

impl Default for LoadOptions {
    /// Hashes are checked; a file may have any size, and no more rows than it justifies.
    fn default() -> Self {
        Self { check_hashes: true, max_bytes: u64::MAX, allow_hypersparse: false }
    }
}

impl LoadOptions {
    /// With or without a check of every array's hash.
    #[must_use]
    pub fn check_hashes(self, check_hashes: bool) -> Self {
        Self { check_hashes, ..self }
    }

    /// With files of at most this many bytes.
    #[must_use]
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    /// With plans of far more rows than entries accepted, or refused.
    #[must_use]
    pub fn allow_hypersparse(self, allow_hypersparse: bool) -> Self {
        Self { allow_hypersparse, ..self }
    }

    /// Checks that the rows of a plan are in proportion to its entries and its file.
    fn check_rows(self, header: &Header, file_len: u64) -> Result<(), PlanFileError> {
        let (rows, entries) = (header.nrows, header.nnz);
        let justified = entries.saturating_mul(64).saturating_add(file_len);
        if !self.allow_hypersparse && rows > justified.saturating_add(1 << 24) {
            return Err(PlanFileError::Hypersparse { rows, entries, file_len });
        }
        Ok(())
    }
}

impl LoadOptions {
    /// Reads a plan file into memory, array by array: it costs the memory of its arrays.
    ///
    /// # Errors
    /// If the file cannot be read or is not a sound plan.
    pub fn read(self, path: impl AsRef<Path>) -> Result<Plan, PlanFileError> {
        self.read_with_info(path).map(|(plan, _)| plan)
    }

    /// Like [`read`](Self::read), with what the file says of itself.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_with_info(
        self,
        path: impl AsRef<Path>,
    ) -> Result<(Plan, PlanFileInfo), PlanFileError> {
        self.read_file(path.as_ref())
    }

    fn read_file(self, path: &Path) -> Result<(Plan, PlanFileInfo), PlanFileError> {
        let file = File::open(path).map_err(|e| PlanFileError::io("open", &path.display(), e))?;
        let len = self.check_len(&file, path)?;
        self.load(&FileSource { file: &file, len, name: path.display().to_string() })
    }

    /// Reads a plan from a stream to its end. While it loads, it takes twice the file's length.
    ///
    /// # Errors
    /// If the stream fails or does not hold a sound plan.
    pub fn read_from(self, reader: impl Read) -> Result<Plan, PlanFileError> {
        self.read_from_with_info(reader).map(|(plan, _)| plan)
    }

    /// Like [`read_from`](Self::read_from), with what the file says of itself.
    ///
    /// # Errors
    /// As [`read_from`](Self::read_from).
    pub fn read_from_with_info(
        self,
        reader: impl Read,
    ) -> Result<(Plan, PlanFileInfo), PlanFileError> {
        let mut bytes = Vec::new();
        reader
            .take(self.max_bytes.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|e| PlanFileError::io("read", &"the plan", e))?;
        self.check_limit(bytes.len() as u64)?;
        self.load_bytes(&bytes)
    }

    fn load_bytes(self, bytes: &[u8]) -> Result<(Plan, PlanFileInfo), PlanFileError> {
        self.load(&BytesSource(bytes))
    }

    /// Reads a plan from bytes in memory, copying its arrays.
    ///
    /// # Errors
    /// If the bytes are not a sound plan.
    pub fn read_bytes(self, bytes: &[u8]) -> Result<Plan, PlanFileError> {
        self.check_limit(bytes.len() as u64)?;
        self.load(&BytesSource(bytes)).map(|(plan, _)| plan)
    }

    fn check_limit(self, actual: u64) -> Result<u64, PlanFileError> {
        if actual > self.max_bytes {
            return Err(PlanFileError::TooLarge { actual, limit: self.max_bytes });
        }
        Ok(actual)
    }

    /// The length of a file that may be loaded.
    pub(super) fn check_len(self, file: &File, path: &Path) -> Result<u64, PlanFileError> {
        let refused = |e| PlanFileError::io("read", &path.display(), e);
        let metadata = file.metadata().map_err(refused)?;
        if !metadata.is_file() {
            return Err(refused(std::io::Error::other(
                "not a regular file; read a plan from a stream with `read_from`",
            )));
        }
        self.check_limit(metadata.len())
    }

    /// The load itself, in the order that the module's documentation gives.
    pub(super) fn load<S: Source>(self, source: &S) -> Result<(Plan, PlanFileInfo), PlanFileError> {
        let mut start = [0; Prologue::LEN];
        let start = &mut start[..source.len().min(Prologue::LEN as u64) as usize];
        source.read_at(0, start)?;
        let prologue = Prologue::check(start, source.len())?;
        let mut bytes = vec![0; prologue.header_len as usize];
        source.read_at(prologue.header_offset, &mut bytes)?;
        if xxh3_64(&bytes) != prologue.header_hash {
            return Err(PlanFileError::HashMismatch { what: "the header".to_owned() });
        }
        let header = Header::decode(&bytes, prologue.version.0)?;
        // The entries are compared with those that the arrays hold when they are read.
        self.check_rows(&header, source.len())?;
        let header_end = prologue.header_offset + prologue.header_len;
        let table = header.table();
        check_rows(&table, header_end, source.len(), header.spec.kind())?;
        check_padding(source, header_end, &table)?;
        let arrays = Arrays { source, rows: &header.sections, check_hashes: self.check_hashes };
        let plan = match header.dtype {
            DType::F16 => plan::<half::f16, S>(&header, &arrays),
            DType::Bf16 => plan::<half::bf16, S>(&header, &arrays),
            DType::F32 => plan::<f32, S>(&header, &arrays),
            DType::F64 => plan::<f64, S>(&header, &arrays),
            DType::C32 => plan::<Complex<f32>, S>(&header, &arrays),
            DType::C64 => plan::<Complex<f64>, S>(&header, &arrays),
        }?;
        Ok((plan, PlanFileInfo::of(&prologue, &header)))
    }
}

/// Checks that the bytes between header, sections and the end are zero.
fn check_padding<S: Source>(
    source: &S,
    header_end: u64,
    rows: &[(String, SectionRow)],
) -> Result<(), PlanFileError> {
    let begins = rows.iter().map(|(_, r)| r.offset).chain([source.len()]);
    let ends = [header_end].into_iter().chain(rows.iter().map(|(_, r)| r.offset + r.bytes));
    for (end, begin) in ends.zip(begins) {
        let mut page = [0; PAGE as usize];
        let gap = &mut page[..(begin - end) as usize];
        source.read_at(end, gap)?;
        // Most of a small file is padding, and only what is not zero has a place: vectors find whether there is any.
        if gap.iter().fold(0, |any, b| any | b) != 0 {
            let at = gap.iter().position(|&b| b != 0).unwrap_or_default();
            return Err(PlanFileError::Padding { offset: end + at as u64 });
        }
    }
    Ok(())
}

/// Puts the arrays together; every type validates what it is given.
fn plan<T: Scalar, S: Source>(
    header: &Header,
    arrays: &Arrays<'_, S>,
) -> Result<Plan, PlanFileError> {
    let tiling = tiling::<T, S>(header, arrays)?;
    if tiling.nnz() as u64 != header.nnz {
        let (found, declared) = (tiling.nnz(), header.nnz);
        return Err(PlanFileError::header(format!("{declared} nonzeros declared, {found} found")));
    }
    let slot_map = if header.options.keep_slot_map {
        let row_ptr = arrays.u64s(SectionKind::SlotRowPtr)?;
        Some(SlotMap::try_new(&tiling, row_ptr, arrays.u64s(SectionKind::Slots)?)?)
    } else {
        None
    };
    let placement = placement(header, arrays, tiling.nrows(), tiling.ncols())?;
    let tiling = AnyTiling::from(tiling);
    let tasks: Buffer<Task> = arrays.get(SectionKind::Tasks, Element::Task)?;
    let columns = match header.cut_for {
        0 => None,
        cut_for => Some(Columns {
            cut_for,
            ranges: arrays.get(SectionKind::TaskCols, Element::ColRange)?,
            partition_ptr: arrays.u64s(SectionKind::PartitionPtr)?,
        }),
    };
    let plan = Plan {
        schedule: Schedule::try_from_parts(tasks, columns, header.reduction, &tiling)?,
        tiling,
        options: header.options.clone(),
        fingerprint: header.fingerprint,
        explanation: header.explanation.clone(),
        slot_map,
        placement,
        attachments: attachment::load_all(&header.attachments, arrays)?,
    };
    // Whatever the plan would not write itself was neither hashed nor validated above.
    let own = super::section::sections(&plan);
    match header.sections.iter().find(|row| own.iter().all(|s| s.kind != row.kind)) {
        Some(row) => Err(PlanFileError::section(
            &row.kind,
            format!("it does not belong to a {} plan", header.spec),
        )),
        None => Ok(plan),
    }
}

/// The permutations of rows and columns: each a bijection of as many indices as there are.
fn placement<S: Source>(
    header: &Header,
    arrays: &Arrays<'_, S>,
    nrows: usize,
    ncols: usize,
) -> Result<Placement, PlanFileError> {
    let order = |kind: SectionKind, len: usize| {
        if !arrays.has(kind) {
            return Ok(None);
        }
        let bad = |reason: String| PlanFileError::section(&kind, reason);
        let array = arrays.u32s(kind)?;
        if array.len() != len {
            return Err(bad(format!("it orders {} of {len} indices", array.len())));
        }
        Permutation::try_new(array.into_vec()).map(Some).map_err(|e| bad(e.to_string()))
    };
    // In the caller's space the layout moves rows, and nothing else may.
    let rows = match header.options.space {
        Space::Caller => None,
        Space::Permuted => order(SectionKind::NewRows, nrows)?,
    };
    Ok(Placement { rows, cols: order(SectionKind::NewCols, ncols)? })
}

fn tiling<T: Scalar, S: Source>(
    header: &Header,
    arrays: &Arrays<'_, S>,
) -> Result<Tiling<T>, PlanFileError> {
    use SectionKind as Kind;
    let size = |what: &str, x: u64| {
        usize::try_from(x)
            .ok()
            .filter(|&x| x <= MAX_DIM)
            .ok_or_else(|| PlanFileError::header(format!("{what} is {x}, more than indices reach")))
    };
    let (nrows, ncols) = (size("nrows", header.nrows)?, size("ncols", header.ncols)?);
    let window_rows = size("window_rows", header.window_rows)?;
    let ell_width = size("ell_width", header.ell_width)?;
    let nnz = usize::try_from(header.nnz)
        .map_err(|_| PlanFileError::header(format!("nnz is {}", header.nnz)))?;
    let layout = if arrays.has(Kind::RowSlots) {
        let slots = arrays.u32s(Kind::RowSlots)?;
        // Validating a layout takes memory for every row: the file must hold that many first.
        if slots.len() < nrows {
            let reason = format!("{} slots cannot hold {nrows} rows", slots.len());
            return Err(PlanFileError::section(&Kind::RowSlots, reason));
        }
        RowLayout::explicit(nrows, window_rows, slots)?
    } else {
        RowLayout::natural(nrows, window_rows)?
    };
    let extent = Extent { ncols, nnz, ell_width };
    let tiling = Tiling::from_arrays(header.spec, layout, extent, arrays)?;
    // A format's sizes are those of its layout; the header holds both.
    if tiling.spec() != header.spec {
        return Err(PlanFileError::header(format!(
            "{} has windows of {window_rows} rows",
            header.spec
        )));
    }
    Ok(tiling)
}
