//! `Relations`: the tables and views of a catalog, by name. Loading a catalog copies the last one and replaces what changed, so
//! a copy must be cheap: it shares the definitions, and has no keys of its own.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::{IndexDef, Relation, TableDef};
use crate::codec::keyspace::TableId;

/// Tables and views, in the order of schema and name.
#[derive(Debug, Clone, Default)]
pub struct Relations {
    all: Vec<Relation>,
    /// Those of them that are tables with foreign keys, in the same order: who updates or deletes rows looks through these alone.
    referring: Vec<Arc<TableDef>>,
    /// Those of them that are partitions: those of a table together, in the order of their bounds.
    partitions: Vec<Arc<TableDef>>,
    /// The places in `all` of the tables that have an index of a name; found when one is first asked for.
    indexes: OnceLock<Arc<HashMap<String, Vec<usize>>>>,
}

impl Relations {
    /// The index of this name, with its table.
    pub(super) fn index(&self, schema: &str, name: &str) -> Option<(&Arc<TableDef>, &IndexDef)> {
        let places = self.indexes.get_or_init(|| Arc::new(self.index_places()));
        let tables = places
            .get(name)?
            .iter()
            .filter_map(|at| self.all[*at].get_table());
        tables.filter(|table| table.schema == schema).find_map(|table| {
            let index = table.named_indexes().find(|index| index.name == name)?;
            Some((table, index))
        })
    }

    fn index_places(&self) -> HashMap<String, Vec<usize>> {
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, relation) in self.all.iter().enumerate() {
            for index in relation
                .get_table()
                .iter()
                .flat_map(|table| table.named_indexes())
            {
                places.entry(index.name.clone()).or_default().push(at);
            }
        }
        places
    }

    /// The one of this name.
    pub fn get(&self, schema: &str, name: &str) -> Option<&Relation> {
        let found = self.place(schema, name).ok()?;
        self.all.get(found)
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Relation> {
        self.all.iter()
    }

    /// The tables that have foreign keys.
    pub fn referring(&self) -> &[Arc<TableDef>] {
        &self.referring
    }

    /// The tables that are partitions.
    pub fn partitions(&self) -> &[Arc<TableDef>] {
        &self.partitions
    }

    /// Adds one, or replaces the one of its name.
    pub(super) fn insert(&mut self, relation: Relation) {
        self.indexes = OnceLock::new();
        let (schema, name) = (relation.schema(), relation.name());
        self.forget(|table| (table.schema.as_str(), table.name.as_str()) == (schema, name));
        self.note(std::slice::from_ref(&relation));
        match self.place(relation.schema(), relation.name()) {
            Ok(at) => self.all[at] = relation,
            Err(at) => self.all.insert(at, relation),
        }
    }

    /// Replaces those whose ids are among the changed ones.
    pub(super) fn replace(&mut self, is_changed: impl Fn(TableId) -> bool, new: Vec<Relation>) {
        self.indexes = OnceLock::new();
        self.all.retain(|relation| !is_changed(relation.id()));
        self.forget(|table| is_changed(table.id));
        self.note(&new);
        self.all.extend(new);
        // Two sorted runs, or nearly so, are merged.
        self.all.sort_by(|a, b| compare(a, b.schema(), b.name()));
    }

    /// Leaves tables out of the lists of those of a kind.
    fn forget(&mut self, is_gone: impl Fn(&TableDef) -> bool) {
        for list in [&mut self.referring, &mut self.partitions] {
            list.retain(|table| !is_gone(table));
        }
    }

    /// Adds those of the kinds that there are lists of.
    fn note(&mut self, new: &[Relation]) {
        let tables = || new.iter().filter_map(Relation::get_table).cloned();
        let referring = tables().filter(|table| !table.foreign_keys.is_empty());
        self.referring.extend(referring);
        self.partitions
            .extend(tables().filter(|table| table.partition.is_some()));
        self.referring
            .sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
        self.partitions
            .sort_by_cached_key(|table| table.place_of_partition());
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
