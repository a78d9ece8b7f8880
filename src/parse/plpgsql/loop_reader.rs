//! Reads LOOP, WHILE, FOR and FOREACH.

use super::reader::{Reader, syntax};
use super::scanner::Token;
use super::tree::{Fragment, Kind, Source, Statement};
use crate::Result;

impl Reader<'_> {
    /// A loop, at its first word. `None`: it is none.
    pub(super) fn any_loop(&mut self, label: Option<String>) -> Result<Option<Kind>> {
        let kind = if self.word("loop") {
            let body = self.loop_body(label.as_ref())?;
            Kind::Loop { label, body }
        } else if self.word("while") {
            let condition = self.until_word("loop")?;
            self.at += 1;
            let body = self.loop_body(label.as_ref())?;
            Kind::While {
                label,
                condition,
                body,
            }
        } else if self.word("for") {
            self.for_loop(label)?
        } else if self.word("foreach") {
            self.foreach(label)?
        } else {
            return Ok(None);
        };
        Ok(Some(kind))
    }

    fn loop_body(&mut self, label: Option<&String>) -> Result<Vec<Statement>> {
        let body = self.statements(&["end"])?;
        self.expect("end")?;
        self.expect("loop")?;
        self.end_label(label)?;
        self.expect_character(';')?;
        Ok(body)
    }

    fn foreach(&mut self, label: Option<String>) -> Result<Kind> {
        let mut targets = vec![self.target()?];
        while self.character(',') {
            targets.push(self.target()?);
        }
        let slice = match self.word("slice") {
            true => self.count()?,
            false => 0,
        };
        self.expect("in")?;
        self.expect("array")?;
        let array = self.until_word("loop")?;
        self.at += 1;
        let body = self.loop_body(label.as_ref())?;
        Ok(Kind::ForEach {
            label,
            targets,
            slice,
            array,
            body,
        })
    }

    fn for_loop(&mut self, label: Option<String>) -> Result<Kind> {
        let mut targets = vec![self.target()?];
        while self.character(',') {
            targets.push(self.target()?);
        }
        self.expect("in")?;
        if self.is_integer_range()? {
            let [target] = targets.as_slice() else {
                return Err(syntax("integer FOR loop must have only one target variable"));
            };
            let variable = target.name();
            let reverse = self.word("reverse");
            let from = self.text_until(|token| *token == Token::Pair(*b".."))?;
            self.at += 1;
            let to = self
                .text_until(|token| matches!(token, Token::Word(word) if word == "loop" || word == "by"))?;
            let step = match self.word("by") {
                true => Some(self.until_word("loop")?),
                false => None,
            };
            self.expect("loop")?;
            let body = self.loop_body(label.as_ref())?;
            return Ok(Kind::ForInteger {
                label,
                variable,
                reverse,
                from,
                to,
                step,
                body,
            });
        }
        let source = self.loop_source()?;
        self.expect("loop")?;
        let body = self.loop_body(label.as_ref())?;
        Ok(Kind::ForRows {
            label,
            targets,
            source,
            body,
        })
    }

    /// Whether a range stands before LOOP.
    fn is_integer_range(&mut self) -> Result<bool> {
        if self.is_word("reverse") {
            return Ok(true);
        }
        let begun = self.at;
        let is_end = |token: &Token| match token {
            Token::Word(word) => word == "loop",
            token => *token == Token::Pair(*b".."),
        };
        self.pass_until(is_end)?;
        let is_range = self.peek() == Some(&Token::Pair(*b".."));
        self.at = begun;
        Ok(is_range)
    }

    fn loop_source(&mut self) -> Result<Source> {
        if self.word("execute") {
            let ends =
                |token: &Token| matches!(token, Token::Word(word) if word == "loop" || word == "using");
            let text = self.text_until(ends)?;
            let using = match self.word("using") {
                true => self.list_until(|token| matches!(token, Token::Word(word) if word == "loop"))?,
                false => Vec::new(),
            };
            return Ok(Source::Dynamic { text, using });
        }
        let behind = self.peek_at(1).cloned();
        let is_cursor = match (self.peek(), &behind) {
            (Some(Token::Word(_) | Token::Quoted(_)), Some(Token::Word(word))) => word == "loop",
            (Some(Token::Word(word)), Some(Token::Character('('))) => {
                !matches!(word.as_str(), "select" | "values" | "with")
            }
            _ => false,
        };
        if is_cursor {
            let name = self.name()?;
            let mut arguments = Vec::new();
            if self.character('(') && !self.character(')') {
                arguments = self.list_until(|token| *token == Token::Character(')'))?;
                self.at += 1;
            }
            return Ok(Source::Cursor { name, arguments });
        }
        self.until_word("loop").map(Source::Query)
    }

    /// Expressions between commas, up to a token that is left.
    pub(super) fn list_until(&mut self, ends: impl Fn(&Token) -> bool) -> Result<Vec<Fragment>> {
        let mut items = Vec::new();
        loop {
            items.push(self.text_until(|token| *token == Token::Character(',') || ends(token))?);
            if !self.character(',') {
                return Ok(items);
            }
        }
    }
}
