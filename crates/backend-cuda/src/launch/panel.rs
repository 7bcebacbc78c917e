//! How many columns' partial results the workspace holds.

/// Bytes for partial results that needs no justification by the size of the matrix.
const FREE_BYTES: u64 = 64 << 20;
/// The columns of a panel are a multiple of this: a tile of any kernel and value type.
const PANEL_UNIT: u64 = 512;

/// The columns of a panel, where each takes `per_column` bytes of the workspace: `n`, if that is not too
/// much.
pub(crate) fn panel(per_column: u64, n: u64, a_bytes: u64) -> u64 {
    let Some(most) = FREE_BYTES.max(a_bytes).checked_div(per_column) else { return 0 };
    n.next_multiple_of(PANEL_UNIT).min(most / PANEL_UNIT * PANEL_UNIT).max(PANEL_UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_has_n_columns_unless_that_is_too_much() {
        assert_eq!(panel(0, 100, 1 << 40), 0);
        assert_eq!(panel(4 * 1000, 100, 0), 512);
        assert_eq!(panel(4 * 1000, 1025, 0), 1536);
        assert_eq!(panel(4 << 20, 1 << 20, 4 << 30), 1024);
        // However many pieces there are.
        assert_eq!(panel(1 << 40, 1, 0), 512);
    }
}
