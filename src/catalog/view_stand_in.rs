//! Views that INSTEAD OF triggers write to, as writes see them: tables with the view's columns that store nothing.

use super::{
    ColumnDef, IndexDef, TableCache, TableDef, TableOptions, TriggerDef, TriggerEvent, TriggerTiming, ViewDef,
};
use crate::codec::row::ColumnId;
use crate::types::{SqlType, Value};

impl ViewDef {
    /// The trigger of this name.
    pub fn trigger(&self, name: &str) -> Option<&TriggerDef> {
        self.triggers.iter().find(|trigger| trigger.name == name)
    }

    /// Whether triggers do what a statement would do to its rows.
    pub fn is_written_by_triggers(&self, event: TriggerEvent) -> bool {
        self.triggers
            .iter()
            .any(|trigger| trigger.events.contains(&event))
    }

    /// The table that stands for it in such a statement. `types`: those of its columns.
    pub fn stand_in(&self, types: impl Iterator<Item = SqlType>) -> TableDef {
        let columns = self.columns.iter().zip(types).zip(1..);
        let columns = columns.map(|(((name, _), ty), id)| ColumnDef {
            collation: None,
            id,
            name: name.clone(),
            ty,
            domain: None,
            not_null: false,
            unverified: None,
            default: None,
            missing: Value::Null,
            hidden: false,
            dynamic: false,
            comment: None,
        });
        TableDef {
            id: self.id,
            oid: self.oid(),
            version: self.version,
            schema: self.schema.clone(),
            name: self.name.clone(),
            columns: columns.collect(),
            next_column_id: self.columns.len() as ColumnId + 1,
            primary_key: no_key(),
            indexes: Vec::new(),
            next_index_id: 1,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            triggers: self.triggers.clone(),
            partitioning: None,
            partition: None,
            options: TableOptions::default(),
            wildcards: Vec::new(),
            stored_query: None,
            rekeying: None,
            beside_from: None,
            comment: None,
            cache: TableCache::default(),
            left_out: Default::default(),
            version_read: None,
            read_after: None,
            told: Default::default(),
        }
    }
}

impl TableDef {
    /// Whether it stands for a view: its rows are written by triggers alone.
    pub fn stands_for_view(&self) -> bool {
        let mut triggers = self.triggers.iter();
        triggers.any(|trigger| trigger.timing == TriggerTiming::InsteadOf)
    }
}

/// The primary key of what has none.
fn no_key() -> IndexDef {
    IndexDef {
        id: 0,
        oid: 0,
        name: String::new(),
        columns: Vec::new(),
        include: Vec::new(),
        expressions: Vec::new(),
        predicate: None,
        buckets: None,
        terms: None,
        unique: true,
        nulls_not_distinct: false,
        constraint: false,
        deferral: None,
        exclusion: None,
        built: true,
        building: false,
        invalid: false,
        inactive: false,
        options: Default::default(),
        comment: None,
        classes: Default::default(),
        constraint_comment: None,
    }
}
