//! Copies by tensor maps, between global and shared memory.

use std::fmt::Write as _;

use crate::case::{Case, DataType, Judged, Map};
use crate::kernel::entry;
use crate::matrices::{COMMON, dump, fill};
use crate::values::{Plain, Random};

/// Bytes of the tensors.
const TENSOR_LEN: usize = 64 << 10;

/// A map of an input, without interleaving, strides between elements and NaNs.
fn map(data_type: DataType, dims: &[u64], strides: &[u64], tile: &[u32], swizzle: u32) -> Map {
    Map {
        input: Some(0),
        data_type,
        dims: dims.to_vec(),
        strides: strides.to_vec(),
        tile: tile.to_vec(),
        element_strides: vec![1; dims.len()],
        interleave: 0,
        swizzle,
        nan: false,
    }
}

fn maps() -> Vec<(Map, Vec<i32>)> {
    use DataType::{Bf16, F32, U8, U16, U32};
    let mut maps = Vec::new();
    // Every rank, inside and over each edge.
    maps.push((map(F32, &[1000], &[], &[256], 0), vec![100]));
    maps.push((map(F32, &[1000], &[], &[256], 0), vec![900]));
    maps.push((map(F32, &[1000], &[], &[256], 0), vec![-100]));
    for at in [1, 2, 3, 4, 6, 8, -4, 998, 1000, -256, -300] {
        maps.push((map(F32, &[1000], &[], &[256], 0), vec![at]));
    }
    for at in [[0, 1], [0, -1], [0, 16], [-4, 0], [16, 0], [-4, -4], [32, 20], [1, 0], [0, 40]] {
        maps.push((map(F32, &[30, 20], &[128], &[16, 8], 0), at.to_vec()));
    }
    for swizzle in 0..4 {
        let width = [64, 16, 32, 64][swizzle as usize];
        for at in [[0, 0], [8, 5], [-3, -2], [90, 60], [200, 3]] {
            maps.push((map(Bf16, &[100, 70], &[208], &[width, 32], swizzle), at.to_vec()));
        }
    }
    maps.push((map(U8, &[40, 30, 20], &[48, 1440], &[16, 8, 4], 0), vec![35, 27, 18]));
    maps.push((map(U16, &[24, 10, 8, 6], &[48, 480, 3840], &[8, 4, 3, 2], 0), vec![-2, 8, 6, -1]));
    maps.push((
        map(U32, &[8, 6, 5, 4, 3], &[32, 192, 960, 3840], &[8, 3, 2, 2, 2], 1),
        vec![0, 4, -1, 3, 2],
    ));
    // Elements left out, and NaN instead of zero.
    let mut sparse = map(F32, &[64, 50], &[256], &[32, 16], 0);
    sparse.element_strides = vec![2, 3];
    maps.push((sparse, vec![40, 20]));
    let mut nan = map(F32, &[30, 20], &[128], &[16, 8], 0);
    nan.nan = true;
    maps.push((nan.clone(), vec![20, 16]));
    nan.data_type = Bf16;
    maps.push((nan, vec![-5, -3]));
    maps
}

pub(crate) fn tensor_copies() -> Vec<Case> {
    let mut cases = Vec::new();
    for (map, at) in maps() {
        let rank = map.dims.len();
        let at = at.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let size = match map.data_type {
            DataType::U8 => 1,
            DataType::U16 | DataType::Bf16 => 2,
            DataType::U32 | DataType::F32 => 4,
        };
        // The innermost dimension's stride is ignored.
        let outer = map.tile.iter().zip(&map.element_strides).skip(1);
        let elements =
            map.tile[0] * outer.map(|(&tile, &stride)| tile.div_ceil(stride)).product::<u32>();
        let len = (elements * size) as usize;
        let name = format!(
            "tensor.{rank}d {:?} dims {:?} tile {:?} every {:?} interleave {} swizzle {} nan {} at [{at}]",
            map.data_type,
            map.dims,
            map.tile,
            map.element_strides,
            map.interleave,
            map.swizzle,
            map.nan
        );
        let mut random = Random(cases.len() as u64 + 5);
        let mut body = fill("tile", 16384, 1, 128);
        write!(
            body,
            "  mov.b64 %map, map0;\n  cvta.param.u64 %map, %map;\n\
             \x20 setp.eq.u32 %first, %thread, 0;\n  mov.u32 %bar, barrier;\n  mov.u32 %to, tile;\n\
             \x20 @%first mbarrier.init.shared.b64 [%bar], 1;\n\
             \x20 fence.proxy.async;\n  bar.sync 0;\n\
             \x20 @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], {len};\n\
             \x20 @%first cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile\
             .mbarrier::complete_tx::bytes [%to], [%map, {{{at}}}], [%bar];\n\
             \x20 mov.u32 %tries, 0;\n\
             wait:\n  mbarrier.try_wait.parity.shared.b64 %more, [%bar], 0;\n\
             \x20 @%more bra done;\n  add.u32 %tries, %tries, 1;\n\
             \x20 setp.lt.u32 %more, %tries, 10000;\n  @%more bra wait;\n  trap;\ndone:\n"
        )
        .unwrap();
        body += &dump("tile", 16384, 128);
        let registers = COMMON.to_owned()
            + "  .shared .align 1024 .b8 tile[16384];\n  .shared .align 8 .b64 barrier;\n\
               \x20 .reg .pred %first;\n  .reg .b64 %map;\n  .reg .b32 %bar, %tries;\n";
        let inputs =
            vec![Plain::I8x4.image(TENSOR_LEN, &mut random), Plain::I8x4.image(16384, &mut random)];
        let case = Case {
            name: format!("load {name}"),
            ptx: entry(2, 0, 1, &registers, &body),
            blocks: 1,
            threads: 128,
            inputs,
            output_len: 16384,
            scalars: Vec::new(),
            maps: vec![map.clone()],
            judged: Judged::Exactly,
            element: 4,
        };
        // Back again: to the output, from a filled tile.
        let reductions: &[&str] = match map.data_type {
            DataType::U32 | DataType::F32 => &["", "add"],
            DataType::U8 | DataType::U16 => &[""],
            DataType::Bf16 => &["", "max"],
        };
        for reduction in reductions {
            let opcode = if reduction.is_empty() { "cp" } else { "cp.reduce" };
            let dot = if reduction.is_empty() { "" } else { "." };
            let mut body = fill("tile", 16384, 1, 128);
            write!(
                body,
                "  mov.b64 %map, map0;\n  cvta.param.u64 %map, %map;\n\
                 \x20 setp.eq.u32 %first, %thread, 0;\n  mov.u32 %to, tile;\n\
                 \x20 fence.proxy.async;\n  bar.sync 0;\n\
                 \x20 @%first {opcode}.async.bulk.tensor.{rank}d.global.shared::cta{dot}{reduction}\
                 .tile.bulk_group [%map, {{{at}}}], [%to];\n\
                 \x20 @%first cp.async.bulk.commit_group;\n\
                 \x20 @%first cp.async.bulk.wait_group 0;\n"
            )
            .unwrap();
            let mut stored = map.clone();
            stored.input = None;
            let mut tile = Plain::F32;
            if map.data_type == DataType::Bf16 {
                tile = Plain::Bf16x2;
            }
            cases.push(Case {
                name: format!("store {reduction} {name}"),
                ptx: entry(2, 0, 1, &registers, &body),
                inputs: vec![Vec::new(), tile.image(16384, &mut random)],
                output_len: TENSOR_LEN,
                maps: vec![stored],
                ..case.clone()
            });
        }
        cases.push(case);
    }
    cases
}
