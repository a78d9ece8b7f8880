//! Quotes of the names of types that users made. Whoever shows such a name calls it.

/// A type's name as SQL text has it: in quotes, unless it is in lower case and plain.
pub(super) fn quoted(name: &str) -> String {
    let is_plain = |(at, c): (usize, char)| {
        c.is_ascii_lowercase() || c == '_' || at > 0 && (c.is_ascii_digit() || c == '$')
    };
    match name.chars().enumerate().all(is_plain) {
        true => name.to_string(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}
