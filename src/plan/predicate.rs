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
    Compare {
        column: usize,
        op: CompareOp,
        value: Value,
    },
    /// `column IN (values)`.
    InList { column: usize, values: Vec<Value> },
    /// `column IS NULL`.
    IsNull { column: usize },
    /// `column` of type boolean, bare.
    IsTrue { column: usize },
    /// `column LIKE pattern ESCAPE escape` (`escape` `None`: no escape character); works on text and bytea.
    Like {
        column: usize,
        pattern: Value,
        escape: Option<char>,
        case_insensitive: bool,
    },
    /// `(c1, c2) op (v1, v2)`.
    RowCompare {
        columns: Vec<usize>,
        op: CompareOp,
        values: Vec<Value>,
    },
    /// `(c1, c2) IN ((v1, v2), …)`.
    RowIn {
        columns: Vec<usize>,
        rows: Vec<Vec<Value>>,
    },
    /// All.
    And(Vec<Predicate>),
    /// Any.
    Or(Vec<Predicate>),
    /// NOT.
    Not(Box<Predicate>),
    /// `child IS [NOT] TRUE / FALSE / UNKNOWN`: true when the child's truth is `truth` (`None`: unknown); never NULL.
    Is {
        child: Box<Predicate>,
        truth: Option<bool>,
        negated: bool,
    },
    /// A condition that this form cannot express, over these columns: it bounds nothing, and whoever planned it must
    /// evaluate it.
    Opaque { columns: Vec<usize> },
}

impl Predicate {
    /// Calls `visit` with every column the predicate names, as often as it names it.
    pub fn for_each_column(&self, visit: &mut dyn FnMut(usize)) {
        match self {
            Predicate::Constant(_) => {}
            Predicate::Compare { column, .. }
            | Predicate::InList { column, .. }
            | Predicate::IsNull { column }
            | Predicate::IsTrue { column }
            | Predicate::Like { column, .. } => visit(*column),
            Predicate::RowCompare { columns, .. }
            | Predicate::RowIn { columns, .. }
            | Predicate::Opaque { columns } => columns.iter().for_each(|&column| visit(column)),
            Predicate::And(children) | Predicate::Or(children) => {
                children.iter().for_each(|child| child.for_each_column(visit));
            }
            Predicate::Not(child) | Predicate::Is { child, .. } => child.for_each_column(visit),
        }
    }

    /// Whether some part of it is opaque, so that `residual::evaluate` cannot decide it.
    pub fn has_opaque(&self) -> bool {
        match self {
            Predicate::Opaque { .. } => true,
            Predicate::And(children) | Predicate::Or(children) => children.iter().any(Predicate::has_opaque),
            Predicate::Not(child) | Predicate::Is { child, .. } => child.has_opaque(),
            Predicate::Constant(_)
            | Predicate::Compare { .. }
            | Predicate::InList { .. }
            | Predicate::IsNull { .. }
            | Predicate::IsTrue { .. }
            | Predicate::Like { .. }
            | Predicate::RowCompare { .. }
            | Predicate::RowIn { .. } => false,
        }
    }
}
