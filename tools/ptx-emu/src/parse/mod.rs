//! Text to [`ast::Module`]: a recursive-descent parser over a token list, in time linear in the
//! text and with bounded recursion, so that no input hangs it or overflows its stack.

mod function;
mod lexer;
mod operand;
mod statement;
#[cfg(test)]
mod tests;
mod variable;

use self::lexer::{Placed, Token};
use crate::ast;
use crate::error::{ParseError, Problem};

/// Blocks in blocks, vectors in operands and lists in initializers that are followed.
pub(crate) const MAX_DEPTH: u32 = 64;

/// Characters of a line that an error quotes.
const MAX_QUOTE: usize = 200;

/// Reads a module.
pub(crate) fn module(source: &str) -> Result<ast::Module, ParseError> {
    let tokens = lexer::tokens(source).map_err(|(at, line)| {
        let found = source[at..].chars().next().unwrap_or(' ');
        let (expected, found) = ("a token of PTX".to_owned(), format!("{found:?}"));
        ParseError::new(line, line_around(source, at), Problem::Syntax { expected, found })
    })?;
    Parser { source, tokens, at: 0, depth: 0 }.module()
}

/// The line that holds a byte, trimmed and cut to a readable length.
fn line_around(source: &str, at: usize) -> String {
    let before = &source.as_bytes()[..at];
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    source[start..].lines().next().unwrap_or("").trim().chars().take(MAX_QUOTE).collect()
}

/// The tokens and how far they are read.
struct Parser<'a> {
    source: &'a str,
    tokens: Vec<Placed>,
    at: usize,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn token(&self) -> Option<Token> {
        self.tokens.get(self.at).map(|placed| placed.token)
    }

    fn token_after(&self, n: usize) -> Option<Token> {
        self.tokens.get(self.at + n).map(|placed| placed.token)
    }

    /// The text of the next token.
    fn text(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", |placed| &self.source[placed.start..placed.end])
    }

    /// The line of the next token, or of the last one at the end.
    fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |placed| placed.line)
    }

    /// The text after the dot of the next token, if it is a directive or modifier.
    fn dotted(&self) -> Option<&'a str> {
        (self.token() == Some(Token::Dotted)).then(|| &self.text()[1..])
    }

    fn error(&self, problem: Problem) -> ParseError {
        let at = self.tokens.get(self.at).map_or(self.source.len(), |placed| placed.start);
        ParseError::new(self.line(), line_around(self.source, at), problem)
    }

    fn unexpected(&self, expected: &str) -> ParseError {
        let found = match self.text() {
            "" => "the end of the file".to_owned(),
            text => text.chars().take(MAX_QUOTE).collect(),
        };
        self.error(Problem::Syntax { expected: expected.to_owned(), found })
    }

    /// Takes the next token if it is of this kind.
    fn take(&mut self, token: Token) -> bool {
        let here = self.token() == Some(token);
        self.at += usize::from(here);
        here
    }

    /// Takes the next token if it is this directive or modifier.
    fn take_dotted(&mut self, name: &str) -> bool {
        let here = self.dotted() == Some(name);
        self.at += usize::from(here);
        here
    }

    /// Takes the next token, which has to be of this kind, and returns its text.
    fn expect(&mut self, token: Token, what: &str) -> Result<&'a str, ParseError> {
        let text = self.text();
        if self.take(token) { Ok(text) } else { Err(self.unexpected(what)) }
    }

    fn word(&mut self, what: &str) -> Result<String, ParseError> {
        self.expect(Token::Word, what).map(str::to_owned)
    }

    /// An unsigned integer of 64 bits.
    fn integer(&mut self) -> Result<u64, ParseError> {
        let text = self.text();
        let digits = text.trim_end_matches('U');
        let value = if self.token() != Some(Token::Integer) {
            None
        } else if let Some(hex) = strip_either(digits, "0x", "0X") {
            u64::from_str_radix(hex, 16).ok()
        } else if let Some(binary) = strip_either(digits, "0b", "0B") {
            u64::from_str_radix(binary, 2).ok()
        } else if digits.len() > 1 && digits.starts_with('0') {
            u64::from_str_radix(digits, 8).ok()
        } else {
            digits.parse().ok()
        };
        let value = value.ok_or_else(|| self.unexpected("an integer of 64 bits"))?;
        self.at += 1;
        Ok(value)
    }

    /// An unsigned integer of 32 bits.
    fn small_integer(&mut self) -> Result<u32, ParseError> {
        let at = self.at;
        let value = self.integer()?;
        u32::try_from(value).map_err(|_| {
            self.at = at;
            self.unexpected("an integer of 32 bits")
        })
    }

    /// An integer with an optional sign, in two's complement.
    fn signed_integer(&mut self) -> Result<u64, ParseError> {
        let negative = self.take(Token::Minus);
        let value = self.integer()?;
        Ok(if negative { value.wrapping_neg() } else { value })
    }

    /// Runs `read` one level deeper.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(Problem::TooDeep(MAX_DEPTH)));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads items between commas, up to a closing token; none is fine.
    fn list<T>(
        &mut self,
        close: Token,
        what: &str,
        mut item: impl FnMut(&mut Self) -> Result<T, ParseError>,
    ) -> Result<Vec<T>, ParseError> {
        let mut items = Vec::new();
        if self.take(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.take(close) {
                return Ok(items);
            }
            if !self.take(Token::Comma) {
                return Err(self.unexpected(what));
            }
        }
    }
}

fn strip_either<'a>(text: &'a str, one: &str, other: &str) -> Option<&'a str> {
    text.strip_prefix(one).or_else(|| text.strip_prefix(other))
}
