//! The small internal form of a WHERE clause over one table: columns by position in `TableDef::columns`, constants as
//! `Value`s, three-valued logic. `logical::filter_predicate` makes it; it must not know where it came from.

use crate::codec::keyspace::IndexId;
use crate::codec::terms::{Term, TermClass};
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
        /// Position in `TableDef::columns`, as in every variant.
        column: usize,
        /// The operator.
        op: CompareOp,
        /// The constant.
        value: Value,
    },
    /// `column IN (values)`.
    InList {
        /// The column.
        column: usize,
        /// The constants; may hold duplicates and NULL.
        values: Vec<Value>,
    },
    /// `column IS NULL`.
    IsNull {
        /// The column.
        column: usize,
    },
    /// `column` of type boolean, bare.
    IsTrue {
        /// The column.
        column: usize,
    },
    /// `column LIKE pattern ESCAPE escape`; works on text and bytea.
    Like {
        /// The column.
        column: usize,
        /// `Value::Text`, `Value::Bytes` or `Value::Null`.
        pattern: Value,
        /// `None`: no escape character.
        escape: Option<char>,
        /// `ILIKE`.
        case_insensitive: bool,
    },
    /// `(c1, c2) IN ((v1, v2), …)`.
    RowIn {
        /// The columns, in the order written.
        columns: Vec<usize>,
        /// Rows of constants, each as long as `columns`.
        rows: Vec<Vec<Value>>,
    },
    /// A row that may be wanted has, in this index, an entry under one of these terms. It is told beside the condition that it follows
    /// from, which says whether the row is wanted: true wherever that is asked.
    HasTerm {
        /// The index, which is inverted.
        index: IndexId,
        /// The place of the column among those whose terms it has.
        source: usize,
        /// Not empty.
        any: Vec<Term>,
    },
    /// An inverted index over the column would serve the condition beside which it is told, and there is none: true wherever it is asked.
    WouldHaveTerms {
        /// The column.
        column: usize,
        /// How the index would take its values apart.
        class: TermClass,
    },
    /// All.
    And(Vec<Predicate>),
    /// Any.
    Or(Vec<Predicate>),
    /// NOT.
    Not(Box<Predicate>),
    /// `child IS [NOT] TRUE / FALSE / UNKNOWN`; never NULL.
    Is {
        /// What is asked about.
        child: Box<Predicate>,
        /// The truth asked for; `None`: unknown.
        truth: Option<bool>,
        /// IS NOT.
        negated: bool,
    },
    /// A condition that this form cannot express, over these columns: it bounds nothing, and whoever planned it must
    /// evaluate it.
    Opaque {
        /// The columns it names.
        columns: Vec<usize>,
    },
}

impl CompareOp {
    /// The operator that is true where this one is false, for values that are not NULL.
    pub fn negated(self) -> CompareOp {
        match self {
            CompareOp::Eq => CompareOp::NotEq,
            CompareOp::NotEq => CompareOp::Eq,
            CompareOp::Less => CompareOp::GreaterEq,
            CompareOp::LessEq => CompareOp::Greater,
            CompareOp::Greater => CompareOp::LessEq,
            CompareOp::GreaterEq => CompareOp::Less,
        }
    }

    /// The operator with its sides exchanged: `5 < a` is `a > 5`.
    pub fn flipped(self) -> CompareOp {
        match self {
            CompareOp::Eq => CompareOp::Eq,
            CompareOp::NotEq => CompareOp::NotEq,
            CompareOp::Less => CompareOp::Greater,
            CompareOp::LessEq => CompareOp::GreaterEq,
            CompareOp::Greater => CompareOp::Less,
            CompareOp::GreaterEq => CompareOp::LessEq,
        }
    }

    /// Whether the operator holds for sides that compare so.
    pub fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            CompareOp::Eq => ordering.is_eq(),
            CompareOp::NotEq => ordering.is_ne(),
            CompareOp::Less => ordering.is_lt(),
            CompareOp::LessEq => ordering.is_le(),
            CompareOp::Greater => ordering.is_gt(),
            CompareOp::GreaterEq => ordering.is_ge(),
        }
    }

    /// As SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            CompareOp::Eq => "=",
            CompareOp::NotEq => "<>",
            CompareOp::Less => "<",
            CompareOp::LessEq => "<=",
            CompareOp::Greater => ">",
            CompareOp::GreaterEq => ">=",
        }
    }
}

impl Predicate {
    /// All of `children`, flattened; TRUE for none, FALSE with one that is.
    pub fn all(children: Vec<Predicate>) -> Predicate {
        let mut flat = Vec::with_capacity(children.len());
        for child in children {
            match child {
                Predicate::And(inner) => flat.extend(inner),
                Predicate::Constant(Some(true)) => {}
                Predicate::Constant(Some(false)) => return Predicate::Constant(Some(false)),
                other => flat.push(other),
            }
        }
        match flat.len() {
            0 => Predicate::Constant(Some(true)),
            1 => flat.remove(0),
            _ => Predicate::And(flat),
        }
    }

    /// Any of `children`, flattened; FALSE for none, TRUE with one that is.
    pub fn any(children: Vec<Predicate>) -> Predicate {
        let mut flat = Vec::with_capacity(children.len());
        for child in children {
            match child {
                Predicate::Or(inner) => flat.extend(inner),
                Predicate::Constant(Some(false)) => {}
                Predicate::Constant(Some(true)) => return Predicate::Constant(Some(true)),
                other => flat.push(other),
            }
        }
        match flat.len() {
            0 => Predicate::Constant(Some(false)),
            1 => flat.remove(0),
            _ => Predicate::Or(flat),
        }
    }

    /// NOT; constants and double negations folded.
    pub fn negate(self) -> Predicate {
        match self {
            Predicate::Constant(truth) => Predicate::Constant(truth.map(|truth| !truth)),
            Predicate::Not(child) => *child,
            Predicate::Is {
                child,
                truth,
                negated,
            } => Predicate::Is {
                child,
                truth,
                negated: !negated,
            },
            other => Predicate::Not(Box::new(other)),
        }
    }

    /// Whether any part of it is `Opaque`.
    pub fn has_opaque(&self) -> bool {
        match self {
            Predicate::Opaque { .. } => true,
            Predicate::And(children) | Predicate::Or(children) => children.iter().any(Predicate::has_opaque),
            Predicate::Not(child) | Predicate::Is { child, .. } => child.has_opaque(),
            _ => false,
        }
    }

    /// Whether it follows from a condition beside it, and says nothing more of a row.
    pub(crate) fn is_told_beside(&self) -> bool {
        matches!(self, Predicate::HasTerm { .. } | Predicate::WouldHaveTerms { .. })
    }

    /// The columns it names, sorted, each once.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        self.for_each_column(&mut |column| columns.push(column));
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Calls `visit` with every column it names; a column named twice is visited twice.
    pub fn for_each_column(&self, visit: &mut dyn FnMut(usize)) {
        match self {
            Predicate::Constant(_) | Predicate::HasTerm { .. } | Predicate::WouldHaveTerms { .. } => {}
            Predicate::Compare { column, .. }
            | Predicate::InList { column, .. }
            | Predicate::IsNull { column }
            | Predicate::IsTrue { column }
            | Predicate::Like { column, .. } => visit(*column),
            Predicate::RowIn { columns, .. } | Predicate::Opaque { columns } => {
                columns.iter().for_each(|column| visit(*column))
            }
            Predicate::And(children) | Predicate::Or(children) => {
                children.iter().for_each(|child| child.for_each_column(visit));
            }
            Predicate::Not(child) | Predicate::Is { child, .. } => child.for_each_column(visit),
        }
    }

    /// The conjuncts of the condition: its children when it is an AND, however nested, else itself.
    pub(crate) fn conjuncts(&self) -> Vec<&Predicate> {
        match self {
            Predicate::And(children) => children.iter().flat_map(Predicate::conjuncts).collect(),
            other => vec![other],
        }
    }
}

/// `(c1, c2) IN (rows)` as an OR of equalities.
pub(crate) fn lower_row_in(columns: &[usize], rows: &[Vec<Value>]) -> Predicate {
    Predicate::any(
        rows.iter()
            .map(|row| {
                let equal = |(column, value): (&usize, &Value)| Predicate::Compare {
                    column: *column,
                    op: CompareOp::Eq,
                    value: value.clone(),
                };
                Predicate::all(columns.iter().zip(row).map(equal).collect())
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaque_parts_are_found_however_deep() {
        let opaque = Predicate::Opaque { columns: vec![1] };
        let both = Predicate::And(vec![Predicate::Constant(None), opaque]);
        assert!(Predicate::Not(Box::new(both)).has_opaque());
        assert!(!Predicate::Or(vec![Predicate::Constant(Some(true))]).has_opaque());
    }
}
