//! Operands.

use super::Parser;
use super::lexer::Token;
use crate::ast::Operand;
use crate::error::ParseError;

impl Parser<'_> {
    pub(super) fn operand(&mut self) -> Result<Operand, ParseError> {
        let first = self.nested(Self::primary)?;
        if self.take(Token::Or) {
            let second = self.nested(Self::primary)?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn primary(&mut self) -> Result<Operand, ParseError> {
        let token = self.token().ok_or_else(|| self.unexpected("an operand"))?;
        Ok(match token {
            Token::Word => self.named_operand()?,
            Token::Integer => Operand::Integer(self.integer()?),
            Token::Single | Token::Double | Token::Decimal => self.float(false)?,
            Token::Minus => {
                self.at += 1;
                match self.token() {
                    Some(Token::Integer) => Operand::Integer(self.integer()?.wrapping_neg()),
                    _ => self.float(true)?,
                }
            }
            Token::Sink => {
                self.at += 1;
                Operand::Sink
            }
            Token::Not => {
                self.at += 1;
                Operand::Not(Box::new(self.nested(Self::primary)?))
            }
            Token::OpenBrace => {
                self.at += 1;
                Operand::Vector(self.list(Token::CloseBrace, ", or }", Self::operand)?)
            }
            Token::OpenParen => {
                self.at += 1;
                Operand::List(self.list(Token::CloseParen, ", or )", Self::operand)?)
            }
            Token::OpenBracket => {
                self.at += 1;
                self.bracketed()?
            }
            _ => return Err(self.unexpected("an operand")),
        })
    }

    /// `%r1`, `%tid.x`, `variable + 8`.
    fn named_operand(&mut self) -> Result<Operand, ParseError> {
        let mut name = self.word("a name")?;
        if name == "WARP_SZ" {
            return Ok(Operand::Integer(32));
        }
        if let Some(component) = self.dotted() {
            name.push('.');
            name.push_str(component);
            self.at += 1;
        }
        match self.token() {
            Some(Token::Plus | Token::Minus) => Ok(Operand::Moved(name, self.offset()?)),
            _ => Ok(Operand::Name(name)),
        }
    }

    /// Any number of `+ 8`, `- 8` and `+ -8`, added up.
    pub(super) fn offset(&mut self) -> Result<i64, ParseError> {
        let mut offset = 0_i64;
        loop {
            if self.take(Token::Plus) {
                offset = offset.wrapping_add(self.signed_integer()?.cast_signed());
            } else if self.take(Token::Minus) {
                offset = offset.wrapping_sub(self.signed_integer()?.cast_signed());
            } else {
                return Ok(offset);
            }
        }
    }

    fn bracketed(&mut self) -> Result<Operand, ParseError> {
        let first = self.nested(Self::primary)?;
        if !matches!(first, Operand::Name(_) | Operand::Moved(..) | Operand::Integer(_)) {
            return Err(self.unexpected("an address"));
        }
        if self.take(Token::Comma) {
            let coordinates = match self.nested(Self::primary)? {
                Operand::Vector(coordinates) => coordinates,
                one => vec![one],
            };
            self.expect(Token::CloseBracket, "]")?;
            return Ok(Operand::Tensor { map: Box::new(first), coordinates });
        }
        let more = self.offset()?;
        self.expect(Token::CloseBracket, "]")?;
        Ok(match first {
            Operand::Moved(name, offset) => Operand::Address {
                base: Box::new(Operand::Name(name)),
                offset: offset.wrapping_add(more),
            },
            base => Operand::Address { base: Box::new(base), offset: more },
        })
    }

    fn float(&mut self, negative: bool) -> Result<Operand, ParseError> {
        let text = self.text();
        let value = match self.token() {
            Some(Token::Single) if text.len() == 10 => {
                let bits = u32::from_str_radix(&text[2..], 16).unwrap_or_default();
                Operand::Single(bits ^ u32::from(negative) << 31)
            }
            Some(Token::Double) if text.len() == 18 => {
                let bits = u64::from_str_radix(&text[2..], 16).unwrap_or_default();
                Operand::Double(bits ^ u64::from(negative) << 63)
            }
            Some(Token::Decimal) => {
                let value: f64 = text.parse().unwrap_or(f64::NAN);
                Operand::Double(if negative { -value } else { value }.to_bits())
            }
            _ => return Err(self.unexpected("a number of 8 or 16 hexadecimal digits")),
        };
        self.at += 1;
        Ok(value)
    }
}
