//! The small internal form of a WHERE clause over one table: columns by position in `TableDef::columns`, constants as
//! `Value`s, three-valued logic.

use crate::types::Value;

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareOp {
    /// `=`
    Eq,
    /// `<>`
    NotEq,
    /// `<`
    Less,
    /// `<=`
    LessEq,
    /// `>`
    Greater,
    /// `>=`
    GreaterEq,
}

/// A condition. Constants keep the type they were written with (`a = 1.5` on an integer column keeps the numeric):
/// comparing follows PostgreSQL's rules for the pair of types, and never rounds the constant.
/// `Value::Unknown` constants have been parsed to the column's type before they come here.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// TRUE, FALSE or NULL.
    Constant(Option<bool>),
    /// `column op value`; NULL when either is NULL.
    Compare { column: usize, op: CompareOp, value: Value },
    /// `column IN (values)`.
    InList { column: usize, values: Vec<Value> },
    /// `column IS NULL`.
    IsNull { column: usize },
    /// `column` of type boolean, bare.
    IsTrue { column: usize },
    /// `column LIKE pattern ESCAPE escape` (`escape` `None`: no escape character); works on text and bytea.
    Like { column: usize, pattern: Value, escape: Option<char>, case_insensitive: bool },
    /// `(c1, c2) op (v1, v2)`.
    RowCompare { columns: Vec<usize>, op: CompareOp, values: Vec<Value> },
    /// `(c1, c2) IN ((v1, v2), …)`.
    RowIn { columns: Vec<usize>, rows: Vec<Vec<Value>> },
    /// All.
    And(Vec<Predicate>),
    /// Any.
    Or(Vec<Predicate>),
    /// NOT.
    Not(Box<Predicate>),
    /// `child IS [NOT] TRUE / FALSE / UNKNOWN`: true when the child's truth is `truth` (`None`: unknown); never NULL.
    Is { child: Box<Predicate>, truth: Option<bool>, negated: bool },
    /// A condition that this form cannot express, over these columns: it bounds nothing, and whoever planned it must
    /// evaluate it.
    Opaque { columns: Vec<usize> },
}
