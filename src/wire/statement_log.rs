//! What the server's log says of statements: those that failed, those that took long. Called by the responder. A log is read
//! by others than the data: no constant of a statement, and no value of a row, is in it.

use std::time::{Duration, Instant};

use crate::Error;
use crate::parse::{shorten, without_constants};

/// Says that a statement failed. What is our fault, or the disk's, is an error of the server; the rest is the client's.
pub(super) fn log_failure(process_id: i32, error: &Error) {
    let (sqlstate, message) = (error.sqlstate(), message_without_values(error));
    match sqlstate.get(..2) {
        Some("XX" | "58" | "53") => {
            tracing::error!(process_id, sqlstate, "a statement failed: {message}");
        }
        _ => tracing::info!(process_id, sqlstate, "a statement failed: {message}"),
    }
}

/// Says that a statement took long, if it did. `limit_ms`: log_min_duration_statement; `None`: none is.
pub(super) fn log_duration(process_id: i32, began: Instant, limit_ms: Option<u64>, text: &str) {
    let took = began.elapsed();
    if limit_ms.is_some_and(|limit_ms| took >= Duration::from_millis(limit_ms)) {
        let (took_ms, statement) = (took.as_secs_f64() * 1e3, without_constants(text));
        tracing::info!(process_id, "duration: {took_ms:.3} ms  statement: {statement}");
    }
}

/// The message of an error. Errors of data, and of syntax, quote what the statement holds; others quote names.
fn message_without_values(error: &Error) -> String {
    let message = shorten(&error.to_string());
    let quotes_values = error.sqlstate().starts_with("22") || error.sqlstate() == "42601";
    match quotes_values {
        false => message,
        true => hide_quoted(&message),
    }
}

/// The message with `"…"` for what is quoted, and `0` for numbers.
fn hide_quoted(message: &str) -> String {
    let mut shown = String::new();
    // A value may hold quotes itself: nothing behind the first is shown but what follows the last.
    let (before, quoted) = match (message.find('"'), message.rfind('"')) {
        (Some(first), Some(last)) if first < last => (&message[..first], Some(&message[last + 1..])),
        _ => (message, None),
    };
    let mut in_number = false;
    let mut push = |text: &str| {
        for c in text.chars() {
            match (c.is_ascii_digit(), in_number) {
                (true, true) => {}
                (true, false) => shown.push('?'),
                (false, _) => shown.push(c),
            }
            in_number = c.is_ascii_digit();
        }
    };
    push(before);
    if let Some(after) = quoted {
        push("\"…\"");
        push(after);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_and_values_are_not() {
        let message = |error: Error| message_without_values(&error);
        let undefined = Error::UndefinedSetting {
            name: "nope".to_string(),
            nearest: None,
        };
        assert!(message(undefined).contains("\"nope\""));
        for (text, expected) in [
            (
                "invalid input syntax for type integer: \"12\" is\" not\"",
                "invalid input syntax for type integer: \"…\"",
            ),
            (
                "value \"999\" is out of range for type integer",
                "value \"…\" is out of range for type integer",
            ),
            (
                "time zone displacement 77:00 out of range",
                "time zone displacement ?:? out of range",
            ),
        ] {
            assert_eq!(hide_quoted(text), expected);
        }
    }
}
