//! A table that keeps versions of its rows: where the older ones stand, and the table as it looks to a read of versions. That is a
//! definition of its own, whose rows are versions, whose key goes on with their time where it is not one of each row, and which has no
//! other key. So whatever plans and runs reads versions as it reads rows; what puts them together is in `table::version_scan`.
//!
//! Such a definition is never a record: nobody changes it and puts it back, nor writes to it.

use std::sync::Arc;

use super::expiry::Expiry;
use super::version_read::{Moment, VERSION_KEY, VERSION_TIME, VersionRead, WantedVersions};
use super::versions::Versions;
use super::{ColumnDef, KeyColumn, TableCache, TableDef};
use crate::codec::KeyRange;
use crate::codec::keyspace::entry_prefix;
use crate::codec::row::ColumnId;
use crate::types::SqlType;

impl TableDef {
    /// Whether it keeps older versions of its rows.
    pub fn keeps_versions(&self) -> bool {
        self.options.versions.store != 0
    }

    /// Where the older versions stand; `None`: it keeps none.
    pub fn versions_range(&self) -> Option<KeyRange> {
        let store = self.options.versions.store;
        (store != 0).then(|| KeyRange::of_prefix(&entry_prefix(self.id, store)))
    }

    /// The table as a read of these versions sees it.
    pub fn of_versions(&self, wanted: WantedVersions) -> Arc<TableDef> {
        let mut seen = self.clone();
        let name = |wish: &str| {
            let mut name = format!("?{wish}?");
            while self.has_column_named(&name) {
                name.push('?');
            }
            name
        };
        seen.columns.push(time_column(VERSION_TIME, name("version")));
        if !wanted.is_of_one() {
            seen.columns.push(time_column(VERSION_KEY, name("version key")));
            seen.primary_key.columns.push(KeyColumn {
                column: VERSION_KEY,
                descending: true,
                nulls_first: false,
            });
        }
        for column in &mut seen.columns {
            // A version may be older than what its table demands.
            column.not_null &= column.id >= VERSION_KEY;
        }
        seen.indexes.clear();
        seen.options.expiry = Expiry::default();
        seen.options.versions = Versions::default();
        seen.cache = TableCache::default();
        seen.version_read = Some(Arc::new(VersionRead {
            wanted,
            kept: self.options.versions.clone(),
            rule: self.expiry_rule(),
        }));
        Arc::new(seen)
    }

    /// The same definition of versions, of these moments where they were open.
    pub fn at_moments(&self, told: &[Moment]) -> Arc<TableDef> {
        let read = self.version_read.as_deref().map(|read| {
            Arc::new(VersionRead {
                wanted: read.wanted.told(told),
                ..read.clone()
            })
        });
        Arc::new(TableDef {
            version_read: read,
            ..self.clone()
        })
    }

    /// Whether what is read of it are versions.
    pub fn is_of_versions(&self) -> bool {
        self.version_read.is_some()
    }

    /// Position in `columns` of the time of a version, of a definition for a read of them.
    pub fn version_time(&self) -> Option<usize> {
        self.version_read.as_ref()?;
        self.column_index_by_id(VERSION_TIME)
    }
}

fn time_column(id: ColumnId, name: String) -> ColumnDef {
    ColumnDef {
        not_null: true,
        ..ColumnDef::hidden(id, name, SqlType::Int8)
    }
}
