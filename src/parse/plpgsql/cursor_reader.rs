//! Reads OPEN, FETCH, MOVE and CLOSE.

use super::reader::Reader;
use super::scanner::Token;
use super::tree::{CursorArgument, Direction, Kind, OpenSource};
use crate::{Error, Result};

impl Reader<'_> {
    /// A statement of a cursor, at its first word. `None`: it is none.
    pub(super) fn of_cursor(&mut self) -> Result<Option<Kind>> {
        let kind = if self.word("open") {
            self.open()?
        } else if self.word("fetch") {
            self.fetch()?
        } else if self.word("move") {
            let (direction, cursor) = self.direction()?;
            self.expect_character(';')?;
            Kind::Move { cursor, direction }
        } else if self.word("close") {
            let cursor = self.cursor_name()?;
            self.expect_character(';')?;
            Kind::Close { cursor }
        } else {
            return Ok(None);
        };
        Ok(Some(kind))
    }

    fn open(&mut self) -> Result<Kind> {
        let cursor = self.cursor_name()?;
        let scroll = self.scroll()?;
        let source = if self.word("for") {
            if self.word("execute") {
                let ends = |token: &Token| match token {
                    Token::Word(word) => word == "using",
                    token => *token == Token::Character(';'),
                };
                let text = self.text_until(ends)?;
                let using = match self.word("using") {
                    true => self.list_until(|token| *token == Token::Character(';'))?,
                    false => Vec::new(),
                };
                self.expect_character(';')?;
                OpenSource::Dynamic { text, using }
            } else {
                OpenSource::Query(self.until_semicolon()?)
            }
        } else {
            let arguments = self.open_arguments()?;
            self.expect_character(';')?;
            OpenSource::Bound(arguments)
        };
        Ok(Kind::Open {
            cursor,
            scroll,
            source,
        })
    }

    /// The variable of a cursor, which may be an argument by its number.
    fn cursor_name(&mut self) -> Result<String> {
        match self.peek().cloned() {
            Some(Token::Parameter(name)) => {
                self.at += 1;
                Ok(name)
            }
            _ => self.name(),
        }
    }

    /// [NO] SCROLL.
    pub(super) fn scroll(&mut self) -> Result<Option<bool>> {
        if self.word("no") {
            self.expect("scroll")?;
            return Ok(Some(false));
        }
        Ok(self.word("scroll").then_some(true))
    }

    /// `(1, b := 2)`.
    fn open_arguments(&mut self) -> Result<Vec<CursorArgument>> {
        let mut arguments = Vec::new();
        if !self.character('(') {
            return Ok(arguments);
        }
        loop {
            let is_named = matches!(self.peek(), Some(Token::Word(_) | Token::Quoted(_)))
                && matches!(self.peek_at(1), Some(Token::Pair([b':', b'='] | [b'=', b'>'])));
            let name = match is_named {
                true => {
                    let name = self.name()?;
                    self.at += 1;
                    Some(name)
                }
                false => None,
            };
            let value = self.text_until(|token| matches!(token, Token::Character(',' | ')')))?;
            arguments.push(CursorArgument { name, value });
            if !self.character(',') {
                self.expect_character(')')?;
                return Ok(arguments);
            }
        }
    }

    fn fetch(&mut self) -> Result<Kind> {
        let (direction, cursor) = self.direction()?;
        if direction == Direction::All
            || matches!(
                &direction,
                Direction::Forward(Some(_)) | Direction::Backward(Some(_))
            )
        {
            return Err(Error::InvalidStatement {
                state: crate::error::StatementFault::NotImplemented,
                message: "FETCH statement cannot return multiple rows".to_string(),
                hint: None,
            });
        }
        self.expect("into")?;
        let into = self.into()?;
        self.expect_character(';')?;
        Ok(Kind::Fetch {
            cursor,
            direction,
            into,
        })
    }

    /// Where to, and of which cursor.
    fn direction(&mut self) -> Result<(Direction, String)> {
        let is_end = |token: &Token| matches!(token, Token::Word(word) if word == "from" || word == "in");
        let direction = if self.word("next") {
            Direction::Next
        } else if self.word("prior") {
            Direction::Prior
        } else if self.word("first") {
            Direction::First
        } else if self.word("last") {
            Direction::Last
        } else if self.word("absolute") {
            Direction::Absolute(self.text_until(is_end)?)
        } else if self.word("relative") {
            Direction::Relative(self.text_until(is_end)?)
        } else if self.word("all") {
            Direction::All
        } else if self.is_word("forward") || self.is_word("backward") {
            let forward = self.word("forward");
            if !forward {
                self.at += 1;
            }
            if self.word("all") {
                match forward {
                    true => Direction::All,
                    false => Direction::AllBackward,
                }
            } else {
                let ends_at_once = self.peek().is_some_and(&is_end)
                    || matches!(self.peek_at(1), Some(Token::Word(word)) if word == "into")
                    || self.peek_at(1) == Some(&Token::Character(';'));
                let count = match ends_at_once {
                    true => None,
                    false => Some(self.text_until(is_end)?),
                };
                match forward {
                    true => Direction::Forward(count),
                    false => Direction::Backward(count),
                }
            }
        } else if self.peek().is_some_and(&is_end)
            || matches!(self.peek_at(1), Some(Token::Word(word)) if word == "into")
            || self.peek_at(1) == Some(&Token::Character(';'))
        {
            Direction::Next
        } else {
            Direction::Forward(Some(self.text_until(is_end)?))
        };
        if !self.word("from") {
            self.word("in");
        }
        Ok((direction, self.cursor_name()?))
    }
}
