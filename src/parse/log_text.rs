//! A statement's text as the server's log shows it: on one line, not too long, and without its constants, for a log is read by
//! others than its data. Knows nothing of why it is logged.

use sqlparser::tokenizer::{Token, Tokenizer};

use super::dialect::KEYSPAN;

/// Longer texts are cut.
const SHOWN_CHARS_MAX: usize = 2000;
/// What stands for a constant.
const CONSTANT: &str = "?";

/// The text without its constants. One that cannot be split into tokens is its first word.
pub fn without_constants(text: &str) -> String {
    shown(text, false)
}

/// The same without its parameters: what texts have in common that differ in values alone.
pub fn without_values(text: &str) -> String {
    shown(text, true)
}

fn shown(text: &str, hides_parameters: bool) -> String {
    let tokens = Tokenizer::new(&KEYSPAN, text).with_unescape(false).tokenize();
    let Ok(tokens) = tokens else {
        let word = text.split_whitespace().next().unwrap_or_default();
        return shorten(&format!("{word} …"));
    };
    let mut shown = String::new();
    for token in tokens {
        match token {
            Token::Whitespace(_) if shown.ends_with(' ') || shown.is_empty() => {}
            Token::Whitespace(_) => shown.push(' '),
            Token::Word(word) => shown.push_str(&word.to_string()),
            Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::DollarQuotedString(_) => shown.push_str(CONSTANT),
            Token::Placeholder(_) if hides_parameters => shown.push_str(CONSTANT),
            other => shown.push_str(&other.to_string()),
        }
    }
    shorten(shown.trim_end())
}

/// On one line, and cut behind so many characters.
pub fn shorten(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(SHOWN_CHARS_MAX)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(SHOWN_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_comments_and_lines_are_left_out() {
        for (text, expected) in [
            (
                "SELECT a, \"B\"\n FROM t -- secret\n WHERE b = 'it''s' AND c IN (1, 2.5)",
                "SELECT a, \"B\" FROM t WHERE b = ? AND c IN (?, ?)",
            ),
            (
                "insert into t values ($1, E'a\\n', $$x$$)",
                "insert into t values ($1, ?, ?)",
            ),
            ("select x'ff', B'01', N'x', 1e5, $2", "select ?, ?, ?, ?, $2"),
            ("select 'not ended", "select …"),
            ("", ""),
        ] {
            assert_eq!(without_constants(text), expected);
        }
        let long = without_constants(&format!("SELECT {}", "a, ".repeat(5000)));
        assert_eq!(long.chars().count(), SHOWN_CHARS_MAX + 1);
    }
}
