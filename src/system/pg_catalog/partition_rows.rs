//! `pg_partitioned_table` and `pg_inherits`: partitioned tables, and of which table and index others are partitions.

use super::index_rows::operator_class;
use super::object_class::collation_of;
use super::relation_rows::{Constants, RelationRows, Source, text, vector};
use crate::system::catalog_version::objects::UserColumn;

/// What all rows of `pg_inherits` have in common.
pub(super) const INHERITS: Constants = &[("inhseqno", "1"), ("inhdetachpending", "f")];

/// Fills `pg_partitioned_table`.
pub(super) fn partitioned_tables(source: &Source<'_>, rows: &mut RelationRows) {
    for relation in &source.objects.relations {
        let Some(partitioning) = &relation.partitioning else {
            continue;
        };
        let columns = partitioning.columns.iter();
        let columns: Vec<&UserColumn> = columns
            .filter_map(|number| relation.columns.get(number - 1))
            .collect();
        rows.push(&[
            ("partrelid", text(relation.oid)),
            ("partstrat", text(partitioning.strategy.letter())),
            ("partnatts", text(columns.len())),
            ("partdefid", text(partitioning.default)),
            ("partattrs", vector(partitioning.columns.iter())),
            (
                "partclass",
                vector(columns.iter().map(|column| operator_class(&column.ty))),
            ),
            (
                "partcollation",
                vector(columns.iter().map(|column| collation_of(column))),
            ),
        ]);
    }
}

/// Fills `pg_inherits`.
pub(super) fn parents(source: &Source<'_>, rows: &mut RelationRows) {
    for relation in &source.objects.relations {
        let Some(partition) = &relation.partition else {
            continue;
        };
        let table = (relation.oid, partition.parent);
        let indexes = relation
            .indexes
            .iter()
            .filter_map(|index| Some((index.oid, index.parent?)));
        for (oid, parent) in std::iter::once(table).chain(indexes) {
            rows.push(&[("inhrelid", text(oid)), ("inhparent", text(parent))]);
        }
    }
}
