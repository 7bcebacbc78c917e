//! petgraph graphs as adjacency matrices, and back.

use petgraph::csr::Csr as GraphCsr;
use petgraph::graph::{DiGraph, Graph, IndexType, NodeIndex, UnGraph};
use petgraph::visit::{EdgeRef, IntoEdges, IntoNodeIdentifiers, NodeIndexable};
use petgraph::{Directed, EdgeType};

use crate::csr::{Csr, Duplicates, check_dims};
use crate::error::FormatError;
use crate::scalar::Scalar;

impl<T: Scalar> Csr<T> {
    /// The adjacency matrix of any petgraph graph: entry (a, b) is the weight of the edge a → b.
    ///
    /// Vertex v is row and column `graph.to_index(v)`; an index without a vertex (after a removal)
    /// is an empty row. In an undirected graph an edge gives two entries, a self-loop one, and
    /// `weight` is called once for each. Parallel edges follow `duplicates`; they are summed in
    /// order of weight, so that an undirected graph gives a matrix that is symmetric to the last
    /// bit. O(vertices + edges · log degree), serial, 8 to 16 bytes per entry of one row besides the
    /// matrix.
    ///
    /// # Errors
    /// If there are more than [`MAX_DIM`](crate::MAX_DIM) vertices, or an edge is parallel to
    /// another and `duplicates` refuses that.
    ///
    /// ```
    /// use girih_formats::{Csr, Duplicates};
    /// use petgraph::graph::UnGraph;
    /// use petgraph::visit::EdgeRef;
    ///
    /// let g = UnGraph::<(), f32>::from_edges([(0, 1, 2.0), (1, 1, 5.0), (1, 0, 3.0)]);
    /// let a = Csr::<f32>::from_graph(&g, |e| *e.weight(), Duplicates::Sum)?;
    /// assert_eq!(a.row(0), (&[1][..], &[5.0][..]));
    /// assert_eq!(a.row(1), (&[0, 1][..], &[5.0, 5.0][..]));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    pub fn from_graph<G>(
        graph: G,
        mut weight: impl FnMut(G::EdgeRef) -> T,
        duplicates: Duplicates,
    ) -> Result<Self, FormatError>
    where
        G: IntoEdges + IntoNodeIdentifiers + NodeIndexable,
    {
        let n = graph.node_bound();
        check_dims(n, n)?;
        let mut vertices = vec![None; n];
        for vertex in graph.node_identifiers() {
            vertices[graph.to_index(vertex)] = Some(vertex);
        }
        let mut row_ptr = Vec::with_capacity(n + 1);
        row_ptr.push(0u64);
        let (mut col_idx, mut values) = (Vec::new(), Vec::new());
        let mut row: Vec<(u32, T)> = Vec::new();
        for (i, vertex) in vertices.into_iter().enumerate() {
            row.clear();
            if let Some(vertex) = vertex {
                let edges = graph.edges(vertex);
                row.extend(edges.map(|e| (graph.to_index(e.target()) as u32, weight(e))));
            }
            row.sort_unstable_by(|(j, v), (k, w)| {
                let (v, w) = (v.to_c64(), w.to_c64());
                j.cmp(k).then(v.re.total_cmp(&w.re)).then(v.im.total_cmp(&w.im))
            });
            for parallel in row.chunk_by(|(j, _), (k, _)| j == k) {
                let (col, value) = parallel[0];
                let value = match parallel {
                    [_] => value,
                    _ if duplicates == Duplicates::Refuse => {
                        return Err(FormatError::Duplicate { row: i as u32, col });
                    }
                    _ => T::from_c64(parallel.iter().map(|(_, v)| v.to_c64()).sum()),
                };
                col_idx.push(col);
                values.push(value);
            }
            row_ptr.push(col_idx.len() as u64);
        }
        Self::try_new(n, n, row_ptr, col_idx, values)
    }

    /// The directed graph with an edge i → j for every entry (i, j), in row order, weighted by its
    /// value. O(nrows + nnz), serial.
    ///
    /// # Errors
    /// If the matrix is not square, or `Ix` can't number its rows and entries.
    ///
    /// ```
    /// use girih_formats::Csr;
    ///
    /// let a = Csr::try_new(3, 3, vec![0, 1, 2, 2], vec![1, 0], vec![2.0f32, 3.0])?;
    /// let g = a.to_graph::<u32>()?;
    /// assert_eq!((g.node_count(), g.edge_count()), (3, 2));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    pub fn to_graph<Ix: IndexType>(&self) -> Result<DiGraph<(), T, Ix>, FormatError> {
        self.graph(self.nnz(), |_, _| true)
    }

    /// The undirected graph of a symmetric matrix: one edge {i, j} for entries (i, j) and (j, i), a
    /// self-loop for a diagonal entry. O(nrows + nnz · log(longest row)), serial.
    ///
    /// # Errors
    /// If the matrix is not square or not symmetric (the first entry without an equal counterpart
    /// is named), or `Ix` can't number its rows and edges.
    ///
    /// ```
    /// use girih_formats::Csr;
    ///
    /// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![1, 0], vec![2.0f32, 2.0])?;
    /// assert_eq!(a.to_undirected_graph::<u32>()?.edge_count(), 1);
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    pub fn to_undirected_graph<Ix: IndexType>(&self) -> Result<UnGraph<(), T, Ix>, FormatError> {
        self.check_square()?;
        let mut diagonal = 0;
        for i in 0..self.nrows() {
            for position in self.row_range(i) {
                let j = self.col_idx()[position] as usize;
                diagonal += usize::from(i == j);
                let (cols, values) = self.row(j);
                let value = self.values()[position].to_c64();
                let mirrored = cols.binary_search(&(i as u32)).is_ok_and(|p| {
                    // total_cmp would tell the zeros apart; == would tell NaN from itself.
                    let other = values[p].to_c64();
                    other == value || (other.is_nan() && value.is_nan())
                });
                if !mirrored {
                    let reason = "has no equal counterpart across the diagonal, which an undirected graph needs";
                    return Err(FormatError::Inconsistent { what: "entry", position, reason });
                }
            }
        }
        self.graph((self.nnz() + diagonal) / 2, |i, j| i <= j)
    }

    /// The same adjacency in petgraph's own compressed form. O(nrows + nnz), serial, with a copy
    /// of the entries as triplets on the way.
    ///
    /// # Errors
    /// If the matrix is not square.
    ///
    /// ```
    /// use girih_formats::Csr;
    ///
    /// let a = Csr::try_new(3, 3, vec![0, 1, 2, 2], vec![1, 0], vec![2.0f32, 3.0])?;
    /// let g = a.to_graph_csr()?;
    /// assert_eq!((g.node_count(), g.neighbors_slice(1)), (3, &[0][..]));
    /// # Ok::<(), girih_formats::FormatError>(())
    /// ```
    pub fn to_graph_csr(&self) -> Result<GraphCsr<(), T, Directed, u32>, FormatError> {
        self.check_square()?;
        let edges: Vec<(u32, u32, T)> =
            self.entries().map(|(i, j, v)| (i as u32, j as u32, v)).collect();
        let not_sorted = |_| FormatError::Inconsistent {
            what: "col_idx",
            position: 0,
            reason: "entries are not in row order",
        };
        let mut graph = GraphCsr::from_sorted_edges(&edges).map_err(not_sorted)?;
        // Edges say nothing of isolated vertices at the end.
        while graph.node_count() < self.nrows() {
            graph.add_node(());
        }
        Ok(graph)
    }

    fn graph<D: EdgeType, Ix: IndexType>(
        &self,
        n_edges: usize,
        keep: impl Fn(usize, usize) -> bool,
    ) -> Result<Graph<(), T, D, Ix>, FormatError> {
        self.check_square()?;
        // The largest index marks the end of petgraph's lists.
        let limit = <Ix as IndexType>::max().index();
        for (what, found) in [("nrows", self.nrows()), ("number of edges", n_edges)] {
            if found > limit {
                let expected = "the graph's index type must be able to number it";
                return Err(FormatError::Parameter { what, found, expected });
            }
        }
        let mut graph = Graph::with_capacity(self.nrows(), n_edges);
        for _ in 0..self.nrows() {
            graph.add_node(());
        }
        for (i, j, v) in self.entries().filter(|&(i, j, _)| keep(i, j)) {
            graph.add_edge(NodeIndex::new(i), NodeIndex::new(j), v);
        }
        Ok(graph)
    }

    fn entries(&self) -> impl Iterator<Item = (usize, usize, T)> + '_ {
        (0..self.nrows()).flat_map(|i| {
            let (cols, values) = self.row(i);
            cols.iter().zip(values).map(move |(&j, &v)| (i, j as usize, v))
        })
    }

    fn check_square(&self) -> Result<(), FormatError> {
        if self.nrows() == self.ncols() {
            return Ok(());
        }
        let expected = "a graph needs as many columns as rows";
        Err(FormatError::Parameter { what: "ncols", found: self.ncols(), expected })
    }
}
