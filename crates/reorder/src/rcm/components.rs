//! Orders of graphs whose parts are not connected.

/// An order in which components follow one another by their smallest vertex, and how many vertices each has.
#[derive(Debug, Default)]
pub(crate) struct ByComponent {
    pub(crate) order: Vec<u32>,
    pub(crate) sizes: Vec<usize>,
}
