//! Small files that claim to be large: what they cost is in proportion to what they hold.

use crate::common::{Files, girih, within};

/// An address space for what a matrix of 2²⁴ rows justifies, the program and its threads.
const TALL_MIB: usize = 1250;

/// An address space for the program, which takes 200 MiB of it without optimization, its threads, and 64 MiB of
/// marks for columns, that an array of 2²⁸ numbers does not fit into.
const SMALL_MIB: usize = 450;

/// Two entries, in the first and the last place.
fn corners(nrows: u64, ncols: u64) -> String {
    format!(
        "%%MatrixMarket matrix coordinate real general\n{nrows} {ncols} 2\n1 1 1\n{nrows} {ncols} 1\n"
    )
}

#[test]
fn orders_of_far_more_columns_than_entries_are_refused_or_small() {
    let files = Files::new();
    for ncols in [1 << 28, u64::from(u32::MAX)] {
        let a = files.write("a.mtx", corners(2, ncols));
        let (plan, order) = (files.name("a.girih"), files.name("cols.npy"));
        for args in [
            &["reorder", &a, "--by", "rcm"][..],
            &["reorder", &a, "--by", "window", "--cols", &order],
            &["inspect", &a, "--reorder", "rcm"],
            &["plan", &a, "-o", &plan, "--reorder", "rcm"],
        ] {
            within(SMALL_MIB, args).fails(4, &["far more memory than a matrix of 2 rows"]);
        }
        for args in [
            &["reorder", &a, "--by", "window"][..],
            &["reorder", &a, "--by", "degree"],
            &["inspect", &a, "--reorder", "window"],
            &["plan", &a, "-o", &plan, "--reorder", "window"],
            &["plan", &a, "-o", &plan, "--reorder", "auto"],
        ] {
            within(SMALL_MIB, args).ok();
        }
    }
}

#[test]
fn orders_of_far_more_rows_than_entries_take_memory_for_their_result() {
    let files = Files::new();
    for ncols in [2, 1 << 24] {
        let a = files.write("a.mtx", corners(1 << 24, ncols));
        for method in ["rcm", "window", "degree"] {
            within(TALL_MIB, ["reorder", &a, "--by", method]).ok();
        }
    }
}

#[test]
fn a_plan_of_far_more_rows_than_its_file_justifies_is_refused() {
    let files = Files::new();
    let empty = "%%MatrixMarket matrix coordinate real general\n100000000 2 0\n";
    let a = files.write("a.mtx", empty);
    let (plan, order) = (files.name("a.girih"), files.name("rows.npy"));
    let format = ["--format", "wcsr", "--window", "100000000"];
    let make = ["plan", &a, "-o", &plan, "--allow-hypersparse"];
    girih(make.iter().chain(&format)).ok();
    assert!(std::fs::metadata(&plan).unwrap().len() < 40_000);
    for args in [
        &["reorder", &plan, "-o", &order][..],
        &["spmm", &plan, "--random", "1", "--verify"],
        &["verify", &plan],
        &["inspect", &plan],
    ] {
        within(SMALL_MIB, args).fails(3, &["100000000 rows for 0 entries", "--allow-hypersparse"]);
    }
    within(TALL_MIB, ["inspect", &plan, "--allow-hypersparse"]).ok();
}

#[cfg(unix)]
#[test]
fn a_plan_that_others_may_write_is_not_mapped() {
    use std::os::unix::fs::PermissionsExt;
    let files = Files::new();
    let a = files.write("a.mtx", crate::common::SMALL);
    let plan = files.name("a.girih");
    girih(["plan", &a, "-o", &plan]).ok();
    let product = ["spmm", &plan, "--random", "1", "--mmap"];
    girih(product).ok();
    std::fs::set_permissions(&plan, std::fs::Permissions::from_mode(0o666)).unwrap();
    girih(product).fails(3, &["other users may change"]);
    girih(["spmm", &plan, "--random", "1"]).ok();
}
