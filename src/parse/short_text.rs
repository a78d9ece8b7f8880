//! Texts that are read at once, in the task of their connection; all others are read on the query threads.

/// A text up to this long is read at once, unless it nests. In bytes.
pub(crate) const TEXT_BYTES_MAX: usize = 8 << 10;
/// Parentheses and brackets open at once in such a text: the parser may try two ways into each.
const TEXT_DEPTH_MAX: usize = 6;

/// About how many expressions a text has: the commas, brackets and operators outside of quotes.
pub fn count_expressions(text: &str) -> usize {
    let mut quoted = false;
    let counts = text.bytes().filter(|byte| {
        quoted ^= *byte == b'\'';
        !quoted && byte.is_ascii_punctuation() && !matches!(byte, b'\'' | b')' | b']' | b'_' | b'.' | b'"')
    });
    1 + counts.count()
}

/// Whether a message's text is read at once.
pub fn is_quick_to_read(text: &str) -> bool {
    let mut depth = 0usize;
    text.len() <= TEXT_BYTES_MAX
        && text.bytes().all(|byte| {
            match byte {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth <= TEXT_DEPTH_MAX
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_nested_texts_are_not_quick_to_read() {
        assert!(is_quick_to_read("SELECT f(g((1))), ((2)), ((3))"));
        assert!(!is_quick_to_read(&format!(
            "SELECT {}1{}",
            "abs(".repeat(12),
            ")".repeat(12)
        )));
        assert!(!is_quick_to_read(&"SELECT 1;".repeat(40_000)));
    }
}
