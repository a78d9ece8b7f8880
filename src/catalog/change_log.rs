//! Which tables have a log of the rows that are written (`TableDef::rekeying`), for `txn`, which puts their keys there.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::Catalog;
use crate::codec::keyspace::{IndexId, TableId};

/// The logs of a catalog, worked out when they are first asked for. A clone, which is made to be changed, starts without.
#[derive(Debug, Default)]
pub(super) struct ChangeLogCache(OnceLock<Option<Arc<BTreeMap<TableId, IndexId>>>>);

impl Clone for ChangeLogCache {
    fn clone(&self) -> ChangeLogCache {
        ChangeLogCache::default()
    }
}

impl Catalog {
    /// The tables whose writers put the keys of rows into an index of its, by their ids; `None`: there are none.
    pub fn change_logs(&self) -> Option<&Arc<BTreeMap<TableId, IndexId>>> {
        let logs = self.change_logs.0.get_or_init(|| {
            let logs = self
                .tables()
                .filter_map(|table| Some((table.id, table.rekeying?.log)));
            let logs: BTreeMap<_, _> = logs.collect();
            (!logs.is_empty()).then(|| Arc::new(logs))
        });
        logs.as_ref()
    }
}
