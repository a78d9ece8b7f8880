//! Queries as `pg_get_viewdef` prints them: every column with its relation, `*` spelt out, lines and blanks as PostgreSQL sets them. Called
//! when a view is made; `select_text` and `from_text` print clauses, `condition_text` and `call_text` expressions.
//!
//! What there are no rules for makes the whole no text: the view is then shown as it was written. A text that does not mean the same columns
//! is thrown away, too.

use std::sync::Arc;

use sqlparser::ast;

use super::binder::{Binder, Clause, CommonTable};
use super::literal_pins::LiteralPins;
use super::printed_names::with_qualified_type_names;
use super::printed_query::{Outputs, ShownRelations, Surroundings, direction, resolved};
use super::query_layout::QueryLayout;
use super::scope::{Outer, Scope};
use crate::catalog::PrintedQuery;
use crate::parse;
use crate::parse::names::fold;
use crate::parse::quoting::quote_ident;
use crate::parse::with_write::bare_query;
use crate::query::plan_query;
use crate::scan::OutputColumn;
use crate::system::StatementContext;
use crate::types::SqlType;

/// The text of a view's query whose columns are these, called so. `None`: there is none.
pub(crate) fn query_text(
    ctx: &StatementContext,
    query: &ast::Query,
    (columns, names): (&[OutputColumn], &[String]),
) -> Option<PrintedQuery> {
    let parameters = Vec::new();
    let mut binder = Binder::new(ctx, &parameters);
    let types: Vec<SqlType> = columns.iter().map(|column| column.ty.clone()).collect();
    let mut layout = QueryLayout::new(0);
    let outputs = Outputs {
        types: &types,
        names: Some(names),
        are_visible: true,
    };
    binder.print_query(query, None, None, (&mut layout, outputs))?;
    let printed = PrintedQuery {
        plain: with_qualified_type_names(ctx, layout.plain),
        pretty: with_qualified_type_names(ctx, layout.pretty),
    };
    let means_the_same = |text: &str| {
        let text = PrintedQuery::unmarked(text);
        let Some(query) = only_query(&text) else {
            return false;
        };
        let Ok(planned) = plan_query(ctx, &query, &[]) else {
            return false;
        };
        // How many digits a number has is not said of constants.
        let plain = |ty: &SqlType| match ty {
            SqlType::Unknown | SqlType::Void => SqlType::Text,
            SqlType::Numeric(_) => SqlType::Numeric(None),
            ty => ty.clone(),
        };
        let same = |(found, (column, name)): (&OutputColumn, (&OutputColumn, &String))| {
            found.name == *name && plain(&found.ty) == plain(&column.ty)
        };
        planned.columns.len() == columns.len()
            && planned.columns.iter().zip(columns.iter().zip(names)).all(same)
    };
    (means_the_same(&printed.plain) && means_the_same(&printed.pretty)).then_some(printed)
}

/// The query that a text is, as a client's would be read.
fn only_query(text: &str) -> Option<Box<ast::Query>> {
    let mut statements = parse::parse(text).ok()?;
    match statements.pop()?.ast {
        ast::Statement::Query(query) if statements.is_empty() => Some(query),
        _ => None,
    }
}

/// The query of a view whose columns are these, its literals in the form that every session reads alike.
pub(crate) fn pinned_query(
    ctx: &StatementContext,
    query: &ast::Query,
    (columns, names): (&[OutputColumn], &[String]),
) -> ast::Query {
    let parameters = Vec::new();
    let pins = LiteralPins::new(ctx);
    let mut binder = Binder::new(ctx, &parameters);
    binder.pins = Some(Arc::clone(&pins));
    let types: Vec<SqlType> = columns.iter().map(|column| column.ty.clone()).collect();
    let outputs = Outputs {
        types: &types,
        names: Some(names),
        are_visible: true,
    };
    // What it cannot print it has no types of either.
    let _ = binder.print_query(query, None, None, (&mut QueryLayout::new(0), outputs));
    pins.put(query)
}

impl Binder<'_> {
    /// Prints a query into a layout. `None`: it cannot be.
    pub(super) fn print_query(
        &mut self,
        query: &ast::Query,
        outer: Option<&Outer<'_>>,
        parent: Option<&ShownRelations<'_>>,
        (layout, outputs): (&mut QueryLayout, Outputs<'_>),
    ) -> Option<()> {
        let outside = self.common_tables.len();
        let printed = self.one_level_deeper(|binder| {
            Ok(binder.print_query_here(query, (outer, parent), (layout, outputs)))
        });
        self.common_tables.truncate(outside);
        printed.ok().flatten()
    }

    fn print_query_here(
        &mut self,
        query: &ast::Query,
        (outer, parent): Surroundings<'_>,
        (layout, outputs): (&mut QueryLayout, Outputs<'_>),
    ) -> Option<()> {
        if !query.locks.is_empty() || query.for_clause.is_some() || !query.pipe_operators.is_empty() {
            return None;
        }
        let order_by: &[ast::OrderByExpr] = match &query.order_by {
            None => &[],
            Some(order_by) => match &order_by.kind {
                ast::OrderByKind::Expressions(items) => items,
                ast::OrderByKind::All(_) => return None,
            },
        };
        match query.body.as_ref() {
            ast::SetExpr::Select(select) => {
                self.print_select(query, select, order_by, (outer, parent), (layout, outputs))?;
            }
            body => {
                if let Some(with) = &query.with {
                    let known = self.known_tables(query, with, outer)?;
                    self.print_with(with, known, (outer, parent), layout)?;
                }
                let names = self.query(query, outer).ok()?.columns;
                let own: Vec<String> = names.iter().map(|column| column.name.clone()).collect();
                let types: Vec<SqlType> = names.iter().map(|column| column.ty.clone()).collect();
                let outputs = Outputs {
                    types: if outputs.types.is_empty() {
                        &types
                    } else {
                        outputs.types
                    },
                    names: outputs.names.or(Some(&own)),
                    are_visible: outputs.are_visible,
                };
                self.print_body(body, (outer, parent), (layout, outputs))?;
                let mut places = Vec::new();
                for item in order_by {
                    let place = place_of_output(&item.expr, &own)?;
                    places.push(format!("{}{}", place, direction(item)));
                }
                if !places.is_empty() {
                    layout.keyword(" ORDER BY ", -8, 8, 1);
                    layout.word(&places.join(", "));
                }
            }
        }
        self.print_limit(query, layout)
    }

    /// The queries of WITH, which are known behind it.
    pub(super) fn known_tables(
        &mut self,
        query: &ast::Query,
        with: &ast::With,
        outer: Option<&Outer<'_>>,
    ) -> Option<Vec<CommonTable>> {
        let outside = self.common_tables.len();
        self.with(with, query, outer).ok()?;
        Some(self.common_tables[outside..].to_vec())
    }

    pub(super) fn print_with(
        &mut self,
        with: &ast::With,
        known: Vec<CommonTable>,
        (outer, parent): Surroundings<'_>,
        layout: &mut QueryLayout,
    ) -> Option<()> {
        layout.indent += 8;
        layout.word(" ");
        let mut word = if with.recursive {
            "WITH RECURSIVE "
        } else {
            "WITH "
        };
        for cte in &with.cte_tables {
            layout.word(word);
            word = ", ";
            let name = fold(&cte.alias.name);
            if cte.from.is_some() {
                return None;
            }
            if known.iter().all(|table| table.name != name) {
                return None;
            }
            layout.word(&quote_ident(&name));
            let columns: Vec<String> = cte
                .alias
                .columns
                .iter()
                .map(|column| quote_ident(&fold(&column.name)))
                .collect();
            if !columns.is_empty() {
                layout.word(&format!("({})", columns.join(", ")));
            }
            layout.word(" AS ");
            match cte.materialized {
                Some(ast::CteAsMaterialized::Materialized) => layout.word("MATERIALIZED "),
                Some(ast::CteAsMaterialized::NotMaterialized) => layout.word("NOT MATERIALIZED "),
                None => {}
            }
            layout.word("(");
            layout.keyword("", 0, 0, 0);
            let outputs = Outputs {
                types: &[],
                names: None,
                are_visible: true,
            };
            let mut inner = QueryLayout::new(layout.indent);
            self.print_query(&cte.query, outer, parent, (&mut inner, outputs))?;
            layout.append(&inner);
            layout.keyword("", 0, 0, 0);
            layout.word(")");
        }
        layout.indent = layout.indent.saturating_sub(8);
        layout.keyword("", 0, 0, 0);
        Some(())
    }

    /// Set operations, VALUES and queries in parentheses.
    fn print_body(
        &mut self,
        body: &ast::SetExpr,
        (outer, parent): Surroundings<'_>,
        (layout, outputs): (&mut QueryLayout, Outputs<'_>),
    ) -> Option<()> {
        match body {
            ast::SetExpr::Select(select) => {
                let query = bare_query(ast::SetExpr::Select(select.clone()));
                self.print_leaf(&query, (outer, parent), (layout, outputs))
            }
            ast::SetExpr::Values(values) => self.print_values(values, (outer, parent), (layout, outputs)),
            ast::SetExpr::Query(query) => match is_plain(query) {
                true => self.print_body(&query.body, (outer, parent), (layout, outputs)),
                false => {
                    layout.word("(");
                    self.print_leaf(query, (outer, parent), (layout, outputs))?;
                    layout.word(")");
                    Some(())
                }
            },
            ast::SetExpr::SetOperation {
                op,
                set_quantifier,
                left,
                right,
            } => {
                let all = matches!(set_quantifier, ast::SetQuantifier::All);
                self.print_operation((*op, all), (left, right), (outer, parent), (layout, outputs))
            }
            _ => None,
        }
    }

    /// UNION and its like; what is another operation stands in parentheses.
    fn print_operation(
        &mut self,
        (op, all): (ast::SetOperator, bool),
        (left, right): (&ast::SetExpr, &ast::SetExpr),
        (outer, parent): Surroundings<'_>,
        (layout, outputs): (&mut QueryLayout, Outputs<'_>),
    ) -> Option<()> {
        let same = |inner: &ast::SetExpr| match unwrapped(inner) {
            ast::SetExpr::SetOperation {
                op: o,
                set_quantifier: q,
                ..
            } => Some(*o == op && matches!(q, ast::SetQuantifier::All) == all),
            _ => None,
        };
        let wraps = same(left) == Some(false);
        let extra = if wraps { 8 } else { 0 };
        if wraps {
            layout.word("(");
            layout.keyword("", extra, 0, 0);
        }
        self.print_body(left, (outer, parent), (layout, outputs))?;
        match wraps {
            true => layout.keyword(") ", -extra, 0, 0),
            false => layout.keyword("", -extra, 0, 0),
        }
        layout.word(operator_word(op));
        if all {
            layout.word("ALL ");
        }
        let wraps = same(right).is_some();
        let extra = if wraps { 8 } else { 0 };
        if wraps {
            layout.word("(");
        }
        layout.keyword("", extra, 0, 0);
        let unseen = Outputs {
            are_visible: false,
            ..outputs
        };
        self.print_body(right, (outer, parent), (layout, unseen))?;
        layout.indent = layout.indent.saturating_sub(if wraps { 8 } else { 0 });
        if wraps {
            layout.keyword(")", 0, 0, 0);
        }
        Some(())
    }

    /// A query of a set operation, whose lines begin where the operation's do.
    fn print_leaf(
        &mut self,
        query: &ast::Query,
        (outer, parent): Surroundings<'_>,
        (layout, outputs): (&mut QueryLayout, Outputs<'_>),
    ) -> Option<()> {
        let mut inner = QueryLayout::new(layout.indent);
        self.print_query(query, outer, parent, (&mut inner, outputs))?;
        layout.append(&inner);
        Some(())
    }

    fn print_values(
        &mut self,
        values: &ast::Values,
        (outer, parent): Surroundings<'_>,
        (layout, outputs): (&mut QueryLayout, Outputs<'_>),
    ) -> Option<()> {
        let scope = Scope::default();
        let shown = ShownRelations {
            shown: Vec::new(),
            parent,
        };
        layout.word(" VALUES ");
        let mut types = outputs.types.to_vec();
        if types.is_empty() {
            let query = bare_query(ast::SetExpr::Values(values.clone()));
            let bound = self.query(&query, outer).ok()?;
            types = bound.columns.into_iter().map(|column| column.ty).collect();
        }
        for (at, row) in values.rows.iter().enumerate() {
            layout.word(if at == 0 { "(" } else { ", (" });
            for (column, expr) in row.content.iter().enumerate() {
                if column > 0 {
                    layout.word(",");
                }
                let printed = self.printed(
                    expr,
                    (&scope, Clause::Values),
                    (outer, &shown),
                    (&[], layout.indent),
                )?;
                layout.printed(&resolved(printed, types.get(column)));
            }
            layout.word(")");
        }
        Some(())
    }

    fn print_limit(&mut self, query: &ast::Query, layout: &mut QueryLayout) -> Option<()> {
        let (limit, offset) = match &query.limit_clause {
            None => (None, None),
            Some(ast::LimitClause::LimitOffset {
                limit,
                offset,
                limit_by,
            }) if limit_by.is_empty() => (limit.as_ref(), offset.as_ref().map(|offset| &offset.value)),
            Some(_) => return None,
        };
        let count = |expr: &ast::Expr| match expr {
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Number(digits, _) => Some(digits.clone()),
                _ => None,
            },
            _ => None,
        };
        if let Some(offset) = offset {
            layout.keyword(" OFFSET ", -8, 8, 0);
            layout.word(&count(offset)?);
        }
        match (limit, &query.fetch) {
            (Some(limit), None) => {
                layout.keyword(" LIMIT ", -8, 8, 0);
                layout.word(&count(limit)?);
            }
            (None, Some(fetch)) if !fetch.percent => {
                let fetched = fetch.quantity.as_ref().map_or(Some("1".to_string()), count)?;
                match fetch.with_ties {
                    true => {
                        layout.keyword(" FETCH FIRST ", -8, 8, 0);
                        layout.word(&format!("{fetched} ROWS WITH TIES"));
                    }
                    false => {
                        layout.keyword(" LIMIT ", -8, 8, 0);
                        layout.word(&fetched);
                    }
                }
            }
            (None, None) => {}
            _ => return None,
        }
        Some(())
    }
}

/// The place of an output that ORDER BY of a set operation names.
fn place_of_output(expr: &ast::Expr, names: &[String]) -> Option<usize> {
    match expr {
        ast::Expr::Identifier(name) => {
            let name = fold(name);
            names.iter().position(|own| *own == name).map(|at| at + 1)
        }
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn unwrapped(body: &ast::SetExpr) -> &ast::SetExpr {
    match body {
        ast::SetExpr::Query(query) if is_plain(query) => unwrapped(&query.body),
        other => other,
    }
}

/// Whether a query is no more than its body.
fn is_plain(query: &ast::Query) -> bool {
    query.with.is_none() && query.order_by.is_none() && query.limit_clause.is_none() && query.fetch.is_none()
}

fn operator_word(op: ast::SetOperator) -> &'static str {
    match op {
        ast::SetOperator::Union => "UNION ",
        ast::SetOperator::Intersect => "INTERSECT ",
        _ => "EXCEPT ",
    }
}
