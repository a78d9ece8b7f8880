//! `SET (a, b) = (SELECT x, y …)` and `SET (a, b) = ROW(x, y)`: each column gets its value. Of a plain SELECT of columns and constants it has
//! a subquery of its own, which gives the same; of any other the column of its one row, `((SELECT s FROM (…) s(c1, c2))).c1`.

use std::ops::ControlFlow;

use sqlparser::ast::{
    self, Assignment, AssignmentTarget, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query,
    SelectItem, SetExpr,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};

use super::walk::visit_expressions;

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
    take_merge_apart(&mut merge);
    Ok(ast::Statement::Merge(merge))
}

/// Has each column of its updates get what is its own.
pub(super) fn take_merge_apart(merge: &mut ast::Merge) {
    for clause in &mut merge.clauses {
        if let ast::MergeAction::Update(update) = &mut clause.action {
            take_apart(&mut update.assignments);
        }
    }
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

/// One assignment a column; `None`: the value is no subquery.
fn parts(assignment: &Assignment) -> Option<Vec<Assignment>> {
    let (AssignmentTarget::Tuple(columns), Expr::Subquery(query)) = (&assignment.target, &assignment.value)
    else {
        return None;
    };
    let own = match query.body.as_ref() {
        SetExpr::Select(select) if is_plain(select, query) && select.projection.len() == columns.len() => {
            own_query
        }
        _ => column_of_row,
    };
    let assigned = columns.iter().enumerate().map(|(at, column)| Assignment {
        target: AssignmentTarget::ColumnName(column.clone()),
        value: own(query, at, columns.len()),
    });
    Some(assigned.collect())
}

/// Whether a query gives the same rows whichever of its columns are asked for.
fn is_plain(select: &ast::Select, query: &Query) -> bool {
    let is_plain = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            // A call may be of an aggregate, or give another value each time.
            let mut calls = false;
            let _: ControlFlow<()> = visit_expressions(expr, |part: &Expr| {
                calls |= matches!(part, Expr::Function(_));
                ControlFlow::Continue(())
            });
            !calls
        }
        _ => false,
    };
    select.distinct.is_none() && query.order_by.is_none() && select.projection.iter().all(is_plain)
}

fn own_query(query: &Query, at: usize, _: usize) -> Expr {
    let mut query = query.clone();
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.projection = vec![select.projection.swap_remove(at)];
    }
    Expr::Subquery(Box::new(query))
}

/// `((SELECT "?row" FROM (query) AS "?row"("?column 1", …)))."?column 1"`.
fn column_of_row(query: &Query, at: usize, columns: usize) -> Expr {
    let names: Vec<String> = (1..=columns)
        .map(|number| format!("\"?column {number}\""))
        .collect();
    let text = format!(
        "((SELECT \"?row\" FROM (SELECT 1) AS \"?row\"({}))).{}",
        names.join(", "),
        names[at]
    );
    let around = Parser::new(&PostgreSqlDialect {}).try_with_sql(&text);
    let around = around.and_then(|mut parser| parser.parse_expr());
    around
        .ok()
        .and_then(|mut around| {
            **row_query(&mut around)? = query.clone();
            Some(around)
        })
        .unwrap_or_else(|| Expr::Subquery(Box::new(query.clone())))
}

/// The query whose row it is.
fn row_query(column: &mut Expr) -> Option<&mut Box<Query>> {
    let Expr::CompoundFieldAccess { root, .. } = column else {
        return None;
    };
    let mut root = root.as_mut();
    while let Expr::Nested(inner) = root {
        root = inner;
    }
    let Expr::Subquery(row) = root else { return None };
    let SetExpr::Select(select) = row.body.as_mut() else {
        return None;
    };
    match &mut select.from.first_mut()?.relation {
        ast::TableFactor::Derived { subquery, .. } => Some(subquery),
        _ => None,
    }
}
