//! COPY, read off its tokens in its present syntax and in the two older ones: sqlparser takes what follows `FROM STDIN;` for data.
//! Called by `statement`, which has the query and the condition that stand in it made a tree.

use sqlparser::ast::{Ident, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::copy::{Copy, CopyOption, CopyPlace, CopySubject, CopyValue};
use super::quoting::is_reserved;
use super::token_reader::{TokenReader, string_of};
use crate::error::{StatementFault, TextPlace};
use crate::{Error, Result};

/// What the query of a COPY begins with.
const QUERY_WORDS: [&str; 8] = [
    "SELECT", "VALUES", "TABLE", "WITH", "INSERT", "UPDATE", "DELETE", "UPSERT",
];

/// A COPY, and what of it is for the parser.
pub(super) struct ReadCopy {
    pub(super) copy: Copy,
    /// The query of `COPY (query)`, or `SELECT 1 WHERE condition`; empty when there is neither.
    pub(super) tree: Vec<TokenWithSpan>,
    /// The query says ALLOW FILTERING.
    pub(super) allows_filtering: bool,
}

/// Whether the tokens are a COPY.
pub(super) fn is_copy(tokens: &[TokenWithSpan]) -> bool {
    matches!(tokens.first().map(|token| &token.token), Some(Token::Word(word)) if word.keyword == Keyword::COPY)
}

/// The COPY that the tokens are, which end at byte `end` of the message `text`. Errors: 42601 with a position in `text`.
pub(super) fn read(tokens: Vec<TokenWithSpan>, text: &str, end: usize) -> Result<ReadCopy> {
    let mut reader = TokenReader::new(tokens, &text[..end]);
    reader.at = 1;
    reader.copy()
}

impl TokenReader<'_> {
    fn copy(&mut self) -> Result<ReadCopy> {
        let mut options = Vec::new();
        let (mut tree, mut allows_filtering) = (Vec::new(), false);
        let subject = match self.peek() {
            Some(Token::LParen) => {
                tree = self.copied_query()?;
                allows_filtering = take_allow_filtering(&mut tree);
                CopySubject::Query
            }
            _ => self.copied_relation(&mut options)?,
        };
        let is_from = self.copy_direction(&subject)?;
        let place = self.copy_place()?;
        let at = self.at;
        self.word("USING");
        if self.word("DELIMITERS") {
            let value = self.copy_string()?;
            self.option(&mut options, at, "delimiter", value);
        } else if self.at > at {
            return Err(self.syntax_error());
        }
        self.word("WITH");
        match self.token(&Token::LParen) {
            true => self.listed_options(&mut options)?,
            false => self.older_options(&mut options)?,
        }
        let condition = self.at;
        let has_condition = self.word("WHERE");
        if has_condition {
            if !is_from {
                return Err(not_allowed(
                    "WHERE clause not allowed with COPY TO",
                    self.position(condition),
                ));
            }
            tree = self.condition(condition);
        }
        match self.peek() {
            None => Ok(ReadCopy {
                copy: Copy {
                    subject,
                    is_from,
                    place,
                    options,
                    has_condition,
                },
                tree,
                allows_filtering,
            }),
            Some(_) => Err(self.syntax_error()),
        }
    }

    /// The tokens between the parentheses that begin here.
    fn copied_query(&mut self) -> Result<Vec<TokenWithSpan>> {
        let start = self.at + 1;
        let begins = |token: &Token| match token {
            Token::Word(word) => {
                word.quote_style.is_none()
                    && QUERY_WORDS
                        .iter()
                        .any(|first| word.value.eq_ignore_ascii_case(first))
            }
            token => *token == Token::LParen,
        };
        if self.tokens.get(start).is_some_and(|first| !begins(&first.token)) {
            self.at = start;
            return Err(self.syntax_error());
        }
        let mut depth = 0_usize;
        while let Some(token) = self.peek() {
            match token {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(self.tokens[start..self.at - 1].to_vec());
            }
        }
        Err(self.syntax_error())
    }

    fn copied_relation(&mut self, options: &mut Vec<CopyOption>) -> Result<CopySubject> {
        let at = self.at;
        if self.word("BINARY") {
            self.option(options, at, "format", CopyValue::Word("binary".to_string()));
        }
        if matches!(self.peek(), Some(Token::Word(word)) if word.quote_style.is_none() && is_reserved(&word.value))
        {
            return Err(self.syntax_error());
        }
        let name: ObjectName = self.object_name()?;
        let mut columns = Vec::new();
        if self.token(&Token::LParen) {
            loop {
                columns.push(Ident::with_quote('"', self.name()?));
                if !self.token(&Token::Comma) {
                    break;
                }
            }
            if !self.token(&Token::RParen) {
                return Err(self.syntax_error());
            }
        }
        Ok(CopySubject::Relation { name, columns })
    }

    /// Whether it is FROM.
    fn copy_direction(&mut self, subject: &CopySubject) -> Result<bool> {
        if *subject != CopySubject::Query && self.word("FROM") {
            return Ok(true);
        }
        self.expect("TO")?;
        Ok(false)
    }

    fn copy_place(&mut self) -> Result<CopyPlace> {
        if self.word("PROGRAM") {
            let at = self.at;
            if self.word("STDIN") || self.word("STDOUT") {
                return Err(not_allowed(
                    "STDIN/STDOUT not allowed with PROGRAM",
                    self.position(at),
                ));
            }
            self.copy_string()?;
            return Ok(CopyPlace::Program);
        }
        if self.word("STDIN") || self.word("STDOUT") {
            return Ok(CopyPlace::Client);
        }
        match self.copy_string()? {
            CopyValue::Word(path) => Ok(CopyPlace::File(path)),
            _ => Err(self.syntax_error()),
        }
    }

    /// A string, and nothing else.
    fn copy_string(&mut self) -> Result<CopyValue> {
        let string = self
            .peek()
            .and_then(string_of)
            .ok_or_else(|| self.syntax_error())?;
        self.at += 1;
        Ok(CopyValue::Word(string))
    }

    /// Options in parentheses, behind the first.
    fn listed_options(&mut self, options: &mut Vec<CopyOption>) -> Result<()> {
        loop {
            let at = self.at;
            let name = self.label()?;
            let value = self.option_value()?;
            self.option(options, at, &name, value);
            if !self.token(&Token::Comma) {
                break;
            }
        }
        match self.token(&Token::RParen) {
            true => Ok(()),
            false => Err(self.syntax_error()),
        }
    }

    fn option_value(&mut self) -> Result<CopyValue> {
        match self.peek() {
            Some(Token::Comma | Token::RParen) => Ok(CopyValue::Absent),
            Some(Token::Mul) => {
                self.at += 1;
                Ok(CopyValue::All)
            }
            Some(Token::LParen) => {
                self.at += 1;
                let mut names = Vec::new();
                loop {
                    names.push(self.word_or_string()?);
                    if !self.token(&Token::Comma) {
                        break;
                    }
                }
                match self.token(&Token::RParen) {
                    true => Ok(CopyValue::Names(names)),
                    false => Err(self.syntax_error()),
                }
            }
            Some(Token::Number(..) | Token::Minus | Token::Plus) => {
                self.signed_number().map(CopyValue::Number)
            }
            _ => self.word_or_string().map(CopyValue::Word),
        }
    }

    fn word_or_string(&mut self) -> Result<String> {
        match self.peek().and_then(string_of) {
            Some(string) => {
                self.at += 1;
                Ok(string)
            }
            None => self.label(),
        }
    }

    /// Options of the older syntax, as many as there are.
    fn older_options(&mut self, options: &mut Vec<CopyOption>) -> Result<()> {
        loop {
            let at = self.at;
            let (name, value) = if self.word("BINARY") {
                ("format", CopyValue::Word("binary".to_string()))
            } else if self.word("CSV") {
                ("format", CopyValue::Word("csv".to_string()))
            } else if self.word("FREEZE") {
                ("freeze", CopyValue::Word("true".to_string()))
            } else if self.word("HEADER") {
                ("header", CopyValue::Word("true".to_string()))
            } else if self.word("DELIMITER") {
                ("delimiter", self.older_string()?)
            } else if self.word("NULL") {
                ("null", self.older_string()?)
            } else if self.word("QUOTE") {
                ("quote", self.older_string()?)
            } else if self.word("ESCAPE") {
                ("escape", self.older_string()?)
            } else if self.word("ENCODING") {
                ("encoding", self.copy_string()?)
            } else if self.word("FORCE") {
                self.forced()?
            } else {
                return Ok(());
            };
            self.option(options, at, name, value);
        }
    }

    fn older_string(&mut self) -> Result<CopyValue> {
        self.word("AS");
        self.copy_string()
    }

    /// FORCE, taken, and its columns.
    fn forced(&mut self) -> Result<(&'static str, CopyValue)> {
        if self.word("QUOTE") {
            if self.token(&Token::Mul) {
                return Ok(("force_quote", CopyValue::All));
            }
            return Ok(("force_quote", self.forced_columns()?));
        }
        let name = match self.word("NOT") {
            true => "force_not_null",
            false => "force_null",
        };
        self.expect("NULL")?;
        Ok((name, self.forced_columns()?))
    }

    fn forced_columns(&mut self) -> Result<CopyValue> {
        let mut names = vec![self.name()?];
        while self.token(&Token::Comma) {
            names.push(self.name()?);
        }
        Ok(CopyValue::Names(names))
    }

    fn option(&self, options: &mut Vec<CopyOption>, at: usize, name: &str, value: CopyValue) {
        options.push(CopyOption {
            name: name.to_string(),
            value,
            position: self.position(at),
        });
    }

    /// `SELECT 1 WHERE condition`, of the WHERE at this place, which ends the statement.
    fn condition(&mut self, at: usize) -> Vec<TokenWithSpan> {
        let span = self.tokens[at].span;
        let select = [
            Token::make_keyword("SELECT"),
            Token::Number("1".to_string(), false),
        ];
        let select = select.map(|token| TokenWithSpan { token, span });
        let condition = self.tokens[at..].iter().cloned();
        let tree = select.into_iter().chain(condition).collect();
        self.at = self.tokens.len();
        tree
    }
}

/// Takes ALLOW FILTERING away where it ends a query.
fn take_allow_filtering(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let is_named = |token: &TokenWithSpan, text: &str| {
        matches!(&token.token, Token::Word(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(text))
    };
    let ends = matches!(tokens.as_slice(), [_, .., allow, filtering]
        if is_named(allow, "ALLOW") && is_named(filtering, "FILTERING"));
    if ends {
        tokens.truncate(tokens.len() - 2);
    }
    ends
}

fn not_allowed(message: &str, position: usize) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: message.to_string(),
        hint: None,
    }
    .at(TextPlace::Character(position))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::ParsedStatement;
    use crate::parse::command::Command;

    fn parsed(text: &str) -> ParsedStatement {
        crate::parse::parse(text).unwrap().remove(0)
    }

    fn copy(text: &str) -> Copy {
        match parsed(text).command {
            Some(Command::Copy(copy)) => *copy,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn options(text: &str) -> Vec<(String, CopyValue)> {
        let options = copy(text).options.into_iter();
        options.map(|option| (option.name, option.value)).collect()
    }

    fn word(text: &str) -> CopyValue {
        CopyValue::Word(text.to_string())
    }

    #[test]
    fn subjects_and_places_are_read() {
        let read = copy("copy s.\"T\" (a, \"B\") from stdin");
        assert!(read.is_from && read.place == CopyPlace::Client && read.options.is_empty());
        match read.subject {
            CopySubject::Relation { name, columns } => {
                assert_eq!(name.to_string(), "\"s\".\"T\"");
                assert_eq!(
                    columns
                        .iter()
                        .map(|column| column.value.as_str())
                        .collect::<Vec<_>>(),
                    ["a", "B"]
                );
            }
            CopySubject::Query => panic!("a table"),
        }
        assert_eq!(
            copy("copy t to '/tmp/x'").place,
            CopyPlace::File("/tmp/x".to_string())
        );
        assert_eq!(copy("copy t to program 'x'").place, CopyPlace::Program);
        assert_eq!(
            options("copy binary t from stdin"),
            [("format".to_string(), word("binary"))]
        );
        let query = parsed("copy (select a from (values (1)) v(a) allow filtering) to stdout");
        assert_eq!(query.ast.to_string(), "SELECT a FROM (VALUES (1)) v (a)");
        assert!(query.hints.allow_filtering);
        let filtered = parsed("copy t from stdin csv where a > 1 or b");
        assert_eq!(filtered.ast.to_string(), "SELECT 1 WHERE a > 1 OR b");
    }

    #[test]
    fn options_of_every_syntax_are_read() {
        let read = options(
            "copy t from stdin with (format csv, header, null 'x', freeze 0, force_quote *, force_null (a, b), header match)",
        );
        let names = CopyValue::Names(vec!["a".to_string(), "b".to_string()]);
        let expected = [
            ("format", word("csv")),
            ("header", CopyValue::Absent),
            ("null", word("x")),
            ("freeze", CopyValue::Number("0".to_string())),
            ("force_quote", CopyValue::All),
            ("force_null", names.clone()),
            ("header", word("match")),
        ];
        assert_eq!(read, expected.map(|(name, value)| (name.to_string(), value)));
        let read = options(
            "copy t to stdout using delimiters '|' with csv header quote as '\"' escape 'x' force quote * force not null a, b encoding 'utf8' null as ''",
        );
        let expected = [
            ("delimiter", word("|")),
            ("format", word("csv")),
            ("header", word("true")),
            ("quote", word("\"")),
            ("escape", word("x")),
            ("force_quote", CopyValue::All),
            ("force_not_null", names),
            ("encoding", word("utf8")),
            ("null", word("")),
        ];
        assert_eq!(read, expected.map(|(name, value)| (name.to_string(), value)));
    }

    #[test]
    fn what_is_no_copy_is_refused_at_its_place() {
        for (text, message, position) in [
            ("copy t", "syntax error at end of input", 7),
            ("copy t from", "syntax error at end of input", 12),
            ("copy t from stdin (format", "syntax error at end of input", 26),
            (
                "copy (select 1) from stdin",
                "syntax error at or near \"from\"",
                17,
            ),
            (
                "copy (create table x()) to stdout",
                "syntax error at or near \"create\"",
                7,
            ),
            ("copy only t to stdout", "syntax error at or near \"only\"", 6),
            ("copy () to stdout", "syntax error at or near \")\"", 7),
            ("copy (select 1 to stdout", "syntax error at end of input", 25),
            (
                "copy t from stdin with csv nonsense",
                "syntax error at or near \"nonsense\"",
                28,
            ),
            (
                "copy t to stdout where a",
                "WHERE clause not allowed with COPY TO",
                18,
            ),
            (
                "copy t from program stdin",
                "STDIN/STDOUT not allowed with PROGRAM",
                21,
            ),
        ] {
            let error = crate::parse::parse(text).unwrap_err();
            assert_eq!(
                (error.to_string().as_str(), error.position()),
                (message, Some(position)),
                "{text}"
            );
            assert_eq!(error.sqlstate(), "42601");
        }
    }
}
