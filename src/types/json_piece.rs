//! JSON text taken apart without changing it: what json's functions give back is a piece of what was written, and a piece
//! of jsonb's normalized text is normalized. The text was checked when it became a value.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::Deserializer;

use crate::Result;

/// The text of one JSON value, without blanks around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'a>(&'a str);

/// What a JSON value is. In the order in which jsonb compares values of different kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// null.
    Null,
    /// In quotes.
    String,
    /// Digits.
    Number,
    /// true or false.
    Boolean,
    /// In brackets.
    Array,
    /// In braces.
    Object,
}

/// A text as a string of JSON.
pub(crate) fn quoted(text: String) -> String {
    serde_json::Value::String(text).to_string()
}

impl<'a> Piece<'a> {
    /// Of a whole document.
    pub(crate) fn new(text: &'a str) -> Piece<'a> {
        Piece(text.trim_matches(is_blank))
    }

    /// As it was written.
    pub(crate) fn text(self) -> &'a str {
        self.0
    }

    /// The first letter tells it.
    pub(crate) fn kind(self) -> Kind {
        match self.0.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// The characters of a string, or of a key; `None` for other kinds.
    pub(crate) fn string(self) -> Option<String> {
        serde_json::from_str(self.0).ok()
    }

    /// A string without its quotes, `None` for null, anything else as it is written.
    pub(crate) fn plain_text(self) -> Option<Cow<'a, str>> {
        match self.kind() {
            Kind::Null => None,
            Kind::String if self.0.contains('\\') => self.string().map(Cow::Owned),
            Kind::String => Some(Cow::Borrowed(self.0.trim_matches('"'))),
            _ => Some(Cow::Borrowed(self.0)),
        }
    }

    /// The items of an array; none of other kinds.
    pub(crate) fn items(self) -> impl Iterator<Item = Piece<'a>> {
        self.parts(Kind::Array)
    }

    /// Keys and values of an object, as written: of equal keys in json the last counts.
    pub(crate) fn members(self) -> impl Iterator<Item = (String, Piece<'a>)> {
        let mut parts = self.parts(Kind::Object);
        std::iter::from_fn(move || Some((parts.next()?.string()?, parts.next()?)))
    }

    /// The same document of its members that count, with each value that is no array or object made anew. Errors: those of the values.
    pub(crate) fn rebuilt(
        self,
        counts: &impl Fn(Piece<'_>) -> bool,
        value: &impl Fn(Piece<'_>) -> Result<String>,
    ) -> Result<String> {
        match self.kind() {
            Kind::Object => {
                let members = self.members().filter(|(_, member)| counts(*member));
                let members = members
                    .map(|(key, member)| Ok(format!("{}:{}", quoted(key), member.rebuilt(counts, value)?)));
                Ok(format!("{{{}}}", members.collect::<Result<Vec<_>>>()?.join(",")))
            }
            Kind::Array => {
                let items = self.items().map(|item| item.rebuilt(counts, value));
                Ok(format!("[{}]", items.collect::<Result<Vec<_>>>()?.join(",")))
            }
            _ => value(self),
        }
    }

    /// The value of a key.
    pub(crate) fn member(self, key: &str) -> Option<Piece<'a>> {
        let found = self.members().filter(|(name, _)| name == key).last();
        found.map(|(_, value)| value)
    }

    /// The item at a place; negative ones count from the end.
    pub(crate) fn item(self, index: i64) -> Option<Piece<'a>> {
        let from_start = match usize::try_from(index) {
            Ok(at) => at,
            Err(_) => {
                let from_end = usize::try_from(index.unsigned_abs()).ok()?;
                self.items().count().checked_sub(from_end)?
            }
        };
        self.items().nth(from_start)
    }

    /// The values inside an array or object, keys included.
    fn parts(self, kind: Kind) -> Parts<'a> {
        let inside = self.0.get(1..).filter(|_| self.kind() == kind);
        Parts(inside.unwrap_or_default())
    }
}

/// What is left of an array's or object's inside.
struct Parts<'a>(&'a str);

impl<'a> Iterator for Parts<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let rest = self
            .0
            .trim_start_matches(|c| is_blank(c) || matches!(c, ',' | ':'));
        let mut values = Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        let (piece, rest) = rest.split_at_checked(values.byte_offset())?;
        self.0 = rest;
        Some(Piece(piece))
    }
}

/// JSON's blanks.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_as_they_were_written() {
        let whole = Piece::new(
            " {\"a\" : [1 ,\t\"x,]\", {}, [ ], null,-1.50e2 ] ,\"\\u0062\":true, \"a\\\"\":0,\"b\":false}\n",
        );
        let keys: Vec<String> = whole.members().map(|(key, _)| key).collect();
        assert_eq!(keys, ["a", "b", "a\"", "b"]);
        assert_eq!(whole.member("b").map(Piece::text), Some("false"));
        let items: Vec<&str> = whole
            .member("a")
            .map(|array| array.items().map(Piece::text).collect())
            .unwrap_or_default();
        assert_eq!(items, ["1", "\"x,]\"", "{}", "[ ]", "null", "-1.50e2"]);
        assert_eq!(Piece::new("[1, 2]").item(-2).map(Piece::text), Some("1"));
        assert!(Piece::new("[1, 2]").item(-3).is_none());
        assert!(Piece::new("{}").members().next().is_none());
        assert!(Piece::new("5").items().next().is_none());
    }
}
