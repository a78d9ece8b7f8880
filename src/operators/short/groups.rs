//! `RunningGroups`: the groups of one run and the aggregates over each. Where rows of a group come one after the other, a
//! group is given as soon as the next begins; else all are held, which the chain bounds.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion_expr::{EmitTo, GroupsAccumulator};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion_physical_plan::aggregates::order::{GroupOrdering, GroupOrderingFull};

use super::totals::{RunningInputs, Total};
use crate::functions::evaluate::values;
use crate::logical::placeholder::Constants;
use crate::operators::computed::Computed;
use crate::system::datafusion_error::from_datafusion;
use crate::{Error, Result};

/// Groups under way.
pub(super) struct RunningGroups {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    groups: Box<dyn GroupValues>,
    totals: Vec<GroupedTotal>,
    /// Whether rows of a group come one after the other.
    together: bool,
    /// The group of each row of a batch.
    places: Vec<usize>,
    schema: SchemaRef,
}

/// An aggregate over each group.
struct GroupedTotal {
    accumulator: Box<dyn GroupsAccumulator>,
    inputs: RunningInputs,
}

impl RunningGroups {
    /// `schema`: of a row a group, the keys first. `together`: whether rows of a group come one after the other.
    /// Errors: 42P02.
    pub(super) fn new(
        keys: &[Computed],
        totals: &[Total],
        schema: &SchemaRef,
        constants: &Constants,
        together: bool,
    ) -> Result<RunningGroups> {
        let key_fields: Vec<_> = schema.fields().iter().take(keys.len()).cloned().collect();
        let ordering = match together {
            true => GroupOrdering::Full(GroupOrderingFull::new()),
            false => GroupOrdering::None,
        };
        let groups = new_group_values(Arc::new(Schema::new(key_fields)), &ordering);
        let start = |total: &Total| {
            Ok(GroupedTotal {
                accumulator: total.grouped()?,
                inputs: total.inputs(constants)?,
            })
        };
        Ok(RunningGroups {
            keys: keys
                .iter()
                .map(|key| key.bind(constants))
                .collect::<Result<_>>()?,
            groups: groups.map_err(from_datafusion)?,
            totals: totals.iter().map(start).collect::<Result<_>>()?,
            together,
            places: Vec::new(),
            schema: Arc::clone(schema),
        })
    }

    /// Whether it gives nothing before it has seen everything.
    pub(super) fn collects(&self) -> bool {
        !self.together
    }

    /// What it holds.
    pub(super) fn bytes(&self) -> usize {
        let totals = self.totals.iter().map(|total| total.accumulator.size());
        self.groups.size() + totals.sum::<usize>()
    }

    /// Takes rows; answers the groups that no later row can be of.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<Option<RecordBatch>> {
        let keys = self.keys.iter().map(|key| values(key, batch));
        let keys = keys.collect::<Result<Vec<ArrayRef>>>()?;
        self.groups
            .intern(&keys, &mut self.places)
            .map_err(from_datafusion)?;
        let (places, count) = (&self.places, self.groups.len());
        self.totals
            .iter_mut()
            .try_for_each(|total| total.push(batch, places, count))?;
        match self.together && count > 1 {
            true => self.emit(EmitTo::First(count - 1)).map(Some),
            false => Ok(None),
        }
    }

    /// The groups that are left; `None` when there are none.
    pub(super) fn finish(&mut self) -> Result<Option<RecordBatch>> {
        match self.groups.is_empty() {
            true => Ok(None),
            false => self.emit(EmitTo::All).map(Some),
        }
    }

    /// A row a group.
    fn emit(&mut self, groups: EmitTo) -> Result<RecordBatch> {
        let mut columns = self.groups.emit(groups).map_err(from_datafusion)?;
        for total in &mut self.totals {
            let results = total.accumulator.evaluate(groups);
            columns.push(results.map_err(from_datafusion)?);
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(Error::arrow)
    }
}

impl GroupedTotal {
    fn push(&mut self, batch: &RecordBatch, places: &[usize], groups: usize) -> Result<()> {
        let (arguments, condition) = self.inputs.evaluate(batch)?;
        self.accumulator
            .update_batch(&arguments, places, condition.as_ref(), groups)
            .map_err(from_datafusion)
    }
}
