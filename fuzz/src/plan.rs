//! Plan files: files of every version with bytes changed and every hash recomputed, so that what lies behind the
//! hashes is reached: header, section table, arrays, schedules, permutations and attachments.

use std::sync::LazyLock;

use girih_formats::for_any_tiling;
use girih_planner::Plan;
use girih_planner::file::LoadOptions;
use xxhash_rust::xxh3::xxh3_64;

const FILES: [&[u8]; 9] = [
    include_bytes!("../../crates/planner/tests/plan_file/v3.0.girih"),
    include_bytes!("../../crates/planner/tests/plan_file/v2.0.girih"),
    include_bytes!("../../crates/planner/tests/plan_file/v2.0-orders.girih"),
    include_bytes!("../../crates/planner/tests/plan_file/v2.0-partitions.girih"),
    include_bytes!("../../crates/planner/tests/plan_file/v1.0.girih"),
    include_bytes!("../../crates/planner/tests/plan_file/v3.2.girih"),
    include_bytes!("../../crates/planner/tests/plan_file/v3.1.girih"),
    include_bytes!("../../crates/planner/tests/plan_file/v3.3.girih"),
    include_bytes!("../../crates/planner/tests/plan_file/v3.3-e4m3.girih"),
];

/// Where each file holds something: all but the padding of its pages, of which most files mostly consist.
static HELD: LazyLock<Vec<Vec<usize>>> = LazyLock::new(|| {
    let held = |file: &&[u8]| -> Vec<usize> {
        let end = header_end(file).expect("golden files have headers");
        let sections = sections(file, end).map(|(_, offset, len)| offset..offset + len);
        let mut held: Vec<usize> = sections.chain(std::iter::once(0..end)).flatten().collect();
        held.sort_unstable();
        held
    };
    FILES.iter().map(held).collect()
});

/// Bytes of a row of the section table, which ends the header.
const ROW: usize = 40;

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Where the header ends, if it ends in the file.
fn header_end(bytes: &[u8]) -> Option<usize> {
    let end = 64usize.checked_add(usize::try_from(u64_at(bytes, 24)?).ok()?)?;
    bytes.get(64..end).map(|_| end)
}

/// The rows of the section table: where each lies, and the offset and length that it states, which may be any.
fn sections(bytes: &[u8], end: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let rows = (1..=end / ROW).find(|&n| {
        let at = end.checked_sub(n * ROW + 8);
        at.and_then(|at| u64_at(bytes, at)) == Some(n as u64)
    });
    (0..rows.unwrap_or(0)).filter_map(move |i| {
        let at = end - (i + 1) * ROW;
        let number = |at| u64_at(bytes, at).and_then(|n| usize::try_from(n).ok());
        Some((at, number(at + 8)?, number(at + 24)?))
    })
}

/// Makes hashes of sections that lie in the file, of the header and of the prologue match again.
fn rehash(bytes: &mut [u8]) -> Option<()> {
    let end = header_end(bytes)?;
    let rows: Vec<_> = sections(bytes, end).collect();
    for (at, offset, len) in rows {
        if let Some(section) = bytes.get(offset..offset.checked_add(len)?) {
            let hash = xxh3_64(section);
            bytes[at + 32..at + 40].copy_from_slice(&hash.to_le_bytes());
        }
    }
    let hash = xxh3_64(&bytes[64..end]);
    bytes[40..48].copy_from_slice(&hash.to_le_bytes());
    let hash = xxh3_64(&bytes[..56]);
    bytes[56..64].copy_from_slice(&hash.to_le_bytes());
    Some(())
}

/// Does with a plan what relies on its indices.
fn exercise(plan: &Plan) {
    if plan.nrows() > 1 << 16 || plan.ncols() > 1 << 20 {
        return;
    }
    for_any_tiling!(plan.tiling(), t => {
        let released = plan.release(&t.to_csr()).unwrap();
        drop(plan.hold(&released).unwrap());
    });
    assert_eq!(plan.row_permutation().len(), plan.nrows());
    plan.schedule().check(plan.tiling()).unwrap();
    let mut again = Vec::new();
    plan.write_to(&mut again).unwrap();
    let read = LoadOptions::default().read_bytes(&again).unwrap();
    let mut third = Vec::new();
    read.write_to(&mut third).unwrap();
    assert!(again == third, "a plan that is read is written otherwise");
}

/// Runs the target on an input.
pub(crate) fn run(data: &[u8]) {
    let Some((&which, changes)) = data.split_first() else { return };
    let which_file = usize::from(which & 0x7f) % FILES.len();
    let (mut bytes, held) = (FILES[which_file].to_vec(), &HELD[which_file]);
    // A place among the bytes that hold something or among all, how many bytes, and what they become.
    for change in changes.chunks(4) {
        let &[low, high, how, value] = change else { break };
        let at = usize::from(u16::from_le_bytes([low, high]));
        let at = if how & 8 == 0 { held[at % held.len()] } else { at % bytes.len() };
        let fill = match how & 3 {
            0 => &[value][..],
            1 => &[value, 0, 0, 0, 0, 0, 0, 0],
            2 => &[0xff; 8],
            _ => &[value, value],
        };
        for (to, from) in bytes[at..].iter_mut().zip(fill) {
            *to = if how & 4 == 0 { *from } else { *to ^ *from };
        }
    }
    if which & 0x80 == 0 {
        let _ = rehash(&mut bytes);
    }
    if let Ok(plan) = LoadOptions::default().read_bytes(&bytes) {
        exercise(&plan);
    }
}
