//! Expressions of the tree as what computes them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::compute::SortOptions;
use arrow::datatypes::Schema;
use datafusion_common::config::ConfigOptions;
use datafusion_common::metadata::FieldMetadata as DataFusionMetadata;
use datafusion_common::{DataFusionError, Result as DataFusionResult, ScalarValue};
use datafusion_expr::Operator as DataFusionOperator;
use datafusion_expr::physical_planning_context::{ScalarSubqueryResults, SubqueryIndex};
use datafusion_physical_expr::expressions::{self, Column, Literal};
use datafusion_physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion_physical_expr::{PhysicalExpr, PhysicalSortExpr, ScalarFunctionExpr};

use super::like_test::like_test;
use super::parameter::parameter;
use super::scalar_answer::{Failure, SubqueryValue};
use super::short_circuit::short_circuit;
use crate::logical::run_inputs::RunInputs;
use crate::tree::{Case, Expr, FieldMetadata, Operator, OrderKey, RowSchema, Subquery, with_stack};

/// What computes an expression.
pub(super) type Physical = Arc<dyn PhysicalExpr>;

/// What expressions are made computable in.
#[derive(Debug, Clone, Default)]
pub(super) struct ExprBuilder {
    /// Where functions find the catalogs. `None`: they ask none.
    pub(super) options: Option<Arc<ConfigOptions>>,
    /// Of a generic plan: what its placeholders stand for in a run.
    pub(super) inputs: Option<Arc<RunInputs>>,
    /// Where the values of uncorrelated subqueries will be.
    pub(super) subqueries: Arc<SubqueryPlaces>,
}

/// Where a plan's uncorrelated scalar subqueries leave their values.
#[derive(Debug, Default)]
pub(super) struct SubqueryPlaces {
    pub(super) indexes: HashMap<Subquery, (SubqueryIndex, Failure)>,
    pub(super) results: ScalarSubqueryResults,
}

impl ExprBuilder {
    /// The expression over rows of this schema. Errors: it does not fit them; what cannot run.
    pub(super) fn build(&self, expr: &Expr, schema: &RowSchema) -> DataFusionResult<Physical> {
        let own = schema.as_arrow();
        let build = |expr: &Expr| self.build(expr, schema);
        with_stack(|| -> DataFusionResult<Physical> {
            match expr {
                Expr::Alias(alias) => match alias.expr.as_ref() {
                    Expr::Literal(value, own) => Ok(constant(value, [own, &alias.metadata])),
                    inner => build(inner),
                },
                Expr::Column(column) => {
                    let at = schema.index_of_column(column)?;
                    Ok(Arc::new(Column::new(&column.name, at)))
                }
                Expr::Literal(value, own) => Ok(constant(value, [own, &None])),
                Expr::Placeholder(placeholder) => parameter(placeholder, self.inputs.as_ref()),
                Expr::BinaryExpr(binary) => {
                    let (left, right) = (build(&binary.left)?, build(&binary.right)?);
                    let op = operator(binary.op);
                    match short_circuit(&left, op, &right) {
                        Some(expr) => Ok(expr),
                        None => expressions::binary(left, op, right, own),
                    }
                }
                Expr::Not(inner) => expressions::not(build(inner)?),
                Expr::IsNull(inner) => expressions::is_null(build(inner)?),
                Expr::IsNotNull(inner) => expressions::is_not_null(build(inner)?),
                Expr::TruthTest(test) => {
                    let op = match test.negated {
                        true => DataFusionOperator::IsDistinctFrom,
                        false => DataFusionOperator::IsNotDistinctFrom,
                    };
                    let truth = Arc::new(Literal::new(ScalarValue::Boolean(test.truth)));
                    expressions::binary(build(&test.expr)?, op, truth, own)
                }
                Expr::Like(like) => {
                    let (text, pattern) = (build(&like.expr)?, build(&like.pattern)?);
                    Ok(Arc::new(like_test(like, [text, pattern], own)?))
                }
                Expr::Case(case) => self.case(case, schema),
                Expr::Let(kept) => self.let_expr(kept, schema),
                Expr::Fold(fold) => self.fold_expr(fold, schema),
                Expr::LetValue(value) => Self::let_value(value, schema),
                Expr::Cast(cast) => expressions::cast(build(&cast.expr)?, own, cast.ty.clone()),
                Expr::ScalarFunction(call) => {
                    let arguments = self.all(&call.args, schema)?;
                    let function = Arc::new(call.func.to_udf());
                    let call = ScalarFunctionExpr::try_new(function, arguments, own, self.options())?;
                    Ok(Arc::new(call))
                }
                Expr::InList(list) => {
                    let items = self.all(&list.list, schema)?;
                    expressions::in_list(build(&list.expr)?, items, &list.negated, own)
                }
                Expr::ScalarSubquery(subquery) => self.subquery(subquery),
                other => Err(DataFusionError::Internal(format!(
                    "{other} cannot be computed of a row"
                ))),
            }
        })
    }

    /// Several, in their order.
    pub(super) fn all(&self, exprs: &[Expr], schema: &RowSchema) -> DataFusionResult<Vec<Physical>> {
        exprs.iter().map(|expr| self.build(expr, schema)).collect()
    }

    /// Keys of an order.
    pub(super) fn order(
        &self,
        keys: &[OrderKey],
        schema: &RowSchema,
    ) -> DataFusionResult<Vec<PhysicalSortExpr>> {
        let keys = keys.iter().map(|key| {
            let options = SortOptions::new(!key.asc, key.nulls_first);
            Ok(PhysicalSortExpr::new(self.build(&key.expr, schema)?, options))
        });
        keys.collect()
    }

    fn options(&self) -> Arc<ConfigOptions> {
        static DEFAULT: LazyLock<Arc<ConfigOptions>> = LazyLock::new(Arc::default);
        Arc::clone(self.options.as_ref().unwrap_or(&DEFAULT))
    }

    fn case(&self, case: &Case, schema: &RowSchema) -> DataFusionResult<Physical> {
        let build = |expr: &Expr| self.build(expr, schema);
        let branches = case.when_then_expr.iter();
        let branches = branches.map(|(when, then)| Ok((build(when)?, build(then)?)));
        expressions::case(
            case.expr.as_deref().map(build).transpose()?,
            branches.collect::<DataFusionResult<_>>()?,
            case.else_expr.as_deref().map(build).transpose()?,
        )
    }

    fn subquery(&self, subquery: &Subquery) -> DataFusionResult<Physical> {
        let Some((index, failure)) = self.subqueries.indexes.get(subquery) else {
            return Err(DataFusionError::Internal(
                "a subquery that nobody runs".to_string(),
            ));
        };
        let field = subquery.subquery.schema().field(0);
        let results = self.subqueries.results.clone();
        let value = ScalarSubqueryExpr::new(field.data_type().clone(), field.is_nullable(), *index, results);
        Ok(Arc::new(SubqueryValue::new(value, failure.clone())))
    }
}

/// A constant whose field carries these.
fn constant(value: &ScalarValue, carried: [&Option<FieldMetadata>; 2]) -> Physical {
    let mut labels: Option<HashMap<String, String>> = None;
    for metadata in carried.into_iter().flatten() {
        labels.get_or_insert_default().extend(metadata.to_hash_map());
    }
    let labels = labels.map(DataFusionMetadata::from);
    Arc::new(Literal::new_with_metadata(value.clone(), labels))
}

/// The name of an expression as a column of what a node gives.
pub(super) fn column_name(expr: &Expr, below: &RowSchema, input: &Schema) -> String {
    // A column is called as the input calls it: in the tree it may have the name of a whole expression.
    match expr {
        Expr::Column(column) if let Some(at) = below.maybe_index_of_column(column) => {
            input.field(at).name().clone()
        }
        expr => expr.column_name(),
    }
}

fn operator(op: Operator) -> DataFusionOperator {
    match op {
        Operator::Eq => DataFusionOperator::Eq,
        Operator::NotEq => DataFusionOperator::NotEq,
        Operator::Lt => DataFusionOperator::Lt,
        Operator::LtEq => DataFusionOperator::LtEq,
        Operator::Gt => DataFusionOperator::Gt,
        Operator::GtEq => DataFusionOperator::GtEq,
        Operator::And => DataFusionOperator::And,
        Operator::Or => DataFusionOperator::Or,
        Operator::IsDistinctFrom => DataFusionOperator::IsDistinctFrom,
        Operator::IsNotDistinctFrom => DataFusionOperator::IsNotDistinctFrom,
        Operator::BitwiseAnd => DataFusionOperator::BitwiseAnd,
        Operator::BitwiseOr => DataFusionOperator::BitwiseOr,
        Operator::BitwiseShiftLeft => DataFusionOperator::BitwiseShiftLeft,
        Operator::BitwiseShiftRight => DataFusionOperator::BitwiseShiftRight,
    }
}

/// The operator as the tree has it. `None`: the tree has none such.
pub(super) fn tree_operator(op: DataFusionOperator) -> Option<Operator> {
    Operator::ALL.into_iter().find(|known| operator(*known) == op)
}
