//! From what a file says to what the machine executes: names resolved, variables laid out,
//! calls put in place, instructions decoded.

mod build;
mod call;
mod decoder;
mod flatten;
mod fragments;
mod layout;
mod metadata;
mod preset;
mod scope;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use decoder::Decoder;
pub(crate) use preset::{Axis, Clock, Preset, Reserved};
#[cfg(test)]
pub(crate) use scope::Names;
pub(crate) use scope::{Address, Binding, Location, Scope};

use crate::ast;
use crate::error::ParseError;
use crate::isa::Op;
use crate::isa::wgmma::Wgmma;
use crate::machine::Kernel;
use crate::memory::SHARED_START;
use crate::parse;
use crate::report::Problem;

/// A PTX file, read and decoded: every instruction in it is one that can be executed.
#[derive(Debug)]
pub struct Module {
    version: (u32, u32),
    target: Vec<String>,
    kernels: Vec<Arc<Kernel>>,
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
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.kernels.iter().map(|kernel| Entry { kernel })
    }

    /// The kernel of this name.
    pub(crate) fn kernel(&self, name: &str) -> Option<&Arc<Kernel>> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The path of a `.file`.
    #[must_use]
    pub fn file(&self, number: u32) -> Option<&str> {
        self.files.get(&number).map(String::as_str)
    }
}

/// A kernel of a module.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    kernel: &'a Kernel,
}

impl<'a> Entry<'a> {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'a str {
        &self.kernel.name
    }

    /// Launch bounds and the like.
    #[must_use]
    pub fn attributes(&self) -> &'a ast::Attributes {
        &self.kernel.attributes
    }

    /// Names and sizes in bytes of its parameters, in order.
    pub fn params(&self) -> impl Iterator<Item = (&'a str, u32)> {
        self.kernel.params.iter().map(|param| (param.name.as_str(), param.bytes))
    }

    /// Lines and texts of its instructions, those of called functions where they are called.
    pub fn instructions(&self) -> impl Iterator<Item = (u32, &'a str)> {
        self.kernel.code.iter().map(|code| (code.location.line, code.location.text.as_str()))
    }

    /// What is wrong with it whatever it is given, by line: registers of metadata that die while a sparse
    /// `wgmma` may still read them. A launch that comes to such an instruction reports the same.
    pub fn problems(&self) -> impl Iterator<Item = (u32, Problem)> {
        let kernel = self.kernel;
        kernel.code.iter().filter_map(|code| match &code.op {
            Op::Wgmma(Wgmma::Multiply(multiply)) => {
                Some((code.location.line, multiply.dead_metadata(kernel)?))
            }
            _ => None,
        })
    }

    /// Registers of a thread that the file uses, predicates aside, before any allocation.
    #[must_use]
    pub fn n_registers(&self) -> u32 {
        self.kernel.n_rows - self.kernel.presets.len() as u32
    }

    /// Bytes of shared memory besides those of the launch.
    #[must_use]
    pub fn static_shared(&self) -> u32 {
        self.kernel.shared_end - SHARED_START
    }

    /// Bytes of local memory of a thread.
    #[must_use]
    pub fn local_bytes(&self) -> u32 {
        self.kernel.local_bytes
    }
}
