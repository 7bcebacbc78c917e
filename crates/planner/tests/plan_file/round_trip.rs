//! What is saved is what is loaded.

use crate::support::{all_plans, file_of};
use girih_formats::{AnyTiling, Buffer, Csr, RowCsr, RowLayout, Tiling, for_any_tiling};
use girih_planner::file::LoadOptions;
use girih_planner::{Plan, Schedule};

fn values_of(tiling: &AnyTiling) -> Option<(*const u8, bool)> {
    fn at<T: bytemuck::Pod>(buffer: &Buffer<T>) -> (*const u8, bool) {
        (buffer.as_ptr().cast(), buffer.is_mapped())
    }
    for_any_tiling!(tiling, t => match t {
        Tiling::Csr(t) => Some(at(t.csr().values())),
        Tiling::Bcsr(t) => Some(at(t.values())),
        Tiling::Wcsr(t) => Some(at(t.values())),
        Tiling::BlockedEll(t) => Some(at(t.values())),
        Tiling::BMat(t) => t.values().map(at),
        Tiling::TwoFour(t) => Some(t.e4m3().map_or_else(|| at(t.values()), |t| at(t.codes()))),
        Tiling::Hybrid(t) => Some(at(t.values())),
    })
}

#[test]
fn every_format_and_value_type_comes_back_in_every_mode() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.girih");
    for plan in all_plans() {
        let written = plan.save(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(written, bytes.len() as u64);
        assert_eq!(written % 4096, 0);
        assert_eq!(bytes, file_of(&plan));
        for check_hashes in [true, false] {
            let options = LoadOptions::default().check_hashes(check_hashes);
            let read = options.read(&path).unwrap();
            assert_eq!(read, plan);
            assert_eq!(options.read_bytes(&bytes).unwrap(), plan);
            assert_eq!(options.read_from(&bytes[..]).unwrap(), plan);
            // SAFETY: the file is not touched while `mapped` lives.
            let mapped = unsafe { options.map(&path) }.unwrap();
            assert_eq!(mapped, plan);
            assert_eq!(file_of(&mapped), bytes);
            assert!(mapped.schedule().tasks().is_mapped());
            assert!(!read.schedule().tasks().is_mapped());
            if let Some((address, is_mapped)) = values_of(mapped.tiling()) {
                assert!(is_mapped);
                assert_eq!(address as usize % 4096, 0);
            }
        }
    }
}

#[test]
fn matrices_without_entries_come_back() {
    for (nrows, ncols) in [(0, 0), (0, 5), (5, 0), (3, 4)] {
        let csr = Csr::<f32>::empty(nrows, ncols).unwrap();
        let layout = RowLayout::natural(nrows, 1).unwrap();
        let plan = Plan::from_tiling(Tiling::Csr(RowCsr::try_new(layout, csr).unwrap()));
        assert_eq!(LoadOptions::default().read_bytes(&file_of(&plan)).unwrap(), plan);
    }
}

#[test]
fn saving_replaces_a_file_and_leaves_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.girih");
    std::fs::write(&path, b"something else").unwrap();
    let plan = &all_plans()[0];
    plan.save(&path).unwrap();
    assert_eq!(Plan::read(&path).unwrap(), *plan);
    let names: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["a.girih"]);
}

#[cfg(unix)]
#[test]
fn a_plan_is_as_readable_as_any_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (plan, other) = (dir.path().join("a.girih"), dir.path().join("other"));
    all_plans()[0].save(&plan).unwrap();
    std::fs::write(&other, b"").unwrap();
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(plan), mode(other));
}

#[test]
fn saving_where_no_plan_can_be_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let plan = &all_plans()[0];
    for path in [dir.path().to_owned(), dir.path().join("missing").join("a.girih")] {
        let error = plan.save(&path).unwrap_err().to_string();
        assert!(error.contains(&*dir.path().to_string_lossy()), "{error}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_loaded_schedule_is_the_saved_one() {
    let tiling = all_plans()[0].tiling().clone();
    for tiles in [1, 2, 100] {
        let schedule = Schedule::by_tiles(&tiling, tiles);
        let again = Schedule::try_new(schedule.tasks().clone(), &tiling).unwrap();
        assert_eq!(schedule, again);
    }
}
