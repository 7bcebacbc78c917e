//! What a PTX file says, as plain types: nothing is resolved, checked or laid out yet.
//!
//! Names are kept without interpretation. Whether `x` is a register, a variable, a function or a
//! label depends on the scope it stands in, which only the whole program knows.

use std::fmt;

/// A parsed file.
#[derive(Debug, Clone, PartialEq)]
pub struct Module {
    /// `.version major.minor`.
    pub version: (u32, u32),
    /// `.target`, split at its commas: `["sm_90a"]`.
    pub target: Vec<String>,
    /// `.address_size`; 32 or 64 bits.
    pub address_size: u32,
    /// `.file` directives: number and path.
    pub files: Vec<(u32, String)>,
    /// Variables of module scope.
    pub variables: Vec<Variable>,
    /// Functions and kernels in the order of the file, declarations without a body included.
    pub functions: Vec<Function>,
}

/// A kernel or a device function.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// `.visible`, `.extern`, `.weak`.
    pub linkage: Linkage,
    /// Return values, of `.param` or `.reg` space.
    pub returns: Vec<Variable>,
    /// Parameters, of `.param` or `.reg` space.
    pub params: Vec<Variable>,
    /// Launch bounds and the like.
    pub attributes: Attributes,
    /// The statements between the braces, or `None` for a declaration.
    pub body: Option<Vec<Statement>>,
    /// The line its directive is on, from 1.
    pub line: u32,
}

/// Whether a function can be launched or called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    /// `.entry`.
    Entry,
    /// `.func`.
    Device,
}

/// Who sees a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Linkage {
    /// No directive: this module only.
    #[default]
    Internal,
    /// `.visible`.
    Visible,
    /// `.extern`: defined elsewhere; for `.shared` arrays without a size, by the launch.
    Extern,
    /// `.weak`.
    Weak,
    /// `.common`.
    Common,
}

/// Directives between a function's parameters and its body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `.maxntid`: the most threads a CTA may have, by axis (missing axes are 1).
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: the CTA shape it must be launched with.
    pub required_threads: Option<[u32; 3]>,
    /// `.maxnreg`: registers a thread.
    pub max_registers: Option<u32>,
    /// `.minnctapersm`.
    pub min_ctas_per_sm: Option<u32>,
    /// `.maxnctapersm`.
    pub max_ctas_per_sm: Option<u32>,
    /// `.reqnctapercluster`: the cluster shape it must be launched with.
    pub required_cluster: Option<[u32; 3]>,
    /// `.explicitcluster`: a launch has to name its cluster shape.
    pub explicit_cluster: bool,
    /// `.maxclusterrank`: the most CTAs in a cluster.
    pub max_cluster_rank: Option<u32>,
    /// `.blocksareclusters`: the grid given at the launch counts clusters.
    pub blocks_are_clusters: bool,
    /// `.noreturn`.
    pub no_return: bool,
}

/// One statement of a body.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// An instruction.
    Instruction(Instruction),
    /// `name:`.
    Label(Label),
    /// `.reg`.
    Registers(Registers),
    /// A variable of `.shared`, `.local`, `.param`, `.global` or `.const` space.
    Variable(Variable),
    /// `{ … }` with a scope of its own.
    Block(Vec<Statement>),
    /// `.loc`: where the instructions that follow come from.
    Location(Location),
    /// `name: .branchtargets a, b;`, `.calltargets f, g;`.
    Targets(Targets),
    /// `name: .callprototype (returns) _ (params);`.
    Prototype(Prototype),
}

/// A label and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Its name.
    pub name: String,
    /// From 1.
    pub line: u32,
}

/// `.branchtargets` or `.calltargets`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Targets {
    /// The name before the colon.
    pub name: String,
    /// Labels, or functions for `.calltargets`.
    pub targets: Vec<String>,
    /// From 1.
    pub line: u32,
}

/// `.callprototype`.
#[derive(Debug, Clone, PartialEq)]
pub struct Prototype {
    /// The name before the colon.
    pub name: String,
    /// Return values.
    pub returns: Vec<Variable>,
    /// Parameters.
    pub params: Vec<Variable>,
    /// From 1.
    pub line: u32,
}

/// A place in the source that the PTX was compiled from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location {
    /// Number of a `.file`.
    pub file: u32,
    /// From 1.
    pub line: u32,
    /// From 1, or 0 where the compiler does not say.
    pub column: u32,
}

/// `.reg .b32 %r<10>, x;`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registers {
    /// Type of each.
    pub ty: Type,
    /// 1, or 2 or 4 for `.v2` and `.v4`.
    pub vector: u32,
    /// Names; `%r<10>` is `("%r", Some(10))` and declares `%r0` to `%r9`.
    pub names: Vec<(String, Option<u32>)>,
    /// From 1.
    pub line: u32,
}

/// A variable or a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// State space.
    pub space: Space,
    /// Who sees it.
    pub linkage: Linkage,
    /// `.align` in bytes.
    pub align: Option<u32>,
    /// Type of an element.
    pub ty: Type,
    /// 1, or 2 or 4 for `.v2` and `.v4`.
    pub vector: u32,
    /// Extents of an array, outermost first; empty for a scalar. `None` is `[]`, whose extent the
    /// initializer or the launch gives.
    pub dims: Vec<Option<u64>>,
    /// Values after `=`.
    pub initializer: Option<Initializer>,
    /// From 1.
    pub line: u32,
}

/// The value of a variable at start.
#[derive(Debug, Clone, PartialEq)]
pub enum Initializer {
    /// One element.
    Value(Operand),
    /// `generic(name) + offset`: a generic address.
    Generic(String, i64),
    /// `mask(0xFF00, name + offset)`: one byte of an address.
    Mask(u64, Box<Initializer>),
    /// `{a, b}`, also nested; what is missing is zero.
    List(Vec<Initializer>),
}

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

/// One instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// What stands before the first dot: `cp` of `cp.async.bulk`.
    pub opcode: String,
    /// What stands between the dots, in order; `shared::cluster` is one.
    pub modifiers: Vec<String>,
    /// In order, destination first.
    pub operands: Vec<Operand>,
    /// Of its first token, from 1.
    pub line: u32,
    /// As written, in one line.
    pub text: String,
}

/// `@p` or `@!p`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// Name of a predicate register.
    pub register: String,
    /// `@!p`.
    pub negated: bool,
}

/// One operand.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A register, special register (`%tid.x`), variable, function or label.
    Name(String),
    /// `name + 8` outside brackets: the address of a variable, moved.
    Moved(String, i64),
    /// Bits of an integer; negative values are in two's complement.
    Integer(u64),
    /// `0f3F800000`: bits of an f32.
    Single(u32),
    /// `0d…` or a decimal fraction: bits of an f64.
    Double(u64),
    /// `[base + offset]`. The base is a [`Operand::Name`] or an [`Operand::Integer`].
    Address {
        /// What the offset is added to.
        base: Box<Operand>,
        /// In bytes.
        offset: i64,
    },
    /// `[map, {c0, c1}]`: a tensor map's address and the coordinates in the tensor.
    Tensor {
        /// The [`Operand::Name`] or [`Operand::Moved`] before the comma.
        map: Box<Operand>,
        /// Innermost dimension first.
        coordinates: Vec<Operand>,
    },
    /// `{a, b}`.
    Vector(Vec<Operand>),
    /// `(a, b)`: arguments or results of a call.
    List(Vec<Operand>),
    /// `a|b`: two destinations.
    Pair(Box<Operand>, Box<Operand>),
    /// `!p`.
    Not(Box<Operand>),
    /// `_`: a result nobody wants.
    Sink,
}

impl Operand {
    /// Calls `each` with every name in it.
    pub fn for_each_name<'a>(&'a self, each: &mut dyn FnMut(&'a str)) {
        match self {
            Self::Name(name) | Self::Moved(name, _) => each(name),
            Self::Address { base, .. } | Self::Not(base) => base.for_each_name(each),
            Self::Tensor { map, coordinates } => {
                map.for_each_name(each);
                coordinates.iter().for_each(|operand| operand.for_each_name(each));
            }
            Self::Vector(operands) | Self::List(operands) => {
                operands.iter().for_each(|operand| operand.for_each_name(each));
            }
            Self::Pair(one, other) => {
                one.for_each_name(each);
                other.for_each_name(each);
            }
            Self::Integer(_) | Self::Single(_) | Self::Double(_) | Self::Sink => {}
        }
    }
}

impl Initializer {
    /// Calls `each` with every name in it.
    pub fn for_each_name<'a>(&'a self, each: &mut dyn FnMut(&'a str)) {
        match self {
            Self::Value(value) => value.for_each_name(each),
            Self::Generic(name, _) => each(name),
            Self::Mask(_, inner) => inner.for_each_name(each),
            Self::List(values) => values.iter().for_each(|value| value.for_each_name(each)),
        }
    }
}
