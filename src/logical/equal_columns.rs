//! `EqualColumns`: columns that equal each other where all equalities hold.

use crate::tree::{Column, Expr, RowSchema};

/// Classes of columns; one is in one class at most.
#[derive(Debug, Clone, Default)]
pub(crate) struct EqualColumns {
    classes: Vec<Vec<Column>>,
}

impl EqualColumns {
    /// Whether no column is known to equal another.
    pub(crate) fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// The columns of each class.
    pub(crate) fn classes(&self) -> impl Iterator<Item = &[Column]> {
        self.classes.iter().map(Vec::as_slice)
    }

    /// Learns that two columns are equal.
    pub(crate) fn add(&mut self, one: &Column, other: &Column) {
        let class_of = |classes: &[Vec<Column>], column: &Column| {
            classes.iter().position(|class| class.contains(column))
        };
        match (class_of(&self.classes, one), class_of(&self.classes, other)) {
            (Some(at), Some(from)) if at != from => {
                let joined = std::mem::take(&mut self.classes[from]);
                self.classes[at].extend(joined);
                self.classes.swap_remove(from);
            }
            (Some(_), Some(_)) => {}
            (Some(at), None) => self.classes[at].push(other.clone()),
            (None, Some(at)) => self.classes[at].push(one.clone()),
            (None, None) => self.classes.push(vec![one.clone(), other.clone()]),
        }
    }

    /// The column of `schema` that equals this one.
    pub(crate) fn equal_in(&self, column: &Column, schema: &RowSchema) -> Option<&Column> {
        let class = self.classes.iter().find(|class| class.contains(column))?;
        class.iter().find(|equal| schema.has_column(equal))
    }

    /// What makes all columns of both sides equal that should be, where those of each side alone are: no equality follows from others.
    pub(crate) fn between(&self, left: &RowSchema, right: &RowSchema) -> Vec<Expr> {
        let mut equalities = Vec::new();
        for class in &self.classes {
            let Some(own) = class.iter().find(|column| left.has_column(column)) else {
                continue;
            };
            let others = class.iter().filter(|column| right.has_column(column));
            equalities.extend(others.map(|other| Expr::Column(own.clone()).eq(Expr::Column(other.clone()))));
        }
        equalities
    }
}
