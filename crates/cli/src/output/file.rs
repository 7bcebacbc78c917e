//! Files that appear whole or not at all.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

use super::stale;
use crate::error::CliError;

/// Directories with unfinished output, removed if the process is interrupted.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    // The list is a plain vector: a panic elsewhere cannot have left it half changed.
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what unfinished commands have written so far.
pub(crate) fn remove_unfinished() {
    remove(unfinished());
}

/// The same where the list cannot be waited for: what another thread is changing stays as it is.
pub(crate) fn remove_unfinished_now() {
    if let Ok(list) = UNFINISHED.try_lock() {
        remove(list);
    }
}

fn remove(mut list: MutexGuard<'_, Vec<PathBuf>>) {
    for directory in list.drain(..) {
        // The process is on its way out: what can't be removed stays.
        let _ = fs::remove_dir_all(directory);
    }
}

/// Where the function that [`create`] is given writes to.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    streamed: bool,
}

impl Output {
    /// Whether it is a device or a pipe, to be written from front to back, and never replaced.
    pub(crate) fn is_streamed(&self) -> bool {
        self.streamed
    }
}

impl AsRef<Path> for Output {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

/// Writes `target` through `write`, which is given what to create.
///
/// That lies in a temporary directory beside `target` and is renamed onto it once `write` has
/// succeeded, so `target` is whole or untouched however the process ends. It has `target`'s name,
/// and a file that is replaced keeps its permissions. A link is followed. A device or a pipe is
/// written as it is, since renaming would replace it; what reads it sees a failure as an early end.
pub(crate) fn create(
    target: &Path,
    write: impl FnOnce(&Output) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let failed = |e: io::Error| failed(target, e);
    let resolved = resolve(target)?;
    let (target_file, parent, permissions) = match &resolved.end {
        End::Device => return write(&Output { path: target.to_owned(), streamed: true }),
        End::File { file, parent, permissions } => (file, parent, permissions),
    };
    let folder = TemporaryFolder::new(parent).map_err(failed)?;
    let output = Output { path: folder.join(resolved.name), streamed: false };
    write(&output)?;
    let written = &output.path;
    if let Some(permissions) = permissions {
        fs::set_permissions(written, permissions.clone()).map_err(failed)?;
    }
    fs::rename(written, target_file).map_err(failed)?;
    sync_directory(parent);
    Ok(())
}

/// Checks that [`create`] can write `target`, before work that takes long.
pub(crate) fn check(target: &Path) -> Result<(), CliError> {
    resolve(target).map(drop)
}

fn failed(target: &Path, error: io::Error) -> CliError {
    CliError::failed(format!("cannot write {}", target.display())).because(error)
}

/// Where a target leads.
struct Target<'a> {
    name: &'a OsStr,
    end: End,
}

enum End {
    /// Something to be written through.
    Device,
    /// A file in `parent`, with the permissions it has if it is there.
    File { file: PathBuf, parent: PathBuf, permissions: Option<fs::Permissions> },
}

fn resolve(target: &Path) -> Result<Target<'_>, CliError> {
    let refused =
        |why: String| CliError::failed(format!("cannot write {}: {why}", target.display()));
    let failed = |e: io::Error| failed(target, e);
    let name = target.file_name().ok_or_else(|| refused("it names no file".to_owned()))?;
    let (file, permissions) = match fs::metadata(target) {
        Ok(found) if found.is_dir() => return Err(refused("it is a directory".to_owned())),
        Ok(found) if !found.is_file() => return Ok(Target { name, end: End::Device }),
        Ok(found) => (fs::canonicalize(target).map_err(failed)?, Some(found.permissions())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => (end_of_links(target), None),
        Err(e) => return Err(failed(e)),
    };
    let parent = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    if !parent.is_dir() {
        return Err(refused(format!("there is no directory {}", parent.display())));
    }
    Ok(Target { name, end: End::File { file, parent, permissions } })
}

/// Where a path leads whose last link has nothing at its end yet.
fn end_of_links(path: &Path) -> PathBuf {
    let mut end = path.to_owned();
    // Ends: the system has followed these links and found nothing, rather than too many.
    while let Ok(link) = fs::read_link(&end) {
        end.pop();
        end.push(link);
    }
    end
}

/// A temporary directory that is removed when dropped and when the process is interrupted; if the process is
/// killed, by the next one that makes one in the same place.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    directory: TempDir,
    /// Says that this process is alive.
    _lock: Option<File>,
}

impl TemporaryFolder {
    /// A new directory in `parent`, for nobody else to look into.
    pub(crate) fn new(parent: &Path) -> io::Result<Self> {
        // Held over the creation, so that an interruption finds the directory listed or absent.
        let mut list = unfinished();
        let directory = tempfile::Builder::new().prefix(stale::PREFIX).tempdir_in(parent)?;
        list.push(directory.path().to_owned());
        drop(list);
        let this = Self { _lock: stale::own(directory.path())?, directory };
        stale::remove_beside(this.directory.path());
        Ok(this)
    }

    /// The path of `name` in the directory.
    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.path().join(name)
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        unfinished().retain(|path| path != self.directory.path());
    }
}

/// Makes a rename last through a power cut, where the system can.
fn sync_directory(directory: &Path) {
    // Not every file system lets a directory be opened; the file is whole either way.
    if let Ok(handle) = File::open(directory) {
        let _ = handle.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes `text` as [`create`] asks.
    fn saying(text: &str) -> impl FnOnce(&Output) -> Result<(), CliError> {
        move |path| fs::write(path, text).map_err(|e| CliError::failed("test").because(e))
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(directory)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("c.npy");
        create(&target, saying("old")).unwrap();
        let error = create(&target, |path| {
            fs::write(path, "ne").unwrap();
            Err(CliError::failed("power cut"))
        });
        assert!(error.is_err());
        assert_eq!(fs::read_to_string(&target).unwrap(), "old");
        assert_eq!(names(directory.path()), ["c.npy"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_kept() {
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real"), directory.path().join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        create(&link, saying("new")).unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());

        create(Path::new("/dev/null"), saying("gone")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_keeps_its_permissions_and_a_link_its_end() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let (link, end) = (directory.path().join("c.npy"), directory.path().join("object"));
        std::os::unix::fs::symlink("object", &link).unwrap();
        let named = |path: &Output| {
            assert_eq!(path.as_ref().file_name().unwrap(), "c.npy");
            fs::write(path, "x").map_err(|e| CliError::failed("write").because(e))
        };
        create(&link, named).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        fs::set_permissions(&end, fs::Permissions::from_mode(0o600)).unwrap();
        create(&link, named).unwrap();
        assert_eq!(fs::metadata(&end).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn places_that_cannot_be_written_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let error = create(directory.path(), |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("is a directory"), "{error}");
        let missing = directory.path().join("no/such/c.npy");
        let error = create(&missing, |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("no/such/c.npy"), "{error}");
    }
}
