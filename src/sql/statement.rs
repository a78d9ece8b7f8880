//! `Statement`: one parsed statement with what the parser's tree cannot hold (hints, UPSERT, ALLOW FILTERING).
//! Text goes through `comment` (`#` comments), the tokenizer, `tokens` (our syntax over PostgreSQL's) and sqlparser.

use std::sync::Arc;

use sqlparser::ast;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, TokenizerError, Whitespace};

use super::command::Command;
use super::command_reader;
use super::effort::Effort;
use super::grammar::{self, Fault};
use super::kind::StatementKind;
use super::position::{Cursor, character_position};
use super::query::QueryPlan;
use super::{hash_comment, nesting, row_assignment, symmetric, text_place, tokens, with_write};
use crate::error::Limit;
use crate::exec::RowPlans;
use crate::exec::plan_cache::PlanCache;
use crate::{Error, Result};

/// How deep expressions and subqueries may nest (54001 above it).
const NESTING_MAX: usize = 200;

/// One parsed statement.
#[derive(Debug, Clone)]
pub struct Statement {
    /// The tree. `UPSERT INTO` is an `Insert` here, with `upsert` set. Says nothing when there is a `command`.
    pub ast: ast::Statement,
    /// What it is when the session runs it itself.
    pub command: Option<Command>,
    /// The statement's own text.
    pub text: Arc<str>,
    /// The text of the whole message: the tree's places and the positions of errors count from its beginning.
    pub source: Arc<str>,
    /// `UPSERT`.
    pub upsert: bool,
    /// `/*+ _l_allow_filtering_ */` or ALLOW FILTERING.
    pub allow_filtering: bool,
    /// What it does to the database.
    pub kind: StatementKind,
    /// Whether its work is bounded by its form.
    pub(super) effort: Effort,
    /// The plan of a query, or of how a write finds its rows.
    pub(super) plan: PlanCache<QueryPlan>,
    /// What a write computes of its rows.
    pub row_plans: Arc<RowPlans>,
}

/// Splits and parses the text of a message. Errors: 42601 with a position.
pub fn parse(text: &str) -> Result<Vec<Statement>> {
    if let Some(at) = text.find('\0') {
        return Err(syntax_error("\\0", text[..at].chars().count() + 1));
    }
    let blanked = hash_comment::blank_hash_comments(text);
    let all = Tokenizer::new(&PostgreSqlDialect {}, &blanked)
        .tokenize_with_location()
        .map_err(|error| tokenizer_error(error, text))?;
    if let Some(token) = all.iter().find(|token| is_empty_name(&token.token)) {
        return Err(Error::Syntax {
            message: "zero-length delimited identifier at or near \"\"\"\"".to_string(),
            position: character_position(token.span.start, text),
        });
    }
    let source: Arc<str> = text.into();
    let mut cursor = Cursor::new(text);
    statements_of(all)
        .into_iter()
        .filter(|tokens| tokens.iter().any(is_meaningful))
        .map(|tokens| parse_one(tokens, &source, &mut cursor))
        .collect()
}

/// The tokens of each statement.
fn statements_of(all: Vec<TokenWithSpan>) -> Vec<Vec<TokenWithSpan>> {
    if all.iter().all(|token| token.token != Token::SemiColon) {
        return vec![all];
    }
    let mut statements = vec![Vec::new()];
    for token in all {
        match (&token.token, statements.last_mut()) {
            (Token::SemiColon, _) | (_, None) => statements.push(Vec::new()),
            (_, Some(statement)) => statement.push(token),
        }
    }
    statements
}

impl Statement {
    /// An error of this statement with its position in the text.
    pub fn locate(&self, error: Error) -> Error {
        text_place::locate(error, &self.source)
    }
}

fn parse_one(tokens: Vec<TokenWithSpan>, source: &Arc<str>, cursor: &mut Cursor<'_>) -> Result<Statement> {
    let text: &str = source;
    let own_text = slice_of(&tokens, text, cursor);
    nesting::check(&tokens)?;
    if let Some(command) = command_reader::read(&tokens, text)? {
        return Ok(Statement {
            ast: ast::Statement::UnlockTables,
            command: Some(command),
            text: own_text.into(),
            source: source.clone(),
            upsert: false,
            allow_filtering: false,
            kind: StatementKind::Read,
            effort: Effort::Unbounded,
            plan: PlanCache::default(),
            row_plans: Arc::default(),
        });
    }
    let read = tokens::read(tokens);
    match grammar::fault(&read.tokens) {
        Some(Fault::Near(token)) => {
            let position = character_position(token.span.start, text);
            return Err(syntax_error(&token.token.to_string(), position));
        }
        Some(Fault::End) => return Err(end_of_input(text)),
        None => {}
    }
    let mut parser = Parser::new(&PostgreSqlDialect {})
        .with_recursion_limit(NESTING_MAX)
        .with_tokens_with_locations(read.tokens);
    let parsed = parser.parse_statement();
    let mut ast = parsed.map_err(|error| parser_error(error, text))?;
    let rest = parser.peek_token();
    if rest.token != Token::EOF {
        return Err(syntax_error(
            &rest.token.to_string(),
            character_position(rest.span.start, text),
        ));
    }
    if read.symmetric {
        symmetric::expand(&mut ast);
    }
    let mut ast = with_write::unwrap(ast);
    row_assignment::expand(&mut ast);
    let kind = StatementKind::of(&ast);
    Ok(Statement {
        effort: Effort::of(&ast, own_text),
        ast,
        command: None,
        text: own_text.into(),
        source: source.clone(),
        upsert: read.upsert,
        allow_filtering: read.allow_filtering,
        kind,
        plan: PlanCache::default(),
        row_plans: Arc::default(),
    })
}

/// Whether a token is `""`.
fn is_empty_name(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_some() && word.value.is_empty())
}

/// Whether a token is more than blanks and comments.
fn is_meaningful(token: &TokenWithSpan) -> bool {
    !matches!(token.token, Token::Whitespace(_))
}

/// The text of a statement without the blanks and line comments around it.
fn slice_of<'a>(tokens: &[TokenWithSpan], text: &'a str, cursor: &mut Cursor<'_>) -> &'a str {
    let outer = |token: &&TokenWithSpan| {
        is_meaningful(token) || matches!(token.token, Token::Whitespace(Whitespace::MultiLineComment(_)))
    };
    let (Some(first), Some(last)) = (tokens.iter().find(outer), tokens.iter().rev().find(outer)) else {
        return "";
    };
    let start = cursor.byte_offset(first.span.start);
    let end = cursor.byte_offset(last.span.end);
    text.get(start..end.max(start)).unwrap_or_default()
}

fn syntax_error(near: &str, position: usize) -> Error {
    Error::Syntax {
        message: format!("syntax error at or near \"{near}\""),
        position,
    }
}

fn end_of_input(text: &str) -> Error {
    Error::Syntax {
        message: "syntax error at end of input".to_string(),
        position: text.trim_end().chars().count() + 1,
    }
}

fn tokenizer_error(error: TokenizerError, text: &str) -> Error {
    let position = character_position(error.location, text);
    let rest: String = text.chars().skip(position.saturating_sub(1)).collect();
    if error.message == "Unterminated encoded string literal"
        && let Some(fault) = grammar::escape_fault(&rest)
    {
        return fault;
    }
    let message = match error.message.as_str() {
        "Unterminated string literal" => format!("unterminated quoted string at or near \"{rest}\""),
        "Unterminated encoded string literal" => format!("unterminated quoted string at or near \"{rest}\""),
        message if message.starts_with("Expected close delimiter") => {
            format!("unterminated quoted identifier at or near \"{rest}\"")
        }
        message if message.contains("multi-line comment") => {
            format!("unterminated /* comment at or near \"{rest}\"")
        }
        message if message.contains("dollar") => {
            format!("unterminated dollar-quoted string at or near \"{rest}\"")
        }
        message => format!("syntax error: {}", message.to_lowercase()),
    };
    Error::Syntax { message, position }
}

/// sqlparser says `Expected: a, found: b at Line: 1, Column: 5`; PostgreSQL names only what was found.
fn parser_error(error: ParserError, text: &str) -> Error {
    let message = match error {
        ParserError::RecursionLimitExceeded => {
            return Error::LimitExceeded {
                state: Limit::Complexity,
                message: "stack depth limit exceeded".to_string(),
                hint: format!("Nest the statement less deeply; {NESTING_MAX} levels are read."),
            };
        }
        ParserError::ParserError(message) | ParserError::TokenizerError(message) => message,
    };
    let location = read_location(&message);
    let position = location.map_or(0, |location| character_position(location, text));
    let found = message
        .split_once("found: ")
        .map(|(_, rest)| match rest.rfind(" at Line: ") {
            Some(end) => &rest[..end],
            None => rest,
        });
    match found {
        Some("EOF") => end_of_input(text),
        Some(found) => syntax_error(found, position),
        None => {
            let end = message.rfind(" at Line: ").unwrap_or(message.len());
            Error::Syntax {
                message: format!("syntax error: {}", message[..end].to_lowercase()),
                position,
            }
        }
    }
}

/// The location at the end of sqlparser's message.
fn read_location(message: &str) -> Option<Location> {
    let (_, rest) = message.rsplit_once(" at Line: ")?;
    let (line, column) = rest.split_once(", Column: ")?;
    Some(Location {
        line: line.trim().parse().ok()?,
        column: column.trim().parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Statement {
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
        assert!(upsert.upsert && matches!(upsert.ast, ast::Statement::Insert(_)));
        assert!(only("select /*+ _l_allow_filtering_ */ * from t where b = 1").allow_filtering);
        assert!(only("select * from t where b = 1 ALLOW FILTERING LIMIT 5").allow_filtering);
        assert!(only("select * from t where b = 1 LIMIT 5 allow filtering").allow_filtering);
        assert!(!only("select allow from filtering").allow_filtering);
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
