//! DECLARE, FETCH and MOVE, read off their tokens. Called by `command_reader`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use super::command::{Command, CursorOptions, Movement};
use super::token_reader::TokenReader;
use crate::error::StatementFault;
use crate::{Error, Result};

impl TokenReader<'_> {
    pub(super) fn declare(&mut self) -> Result<Command> {
        let name = self.name()?;
        let mut options = CursorOptions::default();
        let mut insensitive = None;
        loop {
            if self.word("BINARY") {
                options.binary = true;
            } else if self.word("SCROLL") {
                say(&mut options.scroll, true, "SCROLL", "NO SCROLL")?;
            } else if self.word("NO") {
                self.expect("SCROLL")?;
                say(&mut options.scroll, false, "SCROLL", "NO SCROLL")?;
            } else if self.word("INSENSITIVE") {
                say(&mut insensitive, true, "ASENSITIVE", "INSENSITIVE")?;
            } else if self.word("ASENSITIVE") {
                say(&mut insensitive, false, "ASENSITIVE", "INSENSITIVE")?;
            } else {
                break;
            }
        }
        options.insensitive = insensitive == Some(true);
        self.expect("CURSOR")?;
        if self.word("WITH") {
            self.expect("HOLD")?;
            options.hold = true;
        } else if self.word("WITHOUT") {
            self.expect("HOLD")?;
        }
        self.expect("FOR")?;
        if !self.peek().is_some_and(begins_query) {
            return Err(self.syntax_error());
        }
        Ok(Command::Declare {
            name,
            options,
            text: self.rest(),
        })
    }

    pub(super) fn fetch(&mut self, only_move: bool) -> Result<Command> {
        let movement = self.movement()?;
        if !self.word("FROM") {
            self.word("IN");
        }
        Ok(Command::Fetch {
            name: self.name()?,
            movement,
            only_move,
        })
    }

    fn movement(&mut self) -> Result<Movement> {
        // A cursor may have the name of a direction.
        if self.tokens.len() == self.at + 1 {
            return Ok(Movement::Forward(1));
        }
        if self.word("NEXT") {
            Ok(Movement::Forward(1))
        } else if self.word("PRIOR") {
            Ok(Movement::Forward(-1))
        } else if self.word("FIRST") {
            Ok(Movement::Absolute(1))
        } else if self.word("LAST") {
            Ok(Movement::Absolute(-1))
        } else if self.word("ABSOLUTE") {
            self.signed().map(Movement::Absolute)
        } else if self.word("RELATIVE") {
            self.signed().map(Movement::Relative)
        } else if self.word("BACKWARD") {
            match self.word("ALL") {
                true => Ok(Movement::BackwardAll),
                false => Ok(Movement::Forward(-self.count()?)),
            }
        } else {
            self.word("FORWARD");
            match self.word("ALL") {
                true => Ok(Movement::ForwardAll),
                false => self.count().map(Movement::Forward),
            }
        }
    }

    /// A number of rows, 1 where none is said.
    fn count(&mut self) -> Result<i64> {
        match self.peek() {
            Some(Token::Number(..) | Token::Minus | Token::Plus) => self.signed(),
            _ => Ok(1),
        }
    }

    /// A whole number, which PostgreSQL keeps in 32 bits. Errors: 42601.
    pub(super) fn signed(&mut self) -> Result<i64> {
        let is_negative = self.token(&Token::Minus);
        if !is_negative {
            self.token(&Token::Plus);
        }
        let Some(Token::Number(digits, _)) = self.peek() else {
            return Err(self.syntax_error());
        };
        let number: i32 = digits.parse().map_err(|_| self.syntax_error())?;
        self.at += 1;
        Ok(if is_negative {
            -i64::from(number)
        } else {
            i64::from(number)
        })
    }
}

fn begins_query(token: &Token) -> bool {
    match token {
        Token::LParen => true,
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::SELECT | Keyword::WITH | Keyword::VALUES | Keyword::TABLE
        ),
        _ => false,
    }
}

/// One of two options that contradict each other. Errors: 42P11 when the other was said before.
fn say(option: &mut Option<bool>, value: bool, yes: &str, no: &str) -> Result<()> {
    if option.is_some_and(|said| said != value) {
        return Err(Error::InvalidStatement {
            state: StatementFault::InvalidCursorDefinition,
            message: format!("cannot specify both {yes} and {no}"),
            hint: None,
        });
    }
    *option = Some(value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Command> {
        crate::parse::parse(text).map(|mut parsed| parsed.remove(0).command.expect("a session's statement"))
    }

    #[test]
    fn declarations_are_read() {
        let declared = |options, text: &str| Command::Declare {
            name: "c".to_string(),
            options,
            text: text.to_string(),
        };
        let blanks = |before: &str, text: &str| " ".repeat(before.chars().count()) + text;
        assert_eq!(
            read("declare c no scroll cursor without hold for\n  select 'é', 1"),
            Ok(declared(
                CursorOptions {
                    scroll: Some(false),
                    ..CursorOptions::default()
                },
                &blanks("declare c no scroll cursor without hold for\n  ", "select 'é', 1")
            ))
        );
        assert_eq!(
            read("declare c binary insensitive scroll cursor with hold for select 1"),
            Ok(declared(
                CursorOptions {
                    scroll: Some(true),
                    hold: true,
                    binary: true,
                    insensitive: true,
                },
                &blanks(
                    "declare c binary insensitive scroll cursor with hold for ",
                    "select 1"
                )
            ))
        );
        let error = read("declare c scroll no scroll cursor for select 1").unwrap_err();
        assert_eq!(error.sqlstate(), "42P11");
        for (text, near) in [
            ("declare c cursor for insert into t values (1)", "insert"),
            ("declare c cursor for execute p", "execute"),
            ("declare c cursor for show all", "show"),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!(error.to_string(), format!("syntax error at or near \"{near}\""));
        }
    }

    #[test]
    fn movements_are_read() {
        for (text, movement) in [
            ("c", Movement::Forward(1)),
            ("next from c", Movement::Forward(1)),
            ("prior from c", Movement::Forward(-1)),
            ("first c", Movement::Absolute(1)),
            ("last in c", Movement::Absolute(-1)),
            ("absolute -3 from c", Movement::Absolute(-3)),
            ("relative +3 from c", Movement::Relative(3)),
            ("0 from c", Movement::Forward(0)),
            ("-2 c", Movement::Forward(-2)),
            ("all c", Movement::ForwardAll),
            ("forward from c", Movement::Forward(1)),
            ("forward 5 in c", Movement::Forward(5)),
            ("forward all in c", Movement::ForwardAll),
            ("backward c", Movement::Forward(-1)),
            ("backward -5 c", Movement::Forward(5)),
            ("backward all c", Movement::BackwardAll),
        ] {
            for (verb, only_move) in [("fetch", false), ("move", true)] {
                let fetch = Command::Fetch {
                    name: "c".to_string(),
                    movement,
                    only_move,
                };
                assert_eq!(read(&format!("{verb} {text}")), Ok(fetch), "{text}");
            }
        }
        assert_eq!(read("fetch absolute from c").unwrap_err().sqlstate(), "42601");
        assert_eq!(read("fetch 3000000000 c").unwrap_err().sqlstate(), "42601");
    }
}
