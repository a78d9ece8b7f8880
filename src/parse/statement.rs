//! `ParsedStatement`: one statement of a message, with what the parser's tree cannot hold (hints, ALLOW FILTERING).
//! Text goes through `hash_comment`, the tokenizer, `tokens` and the parser; the last three ask `dialect`.

use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{self, ObjectName};
use sqlparser::tokenizer::Tokenizer;

use super::advice::advise;
use super::catalog_update::CatalogUpdate;
use super::command::Command;
use super::copy::CopySubject;
use super::dialect::KEYSPAN;
use super::hints::{HintUses, Hints, check_used};
use super::kind::StatementKind;
use super::position::Cursor;
use super::row_locks::LockStrength;
use super::tokens::StatementTokens;
use super::tree::parse_tree;
use super::walk::visit_relations;
use super::with_write::has_writes;
use super::{
    TruncatedName, catalog_query, command_reader, copy_reader, hash_comment, long_names, number_junk,
    surrogate_pairs, syntax_error, text_place, tokens, unicode_escapes,
};
use crate::{Error, Result};

/// One statement as it was read.
#[derive(Debug, Clone)]
pub struct ParsedStatement {
    /// The tree. `UPSERT INTO` is an `Insert` here that [`is_upsert`]. Says nothing when there is a `command`, but for COPY, whose
    /// query or condition it is.
    pub ast: ast::Statement,
    /// What it is when the session runs it itself.
    pub command: Option<Command>,
    /// The statement's own text.
    pub text: Arc<str>,
    /// The text of the whole message: the tree's places and the positions of errors count from its beginning.
    pub source: Arc<str>,
    /// What it asks of its plan.
    pub hints: Hints,
    /// What it does to the database.
    pub kind: StatementKind,
    /// How its first locking clause locks rows.
    pub(crate) row_locks: Option<LockStrength>,
    /// The cursor whose row it changes (WHERE CURRENT OF).
    pub(crate) current_of: Option<String>,
    /// What it asks for and does not get, though it runs.
    pub warnings: Arc<[Warning]>,
    /// The names of relations that say which database they are in, whole.
    pub(crate) databases: Arc<[ObjectName]>,
    /// Names that were too long. The first statement of a message has those of all.
    pub truncated_names: Vec<TruncatedName>,
}

/// What a client is told of a statement that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// One line.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl ParsedStatement {
    /// Whether it is a query, or a write, whose WITH clause writes.
    pub(crate) fn is_query_that_writes(&self) -> bool {
        matches!(&self.ast, ast::Statement::Query(query) if has_writes(query))
    }

    /// Whether it tells of a plan.
    pub(crate) fn is_explain(&self) -> bool {
        matches!(self.ast, ast::Statement::Explain { .. })
    }

    /// Whether it runs code, which may do anything: DO, CALL.
    pub(crate) fn runs_code(&self) -> bool {
        matches!(self.command, Some(Command::Do { .. })) || matches!(self.ast, ast::Statement::Call(_))
    }

    /// What PostgreSQL calls it when a read-only transaction must not run it: a write, or a query that locks rows.
    pub fn name_of_write(&self) -> Option<String> {
        let locking = || match (&self.ast, self.row_locks) {
            (ast::Statement::Query(_), Some(strength)) => Some(format!("SELECT {}", strength.clause())),
            _ => None,
        };
        let write = self.kind.write().map(|write| write.name.to_string());
        write.or_else(locking)
    }

    /// What PostgreSQL calls it when a function that is not VOLATILE must not run it: whatever is no query that only reads.
    pub(crate) fn name_unless_query(&self) -> Option<String> {
        let first_word = || {
            let word = self
                .text
                .split(|c: char| !c.is_ascii_alphabetic())
                .find(|word| !word.is_empty());
            word.unwrap_or_default().to_uppercase()
        };
        match (&self.command, &self.ast) {
            (Some(Command::Copy(_)), _) => Some("COPY".to_string()),
            (Some(command), _) if !command.tag().is_empty() => Some(command.tag().to_string()),
            (Some(_), _) | (None, ast::Statement::Explain { .. } | ast::Statement::Call(_)) => {
                Some(first_word())
            }
            (None, _) => self.name_of_write(),
        }
    }

    /// An error of this statement with its position in the text.
    pub fn locate(&self, error: Error) -> Error {
        advise(text_place::locate(error, &self.source), &self.source)
    }
}

/// Splits and parses the text of a message. Errors: 42601 with a position.
pub fn parse(text: &str) -> Result<Vec<ParsedStatement>> {
    read(text).map_err(|error| advise(error, text))
}

fn read(text: &str) -> Result<Vec<ParsedStatement>> {
    if let Some(at) = text.find('\0') {
        return Err(syntax_error::near_text("\\0", text[..at].chars().count() + 1));
    }
    let blanked = hash_comment::blank_hash_comments(text);
    let joined = surrogate_pairs::join(&blanked);
    let mut tokens = Tokenizer::new(&KEYSPAN, &joined)
        .tokenize_with_location()
        .map_err(|error| syntax_error::of_tokenizer(error, text))?;
    surrogate_pairs::settle(&mut tokens);
    number_junk::check(&tokens, text)?;
    unicode_escapes::settle(&mut tokens, text)?;
    let truncated = long_names::truncate(&mut tokens);
    let source: Arc<str> = text.into();
    let mut cursor = Cursor::new(text);
    let statements = tokens::statements(tokens, text);
    let parsed = statements.map(|tokens| parse_one(tokens?, &source, &mut cursor));
    let mut parsed = parsed.collect::<Result<Vec<_>>>()?;
    if let Some(first) = parsed.first_mut() {
        first.truncated_names = truncated;
    }
    Ok(parsed)
}

fn parse_one(
    mut read: StatementTokens,
    source: &Arc<str>,
    cursor: &mut Cursor<'_>,
) -> Result<ParsedStatement> {
    let start = cursor.byte_offset(read.span.start);
    let end = cursor.byte_offset(read.span.end);
    let own_text = source.get(start..end).unwrap_or_default();
    let warnings = warnings(&read);
    catalog_query::spell_explain(&mut read.tokens);
    let (ast, command) = match catalog_query::read(&read.tokens, source, end)? {
        Some(query) => (query, None),
        None if command_reader::is_command(&read.tokens) => {
            let command = command_reader::read(read.tokens, source, end)?;
            (ast::Statement::UnlockTables, Some(command))
        }
        None if copy_reader::is_copy(&read.tokens) => {
            let copied = copy_reader::read(read.tokens, source, end)?;
            read.hints.allow_filtering |= copied.allows_filtering;
            let tree = match copied.tree.is_empty() {
                true => ast::Statement::UnlockTables,
                false => parse_tree(copied.tree, source)?,
            };
            (tree, Some(Command::Copy(Box::new(copied.copy))))
        }
        None => {
            let tree = parse_tree(read.tokens, source)?;
            match CatalogUpdate::of(&tree) {
                Some(update) => (ast::Statement::UnlockTables, Some(Command::UpdateCatalog(update))),
                None => (tree, None),
            }
        }
    };
    let kind = match &command {
        Some(command) => StatementKind::of_command(command, &ast),
        None => StatementKind::of(&ast),
    };
    check_used(&read.hints, uses_of(&ast, command.as_ref()))?;
    Ok(ParsedStatement {
        databases: names_with_databases(&ast, own_text),
        ast,
        command,
        text: own_text.into(),
        source: source.clone(),
        hints: read.hints,
        kind,
        row_locks: read.row_locks,
        current_of: read.current_of,
        warnings,
        truncated_names: Vec::new(),
    })
}

/// The names of relations that say which database they are in.
fn names_with_databases(ast: &ast::Statement, text: &str) -> Arc<[ObjectName]> {
    let mut found = Vec::new();
    // Few statements have as many dots, which is asked first.
    if text.bytes().filter(|byte| *byte == b'.').count() > 1 {
        let _: ControlFlow<()> = visit_relations(ast, |name| {
            found.extend((name.0.len() == 3).then(|| name.clone()));
            ControlFlow::Continue(())
        });
    }
    found.into()
}

fn uses_of(ast: &ast::Statement, command: Option<&Command>) -> HintUses {
    let is_copied = matches!(command, Some(Command::Copy(copy)) if copy.subject != CopySubject::Query);
    HintUses {
        inserts: may_insert(ast) && !is_copied,
        // What is prepared is read, and asked, by itself.
        changes: is_change(ast) || matches!(command, Some(Command::Prepare { .. })),
        writes_versions: match command {
            Some(command) => matches!(command, Command::Prepare { .. }),
            None => may_write_versions(ast),
        },
        reads_versions: match command {
            // Their queries have the hints that stand in them.
            Some(Command::Declare { .. } | Command::Prepare { .. } | Command::Copy(_)) => true,
            Some(_) => false,
            None => may_read_versions(ast),
        },
        keeps_query: matches!(ast, ast::Statement::CreateView(view) if !view.materialized),
    }
}

/// Whether it may write rows by INSERT, UPSERT or UPDATE.
fn may_write_versions(ast: &ast::Statement) -> bool {
    match ast {
        ast::Statement::Query(query) => has_writes(query),
        ast::Statement::Insert(_) | ast::Statement::Update { .. } => true,
        ast::Statement::Explain { statement, .. } | ast::Statement::Prepare { statement, .. } => {
            may_write_versions(statement)
        }
        _ => false,
    }
}

/// Whether it reads tables now, other than those whose rows it changes.
fn may_read_versions(ast: &ast::Statement) -> bool {
    match ast {
        ast::Statement::Query(_) | ast::Statement::Insert(_) => true,
        ast::Statement::CreateTable(create) => create.query.is_some(),
        ast::Statement::Explain { statement, .. } | ast::Statement::Prepare { statement, .. } => {
            may_read_versions(statement)
        }
        _ => false,
    }
}

/// Whether it may write new rows.
fn may_insert(ast: &ast::Statement) -> bool {
    match ast {
        ast::Statement::Query(query) => has_writes(query),
        ast::Statement::Update { .. } | ast::Statement::Delete(_) | ast::Statement::Merge(_) => false,
        ast::Statement::Explain { statement, .. } | ast::Statement::Prepare { statement, .. } => {
            may_insert(statement)
        }
        _ => true,
    }
}

/// Whether it is an UPDATE or DELETE, and does nothing else.
fn is_change(ast: &ast::Statement) -> bool {
    match ast {
        ast::Statement::Update(_) | ast::Statement::Delete(_) => true,
        ast::Statement::Explain { statement, .. } | ast::Statement::Prepare { statement, .. } => {
            is_change(statement)
        }
        _ => false,
    }
}

fn warnings(read: &StatementTokens) -> Arc<[Warning]> {
    let first_word = read
        .tokens
        .first()
        .map(|token| token.token.to_string().to_uppercase());
    let first_word = first_word
        .filter(|word| ["SELECT", "INSERT", "UPSERT", "UPDATE", "DELETE"].contains(&word.as_str()))
        .unwrap_or_else(|| "SELECT".to_string());
    let misplaced = read.misplaced_hints.iter().map(|name| Warning {
        message: format!("the hint {name} stands where it has no effect"),
        hint: format!("Hints stand right behind SELECT, INSERT, UPSERT, UPDATE or DELETE, as in {first_word} /*+ {name} */ …"),
    });
    misplaced.collect()
}

/// Whether an INSERT is an UPSERT. The parser sets this mark, REPLACE's, in other dialects only.
pub(crate) fn is_upsert(insert: &ast::Insert) -> bool {
    insert.replace_into
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> ParsedStatement {
        let mut statements = parse(text).unwrap();
        assert_eq!(statements.len(), 1, "{text}");
        statements.remove(0)
    }

    fn fault(text: &str) -> (String, Option<usize>) {
        let error = parse(text).unwrap_err();
        (error.to_string(), error.position())
    }

    #[test]
    fn statements_are_split_and_keep_their_text() {
        let texts: Vec<_> = parse("select 1; ; -- no\n select ';' ;;")
            .unwrap()
            .iter()
            .map(|s| s.text.to_string())
            .collect();
        assert_eq!(texts, ["select 1", "select ';'"]);
        assert!(parse(" -- nothing\n ; /* at all */").unwrap().is_empty());
    }

    #[test]
    fn errors_have_postgres_wording_and_position() {
        assert_eq!(
            fault("selec 1"),
            ("syntax error at or near \"selec\"".into(), Some(1))
        );
        assert_eq!(
            fault("select (1"),
            ("syntax error at end of input".into(), Some(10))
        );
        assert_eq!(
            fault("select 1;\nselect é é é"),
            ("syntax error at or near \"é\"".into(), Some(22))
        );
        assert_eq!(
            fault("select 'abc"),
            ("unterminated quoted string at or near \"'abc\"".into(), Some(8))
        );
        assert_eq!(
            fault("select \"abc"),
            (
                "unterminated quoted identifier at or near \"\"abc\"".into(),
                Some(8)
            )
        );
    }

    #[test]
    fn our_own_syntax_is_read() {
        let upsert = only("UPSERT INTO t(a) VALUES (1)");
        assert!(matches!(&upsert.ast, ast::Statement::Insert(insert) if is_upsert(insert)));
        let insert = only("INSERT INTO t(a) VALUES (1)");
        assert!(matches!(&insert.ast, ast::Statement::Insert(insert) if !is_upsert(insert)));
        assert!(
            only("select /*+ _l_allow_filtering_ */ * from t where b = 1")
                .hints
                .allow_filtering
        );
        assert!(
            only("select * from t where b = 1 ALLOW FILTERING LIMIT 5")
                .hints
                .allow_filtering
        );
        assert!(
            only("select * from t where b = 1 LIMIT 5 allow filtering")
                .hints
                .allow_filtering
        );
        assert!(!only("select allow from filtering").hints.allow_filtering);
        assert_eq!(only("select a == 1").ast.to_string(), "SELECT a = 1");
        assert_eq!(only("TABLE t").ast.to_string(), "SELECT * FROM t");
        assert_eq!(
            only("select a between symmetric 3 and 1 and b").ast.to_string(),
            "SELECT (a BETWEEN 3 AND 1 OR a BETWEEN 1 AND 3) AND b"
        );
        let create =
            only("CREATE TABLE t (\n a int, # it's the key; really\n b int # last\n) WITH (DYNAMIC_COLUMNS)");
        assert_eq!(
            create.ast.to_string(),
            "CREATE TABLE t (a INT, b INT) WITH (DYNAMIC_COLUMNS = 'true')"
        );
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = format!("select {}1{}", "(".repeat(10_000), ")".repeat(10_000));
        assert_eq!(parse(&deep).unwrap_err().sqlstate(), "54001");
    }
}
