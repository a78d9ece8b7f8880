//! What the tree aggregates as DataFusion's functions: its own, and ours.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_expr::AggregateUDF;
use datafusion_functions_aggregate as aggregates;
use datafusion_physical_expr::PhysicalSortExpr;
use datafusion_physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};

use super::distinct_array::distinct_array;
use super::float_aggregate::float_aggregate;
use super::numeric_aggregate::numeric_aggregate;
use super::ordered_floats::ordered_floats;
use super::physical_expr::{ExprBuilder, Physical};
use super::short_circuit::computed_where;
use super::whole_frame::whole_frame;
use crate::tree::{Accumulator, Expr, Moment, RowSchema};

/// The function that computes it.
pub(super) fn aggregate_function(accumulator: &Accumulator) -> Arc<AggregateUDF> {
    match accumulator {
        Accumulator::Count => aggregates::count::count_udaf(),
        Accumulator::Sum => aggregates::sum::sum_udaf(),
        Accumulator::Min => aggregates::min_max::min_udaf(),
        Accumulator::Max => aggregates::min_max::max_udaf(),
        Accumulator::First => aggregates::first_last::first_value_udaf(),
        Accumulator::And => aggregates::bool_and_or::bool_and_udaf(),
        Accumulator::Or => aggregates::bool_and_or::bool_or_udaf(),
        Accumulator::Array => aggregates::array_agg::array_agg_udaf(),
        Accumulator::BitAnd => aggregates::bit_and_or_xor::bit_and_udaf(),
        Accumulator::BitOr => aggregates::bit_and_or_xor::bit_or_udaf(),
        Accumulator::BitXor => aggregates::bit_and_or_xor::bit_xor_udaf(),
        Accumulator::Grouping => aggregates::grouping::grouping_udaf(),
        Accumulator::Exact {
            name,
            moment,
            distinct,
        } => numeric_aggregate(name, *moment, *distinct),
        Accumulator::Float { name, moment } => float_aggregate(name, *moment),
        Accumulator::WholeFrame(inner) => whole_frame(aggregate_function(inner)),
    }
}

/// What EXPLAIN calls a function of DataFusion's or of ours.
pub(super) fn accumulator_named(name: &str) -> Accumulator {
    use Accumulator::{And, Array, BitAnd, BitOr, BitXor, Count, First, Grouping, Max, Min, Or, Sum};
    let known = [
        Count, Sum, Min, Max, First, And, Or, Array, BitAnd, BitOr, BitXor, Grouping,
    ];
    let known = known.into_iter().find(|known| known.name() == name);
    known.unwrap_or_else(|| Accumulator::exact(name, Moment::Sum, false))
}

/// A call of an aggregate as what computes it.
pub(super) struct PhysicalAggregate {
    pub(super) function: Arc<AggregateFunctionExpr>,
    /// FILTER.
    pub(super) filter: Option<Physical>,
    pub(super) order: Vec<PhysicalSortExpr>,
}

/// A call over rows of `below`, which their operator gives as `input`. Errors: it is none; it does not fit the rows.
pub(super) fn aggregate_call(
    builder: &ExprBuilder,
    call: &Expr,
    below: &RowSchema,
    input: &Schema,
) -> DataFusionResult<PhysicalAggregate> {
    let (name, mut expr) = (call.column_name(), call);
    while let Expr::Alias(alias) = expr {
        expr = &alias.expr;
    }
    let Expr::AggregateFunction(call) = expr else {
        return Err(DataFusionError::Internal(format!("{expr} is no aggregate")));
    };
    let params = &call.params;
    let filter = params.filter.as_ref().map(|filter| builder.build(filter, below));
    let filter = filter.transpose()?;
    let kept = |value: Physical| computed_where(filter.as_ref(), value);
    let mut order = builder.order(&params.order_by, below)?;
    for key in &mut order {
        key.expr = kept(Arc::clone(&key.expr))?;
    }
    let arguments = builder.all(&params.args, below)?;
    let arguments = arguments
        .into_iter()
        .map(kept)
        .collect::<DataFusionResult<Vec<_>>>()?;
    let function = match (&call.func, params.distinct) {
        (Accumulator::Array, true) => distinct_array(),
        (Accumulator::Float { name, moment }, false) if !params.order_by.is_empty() => {
            ordered_floats(name, *moment)
        }
        (function, _) => aggregate_function(function),
    };
    let function = AggregateExprBuilder::new(function, arguments)
        .order_by(order.clone())
        .schema(Arc::new(input.clone()))
        .alias(name)
        .with_distinct(params.distinct)
        .build()?;
    Ok(PhysicalAggregate {
        function: Arc::new(function),
        filter,
        order,
    })
}
