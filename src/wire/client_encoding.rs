//! Texts that go to and come from a client that speaks another encoding than UTF-8 (client_encoding). Rows and messages are made in UTF-8
//! first; for a client that speaks that nothing here is called.

use std::borrow::Cow;

use bytes::Bytes;

use crate::error::utf8;
use crate::types::{CharacterEncoding, SqlType, WireFormat};
use crate::{Error, Result};

/// A text of the client. Errors: 22021, 22P05.
pub(super) fn decoded(bytes: &[u8], encoding: CharacterEncoding) -> Result<Cow<'_, str>> {
    match encoding.is_own() {
        true => utf8::text(bytes).map(Cow::Borrowed),
        false => encoding.decode(bytes).map(Cow::Owned),
    }
}

/// A binary value of the client, in which texts are UTF-8. Errors: 22021, 22P05, 0A000 for arrays of texts.
pub(super) fn decoded_binary<'b>(
    bytes: &'b Bytes,
    ty: &SqlType,
    encoding: CharacterEncoding,
) -> Result<Cow<'b, [u8]>> {
    if encoding.is_own() || !holds_text(ty) {
        return Ok(Cow::Borrowed(bytes));
    }
    if matches!(ty, SqlType::Array(_) | SqlType::Record(_)) {
        return match bytes.iter().all(|byte| byte.is_ascii() || *byte == 0xFF) {
            true => Ok(Cow::Borrowed(bytes)),
            false => Err(Error::unsupported(
                format!(
                    "a binary {} in encoding \"{}\"",
                    ty.full_base_name(),
                    encoding.name()
                ),
                Some("Send it as text, or SET client_encoding = 'UTF8'."),
            )),
        };
    }
    Ok(Cow::Owned(encoding.decode(bytes)?.into_bytes()))
}

/// Whether the client's text stands in a value of this type, sent in this format.
pub(super) fn is_recoded(ty: &SqlType, format: WireFormat) -> bool {
    // A row in binary form is not cut apart.
    format == WireFormat::Text || holds_text(ty) && ty.record_type().is_none()
}

/// Whether the binary form of a type holds text.
fn holds_text(ty: &SqlType) -> bool {
    match ty {
        SqlType::Array(element) => holds_text(element),
        SqlType::Record(row) => row.fields.iter().any(|field| holds_text(&field.ty)),
        SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Citext
        | SqlType::Name
        | SqlType::Json
        | SqlType::Jsonb
        | SqlType::Enum(_)
        | SqlType::Unknown => true,
        _ => false,
    }
}

/// Brings the fields of the DataRow that begins at `start` into the client's encoding, those that are `texts`. Errors: 22P05.
pub(super) fn recode_row(
    buffer: &mut Vec<u8>,
    start: usize,
    encoding: CharacterEncoding,
    texts: &[bool],
) -> Result<()> {
    // Kind, length and the number of fields.
    let row = buffer.split_off(start);
    let (head, mut rest) = row.split_at(7);
    buffer.extend_from_slice(head);
    for is_text in texts {
        let Some((length, behind)) = rest.split_first_chunk::<4>() else {
            break;
        };
        let Ok(bytes) = usize::try_from(i32::from_be_bytes(*length)) else {
            buffer.extend_from_slice(length);
            rest = behind;
            continue;
        };
        let (field, behind) = behind.split_at(bytes);
        rest = behind;
        match std::str::from_utf8(field) {
            Ok(text) if *is_text && !text.is_ascii() => {
                let field = encoding.encode(text)?;
                buffer.extend_from_slice(&(field.len() as i32).to_be_bytes());
                buffer.extend_from_slice(&field);
            }
            _ => {
                buffer.extend_from_slice(length);
                buffer.extend_from_slice(field);
            }
        }
    }
    let length = (buffer.len() - start - 1) as i32; // a message of 2 GiB is above every limit
    buffer[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// A message of texts that end with zero bytes (errors, notices, command tags, settings, notifications) in the client's encoding, with `?`
/// for what that has not.
pub(super) fn recode_message(message: &[u8], encoding: CharacterEncoding) -> Vec<u8> {
    // What stands before the texts: kind and length, and who notifies.
    let texts = match message.first() {
        Some(b'A') => 9,
        _ => 5,
    };
    let Some((head, body)) = message.split_at_checked(texts) else {
        return message.to_vec();
    };
    let body = match std::str::from_utf8(body) {
        Ok(text) => encoding.encode_lossy(text),
        Err(_) => return message.to_vec(),
    };
    let mut recoded = [head, &body].concat();
    let length = (recoded.len() - 1) as i32;
    recoded[1..5].copy_from_slice(&length.to_be_bytes());
    recoded
}
