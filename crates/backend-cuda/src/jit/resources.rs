//! What the assembler says a kernel takes.

/// What a kernel's entry point takes of a multiprocessor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resources {
    /// The entry point.
    pub entry: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's stack: arrays that are not in registers.
    pub stack: u32,
    /// Bytes of registers written to memory for want of registers.
    pub spill_stores: u32,
    /// Bytes of them read back.
    pub spill_loads: u32,
    /// Bytes of shared memory of a block, known when compiled.
    pub shared: u32,
}

impl Resources {
    /// Reads what `ptxas -v` prints: for each entry a line with its name, and lines of numbers with
    /// what they are of.
    pub(crate) fn of_log(log: &str) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for line in log.lines() {
            if let Some((_, rest)) = line.split_once("Compiling entry function '") {
                let entry = rest.split('\'').next().unwrap_or_default().to_owned();
                all.push(Self { entry, ..Self::default() });
            }
            let Some(last) = all.last_mut() else { continue };
            let number = |after: &str| -> Option<u32> {
                let before = line[..line.find(after)?].trim_end();
                before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
            };
            for (what, to) in [
                ("registers", &mut last.registers),
                ("bytes stack frame", &mut last.stack),
                ("bytes spill stores", &mut last.spill_stores),
                ("bytes spill loads", &mut last.spill_loads),
                ("bytes smem", &mut last.shared),
            ] {
                if let Some(found) = number(what) {
                    *to = found;
                }
            }
        }
        all.sort_by(|a, b| a.entry.cmp(&b.entry));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_assemblers_report_is_read() {
        let log = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'second' for 'sm_90a'
ptxas info    : Function properties for second
ptxas         .     160 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 160 bytes cumulative stack size, 256 bytes smem
ptxas info    : Compile time = 15.298 ms
ptxas info    : Compiling entry function 'first' for 'sm_90a'
ptxas info    : Function properties for first
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers";
        let first = Resources { entry: "first".into(), registers: 8, ..Resources::default() };
        let second = Resources {
            entry: "second".into(),
            registers: 32,
            stack: 160,
            spill_stores: 8,
            spill_loads: 12,
            shared: 256,
        };
        assert_eq!(Resources::of_log(log), [first, second]);
        assert_eq!(Resources::of_log("nothing of the kind"), []);
    }
}
