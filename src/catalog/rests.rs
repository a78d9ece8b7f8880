//! `CatalogWriter`, where what is written rests on other objects, which must stay: on types, functions, relations, schemas. Each is guarded in
//! a mode that conflicts with the one in which its record is written: relations in one of relations, all others in one of rows.

use super::stored_calls::{texts_of_table, texts_of_type};
use super::{CatalogWriter, ColumnDef, Relation, TableDef, TypeDef, ViewDef, record_key};
use crate::Result;
use crate::codec::keyspace::Keyspace;
use crate::store::LockMode;

impl CatalogWriter<'_> {
    /// Nobody else may have made anything depend on the object since the snapshot: a view on the relation, a relation in
    /// the schema. To be called by whoever changes or removes what such a thing would rest on.
    pub fn guard_dependents(&self, oid: u32) {
        self.txn().guard(&Keyspace::Dependents { oid }.encode());
    }

    /// Something new depends on a relation or a function, which must stay. One that this statement makes is known to nobody else.
    pub fn rest_on_object(&self, oid: u32) -> Result<()> {
        if let Some(relation) = self.relation_of(oid) {
            return self.rest_on(relation);
        }
        match self.catalog().routines.by_oid(oid) {
            Some(_) => self.rest_on_record(&Keyspace::Routine { oid }, oid),
            None => Ok(()),
        }
    }

    /// Something new depends on the relation, which must stay as it is.
    pub(super) fn rest_on(&self, relation: &Relation) -> Result<()> {
        self.txn()
            .guard_in(&record_key(relation.id()), LockMode::AccessShare);
        let oid = relation.oid();
        self.txn().mark(Keyspace::Dependents { oid }.encode())
    }

    /// Something new depends on the type, or on the rows of a relation, which must stay. One that this statement makes is known to nobody else.
    pub(super) fn rest_on_type(&self, oid: u32) -> Result<()> {
        match self.catalog().types.by_oid(oid) {
            Some(_) => self.rest_on_record(&self.type_key(oid), oid),
            None => self.rest_on_object(oid),
        }
    }

    /// Something new is in the schema, which must stay.
    pub(super) fn rest_on_schema(&self, schema: &str) -> Result<()> {
        let Some(known) = self.catalog().schemas.get(schema) else {
            return Ok(());
        };
        let schema = self.schema_key(schema);
        self.rest_on_record(&Keyspace::Schema { schema }, known.oid)
    }

    /// The same of what is no relation.
    fn rest_on_record(&self, record: &Keyspace<'_>, oid: u32) -> Result<()> {
        self.txn().guard_in(&record.encode(), LockMode::KeyShare);
        self.txn().mark(Keyspace::Dependents { oid }.encode())
    }

    /// A query rests on what it reads and did not read before.
    pub(super) fn rest_on_read(&self, known: Option<&Relation>, reads: &[u32]) -> Result<()> {
        let old = known.map(Relation::reads).unwrap_or_default();
        for read in reads.iter().filter(|oid| !old.contains(oid)) {
            if let Some(relation) = self.relation_of(*read) {
                self.rest_on(relation)?;
            }
        }
        Ok(())
    }

    /// Columns that are of other types than before depend on these.
    pub(super) fn rest_on_types(&self, old: Option<&TableDef>, new: &TableDef) -> Result<()> {
        let used = |table: &TableDef| {
            let columns = table.columns.iter().chain(&table.wildcards);
            columns.flat_map(ColumnDef::types_used).collect::<Vec<u32>>()
        };
        self.rest_on_new_types(&old.map(used).unwrap_or_default(), used(new))
    }

    fn rest_on_new_types(&self, old: &[u32], mut new: Vec<u32>) -> Result<()> {
        new.retain(|oid| !old.contains(oid));
        new.sort_unstable();
        new.dedup();
        new.into_iter().try_for_each(|oid| self.rest_on_type(oid))
    }

    /// A type rests on the types within it, and on what its expressions call.
    pub(super) fn rest_on_parts(&self, old: Option<&TypeDef>, new: &TypeDef) -> Result<()> {
        let types = old.map(TypeDef::rests_on).unwrap_or_default();
        self.rest_on_new_types(&types, new.rests_on())?;
        self.rest_on_called(&old.map(texts_of_type).unwrap_or_default(), &texts_of_type(new))
    }

    /// A table rests on what its expressions call, and its triggers.
    pub(super) fn rest_on_calls(&self, old: Option<&TableDef>, new: &TableDef) -> Result<()> {
        self.rest_on_called(&old.map(texts_of_table).unwrap_or_default(), &texts_of_table(new))?;
        let fired = |oid: u32| {
            old.is_some_and(|old| {
                let mut triggers = old.triggers.iter();
                triggers.any(|trigger| trigger.function == oid)
            })
        };
        let triggers = new.triggers.iter().map(|trigger| trigger.function);
        triggers
            .filter(|oid| !fired(*oid))
            .try_for_each(|oid| self.rest_on_object(oid))
    }

    /// So does a view, on what its query calls.
    pub(super) fn rest_on_calls_of_view(&self, known: Option<&Relation>, new: &ViewDef) -> Result<()> {
        let old = match known {
            Some(Relation::View(view)) => vec![view.query.as_str()],
            _ => Vec::new(),
        };
        self.rest_on_called(&old, &[&new.query])?;
        let mut triggers = new.triggers.iter().map(|trigger| trigger.function);
        triggers.try_for_each(|oid| self.rest_on_object(oid))
    }

    /// Something rests on the functions whose names stand in texts that it did not have before.
    fn rest_on_called(&self, old: &[&str], new: &[&str]) -> Result<()> {
        for text in new.iter().filter(|text| !old.contains(text)) {
            for routine in self.catalog().routines.named_in(text) {
                self.rest_on_object(routine.oid)?;
            }
        }
        Ok(())
    }
}
