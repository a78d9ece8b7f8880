//! `Relations`: the tables and views of a catalog, by name. Loading a catalog copies the last one and replaces what changed, so
//! a copy must be cheap: it shares the definitions, and has no keys of its own.

use std::cmp::Ordering;

use super::Relation;
use crate::codec::keyspace::TableId;

/// Tables and views, in the order of schema and name.
#[derive(Debug, Clone, Default)]
pub struct Relations(Vec<Relation>);

impl Relations {
    /// The one of this name.
    pub fn get(&self, schema: &str, name: &str) -> Option<&Relation> {
        let found = self.place(schema, name).ok()?;
        self.0.get(found)
    }

    /// Those of a schema.
    pub(super) fn in_schema(&self, schema: &str) -> &[Relation] {
        let from = self.0.partition_point(|relation| relation.schema() < schema);
        let to = self.0.partition_point(|relation| relation.schema() <= schema);
        &self.0[from..to]
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Relation> {
        self.0.iter()
    }

    /// Adds one, or replaces the one of its name.
    pub(super) fn insert(&mut self, relation: Relation) {
        match self.place(relation.schema(), relation.name()) {
            Ok(at) => self.0[at] = relation,
            Err(at) => self.0.insert(at, relation),
        }
    }

    /// Replaces those whose ids are among the changed ones.
    pub(super) fn replace(&mut self, is_changed: impl Fn(TableId) -> bool, new: Vec<Relation>) {
        self.0.retain(|relation| !is_changed(relation.id()));
        self.0.extend(new);
        // Two sorted runs, or nearly so, are merged.
        self.0.sort_by(|a, b| compare(a, b.schema(), b.name()));
    }

    /// Where the one of this name stands, or would.
    fn place(&self, schema: &str, name: &str) -> Result<usize, usize> {
        self.0
            .binary_search_by(|relation| compare(relation, schema, name))
    }
}

fn compare(relation: &Relation, schema: &str, name: &str) -> Ordering {
    (relation.schema(), relation.name()).cmp(&(schema, name))
}
