//! pranjalssh/fast.cu: ten bf16 products, each with one more of Hopper's features.
//!
//! C is column-major; A is m×k and B n×k, both row-major.

use std::rc::Rc;

use half::bf16;
use ptx_emu::tensor_core::Swizzle;
use ptx_emu::tensor_map::{DataType, TensorMap};
use ptx_emu::{Device, Gpu, Launch, Launched};

use crate::case::{Case, Expected, Failure, Kernel, Mode, Number, Repair};
use crate::maps::{parameter, tiled};
use crate::reference::{compare, product, small, to_bf16, transposed};

/// A product's operands and result.
struct Product {
    m: usize,
    n: usize,
    k: usize,
    a: Vec<bf16>,
    b: Vec<bf16>,
    /// Column-major.
    c: Vec<bf16>,
}

impl Product {
    fn new(m: usize, n: usize, k: usize) -> Rc<Self> {
        let (a, b) = (small(m * k, 1), small(n * k, 2));
        let c = transposed(m, n, &product(m, n, k, &a, &transposed(n, k, &b)));
        Rc::new(Self { m, n, k, a: to_bf16(&a), b: to_bf16(&b), c: to_bf16(&c) })
    }
}

/// How a kernel of the series describes a matrix to the tensor memory accelerator.
#[derive(Clone, Copy)]
enum Maps {
    /// Two-dimensional, in global memory behind a pointer.
    Behind,
    /// Two-dimensional, a parameter.
    Flat,
    /// Columns split into groups of 64, as three dimensions, or as five of which two are 1.
    Split(usize),
}

/// How a kernel of the series writes C.
#[derive(Clone, Copy, PartialEq)]
enum Writes {
    /// By ordinary stores.
    Stores,
    /// By a tensor map with a box of (columns, rows, groups).
    Map([u32; 3]),
}

#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    file: &'static str,
    /// A part of the entry's name.
    entry: &'static str,
    maps: Maps,
    box_n: u32,
    writes: Writes,
    threads: u32,
    shared: u32,
    /// The persistent kernels' number of CTAs.
    persistent: Option<u32>,
    /// Whether blocks are assigned by a table.
    table: bool,
    /// What is wrong with it, and what mends that.
    fault: Fault,
}

fn map(maps: Maps, base: u64, rows: usize, columns: usize, box_rows: u32) -> TensorMap {
    let (rows, columns) = (rows as u64, columns as u64);
    let (row, kind) = (columns * 2, (DataType::Bfloat16, Swizzle::Bytes128));
    match maps {
        Maps::Behind | Maps::Flat => tiled(kind, base, &[columns, rows], &[row], &[64, box_rows]),
        Maps::Split(rank) => tiled(
            kind,
            base,
            &[64, rows, columns / 64, 1, 1][..rank],
            &[row, 128, 0, 0][..rank - 1],
            &[64, box_rows, 1, 1, 1][..rank],
        ),
    }
}

/// What the table says of a kernel's fault.
type Fault = Option<(&'static [&'static str], Repair)>;

/// Kernels 8 to 12: consumers arrive on the other CTA's mbarriers, and nothing keeps that CTA from
/// having exited.
const LEAVES_EARLY: Fault = Some((&["has exited"], |ptx| ptx.replace("\tret;", MEET)));

/// Kernels 10 to 12 besides: the tensor store reads what ordinary stores wrote, without a proxy
/// fence; one thread waits for the previous store, and the others overwrite what it reads; and the
/// last store is not waited for.
const STORES_UNFENCED: Fault = Some((EITHER, |ptx| mend_stores(ptx, "bar.sync 9, 256;")));

/// Kernel 12, where each warpgroup of consumers stores by itself.
const STORES_UNFENCED_EACH: Fault = Some((EITHER, |ptx| {
    let own = "{ .reg .u32 own; mov.u32 own, %tid.x; shr.u32 own, own, 7; add.u32 own, own, 8; bar.sync own, 128; }";
    mend_stores(ptx, own)
}));

const EITHER: &[&str] = &["without fence.proxy.async", "has exited"];

const MEET: &str = "barrier.cluster.arrive; barrier.cluster.wait; ret;";

fn mend_stores(ptx: &str, together: &str) -> String {
    let wait = "cp.async.bulk.wait_group 0;";
    let ptx = ptx.replace("bar.sync ", "fence.proxy.async.shared::cta; bar.sync ");
    let ptx = ptx.replace(wait, &format!("{wait} {together}"));
    ptx.replace("\tret;", &format!("{wait} {MEET}"))
}

impl Shape {
    /// Kernel 4 of the series; the others say how they differ.
    const FIRST: Self = Self {
        name: "fast.cu 4",
        file: "fast_4",
        entry: "matmulKernel",
        maps: Maps::Behind,
        box_n: 128,
        writes: Writes::Stores,
        threads: 256,
        shared: 163_840,
        persistent: None,
        table: false,
        fault: None,
    };

    fn all() -> Vec<Self> {
        let fifth = Self {
            name: "fast.cu 5",
            file: "fast_5",
            box_n: 256,
            threads: 384,
            shared: 147_456,
            ..Self::FIRST
        };
        let sixth = Self {
            name: "fast.cu 6",
            file: "fast_6",
            maps: Maps::Flat,
            persistent: Some(128),
            ..fifth
        };
        let seventh = Self { name: "fast.cu 7", file: "fast_7", maps: Maps::Split(5), ..sixth };
        let eighth = Self {
            name: "fast.cu 8",
            file: "fast_8",
            maps: Maps::Split(3),
            fault: LEAVES_EARLY,
            ..sixth
        };
        let ninth = Self { name: "fast.cu 9", file: "fast_9", ..eighth };
        let writes = Writes::Map([64, 256, 2]);
        let tenth = Self {
            name: "fast.cu 10",
            file: "fast_10",
            writes,
            shared: 213_120,
            fault: STORES_UNFENCED,
            ..eighth
        };
        let eleventh = Self {
            name: "fast.cu 11",
            file: "fast_11",
            shared: 213_632,
            persistent: Some(4),
            table: true,
            ..tenth
        };
        let writes = Writes::Map([72, 256, 1]);
        let twelfth = Self {
            name: "fast.cu 12",
            file: "fast_12",
            writes,
            shared: 221_824,
            fault: STORES_UNFENCED_EACH,
            ..eleventh
        };
        // The same templates for 16 multiprocessors instead of 128: several tiles for each CTA.
        let few = |shape, name, file| Self {
            name,
            file,
            entry: "ELi384ELi3ELi16E",
            persistent: Some(16),
            ..shape
        };
        vec![
            Self::FIRST,
            fifth,
            sixth,
            seventh,
            eighth,
            ninth,
            tenth,
            eleventh,
            twelfth,
            few(sixth, "fast.cu 6, 16 SMs", "fast_6_few"),
            few(seventh, "fast.cu 7, 16 SMs", "fast_7_few"),
            few(eighth, "fast.cu 8, 16 SMs", "fast_8_few"),
            few(ninth, "fast.cu 9, 16 SMs", "fast_9_few"),
            few(tenth, "fast.cu 10, 16 SMs", "fast_10_few"),
        ]
    }

    fn run(&self, kernel: &Kernel, mode: Mode, of: &Product) -> Result<Launched, Failure> {
        let mut gpu = Gpu::new(Device::h100());
        let (a, b, c) =
            (gpu.alloc_from(&of.a), gpu.alloc_from(&of.b), gpu.alloc::<bf16>(of.m * of.n));
        let map_a = map(self.maps, a.address(), of.m, of.k, 128);
        let map_b = map(self.maps, b.address(), of.n, of.k, self.box_n);
        let mut arguments = vec![(of.m as u32).arg(), (of.n as u32).arg(), (of.k as u32).arg()];
        if self.writes == Writes::Stores {
            arguments.push(c.arg());
        }
        if let Writes::Map(box_c) = self.writes {
            let dims = [64, of.n as u64, of.m as u64 / 64];
            let (kind, strides) = ((DataType::Bfloat16, Swizzle::None), [of.m as u64 * 2, 128]);
            arguments.push(parameter(&tiled(kind, c.address(), &dims, &strides, &box_c)));
        }
        match self.maps {
            Maps::Behind => {
                let (a, b) = (gpu.alloc_from(&map_a.to_bytes()), gpu.alloc_from(&map_b.to_bytes()));
                arguments.extend([a.arg(), b.arg()]);
            }
            Maps::Flat | Maps::Split(_) => arguments.extend([parameter(&map_a), parameter(&map_b)]),
        }
        let tiles = of.m / 128 * (of.n / self.box_n as usize);
        let ctas = self.persistent.unwrap_or(tiles as u32);
        if self.table {
            arguments.push(gpu.alloc_from(&table(of.m / 256, of.n / 256, ctas as usize / 2)).arg());
        }
        let launch = Launch::grid(ctas, 1, 1).block(self.threads, 1, 1).dynamic_shared(self.shared);
        let launched = gpu.launch(&kernel.module, &kernel.entry, &mode.of(launch), &arguments)?;
        compare(&gpu.read(c), &of.c)?;
        Ok(launched)
    }
}

/// Which tiles each cluster computes: rows of 128 entries, row number in the upper half, column
/// number in the lower, ended by -1.
fn table(rows: usize, columns: usize, clusters: usize) -> Vec<i32> {
    let mut table = vec![-1; clusters * 128];
    for tile in 0..rows * columns {
        table[tile % clusters * 128 + tile / clusters] =
            (tile / columns << 16 | tile % columns) as i32;
    }
    table
}

/// All cases of this family.
pub(crate) fn cases() -> Vec<Case> {
    let (flat, large) = (Product::new(384, 512, 320), Product::new(2048, 2048, 64));
    let tabled = Product::new(512, 768, 320);
    let of = |shape: Shape| {
        Rc::clone(if shape.table {
            &tabled
        } else if shape.persistent.is_some() {
            &large
        } else {
            &flat
        })
    };
    let case = |shape: Shape, repair, expected| {
        let product = of(shape);
        Case {
            name: shape.name,
            file: shape.file,
            entry: shape.entry,
            size: format!("{}x{}x{}", product.m, product.n, product.k),
            repair,
            expected,
            run: Box::new(move |kernel, mode| shape.run(kernel, mode, &product)),
        }
    };
    let mut cases = Vec::new();
    for shape in Shape::all() {
        match shape.fault {
            None => cases.push(case(shape, None, Expected::Right)),
            Some((parts, repair)) => {
                cases.push(case(shape, None, Expected::Report(parts)));
                cases.push(case(shape, Some(repair), Expected::Right));
            }
        }
    }
    cases
}
