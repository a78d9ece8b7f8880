//! Which partition rows are in: for a row that is written to a partitioned table the one to write it to, for a row that is written to a
//! partition whether it may have it.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray, RecordBatch};

use crate::catalog::{PartitionMap, PartitionedRow, TableDef};
use crate::codec::key::{KeyField, encode_array};
use crate::codec::postgresql_hash::partition_hash;
use crate::error::Raised;
use crate::system::StatementContext;
use crate::table::{RowPages, row_text};
use crate::types::{FormatSettings, SqlType, Value, value_at};
use crate::{Error, Result};

/// The partitions of a table, for rows of it or of one of them.
#[derive(Debug)]
pub(super) struct PartitionRows {
    partitions: Vec<Arc<TableDef>>,
    map: PartitionMap,
    types: Vec<SqlType>,
    /// Where rows have the columns.
    positions: Vec<usize>,
}

impl PartitionRows {
    /// For rows of a partitioned table.
    pub(super) fn of(ctx: &StatementContext, parent: &TableDef) -> Result<PartitionRows> {
        PartitionRows::at(ctx, parent, parent.partition_positions())
    }

    /// For rows of a table below; `None` where they lack columns that tell the partition.
    fn of_rows_below(
        ctx: &StatementContext,
        parent: &TableDef,
        table: &TableDef,
    ) -> Result<Option<PartitionRows>> {
        let positions = parent.partition_positions();
        let positions = positions
            .iter()
            .map(|at| table.column_index(&parent.columns[*at].name));
        let positions = positions.collect::<Option<Vec<usize>>>();
        positions
            .map(|positions| PartitionRows::at(ctx, parent, positions))
            .transpose()
    }

    fn at(ctx: &StatementContext, parent: &TableDef, positions: Vec<usize>) -> Result<PartitionRows> {
        let partitions = ctx.partitions_of(parent)?;
        let types = parent.partition_types();
        let bounds = partitions
            .iter()
            .filter_map(|table| Some(&table.partition.as_ref()?.bound));
        Ok(PartitionRows {
            map: PartitionMap::new(bounds, &types),
            partitions,
            types,
            positions,
        })
    }

    /// The partitions.
    pub(super) fn partitions(&self) -> &[Arc<TableDef>] {
        &self.partitions
    }

    /// The place among the partitions of the one that has each row. Errors: 0A000 for a type that has no hash here.
    pub(super) fn places(&self, rows: &RecordBatch) -> Result<Vec<Option<usize>>> {
        let columns: Vec<_> = self.positions.iter().map(|at| rows.column(*at)).collect();
        let fields: Vec<KeyField> = self.types.iter().cloned().map(KeyField::ascending).collect();
        let mut key = Vec::new();
        let mut places = Vec::with_capacity(rows.num_rows());
        for row in 0..rows.num_rows() {
            key.clear();
            for (array, field) in columns.iter().zip(&fields) {
                encode_array(&mut key, array, row, field);
            }
            let hash = match self.map.needs_hash() {
                true => self.hash(rows, row)?,
                false => 0,
            };
            places.push(self.map.place(PartitionedRow {
                key: &key,
                has_null: columns.iter().any(|array| array.is_null(row)),
                hash,
            }));
        }
        Ok(places)
    }

    fn hash(&self, rows: &RecordBatch, row: usize) -> Result<u64> {
        let values = self.positions.iter().zip(&self.types);
        let values = values.map(|(at, ty)| value_at(rows.column(*at), row, ty));
        partition_hash(&values.collect::<Result<Vec<_>>>()?)
    }

    /// 23514: no partition has the row.
    pub(super) fn homeless(&self, table: &TableDef, rows: &RecordBatch, row: usize) -> Error {
        let named: Vec<&str> = self
            .positions
            .iter()
            .map(|at| table.columns[*at].name.as_str())
            .collect();
        let value = |(at, ty): (&usize, &SqlType)| {
            let value = value_at(rows.column(*at), row, ty).unwrap_or(Value::Null);
            match value {
                Value::Null => "null".to_string(),
                value => value.to_text(&FormatSettings::default()),
            }
        };
        let values: Vec<String> = self.positions.iter().zip(&self.types).map(value).collect();
        Raised {
            detail: Some(format!(
                "Partition key of the failing row contains ({}) = ({}).",
                named.join(", "),
                values.join(", ")
            )),
            hint: self.partitions.is_empty().then(|| {
                "It has no partitions yet: CREATE TABLE ... PARTITION OF makes one. A table that is not dropped in parts needs no PARTITION BY: it is one sorted range of keys.".to_string()
            }),
            schema: Some(table.schema.clone()),
            table: Some(table.name.clone()),
            ..Raised::new(
                "23514",
                format!("no partition of relation \"{}\" found for row", table.name),
            )
        }
        .into()
    }
}

/// What a table that is a partition asks of its rows: that they are those of its bound, and of the bounds of those above it.
#[derive(Debug, Default)]
pub(super) struct PartitionCheck {
    /// With the oid of the partition that the rows must be in.
    levels: Vec<(PartitionRows, u32)>,
}

impl PartitionCheck {
    /// That of a table; of a table that is no partition it asks nothing. Errors: none but of a bug.
    pub(super) fn of(ctx: &StatementContext, table: &TableDef) -> Result<PartitionCheck> {
        let mut levels = Vec::new();
        let mut oid = table.oid;
        let mut above = ctx.parent_of(table)?;
        while let Some(parent) = above {
            let rows = PartitionRows::of_rows_below(ctx, &parent, table)?;
            levels.extend(rows.map(|rows| (rows, oid)));
            oid = parent.oid;
            above = ctx.parent_of(&parent)?;
        }
        Ok(PartitionCheck { levels })
    }

    /// Which of the rows are not the partition's; `None`: all are. Errors: 0A000.
    pub(super) fn leaving(&self, rows: &RecordBatch) -> Result<Option<BooleanArray>> {
        let mut leaving = vec![false; rows.num_rows()];
        for (level, oid) in &self.levels {
            let places = level.places(rows)?;
            for (leaving, place) in leaving.iter_mut().zip(places) {
                *leaving |= place.is_none_or(|at| level.partitions[at].oid != *oid);
            }
        }
        Ok(leaving.contains(&true).then(|| BooleanArray::from(leaving)))
    }

    /// The first of the rows that is not the partition's. Errors: 0A000.
    pub(super) fn first_leaving(&self, rows: &RecordBatch) -> Result<Option<usize>> {
        let leaving = self.leaving(rows)?;
        Ok(leaving.and_then(|leaving| leaving.iter().position(|leaves| leaves == Some(true))))
    }

    /// 23514 for a row that is not the partition's.
    pub(super) fn violation(table: &TableDef, rows: &RecordBatch, row: usize) -> Error {
        Raised {
            detail: Some(format!("Failing row contains {}.", row_text(table, rows, row))),
            schema: Some(table.schema.clone()),
            table: Some(table.name.clone()),
            ..Raised::new(
                "23514",
                format!(
                    "new row for relation \"{}\" violates partition constraint",
                    table.name
                ),
            )
        }
        .into()
    }
}

/// Whether all rows of a table are those of a partition of `parent`, as the catalog of `ctx` knows it: of this oid. Errors: 23514 in these
/// words.
pub(crate) async fn verify_partition(
    ctx: &StatementContext,
    (parent, oid): (&TableDef, u32),
    table: &TableDef,
    message: String,
) -> Result<()> {
    let Some(level) = PartitionRows::of_rows_below(ctx, parent, table)? else {
        return Err(Error::internal("a partition without the columns of its table"));
    };
    let mut pages = RowPages::new(&ctx.txn, table);
    while let Some(rows) = pages.next().await? {
        let places = level.places(&rows)?;
        let is_own = |place: &Option<usize>| place.is_some_and(|at| level.partitions[at].oid == oid);
        if !places.iter().all(is_own) {
            return Err(Raised {
                schema: Some(table.schema.clone()),
                table: Some(table.name.clone()),
                ..Raised::new("23514", message)
            }
            .into());
        }
    }
    Ok(())
}
