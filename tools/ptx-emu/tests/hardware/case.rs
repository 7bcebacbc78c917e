//! A case: one kernel, what it is given, and how much it writes.

use std::hash::Hash as _;

use xxhash_rust::xxh3::Xxh3;

/// A kernel `k` whose parameters are the addresses of `inputs`, the address of an output of
/// `output_len` bytes, zeroed, `scalars`, and `maps` of inputs or of the
/// output.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) ptx: String,
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    pub(crate) inputs: Vec<Vec<u8>>,
    pub(crate) output_len: usize,
    pub(crate) scalars: Vec<u64>,
    pub(crate) maps: Vec<Map>,
    pub(crate) judged: Judged,
    /// Bytes of an element of the output.
    pub(crate) element: usize,
}

/// A tensor map, in the words of `cuTensorMapEncodeTiled`.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Map {
    /// The input it is of, or the output.
    pub(crate) input: Option<usize>,
    pub(crate) data_type: DataType,
    pub(crate) dims: Vec<u64>,
    /// In bytes, of all dimensions but the innermost.
    pub(crate) strides: Vec<u64>,
    pub(crate) tile: Vec<u32>,
    pub(crate) element_strides: Vec<u32>,
    /// 0 none, 1 of 16 bytes, 2 of 32.
    pub(crate) interleave: u32,
    /// 0 none, 1 of 32 bytes, 2 of 64, 3 of 128.
    pub(crate) swizzle: u32,
    /// Whether elements out of bounds are NaN instead of zero.
    pub(crate) nan: bool,
}

/// Elements of tensor maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DataType {
    U8,
    U16,
    U32,
    F32,
    Bf16,
}

/// How results are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Judged {
    /// Bit by bit.
    Exactly,
    /// Elements of a format, each within some units in the last place, NaNs and infinities alike.
    Within(Format, u64),
    /// `f32` elements, within a distance for every input.
    Near(f32),
}

/// Formats of approximate results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Format {
    F16,
    Bf16,
    F32,
    F64,
}

impl Case {
    /// Changes when the kernel or its inputs do, so that a record made from others is not compared.
    pub(crate) fn key(&self) -> u64 {
        let mut hasher = Xxh3::new();
        hasher.update(self.ptx.as_bytes());
        for input in &self.inputs {
            hasher.update(&(input.len() as u64).to_le_bytes());
            hasher.update(input);
        }
        for scalar in &self.scalars {
            hasher.update(&scalar.to_le_bytes());
        }
        self.maps.hash(&mut hasher);
        hasher.update(&[self.blocks, self.threads].map(u32::to_le_bytes).concat());
        hasher.digest()
    }

    /// The first difference between an output and the recorded one.
    pub(crate) fn difference(&self, ours: &[u8], recorded: &[u8]) -> Option<String> {
        if ours.len() != recorded.len() {
            return Some(format!("{} bytes, recorded {}", ours.len(), recorded.len()));
        }
        let size = self.element;
        let differing: Vec<usize> = ours
            .chunks(size)
            .zip(recorded.chunks(size))
            .enumerate()
            .filter(|(_, (a, b))| !self.alike(bits(a), bits(b)))
            .map(|(i, _)| i)
            .collect();
        let &first = differing.first()?;
        let at = |bytes: &[u8]| {
            let end = bytes.len().min((first + 1) * size);
            format!("{:#0width$x}", bits(&bytes[first * size..end]), width = 2 + 2 * size)
        };
        Some(format!(
            "{} of {} differ, the first at {first}: {}, recorded {}{}",
            differing.len(),
            ours.len().div_ceil(size),
            at(ours),
            at(recorded),
            self.operands(first),
        ))
    }

    /// The operands of a thread, where each has its own.
    fn operands(&self, thread: usize) -> String {
        let threads = self.threads as usize;
        if thread >= threads || self.inputs.iter().any(|input| input.len() > 8 * threads) {
            return String::new();
        }
        let operand = |input: &Vec<u8>| {
            let size = input.len() / threads;
            let bits = bits(&input[thread * size..(thread + 1) * size]);
            format!("{bits:#0width$x}", width = 2 + 2 * size)
        };
        format!(", for {}", self.inputs.iter().map(operand).collect::<Vec<_>>().join(", "))
    }

    fn alike(&self, a: u64, b: u64) -> bool {
        match self.judged {
            Judged::Exactly => a == b,
            Judged::Within(format, ulps) => {
                let (infinity, sign) = match format {
                    Format::F16 => (0x7c00, 1 << 15),
                    Format::Bf16 => (0x7f80, 1 << 15),
                    Format::F32 => (0x7f80_0000, 1 << 31),
                    Format::F64 => (0x7ff0_0000_0000_0000, 1 << 63),
                };
                let magnitude = |x: u64| x & (sign - 1);
                match (magnitude(a), magnitude(b)) {
                    (x, y) if x > infinity || y > infinity => x > infinity && y > infinity,
                    (x, y) if a & sign == b & sign => x.abs_diff(y) <= ulps,
                    (x, y) => x + y <= ulps,
                }
            }
            Judged::Near(distance) => {
                let (a, b) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
                a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= distance
            }
        }
    }
}

fn bits(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}
