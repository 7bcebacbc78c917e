//! Instructions and their operands.

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
