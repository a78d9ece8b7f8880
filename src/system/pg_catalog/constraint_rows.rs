//! Rows of the catalogs that tell of constraints: `pg_constraint`, and information_schema's.

use super::relation_rows::{Constants, RelationRows, Source, array_or_null, boolean, text};
use crate::parse::quoting::quote_ident;
use crate::system::catalog_version::objects::{UserColumn, UserRelation};

/// What all rows of `pg_constraint` have in common.
pub(super) const CONSTRAINT: Constants = &[
    ("condeferrable", "f"),
    ("condeferred", "f"),
    ("convalidated", "t"),
    ("contypid", "0"),
    ("conparentid", "0"),
    ("confrelid", "0"),
    ("confupdtype", " "),
    ("confdeltype", " "),
    ("confmatchtype", " "),
    ("conislocal", "t"),
    ("coninhcount", "0"),
    ("connoinherit", "t"),
];

/// `pg_constraint`.
pub(super) fn constraints(source: &Source<'_>, rows: &mut RelationRows) {
    for relation in &source.objects.relations {
        for index in relation.indexes.iter().filter(|index| index.constraint) {
            rows.push(&[
                ("oid", text(index.oid)),
                ("conname", text(&index.name)),
                ("connamespace", text(relation.namespace)),
                ("contype", text(if index.primary { 'p' } else { 'u' })),
                ("conrelid", text(relation.oid)),
                ("conindid", text(index.oid)),
                (
                    "conkey",
                    array_or_null(index.keys.iter().map(|key| key.attribute)),
                ),
            ]);
        }
        for constraint in &relation.constraints {
            rows.push(&[
                ("oid", text(constraint.oid)),
                ("conname", text(&constraint.name)),
                ("connamespace", text(relation.namespace)),
                ("contype", text('c')),
                ("conrelid", text(relation.oid)),
                ("conindid", text(0)),
                ("conkey", array_or_null(&constraint.columns)),
                ("convalidated", boolean(constraint.valid)),
                ("connoinherit", boolean(constraint.no_inherit)),
                ("conbin", text(&constraint.condition)),
            ]);
        }
    }
}

/// What all rows of `table_constraints` have in common.
pub(super) const STANDARD_CONSTRAINT: Constants = &[
    ("is_deferrable", "NO"),
    ("initially_deferred", "NO"),
    ("enforced", "YES"),
];

/// `table_constraints`.
pub(super) fn table_constraints(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for relation in &source.objects.relations {
        for index in relation.indexes.iter().filter(|index| index.constraint) {
            rows.push(&[
                ("constraint_catalog", database.clone()),
                ("constraint_schema", text(&relation.schema)),
                ("constraint_name", text(&index.name)),
                ("table_catalog", database.clone()),
                ("table_schema", text(&relation.schema)),
                ("table_name", text(&relation.name)),
                (
                    "constraint_type",
                    text(if index.primary { "PRIMARY KEY" } else { "UNIQUE" }),
                ),
                ("nulls_distinct", (!index.primary).then(|| "YES".to_string())),
            ]);
        }
        let checks = relation.constraints.iter();
        let checks = checks.map(|constraint| constraint.name.clone());
        for name in checks.chain(not_null_constraints(relation).map(|(name, _)| name)) {
            rows.push(&[
                ("constraint_catalog", database.clone()),
                ("constraint_schema", text(&relation.schema)),
                ("constraint_name", text(name)),
                ("table_catalog", database.clone()),
                ("table_schema", text(&relation.schema)),
                ("table_name", text(&relation.name)),
                ("constraint_type", text("CHECK")),
            ]);
        }
    }
}

/// The standard counts NOT NULL as a check constraint; PostgreSQL names it by oids. Names, and columns.
fn not_null_constraints(relation: &UserRelation) -> impl Iterator<Item = (String, &UserColumn)> {
    let columns = relation.columns.iter().enumerate();
    let columns = columns.filter(|(_, column)| relation.kind == 'r' && column.not_null);
    columns.map(|(position, column)| {
        let (schema, table) = (relation.namespace, relation.oid);
        (format!("{schema}_{table}_{}_not_null", position + 1), column)
    })
}

/// `check_constraints`.
pub(super) fn check_constraints(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for relation in &source.objects.relations {
        let checks = relation.constraints.iter();
        let checks = checks.map(|constraint| {
            let clause = constraint.definition.trim_start_matches("CHECK ");
            (constraint.name.clone(), clause.to_string())
        });
        let not_null = not_null_constraints(relation);
        let not_null =
            not_null.map(|(name, column)| (name, format!("{} IS NOT NULL", quote_ident(&column.name))));
        for (name, clause) in checks.chain(not_null) {
            rows.push(&[
                ("constraint_catalog", database.clone()),
                ("constraint_schema", text(&relation.schema)),
                ("constraint_name", text(name)),
                ("check_clause", text(clause)),
            ]);
        }
    }
}

/// Calls for every column of every key constraint: relation, constraint, column, position from 1.
fn each_key_column(source: &Source<'_>, mut each: impl FnMut(&UserRelation, &str, &UserColumn, usize)) {
    for relation in &source.objects.relations {
        for index in relation.indexes.iter().filter(|index| index.constraint) {
            for (position, column) in relation.index_columns(index).enumerate() {
                each(relation, &index.name, column, position + 1);
            }
        }
    }
}

/// `key_column_usage`.
pub(super) fn key_column_usage(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    each_key_column(source, |relation, constraint, column, position| {
        rows.push(&[
            ("constraint_catalog", database.clone()),
            ("constraint_schema", text(&relation.schema)),
            ("constraint_name", text(constraint)),
            ("table_catalog", database.clone()),
            ("table_schema", text(&relation.schema)),
            ("table_name", text(&relation.name)),
            ("column_name", text(&column.name)),
            ("ordinal_position", text(position)),
        ]);
    });
}

/// `constraint_column_usage`.
pub(super) fn constraint_column_usage(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    let mut push = |relation: &UserRelation, constraint: &str, column: &UserColumn| {
        rows.push(&[
            ("table_catalog", database.clone()),
            ("table_schema", text(&relation.schema)),
            ("table_name", text(&relation.name)),
            ("column_name", text(&column.name)),
            ("constraint_catalog", database.clone()),
            ("constraint_schema", text(&relation.schema)),
            ("constraint_name", text(constraint)),
        ]);
    };
    each_key_column(source, |relation, constraint, column, _| {
        push(relation, constraint, column);
    });
    for relation in &source.objects.relations {
        for constraint in &relation.constraints {
            let columns = constraint.columns.iter();
            for column in columns.filter_map(|attribute| relation.columns.get(attribute - 1)) {
                push(relation, &constraint.name, column);
            }
        }
    }
}

/// `constraint_table_usage`: keys alone.
pub(super) fn constraint_table_usage(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for relation in &source.objects.relations {
        for index in relation.indexes.iter().filter(|index| index.constraint) {
            rows.push(&[
                ("table_catalog", database.clone()),
                ("table_schema", text(&relation.schema)),
                ("table_name", text(&relation.name)),
                ("constraint_catalog", database.clone()),
                ("constraint_schema", text(&relation.schema)),
                ("constraint_name", text(&index.name)),
            ]);
        }
    }
}
