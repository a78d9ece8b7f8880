//! Relations of pg_catalog and information_schema as DataFusion tables: rows are made when a plan runs, as the
//! statement's transaction sees the catalog. Each has PostgreSQL's hidden column `tableoid` behind its own.

use std::fmt;
use std::sync::{Arc, Weak};

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use datafusion::common::Statistics;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{TableScan, TableSource};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};

use super::planning::{Planning, statement_catalogs};
use super::rows_exec::RowsExec;
use crate::system::datafusion_error::to_datafusion;
use crate::system::pg_catalog::{self, CatalogContext};
use crate::types::SqlType;

/// The relation, if there is one of this name. `alias`: what the statement calls it.
pub fn source(schema: &str, name: &str, alias: &str) -> Option<Arc<dyn TableSource>> {
    let own = pg_catalog::table_schema(schema, name)?;
    let mut fields: Vec<FieldRef> = own.fields().iter().cloned().collect();
    fields.push(Arc::new(SqlType::Oid.field(TABLE_OID, true)));
    let table = CatalogTable {
        schema: schema.to_string(),
        name: name.to_string(),
        alias: alias.to_string(),
        fields: Arc::new(Schema::new(fields)),
        oid: pg_catalog::table_oid(schema, name)?,
    };
    Some(Arc::new(table))
}

/// Whether a scan reads a relation of the catalog.
pub fn is_catalog(scan: &TableScan) -> bool {
    scan.source.is::<CatalogTable>()
}

/// The hidden column that says which relation a row is of; not among the columns of `*`.
pub const TABLE_OID: &str = "tableoid";

/// A relation of the catalog.
#[derive(Debug, Clone)]
pub(super) struct CatalogTable {
    schema: String,
    name: String,
    alias: String,
    fields: SchemaRef,
    oid: i64,
}

impl TableSource for CatalogTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.fields)
    }
}

impl CatalogTable {
    /// What reads it. Errors: those of reading what its rows are made of.
    pub(super) async fn scan(
        &self,
        planning: &Planning,
        projection: Option<&Vec<usize>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let catalogs = planning.catalogs();
        let rows = self.rows(catalogs, projection).await?;
        Ok(Arc::new(CatalogScanExec {
            rows,
            catalogs: Arc::downgrade(catalogs),
            table: Arc::new(self.clone()),
            projection: projection.cloned(),
        }))
    }

    /// The rows as a statement sees them.
    async fn rows(
        &self,
        catalog: &CatalogContext,
        projection: Option<&Vec<usize>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        catalog.prepare(&self.name).await.map_err(to_datafusion)?;
        let batches = catalog.read_once(&format!("{}.{}", self.schema, self.name), || {
            let (_, batches) = catalog
                .table(&self.schema, &self.name)
                .ok_or_else(|| DataFusionError::Internal(format!("{}.{} is gone", self.schema, self.name)))?;
            let with_oid = batches.iter().map(|batch| self.with_oid(batch));
            Ok::<_, DataFusionError>(with_oid.collect::<Result<Vec<_>, _>>()?)
        })?;
        let batches = batches.as_slice().into();
        let rows = RowsExec::of(&self.fields, batches, projection.map(Vec::as_slice))?;
        Ok(Arc::new(rows))
    }
}

/// Reads the rows of a relation of the catalog, and knows whose they are.
#[derive(Debug)]
pub struct CatalogScanExec {
    /// As the statement sees them that the plan was made for.
    rows: Arc<dyn ExecutionPlan>,
    catalogs: Weak<CatalogContext>,
    table: Arc<CatalogTable>,
    projection: Option<Vec<usize>>,
}

impl CatalogScanExec {
    /// The relation.
    pub fn relation(&self) -> &str {
        &self.table.name
    }

    /// What the statement calls it.
    pub fn alias(&self) -> &str {
        &self.table.alias
    }
}

impl DisplayAs for CatalogScanExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "CatalogScanExec: {}", self.table.name)
    }
}

impl ExecutionPlan for CatalogScanExec {
    fn name(&self) -> &str {
        "CatalogScanExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        self.rows.properties()
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }
    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let catalogs = statement_catalogs(context.session_config())?;
        if std::ptr::eq(self.catalogs.as_ptr(), Arc::as_ptr(&catalogs)) {
            return self.rows.execute(partition, context);
        }
        let (table, projection) = (Arc::clone(&self.table), self.projection.clone());
        let rows = stream::once(async move {
            let rows = table.rows(&catalogs, projection.as_ref()).await?;
            rows.execute(partition, context)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.rows.schema(),
            rows.try_flatten().boxed(),
        )))
    }
    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        arguments: &StatisticsArgs,
    ) -> DataFusionResult<Arc<Statistics>> {
        self.rows.statistics_from_inputs(inputs, arguments)
    }
}

impl CatalogTable {
    fn with_oid(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        columns.push(Arc::new(Int64Array::from_value(self.oid, batch.num_rows())));
        RecordBatch::try_new(Arc::clone(&self.fields), columns)
    }
}
