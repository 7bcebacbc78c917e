//! Tokens of PTX.

use logos::{FilterResult, Lexer, Logos};

/// A token's kind; its text is in the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Logos)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip r"//[^\n]*")]
pub(super) enum Token {
    #[token("/*", skip_comment)]
    Comment,
    /// `add`, `%r1`, `$L__BB0_2`, `_ZN3foo`.
    #[regex(r"[a-zA-Z][a-zA-Z0-9_$]*")]
    #[regex(r"[_$%][a-zA-Z0-9_$]+")]
    Word,
    /// `.f32`, `.2d`, `.shared::cluster`.
    #[regex(r"\.[a-zA-Z0-9_]+(::[a-zA-Z0-9_]+)*")]
    Dotted,
    #[regex(r"0[xX][0-9a-fA-F]+U?")]
    #[regex(r"0[bB][01]+U?")]
    #[regex(r"[0-9]+U?")]
    Integer,
    #[regex(r"0[fF][0-9a-fA-F]+")]
    Single,
    #[regex(r"0[dD][0-9a-fA-F]+")]
    Double,
    #[regex(r"[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?")]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+")]
    Decimal,
    #[regex(r#""[^"\n]*""#)]
    Text,
    #[token("_")]
    Sink,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("!")]
    Not,
    #[token("|")]
    Or,
    #[token("@")]
    At,
    #[token("=")]
    Equals,
}

/// Comments end at the first `*/`, or never.
fn skip_comment(lexer: &mut Lexer<'_, Token>) -> FilterResult<(), ()> {
    match lexer.remainder().find("*/") {
        Some(end) => {
            lexer.bump(end + 2);
            FilterResult::Skip
        }
        None => FilterResult::Error(()),
    }
}

/// A token and where it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub(super) token: Token,
    /// Byte range in the source.
    pub(super) start: usize,
    pub(super) end: usize,
    /// From 1.
    pub(super) line: u32,
}

/// All tokens, or the byte and the line of what is none.
pub(super) fn tokens(source: &str) -> Result<Vec<Placed>, (usize, u32)> {
    let mut placed = Vec::with_capacity(source.len() / 4);
    let (mut line, mut counted) = (1, 0);
    for (token, span) in Token::lexer(source).spanned() {
        let between = &source.as_bytes()[counted..span.start];
        line += u32::try_from(between.iter().filter(|&&byte| byte == b'\n').count())
            .unwrap_or(u32::MAX - line);
        counted = span.start;
        match token {
            Ok(token) => placed.push(Placed { token, start: span.start, end: span.end, line }),
            Err(()) => return Err((span.start, line)),
        }
    }
    Ok(placed)
}
