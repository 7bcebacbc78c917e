//! Temporary folders, whose owner a lock tells: those of processes that are gone are removed.
//!
//! A process that is killed cannot tidy up. The next one that writes in the same place does it, and must not
//! touch the folder of a living one, of whatever user or machine. So a folder holds a file that its process
//! keeps locked: the system drops the lock when the process ends, and keeps it across file systems that
//! machines share. The file takes its name once it is locked, so nobody sees it unlocked but after the end.
//!
//! A process may also be killed between making its folder and locking it, or between removing the two: what it
//! leaves then holds nothing, and is removed once nothing has happened in it for an hour.

use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How names of temporary folders begin.
pub(crate) const PREFIX: &str = ".girih-";

/// The file in a temporary folder that its owner keeps locked.
const LOCK: &str = ".owner";

/// The same before it is locked.
const UNLOCKED: &str = ".owner-to-be";

/// The file in a temporary folder where locks cannot be had.
const NO_LOCK: &str = ".owner-unknown";

/// How long a folder without an owner and without content stays. A process makes its folder's owner, and removes
/// the folder after it, within less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Entries of a folder that are looked at for what is left behind: enough for most folders, and no time.
const MOST_ENTRIES: usize = 1 << 14;

/// Marks a temporary folder as this process's, for as long as the file is open.
///
/// # Errors
/// If the file cannot be made. Where the file system has no locks, `None` is returned, and the folder is
/// nobody's: it holds a file that says so, and is never taken for left behind.
pub(crate) fn own(folder: &Path) -> io::Result<Option<File>> {
    let (unlocked, lock) = (folder.join(UNLOCKED), folder.join(LOCK));
    let file = File::create_new(&unlocked)?;
    match file.try_lock() {
        Ok(()) => {
            fs::rename(&unlocked, &lock)?;
            Ok(Some(file))
        }
        Err(_) => {
            fs::rename(&unlocked, folder.join(NO_LOCK))?;
            Ok(None)
        }
    }
}

/// Removes the temporary folders beside `own`, which this process just made, whose processes are gone. What
/// cannot be read or removed stays.
pub(crate) fn remove_beside(own: &Path) {
    let Some(parent) = own.parent() else { return };
    let (Ok(entries), Ok(own)) = (fs::read_dir(parent), fs::symlink_metadata(own)) else { return };
    for entry in entries.take(MOST_ENTRIES).flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            remove_if_left(&entry.path(), &own, SystemTime::now());
        }
    }
}

fn remove_if_left(folder: &Path, own: &Metadata, now: SystemTime) {
    // A link in the place of either may lead anywhere; what others own is theirs to remove.
    let ours = |path: &Path, kind: fn(&Metadata) -> bool| {
        fs::symlink_metadata(path).is_ok_and(|found| kind(&found) && same_owner(&found, own))
    };
    let lock = folder.join(LOCK);
    if !ours(folder, Metadata::is_dir) {
        return;
    }
    if !ours(&lock, Metadata::is_file) {
        remove_if_abandoned(folder, now);
        return;
    }
    let Ok(file) = File::open(&lock) else { return };
    match file.try_lock() {
        Ok(()) => {
            // Locked until the folder is gone: of two processes that find it, one removes it.
            let _ = fs::remove_dir_all(folder);
        }
        // Its process is alive, or nobody can say.
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
    }
}

/// Removes a folder that has had no owner for long, if it holds nothing but a lock that was never taken.
fn remove_if_abandoned(folder: &Path, now: SystemTime) {
    let changed = fs::symlink_metadata(folder).and_then(|found| found.modified());
    if !changed.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age >= PATIENCE)) {
        return;
    }
    let Ok(mut entries) = fs::read_dir(folder) else { return };
    if entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == UNLOCKED)) {
        // A folder that got content meanwhile is not removed.
        let _ = fs::remove_file(folder.join(UNLOCKED));
        let _ = fs::remove_dir(folder);
    }
}

#[cfg(unix)]
fn same_owner(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    a.uid() == b.uid()
}

#[cfg(not(unix))]
fn same_owner(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_living_stay_and_those_of_the_dead_go() {
        let parent = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("c.npy"), "half").unwrap();
            folder
        };
        let [living, dead, unknown, own_one] =
            [".girih-a", ".girih-b", ".girih-c", ".girih-own"].map(folder);
        let other = folder("girih-d");
        let lock = own(&living).unwrap().unwrap();
        drop(own(&dead).unwrap().unwrap());
        drop(own(&other).unwrap().unwrap());
        remove_beside(&own_one);
        assert!(living.is_dir() && unknown.is_dir() && other.is_dir() && !dead.exists());
        drop(lock);
        remove_beside(&own_one);
        assert!(!living.exists() && unknown.is_dir());
    }

    #[test]
    fn folders_without_an_owner_go_after_an_hour_if_they_are_empty() {
        let parent = tempfile::tempdir().unwrap();
        let own_one = fs::symlink_metadata(parent.path()).unwrap();
        let folder = |name: &str, file: Option<&str>| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            if let Some(file) = file {
                fs::write(folder.join(file), "").unwrap();
            }
            folder
        };
        let empty = folder(".girih-a", None);
        let unlocked = folder(".girih-b", Some(UNLOCKED));
        let no_lock = folder(".girih-c", Some(NO_LOCK));
        let filled = folder(".girih-d", Some("c.npy"));
        let all = [&empty, &unlocked, &no_lock, &filled];
        let at = |age| {
            for folder in all {
                remove_if_left(folder, &own_one, SystemTime::now() + Duration::from_secs(age));
            }
            all.map(|folder| folder.exists())
        };
        assert_eq!(at(3000), [true; 4]);
        assert_eq!(at(4000), [false, false, true, true]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let victim = parent.path().join("victim");
        fs::create_dir(&victim).unwrap();
        drop(own(&victim).unwrap().unwrap());
        std::os::unix::fs::symlink(&victim, parent.path().join(".girih-link")).unwrap();
        let [folder, own_one] = [".girih-x", ".girih-own"].map(|name| parent.path().join(name));
        fs::create_dir(&folder).unwrap();
        fs::create_dir(&own_one).unwrap();
        std::os::unix::fs::symlink(victim.join(LOCK), folder.join(LOCK)).unwrap();
        remove_beside(&own_one);
        assert!(victim.join(LOCK).is_file() && folder.is_dir());
    }
}
