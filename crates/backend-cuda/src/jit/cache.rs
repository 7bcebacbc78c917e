//! Compiled kernels on disk.
//!
//! One file for each binary: the cubin as it is, so that tools read the file, then the compiler's log,
//! then a trailer with both lengths and a hash. PTX has files of the same form, without a log. A file is written under another name and renamed, so
//! that whoever reads finds it whole or not at all; one that is not sound is passed over.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::binary::{Binary, Origin};
use super::sources::Texts;
use crate::CudaError;
use crate::error::Arch;
use crate::kernels::Kernel;

const MAGIC: [u8; 8] = *b"girihk01";

const CUBIN: &str = "cubin";
const PTX: &str = "ptx";

/// Magic, both lengths, and the hash of all before it.
const TRAILER: usize = 32;

/// What decides a binary, but for the compiler's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key(String);

impl Key {
    pub(super) fn of(kernel: &Kernel, arch: Arch, options: &[String], texts: &Texts) -> Self {
        let mut hash = Xxh3::new();
        // Every part by its length too, so that no two lists of parts run into the same bytes.
        let mut part = |text: &str| {
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        };
        part(kernel.stem);
        options.iter().for_each(|option| part(option));
        part(&texts.source);
        for (name, text) in &texts.headers {
            part(name);
            part(text);
        }
        let (stem, config) = (kernel.stem, &kernel.config);
        Self(format!("{stem}-{config}-{arch}-{:032x}", hash.digest128()))
    }

    fn file(&self, (major, minor): (u32, u32), ending: &str) -> String {
        format!("{}-nvrtc{major}.{minor}.{ending}", self.0)
    }

    /// The compiler's version in the name of a file of this key.
    fn version_of(&self, file: &str) -> Option<(u32, u32)> {
        let version = file.strip_prefix(&self.0)?.strip_prefix("-nvrtc")?.strip_suffix(".cubin")?;
        let (major, minor) = version.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }
}

/// A folder of binaries.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The binary of a compiler's version; of the newest there is, without one.
    pub(super) fn load(&self, key: &Key, version: Option<(u32, u32)>) -> Option<Binary> {
        let version = version.or_else(|| {
            let files = fs::read_dir(&self.folder).ok()?;
            let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
            names.filter_map(|name| key.version_of(&name)).max()
        })?;
        let path = self.folder.join(key.file(version, CUBIN));
        let (cubin, log) = unpack(&fs::read(&path).ok()?)?;
        Some(Binary { cubin, log, origin: Origin::Cache(path) })
    }

    /// Writes a binary, in place of an older one of the same key and version.
    ///
    /// # Errors
    /// [`CudaError::Cache`] if the folder or a file can't be written.
    pub(super) fn store(
        &self,
        key: &Key,
        version: (u32, u32),
        binary: &Binary,
    ) -> Result<PathBuf, CudaError> {
        let bytes = pack(&binary.cubin, &binary.log);
        self.write(self.folder.join(key.file(version, CUBIN)), &bytes)
    }

    /// The PTX that a compiler's version made.
    pub(super) fn load_ptx(&self, key: &Key, version: (u32, u32)) -> Option<String> {
        let bytes = fs::read(self.folder.join(key.file(version, PTX))).ok()?;
        String::from_utf8(unpack(&bytes)?.0).ok()
    }

    /// Writes PTX, as [`store`](Self::store) does a binary.
    ///
    /// # Errors
    /// [`CudaError::Cache`] if the folder or a file can't be written.
    pub(super) fn store_ptx(
        &self,
        key: &Key,
        version: (u32, u32),
        ptx: &str,
    ) -> Result<PathBuf, CudaError> {
        self.write(self.folder.join(key.file(version, PTX)), &pack(ptx.as_bytes(), ""))
    }

    fn write(&self, path: PathBuf, bytes: &[u8]) -> Result<PathBuf, CudaError> {
        let write = || -> io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            let mut builder = tempfile::Builder::new();
            // A cache may be built by one user for others.
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                builder.permissions(fs::Permissions::from_mode(0o644));
            }
            let mut file = builder.tempfile_in(&self.folder)?;
            file.write_all(bytes)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            Ok(())
        };
        match write() {
            Ok(()) => Ok(path),
            Err(source) => Err(CudaError::Cache { path, source }),
        }
    }
}

fn pack(code: &[u8], log: &str) -> Vec<u8> {
    let mut bytes = [code, log.as_bytes()].concat();
    bytes.extend(MAGIC);
    bytes.extend((code.len() as u64).to_le_bytes());
    bytes.extend((log.len() as u64).to_le_bytes());
    let hash = xxh3_64(&bytes);
    bytes.extend(hash.to_le_bytes());
    bytes
}

/// The code and the log; nothing if the bytes are not as they were written.
fn unpack(bytes: &[u8]) -> Option<(Vec<u8>, String)> {
    let (body, trailer) = bytes.split_at_checked(bytes.len().checked_sub(TRAILER)?)?;
    let word = |i: usize| Some(u64::from_le_bytes(trailer[8 * i..8 * i + 8].try_into().ok()?));
    let (cubin_len, log_len) = (usize::try_from(word(1)?).ok()?, usize::try_from(word(2)?).ok()?);
    let hashed = &bytes[..bytes.len() - 8];
    if trailer[..8] != MAGIC
        || word(3)? != xxh3_64(hashed)
        || cubin_len.checked_add(log_len)? != body.len()
    {
        return None;
    }
    let (cubin, log) = body.split_at(cubin_len);
    Some((cubin.to_vec(), String::from_utf8(log.to_vec()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels;

    fn binary(cubin: &[u8]) -> Binary {
        Binary { cubin: cubin.to_vec(), log: "log".into(), origin: Origin::Compiled(None) }
    }

    fn key(option: &str, source: &str, header: &str) -> Key {
        let texts = Texts { source: source.into(), headers: vec![("h".into(), header.into())] };
        Key::of(&kernels::all()[0], Arch::SM_90A, &[option.to_owned()], &texts)
    }

    #[test]
    fn a_key_changes_with_every_part() {
        let base = key("o", "s", "h");
        assert_eq!(base, key("o", "s", "h"));
        for other in
            [key("x", "s", "h"), key("o", "x", "h"), key("o", "s", "x"), key("os", "", "h")]
        {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn what_is_stored_is_found_again_under_its_version() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("new").join("kernels"));
        let key = key("o", "s", "h");
        assert!(cache.load(&key, Some((13, 0))).is_none());
        cache.store(&key, (12, 9), &binary(b"old")).unwrap();
        cache.store(&key, (13, 0), &binary(b"first")).unwrap();
        let path = cache.store(&key, (13, 0), &binary(b"second")).unwrap();
        let found = cache.load(&key, Some((13, 0))).unwrap();
        assert_eq!((&found.cubin[..], &*found.log), (&b"second"[..], "log"));
        assert!(matches!(found.origin, Origin::Cache(from) if from == path));
        assert_eq!(cache.load(&key, Some((12, 9))).unwrap().cubin, b"old");
        assert!(cache.load(&key, Some((12, 8))).is_none());
        // No compiler: the newest there is.
        assert_eq!(cache.load(&key, None).unwrap().cubin, b"second");
        // Nothing but the two files: what was written under other names was renamed.
        assert_eq!(fs::read_dir(cache.folder()).unwrap().count(), 2);
    }

    #[test]
    fn ptx_is_kept_beside_the_binary_of_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned());
        let key = key("o", "s", "h");
        cache.store(&key, (13, 0), &binary(b"cubin")).unwrap();
        assert!(cache.load_ptx(&key, (13, 0)).is_none());
        let path = cache.store_ptx(&key, (13, 0), "// PTX").unwrap();
        assert_eq!(cache.load_ptx(&key, (13, 0)).unwrap(), "// PTX");
        assert!(cache.load_ptx(&key, (12, 9)).is_none());
        assert_eq!(cache.load(&key, None).unwrap().cubin, b"cubin");
        fs::write(path, "// PTX").unwrap();
        assert!(cache.load_ptx(&key, (13, 0)).is_none());
    }

    #[test]
    fn damage_is_passed_over() {
        let whole = pack(b"cubin", "log");
        assert!(unpack(&whole).is_some());
        for len in 0..whole.len() {
            assert!(unpack(&whole[..len]).is_none(), "cut to {len} bytes");
        }
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            assert!(unpack(&flipped).is_none(), "byte {at} changed");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Cache::new(file.join("kernels"))
            .store(&key("o", "s", "h"), (13, 0), &binary(b"x"))
            .unwrap_err();
        assert!(error.to_string().contains("kernels"), "{error}");
    }
}
