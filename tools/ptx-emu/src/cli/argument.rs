//! Arguments of kernels as they are written on a command line.

use std::path::PathBuf;
use std::str::FromStr;

use half::{bf16, f16};
use ptx_emu::{Buffer, Gpu};
use thiserror::Error;

use super::map::Map;

/// What an `--arg` or a `--buffer` cannot be.
#[derive(Debug, Error)]
#[error("`{text}`: {problem}")]
pub(crate) struct ArgumentError {
    text: String,
    problem: String,
}

pub(super) fn wrong<T>(text: &str, problem: impl Into<String>) -> Result<T, ArgumentError> {
    Err(ArgumentError { text: text.to_owned(), problem: problem.into() })
}

/// Types of values and of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    Bf16,
    F32,
    F64,
}

const ELEMENTS: [(&str, Element); 12] = [
    ("u8", Element::U8),
    ("i8", Element::I8),
    ("u16", Element::U16),
    ("i16", Element::I16),
    ("u32", Element::U32),
    ("i32", Element::I32),
    ("u64", Element::U64),
    ("i64", Element::I64),
    ("f16", Element::F16),
    ("bf16", Element::Bf16),
    ("f32", Element::F32),
    ("f64", Element::F64),
];

impl Element {
    fn named(name: &str) -> Option<Self> {
        ELEMENTS.iter().find(|(known, _)| *known == name).map(|&(_, element)| element)
    }

    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// A written value as bytes.
    fn parse(self, text: &str) -> Option<Vec<u8>> {
        fn bytes<T: FromStr, const N: usize>(text: &str, to: fn(T) -> [u8; N]) -> Option<Vec<u8>> {
            text.parse().ok().map(|value| to(value).to_vec())
        }
        match self {
            Self::U8 => bytes(text, u8::to_le_bytes),
            Self::I8 => bytes(text, i8::to_le_bytes),
            Self::U16 => bytes(text, u16::to_le_bytes),
            Self::I16 => bytes(text, i16::to_le_bytes),
            Self::U32 => bytes(text, u32::to_le_bytes),
            Self::I32 => bytes(text, i32::to_le_bytes),
            Self::U64 => bytes(text, u64::to_le_bytes),
            Self::I64 => bytes(text, i64::to_le_bytes),
            Self::F16 => bytes(text, |value: f64| f16::from_f64(value).to_le_bytes()),
            Self::Bf16 => bytes(text, |value: f64| bf16::from_f64(value).to_le_bytes()),
            Self::F32 => bytes(text, f32::to_le_bytes),
            Self::F64 => bytes(text, f64::to_le_bytes),
        }
    }

    /// An element as text.
    pub(crate) fn show(self, bytes: &[u8]) -> String {
        let word = bytes.iter().rev().fold(0_u64, |word, &byte| word << 8 | u64::from(byte));
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => word.to_string(),
            Self::I8 => (word as i8).to_string(),
            Self::I16 => (word as i16).to_string(),
            Self::I32 => (word as i32).to_string(),
            Self::I64 => word.cast_signed().to_string(),
            Self::F16 => f16::from_bits(word as u16).to_string(),
            Self::Bf16 => bf16::from_bits(word as u16).to_string(),
            Self::F32 => f32::from_bits(word as u32).to_string(),
            Self::F64 => f64::from_bits(word).to_string(),
        }
    }
}

/// An allocation: `f32:1024:zero:out=c.bin`.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    pub(crate) element: Element,
    pub(crate) count: Option<usize>,
    pub(crate) fill: Fill,
    /// Where its bytes go after the launch.
    pub(crate) output: Option<PathBuf>,
    /// Elements that are printed after the launch.
    pub(crate) print: usize,
}

/// What an allocation holds before the launch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fill {
    /// Nothing: reading it is an error of the kernel.
    Nothing,
    /// A value everywhere.
    Value(Vec<u8>),
    /// 0, 1, 2, …
    Count,
    /// Bytes of a file, little-endian.
    File(PathBuf),
}

impl FromStr for Memory {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        let mut parts = text.split(':');
        let Some(element) = parts.next().and_then(Element::named) else {
            return wrong(text, "starts with a type: f32, bf16, u32, …");
        };
        let (count, fill, output) = (None, Fill::Nothing, None);
        let mut memory = Self { element, count, fill, output, print: 0 };
        for part in parts {
            match part.split_once('=') {
                Some(("in", path)) => memory.fill = Fill::File(path.into()),
                Some(("out", path)) => memory.output = Some(path.into()),
                Some(("fill", value)) => match element.parse(value) {
                    Some(value) => memory.fill = Fill::Value(value),
                    None => return wrong(text, format!("{value} is no value of that type")),
                },
                Some(("print", count)) => match count.parse() {
                    Ok(count) => memory.print = count,
                    Err(_) => return wrong(text, "print= takes a number"),
                },
                None if part == "zero" => memory.fill = Fill::Value(vec![0; element.bytes()]),
                None if part == "count" => memory.fill = Fill::Count,
                None if part == "print" => memory.print = 16,
                _ => match part.parse() {
                    Ok(count) if memory.count.is_none() => memory.count = Some(count),
                    _ => {
                        return wrong(
                            text,
                            format!(
                                "{part} is none of COUNT, zero, count, fill=, in=, out=, print"
                            ),
                        );
                    }
                },
            }
        }
        if memory.count.is_none() && !matches!(memory.fill, Fill::File(_)) {
            return wrong(text, "needs a number of elements");
        }
        Ok(memory)
    }
}

impl Memory {
    /// Allocates it; `read` is how files are read.
    pub(crate) fn allocate<E>(
        &self,
        gpu: &mut Gpu,
        name: &str,
        read: impl Fn(&PathBuf) -> Result<Vec<u8>, E>,
    ) -> Result<Buffer<u8>, E> {
        let size = self.element.bytes();
        let (contents, count) = match &self.fill {
            Fill::File(path) => {
                let contents = read(path)?;
                let count = self.count.unwrap_or(contents.len() / size);
                (contents, count)
            }
            Fill::Nothing => (Vec::new(), self.count.unwrap_or(0)),
            Fill::Value(value) => {
                let count = self.count.unwrap_or(0);
                (value.repeat(count), count)
            }
            Fill::Count => {
                let count = self.count.unwrap_or(0);
                let values = (0..count).filter_map(|i| self.element.parse(&i.to_string()));
                (values.flatten().collect(), count)
            }
        };
        let buffer = gpu.alloc_named::<u8>(name, count * size);
        gpu.write(buffer, &contents[..contents.len().min(count * size)]);
        Ok(buffer)
    }
}

/// A kernel's argument.
#[derive(Debug, Clone)]
pub(crate) enum Argument {
    /// `f32:1.5`.
    Value(Vec<u8>),
    /// `buf:f32:1024:zero`: an allocation of its own.
    Memory(Memory),
    /// `buf:@c`: an allocation named by `--buffer`.
    Named(String),
    /// `map:c:dims=64,128:box=64,64`.
    Map(Map),
    /// `bytes:params.bin`.
    File(PathBuf),
}

impl FromStr for Argument {
    type Err = ArgumentError;

    fn from_str(text: &str) -> Result<Self, ArgumentError> {
        let Some((kind, rest)) = text.split_once(':') else {
            return wrong(text, "is written TYPE:VALUE, buf:…, map:… or bytes:FILE");
        };
        match kind {
            "buf" => match rest.strip_prefix('@') {
                Some(name) => Ok(Self::Named(name.to_owned())),
                None => rest.parse().map(Self::Memory),
            },
            "map" => rest.parse().map(Self::Map),
            "bytes" => Ok(Self::File(rest.into())),
            _ => match Element::named(kind) {
                None => wrong(text, format!("{kind} is no type")),
                Some(element) => match element.parse(rest) {
                    Some(bytes) => Ok(Self::Value(bytes)),
                    None => wrong(text, format!("{rest} is no value of type {kind}")),
                },
            },
        }
    }
}
