//! Rows of the catalogs that tell of sequences: `pg_sequence`, `pg_sequences`, `information_schema.sequences`, and of `pg_depend` what
//! says which columns sequences go with, and which defaults take values of them.

use std::collections::HashMap;

use super::object_class::{CLASS_CLASS, DEFAULT_CLASS, default_oid};
use super::relation_rows::{Constants, RelationRows, Source, boolean, text, yes_or_no};
use crate::catalog::{SequenceDef, TableDef};
use crate::system::catalog_version::objects::{OWNER_NAME, UserRelation, type_facts};

/// The sequences that are no temporary ones of other sessions, with what they are.
fn each_sequence<'a>(source: &'a Source<'_>) -> impl Iterator<Item = (&'a UserRelation, &'a SequenceDef)> {
    let relations = source.standard_relations();
    relations.filter_map(|relation| Some((relation, relation.sequence.as_ref()?)))
}

pub(super) fn sequences(source: &Source<'_>, rows: &mut RelationRows) {
    for relation in &source.objects.relations {
        let Some(sequence) = &relation.sequence else {
            continue;
        };
        rows.push(&[
            ("seqrelid", text(relation.oid)),
            ("seqtypid", text(sequence.ty.sql_type().oid())),
            ("seqstart", text(sequence.start)),
            ("seqincrement", text(sequence.increment)),
            ("seqmax", text(sequence.max)),
            ("seqmin", text(sequence.min)),
            ("seqcache", text(sequence.cache)),
            ("seqcycle", boolean(sequence.cycles)),
        ]);
    }
}

pub(super) fn sequence_list(source: &Source<'_>, rows: &mut RelationRows) {
    for (relation, sequence) in each_sequence(source) {
        let last = source.last_values.and_then(|last| last.get(&sequence.oid()));
        rows.push(&[
            ("schemaname", text(&relation.schema)),
            ("sequencename", text(&relation.name)),
            ("sequenceowner", text(OWNER_NAME)),
            ("data_type", text(sequence.ty.sql_type().oid())),
            ("start_value", text(sequence.start)),
            ("min_value", text(sequence.min)),
            ("max_value", text(sequence.max)),
            ("increment_by", text(sequence.increment)),
            ("cycle", boolean(sequence.cycles)),
            ("cache_size", text(sequence.cache)),
            ("last_value", last.map(i64::to_string)),
        ]);
    }
}

/// Columns of information_schema.sequences that are the same for all.
pub(super) const STANDARD_SEQUENCE: Constants = &[("numeric_precision_radix", "2"), ("numeric_scale", "0")];

/// Those of identity columns are none to the standard.
pub(super) fn standard_sequences(source: &Source<'_>, rows: &mut RelationRows) {
    let is_identity = |sequence: &SequenceDef| sequence.owner.is_some_and(|owner| owner.is_identity);
    for (relation, sequence) in each_sequence(source).filter(|(_, sequence)| !is_identity(sequence)) {
        let ty = sequence.ty.sql_type();
        rows.push(&[
            ("sequence_catalog", text(&source.ctx.database)),
            ("sequence_schema", text(&relation.schema)),
            ("sequence_name", text(&relation.name)),
            ("data_type", text(ty.base_name())),
            (
                "numeric_precision",
                text(type_facts(&ty).length.unsigned_abs() * 8),
            ),
            ("start_value", text(sequence.start)),
            ("minimum_value", text(sequence.min)),
            ("maximum_value", text(sequence.max)),
            ("increment", text(sequence.increment)),
            ("cycle_option", yes_or_no(sequence.cycles)),
        ]);
    }
}

/// The sequences of identity columns, by table and attribute.
pub(super) fn identity_sequences<'a>(source: &'a Source<'_>) -> HashMap<(i64, usize), &'a SequenceDef> {
    let tables = source.ctx.catalog.tables();
    let tables: HashMap<u32, &TableDef> = tables.map(|table| (table.oid, &**table)).collect();
    let owners = each_sequence(source).filter_map(|(_, sequence)| {
        let (table, attribute, is_identity) = owner_of(&tables, sequence)?;
        is_identity.then_some(((table, attribute), sequence))
    });
    owners.collect()
}

/// What depends on what, as far as sequences have to do with it.
pub(super) fn dependencies(source: &Source<'_>, rows: &mut RelationRows) {
    let mut push = |(class, object): (i64, i64), (referenced, column): (i64, usize), kind: &str| {
        rows.depend((class, object), (CLASS_CLASS, referenced), column, kind);
    };
    let tables = source.ctx.catalog.tables();
    let tables: HashMap<u32, &TableDef> = tables.map(|table| (table.oid, &**table)).collect();
    for (relation, sequence) in each_sequence(source) {
        if let Some((table, attribute, is_identity)) = owner_of(&tables, sequence) {
            let kind = if is_identity { "i" } else { "a" };
            push((CLASS_CLASS, relation.oid), (table, attribute), kind);
        }
    }
    for relation in &source.objects.relations {
        for (position, column) in relation.columns.iter().enumerate() {
            for sequence in column.sequences.iter().filter(|_| column.default.is_some()) {
                let default = default_oid(relation.oid, position + 1);
                push((DEFAULT_CLASS, default), (i64::from(*sequence), 0), "n");
            }
        }
    }
}

/// Table and attribute that a sequence goes with, and whether that is an identity column.
fn owner_of(tables: &HashMap<u32, &TableDef>, sequence: &SequenceDef) -> Option<(i64, usize, bool)> {
    let owner = sequence.owner?;
    let mut columns = tables.get(&owner.table)?.visible_columns();
    let position = columns.position(|column| column.id == owner.column)?;
    Some((i64::from(owner.table), position + 1, owner.is_identity))
}
