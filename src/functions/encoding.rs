//! Character encodings: their names and numbers, and `convert`, `convert_from`, `convert_to` and `to_ascii`. Texts here are UTF-8;
//! other encodings are bytes. The tables are those of browsers.

use encoding_rs::Encoding;

use super::json::refuse;
use super::{FunctionDef, T};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("pg_encoding_to_char", &[T::Int4], T::Name, |b| {
        b.map1(encoding_name)
    }),
    FunctionDef::new("pg_char_to_encoding", &[T::Name], T::Int4, |b| {
        b.map1(|name: &str| number_of(name).map_or(-1, |number| i32::try_from(number).unwrap_or(-1)))
    }),
    FunctionDef::new("pg_encoding_max_length", &[T::Int4], T::Int4, |b| {
        b.map1(character_bytes_max)
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
            let bytes = converted(bytes, named(from, "source")?, UTF8)?;
            match String::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => Ok(text),
                Ok(_) => Err(invalid_bytes(UTF8, &[0])),
                Err(error) => Err(invalid_utf8(error.as_bytes())),
            }
        })
    })
    .stable(),
    FunctionDef::new("convert_to", &[T::Text, T::Name], T::Bytea, |b| {
        b.map2(|text: &str, to: &str| converted(text.as_bytes(), UTF8, named(to, "destination")?))
    })
    .stable(),
    FunctionDef::new("length", &[T::Bytea, T::Name], T::Int4, |b| {
        b.map2(|bytes: &[u8], name: &str| {
            let encoding =
                number_of(name).ok_or_else(|| refuse(format!("invalid encoding name \"{name}\"")))?;
            characters(bytes, encoding)
        })
    })
    .stable(),
    FunctionDef::new("to_ascii", &[T::Text], T::Text, |b| {
        b.map1(|text: &str| to_ascii(text, UTF8))
    }),
    FunctionDef::new("to_ascii", &[T::Text, T::Int4], T::Text, |b| {
        b.map2(|text: &str, number: i32| {
            let encoding = usize::try_from(number).ok().filter(|at| *at < ENCODINGS.len());
            let unknown = || undefined(format!("{number} is not a valid encoding code"));
            to_ascii(text, encoding.ok_or_else(unknown)?)
        })
    }),
    FunctionDef::new("to_ascii", &[T::Text, T::Name], T::Text, |b| {
        b.map2(|text: &str, name: &str| {
            let unknown = || undefined(format!("{name} is not a valid encoding name"));
            to_ascii(text, number_of(name).ok_or_else(unknown)?)
        })
    }),
];

/// Encodings by PostgreSQL's numbers, with the name that a browser knows them by; those that only clients use included.
const ENCODINGS: [(&str, Option<&str>); 42] = [
    ("SQL_ASCII", None),
    ("EUC_JP", Some("euc-jp")),
    ("EUC_CN", Some("gb2312")),
    ("EUC_KR", Some("euc-kr")),
    ("EUC_TW", None),
    ("EUC_JIS_2004", None),
    ("UTF8", Some("utf-8")),
    ("MULE_INTERNAL", None),
    ("LATIN1", None),
    ("LATIN2", Some("iso-8859-2")),
    ("LATIN3", Some("iso-8859-3")),
    ("LATIN4", Some("iso-8859-4")),
    ("LATIN5", Some("iso-8859-9")),
    ("LATIN6", Some("iso-8859-10")),
    ("LATIN7", Some("iso-8859-13")),
    ("LATIN8", Some("iso-8859-14")),
    ("LATIN9", Some("iso-8859-15")),
    ("LATIN10", Some("iso-8859-16")),
    ("WIN1256", Some("windows-1256")),
    ("WIN1258", Some("windows-1258")),
    ("WIN866", Some("ibm866")),
    ("WIN874", Some("windows-874")),
    ("KOI8R", Some("koi8-r")),
    ("WIN1251", Some("windows-1251")),
    ("WIN1252", Some("windows-1252")),
    ("ISO_8859_5", Some("iso-8859-5")),
    ("ISO_8859_6", Some("iso-8859-6")),
    ("ISO_8859_7", Some("iso-8859-7")),
    ("ISO_8859_8", Some("iso-8859-8")),
    ("WIN1250", Some("windows-1250")),
    ("WIN1253", Some("windows-1253")),
    ("WIN1254", Some("windows-1254")),
    ("WIN1255", Some("windows-1255")),
    ("WIN1257", Some("windows-1257")),
    ("KOI8U", Some("koi8-u")),
    ("SJIS", Some("shift_jis")),
    ("BIG5", Some("big5")),
    ("GBK", Some("gbk")),
    ("UHC", Some("euc-kr")),
    ("GB18030", Some("gb18030")),
    ("JOHAB", None),
    ("SHIFT_JIS_2004", None),
];

const SQL_ASCII: usize = 0;
const UTF8: usize = 6;
const LATIN1: usize = 8;

/// Other ways to write the names, without case and punctuation.
const ALIASES: &[(&str, &str)] = &[
    ("abc", "WIN1258"),
    ("alt", "WIN866"),
    ("iso88591", "LATIN1"),
    ("iso885910", "LATIN6"),
    ("iso885913", "LATIN7"),
    ("iso885914", "LATIN8"),
    ("iso885915", "LATIN9"),
    ("iso885916", "LATIN10"),
    ("iso88592", "LATIN2"),
    ("iso88593", "LATIN3"),
    ("iso88594", "LATIN4"),
    ("iso88599", "LATIN5"),
    ("koi8", "KOI8R"),
    ("mskanji", "SJIS"),
    ("shiftjis", "SJIS"),
    ("tcvn", "WIN1258"),
    ("tcvn5712", "WIN1258"),
    ("unicode", "UTF8"),
    ("vscii", "WIN1258"),
    ("win", "WIN1251"),
    ("win932", "SJIS"),
    ("win936", "GBK"),
    ("win949", "UHC"),
    ("win950", "BIG5"),
    ("windows1250", "WIN1250"),
    ("windows1251", "WIN1251"),
    ("windows1252", "WIN1252"),
    ("windows1253", "WIN1253"),
    ("windows1254", "WIN1254"),
    ("windows1255", "WIN1255"),
    ("windows1256", "WIN1256"),
    ("windows1257", "WIN1257"),
    ("windows1258", "WIN1258"),
    ("windows866", "WIN866"),
    ("windows874", "WIN874"),
    ("windows932", "SJIS"),
    ("windows936", "GBK"),
    ("windows949", "UHC"),
    ("windows950", "BIG5"),
];

fn encoding_name(number: i32) -> &'static str {
    let number = usize::try_from(number).ok();
    number
        .and_then(|number| ENCODINGS.get(number))
        .map_or("", |(name, _)| name)
}

/// The number of an encoding; names compare without case and punctuation.
fn number_of(name: &str) -> Option<usize> {
    let key = |name: &str| {
        name.chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|c| c.to_ascii_lowercase())
            .collect::<String>()
    };
    let wanted = key(name);
    let alias = ALIASES.iter().find(|(alias, _)| *alias == wanted);
    let wanted = alias.map_or(wanted, |(_, name)| key(name));
    ENCODINGS.iter().position(|(name, _)| key(name) == wanted)
}

/// Errors: 22023.
fn named(name: &str, role: &str) -> Result<usize> {
    number_of(name).ok_or_else(|| refuse(format!("invalid {role} encoding name \"{name}\"")))
}

fn undefined(message: String) -> Error {
    Error::InvalidStatement {
        state: crate::error::StatementFault::UndefinedObject,
        message,
        hint: None,
    }
}

/// NULL for what is no encoding of a server.
fn character_bytes_max(number: i32) -> Option<i32> {
    let (name, _) = ENCODINGS.get(usize::try_from(number).ok()?)?;
    Some(match *name {
        "UTF8" | "EUC_TW" | "MULE_INTERNAL" | "GB18030" => 4,
        "EUC_JP" | "EUC_KR" | "EUC_JIS_2004" | "JOHAB" => 3,
        "EUC_CN" | "SJIS" | "BIG5" | "GBK" | "UHC" | "SHIFT_JIS_2004" => 2,
        _ => 1,
    })
}

/// The bytes in another encoding. Errors: 22021, 22P05, 42883 where PostgreSQL has no conversion, or here is none.
fn converted(bytes: &[u8], from: usize, to: usize) -> Result<Vec<u8>> {
    if from == to || to == SQL_ASCII {
        checked(bytes, from)?;
        return Ok(bytes.to_vec());
    }
    if from == SQL_ASCII {
        checked(bytes, to)?;
        return Ok(bytes.to_vec());
    }
    let unknown = || Error::InvalidStatement {
        state: crate::error::StatementFault::UndefinedRoutine,
        message: format!(
            "default conversion function for encoding \"{}\" to \"{}\" does not exist",
            ENCODINGS[from].0, ENCODINGS[to].0
        ),
        hint: None,
    };
    let text = text_of(bytes, from, to)?.ok_or_else(unknown)?;
    bytes_of(&text, from, to)?.ok_or_else(unknown)
}

/// Errors: 22021 for bytes that are none of the encoding.
fn checked(bytes: &[u8], encoding: usize) -> Result<()> {
    if encoding == UTF8 {
        return match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Ok(()),
            Ok(_) => Err(invalid_bytes(UTF8, &[0])),
            Err(_) => Err(invalid_utf8(bytes)),
        };
    }
    match bytes.contains(&0) {
        true => Err(invalid_bytes(encoding, &[0])),
        false => Ok(()),
    }
}

/// The text of bytes; `None`: nobody knows the encoding.
fn text_of(bytes: &[u8], from: usize, to: usize) -> Result<Option<String>> {
    checked(bytes, from)?;
    match from {
        UTF8 => Ok(std::str::from_utf8(bytes).ok().map(str::to_string)),
        LATIN1 => Ok(Some(bytes.iter().map(|byte| char::from(*byte)).collect())),
        from => {
            let Some(encoding) = table_of(from) else {
                return Ok(None);
            };
            match encoding.decode_without_bom_handling_and_without_replacement(bytes) {
                Some(text) => Ok(Some(text.into_owned())),
                None => {
                    let bad = first_undecoded(bytes, encoding);
                    match ENCODINGS[from].0.starts_with(['W', 'L', 'I', 'K']) {
                        true => Err(untranslatable(bad, from, to)),
                        false => Err(invalid_bytes(from, bad)),
                    }
                }
            }
        }
    }
}

/// The first byte that is no character, where the encoding has one byte a character.
fn first_undecoded<'b>(bytes: &'b [u8], encoding: &'static Encoding) -> &'b [u8] {
    let is_bad = |byte: &u8| {
        encoding
            .decode_without_bom_handling_and_without_replacement(std::slice::from_ref(byte))
            .is_none()
    };
    let at = bytes.iter().position(is_bad).unwrap_or(0);
    &bytes[at..(at + 1).min(bytes.len())]
}

fn bytes_of(text: &str, from: usize, to: usize) -> Result<Option<Vec<u8>>> {
    let encode = |character: char| -> Option<Vec<u8>> {
        match to {
            LATIN1 => u8::try_from(u32::from(character)).ok().map(|byte| vec![byte]),
            to => {
                let letter = character.to_string();
                let (bytes, _, has_unmappable) = table_of(to)?.encode(&letter);
                (!has_unmappable).then(|| bytes.into_owned())
            }
        }
    };
    if to == UTF8 {
        return Ok(Some(text.as_bytes().to_vec()));
    }
    if to != LATIN1 && table_of(to).is_none() {
        return Ok(None);
    }
    let mut out = Vec::with_capacity(text.len());
    for character in text.chars() {
        match encode(character) {
            Some(bytes) => out.extend(bytes),
            None => {
                let mut written = [0; 4];
                let written = match from {
                    LATIN1 => vec![u8::try_from(u32::from(character)).unwrap_or(0)],
                    UTF8 => character.encode_utf8(&mut written).as_bytes().to_vec(),
                    from => bytes_of(&character.to_string(), UTF8, from)?.unwrap_or_default(),
                };
                return Err(untranslatable(&written, from, to));
            }
        }
    }
    Ok(Some(out))
}

fn table_of(encoding: usize) -> Option<&'static Encoding> {
    Encoding::for_label(ENCODINGS.get(encoding)?.1?.as_bytes())
}

fn shown(bytes: &[u8]) -> String {
    let shown: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
    shown.join(" ")
}

fn untranslatable(bytes: &[u8], from: usize, to: usize) -> Error {
    Error::DataException {
        state: "22P05",
        message: format!(
            "character with byte sequence {} in encoding \"{}\" has no equivalent in encoding \"{}\"",
            shown(bytes),
            ENCODINGS[from].0,
            ENCODINGS[to].0
        ),
    }
}

fn invalid_bytes(encoding: usize, bytes: &[u8]) -> Error {
    Error::DataException {
        state: "22021",
        message: format!(
            "invalid byte sequence for encoding \"{}\": {}",
            ENCODINGS[encoding].0,
            shown(bytes)
        ),
    }
}

/// The error of bytes that are no UTF-8: as many of them are told as their first says that there are.
fn invalid_utf8(bytes: &[u8]) -> Error {
    let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let rest = &bytes[valid.min(bytes.len())..];
    let length = match rest.first() {
        Some(0xC0..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF7) => 4,
        _ => 1,
    };
    invalid_bytes(UTF8, &rest[..length.min(rest.len())])
}

/// How many characters bytes are.
fn characters(bytes: &[u8], encoding: usize) -> Result<i32> {
    let count = match (encoding, table_of(encoding)) {
        (UTF8, _) => match std::str::from_utf8(bytes) {
            Ok(text) => text.chars().count(),
            Err(_) => return Err(invalid_utf8(bytes)),
        },
        (_, Some(table)) if !table.is_single_byte() => {
            match table.decode_without_bom_handling_and_without_replacement(bytes) {
                Some(text) => text.chars().count(),
                None => return Err(invalid_bytes(encoding, &bytes[..1.min(bytes.len())])),
            }
        }
        _ => bytes.len(),
    };
    super::string::count(count)
}

/// Letters without their marks, of a text that is taken for bytes of the encoding. Errors: 0A000 for others than PostgreSQL's four.
fn to_ascii(text: &str, encoding: usize) -> Result<String> {
    // From byte 160 on, and 128 on where Windows has letters there.
    let (first, letters): (u8, &[u8]) = match ENCODINGS[encoding].0 {
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
