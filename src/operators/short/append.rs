//! `Append`: the rows of several chains, one behind the other. Where the chains read the partitions of one table, conditions say with a run's
//! constants which of them are read at all, and by the ranges of partitions rows may come in an order without being sorted.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::stream::{self, BoxStream, StreamExt};

use super::ShortPlan;
use super::figures::StepFigures;
use super::read::TableRead;
use crate::catalog::{TableDef, have_like_keys};
use crate::logical::placeholder::Constants;
use crate::operators::renamed_batch::as_rows_of;
use crate::plan::{OrderColumn, PartitionPlaces};
use crate::scan::{Rows, RowsStream};
use crate::system::StatementContext;
use crate::{Error, Result};

/// The chains, none of which collects; the schema is that of all.
#[derive(Debug)]
pub(super) struct Append {
    members: Arc<[ShortPlan]>,
    schema: SchemaRef,
    /// If they read the partitions of one table by the same conditions.
    partitions: Option<PartitionReads>,
    /// Whether with the same constants all of them are short, or none is.
    are_alike: bool,
    /// The order in which the partitions whose ranges follow one another give the rows that are wanted.
    turn: Option<Turn>,
    /// Chains that give the totals of each member, which are all that is wanted; see `ends_of_parts`.
    totals: Option<Arc<[ShortPlan]>>,
    /// Something in them acts: it is called for the rows that somebody asks for alone.
    acts: bool,
}

/// Chains that each read a partition of one table, all by the same conditions.
#[derive(Debug)]
pub struct PartitionReads {
    places: PartitionPlaces,
}

/// Which partition is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Ascending,
    Descending,
}

/// The rows of an append.
pub(super) struct AppendedRows {
    pub(super) rows: RowsStream,
    pub(super) is_ordered: bool,
    /// They are the totals of each member.
    pub(super) are_totals: bool,
}

impl Append {
    pub(super) fn new(members: Vec<ShortPlan>, schema: SchemaRef) -> Append {
        Append {
            partitions: partitions_of(&members),
            are_alike: are_alike(&members),
            acts: members.iter().any(ShortPlan::acts),
            members: members.into(),
            schema,
            turn: None,
            totals: None,
        }
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn members(&self) -> &[ShortPlan] {
        &self.members
    }

    /// Chains that give the totals of each member, if these are all that is asked of it.
    pub(super) fn totals(&self) -> Option<&[ShortPlan]> {
        self.totals.as_deref()
    }

    /// Is told the order, by its columns, that is asked of its rows; empty: none.
    pub(super) fn ask_order(&mut self, order: &[OrderColumn]) {
        self.turn = self.turn_of(order);
    }

    /// Has each member, the last of whose steps is the limit of all, give what OFFSET leaves out of all. `None`: a member is in use.
    pub(super) fn give_skipped(&mut self) -> Option<()> {
        let members = Arc::get_mut(&mut self.members)?;
        members.iter_mut().for_each(ShortPlan::give_skipped);
        Some(())
    }

    /// Is told that nothing but the totals of its members is asked of it.
    pub(super) fn ask_totals(&mut self, totals: Vec<ShortPlan>) {
        self.totals = Some(totals.into());
    }

    /// How the partitions follow one another in this order; `None`: they do not, or one of them has its rows in another.
    fn turn_of(&self, order: &[OrderColumn]) -> Option<Turn> {
        let partitions = self.partitions.as_ref()?;
        let first = order.first()?;
        let is_ordered = |member: &ShortPlan| {
            let columns = order.iter().map(|by| {
                let column = member.column_of_table(by.column)?;
                Some(OrderColumn { column, ..*by })
            });
            columns.eq(member.order.iter().flatten().map(|by| Some(*by)))
        };
        // Rows of two partitions are told apart by the first of these columns that differs, and those of a shorter order follow with them.
        let member = self.members.first()?;
        let mut pairs = order.iter().zip(partitions.places.columns());
        let goes_by = pairs.all(|(by, column)| {
            by.descending == first.descending && member.column_of_table(by.column) == Some(*column)
        });
        (goes_by && self.members.iter().all(is_ordered)).then_some(match first.descending {
            false => Turn::Ascending,
            true => Turn::Descending,
        })
    }

    /// The rows of those members that conditions leave; `None`: with these constants one is not short. `figures`: what members are counted in.
    pub(super) fn rows(
        &self,
        ctx: &StatementContext,
        constants: &Constants,
        figures: Option<&Arc<StepFigures>>,
    ) -> Result<Option<AppendedRows>> {
        let (places, is_ordered) = self.places(constants);
        let within = self.acts.then(|| ctx.fetching());
        let ctx = within.as_ref().unwrap_or(ctx);
        if let Some(totals) = &self.totals {
            let totals = Members {
                chains: totals,
                figures,
            };
            if let Some(rows) = totals.all(&places, ctx, constants)? {
                return Ok(Some(AppendedRows {
                    rows,
                    is_ordered: false,
                    are_totals: true,
                }));
            }
        }
        let members = Members {
            chains: &self.members,
            figures,
        };
        // Those behind the first begin when they are asked for, if that needs no other plan.
        let rows = match self.are_alike {
            true => members.first(&places, ctx, constants)?,
            false => members.all(&places, ctx, constants)?,
        };
        Ok(rows.map(|rows| AppendedRows {
            rows,
            is_ordered,
            are_totals: false,
        }))
    }

    /// The places of the members that conditions leave, in the order in which they run, and whether their rows come in the order wanted.
    pub(super) fn places(&self, constants: &Constants) -> (Vec<usize>, bool) {
        let partitions = self.partitions.as_ref();
        let left = partitions.and_then(|partitions| partitions.left(self.members.first()?, constants));
        let mut places = left.unwrap_or_else(|| (0..self.members.len()).collect());
        let follow = partitions.is_some_and(|partitions| partitions.places.follow_one_another(&places));
        let turn = self.turn.filter(|_| follow);
        if turn == Some(Turn::Descending) {
            places.reverse();
        }
        (places, turn.is_some())
    }

    /// They as batches: the rows of its own schema, totals as they are.
    pub(super) fn batches(&self, rows: AppendedRows) -> BoxStream<'static, Result<RecordBatch>> {
        let schema = (!rows.are_totals).then(|| SchemaRef::clone(&self.schema));
        let batch = move |rows: Result<Rows>| {
            let batch = rows?.into_batch()?;
            match &schema {
                Some(schema) => as_rows_of(batch, schema),
                None => Ok(batch),
            }
        };
        rows.rows.map(batch).boxed()
    }
}

/// Chains of which some run, and what they are counted in.
struct Members<'a> {
    chains: &'a Arc<[ShortPlan]>,
    figures: Option<&'a Arc<StepFigures>>,
}

impl Members<'_> {
    /// The rows of those at these places, one behind the other; `None`: one is not short.
    fn all(
        &self,
        places: &[usize],
        ctx: &StatementContext,
        constants: &Constants,
    ) -> Result<Option<RowsStream>> {
        let run = |place: &usize| {
            let figures = self.figures.map(|figures| figures.member(*place));
            self.chains[*place].run_within(ctx, constants, figures.as_ref())
        };
        let rows = places.iter().map(run).collect::<Result<Option<Vec<_>>>>()?;
        Ok(rows.map(|rows| stream::iter(rows).flatten().boxed()))
    }

    /// The same, those behind the first when they are asked for; all of them are short if that is.
    fn first(
        &self,
        places: &[usize],
        ctx: &StatementContext,
        constants: &Constants,
    ) -> Result<Option<RowsStream>> {
        let (first, later) = places.split_at(places.len().min(1));
        let Some(first) = self.all(first, ctx, constants)? else {
            return Ok(None);
        };
        if later.is_empty() {
            return Ok(Some(first));
        }
        let (chains, figures) = (Arc::clone(self.chains), self.figures.cloned());
        let (ctx, constants) = (ctx.clone(), constants.clone());
        let run = move |place: usize| {
            let members = Members {
                chains: &chains,
                figures: figures.as_ref(),
            };
            let no_other = || Error::internal("a partition that is read as no other is");
            let rows = members.all(&[place], &ctx, &constants);
            let rows = rows.and_then(|rows| rows.ok_or_else(no_other));
            rows.unwrap_or_else(|error| stream::once(async { Err(error) }).boxed())
        };
        let later = stream::iter(later.to_vec()).flat_map(run);
        Ok(Some(first.chain(later).boxed()))
    }
}

impl PartitionReads {
    /// Those of these chains, which read these tables; `None`: that is not what they are.
    pub fn of<'a>(
        mut members: impl Iterator<Item = &'a ShortPlan>,
        tables: &[Arc<TableDef>],
    ) -> Option<PartitionReads> {
        let conditions = members.next()?.table()?.unqualified_conditions()?;
        let has_them = |member: &ShortPlan| {
            let own = member.table().and_then(TableRead::unqualified_conditions);
            own.as_ref() == Some(&conditions)
        };
        let places = PartitionPlaces::of(tables)?;
        members.all(has_them).then_some(PartitionReads { places })
    }

    /// The places of those that may give rows with these constants, which the first can say; `None`: any.
    pub fn left(&self, first: &ShortPlan, constants: &Constants) -> Option<Vec<usize>> {
        let conditions = first.table()?.stable_predicates(constants);
        self.places.left_by(&conditions.iter().collect::<Vec<_>>())
    }
}

/// Those of one table, which all members read by the same conditions.
fn partitions_of(members: &[ShortPlan]) -> Option<PartitionReads> {
    let tables: Option<Vec<&TableRead>> = members.iter().map(ShortPlan::table).collect();
    let tables: Vec<Arc<TableDef>> = tables?.into_iter().map(TableRead::table).collect();
    PartitionReads::of(members.iter(), &tables)
}

/// Whether the tables that they read have the same keys, so that the same conditions bound what is read of each.
fn are_alike(members: &[ShortPlan]) -> bool {
    let mut tables = members.iter().map(|member| member.table().map(TableRead::table));
    let Some(Some(first)) = tables.next() else {
        return false;
    };
    tables.all(|table| table.is_some_and(|table| have_like_keys(&first, &table)))
}
