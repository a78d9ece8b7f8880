//! Names longer than 63 bytes mean what stands in the first 63, as in PostgreSQL. Called by `statement` and whoever else cuts a text
//! into tokens of the dialect.

use sqlparser::dialect::Dialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::types::strings::{NAME_BYTES_MAX, truncate_name};

/// A name that was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TruncatedName {
    /// As it was written.
    pub written: String,
    /// As it is read.
    pub name: String,
}

/// Reads a text that no client sent.
pub(super) fn parser_of<'a>(dialect: &'a dyn Dialect, text: &str) -> Result<Parser<'a>, ParserError> {
    let mut tokens = Tokenizer::new(dialect, text).tokenize_with_location()?;
    truncate(&mut tokens);
    Ok(Parser::new(dialect).with_tokens_with_locations(tokens))
}

/// Cuts names that are too long, and answers them in the order of the text.
pub(super) fn truncate(tokens: &mut [TokenWithSpan]) -> Vec<TruncatedName> {
    let words = tokens.iter_mut().filter_map(|token| match &mut token.token {
        Token::Word(word) if word.value.len() > NAME_BYTES_MAX => Some(word),
        _ => None,
    });
    let cut = words.map(|word| {
        // What is not quoted is a name in small letters.
        let written = match word.quote_style {
            Some(_) => word.value.clone(),
            None => word.value.to_ascii_lowercase(),
        };
        truncate_name(&mut word.value);
        let name = written[..word.value.len()].to_string();
        TruncatedName { written, name }
    });
    cut.collect()
}
