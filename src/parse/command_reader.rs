//! Reads the session's own statements off their tokens, word by word: PostgreSQL's grammar of them is small and wider than
//! sqlparser's. Called for every statement before the parser; knows nothing of what they do.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::command::{Command, Discard, Modes};
use super::definition_reader::is_definition;
use super::drop_absent;
use super::prepared_reader::{explained_execute, made_of_execute};
use super::setting_reader::is_alter_settings;
use super::token_reader::{TokenReader, is_word, is_word_at, string_of};
use crate::error::StatementFault;
use crate::{Error, Result};

/// The words that begin a session's statement, or one that the parser does not read; so do those of `OTHER_FIRST_WORDS`.
const FIRST_WORDS: [Keyword; 33] = [
    Keyword::BEGIN,
    Keyword::START,
    Keyword::COMMIT,
    Keyword::END,
    Keyword::ROLLBACK,
    Keyword::ABORT,
    Keyword::SAVEPOINT,
    Keyword::RELEASE,
    Keyword::SET,
    Keyword::RESET,
    Keyword::SHOW,
    Keyword::PREPARE,
    Keyword::EXECUTE,
    Keyword::DEALLOCATE,
    Keyword::DISCARD,
    Keyword::DECLARE,
    Keyword::FETCH,
    Keyword::CLOSE,
    Keyword::LISTEN,
    Keyword::UNLISTEN,
    Keyword::NOTIFY,
    Keyword::LOAD,
    Keyword::VACUUM,
    Keyword::ANALYZE,
    Keyword::CLUSTER,
    Keyword::LOCK,
    Keyword::REINDEX,
    Keyword::REFRESH,
    Keyword::USE,
    Keyword::FLUSH,
    Keyword::PURGE,
    Keyword::GRANT,
    Keyword::REVOKE,
];

/// Those that are no keywords of the parser.
const OTHER_FIRST_WORDS: [&str; 7] = [
    "MOVE",
    "CHECKPOINT",
    "ANALYSE",
    "BUILD",
    "CANCEL",
    "UNDROP",
    "REASSIGN",
];

/// Whether it is DO and a string, which is no keyword to the parser everywhere.
fn is_do(tokens: &[TokenWithSpan]) -> bool {
    is_word_at(tokens, 0, "DO")
}

/// Whether the tokens are a statement of the session's, or one that the parser does not read.
pub(super) fn is_command(tokens: &[TokenWithSpan]) -> bool {
    let begins_one = matches!(tokens.first().map(|token| &token.token), Some(Token::Word(word))
        if FIRST_WORDS.contains(&word.keyword) || OTHER_FIRST_WORDS.iter().any(|first| is_word(word, first)));
    begins_one
        || is_do(tokens)
        || is_alter_settings(tokens)
        || is_definition(tokens)
        || drop_absent::tag_of(tokens).is_some()
        || explained_execute(tokens).is_some()
        || made_of_execute(tokens).is_some()
}

/// The session's statement that the tokens are, which end at byte `end` of the message `text`.
/// Errors: 42601 with a position in `text`, 0A000.
pub(super) fn read(tokens: Vec<TokenWithSpan>, text: &str, end: usize) -> Result<Command> {
    TokenReader::new(tokens, &text[..end]).statement()
}

impl TokenReader<'_> {
    /// The statement, which must be all there is.
    fn statement(mut self) -> Result<Command> {
        if let Some(tag) = drop_absent::tag_of(&self.tokens) {
            return Ok(Command::Satisfied { tag });
        }
        let command = self.command()?;
        match self.peek() {
            None => Ok(command),
            Some(_) => Err(self.syntax_error()),
        }
    }

    fn command(&mut self) -> Result<Command> {
        if let Some(execute) = made_of_execute(&self.tokens) {
            return self.make_of_execute(execute);
        }
        let word = self.label()?.to_ascii_uppercase();
        match word.as_str() {
            "BEGIN" | "START" => self.begin(word == "START"),
            "COMMIT" | "END" => self.commit(),
            "ROLLBACK" | "ABORT" => self.rollback(),
            "SAVEPOINT" => Ok(Command::Savepoint { name: self.name()? }),
            "RELEASE" => {
                self.word("SAVEPOINT");
                Ok(Command::Release { name: self.name()? })
            }
            "SET" => self.set(),
            "DO" => self.do_block(),
            "RESET" => self.reset(),
            "ALTER" if is_alter_settings(&self.tokens) => self.alter_settings(),
            "ALTER" | "COMMENT" => self.definition(),
            "CREATE" => self.creation(),
            "DROP" | "REASSIGN" => self.drop(),
            "REFRESH" => self.refresh().map(Command::Define),
            "GRANT" | "REVOKE" => self.grant(word == "REVOKE").map(Command::Define),
            "VACUUM" => self.vacuum(),
            "ANALYZE" | "ANALYSE" => self.analyze(),
            "REINDEX" => self.reindex(),
            "CLUSTER" => self.cluster(),
            "LOCK" => self.lock(),
            "CHECKPOINT" => Ok(Command::Satisfied { tag: "CHECKPOINT" }),
            "LISTEN" => Ok(Command::Listen {
                channel: self.name()?,
            }),
            "UNLISTEN" => self.unlisten(),
            "NOTIFY" => self.notify(),
            "BUILD" => self.build(),
            "CANCEL" => Err(Error::unsupported(
                "CANCEL BUILD",
                Some("A build that a statement waits for ends with it; drop an index that is built later."),
            )),
            "FLUSH" => self.flush(),
            "UNDROP" => self.undrop(),
            "PURGE" => self.purge(),
            "USE" => {
                // What a schema is to others is a database, too.
                if self.tokens.len() > 2 && !self.word("SCHEMA") {
                    self.word("DATABASE");
                }
                Ok(Command::Use {
                    schema: self.label()?,
                })
            }
            "SHOW" => self.show(),
            "PREPARE" => self.prepare(),
            "EXECUTE" => self.execute(),
            "EXPLAIN" => self.explain(),
            "DEALLOCATE" => {
                self.word("PREPARE");
                Ok(Command::Deallocate {
                    name: self.name_or_all()?,
                })
            }
            "DISCARD" => self.discard(),
            "DECLARE" => self.declare(),
            "FETCH" | "MOVE" => self.fetch(word == "MOVE"),
            "CLOSE" => Ok(Command::Close {
                name: self.name_or_all()?,
            }),
            _ => Err(Error::unsupported(&word, None)),
        }
    }

    fn unlisten(&mut self) -> Result<Command> {
        let channel = match self.token(&Token::Mul) {
            true => None,
            false => Some(self.name()?),
        };
        Ok(Command::Unlisten { channel })
    }

    fn notify(&mut self) -> Result<Command> {
        let channel = self.name()?;
        let payload = match self.token(&Token::Comma) {
            true => self
                .peek()
                .and_then(string_of)
                .ok_or_else(|| self.syntax_error())?,
            false => {
                return Ok(Command::Notify {
                    channel,
                    payload: String::new(),
                });
            }
        };
        self.at += 1;
        Ok(Command::Notify { channel, payload })
    }

    fn begin(&mut self, start: bool) -> Result<Command> {
        let transaction = self.word("TRANSACTION");
        if start && !transaction {
            return Err(self.syntax_error());
        }
        if !transaction {
            self.word("WORK");
        }
        Ok(Command::Begin {
            modes: self.modes()?,
            start,
        })
    }

    fn commit(&mut self) -> Result<Command> {
        if self.word("PREPARED") {
            return Err(self.no_prepared_transaction());
        }
        Ok(Command::Commit { chain: self.chain()? })
    }

    /// What COMMIT PREPARED and its like fail with: 42704, or 42601.
    fn no_prepared_transaction(&mut self) -> Error {
        match self.transaction_identifier() {
            Ok(name) => Error::UndefinedObject {
                kind: "prepared transaction with identifier",
                name,
            },
            Err(error) => error,
        }
    }

    /// The string that names a prepared transaction, which ends the statement. Errors: 42601.
    pub(super) fn transaction_identifier(&mut self) -> Result<String> {
        let identifier = self.peek().and_then(string_of);
        let identifier = identifier.ok_or_else(|| self.syntax_error())?;
        self.at += 1;
        match self.peek() {
            None => Ok(identifier),
            Some(_) => Err(self.syntax_error()),
        }
    }

    fn rollback(&mut self) -> Result<Command> {
        if self.word("PREPARED") {
            return Err(self.no_prepared_transaction());
        }
        self.transaction_or_work();
        if self.word("TO") {
            self.word("SAVEPOINT");
            return Ok(Command::RollbackTo { name: self.name()? });
        }
        Ok(Command::Rollback { chain: self.chain()? })
    }

    fn transaction_or_work(&mut self) {
        if !self.word("TRANSACTION") {
            self.word("WORK");
        }
    }

    fn chain(&mut self) -> Result<bool> {
        self.transaction_or_work();
        if !self.word("AND") {
            return Ok(false);
        }
        let no = self.word("NO");
        self.expect("CHAIN")?;
        Ok(!no)
    }

    /// Modes, with or without commas between them.
    fn modes(&mut self) -> Result<Modes> {
        let mut modes = Modes::default();
        while self.peek().is_some() {
            if self.word("ISOLATION") {
                self.expect("LEVEL")?;
                modes.isolation = Some(self.isolation()?);
            } else if self.word("READ") {
                let only = self.word("ONLY");
                if !only {
                    self.expect("WRITE")?;
                }
                modes.read_only = Some(only);
            } else if self.word("DEFERRABLE") {
                modes.deferrable = Some(true);
            } else {
                self.expect("NOT")?;
                self.expect("DEFERRABLE")?;
                modes.deferrable = Some(false);
            }
            self.token(&Token::Comma);
        }
        Ok(modes)
    }

    fn snapshot(&mut self, local: bool) -> Result<Command> {
        let id = self.peek().and_then(string_of);
        let id = id.ok_or_else(|| self.syntax_error())?;
        self.at += 1;
        match local {
            true => Err(Error::InvalidStatement {
                state: StatementFault::NotImplemented,
                message: "SET LOCAL TRANSACTION SNAPSHOT is not implemented".to_string(),
                hint: Some("SET TRANSACTION SNAPSHOT lasts as long as the transaction.".to_string()),
            }),
            false => Ok(Command::SetSnapshot { id }),
        }
    }

    fn isolation(&mut self) -> Result<&'static str> {
        if self.word("SERIALIZABLE") {
            return Ok("serializable");
        }
        if self.word("REPEATABLE") {
            self.expect("READ")?;
            return Ok("repeatable read");
        }
        self.expect("READ")?;
        if self.word("COMMITTED") {
            return Ok("read committed");
        }
        self.expect("UNCOMMITTED")?;
        Ok("read uncommitted")
    }

    /// What stands behind SET.
    pub(super) fn set(&mut self) -> Result<Command> {
        let session = self.word("SESSION");
        let local = !session && self.word("LOCAL");
        if self.word("TRANSACTION") {
            if self.word("SNAPSHOT") {
                return self.snapshot(local);
            }
            return Ok(Command::SetTransaction { modes: self.modes()? });
        }
        if session && self.word("CHARACTERISTICS") {
            self.expect("AS")?;
            self.expect("TRANSACTION")?;
            return Ok(Command::SetCharacteristics { modes: self.modes()? });
        }
        if (session || self.word("SESSION")) && self.word("AUTHORIZATION") {
            let value = self.value()?;
            return Ok(Command::Set {
                name: "session_authorization".to_string(),
                values: value.map(|v| vec![v]),
                local,
            });
        }
        if self.word("CONSTRAINTS") {
            return self.constraints();
        }
        if self.word("TIME") {
            self.expect("ZONE")?;
            let values = if self.word("LOCAL") {
                None
            } else {
                self.zone()?.map(|zone| vec![zone])
            };
            return Ok(Command::Set {
                name: "TimeZone".to_string(),
                values,
                local,
            });
        }
        if self.word("NAMES") {
            let values = if self.peek().is_none() {
                None
            } else {
                self.value()?.map(|value| vec![value])
            };
            return Ok(Command::Set {
                name: "client_encoding".to_string(),
                values,
                local,
            });
        }
        if self.word("SCHEMA") {
            return Ok(Command::Set {
                name: "search_path".to_string(),
                values: self.value()?.map(|schema| vec![schema]),
                local,
            });
        }
        if self.word("ROLE") {
            let _ = self.token(&Token::Eq) || self.word("TO");
            return Ok(Command::Set {
                name: "role".to_string(),
                values: self.value()?.map(|role| vec![role]),
                local,
            });
        }
        let name = self.setting_name()?;
        if !self.token(&Token::Eq) {
            self.expect("TO")?;
        }
        Ok(Command::Set {
            name,
            values: self.values()?,
            local,
        })
    }

    /// `ALL`, or names, and when they are checked.
    fn constraints(&mut self) -> Result<Command> {
        let mut names = Vec::new();
        if !self.word("ALL") {
            loop {
                names.push(self.object_name()?);
                if !self.token(&Token::Comma) {
                    break;
                }
            }
        }
        let deferred = !self.word("IMMEDIATE");
        if deferred {
            self.expect("DEFERRED")?;
        }
        Ok(Command::SetConstraints { names, deferred })
    }

    /// A time zone: a name, hours, or INTERVAL '…', which keeps its form. Errors: 42601 for fields other than HOUR [TO MINUTE].
    fn zone(&mut self) -> Result<Option<String>> {
        if !self.word("INTERVAL") {
            return self.value();
        }
        let value = self.value()?;
        let has_hour = self.word("HOUR");
        let to_minute = has_hour && self.word("TO") && self.word("MINUTE");
        if !matches!(self.peek(), None | Some(Token::SemiColon)) {
            return Err(Error::InvalidStatement {
                state: StatementFault::Syntax,
                message: "time zone interval must be HOUR or HOUR TO MINUTE".to_string(),
                hint: None,
            });
        }
        let fields = match (has_hour, to_minute) {
            (_, true) => " hour to minute",
            (true, false) => " hour",
            (false, false) => "",
        };
        Ok(value.map(|value| format!("INTERVAL '{value}'{fields}")))
    }

    /// Values of SET, separated by commas; `None` for DEFAULT.
    fn values(&mut self) -> Result<Option<Vec<String>>> {
        let mut values = Vec::new();
        loop {
            match self.value()? {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
            if !self.token(&Token::Comma) {
                return Ok(Some(values));
            }
        }
    }

    /// One value: a word, a string or a number with its unit as written; `None` for DEFAULT.
    pub(super) fn value(&mut self) -> Result<Option<String>> {
        let minus = self.token(&Token::Minus);
        if !minus {
            self.token(&Token::Plus);
        }
        let sign = if minus { "-" } else { "" };
        let value = match self.peek() {
            Some(Token::Number(number, _)) => format!("{sign}{number}"),
            Some(token) if !minus => match string_of(token) {
                Some(value) => value,
                None => match token {
                    Token::Word(word) if word.quote_style.is_some() => word.value.clone(),
                    Token::Word(word) if word.value.eq_ignore_ascii_case("DEFAULT") => {
                        self.at += 1;
                        return Ok(None);
                    }
                    Token::Word(word) => word.value.to_lowercase(),
                    _ => return Err(self.syntax_error()),
                },
            },
            _ => return Err(self.syntax_error()),
        };
        self.at += 1;
        Ok(Some(value))
    }

    /// What stands behind RESET.
    pub(super) fn reset(&mut self) -> Result<Command> {
        if self.word("ALL") {
            return Ok(Command::Reset { name: None });
        }
        if self.word("SESSION") {
            self.expect("AUTHORIZATION")?;
            return Ok(Command::Reset {
                name: Some("session_authorization".to_string()),
            });
        }
        let name = self.shown_name()?;
        Ok(Command::Reset { name: Some(name) })
    }

    fn show(&mut self) -> Result<Command> {
        if self.word("ALL") {
            return Ok(Command::Show { name: None });
        }
        if self.word("SESSION") {
            self.expect("AUTHORIZATION")?;
            return Ok(Command::Show {
                name: Some("session_authorization".to_string()),
            });
        }
        let name = self.shown_name()?;
        Ok(Command::Show { name: Some(name) })
    }

    /// A setting's name, or the words that SHOW and RESET take for one.
    fn shown_name(&mut self) -> Result<String> {
        if self.word("TIME") {
            self.expect("ZONE")?;
            return Ok("TimeZone".to_string());
        }
        if self.word("TRANSACTION") {
            self.expect("ISOLATION")?;
            self.expect("LEVEL")?;
            return Ok("transaction_isolation".to_string());
        }
        self.setting_name()
    }

    pub(super) fn setting_name(&mut self) -> Result<String> {
        let mut name = self.label()?;
        while self.token(&Token::Period) {
            name = format!("{name}.{}", self.label()?);
        }
        Ok(name)
    }

    fn discard(&mut self) -> Result<Command> {
        let what = match self.label()?.to_uppercase().as_str() {
            "ALL" => Discard::All,
            "PLANS" => Discard::Plans,
            "SEQUENCES" => Discard::Sequences,
            "TEMP" | "TEMPORARY" => Discard::Temp,
            _ => {
                self.at -= 1;
                return Err(self.syntax_error());
            }
        };
        Ok(Command::Discard { what })
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::Ident;

    use super::*;
    use crate::parse::command::ExecuteArguments;
    use crate::types::Value;

    fn read_text(text: &str) -> Result<Command> {
        crate::parse::parse(text).map(|mut parsed| parsed.remove(0).command.expect("a session's statement"))
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
        assert_eq!(read_text("commit prepared 'x'").unwrap_err().sqlstate(), "42704");
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
            read_text("set constraints a, b deferred"),
            Ok(Command::SetConstraints {
                names: ["a", "b"]
                    .map(|name| vec![Ident::with_quote('"', name)].into())
                    .to_vec(),
                deferred: true,
            })
        );
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
    fn prepared_statements_are_read() {
        let constants = [Value::Int(-1), Value::Null, Value::Unknown("a".into())];
        let arguments = ExecuteArguments {
            constants: constants.into_iter().map(Some).collect(),
            query: None,
        };
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
        assert_eq!(read_text("load 'x'").unwrap_err().sqlstate(), "0A000");
        let payload = "it's".to_string();
        let channel = "My".to_string();
        assert_eq!(
            read_text("notify \"My\", 'it''s'"),
            Ok(Command::Notify { channel, payload })
        );
        assert_eq!(read_text("unlisten *"), Ok(Command::Unlisten { channel: None }));
    }
}
