//! A line of CSV as fields: quotes, escapes within them, what stands for NULL outside of them. Called by `decoder`.

use memchr::memchr2;

use super::{CopyFormat, Record, bad};
use crate::Result;

/// Reads the fields of a line, which may hold line breaks in quotes. Errors: 22P04 for a quote that is left open.
pub(super) fn read(line: &[u8], format: &CopyFormat, record: &mut Record) -> Result<()> {
    record.clear();
    let mut start = 0;
    loop {
        let (end, has_quote) = read_field(line, start, format, record)?;
        let written = &line[start..end];
        let stands_for = |marker: &str| !has_quote && written == marker.as_bytes();
        if stands_for(&format.null) {
            record.end_null();
        } else if format.default.as_deref().is_some_and(stands_for) {
            record.end_default();
        } else {
            record.end_data();
        }
        if end == line.len() {
            return Ok(());
        }
        start = end + 1;
    }
}

/// Appends the field that begins here; answers where it ends, and whether any of it was in quotes.
fn read_field(line: &[u8], start: usize, format: &CopyFormat, record: &mut Record) -> Result<(usize, bool)> {
    let mut at = start;
    let mut has_quote = false;
    loop {
        let rest = &line[at..];
        let Some(found) = memchr2(format.delimiter, format.quote, rest) else {
            record.extend(rest);
            return Ok((line.len(), has_quote));
        };
        record.extend(&rest[..found]);
        at += found;
        if line[at] == format.delimiter {
            return Ok((at, has_quote));
        }
        has_quote = true;
        at = read_quoted(line, at + 1, format, record)?;
    }
}

/// Appends what stands in quotes from here; answers what stands behind the closing one.
fn read_quoted(line: &[u8], start: usize, format: &CopyFormat, record: &mut Record) -> Result<usize> {
    let mut at = start;
    loop {
        let rest = &line[at..];
        let Some(found) = memchr2(format.escape, format.quote, rest) else {
            return Err(bad("unterminated CSV quoted field"));
        };
        record.extend(&rest[..found]);
        at += found;
        let next = line.get(at + 1).copied();
        match next.filter(|next| *next == format.escape || *next == format.quote) {
            Some(next) if line[at] == format.escape => {
                record.push(next);
                at += 2;
            }
            _ if line[at] == format.quote => return Ok(at + 1),
            _ => {
                record.push(line[at]);
                at += 1;
            }
        }
    }
}
