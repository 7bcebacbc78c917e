//! What names mean where an instruction stands.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use super::preset::Preset;
use crate::ast::{Space, Type};
use crate::error::Problem;
use crate::machine::warp::{Predicate, Slot, Source};

/// Registers that one function may use, over all its scopes and calls.
const MAX_REGISTERS: u32 = 1 << 16;

/// What a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Binding {
    /// A register of any type but `.pred`.
    Register(Slot, Type),
    /// A predicate register.
    Predicate(Predicate),
    /// A variable, a parameter or a return value in memory.
    Variable(Location),
    /// A label: the step it marks.
    Label(u32),
    /// `.branchtargets`: the steps they mark.
    Targets(Vec<u32>),
    /// A function, by its address.
    Function(u64),
}

/// Where a variable lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    /// Offset in the CTA's shared memory. The launch writes the address, which has the CTA's rank in it,
    /// to a row: see [`Preset::Shared`].
    Shared(u64),
    /// Address in the thread's local window; parameters of device functions lie here too.
    Local(u64),
    /// Offset among the kernel's parameters.
    Param(u64),
    /// The index of a module variable of `.global` or `.const` space, whose address the launch
    /// writes to a row: see [`Preset::Variable`].
    Module(u32),
}

/// An address operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    /// An address register, a variable's address or an absolute address.
    pub(crate) base: Source,
    /// Added to it, in bytes.
    pub(crate) offset: i64,
    /// The space the variable lies in where the base names one: an `ld.param` of a device
    /// function's parameter says [`Space::Local`] here.
    pub(crate) space: Option<Space>,
}

#[derive(Debug)]
struct Frame {
    parent: Option<usize>,
    names: HashMap<String, Binding>,
    /// `%r<10>` by its stem; rows are given out when first used.
    ranges: HashMap<String, (u32, Type)>,
}

/// All scopes of a program, and the rows given to registers.
#[derive(Debug)]
pub(crate) struct Names {
    /// Names of module scope that mean the same in all kernels.
    module: Rc<HashMap<String, Binding>>,
    frames: RefCell<Vec<Frame>>,
    presets: RefCell<Vec<(Slot, Preset)>>,
    row_names: RefCell<Vec<String>>,
    n_predicates: Cell<u32>,
    carry: Cell<Option<Predicate>>,
}

impl Names {
    /// The module's scope alone, with number 0, and what every kernel finds in it.
    pub(crate) fn new(module: Rc<HashMap<String, Binding>>) -> Self {
        let own = Frame { parent: None, names: HashMap::new(), ranges: HashMap::new() };
        Self {
            module,
            frames: RefCell::new(vec![own]),
            presets: RefCell::default(),
            row_names: RefCell::default(),
            n_predicates: Cell::new(0),
            carry: Cell::new(None),
        }
    }

    /// Opens a scope within another and returns its number.
    pub(crate) fn open(&self, parent: usize) -> usize {
        let mut frames = self.frames.borrow_mut();
        frames.push(Frame { parent: Some(parent), names: HashMap::new(), ranges: HashMap::new() });
        frames.len() - 1
    }

    /// Gives a name a meaning in a scope.
    pub(crate) fn bind(&self, scope: usize, name: &str, binding: Binding) -> Result<(), Problem> {
        let frame = &mut self.frames.borrow_mut()[scope];
        if frame.names.contains_key(name) || frame.ranges.contains_key(name) {
            return Err(Problem::Duplicate(name.to_owned()));
        }
        frame.names.insert(name.to_owned(), binding);
        Ok(())
    }

    /// Gives a name another meaning: labels, once their steps are known.
    pub(crate) fn rebind(&self, scope: usize, name: &str, binding: Binding) {
        self.frames.borrow_mut()[scope].names.insert(name.to_owned(), binding);
    }

    /// Declares a register.
    pub(crate) fn register(&self, scope: usize, name: &str, ty: Type) -> Result<(), Problem> {
        let binding = self.fresh(ty, name)?;
        self.bind(scope, name, binding)
    }

    /// Declares `stem0` to `stem(count - 1)`.
    pub(crate) fn registers(
        &self,
        scope: usize,
        stem: &str,
        count: u32,
        ty: Type,
    ) -> Result<(), Problem> {
        let frame = &mut self.frames.borrow_mut()[scope];
        if frame.names.contains_key(stem) || frame.ranges.contains_key(stem) {
            return Err(Problem::Duplicate(stem.to_owned()));
        }
        frame.ranges.insert(stem.to_owned(), (count, ty));
        Ok(())
    }

    /// A row or a mask that no other name has.
    pub(crate) fn fresh(&self, ty: Type, name: &str) -> Result<Binding, Problem> {
        let limit = u64::from(MAX_REGISTERS);
        let full = Problem::TooLarge { what: "the number of registers", limit };
        if ty == Type::Pred {
            let index = self.n_predicates.get();
            if index == MAX_REGISTERS {
                return Err(full);
            }
            self.n_predicates.set(index + 1);
            return Ok(Binding::Predicate(Predicate(index)));
        }
        let mut rows = self.row_names.borrow_mut();
        let index = rows.len() as u32;
        if index == MAX_REGISTERS {
            return Err(full);
        }
        rows.push(name.to_owned());
        Ok(Binding::Register(Slot(index), ty))
    }

    fn row(&self, name: &str) -> Result<Slot, Problem> {
        match self.fresh(Type::B64, name)? {
            Binding::Register(slot, _) => Ok(slot),
            _ => unreachable!("not a predicate"),
        }
    }

    /// The row that holds a preset.
    pub(crate) fn preset(&self, preset: Preset) -> Result<Slot, Problem> {
        let known = self.presets.borrow().iter().find(|(_, known)| *known == preset).copied();
        if let Some((slot, _)) = known {
            return Ok(slot);
        }
        let slot = self.row(&format!("{preset:?}"))?;
        self.presets.borrow_mut().push((slot, preset));
        Ok(slot)
    }

    /// The rows of all presets in use.
    pub(crate) fn presets(&self) -> Vec<(Slot, Preset)> {
        self.presets.borrow().clone()
    }

    /// Rows in use.
    pub(crate) fn n_rows(&self) -> u32 {
        self.row_names.borrow().len() as u32
    }

    /// What each row holds, for messages.
    pub(crate) fn row_names(&self) -> Vec<String> {
        self.row_names.borrow().clone()
    }

    /// Predicates in use.
    pub(crate) fn n_predicates(&self) -> u32 {
        self.n_predicates.get()
    }

    /// What a name means in a scope.
    pub(crate) fn find(&self, scope: usize, name: &str) -> Result<Binding, Problem> {
        let stem_of_range = split_index(name);
        let mut at = Some(scope);
        while let Some(id) = at {
            let (ty, parent) = {
                let frame = &self.frames.borrow()[id];
                if let Some(binding) = frame.names.get(name) {
                    return Ok(binding.clone());
                }
                let ty = stem_of_range
                    .and_then(|(stem, index)| frame.ranges.get(stem).map(|range| (range, index)))
                    .and_then(|(&(count, ty), index)| (index < count).then_some(ty));
                (ty, frame.parent)
            };
            if let Some(ty) = ty {
                let binding = self.fresh(ty, name)?;
                self.rebind(id, name, binding.clone());
                return Ok(binding);
            }
            at = parent;
        }
        self.module.get(name).cloned().ok_or_else(|| Problem::Undeclared(name.to_owned()))
    }
}

/// `%r12` is the stem `%r` and 12.
fn split_index(name: &str) -> Option<(&str, u32)> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &name[stem.len()..];
    if digits.is_empty() || digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    Some((stem, digits.parse().ok()?))
}

/// The names that an instruction sees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'a> {
    names: &'a Names,
    id: usize,
}

impl<'a> Scope<'a> {
    /// The view from the scope of this number.
    pub(crate) fn new(names: &'a Names, id: usize) -> Self {
        Self { names, id }
    }

    /// What a name means here.
    pub(crate) fn find(&self, name: &str) -> Result<Binding, Problem> {
        self.names.find(self.id, name)
    }

    /// The row that holds a preset.
    pub(crate) fn preset(&self, preset: Preset) -> Result<Slot, Problem> {
        self.names.preset(preset)
    }

    /// The carry flag of a thread.
    pub(crate) fn carry(&self) -> Result<Predicate, Problem> {
        if let Some(carry) = self.names.carry.get() {
            return Ok(carry);
        }
        match self.names.fresh(Type::Pred, "carry")? {
            Binding::Predicate(carry) => {
                self.names.carry.set(Some(carry));
                Ok(carry)
            }
            _ => unreachable!("a predicate"),
        }
    }

    /// A variable's address in its space, and that space.
    pub(crate) fn address_of(&self, location: Location) -> Result<(Source, Space), Problem> {
        Ok(match location {
            Location::Shared(offset) => {
                (Source::Slot(self.preset(Preset::Shared(offset as u32))?), Space::Shared)
            }
            Location::Local(address) => (Source::Constant(address), Space::Local),
            Location::Param(offset) => (Source::Constant(offset), Space::Param),
            Location::Module(index) => {
                (Source::Slot(self.preset(Preset::Variable(index))?), Space::Global)
            }
        })
    }
}
