//! The rows of `pg_catalog` that come from our own catalog: classes, attributes, indexes, constraints, comments, the
//! role, the database. Relations not named in [`RELATIONS`] hold only what every database has, or nothing.

use std::collections::HashSet;

use arrow::array::RecordBatch;

use super::attribute_rows;
use super::counter_rows;
use super::ddl_text::{index_definition, view_definition};
use super::index_rows::{self, BTREE, GIN, GIST, INDEX, SPGIST};
use super::object_class::{
    CLASS_CLASS, CONSTRAINT_CLASS, EXTENSION_CLASS, NAMESPACE_CLASS, TRIGGER_CLASS, TYPE_CLASS, default_oid,
};
use super::relation_rows::{Constants, RelationRows, Source, boolean, text, texts_or_null};
use super::role_rows::{self, DATABASE_OWNER_OID};
use super::{
    aggregate_rows, cast_rows, constraint_rows, partition_rows, routine_rows, sequence_rows, session_rows,
    statement_rows, text_rows, trigger_rows, type_rows, view_rows,
};
use crate::system::catalog_version::definitions::{Definition, definitions};
use crate::system::catalog_version::objects::{OWN_SCHEMA, OWNER_NAME, OWNER_OID, UserIndex, UserRelation};

/// Fills the rows that are ours, beside those that every database has.
pub(super) type Fill = fn(&Source<'_>, &mut RelationRows);

/// A relation with rows of ours: name, columns that are the same in all of them, and what fills it.
pub(super) type Filled = (&'static str, Constants, Fill);

/// Those of pg_catalog whose rows are the same for all statements that see one version of the catalog, row counts aside.
static RELATIONS: &[Filled] = &[
    ("pg_namespace", &[], namespaces),
    ("pg_class", CLASS, classes),
    (
        "pg_attribute",
        attribute_rows::ATTRIBUTE,
        attribute_rows::attributes,
    ),
    ("pg_attrdef", &[], column_defaults),
    ("pg_type", type_rows::TYPE, type_rows::types),
    ("pg_enum", &[], type_rows::labels),
    ("pg_index", INDEX, index_rows::indexes),
    (
        "pg_constraint",
        constraint_rows::CONSTRAINT,
        constraint_rows::constraints,
    ),
    ("pg_trigger", trigger_rows::TRIGGER, trigger_rows::triggers),
    ("pg_description", &[], descriptions),
    ("pg_rewrite", view_rows::RULE, view_rows::rules),
    ("pg_sequence", &[], sequence_rows::sequences),
    ("pg_depend", &[], dependencies),
    ("pg_proc", routine_rows::PROCEDURE, routine_rows::procedures),
    ("pg_aggregate", &[], aggregate_rows::aggregates),
    ("pg_cast", &[], cast_rows::casts),
    ("pg_language", &[], routine_rows::languages),
    ("pg_extension", &[], routine_rows::extensions),
    ("pg_available_extensions", &[], routine_rows::available_extensions),
    (
        "pg_available_extension_versions",
        &[],
        routine_rows::available_versions,
    ),
    ("pg_opclass", &[], index_rows::operator_classes),
    ("pg_opfamily", &[], index_rows::operator_families),
    ("pg_partitioned_table", &[], partition_rows::partitioned_tables),
    ("pg_inherits", partition_rows::INHERITS, partition_rows::parents),
    ("pg_tables", &[], tables),
    ("pg_views", &[], views),
    ("pg_matviews", &[], materialized_views),
    ("pg_indexes", &[], index_definitions),
    ("pg_stat_archiver", counter_rows::ARCHIVER, counter_rows::one_row),
    ("pg_stat_bgwriter", counter_rows::WRITER, counter_rows::one_row),
    ("pg_stat_slru", counter_rows::CACHE, counter_rows::caches),
    ("pg_stat_wal", counter_rows::LOG, counter_rows::one_row),
    ("pg_stat_user_tables", TABLE_STATISTICS, table_statistics),
    ("pg_stat_all_tables", TABLE_STATISTICS, table_statistics),
    ("pg_statio_user_tables", TABLE_STATISTICS, table_blocks),
    ("pg_statio_all_tables", TABLE_STATISTICS, table_blocks),
    ("pg_stat_user_indexes", INDEX_STATISTICS, index_statistics),
    ("pg_stat_all_indexes", INDEX_STATISTICS, index_statistics),
];

/// The columns that say how many rows tables have, which is told of each statement's snapshot.
static COUNTED_COLUMNS: &[(&str, &str)] = &[
    ("pg_class", "reltuples"),
    ("pg_stat_user_tables", "n_live_tup"),
    ("pg_stat_all_tables", "n_live_tup"),
];

/// Those whose rows are of the statement: of its session, or of the server now.
static STATEMENT_RELATIONS: &[Filled] = &[
    ("pg_authid", role_rows::ROLE, role_rows::authid),
    ("pg_roles", role_rows::ROLE_WITH_PASSWORD, role_rows::roles),
    ("pg_user", role_rows::USER, role_rows::users),
    ("pg_shadow", role_rows::USER, role_rows::users),
    ("pg_group", &[], role_rows::groups),
    ("pg_auth_members", &[], role_rows::memberships),
    ("pg_database", session_rows::DATABASE, session_rows::databases),
    ("pg_shdescription", &[], session_rows::shared_descriptions),
    ("pg_settings", session_rows::SETTING, session_rows::settings),
    ("pg_db_role_setting", &[], session_rows::altered_settings),
    ("pg_locks", session_rows::LOCK, session_rows::locks),
    ("pg_stat_activity", session_rows::ACTIVITY, session_rows::activity),
    ("pg_stat_ssl", &[], session_rows::encryption),
    (
        "pg_stat_statements",
        statement_rows::STATEMENT,
        statement_rows::statements,
    ),
    ("pg_stat_statements_info", &[], statement_rows::information),
    (
        "pg_stat_database",
        session_rows::DATABASE_STATISTICS,
        session_rows::database_statistics,
    ),
    (
        "pg_stat_progress_create_index",
        session_rows::INDEX_BUILD,
        session_rows::index_builds,
    ),
    ("pg_stat_progress_copy", session_rows::COPY, session_rows::copies),
    ("pg_sequences", &[], sequence_rows::sequence_list),
    ("pg_timezone_names", &[], session_rows::time_zones),
    ("pg_timezone_abbrevs", &[], session_rows::time_zone_abbreviations),
    ("pg_prepared_statements", &[], session_rows::prepared_statements),
    ("pg_cursors", &[], session_rows::cursors),
];

/// Whether the rows of a relation of pg_catalog are of the statement that reads them.
pub(super) fn is_of_statement(name: &str) -> bool {
    STATEMENT_RELATIONS
        .iter()
        .any(|(relation, _, _)| *relation == name)
}

/// Whether a relation tells the last values of sequences.
pub(super) fn tells_last_values(relation: &Definition) -> bool {
    relation.schema == "pg_catalog" && relation.name == "pg_sequences"
}

/// The column of a relation of pg_catalog that says how many rows a table has.
pub(super) fn counted_column(relation: &Definition) -> Option<usize> {
    if relation.schema != "pg_catalog" {
        return None;
    }
    let counted = COUNTED_COLUMNS.iter().find(|(name, _)| *name == relation.name);
    counted.map(|(_, column)| relation.position(column))
}

/// Whether nothing fills a relation of pg_catalog, and no database has rows of it.
pub(super) fn has_no_rows(relation: &Definition) -> bool {
    relation.schema == "pg_catalog" && filled(relation).is_none() && relation.static_rows().num_rows() == 0
}

fn filled(relation: &Definition) -> Option<&'static Filled> {
    let mut all = RELATIONS.iter().chain(STATEMENT_RELATIONS);
    all.find(|(name, _, _)| *name == relation.name)
}

/// Rows of a relation of pg_catalog: those of every database, then ours.
pub(super) fn batches(source: &Source<'_>, relation: &Definition) -> Vec<RecordBatch> {
    let mut batches = vec![relation.static_rows().clone()];
    if let Some((_, constants, fill)) = filled(relation) {
        let mut rows = RelationRows::new(relation.schema, relation.name, constants);
        fill(source, &mut rows);
        batches.push(rows.finish());
    }
    batches
}

/// Who may do what in the schema public, as in a new database of PostgreSQL.
const PUBLIC_ACCESS: &str = "{pg_database_owner=UC/pg_database_owner,=U/pg_database_owner}";

fn namespaces(source: &Source<'_>, rows: &mut RelationRows) {
    for (oid, name, _) in &source.objects.schemas {
        let (owner, access) = match name == "public" {
            true => (DATABASE_OWNER_OID, text(PUBLIC_ACCESS)),
            false => (OWNER_OID, None),
        };
        rows.push(&[
            ("oid", text(oid)),
            ("nspname", text(name)),
            ("nspowner", text(owner)),
            ("nspacl", access),
        ]);
    }
}

const CLASS: Constants = &[
    ("reloftype", "0"),
    ("relowner", "10"),
    ("reltablespace", "0"),
    ("relpages", "0"),
    ("relallvisible", "0"),
    ("reltoastrelid", "0"),
    ("relisshared", "f"),
    ("relrowsecurity", "f"),
    ("relforcerowsecurity", "f"),
    ("relrewrite", "0"),
];

/// What relfrozenxid and datfrozenxid say, here as in a new database of PostgreSQL: nothing has to be frozen, so that its age stays 0.
pub(crate) const FROZEN_BEFORE: u32 = 716;

/// The oid of the access method `heap`.
const HEAP: i64 = 2;

fn classes(source: &Source<'_>, rows: &mut RelationRows) {
    // PostgreSQL keeps foreign keys by triggers of both tables, which psql asks for before it lists the keys.
    let mut triggered = HashSet::new();
    for relation in &source.objects.relations {
        let keys = relation.foreign_keys();
        triggered.extend(keys.flat_map(|(_, key)| [relation.oid, key.table]));
        triggered.extend(relation.triggers.first().map(|_| relation.oid));
    }
    for relation in &source.objects.relations {
        let (is_table, is_sequence) = (matches!(relation.kind, 'r' | 'm'), relation.kind == 'S');
        let is_partitioned = relation.partitioning.is_some();
        let has_file = is_table || is_sequence;
        rows.push(&[
            ("oid", text(relation.oid)),
            ("relname", text(&relation.name)),
            ("relnamespace", text(relation.namespace)),
            ("reltype", text(if is_sequence { 0 } else { relation.oid })),
            ("relam", text(if is_table { HEAP } else { 0 })),
            ("relfilenode", text(if has_file { relation.oid } else { 0 })),
            ("relhasindex", boolean(!relation.indexes.is_empty())),
            (
                "relchecks",
                text(relation.constraints.len() - relation.foreign_keys().count()),
            ),
            ("relhastriggers", boolean(triggered.contains(&relation.oid))),
            ("relhassubclass", boolean(relation.partitioning.is_some())),
            ("relispartition", boolean(relation.partition.is_some())),
            (
                "relpartbound",
                relation
                    .partition
                    .as_ref()
                    .map(|partition| partition.bound.clone()),
            ),
            ("relkind", text(relation.kind)),
            ("relpersistence", text(relation.persistence)),
            (
                "reltuples",
                match is_sequence {
                    true => text(1),
                    false => text(source.row_count(relation.oid)),
                },
            ),
            ("relnatts", text(relation.columns.len())),
            ("relfrozenxid", text(if is_table { FROZEN_BEFORE } else { 0 })),
            ("relminmxid", text(u32::from(is_table))),
            ("relhasrules", boolean(matches!(relation.kind, 'v' | 'm'))),
            ("relispopulated", boolean(relation.is_populated)),
            (
                "relreplident",
                text(if is_table || is_partitioned { 'd' } else { 'n' }),
            ),
            ("reloptions", texts_or_null(&relation.options)),
        ]);
        for index in &relation.indexes {
            class_of_index(source, (relation, index), rows);
        }
    }
}

/// The access method of an index.
fn method_of(index: &UserIndex) -> i64 {
    match index
        .exclusion
        .as_ref()
        .map(|exclusion| exclusion.method.as_str())
    {
        _ if index.is_inverted => GIN,
        Some("gist") => GIST,
        Some("spgist") => SPGIST,
        _ => BTREE,
    }
}

fn class_of_index(
    source: &Source<'_>,
    (relation, index): (&UserRelation, &UserIndex),
    rows: &mut RelationRows,
) {
    let is_partitioned = relation.partitioning.is_some();
    rows.push(&[
        ("oid", text(index.oid)),
        ("relname", text(&index.name)),
        ("relnamespace", text(relation.namespace)),
        ("reltype", text(0)),
        ("relam", text(method_of(index))),
        ("relfilenode", text(if is_partitioned { 0 } else { index.oid })),
        ("relhasindex", boolean(false)),
        ("relchecks", text(0)),
        ("relhastriggers", boolean(false)),
        ("relhassubclass", boolean(is_partitioned)),
        ("relispartition", boolean(index.parent.is_some())),
        ("relkind", text(if is_partitioned { 'I' } else { 'i' })),
        ("relpersistence", text(relation.persistence)),
        ("reltuples", text(source.row_count(relation.oid))),
        ("relnatts", text(index.attributes().count())),
        ("relhasrules", boolean(false)),
        ("relispopulated", boolean(true)),
        ("relreplident", text('n')),
        ("reloptions", texts_or_null(&index.options)),
    ]);
}

fn column_defaults(source: &Source<'_>, rows: &mut RelationRows) {
    for relation in &source.objects.relations {
        for (position, column) in relation.columns.iter().enumerate() {
            if let Some(default) = &column.default_node {
                rows.push(&[
                    ("oid", text(default_oid(relation.oid, position + 1))),
                    ("adrelid", text(relation.oid)),
                    ("adnum", text(position + 1)),
                    ("adbin", text(default)),
                ]);
            }
        }
    }
}

fn descriptions(source: &Source<'_>, rows: &mut RelationRows) {
    let mut push = |object: i64, class: i64, sub: usize, comment: &Option<String>| {
        if let Some(comment) = comment {
            rows.push(&[
                ("objoid", text(object)),
                ("classoid", text(class)),
                ("objsubid", text(sub)),
                ("description", text(comment)),
            ]);
        }
    };
    for relation in &source.objects.relations {
        push(relation.oid, CLASS_CLASS, 0, &relation.comment);
        for (position, column) in relation.columns.iter().enumerate() {
            push(relation.oid, CLASS_CLASS, position + 1, &column.comment);
        }
        for index in &relation.indexes {
            push(index.oid, CLASS_CLASS, 0, &index.comment);
            push(index.oid, CONSTRAINT_CLASS, 0, &index.constraint_comment);
        }
        for constraint in &relation.constraints {
            push(constraint.oid, CONSTRAINT_CLASS, 0, &constraint.comment);
        }
        for trigger in &relation.triggers {
            push(i64::from(trigger.def.oid), TRIGGER_CLASS, 0, &trigger.def.comment);
        }
    }
    for (_, ty) in &source.objects.types {
        push(i64::from(ty.oid), TYPE_CLASS, 0, &ty.comment);
    }
    let comments = routine_rows::comments(source).into_iter();
    for (object, class, comment) in comments.chain(cast_rows::comments(source)) {
        push(object, class, 0, &comment);
    }
    for (oid, name, comment) in &source.objects.schemas {
        let standard = (name == "public").then(|| "standard public schema".to_string());
        push(*oid, NAMESPACE_CLASS, 0, &comment.clone().or(standard));
    }
}

fn dependencies(source: &Source<'_>, rows: &mut RelationRows) {
    sequence_rows::dependencies(source, rows);
    routine_rows::dependencies(source, rows);
    cast_rows::dependencies(source, rows);
    view_rows::dependencies(source, rows);
    constraint_rows::dependencies(source, rows);
    trigger_rows::dependencies(source, rows);
    text_rows::dependencies(source, rows);
    own_members(source, rows);
}

/// Our own schema and what is in it count as parts of an extension that is always there: who copies a database (pg_dump) leaves them out.
fn own_members(source: &Source<'_>, rows: &mut RelationRows) {
    let mut push = |class: i64, object: i64| {
        rows.depend(
            (class, object),
            (EXTENSION_CLASS, routine_rows::PLPGSQL_OID),
            0,
            "e",
        );
    };
    let schemas = source.objects.schemas.iter();
    for (oid, _, _) in schemas.filter(|(_, name, _)| name == OWN_SCHEMA) {
        push(NAMESPACE_CLASS, *oid);
    }
    let own = definitions().iter().filter(|system| system.schema == OWN_SCHEMA);
    own.for_each(|system| push(CLASS_CLASS, system.oid));
}

fn tables(source: &Source<'_>, rows: &mut RelationRows) {
    for system in definitions()
        .iter()
        .filter(|system| SYSTEM_TABLES.contains(&system.oid))
    {
        rows.push(&[
            ("schemaname", text(system.schema)),
            ("tablename", text(system.name)),
            ("tableowner", text(OWNER_NAME)),
            ("hasindexes", boolean(true)),
            ("hasrules", boolean(false)),
            ("hastriggers", boolean(false)),
            ("rowsecurity", boolean(false)),
        ]);
    }
    for table in source
        .objects
        .relations
        .iter()
        .filter(|relation| relation.is_table())
    {
        rows.push(&[
            ("schemaname", text(&table.schema)),
            ("tablename", text(&table.name)),
            ("tableowner", text(OWNER_NAME)),
            ("hasindexes", boolean(!table.indexes.is_empty())),
            ("hasrules", boolean(false)),
            ("hastriggers", boolean(false)),
            ("rowsecurity", boolean(false)),
        ]);
    }
}

/// System relations that are tables in PostgreSQL; the others are views.
pub(crate) static SYSTEM_TABLES: std::sync::LazyLock<Vec<i64>> = std::sync::LazyLock::new(|| {
    crate::system::catalog_version::objects::read("pg_class", &["oid", "relkind"])
        .filter(|[_, kind]| kind.as_deref() == Some("r"))
        .filter_map(|[oid, _]| oid?.parse().ok())
        .collect()
});

fn views(source: &Source<'_>, rows: &mut RelationRows) {
    // How the system's views are made is our own business: they have no definition to show.
    for system in definitions()
        .iter()
        .filter(|system| system.oid != 0 && system.schema != OWN_SCHEMA)
        .filter(|system| !SYSTEM_TABLES.contains(&system.oid))
    {
        rows.push(&[
            ("schemaname", text(system.schema)),
            ("viewname", text(system.name)),
            ("viewowner", text(OWNER_NAME)),
        ]);
    }
    for view in source
        .objects
        .relations
        .iter()
        .filter(|relation| relation.kind == 'v')
    {
        rows.push(&[
            ("schemaname", text(&view.schema)),
            ("viewname", text(&view.name)),
            ("viewowner", text(OWNER_NAME)),
            (
                "definition",
                view_definition(view, source.objects, &source.ctx.settings.search_path, false),
            ),
        ]);
    }
}

fn materialized_views(source: &Source<'_>, rows: &mut RelationRows) {
    let relations = source.objects.relations.iter();
    for view in relations.filter(|relation| relation.kind == 'm') {
        rows.push(&[
            ("schemaname", text(&view.schema)),
            ("matviewname", text(&view.name)),
            ("matviewowner", text(OWNER_NAME)),
            ("hasindexes", boolean(!view.indexes.is_empty())),
            ("ispopulated", boolean(view.is_populated)),
            (
                "definition",
                view_definition(view, source.objects, &source.ctx.settings.search_path, false),
            ),
        ]);
    }
}

fn index_definitions(source: &Source<'_>, rows: &mut RelationRows) {
    for relation in &source.objects.relations {
        for index in &relation.indexes {
            rows.push(&[
                ("schemaname", text(&relation.schema)),
                ("tablename", text(&relation.name)),
                ("indexname", text(&index.name)),
                ("indexdef", text(index_definition(relation, index, (true, false)))),
            ]);
        }
    }
}

const TABLE_STATISTICS: Constants = &[];

/// Of what PostgreSQL counts the store knows the rows alone; the other counts are NULL.
fn table_statistics(source: &Source<'_>, rows: &mut RelationRows) {
    for table in source
        .objects
        .relations
        .iter()
        .filter(|relation| relation.is_table() || relation.kind == 'm')
    {
        rows.push(&[
            ("relid", text(table.oid)),
            ("schemaname", text(&table.schema)),
            ("relname", text(&table.name)),
            ("n_live_tup", source.live_rows(table.oid)),
            ("n_dead_tup", text(0)),
        ]);
    }
}

/// Tables alone: no blocks are counted.
fn table_blocks(source: &Source<'_>, rows: &mut RelationRows) {
    let relations = source.objects.relations.iter();
    for table in relations.filter(|relation| relation.is_table() || relation.kind == 'm') {
        rows.push(&[
            ("relid", text(table.oid)),
            ("schemaname", text(&table.schema)),
            ("relname", text(&table.name)),
        ]);
    }
}

const INDEX_STATISTICS: Constants = &[];

/// See [`table_statistics`].
fn index_statistics(source: &Source<'_>, rows: &mut RelationRows) {
    for table in &source.objects.relations {
        for index in &table.indexes {
            rows.push(&[
                ("relid", text(table.oid)),
                ("indexrelid", text(index.oid)),
                ("schemaname", text(&table.schema)),
                ("relname", text(&table.name)),
                ("indexrelname", text(&index.name)),
            ]);
        }
    }
}
