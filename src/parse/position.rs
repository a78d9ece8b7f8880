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

/// Finds the byte offsets of locations that follow one another, in one walk over the text.
pub(super) struct Cursor<'a> {
    text: &'a str,
    /// The byte reached, and its location.
    byte: usize,
    line: u64,
    column: u64,
}

impl<'a> Cursor<'a> {
    /// At the beginning of a text.
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor {
            text,
            byte: 0,
            line: 1,
            column: 1,
        }
    }

    /// The byte offset of a location that is not before the last one asked for.
    pub(super) fn byte_offset(&mut self, location: Location) -> usize {
        let wanted = (location.line, location.column);
        for c in self.text[self.byte..].chars() {
            if (self.line, self.column) >= wanted {
                break;
            }
            self.byte += c.len_utf8();
            match c {
                '\n' => (self.line, self.column) = (self.line + 1, 1),
                _ => self.column += 1,
            }
        }
        self.byte
    }
}

/// The position PostgreSQL reports: characters from 1 over the whole message.
pub(super) fn character_position(location: Location, text: &str) -> usize {
    if location.line == 0 {
        return 0;
    }
    text[..byte_offset(location, text)].chars().count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_finds_what_a_search_from_the_beginning_finds() {
        let text = "é1\n\nab, 'ü';\r\n  c\n";
        let mut cursor = Cursor::new(text);
        for (line, columns) in [(1, 1..=3), (2, 1..=1), (3, 1..=10), (4, 1..=4)] {
            for column in columns {
                let location = Location { line, column };
                assert_eq!(
                    cursor.byte_offset(location),
                    byte_offset(location, text),
                    "{location}"
                );
            }
        }
    }
}
