//! Bodies of functions.

use super::Parser;
use super::lexer::Token;
use crate::ast::{
    Guard, Instruction, Label, Linkage, Location, Operand, Prototype, Statement, Targets,
};
use crate::error::ParseError;

impl Parser<'_> {
    /// Statements up to the closing brace, after the opening one.
    pub(super) fn block(&mut self) -> Result<Vec<Statement>, ParseError> {
        self.nested(|parser| {
            let mut statements = Vec::new();
            while !parser.take(Token::CloseBrace) {
                parser.statement(&mut statements)?;
            }
            Ok(statements)
        })
    }

    fn statement(&mut self, into: &mut Vec<Statement>) -> Result<(), ParseError> {
        match self.token() {
            Some(Token::OpenBrace) => {
                self.at += 1;
                let block = self.block()?;
                into.push(Statement::Block(block));
            }
            Some(Token::Dotted) => self.directive(into)?,
            Some(Token::Word) if self.token_after(1) == Some(Token::Colon) => {
                let (name, line) = (self.text().to_owned(), self.line());
                self.at += 2;
                into.push(self.labelled(name, line)?);
            }
            Some(Token::Word | Token::At) => {
                let instruction = self.instruction()?;
                into.push(Statement::Instruction(instruction));
            }
            Some(Token::Semicolon) => self.at += 1,
            _ => return Err(self.unexpected("a statement or }")),
        }
        Ok(())
    }

    fn directive(&mut self, into: &mut Vec<Statement>) -> Result<(), ParseError> {
        if self.take_dotted("reg") {
            let registers = self.registers()?;
            into.push(Statement::Registers(registers));
        } else if self.take_dotted("loc") {
            let location = self.location()?;
            into.push(Statement::Location(location));
        } else if self.take_dotted("pragma") {
            self.pragma()?;
        } else {
            let linkage = self.linkage();
            if linkage != Linkage::Internal
                || self.dotted().is_some_and(|name| {
                    matches!(name, "shared" | "local" | "param" | "global" | "const")
                })
            {
                let each = &mut |variable| into.push(Statement::Variable(variable));
                self.variables(linkage, each)?;
            } else {
                return Err(self.unexpected("a directive of a function's body"));
            }
        }
        Ok(())
    }

    /// `1 23 5, function_name $L__info, inlined_at 1 30 2`: the first three say enough.
    fn location(&mut self) -> Result<Location, ParseError> {
        let (file, line, column) =
            (self.small_integer()?, self.small_integer()?, self.small_integer()?);
        while self.take(Token::Comma) {
            match self.word("function_name or inlined_at")?.as_str() {
                "function_name" => {
                    self.word("a label")?;
                    self.offset()?;
                }
                "inlined_at" => {
                    for _ in 0..3 {
                        self.small_integer()?;
                    }
                }
                _ => {
                    self.at -= 1;
                    return Err(self.unexpected("function_name or inlined_at"));
                }
            }
        }
        Ok(Location { file, line, column })
    }

    /// What follows `name:`.
    fn labelled(&mut self, name: String, line: u32) -> Result<Statement, ParseError> {
        if self.take_dotted("branchtargets") || self.take_dotted("calltargets") {
            let targets = self.list(Token::Semicolon, ", or ;", |parser| {
                parser.word("the name of a label or function")
            })?;
            return Ok(Statement::Targets(Targets { name, targets, line }));
        }
        if self.take_dotted("callprototype") {
            let returns = if self.token() == Some(Token::OpenParen) {
                self.parameters()?
            } else {
                Vec::new()
            };
            self.expect(Token::Sink, "_")?;
            let params = if self.token() == Some(Token::OpenParen) {
                self.parameters()?
            } else {
                Vec::new()
            };
            self.take_dotted("noreturn");
            self.expect(Token::Semicolon, ";")?;
            return Ok(Statement::Prototype(Prototype { name, returns, params, line }));
        }
        Ok(Statement::Label(Label { name, line }))
    }

    fn instruction(&mut self) -> Result<Instruction, ParseError> {
        let (line, start) = (self.line(), self.at);
        let guard = if self.take(Token::At) {
            let negated = self.take(Token::Not);
            Some(Guard { register: self.word("a predicate")?, negated })
        } else {
            None
        };
        let opcode = self.word("an instruction")?;
        let mut modifiers = Vec::new();
        while let Some(modifier) = self.dotted() {
            modifiers.push(modifier.to_owned());
            self.at += 1;
        }
        let operands: Vec<Operand> = self.list(Token::Semicolon, ", or ;", Self::operand)?;
        let text = &self.source[self.tokens[start].start..self.tokens[self.at - 1].end];
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Instruction { guard, opcode, modifiers, operands, line, text })
    }
}
