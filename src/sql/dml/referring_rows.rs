//! The rows that refer to keys that are gone: looked for by statements of their own, which read and write as any do, in a snapshot later
//! than the locks of the keys.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::take;
use futures::TryStreamExt;
use sqlparser::ast;

use super::referenced_keys::{absent_keys, named_columns};
use super::references::{Gone, References};
use super::write_plan::WritePlan;
use crate::catalog::{ForeignKey, ReferentialAction, TableDef};
use crate::parse::quoting::{qualified, quote_ident};
use crate::parse::{self, Hints};
use crate::query::{self, QueryPlan};
use crate::system::StatementContext;
use crate::system::plan_cache::PlanCache;
use crate::table::key_text;
use crate::types::{SqlType, Value, value_at};
use crate::{Error, Result};

/// Keys that one statement looks for.
const KEYS_AT_ONCE: usize = 256;
/// Keys that change in one statement at most where rows follow them: all must be known at once, for one may become another.
const CHANGED_KEYS_MAX: usize = 4096;

/// Errors: 23503 for a row that refers to one of the keys, unless that is there again.
pub(super) async fn check_unreferred(ctx: &StatementContext, gone: &Gone) -> Result<()> {
    let by = ctx.table_by_oid(gone.by).cloned().ok_or_else(no_table)?;
    let (key, referenced) = (&gone.foreign_key, &gone.table);
    let found = match gone.action() {
        ReferentialAction::NoAction => {
            first_referring(ctx, (&by, key), referenced, (referenced, &gone.old)).await?
        }
        _ => first_with(ctx, (&by, key), (referenced, &gone.old)).await?,
    };
    match found {
        None => Ok(()),
        Some(found) => Err(still_referenced((referenced, key), &by, &found)),
    }
}

/// The key of a row that refers to one of these that is not there. `keys`: with the table that they are of.
pub(super) async fn first_referring(
    ctx: &StatementContext,
    (by, key): (&TableDef, &ForeignKey),
    referenced: &TableDef,
    (of, keys): (&TableDef, &[ArrayRef]),
) -> Result<Option<Vec<ArrayRef>>> {
    let absent = absent_keys(ctx, referenced, key, keys, false).await?;
    let absent = UInt32Array::from(absent);
    let keys = keys
        .iter()
        .map(|column| take(column, &absent, None).map_err(Error::arrow));
    let keys: Vec<ArrayRef> = keys.collect::<Result<_>>()?;
    first_with(ctx, (by, key), (of, &keys)).await
}

/// The key of a row that refers to one of these.
async fn first_with(
    ctx: &StatementContext,
    (by, key): (&TableDef, &ForeignKey),
    (of, keys): (&TableDef, &[ArrayRef]),
) -> Result<Option<Vec<ArrayRef>>> {
    let count = keys.first().map_or(0, |column| column.len());
    for from in (0..count).step_by(KEYS_AT_ONCE) {
        let keys = slice(keys, from, KEYS_AT_ONCE);
        let run = Run::begin(ctx, (by, key), of).await?;
        let text = format!(
            "SELECT {} FROM {} WHERE {} LIMIT 1 FOR KEY SHARE",
            run.names.join(", "),
            run.relation(),
            run.condition(keys[0].len())
        );
        let (ctx, statement) = run.statement(&text, &[&keys])?;
        let ast::Statement::Query(query) = &statement else {
            return Err(Error::internal("a query that is none"));
        };
        let plan = QueryPlan::new(query::plan_query(&ctx, query, &query::known_types(&ctx))?);
        let rows = plan.run(&ctx).await?;
        let batches = rows.and_then(|rows| async move { rows.into_batch() });
        let batches: Vec<_> = batches.try_collect().await?;
        if let Some(found) = batches.iter().find(|batch| batch.num_rows() > 0) {
            return Ok(Some(found.columns().to_vec()));
        }
    }
    Ok(None)
}

/// Does with the rows that refer to the keys what the foreign key says. What that leaves to be asked goes to `references`.
pub(super) async fn follow(ctx: &StatementContext, gone: &Gone, references: &References) -> Result<()> {
    let changes_keys = gone.action() == ReferentialAction::Cascade && gone.new.is_some();
    let at_once = if changes_keys {
        CHANGED_KEYS_MAX
    } else {
        KEYS_AT_ONCE
    };
    if changes_keys && gone.len() > CHANGED_KEYS_MAX {
        return Err(Error::LimitExceeded {
            state: crate::error::Limit::Program,
            message: format!(
                "ON UPDATE CASCADE of more than {CHANGED_KEYS_MAX} keys of \"{}\" in one statement",
                gone.table.name
            ),
            hint: "Change them in several statements.".to_string(),
        });
    }
    for from in (0..gone.len()).step_by(at_once) {
        let old = slice(&gone.old, from, at_once);
        let by = ctx.table_by_oid(gone.by).cloned().ok_or_else(no_table)?;
        let run = Run::begin(ctx, (&by, &gone.foreign_key), &gone.table).await?;
        let (relation, condition) = (run.relation(), run.condition(old[0].len()));
        let set_all = |value: &str| {
            let set: Vec<String> = run.names.iter().map(|name| format!("{name} = {value}")).collect();
            format!("UPDATE {relation} SET {} WHERE {condition}", set.join(", "))
        };
        let (text, new) = match (gone.action(), &gone.new) {
            (ReferentialAction::SetNull, _) => (set_all("NULL"), None),
            (ReferentialAction::SetDefault, _) => (set_all("DEFAULT"), None),
            (_, None) => (format!("DELETE FROM {relation} WHERE {condition}"), None),
            (_, Some(new)) => {
                let set = run.changes(old[0].len());
                let text = format!("UPDATE {relation} SET {set} WHERE {condition}");
                (text, Some(slice(new, from, at_once)))
            }
        };
        let values: Vec<&[ArrayRef]> = std::iter::once(old.as_slice()).chain(new.as_deref()).collect();
        let (ctx, statement) = run.statement(&text, &values)?;
        let plan = WritePlan::of(&ctx, &statement, &PlanCache::default()).await?;
        plan.run(&ctx, None, references).await?;
    }
    Ok(())
}

/// A statement over the table that refers, at the newest snapshot.
struct Run {
    ctx: StatementContext,
    table: Arc<TableDef>,
    /// The names of the columns that refer, quoted.
    names: Vec<String>,
    /// The types of the keys.
    types: Vec<SqlType>,
}

impl Run {
    /// Over the table that refers. `of`: the table whose columns the keys are, that one itself or the one that it refers to.
    async fn begin(
        ctx: &StatementContext,
        (by, key): (&TableDef, &ForeignKey),
        of: &TableDef,
    ) -> Result<Run> {
        let ctx = ctx.at_newest().await?;
        let table = ctx.table_by_oid(by.oid).cloned().ok_or_else(no_table)?;
        let named = named_columns(&table, &key.columns);
        let names = named.iter().map(|(name, _)| quote_ident(name)).collect();
        let ids = match of.oid == key.table {
            true => &key.referenced,
            false => &key.columns,
        };
        let keys = named_columns(of, ids);
        Ok(Run {
            names,
            types: keys.into_iter().map(|(_, ty)| ty.clone()).collect(),
            table,
            ctx,
        })
    }

    fn relation(&self) -> String {
        qualified(&self.table.schema, &self.table.name)
    }

    /// The columns are one of so many keys: `$1` … in their order.
    fn condition(&self, keys: usize) -> String {
        let width = self.names.len();
        if let [name] = self.names.as_slice() {
            let parameters: Vec<String> = (1..=keys).map(|at| format!("${at}")).collect();
            return format!("{name} IN ({})", parameters.join(", "));
        }
        let keys: Vec<String> = (0..keys).map(|key| self.equal(key * width)).collect();
        keys.join(" OR ")
    }

    /// The columns are the key whose parameters begin behind `$at`.
    fn equal(&self, at: usize) -> String {
        let parts = self.names.iter().enumerate();
        let parts: Vec<String> = parts
            .map(|(column, name)| format!("{name} = ${}", at + column + 1))
            .collect();
        format!("({})", parts.join(" AND "))
    }

    /// SET of each key to the one that stands so many keys behind it.
    fn changes(&self, keys: usize) -> String {
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
    fn statement(&self, text: &str, parts: &[&[ArrayRef]]) -> Result<(StatementContext, ast::Statement)> {
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
            // Nobody need allow that all rows are read where no key leads to those that refer.
            hints: Hints {
                allow_filtering: true,
                ..parsed.hints
            },
            ..self.ctx.clone()
        };
        Ok((ctx, parsed.ast))
    }
}

fn slice(columns: &[ArrayRef], from: usize, rows: usize) -> Vec<ArrayRef> {
    let rows = rows.min(columns.first().map_or(0, |column| column.len()) - from);
    columns.iter().map(|column| column.slice(from, rows)).collect()
}

/// 23503 of a row that is referred to, by a row with the key `found`.
pub(super) fn still_referenced(
    (referenced, key): (&TableDef, &ForeignKey),
    by: &TableDef,
    found: &[ArrayRef],
) -> Error {
    let names = named_columns(referenced, &key.referenced);
    let types = named_columns(by, &key.columns);
    let named: Vec<(&str, &SqlType)> = names
        .iter()
        .zip(&types)
        .map(|((name, _), (_, ty))| (*name, *ty))
        .collect();
    Error::ForeignKeyViolation {
        schema: by.schema.clone(),
        table: by.name.clone(),
        constraint: key.name.clone(),
        message: format!(
            "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
            referenced.name, key.name, by.name
        ),
        detail: format!(
            "Key {} is still referenced from table \"{}\".",
            key_text(&named, found, 0),
            by.name
        ),
    }
}

fn no_table() -> Error {
    Error::internal("a foreign key of a table that is not there")
}
