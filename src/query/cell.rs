//! The values that a write states (VALUES, DEFAULT, constants of SET), bound: constants folded, what depends on the run made
//! ready to be evaluated, and one query for those that take a plan.

use sqlparser::ast;

use super::binder::{Binder, Bound, Clause, Place};
use super::constant::{Constant, constant_of, literal};
use super::scope::Scope;
use super::select::Kept;
use super::select_item::BoundItem;
use super::{PlannedQuery, planned, without_panic};
use crate::Result;
use crate::operators::computed::Computed;
use crate::system::StatementContext;
use crate::tree::{Expr, Placeholder, Plan, RowSchema, fold_constants};
use crate::types::SqlType;

/// One value of a write.
#[derive(Debug)]
pub(crate) enum BoundCell {
    /// It is the same in every run.
    Constant(Constant),
    /// It depends on parameters, the time, chance.
    Computed(Computed, SqlType),
    /// The next column of [`BoundCells::query`].
    Queried(SqlType),
}

/// The values of a write.
#[derive(Debug)]
pub(crate) struct BoundCells {
    /// The values.
    pub(crate) cells: Vec<BoundCell>,
    /// What gives the one row of those that take a plan.
    pub(crate) query: Option<PlannedQuery>,
}

/// Binds the values. `parameters`: the types that are known, and what is found out of the others. Errors: as
/// [`super::plan_query`].
pub(crate) fn bind_cells(
    ctx: &StatementContext,
    exprs: &[&ast::Expr],
    clause: Clause,
    parameters: &mut Vec<Option<SqlType>>,
) -> Result<BoundCells> {
    bind_cells_by(Binder::new(ctx, parameters), exprs, clause, parameters)
}

fn bind_cells_by(
    mut binder: Binder<'_>,
    exprs: &[&ast::Expr],
    clause: Clause,
    parameters: &mut Vec<Option<SqlType>>,
) -> Result<BoundCells> {
    let mut cells = Vec::with_capacity(exprs.len());
    let mut queried = Vec::new();
    let no_columns = RowSchema::empty();
    for expr in exprs {
        if let Some(constant) = literal(expr)? {
            cells.push(BoundCell::Constant(constant));
            continue;
        }
        let bound = binder.cell(expr, clause);
        let bound = bound.map_err(|error| binder.at_its_place(error))?;
        cells.push(match constant_of(&bound)? {
            Some(constant) => BoundCell::Constant(constant),
            None => match Computed::new(&bound.expr, &no_columns).filter(|_| !looks_up(&bound.expr)) {
                Some(computed) => BoundCell::Computed(computed, bound.ty),
                None => {
                    let ty = bound.ty.clone();
                    queried.push(BoundItem {
                        name: "value".to_string(),
                        bound,
                    });
                    BoundCell::Queried(ty)
                }
            },
        });
    }
    parameters.clone_from(&binder.parameters);
    let query = match queried.is_empty() {
        true => None,
        false => Some(one_row(binder, queried)?),
    };
    Ok(BoundCells { cells, query })
}

/// Whether a parameter in it is the name of an object, which each run looks up.
fn looks_up(expr: &Expr) -> bool {
    expr.has(|part| match part {
        Expr::Placeholder(Placeholder {
            field: Some(field), ..
        }) => SqlType::from_field(field).object_kind().is_some(),
        _ => false,
    })
}

/// The constant that an expression is. `None`: it is none, it depends on the run, or it fails, which evaluating it tells.
/// Errors: 22003 for a number that nothing holds.
pub(crate) fn constant(ctx: &StatementContext, expr: &ast::Expr) -> Result<Option<Constant>> {
    constant_by(Binder::new(ctx, &[]), expr)
}

/// The same of what a definition stores.
pub(crate) fn stored_constant(ctx: &StatementContext, expr: &ast::Expr) -> Result<Option<Constant>> {
    constant_by(Binder::of_definition(ctx, &[]), expr)
}

fn constant_by(binder: Binder<'_>, expr: &ast::Expr) -> Result<Option<Constant>> {
    if let Some(constant) = literal(expr)? {
        return Ok(Some(constant));
    }
    let bound = bind_cells_by(binder, &[expr], Clause::Default, &mut Vec::new());
    Ok(match bound.map(|bound| bound.cells.into_iter().next()) {
        Ok(Some(BoundCell::Constant(constant))) => Some(constant),
        _ => None,
    })
}

/// The query of one row with these columns.
pub(super) fn one_row(mut binder: Binder<'_>, items: Vec<BoundItem>) -> Result<PlannedQuery> {
    without_panic(|| {
        let plan = Plan::one_row();
        let exprs = items.iter().map(|item| item.bound.expr.clone()).collect();
        let (plan, exprs) = binder.place_subqueries(plan, exprs, false)?;
        let visible = items.len();
        let bound = binder.project(plan, items, exprs, visible, Vec::new(), Kept::all())?;
        planned(binder, bound, SqlType::Unknown)
    })
}

impl Binder<'_> {
    /// One value, folded as far as it can be.
    fn cell(&mut self, expr: &ast::Expr, clause: Clause) -> Result<Bound> {
        let nothing = Scope::default();
        let place = Place {
            scope: &nothing,
            outer: None,
            clause,
            windows: &[],
        };
        let mut bound = self.expression(expr, place)?;
        if matches!(bound.expr, Expr::Placeholder(_)) {
            bound = self.with_decided_type(bound)?;
        }
        // What fails does so when it is evaluated.
        if let Ok(folded) = fold_constants(bound.expr.clone()) {
            bound.expr = folded;
        }
        Ok(bound)
    }
}
