//! Parallel loops over slices, ranges and vectors, whose machinery is compiled once.
//!
//! Rayon compiles its splitting, stealing and joining for every loop. In a program with a thousand loops,
//! generic over value types, that is more code than the loops. Here a loop is cut into pieces first, and one
//! function that knows no types gives the pieces to rayon's threads. What is compiled for each loop is the
//! loop over a piece; cutting is compiled for what is cut, whatever is done with it.
//!
//! There are up to 16 pieces a thread, so that uneven ones even out. Results of pieces are joined in order. A
//! loop gives the same on any number of threads, but for sums of floating-point numbers: other pieces round
//! otherwise. Collecting holds the pieces beside the whole for a moment.
//!
//! Loops run on rayon's threads, or on those of a caller who has others ([`on_threads`]).
//!
//! ```
//! use girih_parallel::prelude::*;
//!
//! let squares: Vec<u64> = (0u64..1000).into_par_iter().map(|i| i * i).collect();
//! let mut twice = vec![0; squares.len()];
//! twice.par_iter_mut().zip(&squares).for_each(|(to, x)| *to = 2 * x);
//! assert_eq!(twice.par_iter().map(|&x| x).sum::<u64>(), 2 * squares.iter().sum::<u64>());
//! ```

mod adaptors;
mod convert;
mod drive;
mod par;
mod slices;
mod source;
mod threads;

pub use adaptors::{Enumerate, Filter, FilterMap, Map, MapInit, StepBy, Zip};
pub use convert::IntoParallel;
pub use drive::{for_each_below, for_each_chunk, join};
pub use par::{Collect, Par};
pub use slices::{Chunks, ChunksExactMut, ChunksMut, ParallelSlice, ParallelSliceMut, Windows};
pub use source::{Exact, Source};
pub use threads::{Threads, current_num_threads, on_threads};

/// The traits that give slices, ranges and vectors their parallel loops.
pub mod prelude {
    pub use crate::{IntoParallel, ParallelSlice, ParallelSliceMut};
}
