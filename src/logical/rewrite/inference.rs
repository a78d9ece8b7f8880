//! What is asked of one relation because of what is asked of another: of columns that equal those, and of the alternatives of an OR
//! between relations. It narrows what is read; that a table may be read at all is judged without it (`full_scan_rule`).

use super::is_asked_by_join;
use super::operands::operands_of;
use crate::tree::{Column, Expr, Operator, RowSchema, Transformed, TreeNode, disjunction, with_stack};

/// Columns that equal each other where all equalities hold.
#[derive(Debug, Default)]
pub(super) struct EqualColumns {
    classes: Vec<Vec<Column>>,
}

impl EqualColumns {
    pub(super) fn add(&mut self, one: &Column, other: &Column) {
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

    /// What a condition says of columns of `schema`, which equal all of its own. `None`: some equal none.
    pub(super) fn said_of(&self, condition: &Expr, schema: &RowSchema) -> Option<Expr> {
        if self.classes.is_empty() || condition.is_volatile() || !is_asked_by_join(condition) {
            return None;
        }
        let columns = condition.column_refs();
        if columns.is_empty()
            || !columns
                .into_iter()
                .all(|column| self.equal_in(column, schema).is_some())
        {
            return None;
        }
        let said = condition.clone().transform_up(|expr| {
            let Expr::Column(column) = &expr else {
                return Ok(Transformed::no(expr));
            };
            Ok(match self.equal_in(column, schema) {
                Some(equal) => Transformed::yes(Expr::Column(equal.clone())),
                None => Transformed::no(expr),
            })
        });
        said.ok().map(|said| said.data)
    }

    fn equal_in(&self, column: &Column, schema: &RowSchema) -> Option<&Column> {
        let class = self.classes.iter().find(|class| class.contains(column))?;
        class.iter().find(|equal| schema.has_column(equal))
    }
}

/// What every side of an OR says of the columns of `schema` alone, as an OR. `None`: some side says nothing of them.
pub(super) fn alternatives(condition: &Expr, schema: &RowSchema) -> Option<Expr> {
    let Expr::BinaryExpr(binary) = condition else {
        return None;
    };
    if binary.op != Operator::Or || condition.is_volatile() {
        return None;
    }
    let sides = operands_of(condition, Operator::Or).into_iter();
    let said = sides
        .map(|side| said_by(side, schema))
        .collect::<Option<Vec<Expr>>>()?;
    disjunction(said)
}

/// What an AND says of the columns of `schema` alone.
fn said_by(side: &Expr, schema: &RowSchema) -> Option<Expr> {
    let parts = operands_of(side, Operator::And).into_iter();
    let own = parts.filter_map(|part| {
        let columns = part.column_refs();
        match columns.is_empty() || !columns.into_iter().all(|column| schema.has_column(column)) {
            true => with_stack(|| alternatives(part, schema)),
            false => Some(part.clone()),
        }
    });
    own.reduce(Expr::and)
}
