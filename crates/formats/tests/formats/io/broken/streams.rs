//! Lines without end, gzip, streams that trickle or break off, and progress.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use girih_formats::io::{
    self, Field, FileKind, ReadError, ReadOptions, Source, Symmetry, TextFault,
};

use super::support::{BANNER, fault_of, read, read_with};

#[test]
fn lines_without_end() {
    let long = " ".repeat(3 << 20);
    let text = format!("{BANNER}2 2 2\n1 1 5\n{long}2 2 1\n");
    let limit = 1 << 20;
    assert_eq!(fault_of(&text), (4, limit as u64 + 1, TextFault::LineTooLong { limit }));
    let text = format!("{BANNER}%{long}\n2 2 0\n");
    assert_eq!(fault_of(&text), (2, limit as u64 + 1, TextFault::LineTooLong { limit }));
    // Zero bytes for ever, as some devices give: no memory is spent on them.
    let endless = Read::chain(BANNER.as_bytes(), std::io::repeat(b'0'));
    let error = io::read::<f64>(Source::reader(endless), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, ReadError::Text { fault: TextFault::LineTooLong { .. }, .. }));
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_is_seen_by_its_bytes_and_may_have_members() {
    let text = format!("{BANNER}2 2 2\n1 1 5\n2 2 6\n");
    let (first, second) = text.split_at(60);
    let bytes = [gzip(first), gzip(second)].concat();
    let (a, info) =
        io::read_with_info::<f32>(Source::reader(&bytes[..]), &ReadOptions::default()).unwrap();
    assert_eq!(a.values()[..], [5.0, 6.0]);
    assert!(info.gzip);
    assert_eq!(
        (info.kind, info.field, info.symmetry, info.stored_entries),
        (FileKind::MatrixMarketCoordinate, Field::Real, Symmetry::General, 2)
    );
}

#[test]
fn truncated_gzip_says_how_far_it_got() {
    let mut text = format!("{BANNER}50000 50000 50000\n");
    for i in 1..=50_000u32 {
        text.push_str(&format!("{i} {} 1.{}\n", i * 7919 % 50_000 + 1, i * 31 % 1009));
    }
    let whole = gzip(&text);
    for keep in [3, 10, 11, 40, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let result = read_with(&whole[..keep], &ReadOptions::default());
        match result {
            Err(ReadError::Gzip { place, truncated: true, .. }) => {
                assert!(place.line >= 1 && place.line <= 50_003, "{place}");
                assert!(keep < whole.len() / 2 || place.line > 1000, "{place}");
            }
            other => panic!("{keep} bytes: {other:?}"),
        }
    }
    let mut corrupt = whole.clone();
    let middle = whole.len() / 2;
    corrupt[middle..middle + 64].fill(0xff);
    let error = read_with(&corrupt, &ReadOptions::default()).unwrap_err();
    assert!(error.place().is_some(), "{error}");
}

#[test]
fn streams_that_trickle_are_read_all_the_same() {
    struct Trickle<'a>(&'a [u8]);
    impl Read for Trickle<'_> {
        fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
            let n = 7.min(self.0.len()).min(buf.len());
            buf[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }
    let mut text = format!("{BANNER}2000 2000 2000\n");
    for i in (1..=2000).rev() {
        text.push_str(&format!("{i} {i} {i}.5\n"));
    }
    let a = io::read::<f64>(Source::reader(Trickle(text.as_bytes())), &ReadOptions::default());
    assert_eq!(a.unwrap(), read(&text).unwrap());
}

#[test]
fn progress_ends_at_the_total() {
    use std::sync::{Arc, Mutex};
    let seen = Arc::new(Mutex::new(Vec::new()));
    let text = format!("{BANNER}2 2 1\n1 1 5\n");
    let sink = Arc::clone(&seen);
    let options =
        ReadOptions::default().progress(Arc::new(move |n, of| sink.lock().unwrap().push((n, of))));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &text).unwrap();
    io::read::<f32>(file.path(), &options).unwrap();
    let total = text.len() as u64;
    assert_eq!(seen.lock().unwrap().last(), Some(&(total, Some(total))));
}
