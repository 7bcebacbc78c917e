//! State spaces and types.

use std::fmt;

/// State spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Space {
    /// `.reg`: a parameter or return value kept in a register.
    Register,
    /// `.param`.
    Param,
    /// `.global`.
    Global,
    /// `.const`.
    Const,
    /// `.shared`.
    Shared,
    /// `.local`.
    Local,
}

/// Fundamental and packed types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the PTX type of its name")]
pub enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    F32,
    F32x2,
    F64,
    E4m3,
    E5m2,
    E4m3x2,
    E5m2x2,
    U16x2,
    S16x2,
}

impl Type {
    const NAMES: [(&'static str, Self); 28] = [
        ("pred", Self::Pred),
        ("b8", Self::B8),
        ("b16", Self::B16),
        ("b32", Self::B32),
        ("b64", Self::B64),
        ("b128", Self::B128),
        ("u8", Self::U8),
        ("u16", Self::U16),
        ("u32", Self::U32),
        ("u64", Self::U64),
        ("s8", Self::S8),
        ("s16", Self::S16),
        ("s32", Self::S32),
        ("s64", Self::S64),
        ("f16", Self::F16),
        ("f16x2", Self::F16x2),
        ("bf16", Self::Bf16),
        ("bf16x2", Self::Bf16x2),
        ("tf32", Self::Tf32),
        ("f32", Self::F32),
        ("f32x2", Self::F32x2),
        ("f64", Self::F64),
        ("e4m3", Self::E4m3),
        ("e5m2", Self::E5m2),
        ("e4m3x2", Self::E4m3x2),
        ("e5m2x2", Self::E5m2x2),
        ("u16x2", Self::U16x2),
        ("s16x2", Self::S16x2),
    ];

    /// The type a modifier names, without its dot.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(text, _)| *text == name).map(|&(_, ty)| ty)
    }

    /// Its name without the dot.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|&&(_, ty)| ty == self).map_or("", |&(text, _)| text)
    }

    /// Width in bits; 1 for predicates, and what they take in memory for the rest (a `tf32` takes 32).
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Pred => 1,
            Self::B8 | Self::U8 | Self::S8 | Self::E4m3 | Self::E5m2 => 8,
            Self::B16
            | Self::U16
            | Self::S16
            | Self::F16
            | Self::Bf16
            | Self::E4m3x2
            | Self::E5m2x2 => 16,
            Self::B32
            | Self::U32
            | Self::S32
            | Self::F16x2
            | Self::Bf16x2
            | Self::Tf32
            | Self::F32
            | Self::U16x2
            | Self::S16x2 => 32,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 | Self::F32x2 => 64,
            Self::B128 => 128,
        }
    }

    /// Bytes in memory.
    #[must_use]
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether it is `.s8`, `.s16`, `.s32` or `.s64`.
    #[must_use]
    pub fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// Whether immediates of this type are floating-point values.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::Tf32 | Self::F32 | Self::F64)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}
