//! What a benchmark is requested to measure, as it is written on the command line.

use std::fmt::{self, Display};
use std::str::FromStr;

use girih::cpu::Isa;
use girih::formats::{DType, FormatKind, FormatSpec, ScalesPer};
use girih::planner::{FormatChoice, Reorder};

use super::tiles::{Block, TileSizes, parse_block};
use crate::MeasureError;

/// A format, with the rows in an order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CaseRequest {
    /// The format of the tiles.
    pub format: FormatRequest,
    /// The order of the rows.
    pub order: OrderRequest,
}

impl CaseRequest {
    /// CSR, with the rows in the matrix's own order.
    pub const CSR: Self = Self { format: FormatRequest::CSR, order: OrderRequest::NONE };
}

/// The format, and the order if it is not the matrix's own.
impl Display for CaseRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, order } = self;
        match order.0 {
            Reorder::None => write!(f, "{format}"),
            _ => write!(f, "{format}, {order}"),
        }
    }
}

/// An order of the rows that is not read from a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrderRequest(pub Reorder);

impl OrderRequest {
    /// The matrix's own order.
    pub const NONE: Self = Self(Reorder::None);
}

impl FromStr for OrderRequest {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "none" => Ok(Self::NONE),
            "auto" => Ok(Self(Reorder::Auto)),
            _ if s.ends_with(".npy") => Err(format!(
                "{s} orders one matrix; make a plan with girih plan --reorder {s}, and time it with girih spmm"
            )),
            _ => match s.parse() {
                Ok(method) => Ok(Self(Reorder::By(method))),
                Err(error) => Err(format!("{error}; or none, or auto")),
            },
        }
    }
}

/// As it is written on the command line.
impl Display for OrderRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Reorder::By(method) => write!(f, "{method}"),
            Reorder::Auto => f.write_str("auto"),
            Reorder::None | Reorder::Given => f.write_str("none"),
        }
    }
}

/// A format, and the sizes of its tiles if they were given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormatRequest {
    /// `None` for the planner's choice.
    kind: Option<FormatKind>,
    block: Option<Block>,
    window: Option<u32>,
    tile_entries: Option<u32>,
    /// Whether values are stored in e4m3, by these scales.
    e4m3: Option<ScalesPer>,
}

impl FromStr for FormatRequest {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let (name, size) = s.split_once(':').map_or((s, None), |(name, size)| (name, Some(size)));
        let (mut block, mut window, mut tile_entries, mut e4m3) = (None, None, None, None);
        let kind = match name {
            "auto" => None,
            // The list in the error has formats only.
            name => Some(name.parse::<FormatKind>().map_err(|e| format!("{e}; or auto"))?),
        };
        match (kind, size) {
            (_, None) => {}
            (Some(FormatKind::Bcsr | FormatKind::BlockedEll), Some(size)) => {
                block = Some(parse_block(size)?);
            }
            (Some(FormatKind::Hybrid), Some(size)) if size.contains('/') => {
                let sizes = size.split_once('/');
                let sizes = sizes.and_then(|(rows, n)| rows.parse().ok().zip(n.parse().ok()));
                let sizes = sizes.filter(|&(rows, n): &(u32, u32)| rows > 0 && n > 0);
                let Some((rows, entries)) = sizes else {
                    return Err(format!(
                        "{size:?} is no number of rows and one of entries; write for example hybrid:32/12"
                    ));
                };
                (window, tile_entries) = (Some(rows), Some(entries));
            }
            (Some(FormatKind::Wcsr | FormatKind::Hybrid), Some(size)) => {
                let rows = size.parse().ok().filter(|&rows: &u32| rows > 0);
                window = Some(rows.ok_or_else(|| {
                    format!("{size:?} is not a number of rows; write for example {name}:16")
                })?);
            }
            (Some(FormatKind::TwoFour), Some(values)) => {
                let named = |per: &ScalesPer| values.strip_prefix("e4m3/") == Some(per.name());
                e4m3 = Some(ScalesPer::ALL.into_iter().find(named).ok_or_else(|| {
                    format!("{values:?} is not e4m3/row or e4m3/tensor; write for example two-four:e4m3/row")
                })?);
            }
            (_, Some(size)) => return Err(format!("{name} takes no size, but {size:?} was given")),
        }
        Ok(Self { kind, block, window, tile_entries, e4m3 })
    }
}

impl FormatRequest {
    /// CSR.
    pub const CSR: Self = Self::without_sizes(Some(FormatKind::Csr));
    /// The planner's choice.
    pub const AUTO: Self = Self::without_sizes(None);

    const fn without_sizes(kind: Option<FormatKind>) -> Self {
        Self { kind, block: None, window: None, tile_entries: None, e4m3: None }
    }

    /// The planner's option for matrices of a value type.
    ///
    /// # Errors
    /// If a size does not suit the format.
    pub fn choice(self, dtype: DType) -> Result<FormatChoice, MeasureError> {
        let Some(kind) = self.kind else { return Ok(FormatChoice::Auto) };
        if let Some(scales) = self.e4m3 {
            return Ok(FormatChoice::Fixed(FormatSpec::TwoFourE4m3 { scales }));
        }
        let Self { block, window, tile_entries, .. } = self;
        let sizes = TileSizes { dtype, block, window, tile_entries };
        sizes.spec(kind).map(FormatChoice::Fixed).map_err(MeasureError::Request)
    }
}

/// As it is written on the command line.
impl Display for FormatRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.map_or("auto", FormatKind::name))?;
        match (self.block, self.window) {
            (Some(Block { rows, cols }), _) => write!(f, ":{rows}x{cols}"),
            (None, Some(rows)) => match self.tile_entries {
                Some(entries) => write!(f, ":{rows}/{entries}"),
                None => write!(f, ":{rows}"),
            },
            (None, None) => self.e4m3.map_or(Ok(()), |per| write!(f, ":e4m3/{}", per.name())),
        }
    }
}

/// What multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchBackend {
    /// The CPU backend.
    Cpu,
    /// The CUDA backend.
    Cuda,
    /// cuSPARSE, with each of its algorithms.
    Cusparse,
    /// cuBLASLt: the dense product of A with all its zeros.
    Cublas,
    /// The single-threaded reference.
    Reference,
}

impl BenchBackend {
    /// The names that are read.
    pub const NAMES: [&str; 5] = ["cpu", "cuda", "cusparse", "cublas", "reference"];

    /// Whether it multiplies on a device.
    pub fn is_device(self) -> bool {
        matches!(self, Self::Cuda | Self::Cusparse | Self::Cublas)
    }
}

/// By the names in [`BenchBackend::NAMES`].
impl FromStr for BenchBackend {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda),
            "cusparse" => Ok(Self::Cusparse),
            "cublas" => Ok(Self::Cublas),
            "reference" => Ok(Self::Reference),
            _ => Err(format!("there is no backend {s:?}; there are {}", Self::NAMES.join(", "))),
        }
    }
}

/// How much effort goes into measuring the roofline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RooflineEffort {
    /// It is not measured.
    Off,
    /// A fraction of a second, and working sets up to four times the last cache.
    Quick,
    /// Seconds, and working sets up to eight times the last cache.
    Full,
}

/// A number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadCount {
    /// All threads of the global pool.
    All,
    /// This number.
    Exactly(usize),
}

/// More threads than any machine has processors; each takes a stack.
const MAX_THREADS: usize = 4096;

impl FromStr for ThreadCount {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s.parse() {
            _ if s == "all" => Ok(Self::All),
            Ok(count @ 1..=MAX_THREADS) => Ok(Self::Exactly(count)),
            _ => Err(format!("{s:?} is neither all nor a number from 1 to {MAX_THREADS}")),
        }
    }
}

/// The name of an instruction set in options and in JSON.
pub fn isa_name(isa: Isa) -> &'static str {
    match isa {
        Isa::Avx512 => "avx512",
        Isa::Avx2 => "avx2",
        Isa::Neon => "neon",
        Isa::Portable => "portable",
        other => other.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_with_their_sizes() {
        let spec = |s: &str, dtype| s.parse::<FormatRequest>().unwrap().choice(dtype).unwrap();
        let fixed = FormatChoice::Fixed;
        for (text, expected) in [
            ("auto", FormatChoice::Auto),
            ("csr", fixed(FormatSpec::Csr)),
            ("bcsr", fixed(FormatSpec::Bcsr { block_rows: 64, block_cols: 64 })),
            ("bcsr:16x8", fixed(FormatSpec::Bcsr { block_rows: 16, block_cols: 8 })),
            ("wcsr:8", fixed(FormatSpec::Wcsr { window_rows: 8, pad_cols: 8 })),
            ("blocked-ell:32", fixed(FormatSpec::BlockedEll { block_size: 32 })),
            ("two-four:e4m3/row", fixed(FormatSpec::TwoFourE4m3 { scales: ScalesPer::Row })),
        ] {
            assert_eq!(spec(text, DType::F32), expected, "{text}");
        }
        let hybrid = |window_rows, pad_cols, tile_entries| {
            fixed(FormatSpec::Hybrid { window_rows, pad_cols, tile_entries })
        };
        assert_eq!(spec("hybrid", DType::F32), hybrid(64, 8, 12));
        assert_eq!(spec("hybrid:16", DType::F16), hybrid(16, 16, 24));
        assert_eq!(spec("hybrid:32/10", DType::F32), hybrid(32, 8, 10));
        let half = fixed(FormatSpec::Wcsr { window_rows: 8, pad_cols: 16 });
        assert_eq!(spec("wcsr:8", DType::F16), half);
        let with_sizes =
            ["bcsr:16x8", "wcsr:8", "blocked-ell:32x32", "two-four:e4m3/tensor", "hybrid:32/10"];
        for text in ["auto", "csr", "two-four"].into_iter().chain(with_sizes) {
            assert_eq!(text.parse::<FormatRequest>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "coo",
            "csr:8",
            "auto:8",
            "wcsr:0",
            "wcsr:8x8",
            "wcsr:8/8",
            "hybrid:8/",
            "hybrid:0/8",
            "bcsr:x",
            "bcsr:",
            "two-four:e4m3",
        ] {
            assert!(text.parse::<FormatRequest>().is_err(), "{text}");
        }
        let ell = "blocked-ell:8x4".parse::<FormatRequest>().unwrap();
        assert!(ell.choice(DType::F32).is_err());
    }

    #[test]
    fn orders_are_read_as_they_are_written() {
        for text in ["none", "auto", "rcm", "window", "window:16", "random:7"] {
            assert_eq!(text.parse::<OrderRequest>().unwrap().to_string(), text);
        }
        for text in ["", "natural", "order.npy"] {
            assert!(text.parse::<OrderRequest>().is_err(), "{text}");
        }
        let order = "rcm".parse().unwrap();
        let [plain, rcm] =
            [OrderRequest::NONE, order].map(|order| CaseRequest { order, ..CaseRequest::CSR });
        assert_eq!([plain.to_string(), rcm.to_string()], ["csr", "csr, rcm"]);
    }

    #[test]
    fn backends_are_read_by_their_names() {
        let all: Vec<BenchBackend> =
            BenchBackend::NAMES.iter().map(|name| name.parse().unwrap()).collect();
        assert_eq!(all.iter().filter(|backend| backend.is_device()).count(), 3);
        assert!("gpu".parse::<BenchBackend>().unwrap_err().contains("cusparse"));
    }

    #[test]
    fn threads_are_all_or_a_number() {
        assert_eq!("all".parse(), Ok(ThreadCount::All));
        assert_eq!("3".parse(), Ok(ThreadCount::Exactly(3)));
        for text in ["", "0", "-1", "5000", "many"] {
            assert!(text.parse::<ThreadCount>().is_err(), "{text}");
        }
    }
}
