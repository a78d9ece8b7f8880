//! Expressions of a node, rewritten: what an output is called stays, for the nodes above know it by its name.

use crate::Result;
use crate::tree::{Alias, Expr, Plan, SavedName, Transformed, TreeNode};

/// The node with its expressions rewritten. `Transformed` says whether one was.
pub(super) fn map_outputs(
    node: Plan,
    rewrite: &mut dyn FnMut(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<Plan>> {
    let names_outputs = matches!(node, Plan::Projection(_) | Plan::Aggregate(_) | Plan::Window(_));
    node.map_expressions(|expr| match names_outputs {
        true => named(expr, rewrite),
        false => rewrite(expr),
    })
}

/// An output rewritten.
pub(super) fn with_name_of(output: Expr, rewrite: impl FnOnce(Expr) -> Result<Expr>) -> Result<Expr> {
    match output {
        Expr::Alias(alias) => Ok(Expr::Alias(Alias {
            expr: Box::new(rewrite(*alias.expr)?),
            ..alias
        })),
        output => {
            let name = SavedName::of(&output);
            rewrite(output).map(|output| name.restore(output))
        }
    }
}

fn named(
    output: Expr,
    rewrite: &mut dyn FnMut(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<Expr>> {
    match output {
        Expr::Column(_) | Expr::Literal(..) => Ok(Transformed::no(output)),
        Expr::GroupingSets(_) => output.map_children(|key| named(key, rewrite)),
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
            let name = SavedName::of(&output);
            let rewritten = rewrite(output)?;
            Ok(match rewritten.transformed {
                true => rewritten.update_data(|output| name.restore(output)),
                false => rewritten,
            })
        }
    }
}
