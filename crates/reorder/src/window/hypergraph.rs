//! The column-net hypergraph of a matrix: rows are vertices, columns are nets.

use std::ops::Range;

use girih_formats::CsrPattern;
use girih_parallel::prelude::*;

/// Rows or nets that one task handles.
pub(super) const TASK: usize = 1 << 10;

/// A hypergraph whose vertices weigh rows and whose nets weigh columns (Çatalyürek & Aykanat, *IEEE
/// TPDS* 10(7), 1999).
#[derive(Debug, Default)]
pub(super) struct Hypergraph {
    vertex_ptr: Vec<usize>,
    vertex_nets: Vec<u32>,
    net_ptr: Vec<usize>,
    net_pins: Vec<u32>,
    /// Rows in each vertex.
    pub(super) rows: Vec<u32>,
    /// Columns in each net.
    pub(super) cols: Vec<u32>,
}

impl Hypergraph {
    /// The rows of a pattern, and its columns that stand in two rows or more. Columns with the same
    /// rows are one net. Returns the number of columns with one entry as well: whatever the
    /// windows, each is packed exactly once. O(nnz + ncols log ncols), in parallel.
    pub(super) fn of(pattern: CsrPattern<'_>) -> (Self, u64) {
        let columns = Columns::of(pattern);
        let lone = (0..columns.len()).into_par_iter().with_min_len(TASK);
        let lone = lone.filter(|&j| columns.rows(j).len() == 1).count() as u64;
        let graph = Self::from_nets(
            vec![1; pattern.nrows()],
            &vec![1; columns.len()],
            &columns.ptr,
            &columns.rows,
        );
        (graph, lone)
    }

    /// Builds a hypergraph from lists of distinct pins; nets with fewer than two pins are dropped
    /// and nets with the same pins joined.
    fn from_nets(rows: Vec<u32>, cols: &[u32], ptr: &[usize], pins: &[u32]) -> Self {
        let pins_of = |e: usize| &pins[ptr[e]..ptr[e + 1]];
        let mut keyed: Vec<(u64, u32)> = (0..cols.len())
            .into_par_iter()
            .with_min_len(TASK)
            .filter(|&e| pins_of(e).len() > 1)
            .map(|e| (fingerprint(pins_of(e)), e as u32))
            .collect();
        keyed.par_sort_unstable();
        // The first net of each run of equals stands for all of them; what a fingerprint confuses
        // stays apart, at worst as one net more.
        let mut kept: Vec<(u32, u32)> = Vec::new();
        let mut last = None;
        for &(key, e) in &keyed {
            match kept.last_mut() {
                Some((first, weight))
                    if last == Some(key) && pins_of(*first as usize) == pins_of(e as usize) =>
                {
                    *weight += cols[e as usize];
                }
                _ => kept.push((e, cols[e as usize])),
            }
            last = Some(key);
        }
        kept.par_sort_unstable();
        let mut net_ptr = Vec::with_capacity(kept.len() + 1);
        net_ptr.push(0);
        for &(e, _) in &kept {
            net_ptr.push(net_ptr[net_ptr.len() - 1] + pins_of(e as usize).len());
        }
        let mut net_pins = Vec::with_capacity(net_ptr[kept.len()]);
        kept.iter().for_each(|&(e, _)| net_pins.extend_from_slice(pins_of(e as usize)));
        let cols = kept.into_iter().map(|(_, weight)| weight).collect();
        let (vertex_ptr, vertex_nets) = inverted(rows.len(), &net_ptr, &net_pins);
        Self { vertex_ptr, vertex_nets, net_ptr, net_pins, rows, cols }
    }

    /// The hypergraph in which vertices with the same `cluster` are one. O(pins), in parallel.
    pub(super) fn contracted(&self, cluster: &[u32], n_clusters: usize) -> Self {
        let mut rows = vec![0u32; n_clusters];
        cluster.iter().zip(&self.rows).for_each(|(&c, &weight)| rows[c as usize] += weight);
        let lists: Vec<(Vec<u32>, Vec<usize>)> = (0..self.n_nets())
            .into_par_iter()
            .step_by(TASK)
            .map(|start| {
                let (mut pins, mut lens) = (Vec::new(), Vec::new());
                for e in start..self.n_nets().min(start + TASK) {
                    let before = pins.len();
                    pins.extend(self.pins(e as u32).iter().map(|&v| cluster[v as usize]));
                    pins[before..].sort_unstable();
                    let mut kept = before;
                    for at in before..pins.len() {
                        if at == before || pins[at] != pins[kept - 1] {
                            pins[kept] = pins[at];
                            kept += 1;
                        }
                    }
                    pins.truncate(kept);
                    lens.push(kept - before);
                }
                (pins, lens)
            })
            .collect();
        let (mut ptr, mut end) = (Vec::with_capacity(self.n_nets() + 1), 0);
        ptr.push(0);
        for &len in lists.iter().flat_map(|(_, lens)| lens) {
            end += len;
            ptr.push(end);
        }
        let mut pins = Vec::with_capacity(end);
        lists.iter().for_each(|(list, _)| pins.extend_from_slice(list));
        Self::from_nets(rows, &self.cols, &ptr, &pins)
    }

    pub(super) fn n_vertices(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn n_nets(&self) -> usize {
        self.cols.len()
    }

    pub(super) fn n_pins(&self) -> usize {
        self.net_pins.len()
    }

    #[inline]
    pub(super) fn nets(&self, v: u32) -> &[u32] {
        &self.vertex_nets[self.vertex_range(v)]
    }

    #[inline]
    fn vertex_range(&self, v: u32) -> Range<usize> {
        self.vertex_ptr[v as usize]..self.vertex_ptr[v as usize + 1]
    }

    #[inline]
    pub(super) fn pins(&self, e: u32) -> &[u32] {
        &self.net_pins[self.net_ptr[e as usize]..self.net_ptr[e as usize + 1]]
    }
}

/// Order-dependent hash of a list.
fn fingerprint(list: &[u32]) -> u64 {
    list.iter().fold(list.len() as u64, |hash, &x| {
        (hash ^ u64::from(x)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    })
}

/// The lists that each of `n` items stands in.
fn inverted(n: usize, ptr: &[usize], items: &[u32]) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0usize; n + 1];
    items.iter().for_each(|&v| starts[v as usize + 1] += 1);
    (0..n).for_each(|v| starts[v + 1] += starts[v]);
    let mut cursors = starts.clone();
    let mut lists = vec![0u32; items.len()];
    for (e, range) in ptr.windows(2).enumerate() {
        for &v in &items[range[0]..range[1]] {
            let cursor = &mut cursors[v as usize];
            lists[*cursor] = e as u32;
            *cursor += 1;
        }
    }
    (starts, lists)
}

/// The rows of each column that has any.
struct Columns {
    ptr: Vec<usize>,
    rows: Vec<u32>,
}

impl Columns {
    fn of(pattern: CsrPattern<'_>) -> Self {
        // Far more columns than entries must not decide how much memory is taken.
        if pattern.ncols() / 4 <= pattern.nnz() {
            let (ptr, rows) = pattern.transpose();
            let ptr = ptr.iter().map(|&p| p as usize).collect();
            return Self { ptr, rows: rows.to_vec() };
        }
        let mut used = pattern.col_idx().to_vec();
        used.par_sort_unstable();
        used.dedup();
        let row_ptr: Vec<usize> = pattern.row_ptr().iter().map(|&p| p as usize).collect();
        let cols = pattern.col_idx().par_iter().with_min_len(TASK);
        // Every column of an entry is found.
        let place = |j: &u32| used.partition_point(|other| other < j) as u32;
        let mut places = vec![0; pattern.nnz()];
        cols.map(place).write_to(&mut places);
        let (ptr, rows) = inverted(used.len(), &row_ptr, &places);
        Self { ptr, rows }
    }

    fn len(&self) -> usize {
        self.ptr.len() - 1
    }

    fn rows(&self, j: usize) -> &[u32] {
        &self.rows[self.ptr[j]..self.ptr[j + 1]]
    }
}
