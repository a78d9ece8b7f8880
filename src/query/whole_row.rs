//! Names that mean the whole row of a relation: `SELECT t FROM t`, `row_to_json(t)`, `count(t.*)`, here and in queries around.

use sqlparser::ast;

use super::binder::{Binder, Bound, Place, name_parts};
use super::coercion::null_of;
use super::expression::missing_from;
use super::operator::binary;
use super::scope::{ScopeColumn, ScopeRelation, capture};
use crate::tree::{Case, Expr, Operator};
use crate::{Error, Result};

/// The relation of this name, here or in a query around, and its columns as they are seen here.
fn relation_seen<'p>(
    schema: Option<&str>,
    name: &str,
    place: Place<'p>,
) -> Option<(&'p ScopeRelation, Vec<ScopeColumn>)> {
    if let Some(relation) = place.scope.get_relation(schema, name) {
        return Some((relation, relation.columns.clone()));
    }
    let nearest = place.outer?;
    let arounds = std::iter::successors(place.outer, |outer| outer.parent).enumerate();
    let mut found =
        arounds.filter_map(|(levels, around)| Some((levels, around.scope.get_relation(schema, name)?)));
    let (levels, relation) = found.next()?;
    let columns = relation.columns.iter().map(|column| ScopeColumn {
        name: column.name.clone(),
        bound: capture(nearest, levels, &column.bound),
    });
    Some((relation, columns.collect()))
}

impl Binder<'_> {
    /// `t.*` where a value stands. Errors: 42P01.
    pub(super) fn row_of_wildcard(&mut self, name: &ast::ObjectName, place: Place<'_>) -> Result<Bound> {
        let mut parts = name_parts(name)?;
        let name = parts.pop().unwrap_or_default();
        match self.row_named(parts.pop().as_deref(), &name, place)? {
            Some(row) => Ok(row),
            None if self.variable_named(&name, place).is_some() => {
                self.identifier(&ast::Ident::with_quote('"', &name), place)
            }
            None => Err(missing_from(&name, place)),
        }
    }

    /// The columns of `t.*`: those of a relation, or of a variable that is a row. Errors: 42P01.
    pub(super) fn columns_behind(
        &mut self,
        name: &ast::ObjectName,
        place: Place<'_>,
    ) -> Result<Vec<(String, Bound)>> {
        let parts = name_parts(name)?;
        let (schema, relation) = match parts.as_slice() {
            [relation] => (None, relation),
            [schema, relation] | [_, schema, relation] => (Some(schema.as_str()), relation),
            _ => return Err(Error::unsupported(format!("the name {name}"), None)),
        };
        if let Some((_, columns)) = relation_seen(schema, relation, place) {
            let columns = columns.into_iter();
            return Ok(columns.map(|column| (column.name, column.bound)).collect());
        }
        match self.variable_named(relation, place) {
            Some(variable) => {
                let record = self.variable(variable)?;
                self.fields_of_record(&record)
            }
            None => Err(missing_from(relation, place)),
        }
    }

    /// The row of the relation of this name, here or in a query around.
    pub(super) fn row_named(
        &mut self,
        schema: Option<&str>,
        name: &str,
        place: Place<'_>,
    ) -> Result<Option<Bound>> {
        match relation_seen(schema, name, place) {
            Some((relation, columns)) => self.row_of(relation, columns).map(Some),
            None => Ok(None),
        }
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
        let named = relation.row_type.clone();
        let table = columns.first().and_then(|column| column.bound.origin);
        let origin = table.filter(|_| named.is_some()).map(|(oid, _)| (oid, 0));
        let columns = columns.into_iter().map(|column| (column.name, column.bound));
        let row = self.row_of_columns(columns.collect(), named)?;
        match is_missing {
            Some(is_missing) if relation.may_be_missing => {
                let branch = (Box::new(is_missing), Box::new(null_of(&row.ty)?));
                let case = Case::new(None, vec![branch], Some(Box::new(row.expr)));
                Ok(Bound {
                    origin,
                    ..Bound::new(Expr::Case(case), row.ty)
                })
            }
            _ => Ok(Bound { origin, ..row }),
        }
    }
}

/// Whether the name is a column's, here or in a query around: then it is no row.
pub(super) fn is_column(name: &str, place: Place<'_>) -> Result<bool> {
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
