//! Whether a binary is what its kernel promises.

use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use super::Kernel;
use crate::Binary;

/// Everything that is wrong with a binary: entry points that are missing, registers spilled to memory,
/// products of tensor cores that the assembler could not let run beside other instructions,
/// more registers or shared memory than the [`Budget`](super::Budget) allows and, if its
/// [disassembly](disassemble) is given, instructions that it lacks. Empty if all is right.
#[must_use]
pub fn check(kernel: &Kernel, binary: &Binary, sass: Option<&str>) -> Vec<String> {
    let (budget, resources) = (&kernel.budget, binary.resources());
    let mut wrong = Vec::new();
    for entry in budget.entries {
        if !resources.iter().any(|r| r.entry == *entry) {
            wrong.push(format!("there is no entry point {entry}"));
        }
    }
    for r in &resources {
        if !budget.entries.contains(&&*r.entry) {
            wrong.push(format!("{} is an entry point that nobody knows", r.entry));
        }
        let (spilled, stack) = (r.spill_stores + r.spill_loads, r.stack);
        if spilled + stack > 0 {
            wrong.push(format!("{}: {spilled} bytes spilled, {stack} of stack", r.entry));
        }
        for (what, used, most) in [
            ("registers", r.registers, budget.registers),
            ("bytes of shared memory", r.shared, budget.shared),
        ] {
            if used > most {
                wrong.push(format!("{}: {used} {what}, and {most} are allowed", r.entry));
            }
        }
    }
    for line in
        binary.log.lines().filter(|line| line.contains("wgmma") && line.contains("serialized"))
    {
        wrong.push(format!("the assembler waits for each product: {}", line.trim()));
    }
    for instruction in budget.instructions {
        if sass.is_some_and(|sass| !has_instruction(sass, instruction)) {
            wrong.push(format!("the machine code has no {instruction}"));
        }
    }
    wrong
}

/// Whether a disassembly has an instruction whose name begins so.
fn has_instruction(sass: &str, instruction: &str) -> bool {
    sass.lines().any(|line| {
        // `        /*0120*/              @!P0 LDG.E.128 R4, desc[UR4][R2.64] ;`
        let words = line.split("*/").nth(1).unwrap_or_default().split_whitespace();
        let name =
            words.filter(|word| !word.starts_with('@')).map(|word| word.trim_end_matches(';'));
        name.take(1).any(|name| {
            name.strip_prefix(instruction)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    })
}

/// The machine code of a binary as text, from the program `nvdisasm`.
///
/// # Errors
/// If the program can't be run or refuses.
pub fn disassemble(nvdisasm: &Path, binary: &Binary) -> io::Result<String> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(&binary.cubin)?;
    let output = Command::new(nvdisasm).arg("--print-code").arg(file.path()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jit::Origin;
    use crate::kernels::Budget;

    const SASS: &str = "\
.text.k:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0020*/                   EXIT ;";

    fn complaints(used: &str, sass: Option<&str>) -> Vec<String> {
        let budget = Budget {
            registers: 32,
            shared: 64,
            dynamic_shared: 0,
            entries: &["k"],
            instructions: &["LDG.E.128", "EXIT"],
        };
        let mut kernel = super::super::all().remove(0);
        kernel.budget = budget;
        let log = format!(
            "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n\
             ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n{used}"
        );
        check(&kernel, &Binary { cubin: Vec::new(), log, origin: Origin::Compiled(None) }, sass)
    }

    #[test]
    fn what_is_within_its_budget_passes() {
        assert_eq!(
            complaints("ptxas info    : Used 32 registers, 64 bytes smem", Some(SASS)),
            [""; 0]
        );
    }

    #[test]
    fn everything_that_is_wrong_is_named() {
        let wrong = complaints(
            "ptxas         .     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n\
             ptxas info    : Used 33 registers, 65 bytes smem\n\
             ptxas info    : Compiling entry function 'other' for 'sm_90a'",
            Some(&SASS.replace("LDG.E.128", "LDG.E.64")),
        );
        for what in [
            "8 bytes spilled, 8 of stack",
            "33 registers",
            "65 bytes of sh",
            "no LDG.E.128",
            "other is",
        ] {
            assert!(wrong.iter().any(|w| w.contains(what)), "{what}: {wrong:?}");
        }
        assert_eq!(wrong.len(), 5);
    }

    #[test]
    fn instructions_are_whole_parts_of_names() {
        assert!(has_instruction(SASS, "LDG.E.128"));
        assert!(has_instruction(SASS, "LDG"));
        assert!(!has_instruction(SASS, "LDG.E.12"));
        assert!(!has_instruction(SASS, "desc"));
    }
}
