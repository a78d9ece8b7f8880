//! `Prepared`: the statement that a fragment of a body has become, kept as long as the variables that it may name are of the same types.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use sqlparser::ast;

use crate::error::StatementFault;
use crate::parse::plpgsql::tree::Target;
use crate::parse::subscript_assignment::with_root;
use crate::sql::Statement;
use crate::system::{CommonRows, Variables};
use crate::{Error, Result};

/// What a fragment has become.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The words in it.
    pub(super) words: BTreeSet<String>,
    /// Those that no name stands behind: as a record's they mean all of it.
    pub(super) rows: BTreeSet<String>,
    /// The statement, for these variables and tables of a trigger.
    statement: Mutex<Option<Known>>,
    text: String,
    /// Of an assignment to a part of a variable: its name.
    assigned: Option<Vec<String>>,
}

/// The variables and tables that a statement was made for, and it.
type Known = (Arc<Variables>, Arc<[CommonRows]>, Arc<Statement>);

impl Prepared {
    /// Of `name[1] := value`: a query of the whole that the variable holds, with the part replaced.
    pub(super) fn of_assignment(target: &Target, value: &str) -> Prepared {
        let text = format!("{}{} {value}", target.name(), target.subscripts.concat());
        Prepared {
            text: format!("UPDATE t SET a{} = {value}", target.subscripts.concat()),
            assigned: Some(target.parts.clone()),
            ..Prepared::new(text)
        }
    }

    /// Of the text of a statement.
    pub(super) fn new(text: String) -> Prepared {
        let text = with_arguments_from_one(text);
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
            assigned: None,
        }
    }

    /// The statement that names these variables, and these tables of a trigger. Errors: 42601.
    pub(super) fn statement(
        &self,
        variables: Variables,
        tables: &Arc<[CommonRows]>,
    ) -> Result<(Arc<Variables>, Arc<Statement>)> {
        let mut known = self.statement.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, bound_with, statement)) = known.as_ref()
            && **known == variables
            && bound_with.len() == tables.len()
            && bound_with
                .iter()
                .zip(&**tables)
                .all(|(known, table)| known.is_like(table))
        {
            return Ok((Arc::clone(known), Arc::clone(statement)));
        }
        let statement = match &self.assigned {
            None => only_statement(&self.text)?,
            Some(parts) => part_assignment(&self.text, parts)?,
        };
        let (variables, statement) = (Arc::new(variables), Arc::new(statement));
        let tables = tables.iter().map(CommonRows::anew).collect();
        *known = Some((Arc::clone(&variables), tables, Arc::clone(&statement)));
        Ok((variables, statement))
    }
}

/// TG_ARGV counts from zero, as no other array does: its subscripts get one more.
fn with_arguments_from_one(text: String) -> String {
    let is_of_word =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || !byte.is_ascii();
    let bytes = text.as_bytes();
    let (mut counted, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(byte) = bytes.get(at) {
        let length = match byte {
            b'\'' | b'"' => match bytes[at + 1..].iter().position(|other| other == byte) {
                Some(length) => length + 2,
                None => bytes.len() - at,
            },
            _ => bytes[at..]
                .iter()
                .take_while(|byte| is_of_word(byte))
                .count()
                .max(1),
        };
        let end = at + length;
        let word = &bytes[at..end];
        let is_name = word.eq_ignore_ascii_case(b"tg_argv") || word == b"\"tg_argv\"";
        let blanks = bytes[end..]
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        let bracket = end + blanks;
        if is_name && bytes.get(bracket) == Some(&b'[') {
            counted.push_str(&text[copied..=bracket]);
            counted.push_str("1 + ");
            copied = bracket + 1;
        }
        at = end;
    }
    if copied == 0 {
        return text;
    }
    counted.push_str(&text[copied..]);
    counted
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

/// SELECT of what an UPDATE's only assignment computes, of a variable where it names a column. Errors: 42601.
fn part_assignment(update: &str, parts: &[String]) -> Result<Statement> {
    let updated = only_statement(update)?;
    let mut selected = crate::sql::parse("SELECT NULL")?;
    let value = match &updated.parsed.ast {
        ast::Statement::Update(update) => update.assignments.first().map(|assignment| &assignment.value),
        _ => None,
    };
    let (Some(value), Some(selected)) = (value, selected.pop()) else {
        return Err(Error::internal("an assignment that is none"));
    };
    let names = parts.iter().map(|part| ast::Ident::with_quote('"', part.clone()));
    let variable = match parts {
        [name] => ast::Expr::Identifier(ast::Ident::with_quote('"', name.clone())),
        _ => ast::Expr::CompoundIdentifier(names.collect()),
    };
    let value = with_root(value, variable);
    let mut parsed = selected.parsed;
    if let ast::Statement::Query(query) = &mut parsed.ast
        && let ast::SetExpr::Select(select) = query.body.as_mut()
    {
        select.projection = vec![ast::SelectItem::UnnamedExpr(value)];
    }
    Ok(Statement::new(parsed))
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
