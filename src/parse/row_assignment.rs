//! `SET (a, b) = (SELECT x, y …)` and `SET (a, b) = ROW(x, y)`: each column gets its value. Of a subquery it is the column of its one row,
//! `((SELECT s FROM (…) s(c1, c2))).c1`, and whoever binds it asks the subquery once for all of them ([`is_row`]).

use sqlparser::ast::{
    self, Assignment, AssignmentTarget, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query, SetExpr,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};

/// What the one row of a subquery is called, before the number of its assignment: two that read alike are asked each for itself.
const ROW: &str = "?row of ";

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
        .enumerate()
        .flat_map(|(number, assignment)| parts(&assignment, number).unwrap_or_else(|| vec![assignment]))
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

/// Whether a subquery is one whose row several columns are assigned.
pub(crate) fn is_row(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return false;
    };
    match select.from.first().map(|from| &from.relation) {
        Some(ast::TableFactor::Derived {
            alias: Some(alias), ..
        }) => is_row_name(&alias.name.value),
        _ => false,
    }
}

/// Whether a relation is the row of such a subquery.
pub(crate) fn is_row_name(relation: &str) -> bool {
    relation.starts_with(ROW)
}

/// One assignment a column; `None`: the value is no subquery.
fn parts(assignment: &Assignment, number: usize) -> Option<Vec<Assignment>> {
    let (AssignmentTarget::Tuple(columns), Expr::Subquery(query)) = (&assignment.target, &assignment.value)
    else {
        return None;
    };
    let row = format!("\"{ROW}{number}\"");
    let assigned = columns.iter().enumerate().map(|(at, column)| Assignment {
        target: AssignmentTarget::ColumnName(column.clone()),
        value: match columns.len() {
            1 => assignment.value.clone(),
            width => column_of_row(query, &row, (at, width)),
        },
    });
    Some(assigned.collect())
}

/// `((SELECT "?row of 0" FROM (query) AS "?row of 0"("?column 1", …)))."?column 1"`.
fn column_of_row(query: &Query, row: &str, (at, columns): (usize, usize)) -> Expr {
    let names: Vec<String> = (1..=columns)
        .map(|number| format!("\"?column {number}\""))
        .collect();
    let text = format!(
        "((SELECT {row} FROM (SELECT 1) AS {row}({}))).{}",
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
