//! `TokenReader`: goes over the tokens of one statement, for `command_reader`; and words among them, also those that the parser has no
//! `Keyword` for. Knows no statement.

use sqlparser::ast::{Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::position::{byte_offset, character_position};
use super::quoting::is_fully_reserved;
use super::syntax_error;
use crate::{Error, Result};

/// The tokens of one statement, without blanks.
pub(super) struct TokenReader<'a> {
    pub(super) tokens: Vec<TokenWithSpan>,
    /// The next token.
    pub(super) at: usize,
    /// The message that the tokens are of, to the end of the last.
    text: &'a str,
}

impl<'a> TokenReader<'a> {
    /// Over the tokens of one statement, without blanks, with which the text ends.
    pub(super) fn new(tokens: Vec<TokenWithSpan>, text: &'a str) -> TokenReader<'a> {
        TokenReader { tokens, at: 0, text }
    }

    pub(super) fn name_or_all(&mut self) -> Result<Option<String>> {
        if self.word("ALL") {
            Ok(None)
        } else {
            self.name().map(Some)
        }
    }

    /// A name: an identifier that is no reserved word.
    pub(super) fn name(&mut self) -> Result<String> {
        match self.peek() {
            Some(Token::Word(word)) if word.quote_style.is_none() && is_fully_reserved(&word.value) => {
                Err(self.syntax_error())
            }
            _ => self.label(),
        }
    }

    /// An identifier, folded unless it is quoted: also a reserved word, as behind a point or of an option.
    pub(super) fn label(&mut self) -> Result<String> {
        let name = match self.peek() {
            Some(Token::Word(word)) if word.quote_style.is_some() => word.value.clone(),
            Some(Token::Word(word)) => word.value.to_ascii_lowercase(),
            _ => return Err(self.syntax_error()),
        };
        self.at += 1;
        Ok(name)
    }

    /// The digits of a number, behind its sign if that is minus.
    pub(super) fn signed_number(&mut self) -> Result<String> {
        let sign = match self.token(&Token::Minus) {
            true => "-",
            false => {
                self.token(&Token::Plus);
                ""
            }
        };
        let Some(Token::Number(digits, _)) = self.peek() else {
            return Err(self.syntax_error());
        };
        let number = format!("{sign}{digits}");
        self.at += 1;
        Ok(number)
    }

    /// A name with those of what it is in before it.
    pub(super) fn object_name(&mut self) -> Result<ObjectName> {
        let mut parts = vec![Ident::with_quote('"', self.name()?)];
        while self.token(&Token::Period) {
            parts.push(Ident::with_quote('"', self.label()?));
        }
        Ok(ObjectName::from(parts))
    }

    /// Takes a word when it is next.
    pub(super) fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(),
            Some(Token::Word(next)) if next.quote_style.is_none() && next.value.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<()> {
        if self.word(word) {
            Ok(())
        } else {
            Err(self.syntax_error())
        }
    }

    /// Takes a token when it is next.
    pub(super) fn token(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|token| &token.token)
    }

    /// The text from the next token to the end, taken whole, with a blank for each character before it, so that places in it are
    /// places in the message.
    pub(super) fn rest(&mut self) -> String {
        let first = self.tokens.get(self.at);
        let start = first.map_or(self.text.len(), |first| byte_offset(first.span.start, self.text));
        self.at = self.tokens.len();
        let (before, rest) = self.text.split_at(start);
        " ".repeat(before.chars().count()) + rest
    }

    /// SELECT of what stands from the token at one place up to the one at another, each at its place in the message.
    pub(super) fn selected(&self, from: usize, to: usize) -> String {
        let place = |at: usize| {
            let token = self.tokens.get(at);
            token.map_or(self.text.len(), |token| byte_offset(token.span.start, self.text))
        };
        let before = self.text[..place(from)].chars().count();
        format!("{:before$}{}", "SELECT", &self.text[place(from)..place(to)])
    }

    /// The text up to the token at this place.
    pub(super) fn text_before(&self, at: usize) -> String {
        let place = |at: usize| {
            self.tokens
                .get(at)
                .map(|token| byte_offset(token.span.start, self.text))
        };
        match (place(0), place(at)) {
            (Some(start), Some(end)) => self.text[start..end].to_string(),
            _ => String::new(),
        }
    }

    /// The text from the token at one place up to the one at another, without the blanks before that.
    pub(super) fn text_between(&self, from: usize, to: usize) -> String {
        let start = self
            .tokens
            .get(from)
            .map(|token| byte_offset(token.span.start, self.text));
        let end = to.checked_sub(1).and_then(|last| self.tokens.get(last));
        let end = end.map(|token| byte_offset(token.span.end, self.text));
        let text = start.zip(end).and_then(|(start, end)| self.text.get(start..end));
        text.unwrap_or_default().to_string()
    }

    /// The text behind the token at this place.
    pub(super) fn text_behind(&self, at: usize) -> String {
        let end = self
            .tokens
            .get(at)
            .map(|token| byte_offset(token.span.end, self.text));
        end.and_then(|end| self.text.get(end..))
            .unwrap_or_default()
            .to_string()
    }

    /// Where the token at this place begins, in characters from 1.
    pub(super) fn position(&self, at: usize) -> usize {
        let token = self.tokens.get(at);
        token.map_or(0, |token| character_position(token.span.start, self.text))
    }

    /// The message, to the end of the last token.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    pub(super) fn syntax_error(&self) -> Error {
        match (self.tokens.get(self.at), self.tokens.last()) {
            (Some(token), _) => syntax_error::near(token, self.text),
            (None, last) => {
                let end = last.map_or(0, |last| character_position(last.span.end, self.text));
                syntax_error::end_at(end)
            }
        }
    }
}

/// The text of a string token.
pub(super) fn string_of(token: &Token) -> Option<String> {
    match token {
        Token::SingleQuotedString(text)
        | Token::EscapedStringLiteral(text)
        | Token::NationalStringLiteral(text) => Some(text.clone()),
        Token::DollarQuotedString(text) => Some(text.value.clone()),
        _ => None,
    }
}

/// Whether it is this word, not in quotes.
pub(super) fn is_word(word: &Word, text: &str) -> bool {
    word.keyword == Keyword::NoKeyword && word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text)
}

/// Whether the token at this place is this word, not in quotes.
pub(super) fn is_word_at(tokens: &[TokenWithSpan], at: usize, text: &str) -> bool {
    matches!(tokens.get(at).map(|token| &token.token), Some(Token::Word(word))
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
}

/// The place of the parenthesis that the last token closes.
pub(super) fn opening(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().rev() {
        match token.token {
            Token::RParen => depth += 1,
            Token::LParen if depth <= 1 => return Some(at),
            Token::LParen => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Where the parenthesis or bracket at a place is closed.
pub(super) fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The keyword that a token is.
pub(super) fn keyword_of(token: Option<&TokenWithSpan>) -> Keyword {
    match token.map(|token| &token.token) {
        Some(Token::Word(word)) => word.keyword,
        _ => Keyword::NoKeyword,
    }
}
