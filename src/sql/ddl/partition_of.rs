//! A table that is a partition of another: which rows it may have, and what becomes of the rows that were the default partition's.

use std::sync::Arc;

use sqlparser::ast::{self, CreateTable, ObjectName, Spanned};

use super::column::{self, NewColumn};
use super::{partition_bound, verification};
use crate::catalog::{
    Access, CatalogWriter, ColumnDef, Object, Partition, PartitionBound, TableDef, record_key,
};
use crate::codec::row::ColumnId;
use crate::error::Raised;
use crate::parse::{names, text_place};
use crate::sql::dml;
use crate::sql::relation::relation;
use crate::store::LockMode;
use crate::system::StatementContext;
use crate::{Error, Result};

/// PARTITION OF, read.
pub(super) struct PartitionOf {
    pub(super) parent: Arc<TableDef>,
    bound: PartitionBound,
}

impl PartitionOf {
    /// That of a CREATE TABLE of this name. Errors: 42P01, 42P17 for a table that is not partitioned, those of the bound.
    pub(super) async fn read(
        ctx: &StatementContext,
        create: &CreateTable,
        name: &str,
    ) -> Result<Option<PartitionOf>> {
        let (Some(parent), Some(bound)) = (&create.partition_of, &create.for_values) else {
            return Ok(None);
        };
        let parent = partitioned(ctx, parent)?;
        let place = bound.span();
        let read = Box::pin(partition_bound::read(ctx, &parent, name, bound)).await;
        let bound = text_place::at_span(read, place)?;
        text_place::at_span(partition_bound::check_free(ctx, &parent, name, &bound), place)?;
        Ok(Some(PartitionOf { parent, bound }))
    }

    /// What a table with these columns records of it.
    pub(super) fn record(self, columns: &[ColumnDef]) -> Result<(Arc<TableDef>, Partition)> {
        let partition = partition_of(&self.parent, columns, self.bound)?;
        Ok((self.parent, partition))
    }
}

/// What a partition says of a column, `own`, that it has of its parent. Errors: 42703, 42701, those of its options, 0A000 for how it is
/// generated.
pub(super) async fn read_options(
    ctx: &StatementContext,
    table: &str,
    (written, said_before): (&ast::ColumnDef, &[ast::ColumnDef]),
    own: Option<&ColumnDef>,
) -> Result<NewColumn> {
    let name = names::fold(&written.name);
    let Some(own) = own else {
        return Err(Raised::new("42703", format!("column \"{name}\" does not exist")).into());
    };
    if said_before.iter().any(|other| names::fold(&other.name) == name) {
        return Err(Raised::new("42701", format!("column \"{name}\" specified more than once")).into());
    }
    let typed = ast::ColumnDef {
        data_type: column::written_type(&own.ty)?,
        ..written.clone()
    };
    let column = column::read(ctx, table, &typed).await?;
    match column.generation.is_some() || column.sequence.is_some() {
        true => Err(Error::unsupported(
            "a column that is generated otherwise behind PARTITION OF",
            Some("Leave it to the partitioned table, or ALTER the partition's column."),
        )),
        false => Ok(column),
    }
}

/// The columns that are those of the parent's partition key.
pub(super) fn partition_of(
    parent: &TableDef,
    columns: &[ColumnDef],
    bound: PartitionBound,
) -> Result<Partition> {
    let key = parent.partition_positions();
    let id = |at: &usize| -> Result<ColumnId> {
        let name = &parent.columns[*at].name;
        let column = columns
            .iter()
            .find(|column| !column.hidden && column.name == *name);
        let column =
            column.ok_or_else(|| Error::internal(format!("a partition without the column \"{name}\"")));
        Ok(column?.id)
    };
    Ok(Partition {
        parent: parent.oid,
        columns: key.iter().map(id).collect::<Result<_>>()?,
        bound,
    })
}

/// The partitioned table of this name. Errors: 42P01, 42P17 for another.
fn partitioned(ctx: &StatementContext, name: &ObjectName) -> Result<Arc<TableDef>> {
    match relation(ctx, name, Access::Name)? {
        Object::Table(table) if table.partitioning.is_some() => Ok(Arc::clone(table)),
        other => {
            let name = other.name();
            Err(Raised::new("42P17", format!("\"{name}\" is not partitioned")).into())
        }
    }
}

/// A new partition is written: its parent is written anew, so that who has planned to read or write it plans again, and so is the default
/// partition with all that stand below it, whose rows are asked whether they are the new one's: who writes there by an older definition, which
/// lets them have such rows, is found out. `mode`: in which others may go on using the parent. Errors: 23514, 40P01, 55P03.
pub(super) async fn settle_new(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    (parent, mode): (&TableDef, LockMode),
    partition: &TableDef,
) -> Result<()> {
    // Before its partitions, as who writes through it does.
    ctx.txn.lock(&[record_key(parent.id)], mode).await?;
    writer.put_table_in(parent.clone(), mode)?;
    let Some(default) = default_partition(ctx, parent).filter(|table| table.oid != partition.oid) else {
        return Ok(());
    };
    let now = ctx.clone().seeing_definitions().await?;
    let message = format!(
        "updated partition constraint for default partition \"{}\" would be violated by some row",
        default.name
    );
    for table in now.tree_of(&default)? {
        verification::shut_writers_out(ctx, &table, LockMode::ShareRowExclusive).await?;
        writer.put_table_in(TableDef::clone(&table), LockMode::ShareRowExclusive)?;
        if table.partitioning.is_none() {
            dml::verify_partition(&now, (parent, default.oid), &table, message.clone()).await?;
        }
    }
    Ok(())
}

/// The partition that has the rows of no other.
pub(super) fn default_partition(ctx: &StatementContext, parent: &TableDef) -> Option<Arc<TableDef>> {
    let mut partitions = ctx.catalog.partitions_of(parent.oid);
    let found = partitions.find(|table| {
        let of = table.partition.as_ref();
        of.is_some_and(|of| of.bound == PartitionBound::Default)
    });
    found.cloned()
}
