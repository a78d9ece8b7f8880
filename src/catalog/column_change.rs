//! Columns that writes add to a table, as changes of the catalog. Called by writes; how they are stored is `dynamic_column`'s.

use std::sync::Arc;

use super::load::single_part_key;
use super::{CatalogWriter, NewDynamicColumn, TableDef, dynamic_column, record, record_key};
use crate::Result;
use crate::store::{LockMode, Write};

impl CatalogWriter<'_> {
    /// Adds the columns that a write named to a table that gets them, at its end. `columns_max`: the columns that it may have then.
    /// Of two who add some at once, one conflicts: both write the record of the next column. Errors: 54011.
    pub fn add_dynamic_columns(
        &self,
        table: &TableDef,
        new: Vec<NewDynamicColumn>,
        columns_max: usize,
    ) -> Result<Arc<TableDef>> {
        let first = table.next_column_id;
        let mut changed = table.with_dynamic_columns(new, columns_max)?;
        changed.version = self.version();
        changed.beside_from.get_or_insert(first);
        self.rest_on_types(Some(table), &changed)?;
        // Rows of those who do not know the columns yet are right beside them.
        let txn = self.txn();
        txn.guard_in(&record_key(table.id), LockMode::ShareUpdateExclusive);
        self.put_version_of(single_part_key(table.id))?;
        for column in changed.columns.iter().filter(|column| column.id >= first) {
            let key = dynamic_column::key_of(table.id, column.id);
            let value = record::encode_column(self.stamp(), table.id, column)?;
            txn.write(Write::Put { key, value }, Some(LockMode::Replace))?;
        }
        Ok(Arc::new(changed))
    }
}
