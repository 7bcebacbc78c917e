//! Graphs of groups.

use girih_formats::{Csr, FormatError, Scalar};

use super::SplitMix64;
use super::rows::check_dims;

/// A graph whose vertices belong to groups, and mostly know vertices of their own; and the group of each vertex.
///
/// Each vertex draws `edges` others: of its own group, or with a chance of `strays` of any. An edge goes both ways and
/// has value 1, so the matrix is symmetric. Groups are drawn evenly; one that came out with a single vertex draws of
/// all. Stands for citations and communities, whose labels are to be found. O(vertices · edges).
///
/// # Errors
/// If there are more than [`MAX_DIM`](girih_formats::MAX_DIM) vertices.
///
/// # Panics
/// If there is no group.
///
/// ```
/// let (graph, group) = girih_generate::planted_partition::<f32>(200, 4, 5, 0.1, 1)?;
/// assert!(graph.is_symmetric() && group.iter().all(|&g| g < 4));
/// let own = graph.iter().filter(|&(i, j, _)| group[i] == group[j]).count();
/// assert!(own * 10 > graph.nnz() * 8);
/// # Ok::<(), girih_formats::FormatError>(())
/// ```
pub fn planted_partition<T: Scalar>(
    vertices: usize,
    groups: usize,
    edges: usize,
    strays: f64,
    seed: u64,
) -> Result<(Csr<T>, Vec<usize>), FormatError> {
    check_dims(vertices, vertices)?;
    let mut rng = SplitMix64::new(seed, 0);
    let group: Vec<usize> = (0..vertices).map(|_| rng.below(groups as u64) as usize).collect();
    let mut members = vec![Vec::new(); groups];
    group.iter().enumerate().for_each(|(vertex, &g)| members[g].push(vertex));
    let mut pairs = Vec::new();
    for vertex in 0..vertices * usize::from(vertices > 1) {
        let own = &members[group[vertex]];
        for _ in 0..edges {
            let strays = own.len() < 2 || rng.unit() < strays;
            let other = loop {
                let among = if strays { vertices } else { own.len() };
                let drawn = rng.below(among as u64) as usize;
                let other = if strays { drawn } else { own[drawn] };
                if other != vertex {
                    break other;
                }
            };
            pairs.extend([(vertex, other, T::ONE), (other, vertex, T::ONE)]);
        }
    }
    let mut graph = Csr::from_triplets(vertices, vertices, pairs)?;
    // What was drawn twice was added up.
    graph.values_mut().fill(T::ONE);
    Ok((graph, group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_lopsided_graphs_are_drawn_too() {
        for (vertices, groups) in [(0, 1), (1, 1), (2, 2), (3, 50)] {
            let (graph, group) = planted_partition::<f64>(vertices, groups, 3, 0.0, 7).unwrap();
            assert_eq!((graph.nrows(), group.len()), (vertices, vertices));
            assert_eq!(graph.nnz() > 0, vertices > 1);
            assert!(graph.iter().all(|(i, j, value)| i != j && value == 1.0));
        }
    }
}
