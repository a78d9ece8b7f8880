//! What a table keeps of what is worked out of its record: its Arrow fields and schema, and what computes its generated columns.

use std::sync::Arc;

use arrow::datatypes::{FieldRef, Schema, SchemaRef};

use super::{ColumnDef, GeneratedColumns, IndexDef, TableDef};
use crate::Result;

impl TableDef {
    /// Those that have names in their schema: a key that nobody declared has none that others could not have.
    pub fn named_indexes(&self) -> impl Iterator<Item = &IndexDef> {
        self.all_indexes()
            .filter(|index| index.id != 0 || index.constraint)
    }

    /// The Arrow field of each of `columns`, types in metadata; only columns that may hold NULL are nullable.
    /// The definition must not be changed afterwards.
    pub fn fields(&self) -> &[FieldRef] {
        let field = |column: &ColumnDef| {
            let nullable = !column.is_never_null() && !self.is_key_column(column.id);
            FieldRef::new(column.ty.field(&column.name, nullable))
        };
        let fields = self
            .cache
            .fields
            .get_or_init(|| self.columns.iter().map(field).collect());
        debug_assert_eq!(
            fields.len(),
            self.columns.len(),
            "changed after its fields were asked for"
        );
        fields
    }

    /// The Arrow schema of batches to be written: every column, each nullable, for NULLs are refused by the writer.
    /// The definition must not be changed afterwards.
    pub fn write_schema(&self) -> SchemaRef {
        let field = |column: &ColumnDef| column.ty.field(&column.name, true);
        let made = || Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()));
        let schema = self.cache.write_schema.get_or_init(made);
        debug_assert_eq!(
            schema.fields().len(),
            self.columns.len(),
            "changed after its schema was asked for"
        );
        Arc::clone(schema)
    }

    /// What computes the generated columns, if somebody has asked for it by now.
    pub fn generated(&self) -> Option<&Arc<dyn GeneratedColumns>> {
        self.cache.generated.get()
    }

    /// The same; `make` makes it of a table that has generated columns. The definition must not be changed afterwards.
    pub fn generated_or(
        &self,
        make: impl FnOnce() -> Result<Arc<dyn GeneratedColumns>>,
    ) -> Result<Option<&Arc<dyn GeneratedColumns>>> {
        let generates = || self.generations().next().is_some();
        if self.generated().is_none() && *self.cache.generates.get_or_init(generates) {
            let made = make()?;
            self.cache.generated.get_or_init(|| made);
        }
        Ok(self.generated())
    }
}
