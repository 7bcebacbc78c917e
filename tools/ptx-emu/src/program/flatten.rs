//! Bodies laid end to end: blocks become scopes, calls become the bodies they call.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::layout::{FUNCTION_START, FUNCTION_STEP, Region, align_of, size_of};
use super::scope::{Binding, Location, Names};
use crate::ast::{self, Function, Guard, Instruction, Operand, Space, Statement, Variable};
use crate::error::{ParseError, Problem};

/// Instructions that a kernel may have once its calls are in place.
const MAX_STEPS: usize = 1 << 20;

/// Scopes that it may have.
const MAX_SCOPES: usize = 1 << 16;

/// Bytes of `.local` memory that a thread may have.
const MAX_LOCAL: u64 = 512 << 10;

/// Where control goes when a function that was called returns.
pub(super) const RETURN: &str = "return";

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
    /// Functions and their addresses.
    pub(super) functions: BTreeMap<&'a str, (u64, &'a Function)>,
    /// Functions that may be called through an address, by how many results and parameters they
    /// have.
    pub(super) address_taken: HashMap<(usize, usize), Vec<(u64, &'a Function)>>,
    /// Shared variables of module scope, by name, with their place in the file.
    pub(super) shared: HashMap<&'a str, (usize, &'a Variable)>,
}

impl<'a> Surroundings<'a> {
    pub(super) fn new(module: &'a ast::Module) -> Self {
        let mut functions: BTreeMap<&str, (u64, &Function)> = BTreeMap::new();
        for (index, function) in module.functions.iter().enumerate() {
            let address = FUNCTION_START + FUNCTION_STEP * index as u64;
            // A declaration may stand before the definition, under the same address.
            let known = functions.entry(&function.name).or_insert((address, function));
            if function.body.is_some() {
                known.1 = function;
            }
        }
        let mut taken = BTreeSet::new();
        let mut take = |name: &'a str| {
            if functions.contains_key(name) {
                taken.insert(name);
            }
        };
        let values = module.variables.iter().filter_map(|variable| variable.initializer.as_ref());
        values.for_each(|value| value.for_each_name(&mut take));
        for function in &module.functions {
            taken_in(function.body.as_deref().unwrap_or_default(), &mut take);
        }
        let mut address_taken: HashMap<_, Vec<_>> = HashMap::new();
        for name in taken {
            let (address, function) = functions[name];
            if function.body.is_some() {
                let shape = (function.returns.len(), function.params.len());
                address_taken.entry(shape).or_default().push((address, function));
            }
        }
        let shared = module.variables.iter().enumerate();
        let shared = shared.filter(|(_, variable)| variable.space == Space::Shared);
        let shared =
            shared.map(|(place, variable)| (variable.name.as_str(), (place, variable))).collect();
        Self { functions, address_taken, shared }
    }
}

/// Names in statements, but for those that are called. Blocks nest as deep as the parser allows.
fn taken_in<'a>(statements: &'a [Statement], take: &mut dyn FnMut(&'a str)) {
    for statement in statements {
        match statement {
            Statement::Block(inner) => taken_in(inner, take),
            Statement::Instruction(instruction) if instruction.opcode != "call" => {
                instruction.operands.iter().for_each(|operand| operand.for_each_name(take));
            }
            Statement::Variable(variable) => {
                if let Some(value) = &variable.initializer {
                    value.for_each_name(take);
                }
            }
            _ => {}
        }
    }
}

/// A body being laid out.
pub(super) struct Flattener<'a, 'b> {
    pub(super) surroundings: &'b Surroundings<'a>,
    pub(super) names: Names,
    pub(super) steps: Vec<Placed<'a>>,
    /// Functions being called, outermost first.
    pub(super) calls: Vec<&'a str>,
    /// Whose bodies are in here.
    pub(super) called: Vec<&'a str>,
    pub(super) n_scopes: usize,
    pub(super) location: Option<ast::Location>,
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

    pub(super) fn body(
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

    pub(super) fn push(
        &mut self,
        instruction: Cow<'a, Instruction>,
        scope: usize,
    ) -> Result<(), ParseError> {
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
    pub(super) fn synthetic(
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
