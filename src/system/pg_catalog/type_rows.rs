//! Rows of the catalogs that tell of types: `pg_type`, `pg_enum`, the constraints of domains, and information_schema's domains.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::relation_rows::{Constants, RelationRows, Source, boolean, text, yes_or_no};
use super::type_cells::type_cells;
use crate::catalog::{DomainCheck, DomainDef, TypeDef, TypeKind};
use crate::system::catalog_version::cells::Cell;
use crate::system::catalog_version::objects::{read, type_facts};
use crate::types::strings::truncate_name;
use crate::types::{POSITION_STEP, SqlType, array_oid_of_rows};

/// What all rows of `pg_type` have in common that do not say otherwise: those of tables.
pub(super) const TYPE: Constants = &[
    ("typowner", "10"),
    ("typlen", "-1"),
    ("typbyval", "f"),
    ("typtype", "c"),
    ("typcategory", "C"),
    ("typispreferred", "f"),
    ("typisdefined", "t"),
    ("typdelim", ","),
    ("typsubscript", "0"),
    ("typelem", "0"),
    ("typarray", "0"),
    ("typinput", "2290"),
    ("typoutput", "2291"),
    ("typreceive", "2402"),
    ("typsend", "2403"),
    ("typmodin", "0"),
    ("typmodout", "0"),
    ("typanalyze", "0"),
    ("typalign", "d"),
    ("typstorage", "x"),
    ("typnotnull", "f"),
    ("typbasetype", "0"),
    ("typtypmod", "-1"),
    ("typndims", "0"),
    ("typcollation", "0"),
];

/// What all arrays have in common.
const ARRAY: Constants = &[
    ("typtype", "b"),
    ("typcategory", "A"),
    ("typsubscript", "6179"),
    ("typinput", "750"),
    ("typoutput", "751"),
    ("typreceive", "2400"),
    ("typsend", "2401"),
    ("typanalyze", "3816"),
    ("typrelid", "0"),
];

/// What all enums have in common.
const ENUM: Constants = &[
    ("typlen", "4"),
    ("typbyval", "t"),
    ("typtype", "e"),
    ("typcategory", "E"),
    ("typinput", "3506"),
    ("typoutput", "3507"),
    ("typreceive", "3532"),
    ("typsend", "3533"),
    ("typalign", "i"),
    ("typstorage", "p"),
    ("typrelid", "0"),
];

/// Category, output and send functions of the types that every database has.
static OUTPUTS: LazyLock<HashMap<String, [Cell; 3]>> = LazyLock::new(|| {
    read("pg_type", &["oid", "typcategory", "typoutput", "typsend"])
        .filter_map(|[oid, category, output, send]| Some((oid?, [category, output, send])))
        .collect()
});

/// `pg_type`: the row types of tables, the types that users made, and their arrays.
pub(super) fn types(source: &Source<'_>, rows: &mut RelationRows) {
    let relations = source.objects.relations.iter();
    for relation in relations.filter(|relation| !matches!(relation.kind, 'S' | 'c')) {
        let array = u32::try_from(relation.oid).map_or(0, array_oid_of_rows);
        rows.push(&[
            ("oid", text(relation.oid)),
            ("typname", text(&relation.name)),
            ("typnamespace", text(relation.namespace)),
            ("typrelid", text(relation.oid)),
            ("typarray", text(array)),
        ]);
        let mut cells = constants(ARRAY);
        cells.extend([
            ("oid", text(array)),
            ("typname", text(array_type_name(&relation.name))),
            ("typnamespace", text(relation.namespace)),
            ("typelem", text(relation.oid)),
        ]);
        rows.push(&cells);
    }
    for (namespace, ty) in &source.objects.types {
        let mut cells = vec![
            ("oid", text(ty.oid)),
            ("typname", text(&ty.name)),
            ("typnamespace", text(namespace)),
            ("typarray", text(ty.array_oid)),
        ];
        let facts = type_facts(&ty.sql_type());
        match &ty.kind {
            TypeKind::Enum(_) => cells.extend(constants(ENUM)),
            TypeKind::Domain(domain) => cells.extend(domain_cells(domain)),
            // What it has in common with rows of tables.
            TypeKind::Composite(_) => cells.push(("typrelid", text(ty.oid))),
            TypeKind::Base(ty) => cells.extend(base_cells(ty)),
        }
        rows.push(&cells);
        let mut cells = constants(ARRAY);
        cells.extend([
            ("oid", text(ty.array_oid)),
            ("typname", text(array_type_name(&ty.name))),
            ("typnamespace", text(namespace)),
            ("typelem", text(ty.oid)),
            (
                "typalign",
                text(match ty.kind {
                    TypeKind::Composite(_) => "d",
                    _ if facts.align == "d" => "d",
                    _ => "i",
                }),
            ),
            ("typcollation", text(facts.collation)),
        ]);
        rows.push(&cells);
    }
}

/// The name of the type of arrays of a type.
fn array_type_name(element: &str) -> String {
    let mut name = format!("_{element}");
    truncate_name(&mut name);
    name
}

fn constants(constants: Constants) -> Vec<(&'static str, Cell)> {
    constants
        .iter()
        .map(|(column, value)| (*column, text(value)))
        .collect()
}

/// A type of an extension, all of which are kinds of text: read and printed by functions of the extension, which are text's here.
fn base_cells(ty: &SqlType) -> Vec<(&'static str, Cell)> {
    let facts = type_facts(ty);
    vec![
        ("typlen", text(facts.length)),
        ("typbyval", boolean(facts.by_value)),
        ("typtype", text('b')),
        ("typcategory", text('S')),
        ("typrelid", text(0)),
        ("typinput", text(46)),
        ("typoutput", text(47)),
        ("typreceive", text(2414)),
        ("typsend", text(2415)),
        ("typalign", text(&facts.align)),
        ("typstorage", text(&facts.storage)),
        ("typcollation", text(facts.collation)),
    ]
}

fn domain_cells(domain: &DomainDef) -> Vec<(&'static str, Cell)> {
    let facts = type_facts(&domain.ty);
    let base = domain
        .over
        .as_ref()
        .map_or_else(|| domain.ty.oid(), |over| over.oid);
    let [category, output, send] = match &domain.ty {
        SqlType::Enum(_) => ["E", "3505", "3533"].map(text),
        ty => OUTPUTS
            .get(&ty.oid().to_string())
            .cloned()
            .unwrap_or_else(|| ["A", "751", "2401"].map(text)),
    };
    vec![
        ("typlen", text(facts.length)),
        ("typbyval", boolean(facts.by_value)),
        ("typtype", text('d')),
        ("typcategory", category),
        ("typrelid", text(0)),
        ("typinput", text(2597)),
        ("typoutput", output),
        ("typreceive", text(2598)),
        ("typsend", send),
        ("typalign", text(&facts.align)),
        ("typstorage", text(&facts.storage)),
        ("typnotnull", boolean(domain.not_null)),
        ("typbasetype", text(base)),
        (
            "typtypmod",
            text(if domain.over.is_some() {
                -1
            } else {
                domain.ty.modifier()
            }),
        ),
        ("typndims", text(domain.ty.declared_dimensions())),
        ("typcollation", text(facts.collation)),
        ("typdefault", domain.default.clone()),
        // What pg_get_expr makes its argument of.
        ("typdefaultbin", domain.default.clone()),
    ]
}

/// `pg_enum`.
pub(super) fn labels(source: &Source<'_>, rows: &mut RelationRows) {
    for (_, ty) in &source.objects.types {
        let TypeKind::Enum(labels) = &ty.kind else {
            continue;
        };
        for label in &labels.labels {
            rows.push(&[
                ("oid", text(label.oid)),
                ("enumtypid", text(ty.oid)),
                (
                    "enumsortorder",
                    text(label.position as f32 / POSITION_STEP as f32),
                ),
                ("enumlabel", text(&label.label)),
            ]);
        }
    }
}

/// The conditions of domains, with their domains and the oids of their schemas.
pub(super) fn domain_checks<'a>(
    source: &'a Source<'_>,
) -> impl Iterator<Item = (i64, &'a TypeDef, &'a DomainCheck)> {
    source.objects.types.iter().flat_map(|(namespace, ty)| {
        let checks = ty.domain().map_or(&[][..], |domain| &domain.checks);
        checks.iter().map(move |check| (*namespace, &**ty, check))
    })
}

/// `information_schema.domains`.
pub(super) fn domains(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for (_, ty) in &source.objects.types {
        let Some(domain) = ty.domain() else { continue };
        let mut cells = vec![
            ("domain_catalog", database.clone()),
            ("domain_schema", text(&ty.schema)),
            ("domain_name", text(&ty.name)),
            ("domain_default", domain.default.clone()),
            ("udt_catalog", database.clone()),
            ("dtd_identifier", text(1)),
        ];
        cells.extend(type_cells(source, &domain.ty));
        if matches!(domain.ty, SqlType::Array(_)) {
            cells.push(("data_type", text(domain.ty.full_base_name())));
        }
        if let Some(over) = &domain.over {
            cells.extend([
                ("data_type", text("USER-DEFINED")),
                ("udt_schema", text(&over.schema)),
                ("udt_name", text(&over.name)),
            ]);
        }
        rows.push(&cells);
    }
}

/// `information_schema.domain_constraints`.
pub(super) fn domain_constraints(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for (_, ty, check) in domain_checks(source) {
        rows.push(&[
            ("constraint_catalog", database.clone()),
            ("constraint_schema", text(&ty.schema)),
            ("constraint_name", text(&check.name)),
            ("domain_catalog", database.clone()),
            ("domain_schema", text(&ty.schema)),
            ("domain_name", text(&ty.name)),
            ("is_deferrable", yes_or_no(false)),
            ("initially_deferred", yes_or_no(false)),
        ]);
    }
}

/// `information_schema.column_domain_usage`.
pub(super) fn column_domain_usage(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for relation in &source.objects.relations {
        for column in &relation.columns {
            let Some(domain) = &column.domain else { continue };
            rows.push(&[
                ("domain_catalog", database.clone()),
                ("domain_schema", text(&domain.schema)),
                ("domain_name", text(&domain.name)),
                ("table_catalog", database.clone()),
                ("table_schema", text(&relation.schema)),
                ("table_name", text(&relation.name)),
                ("column_name", text(&column.name)),
            ]);
        }
    }
}
