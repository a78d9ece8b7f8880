//! Quotes of a row's columns in its text form, as PostgreSQL's record_out sets them. Whoever prints rows calls it.

/// Quotes the column that was appended from `start` on, if its text needs quotes within a row.
#[inline]
pub(super) fn quote_field(out: &mut Vec<u8>, start: usize) {
    let is_special = |byte: &u8| {
        matches!(
            byte,
            b'(' | b')' | b',' | b'"' | b'\\' | b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c
        )
    };
    if out.len() > start && !out[start..].iter().any(is_special) {
        return;
    }
    let text = out.split_off(start);
    out.reserve(text.len() + 2);
    out.push(b'"');
    for byte in text {
        // A quote or backslash stands twice.
        if matches!(byte, b'"' | b'\\') {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'"');
}
