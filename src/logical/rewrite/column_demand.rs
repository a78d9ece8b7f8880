//! `Asked`: which columns of a node are asked for, by their places, and whether it matters how often a row comes.

use crate::tree::{Column, Expr, RowSchema, Subquery, TreeNode, TreeNodeRecursion};

/// What is asked of a node.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    /// Places of columns, in order, each once.
    columns: Vec<usize>,
    /// Rows that come several times are as good as rows that come once.
    pub(super) once: bool,
}

impl Asked {
    /// All columns, each row as often as it comes.
    pub(super) fn all(schema: &RowSchema) -> Asked {
        Asked {
            columns: (0..schema.fields().len()).collect(),
            once: false,
        }
    }

    /// These columns.
    pub(super) fn of(mut columns: Vec<usize>, once: bool) -> Asked {
        columns.sort_unstable();
        columns.dedup();
        Asked { columns, once }
    }

    /// The columns that expressions over a node are computed of.
    pub(super) fn by<'a>(exprs: impl IntoIterator<Item = &'a Expr>, schema: &RowSchema, once: bool) -> Asked {
        let mut asked = Asked {
            columns: Vec::new(),
            once,
        };
        asked.add(exprs, schema);
        asked
    }

    /// And those of these expressions.
    pub(super) fn add<'a>(&mut self, exprs: impl IntoIterator<Item = &'a Expr>, schema: &RowSchema) {
        for expr in exprs {
            add_places(expr, schema, &mut self.columns);
        }
        self.columns.sort_unstable();
        self.columns.dedup();
    }

    /// And one at least of these columns, if there is any: rows without columns cannot be sorted, and by a parameter they may have to be.
    pub(super) fn or_one(mut self, schema: &RowSchema) -> Asked {
        if self.columns.is_empty() && !schema.fields().is_empty() {
            self.columns.push(0);
        }
        self
    }

    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Those of the first `count` columns, and those of the others, counted from these on.
    pub(super) fn split(&self, count: usize) -> (Vec<usize>, Vec<usize>) {
        let (first, others): (Vec<usize>, Vec<usize>) = self.columns.iter().partition(|at| **at < count);
        (first, others.into_iter().map(|at| at - count).collect())
    }

    /// The columns themselves.
    pub(super) fn exprs(&self, schema: &RowSchema) -> Vec<Expr> {
        let columns = self.columns.iter();
        columns
            .map(|at| Expr::Column(Column::from(schema.qualified_field(*at))))
            .collect()
    }

    /// What stands at their places.
    pub(super) fn taken<T: Clone>(&self, of: &[T]) -> Vec<T> {
        self.columns
            .iter()
            .filter_map(|at| of.get(*at))
            .cloned()
            .collect()
    }
}

/// Adds the places of the columns of an expression, those too by which a subquery refers out.
fn add_places(expr: &Expr, schema: &RowSchema, places: &mut Vec<usize>) {
    // No step of it fails.
    let _ = expr.apply(|expr| {
        match expr {
            Expr::Column(column) | Expr::OuterReferenceColumn(_, column) => {
                places.extend(schema.maybe_index_of_column(column));
            }
            Expr::ScalarSubquery(subquery) => add_outer(subquery, schema, places),
            Expr::Exists(exists) => add_outer(&exists.subquery, schema, places),
            Expr::InSubquery(test) => add_outer(&test.subquery, schema, places),
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    });
}

fn add_outer(subquery: &Subquery, schema: &RowSchema, places: &mut Vec<usize>) {
    for outer in &subquery.outer_ref_columns {
        add_places(outer, schema, places);
    }
}
