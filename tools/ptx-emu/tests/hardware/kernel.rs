//! Kernels around one instruction.

use std::fmt::Write as _;

use crate::case::{Case, Judged};
use crate::values::{Kind, operands};

/// Threads of a case, each with operands of its own.
const THREADS: usize = 256;

/// One instruction, or a few: `text` names results `%o0…` and operands `%i0…`.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) name: String,
    pub(crate) results: Vec<Kind>,
    pub(crate) operands: Vec<Kind>,
    pub(crate) text: String,
    pub(crate) judged: Judged,
}

impl Form {
    /// `opcode` with its results and operands in order, compared bit by bit.
    pub(crate) fn new(opcode: &str, result: Kind, operands: &[Kind]) -> Self {
        let names = (0..operands.len()).map(|i| format!(", %i{i}")).collect::<String>();
        Self::lines(opcode, &[result], operands, &format!("{opcode} %o0{names};"))
    }

    /// Any text.
    pub(crate) fn lines(name: &str, results: &[Kind], operands: &[Kind], text: &str) -> Self {
        Self {
            name: name.to_owned(),
            results: results.to_vec(),
            operands: operands.to_vec(),
            text: text.to_owned(),
            judged: Judged::Exactly,
        }
    }

    /// The same form, compared less strictly.
    pub(crate) fn judged(mut self, judged: Judged) -> Self {
        self.judged = judged;
        self
    }

    /// The case of one block of threads.
    pub(crate) fn case(&self) -> Case {
        let seed = self.name.bytes().fold(17u64, |seed, b| seed.wrapping_mul(131) + u64::from(b));
        Case {
            name: self.name.clone(),
            ptx: self.kernel(),
            blocks: 1,
            threads: THREADS as u32,
            inputs: operands(&self.operands, THREADS, seed),
            output_len: THREADS * self.results.iter().map(|kind| kind.size()).sum::<usize>(),
            scalars: Vec::new(),
            maps: Vec::new(),
            judged: self.judged,
            element: self.results[0].size(),
        }
    }

    fn kernel(&self) -> String {
        let mut body = "  mov.u32 %thread, %tid.x;\n".to_owned();
        let mut registers = String::new();
        for (i, kind) in self.operands.iter().enumerate() {
            let size = kind.size();
            let (register, _) = kind.register();
            writeln!(registers, "  .reg {register} %i{i};").unwrap();
            writeln!(body, "  ld.param.u64 %at, [in{i}];").unwrap();
            writeln!(body, "  mad.wide.u32 %at, %thread, {size}, %at;").unwrap();
            if *kind == Kind::Pred {
                writeln!(body, "  ld.global.b32 %word, [%at];").unwrap();
                writeln!(body, "  setp.ne.b32 %i{i}, %word, 0;").unwrap();
            } else {
                writeln!(body, "  ld.global{register} %i{i}, [%at];").unwrap();
            }
        }
        for (i, kind) in self.results.iter().enumerate() {
            writeln!(registers, "  .reg {} %o{i};", kind.register().0).unwrap();
        }
        writeln!(body, "  {}", self.text.replace('\n', "\n  ")).unwrap();
        let mut start = 0;
        for (i, kind) in self.results.iter().enumerate() {
            let size = kind.size();
            writeln!(body, "  ld.param.u64 %at, [out];").unwrap();
            writeln!(body, "  add.u64 %at, %at, {start};").unwrap();
            writeln!(body, "  mad.wide.u32 %at, %thread, {size}, %at;").unwrap();
            if *kind == Kind::Pred {
                writeln!(body, "  selp.b32 %word, 1, 0, %o{i};").unwrap();
                writeln!(body, "  st.global.b32 [%at], %word;").unwrap();
            } else {
                writeln!(body, "  st.global{} [%at], %o{i};", kind.register().0).unwrap();
            }
            start += size * THREADS;
        }
        let registers = format!("  .reg .b64 %at;\n  .reg .b32 %word, %thread;\n{registers}");
        entry(self.operands.len(), 0, 0, &registers, &body)
    }
}

/// A module with the kernel `k`: the addresses of `inputs`, that of the output, scalars, and
/// tensor maps.
pub(crate) fn entry(
    inputs: usize,
    scalars: usize,
    maps: usize,
    registers: &str,
    body: &str,
) -> String {
    let parameters = (0..inputs)
        .map(|i| format!("in{i}"))
        .chain(["out".to_owned()])
        .chain((0..scalars).map(|i| format!("scalar{i}")))
        .map(|name| format!("  .param .u64 {name}"))
        .chain((0..maps).map(|i| format!("  .param .align 64 .b8 map{i}[128]")))
        .collect::<Vec<_>>()
        .join(",\n");
    format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n\n.visible .entry k(\n{parameters}\n)\n{{\n\
         {registers}{body}  ret;\n}}\n"
    )
}
