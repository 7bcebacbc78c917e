//! `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`, prefetch: execution.

use super::Flow;
use super::tensor::{Tensor, TensorBox};
use super::window::{Window, check_global, value};
use crate::ast;
use crate::asynch::access::kind;
use crate::asynch::footprint::{Footprint, Space, Touch};
use crate::asynch::issue::{self, Incoming, Outgoing};
use crate::asynch::reduce::{Reduce, Reduction};
use crate::asynch::transfer::{Conversion, Effect, Location, Run};
use crate::machine::{Cluster, Warp, lanes};
use crate::memory;
use crate::report::{AccessKind, Problem, Stop};
use crate::tensor_map::{self, BoxError, DataType, TensorMap};

impl Tensor {
    /// Executes the instruction for the lanes in `mask`.
    pub(crate) fn execute(
        &self,
        warp: &mut Warp,
        cluster: &mut Cluster,
        mask: u32,
    ) -> Result<Flow, Stop> {
        for lane in lanes(mask) {
            self.issue(warp, cluster, lane).map_err(|problem| problem.at(lane as u32))?;
        }
        Ok(Flow::Next)
    }

    fn issue(&self, warp: &mut Warp, cluster: &mut Cluster, lane: usize) -> Result<(), Problem> {
        match self {
            Self::Prefetch { boxed } => {
                let map = boxed.map(warp, cluster, lane)?;
                boxed.runs(warp, &map, lane, 0, TensorMap::runs).map(drop)
            }
            Self::Load { to, to_window, boxed, mbarrier, multicast } => {
                let map = boxed.map(warp, cluster, lane)?;
                let bytes = bytes_of(&map)?;
                let write = AccessKind::Write;
                let (rank, start) = to_window.shared(warp, cluster, to, lane, (bytes, 1), write)?;
                let (signals, offset) =
                    to_window.shared(warp, cluster, mbarrier, lane, (8, 8), AccessKind::Atomic)?;
                if signals != rank {
                    let what = format!(
                        "the destination is in CTA {rank} of the cluster, its mbarrier in CTA \
                         {signals}"
                    );
                    return Err(Problem::Operand { what });
                }
                let runs = boxed.runs(warp, &map, lane, start, TensorMap::runs)?;
                let mut from: Vec<(Option<Location>, u32)> = Vec::with_capacity(runs.len());
                for run in &runs {
                    if let Some(at) = run.global {
                        check_global(cluster, at, u64::from(run.bytes), AccessKind::Read)?;
                    }
                    let place = run.global.map(|at| Location { space: Space::Global, at });
                    from.push((place, run.bytes));
                }
                let read = runs.iter().filter_map(|run| Some((run.global?, u64::from(run.bytes))));
                let reads = Footprint::new(Space::Global, Touch::Read, read);
                let ranks = match multicast {
                    None => vec![rank],
                    Some(mask) => issue::ranks(cluster, value(warp, *mask, lane))?,
                };
                for rank in ranks {
                    let to =
                        |run: &tensor_map::Run| Run { at: u64::from(run.shared), bytes: run.bytes };
                    let incoming = Incoming {
                        from: from.clone(),
                        reads: reads.clone(),
                        rank,
                        runs: runs.iter().map(to).collect(),
                        effect: Effect::Copy,
                        conversion: Some(Conversion {
                            data_type: map.data_type(),
                            fill: map.fill_bits(),
                        }),
                        mbarrier: offset,
                        bytes,
                    };
                    issue::incoming(warp, cluster, lane, incoming)?;
                }
                Ok(())
            }
            Self::Store { from, boxed, reduce } => {
                let map = boxed.map(warp, cluster, lane)?;
                let effect = match reduce {
                    None => Effect::Copy,
                    Some(operation) => Effect::Reduce(reduction(*operation, map.data_type())?),
                };
                let shape = (bytes_of(&map)?, 1);
                let read = AccessKind::Read;
                let (_, start) = Window::Cta.shared(warp, cluster, from, lane, shape, read)?;
                let runs = boxed.runs(warp, &map, lane, start, TensorMap::stored_runs)?;
                let mut from = Vec::with_capacity(runs.len());
                let mut to = Vec::with_capacity(runs.len());
                // Elements out of bounds are not stored.
                for run in &runs {
                    if let Some(at) = run.global {
                        let access = kind(effect.touch());
                        check_global(cluster, at, u64::from(run.bytes), access)?;
                        from.push(Run { at: u64::from(run.shared), bytes: run.bytes });
                        to.push(Run { at, bytes: run.bytes });
                    }
                }
                issue::outgoing(warp, cluster, lane, Outgoing { from, runs: to, effect })
            }
        }
    }
}

/// Bytes of a box; no shared memory holds more than an `u32` counts.
fn bytes_of(map: &TensorMap) -> Result<u32, Problem> {
    let bytes = map.box_bytes();
    u32::try_from(bytes)
        .map_err(|_| Problem::Operand { what: format!("a box of {bytes} bytes is too large") })
}

fn reduction(operation: Reduction, data_type: DataType) -> Result<Reduce, Problem> {
    let ty = match data_type {
        DataType::Uint32 => Some(ast::Type::U32),
        DataType::Int32 => Some(ast::Type::S32),
        DataType::Uint64 => Some(ast::Type::U64),
        DataType::Int64 => Some(ast::Type::S64),
        DataType::Float16 => Some(ast::Type::F16),
        DataType::Bfloat16 => Some(ast::Type::Bf16),
        DataType::Float32 | DataType::Float32Ftz => Some(ast::Type::F32),
        DataType::Float64 => Some(ast::Type::F64),
        _ => None,
    };
    ty.and_then(|ty| Reduce::new(operation, ty)).ok_or_else(|| Problem::Operand {
        what: format!("no reduction {operation:?} of tensors of {data_type:?}"),
    })
}

impl TensorBox {
    /// The tensor map at a lane's address.
    fn map(&self, warp: &Warp, cluster: &Cluster, lane: usize) -> Result<TensorMap, Problem> {
        let space = match self.map.space {
            Some(ast::Space::Param) => memory::Space::Param,
            Some(ast::Space::Local | ast::Space::Shared) => {
                let what = "a tensor map has to be a parameter, a constant or global".to_owned();
                return Err(Problem::Operand { what });
            }
            _ => memory::Space::Generic,
        };
        let address = Window::Generic.bits(warp, &self.map, lane);
        let read = AccessKind::Read;
        let target = cluster.context.resolve(warp.rank(), space, address, 128, 64, read)?;
        let mut bytes = [0; 128];
        for (i, word) in (0..).zip(bytes.chunks_exact_mut(8)) {
            let value = cluster.load(warp, lane, &target.plus(i * 8), 8);
            word.copy_from_slice(&value.to_le_bytes());
        }
        TensorMap::from_bytes(&bytes).map_err(|error| Problem::Operand { what: error.to_string() })
    }

    /// The bytes of the box, loaded or stored, if it lies at a shared address.
    fn runs(
        &self,
        warp: &Warp,
        map: &TensorMap,
        lane: usize,
        shared: u32,
        of: impl Fn(&TensorMap, &[i32], u32) -> Result<Vec<tensor_map::Run>, BoxError>,
    ) -> Result<Vec<tensor_map::Run>, Problem> {
        let coordinates: Vec<i32> =
            self.coordinates.iter().map(|&at| value(warp, at, lane).cast_signed()).collect();
        of(map, &coordinates, shared).map_err(|error| match error {
            BoxError::Misaligned { address } => Problem::Misaligned {
                access: AccessKind::Atomic,
                memory: format!("a box at shared address {address:#x}"),
                align: 128,
            },
            error => Problem::Operand { what: error.to_string() },
        })
    }
}
