//! Tiles of neighbouring rows, and the columns that their rows share.
//!
//! Statistics count these tiles; the layout of tiles is made of the very same.

use std::ops::Range;

use girih_formats::CsrPattern;
use girih_simd::TILE_ROWS;

/// The range of entries of each row of a tile: all entries, or those of some columns.
pub(crate) type TileEntries = [Range<usize>; TILE_ROWS];

/// Cuts slots into tiles of up to [`TILE_ROWS`] neighbouring rows. A tile ends before rows of equal pattern
/// begin, and where they end.
pub(crate) fn tiles(
    pattern: CsrPattern<'_>,
    slots: Range<usize>,
) -> impl Iterator<Item = Range<usize>> {
    let mut next = slots.start;
    let same = move |slot: usize| slot < slots.end && pattern.row(slot) == pattern.row(slot - 1);
    std::iter::from_fn(move || {
        if next >= slots.end {
            return None;
        }
        let start = next;
        next += 1;
        let limit = slots.end.min(start + TILE_ROWS);
        while next < limit {
            let ends = next > start + 1 && same(next - 1) && !same(next);
            let begins = !same(next) && same(next + 1);
            if ends || begins {
                break;
            }
            next += 1;
        }
        Some(start..next)
    })
}

/// The entries of a tile's rows; empty ranges for rows that the tile lacks.
pub(crate) fn row_entries(pattern: CsrPattern<'_>, slots: &Range<usize>) -> TileEntries {
    let mut rows = TileEntries::default();
    for (row, slot) in rows.iter_mut().zip(slots.clone()) {
        *row = pattern.row_range(slot);
    }
    rows
}

/// Takes the entries before column `end` off the front of `rests`.
pub(crate) fn take_before(
    pattern: CsrPattern<'_>,
    rests: &mut TileEntries,
    end: usize,
) -> TileEntries {
    rests.each_mut().map(|rest| {
        let start = rest.start;
        let cols = &pattern.col_idx()[rest.clone()];
        rest.start += cols.partition_point(|&col| (col as usize) < end);
        start..rest.start
    })
}

/// Merges the columns of up to four rows, ascending. Each comes with a mask: bit `r` says that row `r` holds
/// it.
pub(crate) fn merge(pattern: CsrPattern<'_>, parts: &[Range<usize>], merged: &mut Vec<(u32, u8)>) {
    merged.clear();
    let col_idx = pattern.col_idx();
    let first = &col_idx[parts[0].clone()];
    if parts.iter().skip(1).all(|part| col_idx[part.clone()] == *first) {
        let all = (1 << parts.len()) - 1;
        return merged.extend(first.iter().map(|&col| (col, all)));
    }
    let mut rows = [(0, 0); TILE_ROWS];
    for (row, part) in rows.iter_mut().zip(parts) {
        *row = (part.start, part.end);
    }
    // No column is the largest index, so an exhausted row never has the least. Which rows advance is not
    // predictable, so there are selections instead of branches.
    let head = |(next, end): (usize, usize)| {
        let col = col_idx.get(next).copied().unwrap_or(u32::MAX);
        if next < end { col } else { u32::MAX }
    };
    let mut heads = rows.map(head);
    loop {
        let col = heads[0].min(heads[1]).min(heads[2].min(heads[3]));
        if col == u32::MAX {
            return;
        }
        let mut mask = 0;
        for r in 0..TILE_ROWS {
            let held = heads[r] == col;
            mask |= u8::from(held) << r;
            rows[r].0 += usize::from(held);
            heads[r] = head(rows[r]);
        }
        merged.push((col, mask));
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::Csr;
    use girih_generate::{fem_3d, uniform};

    use super::*;

    #[test]
    fn tiles_keep_equal_rows_together() {
        let a: Csr<f32> = fem_3d(4, 4, 4, 3, 1).unwrap();
        assert!(
            tiles(a.pattern(), 0..a.nrows()).all(|slots| slots.len() == 3 && slots.start % 3 == 0)
        );
    }

    #[test]
    fn columns_merged_slab_by_slab_are_all_columns_in_order() {
        let a: Csr<f32> = uniform(4, 1000, 200, 1).unwrap();
        let (mut all, mut merged, mut in_slabs) = (Vec::new(), Vec::new(), Vec::new());
        merge(a.pattern(), &row_entries(a.pattern(), &(0..4)), &mut all);
        let mut rests = row_entries(a.pattern(), &(0..4));
        for end in [0, 1, 300, 600, 1200] {
            let parts = take_before(a.pattern(), &mut rests, end);
            merge(a.pattern(), &parts, &mut merged);
            assert!(merged.iter().all(|&(col, _)| (col as usize) < end));
            in_slabs.append(&mut merged);
        }
        assert!(all.len() > 500 && in_slabs == all);
        assert!(rests.iter().all(Range::is_empty));
    }
}
