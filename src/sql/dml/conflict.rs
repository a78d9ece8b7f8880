//! ON CONFLICT: the key it names, and DO UPDATE of the rows that are there already.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, filter_record_batch, not, take_record_batch};
use sqlparser::ast::{
    ConflictTarget, Expr, Ident, OnConflictAction, OnInsert, SelectItem, SetExpr, TableWithJoins,
};

use super::assign::{assign_array, check_assignable, with_columns};
use super::evaluate::{Rows, evaluate, output_types, with_select};
use super::found_rows::Finding;
use super::generated::with_generated;
use super::returning::visible_rows;
use super::target::Target;
use super::update::{Assigned, Assignment, pairs, read_assignments};
use crate::catalog::{IndexDef, TableDef};
use crate::codec::keyspace::IndexId;
use crate::codec::row::ColumnId;
use crate::error::StatementFault;
use crate::exec::{RowSite, StatementContext};
use crate::parse::names;
use crate::table::{Arbiter, Conflicts, get_rows, insert_rows, update_rows, write_schema};
use crate::types::SqlType;
use crate::{Error, Result};

/// The name of the rows proposed for insertion.
const EXCLUDED: &str = "excluded";

/// What ON CONFLICT does.
pub(super) enum OnConflict<'a> {
    /// DO NOTHING.
    DoNothing(Conflicts),
    /// DO UPDATE.
    DoUpdate(DoUpdate<'a>),
}

/// DO UPDATE SET … WHERE.
pub(super) struct DoUpdate<'a> {
    /// The unique key that it names.
    arbiter: IndexId,
    pub(super) assignments: Vec<Assignment<'a>>,
    pub(super) selection: Option<&'a Expr>,
}

impl DoUpdate<'_> {
    /// What SET computes.
    fn items(&self) -> Vec<SelectItem> {
        let expressions = self.assignments.iter().filter_map(Assignment::expression);
        expressions
            .map(|expr| SelectItem::UnnamedExpr(expr.clone()))
            .collect()
    }

    /// Asks what SET gives where no row is in the way: `none` are such rows. Errors: 42804, those of binding.
    async fn check(&self, ctx: &StatementContext, target: &Target, none: &RecordBatch) -> Result<()> {
        let rows = both_rows(target, none, none)?;
        let types = output_types(ctx, RowSite::Assignments, rows, self.items(), self.selection).await?;
        let computed = self
            .assignments
            .iter()
            .filter(|assignment| assignment.expression().is_some());
        for (assignment, ty) in computed.zip(&types) {
            check_assignable(ty, &target.table.columns[assignment.position])?;
        }
        Ok(())
    }
}

/// Reads the clause. Errors: 42P10 when no unique key fits, 42703, 42601.
pub(super) fn read<'a>(target: &Target, on: &'a OnInsert) -> Result<OnConflict<'a>> {
    let OnInsert::OnConflict(clause) = on else {
        return Err(Error::unsupported(format!("{on}"), Some("Use ON CONFLICT.")));
    };
    let key = clause
        .conflict_target
        .as_ref()
        .map(|named| arbiter(&target.table, named))
        .transpose()?;
    match (&clause.action, key) {
        (OnConflictAction::DoNothing, None) => Ok(OnConflict::DoNothing(Conflicts::Any)),
        (OnConflictAction::DoNothing, Some(key)) => Ok(OnConflict::DoNothing(Conflicts::On(key.id))),
        (OnConflictAction::DoUpdate(_), None) => Err(Error::InvalidStatement {
            state: StatementFault::Syntax,
            message: "ON CONFLICT DO UPDATE requires inference specification or constraint name".to_string(),
            hint: Some("For example, ON CONFLICT (column_name).".to_string()),
        }),
        (OnConflictAction::DoUpdate(update), Some(key)) => Ok(OnConflict::DoUpdate(DoUpdate {
            arbiter: key.id,
            assignments: read_assignments(target, &update.assignments)?,
            selection: update.selection.as_ref(),
        })),
    }
}

/// Adds the columns that DO UPDATE SET names and a dynamic table does not have yet.
pub(super) fn add_dynamic_columns(ctx: &StatementContext, target: &mut Target, on: &OnInsert) -> Result<()> {
    let OnInsert::OnConflict(clause) = on else {
        return Ok(());
    };
    let OnConflictAction::DoUpdate(update) = &clause.action else {
        return Ok(());
    };
    let named = pairs(&update.assignments, &target.table.name)?;
    if named
        .iter()
        .all(|(name, _, _)| target.table.column_index(name).is_some())
    {
        return Ok(());
    }
    super::update::add_dynamic_columns(ctx, target, &update.assignments, |target, expr| {
        Proposed::new(ctx, target)?.types(&[expr])
    })
}

/// The target's rows beside those proposed, as planning sees them: there are none yet.
pub(super) struct Proposed<'a> {
    ctx: StatementContext,
    target: &'a Target,
    /// `FROM excluded`.
    from: Vec<TableWithJoins>,
}

impl<'a> Proposed<'a> {
    pub(super) fn new(ctx: &StatementContext, target: &'a Target) -> Result<Proposed<'a>> {
        let none = RecordBatch::new_empty(write_schema(&target.table));
        let rows = visible_rows(target, &none)?.batch;
        let from = match *with_select(&format!("SELECT 1 FROM {EXCLUDED}"), Vec::new(), None)?.body {
            SetExpr::Select(select) => select.from,
            _ => return Err(Error::internal("a SELECT is one")),
        };
        let transient = BTreeMap::from([(EXCLUDED.to_string(), rows)]);
        Ok(Proposed {
            ctx: StatementContext {
                transient: Arc::new(transient),
                ..ctx.clone()
            },
            target,
            from,
        })
    }

    fn types(&self, expressions: &[&Expr]) -> Result<Vec<SqlType>> {
        let types = crate::query::known_types(&self.ctx);
        self.finding(expressions, None).types(&self.ctx, &types)
    }

    /// The types of the parameters in DO UPDATE.
    pub(super) fn parameters(
        &self,
        expressions: &[&Expr],
        selection: Option<&Expr>,
        types: &[Option<SqlType>],
    ) -> Result<Vec<SqlType>> {
        self.finding(expressions, selection).parameters(&self.ctx, types)
    }

    fn finding<'b>(&'b self, expressions: &'b [&'b Expr], selection: Option<&'b Expr>) -> Finding<'b> {
        Finding {
            target: self.target,
            columns: &[],
            expressions,
            from: &self.from,
            selection,
        }
    }
}

/// The unique key that the clause names.
fn arbiter<'a>(table: &'a TableDef, named: &ConflictTarget) -> Result<&'a IndexDef> {
    let fits =
        |index: &&IndexDef| index.unique && index.is_complete() && !(index.id == 0 && table.has_hidden_key());
    match named {
        ConflictTarget::Columns(columns) => {
            let mut wanted = columns
                .iter()
                .map(|name| column_id(table, name))
                .collect::<Result<Vec<_>>>()?;
            wanted.sort_unstable();
            wanted.dedup();
            let found = table.all_indexes().filter(fits).find(|index| {
                let mut ids: Vec<_> = index.columns.iter().map(|column| column.column).collect();
                ids.sort_unstable();
                ids == wanted || index.id == 0 && wanted == telling_ids(table)
            });
            found.ok_or_else(|| Error::InvalidStatement {
                state: StatementFault::InvalidColumnReference,
                message: "there is no unique or exclusion constraint matching the ON CONFLICT specification"
                    .to_string(),
                hint: None,
            })
        }
        ConflictTarget::OnConstraint(name) => {
            let name = names::relation_name(name)?.1;
            let found = table
                .all_indexes()
                .filter(fits)
                .find(|index| index.constraint && index.name == name);
            found.ok_or_else(|| Error::UndefinedObject {
                kind: "constraint",
                name: format!("{name}\" for table \"{}", table.name),
            })
        }
    }
}

/// The ids of the primary key's columns that tell rows apart, sorted.
fn telling_ids(table: &TableDef) -> Vec<ColumnId> {
    let columns = table.telling_key_columns().into_iter();
    let mut ids: Vec<ColumnId> = columns.map(|at| table.columns[at].id).collect();
    ids.sort_unstable();
    ids
}

fn column_id(table: &TableDef, name: &Ident) -> Result<ColumnId> {
    let name = names::fold(name);
    let at = table.column_index(&name).ok_or_else(|| Error::UndefinedColumn {
        name: format!("\"{name}\""),
        hint: None,
    })?;
    Ok(table.columns[at].id)
}

/// Inserts the rows whose keys are free and updates the others. Answers the rows inserted and updated, in the batch's
/// order. Errors: 21000 when a key comes twice.
pub(super) async fn insert_or_update(
    ctx: &StatementContext,
    target: &Target,
    batch: &RecordBatch,
    update: &DoUpdate<'_>,
) -> Result<RecordBatch> {
    let (txn, table, limits) = (&ctx.txn, &*target.table, ctx.settings.limits);
    let arbiter = Arbiter::new(table, update.arbiter, limits);
    let keys = arbiter.keys(batch)?;
    let (found, existing) = arbiter.rows_in_the_way(txn, batch).await?;
    let met = |wanted: bool| {
        keys.iter()
            .zip(&found)
            .filter(move |(_, found)| **found == wanted)
    };
    // A row that the statement inserted stands in the way of the next one of its key, whatever WHERE says of it.
    check_no_repeat(met(false).map(|(key, _)| (key, true)))?;
    let in_the_way: Vec<_> = met(true).map(|(key, _)| key.clone()).collect();
    let found = BooleanArray::from(found);
    let fresh = filter_record_batch(batch, &not(&found).map_err(Error::arrow)?).map_err(Error::arrow)?;
    if existing.num_rows() == 0 {
        update.check(ctx, target, &existing).await?;
    }
    if fresh.num_rows() > 0 {
        insert_rows(txn, table, &fresh, limits).await?;
    }
    if existing.num_rows() == 0 {
        return Ok(fresh);
    }
    let proposed = filter_record_batch(batch, &found).map_err(Error::arrow)?;
    let (kept, changed) = updated_rows(ctx, target, &existing, &proposed, update).await?;
    let updates = |at: usize| kept.values().binary_search(&(at as u32)).is_ok();
    check_no_repeat(in_the_way.iter().enumerate().map(|(at, key)| (key, updates(at))))?;
    let old = take_record_batch(&existing, &kept).map_err(Error::arrow)?;
    update_rows(txn, table, &old, &changed, limits).await?;
    in_order(table, &found, &fresh, &kept, &changed)
}

/// Inserts the rows whose keys are free; of the others the columns at `named` change, and what is generated of them. Of two
/// rows with one key the second changes what the first left. Answers the rows as they are then, in the batch's order.
pub(super) async fn upsert_and_generate(
    ctx: &StatementContext,
    table: &TableDef,
    batch: &RecordBatch,
    named: &[bool],
) -> Result<RecordBatch> {
    let (txn, limits) = (&ctx.txn, ctx.settings.limits);
    let mut written = Vec::with_capacity(batch.num_rows());
    // One by one: a key may come twice.
    for row in (0..batch.num_rows()).map(|row| batch.slice(row, 1)) {
        let (_, old) = get_rows(txn, table, &row, limits).await?;
        if old.num_rows() == 0 {
            insert_rows(txn, table, &row, limits).await?;
            written.push(row);
            continue;
        }
        let given = (0..named.len()).filter(|at| named[*at] && table.columns[*at].generation().is_none());
        let given = given.map(|at| (at, Arc::clone(row.column(at)))).collect();
        let new = with_generated(ctx, table, with_columns(table, &old, given)?)?;
        update_rows(txn, table, &old, &new, limits).await?;
        written.push(new);
    }
    concat_batches(&write_schema(table), &written).map_err(Error::arrow)
}

/// `rows`: the key of each in their order, and whether it writes. Errors: 21000 for a row whose key one before it has written.
fn check_no_repeat<'a>(rows: impl Iterator<Item = (&'a Option<Vec<u8>>, bool)>) -> Result<()> {
    let mut written = HashSet::new();
    for (key, writes) in rows {
        let Some(key) = key else { continue };
        if written.contains(key) {
            return Err(Error::ConflictRowTwice);
        }
        if writes {
            written.insert(key);
        }
    }
    Ok(())
}

/// The rows that are there and those proposed, as SET and WHERE name them.
fn both_rows(target: &Target, existing: &RecordBatch, proposed: &RecordBatch) -> Result<Vec<Rows>> {
    let excluded = Rows {
        name: EXCLUDED.to_string(),
        ..visible_rows(target, proposed)?
    };
    Ok(vec![visible_rows(target, existing)?, excluded])
}

/// Which of the existing rows satisfy WHERE, and what SET makes of them.
async fn updated_rows(
    ctx: &StatementContext,
    target: &Target,
    existing: &RecordBatch,
    proposed: &RecordBatch,
    update: &DoUpdate<'_>,
) -> Result<(UInt32Array, RecordBatch)> {
    let rows = both_rows(target, existing, proposed)?;
    let evaluated = evaluate(ctx, RowSite::Assignments, rows, update.items(), update.selection).await?;
    let kept = UInt32Array::from_iter_values(evaluated.ordinals.iter().map(|at| *at as u32));
    let old = take_record_batch(existing, &kept).map_err(Error::arrow)?;
    let settings = ctx.format_settings();
    let mut columns = Vec::with_capacity(update.assignments.len());
    let mut arrays = evaluated.batch.columns().iter().zip(&evaluated.columns);
    for assignment in &update.assignments {
        let column = &target.table.columns[assignment.position];
        let array = match &assignment.value {
            Assigned::Default => assignment.default_array(ctx, &target.table, kept.len()).await?,
            Assigned::Expression(_) => {
                let (array, output) = arrays
                    .next()
                    .ok_or_else(|| Error::internal("a SET expression is missing"))?;
                assign_array(array, &output.ty, column, &settings)?
            }
        };
        columns.push((assignment.position, array));
    }
    let changed = with_columns(&target.table, &old, columns)?;
    Ok((kept, with_generated(ctx, &target.table, changed)?))
}

/// Inserted and updated rows in the order in which the statement gave them.
fn in_order(
    table: &TableDef,
    found: &BooleanArray,
    fresh: &RecordBatch,
    kept: &UInt32Array,
    changed: &RecordBatch,
) -> Result<RecordBatch> {
    let both = concat_batches(&write_schema(table), [fresh, changed]).map_err(Error::arrow)?;
    let mut order = Vec::with_capacity(both.num_rows());
    let (mut next_fresh, mut next_found) = (0u32, 0u32);
    for is_found in found.values() {
        if is_found {
            if let Ok(at) = kept.values().binary_search(&next_found) {
                order.push((fresh.num_rows() + at) as u32);
            }
            next_found += 1;
        } else {
            order.push(next_fresh);
            next_fresh += 1;
        }
    }
    take_record_batch(&both, &UInt32Array::from(order)).map_err(Error::arrow)
}
