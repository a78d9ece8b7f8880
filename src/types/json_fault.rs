//! What is wrong with a text that is no JSON, in PostgreSQL's words. Asked only once a text was refused.

/// What may stand at a place of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Value,
    /// The same, or the end of an array.
    FirstElement,
    AfterElement,
    /// A name, or the end of an object.
    FirstName,
    Name,
    Colon,
    AfterMember,
    End,
}

/// The first letters of a text that is left to be read.
struct Lexer<'t> {
    rest: &'t str,
}

/// The DETAIL of the error.
pub(super) fn fault_of(text: &str) -> String {
    let ended = "The input string ended unexpectedly.".to_string();
    read(&mut Lexer { rest: text }).err().unwrap_or(ended)
}

/// Reads a document; the error says what is wrong first.
fn read(lexer: &mut Lexer<'_>) -> Result<(), String> {
    let mut open = Vec::new();
    let mut expected = Expected::Value;
    loop {
        let Some(token) = lexer.token()? else {
            return match expected {
                Expected::End => Ok(()),
                _ => Err("The input string ended unexpectedly.".to_string()),
            };
        };
        expected = step(expected, token, &mut open).ok_or_else(|| {
            let what = expected.words();
            format!("Expected {what}, but found \"{token}\".")
        })?;
    }
}

/// What may follow a token; `None` when it may not stand there itself. `open`: the brackets around it.
fn step(expected: Expected, token: &str, open: &mut Vec<char>) -> Option<Expected> {
    let first = token.chars().next()?;
    let after = |open: &[char]| match open.last() {
        Some('[') => Expected::AfterElement,
        Some(_) => Expected::AfterMember,
        None => Expected::End,
    };
    match (expected, first) {
        (Expected::FirstElement | Expected::AfterElement, ']')
        | (Expected::FirstName | Expected::AfterMember, '}') => {
            open.pop();
            Some(after(open))
        }
        (Expected::Value | Expected::FirstElement, '[') => {
            open.push(first);
            Some(Expected::FirstElement)
        }
        (Expected::Value | Expected::FirstElement, '{') => {
            open.push(first);
            Some(Expected::FirstName)
        }
        (Expected::Value | Expected::FirstElement, first) if !"]},:".contains(first) => Some(after(open)),
        (Expected::AfterElement, ',') => Some(Expected::Value),
        (Expected::FirstName | Expected::Name, '"') => Some(Expected::Colon),
        (Expected::Colon, ':') => Some(Expected::Value),
        (Expected::AfterMember, ',') => Some(Expected::Name),
        _ => None,
    }
}

impl Expected {
    fn words(self) -> &'static str {
        match self {
            Expected::Value | Expected::FirstElement => "JSON value",
            Expected::AfterElement => "\",\" or \"]\"",
            Expected::FirstName => "string or \"}\"",
            Expected::Name => "string",
            Expected::Colon => "\":\"",
            Expected::AfterMember => "\",\" or \"}\"",
            Expected::End => "end of input",
        }
    }
}

impl<'t> Lexer<'t> {
    /// The next token; `None` at the end. The error says why it is none.
    fn token(&mut self) -> Result<Option<&'t str>, String> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
        let Some(first) = self.rest.chars().next() else {
            return Ok(None);
        };
        let length = match first {
            '[' | ']' | '{' | '}' | ',' | ':' => 1,
            '"' => string_length(self.rest)?,
            _ => scalar_length(self.rest, first)?,
        };
        let (token, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(Some(token))
    }
}

/// The length in bytes of a number or a word.
fn scalar_length(text: &str, first: char) -> Result<usize, String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    let begins_number = first == '-' || first.is_ascii_digit();
    let belongs = |c: char| is_word(c) || (begins_number && matches!(c, '.' | '+' | '-'));
    let length = text[first.len_utf8()..]
        .find(|c| !belongs(c))
        .map_or(text.len(), |end| first.len_utf8() + end);
    // A sign by itself is a token of one character.
    let length = if is_word(first) || begins_number {
        length
    } else {
        first.len_utf8()
    };
    let token = &text[..length];
    let is_scalar = matches!(token, "true" | "false" | "null")
        || (begins_number && serde_json::from_str::<serde_json::Number>(token).is_ok());
    match is_scalar {
        true => Ok(length),
        false => Err(format!("Token \"{token}\" is invalid.")),
    }
}

/// The length in bytes of a string with its quotes.
fn string_length(text: &str) -> Result<usize, String> {
    let mut letters = text.char_indices().skip(1);
    let unended = || format!("Token \"{text}\" is invalid.");
    let mut is_behind_high = false;
    while let Some((at, letter)) = letters.next() {
        let was_behind_high = std::mem::take(&mut is_behind_high);
        let escaped = match letter {
            '\\' => Some(letters.next().ok_or_else(unended)?),
            _ => None,
        };
        let unit = match escaped {
            Some((at, 'u')) => Some(code_unit(&text[at + 1..])?),
            _ => None,
        };
        let is_low = unit.is_some_and(|unit| (0xDC00..0xE000).contains(&unit));
        if was_behind_high != is_low {
            return Err(match unit {
                Some(unit) if (0xD800..0xDC00).contains(&unit) => {
                    "Unicode high surrogate must not follow a high surrogate."
                }
                _ => "Unicode low surrogate must follow a high surrogate.",
            }
            .to_string());
        }
        match escaped {
            None if letter == '"' => return Ok(at + 1),
            None if letter < ' ' => {
                let value = u32::from(letter);
                return Err(format!("Character with value 0x{value:02x} must be escaped."));
            }
            None => {}
            Some((_, 'u')) => {
                is_behind_high = unit.is_some_and(|unit| (0xD800..0xDC00).contains(&unit));
                letters.nth(3);
            }
            Some((_, letter)) if "\"\\/bfnrt".contains(letter) => {}
            Some((_, letter)) => return Err(format!("Escape sequence \"\\{letter}\" is invalid.")),
        }
    }
    Err(unended())
}

/// The four hexadecimal digits that a text begins with.
fn code_unit(text: &str) -> Result<u32, String> {
    let digits = text.get(..4);
    let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    digits
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .ok_or_else(|| "\"\\u\" must be followed by four hexadecimal digits.".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PostgreSQL's answers.
    #[test]
    fn the_first_fault_is_told() {
        for (text, detail) in [
            ("{\"a\": }", "Expected JSON value, but found \"}\"."),
            ("[,]", "Expected JSON value, but found \",\"."),
            ("[1,]", "Expected JSON value, but found \"]\"."),
            ("[1 2]", "Expected \",\" or \"]\", but found \"2\"."),
            ("{,}", "Expected string or \"}\", but found \",\"."),
            ("{\"a\" 1}", "Expected \":\", but found \"1\"."),
            (
                "{\"a\":1 \"b\":2}",
                "Expected \",\" or \"}\", but found \"\"b\"\".",
            ),
            ("{\"a\":1,}", "Expected string, but found \"}\"."),
            ("1 2", "Expected end of input, but found \"2\"."),
            ("{\"a\":1}}", "Expected end of input, but found \"}\"."),
            ("{a:1}", "Token \"a\" is invalid."),
            ("{1:2}", "Expected string or \"}\", but found \"1\"."),
            ("tru", "Token \"tru\" is invalid."),
            ("01", "Token \"01\" is invalid."),
            ("1.", "Token \"1.\" is invalid."),
            ("-Infinity", "Token \"-Infinity\" is invalid."),
            (".5", "Token \".\" is invalid."),
            ("'a'", "Token \"'\" is invalid."),
            ("é", "Token \"é\" is invalid."),
            ("\"abc", "Token \"\"abc\" is invalid."),
            ("\"a\\x\"", "Escape sequence \"\\x\" is invalid."),
            (
                "\"\\u12\"",
                "\"\\u\" must be followed by four hexadecimal digits.",
            ),
            (
                "\"\\ud800\"",
                "Unicode low surrogate must follow a high surrogate.",
            ),
            ("\"a\tb\"", "Character with value 0x09 must be escaped."),
            ("", "The input string ended unexpectedly."),
            ("{\"a\":", "The input string ended unexpectedly."),
        ] {
            assert_eq!(fault_of(text), detail, "{text}");
        }
    }
}
