//! PREPARE, EXECUTE and EXPLAIN EXECUTE, read off their tokens. Called by `command_reader`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::command::{Command, ExecuteArguments, PreparedType};
use super::token_reader::{TokenReader, string_of};
use crate::error::StatementFault;
use crate::types::{SqlType, Value, number_value};
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

/// Whether a statement that begins so can be prepared: a query, or a write.
fn is_preparable(first: &Token) -> bool {
    match first {
        Token::LParen => true,
        Token::Word(word) => {
            let first = word.value.to_ascii_uppercase();
            let verbs = [
                "DELETE", "INSERT", "MERGE", "REPLACE", "SELECT", "TABLE", "UPDATE", "UPSERT", "VALUES",
                "WITH",
            ];
            verbs.contains(&first.as_str())
        }
        _ => false,
    }
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
            self.transaction_identifier()?;
            return Err(Error::InvalidStatement {
                state: StatementFault::NotInPrerequisiteState,
                message: "prepared transactions are disabled".to_string(),
                hint: Some("Use COMMIT: a transaction is of one server.".to_string()),
            });
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
        if !self.peek().is_some_and(is_preparable) {
            return Err(self.syntax_error());
        }
        Ok(Command::Prepare {
            name,
            types,
            text: self.rest(),
        })
    }

    /// A type: its words, among them its modifiers in parentheses, and the brackets of an array; perhaps with the schema that it is of.
    fn type_name(&mut self) -> Result<PreparedType> {
        let mut words = vec![match self.peek() {
            // Without quotes it is the standard's character.
            Some(Token::Word(word)) if word.quote_style.is_some() && word.value == "char" => {
                self.at += 1;
                "\"char\"".to_string()
            }
            _ => self.name()?,
        }];
        if words[0] == "pg_catalog" && self.token(&Token::Period) {
            words[0] = self.label()?;
        } else if self.token(&Token::Period) {
            let name = self.label()?;
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

    fn named_with_arguments(&mut self) -> Result<(String, ExecuteArguments)> {
        let name = self.name()?;
        let (opening, mut constants) = (self.at, Vec::new());
        if self.token(&Token::LParen) {
            while !self.token(&Token::RParen) {
                if !constants.is_empty() && !self.token(&Token::Comma) {
                    return Err(self.syntax_error());
                }
                constants.push(self.argument()?);
            }
        }
        let query = match constants.iter().all(Option::is_some) {
            true => None,
            false => Some(self.selected(opening + 1, self.at - 1)),
        };
        Ok((name, ExecuteArguments { constants, query }))
    }

    /// One argument, its value if it is a constant. Passes over an expression up to the comma or parenthesis behind it.
    fn argument(&mut self) -> Result<Option<Value>> {
        let begun = self.at;
        let constant = self.constant();
        let is_end = |token: Option<&Token>| matches!(token, Some(Token::Comma | Token::RParen));
        if constant.is_some() && is_end(self.peek()) {
            return Ok(constant);
        }
        self.at = begun;
        let mut depth = 0usize;
        while depth > 0 || !is_end(self.peek()) {
            match self.peek() {
                Some(Token::LParen | Token::LBracket) => depth += 1,
                Some(Token::RParen | Token::RBracket) => depth = depth.saturating_sub(1),
                Some(_) => {}
                None => return Err(self.syntax_error()),
            }
            self.at += 1;
        }
        match self.at == begun {
            true => Err(self.syntax_error()),
            false => Ok(None),
        }
    }

    /// A number, a string, TRUE, FALSE or NULL, taken.
    fn constant(&mut self) -> Option<Value> {
        let minus = self.token(&Token::Minus);
        let token = self.peek().cloned()?;
        let is_word =
            |name: &str| matches!(&token, Token::Word(word) if word.value.eq_ignore_ascii_case(name));
        let value = match &token {
            Token::Number(number, _) => {
                number_value(&format!("{}{number}", if minus { "-" } else { "" })).ok()?
            }
            _ if minus => return None,
            _ if is_word("NULL") => Value::Null,
            _ if is_word("TRUE") => Value::Bool(true),
            _ if is_word("FALSE") => Value::Bool(false),
            token => Value::Unknown(string_of(token)?),
        };
        self.at += 1;
        Some(value)
    }
}
