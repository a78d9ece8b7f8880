//! `U&'d\0061t\+000061'` and `U&"d!0061t" UESCAPE '!'`: strings and names that are written with the codes of characters. The tokenizer
//! knows no names of the kind, no other sign of an escape and no pairs, so it takes none: this makes one token of the pieces. Called
//! by `statement` and whoever else cuts a text into tokens of the dialect.

use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Whitespace};

use super::position::character_position;
use super::token_reader::{is_word, is_word_at};
use crate::{Error, Result};

/// Makes strings and names of the tokens of `text`, blanks among them. Errors: 42601 for escapes that are none.
pub(super) fn settle(tokens: &mut Vec<TokenWithSpan>, text: &str) -> Result<()> {
    let mut at = 0;
    while at + 2 < tokens.len() {
        if begins(&tokens[at..]) {
            decode(tokens, at, text)?;
        }
        at += 1;
    }
    Ok(())
}

/// Whether U, & and what is in quotes follow one another without blanks.
fn begins(tokens: &[TokenWithSpan]) -> bool {
    let [word, and, quoted, ..] = tokens else {
        return false;
    };
    let is_quoted = match &quoted.token {
        Token::SingleQuotedString(_) => true,
        Token::Word(name) => name.quote_style == Some('"'),
        _ => false,
    };
    is_quoted
        && and.token == Token::Ampersand
        && matches!(&word.token, Token::Word(word) if is_word(word, "U"))
        && word.span.end == and.span.start
        && and.span.end == quoted.span.start
}

/// Puts the string or the name in the place of the tokens that say it.
fn decode(tokens: &mut Vec<TokenWithSpan>, at: usize, text: &str) -> Result<()> {
    let (escape, mut end) = escape_behind(tokens, at + 3, text)?;
    let quoted = &tokens[at + 2];
    let place = Place {
        text,
        start: quoted.span.start,
        end: quoted.span.end,
    };
    let mut span = tokens[at].span;
    span.end = quoted.span.end;
    let token = match &quoted.token {
        Token::Word(name) => Token::make_word(&characters(&name.value, escape, &place)?, Some('"')),
        Token::SingleQuotedString(string) => {
            let mut string = characters(string, escape, &place)?;
            // What goes on on a later line is of the same kind.
            while let Some((part, behind)) = continuation(tokens, end) {
                string.push_str(&characters(&part, escape, &place)?);
                span.end = tokens[behind - 1].span.end;
                end = behind;
            }
            Token::SingleQuotedString(string)
        }
        _ => return Ok(()),
    };
    tokens.splice(at..end, [TokenWithSpan { token, span }]);
    Ok(())
}

/// The sign of an escape, and where what follows begins. Errors: 42601 for one that cannot be.
fn escape_behind(tokens: &[TokenWithSpan], at: usize, text: &str) -> Result<(char, usize)> {
    let next = |at: usize| (at..tokens.len()).find(|at| !matches!(tokens[*at].token, Token::Whitespace(_)));
    let is_uescape = |at: &usize| is_word_at(tokens, *at, "UESCAPE");
    let Some(word) = next(at).filter(is_uescape) else {
        return Ok(('\\', at));
    };
    let fault = |message: &str, at: usize| {
        let span = tokens.get(at).map(|token| token.span);
        let near = span.and_then(|span| {
            let start = super::position::byte_offset(span.start, text);
            text.get(start..super::position::byte_offset(span.end, text))
        });
        Err(Error::Syntax {
            message: match near {
                Some(near) => format!("{message} at or near \"{near}\""),
                None => format!("{message} at end of input"),
            },
            position: span.map_or(0, |span| character_position(span.start, text)),
        })
    };
    let string = next(word + 1).unwrap_or(tokens.len());
    let Some(TokenWithSpan {
        token: Token::SingleQuotedString(escape),
        ..
    }) = tokens.get(string)
    else {
        return fault("UESCAPE must be followed by a simple string literal", string);
    };
    let mut characters = escape.chars();
    match (characters.next(), characters.next()) {
        (Some(escape), None) if may_escape(escape) => Ok((escape, string + 1)),
        _ => fault("invalid Unicode escape character", string),
    }
}

fn may_escape(sign: char) -> bool {
    sign.is_ascii()
        && !sign.is_ascii_hexdigit()
        && !sign.is_ascii_whitespace()
        && !matches!(sign, '+' | '\'' | '"')
}

/// The string behind a line break, and where what follows it begins.
fn continuation(tokens: &[TokenWithSpan], at: usize) -> Option<(String, usize)> {
    let is_blank = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let is_break = |token: &TokenWithSpan| {
        matches!(
            token.token,
            Token::Whitespace(Whitespace::Newline | Whitespace::SingleLineComment { .. })
        )
    };
    let blanks = tokens[at..].iter().take_while(|token| is_blank(token)).count();
    let breaks = tokens[at..at + blanks].iter().any(is_break);
    match tokens.get(at + blanks).map(|token| &token.token) {
        Some(Token::SingleQuotedString(part)) if breaks => Some((part.clone(), at + blanks + 1)),
        _ => None,
    }
}

/// Where what is in quotes stands.
struct Place<'t> {
    text: &'t str,
    start: Location,
    end: Location,
}

impl Place<'_> {
    /// The error of an escape before which so many characters stand in the quotes.
    fn fault(&self, message: &str, before: usize) -> Error {
        Error::Syntax {
            message: message.to_string(),
            position: character_position(self.start, self.text) + 1 + before,
        }
    }

    fn no_escape(&self, before: usize) -> Error {
        Error::Advised {
            error: Box::new(self.fault("invalid Unicode escape", before)),
            hint: "Unicode escapes must be \\XXXX or \\+XXXXXX.".to_string(),
        }
    }

    fn half_pair(&self, before: Option<usize>) -> Error {
        let message = "invalid Unicode surrogate pair";
        match before {
            Some(before) => self.fault(message, before),
            None => Error::Syntax {
                message: message.to_string(),
                position: character_position(self.end, self.text) - 1,
            },
        }
    }
}

/// What the quotes hold, with the characters in place of their codes.
fn characters(quoted: &str, escape: char, place: &Place<'_>) -> Result<String> {
    let signs: Vec<char> = quoted.chars().collect();
    let mut shown = String::with_capacity(quoted.len());
    let (mut at, mut first_half) = (0, None);
    while let Some(sign) = signs.get(at) {
        let is_code = *sign == escape && signs.get(at + 1) != Some(&escape);
        if !is_code {
            if first_half.is_some() {
                return Err(place.half_pair(Some(at)));
            }
            shown.push(*sign);
            at += 1 + usize::from(*sign == escape);
            continue;
        }
        let (code, length) = code_at(&signs[at + 1..]).ok_or_else(|| place.no_escape(at))?;
        match (first_half.take(), code) {
            (None, 0xD800..=0xDBFF) => first_half = Some(code),
            (Some(high), 0xDC00..=0xDFFF) => {
                let joined = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00);
                shown.extend(char::from_u32(joined));
            }
            (None, code) if !(0xDC00..=0xDFFF).contains(&code) => {
                match char::from_u32(code).filter(|c| *c != '\0') {
                    Some(character) => shown.push(character),
                    None => return Err(place.fault("invalid Unicode escape value", at)),
                }
            }
            _ => return Err(place.half_pair(Some(at))),
        }
        at += 1 + length;
    }
    match first_half {
        Some(_) => Err(place.half_pair(None)),
        None => Ok(shown),
    }
}

/// The code that stands behind the sign of an escape, and how many characters it takes.
fn code_at(signs: &[char]) -> Option<(u32, usize)> {
    let (skipped, digits) = match signs.first() {
        Some('+') => (1, 6),
        _ => (0, 4),
    };
    let digits: String = signs.get(skipped..skipped + digits)?.iter().collect();
    let is_code = digits.chars().all(|digit| digit.is_ascii_hexdigit());
    let code = u32::from_str_radix(&digits, 16).ok().filter(|_| is_code)?;
    Some((code, skipped + digits.len()))
}
