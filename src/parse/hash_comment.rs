//! `#` comments of CREATE TABLE statements, and between statements, as wide-table documentation writes them. PostgreSQL has
//! an operator `#`, so they are comments there only, for no statement begins with it; and not in a query, nor behind an operand of an
//! expression whose parenthesis ends in the same line.

use std::borrow::Cow;

use super::text_tokens::token_length;

/// The text with every `#` comment inside a CREATE TABLE statement, or before any, turned to blanks, character for character, so that
/// positions stay what they are.
pub(crate) fn blank_hash_comments(text: &str) -> Cow<'_, str> {
    if !text.contains('#') {
        return Cow::Borrowed(text);
    }
    let mut scanner = Scanner::default();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = token_length(rest, first);
        let (token, after) = rest.split_at(length);
        if first == '#' {
            let (line, after) = rest.split_at(rest.find('\n').unwrap_or(rest.len()));
            if scanner.begins_comment(line) {
                out.extend(line.chars().map(|_| ' '));
                rest = after;
                continue;
            }
        }
        scanner.read(token, first);
        out.push_str(token);
        rest = after;
    }
    Cow::Owned(out)
}

/// Knows which statement the text is in, by the words it starts with.
#[derive(Default)]
struct Scanner {
    /// The first words of the statement, at most four (`CREATE`, then `TABLE` or one of its adjectives).
    words: Vec<String>,
    /// Whether the statement has come to a query.
    in_query: bool,
    /// Parentheses that are open.
    depth: usize,
    /// Whether the last token may be an operand.
    behind_operand: bool,
}

impl Scanner {
    fn read(&mut self, token: &str, first: char) {
        match first {
            ';' => *self = Scanner::default(),
            '(' => self.depth += 1,
            ')' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if first.is_alphabetic() || first == '_' {
            self.in_query |= token.eq_ignore_ascii_case("SELECT");
            if self.words.len() < 4 {
                self.words.push(token.to_ascii_uppercase());
            }
        }
        if !first.is_whitespace() {
            self.behind_operand = !matches!(first, '(' | ',' | ';');
        }
    }

    /// Whether `#`, with which this rest of a line begins, begins a comment.
    fn begins_comment(&self, line: &str) -> bool {
        self.is_between() || self.in_create_table() && !self.in_query && !self.is_operator(line)
    }

    /// Whether it stands between operands: in parentheses within those of the columns, which end in the line.
    fn is_operator(&self, line: &str) -> bool {
        self.depth > 1 && self.behind_operand && closes(line)
    }

    /// Whether no word of a statement has come yet.
    fn is_between(&self) -> bool {
        self.words.is_empty()
    }

    fn in_create_table(&self) -> bool {
        self.words.first().is_some_and(|word| word == "CREATE")
            && self.words.iter().any(|word| word == "TABLE")
    }
}

/// Whether a parenthesis ends there that does not begin there.
fn closes(line: &str) -> bool {
    let mut open = 0;
    line.chars().any(|char| {
        open += match char {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        open < 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comments_of_create_table_go() {
        let same = [
            "select 5 # 3",
            "select '#'; create view v as select 1 # 2",
            "insert into t values ('# x')",
            "create table t (a int, b int generated always as (a # 1) stored, check ((a # b) > 0))",
            "create table t as select 5 # 3",
        ];
        for text in same {
            assert_eq!(blank_hash_comments(text), text);
        }
        assert_eq!(
            blank_hash_comments(
                "create table t (a text default '#1', # key's; x\nb int -- # no\n); select 1 # 2"
            ),
            "create table t (a text default '#1',           \nb int -- # no\n); select 1 # 2"
        );
        assert_eq!(
            blank_hash_comments("CREATE TABLE t (a int); # why; so\nSELECT 5 # 3; # x"),
            "CREATE TABLE t (a int);          \nSELECT 5 # 3;    "
        );
        assert_eq!(
            blank_hash_comments("CREATE TABLE t (a int, PRIMARY KEY (a # the (first)\n))"),
            "CREATE TABLE t (a int, PRIMARY KEY (a              \n))"
        );
        assert_eq!(blank_hash_comments(" # a\nSELECT 1 # 2"), "    \nSELECT 1 # 2");
        assert_eq!(
            blank_hash_comments("CREATE TABLE IF NOT EXISTS é (#ü\n)"),
            "CREATE TABLE IF NOT EXISTS é (  \n)"
        );
    }
}
