//! BMat: the set bits of one row of every tile of the window.

use girih_formats::{BMat, Scalar};

pub(super) fn visit<T: Scalar>(t: &BMat<T>, slot: usize, mut visit: impl FnMut(usize, T)) {
    let (window, r) = (slot / BMat::<T>::WINDOW_ROWS, slot % BMat::<T>::WINDOW_ROWS);
    for tile in t.window_ptr()[window]..t.window_ptr()[window + 1] {
        let tile = tile as usize;
        let words = &t.tile_bits()[tile * BMat::<T>::TILE_WORDS..][..BMat::<T>::TILE_WORDS];
        let cols = &t.tile_col_idx()[tile * BMat::<T>::TILE_COLS..][..BMat::<T>::TILE_COLS];
        for (c, &col) in cols.iter().enumerate() {
            let (word, bit) = BMat::<T>::bit(r, c);
            if words[word] >> bit & 1 == 0 {
                continue;
            }
            let value = t.values().map_or(T::ONE, |values| {
                let before: u32 = words[..word].iter().map(|w| w.count_ones()).sum();
                let within = (words[word] & ((1 << bit) - 1)).count_ones();
                values[t.tile_value_ptr()[tile] as usize + (before + within) as usize]
            });
            visit(col as usize, value);
        }
    }
}
