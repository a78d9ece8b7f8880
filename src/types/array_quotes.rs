//! Quotes of an array's elements in its text form, as PostgreSQL's array_out sets them. Whoever prints arrays calls it.

/// Quotes the element that was appended from `start` on, if its text needs quotes within an array.
#[inline]
pub(super) fn quote_element(out: &mut Vec<u8>, start: usize) {
    let text = &out[start..];
    let special = |byte: &u8| {
        matches!(
            byte,
            b'{' | b'}' | b',' | b'"' | b'\\' | b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c
        )
    };
    if !text.is_empty() && !text.iter().any(special) && !text.eq_ignore_ascii_case(b"null") {
        return;
    }
    let escapes = text.iter().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    // Shift from the end, so that no copy of the text is needed.
    let mut from = out.len();
    out.resize(from + escapes + 2, b'"');
    let mut to = out.len() - 1;
    while from > start {
        from -= 1;
        let byte = out[from];
        to -= 1;
        out[to] = byte;
        if matches!(byte, b'"' | b'\\') {
            to -= 1;
            out[to] = b'\\';
        }
    }
    out[start] = b'"';
    let last = out.len() - 1;
    out[last] = b'"';
}
