//! The dependent join: for every row of its input it answers subqueries whose plans refer to that row's columns. It
//! computes what DataFusion cannot decorrelate (or would answer otherwise than PostgreSQL): the subquery is planned and
//! run once for every distinct set of outer values, with those values as constants, so that keyed reads stay keyed.
//! The binder places it in logical plans; `DependentJoinPlanner` makes it executable.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema, DFSchemaRef, TableReference};
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};

use super::only_input::only_input;
use super::shared_rows::is_shared;
use crate::Result;
use crate::system::datafusion_error::from_datafusion;

/// What a subquery's rows become.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SubPlanKind {
    /// The one value of its one row; NULL when there is no row; 21000 when there are several.
    Scalar,
    /// Whether there is a row.
    Exists {
        /// NOT EXISTS.
        negated: bool,
    },
    /// Whether the operand is among the rows, with three-valued logic.
    In {
        /// What is looked for.
        operand: Expr,
        /// NOT IN.
        negated: bool,
    },
    /// The rows themselves, beside each row of the input: a lateral join.
    Rows {
        /// A row without matches stays, with NULLs (LEFT JOIN LATERAL).
        keep_left: bool,
        /// The columns of the rows.
        schema: DFSchemaRef,
    },
}

/// A subquery that depends on columns of the input.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SubPlan {
    /// Its plan: outer columns are `Expr::OuterReferenceColumn`.
    pub plan: Arc<LogicalPlan>,
    /// What becomes of its rows.
    pub kind: SubPlanKind,
    /// The outer columns as the plan names them, and their values over the input.
    pub bindings: Vec<(Column, Expr)>,
    /// Where its answer is looked at: it is asked for no other rows, and NULL there. `None`: everywhere. Not for `Rows`.
    pub asked_when: Option<Expr>,
    /// The output column's name (not for `Rows`).
    pub name: String,
}

/// The logical node. Its output is the input's columns, then one column a subquery (or, for `Rows`, its columns).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DependentJoin {
    pub(crate) input: LogicalPlan,
    pub(crate) sub_plans: Vec<SubPlan>,
    pub(crate) schema: DFSchemaRef,
}

impl DependentJoin {
    /// The node over `input`.
    pub fn plan(input: LogicalPlan, sub_plans: Vec<SubPlan>) -> Result<LogicalPlan> {
        let node = DependentJoin::new(input, sub_plans).map_err(from_datafusion)?;
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
    }

    fn new(input: LogicalPlan, sub_plans: Vec<SubPlan>) -> DataFusionResult<DependentJoin> {
        let mut fields: Vec<(Option<TableReference>, FieldRef)> = input
            .schema()
            .iter()
            .map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)))
            .collect();
        for sub_plan in &sub_plans {
            match &sub_plan.kind {
                SubPlanKind::Rows { schema, .. } => fields.extend(schema.iter().map(|(qualifier, field)| {
                    (
                        qualifier.cloned(),
                        Arc::new(field.as_ref().clone().with_nullable(true)),
                    )
                })),
                kind => {
                    let ty = match kind {
                        SubPlanKind::Scalar => sub_plan.plan.schema().field(0).data_type().clone(),
                        _ => DataType::Boolean,
                    };
                    fields.push((None, Arc::new(Field::new(&sub_plan.name, ty, true))));
                }
            }
        }
        let schema = Arc::new(DFSchema::new_with_metadata(fields, HashMap::new())?);
        Ok(DependentJoin {
            input,
            sub_plans,
            schema,
        })
    }
}

impl PartialOrd for DependentJoin {
    fn partial_cmp(&self, other: &DependentJoin) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for DependentJoin {
    fn name(&self) -> &str {
        "DependentJoin"
    }
    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }
    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }
    fn expressions(&self) -> Vec<Expr> {
        let mut exprs = Vec::new();
        for sub_plan in &self.sub_plans {
            exprs.extend(sub_plan.bindings.iter().map(|(_, expr)| expr.clone()));
            if let SubPlanKind::In { operand, .. } = &sub_plan.kind {
                exprs.push(operand.clone());
            }
            exprs.extend(sub_plan.asked_when.clone());
        }
        exprs
    }
    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "DependentJoin: {} subqueries", self.sub_plans.len())
    }
    fn with_exprs_and_inputs(
        &self,
        exprs: Vec<Expr>,
        inputs: Vec<LogicalPlan>,
    ) -> DataFusionResult<DependentJoin> {
        let mut exprs = exprs.into_iter();
        let mut next = || {
            exprs
                .next()
                .ok_or_else(|| DataFusionError::Internal("too few expressions".to_string()))
        };
        let mut sub_plans = self.sub_plans.clone();
        for sub_plan in &mut sub_plans {
            for (_, expr) in &mut sub_plan.bindings {
                *expr = next()?;
            }
            if let SubPlanKind::In { operand, .. } = &mut sub_plan.kind {
                *operand = next()?;
            }
            if let Some(condition) = &mut sub_plan.asked_when {
                *condition = next()?;
            }
        }
        let input = only_input(inputs)?;
        DependentJoin::new(input, sub_plans)
    }
}

/// Whether the node answers subqueries row by row.
pub fn is_dependent_join(node: &LogicalPlan) -> bool {
    match node {
        LogicalPlan::Extension(extension) => extension.node.as_any().is::<DependentJoin>(),
        _ => false,
    }
}

/// Whether two runs of the plan may give different rows, those that are shared aside.
pub fn is_volatile(plan: &LogicalPlan) -> DataFusionResult<bool> {
    let mut volatile = false;
    for_each_node(plan, &mut |node| {
        node.apply_expressions(|expr| {
            volatile |= expr.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(match is_shared(node) {
            true => TreeNodeRecursion::Jump,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(volatile)
}

/// Calls `visit` for every node of a plan, of its subqueries and of those of dependent joins.
pub fn for_each_node(
    plan: &LogicalPlan,
    visit: &mut dyn FnMut(&LogicalPlan) -> DataFusionResult<TreeNodeRecursion>,
) -> DataFusionResult<()> {
    plan.apply_with_subqueries(|node| {
        let next = visit(node)?;
        if let LogicalPlan::Extension(extension) = node
            && let Some(join) = extension.node.as_any().downcast_ref::<DependentJoin>()
        {
            for sub_plan in &join.sub_plans {
                for_each_node(&sub_plan.plan, visit)?;
            }
        }
        Ok(next)
    })?;
    Ok(())
}

/// Rewrites every expression of a plan, in its subqueries and in those of dependent joins too. What an expression gives
/// keeps its name, by which the nodes above know it.
pub fn transform_expressions(plan: LogicalPlan, rewrite: Rewrite<'_>) -> DataFusionResult<LogicalPlan> {
    let transformed = plan.transform_up_with_subqueries(|node| {
        rewrite_node(node, rewrite)?.transform_data(|node| {
            let LogicalPlan::Extension(extension) = &node else {
                return Ok(Transformed::no(node));
            };
            let Some(join) = extension.node.as_any().downcast_ref::<DependentJoin>() else {
                return Ok(Transformed::no(node));
            };
            let mut join = join.clone();
            for sub_plan in &mut join.sub_plans {
                let inner = transform_expressions(sub_plan.plan.as_ref().clone(), rewrite)?;
                sub_plan.plan = Arc::new(inner);
            }
            Ok(Transformed::yes(LogicalPlan::Extension(Extension {
                node: Arc::new(join),
            })))
        })
    })?;
    Ok(transformed.data)
}

/// The same but for the conditions of scans and the subqueries of dependent joins.
pub(crate) fn rewrite_own_expressions(
    plan: LogicalPlan,
    rewrite: Rewrite<'_>,
) -> DataFusionResult<LogicalPlan> {
    let transformed = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::TableScan(_) => Ok(Transformed::no(node)),
        node => rewrite_node(node, rewrite),
    })?;
    Ok(transformed.data)
}

/// What becomes of an expression.
type Rewrite<'a> = &'a dyn Fn(Expr) -> DataFusionResult<Transformed<Expr>>;

fn rewrite_node(node: LogicalPlan, rewrite: Rewrite<'_>) -> DataFusionResult<Transformed<LogicalPlan>> {
    let names_output = matches!(
        node,
        LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) | LogicalPlan::Window(_)
    );
    node.map_expressions(|expr| {
        if !names_output {
            return rewrite(expr);
        }
        let name = NamePreserver::new_for_projection().save(&expr);
        let rewritten = rewrite(expr)?;
        Ok(match rewritten.transformed {
            true => rewritten.update_data(|expr| name.restore(expr)),
            false => rewritten,
        })
    })
}
