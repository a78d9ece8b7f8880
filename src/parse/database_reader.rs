//! Reads CREATE, ALTER, DROP and COMMENT ON DATABASE off their tokens. Called by `definition_reader`; ALTER DATABASE … SET and RESET are
//! `setting_reader`'s.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::database::{DatabaseChange, DatabaseDefinition, DatabaseOption};
use super::token_reader::{TokenReader, is_word_at, string_of};
use crate::{Error, Result};

/// Whether the tokens define a database.
pub(super) fn is_database_definition(tokens: &[TokenWithSpan]) -> bool {
    let is = |at: usize, name: &str| is_word_at(tokens, at, name);
    match (is(0, "COMMENT"), is(0, "ALTER")) {
        (true, _) => is(2, "DATABASE"),
        (_, true) => is(1, "DATABASE") && !alters_settings(tokens),
        _ => (is(0, "CREATE") || is(0, "DROP")) && is(1, "DATABASE"),
    }
}

/// Whether ALTER DATABASE changes what its sessions begin with.
fn alters_settings(tokens: &[TokenWithSpan]) -> bool {
    let is = |at: usize, name: &str| is_word_at(tokens, at, name);
    is(3, "RESET") || (is(3, "SET") && !is(4, "TABLESPACE"))
}

impl TokenReader<'_> {
    /// What stands behind CREATE, DROP, ALTER or COMMENT.
    pub(super) fn database_definition(&mut self) -> Result<DatabaseDefinition> {
        let is = |name: &str| is_word_at(&self.tokens, 0, name);
        let (creates, drops, alters) = (is("CREATE"), is("DROP"), is("ALTER"));
        self.word("ON");
        self.expect("DATABASE")?;
        if creates {
            self.create_database()
        } else if drops {
            self.drop_database()
        } else if alters {
            self.alter_database()
        } else {
            self.comment_on_database()
        }
    }

    fn create_database(&mut self) -> Result<DatabaseDefinition> {
        let if_not_exists = self.word("IF");
        if if_not_exists {
            self.expect("NOT")?;
            self.expect("EXISTS")?;
        }
        let name = self.name()?;
        self.word("WITH");
        Ok(DatabaseDefinition::Create {
            name,
            if_not_exists,
            options: self.database_options()?,
        })
    }

    fn drop_database(&mut self) -> Result<DatabaseDefinition> {
        let if_exists = self.if_exists()?;
        let name = self.name()?;
        let has_options = self.word("WITH") | self.token(&Token::LParen);
        let mut force = false;
        if has_options {
            // With WITH the parenthesis is still to come.
            self.token(&Token::LParen);
            loop {
                self.expect("FORCE")?;
                force = true;
                if self.token(&Token::RParen) {
                    break;
                }
                if !self.token(&Token::Comma) {
                    return Err(self.syntax_error());
                }
            }
        }
        Ok(DatabaseDefinition::Drop {
            name,
            if_exists,
            force,
        })
    }

    fn alter_database(&mut self) -> Result<DatabaseDefinition> {
        let name = self.name()?;
        let change = if self.word("RENAME") {
            self.expect("TO")?;
            DatabaseChange::Rename(self.name()?)
        } else if self.word("OWNER") {
            self.expect("TO")?;
            DatabaseChange::Owner(self.role_name()?)
        } else if self.word("SET") {
            self.expect("TABLESPACE")?;
            DatabaseChange::Tablespace(self.name()?)
        } else if self.word("REFRESH") {
            self.expect("COLLATION")?;
            self.expect("VERSION")?;
            DatabaseChange::RefreshCollation
        } else {
            self.word("WITH");
            DatabaseChange::Options(self.database_options()?)
        };
        Ok(DatabaseDefinition::Alter { name, change })
    }

    fn comment_on_database(&mut self) -> Result<DatabaseDefinition> {
        let name = self.name()?;
        let comment = self.comment()?;
        Ok(DatabaseDefinition::Comment { name, comment })
    }

    /// Options up to the end. Errors: 42601 for one that is named twice.
    fn database_options(&mut self) -> Result<Vec<DatabaseOption>> {
        let mut options: Vec<DatabaseOption> = Vec::new();
        while self.peek().is_some() {
            let begun = self.at;
            let mut name = self.label()?.to_lowercase();
            if name == "connection" {
                self.expect("LIMIT")?;
                name.push_str("_limit");
            }
            if options.iter().any(|option| option.name == name) {
                return Err(Error::Syntax {
                    message: "conflicting or redundant options".to_string(),
                    position: self.position(begun),
                });
            }
            self.token(&Token::Eq);
            let value = self.database_option_value()?;
            options.push(DatabaseOption {
                name,
                value,
                position: self.position(begun),
            });
        }
        Ok(options)
    }

    /// A string, a number, a name, TRUE or FALSE; `None`: DEFAULT.
    fn database_option_value(&mut self) -> Result<Option<String>> {
        if self.word("DEFAULT") {
            return Ok(None);
        }
        if let Some(text) = self.peek().and_then(string_of) {
            self.at += 1;
            return Ok(Some(text));
        }
        match self.peek() {
            Some(Token::Word(_)) => self.label().map(Some),
            _ => self.signed_number().map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::command::Command;
    use crate::parse::definition::Definition;

    fn read(text: &str) -> DatabaseDefinition {
        let parsed = crate::parse::parse(text).unwrap().remove(0);
        match parsed.command {
            Some(Command::Define(Definition::Database(definition))) => definition,
            other => unreachable!("{text}: {other:?}"),
        }
    }

    fn options(text: &str) -> Vec<(String, Option<String>)> {
        match read(text) {
            DatabaseDefinition::Create { options, .. }
            | DatabaseDefinition::Alter {
                change: DatabaseChange::Options(options),
                ..
            } => options
                .into_iter()
                .map(|option| (option.name, option.value))
                .collect(),
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn options_stand_in_any_order_with_or_without_a_sign() {
        let some = |name: &str, value: &str| (name.to_string(), Some(value.to_string()));
        assert_eq!(options("CREATE DATABASE a"), vec![]);
        assert_eq!(
            options(
                "create database \"A b\" with owner = bob encoding 'UTF8' connection limit -1 template=template0"
            ),
            vec![
                some("owner", "bob"),
                some("encoding", "UTF8"),
                some("connection_limit", "-1"),
                some("template", "template0"),
            ]
        );
        assert_eq!(
            options("ALTER DATABASE a ALLOW_CONNECTIONS false IS_TEMPLATE = DEFAULT"),
            vec![
                some("allow_connections", "false"),
                ("is_template".to_string(), None)
            ]
        );
        let twice = crate::parse::parse("CREATE DATABASE a OWNER b OWNER c").unwrap_err();
        assert_eq!(twice.sqlstate(), "42601");
    }

    #[test]
    fn a_drop_may_force() {
        for (text, expected) in [
            ("DROP DATABASE a", (false, false)),
            ("DROP DATABASE IF EXISTS a", (true, false)),
            ("drop database a (force)", (false, true)),
            ("DROP DATABASE IF EXISTS a WITH (FORCE)", (true, true)),
        ] {
            match read(text) {
                DatabaseDefinition::Drop { if_exists, force, .. } => {
                    assert_eq!((if_exists, force), expected, "{text}")
                }
                other => unreachable!("{other:?}"),
            }
        }
        for text in [
            "DROP DATABASE a WITH",
            "DROP DATABASE a (FORCE",
            "DROP DATABASE a, b",
        ] {
            assert_eq!(
                crate::parse::parse(text).unwrap_err().sqlstate(),
                "42601",
                "{text}"
            );
        }
    }
}
