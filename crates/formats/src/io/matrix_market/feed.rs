//! Blocks of whole lines, from a file in parallel or from a stream in turn.

use std::io::{self, Read};
use std::sync::Mutex;

use girih_parallel::prelude::*;

use super::line::{MAX_LINE, Shape};
use super::parse::{PADDING, find_entry};
use crate::io::source::PlainFile;

/// Bytes of text in a block, but for the line that crosses its end: what is parsed while it is
/// still in a core's cache.
pub(super) const BLOCK: usize = 1 << 18;
/// Bytes read past a block's end in the hope of finding its last line's end there.
const OVERHANG: usize = 512;

/// Some whole lines.
#[derive(Debug, Default)]
pub(super) struct Text {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Whether the lines are followed by one that is too long.
    pub(super) cut: bool,
}

impl Text {
    /// The text with the padding the parser needs, and where the text proper ends.
    pub(super) fn padded(&self) -> (&[u8], usize) {
        (&self.bytes[self.start..], self.end - self.start)
    }

    /// Ends the text at `end`, with padding in place of what follows.
    fn close(&mut self, end: usize) {
        self.end = end;
        self.bytes.truncate(end);
        self.bytes.resize(end + PADDING, 0);
    }
}

/// Where blocks come from.
pub(super) enum Feed<'a> {
    File(FileFeed<'a>),
    Stream(StreamFeed<'a>),
}

impl<'a> Feed<'a> {
    /// The lines of a file from the byte `body` on.
    pub(super) fn file(file: &'a PlainFile, body: u64) -> Self {
        Self::File(FileFeed { file, body, next: body, round: body, spare: Mutex::default() })
    }

    /// The lines of a stream.
    pub(super) fn stream(reader: Box<dyn Read + Send + 'a>) -> Self {
        Self::Stream(StreamFeed {
            reader,
            carry: Vec::new(),
            current: Vec::new(),
            next: Vec::new(),
            started: false,
            ended: false,
            failure: None,
        })
    }

    /// Bytes that are known to be left before the first round.
    pub(super) fn bytes_left(&self) -> Option<u64> {
        match self {
            Self::File(f) => Some(f.file.len().saturating_sub(f.next)),
            Self::Stream(_) => None,
        }
    }

    /// Gives the next blocks of text, in order, to the first of `slots`, in parallel. Returns how
    /// many there were: none at the end. A failure comes with the bytes of the line it fell in.
    pub(super) fn round<S: Send>(
        &mut self,
        slots: &mut [S],
        parse: impl Fn(&Text, &mut S) + Sync,
    ) -> Result<usize, (io::Error, usize)> {
        match self {
            Self::File(feed) => feed.round(slots, &parse),
            Self::Stream(feed) => feed.round(slots, &parse),
        }
    }

    /// The line in block `i` of the last round, and the column, of its `n`-th entry; all from 0.
    pub(super) fn place(&self, i: usize, n: u64, shape: &Shape) -> io::Result<(u64, u64)> {
        let find = |text: &Text| {
            let (bytes, end) = text.padded();
            find_entry(&bytes[..end], n, shape)
        };
        match self {
            Self::File(feed) => {
                let mut text = Text::default();
                feed.load(feed.round + (i * BLOCK) as u64, &mut text)?;
                Ok(find(&text))
            }
            Self::Stream(feed) => Ok(find(&feed.current[i])),
        }
    }
}

/// Blocks of a file; every task reads its own.
pub(super) struct FileFeed<'a> {
    file: &'a PlainFile,
    /// Where the first line starts.
    body: u64,
    /// Where the next round and the last one start.
    next: u64,
    round: u64,
    /// Texts not in use: as many as there are threads.
    spare: Mutex<Vec<Text>>,
}

impl FileFeed<'_> {
    fn round<S: Send>(
        &mut self,
        slots: &mut [S],
        parse: &(impl Fn(&Text, &mut S) + Sync),
    ) -> Result<usize, (io::Error, usize)> {
        let left = self.file.len().saturating_sub(self.next);
        let count = (left.div_ceil(BLOCK as u64)).min(slots.len() as u64) as usize;
        self.round = self.next;
        let this = &*self;
        slots[..count]
            .par_iter_mut()
            .with_max_len(1)
            .enumerate()
            .try_for_each(|(i, slot)| {
                let mut text = this.spare().pop().unwrap_or_default();
                this.load(this.round + (i * BLOCK) as u64, &mut text)?;
                parse(&text, slot);
                this.spare().push(text);
                Ok(())
            })
            .map_err(|e| (e, 0))?;
        self.next += (count * BLOCK) as u64;
        Ok(count)
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Vec<Text>> {
        self.spare.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Loads the lines that start in the block at `from`.
    fn load(&self, from: u64, text: &mut Text) -> io::Result<()> {
        // One byte before the block tells whether a line starts with it.
        let lead = usize::from(from > self.body);
        let inside = lead + BLOCK;
        let bytes = &mut text.bytes;
        text.cut = false;
        bytes.resize(inside + OVERHANG, 0);
        let mut len = self.file.read_at(bytes, from - lead as u64)?;
        let mut at_end = len < bytes.len();
        bytes.truncate(len);

        text.start = match lead {
            0 => 0,
            _ => line_end(bytes, 0).map_or(len, |at| at + 1),
        };
        if text.start >= inside.min(len) {
            text.start = 0;
            text.close(0);
            return Ok(());
        }
        // The last line that starts in the block ends at the first newline from its last byte on.
        let mut searched = inside.min(len) - 1;
        loop {
            if let Some(at) = line_end(bytes, searched) {
                text.close(at + 1);
                return Ok(());
            }
            if at_end {
                bytes.push(b'\n');
                text.close(len + 1);
                return Ok(());
            }
            let line = bytes[..inside].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
            let line = line.max(text.start);
            if len - line > MAX_LINE {
                text.cut = true;
                text.close(line);
                return Ok(());
            }
            searched = len;
            bytes.resize(len + BLOCK, 0);
            let n = self.file.read_at(&mut bytes[len..], from - lead as u64 + len as u64)?;
            len += n;
            at_end = len < bytes.len();
            bytes.truncate(len);
        }
    }
}

fn line_end(bytes: &[u8], from: usize) -> Option<usize> {
    bytes[from..].iter().position(|&b| b == b'\n').map(|at| from + at)
}

/// Blocks of a stream; the next ones are read while the current ones are parsed.
pub(super) struct StreamFeed<'a> {
    reader: Box<dyn Read + Send + 'a>,
    /// The start of a line whose end has not been read.
    carry: Vec<u8>,
    current: Vec<Text>,
    next: Vec<Text>,
    started: bool,
    ended: bool,
    failure: Option<io::Error>,
}

impl StreamFeed<'_> {
    fn round<S: Send>(
        &mut self,
        slots: &mut [S],
        parse: &(impl Fn(&Text, &mut S) + Sync),
    ) -> Result<usize, (io::Error, usize)> {
        if !self.started {
            self.started = true;
            self.fill(slots.len());
        }
        std::mem::swap(&mut self.current, &mut self.next);
        let current = std::mem::take(&mut self.current);
        if current.is_empty() {
            return self.failure.take().map_or(Ok(0), |e| Err((e, self.carry.len())));
        }
        let count = current.len();
        let most = slots.len();
        girih_parallel::join(
            || self.fill(most),
            || {
                slots[..count]
                    .par_iter_mut()
                    .with_max_len(1)
                    .zip(&current)
                    .for_each(|(slot, text)| parse(text, slot));
            },
        );
        self.current = current;
        Ok(count)
    }

    /// Reads up to `count` blocks into `next`.
    fn fill(&mut self, count: usize) {
        let mut spare = std::mem::take(&mut self.next);
        while self.next.len() < count && !self.ended {
            let mut text = spare.pop().unwrap_or_default();
            if self.fill_one(&mut text) {
                self.next.push(text);
            }
        }
    }

    /// Reads one block; `false` if there is no line left.
    fn fill_one(&mut self, text: &mut Text) -> bool {
        text.start = 0;
        text.cut = false;
        text.bytes.clear();
        text.bytes.append(&mut self.carry);
        let mut want = BLOCK;
        loop {
            let mut len = text.bytes.len();
            text.bytes.resize(want.max(len), 0);
            while len < text.bytes.len() {
                match self.reader.read(&mut text.bytes[len..]) {
                    Ok(0) => self.ended = true,
                    Ok(n) => len += n,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => {
                        self.failure = Some(e);
                        self.ended = true;
                    }
                }
                if self.ended {
                    break;
                }
            }
            text.bytes.truncate(len);
            if self.ended && self.failure.is_none() {
                if text.bytes.last().is_some_and(|&b| b != b'\n') {
                    text.bytes.push(b'\n');
                }
                text.close(text.bytes.len());
                return text.end > 0;
            }
            let line = text.bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
            if line > 0 || self.failure.is_some() {
                self.carry.extend_from_slice(&text.bytes[line..]);
                text.close(line);
                return line > 0;
            }
            if len > MAX_LINE {
                text.cut = true;
                self.ended = true;
                text.close(0);
                return true;
            }
            want = len + BLOCK;
        }
    }
}
