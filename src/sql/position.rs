//! Places in a statement's text: from the parser's lines and columns to bytes and to the characters PostgreSQL counts.

use sqlparser::tokenizer::Location;

/// The byte offset of a location (line and column count characters from 1).
pub(super) fn byte_offset(location: Location, text: &str) -> usize {
    let line_start = match location.line {
        0 | 1 => 0,
        line => text
            .match_indices('\n')
            .nth(line as usize - 2)
            .map_or(text.len(), |(at, _)| at + 1),
    };
    let column = (location.column as usize).saturating_sub(1);
    text[line_start..]
        .char_indices()
        .nth(column)
        .map_or(text.len(), |(at, _)| line_start + at)
}

/// The position PostgreSQL reports: characters from 1 over the whole message.
pub(super) fn character_position(location: Location, text: &str) -> usize {
    if location.line == 0 {
        return 0;
    }
    text[..byte_offset(location, text)].chars().count() + 1
}
