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
use super::sequence_rows::{STANDARD_SEQUENCE, standard_sequences};
use super::session_rows::role_names;
use crate::system::catalog_version::definitions::{Definition, definitions};
use crate::system::catalog_version::objects::{OWNER_NAME, UserColumn, type_facts};
use crate::types::{NumericSize, SECOND_DIGITS_MAX, SqlType};

/// Every relation of information_schema with rows.
static RELATIONS: &[Filled] = &[
    ("information_schema_catalog_name", &[], catalog_name),
    ("schemata", &[("schema_owner", OWNER_NAME)], schemata),
    ("tables", &[("is_typed", "NO")], tables),
    ("views", VIEW, views),
    ("sequences", STANDARD_SEQUENCE, standard_sequences),
    ("columns", COLUMN, columns),
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
    definitions().iter().filter(|system| system.oid != 0)
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
    for relation in relations.filter(|relation| !matches!(relation.kind, 'S' | 'm')) {
        rows.push(&[
            ("table_catalog", database.clone()),
            ("table_schema", text(&relation.schema)),
            ("table_name", text(&relation.name)),
            (
                "table_type",
                text(match (relation.persistence, relation.kind) {
                    ('t', _) => "LOCAL TEMPORARY",
                    (_, 'r') => "BASE TABLE",
                    _ => "VIEW",
                }),
            ),
            ("is_insertable_into", yes_or_no(relation.kind == 'r')),
        ]);
    }
}

const VIEW: Constants = &[
    ("check_option", "NONE"),
    ("is_updatable", "NO"),
    ("is_insertable_into", "NO"),
    ("is_trigger_updatable", "NO"),
    ("is_trigger_deletable", "NO"),
    ("is_trigger_insertable_into", "NO"),
];

fn views(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for system in system_relations().filter(|system| !is_table(system)) {
        rows.push(&[
            ("table_catalog", database.clone()),
            ("table_schema", text(system.schema)),
            ("table_name", text(system.name)),
        ]);
    }
    for view in source
        .standard_relations()
        .filter(|relation| relation.kind == 'v')
    {
        rows.push(&[
            ("table_catalog", database.clone()),
            ("table_schema", text(&view.schema)),
            ("table_name", text(&view.name)),
            ("view_definition", view_definition(view)),
        ]);
    }
}

const COLUMN: Constants = &[
    ("udt_schema", "pg_catalog"),
    ("is_self_referencing", "NO"),
    ("identity_cycle", "NO"),
];

fn columns(source: &Source<'_>, rows: &mut RelationRows) {
    let database = &source.ctx.database;
    for system in system_relations() {
        for (position, field) in system.fields.fields().iter().enumerate() {
            let column = UserColumn {
                name: field.name().clone(),
                ty: SqlType::from_field(field),
                not_null: false,
                default: None,
                sequences: Vec::new(),
                identity: "",
                is_generated: false,
                comment: None,
            };
            column_row(
                rows,
                database,
                (system.schema, system.name),
                position + 1,
                &column,
                is_table(system),
            );
        }
    }
    let relations = source.standard_relations();
    for relation in relations.filter(|relation| !matches!(relation.kind, 'S' | 'm')) {
        for (position, column) in relation.columns.iter().enumerate() {
            let name = (relation.schema.as_str(), relation.name.as_str());
            column_row(rows, database, name, position + 1, column, relation.kind == 'r');
        }
    }
}

fn column_row(
    rows: &mut RelationRows,
    database: &str,
    (schema, table): (&str, &str),
    position: usize,
    column: &UserColumn,
    updatable: bool,
) {
    let ty = &column.ty;
    let characters = match ty {
        SqlType::Varchar(Some(length)) | SqlType::Char(Some(length)) => Some(*length),
        _ => None,
    };
    // What the longest string of so many characters takes in UTF-8; PostgreSQL says 1 GB of those without a limit.
    let octets = match (characters, is_character(ty)) {
        (Some(length), _) => Some(u64::from(length) * 4),
        (None, true) => Some(1_073_741_824),
        (None, false) => None,
    };
    let (precision, radix, scale) = numeric_facts(ty);
    let is_array = matches!(ty, SqlType::Array(_));
    rows.push(&[
        ("table_catalog", text(database)),
        ("table_schema", text(schema)),
        ("table_name", text(table)),
        ("column_name", text(&column.name)),
        ("ordinal_position", text(position)),
        (
            "column_default",
            column.default.clone().filter(|_| !column.is_generated),
        ),
        (
            "is_generated",
            text(if column.is_generated { "ALWAYS" } else { "NEVER" }),
        ),
        (
            "generation_expression",
            column.default.clone().filter(|_| column.is_generated),
        ),
        ("is_nullable", yes_or_no(!column.not_null)),
        ("data_type", text(if is_array { "ARRAY" } else { ty.base_name() })),
        (
            "character_maximum_length",
            characters.map(|length| length.to_string()),
        ),
        ("character_octet_length", octets.map(|length| length.to_string())),
        (
            "numeric_precision",
            precision.map(|precision| precision.to_string()),
        ),
        ("numeric_precision_radix", radix.map(|radix| radix.to_string())),
        ("numeric_scale", scale.map(|scale| scale.to_string())),
        (
            "datetime_precision",
            datetime_precision(ty).map(|precision| precision.to_string()),
        ),
        ("interval_type", interval_type(ty)),
        ("udt_catalog", text(database)),
        ("udt_name", text(ty.catalog_name())),
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
    ]);
}

fn is_character(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_))
}

/// Precision, radix and scale of a number.
fn numeric_facts(ty: &SqlType) -> (Option<u32>, Option<u32>, Option<u32>) {
    match ty {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => (
            Some(u32::from(type_facts(ty).length.unsigned_abs()) * 8),
            Some(2),
            Some(0),
        ),
        SqlType::Float4 => (Some(24), Some(2), None),
        SqlType::Float8 => (Some(53), Some(2), None),
        SqlType::Numeric(Some(NumericSize { precision, scale })) => {
            (Some(u32::from(*precision)), Some(10), u32::try_from(*scale).ok())
        }
        SqlType::Numeric(None) => (None, Some(10), None),
        _ => (None, None, None),
    }
}

/// The fields that an interval keeps, as SQL writes them with its digits.
fn interval_type(ty: &SqlType) -> Option<String> {
    let SqlType::Interval(Some(size)) = ty else {
        return None;
    };
    let fields = size.fields?.name().to_uppercase();
    let digits = size
        .digits
        .map_or_else(String::new, |digits| format!("({digits})"));
    Some(format!("{fields}{digits}"))
}

fn datetime_precision(ty: &SqlType) -> Option<u32> {
    match ty {
        SqlType::Date => Some(0),
        SqlType::Time(digits) | SqlType::Timestamp(digits) | SqlType::TimestampTz(digits) => {
            Some(u32::from(digits.unwrap_or(SECOND_DIGITS_MAX)))
        }
        SqlType::Interval(size) => {
            let digits = size.and_then(|size| size.digits);
            Some(u32::from(digits.unwrap_or(SECOND_DIGITS_MAX)))
        }
        _ => None,
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
    for relation in relations.filter(|relation| !matches!(relation.kind, 'S' | 'm')) {
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
    for relation in relations.filter(|relation| !matches!(relation.kind, 'S' | 'm')) {
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
    for (_, name) in role_names(&source.ctx.user) {
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
