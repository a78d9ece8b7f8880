//! `Relations`: the tables and views of a catalog, by name. Loading a catalog copies the last one and replaces what changed, so
//! a copy must be cheap: it shares the definitions, and has no keys of its own.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Relation, TableDef};
use crate::codec::keyspace::TableId;

/// Tables and views, in the order of schema and name.
#[derive(Debug, Clone, Default)]
pub struct Relations {
    all: Vec<Relation>,
    /// Those of them that are tables with foreign keys, in the same order: who updates or deletes rows looks through these alone.
    referring: Vec<Arc<TableDef>>,
}

impl Relations {
    /// The one of this name.
    pub fn get(&self, schema: &str, name: &str) -> Option<&Relation> {
        let found = self.place(schema, name).ok()?;
        self.all.get(found)
    }

    /// Those of a schema.
    pub(super) fn in_schema(&self, schema: &str) -> &[Relation] {
        let from = self.all.partition_point(|relation| relation.schema() < schema);
        let to = self.all.partition_point(|relation| relation.schema() <= schema);
        &self.all[from..to]
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Relation> {
        self.all.iter()
    }

    /// The tables that have foreign keys.
    pub fn referring(&self) -> &[Arc<TableDef>] {
        &self.referring
    }

    /// Adds one, or replaces the one of its name.
    pub(super) fn insert(&mut self, relation: Relation) {
        let (schema, name) = (relation.schema(), relation.name());
        self.referring
            .retain(|table| (table.schema.as_str(), table.name.as_str()) != (schema, name));
        self.note_referring(std::slice::from_ref(&relation));
        match self.place(relation.schema(), relation.name()) {
            Ok(at) => self.all[at] = relation,
            Err(at) => self.all.insert(at, relation),
        }
    }

    /// Replaces those whose ids are among the changed ones.
    pub(super) fn replace(&mut self, is_changed: impl Fn(TableId) -> bool, new: Vec<Relation>) {
        self.all.retain(|relation| !is_changed(relation.id()));
        self.referring.retain(|table| !is_changed(table.id));
        self.note_referring(&new);
        self.all.extend(new);
        // Two sorted runs, or nearly so, are merged.
        self.all.sort_by(|a, b| compare(a, b.schema(), b.name()));
    }

    fn note_referring(&mut self, new: &[Relation]) {
        let tables = new.iter().filter_map(Relation::get_table);
        let referring = tables.filter(|table| !table.foreign_keys.is_empty());
        self.referring.extend(referring.cloned());
        self.referring
            .sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
    }

    /// Where the one of this name stands, or would.
    fn place(&self, schema: &str, name: &str) -> Result<usize, usize> {
        self.all
            .binary_search_by(|relation| compare(relation, schema, name))
    }
}

fn compare(relation: &Relation, schema: &str, name: &str) -> Ordering {
    (relation.schema(), relation.name()).cmp(&(schema, name))
}
