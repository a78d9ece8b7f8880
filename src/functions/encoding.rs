//! Functions of character encodings: their names and numbers, `convert`, `convert_from`, `convert_to` and `to_ascii`. Texts here are UTF-8;
//! other encodings are bytes (`types::encoding`).

use super::json::refuse;
use super::{FunctionDef, T};
use crate::error::StatementFault;
use crate::types::{CharacterEncoding, converted};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("pg_encoding_to_char", &[T::Int4], T::Name, |b| {
        b.map1(|number: i32| CharacterEncoding::numbered(number).map_or("", CharacterEncoding::name))
    }),
    FunctionDef::new("pg_char_to_encoding", &[T::Name], T::Int4, |b| {
        b.map1(|name: &str| CharacterEncoding::named(name).map_or(-1, CharacterEncoding::number))
    }),
    FunctionDef::new("pg_encoding_max_length", &[T::Int4], T::Int4, |b| {
        b.map1(|number: i32| CharacterEncoding::numbered(number).map(CharacterEncoding::character_bytes_max))
    }),
    FunctionDef::new("convert", &[T::Bytea, T::Name, T::Name], T::Bytea, |b| {
        b.map3(|bytes: &[u8], from: &str, to: &str| {
            let (from, to) = (named(from, "source")?, named(to, "destination")?);
            converted(bytes, from, to)
        })
    })
    .stable(),
    FunctionDef::new("convert_from", &[T::Bytea, T::Name], T::Text, |b| {
        b.map2(|bytes: &[u8], from: &str| {
            let bytes = converted(bytes, named(from, "source")?, CharacterEncoding::UTF8)?;
            CharacterEncoding::UTF8.decode(&bytes)
        })
    })
    .stable(),
    FunctionDef::new("convert_to", &[T::Text, T::Name], T::Bytea, |b| {
        b.map2(|text: &str, to: &str| {
            converted(
                text.as_bytes(),
                CharacterEncoding::UTF8,
                named(to, "destination")?,
            )
        })
    })
    .stable(),
    FunctionDef::new("length", &[T::Bytea, T::Name], T::Int4, |b| {
        b.map2(|bytes: &[u8], name: &str| {
            let encoding = CharacterEncoding::named(name);
            let encoding = encoding.ok_or_else(|| refuse(format!("invalid encoding name \"{name}\"")))?;
            super::string::count(encoding.characters(bytes)?)
        })
    })
    .stable(),
    FunctionDef::new("to_ascii", &[T::Text], T::Text, |b| {
        b.map1(|text: &str| to_ascii(text, CharacterEncoding::UTF8))
    }),
    FunctionDef::new("to_ascii", &[T::Text, T::Int4], T::Text, |b| {
        b.map2(|text: &str, number: i32| {
            let encoding = CharacterEncoding::numbered(number);
            let unknown = || undefined(format!("{number} is not a valid encoding code"));
            to_ascii(text, encoding.ok_or_else(unknown)?)
        })
    }),
    FunctionDef::new("to_ascii", &[T::Text, T::Name], T::Text, |b| {
        b.map2(|text: &str, name: &str| {
            let unknown = || undefined(format!("{name} is not a valid encoding name"));
            to_ascii(text, CharacterEncoding::named(name).ok_or_else(unknown)?)
        })
    }),
];

/// Errors: 22023.
fn named(name: &str, role: &str) -> Result<CharacterEncoding> {
    let encoding = CharacterEncoding::named(name);
    encoding.ok_or_else(|| refuse(format!("invalid {role} encoding name \"{name}\"")))
}

fn undefined(message: String) -> Error {
    Error::InvalidStatement {
        state: StatementFault::UndefinedObject,
        message,
        hint: None,
    }
}

/// Letters without their marks, of a text that is taken for bytes of the encoding. Errors: 0A000 for others than PostgreSQL's four.
fn to_ascii(text: &str, encoding: CharacterEncoding) -> Result<String> {
    // From byte 160 on, and 128 on where Windows has letters there.
    let (first, letters): (u8, &[u8]) = match encoding.name() {
        "LATIN1" => (
            160,
            b"  cL Y  \"Ca  -R     'u .,      ?AAAAAAACEEEEIIII NOOOOOxOUUUUYTBaaaaaaaceeeeiiii nooooo/ouuuuyty",
        ),
        "LATIN2" => (
            160,
            b" A L LS \"SSTZ-ZZ a,l'ls ,sstz\"zzRAAAALCCCEEEEIIDDNNOOOOxRUUUUYTBraaaalccceeeeiiddnnoooo/ruuuuyt.",
        ),
        "LATIN9" => (
            160,
            b"  cL YS sCa  -R     Zu .z   EeY?AAAAAAACEEEEIIII NOOOOOxOUUUUYTBaaaaaaaceeeeiiii nooooo/ouuuuyty",
        ),
        "WIN1250" => (
            128,
            b"  ' \"    %S<STZZ `'\"\".--  s>stzz   L A  \"CS  -RZ  ,l'u .,as L\"lzRAAAALCCCEEEEIIDDNNOOOOxRUUUUYTBraaaalccceeeeiiddnnoooo/ruuuuyt ",
        ),
        other => {
            return Err(Error::DataException {
                state: "0A000",
                message: format!("encoding conversion from {other} to ASCII not supported"),
            });
        }
    };
    let ascii = text.bytes().map(|byte| match byte {
        byte if byte < 128 => char::from(byte),
        byte if byte < first => ' ',
        byte => letters
            .get(usize::from(byte - first))
            .map_or(' ', |letter| char::from(*letter)),
    });
    Ok(ascii.collect())
}
