//! UPDATE: the rows that the condition finds, what SET makes of them, a page at a time: memory holds a page and what the
//! transaction has written, whose limit refuses more.
//!
//! A statement must not see its own writes. A query that reads the target once and leaves keys alone is safe: it meets
//! each row before the row is written, and never again. Where keys may move, or the target is read at another place as
//! well, all rows are read before the first is written ([`RowBuffer`], bounded by the same limit).

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::{filter, filter_record_batch};
use futures::TryStreamExt;
use futures::stream::BoxStream;
use sqlparser::ast::{self, Expr, SelectItem, TableWithJoins, UpdateTableFromKind};

use super::lock_as_read::lock_as_read;
use super::moved_rows::{MovedRows, Parted};
use super::named_columns::{NamedColumns, returns_all};
use super::references::References;
use super::returning::Returning;
use super::row_buffer::RowBuffer;
use super::row_event::RowEvent;
use super::row_search::{Finding, FoundPage, RowSearch, append_beside, row_by_row};
use super::row_triggers::{RowTriggers, UPDATED, WrittenRow, already_modified, rows_at_once};
use super::set::{SetPlan, add_dynamic_columns, assume_columns, names_new_columns, sets_key};
use super::target::{Target, bind_narrowed};
use super::version_time;
use super::view_checks::ViewChecks;
use super::write_result::WriteResult;
use crate::catalog::{Access, TableDef, TriggerEvent, TriggerTiming};
use crate::codec::row::ColumnId;
use crate::parse::IndexHint;
use crate::query::{Observation, Others};
use crate::store::LockMode;
use crate::system::StatementContext;
use crate::table::{Replaced, RowEncoder, RowUpdate};
use crate::txn::Transaction;
use crate::types::SqlType;
use crate::{Error, Result};

/// An UPDATE, bound.
#[derive(Debug)]
pub(super) struct UpdatePlan {
    pub(super) target: Target,
    pub(super) found: RowSearch,
    set: SetPlan,
    /// What views ask of the rows, once they are written.
    pub(super) view_checks: ViewChecks,
    /// Whether it may change keys.
    keys_move: bool,
    /// Whether it may change keys by which rows are told apart, and referred to.
    unique_keys_move: bool,
    pub(super) returning: Option<Returning>,
    /// The time of the versions that it writes, in milliseconds since 1970, if it says so.
    version_time: Option<i64>,
    /// Where rows go that are no more its table's, if it is a partition that was not named itself.
    moved: Option<Box<MovedRows>>,
}

/// Where an UPDATE in batches goes on: behind this stored key of the primary key, which is empty at the beginning.
pub(super) type WalkedTo = Arc<[u8]>;

impl UpdatePlan {
    /// Binds it; the columns that it adds to a dynamic table are there then. Errors: those of binding, 0A000.
    pub(super) async fn bind_for_run(
        ctx: &StatementContext,
        update: &ast::Update,
        types: &mut Vec<Option<SqlType>>,
        after: Option<&WalkedTo>,
    ) -> Result<UpdatePlan> {
        let known = types.clone();
        match UpdatePlan::bind_target(ctx, update, types, (true, after)).await {
            // The nearest name may be that of any column.
            Err(error) if error.is_undefined_column() => {
                *types = known;
                UpdatePlan::bind_target(ctx, update, types, (false, after)).await
            }
            bound => bound,
        }
    }

    async fn bind_target(
        ctx: &StatementContext,
        update: &ast::Update,
        types: &mut Vec<Option<SqlType>>,
        (narrows, after): (bool, Option<&WalkedTo>),
    ) -> Result<UpdatePlan> {
        let mut target = target_of(ctx, update, narrows)?;
        if names_new_columns(&target, &update.assignments)? {
            let known = types.clone();
            let type_of = |target: &Target, expr: &Expr| type_over_rows(ctx, update, (target, expr), &known);
            add_dynamic_columns(ctx, &mut target, &update.assignments, &known, type_of).await?;
            target.tell_added(ctx);
        }
        UpdatePlan::bind(ctx, update, target, types, after)
    }

    /// Binds it with the columns that it would add, as far as their types can be told; `None` where it takes the others.
    pub(super) fn bind_for_describe(
        ctx: &StatementContext,
        update: &ast::Update,
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<Option<UpdatePlan>> {
        bind_narrowed(types, |types, narrows| {
            let mut target = target_of(ctx, update, narrows)?;
            if names_new_columns(&target, &update.assignments)? {
                let known = types.clone();
                let type_of =
                    |target: &Target, expr: &Expr| type_over_rows(ctx, update, (target, expr), &known);
                // What `*` is told to be must not depend on whether a value proves to be NULL.
                let of_patterns = returns_all(update.returning.as_deref());
                assume_columns(
                    ctx,
                    &mut target,
                    (&update.assignments, of_patterns),
                    &known,
                    type_of,
                )?;
            }
            let adds_columns = names_new_columns(&target, &update.assignments)?;
            match UpdatePlan::bind(ctx, update, target, types, None) {
                Err(error) if adds_columns && error.is_undefined_column() => Ok(None),
                plan => plan.map(Some),
            }
        })
    }

    fn bind(
        ctx: &StatementContext,
        update: &ast::Update,
        target: Target,
        types: &mut Vec<Option<SqlType>>,
        after: Option<&WalkedTo>,
    ) -> Result<UpdatePlan> {
        let from_begin = ctx.hints.batch_rows.map(|_| WalkedTo::default());
        let after = after.or(from_begin.as_ref());
        let (set, computed) = SetPlan::bind(ctx, &target, &update.assignments, types)?;
        let computed: Vec<&Expr> = computed.iter().map(|expr| &**expr).collect();
        let columns: Vec<usize> = (0..target.table.columns.len()).collect();
        let triggers_change = target.table.changes_before(TriggerEvent::Update);
        let keys_move = set.changes_keys(&target.table) || triggers_change;
        let unique_keys_move = set.may_move_unique_keys(&target.table) || triggers_change;
        let found = RowSearch::bind(ctx, &target, finding(update, &columns, &computed, after), types)?;
        set.check(&target.table, found.types().iter())?;
        let returning = Returning::bind(ctx, &target, &found.beside, update.returning.as_deref(), types)?;
        set.decide_parameters(&target.table, types)?;
        let plan = UpdatePlan {
            keys_move,
            unique_keys_move,
            target,
            found,
            set,
            view_checks: ViewChecks::default(),
            returning,
            version_time: ctx.hints.version_time,
            moved: None,
        };
        if after.is_some() {
            plan.require_walk(ctx, update)?;
        }
        Ok(plan)
    }

    /// As an UPDATE of this table, of which its own is a partition: rows may become those of another. `returning`: its RETURNING. Errors: those
    /// of binding.
    pub(super) fn moving_rows(
        mut self,
        ctx: &StatementContext,
        parent: &Arc<TableDef>,
        returning: Option<&[SelectItem]>,
    ) -> Result<UpdatePlan> {
        let (set, own) = (self.columns_set(), &self.target.table);
        let mut may_move = own.changes_before(TriggerEvent::Update);
        let mut above = ctx.parent_of(own)?;
        while let Some(table) = above {
            let tells = table.partition_positions();
            let tells = tells
                .iter()
                .filter_map(|at| own.column_index(&table.columns[*at].name));
            may_move |= tells.map(|at| own.columns[at].id).any(|id| set.contains(&id));
            above = match table.oid == parent.oid {
                true => None,
                false => ctx.parent_of(&table)?,
            };
        }
        if may_move {
            let returning = returning.filter(|_| self.found.beside.is_empty());
            let moved = MovedRows::bind(ctx, (parent, self.target.name()), returning)?;
            self.moved = Some(Box::new(moved));
        }
        Ok(self)
    }

    /// Errors: 0A000 where it cannot go along the primary key, a row after the other, each once.
    fn require_walk(&self, ctx: &StatementContext, update: &ast::Update) -> Result<()> {
        let refused = |what: &str, hint: &str| {
            let what = format!("{what} with the hint _l_batch_");
            Err(Error::unsupported(what, Some(hint)))
        };
        if update.returning.is_some() {
            return refused(
                "RETURNING",
                "Leave RETURNING out, or the hint: rows that are committed are returned by no error.",
            );
        }
        if self.set.moves_row(&self.target.table) {
            return refused(
                "an UPDATE of a column of the primary key",
                "A row that moves might be met again: leave the hint out, or write UPDATEs of a range of the key each.",
            );
        }
        if matches!(ctx.hints.index, Some(IndexHint::Force(_))) {
            return refused(
                "_l_force_index_ in an UPDATE",
                "It goes along the primary key, so that it meets no row twice: leave one of the hints out.",
            );
        }
        match self.found.is_walk() {
            true => Ok(()),
            false => refused(
                "an UPDATE that reads other rows than those that it changes",
                "It goes along the primary key of its table: write constants in the place of subqueries, and no FROM, or leave the hint out.",
            ),
        }
    }

    /// Whether it may run again as long as catalog and settings are the same.
    pub(super) fn is_lasting(&self) -> bool {
        self.found.is_lasting() && !self.set.leaves_out
    }

    /// Whether a function is run for it that may write, and sees what was written.
    pub(super) fn may_write(&self) -> bool {
        self.found.may_write() || self.returning.as_ref().is_some_and(Returning::may_write)
    }

    /// The columns that SET names.
    pub(super) fn columns_set(&self) -> Vec<ColumnId> {
        self.set.columns(&self.target.table)
    }

    /// Runs it. `observation`: what its reading is counted in.
    pub(super) async fn run(
        &self,
        ctx: &StatementContext,
        observation: Option<&Observation>,
        references: &References,
    ) -> Result<WriteResult> {
        let pages = self.found.pages(ctx, observation, self.keys_move).await?;
        let pages = match self.returning.as_ref().is_some_and(Returning::may_write) {
            true => row_by_row(pages),
            false => pages,
        };
        self.update(ctx, pages, references).await
    }

    /// Updates the rows of pages that were found.
    pub(super) async fn update(
        &self,
        ctx: &StatementContext,
        mut pages: BoxStream<'static, Result<RecordBatch>>,
        references: &References,
    ) -> Result<WriteResult> {
        let table = &self.target.table;
        let types = self.found.types();
        let (mut updated, mut returned) = (0, RowBuffer::new(ctx));
        // Of rows that others have got by now.
        let mut shown = Vec::new();
        let limits = version_time::limits(ctx, table, self.version_time)?;
        let mut write = RowUpdate::new(&ctx.txn, table, limits, self.keys_move);
        let watched = (!self.set.changes_keys(table)).then_some(UPDATED);
        let mut first = FirstOfEachKey::new(table, ctx, self.found.joins).watching(ctx, watched);
        let schema = table.write_schema();
        let set = self.set.columns(table);
        let event = RowEvent::update(&set);
        let triggers = RowTriggers::bind(ctx, table, event, TriggerTiming::Before)?;
        let triggers = triggers.map(|bound| bound.watching(ctx, self.set.changes_keys(table)));
        while let Some(page) = pages.try_next().await? {
            let mode = self.mode_of(ctx, &page, &types).await?;
            let page = self.found.lock(ctx, page, mode).await?;
            let FoundPage { columns, others } = self.found.split(&page);
            let old = RecordBatch::try_new(schema.clone(), columns.to_vec()).map_err(Error::arrow)?;
            // A row that joins with several is updated once, by any of them.
            let (old, values) = first.take(ctx, (old, others.to_vec()), mode).await?;
            let at_once = rows_at_once(triggers.is_some() || self.may_write(), old.num_rows());
            for from in (0..old.num_rows()).step_by(at_once) {
                let mut old = old.slice(from, at_once);
                let mut values = values
                    .iter()
                    .map(|array| array.slice(from, at_once))
                    .collect::<Vec<_>>();
                let mut beside = values.split_off(types.len());
                let computed = types.iter().zip(&values);
                let mut new = self.set.apply(ctx, table, &old, computed).await?;
                if let Some(triggers) = &triggers {
                    let row = WrittenRow {
                        old: Some(&old),
                        new: Some(&new),
                    };
                    match triggers.before(ctx, row).await? {
                        Some(given) => new = given,
                        None => continue,
                    }
                }
                if let Some(parted) = Box::pin(self.part(ctx, (&old, &new, &beside), references)).await? {
                    updated += parted.left_count;
                    shown.extend(parted.shown);
                    if let Some(left) = parted.left {
                        self.show(ctx, left, (&mut returned, &mut shown)).await?;
                    }
                    (old, new, beside) = parted.staying;
                }
                if !table.stands_for_view() {
                    let event = (event, &old, &new);
                    let replaced = self.replace(ctx, &mut write, event, references).await?;
                    // RETURNING shows a row as it stands, which a write of an older version does not change.
                    new = replaced.map_or(new, |replaced| replaced.standing);
                }
                updated += new.num_rows() as u64;
                self.show(ctx, (new, beside), (&mut returned, &mut shown)).await?;
            }
        }
        write.finish()?;
        let mut result = WriteResult::of(ctx, "UPDATE", updated, self.returning.as_ref(), returned).await?;
        result.batches.extend(shown);
        Ok(result)
    }
}

impl UpdatePlan {
    /// Has RETURNING, if there is one, show rows that are written, with what stands beside them. Errors: as [`Returning::note`].
    async fn show(
        &self,
        ctx: &StatementContext,
        (rows, beside): (RecordBatch, Vec<ArrayRef>),
        shown: (&mut RowBuffer, &mut Vec<RecordBatch>),
    ) -> Result<()> {
        match &self.returning {
            Some(returning) => {
                let rows = append_beside(rows, &self.found.beside, beside)?;
                returning.note(ctx, rows, shown).await
            }
            None => Ok(()),
        }
    }

    /// Writes rows of the table as they will be; answers as [`RowUpdate::replace`]. Errors: 23514, 44000, those of writing them.
    async fn replace(
        &self,
        ctx: &StatementContext,
        write: &mut RowUpdate<'_>,
        (event, old, new): (RowEvent<'_>, &RecordBatch, &RecordBatch),
        references: &References,
    ) -> Result<Option<Replaced>> {
        let table = &self.target.table;
        self.set.require_checks(ctx, table, new).await?;
        let replaced = write.replace(old, new).await?;
        references
            .note_replaced(ctx, (table, event), (old, new), replaced.as_ref())
            .await?;
        self.view_checks.require(ctx, table, new).await?;
        Ok(replaced)
    }

    /// Moves the rows of a page that become another partition's; `None`: none does. Errors: those of deleting and inserting them.
    async fn part(
        &self,
        ctx: &StatementContext,
        (old, new, beside): (&RecordBatch, &RecordBatch, &[ArrayRef]),
        references: &References,
    ) -> Result<Option<Parted>> {
        let Some(moved) = &self.moved else {
            return Ok(None);
        };
        let Some(leaving) = self.set.leaving(new)? else {
            return Ok(None);
        };
        let page = ((old, new, beside), &leaving);
        let table = &self.target.table;
        let limits = version_time::limits(ctx, table, self.version_time)?;
        moved.take(ctx, (table, limits), page, references).await.map(Some)
    }

    /// How the rows of a page are locked: who refers to a row does not mind that it is set to the key that it has.
    async fn mode_of(
        &self,
        ctx: &StatementContext,
        page: &RecordBatch,
        types: &[SqlType],
    ) -> Result<LockMode> {
        if !self.unique_keys_move {
            return Ok(LockMode::Change);
        }
        let FoundPage { columns, others } = self.found.split(page);
        let computed = types.iter().zip(others);
        let table = &self.target.table;
        Ok(
            match self.set.moves_unique_keys(ctx, table, columns, computed).await? {
                true => LockMode::Replace,
                false => LockMode::Change,
            },
        )
    }
}

/// The table of an UPDATE. `narrows`: without the columns that it has nothing to do with. Errors: as [`Target::of_factor`].
fn target_of(ctx: &StatementContext, update: &ast::Update, narrows: bool) -> Result<Target> {
    let mut target = Target::of_factor(ctx, &update.table, Access::Update)?;
    // A row that moves is another one, and is written whole.
    if narrows && !sets_key(&target, &update.assignments)? {
        target.narrow(ctx, NamedColumns::of_update(update))?;
    }
    Ok(target)
}

/// The type of an expression over the rows that an UPDATE finds.
fn type_over_rows(
    ctx: &StatementContext,
    update: &ast::Update,
    (target, expr): (&Target, &Expr),
    known: &[Option<SqlType>],
) -> Result<SqlType> {
    let computed = [expr];
    let found = RowSearch::bind(
        ctx,
        target,
        finding(update, &[], &computed, None),
        &mut known.to_vec(),
    )?;
    found
        .types()
        .pop()
        .ok_or_else(|| Error::internal("an expression has no type"))
}

/// Where an UPDATE finds its rows.
fn finding<'a>(
    update: &'a ast::Update,
    columns: &'a [usize],
    expressions: &'a [&'a Expr],
    after: Option<&'a WalkedTo>,
) -> Finding<'a> {
    Finding {
        after,
        columns,
        expressions,
        others: Others::From(from_tables(update)),
        selection: update.selection.as_ref(),
        beside: update.returning.is_some(),
    }
}

/// The tables of FROM.
fn from_tables(update: &ast::Update) -> &[TableWithJoins] {
    match &update.from {
        None => &[],
        Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) => from,
    }
}

/// Which rows are met for the first time, by their keys, and were not written by other parts of the statement. Each is written, so the
/// transaction's limit bounds them.
pub(super) struct FirstOfEachKey<'a> {
    table: &'a TableDef,
    encoder: RowEncoder<'a>,
    seen: HashSet<Vec<u8>>,
    /// The transaction as the statement found it, and as this part of it did.
    others: Option<(Arc<Transaction>, Arc<Transaction>)>,
    /// Whether a row may be met again.
    joins: bool,
    /// The statement's transaction, and what it does, where functions may write rows that it comes to.
    watched: Option<(Arc<Transaction>, &'static str)>,
}

impl<'a> FirstOfEachKey<'a> {
    pub(super) fn new(table: &'a TableDef, ctx: &StatementContext, joins: bool) -> FirstOfEachKey<'a> {
        // What stands for a view has no keys: each row is its own.
        let is_stored = !table.stands_for_view();
        let others = ctx.began.as_ref().filter(|_| is_stored);
        FirstOfEachKey {
            table,
            encoder: RowEncoder::new(table, ctx.settings.limits),
            seen: HashSet::new(),
            others: others.map(|began| {
                let part = ctx.part_began.clone();
                (
                    Arc::clone(began),
                    part.unwrap_or_else(|| Arc::new(ctx.txn.as_it_is())),
                )
            }),
            joins: joins && is_stored,
            watched: None,
        }
    }

    /// The functions that the statement calls may write no row that it comes to later, for which it is to be `done`; `None`: they may.
    pub(super) fn watching(self, ctx: &StatementContext, done: Option<&'static str>) -> FirstOfEachKey<'a> {
        FirstOfEachKey {
            watched: done.map(|done| (Arc::clone(&ctx.txn), done)),
            ..self
        }
    }

    /// Errors: 27000 for a key that functions have written since this part of the statement began.
    fn check_untouched(&self, keys: &[Vec<u8>]) -> Result<()> {
        let (Some((txn, done)), Some((_, began))) = (&self.watched, &self.others) else {
            return Ok(());
        };
        let met: Vec<Vec<u8>> = keys
            .iter()
            .filter(|key| !self.seen.contains(*key))
            .cloned()
            .collect();
        match txn.are_written_since(began, &met).contains(&true) {
            true => Err(already_modified(done)),
            false => Ok(()),
        }
    }

    /// The whole rows of the target that are this part's to write, and what stands beside them. They are locked, here if the search did not
    /// do it. Errors: 27000; those of locks.
    pub(super) async fn take(
        &mut self,
        ctx: &StatementContext,
        found: (RecordBatch, Vec<ArrayRef>),
        mode: LockMode,
    ) -> Result<(RecordBatch, Vec<ArrayRef>)> {
        let (rows, beside) = self.first_of(found)?;
        if self.joins {
            lock_as_read(ctx, self.table, &[&rows], mode).await?;
        }
        Ok((rows, beside))
    }

    fn first_of(
        &mut self,
        (rows, beside): (RecordBatch, Vec<ArrayRef>),
    ) -> Result<(RecordBatch, Vec<ArrayRef>)> {
        if !self.joins && self.others.is_none() {
            return Ok((rows, beside));
        }
        let keys = (0..rows.num_rows()).map(|row| self.encoder.key(&rows, row));
        let keys: Vec<Vec<u8>> = keys.collect::<Result<_>>()?;
        self.check_untouched(&keys)?;
        let taken = match &self.others {
            Some((began, now)) => now.are_written_since(began, &keys),
            None => vec![false; keys.len()],
        };
        let first = keys.into_iter().zip(taken);
        let first = first.map(|(key, is_taken)| !is_taken && self.seen.insert(key));
        let first = BooleanArray::from(first.collect::<Vec<bool>>());
        let rows = filter_record_batch(&rows, &first).map_err(Error::arrow)?;
        let beside = beside
            .iter()
            .map(|array| filter(array, &first).map_err(Error::arrow));
        Ok((rows, beside.collect::<Result<_>>()?))
    }
}
