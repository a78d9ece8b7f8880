//! sum, avg, variance and their like of floats with an ORDER BY inside their parentheses: what floats make depends on the order they come in. The
//! floats are gathered by DataFusion's `array_agg`, which keeps them in the order asked for, and summed at the end. Called by
//! `aggregate_functions`; without an ORDER BY, `float_aggregate` computes the same.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::{DataFusionError, Result as DataFusionResult, ScalarValue};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::utils::AggregateOrderSensitivity;
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use datafusion_functions_aggregate::array_agg::array_agg_udaf;

use super::float_rows::each_row;
use super::float_sums::Sums;
use crate::tree::FloatMoment;

/// The aggregate of this name over doubles: one column, or Y and X, and behind them what they are ordered by.
pub(super) fn ordered_floats(name: &str, moment: FloatMoment) -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::new_from_impl(OrderedFloats {
        name: name.to_string(),
        moment,
        signature: Signature::any(moment.arguments(), Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OrderedFloats {
    name: String,
    moment: FloatMoment,
    signature: Signature,
}

impl AggregateUDFImpl for OrderedFloats {
    fn name(&self) -> &str {
        &self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> DataFusionResult<DataType> {
        Ok(DataType::Float64)
    }
    fn accumulator(&self, args: AccumulatorArgs) -> DataFusionResult<Box<dyn Accumulator>> {
        let floats = (0..self.moment.arguments()).map(|at| {
            array_agg_udaf().accumulator(AccumulatorArgs {
                return_field: list_field(),
                schema: args.schema,
                ignore_nulls: false,
                order_bys: args.order_bys,
                is_reversed: args.is_reversed,
                name: args.name,
                is_distinct: false,
                exprs: &args.exprs[at..=at],
                expr_fields: &args.expr_fields[at..=at],
            })
        });
        Ok(Box::new(InOrder {
            moment: self.moment,
            floats: floats.collect::<DataFusionResult<_>>()?,
        }))
    }
    fn state_fields(&self, args: StateFieldsArgs) -> DataFusionResult<Vec<FieldRef>> {
        let mut fields = Vec::new();
        for at in 0..self.moment.arguments() {
            fields.extend(array_agg_udaf().state_fields(StateFieldsArgs {
                name: &format!("{}[{at}]", args.name),
                input_fields: &args.input_fields[at..=at],
                return_field: list_field(),
                ordering_fields: args.ordering_fields,
                is_distinct: false,
            })?);
        }
        Ok(fields)
    }
    /// It sorts by itself: calls of one node may want different orders.
    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Beneficial
    }
    fn with_beneficial_ordering(
        self: Arc<Self>,
        _: bool,
    ) -> DataFusionResult<Option<Arc<dyn AggregateUDFImpl>>> {
        Ok(None)
    }
}

fn list_field() -> FieldRef {
    let list = DataType::new_list(DataType::Float64, true);
    Arc::new(Field::new("floats", list, true))
}

/// The rows of one group.
#[derive(Debug)]
struct InOrder {
    moment: FloatMoment,
    /// What gathers each argument, NULLs too: the rows of all are the same.
    floats: Vec<Box<dyn Accumulator>>,
}

impl Accumulator for InOrder {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        let (arguments, order) = values.split_at(self.floats.len());
        for (floats, argument) in self.floats.iter_mut().zip(arguments) {
            let mut columns = vec![Arc::clone(argument)];
            columns.extend_from_slice(order);
            floats.update_batch(&columns)?;
        }
        Ok(())
    }
    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        let lists = self.floats.iter_mut().map(|floats| floats.evaluate());
        let lists = lists.collect::<DataFusionResult<Vec<_>>>()?;
        let columns = lists.iter().map(|list| match list {
            ScalarValue::List(list) if list.is_valid(0) => Ok(Some(list.value(0))),
            ScalarValue::List(_) => Ok(None),
            other => Err(DataFusionError::Internal(format!("{other} is no list of floats"))),
        });
        let columns: Option<Vec<ArrayRef>> = columns.collect::<DataFusionResult<_>>()?;
        let mut sums = Sums::default();
        if let Some(columns) = columns {
            each_row(&columns, self.moment, |_, numbers| {
                sums.add_row(self.moment, numbers)
            })?;
        }
        Ok(ScalarValue::Float64(sums.result(self.moment)))
    }
    fn size(&self) -> usize {
        let floats: usize = self.floats.iter().map(|floats| floats.size()).sum();
        size_of::<Self>() + floats
    }
    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        let mut states = Vec::new();
        for floats in &mut self.floats {
            states.extend(floats.state()?);
        }
        Ok(states)
    }
    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        let each = states.len() / self.floats.len();
        for (floats, states) in self.floats.iter_mut().zip(states.chunks(each)) {
            floats.merge_batch(states)?;
        }
        Ok(())
    }
}
