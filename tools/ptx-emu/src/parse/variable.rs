//! Variables, parameters and registers.

use super::Parser;
use super::lexer::Token;
use crate::ast::{Initializer, Linkage, Operand, Registers, Space, Type, Variable};
use crate::error::{ParseError, Problem};

/// What stands before the names of a declaration.
struct Declared {
    align: Option<u32>,
    ty: Type,
    vector: u32,
}

impl Parser<'_> {
    /// `.shared .align 16 .b8 a[64], b[8];`, from the space on.
    pub(super) fn variables(
        &mut self,
        linkage: Linkage,
        each: &mut dyn FnMut(Variable),
    ) -> Result<(), ParseError> {
        let space = match self.dotted() {
            Some("global") => Space::Global,
            Some("const") => Space::Const,
            Some("shared") => Space::Shared,
            Some("local") => Space::Local,
            Some("param") => Space::Param,
            _ => return Err(self.unexpected("a state space")),
        };
        self.at += 1;
        self.attribute()?;
        let declared = self.declared()?;
        loop {
            each(self.named(space, linkage, &declared)?);
            if self.take(Token::Semicolon) {
                return Ok(());
            }
            if !self.take(Token::Comma) {
                return Err(self.unexpected(", or ;"));
            }
        }
    }

    /// One parameter, after its space.
    pub(super) fn variable(
        &mut self,
        space: Space,
        linkage: Linkage,
    ) -> Result<Variable, ParseError> {
        let declared = self.declared()?;
        self.named(space, linkage, &declared)
    }

    /// `.reg .b32 %r<10>, x;`, after `.reg`.
    pub(super) fn registers(&mut self) -> Result<Registers, ParseError> {
        let line = self.line();
        let Declared { ty, vector, .. } = self.declared()?;
        let mut names = Vec::new();
        loop {
            let name = self.word("the name of a register")?;
            let count = if self.take(Token::Less) {
                let count = self.small_integer()?;
                self.expect(Token::Greater, ">")?;
                Some(count)
            } else {
                None
            };
            names.push((name, count));
            if self.take(Token::Semicolon) {
                return Ok(Registers { ty, vector, names, line });
            }
            if !self.take(Token::Comma) {
                return Err(self.unexpected(", or ;"));
            }
        }
    }

    /// Alignment, vector width and type, in the orders that compilers write.
    fn declared(&mut self) -> Result<Declared, ParseError> {
        let (mut align, mut vector, mut ty) = (None, 1, None);
        while let Some(name) = self.dotted() {
            if let Some(named) = Type::named(name)
                && ty.is_none()
            {
                ty = Some(named);
                self.at += 1;
                continue;
            }
            match name {
                "align" => {
                    self.at += 1;
                    let bytes = self.small_integer()?;
                    if !bytes.is_power_of_two() {
                        self.at -= 1;
                        return Err(self.unexpected("a power of two"));
                    }
                    // A `.ptr` says how what it points to is aligned, which no one needs.
                    if align.is_none() {
                        align = Some(bytes);
                    }
                }
                "v2" | "v4" if vector == 1 => {
                    vector = if name == "v2" { 2 } else { 4 };
                    self.at += 1;
                }
                "ptr" if ty.is_some() => {
                    self.at += 1;
                    if matches!(
                        self.dotted(),
                        Some("global" | "shared" | "local" | "const" | "param")
                    ) {
                        self.at += 1;
                    }
                    if self.take_dotted("align") {
                        self.small_integer()?;
                    }
                }
                _ => break,
            }
        }
        let ty = ty.ok_or_else(|| self.unexpected("a type"))?;
        Ok(Declared { align, ty, vector })
    }

    fn named(
        &mut self,
        space: Space,
        linkage: Linkage,
        declared: &Declared,
    ) -> Result<Variable, ParseError> {
        let line = self.line();
        let name = match self.token() {
            Some(Token::Sink) => {
                self.at += 1;
                "_".to_owned()
            }
            _ => self.word("a name")?,
        };
        let mut dims = Vec::new();
        while self.take(Token::OpenBracket) {
            if self.take(Token::CloseBracket) {
                dims.push(None);
            } else {
                dims.push(Some(self.integer()?));
                self.expect(Token::CloseBracket, "]")?;
            }
        }
        let initializer = if self.take(Token::Equals) { Some(self.initializer()?) } else { None };
        let &Declared { align, ty, vector } = declared;
        Ok(Variable { name, space, linkage, align, ty, vector, dims, initializer, line })
    }

    fn initializer(&mut self) -> Result<Initializer, ParseError> {
        if self.take(Token::OpenBrace) {
            return self.nested(|parser| {
                parser.list(Token::CloseBrace, ", or }", Self::initializer).map(Initializer::List)
            });
        }
        if self.token() == Some(Token::Word) && self.token_after(1) == Some(Token::OpenParen) {
            let function = self.text();
            self.at += 2;
            let value = match function {
                "generic" => {
                    let name = self.word("the name of a variable")?;
                    Initializer::Generic(name, 0)
                }
                "mask" => {
                    let mask = self.integer()?;
                    self.expect(Token::Comma, ",")?;
                    let inner = self.nested(Self::initializer)?;
                    Initializer::Mask(mask, Box::new(inner))
                }
                other => {
                    let other = Problem::Unsupported(format!("{other}() in an initializer"));
                    return Err(self.error(other));
                }
            };
            self.expect(Token::CloseParen, ")")?;
            return Ok(match value {
                Initializer::Generic(name, _) => Initializer::Generic(name, self.offset()?),
                other => other,
            });
        }
        match self.operand()? {
            value @ (Operand::Integer(_)
            | Operand::Single(_)
            | Operand::Double(_)
            | Operand::Name(_)
            | Operand::Moved(..)) => Ok(Initializer::Value(value)),
            _ => Err(self.unexpected("a value")),
        }
    }
}
