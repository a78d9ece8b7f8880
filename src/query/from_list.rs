//! The FROM list: which items see which, and how they are joined. `from` binds each.

use sqlparser::ast;

use super::binder::Binder;
use super::from_item::{Beside, FromItem};
use super::join::cross_join;
use super::scope::{Outer, Scope};
use super::table_function::table_function;
use crate::tree::Plan;
use crate::{Error, Result};

impl Binder<'_> {
    /// Binds the FROM list; without one, a plan of one row without columns.
    pub(super) fn from(
        &mut self,
        from: &[ast::TableWithJoins],
        outer: Option<&Outer<'_>>,
    ) -> Result<(Plan, Scope)> {
        let mut joined: Option<FromItem> = None;
        for table in from {
            joined = Some(self.table_with_joins(joined, table, outer)?);
        }
        match joined {
            Some(item) => Ok((item.plan, item.scope)),
            None => Ok((Plan::one_row(), Scope::default())),
        }
    }

    /// `left, table JOIN …`: the joins bind tighter than the comma, but see what stands before it when lateral.
    pub(super) fn table_with_joins(
        &mut self,
        left: Option<FromItem>,
        table: &ast::TableWithJoins,
        outer: Option<&Outer<'_>>,
    ) -> Result<FromItem> {
        let Some(left) = left else {
            return self.joins(None, table, outer);
        };
        if table.joins.is_empty() {
            return self.cross(Some(left), &table.relation, outer);
        }
        let apart = self.joins(None, table, outer);
        let refused = match apart {
            Ok(item) => return cross_join(left, item),
            Err(refused) => out_of_reach(refused, &left.scope),
        };
        // A side that must stay keeps every pair with a row of what stands before it: the joins may as well begin with that.
        match may_see_before(table) {
            true => self.joins(Some(left), table, outer).map_err(|_| refused),
            false => Err(refused),
        }
    }

    /// `left CROSS JOIN table JOIN …`.
    fn joins(
        &mut self,
        left: Option<FromItem>,
        table: &ast::TableWithJoins,
        outer: Option<&Outer<'_>>,
    ) -> Result<FromItem> {
        let mut item = self.cross(left, &table.relation, outer)?;
        for join in &table.joins {
            item = self.one_level_deeper(|binder| binder.join(item, join, outer))?;
        }
        Ok(item)
    }

    /// The cross join of `left` and a FROM item that may be lateral.
    pub(super) fn cross(
        &mut self,
        left: Option<FromItem>,
        factor: &ast::TableFactor,
        outer: Option<&Outer<'_>>,
    ) -> Result<FromItem> {
        let Some(left) = left else {
            return self.factor(factor, outer);
        };
        match self.lateral(&left, factor, false, outer)? {
            Beside::Joined(item) => Ok(item),
            Beside::Apart(right) => cross_join(left, right),
            Beside::Unbound => {
                let right = self.factor_beside(&left, factor, outer)?;
                cross_join(left, right)
            }
        }
    }

    /// A FROM item that does not see the one before it.
    pub(super) fn factor_beside(
        &mut self,
        left: &FromItem,
        factor: &ast::TableFactor,
        outer: Option<&Outer<'_>>,
    ) -> Result<FromItem> {
        self.factor(factor, outer)
            .map_err(|error| out_of_reach(error, &left.scope))
    }
}

/// The same error, but for a relation that is missing where it is not seen: it stands before that.
fn out_of_reach(error: Error, before: &Scope) -> Error {
    error.out_of_reach(|name| before.relations.iter().any(|relation| relation.name == name))
}

/// Whether a joined item may see what stands before the comma: it is lateral, and no join gives rows of its right side without the left.
fn may_see_before(table: &ast::TableWithJoins) -> bool {
    use ast::JoinOperator as J;
    let keeps_left = |join: &ast::Join| {
        matches!(
            join.join_operator,
            J::Join(_) | J::Inner(_) | J::Left(_) | J::LeftOuter(_) | J::CrossJoin(_)
        )
    };
    let is_lateral = |factor: &ast::TableFactor| {
        matches!(factor, ast::TableFactor::Derived { lateral: true, .. }) || table_function(factor).is_some()
    };
    table.joins.iter().all(keeps_left) && table.joins.iter().any(|join| is_lateral(&join.relation))
}
