//! The rows of a pattern as runs of entries walk through them.

use girih_formats::CsrPattern;

use super::params::Row;

/// Entries that there is a first row for: runs begin at multiples of it.
pub(super) const GROUP: u64 = 8;

/// The rows that have entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rows {
    /// In order, and one that is read ahead of its turn, which never comes.
    pub(super) rows: Vec<Row>,
    /// Of each group of entries, the number among `rows` of the row that the first is in.
    pub(super) first_row: Vec<u32>,
}

impl Rows {
    /// Of a pattern: O(rows + nnz / `GROUP`).
    pub(super) fn of(pattern: CsrPattern<'_>) -> Self {
        let mut this = Self::default();
        this.first_row.reserve(pattern.nnz().div_ceil(GROUP as usize));
        for (row, entries) in pattern.row_ptr().windows(2).enumerate() {
            let (begin, end) = (entries[0], entries[1]);
            if begin == end {
                continue;
            }
            let number = this.rows.len() as u32;
            this.first_row.resize(end.div_ceil(GROUP) as usize, number);
            this.rows.push(Row { end, row: row as u32, unused: 0 });
        }
        if !this.rows.is_empty() {
            this.rows.push(Row { end: pattern.nnz() as u64, row: 0, unused: 0 });
        }
        this
    }
}

#[cfg(test)]
mod tests {
    use girih_formats::Csr;

    use super::*;

    /// The rows of a pattern whose rows end where `row_ptr` says.
    fn rows(row_ptr: &[u64]) -> Rows {
        let nnz = *row_ptr.last().unwrap();
        let lengths: Vec<_> = row_ptr.windows(2).map(|ends| (ends[1] - ends[0]) as usize).collect();
        let a = Csr::from_rows(
            lengths.len(),
            nnz as usize,
            |i| lengths[i],
            |_, cols, values| {
                cols.iter_mut().zip(0..).for_each(|(col, j)| *col = j);
                values.fill(1.0f32);
            },
        );
        Rows::of(a.unwrap().pattern())
    }

    #[test]
    fn groups_know_the_row_of_their_first_entry() {
        let row_ptr = [0, 0, 3, 8, 8, 8, 33, 34, 34];
        let rows = rows(&row_ptr);
        let of = |row: &Row| (row.row, row.end);
        assert_eq!(
            rows.rows.iter().map(of).collect::<Vec<_>>(),
            [(1, 3), (2, 8), (5, 33), (6, 34), (0, 34)]
        );
        // Entries 0, 8, 16, 24 and 32.
        assert_eq!(rows.first_row, [0, 2, 2, 2, 2]);
    }

    #[test]
    fn the_first_row_of_every_group_holds_its_first_entry() {
        let row_ptr: Vec<u64> = (0..60u64).map(|i| i * i / 7).collect();
        let nnz = *row_ptr.last().unwrap();
        let rows = rows(&row_ptr);
        assert_eq!(rows.first_row.len() as u64, nnz.div_ceil(GROUP));
        for (entry, &number) in (0..nnz).step_by(GROUP as usize).zip(&rows.first_row) {
            let row = rows.rows[number as usize].row as usize;
            assert!((row_ptr[row]..row_ptr[row + 1]).contains(&entry), "entry {entry}");
        }
    }

    #[test]
    fn without_entries_there_are_no_rows() {
        assert_eq!(rows(&[0, 0, 0]), Rows::default());
        assert_eq!(rows(&[0]), Rows::default());
    }
}
