//! A table as a walk along its primary key sees it that goes on where it came to: a definition whose rows are those behind a key, and which
//! has no other key. So an UPDATE in batches meets no row twice, whatever it sets. `plan` reads no more of such a definition.
//!
//! Such a definition is never a record: nobody changes it and puts it back, nor writes to it.

use std::sync::Arc;

use super::{TableCache, TableDef};

impl TableDef {
    /// The rows behind a stored key, which none has to be of; all behind an empty one.
    pub fn walked(&self, after: &Arc<[u8]>) -> Arc<TableDef> {
        let mut seen = self.clone();
        seen.indexes.clear();
        seen.cache = TableCache::default();
        seen.read_after = Some(Arc::clone(after));
        Arc::new(seen)
    }
}
