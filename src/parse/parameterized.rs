//! `Parameterized`: the text of a statement with `$1` … in place of its constants, so that texts which differ in nothing
//! else are one statement with other parameters. Read from the text alone, without parsing it: `session` looks the
//! result up among the statements that came before.
//!
//! A constant is taken out only where a parameter of its type means the same: behind a comparison, BETWEEN, LIKE, `+`, and
//! in the lists of IN and of VALUES, where what follows ends the operand. All others (positions in ORDER BY, counts of LIMIT,
//! typed literals, casts, arguments) stay in the text. Texts with comments, parameters, escapes or several statements
//! are left as they are.

use super::short_text::is_quick_to_read;
use crate::types::{SqlType, Value};

/// Constants that are taken out of one text.
const CONSTANTS_MAX: usize = 64;
/// Parentheses that may be open at once.
const DEPTH_MAX: u32 = 60;

/// A statement's text with its constants apart.
#[derive(Debug, PartialEq)]
pub struct Parameterized {
    /// The text, `$n` in place of the n-th constant.
    pub text: String,
    /// The constants: integers, and strings of a type that is still open.
    pub constants: Vec<Value>,
}

impl Parameterized {
    /// That of a message's text; `None` when its constants cannot be told apart.
    pub fn of(text: &str) -> Option<Parameterized> {
        let kind = Kind::of(text)?;
        if !is_quick_to_read(text) {
            return None;
        }
        let mut reader = Reader::new(text, kind);
        for token in Tokens::new(text) {
            reader.take(token?)?;
        }
        Some(reader.finish())
    }

    /// The types of the constants, as PostgreSQL types them; `None` for those that take the type of their place.
    pub fn types(&self) -> Vec<Option<SqlType>> {
        let ty = |constant: &Value| match constant {
            Value::Int(number) if i32::try_from(*number).is_ok() => Some(SqlType::Int4),
            Value::Int(_) => Some(SqlType::Int8),
            _ => None,
        };
        self.constants.iter().map(ty).collect()
    }
}

/// The statements that are worth it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Insert,
    Other,
}

impl Kind {
    fn of(text: &str) -> Option<Kind> {
        let text = text.trim_start();
        let end = text.find(|c: char| !c.is_ascii_alphabetic())?;
        let is = |word: &&str| text[..end].eq_ignore_ascii_case(word);
        if ["insert", "upsert"].iter().any(is) {
            return Some(Kind::Insert);
        }
        let is_other = ["select", "update", "delete"].iter().any(is);
        is_other.then_some(Kind::Other)
    }
}

/// What a text is made of, blanks left out. Places are bytes of the text.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Token<'t> {
    /// A name or key word, not in quotes.
    Word(&'t str),
    /// A whole number.
    Integer { start: usize, end: usize, number: i64 },
    /// `'…'`.
    String { start: usize, quoted: &'t str },
    /// Characters of operators that stand together.
    Operator(&'t str),
    /// `(`, `)`, `,`, `;`.
    Mark(u8),
    /// Anything else.
    Other,
}

/// The tokens of a text; `None` ends them where it has what this does not read.
struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Tokens<'t> {
    fn new(text: &'t str) -> Tokens<'t> {
        Tokens { text, at: 0 }
    }

    /// The part of the text from here to the first byte that does not belong.
    fn run(&mut self, belongs: impl Fn(u8) -> bool) -> &'t str {
        let rest = &self.text[self.at..];
        let end = rest.bytes().position(|byte| !belongs(byte)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// What stands in quotes from here, the quotes left out; a quote in it is doubled.
    fn quoted(&mut self, quote: u8) -> Option<&'t str> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut at = start;
        loop {
            match *bytes.get(at)? {
                b'\\' | 0 => return None,
                byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
                byte if byte == quote => break,
                _ => at += 1,
            }
        }
        self.at = at + 1;
        Some(&self.text[start..at])
    }

    fn number(&mut self) -> Token<'t> {
        let start = self.at;
        let text = self.run(|byte| is_word(byte) || byte == b'.');
        match text.parse::<i64>() {
            Ok(number) if text.bytes().all(|byte| byte.is_ascii_digit()) => Token::Integer {
                start,
                end: self.at,
                number,
            },
            _ => Token::Other,
        }
    }

    fn token(&mut self, first: u8) -> Option<Token<'t>> {
        let start = self.at;
        Some(match first {
            b'0'..=b'9' => self.number(),
            b'\'' => Token::String {
                start,
                quoted: self.quoted(b'\'')?,
            },
            b'"' | b'`' => {
                self.quoted(first)?;
                Token::Other
            }
            b'(' | b')' | b',' | b';' => {
                self.at += 1;
                Token::Mark(first)
            }
            b'.' | b':' | b'[' | b']' => {
                self.at += 1;
                Token::Other
            }
            first if is_operator(first) => {
                let operator = self.run(is_operator);
                let is_comment = operator.contains("--") || operator.contains("/*") || operator.contains('#');
                return (!is_comment).then_some(Token::Operator(operator));
            }
            first if is_word(first) && first != b'$' => {
                let word = self.run(is_word);
                // E'…', B'…', U&'…': strings of other kinds.
                let next = self.text.as_bytes().get(self.at);
                return (!matches!(next, Some(b'\'' | b'&'))).then_some(Token::Word(word));
            }
            _ => return None,
        })
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Option<Token<'t>>;

    fn next(&mut self) -> Option<Option<Token<'t>>> {
        self.run(|byte| byte.is_ascii_whitespace());
        let first = *self.text.as_bytes().get(self.at)?;
        let token = self.token(first);
        if token.is_none() {
            self.at = self.text.len();
        }
        Some(token)
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn is_operator(byte: u8) -> bool {
    b"+-*/<>=~!@#%^&|?".contains(&byte)
}

/// What a token says of a constant behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    /// A parameter may stand there.
    Operand,
    /// A parameter may stand there if it has a type.
    Summand,
    /// The constant stays.
    Fixed,
}

/// Puts the text together, token by token.
struct Reader<'t> {
    source: &'t str,
    text: String,
    constants: Vec<Value>,
    /// So many bytes of the source are in the text.
    copied: usize,
    /// The last token, if it is a constant that goes out when what follows ends the operand: it, and its bytes.
    candidate: Option<(Value, std::ops::Range<usize>)>,
    /// What the last token says of the next.
    place: Place,
    /// The parentheses that are open, the innermost last: whether each holds a list of operands.
    lists: u64,
    depth: u32,
    /// IN or VALUES opens a list.
    opens_list: bool,
    /// Behind VALUES: each parenthesis outside all others opens a list.
    in_values: bool,
    is_insert: bool,
    ended: bool,
}

impl<'t> Reader<'t> {
    fn new(source: &'t str, kind: Kind) -> Reader<'t> {
        Reader {
            source,
            text: String::with_capacity(source.len() + 8),
            constants: Vec::new(),
            copied: 0,
            candidate: None,
            place: Place::Fixed,
            lists: 0,
            depth: 0,
            opens_list: false,
            in_values: false,
            is_insert: kind == Kind::Insert,
            ended: false,
        }
    }

    /// Takes the next token; `None` when the text is not for us.
    fn take(&mut self, token: Token<'t>) -> Option<()> {
        if self.ended {
            return None;
        }
        // Moments of the past are constants of the statement.
        if let Token::Word(word) = &token
            && ["system", "system_time"]
                .iter()
                .any(|known| word.eq_ignore_ascii_case(known))
        {
            return None;
        }
        if let Some((constant, range)) = self.candidate.take()
            && ends_operand(&token)
        {
            self.replace(constant, range)?;
        }
        let place = std::mem::replace(&mut self.place, Place::Fixed);
        let opens_list = std::mem::take(&mut self.opens_list);
        match token {
            Token::Integer { start, end, number } if place != Place::Fixed => {
                self.candidate = Some((Value::Int(number), start..end));
            }
            Token::String { start, quoted } if place == Place::Operand => {
                let value = Value::Unknown(quoted.replace("''", "'"));
                self.candidate = Some((value, start..start + quoted.len() + 2));
            }
            Token::Operator("=" | "==" | "<" | ">" | "<=" | ">=" | "<>" | "!=") => {
                self.place = Place::Operand
            }
            Token::Operator("+") => self.place = Place::Summand,
            Token::Word(word) => self.word(word),
            Token::Mark(b'(') => self.open(opens_list)?,
            Token::Mark(b')') => self.depth = self.depth.checked_sub(1)?,
            Token::Mark(b',') if self.is_in_list() => self.place = Place::Operand,
            Token::Mark(b';') => self.ended = true,
            _ => {}
        }
        Some(())
    }

    fn word(&mut self, word: &str) {
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        if is("and") || is("between") || is("like") {
            self.place = Place::Operand;
        }
        self.opens_list = is("in");
        if self.depth == 0 {
            self.in_values = self.is_insert && is("values");
        }
    }

    fn open(&mut self, opens_list: bool) -> Option<()> {
        let is_list = opens_list || self.in_values && self.depth == 0;
        if self.depth >= DEPTH_MAX {
            return None;
        }
        let bit = 1 << self.depth;
        self.lists = if is_list {
            self.lists | bit
        } else {
            self.lists & !bit
        };
        self.depth += 1;
        if is_list {
            self.place = Place::Operand;
        }
        Some(())
    }

    fn is_in_list(&self) -> bool {
        self.depth > 0 && self.lists & (1 << (self.depth - 1)) != 0
    }

    fn replace(&mut self, constant: Value, range: std::ops::Range<usize>) -> Option<()> {
        if self.constants.len() == CONSTANTS_MAX {
            return None;
        }
        self.constants.push(constant);
        self.text.push_str(&self.source[self.copied..range.start]);
        self.text.push('$');
        self.text.push_str(&self.constants.len().to_string());
        self.copied = range.end;
        Some(())
    }

    fn finish(mut self) -> Parameterized {
        if let Some((constant, range)) = self.candidate.take()
            && self.constants.len() < CONSTANTS_MAX
        {
            self.replace(constant, range);
        }
        self.text.push_str(&self.source[self.copied..]);
        Parameterized {
            text: self.text,
            constants: self.constants,
        }
    }
}

/// Whether a constant before this token is a whole operand.
fn ends_operand(token: &Token<'_>) -> bool {
    const WORDS: &[&str] = &[
        "and",
        "or",
        "where",
        "group",
        "having",
        "order",
        "limit",
        "offset",
        "returning",
        "on",
    ];
    match token {
        Token::Mark(mark) => *mark != b'(',
        Token::Operator(operator) => *operator == "+",
        Token::Word(word) => WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, Vec<String>) {
        let read = Parameterized::of(text).unwrap();
        let constants = read.constants.iter().map(|constant| match constant {
            Value::Int(number) => number.to_string(),
            Value::Unknown(text) => format!("'{text}'"),
            other => panic!("{other:?} is no constant of a text"),
        });
        (read.text, constants.collect())
    }

    #[test]
    fn constants_go_where_a_parameter_means_the_same() {
        let cases: &[(&str, &str, &[&str])] = &[
            (
                "SELECT * FROM t WHERE a = 5 AND b >= 'it''s'",
                "SELECT * FROM t WHERE a = $1 AND b >= $2",
                &["5", "'it's'"],
            ),
            (
                "select a from t where k between 5 and 5 + 100 order by 1 limit 10;",
                "select a from t where k between $1 and $2 + $3 order by 1 limit 10;",
                &["5", "5", "100"],
            ),
            (
                "SELECT a FROM t WHERE k IN (1, 'x', 3) AND (a='y')",
                "SELECT a FROM t WHERE k IN ($1, $2, $3) AND (a=$4)",
                &["1", "'x'", "3", "'y'"],
            ),
            (
                "INSERT INTO t (a, b) VALUES (1, 'x'), (2, lower('Y')) ON CONFLICT (a) DO UPDATE SET b = 'z'",
                "INSERT INTO t (a, b) VALUES ($1, $2), ($3, lower('Y')) ON CONFLICT (a) DO UPDATE SET b = $4",
                &["1", "'x'", "2", "'z'"],
            ),
            (
                "UPDATE t SET a = 'x', b = b + 1 WHERE k LIKE 'é%'",
                "UPDATE t SET a = $1, b = b + $2 WHERE k LIKE $3",
                &["'x'", "1", "'é%'"],
            ),
            ("DELETE FROM t WHERE 5 < k", "DELETE FROM t WHERE 5 < k", &[]),
        ];
        for (text, with_parameters, constants) in cases {
            let (read, apart) = read(text);
            assert_eq!((&*read, &*apart), (*with_parameters, &*apart), "{text}");
            assert_eq!(apart, *constants, "{text}");
        }
    }

    #[test]
    fn other_constants_stay() {
        for text in [
            "SELECT 1, 'x', f(2, 'y') FROM t ORDER BY 1, 2 LIMIT 3 OFFSET 4",
            "SELECT * FROM t WHERE a = 1.5 AND b = 5::bigint AND c = 'x'::char AND d = -1 AND e = DATE '2024-01-01'",
            "SELECT * FROM t WHERE a = 'x' 'y' OR a = 'x' COLLATE \"C\" OR a = 'x' || b OR a = 1e3 OR b = 5 * 2",
            "SELECT * FROM t WHERE j -> 'a' IS NULL AND j ->> 'b' IS NULL AND b + '1 day' > c AND x =-1",
            "SELECT a[1], b[2:3] FROM t WHERE c = a[4]",
            "SELECT * FROM t WHERE a LIKE 'a!%' ESCAPE '!'",
            "UPDATE t SET a = 'x' || b",
        ] {
            assert_eq!(read(text), (text.to_string(), Vec::new()));
        }
    }

    #[test]
    fn other_texts_are_left_alone() {
        for text in [
            "BEGIN",
            "EXPLAIN SELECT 1",
            "CREATE TABLE t (a int)",
            "SELECT 1; SELECT 2",
            "SELECT $1",
            "SELECT $$a$$",
            "SELECT a FROM t WHERE a = 1 -- one",
            "SELECT /*+ _l_allow_filtering_ */ a FROM t WHERE a = 1",
            "SELECT a FROM t WHERE a = 1 # one",
            "SELECT E'a\\n'",
            "SELECT 'a\\b'",
            "SELECT U&'a'",
            "SELECT B'1'",
            "SELECT 'a",
            "SELECT \"a",
            "SELECT 1)",
            "SELECT 'a\0'",
        ] {
            assert_eq!(Parameterized::of(text), None, "{text}");
        }
        let many = format!("SELECT 1 WHERE 1 IN ({}1)", "1, ".repeat(CONSTANTS_MAX));
        assert_eq!(Parameterized::of(&many), None);
    }

    #[test]
    fn integers_have_their_own_types() {
        let read = Parameterized::of("SELECT 1 WHERE a = 2147483647 AND b = 2147483648 AND c = 'x'").unwrap();
        assert_eq!(read.types(), [Some(SqlType::Int4), Some(SqlType::Int8), None]);
    }
}
