//! Unicode's normal forms: `normalize` and `is_normalized`, which `IS NORMALIZED` asks.

use unicode_normalization::UnicodeNormalization;

use super::json::refuse;
use super::size::LimitedText;
use super::{FunctionDef, T};
use crate::Result;
use crate::types::ResultLimits;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("normalize", &[T::Text], T::Text, |b| {
        b.map1(|text| normalized(text, Form::Nfc, b.limits()))
    }),
    FunctionDef::new("normalize", &[T::Text, T::Text], T::Text, |b| {
        b.map2(|text, form| normalized(text, Form::named(form)?, b.limits()))
    }),
    FunctionDef::new("is_normalized", &[T::Text], T::Bool, |b| {
        b.map1(|text: &str| is_normalized(text, Form::Nfc))
    }),
    FunctionDef::new("is_normalized", &[T::Text, T::Text], T::Bool, |b| {
        b.map2(|text: &str, form: &str| Form::named(form).map(|form| is_normalized(text, form)))
    }),
];

/// A normal form.
#[derive(Debug, Clone, Copy)]
enum Form {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

impl Form {
    /// Errors: 22023.
    fn named(name: &str) -> Result<Form> {
        match name.to_ascii_uppercase().as_str() {
            "NFC" => Ok(Form::Nfc),
            "NFD" => Ok(Form::Nfd),
            "NFKC" => Ok(Form::Nfkc),
            "NFKD" => Ok(Form::Nfkd),
            _ => Err(refuse(format!("invalid normalization form: {name}"))),
        }
    }

    /// The characters of a text in the form.
    fn characters<'t>(self, text: &'t str) -> Box<dyn Iterator<Item = char> + 't> {
        match self {
            Form::Nfc => Box::new(text.nfc()),
            Form::Nfd => Box::new(text.nfd()),
            Form::Nfkc => Box::new(text.nfkc()),
            Form::Nfkd => Box::new(text.nfkd()),
        }
    }
}

fn normalized(text: &str, form: Form, limits: ResultLimits) -> Result<String> {
    let mut out = LimitedText::new(limits);
    for character in form.characters(text) {
        out.push(character.encode_utf8(&mut [0; 4]))?;
    }
    Ok(out.finish())
}

fn is_normalized(text: &str, form: Form) -> bool {
    form.characters(text).eq(text.chars())
}
