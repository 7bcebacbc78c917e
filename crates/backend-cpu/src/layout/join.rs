//! Tasks of neighbouring rows, joined.

use std::ops::Range;

/// Tasks with their neighbours, as long as they have fewer than `rows` rows before the last is joined and no more
/// than one of so many `parts` of all entries; what was joined to the one before is empty then.
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
    use crate::lowering::csr::parts;

    #[test]
    fn neighbours_are_joined_up_to_so_many_rows_or_a_part_of_all_entries() {
        // A hundred tasks of 40 rows of two entries, the fourth of which is run in parts.
        let row_ptr: Vec<u64> = (0..=4000).map(|row| 2 * row).collect();
        let mut tasks: Vec<_> = (0..100).map(|i| 40 * i..40 * (i + 1)).collect();
        tasks[3] = 0..0;
        let own = |threads, rows| -> Vec<_> {
            let joined = joined(&row_ptr, &tasks, rows, parts(threads, 16));
            let own = joined.into_iter().enumerate().filter(|(_, task)| !task.is_empty());
            own.take(3).collect()
        };
        assert_eq!(own(1, 256), [(0, 0..120), (4, 160..440), (11, 440..720)]);
        assert_eq!(own(2, 256), [(0, 0..120), (4, 160..280), (7, 280..400)]);
        assert_eq!(own(64, 256), [(0, 0..40), (1, 40..80), (2, 80..120)]);
        assert_eq!(own(1, usize::MAX), [(0, 0..120), (4, 160..4000)]);
    }
}
