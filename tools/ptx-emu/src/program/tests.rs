use super::{Axis, Module, Preset};
use crate::error::{ParseError, Problem};
use crate::isa::Op;
use crate::isa::control::Control;
use crate::machine::registers::Registers;
use crate::machine::{Code, Kernel};

fn module(body: &str) -> Module {
    Module::parse(&text(body)).unwrap_or_else(|error| panic!("{error}"))
}

fn errors(body: &str) -> Vec<ParseError> {
    Module::check(&text(body)).expect_err("it was taken")
}

fn text(body: &str) -> String {
    format!(".version 8.7 .target sm_90a .address_size 64\n{body}")
}

fn kernel(body: &str) -> Module {
    module(&format!(".entry k() {{ {body} }}"))
}

/// Executes a kernel of data instructions and branches in lane 0, and returns its registers.
fn run(kernel: &Kernel) -> Registers {
    let mut registers = Registers::new(kernel.n_rows as usize, kernel.n_predicates as usize);
    for &(slot, preset) in &kernel.presets {
        // Without clusters, a shared address is the offset.
        if let Preset::Shared(offset) = preset {
            registers.set(slot, 0, u64::from(offset));
        }
    }
    let mut pc = 0;
    for _ in 0..1000 {
        let Code { guard, op, .. } = &kernel.code[pc];
        pc += 1;
        if guard.is_some_and(|(p, negated)| (registers.predicate(p) & 1 == 1) == negated) {
            continue;
        }
        match op {
            Op::Data(compute) => compute(&mut registers, 1),
            Op::Control(Control::Branch { target }) => pc = *target as usize,
            Op::Control(Control::Exit) => return registers,
            Op::Control(Control::Indexed { index, targets }) => {
                pc = targets[registers.value(*index, 0) as usize] as usize;
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("it never ends");
}

/// The value that a register of this name has at the end.
fn result(module: &Module, name: &str) -> u64 {
    let kernel = module.kernel("k").unwrap();
    let row = kernel.register_names.iter().position(|known| known == name).expect(name);
    run(kernel).row(crate::machine::registers::Slot(row as u32))[0]
}

#[test]
fn scopes_have_their_own_registers_and_labels() {
    let module = kernel(
        ".reg .b32 r, out; mov.b32 r, 1;
         { .reg .b32 r; mov.b32 r, 2; bra DONE; mov.b32 r, 3; DONE: mov.b32 out, r; }
         { .reg .b32 s; mov.b32 s, 4; bra DONE; DONE: add.s32 out, out, s; }
         add.s32 out, out, r;",
    );
    assert_eq!(result(&module, "out"), 7);
}

#[test]
fn branches_go_forwards_and_back() {
    let module = kernel(
        ".reg .pred p; .reg .b32 i, sum; mov.b32 i, 5; mov.b32 sum, 0;
         LOOP: add.s32 sum, sum, i; sub.s32 i, i, 1; setp.ne.s32 p, i, 0; @p bra LOOP;",
    );
    assert_eq!(result(&module, "sum"), 15);
    let module = kernel(
        ".reg .b32 i, x; mov.b32 i, 1; brx.idx i, table; table: .branchtargets A, B;
         A: mov.b32 x, 10; ret; B: mov.b32 x, 20; ret;",
    );
    assert_eq!(result(&module, "x"), 20);
}

#[test]
fn functions_run_where_they_are_called() {
    let module = module(
        ".func (.reg .b32 out) twice(.reg .b32 in)
         { .reg .pred p; setp.gt.s32 p, in, 50; add.s32 out, in, in; @p ret; add.s32 out, out, 1; ret; }
         .func (.reg .b32 out) four(.reg .b32 in)
         { .reg .b32 t; call (t), twice, (in); call (out), twice, (t); }
         .entry k() { .reg .pred p; .reg .b32 a, b, c; mov.b32 a, 10; setp.eq.s32 p, a, 11;
           mov.b32 c, 3; call.uni (a), four, (a); call (b), twice, (100);
           @p call (c), twice, (c); @!p call (c), twice, (c); }",
    );
    assert_eq!((result(&module, "a"), result(&module, "b"), result(&module, "c")), (43, 200, 7));
}

#[test]
fn functions_are_called_through_their_addresses() {
    let module = module(
        ".func (.reg .b32 out) inc(.reg .b32 in) { add.s32 out, in, 1; }
         .func (.reg .b32 out) dec(.reg .b32 in) { sub.s32 out, in, 1; }
         .global .u64 table[2] = {inc, dec};
         .entry k() { .reg .b64 f, g; .reg .b32 a, b;
           mov.u64 f, dec; mov.u64 g, inc;
           P: .callprototype (.reg .b32 _) _ (.reg .b32 _);
           call (a), f, (10), P; call (b), g, (a), P; }",
    );
    assert_eq!((result(&module, "a"), result(&module, "b")), (9, 10));
}

#[test]
fn presets_are_shared_by_all_who_read_them() {
    let module = kernel(
        ".reg .b32 a, b, c; mov.u32 a, %tid.x; mov.u32 b, %tid.x; add.s32 c, %ctaid.y, %laneid;",
    );
    let kernel = module.kernel("k").unwrap();
    let presets: Vec<_> = kernel.presets.iter().map(|(_, preset)| *preset).collect();
    assert_eq!(presets, [Preset::Thread(Axis::X), Preset::Cta(Axis::Y), Preset::Lane]);
    assert_eq!(kernel.n_rows, 6);
}

#[test]
fn shared_memory_is_what_the_kernel_names() {
    let module = module(
        ".extern .shared .align 1024 .b8 dynamic[];
         .shared .align 16 .b8 unused[4096]; .shared .align 4 .b8 used[6];
         .entry k() { .shared .align 8 .b64 barrier; .reg .b64 a, b, c;
           mov.u64 a, used; mov.u64 b, barrier; mov.u64 c, dynamic+16; }
         .entry other() { ret; }",
    );
    let kernel = module.kernel("k").unwrap();
    // The first kilobyte is the system's; `barrier` stands in the body, before module variables.
    assert_eq!((result(&module, "b"), result(&module, "a")), (1024, 1032));
    assert_eq!((kernel.shared_end, kernel.dynamic_shared_align), (1038, 1024));
    assert_eq!(result(&module, "c"), 2048 + 16);
    assert_eq!(module.kernel("other").unwrap().shared_end, 1024);
}

#[test]
fn parameters_are_laid_out_like_a_struct() {
    let module = module(
        ".entry k(.param .u32 a, .param .u64 .ptr .global .align 16 b, .param .align 64 .b8 c[128],
                  .param .f32 d, .param .v2 .f32 e) { ret; }",
    );
    let kernel = module.kernel("k").unwrap();
    let offsets: Vec<_> = kernel.params.iter().map(|p| (p.offset, p.bytes)).collect();
    assert_eq!(offsets, [(0, 4), (8, 8), (64, 128), (192, 4), (200, 8)]);
    assert_eq!(kernel.param_bytes, 208);
}

#[test]
fn variables_start_with_their_values() {
    let module = module(
        ".global .align 4 .u32 table[2][2] = {{1, 2}, {-3}};
         .const .f32 third = 0.5; .global .b8 text[] = {104, 105, 0};
         .global .u64 pointer[2] = {generic(table) + 8, text};
         .global .b8 bytes[2] = {mask(0xff, table), mask(0xff00, table)};
         .extern .global .u32 elsewhere; .global .u8 empty[1000000000000];
         .func f() { ret; } .global .u64 function = f;
         .entry k() { .reg .b64 a; mov.u64 a, table; }",
    );
    let kernel = module.kernel("k").unwrap();
    let [table, third, text, pointer, bytes, elsewhere, empty, function] = &kernel.variables[..]
    else {
        panic!("{:?}", kernel.variables)
    };
    assert_eq!(table.bytes, [1, 0, 0, 0, 2, 0, 0, 0, 253, 255, 255, 255]);
    assert_eq!((table.size, table.align, table.writable), (16, 4, true));
    assert_eq!((&third.bytes[..], third.writable), (&0.5_f32.to_le_bytes()[..], false));
    assert_eq!((text.size, &text.bytes[..]), (3, &b"hi\0"[..]));
    let places: Vec<_> = pointer
        .relocations
        .iter()
        .map(|place| (place.at, place.bytes, place.variable, place.addend, place.shift))
        .collect();
    assert_eq!(places, [(0, 8, 0, 8, 0), (8, 8, 2, 0, 0)]);
    assert_eq!((bytes.relocations[1].at, bytes.relocations[1].shift), (1, 8));
    assert!(elsewhere.external && !table.external);
    assert_eq!((empty.size, empty.bytes.len()), (1_000_000_000_000, 0));
    assert_eq!(function.bytes, super::layout::FUNCTION_START.to_le_bytes());
    assert!(matches!(kernel.presets[..], [(_, Preset::Variable(0))]));
}

#[test]
fn places_come_from_loc() {
    let module =
        module(".file 1 \"a.cu\"\n.entry k() {\n.reg .b32 r;\n.loc 1 7 3\nmov.b32 r, 1;\nret;\n}");
    let location = &module.kernel("k").unwrap().code[0].location;
    assert_eq!((location.line, location.text.as_str()), (6, "mov.b32 r, 1;"));
    assert_eq!(location.source, Some(("a.cu".into(), 7, 3)));
}

#[test]
fn every_error_is_told_by_line() {
    let found =
        errors(".entry k() {\n.reg .b32 r;\nmov.b32 r, x;\nfoo r;\nadd.s32 r, r;\nbra NOWHERE;\n}");
    let lines: Vec<_> = found.iter().map(|error| error.line).collect();
    assert_eq!(lines, [4, 5, 6, 7]);
    // Nobody calls it, and yet it is read.
    let found = errors(".func f() {\nfoo;\n}\n.entry k() { ret; }");
    assert_eq!((found.len(), found[0].line), (1, 3));
}

#[test]
fn what_cannot_be_laid_out_is_refused() {
    let problem = |body: &str| errors(body).swap_remove(0).problem;
    assert!(matches!(
        problem(".entry k() { .reg .b32 r; .reg .b32 r; }"),
        Problem::Duplicate(name) if name == "r"
    ));
    assert!(matches!(problem(".entry k() { L: ret; L: ret; }"), Problem::Duplicate(_)));
    assert!(matches!(problem(".entry k() {} .entry k() {}"), Problem::Duplicate(_)));
    let shared = ".entry k() { .shared .b8 a[1000000000]; }";
    assert!(matches!(problem(shared), Problem::TooLarge { .. }));
    let huge = ".global .b64 a[18446744073709551615]; .entry k() {}";
    assert!(matches!(problem(huge), Problem::TooLarge { .. }));
    let missing = ".global .u64 a = b; .entry k() {}";
    assert!(matches!(problem(missing), Problem::Undeclared(name) if name == "b"));
    let full = ".global .u32 a[1] = {1, 2}; .entry k() {}";
    assert!(matches!(problem(full), Problem::Invalid(_)));
}

#[test]
fn calls_cannot_grow_a_program_without_end() {
    let mut body = String::from(".func f0() { ret; }");
    for i in 1..=40 {
        let below = i - 1;
        body += &format!(".func f{i}() {{ call f{below}; call f{below}; }}");
    }
    body += ".entry k() { call f40; }";
    assert!(matches!(errors(&body)[0].problem, Problem::TooLarge { .. }));
}

#[test]
fn operands_of_branches_are_known_steps() {
    let module = kernel("bra END; END:");
    let kernel = module.kernel("k").unwrap();
    assert!(matches!(kernel.code[0].op, Op::Control(Control::Branch { target: 1 })));
    assert!(matches!(kernel.code[1].op, Op::Control(Control::Exit)));
}

/// Lines from the first instruction of a kernel's body on with what is wrong with its metadata.
fn dead_metadata(body: &str) -> Vec<(String, u32)> {
    let multiply = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16
        {d0, d1, d2, d3}, a, b, META, 0, p, 1, 1, 0, 0;";
    let text = format!(
        ".reg .pred p, q; .reg .b32 m, n, x, y; .reg .b64 a, b; .reg .f32 d<4>;\n{}",
        body.replace("multiply m;", &multiply.replace("META", "m").replace('\n', ""))
            .replace("multiply n;", &multiply.replace("META", "n").replace('\n', ""))
            .replace("commit;", "wgmma.commit_group.sync.aligned;")
            .replace("wait", "wgmma.wait_group.sync.aligned")
            .replace("keep m;", "setp.eq.u32 q, m, -1; @q trap;")
            .replace("keep n;", "setp.eq.u32 q, n, -1; @q trap;")
    );
    let module = kernel(&text);
    let entry = module.entries().next().unwrap();
    let found = entry.problems().map(|(line, problem)| match problem {
        crate::report::Problem::DeadMetadata { register, .. } => (register, line - 2),
        other => panic!("{other}"),
    });
    found.collect()
}

#[test]
fn metadata_live_until_the_wait() {
    let none: [(String, u32); 0] = [];
    assert_eq!(dead_metadata("multiply m; commit; wait 0;"), none);
    assert_eq!(dead_metadata("multiply m; commit; add.u32 x, y, 1; wait 0; keep m;"), none);
    // What overwrites it is no use of it.
    let dead = [("m".to_owned(), 1)];
    assert_eq!(dead_metadata("multiply m; commit; add.u32 x, y, 1; wait 0;"), dead);
    assert_eq!(
        dead_metadata("multiply m; commit; add.u32 x, y, 1; wait 0; mov.u32 m, 3; keep m;"),
        dead
    );
    // While it will still be read it keeps its register, whatever is computed.
    assert_eq!(dead_metadata("multiply m; commit; add.u32 x, y, 1; keep m; wait 0;"), none);
    assert_eq!(dead_metadata("multiply m; commit; keep m; add.u32 x, y, 1; wait 0;"), dead);
    // A wait that leaves its group under way ends nothing.
    let two =
        "multiply m;\n commit;\n multiply n; commit; wait 1; KEEP add.u32 x, y, 1; wait 0; keep n;";
    assert_eq!(dead_metadata(&two.replace("KEEP", "")), none);
    let two = two.replace("wait 1; KEEP", "add.u32 y, x, 2; wait 1;");
    assert_eq!(dead_metadata(&two), dead);
    assert_eq!(dead_metadata(&two.replace("wait 1;", "wait 1; keep m;")), none);
}

#[test]
fn metadata_live_on_every_way_to_the_wait() {
    let none: [(String, u32); 0] = [];
    // Two registers take turns; the last products are waited for after the loop.
    let pipeline =
        "again:\n multiply m; commit; wait 1; keep n; mov.u32 n, x;\n multiply n; commit; wait 1;
        keep m; mov.u32 m, y; @p bra again;\n add.u32 x, y, 1; wait 0; LAST";
    assert_eq!(dead_metadata(&pipeline.replace("LAST", "keep n;")), none);
    assert_eq!(dead_metadata(&pipeline.replace("LAST", "")), [("n".to_owned(), 3)]);
    // Nothing is computed between the loop and the wait.
    assert_eq!(dead_metadata(&pipeline.replace("add.u32 x, y, 1; wait 0; LAST", "wait 0;")), none);
}
