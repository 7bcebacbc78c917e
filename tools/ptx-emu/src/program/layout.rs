//! Where variables lie.

use crate::ast::{Initializer, Linkage, Operand, Space, Type, Variable};
use crate::error::{ParseError, Problem};
use crate::machine::{ModuleVariable, Relocation};

/// Addresses of functions: what their names are worth in an instruction or an initializer.
pub(crate) const FUNCTION_START: u64 = 0xF000_0000_0000;

/// Distance between two functions' addresses.
pub(crate) const FUNCTION_STEP: u64 = 16;

/// No variable is larger.
const MAX_BYTES: u64 = 1 << 40;

/// A region filled from its start, each variable at its alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    /// The first free address.
    pub(crate) end: u64,
    /// What may not be passed.
    limit: u64,
    what: &'static str,
}

impl Region {
    pub(crate) fn new(start: u64, limit: u64, what: &'static str) -> Self {
        Self { end: start, limit, what }
    }

    /// Gives a variable its place.
    pub(crate) fn place(&mut self, bytes: u64, align: u64) -> Result<u64, Problem> {
        let start = self.end.next_multiple_of(align);
        if bytes > self.limit || start + bytes > self.limit {
            return Err(Problem::TooLarge { what: self.what, limit: self.limit });
        }
        self.end = start + bytes;
        Ok(start)
    }
}

/// The bytes that a variable takes; an open array takes what its initializer fills.
pub(crate) fn size_of(variable: &Variable) -> Result<u64, Problem> {
    let mut bytes = u64::from(variable.ty.bytes() * variable.vector);
    for (axis, dim) in variable.dims.iter().enumerate() {
        let extent = match (dim, &variable.initializer) {
            (Some(extent), _) => *extent,
            (None, Some(Initializer::List(values))) if axis == 0 => values.len() as u64,
            (None, _) if axis == 0 => 0,
            (None, _) => return Err(Problem::Invalid("only the first extent may be open".into())),
        };
        bytes = bytes
            .checked_mul(extent)
            .filter(|bytes| *bytes <= MAX_BYTES)
            .ok_or(Problem::TooLarge { what: "the size of a variable", limit: MAX_BYTES })?;
    }
    Ok(bytes)
}

/// The alignment of a variable in bytes.
pub(crate) fn align_of(variable: &Variable) -> u64 {
    let natural = variable.ty.bytes() * variable.vector;
    u64::from(variable.align.unwrap_or(natural).max(1))
}

/// What a name in an initializer is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// The module variable of this index.
    Variable(u32),
    /// A function's address.
    Function(u64),
}

/// Lays out a module variable.
pub(crate) fn module_variable(
    variable: &Variable,
    find: &dyn Fn(&str) -> Option<Named>,
) -> Result<ModuleVariable, ParseError> {
    let error = |problem| ParseError::new(variable.line, &variable.name, problem);
    let bytes = size_of(variable).map_err(error)?;
    let mut image = Image { ty: variable.ty, bytes: Vec::new(), relocations: Vec::new(), find };
    if let Some(initializer) = &variable.initializer {
        let extents: Vec<u64> = variable.dims.iter().map(|dim| dim.unwrap_or(u64::MAX)).collect();
        image.fill(initializer, 0, &extents, bytes).map_err(error)?;
    }
    Ok(ModuleVariable {
        name: variable.name.clone(),
        size: bytes,
        bytes: image.bytes,
        align: align_of(variable) as u32,
        writable: variable.space == Space::Global,
        relocations: image.relocations,
        external: variable.linkage == Linkage::Extern,
    })
}

struct Image<'a> {
    ty: Type,
    bytes: Vec<u8>,
    relocations: Vec<Relocation>,
    find: &'a dyn Fn(&str) -> Option<Named>,
}

impl Image<'_> {
    /// Writes an initializer over the `size` bytes at `at`, an array of `extents`.
    fn fill(
        &mut self,
        initializer: &Initializer,
        at: u64,
        extents: &[u64],
        size: u64,
    ) -> Result<(), Problem> {
        let element = u64::from(self.ty.bytes());
        match initializer {
            Initializer::List(values) => {
                // Lists nest by dimension, but one list may also run over all of them.
                let flat = !values.iter().any(|value| matches!(value, Initializer::List(_)));
                let (stride, inner) = match extents {
                    [_, inner @ ..] if !flat => {
                        let inner_size =
                            inner.iter().fold(element, |size, extent| size.saturating_mul(*extent));
                        (inner_size, inner)
                    }
                    _ => (element, &[][..]),
                };
                for (index, value) in values.iter().enumerate() {
                    let offset = stride.saturating_mul(index as u64);
                    if offset.saturating_add(stride) > size {
                        return Err(Problem::Invalid("more values than the variable holds".into()));
                    }
                    self.fill(value, at + offset, inner, stride)?;
                }
                Ok(())
            }
            Initializer::Value(value) => self.value(value, at),
            Initializer::Generic(name, offset) => self.address(name, *offset, at, 0),
            Initializer::Mask(mask, inner) => {
                let shift = mask.trailing_zeros();
                if *mask == 0 || mask >> shift != 0xFF || shift % 8 != 0 {
                    return Err(Problem::Unsupported("mask() of anything but one byte".into()));
                }
                match &**inner {
                    Initializer::Value(Operand::Name(name)) | Initializer::Generic(name, 0) => {
                        self.address(name, 0, at, shift)
                    }
                    Initializer::Value(Operand::Moved(name, offset))
                    | Initializer::Generic(name, offset) => self.address(name, *offset, at, shift),
                    _ => Err(Problem::Unsupported("mask() of anything but an address".into())),
                }
            }
        }
    }

    fn value(&mut self, value: &Operand, at: u64) -> Result<(), Problem> {
        let bits = match (value, self.ty) {
            (Operand::Integer(value), _) => *value,
            (Operand::Single(bits), Type::F64) => f64::from(f32::from_bits(*bits)).to_bits(),
            (Operand::Single(bits), _) => u64::from(*bits),
            (Operand::Double(bits), Type::F32) => {
                u64::from((f64::from_bits(*bits) as f32).to_bits())
            }
            (Operand::Double(bits), _) => *bits,
            (Operand::Name(name), _) => return self.address(name, 0, at, 0),
            (Operand::Moved(name, offset), _) => return self.address(name, *offset, at, 0),
            _ => return Err(Problem::Invalid("not a value".into())),
        };
        self.write(bits, at);
        Ok(())
    }

    fn address(&mut self, name: &str, addend: i64, at: u64, shift: u32) -> Result<(), Problem> {
        match (self.find)(name) {
            Some(Named::Variable(variable)) => {
                let bytes = self.ty.bytes();
                self.write(0, at);
                self.relocations.push(Relocation { at, bytes, variable, addend, shift });
                Ok(())
            }
            Some(Named::Function(address)) => {
                self.write(address.wrapping_add_signed(addend) >> shift, at);
                Ok(())
            }
            None => Err(Problem::Undeclared(name.to_owned())),
        }
    }

    fn write(&mut self, bits: u64, at: u64) {
        let width = self.ty.bytes().min(8) as usize;
        let start = at as usize;
        if self.bytes.len() < start + width {
            self.bytes.resize(start + width, 0);
        }
        self.bytes[start..start + width].copy_from_slice(&bits.to_le_bytes()[..width]);
    }
}
