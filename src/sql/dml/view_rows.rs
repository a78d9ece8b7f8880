//! `ShownRows`: a query that shows rows of one table, each once, as a view does that can be written to.

use std::ops::ControlFlow;

use sqlparser::ast::{self, Expr, Ident, ObjectName, SelectItem, TableFactor, VisitMut, VisitorMut};

use crate::Result;
use crate::catalog::{Access, Object, RelationName};
use crate::functions::is_set_returning;
use crate::parse::names::{self, fold};
use crate::query::is_aggregate;
use crate::system::StatementContext;

/// The rows of one table that a query shows.
pub(super) struct ShownRows {
    /// The table, with its schema.
    pub(super) table: ObjectName,
    /// All columns that the table has.
    pub(super) table_columns: Vec<String>,
    /// The columns shown: what each is called, and what it is of the table's.
    pub(super) columns: Vec<(String, Expr)>,
    /// Which rows are shown, over the table's columns.
    pub(super) condition: Option<Expr>,
}

impl ShownRows {
    /// `None`: it shows other rows. `path`: where its names are looked for.
    pub(super) fn of(
        ctx: &StatementContext,
        query: &ast::Query,
        path: &[String],
    ) -> Result<Option<ShownRows>> {
        let Some(select) = plain_select(query) else {
            return Ok(None);
        };
        let [ast::TableWithJoins { relation, joins }] = select.from.as_slice() else {
            return Ok(None);
        };
        if !joins.is_empty() {
            return Ok(None);
        }
        let (inner, called) = match relation {
            TableFactor::Derived {
                lateral: false,
                subquery,
                alias: Some(alias),
                ..
            } if alias.columns.is_empty() => (ShownRows::of(ctx, subquery, path)?, fold(&alias.name)),
            TableFactor::Table {
                name,
                alias,
                args: None,
                with_ordinality: false,
                version: None,
                ..
            } if alias.as_ref().is_none_or(|alias| alias.columns.is_empty()) => {
                let (_, plain_name) = names::relation_name(name)?;
                let called = alias.as_ref().map_or(plain_name, |alias| fold(&alias.name));
                (ShownRows::of_relation(ctx, name, path)?, called)
            }
            _ => return Ok(None),
        };
        Ok(inner.and_then(|inner| inner.selected(select, &called)))
    }

    /// All of a table, or of a view.
    fn of_relation(ctx: &StatementContext, name: &ObjectName, path: &[String]) -> Result<Option<ShownRows>> {
        let (schema, plain_name) = names::relation_name(name)?;
        let asked = RelationName {
            schema: schema.as_deref(),
            name: &plain_name,
            search_path: path,
        };
        let (schema, table_columns): (_, Vec<String>) = match ctx.get_relation(asked, Access::Name)? {
            Some(Object::Table(table)) if !table.is_materialized_view() => {
                let columns = table.visible_columns().map(|column| column.name.clone());
                (&table.schema, columns.collect())
            }
            Some(Object::View(view)) => {
                let columns = view.columns.iter().map(|(name, _)| name.clone());
                (&view.schema, columns.collect())
            }
            _ => return Ok(None),
        };
        let itself = |name: &String| (name.clone(), Expr::Identifier(quoted(name)));
        Ok(Some(ShownRows {
            table: ObjectName::from(vec![quoted(schema), quoted(&plain_name)]),
            columns: table_columns.iter().map(itself).collect(),
            table_columns,
            condition: None,
        }))
    }

    /// What a SELECT of these rows, which it calls so, shows of the table; `None`: other rows than these.
    fn selected(self, select: &ast::Select, called: &str) -> Option<ShownRows> {
        let mut columns = Vec::with_capacity(select.projection.len());
        for item in &select.projection {
            match item {
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                    columns.extend(self.columns.iter().cloned());
                }
                SelectItem::UnnamedExpr(expr) => {
                    columns.push((last_name(expr).unwrap_or_default(), self.of_table(expr, called)?));
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    columns.push((fold(alias), self.of_table(expr, called)?));
                }
                SelectItem::ExprWithAliases { .. } => return None,
            }
        }
        let condition = match &select.selection {
            Some(condition) => Some(Expr::Nested(Box::new(self.of_table(condition, called)?))),
            None => None,
        };
        let condition = match (self.condition, condition) {
            (Some(inner), Some(outer)) => Some(both(inner, outer)),
            (inner, outer) => inner.or(outer),
        };
        Some(ShownRows {
            columns,
            condition,
            ..ShownRows {
                condition: None,
                ..self
            }
        })
    }

    /// An expression over these rows as one over the table's columns; `None`: it reads other rows, or takes or gives several.
    fn of_table(&self, expr: &Expr, called: &str) -> Option<Expr> {
        let mut expr = expr.clone();
        if ast::Visit::visit(&expr, &mut OneOfEachRow).is_break() {
            return None;
        }
        let mut meanings = Meanings {
            columns: &self.columns,
            called,
        };
        match expr.visit(&mut meanings) {
            ControlFlow::Continue(()) => Some(expr),
            ControlFlow::Break(()) => None,
        }
    }
}

/// The SELECT that a query is, if all it does is to choose rows and columns.
fn plain_select(query: &ast::Query) -> Option<&ast::Select> {
    let ast::SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let is_plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && query.locks.is_empty();
    let groups = !matches!(&select.group_by, ast::GroupByExpr::Expressions(keys, _) if keys.is_empty())
        || select.having.is_some();
    (is_plain && !groups && select.distinct.is_none() && select.named_window.is_empty())
        .then_some(select.as_ref())
}

/// Puts what columns are of a table in the place of their names.
struct Meanings<'a> {
    columns: &'a [(String, Expr)],
    /// What the query calls the rows.
    called: &'a str,
}

impl VisitorMut for Meanings<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let name = match expr {
            Expr::Identifier(name) => fold(name),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [relation, name] if fold(relation) == self.called => fold(name),
                _ => return ControlFlow::Break(()),
            },
            _ => return ControlFlow::Continue(()),
        };
        match self.columns.iter().find(|(column, _)| *column == name) {
            Some((_, meaning)) => {
                expr.clone_from(meaning);
                ControlFlow::Continue(())
            }
            // A word such as CURRENT_USER.
            None => ControlFlow::Continue(()),
        }
    }
}

/// Stops at a call that takes or gives several rows.
struct OneOfEachRow;

impl ast::Visitor for OneOfEachRow {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let Expr::Function(call) = expr else {
            return ControlFlow::Continue(());
        };
        let name = call.name.0.last().and_then(|part| part.as_ident()).map(fold);
        let is_of_row = name.is_some_and(|name| !is_aggregate(&name) && !is_set_returning(&name));
        match is_of_row && call.over.is_none() {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

/// The name that an expression gives its column, where it is a column.
pub(super) fn last_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(fold(name)),
        Expr::CompoundIdentifier(parts) => parts.last().map(fold),
        _ => None,
    }
}

/// Whether both hold.
pub(super) fn both(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op: ast::BinaryOperator::And,
        right: Box::new(Expr::Nested(Box::new(right))),
    }
}

/// A name as it is.
pub(super) fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}
