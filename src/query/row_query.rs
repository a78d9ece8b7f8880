//! Expressions over rows in memory, bound: what a write computes of its rows (SET, RETURNING, ON CONFLICT, defaults, generated
//! columns). The relations stand side by side in one relation of rows, which no name reaches but through its scope.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use sqlparser::ast;

use super::binder::{Binder, Bound, BoundQuery, Clause, Place};
use super::from_item::FromItem;
use super::repeated_subqueries::RepeatedSubqueries;
use super::result_columns::{RESULT_COLUMNS_MAX, require_few};
use super::row_origin::RowOrigin;
use super::scope::{Scope, ScopeColumn, ScopeRelation};
use super::select::Kept;
use super::select_item::BoundItem;
use super::system_column::table_oid;
use super::{PlannedQuery, planned, without_panic};
use crate::catalog::TableDef;
use crate::logical::rows_source::RowsSource;
use crate::system::StatementContext;
use crate::tree::{Column, Expr, Plan, RelationAlias};
use crate::types::{CatalogType, RecordType, SqlType};
use crate::{Error, Result};

/// A column of rows in memory.
#[derive(Debug, Clone)]
pub(crate) struct RowColumn {
    /// Its name.
    pub(crate) name: String,
    /// Its type.
    pub(crate) ty: SqlType,
    /// The table column that it is, if it is one.
    pub(crate) origin: Option<(u32, i16)>,
}

/// Rows in memory as expressions name them.
#[derive(Debug, Clone)]
pub(crate) struct RowRelation {
    /// The name.
    pub(crate) name: String,
    /// The schema that may stand before the name.
    pub(crate) schema: Option<String>,
    /// The name of its table, where that is hidden by an alias.
    pub(crate) hidden_name: Option<String>,
    /// The columns.
    pub(crate) columns: Vec<RowColumn>,
    /// The table that it is of, if that gets columns that writes name.
    pub(crate) dynamic_table: Option<Arc<TableDef>>,
    /// The type of a whole row, where that has a name.
    pub(crate) row_type: Option<Arc<RecordType>>,
    /// Whether its rows are a table's, and have what all of them have beside their columns.
    pub(crate) is_table: bool,
}

impl RowRelation {
    /// Rows of these columns under a name, and no more.
    pub(crate) fn new(name: String, columns: Vec<RowColumn>) -> RowRelation {
        RowRelation {
            name,
            schema: None,
            hidden_name: None,
            columns,
            dynamic_table: None,
            row_type: None,
            is_table: false,
        }
    }
}

/// A select list and a condition over rows of relations that belong together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowQuery<'a> {
    /// The relations, from left to right.
    pub(crate) relations: &'a [RowRelation],
    /// The select list.
    pub(crate) items: &'a [ast::SelectItem],
    /// WHERE.
    pub(crate) selection: Option<&'a ast::Expr>,
    /// Where the statement has the select list.
    pub(crate) clause: Clause,
}

/// Binds it for rows that are not there yet. String literals that have no type of their own stay `Unknown`. `parameters`: the
/// types that are known, and what is found out of the others. Errors: as [`super::plan_query`].
pub(crate) fn plan_row_query(
    ctx: &StatementContext,
    query: RowQuery<'_>,
    parameters: &mut Vec<Option<SqlType>>,
) -> Result<PlannedQuery> {
    plan_over(ctx, query, None, parameters)
}

/// Binds it over these rows. The first column of the result is the number of the row, for a plan may give them in any order.
pub(crate) fn plan_numbered(
    ctx: &StatementContext,
    query: RowQuery<'_>,
    rows: &RecordBatch,
    parameters: &[Option<SqlType>],
) -> Result<PlannedQuery> {
    plan_over(ctx, query, Some(rows), &mut parameters.to_vec())
}

fn plan_over(
    ctx: &StatementContext,
    query: RowQuery<'_>,
    rows: Option<&RecordBatch>,
    parameters: &mut Vec<Option<SqlType>>,
) -> Result<PlannedQuery> {
    without_panic(|| {
        let mut binder = match query.clause {
            Clause::Default => Binder::of_definition(ctx, parameters),
            _ => Binder::new(ctx, parameters),
        };
        let bound = binder
            .row_query(query, rows)
            .map_err(|error| binder.at_its_place(error))?;
        parameters.clone_from(&binder.parameters);
        planned(binder, bound, SqlType::Unknown)
    })
}

/// The name of the relation whose only column says which of the rows written were there before: their xmax.
const MARKS: &str = "\u{2}written";

/// That relation, to stand beside the rows of an INSERT that updates others.
pub(crate) fn written_marks() -> RowRelation {
    RowRelation::new(
        MARKS.to_string(),
        vec![RowColumn {
            name: "xmax".to_string(),
            ty: SqlType::Catalog(CatalogType::Xid),
            origin: None,
        }],
    )
}

/// Makes a column of the rows written of what stands in the relation of their marks.
fn take_marks(scope: &mut Scope) {
    let Some(at) = scope.relations.iter().position(|relation| relation.name == MARKS) else {
        return;
    };
    let marks = scope.relations.remove(at).columns;
    scope.visible.truncate(scope.visible.len() - marks.len());
    for relation in &mut scope.relations {
        if matches!(relation.origin, RowOrigin::Written) {
            relation.hidden.extend(marks.iter().cloned());
        }
    }
}

impl Binder<'_> {
    fn row_query(&mut self, query: RowQuery<'_>, rows: Option<&RecordBatch>) -> Result<BoundQuery> {
        let (FromItem { mut plan, mut scope }, number) = self.rows_in_memory(query.relations, rows)?;
        if query.clause == Clause::Returning {
            // Of a table's rows, not of those beside them.
            let relations = scope.relations.iter_mut().zip(query.relations);
            for (relation, _) in relations.filter(|(_, known)| known.is_table) {
                relation.origin = RowOrigin::Written;
                let table = relation.columns.first().and_then(|column| column.bound.origin);
                if let Some((oid, _)) = table {
                    relation.hidden.push(table_oid(oid)?);
                }
            }
            take_marks(&mut scope);
        }
        let place = |clause| Place {
            scope: &scope,
            outer: None,
            clause,
            windows: &[],
        };
        if let Some(selection) = query.selection {
            let clause = match query.clause {
                clause @ (Clause::CopyWhere | Clause::MergeWhen | Clause::TriggerWhen) => clause,
                _ => Clause::Where,
            };
            let condition = self.condition(selection, place(clause))?;
            plan = self.filter(plan, condition)?;
        }
        let mut items = match rows {
            Some(_) => vec![number],
            None => Vec::new(),
        };
        match query.clause {
            Clause::Check => items.extend(self.conditions(query.items, place(Clause::Check))?),
            Clause::Returning => {
                let place = place(Clause::Returning);
                let returned = self.showing(|binder| binder.decided_items(query.items, place))?;
                let count = returned.len();
                require_few(count, || {
                    format!("number of columns ({count}) exceeds limit ({RESULT_COLUMNS_MAX})")
                })?;
                for BoundItem { name, bound } in returned {
                    // An array's items are shown by their names alone.
                    let (origin, is_declared) = (bound.origin, bound.is_declared);
                    let sent = match bound.ty {
                        SqlType::Array(_) => self.as_shown(bound)?,
                        _ => self.as_sent(bound)?,
                    };
                    let bound = Bound {
                        origin,
                        is_declared,
                        ..sent
                    };
                    items.push(BoundItem { name, bound });
                }
            }
            clause => {
                self.repeated_subqueries = RepeatedSubqueries::of_set(query.items);
                items.extend(self.decided_items(query.items, place(clause))?);
                self.repeated_subqueries = RepeatedSubqueries::default();
            }
        }
        let exprs: Vec<Expr> = items.iter().map(|item| item.bound.expr.clone()).collect();
        let visible = items.len();
        let (plan, exprs) = self.place_subqueries(plan, exprs, false)?;
        self.project(plan, items, exprs, visible, Vec::new(), Kept::all())
    }

    /// A select list of conditions.
    fn conditions(&mut self, items: &[ast::SelectItem], place: Place<'_>) -> Result<Vec<BoundItem>> {
        let condition = |item: &ast::SelectItem| match item {
            ast::SelectItem::UnnamedExpr(expr) => Ok(BoundItem {
                name: "condition".to_string(),
                bound: Bound::new(self.condition(expr, place)?, SqlType::Bool),
            }),
            _ => Err(Error::internal("a condition that is no expression")),
        };
        items.iter().map(condition).collect()
    }

    /// The relations as one FROM item, and the number of each row.
    pub(super) fn rows_in_memory(
        &mut self,
        relations: &[RowRelation],
        rows: Option<&RecordBatch>,
    ) -> Result<(FromItem, BoundItem)> {
        let table = table_of(relations, rows)?;
        let reference = RelationAlias::bare(self.unique_name("rows"));
        let plan = Plan::scan(reference.clone(), Arc::new(table));
        let column = |at: usize| Expr::Column(Column::new(Some(reference.clone()), field_name(at)));
        let mut scope = Scope::default();
        for relation in relations {
            let first = scope.visible.len();
            let columns = relation.columns.iter().enumerate();
            let columns = columns.map(|(at, known)| ScopeColumn {
                name: known.name.clone(),
                bound: Bound {
                    expr: column(first + at),
                    ty: known.ty.clone(),
                    origin: known.origin,
                    is_declared: known.origin.is_some(),
                },
            });
            let columns: Vec<ScopeColumn> = columns.collect();
            scope.visible.extend(columns.iter().cloned());
            scope.relations.push(ScopeRelation {
                schema: relation.schema.clone(),
                hidden_name: relation.hidden_name.clone(),
                dynamic_table: relation.dynamic_table.clone(),
                row_type: relation.row_type.clone(),
                ..ScopeRelation::new(relation.name.clone(), columns)
            });
        }
        let number = BoundItem {
            name: "number".to_string(),
            bound: Bound::new(column(scope.visible.len()), SqlType::Int8),
        };
        Ok((FromItem { plan, scope }, number))
    }
}

/// The rows, with the number of each as their last column; none where they come later.
fn table_of(relations: &[RowRelation], rows: Option<&RecordBatch>) -> Result<RowsSource> {
    let columns = relations.iter().flat_map(|relation| &relation.columns);
    let mut fields: Vec<_> = columns
        .enumerate()
        .map(|(at, column)| column.ty.field(&field_name(at), true))
        .collect();
    let Some(rows) = rows else {
        let schema = Arc::new(Schema::new(fields));
        return Ok(RowsSource::new(schema, Vec::new()));
    };
    fields.push(SqlType::Int8.field(&field_name(fields.len()), false));
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows.num_rows() as i64));
    let columns = rows.columns().iter().cloned().chain([numbers]).collect();
    let schema = Arc::new(Schema::new(fields));
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options);
    let batch = batch.map_err(Error::arrow)?;
    Ok(RowsSource::new(schema, vec![batch]))
}

/// Relations may have columns of the same name.
fn field_name(at: usize) -> String {
    format!("column{at}")
}
