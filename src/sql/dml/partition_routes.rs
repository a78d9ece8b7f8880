//! `Routes`: an INSERT into a partitioned table, of whose rows each partition gets its own: by a plan of the same statement with the partition
//! in the place of its table, which is bound when the first row comes for it.

use std::sync::{Arc, OnceLock};

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use sqlparser::ast;

use super::insert_clauses::Clauses;
use super::partition_rows::PartitionRows;
use super::partition_writes::{in_order, name_whole_rows, state_defaults};
use super::target::Target;
use super::view_checks::ViewCheck;
use crate::catalog::{TableDef, counterpart};
use crate::parse::names;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Where the rows of an INSERT go.
#[derive(Debug)]
pub(super) struct Routes<P> {
    rows: PartitionRows,
    /// One each of the partitions.
    plans: Vec<OnceLock<Arc<P>>>,
    /// ON CONFLICT.
    on: Option<ast::OnInsert>,
    /// RETURNING.
    returning: Option<Vec<ast::SelectItem>>,
    is_upsert: bool,
    known_as: String,
    /// What views ask of the rows.
    checks: Vec<ViewCheck>,
    /// The columns that partitions are given, by name: an UPSERT leaves alone those that it does not name.
    given: Vec<String>,
}

impl<P> Routes<P> {
    /// Those of an INSERT into this table. `named`: the positions of the columns that it gives, of an UPSERT. Errors: none but of a bug.
    pub(super) fn bind(
        ctx: &StatementContext,
        target: &Target,
        clauses: Clauses<'_>,
        named: Option<&Vec<usize>>,
    ) -> Result<Routes<P>> {
        // The plan rests on all that they are.
        ctx.leaves_of(&target.table)?;
        let table = &target.table;
        let is_given = |at: &usize| {
            let column = &table.columns[*at];
            let tells = table.is_key_column(column.id) || table.partition_positions().contains(at);
            let is_named = named.is_none_or(|named| named.contains(at) || tells);
            is_named && column.generation().is_none()
        };
        let given = table.visible_positions().into_iter().filter(is_given);
        let given = given.map(|at| table.columns[at].name.clone()).collect();
        let rows = PartitionRows::of(ctx, &target.table)?;
        Ok(Routes {
            plans: rows.partitions().iter().map(|_| OnceLock::new()).collect(),
            rows,
            on: clauses.on.cloned(),
            returning: clauses.returning.map(<[_]>::to_vec),
            is_upsert: clauses.is_upsert,
            known_as: target.name().to_string(),
            checks: Vec::new(),
            given,
        })
    }

    /// The rows of each partition, by its place: together, or, where their order is seen, as long as they follow one upon the other. Errors:
    /// 23514 for a row that none has.
    pub(super) fn split(
        &self,
        table: &TableDef,
        rows: &RecordBatch,
        is_order_seen: bool,
    ) -> Result<Vec<(usize, RecordBatch)>> {
        let places = self.rows.places(rows)?;
        let mut runs: Vec<(usize, Vec<u32>)> = Vec::new();
        for (row, place) in places.into_iter().enumerate() {
            let place = place.ok_or_else(|| self.rows.homeless(table, rows, row))?;
            let run = match is_order_seen {
                true => runs.last_mut().filter(|(of, _)| *of == place),
                false => runs.iter_mut().find(|(of, _)| *of == place),
            };
            match run {
                Some((_, run)) => run.push(row as u32),
                None => runs.push((place, vec![row as u32])),
            }
        }
        if let [(place, _)] = runs.as_slice() {
            return Ok(vec![(*place, rows.clone())]);
        }
        let taken = |(place, run): (usize, Vec<u32>)| {
            let taken = take_record_batch(rows, &UInt32Array::from(run)).map_err(Error::arrow)?;
            Ok((place, taken))
        };
        runs.into_iter().map(taken).collect()
    }

    /// The first of the rows that no partition has, and its error: 23514.
    pub(super) fn first_homeless(
        &self,
        table: &TableDef,
        rows: &RecordBatch,
    ) -> Result<Option<(usize, Error)>> {
        let places = self.rows.places(rows)?;
        let row = places.iter().position(Option::is_none);
        Ok(row.map(|row| (row, self.rows.homeless(table, rows, row))))
    }

    /// Has the partitions' rows asked what views ask of them.
    pub(super) fn ask(&mut self, checks: Vec<ViewCheck>) {
        self.checks = checks;
    }

    /// The plan of the partition of `table` at this place. `bind`: makes it, of the partition, what the statement says beside its table, the
    /// positions of the columns that are given, and what views ask. Errors: those of binding.
    pub(super) fn plan(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        at: usize,
        bind: impl FnOnce((&Arc<TableDef>, &str), Clauses<'_>, Vec<usize>, Vec<ViewCheck>) -> Result<P>,
    ) -> Result<Arc<P>> {
        if let Some(plan) = self.plans[at].get() {
            return Ok(Arc::clone(plan));
        }
        let partition = &self.rows.partitions()[at];
        let given = self.given.iter().filter_map(|name| partition.column_index(name));
        let on = self.on.clone();
        let mut on = on.map(|on| own_arbiter(ctx, on, partition)).transpose()?;
        let mut returning = self.returning.clone();
        let known_as = ast::Ident::with_quote('"', &self.known_as);
        if let Some(items) = &mut returning {
            in_order(items, &known_as, (table, partition), false)?;
        }
        if let Some(ast::OnInsert::OnConflict(conflict)) = &mut on
            && let ast::OnConflictAction::DoUpdate(update) = &mut conflict.action
        {
            state_defaults(&mut update.assignments, table)?;
        }
        name_whole_rows(&mut returning, &known_as, (table, partition));
        name_whole_rows(&mut on, &known_as, (table, partition));
        let clauses = Clauses {
            on: on.as_ref(),
            returning: returning.as_deref(),
            is_upsert: self.is_upsert,
        };
        let known = (partition, self.known_as.as_str());
        let plan = bind(known, clauses, given.collect(), self.checks.clone())?;
        Ok(Arc::clone(self.plans[at].get_or_init(|| Arc::new(plan))))
    }

    /// Rows of the table as a partition is given them.
    pub(super) fn given(
        &self,
        table: &TableDef,
        partition: &TableDef,
        rows: &RecordBatch,
    ) -> Result<Vec<(usize, ArrayRef)>> {
        let given = self.given.iter().map(|name| {
            let missing =
                || Error::internal(format!("a partition without the column \"{name}\" of its table"));
            let of_partition = partition.column_index(name).ok_or_else(missing)?;
            let of_table = table.column_index(name).ok_or_else(missing)?;
            Ok((of_partition, Arc::clone(rows.column(of_table))))
        });
        given.collect()
    }
}

/// The clause with the name that the partition has for a key of its table.
fn own_arbiter(ctx: &StatementContext, mut on: ast::OnInsert, partition: &TableDef) -> Result<ast::OnInsert> {
    if let ast::OnInsert::OnConflict(conflict) = &mut on
        && let Some(ast::ConflictTarget::OnConstraint(name)) = &mut conflict.conflict_target
        && let Some(parent) = ctx.parent_of(partition)?
    {
        let named = names::last_name(name);
        let index = parent
            .all_indexes()
            .find(|index| Some(&index.name) == named.as_ref());
        if let Some(own) = index.and_then(|index| counterpart(&parent, index, partition)) {
            *name = ast::ObjectName::from(vec![ast::Ident::with_quote('"', &own.name)]);
        }
    }
    Ok(on)
}
