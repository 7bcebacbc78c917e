//! What families read an instruction with.

use super::preset::Preset;
use super::scope::{Address, Binding, Scope};
use crate::ast::{Instruction, Operand, Type};
use crate::error::{ParseError, Problem};
use crate::machine::warp::{Condition, Predicate, Slot, Source};

/// An instruction being decoded: modifiers are taken from the front, one after the other.
#[derive(Debug)]
pub(crate) struct Decoder<'a> {
    instruction: &'a Instruction,
    scope: Scope<'a>,
    taken: usize,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(instruction: &'a Instruction, scope: &Scope<'a>) -> Self {
        Self { instruction, scope: *scope, taken: 0 }
    }

    /// The names the instruction sees.
    pub(crate) fn scope(&self) -> Scope<'a> {
        self.scope
    }

    /// The flag that `.cc` instructions hand on.
    pub(crate) fn carry(&self) -> Result<Predicate, ParseError> {
        self.scope.carry().map_err(|problem| self.error(problem))
    }

    /// The declared type of the register at a position.
    pub(crate) fn declared(&self, position: usize) -> Result<Type, ParseError> {
        if let Operand::Name(name) = self.operand(position)?
            && let Binding::Register(_, ty) =
                self.scope.find(name).map_err(|problem| self.error(problem))?
        {
            return Ok(ty);
        }
        self.wrong(position, "a register")
    }

    /// An error about this instruction.
    pub(crate) fn error(&self, problem: Problem) -> ParseError {
        ParseError::new(self.instruction.line, &self.instruction.text, problem)
    }

    /// Says that a legal form is not modelled.
    pub(crate) fn unsupported<T>(&self, what: impl Into<String>) -> Result<T, ParseError> {
        Err(self.error(Problem::Unsupported(what.into())))
    }

    // Modifiers.

    /// The next modifier, left where it is.
    pub(crate) fn peek(&self) -> Option<&'a str> {
        self.instruction.modifiers.get(self.taken).map(String::as_str)
    }

    /// Takes the next modifier whatever it is.
    pub(crate) fn next(&mut self) -> Option<&'a str> {
        let next = self.peek();
        self.taken += usize::from(next.is_some());
        next
    }

    /// Takes the next modifier if it is this one.
    pub(crate) fn take(&mut self, name: &str) -> bool {
        let here = self.peek() == Some(name);
        self.taken += usize::from(here);
        here
    }

    /// Takes the next modifier, which has to be this one.
    pub(crate) fn expect(&mut self, name: &str) -> Result<(), ParseError> {
        if self.take(name) { Ok(()) } else { Err(self.missing(format!(".{name}"))) }
    }

    /// Takes the next modifier if it is among the choices.
    pub(crate) fn choice<T: Copy>(&mut self, choices: &[(&str, T)]) -> Option<T> {
        let next = self.peek()?;
        let &(_, value) = choices.iter().find(|(name, _)| *name == next)?;
        self.taken += 1;
        Some(value)
    }

    /// Takes the next modifier, which has to be among the choices.
    pub(crate) fn required<T: Copy>(&mut self, choices: &[(&str, T)]) -> Result<T, ParseError> {
        self.choice(choices).ok_or_else(|| {
            let names: Vec<_> = choices.iter().map(|(name, _)| format!(".{name}")).collect();
            self.missing(names.join(" or "))
        })
    }

    /// Takes the next modifier, which has to be a type.
    pub(crate) fn ty(&mut self) -> Result<Type, ParseError> {
        let ty = self.peek().and_then(Type::named).ok_or_else(|| self.missing("a type".into()))?;
        self.taken += 1;
        Ok(ty)
    }

    /// Takes the next modifier, which has to be one of these types.
    pub(crate) fn ty_of(&mut self, types: &[Type]) -> Result<Type, ParseError> {
        let found = self.peek().and_then(Type::named).filter(|ty| types.contains(ty));
        let ty = found.ok_or_else(|| {
            let names: Vec<_> = types.iter().map(ToString::to_string).collect();
            self.missing(names.join(" or "))
        })?;
        self.taken += 1;
        Ok(ty)
    }

    /// Refuses modifiers that nobody took, and another number of operands than the family reads.
    pub(crate) fn finish(
        &self,
        operands: std::ops::RangeInclusive<usize>,
    ) -> Result<(), ParseError> {
        if let Some(unknown) = self.peek() {
            return Err(self.error(Problem::UnknownModifier(unknown.to_owned())));
        }
        let found = self.n_operands();
        if operands.contains(&found) {
            return Ok(());
        }
        let (least, most) = (operands.start(), operands.end());
        let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
        Err(self.error(Problem::OperandCount { expected, found }))
    }

    fn missing(&self, what: String) -> ParseError {
        match self.peek() {
            Some(other) => self.error(Problem::UnknownModifier(format!("{other} (want {what})"))),
            None => self.error(Problem::MissingModifier(what)),
        }
    }

    // Operands, counted from 0 as families do and from 1 as messages do.

    /// How many there are.
    pub(crate) fn n_operands(&self) -> usize {
        self.instruction.operands.len()
    }

    /// The operand at a position.
    pub(crate) fn operand(&self, position: usize) -> Result<&'a Operand, ParseError> {
        self.instruction.operands.get(position).ok_or_else(|| {
            self.error(Problem::OperandCount {
                expected: format!("at least {}", position + 1),
                found: self.n_operands(),
            })
        })
    }

    /// Says what the operand at a position should have been.
    pub(crate) fn wrong<T>(
        &self,
        position: usize,
        expected: impl Into<String>,
    ) -> Result<T, ParseError> {
        Err(self.error(Problem::Operand { position: position + 1, expected: expected.into() }))
    }

    /// The elements of a vector operand; a lone operand is a vector of one.
    pub(crate) fn elements(&self, position: usize) -> Result<&'a [Operand], ParseError> {
        Ok(match self.operand(position)? {
            Operand::Vector(elements) => elements,
            other => std::slice::from_ref(other),
        })
    }

    /// The register that is written, exactly as wide as the type.
    pub(crate) fn destination(&self, position: usize, ty: Type) -> Result<Slot, ParseError> {
        self.register(self.operand(position)?, position, ty.bits()..=ty.bits())
    }

    /// The register that is written, at least as wide as the type.
    pub(crate) fn wide_destination(&self, position: usize, ty: Type) -> Result<Slot, ParseError> {
        self.register(self.operand(position)?, position, ty.bits()..=64)
    }

    /// The value that is read, exactly as wide as the type.
    pub(crate) fn source(&self, position: usize, ty: Type) -> Result<Source, ParseError> {
        self.value(self.operand(position)?, position, ty, ty.bits())
    }

    /// The value that is read; a register may be wider than the type, and then has more bits set
    /// than the type has.
    pub(crate) fn wide_source(&self, position: usize, ty: Type) -> Result<Source, ParseError> {
        self.value(self.operand(position)?, position, ty, 64)
    }

    /// The predicate that is written.
    pub(crate) fn predicate(&self, position: usize) -> Result<Predicate, ParseError> {
        self.predicate_of(self.operand(position)?, position)
    }

    /// The condition that is read.
    pub(crate) fn condition(&self, position: usize) -> Result<Condition, ParseError> {
        match self.operand(position)? {
            Operand::Integer(value) => Ok(Condition::Constant(*value != 0)),
            Operand::Not(inner) => {
                Ok(Condition::Predicate(self.predicate_of(inner, position)?, true))
            }
            operand => Ok(Condition::Predicate(self.predicate_of(operand, position)?, false)),
        }
    }

    /// The address in brackets.
    pub(crate) fn address(&self, position: usize) -> Result<Address, ParseError> {
        self.address_of(self.operand(position)?, position)
    }

    /// The steps that a label or a table of labels marks.
    pub(crate) fn targets(&self, position: usize) -> Result<Vec<u32>, ParseError> {
        let Operand::Name(name) = self.operand(position)? else {
            return self.wrong(position, "a label");
        };
        match self.scope.find(name).map_err(|problem| self.error(problem))? {
            Binding::Label(step) => Ok(vec![step]),
            Binding::Targets(steps) => Ok(steps),
            _ => self.wrong(position, "a label"),
        }
    }

    // The same for operands within operands; the position is for messages.

    /// A register of a width in `bits`.
    pub(crate) fn register(
        &self,
        operand: &Operand,
        position: usize,
        bits: std::ops::RangeInclusive<u32>,
    ) -> Result<Slot, ParseError> {
        if let Operand::Name(name) = operand
            && let Binding::Register(slot, declared) =
                self.scope.find(name).map_err(|problem| self.error(problem))?
            && bits.contains(&declared.bits())
        {
            return Ok(slot);
        }
        let (least, most) = (bits.start(), bits.end());
        let plus = if least == most { "" } else { " or more" };
        self.wrong(position, format!("a register of {least} bits{plus}"))
    }

    /// A predicate register.
    pub(crate) fn predicate_of(
        &self,
        operand: &Operand,
        position: usize,
    ) -> Result<Predicate, ParseError> {
        if let Operand::Name(name) = operand
            && let Binding::Predicate(predicate) =
                self.scope.find(name).map_err(|problem| self.error(problem))?
        {
            return Ok(predicate);
        }
        self.wrong(position, "a predicate")
    }

    /// A register of `ty.bits()` to `most` bits, an immediate, a special register or an address.
    pub(crate) fn value(
        &self,
        operand: &Operand,
        position: usize,
        ty: Type,
        most: u32,
    ) -> Result<Source, ParseError> {
        let bits = ty.bits();
        match operand {
            Operand::Integer(value) => Ok(Source::Constant(integer_bits(*value, ty))),
            Operand::Single(_) | Operand::Double(_) => match float_bits(operand, ty) {
                Some(value) => Ok(Source::Constant(value)),
                None => self.wrong(position, format!("a value of type {ty}")),
            },
            Operand::Name(name) => {
                if let Some((preset, width)) = Preset::named(name) {
                    // `%gridid` and the like may be read as 32 bits: rows of presets hold small
                    // values, so that nothing is cut off.
                    if width.max(32) > most.max(32) && !matches!(preset, Preset::Grid) {
                        return self.wrong(position, format!("a register of {bits} bits"));
                    }
                    let slot = self.scope.preset(preset).map_err(|p| self.error(p))?;
                    return Ok(Source::Slot(slot));
                }
                match self.scope.find(name).map_err(|problem| self.error(problem))? {
                    Binding::Register(slot, declared)
                        if (bits..=most).contains(&declared.bits()) =>
                    {
                        Ok(Source::Slot(slot))
                    }
                    Binding::Function(address) if bits == 64 => Ok(Source::Constant(address)),
                    Binding::Variable(location) if bits >= 32 => {
                        let address = self.scope.address_of(location);
                        Ok(address.map_err(|problem| self.error(problem))?.0)
                    }
                    _ => self.wrong(position, format!("a register or value of {bits} bits")),
                }
            }
            _ => self.wrong(position, format!("a register or value of {bits} bits")),
        }
    }

    /// An address.
    pub(crate) fn address_of(
        &self,
        operand: &Operand,
        position: usize,
    ) -> Result<Address, ParseError> {
        let (base, offset) = match operand {
            Operand::Address { base, offset } => (&**base, *offset),
            Operand::Moved(..) | Operand::Name(_) => (operand, 0),
            _ => return self.wrong(position, "an address"),
        };
        let (name, offset) = match base {
            Operand::Integer(value) => {
                return Ok(Address { base: Source::Constant(*value), offset, space: None });
            }
            Operand::Name(name) => (name, offset),
            Operand::Moved(name, more) => (name, offset.wrapping_add(*more)),
            _ => return self.wrong(position, "an address"),
        };
        match self.scope.find(name).map_err(|problem| self.error(problem))? {
            Binding::Register(slot, ty) if ty.bits() == 32 || ty.bits() == 64 => {
                Ok(Address { base: Source::Slot(slot), offset, space: None })
            }
            Binding::Variable(location) => {
                let found = self.scope.address_of(location);
                let (base, space) = found.map_err(|problem| self.error(problem))?;
                Ok(Address { base, offset, space: Some(space) })
            }
            _ => self.wrong(position, "an address"),
        }
    }
}

/// An integer immediate as the bits of a type.
fn integer_bits(value: u64, ty: Type) -> u64 {
    match ty {
        Type::Pred => u64::from(value != 0),
        _ if ty.bits() >= 64 => value,
        _ => value & ((1 << ty.bits()) - 1),
    }
}

/// A floating-point immediate as the bits of a type, where it can be one.
fn float_bits(operand: &Operand, ty: Type) -> Option<u64> {
    match (operand, ty) {
        (Operand::Single(bits), Type::F64) => Some(f64::from(f32::from_bits(*bits)).to_bits()),
        (Operand::Single(bits), _) if ty.bits() >= 32 => Some(u64::from(*bits)),
        (Operand::Double(bits), _) if ty.bits() == 64 => Some(*bits),
        (Operand::Double(bits), Type::F32 | Type::Tf32) => {
            Some(u64::from((f64::from_bits(*bits) as f32).to_bits()))
        }
        _ => None,
    }
}
