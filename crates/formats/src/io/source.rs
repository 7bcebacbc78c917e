//! Where a matrix is read from: a file, or any stream of bytes.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::ReadError;
use super::options::Progress;

/// Bytes looked at to tell what a file is.
pub(super) const HEAD: usize = 4096;

/// Something to read a matrix from.
///
/// A regular file is read at several places at once; anything else, pipes and gzipped files
/// included, from front to back.
pub struct Source<'a> {
    repr: SourceRepr<'a>,
}

enum SourceRepr<'a> {
    Path(PathBuf),
    Reader(Box<dyn Read + Send + 'a>),
}

impl Source<'static> {
    /// Standard input.
    #[must_use]
    pub fn stdin() -> Self {
        Self::reader(io::stdin())
    }
}

impl<'a> Source<'a> {
    /// A stream of bytes. It is read in large pieces and need not be buffered.
    pub fn reader(reader: impl Read + Send + 'a) -> Self {
        Self { repr: SourceRepr::Reader(Box::new(reader)) }
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for Source<'static> {
    fn from(path: &P) -> Self {
        Self { repr: SourceRepr::Path(path.as_ref().to_owned()) }
    }
}

impl From<PathBuf> for Source<'static> {
    fn from(path: PathBuf) -> Self {
        Self { repr: SourceRepr::Path(path) }
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.repr {
            SourceRepr::Path(path) => f.debug_tuple("Source").field(path).finish(),
            SourceRepr::Reader(_) => f.write_str("Source(reader)"),
        }
    }
}

/// An opened source, decompressed if it was gzipped.
pub(super) struct Opened<'a> {
    /// The first bytes, up to [`HEAD`] of them.
    pub(super) head: Vec<u8>,
    pub(super) bytes: Bytes<'a>,
    /// The extension of its name without `.gz`, in lower case.
    pub(super) extension: String,
    pub(super) gzip: bool,
    /// Whether reading failed within the first bytes; reading on fails again.
    pub(super) cut: bool,
    /// The regular file it comes from, which can be opened again.
    pub(super) path: Option<PathBuf>,
}

/// The bytes of a source, from the first.
pub(super) enum Bytes<'a> {
    /// A regular file that is not compressed.
    File(PlainFile),
    Stream(Box<dyn Read + Send + 'a>),
}

impl<'a> Bytes<'a> {
    /// The bytes from front to back.
    pub(super) fn into_reader(self) -> io::Result<Box<dyn Read + Send + 'a>> {
        match self {
            Self::File(PlainFile { mut file, .. }) => {
                // Where reading at a place moves the position, the head has moved it.
                file.rewind()?;
                Ok(Box::new(file))
            }
            Self::Stream(stream) => Ok(stream),
        }
    }
}

impl<'a> Opened<'a> {
    pub(super) fn open(source: Source<'a>, progress: Option<&Progress>) -> io::Result<Self> {
        let progress = progress.cloned();
        let (extension, total, path, reader) = match source.repr {
            SourceRepr::Reader(reader) => (String::new(), None, None, reader),
            SourceRepr::Path(path) => {
                let extension = extension_of(&path);
                let file = File::open(&path)?;
                let metadata = file.metadata()?;
                if let Some(file) = PlainFile::new(&file, &metadata)? {
                    let mut head = vec![0; HEAD];
                    let n = file.read_at(&mut head, 0)?;
                    head.truncate(n);
                    if !is_gzip(&head) {
                        let (bytes, path) = (Bytes::File(file), Some(path));
                        return Ok(Self { head, bytes, extension, gzip: false, cut: false, path });
                    }
                }
                let total = metadata.is_file().then_some(metadata.len());
                let path = metadata.is_file().then_some(path);
                (extension, total, path, Box::new(file) as Box<dyn Read + Send>)
            }
        };
        let reader = CountedReader { reader, read: 0, total, progress };
        let (head, stream, cut) = peek(Box::new(reader));
        if !is_gzip(&head) {
            return Ok(Self {
                head,
                bytes: Bytes::Stream(stream),
                extension,
                gzip: false,
                cut,
                path,
            });
        }
        let text = MultiGzDecoder::new(BufReader::with_capacity(1 << 16, stream));
        let (head, stream, cut) = peek(Box::new(text));
        Ok(Self { head, bytes: Bytes::Stream(stream), extension, gzip: true, cut, path })
    }
}

impl Opened<'_> {
    /// The failure of a source that was cut within its first bytes.
    pub(super) fn failure(self) -> ReadError {
        let line = self.head.iter().filter(|&&b| b == b'\n').count() as u64 + 1;
        let column = self.head.iter().rev().take_while(|&&b| b != b'\n').count() as u64 + 1;
        let Bytes::Stream(mut stream) = self.bytes else { return ReadError::UnknownFormat };
        match io::copy(&mut stream, &mut io::sink()) {
            Ok(_) => ReadError::UnknownFormat,
            Err(e) => ReadError::broken(e, line, column),
        }
    }
}

fn is_gzip(head: &[u8]) -> bool {
    head.starts_with(&[0x1f, 0x8b])
}

fn extension_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or(String::new(), |(_, extension)| extension.to_owned())
}

/// The first bytes of a stream, the whole stream again, and whether it failed within them.
fn peek<'a>(mut stream: Box<dyn Read + Send + 'a>) -> (Vec<u8>, Box<dyn Read + Send + 'a>, bool) {
    let mut head = Vec::with_capacity(HEAD);
    // An error is met again, in its place, by whoever reads past the head.
    let failure = stream.by_ref().take(HEAD as u64).read_to_end(&mut head).err();
    let front = Cursor::new(head.clone());
    match failure {
        None => (head, Box::new(front.chain(stream)), false),
        Some(e) => (head, Box::new(front.chain(Failing(Some(e)))), true),
    }
}

/// A stream that fails, then ends.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Reports progress of a stream.
struct CountedReader<R> {
    reader: R,
    read: u64,
    total: Option<u64>,
    progress: Option<Progress>,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buf)?;
        self.read += n as u64;
        if let Some(progress) = &self.progress {
            progress(self.read, self.total);
        }
        Ok(n)
    }
}

/// A regular file, readable at any place from any thread.
#[derive(Debug)]
pub(super) struct PlainFile {
    file: File,
    len: u64,
}

impl PlainFile {
    /// `None` if this is not a regular file, or its length cannot be trusted because it is one
    /// that the kernel makes up.
    fn new(file: &File, metadata: &std::fs::Metadata) -> io::Result<Option<Self>> {
        if !cfg!(any(unix, windows)) || !metadata.is_file() || metadata.len() == 0 {
            return Ok(None);
        }
        Ok(Some(Self { file: file.try_clone()?, len: metadata.len() }))
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Fills `buf` from `offset` on. Fewer bytes than requested mean the end of the file.
    pub(super) fn read_at(&self, mut buf: &mut [u8], mut offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while !buf.is_empty() {
            match read_some_at(&self.file, buf, offset) {
                Ok(0) => break,
                Ok(n) => {
                    done += n;
                    offset += n as u64;
                    buf = &mut buf[n..];
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }

    /// A reader with its own position, from the first byte.
    pub(super) fn reader(&self) -> PlainFileReader<'_> {
        PlainFileReader { file: self, position: 0 }
    }
}

#[cfg(unix)]
fn read_some_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buf, offset)
}

#[cfg(windows)]
fn read_some_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buf, offset)
}

#[cfg(not(any(unix, windows)))]
fn read_some_at(_: &File, _: &mut [u8], _: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

/// See [`PlainFile::reader`].
#[derive(Debug)]
pub(super) struct PlainFileReader<'f> {
    file: &'f PlainFile,
    position: u64,
}

impl Read for PlainFileReader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(buf, self.position)?;
        self.position += n as u64;
        Ok(n)
    }
}

impl Seek for PlainFileReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.file.len.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = target.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
