//! Relations of pg_catalog and information_schema as DataFusion tables: they are read when a plan runs, as the statement's transaction
//! sees the catalog. Conditions that a column equals something known lead to the rows that have it; the plan checks them again.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::stats::Precision;
use datafusion_common::{DataFusionError, Result as DataFusionResult, Statistics};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::statistics::StatisticsArgs;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};

use super::catalog_read::{CatalogRead, KnownValues};
use super::node_properties;
use super::planning::{Planning, run_constants, statement_catalogs};
use crate::operators::node_properties::node_without_expressions;
use crate::system::datafusion_error::to_datafusion;
use crate::system::pg_catalog::{self, Definition};
use crate::tree::{Expr, FilterPushDown, TableScan, TableSource};

/// Rows of one batch.
const BATCH_ROWS: usize = 8192;

/// The relation, if there is one of this name. `alias`: what the statement calls it.
pub fn source(schema: &str, name: &str, alias: &str) -> Option<Arc<dyn TableSource>> {
    let relation = pg_catalog::definition(schema, name)?;
    let table = CatalogTable {
        relation,
        alias: alias.into(),
        schema: pg_catalog::with_table_oid(relation),
    };
    Some(Arc::new(table))
}

/// Whether a scan reads a relation of the catalog.
pub fn is_catalog(scan: &TableScan) -> bool {
    scan.source.is::<CatalogTable>()
}

/// The hidden column that says which relation a row is of; not among the columns of `*`.
pub use crate::system::pg_catalog::TABLE_OID;

/// A relation of the catalog.
#[derive(Debug, Clone)]
pub(crate) struct CatalogTable {
    relation: &'static Definition,
    alias: Arc<str>,
    schema: SchemaRef,
}

impl TableSource for CatalogTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn has_no_rows(&self) -> bool {
        pg_catalog::has_no_rows(self.relation)
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Vec<FilterPushDown> {
        let leads = |filter: &&Expr| match self.known(filter) {
            Some(_) => FilterPushDown::Inexact,
            None => FilterPushDown::Unsupported,
        };
        filters.iter().map(leads).collect()
    }
}

impl CatalogTable {
    /// What reads these columns of the rows that may satisfy the filters. Errors: those of reading what its rows are made of.
    pub(super) async fn scan(
        &self,
        planning: &Planning,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let constants = planning.constants().map_err(to_datafusion)?;
        let columns = match projection {
            Some(projection) => projection.clone(),
            None => (0..self.schema.fields().len()).collect(),
        };
        let read = CatalogRead {
            relation: self.relation,
            known: filters.iter().filter_map(|filter| self.known(filter)).collect(),
            columns,
        };
        let (rows, _) = read
            .rows(planning.catalogs(), &constants)
            .await
            .map_err(to_datafusion)?;
        let properties = node_properties::in_parts(rows.schema(), 1);
        let mut statistics = Statistics::new_unknown(rows.schema_ref());
        statistics.num_rows = match read.known.is_empty() {
            true => Precision::Exact(rows.num_rows()),
            false => Precision::Inexact(rows.num_rows()),
        };
        Ok(Arc::new(CatalogScanExec {
            read: Arc::new(read),
            alias: Arc::clone(&self.alias),
            properties,
            statistics: Arc::new(statistics),
        }))
    }

    fn known(&self, filter: &Expr) -> Option<KnownValues> {
        KnownValues::of(
            filter,
            |column| self.schema.index_of(&column.name).ok(),
            &self.schema,
        )
    }
}

/// A relation of the catalog as a scan reads it.
pub(super) struct ScannedRelation {
    pub(super) relation: &'static Definition,
    /// The columns that it gives.
    pub(super) columns: Vec<usize>,
}

/// The relation of the catalog that a scan without filters and limit reads.
pub(super) fn scanned_relation(scan: &TableScan) -> Option<ScannedRelation> {
    if !scan.filters.is_empty() || scan.fetch.is_some() {
        return None;
    }
    let table = scan.source.downcast_ref::<CatalogTable>()?;
    Some(ScannedRelation {
        relation: table.relation,
        columns: match &scan.projection {
            Some(projection) => projection.clone(),
            None => (0..table.schema.fields().len()).collect(),
        },
    })
}

/// Reads the rows of a relation of the catalog.
#[derive(Debug)]
pub struct CatalogScanExec {
    read: Arc<CatalogRead>,
    alias: Arc<str>,
    properties: Arc<PlanProperties>,
    /// As the statement sees them that the plan was made for.
    statistics: Arc<Statistics>,
}

impl CatalogScanExec {
    /// The relation.
    pub fn relation(&self) -> &str {
        self.read.relation.name
    }

    /// What the statement calls it.
    pub fn alias(&self) -> &str {
        &self.alias
    }
}

impl DisplayAs for CatalogScanExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "CatalogScanExec: {}", self.relation())
    }
}

impl ExecutionPlan for CatalogScanExec {
    node_without_expressions!("CatalogScanExec");
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }
    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn execute(
        &self,
        _partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let catalogs = statement_catalogs(context.session_config())?;
        let constants = run_constants(context.session_config()).map_err(to_datafusion)?;
        let read = Arc::clone(&self.read);
        let rows = stream::once(async move {
            let (rows, _) = read.rows(&catalogs, &constants).await.map_err(to_datafusion)?;
            let firsts = (0..rows.num_rows()).step_by(BATCH_ROWS);
            let part = move |first| Ok(rows.slice(first, BATCH_ROWS.min(rows.num_rows() - first)));
            Ok::<_, DataFusionError>(stream::iter(firsts.map(part)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            rows.try_flatten().boxed(),
        )))
    }
    fn statistics_from_inputs(
        &self,
        _inputs: &[Arc<Statistics>],
        _arguments: &StatisticsArgs,
    ) -> DataFusionResult<Arc<Statistics>> {
        Ok(Arc::clone(&self.statistics))
    }
}
