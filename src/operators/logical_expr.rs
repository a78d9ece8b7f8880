//! Physical expressions back as logical ones, for EXPLAIN: what each says, over what the columns below stand for.

use std::sync::Arc;

use datafusion_physical_expr::aggregate::AggregateFunctionExpr;
use datafusion_physical_expr::expressions::{
    BinaryExpr as PhysicalBinary, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal,
    NotExpr,
};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::aggregate_functions::accumulator_named;
use super::let_expr::LetExpr;
use super::like_test::like_of;
use super::parameter::placeholder_of;
use super::physical_expr::tree_operator;
use super::scalar_answer::SubqueryValue;
use super::short_circuit::ShortCircuit;
use crate::functions::bound_function_of;
use crate::logical::expr_text::{Names, expr_text};
use crate::tree::{
    AggregateFunction, AggregateParams, BinaryExpr, Case, Cast, Expr, FieldMetadata, FunctionCall, InList,
    OrderKey, Placeholder,
};

/// What the columns of a node's input stand for.
pub struct Inputs<'a> {
    /// Column by column.
    pub columns: &'a [Expr],
    /// `$0`: the subqueries that the node's plan reads, by their place.
    pub subqueries: &'a [String],
}

impl Inputs<'_> {
    /// What the expression says.
    pub fn written(&self, expr: &Arc<dyn PhysicalExpr>) -> Expr {
        self.written_operator(expr)
            .or_else(|| self.written_test(expr))
            .unwrap_or_else(|| as_text(expr.to_string()))
    }

    /// What an aggregate says. `filter`: its FILTER.
    pub fn written_aggregate(
        &self,
        call: &AggregateFunctionExpr,
        filter: Option<&Arc<dyn PhysicalExpr>>,
    ) -> Expr {
        let order = call.order_bys().iter().map(|key| OrderKey {
            expr: self.written(&key.expr),
            asc: !key.options.descending,
            nulls_first: key.options.nulls_first,
        });
        Expr::AggregateFunction(AggregateFunction {
            func: accumulator_named(call.fun().name()),
            params: AggregateParams {
                args: self.all_written(&call.expressions()),
                distinct: call.is_distinct(),
                filter: filter.map(|filter| Box::new(self.written(filter))),
                order_by: order.collect(),
            },
        })
    }

    /// What several expressions say.
    pub fn all_written(&self, exprs: &[Arc<dyn PhysicalExpr>]) -> Vec<Expr> {
        exprs.iter().map(|expr| self.written(expr)).collect()
    }

    fn boxed(&self, expr: &Arc<dyn PhysicalExpr>) -> Box<Expr> {
        Box::new(self.written(expr))
    }

    /// Columns, constants, calls and operators.
    fn written_operator(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            return self.columns.get(column.index()).cloned();
        }
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            let field = literal.return_field(&arrow::datatypes::Schema::empty()).ok();
            let metadata = field.map(|field| FieldMetadata::from(field.metadata()));
            return Some(Expr::Literal(literal.value().clone(), metadata));
        }
        if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
            let args = self.all_written(call.args());
            if let Some(placeholder) = placeholder_of(call.fun()) {
                return Some(Expr::Placeholder(placeholder));
            }
            if let Some(like) = like_of(call.fun(), &args) {
                return Some(Expr::Like(like));
            }
            return Some(match bound_function_of(call.fun()) {
                Some(func) => Expr::ScalarFunction(FunctionCall { func, args }),
                None => {
                    let args: Vec<String> = args.iter().map(|arg| expr_text(arg, Names::Bare)).collect();
                    as_text(format!("{}({})", call.name(), args.join(", ")))
                }
            });
        }
        let binary = expr.downcast_ref::<PhysicalBinary>();
        let binary = binary.map(|binary| (binary.left(), *binary.op(), binary.right()));
        let logical = expr.downcast_ref::<ShortCircuit>();
        let logical = logical.map(|logical| (&logical.left, logical.op, &logical.right));
        if let Some((left, op, right)) = binary.or(logical) {
            let (left, right) = (self.boxed(left), self.boxed(right));
            return Some(Expr::BinaryExpr(BinaryExpr::new(left, tree_operator(op)?, right)));
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            return Some(Expr::Cast(Cast::new(
                self.boxed(cast.expr()),
                cast.cast_type().clone(),
            )));
        }
        if let Some(subquery) = expr.downcast_ref::<SubqueryValue>() {
            #[expect(deprecated, reason = "nothing else tells which subquery is read")]
            let name = self.subqueries.get(subquery.value.index().as_usize());
            return Some(as_text(name.cloned().unwrap_or_else(|| "$0".to_string())));
        }
        None
    }

    /// Tests, lists and CASE.
    fn written_test(&self, expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            return Some(Expr::Not(self.boxed(not.arg())));
        }
        if let Some(test) = expr.downcast_ref::<IsNullExpr>() {
            return Some(Expr::IsNull(self.boxed(test.arg())));
        }
        if let Some(test) = expr.downcast_ref::<IsNotNullExpr>() {
            return Some(Expr::IsNotNull(self.boxed(test.arg())));
        }
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            let items = self.all_written(list.list());
            return Some(Expr::InList(InList::new(
                self.boxed(list.expr()),
                items,
                list.negated(),
            )));
        }
        if let Some(kept) = expr.downcast_ref::<LetExpr>() {
            let operands = kept.children().into_iter().map(|operand| self.written(operand));
            return Some(kept.written(operands.collect(), |columns| {
                let inside = Inputs { columns, ..*self };
                inside.written(kept.body())
            }));
        }
        let case = expr.downcast_ref::<CaseExpr>()?;
        let branches = case.when_then_expr().iter();
        Some(Expr::Case(Case::new(
            case.expr().map(|expr| self.boxed(expr)),
            branches
                .map(|(when, then)| (self.boxed(when), self.boxed(then)))
                .collect(),
            case.else_expr().map(|expr| self.boxed(expr)),
        )))
    }
}

/// Words that stand for a value: `$0`, `rank() OVER (?)`.
pub fn as_text(words: String) -> Expr {
    Expr::Placeholder(Placeholder {
        id: words,
        field: None,
    })
}
