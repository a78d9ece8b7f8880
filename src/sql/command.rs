//! Statements that are the session's own business (transactions, settings, prepared statements, cursors), read off
//! their tokens: PostgreSQL's grammar of them is small and wider than sqlparser's. Called by `session`; knows nothing
//! of what they do.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::command_reader::Reader;
use crate::Result;
use crate::types::{SqlType, Value};

/// A statement that the session runs itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// BEGIN, START TRANSACTION.
    Begin { modes: Modes, start: bool },
    /// COMMIT, END.
    Commit { chain: bool },
    /// ROLLBACK, ABORT.
    Rollback { chain: bool },
    /// SAVEPOINT.
    Savepoint { name: String },
    /// RELEASE.
    Release { name: String },
    /// ROLLBACK TO.
    RollbackTo { name: String },
    /// SET TRANSACTION.
    SetTransaction { modes: Modes },
    /// SET SESSION CHARACTERISTICS.
    SetCharacteristics { modes: Modes },
    /// SET; `values` is `None` for DEFAULT.
    Set {
        name: String,
        values: Option<Vec<String>>,
        local: bool,
    },
    /// RESET; `None` for ALL.
    Reset { name: Option<String> },
    /// SHOW; `None` for ALL.
    Show { name: Option<String> },
    /// PREPARE.
    Prepare {
        name: String,
        types: Vec<SqlType>,
        text: String,
    },
    /// EXECUTE with constants.
    Execute { name: String, arguments: Vec<Value> },
    /// DEALLOCATE; `None` for ALL.
    Deallocate { name: Option<String> },
    /// DISCARD ALL, PLANS, SEQUENCES, TEMP.
    Discard { what: Discard },
    /// DECLARE … CURSOR FOR query.
    Declare { name: String, text: String },
    /// FETCH, or MOVE: `count` is `None` for ALL.
    Fetch {
        name: String,
        count: Option<u64>,
        only_move: bool,
    },
    /// CLOSE; `None` for ALL.
    Close { name: Option<String> },
}

/// What DISCARD forgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discard {
    /// Everything of the session.
    All,
    /// Cached plans.
    Plans,
    /// Cached sequence values.
    Sequences,
    /// Temporary tables.
    Temp,
}

/// Modes of a transaction; `None`: not said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Modes {
    /// ISOLATION LEVEL, lower case.
    pub isolation: Option<&'static str>,
    /// READ ONLY / READ WRITE.
    pub read_only: Option<bool>,
    /// [NOT] DEFERRABLE.
    pub deferrable: Option<bool>,
}

/// The words that begin a session's statement.
const FIRST_WORDS: [&str; 23] = [
    "BEGIN",
    "START",
    "COMMIT",
    "END",
    "ROLLBACK",
    "ABORT",
    "SAVEPOINT",
    "RELEASE",
    "SET",
    "RESET",
    "SHOW",
    "PREPARE",
    "EXECUTE",
    "DEALLOCATE",
    "DISCARD",
    "DECLARE",
    "FETCH",
    "MOVE",
    "CLOSE",
    "LISTEN",
    "UNLISTEN",
    "NOTIFY",
    "LOAD",
];

/// The session's statement that the tokens are; `None` when they are another. `text`: the whole message.
/// Errors: 42601 with a position in `text`, 0A000.
pub(super) fn read(tokens: &[TokenWithSpan], text: &str) -> Result<Option<Command>> {
    let is_meaningful = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    let first = match tokens.iter().find(is_meaningful).map(|token| &token.token) {
        Some(Token::Word(word)) if word.quote_style.is_none() => &word.value,
        _ => return Ok(None),
    };
    if !FIRST_WORDS.iter().any(|word| word.eq_ignore_ascii_case(first)) {
        return Ok(None);
    }
    let tokens = tokens.iter().filter(is_meaningful).cloned().collect();
    Reader::new(tokens, text).statement().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Command> {
        crate::sql::parse(text).map(|mut parsed| parsed.remove(0).command.expect("a session's statement"))
    }

    fn set(name: &str, values: Option<&[&str]>, local: bool) -> Command {
        let values = values.map(|values| values.iter().map(|value| value.to_string()).collect());
        Command::Set {
            name: name.to_string(),
            values,
            local,
        }
    }

    #[test]
    fn transactions_are_read() {
        let modes = Modes {
            isolation: Some("serializable"),
            read_only: Some(true),
            deferrable: Some(false),
        };
        let begin = "begin work isolation level serializable, read only not deferrable";
        assert_eq!(read_text(begin), Ok(Command::Begin { modes, start: false }));
        assert_eq!(
            read_text("END TRANSACTION AND CHAIN"),
            Ok(Command::Commit { chain: true })
        );
        assert_eq!(read_text("abort"), Ok(Command::Rollback { chain: false }));
        assert_eq!(
            read_text("rollback work to savepoint \"A b\""),
            Ok(Command::RollbackTo { name: "A b".into() })
        );
        assert_eq!(read_text("release S"), Ok(Command::Release { name: "s".into() }));
        let error = read_text("begin nonsense").unwrap_err();
        assert_eq!(
            (error.to_string(), error.position()),
            ("syntax error at or near \"nonsense\"".into(), Some(7))
        );
        assert_eq!(read_text("commit prepared 'x'").unwrap_err().sqlstate(), "0A000");
    }

    #[test]
    fn settings_are_read() {
        assert_eq!(
            read_text("set search_path = a, \"B\", 'c'"),
            Ok(set("search_path", Some(&["a", "B", "c"]), false))
        );
        assert_eq!(
            read_text("set local statement_timeout to -1"),
            Ok(set("statement_timeout", Some(&["-1"]), true))
        );
        assert_eq!(read_text("set session x to default"), Ok(set("x", None, false)));
        assert_eq!(
            read_text("set time zone 'UTC'"),
            Ok(set("TimeZone", Some(&["UTC"]), false))
        );
        assert_eq!(read_text("set time zone local"), Ok(set("TimeZone", None, false)));
        assert_eq!(
            read_text("set names 'utf8'"),
            Ok(set("client_encoding", Some(&["utf8"]), false))
        );
        assert_eq!(
            read_text("SET keyspan.full_scan = allow"),
            Ok(set("keyspan.full_scan", Some(&["allow"]), false))
        );
        let shown = Command::Show {
            name: Some("transaction_isolation".into()),
        };
        assert_eq!(read_text("show transaction isolation level"), Ok(shown));
        assert_eq!(read_text("show all"), Ok(Command::Show { name: None }));
        assert_eq!(read_text("reset all"), Ok(Command::Reset { name: None }));
        assert!(matches!(
            read_text("set session characteristics as transaction read only"),
            Ok(Command::SetCharacteristics {
                modes: Modes {
                    read_only: Some(true),
                    ..
                }
            })
        ));
    }

    #[test]
    fn prepared_statements_and_cursors_are_read() {
        let text = "declare c no scroll cursor without hold for\n  select 'é', 1";
        assert_eq!(
            read_text(text),
            Ok(Command::Declare {
                name: "c".into(),
                text: "select 'é', 1".into()
            })
        );
        let fetched = |count| Command::Fetch {
            name: "c".into(),
            count,
            only_move: false,
        };
        assert_eq!(read_text("fetch c"), Ok(fetched(Some(1))));
        assert_eq!(read_text("fetch forward 5 in c"), Ok(fetched(Some(5))));
        assert_eq!(read_text("fetch all from c"), Ok(fetched(None)));
        assert_eq!(read_text("fetch prior from c").unwrap_err().sqlstate(), "55000");
        let arguments = vec![
            Value::Unknown("-1".into()),
            Value::Null,
            Value::Unknown("a".into()),
        ];
        assert_eq!(
            read_text("execute p(-1, null, 'a')"),
            Ok(Command::Execute {
                name: "p".into(),
                arguments
            })
        );
        assert_eq!(
            read_text("deallocate prepare all"),
            Ok(Command::Deallocate { name: None })
        );
        assert_eq!(read_text("listen x").unwrap_err().sqlstate(), "0A000");
    }
}
