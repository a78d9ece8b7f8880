//! SEARCH and CYCLE of a recursive query of WITH, as PostgreSQL's `rewriteSearchCycle.c` has it: the recursion gets columns more, in which
//! each row carries its place, and the way on which it was found. What is bound is the recursion that this makes.
//!
//! ```text
//! WITH RECURSIVE r(a, b) AS (left UNION ALL right) SEARCH DEPTH FIRST BY a SET o CYCLE a SET m USING p
//!
//! WITH RECURSIVE r(a, b, o, m, p) AS (
//!     SELECT a, b, ARRAY[ROW(a)], false, ARRAY[ROW(a)] FROM (left) l(a, b)
//!     UNION ALL
//!     SELECT a, b, array_cat(o, ARRAY[ROW(a)]), ROW(a) = ANY (p), array_cat(p, ARRAY[ROW(a)])
//!     FROM (right, with r.o and r.p behind its columns, where r.m <> true) r(a, b, o, p))
//! ```
//!
//! BREADTH counts the steps in a column that nobody sees: `o` is `ROW(steps, a)`.

use sqlparser::ast::{self, Ident, SelectItem};

use super::binder::{Binder, BoundQuery, fault, fold};
use super::cte_materialization::mentions;
use super::scope::{Outer, Scope};
use super::with_name::{names_of, rename};
use crate::error::StatementFault;
use crate::parse::parse;
use crate::parse::search_cycle::{self, Cycle, Search, SearchCycle};
use crate::tree::Expr;
use crate::{Error, Result};

/// The column of the steps of a search in breadth.
const DEPTH: &str = "*DEPTH*";

impl Binder<'_> {
    /// A query of WITH that has SEARCH or CYCLE; `None`: it has none. Errors: PostgreSQL's of the two, and those of the recursion.
    pub(super) fn searched(
        &mut self,
        name: &str,
        with: &ast::With,
        cte: &ast::Cte,
        outer: Option<&Outer<'_>>,
    ) -> Result<Option<BoundQuery>> {
        let Some(clauses) = search_cycle::of(cte)? else {
            return Ok(None);
        };
        if !with.recursive || mentions(cte.query.as_ref(), name) == 0 {
            return Err(syntax("WITH query is not recursive".to_string()));
        }
        let ast::SetExpr::SetOperation {
            left,
            op: ast::SetOperator::Union,
            set_quantifier,
            right,
        } = cte.query.body.as_ref()
        else {
            return self.recursive(name, cte, outer).map(Some);
        };
        for (side, term) in [("left", left), ("right", right)] {
            if matches!(**term, ast::SetExpr::SetOperation { .. }) {
                let message =
                    format!("with a SEARCH or CYCLE clause, the {side} side of the UNION must be a SELECT");
                return Err(fault(StatementFault::NotImplemented, message));
            }
        }
        if mentions(left.as_ref(), name) > 0 {
            return self.recursive(name, cte, outer).map(Some);
        }
        let mut start = self.set_expr(left, outer)?;
        rename(names_of(&mut start), &cte.alias, name)?;
        let columns: Vec<String> = names_of(&mut start).map(|name| name.clone()).collect();
        check(&clauses, &columns, &right.to_string())?;
        if let Some((mark, default)) = clauses.cycle.as_ref().and_then(|cycle| cycle.values.as_ref()) {
            let nothing = Scope::default();
            let place = Self::item_place(&nothing, outer);
            let values = [self.expression(mark, place)?, self.expression(default, place)?];
            self.common_type_of("CYCLE", &values)?;
        }
        let right = carrying(name, &columns, &clauses, right)?;
        let body = template(
            &clauses,
            &columns,
            matches!(set_quantifier, ast::SetQuantifier::All),
        );
        let body = filled(&body, [left.as_ref().clone(), right])?;
        let mut made = cte.clone();
        made.from = None;
        made.query.body = Box::new(body);
        made.alias.columns = made_columns(&columns, &clauses)
            .map(|(_, name)| ast::TableAliasColumnDef {
                name: quoted(&name),
                data_type: None,
            })
            .collect();
        let bound = self.recursive(name, &made, outer)?;
        Ok(Some(match clauses.search {
            Some(Search { breadth: true, .. }) => without_last(bound)?,
            _ => bound,
        }))
    }
}

fn syntax(message: String) -> Error {
    fault(StatementFault::Syntax, message)
}

/// Errors: 42601 for a name that is no column, or that one is already, 42702 where the step names that; 42701 for one that comes twice.
fn check(clauses: &SearchCycle, columns: &[String], step: &str) -> Result<()> {
    let check_list = |kind: &str, list: &[String]| {
        for (at, column) in list.iter().enumerate() {
            if !columns.contains(column) {
                return Err(syntax(format!(
                    "{kind} column \"{column}\" not in WITH query column list"
                )));
            }
            if list[..at].contains(column) {
                return Err(Error::DataException {
                    state: "42701",
                    message: format!("{kind} column \"{column}\" specified more than once"),
                });
            }
        }
        Ok(())
    };
    let check_new = |kind: &str, name: &String| match columns.contains(name) {
        true if mentions_word(step, name) => Err(fault(
            StatementFault::AmbiguousColumn,
            format!("column reference \"{name}\" is ambiguous"),
        )),
        true => Err(syntax(format!(
            "{kind} column name \"{name}\" already used in WITH query column list"
        ))),
        false => Ok(()),
    };
    let same = |one: &str, other: &str| {
        Err(syntax(format!(
            "{one} column name and {other} column name are the same"
        )))
    };
    if let Some(search) = &clauses.search {
        check_list("search", &search.columns)?;
        check_new("search sequence", &search.sequence)?;
    }
    if let Some(cycle) = &clauses.cycle {
        check_list("cycle", &cycle.columns)?;
        check_new("cycle mark", &cycle.mark)?;
        check_new("cycle path", &cycle.path)?;
        if cycle.mark == cycle.path {
            return same("cycle mark", "cycle path");
        }
    }
    match (&clauses.search, &clauses.cycle) {
        (Some(search), Some(cycle)) if search.sequence == cycle.mark => same("search sequence", "cycle mark"),
        (Some(search), Some(cycle)) if search.sequence == cycle.path => same("search sequence", "cycle path"),
        _ => Ok(()),
    }
}

fn mentions_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|part| part.eq_ignore_ascii_case(word))
}

/// What of the rows before a column of a row is made of.
enum Made<'a> {
    /// A column of the query's own.
    Own,
    Depth(&'a Search),
    Breadth(&'a Search),
    Mark(&'a Cycle),
    Path(&'a Cycle),
    /// How many steps there were.
    Steps,
}

/// The columns of the recursion, and their names.
fn made_columns<'a>(
    columns: &'a [String],
    clauses: &'a SearchCycle,
) -> impl Iterator<Item = (Made<'a>, String)> {
    let own = columns.iter().map(|name| (Made::Own, name.clone()));
    let search = clauses.search.iter();
    let sequence = search.clone().map(|search| {
        let made = match search.breadth {
            true => Made::Breadth(search),
            false => Made::Depth(search),
        };
        (made, search.sequence.clone())
    });
    let cycle = clauses.cycle.iter().flat_map(|cycle| {
        [
            (Made::Mark(cycle), cycle.mark.clone()),
            (Made::Path(cycle), cycle.path.clone()),
        ]
    });
    let steps = search.filter(|search| search.breadth);
    let steps = steps.map(|_| (Made::Steps, DEPTH.to_string()));
    own.chain(sequence).chain(cycle).chain(steps)
}

/// The columns of the rows before that a step reads.
fn carried<'a>(columns: &'a [String], clauses: &'a SearchCycle) -> impl Iterator<Item = String> {
    let made = made_columns(columns, clauses);
    made.filter(|(made, _)| matches!(made, Made::Depth(_) | Made::Path(_) | Made::Steps))
        .map(|(_, name)| name)
}

/// The union of both terms, with `SELECT` and nothing in the place of each.
fn template(clauses: &SearchCycle, columns: &[String], all: bool) -> String {
    let (mut first, mut step) = (Vec::new(), Vec::new());
    for (made, name) in made_columns(columns, clauses) {
        let name = quoted(&name);
        let (of_first, of_step) = match made {
            Made::Own => (name.to_string(), name.to_string()),
            Made::Steps => ("0::bigint".to_string(), format!("{name} + 1")),
            Made::Depth(Search { columns, .. }) | Made::Path(Cycle { columns, .. }) => {
                let row = format!("ARRAY[ROW({})]", listed(columns));
                (row.clone(), format!("array_cat({name}, {row})"))
            }
            Made::Breadth(search) => {
                let (steps, columns) = (quoted(DEPTH), listed(&search.columns));
                (
                    format!("ROW(0::bigint, {columns})"),
                    format!("ROW({steps} + 1, {columns})"),
                )
            }
            Made::Mark(cycle) => {
                let (mark, default) = values(cycle);
                let met = format!("ROW({}) = ANY ({})", listed(&cycle.columns), quoted(&cycle.path));
                let case = |condition: &str| format!("CASE WHEN {condition} THEN {mark} ELSE {default} END");
                (case("false"), case(&met))
            }
        };
        first.push(of_first);
        step.push(of_step);
    }
    let step_columns: Vec<String> = columns.iter().cloned().chain(carried(columns, clauses)).collect();
    format!(
        "SELECT {} FROM (SELECT 1) AS \"*TLOCRN*\"({}) UNION {} SELECT {} FROM (SELECT 1) AS \"*TROCRN*\"({})",
        first.join(", "),
        listed(columns),
        if all { "ALL" } else { "" },
        step.join(", "),
        listed(&step_columns),
    )
}

/// What marks a row that closes a circle, and one that does not.
fn values(cycle: &Cycle) -> (String, String) {
    match &cycle.values {
        Some((mark, default)) => (format!("({mark})"), format!("({default})")),
        None => ("true".to_string(), "false".to_string()),
    }
}

fn listed(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name).to_string()).collect();
    names.join(", ")
}

fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// The template with the terms in it.
fn filled(text: &str, terms: [ast::SetExpr; 2]) -> Result<ast::SetExpr> {
    let wrong = || Error::internal(format!("a recursion that is none: {text}"));
    let parsed = parse(text)?.pop().ok_or_else(wrong)?;
    let ast::Statement::Query(query) = parsed.ast else {
        return Err(wrong());
    };
    let mut body = *query.body;
    if let ast::SetExpr::SetOperation { left, right, .. } = &mut body {
        for (side, term) in [left, right].into_iter().zip(terms) {
            let ast::SetExpr::Select(select) = side.as_mut() else {
                return Err(wrong());
            };
            let from = select.from.first_mut().map(|from| &mut from.relation);
            let Some(ast::TableFactor::Derived { subquery, .. }) = from else {
                return Err(wrong());
            };
            subquery.body = Box::new(term);
        }
    }
    Ok(body)
}

/// The second term with the columns that it carries on behind its own, for rows that have closed no circle. Errors: 0A000 where it does not
/// read the query's rows itself.
fn carrying(
    name: &str,
    columns: &[String],
    clauses: &SearchCycle,
    term: &ast::SetExpr,
) -> Result<ast::SetExpr> {
    let misplaced = || {
        let message = format!(
            "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{name}\" must be at the top level of its right-hand SELECT"
        );
        fault(StatementFault::NotImplemented, message)
    };
    let mut term = term;
    while let ast::SetExpr::Query(inner) = term
        && inner.with.is_none()
    {
        term = &inner.body;
    }
    let ast::SetExpr::Select(select) = term else {
        return Err(misplaced());
    };
    let mut select = select.clone();
    let called = factors(&select.from)
        .iter()
        .find_map(|factor| called_of(factor, name));
    let called = called.ok_or_else(misplaced)?;
    let mut items = spelt_items(&select, name, columns)?;
    let new: Vec<String> = carried(columns, clauses).collect();
    items.extend(new.iter().map(|column| own_column(&called, column)));
    select.projection = items;
    if let Some(cycle) = &clauses.cycle {
        let open = format!(
            "{}.{} <> {}",
            quoted(&called),
            quoted(&cycle.mark),
            values(cycle).0
        );
        let open = crate::parse::parse_expression(&open)
            .map_err(|error| Error::internal(format!("no condition: {error}")))?;
        select.selection = Some(match select.selection.take() {
            None => open,
            Some(written) => ast::Expr::BinaryOp {
                left: Box::new(ast::Expr::Nested(Box::new(written))),
                op: ast::BinaryOperator::And,
                right: Box::new(open),
            },
        });
    }
    Ok(ast::SetExpr::Select(select))
}

fn own_column(called: &str, column: &str) -> SelectItem {
    let parts = vec![quoted(called), quoted(column)];
    SelectItem::UnnamedExpr(ast::Expr::CompoundIdentifier(parts))
}

/// The select list of the second term, with the query's own columns where it says `*`: those that it gets are not among them. Errors:
/// 0A000 for `*` over a join that makes one column of two.
fn spelt_items(select: &ast::Select, name: &str, columns: &[String]) -> Result<Vec<SelectItem>> {
    let factors = factors(&select.from);
    let mut items = Vec::with_capacity(select.projection.len());
    for item in &select.projection {
        match item {
            SelectItem::QualifiedWildcard(ast::SelectItemQualifiedWildcardKind::ObjectName(of), _)
                if factors
                    .iter()
                    .filter_map(|factor| called_of(factor, name))
                    .any(|called| is_only(of, &called)) =>
            {
                let called =
                    of.0.last()
                        .and_then(|part| part.as_ident())
                        .map(fold)
                        .unwrap_or_default();
                items.extend(columns.iter().map(|column| own_column(&called, column)));
            }
            SelectItem::Wildcard(_) if merges(&select.from) => return Err(unnamed()),
            SelectItem::Wildcard(options) => {
                for factor in &factors {
                    match (called_of(factor, name), shown_name(factor)) {
                        (Some(called), _) => {
                            items.extend(columns.iter().map(|column| own_column(&called, column)));
                        }
                        (None, Some(other)) => items.push(SelectItem::QualifiedWildcard(
                            ast::SelectItemQualifiedWildcardKind::ObjectName(ast::ObjectName::from(vec![
                                other,
                            ])),
                            options.clone(),
                        )),
                        (None, None) => return Err(unnamed()),
                    }
                }
            }
            other => items.push(other.clone()),
        }
    }
    Ok(items)
}

fn unnamed() -> Error {
    Error::unsupported(
        "* over joined relations in a query with SEARCH or CYCLE",
        Some("Name the columns in the second term of the recursion."),
    )
}

/// The relations of FROM, those of joins among them.
fn factors(from: &[ast::TableWithJoins]) -> Vec<&ast::TableFactor> {
    let mut found = Vec::new();
    for table in from {
        let joined = table.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&table.relation).chain(joined) {
            match factor {
                ast::TableFactor::NestedJoin {
                    table_with_joins,
                    alias: None,
                } => found.extend(factors(std::slice::from_ref(table_with_joins))),
                factor => found.push(factor),
            }
        }
    }
    found
}

/// Whether a join makes one column of two.
fn merges(from: &[ast::TableWithJoins]) -> bool {
    use ast::JoinConstraint::{Natural, Using};
    from.iter().any(|table| {
        table.joins.iter().any(|join| {
            let text = match &join.join_operator {
                ast::JoinOperator::Join(constraint)
                | ast::JoinOperator::Inner(constraint)
                | ast::JoinOperator::Left(constraint)
                | ast::JoinOperator::LeftOuter(constraint)
                | ast::JoinOperator::Right(constraint)
                | ast::JoinOperator::RightOuter(constraint)
                | ast::JoinOperator::FullOuter(constraint) => constraint,
                _ => return false,
            };
            matches!(text, Using(_) | Natural)
        })
    })
}

/// What the query of this name is called, where a relation is it.
fn called_of(factor: &ast::TableFactor, name: &str) -> Option<String> {
    match factor {
        ast::TableFactor::Table {
            name: written,
            alias,
            args: None,
            ..
        } if is_only(written, name) => {
            Some(alias.as_ref().map_or(name.to_string(), |alias| fold(&alias.name)))
        }
        _ => None,
    }
}

/// What a relation is called.
fn shown_name(factor: &ast::TableFactor) -> Option<Ident> {
    use ast::TableFactor::{Derived, Function, Table, UNNEST};
    match factor {
        Table { name, alias, .. } => match alias {
            Some(alias) => Some(alias.name.clone()),
            None => name.0.last().and_then(|part| part.as_ident()).cloned(),
        },
        Derived { alias, .. } | Function { alias, .. } | UNNEST { alias, .. } => {
            alias.as_ref().map(|alias| alias.name.clone())
        }
        _ => None,
    }
}

fn is_only(name: &ast::ObjectName, wanted: &str) -> bool {
    matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(|ident| fold(ident) == wanted))
}

/// The rows without the last column.
fn without_last(bound: BoundQuery) -> Result<BoundQuery> {
    let mut columns = bound.columns;
    columns.pop();
    let kept: Vec<Expr> = columns
        .iter()
        .map(|column| Expr::Column(column.column.clone()))
        .collect();
    let plan = bound.plan.project(kept)?;
    Ok(BoundQuery { plan, columns })
}
