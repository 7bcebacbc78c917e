//! What is wrong with a PTX file, and where.

use thiserror::Error;

/// Why a PTX file could not be read or is not understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {problem}: `{text}`")]
pub struct ParseError {
    /// The line, from 1.
    pub line: u32,
    /// The statement or the line it is about, as written.
    pub text: String,
    /// What is wrong with it.
    pub problem: Problem,
}

impl ParseError {
    pub(crate) fn new(line: u32, text: impl Into<String>, problem: Problem) -> Self {
        Self { line, text: text.into(), problem }
    }
}

/// What is wrong with a statement.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text is not PTX.
    #[error("expected {expected}, found {found}")]
    Syntax {
        /// What could stand there.
        expected: String,
        /// The token that does.
        found: String,
    },
    /// Blocks, vectors or functions nested or called deeper than the reader follows.
    #[error("nested more than {0} deep")]
    TooDeep(u32),
    /// Something grew past what a program may hold.
    #[error("{what} exceeds the limit of {limit}")]
    TooLarge {
        /// Of what there is too much.
        what: &'static str,
        /// The most there may be.
        limit: u64,
    },
    /// An instruction nobody here executes.
    #[error("unknown instruction {0}")]
    UnknownOpcode(String),
    /// A modifier the instruction does not have, or not there.
    #[error("modifier .{0} is not known here")]
    UnknownModifier(String),
    /// A modifier the instruction cannot do without.
    #[error("modifier missing: {0}")]
    MissingModifier(String),
    /// A legal form that is not modelled.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// Too few or too many operands.
    #[error("expected {expected} operands, found {found}")]
    OperandCount {
        /// How many it takes.
        expected: String,
        /// How many are there.
        found: usize,
    },
    /// An operand of the wrong kind or width.
    #[error("operand {position}: expected {expected}")]
    Operand {
        /// From 1.
        position: usize,
        /// What it has to be.
        expected: String,
    },
    /// A name that is not declared in scope.
    #[error("{0} is not declared")]
    Undeclared(String),
    /// A name declared twice in one scope.
    #[error("{0} is declared twice")]
    Duplicate(String),
    /// Anything else.
    #[error("{0}")]
    Invalid(String),
}
