//! The rule `constants`: what every expression of a plan says, said as short as can be. What constants give is computed, of AND, OR and
//! NOT is left what decides; a CASE loses what is never asked. Called for conditions that others move, too.

use std::sync::Arc;

use arrow::datatypes::DataType;

use super::Rewriting;
use super::boolean::{joined, negated};
use super::comparison::comparison;
use super::evaluation::evaluated;
use super::in_list::plain_list;
use super::operands::{is_chain, is_truth, operands};
use super::output_names::map_outputs;
use crate::Result;
use crate::system::pg_catalog::CatalogContext;
use crate::tree::{
    Case, Expr, Operator, Plan, RowSchemaRef, Transformed, TransformedResult, TreeNode, lit, with_stack,
};

/// The plan with its expressions so.
pub(super) fn constants(plan: Plan, rewriting: &Rewriting<'_>) -> Result<Plan> {
    let simplified = plan.transform_up(|node| {
        let inputs: Vec<_> = node
            .inputs()
            .into_iter()
            .map(|input| Arc::clone(input.schema()))
            .collect();
        let simplifier = Simplifier {
            catalogs: rewriting.catalogs,
            inputs: &inputs,
        };
        map_outputs(node, &mut |expr| match is_settled(&expr) {
            true => Ok(Transformed::no(expr)),
            false => simplifier.simplified(expr).map(Transformed::yes),
        })
    });
    simplified.data()
}

/// A condition so.
pub(super) fn plain(condition: Expr, catalogs: Option<&Arc<CatalogContext>>) -> Result<Expr> {
    let simplifier = Simplifier {
        catalogs,
        inputs: &[],
    };
    match is_settled(&condition) {
        true => Ok(condition),
        false => simplifier.simplified(condition),
    }
}

/// Whether it is seen at once that nothing can be made of it.
fn is_settled(expr: &Expr) -> bool {
    let is_constant = |expr: &Expr| matches!(expr, Expr::Literal(..));
    let is_leaf = |expr: &Expr| matches!(expr, Expr::Column(_) | Expr::Literal(..) | Expr::Placeholder(_));
    match expr {
        Expr::Alias(alias) => is_leaf(&alias.expr),
        Expr::ScalarFunction(call) => call.args.iter().all(is_leaf) && !call.args.iter().all(is_constant),
        Expr::AggregateFunction(call) => {
            let params = &call.params;
            params.args.iter().all(is_leaf) && params.filter.is_none() && params.order_by.is_empty()
        }
        Expr::BinaryExpr(binary) => {
            !matches!(binary.op, Operator::And | Operator::Or)
                && matches!(*binary.left, Expr::Column(_))
                && match binary.right.as_ref() {
                    Expr::Literal(value, _) => !value.is_null() && value.data_type() != DataType::Boolean,
                    other => matches!(other, Expr::Column(_)),
                }
        }
        expr => is_leaf(expr),
    }
}

struct Simplifier<'a> {
    catalogs: Option<&'a Arc<CatalogContext>>,
    /// What the node reads that the expression is one of.
    inputs: &'a [RowSchemaRef],
}

impl Simplifier<'_> {
    fn simplified(&self, expr: Expr) -> Result<Expr> {
        with_stack(|| {
            for op in [Operator::And, Operator::Or] {
                if is_chain(&expr, op) {
                    let sides = operands(expr, op).into_iter();
                    let sides = sides.map(|side| self.simplified(side));
                    return Ok(joined(sides.collect::<Result<_>>()?, op));
                }
            }
            if let Expr::Let(mut kept) = expr {
                *kept.value = self.simplified(*kept.value)?;
                // The body may say more of a constant.
                return match *kept.value {
                    Expr::Literal(..) | Expr::Column(_) => self.simplified(kept.unfolded()?),
                    _ => {
                        *kept.body = self.simplified(*kept.body)?;
                        Ok(Expr::Let(kept))
                    }
                };
            }
            let inside = expr.map_children(|child| self.simplified(child).map(Transformed::yes))?;
            self.simpler(inside.data)
        })
    }

    /// What an expression says of parts that are as simple as can be.
    fn simpler(&self, expr: Expr) -> Result<Expr> {
        if let Some(value) = evaluated(&expr, self.catalogs) {
            return Ok(value);
        }
        Ok(match expr {
            Expr::Not(inner) => negated(*inner),
            Expr::BinaryExpr(binary) => comparison(binary),
            Expr::InList(list) => plain_list(list),
            Expr::IsNotNull(inner) if self.is_never_null(&inner) => lit(true),
            Expr::IsNull(inner) if self.is_never_null(&inner) => lit(false),
            Expr::Case(case) if case.expr.is_none() => what_is_asked(case),
            other => other,
        })
    }

    fn is_never_null(&self, expr: &Expr) -> bool {
        let Expr::Column(column) = expr else {
            return false;
        };
        let mut fields = self.inputs.iter().filter_map(|schema| {
            let at = schema.maybe_index_of_column(column)?;
            Some(schema.field(at))
        });
        fields.next().is_some_and(|field| !field.is_nullable())
    }
}

/// A CASE without the conditions that never hold, and what stands behind one that always does.
fn what_is_asked(case: Case) -> Expr {
    let never =
        |when: &Expr| matches!(when, Expr::Literal(value, _) if value.is_null()) || is_truth(when, false);
    let is_constant = |(when, _): &(Box<Expr>, Box<Expr>)| never(when) || is_truth(when, true);
    if !case.when_then_expr.iter().any(is_constant) {
        return Expr::Case(case);
    }
    let (mut asked, mut otherwise) = (Vec::new(), case.else_expr.clone());
    for (when, then) in &case.when_then_expr {
        if is_truth(when, true) {
            otherwise = Some(then.clone());
            break;
        }
        if !never(when) {
            asked.push((when.clone(), then.clone()));
        }
    }
    match (asked.is_empty(), otherwise) {
        (true, Some(otherwise)) => *otherwise,
        // Its type is that of a branch that is never taken.
        (true, None) => Expr::Case(case),
        (false, otherwise) => Expr::Case(Case {
            when_then_expr: asked,
            else_expr: otherwise,
            expr: None,
        }),
    }
}
