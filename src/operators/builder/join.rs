//! Joins. Called by `builder`. A hash join keeps its left side in memory and streams the other past it: which is which is decided here.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use datafusion_common::{
    DataFusionError, JoinType as DataFusionJoinType, NullEquality as DataFusionNullEquality,
    Result as DataFusionResult,
};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_plan::joins::utils::JoinFilter;
use datafusion_physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PartitionMode};
use datafusion_physical_plan::operator_statistics::StatisticsRegistry;
use datafusion_physical_plan::projection::{ProjectionExec, ProjectionExpr};

use super::exprs::waited_for;
use super::{Builder, Operator};
use crate::operators::join_sides::keeps_larger;
use crate::operators::varying_columns::VaryingColumns;
use crate::tree::{Expr, Join, JoinType, NullEquality, Plan, RowSchema};

impl Builder<'_> {
    /// The rows of both inputs that belong together.
    pub(super) fn join(&self, join: &Join, inputs: Vec<Operator>) -> DataFusionResult<Operator> {
        let joined = self.joined(join, inputs)?;
        let lefts = join.left.schema().fields().len();
        let is_extended = |at: usize| match join.join_type {
            JoinType::Left => at >= lefts,
            JoinType::Right => at < lefts,
            JoinType::Full => true,
            _ => false,
        };
        let columns = joined.schema().fields().len();
        Ok(VaryingColumns::of(joined, (0..columns).map(is_extended)))
    }

    fn joined(&self, join: &Join, inputs: Vec<Operator>) -> DataFusionResult<Operator> {
        let [left, right] = <[Operator; 2]>::try_from(inputs)
            .map_err(|_| DataFusionError::Internal("a join has two inputs".to_string()))?;
        let filter = join
            .filter
            .as_ref()
            .map(|filter| self.join_filter(join, filter, (&left, &right)));
        let filter = filter.transpose()?;
        if !join.on.is_empty() {
            return self.hash_join(join, filter, left, right);
        }
        if filter.is_none() && join.join_type == JoinType::Inner {
            let cross = CrossJoinExec::new(left, right);
            return match is_larger(cross.left(), cross.right())? {
                true => cross.swap_inputs(),
                false => Ok(Arc::new(cross)),
            };
        }
        let nested = NestedLoopJoinExec::try_new(left, right, filter, &join_type(join.join_type), None)?;
        match join_type(join.join_type).supports_swap() && is_larger(nested.left(), nested.right())? {
            true => nested.swap_inputs(),
            false => Ok(Arc::new(nested)),
        }
    }

    fn hash_join(
        &self,
        join: &Join,
        filter: Option<JoinFilter>,
        left: Operator,
        right: Operator,
    ) -> DataFusionResult<Operator> {
        let (own_left, own_right) = (left.schema().fields().len(), right.schema().fields().len());
        let (lefts, rights): (Vec<&Expr>, Vec<&Expr>) =
            join.on.iter().map(|(left, right)| (left, right)).unzip();
        let (left, left_keys) = self.keyed(&join.left, &lefts, left)?;
        let (right, right_keys) = self.keyed(&join.right, &rights, right)?;
        let keyed_left = left.schema().fields().len();
        let is_wider = keyed_left > own_left || right.schema().fields().len() > own_right;
        // Columns that hold computed keys are none of the result's.
        let kept = is_wider.then(|| match join.join_type {
            JoinType::LeftSemi | JoinType::LeftAnti => (0..own_left).collect(),
            JoinType::RightSemi => (0..own_right).collect(),
            _ => (0..own_left)
                .chain((0..own_right).map(|at| keyed_left + at))
                .collect::<Vec<_>>(),
        });
        let hash = HashJoinExec::try_new(
            left,
            right,
            left_keys.into_iter().zip(right_keys).collect(),
            filter,
            &join_type(join.join_type),
            kept,
            PartitionMode::CollectLeft,
            null_equality(join.null_equality),
            join.null_aware,
        )?;
        if join.keeps_left {
            return Ok(Arc::new(hash));
        }
        let may_swap = join_type(join.join_type).supports_swap() && !join.null_aware;
        let hash: Operator = match may_swap && is_larger(hash.left(), hash.right())? {
            true => hash.swap_inputs(PartitionMode::CollectLeft)?,
            false => Arc::new(hash),
        };
        match hash.downcast_ref::<HashJoinExec>() {
            Some(swapped) if keeps_larger(swapped) => swapped.swap_inputs(PartitionMode::CollectLeft),
            _ => Ok(hash),
        }
    }

    /// The input with a column for each key, and these columns: one that is computed is added behind the input's own.
    fn keyed(
        &self,
        plan: &Plan,
        keys: &[&Expr],
        input: Operator,
    ) -> DataFusionResult<(Operator, Vec<Arc<dyn PhysicalExpr>>)> {
        let schema = input.schema();
        let mut columns: Vec<ProjectionExpr> = schema.fields().iter().enumerate().map(own_column).collect();
        let own = columns.len();
        let mut on = Vec::with_capacity(keys.len());
        let exprs = keys.iter().map(|key| self.expr(key, plan.schema()));
        let (exprs, input) = waited_for(exprs.collect::<DataFusionResult<_>>()?, input)?;
        for (key, expr) in keys.iter().zip(exprs) {
            if expr
                .downcast_ref::<Column>()
                .is_some_and(|column| column.index() < own)
            {
                on.push(expr);
                continue;
            }
            let alias = key.column_name();
            on.push(Arc::new(Column::new(&alias, columns.len())) as Arc<dyn PhysicalExpr>);
            columns.push(ProjectionExpr { expr, alias });
        }
        match columns.len() > own {
            true => Ok((Arc::new(ProjectionExec::try_new(columns, input)?), on)),
            false => Ok((input, on)),
        }
    }

    /// A condition over both sides.
    fn join_filter(
        &self,
        join: &Join,
        filter: &Expr,
        (left, right): (&Operator, &Operator),
    ) -> DataFusionResult<JoinFilter> {
        let named = filter.column_refs();
        let positions = |schema: &RowSchema| -> Vec<usize> {
            let mut positions: Vec<usize> = named
                .iter()
                .filter_map(|column| schema.index_of_column(column).ok())
                .collect();
            positions.sort_unstable();
            positions
        };
        let lefts = positions(join.left.schema());
        let rights = positions(join.right.schema());
        let sides = [
            (&join.left, left.schema(), &lefts),
            (&join.right, right.schema(), &rights),
        ];
        let (mut named_fields, mut fields) = (Vec::new(), Vec::new());
        for (plan, schema, positions) in sides {
            for at in positions {
                let (qualifier, field) = plan.schema().qualified_field(*at);
                named_fields.push((qualifier.cloned(), Arc::clone(field)));
                fields.push(schema.field(*at).clone());
            }
        }
        let seen = RowSchema::new(named_fields);
        Ok(JoinFilter::new(
            self.expr(filter, &seen)?,
            JoinFilter::build_column_indices(lefts, rights),
            Arc::new(Schema::new(fields)),
        ))
    }
}

fn join_type(join_type: JoinType) -> DataFusionJoinType {
    match join_type {
        JoinType::Inner => DataFusionJoinType::Inner,
        JoinType::Left => DataFusionJoinType::Left,
        JoinType::Right => DataFusionJoinType::Right,
        JoinType::Full => DataFusionJoinType::Full,
        JoinType::LeftSemi => DataFusionJoinType::LeftSemi,
        JoinType::RightSemi => DataFusionJoinType::RightSemi,
        JoinType::LeftAnti => DataFusionJoinType::LeftAnti,
    }
}

fn null_equality(equality: NullEquality) -> DataFusionNullEquality {
    match equality {
        NullEquality::NullEqualsNothing => DataFusionNullEquality::NullEqualsNothing,
        NullEquality::NullEqualsNull => DataFusionNullEquality::NullEqualsNull,
    }
}

fn own_column((at, field): (usize, &Arc<Field>)) -> ProjectionExpr {
    ProjectionExpr {
        expr: Arc::new(Column::new(field.name(), at)),
        alias: field.name().clone(),
    }
}

/// Whether the first is likely to be the larger one. Nothing is said of what nobody has counted.
fn is_larger(left: &Operator, right: &Operator) -> DataFusionResult<bool> {
    let registry = StatisticsRegistry::default_with_builtin_providers();
    let (left, right) = (
        registry.compute(left.as_ref())?,
        registry.compute(right.as_ref())?,
    );
    let (left, right) = (left.base(), right.base());
    let bytes = (
        left.total_byte_size.get_value(),
        right.total_byte_size.get_value(),
    );
    Ok(match bytes {
        (Some(left), Some(right)) => left > right,
        _ => match (left.num_rows.get_value(), right.num_rows.get_value()) {
            (Some(left), Some(right)) => left > right,
            _ => false,
        },
    })
}
