//! Fragments, descriptors, metadata and `ldmatrix`, by hand.

use crate::tensor_core::descriptor::{Descriptor, DescriptorError, SharedOperand};
use crate::tensor_core::sparse::{MetadataError, Selection};
use crate::tensor_core::wgmma::THREADS;
use crate::tensor_core::{Element, Swizzle, Tile, fragment, matrix};
use std::collections::BTreeSet;

#[test]
fn fragments_match_the_formulas_of_each_shape() {
    for lane in 0..32 {
        let (group, within) = (lane / 4, lane % 4);
        // m16n8k16, 16-bit: a0 to a7, b0 to b3.
        for i in 0..8 {
            let row = if i < 2 || (4..6).contains(&i) { group } else { group + 8 };
            let k = within * 2 + (i & 1) + if i >= 4 { 8 } else { 0 };
            assert_eq!(fragment::a_position(2, lane, i / 2, i % 2), (row, k));
        }
        for i in 0..4 {
            let k = within * 2 + (i & 1) + if i >= 2 { 8 } else { 0 };
            assert_eq!(fragment::b_position(2, lane, i / 2, i % 2), (group, k));
        }
        // m16n8k8, tf32.
        let a =
            [(group, within), (group + 8, within), (group, within + 4), (group + 8, within + 4)];
        for (i, want) in (0..).zip(a) {
            assert_eq!(fragment::a_position(4, lane, i, 0), want);
        }
        assert_eq!(fragment::b_position(4, lane, 1, 0), (group, within + 4));
        // m16n8k32, 8-bit: a0 to a15, b0 to b7.
        for i in 0..16 {
            let row = if i < 4 || (8..12).contains(&i) { group } else { group + 8 };
            let k = within * 4 + (i & 3) + if i >= 8 { 16 } else { 0 };
            assert_eq!(fragment::a_position(1, lane, i / 4, i % 4), (row, k));
        }
        for i in 0..8 {
            let k = within * 4 + (i & 3) + if i >= 4 { 16 } else { 0 };
            assert_eq!(fragment::b_position(1, lane, i / 4, i % 4), (group, k));
        }
        for i in 0..4 {
            let row = if i < 2 { group } else { group + 8 };
            assert_eq!(fragment::accumulator_position(lane, i), (row, within * 2 + (i & 1)));
        }
    }
    // wgmma: thread 37 is lane 5 of the second warp; d5 lies in the second group of 8 columns.
    assert_eq!(fragment::accumulator_position(37, 5), (17, 11));
    assert_eq!(fragment::accumulator_position(127, 127), (63, 255));
    assert_eq!(fragment::a_position(2, 127, 3, 1), (63, 15));
}

#[test]
fn every_element_has_one_place() {
    for (bytes, k) in [(1, 32), (2, 16), (4, 8)] {
        let mut seen = BTreeSet::new();
        for thread in 0..THREADS {
            for register in 0..4 {
                for part in 0..4 / bytes {
                    assert!(seen.insert(fragment::a_position(bytes, thread, register, part)));
                }
            }
        }
        assert_eq!(seen.len(), 64 * k);
        assert_eq!(seen.last(), Some(&(63, k as u32 - 1)));
    }
    let mut seen = BTreeSet::new();
    for thread in 0..THREADS {
        for i in 0..128 {
            assert!(seen.insert(fragment::accumulator_position(thread, i)));
        }
    }
    assert_eq!((seen.len(), seen.last()), (64 * 256, Some(&(63, 255))));
}

fn operand(descriptor: Descriptor, element: Element, k: u32, transposed: bool) -> SharedOperand {
    SharedOperand::new(descriptor.encode(), element, 64, k, transposed).unwrap()
}

/// The canonical layouts' five worked examples, strides in elements as the PTX ISA lists them:
/// `rows` and `columns` are (shape, stride) pairs from the innermost.
#[test]
fn descriptors_match_the_worked_examples() {
    type Modes<'a> = &'a [(u32, u32)];
    let place = |at: u32, modes: Modes| {
        modes
            .iter()
            .fold((at, 0), |(at, sum), &(shape, stride)| (at / shape, sum + at % shape * stride))
            .1
    };
    let cases: [(Element, bool, Swizzle, u32, u32, Modes, Modes); 5] = [
        (Element::Tf32, false, Swizzle::None, 64, 32, &[(8, 4), (2, 32)], &[(4, 1), (2, 64)]),
        (Element::Tf32, false, Swizzle::Bytes32, 4, 64, &[(8, 8), (2, 64)], &[(4, 1), (2, 4)]),
        (Element::Bf16, true, Swizzle::None, 128, 64, &[(8, 1), (2, 64)], &[(8, 8), (2, 128)]),
        (
            Element::Bf16,
            true,
            Swizzle::Bytes32,
            128,
            256,
            &[(8, 1), (2, 8), (2, 128)],
            &[(8, 16), (2, 256)],
        ),
        (
            Element::Bf16,
            true,
            Swizzle::Bytes64,
            256,
            512,
            &[(8, 1), (4, 8), (2, 256)],
            &[(8, 32), (2, 512)],
        ),
    ];
    for (element, transposed, swizzle, leading, stride, rows, columns) in cases {
        let bytes = element.bytes();
        let descriptor = Descriptor {
            start: 0x400,
            leading: leading * bytes,
            stride: stride * bytes,
            base_offset: 0,
            swizzle,
        };
        let k = if bytes == 4 { 8 } else { 16 };
        let operand = operand(descriptor, element, k, transposed);
        let height: u32 = rows.iter().map(|mode| mode.0).product();
        for row in 0..height {
            for k in 0..k {
                let linear = 0x400 + (place(row, rows) + place(k, columns)) * bytes;
                // Swizzle<b, 4, 3> on bytes: bits 7.. are combined into bits 4...
                let bits = [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128]
                    .iter()
                    .position(|&s| s == swizzle)
                    .unwrap();
                let mask = ((1u32 << bits) - 1) << 7;
                let want = linear ^ ((linear & mask) >> 3);
                assert_eq!(operand.address(row, k), want, "{swizzle:?} {row} {k}");
            }
        }
    }
}

#[test]
fn a_128_byte_swizzle_permutes_chunks_by_row() {
    let descriptor = Descriptor {
        start: 0,
        leading: 16,
        stride: 1024,
        base_offset: 0,
        swizzle: Swizzle::Bytes128,
    };
    let plain = operand(descriptor, Element::Bf16, 16, false);
    for row in 0..64 {
        for k in 0..16 {
            let (chunk, within) = (k / 8, k % 8 * 2);
            let want = row / 8 * 1024 + row % 8 * 128 + ((chunk ^ (row % 8)) * 16) + within;
            assert_eq!(plain.address(row, k), want);
        }
    }
    // 16 elements further along k: the start moves by 32 bytes, two chunks within each row.
    let second = operand(Descriptor { start: 32, ..descriptor }, Element::Bf16, 16, false);
    assert_eq!(second.address(3, 0), 3 * 128 + 16);
    // A pattern that begins three rows late says so.
    let late = Descriptor { start: 3 * 128, base_offset: 3, ..descriptor };
    assert_eq!(operand(late, Element::Bf16, 16, false).address(0, 0), 3 * 128);
    assert_eq!(operand(late, Element::Bf16, 16, false).address(1, 0), 4 * 128 + 16);
}

#[test]
fn ranges_are_merged_and_complete() {
    let descriptor = Descriptor {
        start: 0x800,
        leading: 0,
        stride: 1024,
        base_offset: 0,
        swizzle: Swizzle::Bytes128,
    };
    let narrow = operand(descriptor, Element::E4m3, 32, false);
    let covered: u32 = narrow.ranges().iter().map(|range| range.end - range.start).sum();
    assert_eq!(covered, 64 * 32);
    assert!(narrow.ranges().windows(2).all(|pair| pair[0].end < pair[1].start));
    assert_eq!(narrow.ranges_within(0x800 + 8192), Ok(narrow.ranges()));
    // Row 63's two chunks are the last row's seventh and eighth.
    let size = 0x27f0;
    assert_eq!(
        narrow.ranges_within(size),
        Err(DescriptorError::OutOfRange { start: 0x27e0, end: 0x2800, size })
    );
    let whole = Descriptor { leading: 128, stride: 256, swizzle: Swizzle::None, ..descriptor };
    assert_eq!(operand(whole, Element::F16, 16, false).ranges(), vec![0x800..0x800 + 2048]);
}

#[test]
fn malformed_descriptors_are_named() {
    let good = Descriptor {
        start: 16,
        leading: 16,
        stride: 256,
        base_offset: 0,
        swizzle: Swizzle::Bytes32,
    };
    assert_eq!(Descriptor::decode(good.encode()), Ok(good));
    let reserved = good.encode() | 1 << 14 | 1 << 46;
    assert_eq!(
        Descriptor::decode(reserved),
        Err(DescriptorError::ReservedBits { descriptor: reserved, bits: 1 << 14 | 1 << 46 })
    );
    let base = 1 << 49;
    assert_eq!(
        Descriptor::decode(base),
        Err(DescriptorError::BaseOffset { descriptor: base, base_offset: 1 })
    );
    assert_eq!(
        SharedOperand::new(good.encode(), Element::F16, 8, 32, false),
        Err(DescriptorError::WiderThanSwizzle { bytes: 64, span: 32 })
    );
    let base = good.encode();
    for rank in 1..16 {
        // A shared address of a CTA of that rank, put where its bits 4 to 17 belong.
        let descriptor = base & !(0x3fff << 16) | u64::from(rank << 24 >> 4);
        let operand = SharedOperand::new(descriptor, Element::F16, 8, 16, false).unwrap();
        assert_eq!(operand.check_rank(rank), Err(DescriptorError::Rank { descriptor, rank }));
        assert_eq!(operand.check_rank(0), Ok(()));
        assert_eq!(operand.check_rank(rank ^ 1), Ok(()));
        let operand = SharedOperand::new(base, Element::F16, 8, 16, false).unwrap();
        assert_eq!(operand.check_rank(rank), Ok(()));
    }
    assert_eq!(
        SharedOperand::new(good.encode(), Element::Tf32, 8, 8, true),
        Err(DescriptorError::Transposed { bytes: 4 })
    );
}

#[test]
fn loading_undoes_the_layout() {
    for swizzle in [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128] {
        for transposed in [false, true] {
            let span = swizzle.span();
            let (leading, stride) = match (transposed, swizzle) {
                (true, Swizzle::None) => (1024, 128),
                (true, _) => (16 * span, 8 * span),
                (false, _) => (2048, 8 * span),
            };
            let descriptor = Descriptor { start: 0, leading, stride, base_offset: 0, swizzle };
            let operand = operand(descriptor, Element::Bf16, 16, transposed);
            let mut memory = vec![0u8; 1 << 16];
            for row in 0..64 {
                for k in 0..16 {
                    let at = operand.address(row, k) as usize;
                    memory[at..at + 2].copy_from_slice(&((row * 16 + k) as u16).to_le_bytes());
                }
            }
            let read = |at: u32| {
                let at = at as usize;
                Ok::<_, ()>(std::array::from_fn(|byte| memory[at + byte]))
            };
            let tile = operand.load(read).unwrap();
            assert_eq!(
                tile,
                Tile::from_fn(64, 16, |row, k| row * 16 + k),
                "{swizzle:?} {transposed}"
            );
        }
    }
}

#[test]
fn metadata_of_sixteen_bit_types_come_from_a_pair_of_lanes() {
    // Row 0: chunks select (0,1) (2,3) (0,3) (1,2) and then (1,3) four times; other rows (0,1).
    let (plain, first, second) = (0x4444, 0b1001_1100_1110_0100, 0xdddd);
    let word = |lane: u32| match lane {
        2 => plain << 16 | first,
        3 => plain << 16 | second,
        _ if lane % 4 >= 2 => plain << 16 | plain,
        _ => 0,
    };
    let selection = Selection::decode(Element::F16, 16, 32, 1, false, word).unwrap();
    assert_eq!(selection.row(0), [0, 1, 6, 7, 8, 11, 13, 14, 17, 19, 21, 23, 25, 27, 29, 31]);
    assert_eq!(selection.row(8)[..4], [0, 1, 4, 5]);
    assert_eq!(
        Selection::decode(Element::F16, 16, 32, 2, false, word),
        Err(MetadataError::Selector { selector: 2, most: 1 })
    );
    // The other pair's words are zero, which selects element 0 twice.
    assert_eq!(
        Selection::decode(Element::F16, 16, 32, 0, false, word),
        Err(MetadataError::Code { row: 0, k: 0, code: 0 })
    );
    // One lane speaks for k = 16; descending places are fine unless the metadata are ordered.
    let descending = |lane: u32| if lane % 4 == 3 { 0x1111_1111 } else { 0 };
    let selection = Selection::decode(Element::Bf16, 16, 16, 3, false, descending).unwrap();
    assert_eq!(selection.row(9), [1, 0, 5, 4, 9, 8, 13, 12]);
    assert_eq!(
        Selection::decode(Element::Bf16, 16, 16, 3, true, descending),
        Err(MetadataError::Code { row: 0, k: 0, code: 1 })
    );
}

#[test]
fn metadata_of_other_types() {
    // tf32: 1110 is the second of two, 0100 the first.
    let word = |lane: u32| if lane == 0 { 0x4444_ee4e } else { 0x4444_4444 };
    let selection = Selection::decode(Element::Tf32, 16, 8, 0, false, word).unwrap();
    assert_eq!(selection.row(0), [1, 2, 5, 7]);
    assert_eq!(selection.row(8), [0, 2, 4, 6]);
    let bad = Selection::decode(Element::Tf32, 16, 8, 0, false, |_| 0x4444_4449);
    assert_eq!(bad, Err(MetadataError::Code { row: 0, k: 0, code: 9 }));
    // 8-bit: lane 0 has row 0's k 0–31, lane 1 row 8's, lane 2 row 0's k 32–63, lane 3 row 8's.
    let word = |lane: u32| [0x4444_444e, 0x4444_44e4, 0x4444_4e44, 0x4444_e444][lane as usize % 4];
    let selection = Selection::decode(Element::E4m3, 64, 64, 0, false, word).unwrap();
    assert_eq!(selection.row(0)[..4], [2, 3, 4, 5]);
    assert_eq!(selection.row(48)[16..22], [32, 33, 36, 37, 42, 43]);
    assert_eq!(selection.row(8)[..4], [0, 1, 6, 7]);
    assert_eq!(selection.row(63)[16..24], [32, 33, 36, 37, 40, 41, 46, 47]);
}

#[test]
fn matrices_load_and_store_by_quads() {
    let rows = std::array::from_fn(|row| std::array::from_fn(|column| (row * 8 + column) as u16));
    let plain = matrix::load(&rows, false);
    let turned = matrix::load(&rows, true);
    // Lane 13 is the second of row 3: columns 2 and 3.
    assert_eq!(plain[13], 26 | 27 << 16);
    assert_eq!(turned[13], 19 | 27 << 16);
    assert_eq!(matrix::store(&plain, false), rows);
    assert_eq!(matrix::store(&turned, true), rows);
    assert_eq!(matrix::address_lane(2, 5), 21);
}
