//! `ShownRows`: a query that shows rows of one table, each once, as a view does that can be written to.

use std::ops::ControlFlow;

use sqlparser::ast::{self, Expr, Ident, ObjectName, SelectItem, TableFactor, VisitorMut};

use crate::Result;
use crate::catalog::{Access, Object, RelationName, ShownRelation};
use crate::functions::is_set_returning;
use crate::parse::names::{self, fold};
use crate::parse::walk::{Walk, WalkMut};
use crate::query::is_aggregate;
use crate::system::StatementContext;

/// What a query shows: rows of one table, each once; or others, and why PostgreSQL too writes to none such, which is `None` where it does.
pub(super) type Shown = std::result::Result<ShownRows, Option<&'static str>>;

/// Why nobody writes through a view that has another relation than one table or view in FROM.
const NOT_OF_ONE: &str =
    "Views that do not select from a single table or view are not automatically updatable.";

/// The rows of one table that a query shows.
pub(super) struct ShownRows {
    /// The table or view that is read: its oid in pg_class.
    pub(super) oid: u32,
    /// It, with its schema.
    pub(super) table: ObjectName,
    /// All columns that the table has.
    pub(super) table_columns: Vec<String>,
    /// The columns shown: what each is called, and what it is of the table's.
    pub(super) columns: Vec<(String, Expr)>,
    /// Which rows are shown, over the table's columns.
    pub(super) condition: Option<Expr>,
}

impl ShownRows {
    /// What a query shows. `path`: where its names are looked for.
    pub(super) fn of(ctx: &StatementContext, query: &ast::Query, path: &[String]) -> Result<Shown> {
        let select = match plain_select(query) {
            Ok(select) => select,
            Err(why) => return Ok(Err(Some(why))),
        };
        let [ast::TableWithJoins { relation, joins }] = select.from.as_slice() else {
            return Ok(Err(Some(NOT_OF_ONE)));
        };
        if !joins.is_empty() {
            return Ok(Err(Some(NOT_OF_ONE)));
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
                sample: None,
                ..
            } if alias.as_ref().is_none_or(|alias| alias.columns.is_empty()) => {
                let (_, plain_name) = names::relation_name(name)?;
                let called = alias.as_ref().map_or(plain_name, |alias| fold(&alias.name));
                (ShownRows::of_relation(ctx, name, path)?, called)
            }
            TableFactor::Table { sample: Some(_), .. } => {
                let why = "Views containing TABLESAMPLE are not automatically updatable.";
                return Ok(Err(Some(why)));
            }
            TableFactor::Table { args: None, .. } => return Ok(Err(None)),
            _ => return Ok(Err(Some(NOT_OF_ONE))),
        };
        Ok(inner.and_then(|inner| inner.selected(select, &called)))
    }

    /// All of a table, or of a view.
    fn of_relation(ctx: &StatementContext, name: &ObjectName, path: &[String]) -> Result<Shown> {
        let (schema, plain_name) = names::relation_name(name)?;
        let asked = RelationName {
            schema: schema.as_deref(),
            name: &plain_name,
            search_path: path,
        };
        let found = ctx.get_relation(asked, Access::Name)?;
        let (schema, oid, table_columns): (_, _, Vec<String>) = match found {
            Some(Object::Table(table)) if !table.is_materialized_view() => {
                let columns = table.visible_columns().map(|column| column.name.clone());
                (&table.schema, table.oid, columns.collect())
            }
            Some(Object::View(view)) => {
                let columns = view.columns.iter().map(|(name, _)| name.clone());
                (&view.schema, view.oid(), columns.collect())
            }
            Some(_) => return Ok(Err(Some(NOT_OF_ONE))),
            None => return Ok(Err(None)),
        };
        let itself = |name: &String| (name.clone(), Expr::Identifier(quoted(name)));
        Ok(Ok(ShownRows {
            oid,
            table: ObjectName::from(vec![quoted(schema), quoted(&plain_name)]),
            columns: table_columns.iter().map(itself).collect(),
            table_columns,
            condition: None,
        }))
    }

    /// What a SELECT of these rows, which it calls so, shows of the table.
    fn selected(self, select: &ast::Select, called: &str) -> Shown {
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
                SelectItem::ExprWithAliases { .. } => return Err(None),
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
        Ok(ShownRows {
            columns,
            condition,
            ..ShownRows {
                condition: None,
                ..self
            }
        })
    }

    /// An expression over these rows as one over the table's columns; the error is why it is none: it reads other rows, or takes or gives
    /// several.
    fn of_table(&self, expr: &Expr, called: &str) -> std::result::Result<Expr, Option<&'static str>> {
        let mut expr = expr.clone();
        if let ControlFlow::Break(why) = expr.walk(&mut OneOfEachRow) {
            return Err(why);
        }
        let mut meanings = Meanings {
            columns: &self.columns,
            called,
        };
        match expr.walk_mut(&mut meanings) {
            ControlFlow::Continue(()) => Ok(expr),
            ControlFlow::Break(()) => Err(None),
        }
    }

    /// What the catalogs keep of it.
    pub(super) fn shown_relation(&self) -> ShownRelation {
        let position = |expr: &Expr| match expr {
            Expr::Identifier(name) if name.quote_style.is_some() => {
                self.table_columns.iter().position(|column| *column == name.value)
            }
            _ => None,
        };
        ShownRelation {
            oid: self.oid,
            columns: self.columns.iter().map(|(_, expr)| position(expr)).collect(),
        }
    }
}

/// The SELECT that a query is, if all it does is to choose rows and columns; else why nobody writes through it.
fn plain_select(query: &ast::Query) -> std::result::Result<&ast::Select, &'static str> {
    let select = match query.body.as_ref() {
        ast::SetExpr::Select(select) => select,
        ast::SetExpr::SetOperation { .. } => {
            return Err("Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.");
        }
        _ => return Err(NOT_OF_ONE),
    };
    let groups = !matches!(&select.group_by, ast::GroupByExpr::Expressions(keys, _) if keys.is_empty());
    let reasons = [
        (
            select.distinct.is_some(),
            "Views containing DISTINCT are not automatically updatable.",
        ),
        (
            groups,
            "Views containing GROUP BY are not automatically updatable.",
        ),
        (
            select.having.is_some(),
            "Views containing HAVING are not automatically updatable.",
        ),
        (
            query.with.is_some(),
            "Views containing WITH are not automatically updatable.",
        ),
        (
            query.limit_clause.is_some() || query.fetch.is_some(),
            "Views containing LIMIT or OFFSET are not automatically updatable.",
        ),
    ];
    match reasons.into_iter().find(|(stands, _)| *stands) {
        Some((_, why)) => Err(why),
        None => Ok(select),
    }
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

/// Stops at a query, and at a call that takes or gives several rows, with why nobody writes through a view of that.
struct OneOfEachRow;

impl ast::Visitor for OneOfEachRow {
    type Break = Option<&'static str>;

    fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<Self::Break> {
        ControlFlow::Break(None)
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        let Expr::Function(call) = expr else {
            return ControlFlow::Continue(());
        };
        let name = names::last_name(&call.name);
        let is = |what: fn(&str) -> bool| name.as_deref().is_some_and(what);
        ControlFlow::Break(Some(match () {
            () if call.over.is_some() => {
                "Views that return window functions are not automatically updatable."
            }
            () if is(is_aggregate) => {
                "Views that return aggregate functions are not automatically updatable."
            }
            () if is(is_set_returning) => {
                "Views that return set-returning functions are not automatically updatable."
            }
            () => return ControlFlow::Continue(()),
        }))
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
