//! The system catalogs: relations of `pg_catalog` and `information_schema` with PostgreSQL 15's columns, filled from our
//! own catalog. The query layer asks here for tables by name; the functions that clients call on them stand in
//! [`crate::functions`]. Nothing here knows SQL text.
//!
//! # Where rows come from
//!
//! - What every database has (types, functions, operators, casts, the catalogs themselves) stands in
//!   `catalog_version/postgres15/`, written
//!   from a PostgreSQL 15 by `generate.py`. Of its functions and operators only those that Keyspan has can be called.
//! - What this database has (schemas, tables, columns, keys, comments) comes from [`crate::catalog::Catalog`] through
//!   [`Objects`]. A table's row type has the table's oid, a key constraint its index's.
//! - A relation that has neither (triggers, policies, publications …) is empty.
//! - What is the same for all statements that see one version of the catalog is made once for them, and found by the values of its
//!   columns ([`super::catalog_version`]); what says something of a statement, of its session or of the server now is made for each.
//!
//! # Names of objects
//!
//! A regclass, regtype, regproc … is an oid (Int64) within a query, so that it joins and compares as one. Text becomes one
//! by the function of the type's name (`regclass('orders')`), and leaves the query as its name by `object_name('regclass',
//! x)`, typed [`crate::types::SqlType::output_type`].

mod aggregate_rows;
mod attribute_rows;
mod cast_rows;
mod constraint_rows;
mod counter_rows;
pub(crate) mod ddl_text;
mod index_rows;
mod information_schema;
mod large_object_rows;
pub(crate) mod naming;
pub(crate) mod object_class;
pub(crate) mod own_relations;
mod partition_rows;
mod relation_rows;
pub(crate) mod relations;
pub(crate) mod role_rows;
mod routine_rows;
mod sequence_rows;
pub(crate) mod session_rows;
pub(crate) mod shown_names;
mod statement_rows;
pub(crate) mod table_text;
mod text_rows;
mod trigger_rows;
pub(crate) mod trigger_text;
mod type_cells;
mod type_rows;
mod view_rows;

#[cfg(test)]
pub(crate) mod tests;
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion_common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion_common::{DataFusionError, Result as DataFusionResult};

use super::StatementContext;
pub(crate) use super::catalog_version::definitions::{Definition, definition};
use super::catalog_version::objects::Objects;
pub(crate) use super::catalog_version::objects::type_by_format;
pub(crate) use super::catalog_version::version::CatalogRows;
use super::catalog_version::version::CatalogVersion;
use crate::catalog::{Catalog, TableDef, is_temporary_schema};
use crate::table::committed_row_counts;
use crate::types::{SqlType, Value, value_at};
use crate::{Error, Result};
pub(crate) use cast_rows::has_built_in_cast;
pub(crate) use index_rows::{BTREE, GIN};
pub(crate) use role_rows::{is_role, role_oid, user_oid};
pub(crate) use routine_rows::PLPGSQL_OID;

/// The hidden column that says which relation a row is of, behind all others; not among the columns of `*`.
pub const TABLE_OID: &str = "tableoid";

/// Whether a relation has no rows, whatever the database: there are no such objects (policies, publications …).
pub(crate) fn has_no_rows(relation: &Definition) -> bool {
    relations::has_no_rows(relation) && !large_object_rows::tells_large_objects(relation)
}

/// One statement's view of the system catalogs: made once a statement, shared by its relations and functions.
#[derive(Debug)]
pub struct CatalogContext {
    statement: Arc<StatementContext>,
    version: OnceLock<Arc<CatalogVersion>>,
    /// How many rows tables have, by oid, once a relation that says it is read.
    row_counts: OnceLock<HashMap<u32, u64>>,
    /// The last values of sequences, by oid, once a relation that says them is read.
    last_values: OnceLock<HashMap<u32, i64>>,
    /// Rows that are the statement's own, by relation: a subquery may read its relations once a row.
    own: Mutex<HashMap<&'static str, Arc<CatalogRows>>>,
}

impl CatalogContext {
    /// For a statement. Costs nothing until a relation or function is asked for rows or names.
    pub fn new(statement: Arc<StatementContext>) -> Arc<CatalogContext> {
        Arc::new(CatalogContext {
            statement,
            version: OnceLock::new(),
            row_counts: OnceLock::new(),
            last_values: OnceLock::new(),
            own: Mutex::default(),
        })
    }

    /// The rows of a system relation, with [`TABLE_OID`] behind its columns. `columns`: which of them are asked for; the others may
    /// say nothing. Errors: the store's.
    pub(crate) async fn rows(
        &self,
        relation: &'static Definition,
        columns: &[usize],
    ) -> Result<Arc<CatalogRows>> {
        let counted = relations::counted_column(relation);
        let counts_rows = counted.is_some_and(|counted| columns.contains(&counted));
        if counts_rows && self.row_counts.get().is_none() {
            let counts = self.count_rows().await?;
            self.row_counts.get_or_init(|| counts);
        }
        if relations::tells_last_values(relation) && self.last_values.get().is_none() {
            let values = self.read_last_values().await?;
            self.last_values.get_or_init(|| values);
        }
        if large_object_rows::tells_comments(relation)
            && let Some(comments) = large_object_rows::comments(&self.statement, relation).await?
        {
            let mut parts = self.parts(relation);
            parts.push(comments);
            return finish(relation, &parts).map(Arc::new);
        }
        if !counts_rows && !is_of_statement(relation, &self.statement.catalog) {
            return self.version().rows(relation.full_name, || self.make(relation));
        }
        if let Some(rows) = self.lock_own().get(relation.full_name) {
            return Ok(Arc::clone(rows));
        }
        let rows = match relation.schema {
            "keyspan" => finish(
                relation,
                &own_relations::batches(&self.statement, relation).await?,
            )?,
            _ if large_object_rows::tells_large_objects(relation) => finish(
                relation,
                &large_object_rows::batches(&self.statement, relation).await?,
            )?,
            _ => self.make(relation)?,
        };
        let rows = Arc::new(rows);
        let mut own = self.lock_own();
        Ok(Arc::clone(own.entry(relation.full_name).or_insert(rows)))
    }

    /// A column of a relation of pg_catalog, each value with the number in the column `key` of its row. Errors: the store's.
    pub(crate) async fn column_by_key(
        &self,
        relation: &'static str,
        key: &'static str,
        column: &'static str,
    ) -> Result<Vec<(i64, Value)>> {
        let Some(relation) = definition("pg_catalog", relation) else {
            return Ok(Vec::new());
        };
        let (key, column) = (relation.position(key), relation.position(column));
        let rows = self.rows(relation, &[key, column]).await?;
        let rows = rows.all();
        let cell = |at: usize, row: usize| {
            let ty = SqlType::from_field(relation.fields.field(at));
            value_at(rows.column(at), row, &ty)
        };
        let mut found = Vec::with_capacity(rows.num_rows());
        for row in 0..rows.num_rows() {
            if let Value::Int(number) = cell(key, row)? {
                found.push((number, cell(column, row)?));
            }
        }
        Ok(found)
    }

    /// Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
    fn lock_own(&self) -> MutexGuard<'_, HashMap<&'static str, Arc<CatalogRows>>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many rows the store says that each table has, by oid.
    async fn count_rows(&self) -> Result<HashMap<u32, u64>> {
        let tables: Vec<&Arc<TableDef>> = self.statement.catalog.tables().collect();
        let counts = committed_row_counts(&self.statement.txn, &tables).await?;
        let oids = tables.iter().map(|table| table.oid);
        let known = oids.zip(counts).filter_map(|(oid, count)| Some((oid, count?)));
        Ok(known.collect())
    }

    /// The last value of each sequence that has given one, by oid.
    async fn read_last_values(&self) -> Result<HashMap<u32, i64>> {
        let statement = &self.statement;
        let mut values = HashMap::new();
        for sequence in statement.catalog.sequences() {
            let (state, _) = statement.sequences.state(&statement.txn, sequence).await?;
            if state.is_called {
                values.insert(sequence.oid(), state.last);
            }
        }
        Ok(values)
    }

    fn make(&self, relation: &'static Definition) -> Result<CatalogRows> {
        finish(relation, &self.parts(relation))
    }

    fn parts(&self, relation: &'static Definition) -> Vec<RecordBatch> {
        let source = relation_rows::Source {
            ctx: &self.statement,
            objects: self.objects(),
            row_counts: self.row_counts.get(),
            last_values: self.last_values.get(),
        };
        match relation.schema {
            "pg_catalog" => relations::batches(&source, relation),
            _ => information_schema::batches(&source, relation),
        }
    }

    fn version(&self) -> &CatalogVersion {
        let known = &self.statement.server.catalog_versions;
        let version = || known.version(&self.statement.catalog, &self.statement.database);
        self.version.get_or_init(version)
    }

    pub(crate) fn statement(&self) -> &Arc<StatementContext> {
        &self.statement
    }

    pub(crate) fn objects(&self) -> &Objects {
        self.version().objects(&self.statement.catalog)
    }

    pub(crate) fn search_path(&self) -> &[String] {
        &self.statement.settings.search_path
    }

    /// The schemas that search_path names.
    pub(crate) fn named_path(&self) -> &[String] {
        self.statement.settings.named_path()
    }

    /// The schema that a name means: `pg_temp` is the session's own.
    pub(crate) fn schema_meant<'a>(&'a self, name: &'a str) -> &'a str {
        self.statement.settings.schema_meant(name)
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

/// The rows of a relation with the column that says whose they are.
fn finish(relation: &'static Definition, parts: &[RecordBatch]) -> Result<CatalogRows> {
    let rows = concat_batches(&relation.fields, parts).map_err(Error::arrow)?;
    let oids = Int64Array::from_value(relation.oid, rows.num_rows());
    let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
    columns.push(Arc::new(oids));
    let rows = RecordBatch::try_new(with_table_oid(relation), columns);
    rows.map(CatalogRows::new).map_err(Error::arrow)
}

/// Whether the rows of a relation are of the statement that reads them: of its session, or of the server now.
fn is_of_statement(relation: &Definition, catalog: &Catalog) -> bool {
    match relation.schema {
        "pg_catalog" => {
            relations::is_of_statement(relation.name) || large_object_rows::tells_large_objects(relation)
        }
        "keyspan" => true,
        _ => {
            let mut schemas = catalog.schemas.keys();
            information_schema::is_of_statement(relation.name, schemas.any(|name| is_temporary_schema(name)))
        }
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

/// What functions are called with.
pub type FunctionOptions = ConfigOptions;

/// A configuration of one statement's functions, for who has no other.
pub(crate) fn options(catalogs: Arc<CatalogContext>) -> Arc<FunctionOptions> {
    static DEFAULTS: LazyLock<ConfigOptions> = LazyLock::new(ConfigOptions::default);
    let mut options = DEFAULTS.clone();
    install(CatalogPlace::of(catalogs), &mut options);
    Arc::new(options)
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

/// The columns of a system relation, the hidden one too.
pub(crate) fn with_table_oid(relation: &Definition) -> SchemaRef {
    let mut fields: Vec<FieldRef> = relation.fields.fields().iter().cloned().collect();
    fields.push(Arc::new(SqlType::Oid.field(TABLE_OID, true)));
    Arc::new(Schema::new(fields))
}

/// The oid of a system relation.
pub fn table_oid(schema: &str, name: &str) -> Option<i64> {
    definition(schema, name).map(|definition| definition.oid)
}

/// Functions without arguments whose rows are those of a relation: what PostgreSQL makes its view of.
static FUNCTIONS_OF_RELATIONS: &[(&str, &str)] = &[
    ("pg_config", "pg_config"),
    ("pg_cursor", "pg_cursors"),
    ("pg_get_backend_memory_contexts", "pg_backend_memory_contexts"),
    ("pg_get_shmem_allocations", "pg_shmem_allocations"),
    ("pg_hba_file_rules", "pg_hba_file_rules"),
    ("pg_ident_file_mappings", "pg_ident_file_mappings"),
    ("pg_lock_status", "pg_locks"),
    ("pg_prepared_statement", "pg_prepared_statements"),
    ("pg_show_all_file_settings", "pg_file_settings"),
    ("pg_show_all_settings", "pg_settings"),
    (
        "pg_show_replication_origin_status",
        "pg_replication_origin_status",
    ),
    ("pg_stat_get_archiver", "pg_stat_archiver"),
    ("pg_stat_get_recovery_prefetch", "pg_stat_recovery_prefetch"),
    ("pg_stat_get_slru", "pg_stat_slru"),
    ("pg_stat_get_wal", "pg_stat_wal"),
    ("pg_timezone_abbrevs", "pg_timezone_abbrevs"),
    ("pg_timezone_names", "pg_timezone_names"),
];

/// The relation of pg_catalog that holds the rows of a function without arguments.
pub fn relation_of_function(name: &str) -> Option<&'static str> {
    let of_view = FUNCTIONS_OF_RELATIONS
        .iter()
        .find(|(function, _)| *function == name);
    // A function's own rows stand under its name, with no oid.
    let own = || definition("pg_catalog", name).filter(|definition| definition.oid == 0);
    match of_view {
        Some((_, relation)) => Some(relation),
        None => own().map(|definition| definition.name),
    }
}
