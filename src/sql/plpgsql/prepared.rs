//! `Prepared`: the statement that a fragment of a body has become, kept as long as the variables that it may name are of the same types.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::StatementFault;
use crate::sql::Statement;
use crate::system::Variables;
use crate::{Error, Result};

/// What a fragment has become.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The words in it.
    pub(super) words: BTreeSet<String>,
    /// Those that no name stands behind: as a record's they mean all of it.
    pub(super) rows: BTreeSet<String>,
    /// The statement, for these variables.
    statement: Mutex<Option<(Arc<Variables>, Arc<Statement>)>>,
    text: String,
}

impl Prepared {
    /// Of the text of a statement.
    pub(super) fn new(text: String) -> Prepared {
        // A text that stands between quotes names nothing.
        let named = crate::parse::without_strings(&text);
        let mut words: BTreeSet<String> = named
            .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$')))
            .map(str::to_lowercase)
            .collect();
        // What stands in quotes is what it is.
        words.extend(named.split('"').skip(1).step_by(2).map(str::to_string));
        Prepared {
            rows: bare_words(&named),
            words,
            statement: Mutex::default(),
            text,
        }
    }

    /// The statement that names these variables. Errors: 42601.
    pub(super) fn statement(&self, variables: Variables) -> Result<(Arc<Variables>, Arc<Statement>)> {
        let mut known = self.statement.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, statement)) = known.as_ref()
            && **known == variables
        {
            return Ok((Arc::clone(known), Arc::clone(statement)));
        }
        let made = (Arc::new(variables), Arc::new(only_statement(&self.text)?));
        *known = Some((Arc::clone(&made.0), Arc::clone(&made.1)));
        Ok(made)
    }
}

/// The words of a text behind which no point and name stand.
fn bare_words(text: &str) -> BTreeSet<String> {
    let is_of_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let mut words = BTreeSet::new();
    let (mut rest, mut in_quotes) = (text, false);
    while let Some(start) = rest.find(|c: char| is_of_word(c) || c == '"') {
        rest = &rest[start..];
        if let Some(after) = rest.strip_prefix('"') {
            (rest, in_quotes) = (after, !in_quotes);
            if !in_quotes {
                continue;
            }
        }
        let end = match in_quotes {
            true => rest.find('"'),
            false => rest.find(|c: char| !is_of_word(c)),
        };
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        let behind = after.trim_start_matches('"').trim_start();
        let behind = behind.strip_prefix('.').map(str::trim_start);
        if behind.is_none_or(|behind| !behind.starts_with(|c: char| is_of_word(c) || c == '"')) {
            words.insert(match in_quotes {
                true => word.to_string(),
                false => word.to_lowercase(),
            });
        }
        rest = after;
    }
    words
}

/// The statement of a text. Errors: 42601 for several.
pub(super) fn only_statement(text: &str) -> Result<Statement> {
    let mut statements = crate::sql::parse(text)?;
    match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => Err(Error::InvalidStatement {
            state: StatementFault::Syntax,
            message: "cannot insert multiple commands into a prepared statement".to_string(),
            hint: None,
        }),
    }
}
