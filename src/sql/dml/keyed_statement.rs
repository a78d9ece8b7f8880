//! `KeyedStatement`: statements that constraints make of themselves, over the rows of a table that have some keys. They read and write as any
//! do, in a snapshot later than the locks of the keys. Used by `referring_rows` and `deferrable_keys`.

use std::sync::Arc;

use arrow::array::ArrayRef;
use futures::{StreamExt, TryStreamExt};
use sqlparser::ast;

use super::referenced_keys::named_columns;
use crate::catalog::{ForeignKey, IndexDef, TableDef, record_key};
use crate::codec::row::ColumnId;
use crate::parse::quoting::{qualified, quote_ident};
use crate::parse::{self, Hints};
use crate::query::{self, Others, QueryPlan, TargetRows};
use crate::store::{LockMode, LockWait};
use crate::system::StatementContext;
use crate::table::remove_rows_over;
use crate::types::{SqlType, Value, value_at};
use crate::{Error, Result};

/// Keys that one statement looks for.
pub(super) const KEYS_AT_ONCE: usize = 256;

/// A statement over the rows of a table whose columns have one of some keys, at the newest snapshot.
pub(super) struct KeyedStatement {
    ctx: StatementContext,
    table: Arc<TableDef>,
    /// The names of the columns, quoted.
    pub(super) names: Vec<String>,
    /// The columns as they are compared with keys.
    compared: Vec<String>,
    /// The types of the keys.
    types: Vec<SqlType>,
}

impl KeyedStatement {
    /// Over the columns of a unique key. Errors: those of the store.
    pub(super) async fn of_index(
        ctx: &StatementContext,
        table: u32,
        index: &IndexDef,
    ) -> Result<KeyedStatement> {
        let ctx = ctx.at_newest().await?;
        let table = ctx.table_by_oid(table).cloned().ok_or_else(no_table)?;
        let ids: Vec<ColumnId> = index.columns.iter().map(|part| part.column).collect();
        let named = named_columns(&table, &ids);
        let names: Vec<String> = named.iter().map(|(name, _)| quote_ident(name)).collect();
        Ok(KeyedStatement {
            compared: names.clone(),
            names,
            types: named.iter().map(|(_, ty)| (*ty).clone()).collect(),
            table,
            ctx,
        })
    }

    /// Over the table that refers, which is locked before the snapshot is taken: what its definition has become is seen. `types`: those of the
    /// keys, which are values of its own columns or of the table's that it refers to. `None`: the foreign key has gone meanwhile.
    pub(super) async fn begin(
        ctx: &StatementContext,
        (by, key): (&TableDef, &ForeignKey),
        types: Vec<SqlType>,
    ) -> Result<Option<KeyedStatement>> {
        let leaves = match by.partitioning {
            Some(_) => ctx.leaves_of(by)?,
            None => Vec::new(),
        };
        let tables = std::iter::once(by).chain(leaves.iter().map(|leaf| &**leaf));
        let records: Vec<Vec<u8>> = tables.map(|table| record_key(table.id)).collect();
        ctx.txn
            .lock_as_it_is(&records, LockMode::RowShare, LockWait::Block)
            .await?;
        let ctx = ctx.at_newest().await?;
        let table = ctx.table_by_oid(by.oid).cloned();
        let is_there = |table: &Arc<TableDef>| table.foreign_keys.iter().any(|own| own.oid == key.oid);
        let Some(table) = table.filter(is_there) else {
            return Ok(None);
        };
        let named = named_columns(&table, &key.columns);
        let names: Vec<String> = named.iter().map(|(name, _)| quote_ident(name)).collect();
        let compared = names.iter().zip(named.iter().zip(&types));
        let compared = compared.map(|(name, ((_, own), key))| match (own, key) {
            // It refers as a char(n), so blanks at the end mean nothing.
            (SqlType::Text | SqlType::Varchar(_), SqlType::Char(_)) => format!("CAST({name} AS bpchar)"),
            _ => name.clone(),
        });
        Ok(Some(KeyedStatement {
            compared: compared.collect(),
            names,
            types,
            table,
            ctx,
        }))
    }

    pub(super) fn relation(&self) -> String {
        qualified(&self.table.schema, &self.table.name)
    }

    /// The columns are one of so many keys: `$1` … in their order.
    pub(super) fn condition(&self, keys: usize) -> String {
        let width = self.names.len();
        if let [name] = self.compared.as_slice() {
            let parameters: Vec<String> = (1..=keys).map(|at| format!("${at}")).collect();
            return format!("{name} IN ({})", parameters.join(", "));
        }
        let keys: Vec<String> = (0..keys).map(|key| self.equal(key * width)).collect();
        keys.join(" OR ")
    }

    /// The columns are the key whose parameters begin behind `$at`.
    fn equal(&self, at: usize) -> String {
        let parts = self.compared.iter().enumerate();
        let parts: Vec<String> = parts
            .map(|(column, name)| format!("{name} = ${}", at + column + 1))
            .collect();
        format!("({})", parts.join(" AND "))
    }

    /// SET of each key to the one that stands so many keys behind it.
    pub(super) fn changes(&self, keys: usize) -> String {
        let width = self.names.len();
        let set = self.names.iter().enumerate().map(|(column, name)| {
            let cases = (0..keys).map(|key| {
                let new = (keys + key) * width + column + 1;
                format!("WHEN {} THEN ${new}", self.equal(key * width))
            });
            let cases: Vec<String> = cases.collect();
            format!("{name} = CASE {} END", cases.join(" "))
        });
        set.collect::<Vec<_>>().join(", ")
    }

    /// The statement of a text, and what it runs in: `$1` … are the keys, one after the other, then those of the next part.
    pub(super) fn statement(
        &self,
        text: &str,
        parts: &[&[ArrayRef]],
    ) -> Result<(StatementContext, ast::Statement)> {
        let mut values: Vec<Value> = Vec::new();
        for part in parts {
            for row in 0..part.first().map_or(0, |column| column.len()) {
                for (column, ty) in part.iter().zip(&self.types) {
                    values.push(value_at(column, row, ty)?);
                }
            }
        }
        let types: Vec<SqlType> = self.types.iter().cycle().take(values.len()).cloned().collect();
        let parsed = parse::parse(text)?.pop();
        let parsed = parsed.ok_or_else(|| Error::internal("a statement of no text"))?;
        let ctx = StatementContext {
            parameters: values.into(),
            parameter_types: types.into(),
            parameters_are_constants: false,
            // It is none of the function's that wrote.
            variables: None,
            // Nobody need allow that all rows are read where no key leads to those that refer.
            hints: Hints {
                allow_filtering: true,
                ..parsed.hints
            },
            ..self.ctx.clone()
        };
        Ok((ctx, parsed.ast))
    }

    /// Removes of the rows that have one of the keys those that are over, and that no statement sees: what is asked of the keys is not asked of
    /// them, and a longer TTL is to bring back none that breaks it. Errors: those of the store and of locks.
    pub(super) async fn remove_over(&self, keys: &[ArrayRef]) -> Result<()> {
        let count = keys.first().map_or(0, |column| column.len());
        if count == 0 {
            return Ok(());
        }
        for table in &self.expiring_tables()? {
            let relation = qualified(&table.schema, &table.name);
            let text = format!("DELETE FROM {relation} WHERE {}", self.condition(count));
            let (ctx, statement) = self.statement(&text, &[keys])?;
            let ast::Statement::Delete(delete) = &statement else {
                return Err(Error::internal("a DELETE that is none"));
            };
            remove_found_over(&ctx, table, delete.selection.as_ref()).await?;
        }
        Ok(())
    }

    /// Whether rows of the table may be over.
    pub(super) fn may_be_over(&self) -> Result<bool> {
        Ok(!self.expiring_tables()?.is_empty())
    }

    /// The table, or its partitions, as far as rows of them may be over.
    fn expiring_tables(&self) -> Result<Vec<Arc<TableDef>>> {
        let mut tables = match self.table.partitioning {
            Some(_) => self.ctx.leaves_of(&self.table)?,
            None => vec![Arc::clone(&self.table)],
        };
        tables.retain(|table| table.options.expiry.may_be_over());
        Ok(tables)
    }

    /// The first row of a query of this text, whose keys are `$1` …; `None`: it has none.
    pub(super) async fn first_row(&self, text: &str, keys: &[&[ArrayRef]]) -> Result<Option<Vec<ArrayRef>>> {
        let (ctx, statement) = self.statement(text, keys)?;
        first_row_of(&ctx, &statement).await
    }

    /// The same among all rows that are stored, those that are over as well.
    pub(super) async fn first_stored_row(
        &self,
        text: &str,
        keys: &[&[ArrayRef]],
    ) -> Result<Option<Vec<ArrayRef>>> {
        let (ctx, statement) = self.statement(text, keys)?;
        first_row_of(&seeing_rows_over(&ctx), &statement).await
    }
}

async fn first_row_of(ctx: &StatementContext, statement: &ast::Statement) -> Result<Option<Vec<ArrayRef>>> {
    let ast::Statement::Query(query) = statement else {
        return Err(Error::internal("a query that is none"));
    };
    let plan = QueryPlan::new(query::plan_query(ctx, query, &query::known_types(ctx))?);
    let rows = plan.run(ctx).await?;
    let batches = rows.and_then(|rows| async move { rows.into_batch() });
    let batches: Vec<_> = batches.try_collect().await?;
    let found = batches.iter().find(|batch| batch.num_rows() > 0);
    Ok(found.map(|found| found.columns().to_vec()))
}

fn seeing_rows_over(ctx: &StatementContext) -> StatementContext {
    StatementContext {
        txn: Arc::new(ctx.txn.with_rows_that_are_over()),
        ..ctx.clone()
    }
}

/// Removes of the rows of which a condition holds those that are over. No trigger fires, and no foreign key acts: nobody deletes them.
async fn remove_found_over(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    selection: Option<&ast::Expr>,
) -> Result<()> {
    let columns: Vec<usize> = table.key_columns();
    let wanted = TargetRows {
        table,
        alias: None,
        columns: &columns,
        expressions: &[],
        others: Others::From(&[]),
        selection,
        beside: false,
        after: None,
    };
    let found = query::plan_target_rows(ctx, wanted, &mut query::known_types(ctx))?;
    let rows = QueryPlan::new(found.query).run(&seeing_rows_over(ctx)).await?;
    let mut pages = rows.and_then(|rows| async move { rows.into_batch() }).boxed();
    while let Some(page) = pages.try_next().await? {
        remove_rows_over(&ctx.txn, table, &page.columns()[..columns.len()]).await?;
    }
    Ok(())
}

/// So many keys from one on.
pub(super) fn slice(columns: &[ArrayRef], from: usize, rows: usize) -> Vec<ArrayRef> {
    let rows = rows.min(columns.first().map_or(0, |column| column.len()) - from);
    columns.iter().map(|column| column.slice(from, rows)).collect()
}

pub(super) fn no_table() -> Error {
    Error::internal("a foreign key of a table that is not there")
}
