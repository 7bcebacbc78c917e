//! `ptx-emu check`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use ptx_emu::{Entry, Module};

use super::{CommandError, read};

/// Arguments of `ptx-emu check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// PTX file.
    file: PathBuf,
}

impl Check {
    pub(super) fn execute(&self, out: &mut dyn Write) -> Result<(), CommandError> {
        let source = read(&self.file)?;
        let module = Module::check(&source)
            .map_err(|errors| CommandError::Parse { path: self.file.clone(), errors })?;
        let (major, minor) = module.version();
        writeln!(out, "PTX {major}.{minor}, {}", module.target().join(", "))?;
        for entry in module.entries() {
            describe(entry, out)?;
        }
        Ok(())
    }
}

fn describe(entry: Entry<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{}", entry.name())?;
    let params: Vec<_> = entry.params().map(|(_, bytes)| bytes.to_string()).collect();
    writeln!(out, "  parameters, in bytes  {}", params.join(", "))?;
    writeln!(out, "  registers in the file {}", entry.n_registers())?;
    writeln!(out, "  static shared, bytes  {}", entry.static_shared())?;
    writeln!(out, "  local, bytes a thread {}", entry.local_bytes())?;
    let attributes = entry.attributes();
    let shapes = [
        (".maxntid", attributes.max_threads),
        (".reqntid", attributes.required_threads),
        (".reqnctapercluster", attributes.required_cluster),
    ];
    for (name, shape) in shapes {
        if let Some([x, y, z]) = shape {
            writeln!(out, "  {name:<21} {x}, {y}, {z}")?;
        }
    }
    let numbers = [
        (".maxnreg", attributes.max_registers),
        (".minnctapersm", attributes.min_ctas_per_sm),
        (".maxclusterrank", attributes.max_cluster_rank),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            writeln!(out, "  {name:<21} {number}")?;
        }
    }
    for (line, problem) in entry.problems() {
        writeln!(out, "  line {line}: {problem}")?;
    }
    let mut opcodes = BTreeMap::new();
    for (_, text) in entry.instructions() {
        *opcodes.entry(opcode(text)).or_insert(0_usize) += 1;
    }
    let total: usize = opcodes.values().sum();
    writeln!(out, "  {total} instructions")?;
    for (opcode, count) in opcodes {
        writeln!(out, "  {count:>8}  {opcode}")?;
    }
    Ok(())
}

/// An instruction's opcode and modifiers, without guard and operands.
fn opcode(text: &str) -> &str {
    let text =
        if text.starts_with('@') { text.split_once(' ').map_or(text, |(_, op)| op) } else { text };
    text.split([' ', ';']).next().unwrap_or(text)
}
