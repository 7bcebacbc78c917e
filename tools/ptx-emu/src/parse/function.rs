//! Modules, and functions up to their bodies.

use super::lexer::Token;
use super::{MAX_DEPTH, Parser};
use crate::ast::{Attributes, Function, FunctionKind, Linkage, Module, Space, Variable};
use crate::error::{ParseError, Problem};

impl Parser<'_> {
    pub(super) fn module(mut self) -> Result<Module, ParseError> {
        let mut module = Module {
            version: (0, 0),
            target: Vec::new(),
            address_size: 32,
            files: Vec::new(),
            variables: Vec::new(),
            functions: Vec::new(),
        };
        while self.token().is_some() {
            self.item(&mut module)?;
        }
        if module.version == (0, 0) {
            return Err(self.unexpected(".version"));
        }
        Ok(module)
    }

    fn item(&mut self, module: &mut Module) -> Result<(), ParseError> {
        if self.take_dotted("version") {
            module.version = self.version()?;
        } else if self.take_dotted("target") {
            loop {
                module.target.push(self.word("a target")?);
                if !self.take(Token::Comma) {
                    break;
                }
            }
        } else if self.take_dotted("address_size") {
            module.address_size = self.small_integer()?;
            if !matches!(module.address_size, 32 | 64) {
                self.at -= 1;
                return Err(self.unexpected("32 or 64"));
            }
        } else if self.take_dotted("file") {
            let number = self.small_integer()?;
            let path = self.expect(Token::Text, "a path in quotes")?;
            module.files.push((number, path.trim_matches('"').to_owned()));
            while self.take(Token::Comma) {
                self.integer()?;
            }
        } else if self.take_dotted("section") {
            self.section()?;
        } else if self.take_dotted("pragma") {
            self.pragma()?;
        } else {
            let linkage = self.linkage();
            match self.dotted() {
                Some("entry") => {
                    let function = self.function(FunctionKind::Entry, linkage)?;
                    module.functions.push(function);
                }
                Some("func") => {
                    let function = self.function(FunctionKind::Device, linkage)?;
                    module.functions.push(function);
                }
                Some("global" | "const" | "shared" | "local") => {
                    self.variables(linkage, &mut |variable| module.variables.push(variable))?;
                }
                _ => return Err(self.unexpected("a directive of module scope")),
            }
        }
        Ok(())
    }

    fn version(&mut self) -> Result<(u32, u32), ParseError> {
        let text = self.text();
        let parsed = text.split_once('.').and_then(|(major, minor)| {
            Some((major.parse().ok()?, minor.parse().ok()?)).filter(|version| *version != (0, 0))
        });
        let version = parsed.ok_or_else(|| self.unexpected("a version such as 8.0"))?;
        self.at += 1;
        Ok(version)
    }

    /// Debug sections say nothing about execution.
    fn section(&mut self) -> Result<(), ParseError> {
        while !self.take(Token::OpenBrace) {
            if self.token().is_none() {
                return Err(self.unexpected("{"));
            }
            self.at += 1;
        }
        let mut open = 1;
        while open > 0 {
            match self.token() {
                Some(Token::OpenBrace) => open += 1,
                Some(Token::CloseBrace) => open -= 1,
                Some(_) => {}
                None => return Err(self.unexpected("}")),
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Pragmas steer a compiler's optimizations, never what a program means.
    pub(super) fn pragma(&mut self) -> Result<(), ParseError> {
        loop {
            self.expect(Token::Text, "a pragma in quotes")?;
            if !self.take(Token::Comma) {
                break;
            }
        }
        self.expect(Token::Semicolon, ";").map(drop)
    }

    pub(super) fn linkage(&mut self) -> Linkage {
        let linkage = match self.dotted() {
            Some("visible") => Linkage::Visible,
            Some("extern") => Linkage::Extern,
            Some("weak") => Linkage::Weak,
            Some("common") => Linkage::Common,
            _ => return Linkage::Internal,
        };
        self.at += 1;
        linkage
    }

    fn function(&mut self, kind: FunctionKind, linkage: Linkage) -> Result<Function, ParseError> {
        let line = self.line();
        self.at += 1;
        self.attribute()?;
        let returns =
            if self.token() == Some(Token::OpenParen) { self.parameters()? } else { Vec::new() };
        let name = self.word("the name of a function")?;
        let params =
            if self.token() == Some(Token::OpenParen) { self.parameters()? } else { Vec::new() };
        let attributes = self.attributes()?;
        let body = if self.take(Token::Semicolon) {
            None
        } else {
            self.expect(Token::OpenBrace, "{ or ;")?;
            Some(self.block()?)
        };
        Ok(Function { name, kind, linkage, returns, params, attributes, body, line })
    }

    /// `(.param .u32 a, .param .u64 b)`.
    pub(super) fn parameters(&mut self) -> Result<Vec<Variable>, ParseError> {
        self.expect(Token::OpenParen, "(")?;
        self.list(Token::CloseParen, ", or )", |parser| {
            let space = match parser.dotted() {
                Some("param") => Space::Param,
                Some("reg") => Space::Register,
                _ => return Err(parser.unexpected(".param or .reg")),
            };
            parser.at += 1;
            parser.variable(space, Linkage::Internal)
        })
    }

    fn attributes(&mut self) -> Result<Attributes, ParseError> {
        let mut attributes = Attributes::default();
        while let Some(name) = self.dotted() {
            self.at += 1;
            match name {
                "maxntid" => attributes.max_threads = Some(self.shape()?),
                "reqntid" => attributes.required_threads = Some(self.shape()?),
                "reqnctapercluster" => attributes.required_cluster = Some(self.shape()?),
                "maxnreg" => attributes.max_registers = Some(self.small_integer()?),
                "minnctapersm" => attributes.min_ctas_per_sm = Some(self.small_integer()?),
                "maxnctapersm" => attributes.max_ctas_per_sm = Some(self.small_integer()?),
                "maxclusterrank" => attributes.max_cluster_rank = Some(self.small_integer()?),
                "explicitcluster" => attributes.explicit_cluster = true,
                "blocksareclusters" => attributes.blocks_are_clusters = true,
                "noreturn" => attributes.no_return = true,
                "pragma" => self.pragma()?,
                _ => {
                    self.at -= 1;
                    return Err(self.unexpected("an attribute of a function"));
                }
            }
        }
        Ok(attributes)
    }

    /// One to three extents; those not given are 1.
    fn shape(&mut self) -> Result<[u32; 3], ParseError> {
        let mut shape = [1; 3];
        for (axis, extent) in shape.iter_mut().enumerate() {
            if axis > 0 && !self.take(Token::Comma) {
                break;
            }
            *extent = self.small_integer()?;
        }
        Ok(shape)
    }

    /// `.attribute(.managed)`: where the memory lies, which makes no difference here.
    pub(super) fn attribute(&mut self) -> Result<(), ParseError> {
        if !self.take_dotted("attribute") {
            return Ok(());
        }
        self.expect(Token::OpenParen, "(")?;
        let mut open = 1;
        while open > 0 {
            match self.token() {
                Some(Token::OpenParen) => open += 1,
                Some(Token::CloseParen) => open -= 1,
                Some(Token::Dotted | Token::Comma | Token::Integer) => {}
                _ => return Err(self.unexpected(")")),
            }
            if open > MAX_DEPTH {
                return Err(self.error(Problem::TooDeep(MAX_DEPTH)));
            }
            self.at += 1;
        }
        Ok(())
    }
}
