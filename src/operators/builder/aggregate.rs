//! Groups. Called by `builder`.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_physical_expr::aggregate::AggregateFunctionExpr;
use datafusion_physical_expr::expressions::{Column, Literal};
use datafusion_physical_expr::{
    EquivalenceProperties, PhysicalExpr, PhysicalSortExpr, PhysicalSortRequirement,
};
use datafusion_physical_plan::ExecutionPlanProperties;
use datafusion_physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion_physical_plan::windows::get_ordered_partition_by_indices;

use super::order::with_ordered_inputs;
use super::{Builder, Operator};
use crate::logical::dependent_join::is_volatile;
use crate::operators::aggregate_functions::aggregate_call;
use crate::operators::append::Append;
use crate::operators::order_requirements::without_kept_orders;
use crate::operators::unordered_expr::UnorderedExpr;
use crate::operators::varying_columns::VaryingColumns;
use crate::system::datafusion_error::to_datafusion;
use crate::tree::{Accumulator, Aggregate, Expr, RowSchema, ScalarValue};

impl Builder<'_> {
    /// The groups of the input's rows.
    pub(super) fn aggregate(&self, aggregate: &Aggregate, input: Operator) -> DataFusionResult<Operator> {
        let below = aggregate.input.schema();
        let input = self.ends(aggregate, &input)?.unwrap_or(input);
        let schema = input.schema();
        let groups = self.groups(&aggregate.group_expr, below, &schema)?;
        let calls = aggregate
            .aggr_expr
            .iter()
            .map(|call| aggregate_call(&self.exprs, call, below, &schema));
        let calls = calls.collect::<DataFusionResult<Vec<_>>>()?;
        let (calls, filters) = calls.into_iter().map(|call| (call.function, call.filter)).unzip();
        let has_sets = !groups.is_single();
        let node = grouped(groups, calls, filters, input)?;
        // DataFusion takes the order of the input's keys, and what is the same in all of them, for that of every set's.
        let columns = node.schema().fields().len();
        Ok(VaryingColumns::of(node, (0..columns).map(|_| has_sets)))
    }

    /// Of the input's rows only those at the ends of keys, where aggregates ask for no others: the least and the greatest values of columns.
    /// `None`: they ask for more, or no key leads to each end.
    fn ends(&self, aggregate: &Aggregate, input: &Operator) -> DataFusionResult<Option<Operator>> {
        let calls = aggregate.aggr_expr.iter();
        let extremes: Option<Vec<Extreme>> = calls
            .map(|call| extreme(call, aggregate.input.schema()))
            .collect();
        let Some(mut extremes) = extremes else {
            return Ok(None);
        };
        // A group is there also where all of its values are NULL.
        let is_group = !aggregate.group_expr.is_empty();
        if is_group && !self.is_one_group(aggregate, input)? {
            return Ok(None);
        }
        extremes.sort_unstable();
        extremes.dedup();
        if extremes.is_empty() || is_volatile(&aggregate.input).map_err(to_datafusion)? {
            return Ok(None);
        }
        let ends = extremes.into_iter();
        let ends = ends.map(|end| self.end_of(input, end, is_group));
        let ends = ends.collect::<DataFusionResult<Option<Vec<Operator>>>>()?;
        Ok(ends.map(|mut ends| match ends.len() {
            1 => ends.remove(0),
            _ => Arc::new(Append::new(ends, &input.schema())) as Operator,
        }))
    }

    /// Whether all rows of the input have the same keys.
    fn is_one_group(&self, aggregate: &Aggregate, input: &Operator) -> DataFusionResult<bool> {
        let known = input.equivalence_properties();
        for key in &aggregate.group_expr {
            let is_set = matches!(key, Expr::GroupingSets(_));
            if is_set
                || known
                    .is_expr_constant(&self.expr(key, aggregate.input.schema())?)
                    .is_none()
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn groups(
        &self,
        exprs: &[Expr],
        below: &RowSchema,
        schema: &Schema,
    ) -> DataFusionResult<PhysicalGroupBy> {
        match exprs {
            [Expr::GroupingSets(sets)] => self.grouping_sets(sets, below, schema),
            // Without keys there is one group, that of all rows, also where there are none.
            [] => Ok(PhysicalGroupBy::new(Vec::new(), Vec::new(), Vec::new(), false)),
            keys => {
                let keys = keys
                    .iter()
                    .map(|key| Ok((self.expr(key, below)?, key.column_name())));
                Ok(PhysicalGroupBy::new_single(
                    keys.collect::<DataFusionResult<_>>()?,
                ))
            }
        }
    }

    /// Every key of any set, and for each set which of them are NULL in it.
    fn grouping_sets(
        &self,
        sets: &[Vec<Expr>],
        below: &RowSchema,
        schema: &Schema,
    ) -> DataFusionResult<PhysicalGroupBy> {
        let mut keys: Vec<&Expr> = Vec::new();
        for key in sets.iter().flatten() {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let (mut exprs, mut nulls) = (Vec::new(), Vec::new());
        for key in &keys {
            let (expr, name) = (self.expr(key, below)?, key.column_name());
            let null = ScalarValue::try_from(&expr.data_type(schema)?)?;
            nulls.push((Arc::new(Literal::new(null)) as _, name.clone()));
            exprs.push((expr, name));
        }
        let left_out = |set: &Vec<Expr>| keys.iter().map(|key| !set.contains(key)).collect();
        let left_out = sets.iter().map(left_out).collect();
        Ok(PhysicalGroupBy::new(exprs, nulls, left_out, true))
    }
}

/// A column of which the least or, if so, the greatest value is asked for.
type Extreme = (usize, bool);

/// The column whose least or greatest value an aggregate is, of all rows.
fn extreme(call: &Expr, below: &RowSchema) -> Option<Extreme> {
    let Expr::AggregateFunction(call) = call.unnamed() else {
        return None;
    };
    let is_greatest = match call.func {
        Accumulator::Min => false,
        Accumulator::Max => true,
        _ => return None,
    };
    match (call.params.args.as_slice(), &call.params.filter) {
        ([Expr::Column(column)], None) => Some((below.maybe_index_of_column(column)?, is_greatest)),
        _ => None,
    }
}

/// Rows that differ.
pub(super) fn distinct(input: Operator) -> DataFusionResult<Operator> {
    let schema = input.schema();
    let columns = schema.fields().iter().enumerate().map(|(at, field)| {
        let column = Arc::new(Column::new(field.name(), at)) as Arc<dyn PhysicalExpr>;
        (column, field.name().clone())
    });
    let groups = PhysicalGroupBy::new_single(columns.collect());
    grouped(groups, Vec::new(), Vec::new(), input)
}

fn grouped(
    groups: PhysicalGroupBy,
    calls: Vec<Arc<AggregateFunctionExpr>>,
    filters: Vec<Option<Arc<dyn PhysicalExpr>>>,
    input: Operator,
) -> DataFusionResult<Operator> {
    let schema = input.schema();
    let groups = with_comparable_orders(groups, &input)?;
    let node = AggregateExec::try_new(AggregateMode::Single, groups, calls, filters, input, schema)?;
    let node = with_ordered_inputs(Arc::new(node))?;
    match node.downcast_ref::<AggregateExec>() {
        Some(aggregate) => with_ordered_calls(aggregate),
        None => Err(DataFusionError::Internal(
            "an aggregate that is another node".to_string(),
        )),
    }
}

/// The keys, where the groups compare those that come in order, which they do unless all do: such as they cannot compare come in none.
fn with_comparable_orders(groups: PhysicalGroupBy, input: &Operator) -> DataFusionResult<PhysicalGroupBy> {
    let keys = groups.input_exprs();
    let ordered = get_ordered_partition_by_indices(&keys, input)?;
    let schema = input.schema();
    let is_nested = |at: &usize| Ok(keys[*at].data_type(&schema)?.is_nested());
    let nested = ordered
        .iter()
        .map(is_nested)
        .collect::<DataFusionResult<Vec<_>>>()?;
    let are_all = ordered.len() == keys.len() && groups.is_single();
    if are_all || !nested.contains(&true) {
        return Ok(groups);
    }
    let exprs = groups.expr().iter().enumerate().map(|(at, (expr, name))| {
        let is_ordered = ordered
            .iter()
            .zip(&nested)
            .any(|(key, nested)| *key == at && *nested);
        let expr = match is_ordered {
            true => UnorderedExpr::of(Arc::clone(expr)),
            false => Arc::clone(expr),
        };
        (expr, name.clone())
    });
    Ok(PhysicalGroupBy::new(
        exprs.collect(),
        groups.null_expr().to_vec(),
        groups.groups().to_vec(),
        groups.has_grouping_set(),
    ))
}

/// The node, whose calls with an ORDER BY inside know whether their rows come in it.
fn with_ordered_calls(node: &AggregateExec) -> DataFusionResult<Operator> {
    let input = without_kept_orders(node.input())?;
    let keys = node.group_expr().input_exprs();
    let ordered = get_ordered_partition_by_indices(&keys, &input)?;
    // A set that leaves a key out has the rows of all its values in one group.
    let left_out = |key: usize| node.group_expr().groups().iter().any(|set| set[key]);
    let ordered = ordered
        .into_iter()
        .filter(|at| !left_out(*at))
        .map(|at| PhysicalSortRequirement::new(Arc::clone(&keys[at]), None));
    let ordered: Vec<PhysicalSortRequirement> = ordered.collect();
    let calls = node.aggr_expr().iter();
    let calls = calls.map(|call| with_known_order(call, &ordered, input.equivalence_properties()));
    let calls = calls.collect::<DataFusionResult<Vec<_>>>()?;
    Ok(Arc::new(node.with_new_aggr_exprs(calls)))
}

/// The call, or the same read backwards, by the order in which rows of a group come.
fn with_known_order(
    call: &Arc<AggregateFunctionExpr>,
    groups: &[PhysicalSortRequirement],
    known: &EquivalenceProperties,
) -> DataFusionResult<Arc<AggregateFunctionExpr>> {
    if call.order_bys().is_empty() || !call.order_sensitivity().is_beneficial() {
        return Ok(Arc::clone(call));
    }
    let is_there = |keys: Vec<PhysicalSortExpr>| {
        let wanted = groups.iter().cloned().chain(keys.into_iter().map(Into::into));
        known.ordering_satisfy_requirement(wanted.collect::<Vec<_>>())
    };
    let reversed = || {
        call.order_bys()
            .iter()
            .map(PhysicalSortExpr::reverse)
            .collect::<Vec<_>>()
    };
    let (call, is_ordered) = if is_there(call.order_bys().to_vec())? {
        (Arc::clone(call), true)
    } else if is_there(reversed())? {
        let backwards = call.reverse_expr().map(Arc::new);
        (backwards.unwrap_or_else(|| Arc::clone(call)), true)
    } else {
        (Arc::clone(call), false)
    };
    let ordered = Arc::clone(&call).with_beneficial_ordering(is_ordered)?;
    Ok(ordered.map_or(call, Arc::new))
}
