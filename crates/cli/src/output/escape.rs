//! Text that cannot steer a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with control characters written out, as `\x1b`: a name of a file may hold any. Ends of lines and
/// tabs stay.
pub(crate) fn controls(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        // Writing to a string does not fail.
        let _ = if steers(c) {
            write!(escaped, "\\x{:02x}", u32::from(c))
        } else {
            escaped.write_char(c)
        };
    }
    Cow::Owned(escaped)
}

/// The same of a text that is not needed any more.
pub(crate) fn escaped(text: String) -> String {
    match controls(&text) {
        Cow::Owned(escaped) => escaped,
        Cow::Borrowed(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out() {
        assert_eq!(controls("a\x1b[31mb\u{9b}2J\r\x7f"), "a\\x1b[31mb\\x9b2J\\x0d\\x7f");
        assert!(matches!(controls("a × b\n\tµs"), Cow::Borrowed(_)));
    }
}
