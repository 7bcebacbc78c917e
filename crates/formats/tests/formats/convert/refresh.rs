//! New values on an old pattern: refreshing must be the same as building anew.

use super::support::{Model, SPECS, bits, csr_of, generator, layouts, matrix};
use girih_formats::convert::SlotMap;
use girih_formats::{Csr, FormatError, FormatSpec, RowLayout, Tiling};
use proptest::prelude::*;

const PATTERN_ONLY: FormatSpec = FormatSpec::BMat { pattern_only: true };

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_refreshed_tiling_is_the_one_built_anew((ncols, rows) in matrix(), seed: u64) {
        let csr = csr_of::<f32>(ncols, &rows);
        let other: Vec<f32> = (0..csr.nnz()).map(|i| i as f32 - 7.0).collect();
        let renewed = csr.with_values::<f32>(other.clone()).unwrap();
        for spec in SPECS {
            for layout in layouts(csr.nrows(), spec.window_rows(), seed) {
                let Ok(mut tiling) = Tiling::from_csr(&csr, spec, layout.clone()) else { continue };
                if spec == PATTERN_ONLY {
                    prop_assert_eq!(tiling.slot_map(csr.pattern()).unwrap_err(), FormatError::NoValues);
                    continue;
                }
                let map = tiling.slot_map(csr.pattern()).unwrap();
                let stored = tiling.values().unwrap().clone();
                let through_map: Vec<f32> =
                    map.slots().iter().map(|&slot| stored[slot as usize]).collect();
                prop_assert_eq!(bits(&through_map), bits(csr.values()), "{}", spec);

                let untouched = tiling.clone();
                tiling.refresh_values(&map, &other).unwrap();
                let anew = Tiling::from_csr(&renewed, spec, layout).unwrap();
                prop_assert!(tiling == anew, "{}", spec);
                prop_assert_eq!(bits(untouched.values().unwrap()), bits(&stored));

                let zeros = csr.values().contains(&0.0);
                let places = match tiling_of(&csr, spec, &anew).value_places() {
                    Err(FormatError::LostZeros { .. }) => {
                        prop_assert!(zeros, "{}", spec);
                        map.clone().into()
                    }
                    found => found.unwrap(),
                };
                let mut put = tiling_of(&csr, spec, &anew);
                put.put_values(&places, &other).unwrap();
                prop_assert!(put == anew, "{}", spec);
                let short = put.put_values(&places, &other[..other.len() - other.len().min(1)]);
                prop_assert_eq!(short.is_err(), !other.is_empty());
                prop_assert!(put == anew, "{}", spec);

                let read =
                    SlotMap::try_new(&anew, map.row_ptr().clone(), map.slots().clone()).unwrap();
                tiling.refresh_values(&read, csr.values()).unwrap();
                prop_assert_eq!(bits(tiling.values().unwrap()), bits(&stored), "{}", spec);
            }
        }
    }
}

/// The matrix in the layout of another tiling.
fn tiling_of(csr: &Csr<f32>, spec: FormatSpec, like: &Tiling<f32>) -> Tiling<f32> {
    Tiling::from_csr(csr, spec, like.layout().clone()).unwrap()
}

#[test]
fn places_of_another_tiling_are_refused() {
    let rows: Model = vec![vec![(0, 1.0), (5, 2.0)], vec![], vec![(3, 3.0)], vec![(1, 4.0)]];
    let csr = csr_of::<f32>(9, &rows);
    let turned = |spec: FormatSpec| {
        let layout = layouts(4, spec.window_rows(), 1).swap_remove(1);
        Tiling::from_csr(&csr, spec, layout).unwrap()
    };
    for spec in SPECS.into_iter().filter(|&spec| spec != PATTERN_ONLY) {
        let layout = RowLayout::natural(4, spec.window_rows()).unwrap();
        let mut tiling = Tiling::from_csr(&csr, spec, layout).unwrap();
        let (own, other) = (tiling.value_places().unwrap(), turned(spec).value_places().unwrap());
        let before = tiling.clone();
        assert_eq!(tiling.put_values(&other, &[9.0; 4]), Err(FormatError::OtherTiling), "{spec}");
        assert_eq!(tiling, before);
        assert_eq!(turned(spec).put_values(&own, &[9.0; 4]), Err(FormatError::OtherTiling));
    }
}

#[test]
fn maps_and_values_of_other_matrices_are_refused() {
    let rows: Model = vec![vec![(0, 1.0), (5, 2.0)], vec![], vec![(3, 3.0)], vec![(1, 4.0)]];
    let csr = csr_of::<f32>(9, &rows);
    let mut moved = rows.clone();
    moved[2] = vec![(2, 3.0)];
    let moved = csr_of::<f32>(9, &moved);
    for spec in SPECS.into_iter().filter(|&spec| spec != PATTERN_ONLY) {
        let layout = RowLayout::natural(4, spec.window_rows()).unwrap();
        let mut tiling = Tiling::from_csr(&csr, spec, layout.clone()).unwrap();
        let before = tiling.clone();
        assert_eq!(
            tiling.slot_map(moved.pattern()).unwrap_err(),
            FormatError::PatternMismatch { row: 2 },
            "{spec}"
        );
        let narrow = csr_of::<f32>(9, &vec![vec![(0, 1.0)]; 4][..3].to_vec());
        assert!(matches!(
            tiling.slot_map(narrow.pattern()),
            Err(FormatError::Mismatch { what: "nrows", found: 3, expected: 4 })
        ));
        let map = tiling.slot_map(csr.pattern()).unwrap();
        assert!(matches!(
            tiling.refresh_values(&map, &[1.0; 3]),
            Err(FormatError::Length { what: "values", found: 3, expected: 4 })
        ));
        let reversed = layouts(4, spec.window_rows(), 1).swap_remove(1);
        let mut elsewhere = Tiling::from_csr(&csr, spec, reversed).unwrap();
        let refused = elsewhere.refresh_values(&map, &[1.0; 4]);
        assert_eq!(refused, Err(FormatError::OtherTiling), "{spec}");
        assert_eq!(tiling, before);

        let wild = vec![u64::MAX; 4];
        assert!(matches!(
            SlotMap::try_new(&tiling, csr.row_ptr().clone(), wild),
            Err(FormatError::PatternMismatch { row: 0 })
        ));
    }
}

#[test]
fn refreshing_does_not_depend_on_the_number_of_threads() {
    let mut random = generator(5);
    let rows: Model = (0..3000)
        .map(|i| (0..300).filter(|_| random(20) == 0).map(|c| (c, f64::from(i))).collect())
        .collect();
    let csr = csr_of::<f32>(300, &rows).prune_two_four();
    let values: Vec<f32> = (0..csr.nnz()).map(|i| i as f32).collect();
    for spec in SPECS.into_iter().filter(|&spec| spec != PATTERN_ONLY) {
        let layout = layouts(3000, spec.window_rows(), 4).swap_remove(2);
        let on = |n| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
            pool.install(|| {
                let mut tiling = Tiling::from_csr(&csr, spec, layout.clone()).unwrap();
                let map = tiling.slot_map(csr.pattern()).unwrap();
                tiling.refresh_values(&map, &values).unwrap();
                (tiling, map.slots().clone())
            })
        };
        let one = on(1);
        assert!([2, 3, 7].into_iter().all(|n| on(n) == one), "{spec}");
    }
}
