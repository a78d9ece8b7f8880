//! The SQL/JSON path language: the tree of a path, which `JsonPath::parse` reads and which prints as PostgreSQL's jsonpath does
//! (`$.a[*] ? (@ > 1)` is `$."a"[*]?(@ > 1)`). A value of the type jsonpath is this text. What a path finds in a document is computed by
//! `functions`; nothing here knows of documents.

mod parser;
mod printer;
mod scanner;

use super::Numeric;

/// The items that a path may have, so that reading and running it recurse only so deep.
pub(crate) const PATH_ITEMS_MAX: usize = 1_000;

/// A path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JsonPath {
    /// Whether what is missing is an error.
    pub(crate) is_strict: bool,
    /// What it computes.
    pub(crate) expression: Expression,
}

/// What is computed first, and the steps from there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expression {
    pub(crate) head: Head,
    pub(crate) steps: Vec<Step>,
}

/// What an expression begins with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Head {
    Null,
    Boolean(bool),
    Number(Numeric),
    String(String),
    /// `$name`.
    Variable(String),
    /// `$`.
    Root,
    /// `@`.
    Current,
    /// `last`.
    Last,
    Arithmetic(Arithmetic, Box<Expression>, Box<Expression>),
    /// `+x`.
    Plus(Box<Expression>),
    /// `-x`.
    Minus(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    IsUnknown(Box<Expression>),
    Comparison(Comparison, Box<Expression>, Box<Expression>),
    /// `whole starts with start`.
    StartsWith(Box<Expression>, Box<Expression>),
    LikeRegex(Box<Expression>, Pattern),
    Exists(Box<Expression>),
}

impl Head {
    /// Whether it is true, false or unknown.
    pub(crate) fn is_predicate(&self) -> bool {
        matches!(
            self,
            Head::And(..)
                | Head::Or(..)
                | Head::Not(_)
                | Head::IsUnknown(_)
                | Head::Comparison(..)
                | Head::StartsWith(..)
                | Head::LikeRegex(..)
                | Head::Exists(_)
        )
    }
}

/// An operator of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Arithmetic {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Modulo => "%",
        }
    }
}

/// A comparison of two items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

/// The pattern of `like_regex`, and its flags.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    /// `i`: upper and lower case are the same.
    pub(crate) ignores_case: bool,
    /// `s`: a dot matches a newline.
    pub(crate) dot_matches_newline: bool,
    /// `m`: `^` and `$` match at newlines.
    pub(crate) anchors_match_lines: bool,
    /// `x`: blanks do not count; only beside `q`.
    pub(crate) is_expanded: bool,
    /// `q`: no character has a meaning of its own.
    pub(crate) is_literal: bool,
}

/// A step from items to others.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// `.key`.
    Key(String),
    /// `.*`.
    EveryKey,
    /// `[*]`.
    EveryElement,
    /// `[1, 3 to last]`.
    Elements(Vec<(Expression, Option<Expression>)>),
    /// `.**{first to last}`; [`LEVEL_LAST`] for what has nothing inside.
    Levels(u32, u32),
    /// `? (condition)`.
    Filter(Box<Expression>),
    Method(Method),
    /// `.datetime("template")`.
    Datetime(Option<String>),
}

/// The level of `.**{last}`, and the end of `.**`.
pub(crate) const LEVEL_LAST: u32 = u32::MAX;

/// A method without arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Type,
    Size,
    Abs,
    Floor,
    Ceiling,
    Double,
    KeyValue,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Type => "type",
            Method::Size => "size",
            Method::Abs => "abs",
            Method::Floor => "floor",
            Method::Ceiling => "ceiling",
            Method::Double => "double",
            Method::KeyValue => "keyvalue",
        }
    }

    fn named(name: &str) -> Option<Method> {
        let all = [
            Method::Type,
            Method::Size,
            Method::Abs,
            Method::Floor,
            Method::Ceiling,
            Method::Double,
            Method::KeyValue,
        ];
        all.into_iter()
            .find(|method| method.name().eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests;
