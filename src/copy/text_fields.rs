//! A line of COPY's text form as fields: delimiters, backslashes, what stands for NULL. Called by `decoder`.

use memchr::memchr2;

use super::{CopyFormat, Record};
use crate::Result;
use crate::error::utf8;

/// Reads the fields of a line, which is UTF-8. Errors: 22021 for escapes that give something else.
pub(super) fn read(line: &[u8], format: &CopyFormat, record: &mut Record) -> Result<()> {
    record.clear();
    let mut start = 0;
    loop {
        let (end, is_last) = read_field(line, start, format.delimiter, record)?;
        let written = &line[start..end];
        if written == format.null.as_bytes() {
            record.end_null();
        } else if format
            .default
            .as_ref()
            .is_some_and(|default| written == default.as_bytes())
        {
            record.end_default();
        } else {
            record.end_data();
        }
        if is_last {
            return Ok(());
        }
        start = end + 1;
    }
}

/// Appends the field that begins here; answers where it ends, and whether the line ends there.
fn read_field(line: &[u8], start: usize, delimiter: u8, record: &mut Record) -> Result<(usize, bool)> {
    let mut at = start;
    let mut needs_check = false;
    loop {
        let rest = &line[at..];
        let Some(found) = memchr2(delimiter, b'\\', rest) else {
            record.extend(rest);
            check(needs_check, record)?;
            return Ok((line.len(), true));
        };
        record.extend(&rest[..found]);
        at += found;
        if line[at] == delimiter {
            check(needs_check, record)?;
            return Ok((at, false));
        }
        let Some(escape) = escaped(&line[at + 1..]) else {
            // A backslash at the end of a line stands for nothing.
            check(needs_check, record)?;
            return Ok((at, true));
        };
        needs_check |= escape.is_number && (escape.byte == 0 || escape.byte >= 0x80);
        record.push(escape.byte);
        at += 1 + escape.length;
    }
}

/// What follows a backslash.
struct Escape {
    /// The byte that it stands for; the first of a character that stands for itself.
    byte: u8,
    /// Bytes of the escape.
    length: usize,
    /// It says the byte by its number.
    is_number: bool,
}

fn escaped(rest: &[u8]) -> Option<Escape> {
    let letter = |byte| Escape {
        byte,
        length: 1,
        is_number: false,
    };
    let first = *rest.first()?;
    Some(match first {
        b'0'..=b'7' => {
            let length = digits(rest, 3, |byte| matches!(byte, b'0'..=b'7'));
            Escape {
                byte: number(&rest[..length], 8),
                length,
                is_number: true,
            }
        }
        b'x' => match digits(&rest[1..], 2, |byte| byte.is_ascii_hexdigit()) {
            0 => letter(b'x'),
            length => Escape {
                byte: number(&rest[1..=length], 16),
                length: 1 + length,
                is_number: true,
            },
        },
        b'b' => letter(0x08),
        b'f' => letter(0x0c),
        b'n' => letter(b'\n'),
        b'r' => letter(b'\r'),
        b't' => letter(b'\t'),
        b'v' => letter(0x0b),
        other => letter(other),
    })
}

fn digits(bytes: &[u8], most: usize, is_digit: impl Fn(u8) -> bool) -> usize {
    bytes
        .iter()
        .take(most)
        .take_while(|byte| is_digit(**byte))
        .count()
}

fn number(digits: &[u8], base: u32) -> u8 {
    let value = digits.iter().fold(0, |value, digit| {
        value * base + char::from(*digit).to_digit(base).unwrap_or(0)
    });
    value as u8 // PostgreSQL keeps the low eight bits of \777, too
}

/// Errors: 22021 unless the field at hand is text. What has no escapes by number is: its line was checked.
fn check(needs_check: bool, record: &Record) -> Result<()> {
    match needs_check {
        true => utf8::text(record.open()).map(drop),
        false => Ok(()),
    }
}
