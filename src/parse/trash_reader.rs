//! Reads UNDROP and PURGE off their tokens. Called by `command_reader`; knows nothing of what they do.

use sqlparser::tokenizer::Token;

use super::command::Command;
use super::definition::{Definition, TrashName, TrashStatement};
use super::token_reader::{TokenReader, is_word_at, string_of};
use crate::Result;

impl TokenReader<'_> {
    /// What stands behind UNDROP: `TABLE name [WITH ID n] [AS | RENAME TO name]`, `TABLE WITH ID n …`.
    pub(super) fn undrop(&mut self) -> Result<Command> {
        self.expect("TABLE")?;
        let table = self.trash_name()?;
        let renames = self.word("AS") || self.word("RENAME");
        if renames {
            self.word("TO");
        }
        let new_name = renames.then(|| self.object_name()).transpose()?;
        let undrop = TrashStatement::Undrop { table, new_name };
        Ok(Command::Define(Definition::Trash(undrop)))
    }

    /// What stands behind PURGE: `TRASH`, `TABLE name [WITH ID n]`, `TABLE WITH ID n`.
    pub(super) fn purge(&mut self) -> Result<Command> {
        let table = match self.word("TRASH") {
            true => None,
            false => {
                self.expect("TABLE")?;
                Some(self.trash_name()?)
            }
        };
        Ok(Command::Define(Definition::Trash(TrashStatement::Purge {
            table,
        })))
    }

    fn trash_name(&mut self) -> Result<TrashName> {
        // A table may be named WITH in quotes alone.
        let name = match is_word_at(&self.tokens, self.at, "WITH") {
            true => None,
            false => Some(self.object_name()?),
        };
        self.word("WITH");
        let id = match self.word("ID") {
            true => Some(self.trash_id()?),
            false => None,
        };
        match (&name, id) {
            (None, None) => Err(self.syntax_error()),
            _ => Ok(TrashName { name, id }),
        }
    }

    fn trash_id(&mut self) -> Result<u32> {
        let text = match self.peek() {
            Some(Token::Number(text, false)) => Some(text.clone()),
            Some(other) => string_of(other),
            None => None,
        };
        let id = text.and_then(|text| text.parse().ok());
        let id = id.ok_or_else(|| self.syntax_error())?;
        self.at += 1;
        Ok(id)
    }
}
