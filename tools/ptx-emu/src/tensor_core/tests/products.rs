//! Whole instructions.

use super::f32s;
use crate::num::{Format, Rounding};
use crate::tensor_core::accumulate::{self, Rule, Unit};
use crate::tensor_core::mma::{Double, Mma};
use crate::tensor_core::wgmma::{Options, ShapeError, Wgmma};
use crate::tensor_core::{Accumulator, Element, Tile, fragment};
use proptest::prelude::*;

#[test]
fn shapes_that_do_not_exist_are_refused() {
    let try_new = |n, k, sparse, d, a, b| Wgmma::try_new(n, k, sparse, d, a, b).err();
    use Accumulator::{F16, F32, S32};
    assert_eq!(try_new(256, 16, false, F32, Element::Bf16, Element::Bf16), None);
    assert_eq!(try_new(24, 32, false, S32, Element::S8, Element::U8), None);
    assert_eq!(try_new(64, 64, true, F16, Element::E4m3, Element::E5m2), None);
    assert_eq!(
        try_new(40, 32, false, S32, Element::S8, Element::S8),
        Some(ShapeError::Columns { n: 40 })
    );
    assert_eq!(
        try_new(264, 16, false, F32, Element::F16, Element::F16),
        Some(ShapeError::Columns { n: 264 })
    );
    assert_eq!(
        try_new(8, 16, true, F32, Element::F16, Element::F16),
        Some(ShapeError::Depth { k: 16, needed: 32 })
    );
    assert_eq!(
        try_new(8, 16, false, F16, Element::Bf16, Element::Bf16),
        Some(ShapeError::Types { a: Element::Bf16, b: Element::Bf16, d: F16 })
    );
    assert!(Mma::try_new(4, false, F32, Element::Tf32, Element::Tf32).is_ok());
    assert!(Mma::try_new(32, true, F32, Element::F16, Element::F16).is_ok());
    assert!(Mma::try_new(4, false, F32, Element::F16, Element::F16).is_err());
    assert!(Double::try_new(8, 8).is_none());
}

#[test]
fn a_warpgroup_multiplies_small_integers_exactly() {
    let wgmma =
        Wgmma::try_new(16, 16, false, Accumulator::F32, Element::F16, Element::F16).unwrap();
    let half = |v: f64| Format::F16.encode(v, Rounding::NearestEven) as u32;
    let (a, b) =
        (|row, k| f64::from(row) - 3.0 * f64::from(k), |column, k| f64::from(column * 2 + k));
    let registers = |thread: u32, register: u32| {
        let [low, high] = [0, 1].map(|part| {
            let (row, k) = fragment::a_position(2, thread, register, part);
            half(a(row, k))
        });
        low | high << 16
    };
    let at = wgmma.a_from_registers(registers);
    let bt = Tile::from_fn(16, 16, |column, k| half(b(column, k)));
    let mut d = wgmma.gather(|_, _| f32s(0.5));
    wgmma.run(&at, None, &bt, &mut d, true, Options { negate_b: true, ..Options::default() });
    for row in 0..64 {
        for column in 0..16 {
            let want: f64 = 0.5 - (0..16).map(|k| a(row, k) * b(column, k)).sum::<f64>();
            assert_eq!(f64::from(f32::from_bits(d[(row * 16 + column) as usize])), want);
        }
    }
    let mut seen = 0;
    wgmma.scatter(&d, |thread, register, bits| {
        let (row, column) = fragment::accumulator_position(thread, register);
        assert_eq!(bits, d[(row * 16 + column) as usize]);
        seen += 1;
    });
    assert_eq!(seen, 128 * wgmma.d_registers());
}

#[test]
fn warps_multiply_small_integers_exactly() {
    let half = |v: f64| Format::F16.encode(v, Rounding::NearestEven) as u32;
    let mma = Mma::try_new(16, false, Accumulator::F16, Element::F16, Element::F16).unwrap();
    let (a, b) =
        (|row, k| f64::from(row % 5) - f64::from(k % 3), |column, k| f64::from((column + k) % 4));
    let mut seen = 0;
    mma.run(
        |lane, at| {
            let [low, high] = [0, 1].map(|part| {
                let (row, k) = fragment::a_position(2, lane, at, part);
                half(a(row, k))
            });
            low | high << 16
        },
        |lane, at| {
            let [low, high] = [0, 1].map(|part| {
                let (column, k) = fragment::b_position(2, lane, at, part);
                half(b(column, k))
            });
            low | high << 16
        },
        |_, _| half(1.0) | half(2.0) << 16,
        None,
        false,
        |lane, register, bits| {
            for part in 0..2 {
                let (row, column) = fragment::accumulator_position(lane, register * 2 + part);
                let want =
                    f64::from(part + 1) + (0..16).map(|k| a(row, k) * b(column, k)).sum::<f64>();
                assert_eq!(bits >> (16 * part) & 0xffff, half(want));
            }
            seen += 1;
        },
    );
    assert_eq!(seen, 32 * mma.d_registers());
}

#[test]
fn sparse_warps_skip_what_is_not_stored() {
    // tf32, 1:2: row r keeps the odd element of each pair where r is odd.
    let mma = Mma::try_new(16, true, Accumulator::F32, Element::Tf32, Element::Tf32).unwrap();
    let word = |lane: u32| if lane / 4 % 2 == 1 { 0xeeee_eeee } else { 0x4444_4444 };
    let selection = mma.selection(1, true, word).unwrap();
    mma.run(
        |lane, at| f32s(1.0 + fragment::a_position(4, lane, at, 0).1 as f32),
        |lane, at| {
            let (column, k) = fragment::b_position(4, lane, at, 0);
            f32s((100 * column + k) as f32)
        },
        |_, _| 0,
        Some(&selection),
        false,
        |lane, register, bits| {
            let (row, column) = fragment::accumulator_position(lane, register);
            let want: u32 = (0..8).map(|at| (at + 1) * (100 * column + 2 * at + row % 2)).sum();
            assert_eq!(f32::from_bits(bits), want as f32);
        },
    );
}

#[test]
fn doubles_run_along_k() {
    for (rows, k) in [(8, 4), (16, 4), (16, 8), (16, 16)] {
        let mma = Double::try_new(rows, k).unwrap();
        let (a, b) = (
            |row: u32, k: u32| f64::from(row * 7 + k),
            |column: u32, k: u32| f64::from(column) - f64::from(k),
        );
        let mut seen = 0;
        mma.run(
            |lane, at| {
                let (row, k) = if rows == 8 {
                    (lane / 4, lane % 4)
                } else {
                    (lane / 4 + at % 2 * 8, at / 2 * 4 + lane % 4)
                };
                a(row, k).to_bits()
            },
            |lane, at| b(lane / 4, at * 4 + lane % 4).to_bits(),
            |_, _| 0.25f64.to_bits(),
            Rounding::NearestEven,
            |lane, at, bits| {
                let (row, column) = (lane / 4 + at / 2 * 8, lane % 4 * 2 + at % 2);
                let want = 0.25 + (0..k).map(|k| a(row, k) * b(column, k)).sum::<f64>();
                assert_eq!(f64::from_bits(bits), want);
                seen += 1;
            },
        );
        assert_eq!(seen, rows * 8);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn whole_products_agree_with_single_steps(
        choice in 0..9usize, n in 1..5u32, seed in any::<u64>(), extremes in any::<bool>(),
        negate in any::<bool>(), sparse in any::<bool>(),
    ) {
        use Accumulator::{F16, F32, S32};
        let (a, b, d) = [
            (Element::F16, Element::F16, F32), (Element::F16, Element::F16, F16),
            (Element::Bf16, Element::Bf16, F32), (Element::Tf32, Element::Tf32, F32),
            (Element::E4m3, Element::E5m2, F32), (Element::E5m2, Element::E4m3, F16),
            (Element::S8, Element::U8, S32), (Element::U8, Element::S8, S32),
            (Element::E4m3, Element::E4m3, F32),
        ][choice];
        let k = 32 / a.bytes() * (1 + u32::from(sparse));
        let wgmma = Wgmma::try_new(n * 8, k, sparse, d, a, b).unwrap();
        let mut state = seed | 1;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 16) as u32
        };
        // Any bits now and then, else values whose exponents are a few binades apart.
        let mut draw = |element: Element| {
            let bits = random();
            match element.format() {
                Some(format) if !(extremes && bits & 0x3f00 == 0) => {
                    let value = (1.0 + f64::from(bits >> 16) / 65536.0) * 2f64.powi((bits & 15) as i32 - 9);
                    let sign = if bits & 16 != 0 { -1.0 } else { f64::from(u8::from(bits & 0xe0 != 0)) };
                    format.encode(value * sign, Rounding::TowardZero) as u32
                }
                _ => bits & (u32::MAX >> (32 - 8 * element.bytes())),
            }
        };
        let at = Tile::from_fn(64, wgmma.stored_k(), |_, _| draw(a));
        let bt = Tile::from_fn(n * 8, k, |_, _| draw(b));
        let accumulator = match d { F16 => Element::F16, _ => Element::Tf32 };
        let start: Vec<u32> = (0..64 * n * 8).map(|_| draw(accumulator)).collect();
        let code = |lane: u32| if lane.is_multiple_of(3) { 0xe4e4_4e4e } else { 0x4e4e_4444 };
        let selection = sparse.then(|| wgmma.selection(0, code).unwrap());
        let mut got = start.clone();
        let options = Options { negate_a: negate, ..Options::default() };
        wgmma.run(&at, selection.as_ref(), &bt, &mut got, true, options);
        let flip = match a.format() { Some(format) if negate => format.sign() as u32, _ => 0 };
        let rule = Rule::of(Unit::Warpgroup, a);
        for row in 0..64u32 {
            for column in 0..n * 8 {
                let pairs = (0..wgmma.stored_k()).map(|at_k| {
                    let to = selection.as_ref().map_or(at_k, |s| u32::from(s.row(row as usize)[at_k as usize]));
                    (at.get(row, at_k) ^ flip, bt.get(column, to))
                });
                let index = (row * n * 8 + column) as usize;
                let want = if d == S32 {
                    pairs.map(|(x, y)| i32::from(a.integer(x)) * i32::from(b.integer(y)))
                        .fold(start[index] as i32, i32::wrapping_add) as u32
                } else {
                    accumulate::step(rule, (a, b), d, &pairs, start[index])
                };
                prop_assert_eq!(got[index], want, "{:?} {} {} start {:x}", (a, b, d), row, column, start[index]);
            }
        }
    }
}
