//! What is asked of one relation because of what is asked of another: of columns that equal those, and of the alternatives of an OR
//! between relations. It narrows what is read; that a table may be read at all is judged without it (`full_scan_rule`).

use super::is_asked_by_join;
use super::operands::operands_of;
use crate::logical::equal_columns::EqualColumns;
use crate::tree::{Expr, Operator, RowSchema, Transformed, TreeNode, disjunction, with_stack};

/// What a condition says of columns of `schema`, which equal all of its own. `None`: some equal none.
pub(super) fn said_of(equal: &EqualColumns, condition: &Expr, schema: &RowSchema) -> Option<Expr> {
    if equal.is_empty() || condition.is_volatile() || !is_asked_by_join(condition) {
        return None;
    }
    let columns = condition.column_refs();
    if columns.is_empty()
        || !columns
            .into_iter()
            .all(|column| equal.equal_in(column, schema).is_some())
    {
        return None;
    }
    let said = condition.clone().transform_up(|expr| {
        let Expr::Column(column) = &expr else {
            return Ok(Transformed::no(expr));
        };
        Ok(match equal.equal_in(column, schema) {
            Some(equal) => Transformed::yes(Expr::Column(equal.clone())),
            None => Transformed::no(expr),
        })
    });
    said.ok().map(|said| said.data)
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
