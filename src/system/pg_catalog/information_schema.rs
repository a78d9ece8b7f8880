//! The rows of `information_schema`: the standard's view of schemas, tables, columns and keys, ours and the system's.
//! Relations not named in [`RELATIONS`] are empty.

use arrow::array::RecordBatch;

use super::constraint_rows::{
    STANDARD_CONSTRAINT, check_constraints, constraint_column_usage, constraint_table_usage,
    key_column_usage, referential_constraints, table_constraints,
};
use super::ddl_text::view_definition;
use super::relation_rows::{Constants, RelationRows, Source, text, yes_or_no};
use super::relations::{Filled, SYSTEM_TABLES};
use super::role_rows::role_names;
use super::sequence_rows::{STANDARD_SEQUENCE, identity_sequences, standard_sequences};
use super::shown_names::shown_expression;
use super::type_cells::type_cells;
use super::{routine_rows, trigger_rows, type_rows};
use crate::catalog::SequenceDef;
use crate::system::catalog_version::definitions::{Definition, definitions};
use crate::system::catalog_version::objects::{OWN_SCHEMA, OWNER_NAME, UserColumn, UserRelation};
use crate::system::catalog_version::updatability::{DELETES, INSERTS, UPDATES, triggered_writes, writes_of};
use crate::types::SqlType;

/// Every relation of information_schema with rows.
static RELATIONS: &[Filled] = &[
    ("information_schema_catalog_name", &[], catalog_name),
    ("schemata", &[("schema_owner", OWNER_NAME)], schemata),
    ("tables", &[("is_typed", "NO")], tables),
    ("views", &[], views),
    ("sequences", STANDARD_SEQUENCE, standard_sequences),
    ("columns", COLUMN, columns),
    ("element_types", ELEMENT_TYPE, element_types),
    ("routines", routine_rows::ROUTINE, routine_rows::routines),
    ("parameters", routine_rows::PARAMETER, routine_rows::parameters),
    ("domains", &[], type_rows::domains),
    ("user_defined_types", USER_DEFINED_TYPE, user_defined_types),
    ("domain_constraints", &[], type_rows::domain_constraints),
    ("column_domain_usage", &[], type_rows::column_domain_usage),
    ("table_constraints", STANDARD_CONSTRAINT, table_constraints),
    ("check_constraints", &[], check_constraints),
    ("referential_constraints", &[], referential_constraints),
    ("key_column_usage", &[], key_column_usage),
    ("constraint_column_usage", &[], constraint_column_usage),
    ("constraint_table_usage", &[], constraint_table_usage),
    ("table_privileges", PRIVILEGE, table_privileges),
    ("role_table_grants", PRIVILEGE, table_privileges),
    ("column_privileges", PRIVILEGE, column_privileges),
    ("role_column_grants", PRIVILEGE, column_privileges),
    ("enabled_roles", &[], enabled_roles),
    ("character_sets", CHARACTER_SET, character_sets),
    ("triggers", &[], trigger_rows::standard_triggers),
    ("triggered_update_columns", &[], trigger_rows::update_columns),
];

/// Whether the rows of a relation of information_schema are of the statement that reads them: they name its user, or leave out what is
/// temporary of other sessions.
pub(super) fn is_of_statement(name: &str, has_temporary: bool) -> bool {
    name == "enabled_roles" || has_temporary
}

/// Rows of a relation of information_schema.
pub(super) fn batches(source: &Source<'_>, relation: &Definition) -> Vec<RecordBatch> {
    let mut batches = vec![relation.static_rows().clone()];
    if let Some((_, constants, fill)) = RELATIONS.iter().find(|(name, _, _)| *name == relation.name) {
        let mut rows = RelationRows::new(relation.schema, relation.name, constants);
        fill(source, &mut rows);
        batches.push(rows.finish());
    }
    batches
}

fn catalog_name(source: &Source<'_>, rows: &mut RelationRows) {
    rows.push(&[("catalog_name", text(&source.ctx.database))]);
}

fn schemata(source: &Source<'_>, rows: &mut RelationRows) {
    let ours = source.objects.schemas.iter().map(|(_, name, _)| name.as_str());
    for schema in ["pg_catalog", "information_schema"].into_iter().chain(ours) {
        rows.push(&[
            ("catalog_name", text(&source.ctx.database)),
            ("schema_name", text(schema)),
        ]);
    }
}

fn is_table(system: &Definition) -> bool {
    SYSTEM_TABLES.contains(&system.oid)
}

fn system_relations() -> impl Iterator<Item = &'static Definition> {
    definitions()
        .iter()
        // Those of our own stand among the views of the catalog.
        .filter(|system| system.oid != 0 && system.schema != OWN_SCHEMA)
}

fn tables(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for system in system_relations() {
        rows.push(&[
            ("table_catalog", database.clone()),
            ("table_schema", text(system.schema)),
            ("table_name", text(system.name)),
            (
                "table_type",
                text(if is_table(system) { "BASE TABLE" } else { "VIEW" }),
            ),
            ("is_insertable_into", yes_or_no(is_table(system))),
        ]);
    }
    let relations = source.standard_relations();
    for relation in relations.filter(|relation| !matches!(relation.kind, 'S' | 'm' | 'c')) {
        rows.push(&[
            ("table_catalog", database.clone()),
            ("table_schema", text(&relation.schema)),
            ("table_name", text(&relation.name)),
            (
                "table_type",
                text(match (relation.persistence, relation.kind) {
                    ('t', _) => "LOCAL TEMPORARY",
                    (_, 'r' | 'p') => "BASE TABLE",
                    _ => "VIEW",
                }),
            ),
            (
                "is_insertable_into",
                yes_or_no(writes_of(source.objects, relation, None) & INSERTS != 0),
            ),
        ]);
    }
}

fn views(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for system in system_relations().filter(|system| !is_table(system)) {
        rows.push(&[
            ("table_catalog", database.clone()),
            ("table_schema", text(system.schema)),
            ("table_name", text(system.name)),
            ("check_option", text("NONE")),
            ("is_updatable", yes_or_no(false)),
            ("is_insertable_into", yes_or_no(false)),
            ("is_trigger_updatable", yes_or_no(false)),
            ("is_trigger_deletable", yes_or_no(false)),
            ("is_trigger_insertable_into", yes_or_no(false)),
        ]);
    }
    for view in source
        .standard_relations()
        .filter(|relation| relation.kind == 'v')
    {
        let writes = writes_of(source.objects, view, None);
        let triggered = triggered_writes(view);
        rows.push(&[
            ("table_catalog", database.clone()),
            ("table_schema", text(&view.schema)),
            ("table_name", text(&view.name)),
            (
                "view_definition",
                view_definition(view, source.objects, &source.ctx.settings.search_path, false),
            ),
            ("check_option", text(check_option(view))),
            ("is_updatable", yes_or_no(writes & UPDATES == UPDATES)),
            ("is_insertable_into", yes_or_no(writes & INSERTS != 0)),
            (
                "is_trigger_updatable",
                yes_or_no(triggered & UPDATES & !DELETES != 0),
            ),
            ("is_trigger_deletable", yes_or_no(triggered & DELETES != 0)),
            ("is_trigger_insertable_into", yes_or_no(triggered & INSERTS != 0)),
        ]);
    }
}

fn check_option(view: &UserRelation) -> &'static str {
    let is = |option: &str| view.options.iter().any(|known| known == option);
    match () {
        () if is("check_option=cascaded") => "CASCADED",
        () if is("check_option=local") => "LOCAL",
        () => "NONE",
    }
}

const USER_DEFINED_TYPE: Constants = &[
    ("user_defined_type_category", "STRUCTURED"),
    ("is_instantiable", "YES"),
];

/// The composite types that a CREATE TYPE made.
fn user_defined_types(source: &Source<'_>, rows: &mut RelationRows) {
    for relation in source
        .standard_relations()
        .filter(|relation| relation.kind == 'c')
    {
        rows.push(&[
            ("user_defined_type_catalog", text(&source.ctx.database)),
            ("user_defined_type_schema", text(&relation.schema)),
            ("user_defined_type_name", text(&relation.name)),
        ]);
    }
}

const COLUMN: Constants = &[("is_self_referencing", "NO"), ("identity_cycle", "NO")];

fn columns(source: &Source<'_>, rows: &mut RelationRows) {
    for system in system_relations() {
        for (position, field) in system.fields.fields().iter().enumerate() {
            let column = UserColumn::plain(field.name().clone(), SqlType::from_field(field));
            column_row(
                source,
                rows,
                ((system.schema, system.name), position + 1, None),
                &column,
                is_table(system),
            );
        }
    }
    let identities = identity_sequences(source);
    let relations = source.standard_relations();
    for relation in relations.filter(|relation| !matches!(relation.kind, 'S' | 'm' | 'c')) {
        for (position, column) in relation.columns.iter().enumerate() {
            let place = (
                (relation.schema.as_str(), relation.name.as_str()),
                position + 1,
                identities.get(&(relation.oid, position + 1)).copied(),
            );
            let is_written = writes_of(source.objects, relation, Some(position)) & UPDATES == UPDATES;
            column_row(source, rows, place, column, is_written);
        }
    }
}

/// Where the collation stands that a column says.
fn collation_schema(column: &UserColumn) -> Option<String> {
    column.collation.as_ref().map(|_| "pg_catalog".to_string())
}

/// A default as the search path has it named.
fn shown_default(source: &Source<'_>, column: &UserColumn) -> Option<String> {
    let default = column.default.as_deref().filter(|_| !column.is_generated)?;
    let search_path = &source.ctx.settings.search_path;
    Some(shown_expression(default, source.objects, search_path))
}

fn column_row(
    source: &Source<'_>,
    rows: &mut RelationRows,
    ((schema, table), position, identity): ((&str, &str), usize, Option<&SequenceDef>),
    column: &UserColumn,
    updatable: bool,
) {
    let database = source.ctx.database.as_ref();
    let domain = column.domain.as_ref();
    let mut cells = vec![
        ("domain_catalog", domain.map(|_| database.to_string())),
        ("domain_schema", domain.map(|domain| domain.schema.clone())),
        ("domain_name", domain.map(|domain| domain.name.clone())),
        ("table_catalog", text(database)),
        ("table_schema", text(schema)),
        ("table_name", text(table)),
        ("column_name", text(&column.name)),
        ("ordinal_position", text(position)),
        ("collation_schema", collation_schema(column)),
        ("collation_name", column.collation.clone()),
        ("column_default", shown_default(source, column)),
        (
            "is_generated",
            text(if column.is_generated { "ALWAYS" } else { "NEVER" }),
        ),
        (
            "generation_expression",
            column.default.clone().filter(|_| column.is_generated),
        ),
        (
            "is_nullable",
            yes_or_no(!column.not_null && !is_never_null(column)),
        ),
        ("udt_catalog", text(database)),
        ("dtd_identifier", text(position)),
        ("is_identity", yes_or_no(!column.identity.is_empty())),
        (
            "identity_generation",
            match column.identity {
                "a" => text("ALWAYS"),
                "d" => text("BY DEFAULT"),
                _ => None,
            },
        ),
        ("is_updatable", yes_or_no(updatable)),
    ];
    if let Some(identity) = identity {
        cells.extend([
            ("identity_start", text(identity.start)),
            ("identity_increment", text(identity.increment)),
            ("identity_maximum", text(identity.max)),
            ("identity_minimum", text(identity.min)),
            ("identity_cycle", yes_or_no(identity.cycles)),
        ]);
    }
    cells.extend(type_cells(source, &column.ty));
    if let Some(over) = domain.and_then(|domain| domain.domain()?.over.as_ref()) {
        cells.extend([
            ("data_type", text("USER-DEFINED")),
            ("udt_schema", text(&over.schema)),
            ("udt_name", text(&over.name)),
        ]);
    }
    rows.push(&cells);
}

/// Whether the domain of a column has no NULL.
fn is_never_null(column: &UserColumn) -> bool {
    column
        .domain
        .as_ref()
        .is_some_and(|domain| domain.is_never_null())
}

const ELEMENT_TYPE: Constants = &[("object_type", "TABLE")];

/// What the arrays of columns hold.
fn element_types(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    let relations = source.objects.relations.iter();
    for relation in relations.filter(|relation| !matches!(relation.kind, 'S' | 'c')) {
        for (position, column) in relation.columns.iter().enumerate() {
            let SqlType::Array(_) = &column.ty else {
                continue;
            };
            let element = column.ty.innermost();
            let user = source.objects.user_type(i64::from(element.oid()));
            rows.push(&[
                ("object_catalog", database.clone()),
                ("object_schema", text(&relation.schema)),
                ("object_name", text(&relation.name)),
                ("collection_type_identifier", text(position + 1)),
                (
                    "data_type",
                    text(user.map_or(element.base_name(), |_| "USER-DEFINED")),
                ),
                ("udt_catalog", database.clone()),
                (
                    "udt_schema",
                    text(user.map_or("pg_catalog", |user| user.ty.schema.as_str())),
                ),
                ("udt_name", text(element.catalog_name())),
                ("dtd_identifier", text(format!("a{}", position + 1))),
            ]);
        }
    }
}

const PRIVILEGE: Constants = &[
    ("grantor", OWNER_NAME),
    ("grantee", OWNER_NAME),
    ("is_grantable", "YES"),
];

fn table_privileges(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    let relations = source.standard_relations();
    for relation in relations.filter(|relation| !matches!(relation.kind, 'S' | 'm' | 'c')) {
        for privilege in [
            "INSERT",
            "SELECT",
            "UPDATE",
            "DELETE",
            "TRUNCATE",
            "REFERENCES",
            "TRIGGER",
        ] {
            rows.push(&[
                ("table_catalog", database.clone()),
                ("table_schema", text(&relation.schema)),
                ("table_name", text(&relation.name)),
                ("privilege_type", text(privilege)),
                ("with_hierarchy", yes_or_no(privilege == "SELECT")),
            ]);
        }
    }
}

fn column_privileges(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    let relations = source.standard_relations();
    for relation in relations.filter(|relation| !matches!(relation.kind, 'S' | 'm' | 'c')) {
        for column in &relation.columns {
            for privilege in ["INSERT", "SELECT", "UPDATE", "REFERENCES"] {
                rows.push(&[
                    ("table_catalog", database.clone()),
                    ("table_schema", text(&relation.schema)),
                    ("table_name", text(&relation.name)),
                    ("column_name", text(&column.name)),
                    ("privilege_type", text(privilege)),
                ]);
            }
        }
    }
}

fn enabled_roles(source: &Source<'_>, rows: &mut RelationRows) {
    for (_, name) in role_names(source.ctx) {
        rows.push(&[("role_name", text(name))]);
    }
}

const CHARACTER_SET: Constants = &[
    ("character_set_name", "UTF8"),
    ("character_repertoire", "UCS"),
    ("form_of_use", "UTF8"),
    ("default_collate_schema", "pg_catalog"),
    ("default_collate_name", "default"),
];

fn character_sets(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    rows.push(&[("default_collate_catalog", database)]);
}
