//! Dealing the rows of two windows anew, by moves that pass over hills.

use super::hypergraph::Hypergraph;

/// Passes over one pair of windows at most.
const PASSES: usize = 4;

/// Looks at vertices in one pass at most: the best move is found by looking at all of them, which
/// must not become quadratic for very high windows.
const LOOKS: usize = 1 << 20;

const NO_NET: u32 = u32::MAX;

/// Two windows as a hypergraph of their own: what they pack depends on no other window.
#[derive(Debug, Default)]
pub(super) struct Bisection {
    /// Local number of each net of the whole hypergraph; [`NO_NET`] except while loading.
    local: Vec<u32>,
    touched: Vec<u32>,
    cursors: Vec<u32>,
    vertices: Vec<u32>,
    rows: Vec<u32>,
    vertex_ptr: Vec<u32>,
    vertex_nets: Vec<u32>,
    net_ptr: Vec<u32>,
    net_pins: Vec<u32>,
    cols: Vec<i64>,
    /// Pins of each net in either window.
    counts: Vec<[u32; 2]>,
    side: Vec<u8>,
    /// Packed columns that a vertex's move would save.
    gain: Vec<i64>,
    /// Vertices not moved in this pass.
    free: Vec<bool>,
    moves: Vec<u32>,
    sizes: [u64; 2],
}

impl Bisection {
    pub(super) fn new(graph: &Hypergraph) -> Self {
        Self { local: vec![NO_NET; graph.n_nets()], ..Self::default() }
    }

    /// Improves a pair of windows of at most `window_rows` rows. Returns the packed columns saved
    /// and the vertices that change windows.
    ///
    /// Windows that fit into one are joined: two can't pack less. Others are refined as Fiduccia &
    /// Mattheyses do (DAC 1982): the best move is made even if it costs, each vertex once, and a
    /// pass ends in the best state it came through that keeps the limit. In between one window may
    /// be overfull by an eighth, so that moves make exchanges. O(pins + vertices²) a pass.
    pub(super) fn improve(
        &mut self,
        graph: &Hypergraph,
        windows: [&[u32]; 2],
        window_rows: u32,
    ) -> (u64, Vec<u32>) {
        self.load(graph, windows);
        if self.sizes[0] + self.sizes[1] <= u64::from(window_rows) {
            let both = self.counts.iter().zip(&self.cols);
            let shared = both.filter(|(count, _)| count[0] > 0 && count[1] > 0);
            let saved: i64 = shared.map(|(_, &cols)| cols).sum();
            let moved = if saved > 0 { windows[1].to_vec() } else { Vec::new() };
            return (saved as u64, moved);
        }
        let mut saved = 0;
        for _ in 0..PASSES {
            let gained = self.pass(window_rows);
            saved += gained;
            if gained == 0 {
                break;
            }
        }
        if saved == 0 {
            return (0, Vec::new());
        }
        let began = |v: usize| u8::from(v >= windows[0].len());
        let moved = (0..self.vertices.len()).filter(|&v| self.side[v] != began(v));
        (saved as u64, moved.map(|v| self.vertices[v]).collect())
    }

    fn load(&mut self, graph: &Hypergraph, windows: [&[u32]; 2]) {
        for list in [&mut self.vertices, &mut self.rows, &mut self.vertex_ptr, &mut self.net_ptr] {
            list.clear();
        }
        self.vertex_nets.clear();
        self.side.clear();
        self.cols.clear();
        self.touched.clear();
        self.sizes = [0, 0];
        for (side, window) in windows.into_iter().enumerate() {
            for &v in window {
                self.vertices.push(v);
                self.side.push(side as u8);
                self.rows.push(graph.rows[v as usize]);
                self.sizes[side] += u64::from(graph.rows[v as usize]);
            }
        }
        self.number_nets(graph);
        self.counts.clear();
        self.counts.resize(self.cols.len(), [0, 0]);
        self.vertex_ptr.push(0);
        for (&vertex, &side) in self.vertices.iter().zip(&self.side) {
            for &e in graph.nets(vertex) {
                let e = self.local[e as usize];
                if e != NO_NET {
                    self.vertex_nets.push(e);
                    self.counts[e as usize][usize::from(side)] += 1;
                }
            }
            self.vertex_ptr.push(self.vertex_nets.len() as u32);
        }
        self.touched.iter().for_each(|&e| self.local[e as usize] = NO_NET);
        self.net_pins.clear();
        self.net_pins.resize(self.vertex_nets.len(), 0);
        self.cursors.clone_from(&self.net_ptr);
        for v in 0..self.vertices.len() {
            for at in self.vertex_ptr[v]..self.vertex_ptr[v + 1] {
                let cursor = &mut self.cursors[self.vertex_nets[at as usize] as usize];
                self.net_pins[*cursor as usize] = v as u32;
                *cursor += 1;
            }
        }
    }

    /// Numbers the nets with two pins or more in `local`; one pin costs the same wherever it is.
    fn number_nets(&mut self, graph: &Hypergraph) {
        // Until they are numbered, `local` counts pins.
        for &v in &self.vertices {
            for &e in graph.nets(v) {
                let count = &mut self.local[e as usize];
                if *count == NO_NET {
                    *count = 0;
                    self.touched.push(e);
                }
                *count += 1;
            }
        }
        let mut start = 0;
        self.net_ptr.push(0);
        for &e in &self.touched {
            let local = &mut self.local[e as usize];
            if *local < 2 {
                *local = NO_NET;
                continue;
            }
            start += *local;
            *local = self.cols.len() as u32;
            self.net_ptr.push(start);
            self.cols.push(i64::from(graph.cols[e as usize]));
        }
    }

    fn nets(&self, v: usize) -> &[u32] {
        &self.vertex_nets[self.vertex_ptr[v] as usize..self.vertex_ptr[v + 1] as usize]
    }

    /// One pass; returns what it saved.
    fn pass(&mut self, window_rows: u32) -> i64 {
        let n = self.vertices.len();
        let window_rows = u64::from(window_rows);
        let heaviest = self.rows.iter().copied().max().unwrap_or(0).into();
        let limit = window_rows + (window_rows / 8).max(heaviest);
        self.free.clear();
        self.free.resize(n, true);
        self.gain.clear();
        for v in 0..n {
            let side = usize::from(self.side[v]);
            let gain = self.nets(v).iter().map(|&e| {
                let count = self.counts[e as usize];
                let saves = i64::from(count[side] == 1) - i64::from(count[1 - side] == 0);
                self.cols[e as usize] * saves
            });
            let gain = gain.sum();
            self.gain.push(gain);
        }
        self.moves.clear();
        let (mut sum, mut best, mut kept) = (0, 0, 0);
        let patience = 16 + n / 4;
        while self.moves.len() - kept < patience && self.moves.len() * n < LOOKS {
            let Some(v) = self.best_move(window_rows, limit) else { break };
            sum += self.gain[v];
            self.shift(v);
            self.moves.push(v as u32);
            if sum > best && self.sizes.iter().all(|&size| size <= window_rows) {
                (best, kept) = (sum, self.moves.len());
            }
        }
        for at in (kept..self.moves.len()).rev() {
            self.shift_back(self.moves[at] as usize);
        }
        best
    }

    /// The free vertex that saves most, out of an overfull window if there is one and not into one
    /// that is at its limit.
    fn best_move(&self, window_rows: u64, limit: u64) -> Option<usize> {
        let open = [0, 1].map(|side: usize| self.sizes[1 - side] <= window_rows);
        let mut best = (i64::MIN, None);
        for (v, &gain) in self.gain.iter().enumerate() {
            let side = usize::from(self.side[v]);
            if gain > best.0
                && self.free[v]
                && open[side]
                && self.sizes[1 - side] + u64::from(self.rows[v]) <= limit
            {
                best = (gain, Some(v));
            }
        }
        best.1
    }

    /// Changes the side of a vertex, and returns the side it was on.
    fn flip(&mut self, v: usize) -> usize {
        let from = usize::from(self.side[v]);
        self.side[v] = 1 - self.side[v];
        self.sizes[from] -= u64::from(self.rows[v]);
        self.sizes[1 - from] += u64::from(self.rows[v]);
        from
    }

    /// Moves a vertex to the other window and updates what others would save.
    fn shift(&mut self, v: usize) {
        let from = self.flip(v);
        let to = 1 - from;
        self.free[v] = false;
        for at in self.vertex_ptr[v]..self.vertex_ptr[v + 1] {
            let e = self.vertex_nets[at as usize] as usize;
            let pins = &self.net_pins[self.net_ptr[e] as usize..self.net_ptr[e + 1] as usize];
            let cols = self.cols[e];
            let lone = |side: usize| {
                let other =
                    |&&u: &&u32| u as usize != v && usize::from(self.side[u as usize]) == side;
                pins.iter().find(other).copied()
            };
            let count = &mut self.counts[e];
            match count[to] {
                0 => pins.iter().for_each(|&u| self.gain[u as usize] += cols),
                1 => lone(to).into_iter().for_each(|u| self.gain[u as usize] -= cols),
                _ => {}
            }
            count[from] -= 1;
            count[to] += 1;
            match count[from] {
                0 => pins.iter().for_each(|&u| self.gain[u as usize] -= cols),
                1 => lone(from).into_iter().for_each(|u| self.gain[u as usize] += cols),
                _ => {}
            }
        }
    }

    /// Takes a move back; what others would save is not kept up.
    fn shift_back(&mut self, v: usize) {
        let from = self.flip(v);
        for at in self.vertex_ptr[v]..self.vertex_ptr[v + 1] {
            let count = &mut self.counts[self.vertex_nets[at as usize] as usize];
            count[from] -= 1;
            count[1 - from] += 1;
        }
    }
}
