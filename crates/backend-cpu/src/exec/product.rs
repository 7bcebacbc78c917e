//! One product: B is read in place, or packed one panel of columns at a time.

use std::ops::Range;

use girih_formats::FormatError;
use girih_simd::{GROUP_VECTORS, Input, Output, Source, lanes};

use super::Prepared;
use super::formats::{Panel, TaskShare};
use super::lines::is_in_lines;
use super::team::Team;
use crate::kernels::{BPanel, CpuScalar};
use crate::lowering::{PackedBy, PanelCols, PanelConfig, ProductLowering};
use crate::thresholds::{PACK_ROWS, THREADS_COPIED};

impl<T: CpuScalar> Prepared<T> {
    /// Computes the product of operands of the right shape; α ≠ 0.
    ///
    /// # Errors
    /// If B is widened first and there is no memory for that.
    pub(super) fn product(
        &self,
        b: Input<T>,
        out: Output<T::Acc>,
        n: usize,
    ) -> Result<(), FormatError> {
        let product = self.lowering.product(n, b.is_column, self.team.threads());
        let k = self.tiling.ncols();
        let copy = self.csr_layout.as_ref().filter(|_| product.by_copy && out.rounds());
        if copy.is_some_and(|copy| copy.slabs(k).nth(1).is_some()) {
            return self.round_slabs(b, out, n);
        }
        if !product.widens_b {
            if let Some(stride) = product.line_stride.filter(|_| !is_in_lines(&b, n))
                && self.multiply_lines(&product, b, out, n, stride).is_some()
            {
                return Ok(());
            }
            let b = self.input(b, &product);
            self.multiply_b(&product, BPanel::Given(b), out, n);
            return Ok(());
        }
        self.wide_b.with(k.saturating_mul(n), |wide| {
            self.widen_b(b, n, wide);
            let wide = Input { is_column: b.is_column, ..Input::new(wide.as_ptr(), n as isize, n) };
            let b = self.input(wide, &product);
            self.multiply_b(&product, BPanel::Widened(b), out, n);
        })
    }

    /// Widens the rows of B, `n` columns wide, to rows of `to` without gaps.
    fn widen_b(&self, b: Input<T>, n: usize, to: &mut [T::Acc]) {
        #[cfg(test)]
        if let Some(recorder) = self.recorder {
            recorder.widened_b();
        }
        let team = if to.len() < THREADS_COPIED { &Team::Alone } else { &self.team };
        team.for_each_chunk(to, PACK_ROWS * n, |i, to| {
            self.kernels.widen_rows(b.source(), i * PACK_ROWS, n, to);
        });
    }

    /// Multiplies B as the lowering says.
    pub(super) fn multiply_b(
        &self,
        product: &ProductLowering,
        b: BPanel<T>,
        out: Output<T::Acc>,
        n: usize,
    ) {
        let (kernels, packs_strips) = (&self.kernels, product.packs_strips);
        let csr_layout = self.csr_layout.as_ref().filter(|_| product.by_copy);
        let whole =
            Panel { kernels, b, out, width: n, csr_layout, slab: None, share: None, packs_strips };
        let (Some(packed_by), Some(panels), Some(scratch)) =
            (product.packed, &self.lowering.packing.choice, &self.panel_scratch)
        else {
            return self.panel(&whole);
        };
        match packed_by {
            PackedBy::Each { panels: count, shares } => {
                self.team.for_each(count * shares, 1, |i| {
                    let Some(panel) = panels.panel_cols(n).nth(i / shares) else { return };
                    let share = TaskShare { part: i % shares, of: shares };
                    let alone = Panel { share: Some(share), ..whole };
                    match scratch.lend() {
                        Some(mut to) => self.packed(&panel, to.elements(), panels, &alone),
                        None => self.panel(&alone.part(&panel.cols)),
                    }
                });
            }
            PackedBy::All { .. } => match scratch.lend() {
                Some(mut to) => {
                    let to = to.elements();
                    panels.panel_cols(n).for_each(|panel| self.packed(&panel, to, panels, &whole));
                }
                None => self.panel(&whole),
            },
        }
    }

    /// Computes some columns of the product, whose panel of B is packed first.
    fn packed(
        &self,
        PanelCols { cols, is_part_of_group }: &PanelCols,
        scratch: &mut [T],
        panels: &PanelConfig,
        whole: &Panel<'_, T>,
    ) {
        let (stride, is_part_of_group) = (panels.row_stride(), *is_part_of_group);
        let panel = whole.part(cols);
        let Some(given) = panel.b.given() else { return self.panel(&panel) };
        let team = if panel.share.is_some() { &Team::Alone } else { &self.team };
        let k = self.tiling.ncols();
        let mut multiply = |rows: Range<usize>, slab: Option<usize>| {
            let packed = &mut scratch[..rows.len() * stride];
            self.pack(given.source(), rows.start, panel.width, packed, stride, team);
            // Where row 0 would be.
            let ptr = packed.as_ptr().wrapping_sub(rows.start * stride);
            let b = Input { ptr, row_stride: stride as isize, is_part_of_group, ..given };
            self.panel(&Panel { b: BPanel::Given(b), slab, ..panel });
        };
        match panel.csr_layout {
            Some(csr_layout) if panels.rows < k => {
                csr_layout.slabs(k).enumerate().for_each(|(s, rows)| multiply(rows, Some(s)));
            }
            _ => multiply(0..k, None),
        }
    }

    /// Packs `width` columns of B, as many rows from row `first` on as `to` holds; they are `stride` elements
    /// long.
    fn pack(
        &self,
        b: Source<T>,
        first: usize,
        width: usize,
        to: &mut [T],
        stride: usize,
        team: &Team,
    ) {
        #[cfg(test)]
        if let Some(recorder) = self.recorder {
            recorder.packed(width);
        }
        self.copy_rows(b, first, width, to, stride, team);
    }

    /// The same, which is not recorded.
    pub(super) fn copy_rows(
        &self,
        b: Source<T>,
        first: usize,
        width: usize,
        to: &mut [T],
        stride: usize,
        team: &Team,
    ) {
        team.for_each_chunk(to, PACK_ROWS * stride, |i, to| {
            self.kernels.pack(b, first + i * PACK_ROWS, width, to, stride);
        });
    }

    /// Computes the product with a B whose columns are not next to each other. B is copied one group of
    /// columns at a time, and each copy multiplied.
    ///
    /// # Errors
    /// If there is no memory for a copy.
    pub(super) fn copied(
        &self,
        b: Source<T>,
        out: Output<T::Acc>,
        n: usize,
    ) -> Result<(), FormatError> {
        // A schedule that cuts windows by columns cuts those of the whole product.
        let width = if self.columns.is_some() { n } else { n.min(GROUP_VECTORS * lanes::<T>()) };
        let stride = self.lowering.case.line_stride(width);
        let len = self.tiling.ncols().saturating_mul(stride);
        let team = if len < THREADS_COPIED { &Team::Alone } else { &self.team };
        self.b_copies.with(len, |copy| {
            (0..n).step_by(width).try_for_each(|j| {
                let width = width.min(n - j);
                self.pack(b.at_col(j), 0, width, copy, stride, team);
                let b = Input::new(copy.as_ptr(), stride as isize, n);
                self.product(b, out.at_col(j), width)
            })
        })?
    }
}

#[cfg(test)]
mod tests {
    use girih_backend::PreparedSpmm;
    use girih_formats::{Csr, FormatSpec, RowLayout, Tiling};
    use girih_generate::{power_law_rows, uniform};
    use girih_planner::Schedule;
    use ndarray::{Array2, s};

    use super::*;
    use crate::Isa;
    use crate::exec::scratch::PanelScratch;
    use crate::lowering::Decision;

    /// Sets panels of four vectors that pack `rows` rows at a time, or no panels, whatever was decided.
    fn pack(prepared: &mut Prepared<f32>, rows: Option<usize>) {
        let panels = rows.map(|rows| PanelConfig::new(&prepared.lowering.case, 4, 512, rows));
        prepared.panel_scratch = panels.map(|panels| PanelScratch::new(&panels).unwrap());
        prepared.lowering.packing = Decision::new(panels, "a test");
    }

    /// Panels of all threads, of each, and in shares; windows in parts too.
    #[test]
    fn packed_panels_and_shares_of_them_change_no_bit() {
        let a: Csr<f32> = power_law_rows(60, 700, 200, 3).unwrap();
        for spec in [FormatSpec::Csr, FormatSpec::Bcsr { block_rows: 4, block_cols: 8 }] {
            agree(&a, spec, 90, 700);
        }
    }

    /// Whole panels, and slab by slab.
    #[test]
    fn packed_slabs_change_no_bit() {
        let a: Csr<f32> = uniform(60, 700, 200, 3).unwrap();
        agree(&a, FormatSpec::Csr, 4000, 700);
        agree(&a, FormatSpec::Csr, 4000, 256);
    }

    #[test]
    fn slabs_add_to_a_c_that_would_otherwise_be_written_past_the_caches() {
        let (m, k, n) = (2100, 600, 512);
        let a: Csr<f32> = uniform(m, k, 200, 3).unwrap();
        let layout = RowLayout::natural(m, 1).unwrap();
        let tiling = Tiling::from_csr(&a, FormatSpec::Csr, layout).unwrap();
        let schedule = Schedule::by_tiles(&tiling, 40_000);
        let b = Array2::from_shape_fn((k, n), |(i, j)| ((i + 3 * j) % 29) as f32 / 7.0);
        let (team, isa) = (Team::Alone, Isa::best());
        let mut prepared = Prepared::new(isa, team, &tiling, &schedule, n).unwrap();
        assert_eq!(prepared.csr_layout.as_ref().unwrap().slabs(k).count(), 3);
        let mut product = |packs: bool, skip: usize| {
            pack(&mut prepared, packs.then_some(256));
            let mut c = Array2::from_elem((m, n + 32), f32::NAN);
            let first = c.as_ptr().align_offset(64) + skip;
            let mut c = c.slice_mut(s![.., first..first + n]);
            let streams = Output::new(&mut c, 1.0, 0.0).in_tiles().streams();
            assert_eq!(streams, skip == 0);
            prepared.execute(1.5, b.view().into(), 0.0, c.view_mut().into()).unwrap();
            c.to_owned()
        };
        let plain = product(false, 1);
        assert!(product(false, 0) == plain && product(true, 0) == plain);
    }

    /// Checks that a matrix of 60×700 gives the same bits whether or not B is packed, `rows` rows at a time,
    /// on any number of threads. C is overwritten or added to.
    fn agree(a: &Csr<f32>, spec: FormatSpec, task: u64, rows: usize) {
        let layout = RowLayout::natural(60, spec.window_rows()).unwrap();
        let tiling = Tiling::from_csr(a, spec, layout).unwrap();
        let schedule = Schedule::by_tiles(&tiling, task);
        for (n, threads, shares) in [
            (128, 1, None),
            (128, 2, Some(1)),
            (130, 2, None),
            (150, 2, None),
            (128, 4, Some(2)),
            (193, 8, Some(2)),
        ] {
            let b = Array2::from_shape_fn((700, n), |(i, j)| ((i + 3 * j) % 29) as f32 / 7.0);
            let product = |packs: bool, threads: usize, beta: f64| {
                let team = Team::with_threads(threads).unwrap();
                let isa = Isa::best();
                let mut prepared = Prepared::new(isa, team, &tiling, &schedule, n).unwrap();
                if let Some(csr_layout) = prepared.csr_layout.as_ref().filter(|_| rows < 700) {
                    assert_eq!(csr_layout.slabs(700).next(), Some(0..rows));
                }
                pack(&mut prepared, packs.then_some(rows));
                if let Some(panels) = &prepared.lowering.packing.choice {
                    let count = panels.panel_cols(n).count();
                    assert_eq!(panels.shares(count, threads), shares, "n = {n}");
                }
                let before = if beta == 0.0 { f32::NAN } else { 3.0 };
                let mut c = Array2::from_elem((60, n), before);
                prepared.execute(1.5, b.view().into(), beta, c.view_mut().into()).unwrap();
                c
            };
            for beta in [0.0, 0.3] {
                let plain = product(false, 1, beta);
                let same = product(true, threads, beta) == plain;
                assert!(same && product(false, threads, beta) == plain, "{spec}, n = {n}");
            }
        }
    }
}
