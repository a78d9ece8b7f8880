//! `HeadlineOptions`: what the options of `ts_headline` say: `StartSel = <b>, MaxWords = 35`.

use crate::{Error, Result};

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeadlineOptions {
    /// What stands before and behind a word of the query.
    pub(super) start: String,
    /// See `start`.
    pub(super) stop: String,
    /// How many words a headline has at most and at least.
    pub(super) words_max: usize,
    /// See `words_max`.
    pub(super) words_min: usize,
    /// No headline ends with a word of so few bytes.
    pub(super) short_word: usize,
    /// Whether the whole document is shown.
    pub(super) highlights_all: bool,
    /// How many fragments are shown; 0: one piece.
    pub(super) fragments_max: usize,
    /// What stands between fragments.
    pub(super) delimiter: String,
}

impl HeadlineOptions {
    /// Errors: 22023 for an option that is none or a number that is too small, 22P02, 42601.
    pub(super) fn parse(text: &str) -> Result<HeadlineOptions> {
        let mut options = HeadlineOptions {
            start: "<b>".to_string(),
            stop: "</b>".to_string(),
            words_max: 0,
            words_min: 0,
            short_word: 0,
            highlights_all: false,
            fragments_max: 0,
            delimiter: " ... ".to_string(),
        };
        let (mut most, mut least, mut short, mut fragments) = (35, 15, 3, 0);
        for (name, value) in pairs(text)? {
            match name.to_ascii_lowercase().as_str() {
                "maxwords" => most = number(&value)?,
                "minwords" => least = number(&value)?,
                "shortword" => short = number(&value)?,
                "maxfragments" => fragments = number(&value)?,
                "startsel" => options.start = value,
                "stopsel" => options.stop = value,
                "fragmentdelimiter" => options.delimiter = value,
                "highlightall" => {
                    let yes = ["1", "on", "true", "t", "y", "yes"];
                    options.highlights_all = yes.contains(&value.to_ascii_lowercase().as_str());
                }
                _ => return Err(refused(format!("unrecognized headline parameter: \"{name}\""))),
            }
        }
        if !options.highlights_all {
            let faults = [
                (least >= most, "MinWords should be less than MaxWords"),
                (least <= 0, "MinWords should be positive"),
                (short < 0, "ShortWord should be >= 0"),
                (fragments < 0, "MaxFragments should be >= 0"),
            ];
            if let Some((_, message)) = faults.into_iter().find(|(is_wrong, _)| *is_wrong) {
                return Err(refused(message.to_string()));
            }
        }
        let count = |number: i32| usize::try_from(number).unwrap_or(0);
        options.words_max = count(most);
        options.words_min = count(least);
        options.short_word = count(short);
        options.fragments_max = count(fragments);
        Ok(options)
    }
}

/// `name = value, …`; a value may stand in quotes, of which two are one.
fn pairs(text: &str) -> Result<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start_matches([' ', ',', '\t', '\n']);
    let wrong = || Error::Syntax {
        message: format!("invalid parameter list format: \"{text}\""),
        position: 0,
    };
    while !rest.is_empty() {
        let (name, behind) = rest.split_once('=').ok_or_else(wrong)?;
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(wrong());
        }
        let behind = behind.trim_start();
        let (value, behind) = match behind.chars().next().filter(|first| matches!(first, '"' | '\'')) {
            Some(quote) => quoted(&behind[1..], quote).ok_or_else(wrong)?,
            None => {
                let end = behind
                    .find(|c: char| c == ',' || c.is_whitespace())
                    .unwrap_or(behind.len());
                (behind[..end].to_string(), &behind[end..])
            }
        };
        pairs.push((name.to_string(), value));
        rest = behind.trim_start_matches([' ', ',', '\t', '\n']);
    }
    Ok(pairs)
}

/// A value up to its quote, and what stands behind that.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        if character != quote {
            value.push(character);
            continue;
        }
        let behind = &text[at + 1..];
        if !behind.starts_with(quote) {
            return Some((value, behind));
        }
        value.push(quote);
        characters.next();
    }
    None
}

fn number(text: &str) -> Result<i32> {
    text.trim().parse().map_err(|_| Error::DataException {
        state: "22P02",
        message: format!("invalid input syntax for type integer: \"{text}\""),
    })
}

fn refused(message: String) -> Error {
    Error::InvalidParameter { message, hint: None }
}
