//! `CatalogLookup`: a join with a relation of the catalog, whose rows are in memory: found by one of the columns that equal something of
//! the outer row, or else all of them. The order of the outer rows stays.

use std::sync::{Arc, OnceLock};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion_physical_expr::PhysicalExpr;

use super::catalog_source::plain_relation;
use crate::functions::evaluate::values;
use crate::logical::equality;
use crate::logical::lookup_join::is_over;
use crate::logical::placeholder::Constants;
use crate::operators::computed::Computed;
use crate::operators::lookup::{Joined, JoinedSchema};
use crate::system::pg_catalog::{CatalogContext, CatalogRows, Definition};
use crate::tree::{Column, Expr, Partners, Plan, RowSchema};
use crate::{Error, Result};

/// Batches of pairs that one lookup goes through beyond one for each batch of outer rows, until it is long: the general plan takes
/// over, on threads of its own.
const MORE_PIECES_MAX: usize = 4;

/// The inner side of the join.
#[derive(Debug)]
pub(super) struct CatalogLookup {
    relation: &'static Definition,
    /// The columns of the relation that it gives behind those of outer rows.
    columns: Vec<usize>,
    /// So many columns of an outer row stand before them.
    outer_columns: usize,
    partners: Partners,
    /// What an inner row must satisfy to count: over outer and inner columns.
    conditions: Vec<Computed>,
    /// The conditions that may lead to inner rows.
    keys: Vec<Key>,
    /// Worked out by the first run.
    schemas: Arc<Schemas>,
}

/// The schemas of the inner rows, and of outer rows beside them.
#[derive(Debug, Default)]
struct Schemas {
    inner: OnceLock<SchemaRef>,
    joined: JoinedSchema,
}

/// A column of the relation, and what it equals.
#[derive(Debug)]
struct Key {
    /// Which of the conditions says so.
    condition: usize,
    column: usize,
    value: Computed,
}

impl CatalogLookup {
    /// Joins the relation that a plan is to rows of `outer`. `partners`: those that are given. `None`: it is none, or conditions take
    /// more than the rows.
    pub(super) fn new(
        relation: &Plan,
        outer: &RowSchema,
        partners: Partners,
        conditions: &[Expr],
    ) -> Option<CatalogLookup> {
        let scanned = plain_relation(relation)?;
        let joined = outer.join(relation.schema());
        let computed = conditions
            .iter()
            .map(|condition| Computed::in_statement(condition, &joined));
        let keys = conditions.iter().enumerate().filter_map(|(at, condition)| {
            let (column, value) = key_of(condition, outer, relation.schema())?;
            Some(Key {
                condition: at,
                column: scanned.columns[column],
                value,
            })
        });
        Some(CatalogLookup {
            relation: scanned.relation,
            outer_columns: outer.fields().len(),
            partners,
            conditions: computed.collect::<Option<_>>()?,
            keys: keys.collect(),
            columns: scanned.columns,
            schemas: Arc::default(),
        })
    }

    pub(super) fn outer_columns(&self) -> usize {
        self.outer_columns
    }

    /// Columns that it gives behind those of outer rows.
    pub(super) fn inner_columns(&self) -> usize {
        self.columns.len()
    }

    /// What it computes of rows whose columns go on behind it.
    pub(super) fn inputs_mut(&mut self) -> impl Iterator<Item = &mut Computed> {
        let keys = self.keys.iter_mut().map(|key| &mut key.value);
        keys.chain(&mut self.conditions)
    }

    /// From now on outer rows have so many columns, and it gives only these of the inner ones.
    pub(super) fn keep_columns(&mut self, outer: usize, kept: &[usize]) {
        self.columns = kept.iter().map(|column| self.columns[*column]).collect();
        self.outer_columns = outer;
        self.schemas = Arc::default();
    }

    /// Errors: 42P02.
    pub(super) fn start(&self, constants: &Constants) -> Result<RunningCatalogLookup> {
        let conditions = self.conditions.iter().map(|condition| condition.bind(constants));
        let keys = self.keys.iter().map(|key| {
            Ok(RunningKey {
                condition: key.condition,
                column: key.column,
                value: key.value.bind(constants)?,
            })
        });
        Ok(RunningCatalogLookup {
            catalogs: Arc::clone(constants.catalogs()?),
            relation: self.relation,
            columns: self.columns.clone(),
            partners: self.partners,
            conditions: conditions.collect::<Result<_>>()?,
            keys: keys.collect::<Result<_>>()?,
            outer: None,
            joined: None,
            schemas: Arc::clone(&self.schemas),
            more_pieces: 0,
        })
    }
}

/// The inner column that a condition says to equal something of outer rows, or a constant, of its own type.
fn key_of(condition: &Expr, outer: &RowSchema, inner: &RowSchema) -> Option<(usize, Computed)> {
    equality(condition)?.into_iter().find_map(|(own, value)| {
        let Expr::Column(own) = own else { return None };
        let column = inner.index_of_column(own as &Column).ok()?;
        let ty = inner.field(column).data_type();
        let is_known = is_over(value, &[outer]) && value.get_type(outer).is_ok_and(|found| found == *ty);
        let value = is_known.then(|| Computed::in_statement(value, outer)).flatten()?;
        Some((column, value))
    })
}

/// A lookup under way.
pub(super) struct RunningCatalogLookup {
    catalogs: Arc<CatalogContext>,
    relation: &'static Definition,
    columns: Vec<usize>,
    partners: Partners,
    conditions: Vec<Arc<dyn PhysicalExpr>>,
    keys: Vec<RunningKey>,
    /// Outer rows that are still to be joined.
    outer: Option<RecordBatch>,
    /// Those that are being joined, and what their pairs must satisfy.
    joined: Option<(Joined, Vec<Arc<dyn PhysicalExpr>>)>,
    schemas: Arc<Schemas>,
    more_pieces: usize,
}

struct RunningKey {
    condition: usize,
    column: usize,
    value: Arc<dyn PhysicalExpr>,
}

impl RunningCatalogLookup {
    /// Takes a batch of outer rows; [`RunningCatalogLookup::next`] joins them. Those before must be joined.
    pub(super) fn push(&mut self, outer: RecordBatch) {
        self.outer = Some(outer);
    }

    /// Whether there are outer rows to be joined.
    pub(super) fn has_more(&self) -> bool {
        self.outer.is_some() || self.joined.is_some()
    }

    /// Whether it has gone through so much that the general plan is to take over; then it gives no more.
    pub(super) fn is_long(&self) -> bool {
        self.more_pieces > MORE_PIECES_MAX
    }

    /// Leaves them out.
    pub(super) fn forget(&mut self) {
        self.outer = None;
        self.joined = None;
    }

    /// Joins some of the outer rows. `None`: there are none. Errors: the conditions'; the store's.
    pub(super) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(outer) = self.outer.take() {
            let rows = self.catalogs.rows(self.relation, &self.columns).await?;
            self.joined = Some(self.join(outer, &rows)?);
        }
        let Some((joined, conditions)) = &mut self.joined else {
            return Ok(None);
        };
        let rows = joined.next(conditions, self.partners, &self.schemas.joined)?;
        match joined.is_done() {
            true => self.joined = None,
            false => self.more_pieces += 1,
        }
        if self.is_long() {
            self.forget();
        }
        Ok(Some(rows))
    }

    /// The inner rows, with the columns that are given of them.
    fn inner(&self, rows: &CatalogRows) -> Result<RecordBatch> {
        let all = rows.all();
        let schema = match self.schemas.inner.get() {
            Some(schema) => schema,
            None => {
                let schema = all.schema().project(&self.columns).map_err(Error::arrow)?;
                self.schemas.inner.get_or_init(|| Arc::new(schema))
            }
        };
        let columns = self.columns.iter().map(|column| Arc::clone(all.column(*column)));
        let options = RecordBatchOptions::new().with_row_count(Some(all.num_rows()));
        let rows = RecordBatch::try_new_with_options(Arc::clone(schema), columns.collect(), &options);
        rows.map_err(Error::arrow)
    }

    /// The outer rows beside the inner rows that the key with the most values leads to, and the conditions that are left.
    fn join(&self, outer: RecordBatch, rows: &CatalogRows) -> Result<(Joined, Vec<Arc<dyn PhysicalExpr>>)> {
        let inner = self.inner(rows)?;
        let keys = self.keys.iter().map(|key| (rows.values(key.column), key));
        let leading = keys
            .filter(|(values, _)| *values > 0)
            .max_by_key(|(values, _)| *values);
        let Some((_, key)) = leading else {
            let first = (inner.num_rows() > 0).then_some(0);
            let firsts = vec![first; outer.num_rows()];
            let joined = Joined::of_places(outer, inner, firsts, rows.nexts(None));
            return Ok((joined, self.conditions.clone()));
        };
        let firsts = rows.firsts(key.column, &values(&key.value, &outer)?)?;
        let joined = Joined::of_places(outer, inner, firsts, rows.nexts(Some(key.column)));
        let left = self.conditions.iter().enumerate();
        let left = left.filter(|(at, _)| *at != key.condition);
        Ok((joined, left.map(|(_, condition)| Arc::clone(condition)).collect()))
    }
}
