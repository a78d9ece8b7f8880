//! The words of a path. Called by `parser`.

use crate::error::StatementFault;
use crate::{Error, Result};

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name without quotes, which may be a keyword.
    Word(String),
    /// A text in double quotes.
    String(String),
    /// `$name`, `$"name"`.
    Variable(String),
    /// Digits alone.
    Integer(String),
    /// Digits with a point or an exponent.
    Decimal(String),
    /// An operator or a bracket.
    Symbol(&'static str),
}

/// Symbols, longer ones before their prefixes.
const SYMBOLS: &[&str] = &[
    "&&", "||", "**", "<=", "==", "<>", "!=", ">=", "!", "<", ">", "?", "%", "$", ".", "[", "]", "{", "}",
    "(", ")", "|", "&", "=", "@", "#", ",", "*", ":", "-", "+", "/",
];

/// A word, and the text that it was written as.
#[derive(Debug, Clone)]
pub(super) struct Scanned<'t> {
    pub(super) token: Token,
    pub(super) text: &'t str,
}

/// 42601: what is wrong with a path, near a part of it or at its end.
pub(super) fn syntax_error(what: &str, near: Option<&str>) -> Error {
    let place = match near {
        Some(near) => format!("or near \"{near}\" of"),
        None => "end of".to_string(),
    };
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: format!("{what} at {place} jsonpath input"),
        hint: None,
    }
}

/// Every word of a path. Errors: 42601, 22P05.
pub(super) fn scan(text: &str) -> Result<Vec<Scanned<'_>>> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if is_blank(first) {
            rest = &rest[1..];
            continue;
        }
        if let Some(comment) = rest.strip_prefix("/*") {
            let (_, after) = comment
                .split_once("*/")
                .ok_or_else(|| syntax_error("unexpected end of comment", None))?;
            rest = after;
            continue;
        }
        let (token, length) = word(rest)?;
        let (text, after) = rest.split_at(length);
        words.push(Scanned { token, text });
        rest = after;
    }
    Ok(words)
}

/// The word that a text begins with, and its length in bytes.
fn word(text: &str) -> Result<(Token, usize)> {
    if let Some(number) = number(text)? {
        return Ok(number);
    }
    if let Some(quoted) = text.strip_prefix("$\"") {
        let (name, length) = unescaped(quoted, Some('"'))?;
        return Ok((Token::Variable(name), 2 + length));
    }
    if let Some(quoted) = text.strip_prefix('"') {
        let (string, length) = unescaped(quoted, Some('"'))?;
        return Ok((Token::String(string), 1 + length));
    }
    if let Some(name) = text.strip_prefix('$') {
        let length = name.find(|c| !is_other(c)).unwrap_or(name.len());
        if length > 0 {
            return Ok((Token::Variable(name[..length].to_string()), 1 + length));
        }
    }
    match SYMBOLS.iter().find(|symbol| text.starts_with(**symbol)) {
        Some(symbol) => Ok((Token::Symbol(symbol), symbol.len())),
        None => unescaped(text, None).map(|(word, length)| (Token::Word(word), length)),
    }
}

/// The number that a text begins with. Errors: 42601 for one that goes on with letters.
fn number(text: &str) -> Result<Option<(Token, usize)>> {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let whole = match digits(0) {
        // 007 is 0, and what follows is too much.
        2.. if text.starts_with('0') => 1,
        count => count,
    };
    let (mut length, mut is_decimal) = (whole, false);
    if text[length..].starts_with('.') && (whole > 0 || digits(1) > 0) {
        length += 1 + digits(length + 1);
        is_decimal = true;
    }
    if length == 0 {
        return Ok(None);
    }
    if text[length..].starts_with(['e', 'E']) {
        let sign = usize::from(text[length + 1..].starts_with(['+', '-']));
        match digits(length + 1 + sign) {
            0 if sign == 1 => {
                return Err(syntax_error("invalid numeric literal", Some(&text[..length + 2])));
            }
            0 => {}
            count => {
                length += 1 + sign + count;
                is_decimal = true;
            }
        }
    }
    if let Some(junk) = text[length..].chars().next().filter(|c| is_other(*c)) {
        let near = &text[..length + junk.len_utf8()];
        return Err(syntax_error("trailing junk after numeric literal", Some(near)));
    }
    let written = text[..length].to_string();
    Ok(Some((
        match is_decimal {
            true => Token::Decimal(written),
            false => Token::Integer(written),
        },
        length,
    )))
}

/// The characters of a word, or of a string up to the quote that ends it, and how long it was written, the quote included.
fn unescaped(text: &str, quote: Option<char>) -> Result<(String, usize)> {
    let mut out = String::new();
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        let is_end = match quote {
            Some(quote) => character == quote,
            None => !is_other(character) && character != '\\',
        };
        if is_end {
            return Ok((out, at + quote.map_or(0, char::len_utf8)));
        }
        match character {
            '\\' => {
                let (character, length) = escape(&text[at..])?;
                out.push(character);
                at += length;
            }
            character => {
                out.push(character);
                at += character.len_utf8();
            }
        }
    }
    match quote {
        Some(_) => Err(syntax_error("unexpected end of quoted string", None)),
        None => Ok((out, at)),
    }
}

/// The character that an escape at the start of a text stands for, and how long the escape is.
fn escape(text: &str) -> Result<(char, usize)> {
    let Some(letter) = text[1..].chars().next() else {
        return Err(syntax_error("unexpected end after backslash", None));
    };
    let plain = |character| Ok((character, 2));
    match letter {
        'b' => plain('\u{8}'),
        'f' => plain('\u{c}'),
        'n' => plain('\n'),
        'r' => plain('\r'),
        't' => plain('\t'),
        'v' => plain('\u{b}'),
        'x' => match hexadecimal(&text[2..], 2, 2) {
            (Some(code), 2) => character_of(code).map(|character| (character, 4)),
            (_, digits) => Err(syntax_error(
                "invalid hex character sequence",
                Some(&text[..2 + digits]),
            )),
        },
        'u' => unicode(text),
        other => Ok((other, 1 + other.len_utf8())),
    }
}

/// `\u00e9`, `\u{e9}`, or two of them that are a surrogate pair.
fn unicode(text: &str) -> Result<(char, usize)> {
    let (code, length) = code_unit(text)?;
    let surrogate = |message: &str| {
        Err(Error::DataException {
            state: "22P02",
            message: format!("invalid input syntax for type jsonpath: {message}"),
        })
    };
    match code {
        0xD800..=0xDBFF if text[length..].starts_with("\\u") => {
            let (low, low_length) = code_unit(&text[length..])?;
            match low {
                0xDC00..=0xDFFF => {
                    let whole = 0x1_0000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                    character_of(whole).map(|character| (character, length + low_length))
                }
                _ => surrogate("a Unicode low surrogate must follow a high surrogate"),
            }
        }
        0xD800..=0xDFFF => surrogate("a Unicode surrogate stands alone"),
        code => character_of(code).map(|character| (character, length)),
    }
}

/// The number of one `\u` escape, and its length.
fn code_unit(text: &str) -> Result<(u32, usize)> {
    let (code, length, is_whole) = match text[2..].strip_prefix('{') {
        Some(inside) => {
            let (code, digits) = hexadecimal(inside, 1, 6);
            let is_closed = inside[digits..].starts_with('}');
            (code, 3 + digits + usize::from(is_closed), is_closed)
        }
        None => {
            let (code, digits) = hexadecimal(&text[2..], 4, 4);
            (code, 2 + digits, true)
        }
    };
    match code.filter(|_| is_whole) {
        Some(code) => Ok((code, length)),
        None => Err(syntax_error("invalid unicode sequence", Some(&text[..length]))),
    }
}

/// A number of so many hexadecimal digits; `None`: there are fewer. And how many there are.
fn hexadecimal(text: &str, least: usize, most: usize) -> (Option<u32>, usize) {
    let digits = text.bytes().take(most).take_while(u8::is_ascii_hexdigit).count();
    let code = u32::from_str_radix(&text[..digits], 16).ok();
    (code.filter(|_| digits >= least), digits)
}

fn character_of(code: u32) -> Result<char> {
    match char::from_u32(code) {
        Some('\0') | None => Err(Error::DataException {
            state: "22P05",
            message: "unsupported Unicode escape sequence".to_string(),
        }),
        Some(character) => Ok(character),
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

/// Whether a word goes on with it: neither a blank nor a symbol, quote or backslash.
fn is_other(c: char) -> bool {
    !is_blank(c) && !"?%$.[]{}()|&!=<>@#,*:-+/\\\"".contains(c)
}
