//! Steps of one run: what the steps of a plan become with their constants.

use std::sync::Arc;

use super::ShortPlan;
use super::arrival::Arrival;
use super::beside::RunningBeside;
use super::filter::RunningFilter;
use super::groups::RunningGroups;
use super::incremental_sort::IncrementalSort;
use super::row_limit::{limit_counts, rows_wanted};
use super::row_number::RunningNumbered;
use super::run::{RunningAnswer, RunningStep, RunningSubChain};
use super::step::{Answer, Step, SubChain};
use super::top_rows::TopRows;
use super::totals::{RowCount, RunningTotals};
use crate::Result;
use crate::functions::evaluate::{Projection, RowsWanted};
use crate::logical::placeholder::Constants;
use crate::operators::computed::Computed;
use crate::system::StatementContext;
use crate::system::statement_memory::HeldBytes;

impl ShortPlan {
    /// The steps that run, but for a sort that has nothing to do.
    pub(super) fn running_steps(&self, arrival: Arrival) -> &[Step] {
        &self.steps[self.first_running(arrival)..]
    }

    /// The place of the first step that runs: rows that are totals have passed those before the aggregates.
    fn first_running(&self, arrival: Arrival) -> usize {
        let totals = |step: &Step| matches!(step, Step::Totals { .. });
        match arrival.are_totals {
            true => self.steps.iter().position(totals).unwrap_or(0),
            false => 0,
        }
    }

    /// The steps with their constants. Errors: 42P02, 2201W, 2201X.
    pub(super) fn start(
        &self,
        ctx: &StatementContext,
        constants: &Constants,
        arrival: Arrival,
        row_count: &RowCount,
    ) -> Result<Vec<RunningStep>> {
        let keeps_lookups = self.keeps_lookups(arrival);
        let mut running = Vec::with_capacity(self.steps.len());
        let first = self.first_running(arrival);
        for (at, step) in self.steps.iter().enumerate().skip(first) {
            running.push(match step {
                Step::Totals { totals, schema } if arrival.are_totals && at == first => {
                    RunningStep::Totals(RunningTotals::of_parts(totals, schema, constants)?)
                }
                Step::Lookup(lookup) => {
                    RunningStep::Lookup(Box::new(lookup.start(ctx, constants, keeps_lookups)?))
                }
                Step::LockRows(locks) => {
                    let wanted = rows_wanted(&self.steps[at + 1..], false, constants)?;
                    RunningStep::LockRows(locks.start(ctx, constants, wanted))
                }
                Step::Sort(_) if arrival.is_ordered => continue,
                Step::Sort(keys) => {
                    let wanted = rows_wanted(&self.steps[at + 1..], false, constants)?;
                    let rows = TopRows::new(keys, wanted.unwrap_or(usize::MAX), constants)?;
                    // The table's order reaches the first sort; what comes of that is in its own.
                    let is_first = !self.steps[..at].iter().any(|step| matches!(step, Step::Sort(_)));
                    match arrival.first_ordered {
                        first_keys if is_first && first_keys > 0 => {
                            RunningStep::IncrementalSort(IncrementalSort::new(rows, first_keys))
                        }
                        _ => RunningStep::TopRows(rows),
                    }
                }
                Step::Groups { keys, totals, schema } => {
                    let is_first = !self.steps[..at]
                        .iter()
                        .any(|step| matches!(step, Step::Groups { .. }));
                    let together = is_first && arrival.is_grouped;
                    RunningStep::Groups(RunningGroups::new(keys, totals, schema, constants, together)?)
                }
                Step::Totals { totals, schema } => {
                    let known = match &self.ends {
                        Some(ends) if at == 0 => (Arc::clone(row_count), ends.counts().to_vec()),
                        _ => (RowCount::default(), Vec::new()),
                    };
                    RunningStep::Totals(RunningTotals::new(totals, schema, constants, known)?)
                }
                step => start_step(step, ctx, constants)?,
            });
        }
        Ok(running)
    }
}

/// A step with its constants, whatever rows come in which order. Errors: 42P02, 2201W, 2201X.
pub(super) fn start_step(step: &Step, ctx: &StatementContext, constants: &Constants) -> Result<RunningStep> {
    Ok(match step {
        Step::Filter(condition) => RunningStep::Filter(RunningFilter::new(condition.bind(constants)?, None)),
        Step::Project { columns, schema } => {
            let columns = columns.iter().map(|column| column.bind(constants));
            let columns = columns.collect::<Result<_>>()?;
            RunningStep::Project(Projection::new(columns, Arc::clone(schema)))
        }
        Step::Lookup(lookup) => RunningStep::Lookup(Box::new(lookup.start(ctx, constants, false)?)),
        Step::CatalogLookup(lookup) => RunningStep::CatalogLookup(Box::new(lookup.start(constants)?)),
        Step::Beside {
            others,
            other_keys,
            keys,
            types,
            stays,
        } => {
            let bind = |keys: &[Computed]| keys.iter().map(|key| key.bind(constants)).collect::<Result<_>>();
            let keys = (bind(other_keys)?, bind(keys)?);
            let (rows, memory) = (
                others.run_within(ctx, constants, None)?,
                HeldBytes::new(Arc::clone(&ctx.memory)),
            );
            RunningStep::Beside(Box::new(RunningBeside::new(rows, keys, types, *stays, memory)?))
        }
        Step::Lateral(lateral) => RunningStep::Lateral(Box::new(lateral.start(ctx, constants)?)),
        Step::SubChain(chain) => RunningStep::SubChain(Box::new(start_subquery(chain, ctx, constants)?)),
        Step::Sort(keys) => RunningStep::TopRows(TopRows::new(keys, usize::MAX, constants)?),
        Step::Numbered {
            keys,
            part_keys,
            field,
            ..
        } => {
            let rows = TopRows::new(keys, usize::MAX, constants)?;
            RunningStep::Numbered(RunningNumbered::new(rows, *part_keys, field))
        }
        Step::LockRows(locks) => RunningStep::LockRows(locks.start(ctx, constants, None)),
        Step::Limit {
            skip,
            fetch,
            gives_skipped,
        } => {
            let (skip, left) = limit_counts(skip.as_ref(), fetch.as_ref(), constants)?;
            match gives_skipped {
                true => RunningStep::Limit {
                    skip: 0,
                    left: left.map(|left| left.saturating_add(skip)),
                },
                false => RunningStep::Limit { skip, left },
            }
        }
        Step::Groups { keys, totals, schema } => {
            RunningStep::Groups(RunningGroups::new(keys, totals, schema, constants, false)?)
        }
        Step::Totals { totals, schema } => {
            let unknown = (RowCount::default(), Vec::new());
            RunningStep::Totals(RunningTotals::new(totals, schema, constants, unknown)?)
        }
    })
}

/// A subquery with its constants. Errors: 42P02.
fn start_subquery(
    chain: &SubChain,
    ctx: &StatementContext,
    constants: &Constants,
) -> Result<RunningSubChain> {
    let start = |steps: &[Step]| {
        let started = steps.iter().map(|step| start_step(step, ctx, constants));
        started.collect::<Result<Vec<_>>>()
    };
    let asked_when = chain.asked_when.as_ref();
    Ok(RunningSubChain {
        outer: chain.outer.clone(),
        field: Arc::clone(&chain.field),
        asked_when: asked_when
            .map(|condition| condition.bind(constants))
            .transpose()?,
        steps: start(&chain.steps)?,
        answer: match &chain.answer {
            Answer::Exists { negated } => RunningAnswer::Exists { negated: *negated },
            Answer::Keep { negated } => RunningAnswer::Keep { negated: *negated },
            Answer::Scalar { over_none } => RunningAnswer::Scalar {
                over_none: start(over_none.as_deref().unwrap_or_default())?,
                value_over_none: None,
            },
        },
        wanted: RowsWanted::default(),
        memory: HeldBytes::new(Arc::clone(&ctx.memory)),
    })
}
