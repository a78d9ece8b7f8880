//! `Lateral`: the rows of a subquery beside each row that it depends on, where the subquery is a chain itself and the rows are few. What
//! proves more, or asks for more than the chains may, is left to the general plan.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use datafusion_physical_expr::PhysicalExpr;
use futures::stream::{self, StreamExt};
use futures::{FutureExt, TryStreamExt};

use super::{Long, ShortPlan};
use crate::functions::evaluate::values;
use crate::functions::value_array::scalar_at;
use crate::logical::dependent_join::is_volatile;
use crate::logical::outer_values::{leave_open, new_names};
use crate::logical::placeholder::Constants;
use crate::operators::computed::Computed;
use crate::operators::lookup::{Joined, JoinedSchema};
use crate::operators::renamed_batch::as_rows_of;
use crate::system::StatementContext;
use crate::system::statement_memory::HeldBytes;
use crate::tree::{Partners, RowSchema, SubPlan, SubPlanKind};
use crate::{Error, Result};

/// Outer rows that subqueries are run for, one by one, on the connection's thread.
const OUTER_ROWS_MAX: usize = 256;

/// The subquery.
#[derive(Debug)]
pub(super) struct Lateral {
    /// What gives the values of the outer columns that it reads.
    pub(super) bindings: Vec<Computed>,
    /// So many columns outer rows have.
    pub(super) outer_columns: usize,
    /// The placeholders that its outer columns are.
    names: Arc<[Arc<str>]>,
    chain: Arc<ShortPlan>,
    partners: Partners,
    /// The schema of its rows.
    schema: SchemaRef,
    joined: Arc<JoinedSchema>,
}

impl Lateral {
    /// Over rows of `outer`. `None`: it is no chain, or must not be run and given up.
    pub(super) fn read(sub_plan: &SubPlan, outer: &RowSchema) -> Option<Lateral> {
        let SubPlanKind::Rows { keep_left, schema } = &sub_plan.kind else {
            return None;
        };
        if is_volatile(&sub_plan.plan).unwrap_or(true) {
            return None;
        }
        let names = new_names(sub_plan);
        let chain = ShortPlan::of(&leave_open(sub_plan, &names).ok()?)?;
        if chain.locks_rows() || !chain.is_lasting() || !chain.may_drive() {
            return None;
        }
        let bindings = sub_plan.bindings.iter();
        let bindings = bindings.map(|(_, value)| Computed::new(value, outer));
        Some(Lateral {
            bindings: bindings.collect::<Option<_>>()?,
            outer_columns: outer.fields().len(),
            names: names.into(),
            chain: Arc::new(chain),
            partners: match keep_left {
                true => Partners::OrNone,
                false => Partners::Needed,
            },
            schema: Arc::clone(schema.inner()),
            joined: Arc::default(),
        })
    }

    /// Columns that it adds to outer rows.
    pub(super) fn inner_columns(&self) -> usize {
        self.schema.fields().len()
    }

    /// Whether the subquery asks the catalogs.
    pub(super) fn reads_catalogs(&self) -> bool {
        self.chain.reads_catalogs()
    }

    /// Whether the subquery does something.
    pub(super) fn acts(&self) -> bool {
        self.chain.acts()
    }

    /// With its constants. Errors: 42P02.
    pub(super) fn start(&self, ctx: &StatementContext, constants: &Constants) -> Result<RunningLateral> {
        let bindings = self.bindings.iter().map(|binding| binding.bind(constants));
        Ok(RunningLateral {
            bindings: bindings.collect::<Result<_>>()?,
            names: Arc::clone(&self.names),
            chain: Arc::clone(&self.chain),
            partners: self.partners,
            schema: Arc::clone(&self.schema),
            joined: Arc::clone(&self.joined),
            memory: HeldBytes::new(Arc::clone(&ctx.memory)),
            ctx: ctx.clone(),
            constants: constants.clone(),
            outer: None,
            joining: None,
            asked: 0,
            is_long: false,
        })
    }
}

/// It under way.
pub(super) struct RunningLateral {
    bindings: Vec<Arc<dyn PhysicalExpr>>,
    names: Arc<[Arc<str>]>,
    chain: Arc<ShortPlan>,
    partners: Partners,
    schema: SchemaRef,
    joined: Arc<JoinedSchema>,
    ctx: StatementContext,
    constants: Constants,
    memory: HeldBytes,
    /// Rows whose subqueries have not run.
    outer: Option<RecordBatch>,
    /// Those beside which rows are put.
    joining: Option<Joined>,
    /// Outer rows so far.
    asked: usize,
    is_long: bool,
}

impl RunningLateral {
    /// Whether the general plan is to take over: nothing that it gave counts.
    pub(super) fn is_long(&self) -> bool {
        self.is_long
    }

    /// Takes outer rows; those before must be joined.
    pub(super) fn push(&mut self, outer: RecordBatch) {
        self.outer = Some(outer);
    }

    /// Whether there are rows to be joined.
    pub(super) fn has_more(&self) -> bool {
        self.outer.is_some() || self.joining.is_some()
    }

    /// Leaves them out.
    pub(super) fn forget(&mut self) {
        (self.outer, self.joining) = (None, None);
    }

    /// Joins some of them. `None`: it is long. Errors: the subquery's; 53200.
    pub(super) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let joining = match (self.joining.take(), self.outer.take()) {
            (Some(joining), outer) => {
                self.outer = outer;
                Some(joining)
            }
            (None, Some(outer)) => self.ask(outer).await?,
            (None, None) => None,
        };
        let Some(mut joining) = joining else {
            return Ok(None);
        };
        let rows = joining.next(&[], self.partners, &self.joined)?;
        self.joining = (!joining.is_done()).then_some(joining);
        Ok(Some(rows))
    }

    /// Runs the subquery for each of the rows. `None`: it is long.
    async fn ask(&mut self, outer: RecordBatch) -> Result<Option<Joined>> {
        self.asked += outer.num_rows();
        self.is_long |= self.asked > OUTER_ROWS_MAX;
        let bindings = self.bindings.iter().map(|binding| values(binding, &outer));
        let bindings = bindings.collect::<Result<Vec<ArrayRef>>>()?;
        let (mut found, mut firsts, mut nexts) = (Vec::new(), Vec::new(), Vec::new());
        let mut bytes = 0;
        for row in 0..outer.num_rows() {
            let Some(batches) = self.rows_beside(&bindings, row).await? else {
                return Ok(None);
            };
            bytes += batches
                .iter()
                .map(RecordBatch::get_array_memory_size)
                .sum::<usize>();
            self.memory.resize(2 * bytes)?;
            let count: usize = batches.iter().map(RecordBatch::num_rows).sum();
            let first = nexts.len() as u32;
            let last = first + count as u32;
            firsts.push((count > 0).then_some(first));
            nexts.extend((first + 1..=last).map(|next| (next < last).then_some(next)));
            found.extend(batches);
        }
        let inner = concat_batches(&self.schema, &found).map_err(Error::arrow)?;
        Ok(Some(Joined::of_places(outer, inner, firsts, nexts.into())))
    }

    /// The rows of the subquery for one of the outer rows. `None`: it is long.
    async fn rows_beside(&mut self, bindings: &[ArrayRef], row: usize) -> Result<Option<Vec<RecordBatch>>> {
        if self.is_long {
            return Ok(None);
        }
        let given = bindings.iter().map(|binding| scalar_at(binding, row));
        let given = given.collect::<Result<Vec<_>>>()?;
        let constants = self.constants.with_outer(self.names.iter().cloned().zip(given));
        let was_long = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&was_long);
        let long = || -> Long {
            let note = async move {
                noted.store(true, Ordering::Relaxed);
                Ok(stream::empty().boxed())
            };
            note.boxed()
        };
        let Some(rows) = self.chain.run(&self.ctx, &constants, None, long)? else {
            self.is_long = true;
            return Ok(None);
        };
        let schema = &self.schema;
        let rows = rows.map(|rows| as_rows_of(rows?.into_batch()?, schema));
        let batches: Vec<RecordBatch> = rows.try_collect().await?;
        self.is_long |= was_long.load(Ordering::Relaxed);
        Ok((!self.is_long).then_some(batches))
    }
}
