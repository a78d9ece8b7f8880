//! Words of the text forms of rows and ranges: quotes around any part, doubled inside of quotes; a backslash before any character.

/// Cuts the first word off: without its quotes and escapes, and what follows, which begins with one of the ends. `None`: the text ends
/// before.
pub(super) fn cut_word<'t>(text: &'t str, ends: &[char]) -> Option<(String, &'t str)> {
    let (mut word, mut in_quotes) = (String::new(), false);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => word.push(chars.next()?.1),
            '"' if in_quotes && chars.peek().is_some_and(|(_, next)| *next == '"') => {
                chars.next();
                word.push('"');
            }
            '"' => in_quotes = !in_quotes,
            end if !in_quotes && ends.contains(&end) => return Some((word, &text[at..])),
            c => word.push(c),
        }
    }
    None
}
