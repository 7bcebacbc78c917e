//! Fewer and fuller windows.

use super::partition::{NO_WINDOW, Partition};

impl Partition {
    /// Joins windows, the fullest first, each with the fullest that still fits. Afterwards no two
    /// windows fit into one, so that fewer than 2·rows / `window_rows` + 1 are left.
    /// O(windows + vertices + `window_rows`).
    pub(super) fn join_short_windows(&mut self, window_rows: u32) {
        // Open windows by size.
        let mut open: Vec<Vec<u32>> = vec![Vec::new(); window_rows as usize + 1];
        let mut by_size: Vec<u32> = (0..self.n_windows() as u32).collect();
        by_size.sort_by_key(|&w| std::cmp::Reverse(self.sizes[w as usize]));
        let mut into: Vec<u32> = (0..self.n_windows() as u32).collect();
        for w in by_size {
            let size = self.sizes[w as usize];
            if size == 0 {
                into[w as usize] = NO_WINDOW;
                continue;
            }
            let fitting = (window_rows - size) as usize;
            let Some(target) = (1..=fitting).rev().find_map(|size| open[size].pop()) else {
                open[size as usize].push(w);
                continue;
            };
            into[w as usize] = target;
            self.sizes[target as usize] += size;
            self.sizes[w as usize] = 0;
            open[self.sizes[target as usize] as usize].push(target);
        }
        for w in self.window.iter_mut().filter(|w| **w != NO_WINDOW) {
            *w = into[*w as usize];
        }
        let kept: Vec<u32> =
            (0..self.n_windows() as u32).filter(|&w| self.sizes[w as usize] > 0).collect();
        self.renumbered(&kept);
    }

    /// Makes all windows but one full, of `window_rows` vertices: keeps the fullest that are
    /// needed, and fills them with the vertices of the others. Every vertex weighs one row.
    /// O(windows log windows + vertices).
    pub(super) fn fill_windows(&mut self, window_rows: u32) {
        let needed = self.window.len().div_ceil(window_rows as usize);
        let mut order: Vec<u32> = (0..self.n_windows() as u32).collect();
        order.sort_by_key(|&w| std::cmp::Reverse(self.sizes[w as usize]));
        order.truncate(needed);
        order.sort_unstable();
        self.renumbered(&order);
        self.sizes.resize(needed, 0);
        // The shortest gives to the others what the dissolved ones leave wanting.
        let shortest = (0..needed).min_by_key(|&w| self.sizes[w]).unwrap_or(0) as u32;
        let mut spare: Vec<u32> = Vec::new();
        for from in [shortest, NO_WINDOW] {
            let of = (0..self.window.len() as u32).filter(|&v| self.window[v as usize] == from);
            spare.extend(of);
        }
        for w in (0..needed as u32).filter(|&w| w != shortest) {
            for _ in self.sizes[w as usize]..window_rows {
                let Some(v) = spare.pop() else { return };
                let place = &mut self.window[v as usize];
                if *place != NO_WINDOW {
                    self.sizes[*place as usize] -= 1;
                }
                *place = w;
                self.sizes[w as usize] += 1;
            }
        }
        for v in spare {
            let place = &mut self.window[v as usize];
            if *place == NO_WINDOW {
                *place = shortest;
                self.sizes[shortest as usize] += 1;
            }
        }
    }

    /// The vertices window by window, a window that is not full last.
    pub(super) fn order_full_first(&self) -> Vec<u32> {
        let (ptr, members) = self.members();
        let most = self.sizes.iter().max().copied().unwrap_or(0);
        let is_full = |w: &usize| self.sizes[*w] == most;
        let (full, rest): (Vec<usize>, Vec<usize>) = (0..self.n_windows()).partition(is_full);
        let windows = full.into_iter().chain(rest);
        windows.flat_map(|w| &members[ptr[w]..ptr[w + 1]]).copied().collect()
    }
}
