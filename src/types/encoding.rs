//! `CharacterEncoding`: PostgreSQL's character encodings by number and name, and what texts, which are UTF-8 here, are in them.
//! The tables are those of browsers. Used by `functions::encoding`, client_encoding and COPY.

use encoding_rs::{Decoder, DecoderResult, Encoding};

use crate::error::{StatementFault, utf8};
use crate::{Error, Result};

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

/// A character encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CharacterEncoding(usize);

const SQL_ASCII: CharacterEncoding = CharacterEncoding(0);
const UTF8: CharacterEncoding = CharacterEncoding::UTF8;
const LATIN1: CharacterEncoding = CharacterEncoding(8);

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

impl CharacterEncoding {
    /// That of every text here.
    pub(crate) const UTF8: CharacterEncoding = CharacterEncoding(6);

    /// That of a name; names compare without case and punctuation.
    pub(crate) fn named(name: &str) -> Option<CharacterEncoding> {
        let key = |name: &str| {
            name.chars()
                .filter(char::is_ascii_alphanumeric)
                .map(|c| c.to_ascii_lowercase())
                .collect::<String>()
        };
        let wanted = key(name);
        let alias = ALIASES.iter().find(|(alias, _)| *alias == wanted);
        let wanted = alias.map_or(wanted, |(_, name)| key(name));
        let at = ENCODINGS.iter().position(|(name, _)| key(name) == wanted);
        at.map(CharacterEncoding)
    }

    /// That of PostgreSQL's number.
    pub(crate) fn numbered(number: i32) -> Option<CharacterEncoding> {
        let number = usize::try_from(number).ok();
        number.filter(|at| *at < ENCODINGS.len()).map(CharacterEncoding)
    }

    /// PostgreSQL's number.
    pub(crate) fn number(self) -> i32 {
        self.0 as i32
    }

    /// PostgreSQL's name.
    pub(crate) fn name(self) -> &'static str {
        ENCODINGS[self.0].0
    }

    /// Whether texts go as they are: as in PostgreSQL, SQL_ASCII converts nothing.
    pub(crate) fn is_own(self) -> bool {
        self == UTF8 || self == SQL_ASCII
    }

    /// Whether a client may speak it.
    pub(crate) fn is_known(self) -> bool {
        self.is_own() || self == LATIN1 || table_of(self).is_some()
    }

    /// The text of bytes. Errors: 22021, 22P05.
    pub(crate) fn decode(self, bytes: &[u8]) -> Result<String> {
        let from = if self.is_own() { UTF8 } else { self };
        if bytes.is_ascii() && !bytes.contains(&0) {
            return Ok(String::from_utf8_lossy(bytes).into_owned());
        }
        text_of(bytes, from, UTF8)?.ok_or_else(|| no_conversion(from, UTF8))
    }

    /// The bytes of a text. Errors: 22P05.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>> {
        if self.is_own() || text.is_ascii() {
            return Ok(text.as_bytes().to_vec());
        }
        bytes_of(text, UTF8, self)?.ok_or_else(|| no_conversion(UTF8, self))
    }

    /// The bytes of a text, with `?` for what the encoding has not.
    pub(crate) fn encode_lossy(self, text: &str) -> Vec<u8> {
        let encode = |character: char| {
            let mut buffer = [0; 4];
            self.encode(character.encode_utf8(&mut buffer))
                .unwrap_or_else(|_| b"?".to_vec())
        };
        self.encode(text)
            .unwrap_or_else(|_| text.chars().flat_map(encode).collect())
    }

    /// How many bytes the longest character has; `None` for what is no encoding of a server.
    pub(crate) fn character_bytes_max(self) -> i32 {
        match self.name() {
            "UTF8" | "EUC_TW" | "MULE_INTERNAL" | "GB18030" => 4,
            "EUC_JP" | "EUC_KR" | "EUC_JIS_2004" | "JOHAB" => 3,
            "EUC_CN" | "SJIS" | "BIG5" | "GBK" | "UHC" | "SHIFT_JIS_2004" => 2,
            _ => 1,
        }
    }

    /// How many characters bytes are. Errors: 22021.
    pub(crate) fn characters(self, bytes: &[u8]) -> Result<usize> {
        Ok(match (self, table_of(self)) {
            (UTF8, _) => match std::str::from_utf8(bytes) {
                Ok(text) => text.chars().count(),
                Err(_) => return Err(utf8::not_text(bytes)),
            },
            (_, Some(table)) if !table.is_single_byte() => {
                match table.decode_without_bom_handling_and_without_replacement(bytes) {
                    Some(text) => text.chars().count(),
                    None => return Err(invalid_bytes(self, &bytes[..1.min(bytes.len())])),
                }
            }
            _ => bytes.len(),
        })
    }
}

fn no_conversion(from: CharacterEncoding, to: CharacterEncoding) -> Error {
    Error::InvalidStatement {
        state: StatementFault::UndefinedRoutine,
        message: format!(
            "default conversion function for encoding \"{}\" to \"{}\" does not exist",
            from.name(),
            to.name()
        ),
        hint: None,
    }
}

/// Texts that come in pieces, which may end within a character.
pub(crate) struct TextDecoder {
    encoding: CharacterEncoding,
    /// `None`: each byte is a character by its number.
    table: Option<Decoder>,
}

impl TextDecoder {
    /// Of a known encoding that is not texts' own.
    pub(crate) fn new(encoding: CharacterEncoding) -> TextDecoder {
        let table = table_of(encoding).map(Encoding::new_decoder_without_bom_handling);
        TextDecoder { encoding, table }
    }

    /// Appends the text of the next piece, or of the last. Errors: 22021.
    pub(crate) fn decode(&mut self, piece: &[u8], is_last: bool, out: &mut String) -> Result<()> {
        let Some(table) = &mut self.table else {
            out.extend(piece.iter().map(|byte| char::from(*byte)));
            return Ok(());
        };
        let longest = table.max_utf8_buffer_length_without_replacement(piece.len());
        out.reserve(longest.unwrap_or(piece.len() * 3 + 16));
        let (result, read) = table.decode_to_string_without_replacement(piece, out, is_last);
        match result {
            DecoderResult::InputEmpty => Ok(()),
            DecoderResult::OutputFull => Err(Error::internal("a text longer than its room")),
            DecoderResult::Malformed(length, behind) => {
                let end = read.saturating_sub(usize::from(behind));
                let start = end.saturating_sub(usize::from(length));
                Err(invalid_bytes(self.encoding, &piece[start..end]))
            }
        }
    }
}

impl std::fmt::Debug for TextDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TextDecoder").field(&self.encoding).finish()
    }
}

/// The bytes in another encoding. Errors: 22021, 22P05, 42883 where PostgreSQL has no conversion, or here is none.
pub(crate) fn converted(bytes: &[u8], from: CharacterEncoding, to: CharacterEncoding) -> Result<Vec<u8>> {
    if from == to || to == SQL_ASCII {
        checked(bytes, from)?;
        return Ok(bytes.to_vec());
    }
    if from == SQL_ASCII {
        checked(bytes, to)?;
        return Ok(bytes.to_vec());
    }
    let unknown = || no_conversion(from, to);
    let text = text_of(bytes, from, to)?.ok_or_else(unknown)?;
    bytes_of(&text, from, to)?.ok_or_else(unknown)
}

/// Errors: 22021 for bytes that are none of the encoding.
fn checked(bytes: &[u8], encoding: CharacterEncoding) -> Result<()> {
    if encoding == UTF8 {
        return utf8::text(bytes).map(drop);
    }
    match bytes.contains(&0) {
        true => Err(invalid_bytes(encoding, &[0])),
        false => Ok(()),
    }
}

/// The text of bytes; `None`: nobody knows the encoding.
fn text_of(bytes: &[u8], from: CharacterEncoding, to: CharacterEncoding) -> Result<Option<String>> {
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
                    // Of these PostgreSQL takes any two bytes, or any one, for a character.
                    let takes_any = match from.name() {
                        "BIG5" | "GBK" | "UHC" => bad.len() == 2,
                        name => name.starts_with(['W', 'L', 'I', 'K']),
                    };
                    match takes_any {
                        true => Err(untranslatable(bad, from, to)),
                        false => Err(invalid_bytes(from, bad)),
                    }
                }
            }
        }
    }
}

/// The first bytes that are no character: as many as their first says that there are.
fn first_undecoded<'b>(bytes: &'b [u8], encoding: &'static Encoding) -> &'b [u8] {
    let is_read = |at: usize, upto: usize| {
        let decoded = encoding.decode_without_bom_handling_and_without_replacement(&bytes[at..upto]);
        decoded.is_some()
    };
    let (mut at, mut length) = (0, 1);
    while at + length <= bytes.len() {
        match is_read(at, at + length) {
            true => (at, length) = (at + length, 1),
            false if length < 4 && !encoding.is_single_byte() => length += 1,
            false => break,
        }
    }
    let wanted = match bytes.get(at) {
        Some(lead) if !lead.is_ascii() && !encoding.is_single_byte() => 2,
        _ => 1,
    };
    &bytes[at..(at + wanted).min(bytes.len())]
}

fn bytes_of(text: &str, from: CharacterEncoding, to: CharacterEncoding) -> Result<Option<Vec<u8>>> {
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

fn table_of(encoding: CharacterEncoding) -> Option<&'static Encoding> {
    Encoding::for_label(ENCODINGS[encoding.0].1?.as_bytes())
}

fn shown(bytes: &[u8]) -> String {
    let shown: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
    shown.join(" ")
}

fn untranslatable(bytes: &[u8], from: CharacterEncoding, to: CharacterEncoding) -> Error {
    Error::DataException {
        state: "22P05",
        message: format!(
            "character with byte sequence {} in encoding \"{}\" has no equivalent in encoding \"{}\"",
            shown(bytes),
            from.name(),
            to.name()
        ),
    }
}

fn invalid_bytes(encoding: CharacterEncoding, bytes: &[u8]) -> Error {
    Error::DataException {
        state: "22021",
        message: format!(
            "invalid byte sequence for encoding \"{}\": {}",
            encoding.name(),
            shown(bytes)
        ),
    }
}
