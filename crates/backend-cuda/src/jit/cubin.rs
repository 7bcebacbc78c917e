//! What a binary says of the kernels in it.

use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};

use super::Resources;

/// Attributes in the section `.nv.info`: of registers, and of the frame on a thread's stack. Neither
/// these nor the section's layout are documented; what the assembler reports agrees.
const REGISTERS: u8 = 0x2f;
const FRAME: u8 = 0x11;
/// An attribute whose value has a size of its own, and takes that size in bytes after these four.
const SIZED: u8 = 4;

/// Shared memory of every block that belongs to the system, counted in a kernel's section.
const RESERVED: u64 = 1024;

/// What each entry point takes; nothing of what is not such a binary.
pub(super) fn resources(cubin: &[u8]) -> Vec<Resources> {
    read(cubin).unwrap_or_default()
}

fn read(cubin: &[u8]) -> object::Result<Vec<Resources>> {
    let header = FileHeader64::<LittleEndian>::parse(cubin)?;
    let endian = LittleEndian;
    let sections = header.sections(endian, cubin)?;
    let symbols = sections.symbols(endian, cubin, object::elf::SHT_SYMTAB)?;
    let name_of = |section| {
        let name = sections.section_name(endian, section);
        name.map(|name| String::from_utf8_lossy(name).into_owned())
    };
    let mut all = Vec::new();
    let mut info: &[u8] = &[];
    for section in sections.iter() {
        let name = name_of(section)?;
        if name == ".nv.info" {
            info = section.data(endian, cubin)?;
        } else if let Some(entry) = name.strip_prefix(".nv.constant0.") {
            // Kernels have parameters, which are constants; functions that they call have none.
            all.push(Resources { entry: entry.to_owned(), ..Resources::default() });
        }
    }
    let reserves = sections
        .iter()
        .any(|section| name_of(section).is_ok_and(|name| name.starts_with(".nv.shared.reserved.")));
    for section in sections.iter() {
        let name = name_of(section)?;
        let Some(entry) = name.strip_prefix(".nv.shared.") else { continue };
        if let Some(found) = all.iter_mut().find(|found| found.entry == entry) {
            let reserved = if reserves { RESERVED } else { 0 };
            found.shared = section.sh_size(endian).saturating_sub(reserved) as u32;
        }
    }
    for (attribute, symbol, value) in attributes(info) {
        let symbol = symbols.symbol(object::SymbolIndex(symbol as usize))?;
        let name = symbols.symbol_name(endian, symbol)?;
        let named = |found: &&mut Resources| found.entry.as_bytes() == name;
        let Some(found) = all.iter_mut().find(named) else { continue };
        match attribute {
            REGISTERS => found.registers = value,
            FRAME => found.stack = value,
            _ => {}
        }
    }
    Ok(all)
}

/// The attributes that are a number of a symbol: which one, of which symbol, the number.
fn attributes(mut info: &[u8]) -> Vec<(u8, u32, u32)> {
    let mut found = Vec::new();
    while let [format, attribute, low, high, rest @ ..] = info {
        let size =
            if *format == SIZED { usize::from(u16::from_le_bytes([*low, *high])) } else { 0 };
        let (value, rest) = rest.split_at(size.min(rest.len()));
        if let &[a, b, c, d, e, f, g, h] = value {
            let (symbol, value) = ([a, b, c, d], [e, f, g, h]);
            found.push((*attribute, u32::from_le_bytes(symbol), u32::from_le_bytes(value)));
        }
        info = rest;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_and_others_passed_over() {
        let info = [
            [4, 0x2f, 8, 0].as_slice(),
            &[12, 0, 0, 0, 10, 1, 0, 0],
            &[3, 0x1b, 255, 0],
            &[4, 0x37, 4, 0],
            &[1, 2, 3, 4],
            &[4, 0x11, 8, 0],
            &[11, 0, 0, 0, 200, 0, 0, 0],
            &[4, 0x2f, 8, 0, 1],
        ]
        .concat();
        assert_eq!(attributes(&info), [(0x2f, 12, 266), (0x11, 11, 200)]);
    }

    #[test]
    fn what_is_no_binary_says_nothing() {
        assert_eq!(resources(b""), []);
        assert_eq!(
            resources(b"\x7fELF and then something else altogether, long enough to look"),
            []
        );
    }
}
