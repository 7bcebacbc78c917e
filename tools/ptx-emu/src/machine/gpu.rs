//! The device as a host sees it: memory, and what was loaded into it.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;

use super::{Arg, Device, LaunchError, ModuleVariable};
use crate::memory::{Allocation, Global};

/// An allocation of `T`s in global memory, named by a handle.
#[derive(Debug)]
pub struct Buffer<T> {
    index: usize,
    address: u64,
    len: usize,
    element: PhantomData<fn() -> T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Buffer<T> {}

impl<T> Buffer<T> {
    /// Its address, as an argument of a kernel.
    #[must_use]
    pub fn arg(self) -> Arg {
        Arg::from(self.address)
    }

    /// Its generic address.
    #[must_use]
    pub fn address(self) -> u64 {
        self.address
    }

    /// How many elements it has.
    #[must_use]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// Variables of a module, and their allocations.
type Loaded = (Arc<[ModuleVariable]>, Vec<u64>);

/// A device: its global memory, on which kernels are launched one after the other.
#[derive(Debug)]
pub struct Gpu {
    device: Device,
    global: Global,
    buffers: Vec<Arc<Allocation>>,
    loaded: Vec<Loaded>,
    /// Address of the workspace of cooperative launches, once there was one.
    workspace: Option<u64>,
}

/// Bytes of the workspace: its size, the grid's barrier, and room.
const WORKSPACE: u64 = 64;

impl Gpu {
    /// A device with nothing in its memory.
    #[must_use]
    pub fn new(device: Device) -> Self {
        Self {
            device,
            global: Global::default(),
            buffers: Vec::new(),
            loaded: Vec::new(),
            workspace: None,
        }
    }

    /// Its limits.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn global(&self) -> &Global {
        &self.global
    }

    /// Allocates `len` elements, uninitialized: a kernel that reads one before it is written gets a
    /// report.
    pub fn alloc<T: Pod>(&mut self, len: usize) -> Buffer<T> {
        let ty = std::any::type_name::<T>();
        let ty = ty.rsplit("::").next().unwrap_or(ty);
        let name = format!("allocation {} ({len} × {ty})", self.buffers.len());
        self.alloc_named(name, len)
    }

    /// Allocates as [`Gpu::alloc`] does, and names the allocation for reports.
    pub fn alloc_named<T: Pod>(&mut self, name: impl Into<String>, len: usize) -> Buffer<T> {
        let bytes = (len * size_of::<T>()) as u64;
        let allocation = self.global.allocate(name.into(), bytes);
        let address = allocation.base();
        self.buffers.push(allocation);
        Buffer { index: self.buffers.len() - 1, address, len, element: PhantomData }
    }

    /// Allocates as many elements as there are values, and copies these.
    pub fn alloc_from<T: Pod>(&mut self, values: &[T]) -> Buffer<T> {
        let buffer = self.alloc(values.len());
        self.write(buffer, values);
        buffer
    }

    /// Copies values to the start of an allocation.
    ///
    /// # Panics
    /// More values than it has elements.
    pub fn write<T: Pod>(&mut self, buffer: Buffer<T>, values: &[T]) {
        assert!(values.len() <= buffer.len, "{} values for {}", values.len(), buffer.len);
        self.buffers[buffer.index].write(0, bytemuck::cast_slice(values));
    }

    /// The elements of an allocation. Those that nobody wrote have all bits set.
    #[must_use]
    pub fn read<T: Pod>(&self, buffer: Buffer<T>) -> Vec<T> {
        let mut values = vec![T::zeroed(); buffer.len];
        self.buffers[buffer.index].read(0, bytemuck::cast_slice_mut(&mut values));
        values
    }

    /// The address of the workspace of cooperative launches, which all of them leave as they found it, but
    /// for the barrier's phase.
    pub(super) fn workspace(&mut self) -> u64 {
        *self.workspace.get_or_insert_with(|| {
            let workspace = self.global.allocate("the grid's workspace".to_owned(), WORKSPACE);
            workspace.write(0, &[0; WORKSPACE as usize]);
            workspace.base()
        })
    }

    /// The addresses of a module's variables, which are allocated when a kernel of the module is
    /// first launched.
    pub(super) fn load(
        &mut self,
        variables: &Arc<[ModuleVariable]>,
    ) -> Result<Vec<u64>, LaunchError> {
        if let Some((_, addresses)) =
            self.loaded.iter().find(|(known, _)| Arc::ptr_eq(known, variables))
        {
            return Ok(addresses.clone());
        }
        let mut allocations = Vec::with_capacity(variables.len());
        for variable in variables.iter() {
            if variable.external {
                return Err(LaunchError::ExternVariable { name: variable.name.clone() });
            }
            let name = format!("variable {}", variable.name);
            allocations.push(if variable.writable {
                self.global.allocate(name, variable.size)
            } else {
                self.global.allocate_constant(name, variable.size)
            });
        }
        for (variable, allocation) in variables.iter().zip(&allocations) {
            let mut value = variable.bytes.clone();
            value.resize(variable.size as usize, 0);
            for relocation in &variable.relocations {
                let base = allocations[relocation.variable as usize].base();
                let address = base.wrapping_add_signed(relocation.addend) >> relocation.shift;
                let bytes = relocation.bytes.min(8) as usize;
                value[relocation.at as usize..][..bytes]
                    .copy_from_slice(&address.to_le_bytes()[..bytes]);
            }
            allocation.write(0, &value);
        }
        let addresses: Vec<u64> = allocations.iter().map(|allocation| allocation.base()).collect();
        self.loaded.push((Arc::clone(variables), addresses.clone()));
        Ok(addresses)
    }
}
