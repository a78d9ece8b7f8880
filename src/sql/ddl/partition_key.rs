//! `PARTITION BY strategy (columns)`: what a table's rows are told apart by.

use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments};

use super::index::NewIndex;
use crate::catalog::{ColumnDef, KeyColumn, PartitionStrategy, Partitioning, TableDef};
use crate::codec::key::check_key_type;
use crate::codec::row::ColumnId;
use crate::error::Raised;
use crate::parse::names;
use crate::{Error, Result};

/// Reads it. Errors: 22023 for a strategy that is none, 42P17 for a list of several columns, 42703, 42P17 for columns that cannot tell rows
/// apart, 0A000 for expressions.
pub(super) fn read(written: &Expr, columns: &[ColumnDef]) -> Result<Partitioning> {
    let (strategy, parts) = strategy_and_parts(written)?;
    if strategy == PartitionStrategy::List && parts.len() > 1 {
        let message = "cannot use \"list\" partition strategy with more than one column";
        return Err(Raised::new("42P17", message).into());
    }
    let columns = parts.iter().map(|part| column(part, columns));
    Ok(Partitioning {
        strategy,
        columns: columns.collect::<Result<_>>()?,
    })
}

/// Errors: 0A000 for a key of a partitioned table by which rows of two partitions could be equal, and for dynamic columns, of a partition
/// too. `new`: indexes that it gets.
pub(super) fn check_keys(table: &TableDef, new: &[NewIndex]) -> Result<()> {
    if table.partition.is_some() {
        check_columns_stay(table)?;
    }
    if table.partitioning.is_none() {
        return Ok(());
    }
    if table.gets_columns() {
        return Err(Error::unsupported(
            "a partitioned table with dynamic columns",
            Some(
                "Declare the columns, or leave PARTITION BY out: the table is one sorted range of keys already.",
            ),
        ));
    }
    if table.primary_key.constraint {
        check_key(table, "PRIMARY KEY", &table.primary_key.columns)?;
    }
    if table.exclusions().next().is_some() || new.iter().any(|index| index.exclusion.is_some()) {
        let message = "exclusion constraints are not supported on partitioned tables";
        return Err(Raised::new("0A000", message).into());
    }
    let known = table
        .indexes
        .iter()
        .map(|index| (index.unique || index.deferral.is_some(), &index.columns));
    let new = new
        .iter()
        .map(|index| (index.unique || index.deferral.is_some(), &index.columns));
    let mut unique = known.chain(new).filter(|(is_unique, _)| *is_unique);
    unique.try_for_each(|(_, columns)| check_key(table, "UNIQUE", columns))
}

/// Errors: 0A000 for a partition to which writes may add columns: it has those of its parent.
pub(super) fn check_columns_stay(partition: &TableDef) -> Result<()> {
    if !partition.gets_columns() {
        return Ok(());
    }
    Err(Error::unsupported(
        format!("\"{}\" as a partition with dynamic columns", partition.name),
        Some(
            "A partition has the columns of the table that it is one of: ALTER TABLE ... RESET (dynamic_columns), or DROP WILDCARD.",
        ),
    ))
}

fn check_key(table: &TableDef, kind: &str, key: &[KeyColumn]) -> Result<()> {
    let mut columns = table
        .partitioning
        .iter()
        .flat_map(|partitioning| &partitioning.columns);
    let Some(lacking) = columns.find(|id| !key.iter().any(|part| part.column == **id)) else {
        return Ok(());
    };
    let lacking = table
        .column_index_by_id(*lacking)
        .map_or("", |at| &table.columns[at].name);
    Err(Raised {
        detail: Some(format!(
            "{kind} constraint on table \"{}\" lacks column \"{lacking}\" which is part of the partition key.",
            table.name
        )),
        ..Raised::new(
            "0A000",
            "unique constraint on partitioned table must include all partitioning columns",
        )
    }
    .into())
}

fn strategy_and_parts(written: &Expr) -> Result<(PartitionStrategy, Vec<&Expr>)> {
    let Expr::Function(call) = written else {
        return Err(Raised::new("42601", format!("syntax error at or near \"{written}\"")).into());
    };
    let name = call.name.to_string().to_lowercase();
    let strategy = match name.as_str() {
        "list" => PartitionStrategy::List,
        "range" => PartitionStrategy::Range,
        "hash" => PartitionStrategy::Hash,
        _ => {
            let message = format!("unrecognized partitioning strategy \"{name}\"");
            return Err(Raised::new("22023", message).into());
        }
    };
    let arguments = match &call.args {
        FunctionArguments::List(list) => list.args.as_slice(),
        _ => &[],
    };
    let parts = arguments.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr),
        other => Err(Error::unsupported(format!("{other} in a partition key"), None)),
    });
    Ok((strategy, parts.collect::<Result<_>>()?))
}

/// The column that a part of the key is.
fn column(part: &Expr, columns: &[ColumnDef]) -> Result<ColumnId> {
    let name = match part {
        Expr::Nested(inner) => return column(inner, columns),
        Expr::Collate { expr, .. } => return column(expr, columns),
        Expr::Identifier(name) => names::fold(name),
        _ => {
            return Err(Error::unsupported(
                "an expression in a partition key",
                Some(
                    "Partition by a column: one that is written with its value, for generated ones PostgreSQL refuses, too.",
                ),
            ));
        }
    };
    let mut visible = columns.iter().filter(|column| !column.hidden);
    let column = visible.find(|column| column.name == name);
    let column = column.ok_or_else(|| {
        Raised::new(
            "42703",
            format!("column \"{name}\" named in partition key does not exist"),
        )
    })?;
    if column.generation().is_some() {
        return Err(Raised {
            detail: Some(format!("Column \"{name}\" is a generated column.")),
            ..Raised::new("42P17", "cannot use generated column in partition key")
        }
        .into());
    }
    check_key_type(&column.ty, &column.name)?;
    Ok(column.id)
}
