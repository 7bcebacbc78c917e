//! Joining short windows: never more packed columns, and fewer windows.

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
}
