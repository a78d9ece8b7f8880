//! The items of GROUP BY: expressions, positions and names of the select list, and ROLLUP, CUBE and GROUPING SETS, these in one another, too.

use sqlparser::ast;

use super::binder::{Binder, Bound, Clause, Place, fault, fold, name_parts};
use super::expression::row_items;
use super::grouping::Grouped;
use super::outer_aggregate::has_aggregate;
use super::same_rows::{has_unlike_equals, refuse_unequal};
use super::select_item::{BoundItem, named, output_at};
use crate::error::StatementFault;
use crate::parse::group_distinct;
use crate::tree::Expr;
use crate::{Error, Result};

/// The select list that stands before GROUP BY, as it is bound and as it is written, and where both stand.
#[derive(Clone, Copy)]
struct Selected<'a> {
    items: &'a [BoundItem],
    projection: &'a [ast::SelectItem],
    place: Place<'a>,
}

/// What makes sets of keys of several.
#[derive(Clone, Copy)]
enum Grouping {
    Rollup,
    Cube,
    Sets,
}

impl Binder<'_> {
    /// GROUP BY: expressions, positions, output names. `None`: there is no such clause.
    pub(super) fn group_by(
        &mut self,
        select: &ast::Select,
        items: &[BoundItem],
        place: Place<'_>,
    ) -> Result<Option<Vec<Grouped>>> {
        let selected = Selected {
            items,
            projection: &select.projection,
            place,
        };
        let ast::GroupByExpr::Expressions(exprs, _) = &select.group_by else {
            return Err(Error::unsupported("GROUP BY ALL", None));
        };
        if exprs.is_empty() {
            return Ok(None);
        }
        let (exprs, is_distinct) = group_distinct::split(exprs);
        let mut groups = Vec::new();
        if is_distinct {
            groups.push(Grouped::Distinct);
        }
        for expr in exprs {
            match (written_sets(expr), row_items(expr)) {
                (Some((grouping, sets)), _) => groups.push(self.grouping_of(grouping, sets, selected)?),
                (None, Some(fields)) if !matches!(expr, ast::Expr::Nested(_)) => {
                    for field in fields {
                        groups.push(Grouped::By(self.group_item(field, selected)?));
                    }
                }
                _ => groups.push(Grouped::By(self.group_item(expr, selected)?)),
            }
        }
        Ok(Some(groups))
    }

    fn grouping_of(
        &mut self,
        grouping: Grouping,
        written: &[Vec<ast::Expr>],
        selected: Selected<'_>,
    ) -> Result<Grouped> {
        let mut sets = Vec::with_capacity(written.len());
        for set in written {
            if let (Grouping::Sets, [inner]) = (grouping, set.as_slice())
                && let Some((grouping, written)) = nested_sets(inner)
            {
                sets.extend(self.grouping_of(grouping, &written, selected)?.sets()?);
                continue;
            }
            let keys = set.iter().map(|expr| self.group_item(expr, selected));
            sets.push(keys.collect::<Result<_>>()?);
        }
        Ok(match grouping {
            Grouping::Rollup => Grouped::Rollup(sets),
            Grouping::Cube => Grouped::Cube(sets),
            Grouping::Sets => Grouped::Sets(sets),
        })
    }

    fn group_item(
        &mut self,
        expr: &ast::Expr,
        Selected {
            items,
            projection,
            place,
        }: Selected<'_>,
    ) -> Result<Expr> {
        if let Some(at) = output_at(expr, "GROUP BY", items.len())? {
            return self.group_output(&items[at]);
        }
        if let ast::Expr::Identifier(ident) = expr {
            let name = fold(ident);
            // A column of FROM goes before an output name here (the other way round in ORDER BY).
            if place.scope.get_column(&name)?.is_none()
                && projection.iter().any(|item| named(item, &name))
                && let Some(item) = items.iter().find(|item| item.name == name)
            {
                self.require_written(&name, &item.bound, place.scope)?;
                return self.group_output(item);
            }
        }
        let bound = self.expression(expr, place)?;
        let bound = self.with_decided_type(bound)?;
        self.group_key(bound)
    }

    /// What groups by an output column. Errors: 42803, 42P20.
    fn group_output(&mut self, item: &BoundItem) -> Result<Expr> {
        if item
            .bound
            .expr
            .has(|expr| matches!(expr, Expr::WindowFunction(_)))
        {
            return Err(fault(
                StatementFault::Windowing,
                "window functions are not allowed in GROUP BY",
            ));
        }
        self.group_key(item.bound.clone())
    }

    /// The expression to group by, its type noted. Errors: 42803.
    fn group_key(&mut self, bound: Bound) -> Result<Expr> {
        if has_aggregate(&bound.expr) {
            return Err(Clause::GroupBy.refuse_aggregate(""));
        }
        refuse_unequal(&bound.ty)?;
        if has_unlike_equals(&bound.ty) {
            self.group_types.push((bound.expr.clone(), bound.ty));
        }
        Ok(bound.expr)
    }
}

/// The sets that an item of GROUP BY writes.
fn written_sets(expr: &ast::Expr) -> Option<(Grouping, &[Vec<ast::Expr>])> {
    Some(match expr {
        ast::Expr::Rollup(sets) => (Grouping::Rollup, sets),
        ast::Expr::Cube(sets) => (Grouping::Cube, sets),
        ast::Expr::GroupingSets(sets) => (Grouping::Sets, sets),
        _ => return None,
    })
}

/// The same of an item of GROUPING SETS, where the parser takes ROLLUP and CUBE for functions.
fn nested_sets(expr: &ast::Expr) -> Option<(Grouping, Vec<Vec<ast::Expr>>)> {
    if let Some((grouping, sets)) = written_sets(expr) {
        return Some((grouping, sets.to_vec()));
    }
    let ast::Expr::Function(function) = expr else {
        return None;
    };
    let (ast::FunctionArguments::List(list), [part]) = (&function.args, function.name.0.as_slice()) else {
        return None;
    };
    if part.as_ident().is_none_or(|ident| ident.quote_style.is_some()) {
        return None;
    }
    let grouping = match name_parts(&function.name).ok()?.pop()?.as_str() {
        "rollup" => Grouping::Rollup,
        "cube" => Grouping::Cube,
        _ => return None,
    };
    let set_of = |argument: &ast::FunctionArg| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Tuple(keys))) => Some(keys.clone()),
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(key)) => Some(vec![key.clone()]),
        _ => None,
    };
    Some((grouping, list.args.iter().map(set_of).collect::<Option<_>>()?))
}
