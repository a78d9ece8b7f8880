//! Expressions of a node, rewritten: what an output is called stays, for the nodes above know it by its name.

use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::expr::Alias;
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{Expr, LogicalPlan};

/// The node with its expressions rewritten. `Transformed` says whether one was.
pub(super) fn map_outputs(
    node: LogicalPlan,
    rewrite: &mut dyn FnMut(Expr) -> DataFusionResult<Transformed<Expr>>,
) -> DataFusionResult<Transformed<LogicalPlan>> {
    let names_outputs = matches!(
        node,
        LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) | LogicalPlan::Window(_)
    );
    node.map_expressions(|expr| match names_outputs {
        true => named(expr, rewrite),
        false => rewrite(expr),
    })
}

/// An output rewritten.
pub(super) fn with_name_of(
    output: Expr,
    rewrite: impl FnOnce(Expr) -> DataFusionResult<Expr>,
) -> DataFusionResult<Expr> {
    match output {
        Expr::Alias(alias) => Ok(Expr::Alias(Alias {
            expr: Box::new(rewrite(*alias.expr)?),
            ..alias
        })),
        output => {
            let name = NamePreserver::new_for_projection().save(&output);
            rewrite(output).map(|output| name.restore(output))
        }
    }
}

fn named(
    output: Expr,
    rewrite: &mut dyn FnMut(Expr) -> DataFusionResult<Transformed<Expr>>,
) -> DataFusionResult<Transformed<Expr>> {
    match output {
        Expr::Column(_) | Expr::Literal(..) => Ok(Transformed::no(output)),
        Expr::GroupingSet(_) => output.map_children(|key| named(key, rewrite)),
        Expr::Alias(alias) => {
            let inside = rewrite(*alias.expr)?;
            let relation = alias.relation;
            let named = |expr| {
                Expr::Alias(Alias {
                    expr: Box::new(expr),
                    relation,
                    name: alias.name,
                    metadata: alias.metadata,
                })
            };
            Ok(inside.update_data(named))
        }
        output => {
            let name = NamePreserver::new_for_projection().save(&output);
            let rewritten = rewrite(output)?;
            Ok(match rewritten.transformed {
                true => rewritten.update_data(|output| name.restore(output)),
                false => rewritten,
            })
        }
    }
}
