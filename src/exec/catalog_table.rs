//! Relations of pg_catalog and information_schema as DataFusion tables: rows are made when a plan runs, as the
//! statement's transaction sees the catalog.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::provider_as_source;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{Expr, TableSource, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::pg_catalog;

/// The relation, if there is one of this name.
pub fn source(schema: &str, name: &str) -> Option<Arc<dyn TableSource>> {
    let fields = pg_catalog::table_schema(schema, name)?;
    let table = CatalogTable {
        schema: schema.to_string(),
        name: name.to_string(),
        fields,
    };
    Some(provider_as_source(Arc::new(table)))
}

#[derive(Debug)]
struct CatalogTable {
    schema: String,
    name: String,
    fields: SchemaRef,
}

#[async_trait]
impl TableProvider for CatalogTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.fields)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let catalog = pg_catalog::installed(state.config_options())?;
        let Some((fields, batches)) = catalog.table(&self.schema, &self.name) else {
            return Err(DataFusionError::Internal(format!(
                "{}.{} is gone",
                self.schema, self.name
            )));
        };
        Ok(MemorySourceConfig::try_new_exec(
            &[batches],
            fields,
            projection.cloned(),
        )?)
    }
}
