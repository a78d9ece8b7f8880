//! Rows of `pg_depend` about what the texts of definitions name: the functions and types of users in defaults, constraints, indexes and views, and
//! the columns that defaults are of. Dumps know by them in which order all can be made again.

use super::object_class::{
    CLASS_CLASS, CONSTRAINT_CLASS, DEFAULT_CLASS, REWRITE_CLASS, TYPE_CLASS, default_oid,
};
use super::relation_rows::{RelationRows, Source};
use super::shown_names::{objects_in_expression, objects_in_query};
use crate::system::catalog_version::constraints::ConstraintKind;
use crate::system::catalog_version::objects::{UserIndex, UserRelation};
use crate::system::catalog_version::user_column::form_of_node;

/// An object by its class and oid.
type ObjectAddress = (i64, i64);

/// See the file.
pub(super) fn dependencies(source: &Source<'_>, rows: &mut RelationRows) {
    for relation in &source.objects.relations {
        of_defaults(source, relation, rows);
        for constraint in &relation.constraints {
            if let ConstraintKind::Check { condition, .. } = &constraint.kind {
                let own = (CONSTRAINT_CLASS, constraint.oid);
                of_expression(source, own, condition, rows);
            }
        }
        for index in &relation.indexes {
            of_index(source, relation, index, rows);
        }
        if let Some(printed) = &relation.printed {
            for (class, oid) in objects_in_query(&printed.plain, source.objects) {
                rows.depend((REWRITE_CLASS, relation.oid), (class, oid), 0, "n");
            }
        }
    }
    for (_, ty) in &source.objects.types {
        let checks = ty.domain().map_or(&[][..], |domain| domain.checks.as_slice());
        for check in checks {
            let own = (CONSTRAINT_CLASS, i64::from(check.oid));
            rows.depend(own, (TYPE_CLASS, i64::from(ty.oid)), 0, "a");
            of_expression(source, own, &check.text, rows);
        }
    }
}

/// What the names in an expression mean.
fn of_expression(source: &Source<'_>, own: ObjectAddress, expression: &str, rows: &mut RelationRows) {
    for named in objects_in_expression(expression, source.objects) {
        rows.depend(own, named, 0, "n");
    }
}

/// Defaults go with their columns; a generated column is nothing without what it is computed of.
fn of_defaults(source: &Source<'_>, relation: &UserRelation, rows: &mut RelationRows) {
    for (at, column) in relation.columns.iter().enumerate() {
        let Some(node) = &column.default_node else {
            continue;
        };
        let own = (DEFAULT_CLASS, default_oid(relation.oid, at + 1));
        let kind = if column.is_generated { "i" } else { "a" };
        rows.depend(own, (CLASS_CLASS, relation.oid), at + 1, kind);
        of_expression(source, own, form_of_node(node, false), rows);
    }
}

/// An index that is no constraint's goes with its table's columns.
fn of_index(source: &Source<'_>, relation: &UserRelation, index: &UserIndex, rows: &mut RelationRows) {
    let own = (CLASS_CLASS, index.oid);
    if !index.constraint {
        let columns: Vec<usize> = index.attributes().filter(|attribute| *attribute > 0).collect();
        for column in &columns {
            rows.depend(own, (CLASS_CLASS, relation.oid), *column, "a");
        }
        if columns.len() < index.keys.len() {
            rows.depend(own, (CLASS_CLASS, relation.oid), 0, "a");
        }
    }
    let computed = index.keys.iter().filter_map(|key| key.computed.as_ref());
    for computed in computed {
        of_expression(source, own, &computed.text, rows);
    }
    if let Some((predicate, _)) = &index.predicate {
        of_expression(source, own, predicate, rows);
    }
}
