//! Reads definitions off their tokens that the parser does not read: ALTER INDEX, ALTER SCHEMA, COMMENT ON CONSTRAINT, and
//! ALTER TABLE of what PostgreSQL stores in its own way. Called by `command_reader`; knows nothing of what they do.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::command::Command;
use super::definition::{Definition, IndexChange, StorageChange};

use super::token_reader::{TokenReader, is_word_at, string_of};
use crate::{Error, Result};

/// Whether the tokens are such a definition. Those of ALTER TABLE are when the whole of it is.
pub(super) fn is_definition(tokens: &[TokenWithSpan], text: &str) -> bool {
    let is = |at: usize, name: &str| is_word_at(tokens, at, name);
    match (is(0, "ALTER"), is(0, "COMMENT")) {
        (true, _) if is(1, "TABLE") => {
            let mut reader = TokenReader::new(tokens.to_vec(), text);
            reader.at = 2;
            let is_storage = reader.alter_storage().is_ok() && reader.peek().is_none();
            reader.at = 2;
            is_storage
                || is_identity(tokens, text)
                || reader.alter_constraint().is_ok() && reader.peek().is_none()
        }
        (true, _) => is(1, "INDEX") || is(1, "SCHEMA") || is(1, "SEQUENCE"),
        (_, true) => is(2, "CONSTRAINT"),
        _ => is(0, "CREATE") && is(1, "SEQUENCE"),
    }
}

/// Whether all of an ALTER TABLE is a change of an identity column.
fn is_identity(tokens: &[TokenWithSpan], text: &str) -> bool {
    let mut reader = TokenReader::new(tokens.to_vec(), text);
    reader.at = 2;
    reader.alter_identity().is_ok() && reader.peek().is_none()
}

impl TokenReader<'_> {
    /// What stands behind CREATE.
    pub(super) fn creation(&mut self) -> Result<Command> {
        self.expect("SEQUENCE")?;
        self.create_sequence().map(Command::Define)
    }

    /// What stands behind ALTER or COMMENT.
    pub(super) fn definition(&mut self) -> Result<Command> {
        let definition = if self.word("INDEX") {
            self.alter_index()
        } else if self.word("SEQUENCE") {
            self.alter_sequence()
        } else if self.word("SCHEMA") {
            self.alter_schema()
        } else if self.word("TABLE") {
            let at = self.at;
            let identity = self.alter_identity().or_else(|_| {
                self.at = at;
                self.alter_constraint()
            });
            identity.or_else(|_| {
                self.at = at;
                self.alter_storage()
            })
        } else {
            self.comment_on_constraint()
        };
        definition.map(Command::Define)
    }

    fn alter_schema(&mut self) -> Result<Definition> {
        let schema = self.name()?;
        if self.word("RENAME") {
            let way_out = "Create the other schema, and move each table with ALTER TABLE ... SET SCHEMA.";
            return Err(Error::unsupported("ALTER SCHEMA ... RENAME TO", Some(way_out)));
        }
        self.expect("OWNER")?;
        self.expect("TO")?;
        let owner = self.role_name()?;
        Ok(Definition::SchemaOwner { schema, owner })
    }

    fn alter_index(&mut self) -> Result<Definition> {
        let if_exists = self.if_exists()?;
        let name = self.object_name()?;
        let change = if self.word("RENAME") {
            self.expect("TO")?;
            IndexChange::Rename(self.name()?)
        } else if self.word("RESET") {
            let names = self.parameters()?;
            IndexChange::Parameters(names.into_iter().map(|(name, _)| (name, None)).collect())
        } else if self.word("SET") {
            match self.word("TABLESPACE") {
                true => IndexChange::Tablespace(self.name()?),
                false => IndexChange::Parameters(self.parameters()?),
            }
        } else if self.word("ATTACH") {
            let way_out = "A table is one sorted key range: no partitions are needed.";
            return Err(Error::unsupported(
                "ALTER INDEX ... ATTACH PARTITION",
                Some(way_out),
            ));
        } else {
            return Err(self.syntax_error());
        };
        Ok(Definition::AlterIndex {
            name,
            if_exists,
            change,
        })
    }

    fn alter_constraint(&mut self) -> Result<Definition> {
        let if_exists = self.if_exists()?;
        self.word("ONLY");
        let table = self.object_name()?;
        self.token(&Token::Mul);
        self.expect("ALTER")?;
        self.expect("CONSTRAINT")?;
        let constraint = self.name()?;
        let (mut deferrable, mut initially_deferred) = (None, None);
        while self.peek().is_some() {
            if deferrable.is_none() && self.word("DEFERRABLE") {
                deferrable = Some(true);
            } else if deferrable.is_none() && self.word("NOT") {
                self.expect("DEFERRABLE")?;
                deferrable = Some(false);
            } else if initially_deferred.is_none() && self.word("INITIALLY") {
                let is_deferred = self.word("DEFERRED");
                if !is_deferred {
                    self.expect("IMMEDIATE")?;
                }
                initially_deferred = Some(is_deferred);
            } else {
                return Err(self.syntax_error());
            }
        }
        Ok(Definition::AlterConstraint {
            table,
            if_exists,
            constraint,
            deferrable,
            initially_deferred: initially_deferred.unwrap_or(false),
        })
    }

    fn alter_storage(&mut self) -> Result<Definition> {
        let if_exists = self.if_exists()?;
        self.word("ONLY");
        let name = self.object_name()?;
        self.token(&Token::Mul);
        let mut changes = vec![self.storage_change()?];
        while self.token(&Token::Comma) {
            changes.push(self.storage_change()?);
        }
        Ok(Definition::AlterStorage {
            name,
            if_exists,
            changes,
        })
    }

    fn storage_change(&mut self) -> Result<StorageChange> {
        if self.word("CLUSTER") {
            self.expect("ON")?;
            return self.name().map(StorageChange::ClusterOn);
        }
        if self.word("RESET") {
            return self.parameters().map(|_| StorageChange::Reset);
        }
        if self.word("ALTER") {
            self.word("COLUMN");
            return self.column_storage();
        }
        self.expect("SET")?;
        if self.word("LOGGED") {
            Ok(StorageChange::AsItIs)
        } else if self.word("UNLOGGED") {
            Ok(StorageChange::Unlogged)
        } else if self.word("TABLESPACE") {
            self.name().map(StorageChange::Tablespace)
        } else if self.word("ACCESS") {
            self.expect("METHOD")?;
            self.expect("heap")?;
            Ok(StorageChange::AsItIs)
        } else {
            self.expect("WITHOUT")?;
            if !self.word("CLUSTER") {
                self.expect("OIDS")?;
            }
            Ok(StorageChange::AsItIs)
        }
    }

    /// What stands behind ALTER COLUMN.
    fn column_storage(&mut self) -> Result<StorageChange> {
        let name = self.name()?;
        let setting = if self.word("RESET") {
            self.parameters().map(|_| "RESET (...)")?
        } else {
            self.expect("SET")?;
            if self.word("STATISTICS") {
                self.signed()?;
                "SET STATISTICS"
            } else if self.word("STORAGE") {
                self.name()?;
                "SET STORAGE"
            } else if self.word("COMPRESSION") {
                self.name()?;
                "SET COMPRESSION"
            } else {
                self.parameters().map(|_| "SET (...)")?
            }
        };
        Ok(StorageChange::Column { name, setting })
    }

    /// `(name = value, name)`.
    fn parameters(&mut self) -> Result<Vec<(String, Option<String>)>> {
        let mut parameters = Vec::new();
        if !self.token(&Token::LParen) {
            return Err(self.syntax_error());
        }
        loop {
            let name = self.setting_name()?;
            let value = match self.token(&Token::Eq) {
                true => self.value()?,
                false => Some("true".to_string()),
            };
            parameters.push((name, value));
            if !self.token(&Token::Comma) {
                break;
            }
        }
        match self.token(&Token::RParen) {
            true => Ok(parameters),
            false => Err(self.syntax_error()),
        }
    }

    /// What stands behind COMMENT.
    fn comment_on_constraint(&mut self) -> Result<Definition> {
        self.expect("ON")?;
        self.expect("CONSTRAINT")?;
        let constraint = self.name()?;
        self.expect("ON")?;
        if self.word("DOMAIN") {
            return Err(Error::unsupported("a comment on a domain's constraint", None));
        }
        let table = self.object_name()?;
        self.expect("IS")?;
        let comment = match self.word("NULL") {
            true => None,
            false => {
                let text = self.peek().and_then(string_of);
                let text = text.ok_or_else(|| self.syntax_error())?;
                self.at += 1;
                Some(text).filter(|text| !text.is_empty())
            }
        };
        Ok(Definition::CommentOnConstraint {
            constraint,
            table,
            comment,
        })
    }

    pub(super) fn if_exists(&mut self) -> Result<bool> {
        let said = self.word("IF");
        if said {
            self.expect("EXISTS")?;
        }
        Ok(said)
    }
}
