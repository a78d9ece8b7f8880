//! The rows that an UPDATE, DELETE or MERGE finds, as a query: columns of its target, also those that no name reaches, and what
//! SET computes of each row.

use std::sync::Arc;

use sqlparser::ast;

use super::binder::{Binder, Bound, BoundQuery, Clause, Place};
use super::column_name::column_name;
use super::from_item::FromItem;
use super::indexed_expressions;
use super::repeated_subqueries::RepeatedSubqueries;
use super::row_origin::RowOrigin;
use super::row_query::{RowColumn, RowRelation};
use super::scope::ScopeRelation;
use super::select::Kept;
use super::select_item::BoundItem;
use super::system_column::row_id_of;
use super::{PlannedQuery, planned, without_panic};
use crate::catalog::{TableDef, ViewDef};
use crate::logical::stored_table::whole_table_source;
use crate::parse::current_of::cursor_of;
use crate::parse::names;
use crate::system::StatementContext;
use crate::tree::JoinType;
use crate::types::SqlType;
use crate::{Error, Result};

/// What a write wants of its target.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TargetRows<'a> {
    /// The target.
    pub(crate) table: &'a Arc<TableDef>,
    /// Its alias.
    pub(crate) alias: Option<&'a str>,
    /// Positions in `TableDef::columns` of the columns wanted.
    pub(crate) columns: &'a [usize],
    /// What is computed of each row, behind the columns.
    pub(crate) expressions: &'a [&'a ast::Expr],
    /// What it is joined with.
    pub(crate) others: Others<'a>,
    /// WHERE.
    pub(crate) selection: Option<&'a ast::Expr>,
    /// Whether the columns of the relations that it is joined with are wanted too.
    pub(crate) beside: bool,
    /// Only rows behind this stored key, by the primary key.
    pub(crate) after: Option<&'a Arc<[u8]>>,
}

/// What the target of a write is joined with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Others<'a> {
    /// FROM of UPDATE, USING of DELETE; often nothing.
    From(&'a [ast::TableWithJoins]),
    /// The source of MERGE.
    Source(MergeSource<'a>),
}

/// USING of MERGE.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MergeSource<'a> {
    /// The source.
    pub(crate) relation: &'a ast::TableFactor,
    /// ON.
    pub(crate) on: &'a ast::Expr,
    /// Of the target with the source: which rows that match none are wanted, too.
    pub(crate) kind: JoinType,
}

/// How the rows are found.
#[derive(Debug)]
pub(crate) struct FoundPlan {
    /// The query: the columns, the expressions, then the columns of the relations beside.
    pub(crate) query: PlannedQuery,
    /// The relations beside the target, from left to right, where their columns are wanted.
    pub(crate) beside: Vec<RowRelation>,
}

/// Plans the query; string literals that have no type of their own stay `Unknown`. `parameters`: the types that are known, and
/// what is found out of the others. Errors: as [`super::plan_query`].
pub(crate) fn plan_target_rows(
    ctx: &StatementContext,
    rows: TargetRows<'_>,
    parameters: &mut Vec<Option<SqlType>>,
) -> Result<FoundPlan> {
    let mut beside = Vec::new();
    let query = without_panic(|| {
        let mut binder = Binder::new(ctx, parameters);
        let (bound, relations) = binder
            .target_rows(rows)
            .map_err(|error| binder.at_its_place(error))?;
        beside = relations;
        parameters.clone_from(&binder.parameters);
        planned(binder, bound, SqlType::Unknown)
    })?;
    Ok(FoundPlan { query, beside })
}

/// The types of a view's columns. Errors: those of binding its query.
pub(crate) fn view_types(ctx: &StatementContext, view: &ViewDef) -> Result<Vec<SqlType>> {
    let item = Binder::new(ctx, &[]).table(&names::quoted_relation(&view.schema, &view.name), None)?;
    let columns = item.scope.visible.iter();
    Ok(columns.map(|column| column.bound.ty.clone()).collect())
}

/// What expressions that come later know a relation of FROM by.
fn row_relation(relation: &ScopeRelation) -> RowRelation {
    let columns = relation.columns.iter().map(|column| RowColumn {
        name: column.name.clone(),
        ty: column.bound.ty.clone(),
        origin: column.bound.origin,
    });
    RowRelation {
        name: relation.name.clone(),
        schema: relation.schema.clone(),
        hidden_name: relation.hidden_name.clone(),
        columns: columns.collect(),
        dynamic_table: relation.dynamic_table.clone(),
        row_type: relation.row_type.clone(),
        is_table: matches!(relation.origin, RowOrigin::Table(_)),
    }
}

impl Binder<'_> {
    /// The target joined with the others, and every column of the target.
    fn target_with(&mut self, rows: TargetRows<'_>) -> Result<(FromItem, Vec<Bound>)> {
        let (mut joined, columns) = self.whole_table(rows)?;
        match rows.others {
            Others::From(from) => {
                for table in from {
                    joined = self.table_with_joins(Some(joined), table, None)?;
                }
            }
            Others::Source(MergeSource { relation, on, kind }) => {
                let mut source = self.factor(relation, None)?;
                self.check_source_name(&joined, &source)?;
                if matches!(kind, JoinType::Left | JoinType::Full) {
                    source.scope.note_may_be_missing();
                }
                if matches!(kind, JoinType::Right | JoinType::Full) {
                    joined.scope.note_may_be_missing();
                }
                joined = self.join_on(joined, source, kind, on, None)?;
            }
        }
        Ok((joined, columns))
    }

    /// Errors: 42712 for a source of MERGE that is called as its target.
    fn check_source_name(&self, target: &FromItem, source: &FromItem) -> Result<()> {
        let mut of_source = source.scope.relations.iter();
        let target = target.scope.relations.first();
        match of_source.find(|relation| target.is_some_and(|target| target.name == relation.name)) {
            Some(relation) => Err(Error::MergeSourceName {
                name: relation.name.clone(),
            }),
            None => Ok(()),
        }
    }

    fn target_rows(&mut self, rows: TargetRows<'_>) -> Result<(BoundQuery, Vec<RowRelation>)> {
        let (joined, columns) = self.target_with(rows)?;
        let FromItem { mut plan, scope } = joined;
        let place = |clause| Place {
            scope: &scope,
            outer: None,
            clause,
            windows: &[],
        };
        if let Some(selection) = rows.selection {
            let condition = match cursor_of(selection) {
                Some(_) => self.is_current_row(rows.table, &columns)?,
                None => self.where_condition(selection, place(Clause::Where))?,
            };
            plan = self.filter(plan, condition)?;
        }
        let mut items = Vec::with_capacity(rows.columns.len() + rows.expressions.len());
        for at in rows.columns {
            items.push(BoundItem {
                name: rows.table.columns[*at].name.clone(),
                bound: columns[*at].clone(),
            });
        }
        self.repeated_subqueries = RepeatedSubqueries::of_set(rows.expressions.iter().copied());
        for expr in rows.expressions {
            let bound = self.expression(expr, place(Clause::Set))?;
            let bound = match bound.expr {
                crate::tree::Expr::Placeholder(_) => self.with_decided_type(bound)?,
                _ => bound,
            };
            items.push(BoundItem {
                name: column_name(expr),
                bound,
            });
        }
        self.repeated_subqueries = RepeatedSubqueries::default();
        let beside = match rows.beside {
            true => &scope.relations[1..],
            false => &[],
        };
        items.extend(
            beside
                .iter()
                .flat_map(|relation| &relation.columns)
                .map(|column| BoundItem {
                    name: column.name.clone(),
                    bound: column.bound.clone(),
                }),
        );
        let relations = beside.iter().map(row_relation).collect();
        let visible = items.len();
        let exprs = items.iter().map(|item| item.bound.expr.clone()).collect();
        let (plan, exprs) = self.place_subqueries(plan, exprs, false)?;
        let bound = self.project(plan, items, exprs, visible, Vec::new(), Kept::all())?;
        Ok((bound, relations))
    }

    /// The view that a table stands for, and every column of it.
    fn whole_view(&mut self, table: &TableDef, alias: Option<&str>) -> Result<(FromItem, Vec<Bound>)> {
        let alias = alias.map(|alias| ast::TableAlias {
            explicit: true,
            name: ast::Ident::with_quote('"', alias),
            columns: Vec::new(),
            at: None,
        });
        let item = self.table(
            &names::quoted_relation(&table.schema, &table.name),
            alias.as_ref(),
        )?;
        let columns = item.scope.visible.iter();
        let columns = columns.map(|column| column.bound.clone()).collect();
        Ok((item, columns))
    }

    /// A stored table of which names reach the visible columns, and every column of it.
    fn whole_table(&mut self, rows: TargetRows<'_>) -> Result<(FromItem, Vec<Bound>)> {
        let TargetRows { table, alias, .. } = rows;
        if table.stands_for_view() {
            return self.whole_view(table, alias);
        }
        let columns = table
            .columns
            .iter()
            .map(|column| (column.name.clone(), column.ty.clone(), None))
            .collect();
        let schema = alias.is_none().then(|| table.schema.clone());
        let name = alias.unwrap_or(&table.name);
        let walked = rows.after.map(|after| table.walked(after));
        let mut item = self.scan(
            whole_table_source(walked.as_ref().unwrap_or(table), name, &self.ctx.hints),
            schema,
            name,
            columns,
            Vec::new(),
            None,
        )?;
        let all = item
            .scope
            .visible
            .iter()
            .map(|column| column.bound.clone())
            .collect();
        let is_named = {
            let mut columns = table.columns.iter();
            move || columns.next().is_some_and(|column| !column.hidden)
        };
        let row_id = table.row_id().map(|at| row_id_of(&item, at));
        let mut named = is_named.clone();
        item.scope.visible.retain(|_| named());
        for relation in &mut item.scope.relations {
            let mut named = is_named.clone();
            relation.columns.retain(|_| named());
            relation.origin = RowOrigin::Table(row_id.clone());
            relation.key = table.telling_visible_columns();
            relation.hidden_name = alias.map(|_| table.name.clone());
            relation.dynamic_table = Some(table).filter(|table| table.gets_columns()).cloned();
            relation.row_type = Some(Arc::new(table.row_type()));
        }
        if !indexed_expressions::positions(table).is_empty() {
            self.note_indexed(table, &mut item)?;
        }
        Ok((item, all))
    }
}
