//! `pg_attribute`: the columns of relations and of indexes. Called by `relations`.

use super::object_class::collation_of;
use super::relation_rows::{Constants, RelationRows, Source, boolean, text, texts_or_null};
use crate::system::catalog_version::objects::{UserColumn, type_facts};

pub(super) const ATTRIBUTE: Constants = &[
    ("attstattarget", "-1"),
    ("attcacheoff", "-1"),
    ("attcompression", ""),
    ("atthasmissing", "f"),
    ("attisdropped", "f"),
];

pub(super) fn attributes(source: &Source<'_>, rows: &mut RelationRows) {
    for relation in &source.objects.relations {
        for (position, column) in relation.columns.iter().enumerate() {
            let is_inherited = relation.partition.is_some();
            let owner = AttributeOwner::Relation { is_inherited };
            attribute(rows, (relation.oid, position + 1), column, owner);
        }
        for index in &relation.indexes {
            let keys = relation
                .index_columns(index)
                .map(|column| (column, AttributeOwner::IndexKey));
            let included = relation.included_columns(index);
            let included = included.map(|column| (column, AttributeOwner::IndexIncluded));
            for (position, (column, owner)) in keys.chain(included).enumerate() {
                attribute(rows, (index.oid, position + 1), column, owner);
            }
        }
    }
}

/// Whose column it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttributeOwner {
    Relation {
        is_inherited: bool,
    },
    IndexKey,
    /// INCLUDE: nothing is ordered by it.
    IndexIncluded,
}

fn attribute(
    rows: &mut RelationRows,
    (relation, number): (i64, usize),
    column: &UserColumn,
    owner: AttributeOwner,
) {
    let of_index = !matches!(owner, AttributeOwner::Relation { .. });
    let is_inherited = owner == AttributeOwner::Relation { is_inherited: true };
    let collation = match owner {
        AttributeOwner::IndexIncluded => 0,
        _ => collation_of(column),
    };
    let facts = type_facts(&column.ty);
    rows.push(&[
        ("attrelid", text(relation)),
        ("attname", text(&column.name)),
        (
            "atttypid",
            text(
                column
                    .domain
                    .as_ref()
                    .map_or_else(|| column.ty.oid(), |domain| domain.oid),
            ),
        ),
        ("attlen", text(facts.length)),
        ("attnum", text(number)),
        ("attislocal", boolean(!is_inherited)),
        ("attinhcount", text(i32::from(is_inherited))),
        ("attndims", text(column.ty.declared_dimensions())),
        (
            "atttypmod",
            text(if column.domain.is_some() {
                -1
            } else {
                column.ty.modifier()
            }),
        ),
        ("attbyval", boolean(facts.by_value)),
        ("attalign", text(&facts.align)),
        ("attstorage", text(&facts.storage)),
        ("attnotnull", boolean(column.not_null && !of_index)),
        ("atthasdef", boolean(column.default.is_some() && !of_index)),
        ("attidentity", text(if of_index { "" } else { column.identity })),
        (
            "attgenerated",
            text(if column.is_generated && !of_index { "s" } else { "" }),
        ),
        ("attcollation", text(collation)),
        (
            "attoptions",
            if of_index {
                None
            } else {
                texts_or_null(&column.options)
            },
        ),
    ]);
}
