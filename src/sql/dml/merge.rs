//! MERGE: the target joined with the source; each row is for the first WHEN clause of its kind whose condition holds of it.
//!
//! All rows are read, and what becomes of them is known, before the first is written: no clause sees what another has done. Deletions
//! come first, then updates, then insertions. RETURNING is PostgreSQL 17's.
//!
//! MERGE into a partitioned table is one into each of its partitions, without the rows of the source that match none there; these are those of
//! the table itself, which has no rows: what it inserts goes to its partitions.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow::compute::{concat_batches, filter_record_batch, not};
use arrow::datatypes::Schema;
use sqlparser::ast::{self, OutputClause};

use super::lock_as_read::lock_as_read;
use super::merge_action::{Action, ActionUpdate, add_new_columns};
use super::merge_kind::{Kind, by_source, check_reachable, has, relations_of, source_of};
use super::merge_marks::{action_relation, marked, unmatched, with_action};
use super::merge_rows::{Found, nullable_rows, take};
use super::merge_triggers::{before, check_untouched_by};
use super::moved_rows::MovedRows;
use super::named_columns::NamedColumns;
use super::references::References;
use super::returning::Returning;
use super::row_buffer::RowBuffer;
use super::row_checks::RowChecks;
use super::row_event::RowEvent;
use super::row_expressions::{RowExpressions, side_by_side};
use super::row_search::{Finding, RowSearch, append_beside};

use super::set::sets_key;
use super::target::{Target, bind_narrowed};
use super::whole_rows::WholeRows;
use super::write_result::WriteResult;
use crate::catalog::{Access, TableDef, TriggerEvent};
use crate::codec::row::ColumnId;
use crate::query::{Clause, MergeSource, Observation, Others, RowQuery, RowRelation};
use crate::store::LockMode;
use crate::system::StatementContext;
use crate::table::{RowEncoder, RowUpdate, delete_rows, insert_rows};
use crate::tree::JoinType;
use crate::txn::Transaction;
use crate::types::SqlType;
use crate::{Error, Result};

/// A MERGE, bound.
#[derive(Debug)]
pub(super) struct MergePlan {
    pub(super) target: Target,
    pub(super) found: RowSearch,
    whens: Vec<When>,
    checks: RowChecks,
    /// Whether rows are asked for that no row of the source matches.
    by_source: bool,
    /// Whether RETURNING asks what was done.
    tells_action: bool,
    /// Of a partitioned table: what writes rows to its partitions.
    routed: Option<Box<WholeRows>>,
    /// Of a partition: where rows go that are no more its own.
    moved: Option<Box<MovedRows>>,
    pub(super) returning: Option<Returning>,
}

/// A WHEN clause.
#[derive(Debug)]
struct When {
    kind: Kind,
    condition: Option<RowExpressions>,
    action: Action,
}

/// What is written.
#[derive(Default)]
struct Outcome {
    /// The rows of the join, and what became of them: as they are written, or were when they are deleted.
    written: Vec<(Vec<u32>, RecordBatch, &'static str)>,
    /// How many rows partitions have got.
    routed: u64,
}

/// What the clauses make of rows, before any is written.
#[derive(Default)]
struct Chosen {
    /// The rows of the join, and of the target.
    deleted: Vec<(Vec<u32>, RecordBatch)>,
    /// The rows of the join, those of the target as they are and as they will be, and the columns that are set.
    updated: Vec<(Vec<u32>, RecordBatch, RecordBatch, Vec<ColumnId>)>,
    /// Rows of the target, as they are and as they will be in other partitions.
    moved: Vec<(RecordBatch, RecordBatch)>,
    /// The rows of the join, and those that are new.
    inserted: Vec<(Vec<u32>, RecordBatch)>,
}

impl MergePlan {
    /// Binds it; the columns that it adds to a dynamic table are there then. Errors: those of binding.
    pub(super) async fn bind_for_run(
        ctx: &StatementContext,
        merge: &ast::Merge,
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<MergePlan> {
        let known = types.clone();
        match MergePlan::bind_target(ctx, merge, types, true).await {
            // The nearest name may be that of any column.
            Err(error) if error.is_undefined_column() => {
                *types = known;
                MergePlan::bind_target(ctx, merge, types, false).await
            }
            bound => bound,
        }
    }

    async fn bind_target(
        ctx: &StatementContext,
        merge: &ast::Merge,
        types: &mut Vec<Option<SqlType>>,
        narrows: bool,
    ) -> Result<MergePlan> {
        let mut target = target_of(ctx, merge, narrows)?;
        if target.table.gets_columns() {
            let found = MergePlan::find(ctx, merge, &target, &mut types.clone())?;
            for clause in &merge.clauses {
                let relations = relations_of(
                    &target,
                    source_of(&found, by_source(merge)),
                    Kind::of(&clause.clause_kind),
                );
                add_new_columns(ctx, &mut target, &clause.action, &relations, types).await?;
            }
            target.tell_added(ctx);
        }
        MergePlan::bind(ctx, merge, target, types)
    }

    /// Binds it without the columns that it would add.
    pub(super) fn bind_for_describe(
        ctx: &StatementContext,
        merge: &ast::Merge,
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<MergePlan> {
        bind_narrowed(types, |types, narrows| {
            MergePlan::bind(ctx, merge, target_of(ctx, merge, narrows)?, types)
        })
    }

    fn bind(
        ctx: &StatementContext,
        merge: &ast::Merge,
        target: Target,
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<MergePlan> {
        check_reachable(&merge.clauses)?;
        let found = MergePlan::find(ctx, merge, &target, types)?;
        let (by_source, mut whens) = (by_source(merge), Vec::with_capacity(merge.clauses.len()));
        let source = source_of(&found, by_source);
        for clause in &merge.clauses {
            let kind = Kind::of(&clause.clause_kind);
            let relations = relations_of(&target, source.clone(), kind);
            let when = When::bind(ctx, &target, clause, (kind, &relations), types);
            whens.push(when.map_err(|error| match kind {
                Kind::NotMatched => error.out_of_reach(|name| name == target.name()),
                Kind::Matched | Kind::NotMatchedBySource => error,
            })?);
        }
        let (mut returning, mut tells_action) = (None, false);
        if let Some(OutputClause::Returning { select_items, .. }) = &merge.output {
            let items = with_action(select_items, &source, &target);
            tells_action = items.is_some();
            let action = tells_action.then(action_relation);
            let items = items.as_deref().unwrap_or(select_items);
            returning = Some(Returning::bind_merge(
                ctx,
                &target,
                (&source, action),
                items,
                types,
            )?);
        }
        let routed = match target.table.partitioning {
            Some(_) => Some(Box::new(WholeRows::bind(ctx, &target.table)?)),
            None => None,
        };
        Ok(MergePlan {
            checks: RowChecks::bind(ctx, &target.table)?,
            routed,
            moved: None,
            target,
            found,
            whens,
            by_source,
            tells_action,
            returning,
        })
    }

    /// As a MERGE into this table, of which its own is a partition: rows may become those of another. Errors: those of binding.
    pub(super) fn moving_rows(mut self, ctx: &StatementContext, parent: &Arc<TableDef>) -> Result<MergePlan> {
        let moved = MovedRows::bind(ctx, (parent, self.target.name()), None)?;
        self.moved = Some(Box::new(moved));
        Ok(self)
    }

    /// Whether it has a clause for rows of the source that match none.
    pub(super) fn inserts_unmatched(&self) -> bool {
        self.whens.iter().any(|when| when.kind == Kind::NotMatched)
    }

    /// Plans the join. Where rows of the target alone are asked for, a column behind the source's tells whether it is there.
    fn find(
        ctx: &StatementContext,
        merge: &ast::Merge,
        target: &Target,
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<RowSearch> {
        let (by_source, by_target) = (by_source(merge), has(merge, Kind::NotMatched));
        let is_partitioned = target.table.partitioning.is_some();
        let unmatched = (is_partitioned && by_target)
            .then(|| unmatched(merge))
            .transpose()?;
        let source = unmatched.as_ref().unwrap_or(&merge.source);
        let marked = by_source.then(|| marked(source)).transpose()?;
        let columns: Vec<usize> = (0..target.table.columns.len()).collect();
        let source = MergeSource {
            relation: marked.as_ref().unwrap_or(source),
            on: &merge.on,
            kind: match (by_source, by_target) {
                (false, false) => JoinType::Inner,
                (false, true) => JoinType::Right,
                (true, false) => JoinType::Left,
                (true, true) => JoinType::Full,
            },
        };
        let finding = Finding {
            after: None,
            columns: &columns,
            expressions: &[],
            others: Others::Source(source),
            selection: None,
            beside: true,
        };
        RowSearch::bind(ctx, target, finding, types)
    }

    /// Whether it may run again as long as catalog and settings are the same.
    pub(super) fn is_lasting(&self) -> bool {
        self.found.is_lasting() && self.whens.iter().all(|when| when.action.is_lasting())
    }

    /// Runs it. `observation`: what its reading is counted in. Errors: 21000 for a row that is to be changed twice.
    pub(super) async fn run(
        &self,
        ctx: &StatementContext,
        observation: Option<&Observation>,
        references: &References,
    ) -> Result<WriteResult> {
        let began = ctx.txn.as_it_is();
        let pages = self.found.pages(ctx, observation, true).await?;
        let pages = RowBuffer::collect(ctx, pages).await?.into_batches();
        let mut outcome = Outcome::default();
        let mut returned = RowBuffer::new(ctx);
        if let Some(first) = pages.first() {
            let rows = concat_batches(&first.schema(), &pages).map_err(Error::arrow)?;
            let found = self.found(&rows)?;
            let chosen = self.choose(ctx, &found).await?;
            let chosen = self.check_once(ctx, &found, chosen, &began)?;
            self.write(ctx, (&found, chosen, &began), references, &mut outcome)
                .await?;
            if self.returning.is_some() {
                outcome.push_returned(self, &found, &mut returned)?;
            }
        }
        let written = outcome.written.iter().map(|(rows, ..)| rows.len() as u64);
        let written = written.sum::<u64>() + outcome.routed;
        WriteResult::of(ctx, "MERGE", written, self.returning.as_ref(), returned).await
    }

    /// The rows of the join, taken apart.
    fn found(&self, rows: &RecordBatch) -> Result<Found> {
        let table = &self.target.table;
        let (columns, others) = rows.columns().split_at(table.columns.len());
        let (mark, source) = match (self.by_source, others.split_last()) {
            (true, Some((mark, source))) => (Some(mark), source),
            _ => (None, others),
        };
        let key = table.primary_key.columns.first();
        let key = key.and_then(|key| table.column_index_by_id(key.column));
        let key = key.ok_or_else(|| Error::internal("a table without a key"))?;
        let kinds = (0..rows.num_rows()).map(|row| match mark {
            _ if columns[key].is_null(row) => Kind::NotMatched,
            Some(mark) if mark.is_null(row) => Kind::NotMatchedBySource,
            _ => Kind::Matched,
        });
        let kinds = kinds.collect();
        let fields = rows.schema();
        let fields = &fields.fields()[columns.len()..columns.len() + source.len()];
        let target = nullable_rows(table, columns)?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let source =
            RecordBatch::try_new_with_options(schema, source.to_vec(), &options).map_err(Error::arrow)?;
        let visible = target.project(&table.visible_positions()).map_err(Error::arrow)?;
        Ok(Found {
            both: side_by_side(&[&visible, &source])?,
            target,
            source,
            kinds,
        })
    }

    /// The rows that each clause gets, rising.
    async fn choose(&self, ctx: &StatementContext, found: &Found) -> Result<Vec<Vec<u32>>> {
        let mut left: Vec<u32> = (0..found.kinds.len() as u32).collect();
        let mut chosen = Vec::with_capacity(self.whens.len());
        for when in &self.whens {
            let fits = |row: &u32| found.kinds[*row as usize] == when.kind;
            let candidates: Vec<u32> = left.iter().copied().filter(fits).collect();
            let taken = match &when.condition {
                Some(condition) if !candidates.is_empty() => {
                    let rows = take(found.named_by(when.kind), &candidates)?;
                    let kept = condition.evaluate(ctx, &rows).await?.ordinals;
                    kept.into_iter().map(|at| candidates[at]).collect()
                }
                _ => candidates,
            };
            let gone: HashSet<u32> = taken.iter().copied().collect();
            left.retain(|row| !gone.contains(row));
            chosen.push(taken);
        }
        Ok(chosen)
    }

    /// Leaves out rows that other parts of the statement had written as this one began, which is `now`. Errors: 21000 for a row of the target
    /// that two rows change.
    fn check_once(
        &self,
        ctx: &StatementContext,
        found: &Found,
        mut chosen: Vec<Vec<u32>>,
        now: &Transaction,
    ) -> Result<Vec<Vec<u32>>> {
        let mut encoder = RowEncoder::new(&self.target.table, ctx.settings.limits);
        let mut seen = HashSet::new();
        for (when, rows) in self.whens.iter().zip(&mut chosen) {
            if when.kind == Kind::NotMatched || matches!(when.action, Action::Nothing) {
                continue;
            }
            let keys = rows.iter().map(|row| encoder.key(&found.target, *row as usize));
            let keys: Vec<Vec<u8>> = keys.collect::<Result<_>>()?;
            let taken = match &ctx.began {
                Some(began) => now.are_written_since(began, &keys),
                None => vec![false; keys.len()],
            };
            for (key, is_taken) in keys.into_iter().zip(&taken) {
                if !is_taken && !seen.insert(key) {
                    return Err(Error::MergeRowTwice);
                }
            }
            let mut taken = taken.into_iter();
            rows.retain(|_| taken.next() == Some(false));
        }
        Ok(chosen)
    }

    /// Whether a function is run for it that may write.
    pub(super) fn may_write(&self) -> bool {
        let conditions = self.whens.iter().filter_map(|when| when.condition.as_ref());
        self.found.may_write()
            || conditions.into_iter().any(RowExpressions::may_write)
            || self.whens.iter().any(|when| when.action.may_write())
            || self.returning.as_ref().is_some_and(Returning::may_write)
    }

    /// What fires triggers of its statement, and the columns that are updated.
    pub(super) fn events(&self) -> Vec<(TriggerEvent, Vec<ColumnId>)> {
        let (mut inserts, mut updates, mut deletes) = (None, None, None);
        for when in &self.whens {
            match &when.action {
                Action::Nothing => {}
                Action::Insert(_) => inserts = Some((TriggerEvent::Insert, Vec::new())),
                Action::Delete => deletes = Some((TriggerEvent::Delete, Vec::new())),
                Action::Update(update) => {
                    let (_, set) = updates.get_or_insert((TriggerEvent::Update, Vec::new()));
                    set.extend(update.set.columns(&self.target.table));
                }
            }
        }
        inserts.into_iter().chain(updates).chain(deletes).collect()
    }

    /// Does what the clauses say.
    async fn write(
        &self,
        ctx: &StatementContext,
        (found, chosen, began): (&Found, Vec<Vec<u32>>, &Transaction),
        references: &References,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let (txn, table, limits) = (&ctx.txn, &self.target.table, ctx.settings.limits);
        let chosen = self.made_of(ctx, found, chosen).await?;
        let moved = chosen.moved.iter().map(|(old, _)| old);
        let changed = chosen.updated.iter().map(|(_, old, ..)| old);
        let changed: Vec<_> = changed.chain(moved).collect();
        let deleted: Vec<_> = chosen.deleted.iter().map(|(_, old)| old).collect();
        if self.may_write() || table.has_row_triggers() {
            let both = deleted.iter().chain(&changed).copied();
            check_untouched_by(ctx, table, both, began)?;
        }
        lock_as_read(ctx, table, &deleted, LockMode::Replace).await?;
        lock_as_read(ctx, table, &changed, LockMode::Change).await?;
        for (rows, old) in chosen.deleted {
            delete_rows(txn, table, &old, limits).await?;
            references.note_deleted(ctx, table, &old).await?;
            outcome.written.push((rows, old, "DELETE"));
        }
        let mut update = RowUpdate::new(txn, table, limits, true);
        for (rows, old, new, set) in chosen.updated {
            let replaced = update.replace(&old, &new).await?;
            let event = RowEvent::update(&set);
            references
                .note_replaced(ctx, (table, event), (&old, &new), replaced.as_ref())
                .await?;
            let standing = replaced.map_or(new, |replaced| replaced.standing);
            outcome.written.push((rows, standing, "UPDATE"));
        }
        update.finish()?;
        if let Some(moves) = &self.moved {
            for (old, new) in chosen.moved {
                let all = BooleanArray::from(vec![true; old.num_rows()]);
                let page = ((&old, &new, &[][..]), &all);
                outcome.routed += moves
                    .take(ctx, (table, limits), page, references)
                    .await?
                    .left_count;
            }
        }
        for (rows, new) in chosen.inserted {
            if let Some(routed) = &self.routed {
                let written = Box::pin(routed.write(ctx, (table, &new), references)).await;
                outcome.routed += written.map_err(|fault| fault.error)?.rows_written;
                continue;
            }
            insert_rows(txn, table, &new, limits).await?;
            references.note_inserted(ctx, table, &new).await?;
            outcome.written.push((rows, new, "INSERT"));
        }
        Ok(())
    }

    /// What the clauses make of their rows, and triggers that fire before these are written.
    async fn made_of(&self, ctx: &StatementContext, found: &Found, rows: Vec<Vec<u32>>) -> Result<Chosen> {
        let table = &self.target.table;
        let mut chosen = Chosen::default();
        for (when, rows) in self.whens.iter().zip(rows).filter(|(_, rows)| !rows.is_empty()) {
            let old = take(&found.target, &rows)?;
            let named = take(found.named_by(when.kind), &rows)?;
            match &when.action {
                Action::Nothing => {}
                Action::Delete => {
                    let of = (table, RowEvent::DELETE);
                    chosen
                        .deleted
                        .push(before(ctx, of, rows, (Some(&old), None)).await?);
                }
                Action::Update(update) => {
                    let new = update.new_rows(ctx, &self.target, &old, &named).await?;
                    let set = update.set.columns(table);
                    let event = RowEvent::update(&set);
                    let written = (Some(&old), Some(&new));
                    let (kept, new) = before(ctx, (table, event), rows.clone(), written).await?;
                    let old = match kept.len() == rows.len() {
                        true => old,
                        false => take(&found.target, &kept)?,
                    };
                    let (rows, old, new) = self.part(update, (kept, old, new), &mut chosen.moved)?;
                    update.set.require_checks(ctx, table, &new).await?;
                    chosen.updated.push((rows, old, new, set));
                }
                Action::Insert(insert) => {
                    let new = insert.new_rows(ctx, &self.target, &named).await?;
                    if self.routed.is_some() {
                        // Triggers and checks are those of the partitions.
                        chosen.inserted.push((rows, new));
                        continue;
                    }
                    let event = RowEvent::INSERT;
                    let (rows, new) = before(ctx, (table, event), rows, (None, Some(&new))).await?;
                    self.checks.require(ctx, table, &new).await?;
                    chosen.inserted.push((rows, new));
                }
            }
        }
        Ok(chosen)
    }

    /// The rows that stay in the partition; the others go to `moved`.
    fn part(
        &self,
        update: &ActionUpdate,
        (rows, old, new): (Vec<u32>, RecordBatch, RecordBatch),
        moved: &mut Vec<(RecordBatch, RecordBatch)>,
    ) -> Result<(Vec<u32>, RecordBatch, RecordBatch)> {
        let leaving = match self.moved {
            Some(_) => update.set.leaving(&new)?,
            None => None,
        };
        let Some(leaving) = leaving else {
            return Ok((rows, old, new));
        };
        let staying = not(&leaving).map_err(Error::arrow)?;
        let of = |batch: &RecordBatch, mask| filter_record_batch(batch, mask).map_err(Error::arrow);
        moved.push((of(&old, &leaving)?, of(&new, &leaving)?));
        let kept = rows.into_iter().zip(staying.values().iter());
        let kept = kept.filter_map(|(row, stays)| stays.then_some(row)).collect();
        Ok((kept, of(&old, &staying)?, of(&new, &staying)?))
    }
}

impl Outcome {
    /// The rows that RETURNING shows, in the order of the join.
    fn push_returned(&self, plan: &MergePlan, found: &Found, returned: &mut RowBuffer) -> Result<()> {
        let schema = plan.target.table.write_schema();
        let rows = self.written.iter().flat_map(|(rows, ..)| rows.iter().copied());
        let rows: Vec<u32> = rows.collect();
        let batches = self.written.iter().map(|(_, batch, _)| batch);
        let whole = concat_batches(&schema, batches).map_err(Error::arrow)?;
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        order.sort_by_key(|at| rows[*at as usize]);
        let whole = take(&whole, &order)?;
        let joined: Vec<u32> = order.iter().map(|at| rows[*at as usize]).collect();
        let mut beside = take(&found.source, &joined)?.columns().to_vec();
        let mut relations = source_of(&plan.found, plan.by_source);
        if plan.tells_action {
            let actions = self.written.iter();
            let actions = actions.flat_map(|(rows, _, action)| rows.iter().map(|_| *action));
            let actions: Vec<&str> = actions.collect();
            let actions = order.iter().map(|at| actions[*at as usize]);
            beside.push(Arc::new(StringArray::from_iter_values(actions)) as ArrayRef);
            relations.push(action_relation());
        }
        returned.push(append_beside(whole, &relations, beside)?)
    }
}

impl When {
    fn bind(
        ctx: &StatementContext,
        target: &Target,
        clause: &ast::MergeClause,
        (kind, relations): (Kind, &[RowRelation]),
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<When> {
        let condition = clause.predicate.as_ref().map(|predicate| {
            let query = RowQuery {
                relations,
                items: &[],
                selection: Some(predicate),
                clause: Clause::MergeWhen,
            };
            RowExpressions::bind(ctx, query, types)
        });
        Ok(When {
            kind,
            condition: condition.transpose()?,
            action: Action::bind(ctx, target, &clause.action, relations, types)?,
        })
    }
}

fn target_of(ctx: &StatementContext, merge: &ast::Merge, narrows: bool) -> Result<Target> {
    let does =
        |wanted: fn(&ast::MergeAction) -> bool| merge.clauses.iter().any(|clause| wanted(&clause.action));
    if does(|action| matches!(action, ast::MergeAction::Insert(_))) {
        Target::of_relation(ctx, &merge.table, Access::Insert)?;
    }
    if does(|action| matches!(action, ast::MergeAction::Delete { .. })) {
        Target::of_relation(ctx, &merge.table, Access::Delete)?;
    }
    let mut target = Target::of_relation(ctx, &merge.table, Access::Update)?;
    if target.table.partitioning.is_some() && merge.output.is_some() {
        return Err(Error::unsupported(
            format!(
                "RETURNING of a MERGE into the partitioned table \"{}\"",
                target.table.name
            ),
            Some("Leave it out, or MERGE into one of its partitions."),
        ));
    }
    let mut moves = false;
    for clause in &merge.clauses {
        if let ast::MergeAction::Update(update) = &clause.action {
            moves |= sets_key(&target, &update.assignments)?;
        }
    }
    // A row that moves is another one, and is written whole.
    if narrows && !moves {
        target.narrow(ctx, NamedColumns::of_merge(merge))?;
    }
    Ok(target)
}
