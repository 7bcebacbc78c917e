//! From what a file says to what the machine executes: names resolved, variables laid out,
//! calls put in place, instructions decoded.

mod build;
mod decoder;
mod flatten;
mod layout;
mod preset;
mod scope;

use std::collections::HashMap;

pub(crate) use decoder::Decoder;
pub(crate) use layout::{FUNCTION_START, ModuleVariable, Relocation, SHARED_START};
pub(crate) use preset::{Axis, Clock, Preset};
pub(crate) use scope::{Address, Binding, Location, Names, Scope};

use crate::ast;
use crate::error::ParseError;
use crate::isa::Op;
use crate::machine::warp::{Predicate, Slot};
use crate::parse;

/// A PTX file, read and decoded: every instruction in it is one that can be executed.
#[derive(Debug)]
pub struct Module {
    version: (u32, u32),
    target: Vec<String>,
    kernels: Vec<Program>,
    variables: Vec<ModuleVariable>,
    files: HashMap<u32, String>,
}

impl Module {
    /// Reads PTX.
    ///
    /// # Errors
    /// What is not PTX, and what is not executed here: an unknown instruction or modifier, a name
    /// that is not declared, operands of the wrong width; each with its line and text.
    pub fn parse(source: &str) -> Result<Self, ParseError> {
        // There is at least one error where there is no module.
        Self::check(source).map_err(|mut errors| errors.swap_remove(0))
    }

    /// Reads PTX as [`Module::parse`] does, and goes on after an error where it can.
    ///
    /// # Errors
    /// Those of [`Module::parse`], up to a hundred, by line; never none.
    pub fn check(source: &str) -> Result<Self, Vec<ParseError>> {
        let file = parse::module(source).map_err(|error| vec![error])?;
        build::module(&file)
    }

    /// `.version`, major and minor.
    #[must_use]
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// `.target` and its options.
    #[must_use]
    pub fn target(&self) -> &[String] {
        &self.target
    }

    /// Its kernels, in the order of the file.
    #[must_use]
    pub fn kernels(&self) -> &[Program] {
        &self.kernels
    }

    /// The kernel of this name.
    #[must_use]
    pub fn kernel(&self, name: &str) -> Option<&Program> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The path of a `.file`.
    #[must_use]
    pub fn file(&self, number: u32) -> Option<&str> {
        self.files.get(&number).map(String::as_str)
    }

    /// `.global` and `.const` variables; [`Preset::Variable`] counts them.
    pub(crate) fn variables(&self) -> &[ModuleVariable] {
        &self.variables
    }
}

/// A kernel, ready to run.
#[derive(Debug)]
pub struct Program {
    name: String,
    attributes: ast::Attributes,
    params: Vec<Parameter>,
    param_bytes: u64,
    steps: Vec<Step>,
    n_rows: u32,
    n_predicates: u32,
    presets: Vec<(Slot, Preset)>,
    static_shared: u64,
    local_bytes: u64,
}

/// A kernel's parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Where it starts among the parameters, in bytes.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
    /// Its alignment in bytes.
    pub align: u64,
}

/// An instruction, ready to run.
#[derive(Debug)]
pub(crate) struct Step {
    /// Only lanes where it holds execute.
    pub(crate) guard: Option<Guard>,
    /// What it does.
    pub(crate) op: Op,
    /// Line in the PTX, from 1.
    pub(crate) line: u32,
    /// Where it was compiled from.
    pub(crate) location: Option<ast::Location>,
    /// As written.
    pub(crate) text: String,
}

/// `@p` or `@!p`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Guard {
    pub(crate) predicate: Predicate,
    pub(crate) negated: bool,
}

impl Program {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Launch bounds and the like.
    #[must_use]
    pub fn attributes(&self) -> &ast::Attributes {
        &self.attributes
    }

    /// Its parameters in order.
    #[must_use]
    pub fn params(&self) -> &[Parameter] {
        &self.params
    }

    /// Bytes of its parameter space.
    #[must_use]
    pub fn param_bytes(&self) -> u64 {
        self.param_bytes
    }

    /// Instructions, with those of called functions where they are called.
    #[must_use]
    pub fn n_steps(&self) -> usize {
        self.steps.len()
    }

    /// Lines and texts of its instructions, in order.
    pub fn instructions(&self) -> impl Iterator<Item = (u32, &str)> {
        self.steps.iter().map(|step| (step.line, step.text.as_str()))
    }

    /// Registers of a thread, predicates aside, as the file uses them: a compiler's allocation
    /// needs fewer.
    #[must_use]
    pub fn n_registers(&self) -> u32 {
        self.n_rows - self.presets.len() as u32
    }

    /// Bytes of shared memory before those of the launch.
    #[must_use]
    pub fn static_shared(&self) -> u64 {
        self.static_shared
    }

    /// Bytes of local memory of a thread.
    #[must_use]
    pub fn local_bytes(&self) -> u64 {
        self.local_bytes
    }

    /// What is executed.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Rows that a warp needs.
    pub(crate) fn n_rows(&self) -> u32 {
        self.n_rows
    }

    /// Predicates that a warp needs.
    pub(crate) fn n_predicates(&self) -> u32 {
        self.n_predicates
    }

    /// Rows that the launch fills.
    pub(crate) fn presets(&self) -> &[(Slot, Preset)] {
        &self.presets
    }
}
