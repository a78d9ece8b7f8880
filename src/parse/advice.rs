//! The HINT of a statement that failed, where what was written tells more than the error knows.

use super::text_tokens::{TextToken, tokens};
use super::{habits, slips};
use crate::Error;

/// The error, with what to write instead where that is known. `text`: the message that the error's position counts in.
pub(super) fn advise(error: Error, text: &str) -> Error {
    match advice(&error, text) {
        Some(hint) => Error::Advised {
            error: Box::new(error),
            hint,
        },
        None => error,
    }
}

fn advice(error: &Error, text: &str) -> Option<String> {
    let sqlstate = error.sqlstate();
    if !habits::may_tell(sqlstate) {
        return None;
    }
    let message = error.to_string();
    let does_not_read = message.starts_with("syntax error") || message.starts_with("unterminated");
    let tokens = tokens(text);
    let at = error.position().map(|position| {
        let behind = |token: &TextToken<'_>| token.position + token.text.chars().count() > position;
        tokens.iter().position(behind).unwrap_or(tokens.len())
    });
    let habit = habits::hint(&tokens, sqlstate, at).map(str::to_string);
    habit.or_else(|| slips::hint(&tokens, at.filter(|_| does_not_read)?))
}
