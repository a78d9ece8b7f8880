//! The direct path: a SELECT over one table with plain columns (or `count(*)`), a predicate that `plan` understands and
//! an order that the key gives runs as access path → decode → wire, with no DataFusion planning.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use futures::{StreamExt, TryStreamExt, stream};
use sqlparser::ast::{
    Distinct, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident, LimitClause,
    OrderByExpr, OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    TableFactor, Value as Literal, WildcardAdditionalOptions,
};

use super::{names, predicate};
use crate::catalog::{ColumnDef, Relation, TableDef};
use crate::exec::plan_cache::PlanCache;
use crate::exec::scan::{Demand, ScanMetrics, scan_batches, scan_stored};
use crate::exec::short::skip_rows;
use crate::exec::{OutputColumn, Rows, RowsStream, StatementContext};
use crate::plan::{AccessPath, OrderColumn, plan_access};
use crate::table::RowLayout;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// A SELECT of the direct path's shape; parameters still in it.
pub(crate) struct DirectSelect<'a> {
    shape: Arc<Shape>,
    /// WHERE.
    selection: Option<&'a Expr>,
    limit: Option<&'a Expr>,
    offset: Option<&'a Expr>,
}

/// What the names of a direct SELECT mean.
#[derive(Debug)]
pub(super) struct Shape {
    /// The one table.
    table: Arc<TableDef>,
    alias: Option<String>,
    output: Output,
    /// The result's columns.
    columns: Arc<[OutputColumn]>,
    /// Where the columns stand in stored rows.
    layout: Arc<RowLayout>,
    order: Vec<OrderColumn>,
}

/// What the SELECT list asks for.
#[derive(Debug)]
enum Output {
    /// Columns at these positions of `TableDef::columns`.
    Columns(Vec<usize>),
    /// `count(*)`.
    Count,
}

/// A direct SELECT with its access planned.
pub(crate) struct DirectPlan {
    /// How rows are reached.
    pub(crate) path: Arc<AccessPath>,
    shape: Arc<Shape>,
    limit: Option<usize>,
    offset: usize,
}

impl<'a> DirectSelect<'a> {
    /// The query as a direct SELECT, or `None` when it is none (or names what does not exist: the general path says so).
    pub(crate) fn from_query(
        ctx: &StatementContext,
        query: &'a Query,
        cache: Option<&PlanCache<Shape>>,
    ) -> Option<DirectSelect<'a>> {
        let select = plain_select(query)?;
        let (limit, offset) = match &query.limit_clause {
            None => (None, None),
            Some(LimitClause::LimitOffset {
                limit,
                offset,
                limit_by,
            }) if limit_by.is_empty() => (limit.as_ref(), offset.as_ref().map(|offset| &offset.value)),
            Some(_) => return None,
        };
        let shape = match cache.and_then(|cache| cache.get(ctx)) {
            Some(shape) => shape,
            None => {
                let shape = Arc::new(Shape::read(ctx, query, select)?);
                if let Some(cache) = cache {
                    cache.set(ctx, &shape);
                }
                shape
            }
        };
        Some(DirectSelect {
            shape,
            selection: select.selection.as_ref(),
            limit,
            offset,
        })
    }

    /// The result's columns.
    pub(crate) fn columns(&self) -> Arc<[OutputColumn]> {
        Arc::clone(&self.shape.columns)
    }

    /// Plans the access with the context's parameters; `None` when the general path must run it after all.
    /// Errors: unknown columns and bad constants in WHERE, 53400, 54000.
    pub(crate) fn plan(&self, ctx: &StatementContext) -> Result<Option<DirectPlan>> {
        let (Some(limit), Some(offset)) = (row_count(ctx, self.limit)?, row_count(ctx, self.offset)?) else {
            return Ok(None);
        };
        let predicate = match self.selection {
            Some(selection) => Some(predicate::from_ast(
                selection,
                &self.shape.table,
                self.shape.alias.as_deref(),
                ctx,
            )?),
            None => None,
        };
        if predicate.as_ref().is_some_and(|predicate| predicate.has_opaque()) {
            return Ok(None);
        }
        let mut path = plan_access(
            &self.shape.table,
            predicate.as_ref(),
            &ctx.plan_rules(&self.shape.table),
        )?;
        if !self.shape.order.is_empty() {
            match path.order_direction(&self.shape.order) {
                Some(reverse) => path.reverse = reverse,
                None => return Ok(None),
            }
        }
        Ok(Some(DirectPlan {
            path: Arc::new(path),
            shape: Arc::clone(&self.shape),
            limit,
            offset: offset.unwrap_or(0),
        }))
    }

    /// Fills in the types of the parameters that the shape decides: those compared with columns, LIMIT, OFFSET.
    pub(crate) fn infer_parameters(&self, types: &mut [Option<SqlType>]) {
        if let Some(selection) = self.selection {
            predicate::infer_parameters(selection, &self.shape.table, types);
        }
        for count in [self.limit, self.offset].into_iter().flatten() {
            if let Expr::Value(literal) = count
                && let Literal::Placeholder(name) = &literal.value
                && let Some(ty) = parameter_index(name).and_then(|at| types.get_mut(at))
            {
                ty.get_or_insert(SqlType::Int8);
            }
        }
    }
}

impl Shape {
    fn read(ctx: &StatementContext, query: &Query, select: &Select) -> Option<Shape> {
        let (table, alias) = only_table(ctx, select)?;
        let mut names = Names {
            table,
            alias,
            columns: Vec::new(),
        };
        let output = names.read_projection(&select.projection)?;
        let order = names.read_order(query, &output)?;
        let positions: &[usize] = match &output {
            Output::Columns(positions) => positions,
            Output::Count => &[],
        };
        Some(Shape {
            layout: Arc::new(RowLayout::new(&names.table, positions)),
            table: names.table,
            alias: names.alias,
            output,
            columns: names.columns.into(),
            order,
        })
    }
}

/// Resolves the names of a SELECT, and gathers the result's columns.
struct Names {
    table: Arc<TableDef>,
    alias: Option<String>,
    columns: Vec<OutputColumn>,
}

impl Names {
    fn read_projection(&mut self, items: &[SelectItem]) -> Option<Output> {
        if let [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] = items
            && is_count_star(item)
        {
            let name = match &items[0] {
                SelectItem::ExprWithAlias { alias, .. } => names::fold(alias),
                _ => "count".to_string(),
            };
            self.columns = vec![OutputColumn {
                name,
                ty: SqlType::Int8,
                table_oid: 0,
                attribute: 0,
            }];
            return Some(Output::Count);
        }
        let mut positions = Vec::new();
        for item in items {
            match item {
                SelectItem::Wildcard(options) if is_plain(options) => self.push_all(&mut positions),
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
                    if is_plain(options) =>
                {
                    let [part] = name.0.as_slice() else { return None };
                    self.names_table(part.as_ident()?)
                        .then(|| self.push_all(&mut positions))?;
                }
                SelectItem::UnnamedExpr(expr) => self.push_column(expr, None, &mut positions)?,
                SelectItem::ExprWithAlias { expr, alias } => {
                    self.push_column(expr, Some(names::fold(alias)), &mut positions)?;
                }
                _ => return None,
            }
        }
        Some(Output::Columns(positions))
    }

    fn push_all(&mut self, positions: &mut Vec<usize>) {
        let table = self.table.clone();
        for (at, column) in table
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| !column.hidden)
        {
            positions.push(at);
            self.columns.push(output_column(&table, column, None));
        }
    }

    fn push_column(&mut self, expr: &Expr, alias: Option<String>, positions: &mut Vec<usize>) -> Option<()> {
        let at = self.column_of(expr)?;
        positions.push(at);
        let output = output_column(&self.table, &self.table.columns[at], alias);
        self.columns.push(output);
        Some(())
    }

    /// The table column that a plain column reference means.
    fn column_of(&self, expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Identifier(ident) => self.table.column_index(&names::fold(ident)),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, column] if self.names_table(table) => self.table.column_index(&names::fold(column)),
                _ => None,
            },
            _ => None,
        }
    }

    fn names_table(&self, ident: &Ident) -> bool {
        names::fold(ident) == *self.alias.as_ref().unwrap_or(&self.table.name)
    }

    /// ORDER BY output names, ordinals and columns; `None` for anything else.
    fn read_order(&self, query: &Query, output: &Output) -> Option<Vec<OrderColumn>> {
        let Some(order_by) = &query.order_by else {
            return Some(Vec::new());
        };
        let OrderByKind::Expressions(items) = &order_by.kind else {
            return None;
        };
        let Output::Columns(positions) = output else {
            return None;
        };
        let mut order = Vec::with_capacity(items.len());
        for OrderByExpr {
            expr,
            options,
            with_fill,
        } in items
        {
            if with_fill.is_some() {
                return None;
            }
            let column = match expr {
                Expr::Value(value) => match &value.value {
                    Literal::Number(text, _) => {
                        *positions.get(text.parse::<usize>().ok()?.checked_sub(1)?)?
                    }
                    _ => return None,
                },
                Expr::Identifier(ident) => {
                    let name = names::fold(ident);
                    let mut named = (0..positions.len())
                        .filter(|output| self.columns[*output].name == name)
                        .map(|output| positions[output]);
                    match named.next() {
                        Some(first) if named.any(|other| other != first) => return None,
                        Some(first) => first,
                        None => self.column_of(expr)?,
                    }
                }
                expr => self.column_of(expr)?,
            };
            let descending = options.asc == Some(false);
            let nulls_first = options.nulls_first.unwrap_or(descending);
            order.push(OrderColumn {
                column,
                descending,
                nulls_first,
            });
        }
        Some(order)
    }
}

impl DirectPlan {
    /// Most rows that are taken from the path, those of OFFSET among them; `None`: all.
    pub(crate) fn path_rows_max(&self) -> Option<usize> {
        match self.shape.output {
            Output::Columns(_) => self.limit.map(|limit| limit.saturating_add(self.offset)),
            Output::Count => None,
        }
    }

    /// What the statement calls the table.
    pub(crate) fn alias(&self) -> &str {
        self.shape.alias.as_deref().unwrap_or(&self.shape.table.name)
    }

    /// Whether LIMIT or OFFSET is there.
    pub(crate) fn is_limited(&self) -> bool {
        self.limit.is_some() || self.offset > 0
    }

    /// Whether the rows are counted, not shown.
    pub(crate) fn is_count(&self) -> bool {
        matches!(self.shape.output, Output::Count)
    }

    /// Runs it in the context's transaction.
    pub(crate) fn run(self, ctx: &StatementContext, metrics: Arc<ScanMetrics>) -> RowsStream {
        let limit = self.path_rows_max();
        let (txn, path) = (ctx.txn.clone(), self.path);
        match &self.shape.output {
            Output::Columns(positions) => {
                let layout = &self.shape.layout;
                let rows = if path.residual.is_none() && layout.is_formattable() {
                    scan_stored(txn, path, Arc::clone(layout), limit, metrics)
                } else {
                    let batches =
                        scan_batches(txn, path, positions.clone(), Demand::of_limit(limit), metrics);
                    batches.map_ok(Rows::Columns).boxed()
                };
                skip_rows(rows, self.offset)
            }
            Output::Count => {
                let rows = scan_batches(txn, path, Vec::new(), Demand::All, metrics);
                let count = stream::once(async move {
                    let count = rows
                        .try_fold(0, |sum, batch| async move { Ok(sum + batch.num_rows() as i64) })
                        .await?;
                    let column: ArrayRef = Arc::new(Int64Array::from(vec![count]));
                    RecordBatch::try_from_iter([("count", column)])
                        .map(Rows::Columns)
                        .map_err(Error::arrow)
                });
                let limit = self.limit.unwrap_or(1).min(1);
                skip_rows(count.boxed(), self.offset).take(limit).boxed()
            }
        }
    }
}

/// RowDescription of a table's column.
pub(crate) fn output_column(table: &TableDef, column: &ColumnDef, alias: Option<String>) -> OutputColumn {
    OutputColumn {
        name: alias.unwrap_or_else(|| column.name.clone()),
        ty: column.ty.clone(),
        table_oid: table.oid(),
        attribute: column.id as i16,
    }
}

/// The SELECT of a query that has nothing but SELECT, FROM, WHERE, ORDER BY and LIMIT.
fn plain_select(query: &Query) -> Option<&Select> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let plain_query = query.with.is_none()
        && query.fetch.is_none()
        && query.locks.is_empty()
        && query.for_clause.is_none()
        && query.settings.is_none()
        && query.format_clause.is_none()
        && query.pipe_operators.is_empty();
    let plain_select = matches!(select.distinct, None | Some(Distinct::All))
        && select.top.is_none()
        && select.exclude.is_none()
        && select.into.is_none()
        && select.lateral_views.is_empty()
        && select.prewhere.is_none()
        && select.connect_by.is_empty()
        && matches!(&select.group_by, GroupByExpr::Expressions(columns, with) if columns.is_empty() && with.is_empty())
        && select.having.is_none()
        && select.named_window.is_empty()
        && select.qualify.is_none()
        && select.value_table_mode.is_none();
    (plain_query && plain_select).then_some(select)
}

/// The one table of FROM and its alias.
fn only_table(ctx: &StatementContext, select: &Select) -> Option<(Arc<TableDef>, Option<String>)> {
    let [from] = select.from.as_slice() else {
        return None;
    };
    let TableFactor::Table {
        name,
        alias,
        args: None,
        with_hints,
        version: None,
        partitions,
        sample: None,
        ..
    } = &from.relation
    else {
        return None;
    };
    if !from.joins.is_empty() || !with_hints.is_empty() || !partitions.is_empty() {
        return None;
    }
    if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
        return None;
    }
    let (schema, name) = names::relation_name(name).ok()?;
    match ctx
        .catalog
        .get_relation(schema.as_deref(), &name, &ctx.settings.search_path)?
    {
        Relation::Table(table) => Some((
            table.clone(),
            alias.as_ref().map(|alias| names::fold(&alias.name)),
        )),
        Relation::View(_) => None,
    }
}

fn is_count_star(expr: &Expr) -> bool {
    let Expr::Function(function) = expr else {
        return false;
    };
    let FunctionArguments::List(list) = &function.args else {
        return false;
    };
    matches!(
        list.args.as_slice(),
        [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]
    ) && list.duplicate_treatment.is_none()
        && list.clauses.is_empty()
        && function.filter.is_none()
        && function.over.is_none()
        && function.within_group.is_empty()
        && function.null_treatment.is_none()
        && matches!(function.name.0.as_slice(), [part] if part.as_ident().is_some_and(|name| names::fold(name) == "count"))
}

fn is_plain(options: &WildcardAdditionalOptions) -> bool {
    options.opt_ilike.is_none()
        && options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_replace.is_none()
        && options.opt_rename.is_none()
        && options.opt_alias.is_none()
}

/// LIMIT or OFFSET as a row count: `Some(None)` for none at all (or NULL), `None` when it takes evaluating.
/// Errors: 2201W and 2201X for negative counts.
fn row_count(ctx: &StatementContext, expr: Option<&Expr>) -> Result<Option<Option<usize>>> {
    let Some(expr) = expr else { return Ok(Some(None)) };
    let Expr::Value(literal) = expr else {
        return Ok(None);
    };
    Ok(match &literal.value {
        Literal::Null => Some(None),
        Literal::Number(text, _) => text.parse().ok().map(Some),
        Literal::Placeholder(name) => match parameter(ctx, name) {
            Some(Value::Null) => Some(None),
            Some(Value::Int(count)) => usize::try_from(*count).ok().map(Some),
            Some(Value::Unknown(text)) => text.trim().parse().ok().map(Some),
            _ => None,
        },
        _ => None,
    })
}

/// The bound value of `$n`.
fn parameter<'a>(ctx: &'a StatementContext, name: &str) -> Option<&'a Value> {
    ctx.parameters.get(parameter_index(name)?)
}

/// The position of `$n` among the parameters.
fn parameter_index(name: &str) -> Option<usize> {
    name.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)
}
