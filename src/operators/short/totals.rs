//! `Total`: an aggregate; `RunningTotals`: those over all rows of one run.

use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch};
use arrow::compute::{filter, sum};
use arrow::datatypes::{Int64Type, SchemaRef};
use datafusion_expr::{Accumulator, GroupsAccumulator};
use datafusion_physical_expr::aggregate::AggregateFunctionExpr;
use datafusion_physical_expr::{GroupsAccumulatorAdapter, PhysicalExpr};

use crate::functions::evaluate::{truth, values};
use crate::logical::evaluable::is_plain;
use crate::logical::placeholder::Constants;
use crate::operators::aggregate_functions::aggregate_call;
use crate::operators::computed::{Computed, Open};
use crate::operators::physical_expr::ExprBuilder;
use crate::system::datafusion_error::from_datafusion;
use crate::tree::{Expr, RowSchema};
use crate::{Error, Result};

/// The number of all rows, once a run has asked for it; it stays empty where nobody knows.
pub(super) type RowCount = Arc<OnceLock<u64>>;

/// An aggregate over all rows, or over those of each group.
#[derive(Debug)]
pub(super) struct Total {
    /// What it was made of, for EXPLAIN.
    written: Expr,
    function: Arc<AggregateFunctionExpr>,
    arguments: Vec<Computed>,
    /// FILTER.
    condition: Option<Computed>,
}

impl Total {
    /// `None` for what asks for an order, or for what the general plan alone has.
    pub(super) fn new(expr: &Expr, schema: &RowSchema) -> Option<Total> {
        if !is_plain(expr) {
            return None;
        }
        let open = Open::read(expr.clone(), schema)?;
        let lowered = aggregate_call(
            &ExprBuilder::default(),
            &open.expr,
            &open.schema,
            open.schema.as_arrow(),
        );
        let lowered = lowered.ok()?;
        if !lowered.order.is_empty() || lowered.function.create_accumulator().is_err() {
            return None;
        }
        let (function, condition) = (lowered.function, lowered.filter);
        let columns = schema.fields().len();
        let computed = |expr: Arc<dyn PhysicalExpr>| {
            Computed::of(expr, open.expr.clone(), columns, open.placeholders.clone())
        };
        Some(Total {
            written: expr.clone(),
            arguments: function.expressions().into_iter().map(computed).collect(),
            condition: condition.map(computed),
            function,
        })
    }

    /// What it was made of, its parameters still open.
    pub(super) fn written(&self) -> &Expr {
        &self.written
    }

    /// What it computes of a row, its parameters filled in. Errors: 42P02.
    pub(super) fn inputs(&self, constants: &Constants) -> Result<RunningInputs> {
        let arguments = self.arguments.iter().map(|argument| argument.bind(constants));
        let condition = self.condition.as_ref().map(|it| it.bind(constants));
        Ok(RunningInputs {
            arguments: arguments.collect::<Result<_>>()?,
            condition: condition.transpose()?,
        })
    }

    /// What accumulates it for many groups at once.
    pub(super) fn grouped(&self) -> Result<Box<dyn GroupsAccumulator>> {
        if self.function.groups_accumulator_supported() {
            return self.function.create_groups_accumulator().map_err(from_datafusion);
        }
        let function = Arc::clone(&self.function);
        Ok(Box::new(GroupsAccumulatorAdapter::new(move || {
            function.create_accumulator()
        })))
    }

    /// The column whose least or greatest value it is, and whether it is the greatest, when it is one of all rows.
    pub(super) fn extreme(&self) -> Option<(usize, bool)> {
        let is_greatest = match self.function.fun().name() {
            "min" => false,
            "max" => true,
            _ => return None,
        };
        match (self.arguments.as_slice(), &self.condition) {
            ([argument], None) => Some((argument.as_column()?, is_greatest)),
            _ => None,
        }
    }

    /// Whether it is the number of rows, whatever they hold. `is_never_null`: of a column of theirs.
    pub(super) fn counts_rows(&self, is_never_null: impl Fn(usize) -> bool) -> bool {
        let is_a_value = |argument: &Computed| match argument.as_column() {
            Some(column) => is_never_null(column),
            None => argument.is_constant(),
        };
        self.function.fun().name() == "count"
            && !self.function.is_distinct()
            && self.condition.is_none()
            && self.arguments.iter().all(is_a_value)
    }

    /// Its arguments and its condition.
    pub(super) fn inputs_mut(&mut self) -> impl Iterator<Item = &mut Computed> {
        self.arguments.iter_mut().chain(&mut self.condition)
    }
}

/// What an aggregate takes of each row.
pub(super) struct RunningInputs {
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    /// Whether the row counts.
    condition: Option<Arc<dyn PhysicalExpr>>,
}

impl RunningInputs {
    /// The arguments' values in these rows, and which rows count; `None`: all.
    pub(super) fn evaluate(&self, batch: &RecordBatch) -> Result<(Vec<ArrayRef>, Option<BooleanArray>)> {
        let arguments = self.arguments.iter().map(|argument| values(argument, batch));
        let condition = self.condition.as_ref().map(|it| truth(it, batch));
        Ok((arguments.collect::<Result<_>>()?, condition.transpose()?))
    }
}

/// Aggregates under way.
pub(super) struct RunningTotals {
    totals: Vec<RunningTotal>,
    schema: SchemaRef,
    /// If it has a number, the totals at these places are that.
    row_count: (RowCount, Vec<usize>),
    /// If what comes are totals of parts of the rows: the number of these so far.
    of_parts: Option<u64>,
}

struct RunningTotal {
    accumulator: Box<dyn Accumulator>,
    inputs: RunningInputs,
}

impl RunningTotals {
    /// `schema`: of the one row that comes of it. `row_count`: see [`RunningTotals::row_count`]. Errors: 42P02.
    pub(super) fn new(
        totals: &[Total],
        schema: &SchemaRef,
        constants: &Constants,
        row_count: (RowCount, Vec<usize>),
    ) -> Result<RunningTotals> {
        let start = |total: &Total| {
            Ok(RunningTotal {
                accumulator: total.function.create_accumulator().map_err(from_datafusion)?,
                inputs: total.inputs(constants)?,
            })
        };
        Ok(RunningTotals {
            totals: totals.iter().map(start).collect::<Result<_>>()?,
            schema: Arc::clone(schema),
            row_count,
            of_parts: None,
        })
    }

    /// The same of which each row that comes has the totals of a part of the rows; they are extremes and numbers of rows. Errors: 42P02.
    pub(super) fn of_parts(
        totals: &[Total],
        schema: &SchemaRef,
        constants: &Constants,
    ) -> Result<RunningTotals> {
        let is_count = |at: &usize| totals[*at].extreme().is_none();
        let counts = (0..totals.len()).filter(is_count).collect();
        Ok(RunningTotals {
            of_parts: Some(0),
            ..RunningTotals::new(totals, schema, constants, (RowCount::default(), counts))?
        })
    }

    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        if let Some(rows) = &mut self.of_parts {
            let (_, counting) = &self.row_count;
            for (at, total) in self.totals.iter_mut().enumerate() {
                let values = batch.column(at);
                match counting.contains(&at) {
                    false => total
                        .accumulator
                        .update_batch(&[Arc::clone(values)])
                        .map_err(from_datafusion)?,
                    true if counting.first() == Some(&at) => {
                        *rows += sum(values.as_primitive::<Int64Type>()).unwrap_or(0) as u64;
                    }
                    true => {}
                }
            }
            return Ok(());
        }
        self.totals.iter_mut().try_for_each(|total| total.push(batch))
    }

    /// The one row.
    pub(super) fn finish(&mut self) -> Result<RecordBatch> {
        if let Some(rows) = self.of_parts {
            self.row_count.0.get_or_init(|| rows);
        }
        let (row_count, counting) = &self.row_count;
        let results = self.totals.iter_mut().enumerate().map(|(at, total)| {
            if let Some(rows) = row_count.get()
                && counting.contains(&at)
            {
                return Ok(Arc::new(Int64Array::from_value(*rows as i64, 1)) as ArrayRef);
            }
            let result = total.accumulator.evaluate().map_err(from_datafusion)?;
            result.to_array().map_err(from_datafusion)
        });
        let columns = results.collect::<Result<Vec<ArrayRef>>>()?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(Error::arrow)
    }
}

impl RunningTotal {
    fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let (mut arguments, condition) = self.inputs.evaluate(batch)?;
        if let Some(truth) = condition {
            let kept = |array: &ArrayRef| filter(array.as_ref(), &truth).map_err(Error::arrow);
            arguments = arguments.iter().map(kept).collect::<Result<_>>()?;
            if arguments.first().is_some_and(|first| first.is_empty()) {
                return Ok(());
            }
        }
        self.accumulator.update_batch(&arguments).map_err(from_datafusion)
    }
}
