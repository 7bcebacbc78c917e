//! `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor` and their prefetch: decoding.
//!
//! PTX ISA, "Data Movement and Conversion Instructions: Tensor copy", tile mode.

use crate::ast::{Instruction, Operand, Type};
use crate::error::{ParseError, Problem};
use crate::machine::registers::Source;
use crate::program::{Address, Decoder, Scope};

use super::bulk::REDUCTIONS;
use super::window::Window;
use crate::asynch::reduce::Reduction;

/// An instruction of the family.
#[derive(Debug, Clone)]
pub(crate) enum Tensor {
    /// From the tensor to shared memory.
    Load {
        to: Address,
        to_window: Window,
        boxed: TensorBox,
        mbarrier: Address,
        /// `.multicast::cluster`: the ranks that receive the box.
        multicast: Option<Source>,
    },
    /// From shared memory to the tensor.
    Store {
        from: Address,
        boxed: TensorBox,
        /// How elements are combined, instead of overwritten.
        reduce: Option<Reduction>,
    },
    /// No effect but its checks.
    Prefetch { boxed: TensorBox },
}

/// A box of a tensor.
#[derive(Debug, Clone)]
pub(crate) struct TensorBox {
    /// Where the tensor map is.
    pub(crate) map: Address,
    /// Innermost first; each is a signed 32-bit number.
    pub(crate) coordinates: Vec<Source>,
}

/// Decodes an instruction of this family.
pub(crate) fn decode(instruction: &Instruction, scope: &Scope<'_>) -> Result<Tensor, ParseError> {
    let mut d = Decoder::new(instruction, scope);
    let reduces = d.take("reduce");
    d.expect("async")?;
    d.expect("bulk")?;
    let prefetches = !reduces && d.take("prefetch");
    d.expect("tensor")?;
    let rank = d.required(&[("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)])?;
    if prefetches {
        return prefetch(d, rank);
    }
    let spaces = [
        ("shared::cluster", Window::Cluster),
        ("shared::cta", Window::Cta),
        ("global", Window::Global),
    ];
    let to_window = d.required(&spaces)?;
    if to_window == Window::Global {
        d.expect("shared::cta")?;
        return store(d, rank, reduces);
    }
    if reduces {
        return Err(d.error(Problem::Invalid("tensors are reduced in global memory".to_owned())));
    }
    d.expect("global")?;
    mode(&mut d)?;
    d.expect("mbarrier::complete_tx::bytes")?;
    let multicast = to_window == Window::Cluster && d.take("multicast::cluster");
    let policy = d.take("L2::cache_hint");
    let n = 3 + usize::from(multicast) + usize::from(policy);
    d.finish(n..=n)?;
    let multicast = if multicast { Some(d.source(3, Type::U16)?) } else { None };
    if policy {
        d.source(n - 1, Type::B64)?;
    }
    let boxed = tensor_box(&d, 1, rank)?;
    Ok(Tensor::Load { to: d.address(0)?, to_window, boxed, mbarrier: d.address(2)?, multicast })
}

fn prefetch(mut d: Decoder<'_>, rank: usize) -> Result<Tensor, ParseError> {
    d.expect("L2")?;
    d.expect("global")?;
    mode(&mut d)?;
    let policy = d.take("L2::cache_hint");
    let n = 1 + usize::from(policy);
    d.finish(n..=n)?;
    if policy {
        d.source(1, Type::B64)?;
    }
    Ok(Tensor::Prefetch { boxed: tensor_box(&d, 0, rank)? })
}

fn store(mut d: Decoder<'_>, rank: usize, reduces: bool) -> Result<Tensor, ParseError> {
    let reduce = if reduces { Some(d.required(&REDUCTIONS)?) } else { None };
    mode(&mut d)?;
    d.expect("bulk_group")?;
    let policy = d.take("L2::cache_hint");
    let n = 2 + usize::from(policy);
    d.finish(n..=n)?;
    if policy {
        d.source(2, Type::B64)?;
    }
    Ok(Tensor::Store { boxed: tensor_box(&d, 0, rank)?, from: d.address(1)?, reduce })
}

/// Takes the load mode: tiles, or nothing, which means tiles.
fn mode(d: &mut Decoder<'_>) -> Result<(), ParseError> {
    match d.peek() {
        Some(mode) if mode.starts_with("im2col") || mode.starts_with("tile::") => {
            d.unsupported(format!("tensor copies in mode .{mode}"))
        }
        _ => {
            d.take("tile");
            Ok(())
        }
    }
}

fn tensor_box(d: &Decoder<'_>, position: usize, rank: usize) -> Result<TensorBox, ParseError> {
    let Operand::Tensor { map, coordinates } = d.operand(position)? else {
        return d.wrong(position, "a tensor map and coordinates");
    };
    if coordinates.len() != rank {
        return d.wrong(position, format!("{rank} coordinates"));
    }
    let coordinates = coordinates
        .iter()
        .map(|coordinate| d.value(coordinate, position, Type::S32, 32))
        .collect::<Result<_, _>>()?;
    Ok(TensorBox { map: d.address_of(map, position)?, coordinates })
}
