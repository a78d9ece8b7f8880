//! Texts that go to and come from a client that speaks another encoding than UTF-8 (client_encoding). Rows and messages are made in UTF-8
//! first; for a client that speaks that nothing here is called.

use std::borrow::Cow;

use bytes::Bytes;

use super::binary_texts::{holds_text, with_texts};
use crate::Result;
use crate::error::utf8;
use crate::types::{CharacterEncoding, SqlType, WireFormat};

/// A text of the client. Errors: 22021, 22P05.
pub(super) fn decoded(bytes: &[u8], encoding: CharacterEncoding) -> Result<Cow<'_, str>> {
    match encoding.is_own() {
        true => utf8::text(bytes).map(Cow::Borrowed),
        false => encoding.decode(bytes).map(Cow::Owned),
    }
}

/// A binary value of the client, with its texts in UTF-8. Errors: 22021, 22P05.
pub(super) fn decoded_binary<'b>(
    bytes: &'b Bytes,
    ty: &SqlType,
    encoding: CharacterEncoding,
) -> Result<Cow<'b, [u8]>> {
    if encoding.is_own() || !holds_text(ty) {
        return Ok(Cow::Borrowed(bytes));
    }
    let decode = |text: &[u8]| encoding.decode(text).map(String::into_bytes);
    with_texts(bytes, ty, &decode).map(Cow::Owned)
}

/// What of a field of a row is brought into the client's encoding.
#[derive(Debug)]
pub(super) enum Recoded {
    /// Nothing.
    None,
    /// All of it.
    Whole,
    /// The texts of a value of this type in binary form.
    Texts(SqlType),
}

impl Recoded {
    /// Of values of this type, sent in this format.
    pub(super) fn of(ty: &SqlType, format: WireFormat) -> Recoded {
        match format {
            WireFormat::Text => Recoded::Whole,
            WireFormat::Binary if holds_text(ty) => Recoded::Texts(ty.clone()),
            WireFormat::Binary => Recoded::None,
        }
    }

    /// The field in the client's encoding; `None`: it stays. Errors: 22P05.
    fn field(&self, field: &[u8], encoding: CharacterEncoding) -> Result<Option<Vec<u8>>> {
        let encode = |text: &[u8]| match std::str::from_utf8(text) {
            Ok(text) => encoding.encode(text),
            Err(_) => Ok(text.to_vec()),
        };
        match self {
            Recoded::None => Ok(None),
            _ if field.is_ascii() => Ok(None),
            Recoded::Whole => encode(field).map(Some),
            Recoded::Texts(ty) => with_texts(field, ty, &encode).map(Some),
        }
    }
}

/// Brings the fields of the DataRow that begins at `start` into the client's encoding, each as `recoded` says. Errors: 22P05.
pub(super) fn recode_row(
    buffer: &mut Vec<u8>,
    start: usize,
    encoding: CharacterEncoding,
    recoded: &[Recoded],
) -> Result<()> {
    // Kind, length and the number of fields.
    let row = buffer.split_off(start);
    let (head, mut rest) = row.split_at(7);
    buffer.extend_from_slice(head);
    for recoded in recoded {
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
        match recoded.field(field, encoding)? {
            Some(field) => {
                buffer.extend_from_slice(&(field.len() as i32).to_be_bytes());
                buffer.extend_from_slice(&field);
            }
            None => {
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
