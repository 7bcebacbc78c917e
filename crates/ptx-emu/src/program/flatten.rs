//! Bodies laid end to end: blocks become scopes, calls become the bodies they call.

use std::borrow::Cow;
use std::collections::HashMap;

use super::layout::{FUNCTION_START, FUNCTION_STEP, Region, align_of, size_of};
use super::scope::{Binding, Location, Names};
use crate::ast::{self, Function, Guard, Instruction, Operand, Space, Statement, Type, Variable};
use crate::error::{ParseError, Problem};

/// Instructions that a kernel may have once its calls are in place.
const MAX_STEPS: usize = 1 << 20;

/// Scopes that it may have.
const MAX_SCOPES: usize = 1 << 16;

/// Bytes of `.local` memory that a thread may have.
const MAX_LOCAL: u64 = 512 << 10;

/// Where control goes when a function that was called returns.
const RETURN: &str = "return";

/// An instruction and the scope it stands in.
#[derive(Debug)]
pub(super) struct Placed<'a> {
    pub(super) instruction: Cow<'a, Instruction>,
    pub(super) scope: usize,
    pub(super) location: Option<ast::Location>,
}

/// What is known of the module while its functions are laid out.
#[derive(Debug)]
pub(super) struct Surroundings<'a> {
    pub(super) functions: HashMap<&'a str, (u64, &'a Function)>,
}

impl<'a> Surroundings<'a> {
    pub(super) fn new(module: &'a ast::Module) -> Self {
        let mut functions: HashMap<&str, (u64, &Function)> = HashMap::new();
        for (index, function) in module.functions.iter().enumerate() {
            let address = FUNCTION_START + FUNCTION_STEP * index as u64;
            // A declaration may stand before the definition, under the same address.
            let known = functions.entry(&function.name).or_insert((address, function));
            if function.body.is_some() {
                known.1 = function;
            }
        }
        Self { functions }
    }
}

/// A body being laid out.
pub(super) struct Flattener<'a, 'b> {
    surroundings: &'b Surroundings<'a>,
    pub(super) names: Names,
    pub(super) steps: Vec<Placed<'a>>,
    /// Functions being called, outermost first.
    calls: Vec<&'a str>,
    /// Whose bodies are in here.
    pub(super) called: Vec<&'a str>,
    n_scopes: usize,
    location: Option<ast::Location>,
    pub(super) shared: Region,
    pub(super) local: Region,
    /// Variables that keep their place however often their function is called.
    statics: HashMap<(&'a str, u32, &'a str), Location>,
    /// `.extern .shared` arrays: they lie where the shared memory of the launch begins.
    dynamic: Vec<(usize, &'a str)>,
    pub(super) dynamic_align: u64,
    tables: Vec<(usize, &'a ast::Targets)>,
    /// `.global` and `.const` variables declared within functions.
    pub(super) inner: Vec<&'a Variable>,
    n_module_variables: u32,
}

impl<'a, 'b> Flattener<'a, 'b> {
    pub(super) fn new(
        surroundings: &'b Surroundings<'a>,
        names: Names,
        shared: Region,
        n_module_variables: u32,
    ) -> Self {
        Self {
            surroundings,
            names,
            steps: Vec::new(),
            calls: Vec::new(),
            called: Vec::new(),
            n_scopes: 0,
            location: None,
            shared,
            local: Region::new(0, MAX_LOCAL, "local memory"),
            statics: HashMap::new(),
            dynamic: Vec::new(),
            dynamic_align: 16,
            tables: Vec::new(),
            inner: Vec::new(),
            n_module_variables,
        }
    }

    /// Lays out a kernel, or a function as if it were one, whose parameters `scope` binds.
    pub(super) fn root(&mut self, function: &'a Function, scope: usize) -> Result<(), ParseError> {
        self.calls.push(&function.name);
        self.body(function.body.as_deref().unwrap_or_default(), scope, false)?;
        // Control that runs off the end leaves, and a label at the end needs a step to mark.
        let text = format!("end of {}", function.name);
        self.synthetic("ret", &[], Vec::new(), None, scope, function.line, &text)?;
        self.finish_tables()?;
        Ok(())
    }

    /// The address of dynamic shared memory; all static variables have their place by now.
    pub(super) fn finish_shared(&mut self) -> Result<u64, Problem> {
        let start = self.shared.place(0, self.dynamic_align)?;
        for &(scope, name) in &self.dynamic {
            self.names.rebind(scope, name, Binding::Variable(Location::Shared(start)));
        }
        Ok(start)
    }

    /// Notes that an open shared array is in use.
    pub(super) fn dynamic_shared(&mut self, scope: usize, variable: &'a Variable) {
        self.dynamic_align = self.dynamic_align.max(align_of(variable));
        self.dynamic.push((scope, &variable.name));
    }

    pub(super) fn open(&mut self, parent: usize) -> Result<usize, Problem> {
        if self.n_scopes == MAX_SCOPES {
            let limit = MAX_SCOPES as u64;
            return Err(Problem::TooLarge { what: "the number of blocks and calls", limit });
        }
        self.n_scopes += 1;
        Ok(self.names.open(parent))
    }

    fn body(
        &mut self,
        statements: &'a [Statement],
        scope: usize,
        called: bool,
    ) -> Result<(), ParseError> {
        for statement in statements {
            self.statement(statement, scope, called)?;
        }
        Ok(())
    }

    fn statement(
        &mut self,
        statement: &'a Statement,
        scope: usize,
        called: bool,
    ) -> Result<(), ParseError> {
        match statement {
            Statement::Instruction(instruction) => self.instruction(instruction, scope, called),
            Statement::Label(label) => {
                let step = Binding::Label(self.steps.len() as u32);
                self.names
                    .bind(scope, &label.name, step)
                    .map_err(|problem| ParseError::new(label.line, &label.name, problem))
            }
            Statement::Registers(registers) => self.registers(registers, scope),
            Statement::Variable(variable) => self
                .variable(variable, scope)
                .map_err(|problem| ParseError::new(variable.line, &variable.name, problem)),
            Statement::Block(statements) => {
                let inner = self.open(scope).map_err(|problem| ParseError::new(0, "{", problem))?;
                self.body(statements, inner, called)
            }
            Statement::Location(location) => {
                self.location = Some(*location);
                Ok(())
            }
            Statement::Targets(targets) => {
                self.tables.push((scope, targets));
                Ok(())
            }
            Statement::Prototype(_) => Ok(()),
        }
    }

    fn registers(&self, registers: &ast::Registers, scope: usize) -> Result<(), ParseError> {
        let components: &[&str] = match registers.vector {
            1 => &[""],
            2 => &[".x", ".y"],
            _ => &[".x", ".y", ".z", ".w"],
        };
        for (name, count) in &registers.names {
            let declared = components.iter().try_for_each(|component| match count {
                None => self.names.register(scope, &format!("{name}{component}"), registers.ty),
                Some(count) if registers.vector == 1 => {
                    self.names.registers(scope, name, *count, registers.ty)
                }
                Some(_) => Err(Problem::Unsupported("a range of vector registers".into())),
            });
            declared.map_err(|problem| ParseError::new(registers.line, name, problem))?;
        }
        Ok(())
    }

    fn variable(&mut self, variable: &'a Variable, scope: usize) -> Result<(), Problem> {
        let function = self.calls.last().copied().unwrap_or_default();
        let key = (function, variable.line, variable.name.as_str());
        let bytes = size_of(variable)?;
        let location = match (variable.space, self.statics.get(&key)) {
            (Space::Shared, None) if variable.dims.first() == Some(&None) => {
                let later = Binding::Variable(Location::Shared(0));
                self.names.bind(scope, &variable.name, later)?;
                self.dynamic_shared(scope, variable);
                return Ok(());
            }
            (Space::Shared | Space::Global | Space::Const, Some(location)) => *location,
            (Space::Shared, None) => {
                let location = Location::Shared(self.shared.place(bytes, align_of(variable))?);
                self.statics.insert(key, location);
                location
            }
            (Space::Global | Space::Const, None) => {
                let index = self.n_module_variables + self.inner.len() as u32;
                self.inner.push(variable);
                self.statics.insert(key, Location::Module(index));
                Location::Module(index)
            }
            _ => Location::Local(self.local.place(bytes, align_of(variable))?),
        };
        self.names.bind(scope, &variable.name, Binding::Variable(location))
    }

    fn instruction(
        &mut self,
        instruction: &'a Instruction,
        scope: usize,
        called: bool,
    ) -> Result<(), ParseError> {
        let error = |problem| ParseError::new(instruction.line, &instruction.text, problem);
        match instruction.opcode.as_str() {
            "call" => self.call(instruction, scope),
            "ret" if called => {
                if let Some(other) = instruction.modifiers.iter().find(|name| *name != "uni") {
                    return Err(error(Problem::UnknownModifier(other.clone())));
                }
                if !instruction.operands.is_empty() {
                    let found = instruction.operands.len();
                    return Err(error(Problem::OperandCount { expected: "0".into(), found }));
                }
                let target = vec![Operand::Name(RETURN.to_owned())];
                let Instruction { guard, line, text, .. } = instruction;
                self.synthetic("bra", &[], target, guard.clone(), scope, *line, text)
            }
            _ => self.push(Cow::Borrowed(instruction), scope),
        }
    }

    fn push(&mut self, instruction: Cow<'a, Instruction>, scope: usize) -> Result<(), ParseError> {
        if self.steps.len() == MAX_STEPS {
            let problem = Problem::TooLarge {
                what: "the number of instructions with all calls in place",
                limit: MAX_STEPS as u64,
            };
            return Err(ParseError::new(instruction.line, &instruction.text, problem));
        }
        self.steps.push(Placed { instruction, scope, location: self.location });
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "an instruction has that many parts")]
    fn synthetic(
        &mut self,
        opcode: &str,
        modifiers: &[&str],
        operands: Vec<Operand>,
        guard: Option<Guard>,
        scope: usize,
        line: u32,
        text: &str,
    ) -> Result<(), ParseError> {
        let modifiers = modifiers.iter().map(ToString::to_string).collect();
        let (opcode, text) = (opcode.to_owned(), text.to_owned());
        let instruction = Instruction { guard, opcode, modifiers, operands, line, text };
        self.push(Cow::Owned(instruction), scope)
    }

    /// Puts a function's body where it is called. Its parameters of `.param` space are the
    /// variables of the caller; those in registers are copied.
    fn call(&mut self, instruction: &'a Instruction, scope: usize) -> Result<(), ParseError> {
        let error = |problem| ParseError::new(instruction.line, &instruction.text, problem);
        let Call { returns, name, arguments } = Call::read(instruction).map_err(error)?;
        let Some(&(_, function)) = self.surroundings.functions.get(name) else {
            let what = format!("a call to {name}, which is no function of this file");
            return Err(error(Problem::Unsupported(what)));
        };
        let Some(body) = &function.body else {
            return self.push(Cow::Borrowed(instruction), scope);
        };
        if self.calls.contains(&name) {
            return Err(error(Problem::Unsupported(format!("recursion through {name}"))));
        }
        if self.calls.len() > crate::parse::MAX_DEPTH as usize {
            return Err(error(Problem::TooDeep(crate::parse::MAX_DEPTH)));
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
        if let Some(guard) = &instruction.guard {
            let skip = Guard { register: guard.register.clone(), negated: !guard.negated };
            let outside = self.open(scope).map_err(error)?;
            let jump = self.steps.len();
            let target = vec![Operand::Name(RETURN.to_owned())];
            let (line, text) = (instruction.line, &instruction.text);
            self.synthetic("bra", &[], target, Some(skip), outside, line, text)?;
            self.inline(instruction, function, body, returns, arguments, scope)?;
            let step = Binding::Label(self.steps.len() as u32);
            let outside = self.steps[jump].scope;
            return self.names.bind(outside, RETURN, step).map_err(error);
        }
        self.inline(instruction, function, body, returns, arguments, scope)
    }

    fn inline(
        &mut self,
        instruction: &Instruction,
        function: &'a Function,
        body: &'a [Statement],
        returns: &[Operand],
        arguments: &[Operand],
        scope: usize,
    ) -> Result<(), ParseError> {
        let error = |problem| ParseError::new(instruction.line, &instruction.text, problem);
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

    fn finish_tables(&mut self) -> Result<(), ParseError> {
        for (scope, table) in std::mem::take(&mut self.tables) {
            let error = |problem| ParseError::new(table.line, &table.name, problem);
            let mut steps = Vec::with_capacity(table.targets.len());
            for target in &table.targets {
                match self.names.find(scope, target).map_err(error)? {
                    Binding::Label(step) => steps.push(step),
                    Binding::Function(_) => {}
                    _ => return Err(error(Problem::Invalid(format!("{target} is no label")))),
                }
            }
            self.names.bind(scope, &table.name, Binding::Targets(steps)).map_err(error)?;
        }
        Ok(())
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
            [Operand::Name(name), Operand::List(arguments)] => {
                Ok(Self { returns, name, arguments })
            }
            [Operand::Name(name), Operand::List(_), Operand::Name(_)] => {
                Err(Problem::Unsupported(format!("a call through the address in {name}")))
            }
            _ => Err(Problem::Invalid("not a call".into())),
        }
    }
}
