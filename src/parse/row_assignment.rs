//! `UPDATE t SET (a, b) = (SELECT x, y …)`: each column gets a subquery of its own, which gives the same values.

use sqlparser::ast::{self, Assignment, AssignmentTarget, Expr, Query, SelectItem, SetExpr};
use sqlparser::parser::{Parser, ParserError};

/// The UPDATE that is next, its row assignments taken apart.
pub(super) fn parse_update(parser: &mut Parser) -> Result<ast::Statement, ParserError> {
    let verb = parser.next_token();
    let mut statement = parser.parse_update(verb)?;
    if let ast::Statement::Update(update) = &mut statement {
        update.assignments = std::mem::take(&mut update.assignments)
            .into_iter()
            .flat_map(|assignment| parts(&assignment).unwrap_or_else(|| vec![assignment]))
            .collect();
    }
    Ok(statement)
}

/// One assignment a column; `None` when the value is no plain SELECT of as many expressions as there are columns.
fn parts(assignment: &Assignment) -> Option<Vec<Assignment>> {
    let (AssignmentTarget::Tuple(columns), Expr::Subquery(query)) = (&assignment.target, &assignment.value)
    else {
        return None;
    };
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let plain = select.projection.len() == columns.len() && select.distinct.is_none();
    let ordered = query.order_by.is_some();
    let expressions = select.projection.iter().all(|item| {
        matches!(
            item,
            SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
        )
    });
    if !plain || ordered || !expressions {
        return None;
    }
    let only = |index: usize| -> Box<Query> {
        let mut query = query.clone();
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.projection = vec![select.projection.swap_remove(index)];
        }
        query
    };
    let assigned = columns.iter().enumerate().map(|(index, column)| Assignment {
        target: AssignmentTarget::ColumnName(column.clone()),
        value: Expr::Subquery(only(index)),
    });
    Some(assigned.collect())
}
