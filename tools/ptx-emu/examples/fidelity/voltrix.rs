//! YaqiXia/Voltrix-SpMM: products of a 0/1 matrix by a dense one, with `mma.sync` on tf32 and 1-D
//! bulk copies.
//!
//! A's rows are cut into windows of 16; the columns that occur in a window are renumbered, and each
//! eight of them make one 16×8 block of bits. Bit `4g + t` of a block's word `w` is the element at
//! row `g + 8 (w mod 2)`, column `t + 4 (w / 2)`.

use std::rc::Rc;

use ptx_emu::{Device, Gpu, Launch, Launched};

use crate::case::{Case, Expected, Failure, Kernel, Mode, Number};
use crate::reference::{Stream, compare, small};

const WINDOW: usize = 16;
const WIDTH: usize = 8;

/// A sparse matrix of ones in the kernels' format, a dense one, and their product.
pub(crate) struct Problem {
    pub(crate) n: usize,
    pub(crate) features: usize,
    pub(crate) n_edges: usize,
    /// Where each window's blocks begin.
    pub(crate) offsets: Vec<i32>,
    pub(crate) bits: Vec<u32>,
    /// Each block's eight columns.
    pub(crate) columns: Vec<i32>,
    pub(crate) dense: Vec<f32>,
    pub(crate) result: Vec<f32>,
}

impl Problem {
    /// An `n`×`n` matrix with `density` of ones, where each window has a number of blocks that is a
    /// multiple of `even`.
    pub(crate) fn new(n: usize, features: usize, density: f64, even: usize, seed: u64) -> Rc<Self> {
        let mut stream = Stream(seed);
        let dense = small(n * features, seed + 1);
        let (mut offsets, mut bits, mut columns) = (vec![0], Vec::new(), Vec::new());
        let (mut result, mut n_edges) = (vec![0.0; n * features], 0);
        for window in 0..n / WINDOW {
            let ones: Vec<Vec<bool>> = (0..WINDOW)
                .map(|_| (0..n).map(|_| f64::from(stream.unit()) < 2.0 * density - 1.0).collect())
                .collect();
            let mut used: Vec<usize> = (0..n).filter(|&j| ones.iter().any(|row| row[j])).collect();
            let filler = (0..n).filter(|j| !used.contains(j)).collect::<Vec<_>>();
            used.extend(filler.iter().take(used.len().next_multiple_of(WIDTH * even) - used.len()));
            for block in used.chunks(WIDTH) {
                for word in 0..4 {
                    let bit = |bit: usize| {
                        let (row, column) = (bit / 4 + 8 * (word % 2), bit % 4 + 4 * (word / 2));
                        u32::from(ones[row][block[column]]) << bit
                    };
                    bits.push((0..32).map(bit).sum());
                }
                columns.extend(block.iter().map(|&column| column as i32));
            }
            offsets.push((columns.len() / WIDTH) as i32);
            for (i, row) in ones.iter().enumerate() {
                for j in (0..n).filter(|&j| row[j]) {
                    n_edges += 1;
                    let to = &mut result[(window * WINDOW + i) * features..][..features];
                    to.iter_mut().zip(&dense[j * features..]).for_each(|(to, from)| *to += from);
                }
            }
        }
        Rc::new(Self { n, features, n_edges, offsets, bits, columns, dense, result })
    }
}

/// The kernels' forms: entry's name, floats per stage and buffers, and whether features are split
/// over the grid's second dimension.
const FORMS: [(&str, &str, usize, usize, bool); 3] = [
    ("voltrix form 0", "spmm_mma161616_spa_swizzle_dILi2ELi2ELi8", 512, 2, false),
    ("voltrix form 1", "spmm_mma161616_spa_swizzle_dILi2ELi2ELi4", 256, 2, false),
    ("voltrix form 2", "spmm_mma161616_spa_swizzle_ddILi2ELi4ELi2", 128, 4, true),
];

fn run(
    problem: &Problem,
    per_stage: usize,
    buffers: usize,
    split: bool,
    kernel: &Kernel,
    mode: Mode,
) -> Result<Launched, Failure> {
    let mut gpu = Gpu::new(Device::h100());
    let output = gpu.alloc::<f32>(problem.n * problem.features);
    let arguments = [
        gpu.alloc_from(&problem.offsets).arg(),
        gpu.alloc_from(&problem.bits).arg(),
        gpu.alloc_from(&problem.columns).arg(),
        (problem.n as u32).arg(),
        (problem.n_edges as u32).arg(),
        (problem.features as u32).arg(),
        gpu.alloc_from(&problem.dense).arg(),
        output.arg(),
    ];
    let parts = if split { problem.features.div_ceil(per_stage) } else { 1 };
    let shared = (per_stage + 8) * WIDTH * 2 * buffers * 4;
    let launch = Launch::grid((problem.n / WINDOW) as u32, parts as u32, 1)
        .block(32, 5, 1)
        .dynamic_shared(shared as u32);
    let launched = gpu.launch(&kernel.module, &kernel.entry, &mode.of(launch), &arguments)?;
    compare(&gpu.read(output), &problem.result)?;
    Ok(launched)
}

/// At the end thread 0 invalidates the mbarriers, while the other threads may still be waiting for
/// them or arriving on them.
const INVALIDATES: Expected = Expected::Report(&["mbarrier.inval", "has exited"]);

/// With an odd number of blocks, the last step reads bits of a block that is not there and that
/// nobody stored; the results do not depend on them.
const READS_NOTHING: Expected = Expected::Report(&["uninitialized"]);

/// Leaves the mbarriers valid.
fn mend(ptx: &str) -> String {
    ptx.lines()
        .filter(|line| !line.contains("mbarrier.inval"))
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// All cases of this family.
pub(crate) fn cases() -> Vec<Case> {
    let even = Problem::new(128, 192, 0.06, 2, 5);
    let odd = Problem::new(48, 64, 0.008, 1, 6);
    let mut cases = Vec::new();
    for (name, entry, per_stage, buffers, split) in FORMS {
        let mut case = |problem: &Rc<Problem>, repair, expected| {
            let problem = Rc::clone(problem);
            cases.push(Case {
                name,
                file: "voltrix",
                entry,
                size: format!(
                    "{0}x{0}x{1}, {2} ones",
                    problem.n, problem.features, problem.n_edges
                ),
                repair,
                expected,
                run: Box::new(move |kernel, mode| {
                    run(&problem, per_stage, buffers, split, kernel, mode)
                }),
            });
        };
        case(&even, None, INVALIDATES);
        case(&even, Some(mend), Expected::Right);
        case(&odd, Some(mend), READS_NOTHING);
    }
    cases
}
