//! What PostgreSQL's readers skip around a value.

/// PostgreSQL's `isspace`.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}
