//! Kernels made ready to run.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Module;
use super::flatten::{Flattener, Placed, Surroundings};
use super::layout::{Named, Region, align_of, module_variable, size_of};
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

    let files: HashMap<u32, Arc<str>> =
        file.files.iter().map(|(number, path)| (*number, path.as_str().into())).collect();
    let mut kernels = Vec::new();
    let mut called = HashSet::new();
    let (entries, functions): (Vec<_>, Vec<_>) =
        file.functions.iter().partition(|function| function.kind == FunctionKind::Entry);
    for function in entries {
        let mut build =
            Build { file, surroundings: &surroundings, statics: &mut statics, files: &files };
        if let Some(kernel) = build.program(function, &mut called, &mut errors) {
            kernels.push(kernel);
        }
    }
    // What no kernel calls is never run, but is read all the same: nothing unknown goes unnoticed.
    for function in functions {
        if function.body.is_some() && !called.contains(function.name.as_str()) {
            let mut build =
                Build { file, surroundings: &surroundings, statics: &mut statics, files: &files };
            build.program(function, &mut HashSet::new(), &mut errors);
        }
    }

    let find = |name: &str| named(&statics, &surroundings, name);
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

fn named(statics: &[&Variable], surroundings: &Surroundings<'_>, name: &str) -> Option<Named> {
    if let Some(&(address, _)) = surroundings.functions.get(name) {
        return Some(Named::Function(address));
    }
    let index = statics.iter().position(|variable| variable.name == name)?;
    Some(Named::Variable(index as u32))
}

struct Build<'a, 'b> {
    file: &'a ast::Module,
    surroundings: &'b Surroundings<'a>,
    /// `.global` and `.const` variables; those declared in functions are added at the end.
    statics: &'b mut Vec<&'a Variable>,
    files: &'b HashMap<u32, Arc<str>>,
}

impl<'a> Build<'a, '_> {
    fn program(
        &mut self,
        function: &'a Function,
        called: &mut HashSet<&'a str>,
        errors: &mut Vec<ParseError>,
    ) -> Option<Kernel> {
        let error = |problem| ParseError::new(function.line, &function.name, problem);
        let names = Names::new();
        let shared = Region::new(u64::from(SHARED_START), MAX_SHARED, "shared memory");
        let n_statics = self.statics.len() as u32;
        let mut flat = Flattener::new(self.surroundings, names, shared, n_statics);
        let laid_out = self
            .bind_module(&flat.names)
            .and_then(|()| flat.open(0))
            .and_then(|scope| Ok((scope, bind_params(function, &mut flat, scope)?)))
            .map_err(error)
            .and_then(|(scope, params)| {
                flat.root(function, scope)?;
                self.place_shared(&mut flat).map_err(error)?;
                let shared_end = flat.shared.end as u32;
                flat.finish_shared().map_err(error)?;
                Ok((params, shared_end))
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
        Some(Kernel {
            name: function.name.clone(),
            code: steps,
            n_rows: flat.names.n_rows(),
            n_predicates: flat.names.n_predicates(),
            presets: flat.names.presets(),
            register_names: flat.names.row_names(),
            params,
            param_bytes: param_bytes as u32,
            local_bytes: flat.local.end as u32,
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

    /// Names of module scope, all but shared variables.
    fn bind_module(&self, names: &Names) -> Result<(), Problem> {
        for (index, variable) in self.statics.iter().enumerate() {
            let module_scope =
                self.file.variables.iter().any(|known| std::ptr::eq(known, *variable));
            if module_scope {
                let location = Location::Module(index as u32);
                names.rebind(0, &variable.name, Binding::Variable(location));
            }
        }
        for (name, (address, _)) in &self.surroundings.functions {
            names.rebind(0, name, Binding::Function(*address));
        }
        Ok(())
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
        for variable in &self.file.variables {
            if variable.space != Space::Shared || !used.contains(&variable.name) {
                continue;
            }
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
