//! A document as tokens, as PostgreSQL's default parser cuts it: words, numbers, hyphenated words and their parts, hosts, addresses of mail and
//! pages, paths of files, tags. Called by `text_configuration`, which says what words become of a token. Odd runs of punctuation may be cut
//! otherwise than by PostgreSQL; words, numbers and the like between spaces are not.

/// What a token is. The numbers are PostgreSQL's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    AsciiWord = 1,
    Word = 2,
    NumberWord = 3,
    Email = 4,
    Url = 5,
    Host = 6,
    Scientific = 7,
    Version = 8,
    NumberPart = 9,
    WordPart = 10,
    AsciiPart = 11,
    Blank = 12,
    Tag = 13,
    Protocol = 14,
    NumberHyphenated = 15,
    AsciiHyphenated = 16,
    Hyphenated = 17,
    UrlPath = 18,
    File = 19,
    Decimal = 20,
    Signed = 21,
    Unsigned = 22,
    Entity = 23,
}

/// Every kind by its number, from 1: the name, and what it is.
pub(super) const KINDS: [(&str, &str); 23] = [
    ("asciiword", "Word, all ASCII"),
    ("word", "Word, all letters"),
    ("numword", "Word, letters and digits"),
    ("email", "Email address"),
    ("url", "URL"),
    ("host", "Host"),
    ("sfloat", "Scientific notation"),
    ("version", "Version number"),
    ("hword_numpart", "Hyphenated word part, letters and digits"),
    ("hword_part", "Hyphenated word part, all letters"),
    ("hword_asciipart", "Hyphenated word part, all ASCII"),
    ("blank", "Space symbols"),
    ("tag", "XML tag"),
    ("protocol", "Protocol head"),
    ("numhword", "Hyphenated word, letters and digits"),
    ("asciihword", "Hyphenated word, all ASCII"),
    ("hword", "Hyphenated word, all letters"),
    ("url_path", "URL path"),
    ("file", "File or path name"),
    ("float", "Decimal notation"),
    ("int", "Signed integer"),
    ("uint", "Unsigned integer"),
    ("entity", "XML entity"),
];

/// A piece of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
}

/// The tokens of a document, one behind the other; parts of a hyphenated word or an address of a page follow the whole.
pub(super) fn tokens(document: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let mut rest = document;
    while !rest.is_empty() {
        let length = take(rest, &mut out);
        rest = &rest[length..];
    }
    out
}

/// Adds the token in front, and its parts; answers how long it is.
fn take<'a>(rest: &'a str, out: &mut Vec<Token<'a>>) -> usize {
    let bytes = rest.as_bytes();
    let found = match bytes[0] {
        b'<' => tag(rest),
        b'&' => entity(bytes),
        b'+' | b'-' => number(bytes, 1).filter(|_| bytes.get(1).is_some_and(u8::is_ascii_digit)),
        // Behind a space `~` and `.` are spaces, too.
        b'~' | b'.' if out.last().is_some_and(|last| last.kind == TokenKind::Blank) => None,
        b'/' | b'~' | b'.' => path(bytes).map(|length| (TokenKind::File, length)),
        _ => None,
    };
    if let Some((kind, length)) = found {
        push(out, kind, rest, length);
        return match (kind, is_script(&rest[..length])) {
            (TokenKind::Tag, true) => length + skip_script(rest, length, out),
            _ => length,
        };
    }
    match rest.chars().next() {
        Some(first) if is_letter_or_digit(first) => take_word(rest, out),
        Some(other) => {
            push(out, TokenKind::Blank, rest, other.len_utf8());
            other.len_utf8()
        }
        None => 0,
    }
}

fn push<'a>(out: &mut Vec<Token<'a>>, kind: TokenKind, rest: &'a str, length: usize) {
    out.push(Token {
        kind,
        text: &rest[..length],
    });
}

fn is_letter_or_digit(letter: char) -> bool {
    letter.is_alphanumeric()
}

/// Marks are written over the letter before them.
fn goes_on(letter: char) -> bool {
    is_letter_or_digit(letter) || matches!(letter, '\u{300}'..='\u{36f}' | '\u{200d}' | '\u{200c}' | '\u{ad}')
}

/// What begins with a letter or digit.
fn take_word<'a>(rest: &'a str, out: &mut Vec<Token<'a>>) -> usize {
    let bytes = rest.as_bytes();
    if let Some(length) = protocol(bytes) {
        push(out, TokenKind::Protocol, rest, length);
        return length;
    }
    if let Some(length) = email(bytes) {
        push(out, TokenKind::Email, rest, length);
        return length;
    }
    let host = host(bytes);
    if let Some(length) = host {
        return take_host(rest, length, out);
    }
    if bytes[0].is_ascii_digit() {
        let number = number(bytes, 0);
        let word = word_length(rest);
        let path = path(bytes).filter(|length| rest[..*length].contains('/'));
        match (number, path) {
            (_, Some(length)) if length > word => {
                push(out, TokenKind::File, rest, length);
                return length;
            }
            (Some((kind, length)), _) if length >= word => {
                push(out, kind, rest, length);
                return length;
            }
            _ => {}
        }
    }
    let hyphenated = hyphenated(rest);
    let path = path(bytes);
    match (path, &hyphenated) {
        (Some(length), parts) if length > word_length(rest) && parts.is_empty() => {
            push(out, TokenKind::File, rest, length);
            length
        }
        (_, parts) if !parts.is_empty() => take_hyphenated(rest, parts, out),
        _ => {
            let length = word_length(rest);
            push(out, word_kind(&rest[..length]), rest, length);
            length
        }
    }
}

fn word_length(rest: &str) -> usize {
    rest.find(|letter| !goes_on(letter)).unwrap_or(rest.len())
}

fn word_kind(word: &str) -> TokenKind {
    if word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        TokenKind::AsciiWord
    } else if word.chars().any(|letter| letter.is_numeric()) {
        TokenKind::NumberWord
    } else {
        TokenKind::Word
    }
}

/// Letters, then `://`.
fn protocol(bytes: &[u8]) -> Option<usize> {
    let letters = bytes.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    (letters > 0 && bytes[letters..].starts_with(b"://")).then_some(letters + 3)
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Names with points between them, the last of letters alone; then a port, or none.
fn host(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut end) = (0, None);
    if !bytes.first()?.is_ascii_alphanumeric() {
        return None;
    }
    loop {
        let label = bytes[at..].iter().take_while(|byte| is_host_byte(**byte)).count();
        let letters = bytes[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        let next = bytes.get(at + label);
        if at > 0 && letters >= 2 && (letters == label || matches!(bytes[at + letters], b'-' | b'_')) {
            let is_whole = letters < label || next.is_none_or(u8::is_ascii);
            if is_whole {
                end = Some(at + letters);
            }
        }
        if label == 0
            || next != Some(&b'.')
            || !bytes.get(at + label + 1).is_some_and(u8::is_ascii_alphanumeric)
        {
            break;
        }
        if bytes[at + label - 1] == b'-' || bytes[at + label - 1] == b'_' {
            break;
        }
        at += label + 1;
    }
    let end = end?;
    let digits = match bytes.get(end) {
        Some(b':') => bytes[end + 1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count(),
        _ => 0,
    };
    Some(if digits > 0 { end + 1 + digits } else { end })
}

/// A name, then `@` and a host.
fn email(bytes: &[u8]) -> Option<usize> {
    let name = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
        .count();
    if name == 0 || bytes.get(name) != Some(&b'@') || !bytes[name - 1].is_ascii_alphanumeric() {
        return None;
    }
    host(&bytes[name + 1..]).map(|length| name + 1 + length)
}

/// A host, or the address of a page, whose host and path follow it.
fn take_host<'a>(rest: &'a str, length: usize, out: &mut Vec<Token<'a>>) -> usize {
    let path = match rest.as_bytes().get(length) {
        Some(b'/') => url_path(&rest[length..]),
        _ => 0,
    };
    if path == 0 {
        push(out, TokenKind::Host, rest, length);
        return length;
    }
    push(out, TokenKind::Url, rest, length + path);
    push(out, TokenKind::Host, rest, length);
    push(out, TokenKind::UrlPath, &rest[length..], path);
    length + path
}

/// How long the path of a page's address is.
fn url_path(rest: &str) -> usize {
    let ends =
        |letter: char| letter.is_whitespace() || matches!(letter, '<' | '>' | '"') || letter.is_control();
    let length = rest.find(ends).unwrap_or(rest.len());
    if length > 1 { length } else { 0 }
}

/// A path of a file, or a name with a point in it.
fn path(bytes: &[u8]) -> Option<usize> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let mut at = match bytes {
        [b'~', b'/', ..] => 1,
        [b'.', b'.', b'/', ..] => 2,
        [b'.', b'/', ..] => 1,
        [b'/', ..] => 0,
        [first, ..] if first.is_ascii_alphanumeric() => bytes
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
            .count(),
        _ => return None,
    };
    let mut has_separator = false;
    while let Some(b'/' | b'.') = bytes.get(at) {
        let name = bytes[at + 1..].iter().take_while(|byte| is_name(byte)).count();
        if name == 0 || !(bytes[at + 1].is_ascii_alphanumeric() || bytes[at + 1] == b'_') {
            break;
        }
        has_separator = true;
        at += 1 + name;
    }
    while at > 0 && matches!(bytes[at - 1], b'-') {
        at -= 1;
    }
    let ends_well = bytes.get(at).is_none_or(u8::is_ascii);
    (has_separator && ends_well).then_some(at)
}

/// A number behind so many bytes of its sign.
fn number(bytes: &[u8], sign: usize) -> Option<(TokenKind, usize)> {
    let digits = |at: usize| {
        bytes.get(at..).map_or(0, |rest| {
            rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
        })
    };
    let whole = digits(sign);
    if whole == 0 {
        return None;
    }
    let (mut at, mut points) = (sign + whole, 0);
    while bytes.get(at) == Some(&b'.') && digits(at + 1) > 0 && (points == 0 || sign == 0) {
        at += 1 + digits(at + 1);
        points += 1;
    }
    if points > 1 {
        return Some((TokenKind::Version, at));
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + sign);
        if exponent > 0 {
            return Some((TokenKind::Scientific, at + 1 + sign + exponent));
        }
    }
    let kind = match (points, sign) {
        (1, _) => TokenKind::Decimal,
        (_, 0) => TokenKind::Unsigned,
        _ => TokenKind::Signed,
    };
    Some((kind, at))
}

/// The words between hyphens, if there are several: where each begins and ends. The first begins with a letter, the others have one.
fn hyphenated(rest: &str) -> Vec<(usize, usize)> {
    let mut parts = Vec::new();
    let mut at = 0;
    loop {
        let length = word_length(&rest[at..]);
        let mut letters = rest[at..at + length].chars();
        let is_word = match at {
            0 => letters.next().is_some_and(char::is_alphabetic),
            _ => letters.any(char::is_alphabetic),
        };
        if !is_word {
            break;
        }
        parts.push((at, at + length));
        if !rest[at + length..].starts_with('-') {
            break;
        }
        at += length + 1;
    }
    if parts.len() < 2 {
        parts.clear();
    }
    parts
}

fn take_hyphenated<'a>(rest: &'a str, parts: &[(usize, usize)], out: &mut Vec<Token<'a>>) -> usize {
    let end = parts.last().map_or(0, |(_, end)| *end);
    let kinds = parts.iter().map(|(start, end)| word_kind(&rest[*start..*end]));
    let kinds: Vec<TokenKind> = kinds.collect();
    let whole = if kinds.contains(&TokenKind::NumberWord) {
        TokenKind::NumberHyphenated
    } else if kinds.contains(&TokenKind::Word) {
        TokenKind::Hyphenated
    } else {
        TokenKind::AsciiHyphenated
    };
    push(out, whole, rest, end);
    for ((start, end), kind) in parts.iter().zip(kinds) {
        if *start > 0 {
            push(out, TokenKind::Blank, &rest[*start - 1..], 1);
        }
        let kind = match kind {
            TokenKind::NumberWord => TokenKind::NumberPart,
            TokenKind::Word => TokenKind::WordPart,
            _ => TokenKind::AsciiPart,
        };
        push(out, kind, &rest[*start..], end - start);
    }
    end
}

/// `<a href="…">`, `</a>`, `<!-- … -->`, `<?xml … ?>`.
fn tag(rest: &str) -> Option<(TokenKind, usize)> {
    if rest.starts_with("<!--") {
        return rest.find("-->").map(|at| (TokenKind::Tag, at + 3));
    }
    let bytes = rest.as_bytes();
    let name = match bytes.get(1)? {
        b'/' | b'!' => 2,
        b'?' => return rest.find('>').map(|at| (TokenKind::Tag, at + 1)),
        _ => 1,
    };
    if !bytes.get(name)?.is_ascii_alphabetic() {
        return None;
    }
    let mut quote = None;
    for (at, byte) in bytes.iter().enumerate().skip(name) {
        match (quote, byte) {
            (None, b'>') => return Some((TokenKind::Tag, at + 1)),
            (None, b'\'' | b'"') => quote = Some(*byte),
            (Some(open), byte) if open == *byte => quote = None,
            (None, b'<') => return None,
            _ => {}
        }
    }
    None
}

fn is_script(tag: &str) -> bool {
    let tag = tag.to_ascii_lowercase();
    tag.starts_with("<script") || tag.starts_with("<style")
}

/// What stands in a script or a style is no text; answers how long it is, its end left out.
fn skip_script<'a>(rest: &'a str, start: usize, out: &mut Vec<Token<'a>>) -> usize {
    let inner = rest[start..].to_ascii_lowercase();
    let ends = ["</script", "</style"]
        .into_iter()
        .filter_map(|end| inner.find(end));
    let length = ends.min().unwrap_or(inner.len());
    if length > 0 {
        push(out, TokenKind::Blank, &rest[start..], length);
    }
    length
}

/// `&amp;`, `&#38;`, `&#x26;`.
fn entity(bytes: &[u8]) -> Option<(TokenKind, usize)> {
    let (start, is_inner): (usize, fn(&u8) -> bool) = match bytes {
        [_, b'#', b'x' | b'X', ..] => (3, u8::is_ascii_hexdigit),
        [_, b'#', ..] => (2, u8::is_ascii_digit),
        [_, first, ..] if first.is_ascii_alphabetic() => {
            (1, |byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        }
        _ => return None,
    };
    let inner = bytes[start..].iter().take_while(|byte| is_inner(byte)).count();
    (inner > 0 && bytes.get(start + inner) == Some(&b';')).then_some((TokenKind::Entity, start + inner + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(document: &str) -> String {
        let tokens = tokens(document)
            .into_iter()
            .filter(|token| token.kind != TokenKind::Blank);
        let shown = tokens.map(|token| format!("{}:{}", KINDS[token.kind as usize - 1].0, token.text));
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn documents_are_cut_as_by_postgresql() {
        for (document, expected) in [
            ("a cat's", "asciiword:a asciiword:cat asciiword:s"),
            (
                "e-mail",
                "asciihword:e-mail hword_asciipart:e hword_asciipart:mail",
            ),
            ("x@example.com", "email:x@example.com"),
            ("example.com/a", "url:example.com/a host:example.com url_path:/a"),
            (
                "and/or 1.5 -2 1e5 1.2.3",
                "file:and/or float:1.5 int:-2 sfloat:1e5 version:1.2.3",
            ),
            ("<b>ü1</b>&amp;", "tag:<b> numword:ü1 tag:</b> entity:&amp;"),
            ("<script>x</script>y", "tag:<script> tag:</script> asciiword:y"),
        ] {
            assert_eq!(shown(document), expected);
        }
    }

    proptest::proptest! {
        #[test]
        fn every_text_is_cut_to_its_end(document in "[a-c1 ./:@<>&;é_+~-]{0,24}") {
            let tokens = tokens(&document);
            proptest::prop_assert!(tokens.iter().all(|token| !token.text.is_empty()));
        }
    }
}
