//! What a product launches, as a value: recorded from the very launch sequence that launches it.

use std::collections::BTreeSet;
use std::fmt;

use girih_backend::{Lowering, ProductShape};

use super::panels::panels;
use super::upload::arena_bytes;
use crate::CudaError;
use crate::epilogue::PlacedEpilogue;
use crate::launch::tensor_map::{EncodedMap, MapEncoder, TensorMap};
use crate::launch::{ALIGN, DevicePlan, Each, Launch, LaunchSequence, Operands, PlacedParts};
use crate::operand::Place;

/// One launch, without its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// The kernel and its configuration.
    pub(crate) kernel: String,
    pub(crate) entry: String,
    pub(crate) grid: [u32; 3],
    pub(crate) threads: u32,
    pub(crate) dynamic_shared: u32,
}

impl Recorded {
    /// A launch of one of these kernels.
    pub(crate) fn of(launch: &Launch<'_>, kernels: &[String]) -> Self {
        Self {
            kernel: kernels[launch.kernel].clone(),
            entry: launch.entry.to_owned(),
            grid: launch.grid,
            threads: launch.block,
            dynamic_shared: launch.dynamic_shared,
        }
    }
}

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, entry, grid: [x, y, _], threads, dynamic_shared } = self;
        write!(f, "{entry} of {kernel}, {x}×{y} blocks of {threads} threads")?;
        match dynamic_shared {
            0 => Ok(()),
            bytes => write!(f, " and {bytes} bytes of dynamic shared memory"),
        }
    }
}

/// A device plan without what is uploaded: enough to say what products launch.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    shape: ProductShape,
    kernels: Vec<String>,
    n_parts: usize,
    n_maps: usize,
    uploaded: u64,
    workspace: u64,
}

impl DevicePlan {
    /// The device plan without its parts.
    pub(crate) fn outline(&self) -> Outline {
        Outline {
            shape: self.shape,
            kernels: self.kernels.iter().map(ToString::to_string).collect(),
            n_parts: self.parts.len(),
            n_maps: self.maps.len(),
            uploaded: arena_bytes(self.parts.iter().map(|part| part.bytes().len())),
            workspace: self.workspace,
        }
    }

    /// The entry points that products with `n` columns launch, of operands on the device or on the host, each with which
    /// of the kernels it is of. Rows of operands begin on 16 bytes, unless their columns keep them from it.
    ///
    /// # Errors
    /// Why there are none.
    pub(crate) fn entries(&self, n: usize) -> Result<BTreeSet<(usize, String)>, CudaError> {
        let (outline, mut entries) = (self.outline(), BTreeSet::new());
        for n in panels(self.shape, n).into_iter().map(|panel| panel.len()).chain([n]) {
            outline.each_launch(&*self.sequence, n, &mut |launch| {
                entries.insert((launch.kernel, launch.entry.to_owned()));
                Ok(())
            })?;
        }
        Ok(entries)
    }

    /// Adds what products launch on a device to a lowering.
    pub(crate) fn describe(&self, lowering: Lowering) -> Lowering {
        self.outline().describe(&*self.sequence, lowering)
    }
}

/// Tensor maps that nobody reads.
struct Unencoded;

impl MapEncoder for Unencoded {
    fn encode(&self, _: &TensorMap) -> Result<EncodedMap, CudaError> {
        Ok(EncodedMap::default())
    }
}

impl Outline {
    /// The names of the kernels.
    #[cfg(test)]
    pub(crate) fn kernels(&self) -> &[String] {
        &self.kernels
    }

    /// Row-major operands with `n` columns whose rows begin on 16 bytes, α = 1 and β = 0.
    fn operands(&self, n: usize) -> Operands {
        let ProductShape { m, k, dtype } = self.shape;
        let b = Place::row_major(ALIGN, (k, n), dtype.size());
        let c = Place::row_major(ALIGN, (m, n), dtype.accumulator().size());
        Operands { alpha: 1.0.into(), beta: 0.0.into(), b, c }
    }

    /// The launches of a product of such operands, in their order.
    ///
    /// # Errors
    /// Why there are none.
    pub(crate) fn launches(
        &self,
        sequence: &dyn LaunchSequence,
        n: usize,
    ) -> Result<Vec<Recorded>, CudaError> {
        let mut recorded = Vec::new();
        self.each_launch(sequence, n, &mut |launch| {
            recorded.push(Recorded::of(launch, &self.kernels));
            Ok(())
        })?;
        Ok(recorded)
    }

    /// Hands each launch of a product of such operands to `each`.
    fn each_launch(
        &self,
        sequence: &dyn LaunchSequence,
        n: usize,
        each: Each<'_>,
    ) -> Result<(), CudaError> {
        if self.shape.m == 0 || n == 0 {
            return Ok(());
        }
        let at = PlacedParts {
            parts: vec![ALIGN; self.n_parts],
            maps: vec![EncodedMap::default(); self.n_maps],
            workspace: ALIGN,
        };
        let plain = PlacedEpilogue::default();
        sequence.launches(&at.addresses(), &self.operands(n), &plain, &Unencoded, each)
    }

    /// Adds what products of the lowering's n launch, and what they are made of.
    pub(crate) fn describe(&self, sequence: &dyn LaunchSequence, lowering: Lowering) -> Lowering {
        let n = lowering.n;
        let launches = match self.launches(sequence, n) {
            Ok(launches) => launches,
            Err(error) => return lowering.with("launches", "none", error.to_string()),
        };
        if launches.is_empty() {
            return lowering.with("launches", "none", "C has no elements");
        }
        let mut lowering = sequence.explain(&self.operands(n), lowering);
        for (launch, times) in repeated(&launches) {
            let times = if times == 1 { String::new() } else { format!("{times} times ") };
            lowering = lowering.with("launch", format!("{times}{launch}"), "");
        }
        let why =
            if self.workspace == 0 { "" } else { "what products write and read again, at most" };
        self.describe_panels(sequence, lowering)
            .with("workspace", format!("{} bytes", self.workspace), why)
            .with("uploaded", format!("{} bytes", self.uploaded), "A as the kernels read it")
    }
}

impl Outline {
    /// Adds how operands on the host are moved, if not at once, and what is launched then.
    fn describe_panels(&self, sequence: &dyn LaunchSequence, lowering: Lowering) -> Lowering {
        let panels = panels(self.shape, lowering.n);
        if panels.len() < 2 {
            return lowering;
        }
        let launches = panels.iter().map(|panel| self.launches(sequence, panel.len()));
        let Ok(launches) = launches.collect::<Result<Vec<_>, _>>() else { return lowering };
        let widths: Vec<_> = panels.iter().map(|panel| panel.len().to_string()).collect();
        let choice = format!("in panels of {} columns", widths.join(", "));
        let why = "sending, multiplying and fetching overlap";
        let mut lowering = lowering.with("host operands", choice, why);
        for (launch, times) in repeated(&launches.concat()) {
            let times = if times == 1 { String::new() } else { format!("{times} times ") };
            lowering = lowering.with("host launch", format!("{times}{launch}"), "");
        }
        lowering
    }
}

/// Launches with how often each comes in a row.
pub(crate) fn repeated(launches: &[Recorded]) -> Vec<(&Recorded, usize)> {
    let mut runs: Vec<(&Recorded, usize)> = Vec::new();
    for launch in launches {
        match runs.last_mut() {
            Some((last, times)) if *last == launch => *times += 1,
            _ => runs.push((launch, 1)),
        }
    }
    runs
}
