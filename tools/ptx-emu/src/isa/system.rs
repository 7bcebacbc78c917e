//! Calls of functions that the driver brings along: `vprintf`, `__assertfail`.
//!
//! CUDA C++ Programming Guide, "Formatted Output" and "Assertion".

use super::Flow;
use super::printf::{self, Arguments};
use crate::ast::{Instruction, Operand};
use crate::error::{ParseError, Problem as ParseProblem};
use crate::machine::{Cluster, Warp, lanes};
use crate::memory::Space;
use crate::program::{Binding, Decoder, Location, Scope};
use crate::report::{AccessKind, Problem, Stop};

/// No string is longer.
const MAX_STRING: u64 = 1 << 16;

/// A call of such a function. Arguments and results are offsets in local memory.
#[derive(Debug, Clone)]
pub(crate) enum System {
    /// `int vprintf(const char *format, const void *arguments)`.
    Print {
        /// Of the result, where it is wanted.
        result: Option<u64>,
        /// Of the address of the format.
        format: u64,
        /// Of the address of the packed arguments.
        arguments: u64,
    },
    /// `__assertfail(message, file, line, function, size of a character)`.
    Assert([u64; 4]),
}

/// Decodes a call of a function without a body.
pub(super) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<System, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    d.take("uni");
    d.finish(1..=4)?;
    let (returns, rest) = match &instruction.operands[..] {
        [Operand::List(returns), rest @ ..] => (&returns[..], rest),
        rest => (&[][..], rest),
    };
    let (name, arguments) = match rest {
        [Operand::Name(name)] => (name, &[][..]),
        [Operand::Name(name), Operand::List(arguments), ..] => (name, &arguments[..]),
        _ => return Err(d.error(ParseProblem::Invalid("not a call".into()))),
    };
    let local = |operand: &Operand| match operand {
        Operand::Name(name) => match d.scope().find(name).map_err(|problem| d.error(problem))? {
            Binding::Variable(Location::Local(offset)) => Ok(offset),
            _ => d.unsupported(format!("{name} as an argument or result of such a call")),
        },
        _ => d.unsupported("an argument that is not a variable"),
    };
    match (name.as_str(), returns, arguments) {
        ("vprintf", [] | [_], [format, arguments]) => Ok(System::Print {
            result: returns.first().map(local).transpose()?,
            format: local(format)?,
            arguments: local(arguments)?,
        }),
        ("__assertfail", [], [message, file, line, function, _]) => {
            Ok(System::Assert([local(message)?, local(file)?, local(line)?, local(function)?]))
        }
        _ => d.unsupported(format!("a call to {name}, which no file defines")),
    }
}

impl System {
    /// Executes it for the lanes in `mask`.
    ///
    /// # Errors
    /// A failed assertion, and strings or arguments that cannot be read.
    pub(super) fn execute(
        &self,
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<Flow, Stop> {
        match *self {
            Self::Print { result, format, arguments } => {
                for lane in lanes(mask) {
                    let mut reader = Reader { warp, cluster, lane, at: 0 };
                    let text = reader.print(format, arguments).map_err(|p| p.at(lane as u32))?;
                    cluster.output.extend_from_slice(&text);
                    if let Some(result) = result {
                        let written = (text.len() as u32).to_le_bytes();
                        warp.local_mut(lane)[result as usize..][..4].copy_from_slice(&written);
                    }
                }
                Ok(Flow::Next)
            }
            Self::Assert(offsets) => {
                let lane = mask.trailing_zeros();
                let reader = Reader { warp, cluster, lane: lane as usize, at: 0 };
                Err(reader.assertion(offsets).unwrap_or_else(|problem| problem).at(lane))
            }
        }
    }
}

/// A thread's view of memory.
struct Reader<'a> {
    warp: &'a Warp,
    cluster: &'a Cluster,
    lane: usize,
    at: u64,
}

impl Reader<'_> {
    /// A variable of up to 8 bytes in local memory.
    fn local(&self, offset: u64, bytes: u32) -> Result<u64, Problem> {
        self.load(Space::Local, offset, bytes)
    }

    fn load(&self, space: Space, address: u64, bytes: u32) -> Result<u64, Problem> {
        let (rank, kind) = (self.warp.rank(), AccessKind::Read);
        let context = &self.cluster.context;
        let target = context.resolve(rank, space, address, bytes.into(), bytes, kind)?;
        self.cluster.check_initialized(&target, bytes.into())?;
        Ok(self.cluster.load(self.warp, self.lane, &target, bytes))
    }

    fn print(&mut self, format: u64, arguments: u64) -> Result<Vec<u8>, Problem> {
        let format = self.string(self.local(format, 8)?)?;
        self.at = self.local(arguments, 8)?;
        let mut text = Vec::new();
        printf::format(&format, self, &mut text)?;
        Ok(text)
    }

    fn assertion(&self, [message, file, line, function]: [u64; 4]) -> Result<Problem, Problem> {
        let text = |offset| {
            let bytes = self.text(self.local(offset, 8)?)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Problem::Assertion {
            message: text(message)?,
            file: text(file)?,
            line: self.local(line, 4)? as u32,
            function: text(function)?,
        })
    }

    fn text(&self, address: u64) -> Result<Vec<u8>, Problem> {
        let mut text = Vec::new();
        for at in 0..MAX_STRING {
            match self.load(Space::Generic, address.wrapping_add(at), 1)? {
                0 => break,
                byte => text.push(byte as u8),
            }
        }
        Ok(text)
    }
}

impl Arguments for Reader<'_> {
    type Error = Problem;

    fn value(&mut self, bytes: u32) -> Result<u64, Problem> {
        let align = u64::from(bytes);
        self.at = self.at.wrapping_add(align - 1) & !(align - 1);
        let value = self.load(Space::Generic, self.at, bytes)?;
        self.at = self.at.wrapping_add(align);
        Ok(value)
    }

    fn string(&mut self, address: u64) -> Result<Vec<u8>, Problem> {
        self.text(address)
    }
}
