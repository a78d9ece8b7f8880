//! Aggregates of floats over a frame that moves. DataFusion subtracts what leaves the frame; floats do not come back from
//! that (`1e20 + 1 - 1e20` is 0, and nothing leads back from NaN), so as in PostgreSQL each frame is computed anew.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;
use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use datafusion_common::{DataFusionError, Result as DataFusionResult, ScalarValue};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature};
use datafusion_physical_expr::{PhysicalExpr, PhysicalSortExpr};

/// The aggregate, computed anew for each frame.
pub(super) fn whole_frame(aggregate: Arc<AggregateUDF>) -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(WholeFrame { aggregate }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct WholeFrame {
    aggregate: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for WholeFrame {
    fn name(&self) -> &str {
        self.aggregate.name()
    }
    fn signature(&self) -> &Signature {
        self.aggregate.signature()
    }
    fn return_type(&self, arguments: &[DataType]) -> DataFusionResult<DataType> {
        self.aggregate.return_type(arguments)
    }
    fn coerce_types(&self, arguments: &[DataType]) -> DataFusionResult<Vec<DataType>> {
        self.aggregate.coerce_types(arguments)
    }
    fn is_nullable(&self) -> bool {
        self.aggregate.is_nullable()
    }
    fn accumulator(&self, args: AccumulatorArgs) -> DataFusionResult<Box<dyn Accumulator>> {
        self.aggregate.accumulator(args)
    }
    fn state_fields(&self, args: StateFieldsArgs) -> DataFusionResult<Vec<FieldRef>> {
        self.aggregate.state_fields(args)
    }
    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> DataFusionResult<Box<dyn Accumulator>> {
        Ok(Box::new(FrameAccumulator {
            maker: Maker::new(&self.aggregate, &args),
            batches: VecDeque::new(),
        }))
    }
}

/// What makes an accumulator, as often as one is wanted.
#[derive(Debug)]
struct Maker {
    aggregate: Arc<AggregateUDF>,
    return_field: FieldRef,
    schema: SchemaRef,
    order_bys: Vec<PhysicalSortExpr>,
    name: String,
    expr_fields: Vec<FieldRef>,
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    ignore_nulls: bool,
    is_distinct: bool,
    is_reversed: bool,
}

impl Maker {
    fn new(aggregate: &Arc<AggregateUDF>, args: &AccumulatorArgs) -> Maker {
        Maker {
            aggregate: Arc::clone(aggregate),
            return_field: Arc::clone(&args.return_field),
            schema: Arc::new(args.schema.clone()),
            order_bys: args.order_bys.to_vec(),
            name: args.name.to_string(),
            expr_fields: args.expr_fields.to_vec(),
            exprs: args.exprs.to_vec(),
            ignore_nulls: args.ignore_nulls,
            is_distinct: args.is_distinct,
            is_reversed: args.is_reversed,
        }
    }

    fn accumulator(&self) -> DataFusionResult<Box<dyn Accumulator>> {
        self.aggregate.accumulator(AccumulatorArgs {
            return_field: Arc::clone(&self.return_field),
            schema: &self.schema,
            ignore_nulls: self.ignore_nulls,
            order_bys: &self.order_bys,
            is_reversed: self.is_reversed,
            name: &self.name,
            is_distinct: self.is_distinct,
            exprs: &self.exprs,
            expr_fields: &self.expr_fields,
        })
    }
}

/// The rows of the frame, in the pieces they came in.
#[derive(Debug)]
struct FrameAccumulator {
    maker: Maker,
    /// Columns of equally many rows, the oldest rows first.
    batches: VecDeque<Vec<ArrayRef>>,
}

impl FrameAccumulator {
    /// The frame in one piece.
    fn columns(&mut self) -> DataFusionResult<Option<&[ArrayRef]>> {
        if self.batches.len() > 1 {
            let width = self.batches[0].len();
            let column = |at: usize| {
                let parts: Vec<&dyn Array> = self.batches.iter().map(|batch| batch[at].as_ref()).collect();
                concat(&parts).map_err(DataFusionError::from)
            };
            let whole = (0..width).map(column).collect::<DataFusionResult<Vec<_>>>()?;
            self.batches = VecDeque::from([whole]);
        }
        Ok(self.batches.front().map(Vec::as_slice))
    }

    fn whole(&mut self) -> DataFusionResult<Box<dyn Accumulator>> {
        let mut accumulator = self.maker.accumulator()?;
        if let Some(columns) = self.columns()? {
            accumulator.update_batch(columns)?;
        }
        Ok(accumulator)
    }
}

impl Accumulator for FrameAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        if values.first().is_some_and(|column| !column.is_empty()) {
            self.batches.push_back(values.to_vec());
        }
        Ok(())
    }
    fn retract_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        let mut left = values.first().map_or(0, |column| column.len());
        while left > 0 {
            let Some(oldest) = self.batches.front_mut() else {
                return Err(DataFusionError::Internal(
                    "more rows leave a frame than are in it".to_string(),
                ));
            };
            let rows = oldest[0].len();
            if rows <= left {
                self.batches.pop_front();
                left -= rows;
                continue;
            }
            for column in oldest.iter_mut() {
                *column = column.slice(left, rows - left);
            }
            left = 0;
        }
        Ok(())
    }
    fn supports_retract_batch(&self) -> bool {
        true
    }
    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        self.whole()?.evaluate()
    }
    fn size(&self) -> usize {
        let arrays = self.batches.iter().flatten();
        size_of::<Self>() + arrays.map(|array| array.get_array_memory_size()).sum::<usize>()
    }
    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        self.whole()?.state()
    }
    fn merge_batch(&mut self, _: &[ArrayRef]) -> DataFusionResult<()> {
        Err(DataFusionError::Internal("frames are not merged".to_string()))
    }
}
