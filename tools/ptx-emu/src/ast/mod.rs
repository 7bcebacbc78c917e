//! What a PTX file says, as plain types: nothing is resolved, checked or laid out yet.
//!
//! Names are kept without interpretation. Whether `x` is a register, a variable, a function or a
//! label depends on the scope it stands in, which only the whole program knows.

mod instruction;
mod types;

pub use instruction::{Guard, Instruction, Operand};
pub use types::{Space, Type};

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
