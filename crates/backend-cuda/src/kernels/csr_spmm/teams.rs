//! Rows of CSR by teams of lanes: what a layout is made of.

use std::fmt;

use girih_formats::DType;

use super::WARP;
use crate::CtaOrder;

/// Rows of B that a lane waits for at a time.
pub(super) const SHALLOW: u32 = 4;
pub(super) const DEEP: u32 = 8;

/// The fewest vectors across a tile of a wide product: 128 bytes of a row of B.
const NARROWEST: u32 = 8;

/// The most warps of a block, by the kernel's registers: those of the vectors that a lane waits for at a time, and of the
/// entries that few lanes across a tile read themselves.
pub(super) const fn most_warps(lanes: u32, depth: u32, vectors: u32) -> u32 {
    if lanes < 8 || depth * vectors > SHALLOW { 8 } else { 16 }
}

/// Teams of lanes that take rows one after the other, times tiles of columns.
///
/// [`Display`](fmt::Display) gives `lanes/team depth warps turns panel` as in `8/8 x4, 8 warps, 4 turns,
/// panels of 1`, and `32/32 x4 x2` where lanes hold two vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CsrTeams {
    /// Lanes across a tile: 1, 2, 4, 8, 16 or 32.
    pub lanes: u32,
    /// Lanes to a row: a power of two from `lanes` to 32. More than `lanes` take entries by turns.
    pub team: u32,
    /// Rows of B that a lane waits for at a time: 4, or with 8 to 32 lanes also 8.
    pub depth: u32,
    /// Vectors of 16 bytes of a row of B that a lane holds: 1, or with 32 lanes and depth 4 also 2.
    pub vectors: u32,
    /// Warps of a block, up to 16 (of fewer than 8 lanes, depth 8 or two vectors up to 8). Their teams have neighbouring rows.
    pub warps: u32,
    /// Rows that a team takes one after the other, at least 1.
    pub turns: u32,
    /// Tiles of columns that neighbouring blocks take of the same rows, at least 1: a panel, which all rows
    /// are multiplied by before the next.
    pub panel_tiles: u32,
}

/// How products in CSR are laid over lanes and blocks, for whoever times layouts;
/// [`CudaOptions::csr_layout`](crate::CudaOptions::csr_layout) takes one in place of the backend's own
/// choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CsrLayout {
    /// From a list of items: long rows by blocks and warps, the others by lanes according to their lengths.
    Items {
        /// Tiles of columns that neighbouring blocks take of the same items, at least 1.
        panel_tiles: u32,
    },
    /// All rows alike.
    Teams(CsrTeams),
}

impl fmt::Display for CsrTeams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lanes, team, depth, vectors, warps, turns, panel_tiles } = self;
        let vectors = if *vectors == 2 { " x2" } else { "" };
        write!(
            f,
            "{lanes}/{team} x{depth}{vectors}, {warps} warps, {turns} turns, panels of {panel_tiles}"
        )
    }
}

impl fmt::Display for CsrLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Items { panel_tiles } => write!(f, "items, panels of {panel_tiles}"),
            Self::Teams(teams) => write!(f, "teams {teams}"),
        }
    }
}

impl CsrTeams {
    /// Whether there is a kernel for it.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let Self { lanes, team, depth, vectors, warps, turns, panel_tiles } = *self;
        let power = |x: u32, range: std::ops::RangeInclusive<u32>| {
            x.is_power_of_two() && range.contains(&x)
        };
        power(lanes, 1..=WARP)
            && power(team, lanes..=WARP)
            && (depth == SHALLOW || depth == DEEP && lanes >= 8)
            && (vectors == 1 || vectors == 2 && (lanes, depth) == (WARP, SHALLOW))
            && (1..=most_warps(lanes, depth, vectors)).contains(&warps)
            && turns >= 1
            && panel_tiles >= 1
    }

    /// In which order they go through rows and columns.
    pub(crate) fn order(&self, dtype: DType) -> CtaOrder {
        let tile_columns = self.lanes * self.vectors * 16 / dtype.size() as u32;
        CtaOrder { tile_columns, panel_tiles: self.panel_tiles }
    }

    /// Orders of narrower tiles, down to 128 bytes of a row of B: of teams that are warps, and wait for few rows of B at
    /// a time, so that there are warps for all of them.
    pub(crate) fn narrower(&self, dtype: DType) -> impl Iterator<Item = CtaOrder> {
        let is_warp = (self.lanes, self.team, self.depth) == (WARP, WARP, SHALLOW);
        let across = if is_warp { self.lanes * self.vectors } else { 0 };
        let vectors = std::iter::successors(Some(across / 2), |wider| Some(wider / 2));
        let vectors = vectors.take_while(|&vectors| vectors >= NARROWEST);
        vectors.map(move |vectors| CtaOrder::by_tiles(vectors * 16 / dtype.size() as u32))
    }

    /// These teams over tiles and panels of an order. What is added up in which order stays as it is, unless tiles are
    /// wider and leave a warp fewer groups of lanes.
    pub(crate) fn in_order(self, order: CtaOrder, dtype: DType) -> Self {
        let across = order.tile_columns * dtype.size() as u32 / 16;
        let lanes = across.min(WARP);
        let groups = (self.team / self.lanes).min(WARP / lanes);
        let vectors = if across > WARP { 2 } else { 1 };
        let depth = if vectors == 2 { SHALLOW } else { self.depth };
        let warps = self.warps.min(most_warps(lanes, depth, vectors));
        let panel_tiles = order.panel_tiles;
        Self { lanes, team: lanes * groups, depth, vectors, warps, panel_tiles, ..self }
    }

    /// Bytes of shared memory that a block stages entries in, for a value type.
    pub(crate) fn shared_bytes(&self, dtype: DType) -> u32 {
        // A column and a value in the accumulation type, aligned to that.
        let entry = 2 * dtype.accumulator().size() as u32;
        self.warps * WARP * entries_of_lane(self.lanes, dtype) * entry
    }

    /// Rows of a block.
    pub(crate) fn rows_of_block(&self) -> u64 {
        u64::from(self.warps * WARP / self.team) * u64::from(self.turns)
    }

    /// Groups of lanes that take a row's entries by turns. The order of additions follows from this alone.
    #[cfg(test)]
    pub(crate) fn groups(&self) -> u32 {
        self.team / self.lanes
    }
}

/// Entries that a block stages for each lane at a time: `kStaged` in `rows.cuh`.
fn entries_of_lane(lanes: u32, dtype: DType) -> u32 {
    match lanes {
        8.. => 1,
        2 if dtype == DType::F32 => 0,
        2.. if dtype == DType::F64 => 0,
        2.. => 2,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn teams_go_through_an_order_in_as_many_groups_as_a_warp_has() {
        let teams = CsrTeams {
            lanes: 32,
            team: 32,
            depth: 4,
            vectors: 2,
            warps: 8,
            turns: 2,
            panel_tiles: 1,
        };
        assert_eq!(teams.in_order(teams.order(DType::F16), DType::F16), teams);
        let widths = |teams: &CsrTeams, dtype| {
            teams.narrower(dtype).map(|order| order.tile_columns).collect::<Vec<_>>()
        };
        assert_eq!(widths(&teams, DType::F32), [128, 64, 32]);
        assert_eq!(widths(&teams, DType::F64), [64, 32, 16]);
        for order in teams.narrower(DType::F32) {
            let found = teams.in_order(order, DType::F32);
            assert!(found.is_valid() && found.groups() == 1, "{found}");
        }
        let shared = CsrTeams { lanes: 8, vectors: 1, ..teams };
        assert_eq!(widths(&shared, DType::F32), [0; 0]);
        for vectors in [8, 16, 32, 64] {
            let order = CtaOrder { tile_columns: 4 * vectors, panel_tiles: 3 };
            let found = shared.in_order(order, DType::F32);
            assert!(found.is_valid() && found.team == 32, "{found}");
            assert_eq!(found.order(DType::F32), order);
        }
    }

    #[test]
    fn only_what_kernels_are_compiled_for_is_valid() {
        let (warps, turns) = (16, 9);
        let teams =
            CsrTeams { lanes: 8, team: 8, depth: 4, vectors: 1, warps, turns, panel_tiles: 1 };
        assert!(teams.is_valid());
        let wide = CsrTeams { lanes: 32, team: 32, vectors: 2, warps: 8, ..teams };
        assert!(wide.is_valid());
        for wrong in [
            CsrTeams { lanes: 0, ..teams },
            CsrTeams { lanes: 3, ..teams },
            CsrTeams { lanes: 64, team: 64, ..teams },
            CsrTeams { team: 4, ..teams },
            CsrTeams { team: 24, ..teams },
            CsrTeams { depth: 5, ..teams },
            CsrTeams { depth: 8, ..teams },
            CsrTeams { lanes: 4, depth: 8, warps: 1, ..teams },
            CsrTeams { lanes: 4, warps: 9, ..teams },
            CsrTeams { vectors: 0, ..teams },
            CsrTeams { vectors: 2, warps: 8, ..teams },
            CsrTeams { vectors: 3, ..wide },
            CsrTeams { depth: 8, ..wide },
            CsrTeams { warps: 9, ..wide },
            CsrTeams { warps: 17, ..teams },
            CsrTeams { warps: 0, ..teams },
            CsrTeams { turns: 0, ..teams },
            CsrTeams { panel_tiles: 0, ..teams },
        ] {
            assert!(!wrong.is_valid(), "{wrong}");
        }
        assert_eq!(teams.shared_bytes(DType::F32), 16 * 32 * 8);
        let shared = |lanes, dtype| CsrTeams { lanes, ..teams }.shared_bytes(dtype);
        assert_eq!([1, 2, 4].map(|lanes| shared(lanes, DType::F32)), [0, 0, 16 * 32 * 2 * 8]);
        assert_eq!([1, 2, 4, 8].map(|lanes| shared(lanes, DType::F64)), [0, 0, 0, 16 * 32 * 16]);
        let complex = [DType::C32, DType::C64].map(|dtype| teams.shared_bytes(dtype));
        assert_eq!(complex, [16 * 32 * 16, 16 * 32 * 32]);
        assert_eq!(teams.rows_of_block(), 16 * 4 * 9);
    }
}
