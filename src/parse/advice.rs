//! The HINT of a statement that failed, where what was written tells more than the error knows.

use super::text_tokens::{TextToken, tokens};
use super::{absent, habits, slips};
use crate::Error;

/// The error, with what to write instead where that is known. `text`: the message that the error's position counts in.
pub(super) fn advise(error: Error, text: &str) -> Error {
    if let Some(absent) = absent_statement(&error, text) {
        return absent;
    }
    match advice(&error, text) {
        Some(hint) => Error::Advised {
            error: Box::new(error),
            hint,
        },
        None => error,
    }
}

/// What is said of a statement of PostgreSQL's that is not here; `None` of one that is, or of which the error tells more.
fn absent_statement(error: &Error, text: &str) -> Option<Error> {
    let does_not_read = error.sqlstate() == "42601" && error.to_string().starts_with("syntax error");
    let is_bare = matches!(error, Error::FeatureNotSupported { hint: None, .. });
    if !does_not_read && !is_bare {
        return None;
    }
    let tokens = tokens(text);
    let (words, way_out) = absent::statement(&tokens, place_of(error, &tokens))?;
    Some(Error::unsupported(words, Some(way_out)))
}

/// The place among the tokens that the error is told of.
fn place_of(error: &Error, tokens: &[TextToken<'_>]) -> Option<usize> {
    // The end of what is written stands in front of the semicolon.
    let is_end = |token: &&TextToken<'_>| token.is(";");
    let end = tokens.len() - tokens.iter().rev().take_while(is_end).count();
    error.position().map(|position| {
        let behind = |token: &TextToken<'_>| token.position + token.text.chars().count() > position;
        tokens.iter().position(behind).unwrap_or(tokens.len()).min(end)
    })
}

fn advice(error: &Error, text: &str) -> Option<String> {
    let sqlstate = error.sqlstate();
    if !habits::may_tell(sqlstate) {
        return None;
    }
    let message = error.to_string();
    let does_not_read = message.starts_with("syntax error") || message.starts_with("unterminated");
    let tokens = tokens(text);
    let at = place_of(error, &tokens);
    let habit = habits::hint(&tokens, sqlstate, at).map(str::to_string);
    habit.or_else(|| slips::hint(&tokens, at.filter(|_| does_not_read)?))
}
