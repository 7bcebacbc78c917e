//! A product of a matrix of dense blocks by a dense one, by `wgmma`: our own.

use std::rc::Rc;

use half::bf16;
use ptx_emu::tensor_core::Swizzle;
use ptx_emu::tensor_map::DataType;
use ptx_emu::{Device, Gpu, Launch, Launched};

use crate::case::{Case, Expected, Failure, Kernel, Mode, Number};
use crate::maps::{parameter, tiled};
use crate::reference::{compare, product, small, to_bf16};

/// A sparse matrix of 64×64 blocks of small integers, stored as `bcsr` wants them.
pub(crate) struct Blocks {
    rows: usize,
    row_ptr: Vec<i32>,
    col_idx: Vec<i32>,
    /// Blocks one after the other, each with the 16-byte chunks of a row permuted as the 128-byte
    /// swizzle does.
    values: Vec<bf16>,
    columns: usize,
    b: Vec<f32>,
    c: Vec<f32>,
}

impl Blocks {
    pub(crate) fn new(rows: usize, per_row: usize, columns: usize) -> Rc<Self> {
        let (mut row_ptr, mut col_idx, mut values) = (vec![0], Vec::new(), Vec::new());
        let size = rows * 64;
        let mut dense = vec![0.0; size * size];
        for row in 0..rows {
            for i in 0..per_row {
                let column = (row * 7 + i * 3) % rows;
                let block = small(4096, (row * per_row + i) as u64);
                col_idx.push(column as i32);
                for (at, &value) in block.iter().enumerate() {
                    dense[(row * 64 + at / 64) * size + column * 64 + at % 64] += value;
                }
                values.extend((0..4096).map(|at| {
                    let (r, chunk, within) = (at / 64, at / 8 % 8, at % 8);
                    bf16::from_f32(block[r * 64 + (chunk ^ r % 8) * 8 + within])
                }));
            }
            row_ptr.push(col_idx.len() as i32);
        }
        let b = small(size * columns, 99);
        let c = product(size, columns, size, &dense, &b);
        Rc::new(Self { rows, row_ptr, col_idx, values, columns, b, c })
    }

    pub(crate) fn run(&self, kernel: &Kernel, mode: Mode) -> Result<Launched, Failure> {
        let mut gpu = Gpu::new(Device::h100());
        let b = gpu.alloc_from(&to_bf16(&self.b));
        let c = gpu.alloc::<f32>(self.c.len());
        let (inner, columns) = (self.rows as u64 * 64, self.columns as u64);
        let kind = (DataType::Bfloat16, Swizzle::Bytes128);
        let map =
            parameter(&tiled(kind, b.address(), &[columns, inner], &[columns * 2], &[64, 64]));
        let arguments = [
            gpu.alloc_from(&self.row_ptr).arg(),
            gpu.alloc_from(&self.col_idx).arg(),
            gpu.alloc_from(&self.values).arg(),
            map,
            c.arg(),
            (self.columns as u32).arg(),
        ];
        let shape = Launch::grid(self.rows as u32, (self.columns / 64) as u32, 1)
            .block(160, 1, 1)
            .dynamic_shared(65_536);
        let launched = gpu.launch(&kernel.module, &kernel.entry, &mode.of(shape), &arguments)?;
        compare(&gpu.read(c), &self.c)?;
        Ok(launched)
    }
}

/// All cases of this family.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let blocks = Blocks::new(16, 6, 256);
    for file in ["nvrtc13_bcsr", "nvrtc12_bcsr", "nvrtc13_bcsr_lineinfo"] {
        let blocks = Rc::clone(&blocks);
        cases.push(Case {
            name: "bcsr",
            file,
            entry: "bcsr",
            size: format!("16 block rows x 6, 256 columns, from {file}"),
            repair: None,
            expected: Expected::Right,
            run: Box::new(move |kernel, mode| blocks.run(kernel, mode)),
        });
    }
    cases
}
