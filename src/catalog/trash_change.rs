//! What `CatalogWriter` puts into the trash and takes out of it. Called by `sql::ddl` and `session`.

use std::sync::Arc;

use super::trash::{self, TrashedBy, TrashedTable};
use super::{CatalogWriter, TableDef, written_key};
use crate::Result;
use crate::codec::keyspace::{IndexId, Keyspace};
use crate::store::{LockMode, Write};

impl CatalogWriter<'_> {
    /// Removes a table's record, as `drop_table` does, and puts it into the trash with the sequences of its columns.
    pub fn trash_table(&self, table: &TableDef, trashed: &TrashedTable) -> Result<()> {
        self.forget_table(table)?;
        for sequence in &trashed.sequences {
            self.forget_sequence(&sequence.def)?;
        }
        self.put_trashed(trashed)
    }

    /// Gives a table other, empty keys, as `replace_table` does, and puts the old ones into the trash.
    pub fn trash_keys(
        &self,
        table: &TableDef,
        new: TableDef,
        trashed: &TrashedTable,
    ) -> Result<Arc<TableDef>> {
        let emptied = self.move_table(table, new, LockMode::AccessExclusive)?;
        self.put_trashed(trashed)?;
        Ok(emptied)
    }

    /// Takes a table out of the trash; its keys are the caller's.
    pub fn take_from_trash(&self, trashed: &TrashedTable) -> Result<()> {
        self.write_record(Keyspace::Trash { id: trashed.id }, None)
    }

    /// Takes a table out of the trash, and leaves its keys to `reclaim_dropped`.
    pub fn purge(&self, trashed: &TrashedTable) -> Result<()> {
        self.take_from_trash(trashed)?;
        let mut keys = vec![
            Keyspace::NextRowId { table: trashed.id }.encode(),
            written_key(trashed.id),
        ];
        if trashed.by == TrashedBy::Drop {
            keys.extend(
                trashed
                    .sequences
                    .iter()
                    .map(|sequence| sequence.def.counter_key()),
            );
        }
        for key in keys {
            self.txn().write(Write::Delete { key }, None)?;
        }
        self.drop_keys(trashed.id, IndexId::MAX)
    }

    fn put_trashed(&self, trashed: &TrashedTable) -> Result<()> {
        let value = trash::encode(trashed, self.stamp())?;
        self.write_record(Keyspace::Trash { id: trashed.id }, Some(value))
    }
}
