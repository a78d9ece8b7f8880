//! ON CONFLICT: the key it names, and DO UPDATE of the rows that are there already.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, filter_record_batch, not};
use sqlparser::ast::{self, ConflictTarget, Expr, Ident, OnConflictAction, OnInsert, SelectItem};

use super::assign::with_columns;
use super::cell::is_default_word;
use super::conflict_keys::ConflictKeys;
use super::generated_columns::with_generated;
use super::insert_source::Source;
use super::references::References;
use super::row_checks::RowChecks;
use super::row_event::RowEvent;
use super::row_expressions::{RowExpressions, side_by_side};
use super::row_triggers::{RowTriggers, UPDATED, WrittenRow, check_untouched};
use super::set::{SetPlan, add_dynamic_columns, names_new_columns};
use super::target::Target;
use crate::catalog::{IndexDef, TableDef, TriggerEvent, TriggerTiming};
use crate::codec::keyspace::IndexId;
use crate::codec::row::ColumnId;
use crate::error::{Raised, StatementFault};
use crate::parse::duplicate_key::is_primary_key;
use crate::parse::names;
use crate::parse::walk::change_outside_subqueries;
use crate::query::{Clause, RowQuery, RowRelation, plan_row_query};
use crate::store::LockMode;
use crate::system::StatementContext;
use crate::table::{
    Arbiter, Conflicts, Limits, RowEncoder, get_rows, insert_rows, older_base, require_not_null, update_rows,
};
use crate::types::{SqlType, take_rows};
use crate::{Error, Result};

/// The name of the rows proposed for insertion.
const EXCLUDED: &str = "excluded";

/// What ON CONFLICT does.
#[derive(Debug)]
pub(super) enum OnConflict {
    /// DO NOTHING.
    DoNothing(Conflicts),
    /// DO UPDATE.
    DoUpdate(Box<DoUpdate>),
}

/// DO UPDATE SET … WHERE.
#[derive(Debug)]
pub(super) struct DoUpdate {
    /// The unique key that it names.
    arbiter: IndexId,
    pub(super) set: SetPlan,
    /// What SET computes of the rows that are there and those proposed, where WHERE is true.
    expressions: RowExpressions,
}

impl OnConflict {
    /// Binds the clause. Errors: 42P10 when no unique key fits, 42703, 42601, 42804, those of the expressions.
    pub(super) fn bind(
        ctx: &StatementContext,
        target: &Target,
        on: &OnInsert,
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<OnConflict> {
        let OnInsert::OnConflict(clause) = on else {
            return Err(Error::unsupported(format!("{on}"), Some("Use ON CONFLICT.")));
        };
        check_no_deferrable(ctx, target, clause.conflict_target.as_ref())?;
        let key = clause
            .conflict_target
            .as_ref()
            .map(|named| arbiter(ctx, target, named))
            .transpose()?;
        match (&clause.action, key) {
            (OnConflictAction::DoNothing, None) => Ok(OnConflict::DoNothing(Conflicts::Any)),
            (OnConflictAction::DoNothing, Some(key)) => Ok(OnConflict::DoNothing(Conflicts::On(key.id))),
            (OnConflictAction::DoUpdate(_), None) => Err(Error::InvalidStatement {
                state: StatementFault::Syntax,
                message: "ON CONFLICT DO UPDATE requires inference specification or constraint name"
                    .to_string(),
                hint: Some("For example, ON CONFLICT (column_name).".to_string()),
            }),
            (OnConflictAction::DoUpdate(_), Some(key)) if key.exclusion.is_some() => {
                Err(Error::InvalidStatement {
                    state: StatementFault::WrongObjectType,
                    message: "ON CONFLICT DO UPDATE not supported with exclusion constraints".to_string(),
                    hint: Some("Write ON CONFLICT DO NOTHING.".to_string()),
                })
            }
            (OnConflictAction::DoUpdate(update), Some(key)) => {
                let update = written_update(target, clause, update);
                DoUpdate::bind(ctx, target, key.id, &update, types).map(OnConflict::DoUpdate)
            }
        }
    }
}

impl DoUpdate {
    /// Whether it reads more than the two rows.
    pub(super) fn reads_more(&self) -> bool {
        self.expressions.reads_more()
    }

    /// Whether a function is run in it that may write.
    pub(super) fn may_write(&self) -> bool {
        self.expressions.may_write()
    }

    fn bind(
        ctx: &StatementContext,
        target: &Target,
        arbiter: IndexId,
        update: &ast::DoUpdate,
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<Box<DoUpdate>> {
        let (set, computed) = SetPlan::bind(ctx, target, &update.assignments, types)?;
        set.decide_parameters(&target.table, types)?;
        let relations = both_relations(target);
        let items: Vec<SelectItem> = computed
            .into_iter()
            .map(|expr| SelectItem::UnnamedExpr(expr.into_owned()))
            .collect();
        let query = over_both(&relations, &items, update.selection.as_ref());
        let expressions = RowExpressions::bind(ctx, query, types)?;
        set.check(
            &target.table,
            expressions.columns().iter().map(|column| &column.ty),
        )?;
        Ok(Box::new(DoUpdate {
            arbiter,
            set,
            expressions,
        }))
    }
}

/// The update as ON CONFLICT has it: of ON DUPLICATE KEY, names without a relation are columns of the row that is there.
fn written_update<'u>(
    target: &Target,
    clause: &ast::OnConflict,
    update: &'u ast::DoUpdate,
) -> Cow<'u, ast::DoUpdate> {
    match &clause.conflict_target {
        Some(ConflictTarget::OnConstraint(name)) if is_primary_key(name) => {
            let mut update = update.clone();
            let relation = Ident::with_quote('"', target.name());
            for assignment in &mut update.assignments {
                change_outside_subqueries(&mut assignment.value, |expr| match expr {
                    Expr::Identifier(name) if !is_default_word(name) => {
                        *expr = Expr::CompoundIdentifier(vec![relation.clone(), name.clone()]);
                    }
                    _ => {}
                });
            }
            Cow::Owned(update)
        }
        _ => Cow::Borrowed(update),
    }
}

/// ON CONFLICT of an INSERT with NULL for columns that the rows proposed are given nothing but NULL for and that the table does not have: no
/// write has told their types yet.
pub(super) fn with_nulls<'o>(
    target: &Target,
    insert: &'o ast::Insert,
    source: &Source,
) -> Option<Cow<'o, OnInsert>> {
    let (on, unwritten) = (insert.on.as_ref()?, source.unwritten(&target.table));
    let mut changed = Cow::Borrowed(on);
    if unwritten.is_empty() || !matches!(on, OnInsert::OnConflict(_)) {
        return Some(changed);
    }
    let null = |expr: &mut Expr| {
        if let Expr::CompoundIdentifier(parts) = &*expr
            && let [relation, name] = parts.as_slice()
            && [EXCLUDED, target.name()].contains(&names::fold(relation).as_str())
            && unwritten.contains(&names::fold(name).as_str())
        {
            *expr = Expr::value(ast::Value::Null);
        }
    };
    if let OnInsert::OnConflict(clause) = changed.to_mut()
        && let OnConflictAction::DoUpdate(update) = &mut clause.action
    {
        for assignment in &mut update.assignments {
            change_outside_subqueries(&mut assignment.value, null);
        }
        if let Some(selection) = &mut update.selection {
            change_outside_subqueries(selection, null);
        }
    }
    Some(changed)
}

/// The target's rows, then those proposed.
fn both_relations(target: &Target) -> [RowRelation; 2] {
    let proposed = target.relation();
    let excluded = RowRelation {
        name: EXCLUDED.to_string(),
        schema: None,
        hidden_name: None,
        ..proposed
    };
    [target.relation(), excluded]
}

fn over_both<'a>(
    relations: &'a [RowRelation],
    items: &'a [SelectItem],
    selection: Option<&'a Expr>,
) -> RowQuery<'a> {
    RowQuery {
        relations,
        items,
        selection,
        clause: Clause::Set,
    }
}

/// Adds the columns that DO UPDATE SET names and a dynamic table does not have yet.
pub(super) async fn add_new_columns(
    ctx: &StatementContext,
    target: &mut Target,
    on: Option<&OnInsert>,
    types: &[Option<SqlType>],
) -> Result<()> {
    let Some(OnInsert::OnConflict(clause)) = on else {
        return Ok(());
    };
    let OnConflictAction::DoUpdate(update) = &clause.action else {
        return Ok(());
    };
    let update = written_update(target, clause, update);
    if !names_new_columns(target, &update.assignments)? {
        return Ok(());
    }
    add_dynamic_columns(ctx, target, &update.assignments, types, |target, expr| {
        let (relations, items) = (both_relations(target), [SelectItem::UnnamedExpr(expr.clone())]);
        let planned = plan_row_query(ctx, over_both(&relations, &items, None), &mut types.to_vec())?;
        Ok(planned.columns[0].ty.clone())
    })
    .await
}

/// Errors: 55000 where a constraint that is DEFERRABLE would decide.
fn check_no_deferrable(
    ctx: &StatementContext,
    target: &Target,
    named: Option<&ConflictTarget>,
) -> Result<()> {
    let table = &target.table;
    let exclusions = table.exclusions();
    let exclusions = exclusions.filter(|(_, exclusion)| exclusion.deferral.is_some());
    let exclusions = exclusions.map(|(index, _)| index);
    let mut deferrable = table.deferrable_keys().map(|(index, _)| index).chain(exclusions);
    let found = match named {
        None => deferrable.next(),
        Some(ConflictTarget::OnConstraint(name)) => {
            let name = names::relation_name(name)?.1;
            deferrable.find(|index| index.name == name)
        }
        Some(ConflictTarget::Columns(columns)) if table.deferrable_keys().next().is_some() => {
            let wanted = ConflictKeys::read(ctx, target, columns)?;
            let decides = table
                .all_indexes()
                .any(|index| index.unique && wanted.are_of(table, index));
            deferrable.find(|index| !decides && wanted.are_of(table, index))
        }
        Some(ConflictTarget::Columns(_)) => None,
    };
    match found {
        None => Ok(()),
        Some(_) => Err(Error::NotInState {
            message:
                "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters"
                    .to_string(),
        }),
    }
}

/// The unique key that the clause names.
fn arbiter<'a>(ctx: &StatementContext, target: &'a Target, named: &ConflictTarget) -> Result<&'a IndexDef> {
    let table = &target.table;
    let fits = |index: &&IndexDef| {
        let keeps_apart = index.unique && index.is_plain() || index.exclusion.is_some();
        keeps_apart && index.is_complete() && !(index.id == 0 && table.has_hidden_key())
    };
    match named {
        ConflictTarget::Columns(names) => {
            let wanted = ConflictKeys::read(ctx, target, names)?;
            let known = table
                .all_indexes()
                .filter(|index| index.unique && index.is_complete() && wanted.are_of(table, index));
            // Of several one that holds all rows: it finds whatever the others would.
            let found = known.min_by_key(|index| index.predicate.is_some());
            found.ok_or_else(|| Error::InvalidStatement {
                state: StatementFault::InvalidColumnReference,
                message: "there is no unique or exclusion constraint matching the ON CONFLICT specification"
                    .to_string(),
                hint: None,
            })
        }
        ConflictTarget::OnConstraint(name) if is_primary_key(name) => match table.has_hidden_key() {
            false => Ok(&table.primary_key),
            true => Err(Error::InvalidStatement {
                state: StatementFault::InvalidColumnReference,
                message: format!(
                    "table \"{}\" has no primary key whose values could be there twice",
                    table.name
                ),
                hint: Some("Write ON CONFLICT (column) DO UPDATE for another unique key.".to_string()),
            }),
        },
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

/// Inserts the rows whose keys are free and updates the others. Answers the rows inserted and updated, in the batch's
/// order, and which of them were updated. Errors: 21000 when a key comes twice; 23502, also for a row that is not inserted.
pub(super) async fn insert_or_update(
    ctx: &StatementContext,
    target: &Target,
    batch: &RecordBatch,
    (update, limits): (&DoUpdate, Limits),
    references: &References,
) -> Result<(RecordBatch, BooleanArray)> {
    let (txn, table) = (&ctx.txn, &target.table);
    require_not_null(table, batch, batch.num_rows())?;
    let arbiter = Arbiter::new(table, update.arbiter, limits);
    let keys = arbiter.keys(batch)?;
    // Who refers to a row that is there minds only that it gets another key.
    let triggers_change = table.changes_before(TriggerEvent::Update);
    let mode = match update.set.may_move_unique_keys(table) || triggers_change {
        true => LockMode::Replace,
        false => LockMode::Change,
    };
    let (found, existing) = arbiter.rows_in_the_way(txn, batch, mode).await?;
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
    if fresh.num_rows() > 0 {
        insert_rows(txn, table, &fresh, limits).await?;
        references.note_inserted(ctx, table, &fresh).await?;
    }
    if existing.num_rows() == 0 {
        let updated = BooleanArray::from(vec![false; fresh.num_rows()]);
        return Ok((fresh, updated));
    }
    check_not_written(ctx, table, &existing)?;
    let proposed = filter_record_batch(batch, &found).map_err(Error::arrow)?;
    let (kept, changed) = updated_rows(ctx, target, &existing, &proposed, update).await?;
    let updates = |at: usize| kept.values().binary_search(&(at as u32)).is_ok();
    check_no_repeat(in_the_way.iter().enumerate().map(|(at, key)| (key, updates(at))))?;
    let old = take_rows(&existing, &kept).map_err(Error::arrow)?;
    let replaced = update_rows(txn, table, &old, &changed, limits).await?;
    let set = update.set.columns(table);
    let event = RowEvent::update(&set);
    references
        .note_replaced(ctx, (table, event), (&old, &changed), replaced.as_ref())
        .await?;
    let standing = replaced.map_or(changed, |replaced| replaced.standing);
    in_order(table, &found, &fresh, &kept, &standing)
}

/// What an UPSERT writes whole rows of.
pub(super) struct WholeRows<'a> {
    pub(super) table: &'a Arc<TableDef>,
    /// The columns that it gives.
    pub(super) named: &'a [bool],
    pub(super) checks: &'a RowChecks,
}

/// Inserts the rows whose keys are free; of the others the columns at `named` change, and what is generated of them, as long as
/// the checks hold of what they are then. Of two
/// rows with one key the second changes what the first left. Answers the rows as they are then, in the batch's order.
pub(super) async fn upsert_whole_rows(
    ctx: &StatementContext,
    batch: &RecordBatch,
    (WholeRows { table, named, checks }, limits): (WholeRows<'_>, Limits),
    references: &References,
) -> Result<RecordBatch> {
    let txn = &ctx.txn;
    let mut written = Vec::with_capacity(batch.num_rows());
    let set = (0..named.len()).filter(|at| named[*at]);
    let set: Vec<ColumnId> = set.map(|at| table.columns[at].id).collect();
    let event = RowEvent::update(&set);
    let triggers = RowTriggers::bind(ctx, table, event, TriggerTiming::Before)?;
    // One by one: a key may come twice.
    for row in (0..batch.num_rows()).map(|row| batch.slice(row, 1)) {
        let (_, old) = get_rows(txn, table, &row, limits).await?;
        if old.num_rows() == 0 {
            checks.require(ctx, table, &row).await?;
            insert_rows(txn, table, &row, limits).await?;
            references.note_inserted(ctx, table, &row).await?;
            written.push(row);
            continue;
        }
        let given = (0..named.len()).filter(|at| named[*at] && table.columns[*at].generation().is_none());
        let given = given.map(|at| (at, Arc::clone(row.column(at)))).collect();
        let base = older_base(txn, table, &row, limits).await?;
        let new = match &base {
            // It begins with this version.
            Some(None) => row.clone(),
            Some(Some(base)) => with_generated(ctx, table, with_columns(table, base, given)?)?,
            None => with_generated(ctx, table, with_columns(table, &old, given)?)?,
        };
        let new = match &triggers {
            None => new,
            Some(triggers) => {
                let row = WrittenRow {
                    old: Some(&old),
                    new: Some(&new),
                };
                match triggers.before(ctx, row).await? {
                    Some(given) => given,
                    None => continue,
                }
            }
        };
        checks.require(ctx, table, &new).await?;
        update_rows(txn, table, &old, &new, limits).await?;
        if base.is_some() {
            written.push(old);
            continue;
        }
        references
            .note_replaced(ctx, (table, event), (&old, &new), None)
            .await?;
        written.push(new);
    }
    concat_batches(&table.write_schema(), &written).map_err(Error::arrow)
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

/// Errors: 21000 for a row that another part of the statement has written.
fn check_not_written(ctx: &StatementContext, table: &TableDef, rows: &RecordBatch) -> Result<()> {
    let Some(began) = &ctx.began else {
        return Ok(());
    };
    let mut encoder = RowEncoder::new(table, ctx.settings.limits);
    let keys = (0..rows.num_rows()).map(|row| encoder.key(rows, row));
    let written = ctx
        .txn
        .are_written_since(began, &keys.collect::<Result<Vec<_>>>()?);
    match written.contains(&true) {
        true => Err(Error::ConflictRowTwice),
        false => Ok(()),
    }
}

/// Which of the existing rows satisfy WHERE, and what SET makes of them.
async fn updated_rows(
    ctx: &StatementContext,
    target: &Target,
    existing: &RecordBatch,
    proposed: &RecordBatch,
    update: &DoUpdate,
) -> Result<(UInt32Array, RecordBatch)> {
    let visible = target.table.visible_positions();
    let visible = |rows: &RecordBatch| rows.project(&visible).map_err(Error::arrow);
    let both = side_by_side(&[&visible(existing)?, &visible(proposed)?])?;
    let before = update.may_write().then(|| ctx.txn.as_it_is());
    let evaluated = update.expressions.evaluate(ctx, &both).await?;
    let kept = UInt32Array::from_iter_values(evaluated.ordinals.iter().map(|at| *at as u32));
    let old = take_rows(existing, &kept).map_err(Error::arrow)?;
    let types = update.expressions.columns().iter().map(|column| &column.ty);
    let computed = types.zip(evaluated.batch.columns());
    let table = &target.table;
    let changed = update.set.apply(ctx, table, &old, computed).await?;
    if let Some(before) = &before {
        check_untouched(ctx, (table, UPDATED), existing, before)?;
    }
    let set = update.set.columns(table);
    let event = RowEvent::update(&set);
    let (kept, changed) = match RowTriggers::bind(ctx, table, event, TriggerTiming::Before)? {
        None => (kept, changed),
        Some(triggers) => {
            let (written, changed) = triggers.before_all(ctx, (Some(&old), Some(&changed))).await?;
            let written = written.into_iter().map(|at| kept.value(at as usize));
            (UInt32Array::from_iter_values(written), changed)
        }
    };
    if update.set.leaving(&changed)?.is_some() {
        let detail = "The result tuple would appear in a different partition than the original tuple.";
        return Err(Raised {
            detail: Some(detail.to_string()),
            ..Raised::new("0A000", "invalid ON UPDATE specification")
        }
        .into());
    }
    update.set.require_checks(ctx, table, &changed).await?;
    Ok((kept, changed))
}

/// Inserted and updated rows in the order in which the statement gave them, and which were updated.
fn in_order(
    table: &TableDef,
    found: &BooleanArray,
    fresh: &RecordBatch,
    kept: &UInt32Array,
    changed: &RecordBatch,
) -> Result<(RecordBatch, BooleanArray)> {
    let both = concat_batches(&table.write_schema(), [fresh, changed]).map_err(Error::arrow)?;
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
    let updated = order.iter().map(|at| *at as usize >= fresh.num_rows());
    let updated = BooleanArray::from(updated.collect::<Vec<_>>());
    let rows = take_rows(&both, &UInt32Array::from(order)).map_err(Error::arrow)?;
    Ok((rows, updated))
}
