//! Reads CREATE SEQUENCE, ALTER SEQUENCE and what ALTER TABLE changes of an identity column off their tokens: the parser takes the options
//! in one order only. Called by `definition_reader`; knows nothing of what they do.

use sqlparser::ast::{Expr, ObjectName, SequenceOptions};
use sqlparser::tokenizer::Token;

use super::definition::{Definition, IdentityChange, Persistence, SequenceChange, SequenceOption};
use super::names;
use super::token_reader::TokenReader;
use crate::error::StatementFault;
use crate::{Error, Result};

impl TokenReader<'_> {
    /// What stands behind CREATE.
    pub(super) fn create_sequence(&mut self) -> Result<Definition> {
        let _ = self.word("LOCAL") || self.word("GLOBAL");
        let persistence = if self.word("TEMP") || self.word("TEMPORARY") {
            Persistence::Temporary
        } else if self.word("UNLOGGED") {
            Persistence::Unlogged
        } else {
            Persistence::Permanent
        };
        self.expect("SEQUENCE")?;
        let if_not_exists = self.word("IF");
        if if_not_exists {
            self.expect("NOT")?;
            self.expect("EXISTS")?;
        }
        let name = self.object_name()?;
        let options = self.sequence_options()?;
        Ok(Definition::CreateSequence {
            name,
            persistence,
            if_not_exists,
            options,
        })
    }

    /// What stands behind ALTER SEQUENCE.
    pub(super) fn alter_sequence(&mut self) -> Result<Definition> {
        let if_exists = self.if_exists()?;
        let name = self.object_name()?;
        let altered = |change| Definition::AlterSequence {
            name: name.clone(),
            if_exists,
            change,
        };
        let change = if self.word("RENAME") {
            self.expect("TO")?;
            SequenceChange::Rename(self.name()?)
        } else if self.word("OWNER") {
            self.expect("TO")?;
            SequenceChange::Role(self.role_name()?)
        } else if self.word("SET") {
            if self.word("LOGGED") {
                return Ok(altered(SequenceChange::Unlogged(false)));
            }
            if self.word("UNLOGGED") {
                return Ok(altered(SequenceChange::Unlogged(true)));
            }
            self.expect("SCHEMA")?;
            SequenceChange::Schema(self.name()?)
        } else {
            let options = self.sequence_options()?;
            match options.is_empty() {
                true => return Err(self.syntax_error()),
                false => SequenceChange::Options(options),
            }
        };
        Ok(altered(change))
    }

    /// What stands behind ALTER COLUMN: one change of an identity column.
    pub(super) fn identity_change(&mut self) -> Result<IdentityChange> {
        if self.word("DROP") {
            self.expect("IDENTITY")?;
            Ok(IdentityChange::Drop {
                if_exists: self.if_exists()?,
            })
        } else if self.word("ADD") {
            self.add_identity()
        } else {
            self.set_identity()
        }
    }

    /// `GENERATED ALWAYS AS IDENTITY (options)`.
    fn add_identity(&mut self) -> Result<IdentityChange> {
        self.expect("GENERATED")?;
        let always = self.generated_when()?;
        self.expect("AS")?;
        self.expect("IDENTITY")?;
        let mut options = Vec::new();
        if self.token(&Token::LParen) {
            options = self.sequence_options()?;
            if !self.token(&Token::RParen) {
                return Err(self.syntax_error());
            }
        }
        Ok(IdentityChange::Add { always, options })
    }

    /// `SET GENERATED ALWAYS`, `SET option`, `RESTART`, as many as there are.
    fn set_identity(&mut self) -> Result<IdentityChange> {
        let (mut always, mut options) = (None, Vec::new());
        while !matches!(self.peek(), None | Some(Token::Comma)) {
            if !self.word("SET") {
                self.expect("RESTART")?;
                options.push(self.restart()?);
            } else if self.word("GENERATED") {
                always = Some(self.generated_when()?);
            } else {
                let option = self.sequence_option()?;
                options.push(option.ok_or_else(|| self.syntax_error())?);
            }
        }
        match always.is_none() && options.is_empty() {
            true => Err(self.syntax_error()),
            false => Ok(IdentityChange::Set { always, options }),
        }
    }

    /// `ALWAYS` or `BY DEFAULT`.
    fn generated_when(&mut self) -> Result<bool> {
        if self.word("ALWAYS") {
            return Ok(true);
        }
        self.expect("BY")?;
        self.expect("DEFAULT")?;
        Ok(false)
    }

    /// Options up to what is none.
    fn sequence_options(&mut self) -> Result<Vec<SequenceOption>> {
        let mut options = Vec::new();
        while let Some(option) = self.sequence_option()? {
            options.push(option);
        }
        Ok(options)
    }

    fn sequence_option(&mut self) -> Result<Option<SequenceOption>> {
        let option = if self.word("AS") {
            SequenceOption::Type(self.name()?)
        } else if self.word("INCREMENT") {
            self.word("BY");
            SequenceOption::Increment(self.bigint()?)
        } else if self.word("MINVALUE") {
            SequenceOption::Min(Some(self.bigint()?))
        } else if self.word("MAXVALUE") {
            SequenceOption::Max(Some(self.bigint()?))
        } else if self.word("START") {
            self.word("WITH");
            SequenceOption::Start(self.bigint()?)
        } else if self.word("RESTART") {
            self.restart()?
        } else if self.word("CACHE") {
            SequenceOption::Cache(self.bigint()?)
        } else if self.word("CYCLE") {
            SequenceOption::Cycle(true)
        } else if self.word("NO") {
            return self.no_option().map(Some);
        } else if self.word("OWNED") {
            self.expect("BY")?;
            SequenceOption::OwnedBy(self.object_name()?)
        } else if self.word("SEQUENCE") {
            self.expect("NAME")?;
            SequenceOption::Name(self.object_name()?)
        } else {
            return Ok(None);
        };
        Ok(Some(option))
    }

    /// What stands behind NO.
    fn no_option(&mut self) -> Result<SequenceOption> {
        if self.word("MINVALUE") {
            Ok(SequenceOption::Min(None))
        } else if self.word("MAXVALUE") {
            Ok(SequenceOption::Max(None))
        } else {
            self.expect("CYCLE")?;
            Ok(SequenceOption::Cycle(false))
        }
    }

    /// What stands behind RESTART.
    fn restart(&mut self) -> Result<SequenceOption> {
        let says_with = self.word("WITH");
        let is_number = matches!(self.peek(), Some(Token::Number(..) | Token::Minus | Token::Plus));
        match says_with || is_number {
            true => Ok(SequenceOption::Restart(Some(self.bigint()?))),
            false => Ok(SequenceOption::Restart(None)),
        }
    }

    /// A number with its sign. Errors: 22P02 for one with a fraction, 22003.
    fn bigint(&mut self) -> Result<i64> {
        bigint_of(&self.signed_number()?)
    }
}

/// The options of a sequence as the parser has read them. Errors: 22P02, 22003.
pub(crate) fn options_of(options: &[SequenceOptions]) -> Result<Vec<SequenceOption>> {
    let number = |expr: &Expr| bigint_of(&expr.to_string());
    options
        .iter()
        .map(|option| {
            Ok(match option {
                SequenceOptions::IncrementBy(value, _) => SequenceOption::Increment(number(value)?),
                SequenceOptions::MinValue(value) => {
                    SequenceOption::Min(value.as_ref().map(number).transpose()?)
                }
                SequenceOptions::MaxValue(value) => {
                    SequenceOption::Max(value.as_ref().map(number).transpose()?)
                }
                SequenceOptions::StartWith(value, _) => SequenceOption::Start(number(value)?),
                SequenceOptions::Cache(value) => SequenceOption::Cache(number(value)?),
                // The parser means NO.
                SequenceOptions::Cycle(no) => SequenceOption::Cycle(!no),
            })
        })
        .collect()
}

/// The column that OWNED BY names, and its table; `None` for NONE. Errors: 42601.
pub(crate) fn owner_of(name: &ObjectName) -> Result<Option<(ObjectName, String)>> {
    let Some((column, table)) = name.0.split_last() else {
        return Ok(None);
    };
    let column = column.as_ident().map(names::fold).unwrap_or_default();
    match (table.is_empty(), column.as_str()) {
        (true, "none") => Ok(None),
        (true, _) => Err(Error::InvalidStatement {
            state: StatementFault::Syntax,
            message: "invalid OWNED BY option".to_string(),
            hint: Some("Specify OWNED BY table.column or OWNED BY NONE.".to_string()),
        }),
        (false, _) => Ok(Some((ObjectName(table.to_vec()), column))),
    }
}

fn bigint_of(text: &str) -> Result<i64> {
    let is_whole = text
        .trim_start_matches('-')
        .bytes()
        .all(|byte| byte.is_ascii_digit());
    match (text.parse(), is_whole) {
        (Ok(number), _) => Ok(number),
        (Err(_), true) => Err(Error::NumericOutOfRange {
            message: format!("value \"{text}\" is out of range for type bigint"),
            detail: None,
        }),
        (Err(_), false) => Err(Error::InvalidText {
            type_name: "bigint".to_string(),
            value: text.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::command::Command;
    use crate::parse::definition::AlterAction;

    fn read(text: &str) -> Result<Definition> {
        let command = crate::parse::parse(text)?.remove(0).command;
        match command {
            Some(Command::Define(definition)) => Ok(definition),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn options_come_in_any_order() {
        let Definition::CreateSequence { options, .. } = read(
            "CREATE SEQUENCE IF NOT EXISTS a.s START 5 INCREMENT BY -2 NO MINVALUE MAXVALUE +9 CYCLE CACHE 3 OWNED BY NONE AS int",
        )
        .unwrap() else {
            panic!("not a CREATE SEQUENCE");
        };
        assert_eq!(
            options,
            [
                SequenceOption::Start(5),
                SequenceOption::Increment(-2),
                SequenceOption::Min(None),
                SequenceOption::Max(Some(9)),
                SequenceOption::Cycle(true),
                SequenceOption::Cache(3),
                SequenceOption::OwnedBy(ObjectName::from(vec![sqlparser::ast::Ident::with_quote(
                    '"', "none"
                )])),
                SequenceOption::Type("int".to_string()),
            ]
        );
    }

    #[test]
    fn changes_of_identity_columns_are_read() {
        let change = |text: &str| {
            let actions = crate::parse::parse(text).unwrap().remove(0).hints.actions;
            match actions.as_slice() {
                [AlterAction::Identity { change, .. }] => change.clone(),
                other => panic!("{text}: {other:?}"),
            }
        };
        assert_eq!(
            change("ALTER TABLE t ALTER c SET GENERATED BY DEFAULT SET START 3 RESTART"),
            IdentityChange::Set {
                always: Some(false),
                options: vec![SequenceOption::Start(3), SequenceOption::Restart(None)],
            }
        );
        assert_eq!(
            change("ALTER TABLE ONLY t ALTER COLUMN c DROP IDENTITY IF EXISTS"),
            IdentityChange::Drop { if_exists: true }
        );
        assert_eq!(
            change("ALTER TABLE t ALTER c ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME s CACHE 1)"),
            IdentityChange::Add {
                always: true,
                options: vec![
                    SequenceOption::Name(ObjectName::from(vec![sqlparser::ast::Ident::with_quote(
                        '"', "s"
                    )])),
                    SequenceOption::Cache(1),
                ],
            }
        );
    }

    #[test]
    fn what_is_no_option_is_refused() {
        for (text, state) in [
            ("CREATE SEQUENCE s START", "42601"),
            ("CREATE SEQUENCE s INCREMENT 1.5", "22P02"),
            ("CREATE SEQUENCE s MAXVALUE 99999999999999999999", "22003"),
            ("ALTER SEQUENCE s", "42601"),
            ("ALTER SEQUENCE s NO", "42601"),
            ("ALTER SEQUENCE s SET x", "42601"),
        ] {
            let error = crate::parse::parse(text).unwrap_err();
            assert_eq!(error.sqlstate(), state, "{text}");
        }
    }
}
