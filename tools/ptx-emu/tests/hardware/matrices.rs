//! Tensor cores, and what moves their operands.

use std::fmt::Write as _;

use crate::case::{Case, Judged};
use crate::kernel::{Form, entry};
use crate::values::{Kind, Plain, Random};

/// `mma.sync`: shape and types, registers of A, B and C, what they hold.
pub(crate) fn mma() -> Vec<Form> {
    use Plain::{Bf16x2, E4m3x4, E5m2x4, F16x2, F32, F64, I8x4};
    const INT: Kind = Kind::I32;
    let float = Kind::Plain(F32);
    let half = Kind::Plain(F16x2);
    let shapes: &[(&str, usize, usize, usize, Plain, Plain, Kind)] = &[
        ("m16n8k8.row.col.f32.f16.f16.f32", 2, 1, 4, F16x2, F16x2, float),
        ("m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 4, F16x2, F16x2, float),
        ("m16n8k8.row.col.f16.f16.f16.f16", 2, 1, 2, F16x2, F16x2, half),
        ("m16n8k16.row.col.f16.f16.f16.f16", 4, 2, 2, F16x2, F16x2, half),
        ("m16n8k8.row.col.f32.bf16.bf16.f32", 2, 1, 4, Bf16x2, Bf16x2, float),
        ("m16n8k16.row.col.f32.bf16.bf16.f32", 4, 2, 4, Bf16x2, Bf16x2, float),
        ("m16n8k4.row.col.f32.tf32.tf32.f32", 2, 1, 4, F32, F32, float),
        ("m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, 4, F32, F32, float),
        ("m16n8k32.row.col.f32.e4m3.e4m3.f32", 4, 2, 4, E4m3x4, E4m3x4, float),
        ("m16n8k32.row.col.f32.e5m2.e4m3.f32", 4, 2, 4, E5m2x4, E4m3x4, float),
        ("m16n8k16.row.col.s32.s8.s8.s32", 2, 1, 4, I8x4, I8x4, INT),
        ("m16n8k32.row.col.s32.u8.s8.s32", 4, 2, 4, I8x4, I8x4, INT),
        ("m16n8k32.row.col.satfinite.s32.s8.s8.s32", 4, 2, 4, I8x4, I8x4, INT),
        ("m8n8k4.row.col.f64.f64.f64.f64", 1, 1, 2, F64, F64, Kind::Plain(F64)),
    ];
    shapes
        .iter()
        .map(|&(shape, a, b, c, a_type, b_type, c_kind)| {
            let mut operands = vec![Kind::Plain(a_type); a];
            operands.extend(vec![Kind::Plain(b_type); b]);
            operands.extend(vec![c_kind; c]);
            let name = format!("mma.sync.aligned.{shape}");
            let text = format!(
                "{name} {}, {}, {}, {};",
                list("%o", 0, c),
                list("%i", 0, a),
                list("%i", a, b),
                list("%i", a + b, c)
            );
            Form::lines(&name, &vec![c_kind; c], &operands, &text)
        })
        .collect()
}

/// `mma.sp`, metadata made valid from any bits.
pub(crate) fn sparse_mma() -> Vec<Form> {
    use Plain::{Bf16x2, F16x2, F32};
    let float = Kind::Plain(F32);
    let mut forms = Vec::new();
    for (shape, a, b, plain, selectors) in [
        ("m16n8k16.row.col.f32.f16.f16.f32", 2, 2, F16x2, 4),
        ("m16n8k32.row.col.f32.f16.f16.f32", 4, 4, F16x2, 2),
        ("m16n8k16.row.col.f32.bf16.bf16.f32", 2, 2, Bf16x2, 4),
        ("m16n8k32.row.col.f32.bf16.bf16.f32", 4, 4, Bf16x2, 2),
        ("m16n8k8.row.col.f32.tf32.tf32.f32", 2, 2, F32, 4),
        ("m16n8k16.row.col.f32.tf32.tf32.f32", 4, 4, F32, 2),
    ] {
        for selector in 0..selectors {
            let mut operands = vec![Kind::Plain(plain); a + b];
            operands.extend([float; 4]);
            operands.push(Kind::I32);
            let name = format!("mma.sp::ordered_metadata.sync.aligned.{shape}");
            // Of four values the two pairs of bits name different ones, the lower first; of two
            // (tf32) all four bits name one.
            let valid = if plain == F32 {
                "and.b32 %i{m}, %i{m}, 0x11111111;\nmul.lo.u32 %i{m}, %i{m}, 10;\n\
                 xor.b32 %i{m}, %i{m}, 0x44444444;"
            } else {
                "and.b32 %i{m}, %i{m}, 0x11111111;\nmul.lo.u32 %i{m}, %i{m}, 5;\n\
                 add.u32 %i{m}, %i{m}, 0x44444444;"
            };
            let valid = valid.replace("{m}", &(a + b + 4).to_string());
            let text = format!(
                "{valid}\n{name} {}, {}, {}, {}, %i{}, {selector};",
                list("%o", 0, 4),
                list("%i", 0, a),
                list("%i", a, b),
                list("%i", a + b, 4),
                a + b + 4
            );
            forms.push(Form::lines(&format!("{name} {selector}"), &[float; 4], &operands, &text));
        }
    }
    forms
}

fn list(prefix: &str, start: usize, count: usize) -> String {
    let names = (start..start + count).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>();
    format!("{{{}}}", names.join(", "))
}

/// `ldmatrix` and `stmatrix`, through the 4 KiB of shared memory of a block of one warp.
pub(crate) fn moves() -> Vec<Case> {
    let mut cases = Vec::new();
    for trans in ["", ".trans"] {
        for count in [1, 2, 4] {
            let vector = list("%r", 0, count);
            for (op, text) in [
                (
                    "ldmatrix",
                    format!(
                        "ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {vector}, [%row];"
                    ),
                ),
                (
                    "stmatrix",
                    format!(
                        "stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%row], {vector};"
                    ),
                ),
            ] {
                let mut body = fill("tile", 4096, 0, 32);
                // Rows of 16 bytes, in no order: lane i names row 5·i + 3.
                body += "  mad.lo.u32 %row, %thread, 5, 3;\n  and.b32 %row, %row, 31;\n\
                         \x20 shl.b32 %row, %row, 4;\n  mov.u32 %base, tile;\n\
                         \x20 add.u32 %row, %row, %base;\n";
                for r in 0..count {
                    writeln!(body, "  mad.lo.u32 %r{r}, %thread, 65537, {};", 7 + 1000 * r)
                        .unwrap();
                }
                writeln!(body, "  bar.sync 0;\n  {text}\n  bar.sync 0;").unwrap();
                if op == "ldmatrix" {
                    body += &store_registers(count, 32);
                } else {
                    body += &dump("tile", 512, 32);
                }
                let registers =
                    "  .shared .align 16 .b8 tile[4096];\n  .reg .b32 %row, %base, %r<4>;\n";
                cases.push(Case {
                    name: format!("{op}.x{count}{trans}"),
                    ptx: entry(1, 0, 0, &(COMMON.to_owned() + registers), &body),
                    blocks: 1,
                    threads: 32,
                    inputs: vec![Plain::I8x4.image(4096, &mut Random(11))],
                    output_len: if op == "ldmatrix" { count * 128 } else { 512 },
                    scalars: Vec::new(),
                    maps: Vec::new(),
                    judged: Judged::Exactly,
                    element: 4,
                });
            }
        }
    }
    cases
}

/// Registers that the parts below use.
pub(crate) const COMMON: &str =
    "  .reg .b64 %at, %end, %from;\n  .reg .b32 %thread, %to, %w<4>;\n  .reg .pred %more;\n";

/// Copies input `input` to a shared variable, 16 bytes a thread at a time.
pub(crate) fn fill(variable: &str, len: usize, input: usize, threads: usize) -> String {
    format!(
        "  mov.u32 %thread, %tid.x;\n  ld.param.u64 %from, [in{input}];\n\
         \x20 add.u64 %end, %from, {len};\n  mad.wide.u32 %at, %thread, 16, %from;\n\
         \x20 mov.u32 %to, {variable};\n  mad.lo.u32 %to, %thread, 16, %to;\n\
         fill_{variable}:\n\
         \x20 ld.global.v4.b32 {{%w0, %w1, %w2, %w3}}, [%at];\n\
         \x20 st.shared.v4.b32 [%to], {{%w0, %w1, %w2, %w3}};\n\
         \x20 add.u64 %at, %at, {step};\n  add.u32 %to, %to, {step};\n\
         \x20 setp.lt.u64 %more, %at, %end;\n  @%more bra fill_{variable};\n",
        step = 16 * threads
    )
}

/// Copies a shared variable to the output.
pub(crate) fn dump(variable: &str, len: usize, threads: usize) -> String {
    format!(
        "  ld.param.u64 %from, [out];\n  add.u64 %end, %from, {len};\n\
         \x20 mad.wide.u32 %at, %thread, 16, %from;\n\
         \x20 mov.u32 %to, {variable};\n  mad.lo.u32 %to, %thread, 16, %to;\n\
         dump_{variable}:\n\
         \x20 ld.shared.v4.b32 {{%w0, %w1, %w2, %w3}}, [%to];\n\
         \x20 st.global.v4.b32 [%at], {{%w0, %w1, %w2, %w3}};\n\
         \x20 add.u64 %at, %at, {step};\n  add.u32 %to, %to, {step};\n\
         \x20 setp.lt.u64 %more, %at, %end;\n  @%more bra dump_{variable};\n",
        step = 16 * threads
    )
}

/// Writes registers `%r0…` to the output, register by register.
fn store_registers(count: usize, threads: usize) -> String {
    let mut text =
        "  ld.param.u64 %from, [out];\n  mad.wide.u32 %at, %thread, 4, %from;\n".to_owned();
    for r in 0..count {
        writeln!(text, "  st.global.b32 [%at+{}], %r{r};", 4 * threads * r).unwrap();
    }
    text
}

/// Bits of a matrix descriptor but for the address: leading and stride byte offsets, swizzle mode.
fn descriptor(leading: u64, stride: u64, swizzle: u64) -> u64 {
    leading >> 4 << 16 | stride >> 4 << 32 | swizzle << 62
}

/// A `wgmma` by its types, with operands in shared memory filled with elements of those types.
#[derive(Clone, Copy)]
struct Wgmma {
    /// Such as `f32.bf16.bf16`.
    types: &'static str,
    n: usize,
    k: usize,
    a: Plain,
    b: Plain,
    /// Of the accumulators: `f32`, or pairs of `f16`, or `s32`.
    d: Kind,
    /// Immediates after `scale-d`: scales, transposes.
    flags: &'static str,
    scale_d: u32,
    a_bits: u64,
    b_bits: u64,
    a_in_registers: bool,
    /// For `.sp`: the selector.
    sparse: Option<u32>,
}

/// 16 KiB of A, 32 KiB of B: tiles of 64 and 256 rows of 128 bytes and what lies between.
const A_LEN: usize = 16 << 10;
const B_LEN: usize = 32 << 10;

impl Wgmma {
    fn case(&self) -> Case {
        let accumulators =
            if self.d == Kind::Plain(Plain::F16x2) { self.n / 4 } else { self.n / 2 };
        let sp = if self.sparse.is_some() { ".sp" } else { "" };
        let opcode =
            format!("wgmma.mma_async{sp}.sync.aligned.m64n{}k{}.{}", self.n, self.k, self.types);
        let mut body = fill("a", A_LEN, 0, 128) + &fill("b", B_LEN, 1, 128);
        body += "  ld.param.u64 %from, [in2];\n  mad.wide.u32 %at, %thread, 4, %from;\n";
        for r in 0..accumulators {
            writeln!(body, "  ld.global.b32 %r{r}, [%at+{}];", 512 * r).unwrap();
        }
        body += "  ld.param.u64 %from, [in3];\n  mad.wide.u32 %at, %thread, 16, %from;\n\
                 \x20 ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%at];\n\
                 \x20 ld.global.b32 %meta, [%at+2048];\n";
        for (operand, scalar) in [("a", 0), ("b", 1)] {
            write!(
                body,
                "  mov.u32 %to, {operand};\n  shr.u32 %to, %to, 4;\n  cvt.u64.u32 %at, %to;\n\
                 \x20 ld.param.u64 %desc_{operand}, [scalar{scalar}];\n\
                 \x20 add.u64 %desc_{operand}, %desc_{operand}, %at;\n"
            )
            .unwrap();
        }
        let a = if self.a_in_registers { "{%a0, %a1, %a2, %a3}" } else { "%desc_a" };
        // A in registers is never transposed.
        let flags = match self.flags.split(", ").collect::<Vec<_>>()[..] {
            ["", a, b, _, trans_b] if self.a_in_registers => format!(", {a}, {b}, {trans_b}"),
            _ => self.flags.to_owned(),
        };
        let meta = self.sparse.map_or(String::new(), |selector| format!("%meta, {selector}, "));
        write!(
            body,
            "  setp.ne.u32 %more, {}, 0;\n  fence.proxy.async;\n  bar.sync 0;\n\
             \x20 wgmma.fence.sync.aligned;\n\
             \x20 {opcode} {}, {a}, %desc_b, {meta}%more{};\n\
             \x20 wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n",
            self.scale_d,
            list("%r", 0, accumulators),
            flags
        )
        .unwrap();
        body += &store_registers(accumulators, 128);
        let registers = format!(
            "  .shared .align 1024 .b8 a[{A_LEN}];\n  .shared .align 1024 .b8 b[{B_LEN}];\n\
             \x20 .reg .b64 %desc_a, %desc_b;\n  .reg .b32 %meta, %a<4>, %r<{accumulators}>;\n"
        );
        let mut random = Random(self.n as u64 * 31 + self.k as u64);
        let d = match self.d {
            Kind::Plain(plain) => plain,
            _ => Plain::I8x4,
        };
        let mut fragments = self.a.image(2048, &mut random);
        fragments.extend((0..512).flat_map(|_| metadata(self.a, random.next()).to_le_bytes()));
        Case {
            name: format!(
                "{opcode}{}{} scale-d {} {:x} {:x} {}",
                self.flags,
                if self.a_in_registers { " A in registers" } else { "" },
                self.scale_d,
                self.a_bits,
                self.b_bits,
                self.sparse.map_or(String::new(), |selector| format!("selector {selector}")),
            ),
            ptx: entry(4, 2, 0, &(COMMON.to_owned() + &registers), &body),
            blocks: 1,
            threads: 128,
            inputs: vec![
                self.a.image(A_LEN, &mut random),
                self.b.image(B_LEN, &mut random),
                d.image(512 * accumulators, &mut random),
                fragments,
            ],
            output_len: 512 * accumulators,
            scalars: vec![self.a_bits, self.b_bits],
            maps: Vec::new(),
            judged: Judged::Exactly,
            element: 4,
        }
    }
}

/// Valid metadata of 2:4 (of tf32 1:2) sparsity from random bits.
fn metadata(elements: Plain, bits: u64) -> u32 {
    let choices: &[u32] =
        if elements == Plain::F32 { &[0x4, 0xe] } else { &[0x4, 0x8, 0xc, 0x9, 0xd, 0xe] };
    (0..8).fold(0, |word, i| word | choices[(bits >> (5 * i)) as usize % choices.len()] << (4 * i))
}

/// `wgmma` over types, sizes, layouts and flags.
pub(crate) fn wgmma() -> Vec<Case> {
    use Plain::{Bf16x2, E4m3x4, E5m2x4, F16x2, F32, I8x4};
    let float = Kind::Plain(F32);
    let none = descriptor(128, 256, 0);
    let bf16 = Wgmma {
        types: "f32.bf16.bf16",
        n: 32,
        k: 16,
        a: Bf16x2,
        b: Bf16x2,
        d: float,
        flags: ", 1, 1, 0, 0",
        scale_d: 1,
        a_bits: none,
        b_bits: none,
        a_in_registers: false,
        sparse: None,
    };
    let f16 = Wgmma { types: "f32.f16.f16", a: F16x2, b: F16x2, ..bf16 };
    let f16_sums = Wgmma { types: "f16.f16.f16", d: Kind::Plain(F16x2), ..f16 };
    let tf32 = Wgmma { types: "f32.tf32.tf32", k: 8, a: F32, b: F32, flags: ", 1, 1", ..bf16 };
    let e4m3 = Wgmma { types: "f32.e4m3.e4m3", k: 32, a: E4m3x4, b: E4m3x4, ..tf32 };
    let e5m2 = Wgmma { types: "f32.e5m2.e5m2", a: E5m2x4, b: E5m2x4, ..e4m3 };
    let mixed = Wgmma { types: "f32.e4m3.e5m2", b: E5m2x4, ..e4m3 };
    let s8 = Wgmma { types: "s32.s8.s8", k: 32, a: I8x4, b: I8x4, d: Kind::I32, flags: "", ..bf16 };
    let u8s8 = Wgmma { types: "s32.u8.s8", ..s8 };
    let all = [bf16, f16, f16_sums, tf32, e4m3, e5m2, mixed, s8, u8s8];
    let mut kernels = Vec::new();
    // All types; every swizzle; few and all columns.
    for base in all {
        for bits in [
            none,
            descriptor(512, 128, 0),
            descriptor(16, 256, 3),
            descriptor(16, 512, 2),
            descriptor(16, 1024, 1),
        ] {
            kernels.push(Wgmma { a_bits: bits, b_bits: bits, ..base });
        }
        for n in [8, 16, 96, 256] {
            kernels.push(Wgmma { n, b_bits: descriptor(16, 1024, 1), ..base });
        }
        kernels.push(Wgmma { scale_d: 0, ..base });
        kernels.push(Wgmma { a_in_registers: true, ..base });
        // Further along a swizzled row: 32 bytes on.
        let along = descriptor(16, 1024, 1) + 2;
        kernels.push(Wgmma { a_bits: along, b_bits: along, ..base });
    }
    for base in [bf16, f16] {
        for flags in
            [", -1, 1, 0, 0", ", 1, -1, 0, 0", ", 1, 1, 1, 0", ", 1, 1, 0, 1", ", 1, 1, 1, 1"]
        {
            for bits in [
                descriptor(512, 1024, 0),
                descriptor(1024, 512, 0),
                descriptor(1024, 256, 3),
                descriptor(2048, 512, 2),
                descriptor(4096, 1024, 1),
                descriptor(8192, 2048, 1),
            ] {
                kernels.push(Wgmma { n: 64, flags, a_bits: bits, b_bits: bits, ..base });
            }
        }
    }
    // B of 256 columns transposed: several swizzled rows of 64 elements.
    kernels.push(Wgmma {
        n: 256,
        flags: ", 1, 1, 0, 1",
        b_bits: descriptor(8192, 1024, 1),
        ..bf16
    });
    for (base, k) in [(bf16, 32), (f16, 32), (f16_sums, 32), (tf32, 16), (e4m3, 64), (s8, 64)] {
        let selectors = if matches!(base.a, E4m3x4 | I8x4) { 1 } else { 2 };
        for selector in 0..selectors {
            let sparse = Some(selector);
            kernels.push(Wgmma { k, sparse, b_bits: descriptor(16, 1024, 1), ..base });
            kernels.push(Wgmma { k, sparse, a_in_registers: true, ..base });
        }
    }
    kernels.iter().map(Wgmma::case).collect()
}
