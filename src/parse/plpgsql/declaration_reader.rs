//! Reads DECLARE.

use super::reader::{Reader, type_of};
use super::scanner::Token;
use super::tree::{Declaration, DeclarationKind, VariableType};
use crate::Result;

impl Reader<'_> {
    /// Declarations up to BEGIN.
    pub(super) fn declarations(&mut self) -> Result<Vec<Declaration>> {
        let mut declarations = Vec::new();
        while !self.is_word("begin") {
            // DECLARE may be said again.
            if self.word("declare") {
                continue;
            }
            declarations.push(self.declaration()?);
        }
        Ok(declarations)
    }

    fn declaration(&mut self) -> Result<Declaration> {
        let line = self.line();
        let name = self.name()?;
        let kind = if self.word("alias") {
            self.expect("for")?;
            let of = match self.peek().cloned() {
                Some(Token::Parameter(name)) => {
                    self.at += 1;
                    name
                }
                _ => self.name()?,
            };
            self.expect_character(';')?;
            DeclarationKind::Alias(of)
        } else if self.begins_cursor() {
            self.cursor()?
        } else {
            self.variable()?
        };
        Ok(Declaration { line, name, kind })
    }

    /// Whether [[NO] SCROLL] CURSOR is declared.
    fn begins_cursor(&mut self) -> bool {
        self.is_word("no") || self.is_word("scroll") || self.is_word("cursor")
    }

    fn cursor(&mut self) -> Result<DeclarationKind> {
        let scroll = self.scroll()?;
        self.expect("cursor")?;
        let mut arguments = Vec::new();
        if self.character('(') {
            loop {
                let name = self.name()?;
                let ty = self.type_until(|token| matches!(token, Token::Character(',' | ')')))?;
                arguments.push((name, type_of(&ty)?));
                if !self.character(',') {
                    break;
                }
            }
            self.expect_character(')')?;
        }
        if !self.word("for") {
            self.expect("is")?;
        }
        let query = self.until_semicolon()?;
        Ok(DeclarationKind::Cursor {
            arguments,
            query,
            scroll,
        })
    }

    fn variable(&mut self) -> Result<DeclarationKind> {
        let constant = self.word("constant");
        let ends = |token: &Token| match token {
            Token::Word(word) => matches!(word.as_str(), "not" | "default" | "collate" | "null"),
            token => matches!(token, Token::Character(';' | '=') | Token::Pair([b':', b'='])),
        };
        let ty = self.type_until(ends)?;
        if self.word("collate") {
            self.name()?;
        }
        let not_null = self.word("not");
        if not_null {
            self.expect("null")?;
        } else {
            self.word("null");
        }
        let default = match self.word("default") || self.assigns() {
            true => Some(self.until_semicolon()?),
            false => {
                self.expect_character(';')?;
                None
            }
        };
        let ty = match ty.trim().to_lowercase().as_str() {
            "record" => VariableType::Record,
            "refcursor" | "pg_catalog.refcursor" => VariableType::Cursor,
            _ => VariableType::Written(type_of(&ty)?),
        };
        Ok(DeclarationKind::Variable {
            ty,
            constant,
            not_null,
            default,
        })
    }
}
