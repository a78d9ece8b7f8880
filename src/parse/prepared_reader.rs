//! PREPARE, EXECUTE and EXPLAIN EXECUTE, read off their tokens. Called by `command_reader`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::command::{Command, PreparedType};
use super::token_reader::{TokenReader, string_of};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// The place of EXECUTE in EXPLAIN EXECUTE, behind EXPLAIN's options.
pub(super) fn explained_execute(tokens: &[TokenWithSpan]) -> Option<usize> {
    let keyword = |at: usize| match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    if keyword(0) != Keyword::EXPLAIN {
        return None;
    }
    let is_closing = |token: &TokenWithSpan| token.token == Token::RParen;
    let mut at = match tokens.get(1).map(|token| &token.token) {
        Some(Token::LParen) => tokens.iter().position(is_closing)? + 1,
        _ => 1,
    };
    while matches!(keyword(at), Keyword::ANALYZE | Keyword::VERBOSE) {
        at += 1;
    }
    (keyword(at) == Keyword::EXECUTE).then_some(at)
}

/// The place of EXECUTE in `CREATE TABLE … AS EXECUTE`, which may be explained.
pub(super) fn made_of_execute(tokens: &[TokenWithSpan]) -> Option<usize> {
    let keyword = |at: usize| match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    if !matches!(keyword(0), Keyword::CREATE | Keyword::EXPLAIN) {
        return None;
    }
    let mut depth = 0usize;
    let mut is_table = false;
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Word(_) if depth == 0 => match keyword(at) {
                Keyword::TABLE => is_table = true,
                Keyword::AS => return (is_table && keyword(at + 1) == Keyword::EXECUTE).then_some(at + 1),
                _ => {}
            },
            _ => {}
        }
    }
    None
}

impl TokenReader<'_> {
    /// What CREATE TABLE, explained or not, makes of EXECUTE.
    pub(super) fn make_of_execute(&mut self, execute: usize) -> Result<Command> {
        let before = self.text_before(execute);
        self.at = execute + 1;
        let (name, arguments) = self.named_with_arguments()?;
        if self.peek().is_some() {
            return Err(self.syntax_error());
        }
        // WITH DATA is no token any more.
        let after = self.text_behind(self.at - 1);
        Ok(Command::MakeOfExecute {
            before,
            name,
            arguments,
            after,
        })
    }

    pub(super) fn prepare(&mut self) -> Result<Command> {
        if self.word("TRANSACTION") {
            return Err(Error::unsupported("PREPARE TRANSACTION", None));
        }
        let name = self.name()?;
        let mut types = Vec::new();
        if self.token(&Token::LParen) {
            loop {
                types.push(match self.type_name()? {
                    // A parameter is as long and as exact as it is.
                    PreparedType::Known(ty) => {
                        let bare = SqlType::from_oid(ty.oid(), -1).filter(|_| ty != SqlType::Unknown);
                        PreparedType::Known(bare.unwrap_or(ty))
                    }
                    named => named,
                });
                if !self.token(&Token::Comma) {
                    break;
                }
            }
            if !self.token(&Token::RParen) {
                return Err(self.syntax_error());
            }
        }
        self.expect("AS")?;
        Ok(Command::Prepare {
            name,
            types,
            text: self.rest(),
        })
    }

    /// A type: its words, among them its modifiers in parentheses, and the brackets of an array; perhaps with the schema that it is of.
    fn type_name(&mut self) -> Result<PreparedType> {
        let mut words = vec![self.name()?];
        if words[0] == "pg_catalog" && self.token(&Token::Period) {
            words[0] = self.name()?;
        } else if self.token(&Token::Period) {
            let name = self.name()?;
            words[0] = format!("{}.{name}", words[0]);
        }
        let mut modifiers = Vec::new();
        self.type_words(&mut words);
        if self.token(&Token::LParen) {
            while let Some(Token::Number(number, _)) = self.peek() {
                modifiers.push(number.parse().map_err(|_| self.syntax_error())?);
                self.at += 1;
                self.token(&Token::Comma);
            }
            if !self.token(&Token::RParen) {
                return Err(self.syntax_error());
            }
        }
        self.type_words(&mut words);
        let mut name = words.join(" ");
        while self.token(&Token::LBracket) {
            if let Some(Token::Number(..)) = self.peek() {
                self.at += 1;
            }
            if !self.token(&Token::RBracket) {
                return Err(self.syntax_error());
            }
            if !name.ends_with(']') {
                name.push_str("[]");
            }
        }
        match SqlType::from_name(&name, &modifiers)? {
            Some(ty) => Ok(PreparedType::Known(ty)),
            None => Ok(PreparedType::Named(name)),
        }
    }

    fn type_words(&mut self, words: &mut Vec<String>) {
        while let Some(Token::Word(word)) = self.peek() {
            words.push(word.value.to_lowercase());
            self.at += 1;
        }
    }

    pub(super) fn explain(&mut self) -> Result<Command> {
        let Some(execute) = explained_execute(&self.tokens) else {
            return Err(self.syntax_error());
        };
        let explain = self.text_before(execute);
        self.at = execute + 1;
        let (name, arguments) = self.named_with_arguments()?;
        Ok(Command::ExplainExecute {
            explain,
            name,
            arguments,
        })
    }

    pub(super) fn execute(&mut self) -> Result<Command> {
        let (name, arguments) = self.named_with_arguments()?;
        Ok(Command::Execute { name, arguments })
    }

    fn named_with_arguments(&mut self) -> Result<(String, Vec<Value>)> {
        let name = self.name()?;
        let mut arguments = Vec::new();
        if self.token(&Token::LParen) {
            while !self.token(&Token::RParen) {
                if !arguments.is_empty() && !self.token(&Token::Comma) {
                    return Err(self.syntax_error());
                }
                arguments.push(self.argument()?);
            }
        }
        Ok((name, arguments))
    }

    /// A constant, perhaps with a cast, which the parameter's own type makes needless.
    fn argument(&mut self) -> Result<Value> {
        let minus = self.token(&Token::Minus);
        let value = match self.peek().cloned() {
            Some(Token::Number(number, _)) => {
                Value::Unknown(format!("{}{number}", if minus { "-" } else { "" }))
            }
            Some(Token::Word(word)) if word.value.eq_ignore_ascii_case("NULL") => Value::Null,
            Some(Token::Word(word)) if word.value.eq_ignore_ascii_case("TRUE") => Value::Bool(true),
            Some(Token::Word(word)) if word.value.eq_ignore_ascii_case("FALSE") => Value::Bool(false),
            Some(token) if string_of(&token).is_some() => {
                Value::Unknown(string_of(&token).unwrap_or_default())
            }
            _ => {
                return Err(Error::unsupported(
                    "an expression as an argument of EXECUTE",
                    Some("Give constants."),
                ));
            }
        };
        self.at += 1;
        if self.token(&Token::DoubleColon) {
            self.type_name()?;
        }
        Ok(value)
    }
}
