//! Reads CREATE, ALTER, DROP and COMMENT ON EXTENSION off their tokens. Called by `definition_reader`.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::routine::{NewExtension, RoutineDefinition};
use super::token_reader::{TokenReader, is_word_at, string_of};
use crate::Result;

/// Whether the tokens define an extension.
pub(super) fn is_extension_definition(tokens: &[TokenWithSpan]) -> bool {
    let is = |at: usize, name: &str| is_word_at(tokens, at, name);
    ((is(0, "CREATE") || is(0, "ALTER") || is(0, "DROP")) && is(1, "EXTENSION"))
        || (is(0, "COMMENT") && is(2, "EXTENSION"))
}

impl TokenReader<'_> {
    /// What stands behind CREATE EXTENSION.
    pub(super) fn create_extension(&mut self) -> Result<RoutineDefinition> {
        let if_not_exists = self.word("IF");
        if if_not_exists {
            self.expect("NOT")?;
            self.expect("EXISTS")?;
        }
        let mut new = NewExtension {
            name: self.name()?,
            if_not_exists,
            schema: None,
            version: None,
        };
        self.word("WITH");
        loop {
            if self.word("SCHEMA") {
                new.schema = Some(self.name()?);
            } else if self.word("VERSION") {
                new.version = Some(self.version()?);
            } else if !self.word("CASCADE") {
                return Ok(RoutineDefinition::CreateExtension(new));
            }
        }
    }

    fn version(&mut self) -> Result<String> {
        match self.peek().and_then(string_of) {
            Some(version) => {
                self.at += 1;
                Ok(version)
            }
            None => self.name(),
        }
    }

    /// What stands behind DROP EXTENSION.
    pub(super) fn drop_extensions(&mut self) -> Result<RoutineDefinition> {
        let if_exists = self.if_exists()?;
        let mut names = vec![self.name()?];
        while self.token(&Token::Comma) {
            names.push(self.name()?);
        }
        let cascade = self.cascade();
        Ok(RoutineDefinition::DropExtensions {
            names,
            if_exists,
            cascade,
        })
    }

    /// What stands behind ALTER EXTENSION.
    pub(super) fn alter_extension(&mut self) -> Result<RoutineDefinition> {
        let name = self.name()?;
        if self.word("UPDATE") {
            if self.word("TO") {
                self.version()?;
            }
            return Ok(RoutineDefinition::AlterExtension { name, schema: None });
        }
        self.expect("SET")?;
        self.expect("SCHEMA")?;
        let schema = Some(self.name()?);
        Ok(RoutineDefinition::AlterExtension { name, schema })
    }

    /// What stands behind COMMENT ON EXTENSION.
    pub(super) fn comment_on_extension(&mut self) -> Result<RoutineDefinition> {
        let name = self.name()?;
        let comment = self.comment()?;
        Ok(RoutineDefinition::CommentOnExtension { name, comment })
    }
}
