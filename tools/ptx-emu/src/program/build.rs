//! Kernels made ready to run.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use super::Module;
use super::flatten::{Flattener, Placed, Surroundings};
use super::layout::{Named, Region, align_of, module_variable, size_of};
use super::preset::Preset;
use super::scope::{Binding, Location, Names, Scope};
use crate::ast::{self, Function, FunctionKind, Instruction, Space, Variable};
use crate::error::{ParseError, Problem};
use crate::isa;
use crate::machine::{self, Code, Kernel, Parameter};
use crate::memory::SHARED_START;

/// Bytes of parameters that a kernel may have.
const MAX_PARAMS: u64 = 32_764;

/// Bytes of shared memory that a layout may take; a launch checks the device's own limit.
const MAX_SHARED: u64 = 1 << 24;

/// Instructions and scopes that all kernels of a file may have together.
const MAX_TOTAL: usize = 1 << 23;

/// Everything wrong with a file that can be found without the rest of it falling over.
const MAX_ERRORS: usize = 100;

/// Resolves a file: its kernels and variables, or what is wrong with it, line by line.
pub(super) fn module(file: &ast::Module) -> Result<Module, Vec<ParseError>> {
    let mut errors = Vec::new();
    check_file(file, &mut errors);
    let surroundings = Surroundings::new(file);
    let mut statics: Vec<&Variable> = file
        .variables
        .iter()
        .filter(|variable| matches!(variable.space, Space::Global | Space::Const))
        .collect();

    let n_module = statics.len();
    let known = Rc::new(module_names(&statics, &surroundings));
    let mut budget = MAX_TOTAL;
    let files: HashMap<u32, Arc<str>> =
        file.files.iter().map(|(number, path)| (*number, path.as_str().into())).collect();
    let mut kernels = Vec::new();
    let mut called = HashSet::new();
    let (entries, functions): (Vec<_>, Vec<_>) =
        file.functions.iter().partition(|function| function.kind == FunctionKind::Entry);
    // What no kernel calls is never run, but is read all the same: nothing unknown goes unnoticed.
    for function in entries.into_iter().chain(functions) {
        let entry = function.kind == FunctionKind::Entry;
        if !entry && (function.body.is_none() || called.contains(function.name.as_str())) {
            continue;
        }
        if errors.len() > MAX_ERRORS {
            break;
        }
        let mut build = Build {
            surroundings: &surroundings,
            known: &known,
            statics: &mut statics,
            files: &files,
            budget: &mut budget,
        };
        if let Some(kernel) = build.program(function, &mut called, &mut errors)
            && entry
        {
            kernels.push(kernel);
        }
    }

    let by_name: HashMap<&str, u32> = (0..)
        .zip(&statics[..n_module])
        .map(|(index, variable)| (variable.name.as_str(), index))
        .collect();
    let find = |name: &str| named(&by_name, &surroundings, name);
    let mut variables = Vec::with_capacity(statics.len());
    for variable in &statics {
        match module_variable(variable, &find) {
            Ok(variable) => variables.push(variable),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        errors.sort_by_key(|error| error.line);
        errors.dedup();
        errors.truncate(MAX_ERRORS);
        return Err(errors);
    }
    let variables: Arc<[_]> = variables.into();
    let kernels = kernels
        .into_iter()
        .map(|kernel| Arc::new(Kernel { variables: Arc::clone(&variables), ..kernel }));
    Ok(Module {
        version: file.version,
        target: file.target.clone(),
        kernels: kernels.collect(),
        files: file.files.iter().cloned().collect(),
    })
}

fn check_file(file: &ast::Module, errors: &mut Vec<ParseError>) {
    if file.address_size != 64 {
        let problem = Problem::Unsupported("addresses of 32 bits".into());
        errors.push(ParseError::new(1, ".address_size", problem));
    }
    let mut names = HashSet::new();
    for variable in &file.variables {
        if variable.linkage != ast::Linkage::Extern && !names.insert(&variable.name) {
            let problem = Problem::Duplicate(variable.name.clone());
            errors.push(ParseError::new(variable.line, &variable.name, problem));
        }
    }
    for function in &file.functions {
        if function.body.is_some() && !names.insert(&function.name) {
            let problem = Problem::Duplicate(function.name.clone());
            errors.push(ParseError::new(function.line, &function.name, problem));
        }
    }
}

fn named(
    variables: &HashMap<&str, u32>,
    surroundings: &Surroundings<'_>,
    name: &str,
) -> Option<Named> {
    if let Some(&(address, _)) = surroundings.functions.get(name) {
        return Some(Named::Function(address));
    }
    variables.get(name).copied().map(Named::Variable)
}

/// Names of module scope, all but those of shared variables: these lie elsewhere in each kernel.
fn module_names(
    variables: &[&Variable],
    surroundings: &Surroundings<'_>,
) -> HashMap<String, Binding> {
    let variables = (0..).zip(variables).map(|(index, variable)| {
        (variable.name.clone(), Binding::Variable(Location::Module(index)))
    });
    let functions = surroundings
        .functions
        .iter()
        .map(|(name, &(address, _))| ((*name).to_owned(), Binding::Function(address)));
    variables.chain(functions).collect()
}

struct Build<'a, 'b> {
    surroundings: &'b Surroundings<'a>,
    /// `.global` and `.const` variables; those declared in functions are added at the end.
    statics: &'b mut Vec<&'a Variable>,
    files: &'b HashMap<u32, Arc<str>>,
    known: &'b Rc<HashMap<String, Binding>>,
    /// Instructions and scopes that the rest of the file may have.
    budget: &'b mut usize,
}

impl<'a> Build<'a, '_> {
    fn program(
        &mut self,
        function: &'a Function,
        called: &mut HashSet<&'a str>,
        errors: &mut Vec<ParseError>,
    ) -> Option<Kernel> {
        let error = |problem| ParseError::new(function.line, &function.name, problem);
        let names = Names::new(Rc::clone(self.known));
        let shared = Region::new(u64::from(SHARED_START), MAX_SHARED, "shared memory");
        let n_statics = self.statics.len() as u32;
        let mut flat = Flattener::new(self.surroundings, names, shared, n_statics);
        let laid_out = flat
            .open(0)
            .and_then(|scope| Ok((scope, bind_params(function, &mut flat, scope)?)))
            .map_err(error)
            .and_then(|(scope, params)| {
                flat.root(function, scope)?;
                self.place_shared(&mut flat).map_err(error)?;
                let shared_end = flat.shared.end as u32;
                flat.finish_shared().map_err(error)?;
                Ok((params, shared_end))
            });
        let size = flat.steps.len() + flat.n_scopes;
        let left = self.budget.checked_sub(size);
        *self.budget = left.unwrap_or(0);
        let laid_out = laid_out.and_then(|done| match left {
            Some(_) => Ok(done),
            None => {
                let limit = MAX_TOTAL as u64;
                let what = "the number of instructions of all kernels, with all calls in place";
                Err(error(Problem::TooLarge { what, limit }))
            }
        });
        let ((params, param_bytes), shared_end) = match laid_out {
            Ok(done) => done,
            Err(error) => {
                errors.push(error);
                return None;
            }
        };
        called.extend(&flat.called);
        self.statics.append(&mut flat.inner);

        let before = errors.len();
        let mut steps = Vec::with_capacity(flat.steps.len());
        for placed in &flat.steps {
            match self.code(placed, &flat.names) {
                Ok(code) => steps.push(code),
                Err(error) => errors.push(error),
            }
            if errors.len() > MAX_ERRORS {
                break;
            }
        }
        if errors.len() > before {
            return None;
        }
        super::fragments::mark(&mut steps, &flat);
        let presets = flat.names.presets();
        let asks = presets.iter().any(|(_, preset)| matches!(preset, Preset::Reserved(_)));
        Some(Kernel {
            name: function.name.clone(),
            opcodes: machine::Opcodes::new(&steps),
            code: steps,
            n_rows: flat.names.n_rows(),
            n_predicates: flat.names.n_predicates(),
            presets,
            register_names: flat.names.row_names(),
            params,
            param_bytes: param_bytes as u32,
            local_bytes: flat.local.end as u32,
            shared_start: if asks { 0 } else { SHARED_START },
            shared_end,
            dynamic_shared_align: flat.dynamic_align as u32,
            variables: Arc::new([]),
            attributes: function.attributes.clone(),
        })
    }

    fn code(&self, placed: &Placed<'_>, names: &Names) -> Result<Code, ParseError> {
        let instruction: &Instruction = &placed.instruction;
        let scope = Scope::new(names, placed.scope);
        let error = |problem| ParseError::new(instruction.line, &instruction.text, problem);
        let guard = match &instruction.guard {
            None => None,
            Some(guard) => match scope.find(&guard.register).map_err(error)? {
                Binding::Predicate(predicate) => Some((predicate, guard.negated)),
                _ => {
                    let what = format!("{} is no predicate", guard.register);
                    return Err(error(Problem::Invalid(what)));
                }
            },
        };
        let source = placed.location.and_then(|place| {
            Some((Arc::clone(self.files.get(&place.file)?), place.line, place.column))
        });
        let location =
            machine::Location { line: instruction.line, text: instruction.text.clone(), source };
        let op = isa::decode(instruction, &scope)?;
        Ok(Code { guard, op, location, fragments: None })
    }

    /// Places the module's shared variables that the program names; others take no room in it.
    fn place_shared(&self, flat: &mut Flattener<'a, '_>) -> Result<(), Problem> {
        let mut used = HashSet::new();
        for placed in &flat.steps {
            for operand in &placed.instruction.operands {
                operand.for_each_name(&mut |name| {
                    used.insert(name.to_owned());
                });
            }
        }
        let shared = used.iter().filter_map(|name| self.surroundings.shared.get(name.as_str()));
        let mut shared: Vec<_> = shared.copied().collect();
        shared.sort_unstable_by_key(|(place, _)| *place);
        for (_, variable) in shared {
            if variable.dims.first() == Some(&None) {
                flat.dynamic_shared(0, variable);
            } else {
                let place = flat.shared.place(size_of(variable)?, align_of(variable))?;
                let location = Location::Shared(place);
                flat.names.rebind(0, &variable.name, Binding::Variable(location));
            }
        }
        Ok(())
    }
}

type Parameters = (Vec<Parameter>, u64);

/// A kernel's parameters lie in its parameter space; those of a function, read as if it were one,
/// in local memory or registers.
fn bind_params(
    function: &Function,
    flat: &mut Flattener<'_, '_>,
    scope: usize,
) -> Result<Parameters, Problem> {
    let mut region = Region::new(0, MAX_PARAMS, "the size of all parameters");
    let mut params = Vec::new();
    let entry = function.kind == FunctionKind::Entry;
    for param in function.params.iter().chain(&function.returns) {
        let (bytes, align) = (size_of(param)?, align_of(param));
        let binding = if param.space == Space::Register {
            flat.names.fresh(param.ty, &param.name)?
        } else if entry {
            let offset = region.place(bytes, align)?;
            params.push(Parameter {
                name: param.name.clone(),
                offset: offset as u32,
                bytes: bytes as u32,
                align: align as u32,
            });
            Binding::Variable(Location::Param(offset))
        } else {
            Binding::Variable(Location::Local(flat.local.place(bytes, align)?))
        };
        flat.names.bind(scope, &param.name, binding)?;
    }
    Ok((params, region.end))
}
