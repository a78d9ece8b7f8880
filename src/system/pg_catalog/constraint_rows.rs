//! Rows of the catalogs that tell of constraints: `pg_constraint`, and information_schema's.

use super::index_rows::operator_of;
use super::object_class::{CLASS_CLASS, CONSTRAINT_CLASS};
use super::relation_rows::{Constants, RelationRows, Source, array_or_null, boolean, text};
use super::type_rows::domain_checks;
use crate::catalog::{Deferral, ReferentialAction};
use crate::parse::quoting::quote_ident;
use crate::system::catalog_version::cells::Cell;
use crate::system::catalog_version::constraints::{
    ConstraintKind, UserConstraint, UserForeignKey, action_words,
};
use crate::system::catalog_version::objects::{Found, UserColumn, UserIndex, UserRelation};

/// What all rows of `pg_constraint` have in common.
pub(super) const CONSTRAINT: Constants = &[
    ("condeferrable", "f"),
    ("condeferred", "f"),
    ("convalidated", "t"),
    ("contypid", "0"),
    ("confrelid", "0"),
    ("confupdtype", " "),
    ("confdeltype", " "),
    ("confmatchtype", " "),
    ("connoinherit", "t"),
];

fn kind_of(index: &UserIndex) -> char {
    match (index.primary, &index.exclusion) {
        (true, _) => 'p',
        (false, Some(_)) => 'x',
        (false, None) => 'u',
    }
}

/// The operators of an exclusion constraint.
fn operators(relation: &UserRelation, index: &UserIndex) -> Cell {
    let exclusion = index.exclusion.as_ref()?;
    let columns = relation.index_columns(index).zip(&exclusion.operators);
    array_or_null(columns.map(|(column, operator)| operator_of(operator.symbol(), &column.ty)))
}

/// `pg_constraint`.
pub(super) fn constraints(source: &Source<'_>, rows: &mut RelationRows) {
    for relation in &source.objects.relations {
        for index in relation.indexes.iter().filter(|index| index.constraint) {
            rows.push(&[
                ("oid", text(index.oid)),
                ("conname", text(&index.name)),
                ("connamespace", text(relation.namespace)),
                ("contype", text(kind_of(index))),
                ("conrelid", text(relation.oid)),
                ("conindid", text(index.oid)),
                ("condeferrable", boolean(index.deferral.is_some())),
                ("condeferred", boolean(index.deferral == Some(Deferral::Deferred))),
                (
                    "conkey",
                    array_or_null(index.keys.iter().map(|key| key.attribute)),
                ),
                ("conexclop", operators(relation, index)),
                ("conparentid", text(index.parent.unwrap_or_default())),
                ("conislocal", boolean(index.parent.is_none())),
                ("coninhcount", text(i32::from(index.parent.is_some()))),
                ("connoinherit", boolean(index.parent.is_none())),
            ]);
        }
        let above = relation
            .partition
            .as_ref()
            .and_then(|of| source.objects.table(of.parent));
        for constraint in &relation.constraints {
            let above = above.and_then(|above| inherited_from(&above.constraints, constraint));
            let parent = above
                .filter(|above| above.foreign_key().is_some())
                .map(|above| above.oid);
            let mut cells = vec![
                ("oid", text(constraint.oid)),
                ("conname", text(&constraint.name)),
                ("connamespace", text(relation.namespace)),
                ("conrelid", text(relation.oid)),
                ("conkey", array_or_null(&constraint.columns)),
                ("convalidated", boolean(constraint.valid)),
                ("conparentid", text(parent.unwrap_or_default())),
                ("conislocal", boolean(above.is_none())),
                ("coninhcount", text(i32::from(above.is_some()))),
            ];
            cells.extend(cells_of_kind(constraint));
            if constraint.foreign_key().is_some() {
                let inherits = above.is_some() || relation.partitioning.is_some();
                cells.push(("connoinherit", boolean(!inherits)));
            }
            rows.push(&cells);
        }
    }
    constraint_triggers(source, rows);
    for (namespace, ty, check) in domain_checks(source) {
        rows.push(&[
            ("oid", text(check.oid)),
            ("conname", text(&check.name)),
            ("connamespace", text(namespace)),
            ("contype", text('c')),
            ("conrelid", text(0)),
            ("contypid", text(ty.oid)),
            ("conindid", text(0)),
            ("convalidated", boolean(!check.not_valid)),
            ("connoinherit", boolean(false)),
            ("conparentid", text(0)),
            ("conislocal", boolean(true)),
            ("coninhcount", text(0)),
            ("conbin", text(&check.text)),
        ]);
    }
}

/// Of the constraints of the table above the one that a partition has this one of. A foreign key may have been merged under another name.
fn inherited_from<'a>(above: &'a [UserConstraint], own: &UserConstraint) -> Option<&'a UserConstraint> {
    let named = above.iter().find(|above| above.name == own.name);
    let of_foreign_key = |above: &&UserConstraint| {
        own.foreign_key().is_some() && above.foreign_key().is_some() && above.definition == own.definition
    };
    named.or_else(|| above.iter().find(of_foreign_key))
}

fn constraint_triggers(source: &Source<'_>, rows: &mut RelationRows) {
    for relation in &source.objects.relations {
        for trigger in &relation.triggers {
            let Some(constraint) = trigger.def.constraint else {
                continue;
            };
            rows.push(&[
                ("oid", text(trigger.def.oid)),
                ("conname", text(&trigger.def.name)),
                ("connamespace", text(relation.namespace)),
                ("contype", text('t')),
                ("conrelid", text(relation.oid)),
                ("conindid", text(0)),
                ("condeferrable", boolean(constraint.deferrable)),
                ("condeferred", boolean(constraint.initially_deferred)),
                ("convalidated", boolean(true)),
                ("conparentid", text(0)),
                ("conislocal", boolean(true)),
                ("coninhcount", text(0)),
            ]);
        }
    }
}

/// What constraints need, in `pg_depend`: their columns, and of foreign keys what these refer to, with the index by which it is found.
/// Parallel restores go by it.
pub(super) fn dependencies(source: &Source<'_>, rows: &mut RelationRows) {
    for relation in &source.objects.relations {
        let table = (CLASS_CLASS, relation.oid);
        for index in relation.indexes.iter().filter(|index| index.constraint) {
            let constraint = (CONSTRAINT_CLASS, index.oid);
            rows.depend((CLASS_CLASS, index.oid), constraint, 0, "i");
            for key in &index.keys {
                rows.depend(constraint, table, key.attribute, "a");
            }
        }
        for constraint in &relation.constraints {
            let own = (CONSTRAINT_CLASS, constraint.oid);
            for column in &constraint.columns {
                rows.depend(own, table, column, "a");
            }
            match &constraint.kind {
                ConstraintKind::Check { .. } => {
                    for column in &constraint.columns {
                        rows.depend(own, table, column, "n");
                    }
                }
                ConstraintKind::ForeignKey(key) => {
                    for column in &key.columns {
                        rows.depend(own, (CLASS_CLASS, key.table), column, "n");
                    }
                    rows.depend(own, (CLASS_CLASS, key.index), 0, "n");
                }
            }
        }
    }
}

fn cells_of_kind(constraint: &UserConstraint) -> Vec<(&'static str, Cell)> {
    match &constraint.kind {
        ConstraintKind::Check {
            condition,
            no_inherit,
        } => vec![
            ("contype", text('c')),
            ("conindid", text(0)),
            ("connoinherit", boolean(*no_inherit)),
            ("conbin", text(condition)),
        ],
        ConstraintKind::ForeignKey(key) => vec![
            ("contype", text('f')),
            ("conindid", text(key.index)),
            ("confrelid", text(key.table)),
            ("confkey", array_or_null(&key.columns)),
            ("confupdtype", text(action_letter(key.on_update))),
            ("confdeltype", text(action_letter(key.on_delete))),
            ("confdelsetcols", array_or_null(&key.set_columns)),
            ("confmatchtype", text(if key.match_full { 'f' } else { 's' })),
            ("condeferrable", boolean(key.deferrable)),
            ("condeferred", boolean(key.initially_deferred)),
        ],
    }
}

fn action_letter(action: ReferentialAction) -> char {
    match action {
        ReferentialAction::NoAction => 'a',
        ReferentialAction::Restrict => 'r',
        ReferentialAction::Cascade => 'c',
        ReferentialAction::SetNull => 'n',
        ReferentialAction::SetDefault => 'd',
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
    let yes_or_no = |is: bool| text(if is { "YES" } else { "NO" });
    for relation in source.standard_relations() {
        for index in relation.standard_keys() {
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
                ("is_deferrable", yes_or_no(index.deferral.is_some())),
                (
                    "initially_deferred",
                    yes_or_no(index.deferral == Some(Deferral::Deferred)),
                ),
            ]);
        }
        let own = relation
            .constraints
            .iter()
            .map(|constraint| match &constraint.kind {
                ConstraintKind::Check { .. } => (constraint.name.clone(), "CHECK", (false, false)),
                ConstraintKind::ForeignKey(key) => {
                    let deferral = (key.deferrable, key.initially_deferred);
                    (constraint.name.clone(), "FOREIGN KEY", deferral)
                }
            });
        let not_null = not_null_constraints(relation).map(|(name, _)| (name, "CHECK", (false, false)));
        for (name, kind, (deferrable, initially_deferred)) in own.chain(not_null) {
            rows.push(&[
                ("constraint_catalog", database.clone()),
                ("constraint_schema", text(&relation.schema)),
                ("constraint_name", text(name)),
                ("table_catalog", database.clone()),
                ("table_schema", text(&relation.schema)),
                ("table_name", text(&relation.name)),
                ("constraint_type", text(kind)),
                ("is_deferrable", yes_or_no(deferrable)),
                ("initially_deferred", yes_or_no(initially_deferred)),
            ]);
        }
    }
}

/// The standard counts NOT NULL as a check constraint; PostgreSQL names it by oids. Names, and columns.
fn not_null_constraints(relation: &UserRelation) -> impl Iterator<Item = (String, &UserColumn)> {
    let columns = relation.columns.iter().enumerate();
    let columns = columns.filter(|(_, column)| relation.is_table() && column.not_null);
    columns.map(|(position, column)| {
        let (schema, table) = (relation.namespace, relation.oid);
        (format!("{schema}_{table}_{}_not_null", position + 1), column)
    })
}

/// `check_constraints`.
pub(super) fn check_constraints(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for relation in source.standard_relations() {
        let checks = relation.constraints.iter();
        let checks = checks.filter(|constraint| constraint.foreign_key().is_none());
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
    domain_conditions(source, rows);
}

/// The conditions of domains among `check_constraints`.
fn domain_conditions(source: &Source<'_>, rows: &mut RelationRows) {
    for (_, ty, check) in domain_checks(source) {
        let clause = format!("({})", check.text);
        rows.push(&[
            ("constraint_catalog", text(&source.ctx.database)),
            ("constraint_schema", text(&ty.schema)),
            ("constraint_name", text(&check.name)),
            ("check_clause", text(clause)),
        ]);
    }
}

/// Calls for every column of every key constraint: relation, constraint, column, position from 1.
fn each_key_column(source: &Source<'_>, mut each: impl FnMut(&UserRelation, &str, &UserColumn, usize)) {
    for relation in source.standard_relations() {
        for index in relation.standard_keys() {
            for (position, column) in relation.index_columns(index).enumerate() {
                each(relation, &index.name, column, position + 1);
            }
        }
    }
}

/// `key_column_usage`.
pub(super) fn key_column_usage(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    let mut push = |relation: &UserRelation, constraint: &str, column: &UserColumn, place: (usize, Cell)| {
        rows.push(&[
            ("constraint_catalog", database.clone()),
            ("constraint_schema", text(&relation.schema)),
            ("constraint_name", text(constraint)),
            ("table_catalog", database.clone()),
            ("table_schema", text(&relation.schema)),
            ("table_name", text(&relation.name)),
            ("column_name", text(&column.name)),
            ("ordinal_position", text(place.0)),
            ("position_in_unique_constraint", place.1),
        ]);
    };
    each_key_column(source, |relation, constraint, column, position| {
        push(relation, constraint, column, (position, None));
    });
    for relation in source.standard_relations() {
        for (constraint, key) in relation.foreign_keys() {
            for (at, attribute) in constraint.columns.iter().enumerate() {
                let Some(column) = relation.columns.get(attribute - 1) else {
                    continue;
                };
                let referenced = key.columns.get(at).copied();
                let in_key = referenced.and_then(|referenced| place_in_key(source, key, referenced));
                push(
                    relation,
                    &constraint.name,
                    column,
                    (at + 1, in_key.and_then(text)),
                );
            }
        }
    }
}

/// The place, from 1, of a column in the key that a foreign key refers to.
fn place_in_key(source: &Source<'_>, key: &UserForeignKey, attribute: usize) -> Option<usize> {
    let (_, index) = referenced_index(source, key)?;
    let place = index.keys.iter().position(|part| part.attribute == attribute);
    place.map(|place| place + 1)
}

fn referenced_index<'a>(
    source: &Source<'a>,
    key: &UserForeignKey,
) -> Option<(&'a UserRelation, &'a UserIndex)> {
    match source.objects.find(key.index)? {
        Found::Index(relation, index) => Some((relation, index)),
        Found::Relation(_) => None,
    }
}

/// `referential_constraints`.
pub(super) fn referential_constraints(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for relation in source.standard_relations() {
        for (constraint, key) in relation.foreign_keys() {
            // A key of CREATE UNIQUE INDEX is no constraint.
            let unique = referenced_index(source, key).filter(|(_, index)| index.constraint);
            rows.push(&[
                ("constraint_catalog", database.clone()),
                ("constraint_schema", text(&relation.schema)),
                ("constraint_name", text(&constraint.name)),
                ("unique_constraint_catalog", unique.and_then(|_| database.clone())),
                (
                    "unique_constraint_schema",
                    unique.and_then(|(of, _)| text(&of.schema)),
                ),
                (
                    "unique_constraint_name",
                    unique.and_then(|(_, index)| text(&index.name)),
                ),
                ("match_option", text(if key.match_full { "FULL" } else { "NONE" })),
                ("update_rule", text(action_words(key.on_update))),
                ("delete_rule", text(action_words(key.on_delete))),
            ]);
        }
    }
}

/// `constraint_column_usage`.
pub(super) fn constraint_column_usage(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    let mut push = |(relation, schema): (&UserRelation, &str), constraint: &str, column: &UserColumn| {
        rows.push(&[
            ("table_catalog", database.clone()),
            ("table_schema", text(&relation.schema)),
            ("table_name", text(&relation.name)),
            ("column_name", text(&column.name)),
            ("constraint_catalog", database.clone()),
            ("constraint_schema", text(schema)),
            ("constraint_name", text(constraint)),
        ]);
    };
    each_key_column(source, |relation, constraint, column, _| {
        push((relation, &relation.schema), constraint, column);
    });
    for relation in source.standard_relations() {
        for constraint in &relation.constraints {
            // A foreign key uses what it refers to.
            let (of, columns) = match constraint.foreign_key() {
                Some(key) => (source.objects.table(key.table), &key.columns),
                None => (Some(relation), &constraint.columns),
            };
            let Some(of) = of else { continue };
            for column in columns
                .iter()
                .filter_map(|attribute| of.columns.get(attribute - 1))
            {
                push((of, &relation.schema), &constraint.name, column);
            }
        }
    }
}

/// `constraint_table_usage`: keys, and what foreign keys refer to.
pub(super) fn constraint_table_usage(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for relation in source.standard_relations() {
        for index in relation.standard_keys() {
            rows.push(&[
                ("table_catalog", database.clone()),
                ("table_schema", text(&relation.schema)),
                ("table_name", text(&relation.name)),
                ("constraint_catalog", database.clone()),
                ("constraint_schema", text(&relation.schema)),
                ("constraint_name", text(&index.name)),
            ]);
        }
        for (constraint, key) in relation.foreign_keys() {
            let Some(of) = source.objects.table(key.table) else {
                continue;
            };
            rows.push(&[
                ("table_catalog", database.clone()),
                ("table_schema", text(&of.schema)),
                ("table_name", text(&of.name)),
                ("constraint_catalog", database.clone()),
                ("constraint_schema", text(&relation.schema)),
                ("constraint_name", text(&constraint.name)),
            ]);
        }
    }
}
