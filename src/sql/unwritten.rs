//! Columns of DYNAMIC_COLUMNS tables that nobody has written yet: a query that reads one gets NULL and a NOTICE. Before planning,
//! each unquoted name that no relation of its SELECT has becomes `NULL::text`. A quoted name does not: it is far more
//! often a string in the wrong quotes, and gets PostgreSQL's error with a HINT. In a write the name is unknown (42703).

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{
    self, CastKind, DataType, Expr, Ident, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins,
    Value as Literal, VisitMut, VisitorMut,
};

use crate::catalog::{Relation, TableDef};
use crate::exec::{Notice, StatementContext};
use crate::parse::names;

/// The statement with unwritten columns read as NULL; `None` when it names none. Raises a NOTICE for each column.
pub(crate) fn resolve(ctx: &StatementContext, statement: &ast::Statement) -> Option<ast::Statement> {
    if is_write(statement) || !has_dynamic_table(ctx) {
        return None;
    }
    let mut resolved = statement.clone();
    let mut resolver = Resolver {
        ctx,
        missing: BTreeSet::new(),
    };
    let _ = resolved.visit(&mut resolver);
    if resolver.missing.is_empty() {
        return None;
    }
    for (table, column) in resolver.missing {
        ctx.notice(Notice {
            severity: "NOTICE",
            sqlstate: "00000",
            message: format!(
                "column \"{column}\" of relation \"{table}\" has not been written yet, it reads as NULL"
            ),
            hint: None,
        });
    }
    Some(resolved)
}

fn has_dynamic_table(ctx: &StatementContext) -> bool {
    ctx.catalog
        .relations
        .values()
        .any(|relation| matches!(relation, Relation::Table(table) if table.options.dynamic_columns))
}

/// INSERT, UPDATE, DELETE: what they read by a misspelt name would be lost, or decide what is.
fn is_write(statement: &ast::Statement) -> bool {
    use ast::Statement as S;
    matches!(statement, S::Insert(_) | S::Update(_) | S::Delete(_))
}

/// Visits every query of a statement and resolves its own expressions.
struct Resolver<'a> {
    ctx: &'a StatementContext,
    /// (table, column) found missing.
    missing: BTreeSet<(String, String)>,
}

impl VisitorMut for Resolver<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let SetExpr::Select(select) = query.body.as_mut() else {
            return ControlFlow::Continue(());
        };
        let Some(mut scope) = Scope::of(self.ctx, &select.from) else {
            return ControlFlow::Continue(());
        };
        self.resolve_select(&scope, select);
        scope.aliases = aliases(select);
        self.resolve(Some(&scope), &mut select.group_by);
        self.resolve(Some(&scope), &mut query.order_by);
        ControlFlow::Continue(())
    }
}

impl Resolver<'_> {
    fn resolve_select(&mut self, scope: &Scope, select: &mut Select) {
        for item in &mut select.projection {
            // The name must survive as the output column's.
            if let SelectItem::UnnamedExpr(expr) = item
                && let Some(name) = scope.missing_name(expr)
            {
                let alias = Ident::with_quote('"', name);
                *item = SelectItem::ExprWithAlias {
                    expr: expr.clone(),
                    alias,
                };
            }
        }
        self.resolve(Some(scope), &mut select.projection);
        self.resolve(Some(scope), &mut select.selection);
        self.resolve(Some(scope), &mut select.having);
    }

    fn resolve<T: VisitMut>(&mut self, scope: Option<&Scope>, part: &mut T) {
        if let Some(scope) = scope {
            let mut replace = Replace {
                scope,
                depth: 0,
                missing: &mut self.missing,
            };
            let _ = part.visit(&mut replace);
        }
    }
}

/// Replaces missing columns in the expressions of one SELECT, not in its subqueries.
struct Replace<'a> {
    scope: &'a Scope,
    depth: usize,
    missing: &'a mut BTreeSet<(String, String)>,
}

impl VisitorMut for Replace<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0
            && let Some(name) = self.scope.missing_name(expr)
        {
            self.missing.insert((self.scope.dynamic.clone(), name));
            *expr = Expr::Cast {
                kind: CastKind::DoubleColon,
                expr: Box::new(Expr::Value(Literal::Null.into())),
                data_type: DataType::Text,
                array: false,
                format: None,
            };
        }
        ControlFlow::Continue(())
    }
}

/// The relations of one FROM whose columns are all known, one of them with dynamic columns.
struct Scope {
    /// Name (or alias) and table.
    tables: Vec<(String, Arc<TableDef>)>,
    /// The first table with dynamic columns, for the NOTICE.
    dynamic: String,
    /// Output names, which ORDER BY and GROUP BY may use.
    aliases: BTreeSet<String>,
}

impl Scope {
    /// `None` when a relation is no plain table or none is dynamic.
    fn of(ctx: &StatementContext, from: &[TableWithJoins]) -> Option<Scope> {
        let mut tables = Vec::new();
        for table in from {
            tables.push(named_table(ctx, &table.relation)?);
            for join in &table.joins {
                tables.push(named_table(ctx, &join.relation)?);
            }
        }
        let dynamic = tables
            .iter()
            .find(|(_, table)| table.options.dynamic_columns)?
            .1
            .name
            .clone();
        Some(Scope {
            tables,
            dynamic,
            aliases: BTreeSet::new(),
        })
    }

    /// The name of a column that `expr` reads and no relation has.
    fn missing_name(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Identifier(ident) if ident.quote_style.is_none() => {
                let name = names::fold(ident);
                let known = self.aliases.contains(&name)
                    || self
                        .tables
                        .iter()
                        .any(|(alias, table)| *alias == name || table.column_index(&name).is_some());
                (!known).then_some(name)
            }
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, column] if column.quote_style.is_none() => {
                    let (table, name) = (names::fold(table), names::fold(column));
                    let (_, table) = self.tables.iter().find(|(alias, _)| *alias == table)?;
                    (table.options.dynamic_columns && table.column_index(&name).is_none()).then_some(name)
                }
                _ => None,
            },
            _ => None,
        }
    }
}

fn named_table(ctx: &StatementContext, factor: &TableFactor) -> Option<(String, Arc<TableDef>)> {
    let TableFactor::Table {
        name,
        alias,
        args: None,
        ..
    } = factor
    else {
        return None;
    };
    let (schema, name) = names::relation_name(name).ok()?;
    match ctx
        .catalog
        .get_relation(schema.as_deref(), &name, &ctx.settings.search_path)?
    {
        Relation::Table(table) => Some((
            alias.as_ref().map_or(name, |alias| names::fold(&alias.name)),
            table.clone(),
        )),
        Relation::View(_) => None,
    }
}

fn aliases(select: &Select) -> BTreeSet<String> {
    select
        .projection
        .iter()
        .filter_map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(names::fold(alias)),
            _ => None,
        })
        .collect()
}
