//! What a candidate moves and computes, and for how long.

use serde::{Deserialize, Serialize};

use crate::cost::{Cost, Resource};
use crate::device::Unit;
use crate::file::text::Number;
use crate::file::wire::codes;

codes! {
    UnitText for Unit { Entries, Tiles }
    ResourceText for Resource { Memory, Cache, Compute, Overhead }
}

#[derive(Serialize, Deserialize)]
pub(super) struct CostText {
    #[serde(default)]
    tile_bytes: u64,
    #[serde(default)]
    fill_ratio: Number,
    #[serde(default)]
    b_fetched_bytes: Number,
    #[serde(default)]
    b_memory_bytes: Number,
    #[serde(default)]
    c_bytes: Number,
    #[serde(default)]
    a_passes: Number,
    #[serde(default)]
    flops: Number,
    unit: UnitText,
    #[serde(default)]
    memory_seconds: Number,
    #[serde(default)]
    cache_seconds: Number,
    #[serde(default)]
    compute_seconds: Number,
    #[serde(default)]
    overhead_seconds: Number,
    #[serde(default)]
    imbalance: Number,
    seconds: Number,
    dominant: ResourceText,
}

impl From<&Cost> for CostText {
    fn from(from: &Cost) -> Self {
        let &Cost {
            tile_bytes,
            fill_ratio,
            b_fetched_bytes,
            b_memory_bytes,
            c_bytes,
            a_passes,
            flops,
            unit,
            memory_seconds,
            cache_seconds,
            compute_seconds,
            overhead_seconds,
            imbalance,
            seconds,
            dominant,
        } = from;
        Self {
            tile_bytes,
            fill_ratio: Number(fill_ratio),
            b_fetched_bytes: Number(b_fetched_bytes),
            b_memory_bytes: Number(b_memory_bytes),
            c_bytes: Number(c_bytes),
            a_passes: Number(a_passes),
            flops: Number(flops),
            unit: unit.into(),
            memory_seconds: Number(memory_seconds),
            cache_seconds: Number(cache_seconds),
            compute_seconds: Number(compute_seconds),
            overhead_seconds: Number(overhead_seconds),
            imbalance: Number(imbalance),
            seconds: Number(seconds),
            dominant: dominant.into(),
        }
    }
}

impl From<CostText> for Cost {
    fn from(text: CostText) -> Self {
        Self {
            tile_bytes: text.tile_bytes,
            fill_ratio: text.fill_ratio.0,
            b_fetched_bytes: text.b_fetched_bytes.0,
            b_memory_bytes: text.b_memory_bytes.0,
            c_bytes: text.c_bytes.0,
            a_passes: text.a_passes.0,
            flops: text.flops.0,
            unit: text.unit.into(),
            memory_seconds: text.memory_seconds.0,
            cache_seconds: text.cache_seconds.0,
            compute_seconds: text.compute_seconds.0,
            overhead_seconds: text.overhead_seconds.0,
            imbalance: text.imbalance.0,
            seconds: text.seconds.0,
            dominant: text.dominant.into(),
        }
    }
}
