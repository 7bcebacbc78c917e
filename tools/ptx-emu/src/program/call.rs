//! Calls: the bodies of functions put where they are called.

use std::borrow::Cow;

use super::flatten::{Flattener, RETURN};
use super::layout::align_of;
use super::scope::{Binding, Location};
use crate::ast::{Function, Guard, Instruction, Operand, Space, Type, Variable};
use crate::error::{ParseError, Problem};
use crate::parse::MAX_DEPTH;

/// Set where an address is not that of the function it is compared with.
const OTHER: &str = "other function";

/// Where the next function is tried.
const NEXT: &str = "next function";

impl<'a> Flattener<'a, '_> {
    /// Puts a function's body where it is called. Its parameters of `.param` space are the
    /// variables of the caller; those in registers are copied.
    pub(super) fn call(
        &mut self,
        instruction: &'a Instruction,
        scope: usize,
    ) -> Result<(), ParseError> {
        let error = |problem| ParseError::new(instruction.line, &instruction.text, problem);
        let call = Call::read(instruction).map_err(error)?;
        if let Some(&(_, function)) = self.surroundings.functions.get(call.name)
            && function.body.is_none()
        {
            return self.push(Cow::Borrowed(instruction), scope);
        }
        if let Some(guard) = &instruction.guard {
            let skip = Guard { register: guard.register.clone(), negated: !guard.negated };
            let outside = self.open(scope).map_err(error)?;
            let jump = self.steps.len();
            let target = vec![Operand::Name(RETURN.to_owned())];
            let (line, text) = (instruction.line, &instruction.text);
            self.synthetic("bra", &[], target, Some(skip), outside, line, text)?;
            self.unguarded(instruction, call, scope)?;
            let step = Binding::Label(self.steps.len() as u32);
            let outside = self.steps[jump].scope;
            return self.names.bind(outside, RETURN, step).map_err(error);
        }
        self.unguarded(instruction, call, scope)
    }

    fn unguarded(
        &mut self,
        instruction: &Instruction,
        call: Call<'_>,
        scope: usize,
    ) -> Result<(), ParseError> {
        let error = |problem| ParseError::new(instruction.line, &instruction.text, problem);
        if let Some(&(_, function)) = self.surroundings.functions.get(call.name) {
            return self.inline(instruction, function, call, scope);
        }
        match self.names.find(scope, call.name).map_err(error)? {
            Binding::Register(..) => self.through_address(instruction, call, scope),
            _ => Err(error(Problem::Invalid(format!("{} is no function", call.name)))),
        }
    }

    /// Compares the address with that of every function it could be, and calls the one it is.
    fn through_address(
        &mut self,
        instruction: &Instruction,
        call: Call<'_>,
        scope: usize,
    ) -> Result<(), ParseError> {
        let error = |problem| ParseError::new(instruction.line, &instruction.text, problem);
        let (line, text) = (instruction.line, &instruction.text);
        let outside = self.open(scope).map_err(error)?;
        let surroundings = self.surroundings;
        let shape = (call.returns.len(), call.arguments.len());
        for &(address, function) in surroundings.address_taken.get(&shape).into_iter().flatten() {
            if self.calls.contains(&function.name.as_str()) {
                continue;
            }
            let around = self.open(outside).map_err(error)?;
            self.names.register(around, OTHER, Type::Pred).map_err(error)?;
            let other = Operand::Name(OTHER.to_owned());
            let address = Operand::Integer(address);
            let compared = vec![other, Operand::Name(call.name.to_owned()), address];
            self.synthetic("setp", &["ne", "u64"], compared, None, around, line, text)?;
            let guard = Guard { register: OTHER.to_owned(), negated: false };
            let next = vec![Operand::Name(NEXT.to_owned())];
            self.synthetic("bra", &[], next, Some(guard), around, line, text)?;
            self.inline(instruction, function, call, scope)?;
            let done = vec![Operand::Name(RETURN.to_owned())];
            self.synthetic("bra", &[], done, None, outside, line, text)?;
            let step = Binding::Label(self.steps.len() as u32);
            self.names.bind(around, NEXT, step).map_err(error)?;
        }
        // No function that could be meant lies there.
        self.synthetic("trap", &[], Vec::new(), None, scope, line, text)?;
        let step = Binding::Label(self.steps.len() as u32);
        self.names.bind(outside, RETURN, step).map_err(error)
    }

    fn inline(
        &mut self,
        instruction: &Instruction,
        function: &'a Function,
        call: Call<'_>,
        scope: usize,
    ) -> Result<(), ParseError> {
        let error = |problem| ParseError::new(instruction.line, &instruction.text, problem);
        let Call { returns, arguments, .. } = call;
        let name = function.name.as_str();
        let Some(body) = &function.body else {
            let what = format!("a call of {name}, which no file defines, through an address");
            return Err(error(Problem::Unsupported(what)));
        };
        if self.calls.contains(&name) {
            return Err(error(Problem::Unsupported(format!("recursion through {name}"))));
        }
        if self.calls.len() > MAX_DEPTH as usize {
            return Err(error(Problem::TooDeep(MAX_DEPTH)));
        }
        if returns.len() != function.returns.len() || arguments.len() != function.params.len() {
            let expected = format!(
                "{} results and {} arguments",
                function.returns.len(),
                function.params.len()
            );
            let found = returns.len() + arguments.len();
            return Err(error(Problem::OperandCount { expected, found }));
        }
        // Names of both sides, for copies between them.
        let between = self.open(scope).map_err(error)?;
        let inside = self.open(0).map_err(error)?;
        let mut results = Vec::new();
        let formals = function.params.iter().zip(arguments).map(|pair| (pair, false));
        let formals = formals.chain(function.returns.iter().zip(returns).map(|pair| (pair, true)));
        for ((formal, actual), is_result) in formals {
            let alias = match actual {
                Operand::Name(name) => match self.names.find(scope, name).map_err(error)? {
                    binding @ Binding::Variable(_) if formal.space == Space::Param => Some(binding),
                    _ => None,
                },
                _ => None,
            };
            if let Some(binding) = alias {
                self.names.bind(inside, &formal.name, binding).map_err(error)?;
                continue;
            }
            let (binding, copy) = self.copied(formal, actual, is_result).map_err(error)?;
            self.names.bind(inside, &formal.name, binding.clone()).map_err(error)?;
            self.names.bind(between, &copy.local, binding).map_err(error)?;
            if is_result {
                results.push(copy);
            } else {
                self.copy(&copy, between, instruction)?;
            }
        }
        let here = self.location;
        self.calls.push(&function.name);
        self.called.push(&function.name);
        self.body(body, inside, true)?;
        self.calls.pop();
        self.location = here;
        let step = Binding::Label(self.steps.len() as u32);
        self.names.bind(inside, RETURN, step).map_err(error)?;
        for copy in &results {
            self.copy(copy, between, instruction)?;
        }
        Ok(())
    }

    /// A place of its own for a parameter whose argument is not a variable.
    fn copied(
        &mut self,
        formal: &Variable,
        actual: &Operand,
        is_result: bool,
    ) -> Result<(Binding, Copy), Problem> {
        if !formal.dims.is_empty() || formal.vector != 1 {
            return Err(Problem::Invalid(format!("{} needs a variable", formal.name)));
        }
        let local = format!("parameter {}", formal.name);
        let name = Operand::Name(local.clone());
        let (binding, in_memory) = if formal.space == Space::Register {
            (self.names.fresh(formal.ty, &formal.name)?, false)
        } else {
            let place = self.local.place(u64::from(formal.ty.bytes()), align_of(formal))?;
            (Binding::Variable(Location::Local(place)), true)
        };
        let address = Operand::Address { base: Box::new(name.clone()), offset: 0 };
        let (opcode, to, from) = match (in_memory, is_result) {
            (false, false) => ("mov", name, actual.clone()),
            (false, true) => ("mov", actual.clone(), name),
            (true, false) => ("st", address, actual.clone()),
            (true, true) => ("ld", actual.clone(), address),
        };
        let modifiers = if in_memory { vec!["param"] } else { Vec::new() };
        Ok((binding, Copy { local, opcode, modifiers, ty: formal.ty, operands: vec![to, from] }))
    }

    fn copy(&mut self, copy: &Copy, scope: usize, call: &Instruction) -> Result<(), ParseError> {
        let bits = format!("b{}", copy.ty.bits());
        let mut modifiers = copy.modifiers.clone();
        modifiers.push(if copy.ty == Type::Pred { "pred" } else { &bits });
        let operands = copy.operands.clone();
        self.synthetic(copy.opcode, &modifiers, operands, None, scope, call.line, &call.text)
    }
}

/// A value that goes into a called function or comes out of it.
struct Copy {
    local: String,
    opcode: &'static str,
    modifiers: Vec<&'static str>,
    ty: Type,
    operands: Vec<Operand>,
}

/// The parts of a `call`.
#[derive(Debug, Clone, Copy)]
struct Call<'a> {
    returns: &'a [Operand],
    name: &'a str,
    arguments: &'a [Operand],
}

impl<'a> Call<'a> {
    fn read(instruction: &'a Instruction) -> Result<Self, Problem> {
        if let Some(other) = instruction.modifiers.iter().find(|name| *name != "uni") {
            return Err(Problem::UnknownModifier(other.clone()));
        }
        let (returns, rest) = match &instruction.operands[..] {
            [Operand::List(returns), rest @ ..] => (&returns[..], rest),
            rest => (&[][..], rest),
        };
        match rest {
            [Operand::Name(name)] => Ok(Self { returns, name, arguments: &[] }),
            // A prototype or a list of targets says nothing that the arguments do not.
            [Operand::Name(name), Operand::List(arguments)]
            | [Operand::Name(name), Operand::List(arguments), Operand::Name(_)] => {
                Ok(Self { returns, name, arguments })
            }
            _ => Err(Problem::Invalid("not a call".into())),
        }
    }
}
