//! Whole rows as arguments of what makes JSON of any value, or counts: `row_to_json(t)`, `json_agg(t.*)`,
//! `to_jsonb(ROW(1, 2))`, `count(t)`. Such a row is bound as its JSON, of the type `record`; nowhere else is a row a value.

use sqlparser::ast;

use super::binder::{Binder, Bound, Place, fold, name_parts};
use super::coercion::null_of;
use super::expression::row_items;
use super::operator::binary;
use super::scope::{ScopeColumn, ScopeRelation, capture};
use crate::tree::{Case, Expr, Operator};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// The functions that take whole rows.
const TAKERS: &[&str] = &[
    "row_to_json",
    "to_json",
    "to_jsonb",
    "json_agg",
    "jsonb_agg",
    "json_build_array",
    "jsonb_build_array",
    "json_build_object",
    "jsonb_build_object",
    "json_object_agg",
    "jsonb_object_agg",
    "count",
];

impl Binder<'_> {
    /// The argument when it is a whole row, and the function one that takes it.
    pub(super) fn whole_row(
        &mut self,
        function: &str,
        argument: &ast::FunctionArgExpr,
        place: Place<'_>,
    ) -> Result<Option<Bound>> {
        if !TAKERS.contains(&function) {
            return Ok(None);
        }
        match argument {
            ast::FunctionArgExpr::QualifiedWildcard(name) => {
                let name = name_parts(name)?.pop().unwrap_or_default();
                match self.row_named(&name, place)? {
                    None => Err(Error::MissingFrom {
                        relation: name,
                        hint: None,
                    }),
                    row => Ok(row),
                }
            }
            ast::FunctionArgExpr::Expr(ast::Expr::Identifier(name)) => {
                let name = fold(name);
                match is_column(&name, place)? {
                    true => Ok(None),
                    false => self.row_named(&name, place),
                }
            }
            ast::FunctionArgExpr::Expr(expr) => match row_items(expr) {
                Some(items) => self.row_of_items(&items, place).map(Some),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// The row of the relation of this name, here or in a query around.
    fn row_named(&mut self, name: &str, place: Place<'_>) -> Result<Option<Bound>> {
        if let Some(relation) = place.scope.get_relation(None, name) {
            let columns = relation.columns.clone();
            return self.row_of(relation, columns).map(Some);
        }
        let (mut outer, mut levels) = (place.outer, 0);
        while let (Some(around), Some(nearest)) = (outer, place.outer) {
            if let Some(relation) = around.scope.get_relation(None, name) {
                let columns = relation.columns.iter().map(|column| ScopeColumn {
                    name: column.name.clone(),
                    bound: capture(nearest, levels, &column.bound),
                });
                return self.row_of(relation, columns.collect()).map(Some);
            }
            outer = around.parent;
            levels += 1;
        }
        Ok(None)
    }

    /// The row of a relation whose columns are seen as these.
    fn row_of(&mut self, relation: &ScopeRelation, columns: Vec<ScopeColumn>) -> Result<Bound> {
        if let ([column], true) = (columns.as_slice(), relation.is_value) {
            return Ok(column.bound.clone());
        }
        // No column of a key is NULL but in a row that is not there; of other rows none of whose columns has a value is
        // taken for such, which is wrong for a subquery's row of nothing but NULLs.
        let told_by = match relation.key.as_slice() {
            [] => columns.iter().collect(),
            key => key.iter().filter_map(|at| columns.get(*at)).collect::<Vec<_>>(),
        };
        let are_null = told_by
            .into_iter()
            .map(|column| Expr::IsNull(Box::new(column.bound.expr.clone())));
        let is_missing = are_null.reduce(|all, one| binary(all, Operator::And, one));
        let row = self.row_object(columns)?;
        match is_missing {
            Some(is_missing) if relation.may_be_missing => {
                let branch = (Box::new(is_missing), Box::new(null_of(&row.ty)?));
                let case = Case::new(None, vec![branch], Some(Box::new(row.expr)));
                Ok(Bound::new(Expr::Case(case), row.ty))
            }
            _ => Ok(row),
        }
    }

    /// `ROW(a, b)`, whose columns are called f1, f2.
    fn row_of_items(&mut self, items: &[&ast::Expr], place: Place<'_>) -> Result<Bound> {
        let mut columns = Vec::with_capacity(items.len());
        for (number, item) in (1..).zip(items) {
            columns.push(ScopeColumn {
                name: format!("f{number}"),
                bound: self.expression(item, place)?,
            });
        }
        self.row_object(columns)
    }

    fn row_object(&mut self, columns: Vec<ScopeColumn>) -> Result<Bound> {
        let mut members = Vec::with_capacity(columns.len() * 2);
        for column in columns {
            members.push(Bound::constant(&Value::Text(column.name), SqlType::Text)?);
            members.push(column.bound);
        }
        self.resolve_function("row_object", members)
    }
}

/// Whether the name is a column's, here or in a query around: then it is no row.
fn is_column(name: &str, place: Place<'_>) -> Result<bool> {
    if place.scope.get_column(name)?.is_some() {
        return Ok(true);
    }
    let mut outer = place.outer;
    while let Some(around) = outer {
        if around.scope.get_column(name)?.is_some() {
            return Ok(true);
        }
        outer = around.parent;
    }
    Ok(false)
}
