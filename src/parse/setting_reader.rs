//! Reads ALTER SYSTEM, DATABASE and ROLE … SET and RESET off their tokens: the settings that sessions begin with. Called by
//! `command_reader`, whose SET it reads with; knows nothing of what they do.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::command::{Command, SettingsChange, SettingsOf};
use super::database_reader::is_database_definition;
use super::definition::RoleName;
use super::role_reader::is_role_definition;
use super::token_reader::TokenReader;
use crate::Result;

/// What may be altered so.
const ALTERED: [&str; 4] = ["SYSTEM", "DATABASE", "ROLE", "USER"];

/// Whether the tokens are such a statement.
pub(super) fn is_alter_settings(tokens: &[TokenWithSpan]) -> bool {
    let is = |at: usize, name: &str| match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) => word.quote_style.is_none() && word.value.eq_ignore_ascii_case(name),
        _ => false,
    };
    is(0, "ALTER")
        && ALTERED.iter().any(|name| is(1, name))
        && !is_database_definition(tokens)
        && !is_role_definition(tokens)
}

impl TokenReader<'_> {
    /// What stands behind ALTER.
    pub(super) fn alter_settings(&mut self) -> Result<Command> {
        let of = if self.word("SYSTEM") {
            SettingsOf::System
        } else if self.word("DATABASE") {
            SettingsOf::Database { name: self.name()? }
        } else {
            // ROLE or USER.
            self.at += 1;
            SettingsOf::Role {
                role: self.role_name()?,
                database: self.in_database()?,
            }
        };
        let change = if self.word("RESET") {
            match self.reset()? {
                Command::Reset { name } => SettingsChange::Reset { name },
                _ => return Err(self.syntax_error()),
            }
        } else if self.word("SET") {
            self.settings_change()?
        } else {
            return Err(self.syntax_error());
        };
        Ok(Command::AlterSettings { of, change })
    }

    pub(super) fn role_name(&mut self) -> Result<RoleName> {
        let current = ["CURRENT_USER", "CURRENT_ROLE", "SESSION_USER"];
        if self.word("ALL") {
            return Ok(RoleName::All);
        }
        if current.iter().any(|word| self.word(word)) {
            return Ok(RoleName::Current);
        }
        self.name().map(RoleName::Named)
    }

    fn in_database(&mut self) -> Result<Option<String>> {
        if !self.word("IN") {
            return Ok(None);
        }
        self.expect("DATABASE")?;
        self.name().map(Some)
    }

    /// What stands behind SET.
    pub(super) fn settings_change(&mut self) -> Result<SettingsChange> {
        let begun = self.at;
        if let Ok(name) = self.setting_name()
            && self.word("FROM")
        {
            self.expect("CURRENT")?;
            return Ok(SettingsChange::FromCurrent { name });
        }
        self.at = begun;
        match self.set()? {
            Command::Set {
                name,
                values: Some(values),
                ..
            } => Ok(SettingsChange::Set { name, values }),
            Command::Set {
                name, values: None, ..
            } => Ok(SettingsChange::Reset { name: Some(name) }),
            _ => Err(self.syntax_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (SettingsOf, SettingsChange) {
        let parsed = crate::parse::parse(text).unwrap().remove(0);
        assert_eq!(
            parsed.kind.write().map(|write| write.name.as_str()),
            parsed.command.as_ref().map(Command::tag)
        );
        match parsed.command {
            Some(Command::AlterSettings { of, change }) => (of, change),
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn settings_are_altered_of_the_server_databases_and_roles() {
        let set = |name: &str, values: &[&str]| SettingsChange::Set {
            name: name.to_string(),
            values: values.iter().map(ToString::to_string).collect(),
        };
        let role = |role, database: Option<&str>| SettingsOf::Role {
            role,
            database: database.map(str::to_string),
        };
        assert_eq!(
            read("ALTER SYSTEM SET keyspan.full_scan = 'small'"),
            (SettingsOf::System, set("keyspan.full_scan", &["small"]))
        );
        assert_eq!(
            read("alter database \"My Db\" set search_path to a, b"),
            (
                SettingsOf::Database {
                    name: "My Db".to_string()
                },
                set("search_path", &["a", "b"])
            )
        );
        assert_eq!(
            read("ALTER USER Bob IN DATABASE d SET TIME ZONE 'UTC'"),
            (
                role(RoleName::Named("bob".to_string()), Some("d")),
                set("TimeZone", &["UTC"])
            )
        );
        let name = Some("work_mem".to_string());
        assert_eq!(
            read("ALTER ROLE ALL SET work_mem TO DEFAULT"),
            (role(RoleName::All, None), SettingsChange::Reset { name })
        );
        assert_eq!(
            read("ALTER ROLE current_user RESET ALL"),
            (
                role(RoleName::Current, None),
                SettingsChange::Reset { name: None }
            )
        );
        let name = "timezone".to_string();
        assert_eq!(
            read("ALTER SYSTEM SET TimeZone FROM CURRENT").1,
            SettingsChange::FromCurrent { name }
        );
        let other = crate::parse::parse("ALTER ROLE bob IN DATABASE d LOGIN").unwrap_err();
        assert_eq!(other.sqlstate(), "42601");
    }
}
