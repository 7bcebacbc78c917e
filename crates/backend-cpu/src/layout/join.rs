//! Joining tasks of neighbouring rows.

use std::ops::Range;

/// Joins each task with the tasks after it while it has fewer than `rows` rows and the result has no more
/// than one of `parts` parts of all entries. Each task is a range of slots; a task that was joined to one
/// before it is left empty.
pub(super) fn joined(
    row_ptr: &[u64],
    tasks: &[Range<usize>],
    rows: usize,
    parts: usize,
) -> Vec<Range<usize>> {
    let mut joined = tasks.to_vec();
    let most = row_ptr[row_ptr.len() - 1] / parts as u64;
    let mut first = 0;
    for i in 1..joined.len() {
        let (own, next) = (joined[first].clone(), joined[i].clone());
        let neighbours = !own.is_empty() && own.end == next.start;
        if neighbours && own.len() < rows && row_ptr[next.end] - row_ptr[own.start] <= most {
            joined[first].end = next.end;
            joined[i] = next.end..next.end;
        } else {
            first = i;
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lowering::csr::least_parts;

    #[test]
    fn neighbours_are_joined_up_to_a_number_of_rows_or_a_part_of_all_entries() {
        // A hundred tasks of 40 rows of two entries, the fourth of which is run in parts.
        let row_ptr: Vec<u64> = (0..=4000).map(|row| 2 * row).collect();
        let mut tasks: Vec<_> = (0..100).map(|i| 40 * i..40 * (i + 1)).collect();
        tasks[3] = 0..0;
        let own = |threads, rows| -> Vec<_> {
            let joined = joined(&row_ptr, &tasks, rows, least_parts(threads, 16));
            let own = joined.into_iter().enumerate().filter(|(_, task)| !task.is_empty());
            own.take(3).collect()
        };
        assert_eq!(own(1, 256), [(0, 0..120), (4, 160..440), (11, 440..720)]);
        assert_eq!(own(2, 256), [(0, 0..120), (4, 160..280), (7, 280..400)]);
        assert_eq!(own(64, 256), [(0, 0..40), (1, 40..80), (2, 80..120)]);
        assert_eq!(own(1, usize::MAX), [(0, 0..120), (4, 160..4000)]);
    }
}
