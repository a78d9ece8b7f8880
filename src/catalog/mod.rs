//! Schemas, tables, views, columns, options: records in the same store, loaded into one immutable `Catalog`.
//! Knows nothing of SQL text or DataFusion.

mod table_def;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Result;
use crate::codec::keyspace::TableId;
use crate::txn::Transaction;
pub use table_def::{ColumnDef, ColumnDefault, IndexDef, KeyColumn, TableDef, TableOptions};

/// Everything the catalog holds, as of one transaction's view. Immutable; shared by `Arc`.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Counts schema changes.
    pub version: u64,
    /// Schemas by name (`public` and `keyspan` always there).
    pub schemas: BTreeMap<String, SchemaDef>,
    /// Tables and views by schema and name.
    pub relations: BTreeMap<(String, String), Relation>,
}

/// A schema's record.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SchemaDef {
    /// Its name.
    pub name: String,
    /// Its oid in pg_namespace.
    pub oid: u32,
    /// COMMENT ON SCHEMA.
    pub comment: Option<String>,
}

/// A relation that a name may mean.
#[derive(Debug, Clone)]
pub enum Relation {
    /// A table.
    Table(Arc<TableDef>),
    /// A view.
    View(Arc<ViewDef>),
}

/// A view's record.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ViewDef {
    /// Its id (shares the numbers of tables).
    pub id: TableId,
    /// Schema and name.
    pub schema: String,
    /// See `schema`.
    pub name: String,
    /// Output columns: name and SQL type name as `format_type` prints it.
    pub columns: Vec<(String, String)>,
    /// The SELECT it stands for.
    pub query: String,
    /// The search path when it was created.
    pub search_path: Vec<String>,
    /// COMMENT ON VIEW.
    pub comment: Option<String>,
}

impl Catalog {
    /// The catalog as the transaction sees it: `cached` when its version still stands, else loaded anew.
    pub async fn load(_txn: &Transaction, _cached: Option<Arc<Catalog>>) -> Result<Arc<Catalog>> {
        unimplemented!()
    }
    /// The relation that `name` means: in `schema`, or in the first schema of `search_path` that has it.
    /// Errors: 42P01 with the nearest name, 3F000.
    pub fn relation(&self, _schema: Option<&str>, _name: &str, _search_path: &[String]) -> Result<&Relation> {
        unimplemented!()
    }
    /// As `relation`, `None` when there is none.
    pub fn get_relation(
        &self,
        _schema: Option<&str>,
        _name: &str,
        _search_path: &[String],
    ) -> Option<&Relation> {
        unimplemented!()
    }
}
