//! Reads definitions off their tokens that the parser does not read: ALTER INDEX, ALTER SCHEMA, COMMENT ON CONSTRAINT, REFRESH, and
//! what ALTER TABLE changes that PostgreSQL stores in its own way. Called by `command_reader`; knows nothing of what they do.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::cast_reader::is_cast_definition;
use super::command::Command;
use super::database_reader::is_database_definition;
use super::definition::{Definition, IndexChange, IndexState, StorageChange};
use super::extension_reader::is_extension_definition;
use super::grant_reader::is_default_privileges;
use super::inert::behind_persistence;
use super::large_object_reader::is_large_object_definition;
use super::role_reader::is_role_definition;
use super::routine::RoutineDefinition;
use super::routine_reader::is_routine_definition;
use super::token_reader::{TokenReader, is_word_at, string_of};
use super::type_reader::is_type_definition;
use crate::{Error, Result};

/// The first words of what every database has, and of which nothing here is one's own.
const SYSTEM_OBJECTS: [&str; 7] = [
    "ACCESS",
    "COLLATION",
    "CONVERSION",
    "LANGUAGE",
    "OPERATOR",
    "ROLE",
    "TABLESPACE",
];

/// Whether the tokens are such a definition.
pub(super) fn is_definition(tokens: &[TokenWithSpan]) -> bool {
    let is = |at: usize, name: &str| is_word_at(tokens, at, name);
    if is_type_definition(tokens)
        || is_routine_definition(tokens)
        || is_extension_definition(tokens)
        || is_cast_definition(tokens)
        || is_database_definition(tokens)
        || is_role_definition(tokens)
        || is_large_object_definition(tokens)
    {
        return true;
    }
    match (is(0, "ALTER"), is(0, "COMMENT")) {
        (true, _) => is_default_privileges(tokens) || is(1, "INDEX") || is(1, "SCHEMA") || is(1, "SEQUENCE"),
        (_, true) => is(2, "CONSTRAINT") || SYSTEM_OBJECTS.iter().any(|kind| is(2, kind)),
        _ => {
            let unlogged = usize::from(is(1, "UNLOGGED"));
            is(0, "CREATE") && is(behind_persistence(tokens) + unlogged, "SEQUENCE")
        }
    }
}

impl TokenReader<'_> {
    /// What stands behind CREATE.
    pub(super) fn creation(&mut self) -> Result<Command> {
        let definition = if is_routine_definition(&self.tokens) {
            self.create_routine().map(Definition::Routine)
        } else if is_database_definition(&self.tokens) {
            self.database_definition().map(Definition::Database)
        } else if is_role_definition(&self.tokens) {
            self.role_definition().map(Definition::Role)
        } else if is_cast_definition(&self.tokens) {
            self.cast_definition().map(Definition::Cast)
        } else if self.word("EXTENSION") {
            self.create_extension().map(Definition::Routine)
        } else if self.word("TYPE") {
            self.create_type()
        } else if self.word("DOMAIN") {
            self.create_domain()
        } else {
            self.create_sequence()
        };
        definition.map(Command::Define)
    }

    /// What stands behind DROP, or REASSIGN.
    pub(super) fn drop(&mut self) -> Result<Command> {
        if is_routine_definition(&self.tokens) {
            let dropped = self.drop_routine();
            return dropped.map(|dropped| Command::Define(Definition::Routine(dropped)));
        }
        if is_database_definition(&self.tokens) {
            let dropped = self.database_definition();
            return dropped.map(|dropped| Command::Define(Definition::Database(dropped)));
        }
        if is_role_definition(&self.tokens) {
            let dropped = self.role_definition();
            return dropped.map(|dropped| Command::Define(Definition::Role(dropped)));
        }
        if is_cast_definition(&self.tokens) {
            let dropped = self.cast_definition();
            return dropped.map(|dropped| Command::Define(Definition::Cast(dropped)));
        }
        if self.word("EXTENSION") {
            let dropped = self.drop_extensions();
            return dropped.map(|dropped| Command::Define(Definition::Routine(dropped)));
        }
        let of_domains = self.word("DOMAIN");
        if !of_domains {
            self.expect("TYPE")?;
        }
        self.drop_types(of_domains).map(Command::Define)
    }

    /// What stands behind ALTER or COMMENT.
    pub(super) fn definition(&mut self) -> Result<Command> {
        let of_routine = is_routine_definition(&self.tokens);
        let of_extension = is_extension_definition(&self.tokens);
        let definition = if is_default_privileges(&self.tokens) {
            self.default_privileges()
        } else if is_large_object_definition(&self.tokens) {
            self.of_large_object()
        } else if is_database_definition(&self.tokens) {
            self.database_definition().map(Definition::Database)
        } else if is_role_definition(&self.tokens) {
            self.role_definition().map(Definition::Role)
        } else if is_cast_definition(&self.tokens) {
            self.cast_definition().map(Definition::Cast)
        } else if of_routine || of_extension {
            self.of_routine_or_extension(of_routine).map(Definition::Routine)
        } else if self.word("TYPE") {
            self.alter_type()
        } else if self.word("DOMAIN") {
            self.alter_domain()
        } else if self.word("INDEX") {
            self.alter_index()
        } else if self.word("SEQUENCE") {
            self.alter_sequence()
        } else if self.word("SCHEMA") {
            self.alter_schema()
        } else if self
            .tokens
            .get(2)
            .is_some_and(|_| !is_word_at(&self.tokens, 2, "CONSTRAINT"))
        {
            self.comment_on_system_object()
        } else {
            self.comment_on_constraint()
        };
        definition.map(Command::Define)
    }

    /// What stands behind ALTER or COMMENT, of a function or an extension.
    fn of_routine_or_extension(&mut self, of_routine: bool) -> Result<RoutineDefinition> {
        let is_comment = self.word("ON");
        match (of_routine, is_comment) {
            (true, true) => self.comment_on_routine(),
            (true, false) => self.alter_routine(),
            (false, _) => {
                self.expect("EXTENSION")?;
                match is_comment {
                    true => self.comment_on_extension(),
                    false => self.alter_extension(),
                }
            }
        }
    }

    /// What stands behind REFRESH.
    pub(super) fn refresh(&mut self) -> Result<Definition> {
        self.expect("MATERIALIZED")?;
        self.expect("VIEW")?;
        let concurrently = self.word("CONCURRENTLY");
        let name = self.object_name()?;
        let mut with_rows = true;
        if self.word("WITH") {
            with_rows = !self.word("NO");
            self.expect("DATA")?;
        }
        Ok(Definition::RefreshView {
            name,
            concurrently,
            with_rows,
        })
    }

    fn alter_schema(&mut self) -> Result<Definition> {
        let schema = self.name()?;
        if self.word("RENAME") {
            self.expect("TO")?;
            let new_name = self.name()?;
            return Ok(Definition::RenameSchema { schema, new_name });
        }
        self.expect("OWNER")?;
        self.expect("TO")?;
        let owner = self.role_name()?;
        Ok(Definition::SchemaOwner { schema, owner })
    }

    fn alter_index(&mut self) -> Result<Definition> {
        let if_exists = self.if_exists()?;
        let name = self.object_name()?;
        let table = match self.word("ON") {
            true => Some(self.object_name()?),
            false => None,
        };
        let change = if let Some(state) = self.index_state() {
            let later = self.word("ASYNC");
            IndexChange::State { state, later }
        } else if self.word("ADD") {
            return Err(Error::unsupported(
                "ALTER INDEX ... ADD COLUMNS",
                Some("Make another index over all the columns, and drop this one."),
            ));
        } else if self.word("RENAME") {
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
            self.expect("PARTITION")?;
            IndexChange::Attach(self.object_name()?)
        } else {
            return Err(self.syntax_error());
        };
        Ok(Definition::AlterIndex {
            name,
            table,
            if_exists,
            change,
        })
    }

    fn index_state(&mut self) -> Option<IndexState> {
        let states = [
            ("ACTIVE", IndexState::Active),
            ("INACTIVE", IndexState::Inactive),
            ("DISABLED", IndexState::Disabled),
        ];
        let found = states.into_iter().find(|(word, _)| self.word(word));
        found.map(|(_, state)| state)
    }

    /// What stands behind BUILD.
    pub(super) fn build(&mut self) -> Result<Command> {
        self.expect("INDEX")?;
        let if_exists = self.if_exists()?;
        let name = self.object_name()?;
        let table = match self.word("ON") {
            true => Some(self.object_name()?),
            false => None,
        };
        let later = self.word("ASYNC");
        Ok(Command::Define(Definition::AlterIndex {
            name,
            table,
            if_exists,
            change: IndexChange::State {
                state: IndexState::Active,
                later,
            },
        }))
    }

    /// What ALTER TABLE changes of the storage that PostgreSQL has.
    pub(super) fn storage_change(&mut self) -> Result<StorageChange> {
        if self.word("CLUSTER") {
            self.expect("ON")?;
            return self.name().map(StorageChange::ClusterOn);
        }
        if self.word("ALTER") {
            self.word("COLUMN");
            return self.column_storage();
        }
        self.expect("SET")?;
        if self.word("LOGGED") {
            Ok(StorageChange::Unlogged(false))
        } else if self.word("UNLOGGED") {
            Ok(StorageChange::Unlogged(true))
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

    /// `SET (name = value, …)`, `SET 'name' = 'value', …`, `SET name = value, …`, `RESET (name, …)`: options of a table.
    pub(super) fn option_changes(&mut self) -> Result<Vec<(String, Option<String>)>> {
        if self.word("RESET") {
            let names = self.parameters()?;
            // RESET (name = value) reads, and says nothing of the value.
            return Ok(names.into_iter().map(|(name, _)| (name, None)).collect());
        }
        self.expect("SET")?;
        if self.peek() == Some(&Token::LParen) {
            let parameters = self.parameters()?;
            let given = |value: Option<String>| value.or_else(|| Some("default".to_string()));
            return Ok(parameters
                .into_iter()
                .map(|(name, value)| (name, given(value)))
                .collect());
        }
        let mut options = Vec::new();
        loop {
            let name = match self.peek().and_then(string_of) {
                Some(name) => {
                    self.at += 1;
                    name
                }
                None => self.setting_name()?,
            };
            if !self.token(&Token::Eq) {
                return Err(self.syntax_error());
            }
            let value = self.value()?;
            options.push((name, value.or_else(|| Some("default".to_string()))));
            // Another action may follow the comma.
            let token = |at: usize| self.tokens.get(at).map(|token| &token.token);
            let is_name = |token: &Token| matches!(token, Token::Word(_)) || string_of(token).is_some();
            let goes_on = self.peek() == Some(&Token::Comma)
                && token(self.at + 1).is_some_and(is_name)
                && token(self.at + 2) == Some(&Token::Eq);
            if !goes_on {
                return Ok(options);
            }
            self.at += 1;
        }
    }

    /// What stands behind ALTER COLUMN.
    fn column_storage(&mut self) -> Result<StorageChange> {
        let name = self.name()?;
        let mut dynamic = None;
        let setting = if self.word("RESET") {
            dynamic = said_of_dynamic(&self.parameters()?).map(|_| false);
            "RESET (...)"
        } else {
            self.expect("SET")?;
            if self.word("STATISTICS") {
                self.signed()?;
                "SET STATISTICS"
            } else if self.word("STORAGE") {
                self.label()?;
                "SET STORAGE"
            } else if self.word("COMPRESSION") {
                self.label()?;
                "SET COMPRESSION"
            } else {
                dynamic = said_of_dynamic(&self.parameters()?);
                "SET (...)"
            }
        };
        Ok(StorageChange::Column {
            name,
            setting,
            dynamic,
        })
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
        let comment = self.comment()?;
        Ok(Definition::CommentOnConstraint {
            constraint,
            table,
            comment,
        })
    }

    /// What stands behind COMMENT, up to the object, of which nothing is asked.
    fn comment_on_system_object(&mut self) -> Result<Definition> {
        self.expect("ON")?;
        let kind = self.label()?.to_uppercase();
        while self.peek().is_some() && !is_word_at(&self.tokens, self.at, "IS") {
            self.at += 1;
        }
        self.expect("IS")?;
        if !self.word("NULL") {
            let text = self.peek().and_then(string_of);
            text.ok_or_else(|| self.syntax_error())?;
            self.at += 1;
        }
        Ok(Definition::CommentOnSystem { kind })
    }

    pub(super) fn if_exists(&mut self) -> Result<bool> {
        let said = self.word("IF");
        if said {
            self.expect("EXISTS")?;
        }
        Ok(said)
    }
}

/// What the options of a column say of whether a write added it: nothing, or the pattern that it fits, as pg_attribute.attoptions has it.
fn said_of_dynamic(parameters: &[(String, Option<String>)]) -> Option<bool> {
    let (_, value) = parameters.iter().find(|(name, _)| name == "dynamic")?;
    Some(value.as_deref() != Some("false"))
}
