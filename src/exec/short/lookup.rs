//! `Lookup`: a join whose inner side is read by its primary key, which the outer rows give: for each batch of outer rows
//! one multi-get of the keys in it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::row::{RowConverter, SortField};
use datafusion::physical_expr::PhysicalExpr;
use futures::TryStreamExt;

use super::computed::Computed;
use super::evaluate::{truth, values};
use crate::catalog::TableDef;
use crate::exec::StatementContext;
use crate::exec::datafusion_error::query_memory_exceeded;
use crate::exec::placeholder::Constants;
use crate::exec::scan::{Demand, scan_batches};
use crate::exec::table_provider::plan_conditions;
use crate::plan::{Predicate, Wanted};
use crate::table::row_schema;
use crate::types::value_at;
use crate::{Error, Result};

/// Keys of one multi-get, unless the setting allows fewer.
const KEYS_MAX: usize = 512;

/// The inner side of the join.
#[derive(Debug)]
pub(super) struct Lookup {
    table: Arc<TableDef>,
    /// What the statement calls it.
    alias: Arc<str>,
    /// For each column of the primary key its value, computed of the outer row.
    keys: Vec<Computed>,
    /// Positions in `TableDef::columns` of the columns that the join gives.
    positions: Vec<usize>,
    /// So many columns of an outer row are given before them.
    outer_columns: usize,
    partners: Partners,
}

/// What becomes of outer rows without an inner row.
#[derive(Debug)]
pub(super) enum Partners {
    /// They go.
    Needed,
    /// They stay, with NULLs (LEFT JOIN). An inner row counts when these conditions hold for both.
    OrNone(Vec<Computed>),
}

impl Lookup {
    pub(super) fn new(
        (table, alias): (Arc<TableDef>, Arc<str>),
        keys: Vec<Computed>,
        positions: Vec<usize>,
        outer_columns: usize,
        partners: Partners,
    ) -> Lookup {
        Lookup {
            table,
            alias,
            keys,
            positions,
            outer_columns,
            partners,
        }
    }

    pub(super) fn outer_columns(&self) -> usize {
        self.outer_columns
    }

    pub(super) fn inner_columns(&self) -> usize {
        self.positions.len()
    }

    /// The columns of the key, by alias and name, and what they are looked up by.
    pub(super) fn keys(&self) -> impl Iterator<Item = (String, &Computed)> {
        let names = self.table.telling_key_columns().into_iter();
        names
            .map(|position| format!("{}.{}", self.alias, self.table.columns[position].name))
            .zip(&self.keys)
    }

    pub(super) fn table(&self) -> &Arc<TableDef> {
        &self.table
    }

    /// What the statement calls the table.
    pub(super) fn alias(&self) -> &Arc<str> {
        &self.alias
    }

    /// Whether outer rows without an inner row stay.
    pub(super) fn keeps_outer(&self) -> bool {
        matches!(self.partners, Partners::OrNone(_))
    }

    /// What an inner row of a left join must satisfy beside its key.
    pub(super) fn conditions(&self) -> &[Computed] {
        match &self.partners {
            Partners::Needed => &[],
            Partners::OrNone(conditions) => conditions,
        }
    }

    /// What it computes: the keys of outer rows, the conditions of joined ones.
    pub(super) fn inputs_mut(&mut self) -> impl Iterator<Item = &mut Computed> {
        let conditions = match &mut self.partners {
            Partners::Needed => [].iter_mut(),
            Partners::OrNone(conditions) => conditions.iter_mut(),
        };
        self.keys.iter_mut().chain(conditions)
    }

    /// Gives only these of the inner columns, behind so many of the outer ones.
    pub(super) fn keep_columns(&mut self, outer_columns: usize, kept: &[usize]) {
        self.outer_columns = outer_columns;
        self.positions = kept.iter().map(|column| self.positions[*column]).collect();
    }

    /// Errors: 42P02.
    pub(super) fn start(&self, ctx: &StatementContext, constants: &Constants) -> Result<RunningLookup> {
        let key_positions = self.table.telling_key_columns();
        // The key's columns first, then what the join gives.
        let read: Vec<usize> = key_positions.iter().chain(&self.positions).copied().collect();
        let key_schema = row_schema(&self.table, &key_positions);
        let fields = key_schema
            .fields()
            .iter()
            .map(|field| SortField::new(field.data_type().clone()));
        let bind = |computed: &[Computed]| computed.iter().map(|one| one.bind(constants)).collect();
        let keys: Result<_> = bind(&self.keys);
        let conditions: Result<_> = bind(self.conditions());
        Ok(RunningLookup {
            ctx: ctx.clone(),
            table: Arc::clone(&self.table),
            keys: keys?,
            conditions: conditions?,
            converter: RowConverter::new(fields.collect()).map_err(Error::arrow)?,
            inner: row_schema(&self.table, &read),
            read,
            key_positions,
            outer_columns: self.outer_columns,
            keeps_outer: self.keeps_outer(),
        })
    }
}

/// A lookup under way.
pub(super) struct RunningLookup {
    ctx: StatementContext,
    table: Arc<TableDef>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    conditions: Vec<Arc<dyn PhysicalExpr>>,
    converter: RowConverter,
    /// The schema of what is read of the table.
    inner: SchemaRef,
    read: Vec<usize>,
    key_positions: Vec<usize>,
    outer_columns: usize,
    keeps_outer: bool,
}

impl RunningLookup {
    /// Joins a batch of outer rows, whose order is kept.
    pub(super) async fn push(&mut self, outer: RecordBatch) -> Result<RecordBatch> {
        let columns: Vec<usize> = (0..self.outer_columns).collect();
        let keys_max = KEYS_MAX.min(self.ctx.settings.multi_get_keys_max).max(1);
        let mut joined = Vec::new();
        for first in (0..outer.num_rows()).step_by(keys_max) {
            let part = outer.slice(first, keys_max.min(outer.num_rows() - first));
            let keys = self.keys.iter().map(|key| values(key, &part));
            let keys = keys.collect::<Result<Vec<ArrayRef>>>()?;
            let inner = self.fetch(&keys).await?;
            let given = part.project(&columns).map_err(Error::arrow)?;
            joined.push(self.join(&given, &keys, &inner)?);
        }
        match joined.as_slice() {
            [only] => Ok(only.clone()),
            [first, ..] => concat_batches(first.schema_ref(), &joined).map_err(Error::arrow),
            [] => Ok(outer),
        }
    }

    /// The inner rows of these keys. Errors: 53200 when they are more than the statement may hold.
    async fn fetch(&self, keys: &[ArrayRef]) -> Result<RecordBatch> {
        let rows = keys.first().map_or(0, |key| key.len());
        let mut wanted = Vec::with_capacity(rows);
        for row in (0..rows).filter(|row| keys.iter().all(|key| key.is_valid(*row))) {
            let key = keys
                .iter()
                .zip(&self.key_positions)
                .map(|(key, position)| value_at(key, row, &self.table.columns[*position].ty));
            wanted.push(key.collect::<Result<Vec<_>>>()?);
        }
        let found = match wanted.is_empty() {
            true => Vec::new(),
            false => {
                let predicate = match self.key_positions.as_slice() {
                    [column] => Predicate::InList {
                        column: *column,
                        values: wanted.into_iter().flatten().collect(),
                    },
                    columns => Predicate::RowIn {
                        columns: columns.to_vec(),
                        rows: wanted,
                    },
                };
                let wanted = Wanted {
                    columns: Some(&self.read),
                    first_in_order: &[],
                };
                let path = plan_conditions(&self.table, vec![predicate], wanted, &self.ctx)?;
                let txn = Arc::clone(&self.ctx.txn);
                let mut batches = scan_batches(
                    txn,
                    Arc::new(path),
                    self.read.clone(),
                    Demand::All,
                    Arc::default(),
                );
                let (mut found, mut bytes) = (Vec::new(), 0);
                while let Some(batch) = batches.try_next().await? {
                    bytes += batch.get_array_memory_size();
                    if bytes > self.ctx.settings.query_memory_bytes_max {
                        return Err(query_memory_exceeded());
                    }
                    found.push(batch);
                }
                found
            }
        };
        concat_batches(&self.inner, &found).map_err(Error::arrow)
    }

    /// Puts each outer row before its inner row.
    fn join(&self, outer: &RecordBatch, keys: &[ArrayRef], inner: &RecordBatch) -> Result<RecordBatch> {
        let given: Vec<usize> = (self.key_positions.len()..self.read.len()).collect();
        let given = inner.project(&given).map_err(Error::arrow)?;
        let mut places = self.places(keys, inner)?;
        for condition in &self.conditions {
            let joined = side_by_side(outer, &given, &places, false)?;
            let truth = truth(condition, &joined)?;
            let found = places.iter_mut().filter(|place| place.is_some());
            for (place, holds) in found.zip(&truth) {
                *place = place.filter(|_| holds == Some(true));
            }
        }
        side_by_side(outer, &given, &places, self.keeps_outer)
    }

    /// For each outer row, of which these are the keys, the place of its inner row.
    fn places(&self, keys: &[ArrayRef], inner: &RecordBatch) -> Result<Vec<Option<u32>>> {
        let inner_keys = &inner.columns()[..self.key_positions.len()];
        let found = self.converter.convert_columns(inner_keys).map_err(Error::arrow)?;
        let places: HashMap<&[u8], u32> = found.iter().map(|key| key.data()).zip(0..).collect();
        let wanted = self.converter.convert_columns(keys).map_err(Error::arrow)?;
        // No inner key has a NULL.
        let place = wanted.iter().map(|key| places.get(key.data()).copied());
        Ok(place.collect())
    }
}

/// The outer rows beside the inner rows at these places; those without one beside NULLs, or left out.
fn side_by_side(
    outer: &RecordBatch,
    inner: &RecordBatch,
    places: &[Option<u32>],
    keeps_outer: bool,
) -> Result<RecordBatch> {
    let rows = (0..).zip(places);
    let (outer_rows, inner_rows): (Vec<u32>, Vec<Option<u32>>) =
        rows.filter(|(_, place)| keeps_outer || place.is_some()).unzip();
    let outer = take_record_batch(outer, &UInt32Array::from(outer_rows)).map_err(Error::arrow)?;
    let inner_rows = UInt32Array::from(inner_rows);
    let inner_columns = inner
        .columns()
        .iter()
        .map(|column| arrow::compute::take(column, &inner_rows, None));
    let inner_columns = inner_columns
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(Error::arrow)?;
    let inner_fields = inner.schema_ref().fields().iter();
    let inner_fields = inner_fields.map(|field| Arc::new(field.as_ref().clone().with_nullable(true)));
    let fields = outer.schema_ref().fields().iter().cloned().chain(inner_fields);
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let columns = outer.columns().iter().cloned().chain(inner_columns).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(outer.num_rows()));
    RecordBatch::try_new_with_options(schema, columns, &options).map_err(Error::arrow)
}
