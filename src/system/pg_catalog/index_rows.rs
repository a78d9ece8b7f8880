//! `pg_index`, and the operator classes and access methods that it names.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::object_class::collation_of;
use super::relation_rows::{Constants, RelationRows, Source, boolean, text, vector};
use crate::codec::terms::TermClass;
use crate::system::catalog_version::cells::Cell;
use crate::system::catalog_version::definitions::{PG_CATALOG_OID, definition, static_cells};
use crate::system::catalog_version::objects::{OWNER_OID, SYSTEM, UserColumn, UserIndex};
use crate::system::catalog_version::user_column::node_of;
use crate::types::SqlType;

/// The oid of the access method `btree`.
pub(crate) const BTREE: i64 = 403;
/// The oid of the access method `gist`.
pub(super) const GIST: i64 = 783;
/// The oid of the access method `spgist`.
pub(super) const SPGIST: i64 = 4000;
/// The oid of the access method `gin`.
pub(crate) const GIN: i64 = 2742;

/// What `pg_index` says of every index.
pub(super) const INDEX: Constants = &[
    ("indisclustered", "f"),
    ("indislive", "t"),
    ("indisreplident", "f"),
];

/// Fills `pg_index`.
pub(super) fn indexes(source: &Source<'_>, rows: &mut RelationRows) {
    for relation in &source.objects.relations {
        for index in &relation.indexes {
            let columns: Vec<&UserColumn> = relation.index_columns(index).collect();
            let option =
                |descending: bool, nulls_first: bool| i32::from(descending) + 2 * i32::from(nulls_first);
            rows.push(&[
                ("indexrelid", text(index.oid)),
                ("indrelid", text(relation.oid)),
                ("indnatts", text(index.attributes().count())),
                ("indnkeyatts", text(index.keys.len())),
                ("indisunique", boolean(index.unique)),
                ("indnullsnotdistinct", boolean(index.nulls_not_distinct)),
                ("indisprimary", boolean(index.primary)),
                ("indisexclusion", boolean(index.exclusion.is_some())),
                ("indimmediate", boolean(index.deferral.is_none())),
                ("indisvalid", boolean(index.valid)),
                ("indisready", boolean(index.ready)),
                // An index that is complete and not to be read.
                ("indcheckxmin", boolean(index.inactive)),
                ("indkey", vector(index.attributes())),
                ("indexprs", expressions(index)),
                (
                    "indpred",
                    index
                        .predicate
                        .as_ref()
                        .map(|(plain, pretty)| node_of(plain, pretty)),
                ),
                (
                    "indcollation",
                    vector(columns.iter().map(|column| collation_of(column))),
                ),
                (
                    "indclass",
                    vector(columns.iter().enumerate().map(|(at, column)| {
                        let key = index.keys.get(at);
                        let told = key.and_then(|key| pattern_class(key.class.as_deref()?));
                        let terms = key.and_then(|key| key.terms).map(term_class);
                        told.or(terms).unwrap_or_else(|| operator_class(&column.ty))
                    })),
                ),
                (
                    "indoption",
                    vector(
                        index
                            .keys
                            .iter()
                            .map(|key| option(key.descending, key.nulls_first)),
                    ),
                ),
            ]);
        }
    }
}

/// What an index is over beside columns, as `pg_get_expr` prints it.
fn expressions(index: &UserIndex) -> Cell {
    let nodes = index.keys.iter().filter_map(|key| key.computed.as_ref());
    let (plain, pretty): (Vec<&str>, Vec<&str>) = nodes
        .map(|computed| (computed.node.as_str(), computed.pretty_node.as_str()))
        .unzip();
    (!plain.is_empty()).then(|| node_of(&plain.join(", "), &pretty.join(", ")))
}

/// The default btree operator class of a type (varchar uses text's, as in PostgreSQL).
pub(super) fn operator_class(ty: &SqlType) -> i64 {
    SYSTEM
        .operator_classes
        .get(&compared_as(ty))
        .copied()
        .unwrap_or(0)
}

/// The oid of the type as which operators take values of it.
fn compared_as(ty: &SqlType) -> i64 {
    i64::from(match ty {
        SqlType::Varchar(_) => SqlType::Text.oid(),
        SqlType::Array(_) => ANYARRAY,
        SqlType::Range(_) => ANYRANGE,
        SqlType::Multirange(_) => ANYMULTIRANGE,
        SqlType::Record(_) => RECORD,
        SqlType::Enum(_) => ANYENUM,
        ty => ty.oid(),
    })
}

const ANYARRAY: u32 = 2277;
const ANYRANGE: u32 = 3831;
const ANYMULTIRANGE: u32 = 4537;
const RECORD: u32 = 2249;
const ANYENUM: u32 = 3500;

/// The operator of a symbol between two values of a type: its oid, 0 if there is none.
pub(super) fn operator_of(symbol: &str, ty: &SqlType) -> i64 {
    static OPERATORS: LazyLock<HashMap<(String, i64), i64>> = LazyLock::new(|| {
        let Some(columns) = definition("pg_catalog", "pg_operator") else {
            return HashMap::new();
        };
        let rows = static_cells("pg_catalog", "pg_operator").into_iter();
        let rows = rows.filter_map(|row| {
            let cell = |column: &str| row.get(columns.position(column)).cloned().flatten();
            let (left, right) = (cell("oprleft")?, cell("oprright")?);
            let ty = left.parse().ok().filter(|_| left == right)?;
            Some(((cell("oprname")?, ty), cell("oid")?.parse().ok()?))
        });
        rows.collect()
    });
    let key = (symbol.to_string(), compared_as(ty));
    OPERATORS.get(&key).copied().unwrap_or(0)
}

/// The operator class of btree that sorts by bytes, of those that are kept by name.
fn pattern_class(name: &str) -> Option<i64> {
    match name {
        "text_pattern_ops" => Some(4217),
        "varchar_pattern_ops" => Some(4218),
        "bpchar_pattern_ops" => Some(4219),
        _ => None,
    }
}

/// The operator class of gin that takes values apart so.
fn term_class(terms: TermClass) -> i64 {
    match terms {
        TermClass::Items => 10064,
        TermClass::Words => 10073,
        TermClass::Json => 10090,
        TermClass::JsonPaths => 10091,
        TermClass::Trigrams => TRIGRAM_CLASS,
        TermClass::Plain => 0,
    }
}

/// The oid of gin's operator class that pg_trgm brings.
const TRIGRAM_CLASS: i64 = 15_990;
/// That of its family.
const TRIGRAM_FAMILY: i64 = 15_991;

/// Fills `pg_opclass` with what extensions bring.
pub(super) fn operator_classes(_: &Source<'_>, rows: &mut RelationRows) {
    rows.push(&[
        ("oid", text(TRIGRAM_CLASS)),
        ("opcmethod", text(GIN)),
        ("opcname", text("gin_trgm_ops")),
        ("opcnamespace", text(PG_CATALOG_OID)),
        ("opcowner", text(OWNER_OID)),
        ("opcfamily", text(TRIGRAM_FAMILY)),
        ("opcintype", text(SqlType::Text.oid())),
        ("opcdefault", text('f')),
        ("opckeytype", text(SqlType::Int4.oid())),
    ]);
}

/// `pg_opfamily`: that of the class of trigrams.
pub(super) fn operator_families(_: &Source<'_>, rows: &mut RelationRows) {
    rows.push(&[
        ("oid", text(TRIGRAM_FAMILY)),
        ("opfmethod", text(GIN)),
        ("opfname", text("gin_trgm_ops")),
        ("opfnamespace", text(PG_CATALOG_OID)),
        ("opfowner", text(OWNER_OID)),
    ]);
}
