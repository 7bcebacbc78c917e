//! How many columns' partial results there is room for.

/// Room for partial results that needs no justification by the size of the matrix.
const FREE_ROOM: u64 = 64 << 20;
/// Columns that there is room for are a multiple of this: a tile of any kernel and value type.
const PANEL_UNIT: u64 = 512;

/// Columns that there is room for at a time, where one takes `per_column` bytes of it: `n`, if that is
/// not too much.
pub(crate) fn panel(per_column: u64, n: u64, a_bytes: u64) -> u64 {
    let Some(most) = FREE_ROOM.max(a_bytes).checked_div(per_column) else { return 0 };
    n.next_multiple_of(PANEL_UNIT).min(most / PANEL_UNIT * PANEL_UNIT).max(PANEL_UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_n_columns_unless_that_is_too_much() {
        assert_eq!(panel(0, 100, 1 << 40), 0);
        assert_eq!(panel(4 * 1000, 100, 0), 512);
        assert_eq!(panel(4 * 1000, 1025, 0), 1536);
        assert_eq!(panel(4 << 20, 1 << 20, 4 << 30), 1024);
        // However many pieces there are.
        assert_eq!(panel(1 << 40, 1, 0), 512);
    }
}
