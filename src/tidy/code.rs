//! The text of a source file without what is not code: comments, literals, tests. The checks of `tidy` read it.

/// The text with every comment and literal blanked out, line breaks kept.
pub(super) fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = literal_or_comment(rest, code.chars().next_back());
        let (taken, blank) = if length > 0 {
            (length, true)
        } else {
            (c.len_utf8(), false)
        };
        match blank {
            true => code.extend(rest[..taken].chars().map(|c| if c == '\n' { '\n' } else { ' ' })),
            false => code.push(c),
        }
        rest = &rest[taken..];
    }
    code
}

/// How many bytes of a comment or literal stand at the start of `rest`; 0 when neither does.
fn literal_or_comment(rest: &str, before: Option<char>) -> usize {
    let in_name = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return rest.find("*/").map_or(rest.len(), |end| end + 2);
    }
    if let Some(body) = rest.strip_prefix('"') {
        return 1 + quoted_length(body, '"');
    }
    if !in_name && let Some(raw) = rest.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let body = hashes + 1;
            return 1
                + body
                + raw[body..]
                    .find(&end)
                    .map_or(raw.len() - body, |at| at + end.len());
        }
    }
    if let Some(body) = rest.strip_prefix('\'') {
        let mut inner = body.chars();
        // Otherwise it is a lifetime.
        let is_char = match inner.next() {
            Some('\\') => true,
            Some(_) => inner.next() == Some('\''),
            None => false,
        };
        return if is_char { 1 + quoted_length(body, '\'') } else { 0 };
    }
    0
}

/// Bytes up to and with the closing quote.
fn quoted_length(body: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    body.len()
}

/// Lines that are not tests: the test module stands last in a file, or is a file of its own.
pub(super) fn lines_before_tests(path: &str, text: &str) -> usize {
    if path.ends_with("tests.rs") || path.contains("tests/") {
        return 0;
    }
    let lines: Vec<&str> = text.lines().collect();
    let starts_tests = |at: &usize| {
        lines[*at] == "#[cfg(test)]"
            && lines[*at + 1..]
                .iter()
                .find(|l| !l.starts_with("#["))
                .is_some_and(opens_module)
    };
    (0..lines.len()).find(starts_tests).unwrap_or(lines.len())
}

/// Whether a line opens a module in place (`mod tests {`).
fn opens_module(line: &&str) -> bool {
    line.starts_with("mod ") && line.ends_with('{')
}
