//! Places of rows, `(block,offset)`: a number of which the offset is the lower sixteen bits. Called by the inputs and outputs of values.

use crate::{Error, Result};

/// Bits of an offset.
const OFFSET_BITS: u32 = 16;

/// The number that a text names. Errors: 22P02.
pub(super) fn parse(text: &str) -> Result<i64> {
    let read = || {
        let (block, offset) = text
            .trim_start()
            .strip_prefix('(')?
            .strip_suffix(')')?
            .split_once(',')?;
        // As C reads an unsigned number, whose sign turns it around.
        let block: i64 = block.trim_start().parse().ok()?;
        let block = u32::try_from(block)
            .ok()
            .or_else(|| Some(i32::try_from(block).ok()? as u32))?;
        let offset: u16 = offset.trim_start().parse().ok()?;
        Some((i64::from(block) << OFFSET_BITS) | i64::from(offset))
    };
    read().ok_or_else(|| Error::InvalidText {
        type_name: "tid".to_string(),
        value: text.to_string(),
    })
}

/// Block and offset of a number. No table has had as many rows as would need more bits.
fn parts(number: i64) -> (u32, u16) {
    ((number >> OFFSET_BITS) as u32, number as u16)
}

/// Appends a place.
pub(super) fn put(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(text(number).as_bytes());
}

/// A place as text.
pub(crate) fn text(number: i64) -> String {
    let (block, offset) = parts(number);
    format!("({block},{offset})")
}

/// As the wire has it: block and offset, BE.
pub(super) fn to_bytes(number: i64) -> [u8; 6] {
    let (block, offset) = parts(number);
    let [a, b, c, d] = block.to_be_bytes();
    let [e, f] = offset.to_be_bytes();
    [a, b, c, d, e, f]
}

/// See [`to_bytes`].
pub(super) fn from_bytes([a, b, c, d, e, f]: [u8; 6]) -> i64 {
    let (block, offset) = (u32::from_be_bytes([a, b, c, d]), u16::from_be_bytes([e, f]));
    (i64::from(block) << OFFSET_BITS) | i64::from(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_again() {
        for number in [0, 1, 65_535, 65_536, (1 << 48) - 1] {
            assert_eq!(parse(&text(number)).unwrap(), number);
            assert_eq!(from_bytes(to_bytes(number)), number);
        }
        assert_eq!(text(65_537), "(1,1)");
        assert_eq!(text(parse("(-1,0)").unwrap()), "(4294967295,0)");
        for wrong in ["", "1,1", "(1)", "(1,65536)", "(4294967296,1)", "(1,1"] {
            assert_eq!(parse(wrong).unwrap_err().sqlstate(), "22P02", "{wrong}");
        }
    }
}
