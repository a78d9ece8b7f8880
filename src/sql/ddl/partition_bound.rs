//! Bounds of partitions as CREATE TABLE and ATTACH PARTITION say them: read, and held against those of the others.

use sqlparser::ast::{Expr, ForValues, PartitionBoundValue};

use super::row_expression::check_no_subquery;
use crate::catalog::{
    PartitionBound, PartitionMap, PartitionStrategy, RangeEdge, TableDef, edge_key, edges_text,
};
use crate::error::Raised;
use crate::query::Clause;
use crate::sql::dml;
use crate::system::StatementContext;
use crate::types::Value;
use crate::{Error, Result};

/// The bound of a partition of this name. Errors: 42P16 for one that is not of the table's strategy, or of a wrong number of values, 42P17 for
/// one that has no rows, 42804 and those of casts for its values.
pub(super) async fn read(
    ctx: &StatementContext,
    parent: &TableDef,
    name: &str,
    written: &ForValues,
) -> Result<PartitionBound> {
    let strategy = strategy_of(parent)?;
    match (written, strategy) {
        (ForValues::Default, PartitionStrategy::Hash) => Err(invalid(
            "a hash-partitioned table may not have a default partition",
        )),
        (ForValues::Default, _) => Ok(PartitionBound::Default),
        (ForValues::In(values), PartitionStrategy::List) => {
            let mut list = Vec::with_capacity(values.len());
            for expr in values {
                let value = value(ctx, parent, (expr, 0)).await?;
                if !list.contains(&value) {
                    list.push(value);
                }
            }
            Ok(PartitionBound::List(list))
        }
        (ForValues::From { from, to }, PartitionStrategy::Range) => {
            let columns = parent.partition_types().len();
            for (edge, word) in [(from, "FROM"), (to, "TO")] {
                if edge.len() != columns {
                    return Err(invalid(format!(
                        "{word} must specify exactly one value per partitioning column"
                    )));
                }
            }
            let (from, to) = (edge(ctx, parent, from).await?, edge(ctx, parent, to).await?);
            check_range(ctx, parent, name, (&from, &to))?;
            Ok(PartitionBound::Range { from, to })
        }
        (ForValues::With { modulus, remainder }, PartitionStrategy::Hash) => {
            let modulus = u32::try_from(*modulus).ok().filter(|modulus| *modulus > 0);
            let modulus = modulus.ok_or_else(|| {
                invalid("modulus for hash partition must be an integer value greater than zero")
            })?;
            let remainder = u32::try_from(*remainder).ok().filter(|left| *left < modulus);
            let remainder =
                remainder.ok_or_else(|| invalid("remainder for hash partition must be less than modulus"))?;
            check_modulus(ctx, parent, modulus)?;
            Ok(PartitionBound::Hash { modulus, remainder })
        }
        (_, strategy) => Err(invalid(format!(
            "invalid bound specification for a {} partition",
            strategy.word().to_lowercase()
        ))),
    }
}

/// Errors: 42P17 for a bound whose rows another partition has.
pub(super) fn check_free(
    ctx: &StatementContext,
    parent: &TableDef,
    name: &str,
    bound: &PartitionBound,
) -> Result<()> {
    let others: Vec<_> = ctx.catalog.partitions_of(parent.oid).collect();
    let types = parent.partition_types();
    let bounds = others
        .iter()
        .filter_map(|other| Some(&other.partition.as_ref()?.bound));
    let Some(at) = PartitionMap::new(bounds, &types).overlapping(bound, &types) else {
        return Ok(());
    };
    let other = &others[at].name;
    let message = match bound {
        PartitionBound::Default => {
            format!("partition \"{name}\" conflicts with existing default partition \"{other}\"")
        }
        _ => format!("partition \"{name}\" would overlap partition \"{other}\""),
    };
    Err(Raised::new("42P17", message).into())
}

fn strategy_of(parent: &TableDef) -> Result<PartitionStrategy> {
    let partitioning = parent.partitioning.as_ref();
    let strategy = partitioning.map(|partitioning| partitioning.strategy);
    strategy.ok_or_else(|| Raised::new("42P17", format!("\"{}\" is not partitioned", parent.name)).into())
}

/// An edge of a range. Errors: 42804 for a value behind one that is none.
async fn edge(
    ctx: &StatementContext,
    parent: &TableDef,
    written: &[PartitionBoundValue],
) -> Result<Vec<RangeEdge>> {
    let mut edge = Vec::with_capacity(written.len());
    for (at, stated) in written.iter().enumerate() {
        let next = match stated {
            PartitionBoundValue::MinValue => RangeEdge::MinValue,
            PartitionBoundValue::MaxValue => RangeEdge::MaxValue,
            PartitionBoundValue::Expr(expr) => match value(ctx, parent, (expr, at)).await? {
                Value::Null => return Err(Raised::new("42P17", "cannot specify NULL in range bound").into()),
                value => RangeEdge::Value(value),
            },
        };
        let word = match edge.last() {
            Some(RangeEdge::MinValue) if next != RangeEdge::MinValue => "MINVALUE",
            Some(RangeEdge::MaxValue) if next != RangeEdge::MaxValue => "MAXVALUE",
            _ => {
                edge.push(next);
                continue;
            }
        };
        return Err(Error::DatatypeMismatch {
            message: format!("every bound following {word} must also be {word}"),
            hint: None,
        });
    }
    Ok(edge)
}

/// Errors: 42P17 for a range that ends where it begins, or before.
fn check_range(
    ctx: &StatementContext,
    parent: &TableDef,
    name: &str,
    (from, to): (&[RangeEdge], &[RangeEdge]),
) -> Result<()> {
    let types = parent.partition_types();
    if edge_key(from, &types) < edge_key(to, &types) {
        return Ok(());
    }
    let settings = ctx.format_settings();
    let detail = format!(
        "Specified lower bound {} is greater than or equal to upper bound {}.",
        edges_text(from, &types, &settings),
        edges_text(to, &types, &settings)
    );
    Err(Raised {
        detail: Some(detail),
        ..Raised::new(
            "42P17",
            format!("empty range bound specified for partition \"{name}\""),
        )
    }
    .into())
}

/// Errors: 42P17 where neither of two numbers divides the other: then nobody could say whose a row is.
fn check_modulus(ctx: &StatementContext, parent: &TableDef, modulus: u32) -> Result<()> {
    let known = ctx.catalog.partitions_of(parent.oid).filter_map(|other| {
        match other.partition.as_ref().map(|of| &of.bound) {
            Some(PartitionBound::Hash { modulus, .. }) => Some((*modulus, &other.name)),
            _ => None,
        }
    });
    // In the order of their moduli.
    let (below, above): (Vec<_>, Vec<_>) = known.partition(|(known, _)| *known <= modulus);
    let larger = above
        .into_iter()
        .find(|(known, _)| !known.is_multiple_of(modulus));
    let smaller = below
        .into_iter()
        .rev()
        .find(|(known, _)| !modulus.is_multiple_of(*known));
    let (relation, (known, name)) = match (smaller, larger) {
        (Some(smaller), _) => ("divisible by", smaller),
        (None, Some(larger)) => ("a factor of", larger),
        (None, None) => return Ok(()),
    };
    let detail = format!(
        "The new modulus {modulus} is not {relation} {known}, the modulus of existing partition \"{name}\"."
    );
    let message = "every hash partition modulus must be a factor of the next larger modulus";
    Err(Raised {
        detail: Some(detail),
        ..Raised::new("42P17", message)
    }
    .into())
}

/// A value of the column at this place of the partition key, evaluated now. Errors: 0A000 for a subquery or a column, 42804, those of the
/// expression and of the cast.
async fn value(ctx: &StatementContext, parent: &TableDef, (expr, at): (&Expr, usize)) -> Result<Value> {
    let column = parent
        .partitioning
        .as_ref()
        .and_then(|partitioning| parent.column_index_by_id(*partitioning.columns.get(at)?))
        .map(|at| &parent.columns[at]);
    let column = column.ok_or_else(|| Error::internal("a partition key without its column"))?;
    check_no_subquery(expr, "partition bound")?;
    let of = (&column.ty, column.name.as_str());
    match dml::evaluate_stated(ctx, expr, of, Clause::PartitionBound).await {
        Err(error) if error.is_undefined_column() || error.sqlstate() == "42P01" => {
            let message = "cannot use column reference in partition bound expression";
            Err(Raised::new("0A000", message).into())
        }
        Err(error) if error.sqlstate() == "42804" => Err(Error::DatatypeMismatch {
            message: format!(
                "specified value cannot be cast to type {} for column \"{}\"",
                column.ty.name(),
                column.name
            ),
            hint: None,
        }),
        value => value,
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Raised::new("42P16", message).into()
}
