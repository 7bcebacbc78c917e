//! Boxes by hand and against an element-by-element definition; every argument check.

use super::{
    BoxError, DataType, Fill, Interleave, NotATensorMap, Run, TensorMap, TensorMapError, Tiled,
};
use crate::tensor_core::Swizzle;
use proptest::prelude::*;

fn plain<'a>(dims: &'a [u64], strides: &'a [u64], box_dims: &'a [u32]) -> Tiled<'a> {
    Tiled::new(DataType::Float32, 0x1000, dims, strides, box_dims)
}

#[test]
fn a_box_in_the_corner_is_filled_outside() {
    // 6 × 5 floats in rows of 32 bytes; a 4 × 3 box from (4, -1).
    let map = TensorMap::tiled(&plain(&[6, 5], &[32], &[4, 3])).unwrap();
    assert_eq!(map.box_bytes(), 48);
    let run = |shared, global, bytes| Run { shared, global, bytes };
    assert_eq!(
        map.runs(&[4, -1], 0x400).unwrap(),
        [
            run(0x400, None, 16),
            run(0x410, Some(0x1010), 8),
            run(0x418, None, 8),
            run(0x420, Some(0x1030), 8),
            run(0x428, None, 8),
        ]
    );
    let wide = TensorMap::tiled(&plain(&[6, 5], &[32], &[8, 3])).unwrap();
    assert_eq!(
        wide.runs(&[-4, 4], 0).unwrap(),
        [run(0, None, 16), run(16, Some(0x1080), 16), run(32, None, 32), run(64, None, 32)]
    );
    assert_eq!(map.runs(&[i32::MIN, i32::MAX], 0).unwrap().len(), 3);
}

/// The 128-byte pattern's chunks in each row, as the PTX ISA tabulates them.
const PATTERN_128: [[u32; 8]; 8] = [
    [0, 1, 2, 3, 4, 5, 6, 7],
    [1, 0, 3, 2, 5, 4, 7, 6],
    [2, 3, 0, 1, 6, 7, 4, 5],
    [3, 2, 1, 0, 7, 6, 5, 4],
    [4, 5, 6, 7, 0, 1, 2, 3],
    [5, 4, 7, 6, 1, 0, 3, 2],
    [6, 7, 4, 5, 2, 3, 0, 1],
    [7, 6, 5, 4, 3, 2, 1, 0],
];

#[test]
fn swizzles_follow_the_tables() {
    // The narrower patterns are the first rows of the widest, repeated.
    for (swizzle, span, rows) in
        [(Swizzle::Bytes32, 32, 2), (Swizzle::Bytes64, 64, 4), (Swizzle::Bytes128, 128, 8)]
    {
        let map = TensorMap::tiled(&Tiled {
            swizzle,
            ..Tiled::new(DataType::Uint8, 0, &[span, 64], &[span], &[span as u32, 64])
        })
        .unwrap();
        let runs = map.runs(&[0, 0], 0x800).unwrap();
        assert_eq!(runs.len() * 16, span as usize * 64);
        for (chunk, run) in (0u32..).zip(runs) {
            let (row, at) = (chunk / 8, chunk as usize % 8);
            let want = PATTERN_128[row as usize % rows].iter().position(|&c| c as usize == at);
            assert_eq!(run.shared, 0x800 + row * 128 + want.unwrap() as u32 * 16);
            assert_eq!((run.global, run.bytes), (Some(u64::from(chunk) * 16), 16));
        }
    }
    // Half way into the pattern, it goes on from there.
    let map = TensorMap::tiled(&Tiled {
        swizzle: Swizzle::Bytes128,
        ..Tiled::new(DataType::Uint8, 0, &[128, 8], &[128], &[128, 8])
    })
    .unwrap();
    assert_eq!(map.runs(&[0, 0], 0x200).unwrap()[0].shared, 0x200 + 4 * 16);
}

#[test]
fn element_strides_skip() {
    let map = TensorMap::tiled(&Tiled {
        element_strides: &[7, 2, 3],
        ..plain(&[4, 10, 10], &[16, 160], &[4, 5, 4])
    })
    .unwrap();
    // 4 by ceil(5 / 2) by ceil(4 / 3) elements; the innermost stride does not count.
    assert_eq!(map.box_bytes(), 4 * 3 * 2 * 4);
    let globals: Vec<_> = map.runs(&[0, 1, 5], 0).unwrap().iter().map(|run| run.global).collect();
    let at = |y: u64, z: u64| Some(0x1000 + y * 16 + z * 160);
    assert_eq!(globals, [at(1, 5), at(3, 5), at(5, 5), at(1, 8), at(3, 8), at(5, 8)]);
}

#[test]
fn interleaved_tensors_count_slices() {
    // Rows of 20 slices of 16 bytes; every other of eight from 17 on, two of them outside.
    let map = TensorMap::tiled(&Tiled {
        interleave: Interleave::Bytes16,
        element_strides: &[2, 1, 1],
        ..Tiled::new(DataType::Float16, 0x1000, &[20, 3, 2], &[320, 960], &[8, 2, 1])
    })
    .unwrap();
    assert_eq!(map.box_bytes(), 8 * 16);
    let runs = map.runs(&[17, 1, 1], 0).unwrap();
    let at = |slice: u64, y: u64| Some(0x1000 + 960 + y * 320 + slice * 16);
    let globals: Vec<_> = runs.iter().map(|run| run.global).collect();
    assert_eq!(globals, [at(17, 1), at(19, 1), None, None, at(17, 2), at(19, 2), None, None]);
    let wide = TensorMap::tiled(&Tiled {
        interleave: Interleave::Bytes32,
        swizzle: Swizzle::Bytes32,
        ..Tiled::new(DataType::Float16, 0x1000, &[20, 3, 2], &[640, 1920], &[16, 2, 1])
    })
    .unwrap();
    let runs = wide.runs(&[-1, 0, 0], 0).unwrap();
    let start: Vec<_> = runs[..6].iter().map(|run| (run.shared, run.global)).collect();
    let at = |byte: u64| Some(0x1000 + byte);
    assert_eq!(
        start,
        [(0, None), (16, None), (32, at(0)), (48, at(16)), (64, at(32)), (80, at(48))]
    );
    // Past 128 bytes the halves of slices change places.
    assert_eq!((runs[8].shared, runs[8].global), (144, at(96)));
}

#[test]
fn arguments_are_checked_one_by_one() {
    let error = |arguments: Tiled| TensorMap::tiled(&arguments).unwrap_err();
    let good = plain(&[64, 8, 8], &[256, 2048], &[16, 4, 2]);
    assert!(TensorMap::tiled(&good).is_ok());
    assert_eq!(error(plain(&[], &[], &[])), TensorMapError::Rank { rank: 0, least: 1 });
    assert_eq!(
        error(plain(&[4; 6], &[16; 5], &[4; 6])),
        TensorMapError::Rank { rank: 6, least: 1 }
    );
    let interleave = Interleave::Bytes16;
    assert_eq!(
        error(Tiled { interleave, ..plain(&[4, 4], &[16], &[4, 4]) }),
        TensorMapError::Rank { rank: 2, least: 3 }
    );
    assert_eq!(
        error(Tiled { strides: &[256], ..good }),
        TensorMapError::Length { name: "strides", length: 1, needed: 2 }
    );
    assert_eq!(
        error(Tiled { address: 8, ..good }),
        TensorMapError::Address { address: 8, alignment: 16 }
    );
    let wide = Tiled { interleave: Interleave::Bytes32, swizzle: Swizzle::Bytes32, ..good };
    assert!(TensorMap::tiled(&wide).is_ok());
    assert_eq!(
        error(Tiled { address: 16, ..wide }),
        TensorMapError::Address { address: 16, alignment: 32 }
    );
    assert_eq!(error(Tiled { swizzle: Swizzle::None, ..wide }), TensorMapError::InterleavedSwizzle);
    assert_eq!(
        error(Tiled { strides: &[256, 2064], ..wide }),
        TensorMapError::Stride { dimension: 2, stride: 2064, multiple: 32 }
    );
    assert_eq!(
        error(Tiled { dims: &[64, 0, 8], ..good }),
        TensorMapError::Dimension { dimension: 1, size: 0 }
    );
    assert!(TensorMap::tiled(&Tiled { dims: &[1 << 32, 8, 8], ..good }).is_ok());
    assert_eq!(
        error(Tiled { dims: &[(1 << 32) + 1, 8, 8], ..good }),
        TensorMapError::Dimension { dimension: 0, size: (1 << 32) + 1 }
    );
    assert_eq!(
        error(Tiled { strides: &[256, 1 << 40], ..good }),
        TensorMapError::Stride { dimension: 2, stride: 1 << 40, multiple: 16 }
    );
    assert_eq!(
        error(Tiled { strides: &[264, 2048], ..good }),
        TensorMapError::Stride { dimension: 1, stride: 264, multiple: 16 }
    );
    assert_eq!(
        error(Tiled { box_dims: &[16, 257, 2], ..good }),
        TensorMapError::Box { dimension: 1, size: 257 }
    );
    assert_eq!(
        error(Tiled { element_strides: &[1, 1, 9], ..good }),
        TensorMapError::ElementStride { dimension: 2, stride: 9 }
    );
    assert_eq!(error(Tiled { box_dims: &[3, 4, 2], ..good }), TensorMapError::Row { bytes: 12 });
    assert_eq!(
        error(Tiled { swizzle: Swizzle::Bytes32, ..good }),
        TensorMapError::Swizzle { bytes: 64, span: 32 }
    );
    assert_eq!(
        error(Tiled { fill: Fill::Nan, data_type: DataType::Uint32, ..good }),
        TensorMapError::Fill { data_type: DataType::Uint32 }
    );
}

#[test]
fn boxes_that_cannot_be_moved_are_named() {
    let map = TensorMap::tiled(&plain(&[64, 8], &[256], &[16, 4])).unwrap();
    assert_eq!(map.runs(&[0], 0), Err(BoxError::Coordinates { coordinates: 1, rank: 2 }));
    assert_eq!(map.runs(&[0, 0], 0x40), Err(BoxError::Misaligned { address: 0x40 }));
    let huge = TensorMap::tiled(&plain(&[256; 5], &[1024, 16, 16, 16], &[256; 5])).unwrap();
    assert_eq!(huge.runs(&[0; 5], 0), Err(BoxError::TooLarge { bytes: 1 << 42 }));
    assert_eq!(map.runs(&[-3, 0], 0), Err(BoxError::Coordinate { coordinate: -3, bytes: -12 }));
}

#[test]
fn foreign_bytes_are_recognized() {
    let map = TensorMap::tiled(&plain(&[64, 8], &[256], &[16, 4])).unwrap();
    let bytes = map.to_bytes();
    for at in 0..128 {
        let mut other = bytes;
        other[at] ^= 4;
        assert_eq!(TensorMap::from_bytes(&other), Err(NotATensorMap), "byte {at}");
    }
    // CUTLASS clears bit 21 of the second word of every map.
    let mut cleared = bytes;
    cleared[10] &= !(1 << 5);
    assert_eq!(TensorMap::from_bytes(&cleared), Ok(map));
    cleared[10] |= 1 << 5;
    assert_eq!(TensorMap::from_bytes(&cleared), Ok(map));
    assert_eq!(TensorMap::from_bytes(&[0; 128]), Err(NotATensorMap));
}

#[test]
fn loads_round_as_the_type_says() {
    let load = |data_type: DataType, bits: u32| {
        let mut bytes = bits.to_le_bytes();
        data_type.convert_loaded(&mut bytes);
        u32::from_le_bytes(bytes)
    };
    assert_eq!(load(DataType::Float32, 1), 1);
    assert_eq!(load(DataType::Float32Ftz, 0x8000_0001), 0x8000_0001);
    assert_eq!(load(DataType::Tfloat32, 0xffc0_0000), 0x7fff_e000);
    assert_eq!(load(DataType::Tfloat32, 0x3f80_1001), 0x3f80_2000);
    assert_eq!(load(DataType::Tfloat32, 0x3f80_1000), 0x3f80_0000);
    assert_eq!(load(DataType::Tfloat32Ftz, 0x0000_1001), 0x0000_2000);
    let fill = |data_type, fill| {
        let arguments = Tiled::new(data_type, 0, &[64], &[], &[64]);
        TensorMap::tiled(&Tiled { fill, ..arguments }).unwrap().fill_bits()
    };
    assert_eq!(fill(DataType::Bfloat16, Fill::Nan), 0x7ff7);
    assert_eq!(fill(DataType::Float32, Fill::Nan), 0x7ff7_7ff7);
    assert_eq!(fill(DataType::Bfloat16, Fill::Zero), 0);
}

/// Rank, type, swizzle, dimensions, boxes, element strides, coordinates.
type Arguments = (usize, DataType, Swizzle, [u64; 5], [u32; 5], [u32; 5], [i32; 5]);

fn arguments() -> impl Strategy<Value = Arguments> {
    (
        1..=5usize,
        proptest::sample::select(DataType::ALL.to_vec()),
        proptest::sample::select(vec![
            Swizzle::None,
            Swizzle::Bytes32,
            Swizzle::Bytes64,
            Swizzle::Bytes128,
        ]),
        (proptest::array::uniform5(1..12u64), 1..60u64).prop_map(|(mut dims, row)| {
            dims[0] = row;
            dims
        }),
        proptest::array::uniform5(1..6u32),
        proptest::array::uniform5(1..4u32),
        proptest::array::uniform5(-6..12i32),
    )
}

proptest! {
    #[test]
    fn runs_agree_with_element_by_element((rank, data_type, swizzle, dims, boxes, steps, at) in arguments()) {
        let size = data_type.bytes();
        let mut box_dims = boxes;
        box_dims[0] = (boxes[0] * 16).min(if swizzle == Swizzle::None { 80 } else { swizzle.span() }) / size;
        let mut strides = [0u64; 4];
        let mut stride = (dims[0] * u64::from(size)).next_multiple_of(16) + 16;
        for (s, d) in strides.iter_mut().zip(&dims[1..]) {
            *s = stride;
            stride *= d + 1;
        }
        let map = TensorMap::tiled(&Tiled {
            swizzle,
            element_strides: &steps[..rank],
            ..Tiled::new(data_type, 0x100, &dims[..rank], &strides[..rank - 1], &box_dims[..rank])
        }).unwrap();
        prop_assert_eq!(TensorMap::from_bytes(&map.to_bytes()), Ok(map));
        let mut at = at;
        at[0] *= (16 / size) as i32;
        let shared = 0x280;
        let runs = map.runs(&at[..rank], shared).unwrap();
        prop_assert_eq!(runs.iter().map(|run| u64::from(run.bytes)).sum::<u64>(), map.box_bytes());
        // Where each byte of the box comes from, by its place before swizzling.
        let mut steps = steps;
        steps[0] = 1;
        let counts: Vec<u32> = (0..rank).map(|d| box_dims[d].div_ceil(steps[d])).collect();
        let total: u32 = counts.iter().product();
        let mut want = std::collections::BTreeMap::new();
        for element in 0..total {
            let mut rest = element;
            let mut global = Some(0x100u64);
            for d in 0..rank {
                let index = i64::from(at[d]) + i64::from(rest % counts[d] * steps[d]);
                rest /= counts[d];
                let stride = if d == 0 { u64::from(size) } else { strides[d - 1] };
                global = global.filter(|_| index >= 0 && (index as u64) < dims[d])
                    .map(|global| global + index as u64 * stride);
            }
            for byte in 0..size {
                let pitch = if swizzle == Swizzle::None { counts[0] * size } else { swizzle.span() };
                let (row, within) = (element / counts[0], element % counts[0]);
                let linear = shared + row * pitch + within * size + byte;
                let row = linear / 128 % (swizzle.span() / 16);
                let place = linear ^ (row * 16);
                want.insert(place, global.map(|global| global + u64::from(byte)));
            }
        }
        for run in runs {
            for byte in 0..run.bytes {
                let source = run.global.map(|global| global + u64::from(byte));
                prop_assert_eq!(want.remove(&(run.shared + byte)), Some(source));
            }
        }
        prop_assert!(want.is_empty());
    }
}

#[test]
fn short_rows_begin_where_the_swizzles_do() {
    let map = TensorMap::tiled(&Tiled {
        swizzle: Swizzle::Bytes64,
        ..Tiled::new(DataType::Bfloat16, 0, &[64, 8], &[128], &[16, 3])
    })
    .unwrap();
    assert_eq!(map.box_bytes(), 96);
    let shared: Vec<_> = map.runs(&[0, 0], 0).unwrap().iter().map(|run| run.shared).collect();
    // Rows at 0, 64 and 128; the third lies in the pattern's second row.
    assert_eq!(shared, [0, 16, 64, 80, 128 + 16, 128]);
}
