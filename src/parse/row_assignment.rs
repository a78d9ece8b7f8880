//! `SET (a, b) = (SELECT x, y …)` and `SET (a, b) = ROW(x, y)`: each column gets a subquery of its own, which gives the same values, or its
//! value.

use sqlparser::ast::{
    self, Assignment, AssignmentTarget, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query,
    SelectItem, SetExpr,
};
use sqlparser::parser::{Parser, ParserError};

/// The UPDATE that is next, its row assignments taken apart.
pub(super) fn parse_update(parser: &mut Parser) -> Result<ast::Statement, ParserError> {
    let verb = parser.next_token();
    let mut statement = parser.parse_update(verb)?;
    if let ast::Statement::Update(update) = &mut statement {
        take_apart(&mut update.assignments);
    }
    Ok(statement)
}

/// The MERGE that is next, likewise.
pub(super) fn parse_merge(parser: &mut Parser) -> Result<ast::Statement, ParserError> {
    let verb = parser.next_token();
    let mut merge = parser.parse_merge(verb)?;
    for clause in &mut merge.clauses {
        if let ast::MergeAction::Update(update) = &mut clause.action {
            take_apart(&mut update.assignments);
        }
    }
    Ok(ast::Statement::Merge(merge))
}

/// Has each column get what is its own.
pub(super) fn take_apart(assignments: &mut Vec<Assignment>) {
    *assignments = std::mem::take(assignments)
        .into_iter()
        .map(|mut assignment| {
            if let (AssignmentTarget::Tuple(_), Some(values)) =
                (&assignment.target, row_values(&assignment.value))
            {
                assignment.value = Expr::Tuple(values);
            }
            assignment
        })
        .flat_map(|assignment| parts(&assignment).unwrap_or_else(|| vec![assignment]))
        .collect();
}

/// The values of `ROW(…)`, if it names each.
fn row_values(value: &Expr) -> Option<Vec<Expr>> {
    let Expr::Function(call) = value else { return None };
    let FunctionArguments::List(list) = &call.args else {
        return None;
    };
    if !call.name.to_string().eq_ignore_ascii_case("row") {
        return None;
    }
    let values = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
        _ => None,
    });
    values.collect()
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
