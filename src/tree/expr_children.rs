//! What an expression is made of, and what is asked of all of it.

use std::collections::HashSet;

use super::call::FunctionCall;
use super::column::Column;
use super::expr::{
    AggregateFunction, AggregateParams, Alias, BinaryExpr, Case, Cast, Expr, InList, InSubquery, Like,
    OrderKey, TruthTest, UnnestExpr,
};
use super::let_value::{Fold, Let};
use super::walk::{Mapping, Transformed, TreeNode, TreeNodeRecursion};
use super::window::{WindowFunction, WindowParams};
use crate::Result;
use crate::functions::Volatility;

impl TreeNode for Expr {
    fn apply_children<'n, F>(&'n self, mut visit: F) -> Result<TreeNodeRecursion>
    where
        F: FnMut(&'n Expr) -> Result<TreeNodeRecursion>,
    {
        let mut found = TreeNodeRecursion::Continue;
        self.for_each_child(&mut |child| {
            if found != TreeNodeRecursion::Stop {
                found = visit(child)?;
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn map_children<F>(self, mut map: F) -> Result<Transformed<Expr>>
    where
        F: FnMut(Expr) -> Result<Transformed<Expr>>,
    {
        self.map_parts(Mapping::new(&mut map))
    }
}

impl Expr {
    /// Calls `visit` with each expression that this one is made of.
    fn for_each_child<'n>(&'n self, visit: &mut dyn FnMut(&'n Expr) -> Result<()>) -> Result<()> {
        match self {
            Expr::Column(_)
            | Expr::OuterReferenceColumn(..)
            | Expr::Literal(..)
            | Expr::Placeholder(_)
            | Expr::LetValue(_)
            | Expr::Exists(_)
            | Expr::ScalarSubquery(_) => Ok(()),
            Expr::Alias(Alias { expr, .. })
            | Expr::Unnest(UnnestExpr { expr })
            | Expr::Cast(Cast { expr, .. })
            | Expr::TruthTest(TruthTest { expr, .. })
            | Expr::InSubquery(InSubquery { expr, .. })
            | Expr::Not(expr)
            | Expr::IsNull(expr)
            | Expr::IsNotNull(expr) => visit(expr),
            Expr::BinaryExpr(binary) => {
                visit(&binary.left)?;
                visit(&binary.right)
            }
            Expr::Like(like) => {
                visit(&like.expr)?;
                visit(&like.pattern)
            }
            Expr::Case(case) => {
                let branches = case.when_then_expr.iter();
                let branches = branches.flat_map(|(when, then)| [when, then]);
                let mut parts = case.expr.iter().chain(branches).chain(&case.else_expr);
                parts.try_for_each(|part| visit(part))
            }
            Expr::Let(Let { value, body, .. }) => {
                visit(value)?;
                visit(body)
            }
            Expr::Fold(fold) => {
                fold.lists.iter().try_for_each(&mut *visit)?;
                visit(&fold.initial)?;
                visit(&fold.step)
            }
            Expr::ScalarFunction(call) => call.args.iter().try_for_each(visit),
            Expr::InList(list) => {
                visit(&list.expr)?;
                list.list.iter().try_for_each(visit)
            }
            Expr::AggregateFunction(call) => {
                let params = &call.params;
                params.args.iter().try_for_each(&mut *visit)?;
                params.filter.iter().try_for_each(|filter| visit(filter))?;
                params.order_by.iter().try_for_each(|key| visit(&key.expr))
            }
            Expr::WindowFunction(call) => {
                let params = &call.params;
                params.args.iter().try_for_each(&mut *visit)?;
                params.partition_by.iter().try_for_each(&mut *visit)?;
                params.order_by.iter().try_for_each(|key| visit(&key.expr))?;
                params.window_frame.parts().try_for_each(&mut *visit)?;
                params.filter.iter().try_for_each(|filter| visit(filter))
            }
            Expr::GroupingSets(sets) => sets.iter().flatten().try_for_each(visit),
        }
    }

    fn map_parts(self, mut map: Mapping<'_, Expr>) -> Result<Transformed<Expr>> {
        let map = &mut map;
        let mapped = match self {
            leaf @ (Expr::Column(_)
            | Expr::OuterReferenceColumn(..)
            | Expr::Literal(..)
            | Expr::Placeholder(_)
            | Expr::LetValue(_)
            | Expr::Exists(_)
            | Expr::ScalarSubquery(_)) => leaf,
            Expr::Alias(alias) => Expr::Alias(Alias {
                expr: map.boxed(alias.expr)?,
                ..alias
            }),
            Expr::Unnest(unnest) => Expr::Unnest(UnnestExpr {
                expr: map.boxed(unnest.expr)?,
            }),
            Expr::Cast(cast) => Expr::Cast(Cast {
                expr: map.boxed(cast.expr)?,
                ..cast
            }),
            Expr::InSubquery(test) => Expr::InSubquery(InSubquery {
                expr: map.boxed(test.expr)?,
                ..test
            }),
            Expr::TruthTest(test) => Expr::TruthTest(TruthTest {
                expr: map.boxed(test.expr)?,
                ..test
            }),
            Expr::Not(inner) => Expr::Not(map.boxed(inner)?),
            Expr::IsNull(inner) => Expr::IsNull(map.boxed(inner)?),
            Expr::IsNotNull(inner) => Expr::IsNotNull(map.boxed(inner)?),
            Expr::BinaryExpr(binary) => {
                let left = map.boxed(binary.left)?;
                Expr::BinaryExpr(BinaryExpr::new(left, binary.op, map.boxed(binary.right)?))
            }
            Expr::Like(like) => Expr::Like(Like {
                expr: map.boxed(like.expr)?,
                pattern: map.boxed(like.pattern)?,
                ..like
            }),
            Expr::Case(case) => Expr::Case(map_case(case, map)?),
            Expr::Let(kept) => Expr::Let(map_let(kept, map)?),
            Expr::Fold(fold) => Expr::Fold(map_fold(fold, map)?),
            Expr::ScalarFunction(call) => Expr::ScalarFunction(FunctionCall {
                args: map.all(call.args)?,
                ..call
            }),
            Expr::InList(list) => Expr::InList(InList {
                expr: map.boxed(list.expr)?,
                list: map.all(list.list)?,
                ..list
            }),
            Expr::AggregateFunction(call) => Expr::AggregateFunction(AggregateFunction {
                params: AggregateParams {
                    args: map.all(call.params.args)?,
                    filter: call.params.filter.map(|filter| map.boxed(filter)).transpose()?,
                    order_by: map_keys(call.params.order_by, map)?,
                    ..call.params
                },
                ..call
            }),
            Expr::WindowFunction(call) => Expr::WindowFunction(Box::new(map_window(*call, map)?)),
            Expr::GroupingSets(sets) => {
                let sets = sets.into_iter().map(|set| map.all(set));
                Expr::GroupingSets(sets.collect::<Result<_>>()?)
            }
        };
        Ok(Transformed::new(mapped, map.transformed, map.tnr))
    }

    /// Each column that it reads.
    pub fn column_refs(&self) -> HashSet<&Column> {
        let mut columns = HashSet::new();
        self.each_column(&mut |column| {
            columns.insert(column);
        });
        columns
    }

    /// Calls `visit` with every column that it reads.
    pub fn each_column<'n>(&'n self, visit: &mut dyn FnMut(&'n Column)) {
        // No step of it fails.
        let _ = self.apply(|expr| {
            if let Expr::Column(column) = expr {
                visit(column);
            }
            Ok(TreeNodeRecursion::Continue)
        });
    }

    /// Whether it reads a column.
    pub fn any_column_refs(&self) -> bool {
        self.has(|expr| matches!(expr, Expr::Column(_)))
    }

    /// Whether it refers to the rows around the query that it is in.
    pub fn contains_outer(&self) -> bool {
        self.has(|expr| matches!(expr, Expr::OuterReferenceColumn(..)))
    }

    /// Whether there is such a part of it.
    pub fn has(&self, is_it: impl Fn(&Expr) -> bool) -> bool {
        self.exists(|expr| Ok(is_it(expr))).unwrap_or(false)
    }

    /// Whether it may be another value each time it is asked.
    pub fn is_volatile(&self) -> bool {
        self.has(Expr::is_volatile_node)
    }

    /// Whether it runs a function of a user's, what it is made of aside.
    pub fn is_routine_call(&self) -> bool {
        matches!(self, Expr::ScalarFunction(call) if call.func.routine().is_some())
    }

    /// Whether that function may write, and see what was written.
    pub fn is_writing_call(&self) -> bool {
        self.is_routine_call() && self.is_volatile_node()
    }

    /// Whether it runs a function that does more than answer, what it is made of aside.
    pub fn is_acting_call(&self) -> bool {
        matches!(self, Expr::ScalarFunction(call) if call.func.acts())
    }

    /// The same, what it is made of aside.
    pub fn is_volatile_node(&self) -> bool {
        matches!(self, Expr::ScalarFunction(call) if call.func.volatility() == Volatility::Volatile)
    }
}

fn map_case(case: Case, map: &mut Mapping<'_, Expr>) -> Result<Case> {
    let expr = case.expr.map(|operand| map.boxed(operand)).transpose()?;
    let branches = case.when_then_expr.into_iter();
    let branches = branches.map(|(when, then)| Ok((map.boxed(when)?, map.boxed(then)?)));
    Ok(Case {
        expr,
        when_then_expr: branches.collect::<Result<_>>()?,
        else_expr: case.else_expr.map(|otherwise| map.boxed(otherwise)).transpose()?,
    })
}

fn map_let(kept: Let, map: &mut Mapping<'_, Expr>) -> Result<Let> {
    Ok(Let {
        value: map.boxed(kept.value)?,
        body: map.boxed(kept.body)?,
        ..kept
    })
}

fn map_fold(fold: Fold, map: &mut Mapping<'_, Expr>) -> Result<Fold> {
    Ok(Fold {
        lists: map.all(fold.lists)?,
        initial: map.boxed(fold.initial)?,
        step: map.boxed(fold.step)?,
        ..fold
    })
}

fn map_keys(keys: Vec<OrderKey>, map: &mut Mapping<'_, Expr>) -> Result<Vec<OrderKey>> {
    let keys = keys.into_iter().map(|key| {
        Ok(OrderKey {
            expr: map.one(key.expr)?,
            ..key
        })
    });
    keys.collect()
}

fn map_window(call: WindowFunction, map: &mut Mapping<'_, Expr>) -> Result<WindowFunction> {
    let params = call.params;
    Ok(WindowFunction {
        fun: call.fun,
        params: WindowParams {
            args: map.all(params.args)?,
            partition_by: map.all(params.partition_by)?,
            order_by: map_keys(params.order_by, map)?,
            window_frame: params.window_frame.map(|part| map.one(part))?,
            filter: params.filter.map(|filter| map.boxed(filter)).transpose()?,
        },
    })
}
