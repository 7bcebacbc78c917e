//! Dense strips of many rows, by rows of B that are packed first.

use girih_simd::{Input, Output, RowMap, Runs, Strip, lanes};

use crate::exec::formats::Panel;
use crate::kernels::{BPanel, CpuScalar};
use crate::thresholds::{
    STRIP_PACK_BYTES, STRIP_PACK_ROWS_MAX, STRIP_PACK_ROWS_MIN, STRIP_PACK_RUN_COLS,
    STRIP_PACK_VECTORS,
};

/// Where packed runs begin.
const IN_ORDER: [u32; 256] = {
    let mut starts = [0; 256];
    let mut i = 0;
    while i < starts.len() {
        starts[i] = i as u32;
        i += 1;
    }
    starts
};

/// Multiplies a strip some runs at a time. The rows of B that the runs use are packed next to each other, so
/// that the first-level cache holds them however far apart they are. All rows of the strip then go through
/// them (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", TOMS 2008).
///
/// Sums go on from one part to the next, so the bits are those of the strip as a whole.
pub(crate) struct PackedStrip<T> {
    b: Input<T>,
    /// Runs at a time.
    runs: usize,
}

impl<T: CpuScalar> PackedStrip<T> {
    /// `None` if the strip is better multiplied with B in place.
    pub(crate) fn try_new(
        strip: &Strip<'_, T::Acc>,
        map: RowMap<'_>,
        on: &Panel<'_, T>,
    ) -> Option<Self> {
        let is_profitable = (STRIP_PACK_ROWS_MIN..=STRIP_PACK_ROWS_MAX).contains(&map.len())
            && on.width >= STRIP_PACK_VECTORS * lanes::<T>()
            && strip.runs.len <= STRIP_PACK_RUN_COLS
            && on.packs_strips
            && !strip.runs.starts.is_empty();
        let rows = STRIP_PACK_BYTES / (on.kernels.panel() * size_of::<T>());
        let runs = (rows / strip.runs.len).clamp(1, IN_ORDER.len());
        let b = on.b.given().filter(|_| is_profitable)?;
        Some(Self { b, runs })
    }

    /// Multiplies the strip.
    pub(crate) fn multiply(&self, strip: &Strip<'_, T::Acc>, map: RowMap<'_>, on: &Panel<'_, T>) {
        let (at_once, panel) = (STRIP_PACK_VECTORS * lanes::<T>(), on.kernels.panel());
        let sums_at = |p: usize| p * map.len();
        let mut scratch = T::thread_scratch().take();
        let (rows, sums) = scratch.split(self.runs * strip.runs.len * at_once, map.len() * at_once);
        let slots = RowMap::Consecutive { first: 0, len: map.len() };
        for j in (0..on.width).step_by(at_once) {
            let width = at_once.min(on.width - j);
            let panels = (0..width).step_by(panel).map(|p| (p, panel.min(width - p)));
            for (i, starts) in strip.runs.starts.chunks(self.runs).enumerate() {
                let runs = Runs { starts, ..strip.runs };
                on.kernels.gather(&runs, self.b.at_col(j), width, rows);
                let part = Strip {
                    values: &strip.values[i * self.runs * strip.run_stride..],
                    runs: in_order(&runs, strip.run_stride),
                    resumes: i > 0,
                    ..*strip
                };
                for (p, width) in panels.clone() {
                    let ptr = rows[p * runs.count()..].as_ptr();
                    let b = BPanel::Given(Input { ptr, row_stride: panel as isize, ..self.b });
                    let out = Output::sums(&mut sums[sums_at(p)..], width, false);
                    on.kernels.strip(&part, b, &out, slots, width);
                }
            }
            for (p, width) in panels {
                let (sums, out) = (&sums[sums_at(p)..][..map.len() * width], on.out.at_col(j + p));
                on.kernels.combine(sums, 1, &out, map, width);
            }
        }
        T::thread_scratch().set(scratch);
    }
}

/// The runs once their rows of B are packed.
fn in_order<'a>(runs: &Runs<'_>, run_stride: usize) -> Runs<'a> {
    let count = runs.count();
    if run_stride == runs.len {
        return Runs { starts: &IN_ORDER[..1], pitch: 0, offset: 0, len: count, ncols: count };
    }
    Runs {
        starts: &IN_ORDER[..runs.starts.len()],
        pitch: runs.len,
        offset: 0,
        ncols: count,
        ..*runs
    }
}
