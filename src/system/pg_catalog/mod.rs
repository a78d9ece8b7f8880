//! The system catalogs: relations of `pg_catalog` and `information_schema` with PostgreSQL 15's columns, filled from our
//! own catalog. The query layer asks here for tables by name; the functions that clients call on them stand in
//! [`crate::functions`]. Nothing here knows SQL text.
//!
//! # Where rows come from
//!
//! - What every database has (types, functions, operators, casts, the catalogs themselves) stands in `postgres15/`, written
//!   from a PostgreSQL 15 by `generate.py`. Of its functions and operators only those that Keyspan has can be called.
//! - What this database has (schemas, tables, columns, keys, comments) comes from [`crate::catalog::Catalog`] through
//!   [`objects::Objects`]. A table's row type has the table's oid, a key constraint its index's.
//! - A relation that has neither (triggers, policies, publications …) is empty.
//!
//! # Names of objects
//!
//! A regclass, regtype, regproc … is an oid (Int64) within a query, so that it joins and compares as one. Text becomes one
//! by the function of the type's name (`regclass('orders')`), and leaves the query as its name by `object_name('regclass',
//! x)`, typed [`crate::types::SqlType::output_type`].

pub(crate) mod cells;
pub(crate) mod ddl_text;
pub(crate) mod definitions;
mod information_schema;
pub(crate) mod naming;
pub(crate) mod objects;
mod relation_rows;
pub(crate) mod relations;
pub(crate) mod session_rows;

pub(crate) use objects::type_by_format;

#[cfg(test)]
pub(crate) mod tests;
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::error::{DataFusionError, Result as DataFusionResult};

use super::StatementContext;
use crate::Result;
use crate::catalog::TableDef;
use crate::table::committed_row_counts;
use objects::Objects;

/// Whether a role of this name is there for a session of the user.
pub(crate) fn is_role(user: &str, name: &str) -> bool {
    session_rows::role_names(user)
        .iter()
        .any(|(_, role)| role == name)
}

/// One statement's view of the system catalogs: made once a statement, shared by its relations and functions.
#[derive(Debug)]
pub struct CatalogContext {
    statement: Arc<StatementContext>,
    objects: OnceLock<Objects>,
    /// How many rows tables have, by oid, once a relation that says it is read.
    row_counts: OnceLock<HashMap<u32, u64>>,
    /// Rows of relations that were read, by name: a subquery may read its relations once a row.
    read: Mutex<HashMap<String, Arc<Vec<RecordBatch>>>>,
}

impl CatalogContext {
    /// For a statement. Costs nothing until a relation or function is asked for rows or names.
    pub fn new(statement: Arc<StatementContext>) -> Arc<CatalogContext> {
        Arc::new(CatalogContext {
            statement,
            objects: OnceLock::new(),
            row_counts: OnceLock::new(),
            read: Mutex::default(),
        })
    }

    /// Schema and rows of a system relation, `None` when there is none of that name.
    pub fn table(&self, schema: &str, name: &str) -> Option<(SchemaRef, Vec<RecordBatch>)> {
        let definition = definitions::definition(schema, name)?;
        let source = relation_rows::Source {
            ctx: &self.statement,
            objects: self.objects(),
            row_counts: self.row_counts.get(),
        };
        let batches = match schema {
            "pg_catalog" => relations::batches(&source, name),
            _ => information_schema::batches(&source, name),
        };
        Some((Arc::clone(&definition.fields), batches))
    }

    /// Asks the store for what the rows of a relation say of its data, before they are made. Errors: the store's.
    pub(crate) async fn prepare(&self, name: &str) -> Result<()> {
        let tells_rows = ["pg_class", "pg_stat_user_tables", "pg_stat_all_tables"].contains(&name);
        if tells_rows && self.row_counts.get().is_none() {
            let tables: Vec<&Arc<TableDef>> = self.statement.catalog.tables().collect();
            let counts = committed_row_counts(&self.statement.txn, &tables).await?;
            let oids = tables.iter().map(|table| table.oid);
            let known = oids.zip(counts).filter_map(|(oid, count)| Some((oid, count?)));
            let known = known.collect();
            self.row_counts.get_or_init(|| known);
        }
        Ok(())
    }

    /// Rows that `make` makes, once a statement for each name.
    pub(crate) fn read_once<E>(
        &self,
        name: &str,
        make: impl FnOnce() -> std::result::Result<Vec<RecordBatch>, E>,
    ) -> std::result::Result<Arc<Vec<RecordBatch>>, E> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rows) = read.get(name) {
            return Ok(Arc::clone(rows));
        }
        let rows = Arc::new(make()?);
        read.insert(name.to_string(), Arc::clone(&rows));
        Ok(rows)
    }

    pub(crate) fn statement(&self) -> &Arc<StatementContext> {
        &self.statement
    }

    pub(crate) fn objects(&self) -> &Objects {
        self.objects.get_or_init(|| Objects::new(&self.statement.catalog))
    }

    pub(crate) fn search_path(&self) -> &[String] {
        &self.statement.settings.search_path
    }

    pub(crate) fn user(&self) -> &str {
        &self.statement.user
    }

    pub(crate) fn database(&self) -> &str {
        &self.statement.database
    }

    pub(crate) fn process_id(&self) -> i32 {
        self.statement.process_id
    }
}

/// Where the functions of a plan find the catalogs of the statement that it runs for. A plan that is kept has one place for all its
/// runs; while it is made, and between its runs, nothing stands there.
#[derive(Debug, Default)]
pub struct CatalogPlace(RwLock<Option<Arc<CatalogContext>>>);

impl CatalogPlace {
    /// That of one statement.
    pub fn of(catalogs: Arc<CatalogContext>) -> Arc<CatalogPlace> {
        let place = CatalogPlace::default();
        place.set(Some(catalogs));
        Arc::new(place)
    }

    /// A run begins, or ends.
    pub fn set(&self, catalogs: Option<Arc<CatalogContext>>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = catalogs;
    }
}

/// Carries the place to where functions run: they know no statement, so that a prepared plan holds none.
#[derive(Debug, Clone)]
struct StatementExtension(Arc<CatalogPlace>);

impl ConfigExtension for StatementExtension {
    const PREFIX: &'static str = "keyspan_statement";
}

impl ExtensionOptions for StatementExtension {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, _value: &str) -> DataFusionResult<()> {
        Err(DataFusionError::Configuration(format!("{key} is not an option")))
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}

/// Lets functions of plans that run in this configuration find the catalogs at this place.
pub fn install(place: Arc<CatalogPlace>, options: &mut ConfigOptions) {
    options.extensions.insert(StatementExtension(place));
}

/// The statement's catalogs, where a plan runs. Errors: it is being made.
pub(crate) fn installed(options: &ConfigOptions) -> DataFusionResult<Arc<CatalogContext>> {
    let extension = options.extensions.get::<StatementExtension>();
    extension
        .and_then(|extension| {
            let place = extension.0.0.read();
            place.unwrap_or_else(PoisonError::into_inner).clone()
        })
        .ok_or_else(|| DataFusionError::Internal("a plan outside a statement".to_string()))
}

/// The schema of a system relation, without its rows.
pub fn table_schema(schema: &str, name: &str) -> Option<SchemaRef> {
    definitions::definition(schema, name).map(|definition| Arc::clone(&definition.fields))
}

/// The oid of a system relation.
pub fn table_oid(schema: &str, name: &str) -> Option<i64> {
    definitions::definition(schema, name).map(|definition| definition.oid)
}
