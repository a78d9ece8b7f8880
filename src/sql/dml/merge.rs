//! MERGE: the target joined with the source; each row is for the first WHEN clause of its kind whose condition holds of it.
//!
//! All rows are read, and what becomes of them is known, before the first is written: no clause sees what another has done. Deletions
//! come first, then updates, then insertions. RETURNING is PostgreSQL 17's.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray, UInt32Array};
use arrow::compute::concat_batches;
use arrow::datatypes::Schema;
use sqlparser::ast::{self, MergeClauseKind, OutputClause};

use super::merge_action::{Action, add_new_columns};
use super::merge_marks::{action_relation, marked, with_action};
use super::merge_triggers::{before, check_untouched_by};
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
use super::write_result::WriteResult;
use crate::catalog::{Access, TableDef, TriggerEvent};
use crate::codec::row::ColumnId;
use crate::error::StatementFault;
use crate::query::{Clause, MergeSource, Observation, Others, RowQuery, RowRelation};
use crate::system::StatementContext;
use crate::table::{RowEncoder, RowUpdate, delete_rows, insert_rows, lock_for_writes};
use crate::tree::JoinType;
use crate::types::{SqlType, take_rows};
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
    pub(super) returning: Option<Returning>,
}

/// A WHEN clause.
#[derive(Debug)]
struct When {
    kind: Kind,
    condition: Option<RowExpressions>,
    action: Action,
}

/// Which rows of the join a clause is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Both sides are there.
    Matched,
    /// The target alone.
    NotMatchedBySource,
    /// The source alone.
    NotMatched,
}

/// The rows that were found.
struct Found {
    /// Whole rows of the target; NULLs where there is none.
    target: RecordBatch,
    /// The visible columns of the target, then those of the source.
    both: RecordBatch,
    /// The columns of the source.
    source: RecordBatch,
    kinds: Vec<Kind>,
}

/// What is written.
#[derive(Default)]
struct Outcome {
    /// The rows of the join, and what became of them: as they are written, or were when they are deleted.
    written: Vec<(Vec<u32>, RecordBatch, &'static str)>,
}

impl Kind {
    fn of(kind: &MergeClauseKind) -> Kind {
        match kind {
            MergeClauseKind::Matched => Kind::Matched,
            MergeClauseKind::NotMatchedBySource => Kind::NotMatchedBySource,
            MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget => Kind::NotMatched,
        }
    }
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
        Ok(MergePlan {
            checks: RowChecks::bind(ctx, &target.table)?,
            target,
            found,
            whens,
            by_source,
            tells_action,
            returning,
        })
    }

    /// Plans the join. Where rows of the target alone are asked for, a column behind the source's tells whether it is there.
    fn find(
        ctx: &StatementContext,
        merge: &ast::Merge,
        target: &Target,
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<RowSearch> {
        let (by_source, by_target) = (by_source(merge), has(merge, Kind::NotMatched));
        let marked = by_source.then(|| marked(&merge.source)).transpose()?;
        let columns: Vec<usize> = (0..target.table.columns.len()).collect();
        let source = MergeSource {
            relation: marked.as_ref().unwrap_or(&merge.source),
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
        lock_for_writes(&ctx.txn, &self.target.table).await?;
        let pages = self.found.pages(ctx, observation, true).await?;
        let pages = RowBuffer::collect(ctx, pages).await?.into_batches();
        let mut outcome = Outcome::default();
        let mut returned = RowBuffer::new(ctx);
        if let Some(first) = pages.first() {
            let rows = concat_batches(&first.schema(), &pages).map_err(Error::arrow)?;
            let found = self.found(&rows)?;
            let chosen = self.choose(ctx, &found).await?;
            let chosen = self.check_once(ctx, &found, chosen)?;
            self.write(ctx, (&found, chosen), references, &mut outcome)
                .await?;
            if self.returning.is_some() {
                outcome.push_returned(self, &found, &mut returned)?;
            }
        }
        let written = outcome.written.iter().map(|(rows, ..)| rows.len() as u64);
        WriteResult::of(ctx, "MERGE", written.sum(), self.returning.as_ref(), returned).await
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

    /// Leaves out rows that other parts of the statement have written. Errors: 21000 for a row of the target that two rows change.
    fn check_once(
        &self,
        ctx: &StatementContext,
        found: &Found,
        mut chosen: Vec<Vec<u32>>,
    ) -> Result<Vec<Vec<u32>>> {
        let mut encoder = RowEncoder::new(&self.target.table, ctx.settings.limits);
        let now = ctx.txn.as_it_is();
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
        (found, chosen): (&Found, Vec<Vec<u32>>),
        references: &References,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let (txn, table, limits) = (&ctx.txn, &self.target.table, ctx.settings.limits);
        let began = txn.as_it_is();
        let (mut deleted, mut updated, mut inserted) = (Vec::new(), Vec::new(), Vec::new());
        for (when, rows) in self.whens.iter().zip(chosen).filter(|(_, rows)| !rows.is_empty()) {
            let old = take(&found.target, &rows)?;
            let named = take(found.named_by(when.kind), &rows)?;
            match &when.action {
                Action::Nothing => {}
                Action::Delete => {
                    let of = (table, RowEvent::DELETE);
                    deleted.push(before(ctx, of, rows, (Some(&old), None)).await?);
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
                    update.set.require_checks(ctx, table, &new).await?;
                    updated.push((kept, old, new, set));
                }
                Action::Insert(insert) => {
                    let new = insert.new_rows(ctx, &self.target, &named).await?;
                    let event = RowEvent::INSERT;
                    let (rows, new) = before(ctx, (table, event), rows, (None, Some(&new))).await?;
                    self.checks.require(ctx, table, &new).await?;
                    inserted.push((rows, new));
                }
            }
        }
        let changed = updated.iter().map(|(_, old, ..)| old);
        check_untouched_by(
            ctx,
            table,
            deleted.iter().map(|(_, old)| old).chain(changed),
            &began,
        )?;
        for (rows, old) in deleted {
            delete_rows(txn, table, &old, limits).await?;
            references.note_deleted(ctx, table, &old).await?;
            outcome.written.push((rows, old, "DELETE"));
        }
        let mut update = RowUpdate::new(txn, table, limits, true);
        for (rows, old, new, set) in updated {
            let replaced = update.replace(&old, &new).await?;
            let event = RowEvent::update(&set);
            references
                .note_replaced(ctx, (table, event), (&old, &new), replaced.as_ref())
                .await?;
            outcome.written.push((rows, new, "UPDATE"));
        }
        update.finish()?;
        for (rows, new) in inserted {
            insert_rows(txn, table, &new, limits).await?;
            references.note_inserted(ctx, table, &new).await?;
            outcome.written.push((rows, new, "INSERT"));
        }
        Ok(())
    }
}

impl Found {
    /// What the expressions of a clause see.
    fn named_by(&self, kind: Kind) -> &RecordBatch {
        match kind {
            Kind::Matched | Kind::NotMatchedBySource => &self.both,
            Kind::NotMatched => &self.source,
        }
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
    if target.table.partitioning.is_some() {
        return Err(Error::unsupported(
            format!("MERGE into the partitioned table \"{}\"", target.table.name),
            Some("Use INSERT … ON CONFLICT, or MERGE into one of its partitions."),
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

fn has(merge: &ast::Merge, kind: Kind) -> bool {
    merge
        .clauses
        .iter()
        .any(|clause| Kind::of(&clause.clause_kind) == kind)
}

fn by_source(merge: &ast::Merge) -> bool {
    has(merge, Kind::NotMatchedBySource)
}

/// The source's relations, without what marks its rows.
fn source_of(found: &RowSearch, is_marked: bool) -> Vec<RowRelation> {
    let mut source = found.beside.clone();
    if is_marked && let Some(last) = source.last_mut() {
        last.columns.pop();
    }
    source
}

/// What the expressions of a clause may name.
fn relations_of(target: &Target, source: Vec<RowRelation>, kind: Kind) -> Vec<RowRelation> {
    match kind {
        Kind::NotMatched => source,
        Kind::Matched | Kind::NotMatchedBySource => {
            let mut both = vec![target.relation()];
            both.extend(source);
            both
        }
    }
}

/// Errors: 42601 for a clause that no row comes to.
fn check_reachable(clauses: &[ast::MergeClause]) -> Result<()> {
    let mut closed: Vec<Kind> = Vec::new();
    for clause in clauses {
        let kind = Kind::of(&clause.clause_kind);
        if closed.contains(&kind) {
            return Err(Error::InvalidStatement {
                state: StatementFault::Syntax,
                message: "unreachable WHEN clause specified after unconditional WHEN clause".to_string(),
                hint: None,
            });
        }
        if clause.predicate.is_none() {
            closed.push(kind);
        }
    }
    Ok(())
}

/// Rows of the target whose columns may be NULL, as those of no row are.
fn nullable_rows(table: &TableDef, columns: &[ArrayRef]) -> Result<RecordBatch> {
    let fields = table.write_schema();
    let fields = fields.fields().iter();
    let fields: Vec<_> = fields
        .map(|field| field.as_ref().clone().with_nullable(true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    RecordBatch::try_new(schema, columns.to_vec()).map_err(Error::arrow)
}

fn take(rows: &RecordBatch, wanted: &[u32]) -> Result<RecordBatch> {
    take_rows(rows, &UInt32Array::from(wanted.to_vec())).map_err(Error::arrow)
}
