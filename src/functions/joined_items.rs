//! What `string_agg` makes of the texts, or the bytes, that were gathered in an array.

use super::size::{LimitedText, check_length};
use super::{Batch, Body};
use crate::Result;

/// Texts of an array joined, NULLs left out; NULL when nothing is left. A separator of NULL separates by nothing.
pub const JOIN_TEXTS: Body = Body::Batch(|b| {
    b.map2(|items: Vec<Option<&str>>, separator: Option<&str>| {
        let mut present = items.into_iter().flatten().peekable();
        let joined = present.peek().is_some();
        joined
            .then(|| LimitedText::joined(present, separator.unwrap_or_default(), b.limits()))
            .transpose()
    })
});

/// As `JOIN_TEXTS`, with an array of separators: before each text but the first stands the separator of its own row.
pub const JOIN_TEXTS_BY_ROW: Body = Body::Batch(|b| {
    b.map2(|items: Vec<Option<&str>>, separators: Vec<Option<&str>>| {
        let rows = items.into_iter().zip(separators);
        let mut present = rows
            .filter_map(|(text, separator)| Some((text?, separator.unwrap_or_default())))
            .enumerate()
            .flat_map(|(at, (text, separator))| [if at > 0 { separator } else { "" }, text])
            .peekable();
        let joined = present.peek().is_some();
        joined
            .then(|| LimitedText::joined(present, "", b.limits()))
            .transpose()
    })
});

/// As `JOIN_TEXTS`, of bytes.
pub const JOIN_BYTES: Body = Body::Batch(|b| {
    b.map2(|items: Vec<Option<&[u8]>>, separator: Option<&[u8]>| {
        let separator = separator.unwrap_or_default();
        let rows = items.into_iter().flatten().map(|item| (item, separator));
        joined_bytes(rows, b)
    })
});

/// As `JOIN_TEXTS_BY_ROW`, of bytes.
pub const JOIN_BYTES_BY_ROW: Body = Body::Batch(|b| {
    b.map2(|items: Vec<Option<&[u8]>>, separators: Vec<Option<&[u8]>>| {
        let rows = items.into_iter().zip(separators);
        let rows = rows.filter_map(|(item, separator)| Some((item?, separator.unwrap_or_default())));
        joined_bytes(rows, b)
    })
});

/// The items, each but the first behind its separator. Errors: 54000.
fn joined_bytes<'i>(
    rows: impl Iterator<Item = (&'i [u8], &'i [u8])>,
    batch: &Batch,
) -> Result<Option<Vec<u8>>> {
    let mut out: Option<Vec<u8>> = None;
    for (item, separator) in rows {
        let length = out.as_ref().map_or(0, Vec::len) + separator.len() + item.len();
        check_length(length, batch.limits())?;
        match &mut out {
            Some(out) => {
                out.extend_from_slice(separator);
                out.extend_from_slice(item);
            }
            None => out = Some(item.to_vec()),
        }
    }
    Ok(out)
}
