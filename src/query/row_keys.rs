//! Which rows of tables the rows of a query are made of: the plan with the primary keys of these behind its columns, for a cursor whose
//! row UPDATE and DELETE may name (WHERE CURRENT OF). They are the rows that the query locks, or those of the one table that it reads.

use std::sync::Arc;

use super::PlannedQuery;
use crate::catalog::TableDef;
use crate::logical::stored_table::{scanned_table, whole_table_source};
use crate::scan::OutputColumn;
use crate::system::StatementContext;
use crate::tree::{Column, Expr, Filter, Limit, Plan, Projection, Sort, SubqueryAlias, TableScan};
use crate::{Error, Result};

/// A table's row that each row of a query is made of.
#[derive(Debug, Clone)]
pub(crate) struct RowKey {
    pub(crate) table: Arc<TableDef>,
    /// Places of its primary key, in the key's order, among the query's columns.
    pub(crate) places: Vec<usize>,
}

/// A plan whose rows tell of what rows they are made.
struct Keyed {
    plan: Plan,
    /// Tables with their keys, columns of the plan.
    keys: Vec<(Arc<TableDef>, Vec<Column>)>,
}

/// The query with these keys, which it gives behind its columns where it does not give them already. A query that makes its rows of
/// many has none.
pub(super) fn with_row_keys(
    ctx: &StatementContext,
    query: PlannedQuery,
) -> Result<(PlannedQuery, Vec<RowKey>)> {
    let Some(keyed) = keyed(ctx, &query.plan)? else {
        return Ok((query, Vec::new()));
    };
    let mut columns = query.columns;
    let mut outputs: Vec<Expr> = keyed
        .plan
        .schema()
        .columns()
        .into_iter()
        .take(columns.len())
        .map(Expr::Column)
        .collect();
    let mut keys = Vec::with_capacity(keyed.keys.len());
    for (table, key) in keyed.keys {
        let types = table.primary_key.columns.iter().map(|key| {
            let at = table.column_index_by_id(key.column);
            at.map(|at| table.columns[at].ty.clone())
        });
        let mut places = Vec::with_capacity(key.len());
        for (column, ty) in key.into_iter().zip(types) {
            let ty = ty.ok_or_else(no_such_column)?;
            let column = Expr::Column(column);
            let place = outputs.iter().position(|output| *output == column);
            places.push(place.unwrap_or(outputs.len()));
            if place.is_none() {
                outputs.push(column);
                columns.push(OutputColumn::declared("", ty));
            }
        }
        keys.push(RowKey { table, places });
    }
    let plan = match outputs.len() == keyed.plan.schema().fields().len() {
        true => keyed.plan,
        false => keyed.plan.project(outputs)?,
    };
    Ok((
        PlannedQuery {
            plan,
            columns,
            ..query
        },
        keys,
    ))
}

fn keyed(ctx: &StatementContext, plan: &Plan) -> Result<Option<Keyed>> {
    let below = |input: &Plan| keyed(ctx, input);
    Ok(match plan {
        Plan::LockRows(locked) => {
            let column = |key: &Expr| match key {
                Expr::Column(column) => Ok(column.clone()),
                _ => Err(no_such_column()),
            };
            let locks = locked.locks.iter();
            let key = locks.map(|lock| {
                let key = lock.key.iter().map(column).collect::<Result<_>>()?;
                Ok((Arc::clone(&lock.table), key))
            });
            Some(Keyed {
                plan: plan.clone(),
                keys: key.collect::<Result<_>>()?,
            })
        }
        Plan::TableScan(scan) => whole_scan(ctx, scan),
        Plan::Filter(filter) => below(&filter.input)?
            .map(|keyed| keyed.under(|input| Plan::Filter(Filter::new(filter.predicate.clone(), input)))),
        Plan::Sort(sort) => below(&sort.input)?.map(|keyed| {
            keyed.under(|input| {
                Plan::Sort(Sort {
                    input,
                    ..sort.clone()
                })
            })
        }),
        Plan::Limit(limit) => below(&limit.input)?.map(|keyed| {
            keyed.under(|input| {
                Plan::Limit(Limit {
                    input,
                    ..limit.clone()
                })
            })
        }),
        Plan::SubqueryAlias(alias) => match below(&alias.input)? {
            Some(keyed) => Some(keyed.named(alias)?),
            None => None,
        },
        Plan::Projection(projection) => match below(&projection.input)? {
            Some(keyed) => Some(keyed.projected(projection)?),
            None => None,
        },
        _ => None,
    })
}

/// A table's scan that also gives the columns that no name reaches.
fn whole_scan(ctx: &StatementContext, scan: &TableScan) -> Option<Keyed> {
    let table = scanned_table(scan)?.table;
    if table.is_of_versions() {
        // A version is no row that could be changed.
        return None;
    }
    let source = whole_table_source(&table, scan.table_name.table(), &ctx.hints);
    let whole = TableScan::new(scan.table_name.clone(), source);
    let key = table.primary_key.columns.iter().map(|key| {
        let at = table.column_index_by_id(key.column)?;
        Some(Column::from(whole.projected_schema.qualified_field(at)))
    });
    let key = key.collect::<Option<_>>()?;
    Some(Keyed {
        plan: Plan::TableScan(whole),
        keys: vec![(table, key)],
    })
}

impl Keyed {
    /// Below a relation that leaves the columns as they are.
    fn under(self, make: impl FnOnce(Arc<Plan>) -> Plan) -> Keyed {
        Keyed {
            plan: make(Arc::new(self.plan)),
            keys: self.keys,
        }
    }

    /// Under a name.
    fn named(mut self, alias: &SubqueryAlias) -> Result<Keyed> {
        for column in self.keys.iter_mut().flat_map(|(_, key)| key) {
            column.relation = Some(alias.alias.clone());
        }
        self.plan = self.plan.alias(alias.alias.clone())?;
        Ok(self)
    }

    /// Below a projection, which gives the keys, too.
    fn projected(self, projection: &Projection) -> Result<Keyed> {
        let mut outputs = projection.expr.clone();
        let mut keys = self.keys;
        let schema = projection.schema.columns();
        for (at, column) in keys.iter_mut().flat_map(|(_, key)| key).enumerate() {
            let given = |output: &Expr| output.clone().unalias() == Expr::Column(column.clone());
            let name = match projection.expr.iter().position(given) {
                Some(place) => schema[place].clone(),
                None => {
                    // No name that a statement gives has a line break that it begins with.
                    let name = format!("\nkey {at}");
                    outputs.push(Expr::Column(column.clone()).alias(&name));
                    Column::new_unqualified(name)
                }
            };
            *column = name;
        }
        let plan = self.plan.project(outputs)?;
        Ok(Keyed { plan, keys })
    }
}

fn no_such_column() -> Error {
    Error::internal("a key column that the table has not")
}
