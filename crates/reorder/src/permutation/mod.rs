//! A bijection of 0..n, checked once.

mod dense;
mod sparse;

use girih_formats::{FormatError, MAX_DIM, PAD_ROW, RowLayout};
use serde::{Deserialize, Serialize, Serializer};

use crate::error::ReorderError;

/// A permutation of n indices, stored as **old → new**: `new(i)` is where index `i` goes.
///
/// Applied to the rows of A it gives the matrix whose row `new(i)` is row `i` of A; in matrix
/// notation P·A with `P[new(i), i] = 1`. The other direction, "which old index stands at new
/// position r", is what an ordering algorithm produces and a gather reads; it is the *order*:
/// [`Permutation::try_from_order`], [`Permutation::order`].
///
/// Validated in [`try_new`](Self::try_new) and again when it is deserialized; after that it is
/// trusted.
///
/// ```
/// use girih_reorder::Permutation;
///
/// let p = Permutation::try_new(vec![2, 0, 1])?; // 0 → 2, 1 → 0, 2 → 1
/// assert_eq!(p.apply_slice(&['a', 'b', 'c'])?, ['b', 'c', 'a']);
/// assert_eq!(p.order(), [1, 2, 0]);
/// assert!(p.compose(&p.inverse())?.is_identity());
/// # Ok::<(), girih_reorder::ReorderError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "Vec<u32>")]
pub struct Permutation {
    new_of_old: Vec<u32>,
}

impl Permutation {
    /// Takes the new index of every old one. O(n).
    ///
    /// # Errors
    /// If an index is out of range or stands twice, or there are more than [`MAX_DIM`] of them.
    pub fn try_new(new_of_old: Vec<u32>) -> Result<Self, ReorderError> {
        invert(&new_of_old)?;
        Ok(Self { new_of_old })
    }

    /// Takes the old index at every new position: the inverse of what [`try_new`](Self::try_new)
    /// takes. O(n).
    ///
    /// # Errors
    /// As [`try_new`](Self::try_new).
    pub fn try_from_order(old_of_new: &[u32]) -> Result<Self, ReorderError> {
        Ok(Self { new_of_old: invert(old_of_new)? })
    }

    /// The permutation of `n` indices that moves none.
    ///
    /// # Errors
    /// If `n` is above [`MAX_DIM`].
    pub fn identity(n: usize) -> Result<Self, ReorderError> {
        check_len(n)?;
        Ok(Self { new_of_old: (0..n as u32).collect() })
    }

    /// Number of indices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.new_of_old.len()
    }

    /// Whether there are no indices.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.new_of_old.is_empty()
    }

    /// Whether every index stays where it is. O(n).
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.new_of_old.iter().enumerate().all(|(i, &p)| i == p as usize)
    }

    /// Where index `old` goes.
    ///
    /// # Panics
    /// If `old >= len()`.
    #[inline]
    #[must_use]
    pub fn new_index(&self, old: usize) -> usize {
        self.new_of_old[old] as usize
    }

    /// The new index of every old one.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        &self.new_of_old
    }

    /// The old index at every new position. O(n).
    #[must_use]
    pub fn order(&self) -> Vec<u32> {
        let mut order = vec![0; self.len()];
        for (old, &new) in self.new_of_old.iter().enumerate() {
            order[new as usize] = old as u32;
        }
        order
    }

    /// The permutation that undoes this one. O(n).
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self { new_of_old: self.order() }
    }

    /// First this permutation, then `next`: index `i` goes to `next(self(i))`. O(n).
    ///
    /// # Errors
    /// If the two differ in length.
    pub fn compose(&self, next: &Self) -> Result<Self, ReorderError> {
        next.check_applies("indices", self.len())?;
        Ok(Self {
            new_of_old: self.new_of_old.iter().map(|&i| next.new_of_old[i as usize]).collect(),
        })
    }

    /// The layout of windows of `window_rows` rows that holds the rows in this order. O(n).
    ///
    /// The last window may have empty slots at its end; no other has.
    ///
    /// # Errors
    /// If `window_rows` is 0.
    pub fn to_row_layout(&self, window_rows: usize) -> Result<RowLayout, FormatError> {
        if self.is_identity() {
            return RowLayout::natural(self.len(), window_rows);
        }
        RowLayout::explicit(self.len(), 1, self.order())?.with_window_rows(window_rows)
    }

    /// Where each row stands among the rows of a layout, empty slots not counted. O(slots).
    #[must_use]
    pub fn of_row_layout(layout: &RowLayout) -> Self {
        let mut new_of_old: Vec<u32> = (0..layout.nrows() as u32).collect();
        let rows = layout.slots().into_iter().flat_map(|slots| slots.iter());
        for (new, &old) in rows.filter(|&&row| row != PAD_ROW).enumerate() {
            new_of_old[old as usize] = new as u32;
        }
        Self { new_of_old }
    }

    /// Takes the new index of every old one, which are a bijection by construction.
    pub(crate) fn from_valid(new_of_old: Vec<u32>) -> Self {
        debug_assert!(invert(&new_of_old).is_ok());
        Self { new_of_old }
    }

    /// Checks that this permutes as many indices as there are `what`.
    pub(crate) fn check_applies(
        &self,
        what: &'static str,
        expected: usize,
    ) -> Result<(), ReorderError> {
        let found = self.len();
        if found == expected { Ok(()) } else { Err(ReorderError::Length { what, found, expected }) }
    }
}

impl TryFrom<Vec<u32>> for Permutation {
    type Error = ReorderError;

    fn try_from(new_of_old: Vec<u32>) -> Result<Self, ReorderError> {
        Self::try_new(new_of_old)
    }
}

impl From<Permutation> for Vec<u32> {
    fn from(permutation: Permutation) -> Self {
        permutation.new_of_old
    }
}

impl Serialize for Permutation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.new_of_old.serialize(serializer)
    }
}

pub(crate) fn check_len(found: usize) -> Result<(), ReorderError> {
    if found > MAX_DIM { Err(ReorderError::TooLarge { what: "indices", found }) } else { Ok(()) }
}

/// The inverse of `map`, which shows on the way that there is one.
fn invert(map: &[u32]) -> Result<Vec<u32>, ReorderError> {
    let len = map.len();
    check_len(len)?;
    // No position is u32::MAX, because there are at most MAX_DIM of them.
    let mut inverse = vec![u32::MAX; len];
    for (position, &found) in map.iter().enumerate() {
        match inverse.get_mut(found as usize) {
            None => return Err(ReorderError::OutOfRange { position, found, len }),
            Some(slot @ &mut u32::MAX) => *slot = position as u32,
            Some(&mut first) => {
                return Err(ReorderError::Repeated { found, first: first as usize, position });
            }
        }
    }
    Ok(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_permutation_is_refused_with_its_place() {
        assert_eq!(
            Permutation::try_new(vec![0, 3, 1]),
            Err(ReorderError::OutOfRange { position: 1, found: 3, len: 3 })
        );
        assert_eq!(
            Permutation::try_new(vec![1, 0, 1]),
            Err(ReorderError::Repeated { found: 1, first: 0, position: 2 })
        );
        assert!(Permutation::identity(MAX_DIM + 1).is_err());
    }

    #[test]
    fn deserializing_checks_again() {
        let p = Permutation::try_new(vec![1, 2, 0]).unwrap();
        let text = serde_json::to_string(&p).unwrap();
        assert_eq!(text, "[1,2,0]");
        assert_eq!(serde_json::from_str::<Permutation>(&text).unwrap(), p);
        let message = serde_json::from_str::<Permutation>("[1,1,0]").unwrap_err().to_string();
        assert!(message.contains("1 stands at position 1 and at 0"), "{message}");
    }

    #[test]
    fn a_layout_holds_the_rows_in_their_new_order() {
        let p = Permutation::try_new(vec![2, 0, 1]).unwrap();
        let layout = p.to_row_layout(2).unwrap();
        assert_eq!(layout.slots().unwrap()[..], [1, 2, 0, PAD_ROW]);
        assert!(Permutation::identity(3).unwrap().to_row_layout(2).unwrap().is_natural());
        assert!(p.to_row_layout(0).is_err());
        assert!(p.to_row_layout(usize::MAX).is_err());
    }
}
