//! `CatalogSource`: a relation of the catalog at the beginning of a chain, with the conditions on its rows.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use crate::functions::evaluate::filter;
use crate::logical::evaluable::acts;
use crate::logical::placeholder::Constants;
use crate::operators::catalog_read::{CatalogRead, KnownValues};
use crate::operators::catalog_table::{ScannedRelation, scanned_relation};
use crate::operators::computed::Computed;
use crate::system::pg_catalog::with_table_oid;
use crate::tree::{Expr, Plan, RowSchema};
use crate::{Error, Result};

/// Rows that come at a time.
const BATCH_ROWS: usize = 8192;

/// A relation of the catalog and the conditions on its rows.
#[derive(Debug)]
pub(super) struct CatalogSource {
    read: Arc<CatalogRead>,
    /// So many of the columns that it reads are for the steps; the others are for conditions.
    step_columns: usize,
    /// With the place among the known values of `read` of those that may lead to rows.
    conditions: Vec<(Computed, Option<usize>)>,
}

impl CatalogSource {
    /// Reads the relation, without conditions so far.
    pub(super) fn new(scanned: ScannedRelation) -> CatalogSource {
        CatalogSource {
            step_columns: scanned.columns.len(),
            read: Arc::new(CatalogRead {
                relation: scanned.relation,
                known: Vec::new(),
                columns: scanned.columns,
            }),
            conditions: Vec::new(),
        }
    }

    /// So many columns its rows have for the steps.
    pub(super) fn step_columns(&self) -> usize {
        self.step_columns
    }

    /// Whether a condition on its rows does something.
    pub(super) fn acts(&self) -> bool {
        self.conditions
            .iter()
            .any(|(condition, _)| acts(condition.written()))
    }

    /// Adds a condition on its rows, which are of `schema`. `None`: it cannot be computed of them alone.
    pub(super) fn add_condition(&mut self, condition: &Expr, schema: &RowSchema) -> Option<()> {
        let computed = Computed::in_statement(condition, schema)?;
        let read = Arc::make_mut(&mut self.read);
        let position = |column: &_| Some(read.columns[schema.index_of_column(column).ok()?]);
        let known = KnownValues::of(condition, position, &with_table_oid(read.relation));
        let place = known.as_ref().map(|_| read.known.len());
        read.known.extend(known);
        self.conditions.push((computed, place));
        Some(())
    }

    /// Reads only the columns that the steps use, and behind them those that only conditions use.
    pub(super) fn keep_columns(&mut self, used_by_steps: Vec<usize>) {
        let mut kept = used_by_steps;
        self.step_columns = kept.len();
        for column in self
            .conditions
            .iter()
            .flat_map(|(condition, _)| condition.columns())
        {
            if !kept.contains(&column) {
                kept.push(column);
            }
        }
        let read = Arc::make_mut(&mut self.read);
        read.columns = kept.iter().map(|column| read.columns[*column]).collect();
        for (condition, _) in &mut self.conditions {
            condition.renumber(&kept);
        }
    }

    /// The rows for which all conditions hold. Errors: 42P02; those of the conditions.
    pub(super) fn batches(&self, constants: &Constants) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let bound = self.conditions.iter();
        let bound = bound.map(|(condition, known)| Ok((condition.bind(constants)?, *known)));
        let conditions = bound.collect::<Result<Vec<_>>>()?;
        let (read, step_columns) = (Arc::clone(&self.read), self.step_columns);
        let (catalogs, constants) = (Arc::clone(constants.catalogs()?), constants.clone());
        let rows = stream::once(async move {
            let (mut rows, led_by) = read.rows(&catalogs, &constants).await?;
            for (condition, known) in &conditions {
                if known.is_none() || *known != led_by {
                    rows = filter(condition, &rows)?;
                }
            }
            let rows = rows.project(&(0..step_columns).collect::<Vec<_>>());
            let rows = rows.map_err(Error::arrow)?;
            let firsts = (0..rows.num_rows()).step_by(BATCH_ROWS);
            let part = move |first| Ok(rows.slice(first, BATCH_ROWS.min(rows.num_rows() - first)));
            Ok::<_, Error>(stream::iter(firsts.map(part)))
        });
        Ok(rows.try_flatten().boxed())
    }
}

/// The relation of the catalog that a plan is.
pub(super) fn plain_relation(plan: &Plan) -> Option<ScannedRelation> {
    match plan {
        Plan::TableScan(scan) => scanned_relation(scan),
        Plan::SubqueryAlias(alias) => plain_relation(&alias.input),
        _ => None,
    }
}
