//! Regions as statements make them: ALTER TABLE … SPLIT AT and UNSPLIT, and the options that split a new table. What a region is stands in
//! `catalog::region`; where NUMREGIONS cuts in `region_bounds`.

use std::cmp::Ordering;

use sqlparser::ast::{BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments};

use super::notice;
use super::options::invalid_value;
use super::region_bounds::{even_bounds, whole_range};
use crate::catalog::{ColumnDef, RegionOrigin, SplitOptions, TableDef, TableRegions};
use crate::codec::key::encode_value;
use crate::error::{Limit, StatementFault};
use crate::parse::definition::AlterAction;
use crate::parse::names;
use crate::parse::quoting::quote_ident;
use crate::query;
use crate::sql::dml;
use crate::system::StatementContext;
use crate::types::Value;
use crate::{Error, Result};

/// The longest bound, in bytes.
const BOUND_BYTES_MAX: usize = 2048;

/// SPLIT AT VALUES and UNSPLIT of ALTER TABLE. Errors: as [`split_at`] and [`unsplit`].
pub(super) async fn alter(ctx: &StatementContext, table: &TableDef, action: &AlterAction) -> Result<()> {
    match action {
        AlterAction::SplitAt(bounds) => split_at(ctx, table, bounds).await,
        AlterAction::UnsplitAt(bounds) => unsplit(ctx, table, bounds.as_ref()).await,
        _ => Err(Error::internal("an action that has nothing to do with regions")),
    }
}

/// ALTER TABLE … SPLIT AT VALUES. Errors: 42601, 42P16, 42804, 22004, 22P02 and its like; 54000.
async fn split_at(ctx: &StatementContext, table: &TableDef, bounds: &[Vec<Expr>]) -> Result<()> {
    let starts = read_bounds(ctx, table, bounds)?;
    let wanted = starts.len();
    let mut regions = TableRegions::read(&ctx.txn, table).await?;
    let made = regions.split(starts, RegionOrigin::Statement)?;
    if made < wanted {
        let message = format!(
            "table \"{}\" is split at {} of the bounds already",
            table.name,
            wanted - made
        );
        notice(ctx, "00000", message, None);
    }
    match made {
        0 => Ok(()),
        _ => regions.write(&ctx.txn, table),
    }
}

/// ALTER TABLE … UNSPLIT AT VALUES, or ALL. Errors: as [`split_at`]; 42704 for a bound that is none.
async fn unsplit(ctx: &StatementContext, table: &TableDef, bounds: Option<&Vec<Vec<Expr>>>) -> Result<()> {
    let mut regions = TableRegions::read(&ctx.txn, table).await?;
    let merged = match bounds {
        None => regions.merge(|region| region.origin != RegionOrigin::Bucket),
        Some(bounds) => {
            for (start, bound) in read_bounds(ctx, table, bounds)?.iter().zip(bounds) {
                let found = regions.regions().iter().find(|region| region.start == *start);
                let Some(found) = found else {
                    let values: Vec<String> = bound.iter().map(ToString::to_string).collect();
                    return Err(Error::UndefinedObject {
                        kind: "region bound",
                        name: format!("({})", values.join(", ")),
                    });
                };
                if found.origin == RegionOrigin::Bucket {
                    return Err(Error::unsupported(
                        "UNSPLIT of a bucket",
                        Some("Each bucket is a region."),
                    ));
                }
            }
            let starts = read_bounds(ctx, table, bounds)?;
            regions.merge(|region| starts.contains(&region.start))
        }
    };
    match merged {
        0 => Ok(()),
        _ => regions.write(&ctx.txn, table),
    }
}

/// What was said of regions when a table was made counts once it has a primary key, and goes with that: another cannot be split there.
/// Errors: as of [`begin`].
pub(super) fn settle(ctx: &StatementContext, table: &mut TableDef, before: &TableDef) -> Result<()> {
    if table.options.split.is_default() || table.is_keyed_as(before) {
        return Ok(());
    }
    if before.has_hidden_key() {
        return split_as_declared(ctx, table);
    }
    table.options.split = SplitOptions::default();
    Ok(())
}

/// The regions of a new table, which waits for a primary key where it has none. Errors: 22023, 22P02 and its like for values of its options.
pub(super) fn begin(ctx: &StatementContext, table: &TableDef) -> Result<()> {
    let split = &table.options.split;
    if table.has_hidden_key() && (!split.is_default() || table.options.buckets.is_some()) {
        let message = format!(
            "the rows of \"{}\" are spread and split once the table has a primary key",
            table.name
        );
        let hint = format!(
            "ALTER TABLE {} ADD PRIMARY KEY (...) gives it one.",
            quote_ident(&table.name)
        );
        notice(ctx, "00000", message, Some(hint));
        return check_together(table, split);
    }
    split_as_declared(ctx, table)
}

/// Splits a table that is made, or gets its key, in this transaction.
fn split_as_declared(ctx: &StatementContext, table: &TableDef) -> Result<()> {
    if table.options.split.is_default() {
        return Ok(());
    }
    let starts = declared_bounds(ctx, table)?;
    let mut regions = TableRegions::of_table(table);
    match regions.split(starts, RegionOrigin::Options)? {
        0 => Ok(()),
        _ => regions.write_new(&ctx.txn),
    }
}

/// Where the options of a new table split it, as encoded fields of its key.
fn declared_bounds(ctx: &StatementContext, table: &TableDef) -> Result<Vec<Vec<u8>>> {
    let split = &table.options.split;
    check_together(table, split)?;
    let values = match (&split.split_keys, split.regions) {
        (Some(keys), _) => keys
            .split(',')
            .map(|key| first_value(ctx, table, "splitkeys", key))
            .collect::<Result<Vec<Value>>>()?,
        (None, Some(regions)) => evenly(ctx, table, split, regions)?,
        (None, None) => Vec::new(),
    };
    values
        .into_iter()
        .map(|value| encode(table, vec![value]))
        .collect()
}

/// Errors: 22023 for options that do not go together, or not with the table.
fn check_together(table: &TableDef, split: &SplitOptions) -> Result<()> {
    let refused = |message: &str, hint: &str| {
        Err(Error::InvalidParameter {
            message: message.to_string(),
            hint: Some(hint.to_string()),
        })
    };
    if split.is_default() {
        return Ok(());
    }
    if table.options.buckets.is_some() {
        return refused(
            "a table with BUCKETS has a region for each bucket",
            "Leave NUMREGIONS, STARTKEY, ENDKEY and SPLITKEYS out.",
        );
    }
    let has_ends = (split.start_key.is_some(), split.end_key.is_some());
    match (&split.split_keys, split.regions, has_ends) {
        (Some(_), None, (false, false)) | (None, Some(_), (true, true) | (false, false)) => Ok(()),
        (Some(_), ..) => refused(
            "SPLITKEYS says where all regions begin",
            "Leave NUMREGIONS, STARTKEY and ENDKEY out.",
        ),
        (None, None, _) => refused("STARTKEY and ENDKEY need NUMREGIONS", "Add NUMREGIONS = 'n'."),
        (None, Some(_), _) => refused(
            "STARTKEY and ENDKEY go together",
            "Give both: the second region begins at STARTKEY, the last at ENDKEY.",
        ),
    }
}

/// The bounds of so many regions.
fn evenly(
    ctx: &StatementContext,
    table: &TableDef,
    split: &SplitOptions,
    regions: u16,
) -> Result<Vec<Value>> {
    let column = &table.columns[first_column(table)?];
    let mut bounds = usize::from(regions).saturating_sub(1);
    let (values, options) = match (&split.start_key, &split.end_key) {
        (Some(start), Some(end)) => {
            let start = first_value(ctx, table, "startkey", start)?;
            let end = first_value(ctx, table, "endkey", end)?;
            check_rising(table, &start, &end)?;
            (
                even_bounds(&start, &end, bounds, true),
                "NUMREGIONS, STARTKEY and ENDKEY",
            )
        }
        _ => {
            let whole = all_values(column);
            if let Some(divisor) = divisor(column).and_then(|divisor| usize::try_from(divisor).ok()) {
                // There are no more values.
                bounds = bounds.min(divisor - 1);
            }
            let values = whole.and_then(|(start, end)| even_bounds(&start, &end, bounds, false));
            (values, "NUMREGIONS")
        }
    };
    if values.is_some() && bounds > 0 && split.start_key.is_none() && column.generation().is_none() {
        let message = format!(
            "NUMREGIONS without STARTKEY and ENDKEY cuts all values of type {} evenly: most tables fill few of such regions",
            column.ty.name()
        );
        let hint = "Add STARTKEY and ENDKEY, the least and the greatest values that there will be.";
        notice(ctx, "00000", message, Some(hint.to_string()));
    }
    values.ok_or_else(|| Error::InvalidParameter {
        message: format!(
            "{options} cannot cut values of type {} into {regions} regions",
            column.ty.name()
        ),
        hint: Some("Say where the regions begin: SPLITKEYS = 'a,b,c'.".to_string()),
    })
}

/// Errors: 22023 for a STARTKEY that is not below ENDKEY; in a descending key either may be.
fn check_rising(table: &TableDef, start: &Value, end: &Value) -> Result<()> {
    let is_descending = table
        .primary_key
        .columns
        .first()
        .is_some_and(|first| first.descending);
    let order = encode(table, vec![start.clone()])?.cmp(&encode(table, vec![end.clone()])?);
    match (order, is_descending) {
        (Ordering::Less, _) | (Ordering::Greater, true) => Ok(()),
        _ => Err(Error::InvalidParameter {
            message: "STARTKEY is not below ENDKEY".to_string(),
            hint: Some("The second region begins at STARTKEY, the last at ENDKEY.".to_string()),
        }),
    }
}

/// What a column is the remainder of a division by, where it is that: `ts % 16`, `mod(ts, 16)`.
fn divisor(column: &ColumnDef) -> Option<i64> {
    let divisor = match remainder(&column.generation()?.sql)? {
        Expr::BinaryOp {
            op: BinaryOperator::Modulo,
            right,
            ..
        } => *right,
        Expr::Function(call) if names::last_name(&call.name).is_some_and(|name| name == "mod") => {
            match call.args {
                FunctionArguments::List(list) => match list.args.into_iter().nth(1)? {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(divisor)) => divisor,
                    _ => return None,
                },
                _ => return None,
            }
        }
        _ => return None,
    };
    let divisor: i64 = divisor.to_string().parse().ok()?;
    (divisor > 1).then_some(divisor)
}

/// What a text computes, without the casts and parentheses around it.
fn remainder(sql: &str) -> Option<Expr> {
    let mut expr = dml::parse_expression(sql).ok()?;
    loop {
        expr = match expr {
            Expr::Nested(inner) => *inner,
            Expr::Cast { expr, .. } => *expr,
            expr => return Some(expr),
        };
    }
}

/// Between what the values of a column lie: hashes fill their own range, whatever type they are stored as, and remainders that up to
/// their divisor.
fn all_values(column: &ColumnDef) -> Option<(Value, Value)> {
    if let Some(divisor) = divisor(column) {
        return Some((Value::Int(0), Value::Int(divisor)));
    }
    let hash = column
        .generation()
        .map(|generation| generation.sql.to_ascii_lowercase());
    let begins = |name: &str| hash.as_ref().is_some_and(|sql| sql.starts_with(name));
    if begins("hash8(") {
        Some((Value::Int(0), Value::Int(1 << 8)))
    } else if begins("hash32(") {
        Some((Value::Int(0), Value::Int(1 << 32)))
    } else {
        whole_range(&column.ty)
    }
}

/// The value of the first key column that an option holds. Errors: 22P02 and its like, 22023 for none.
fn first_value(ctx: &StatementContext, table: &TableDef, option: &str, text: &str) -> Result<Value> {
    let column = &table.columns[first_column(table)?];
    let text = text.trim();
    if text.is_empty() {
        return Err(invalid_value(
            "table",
            option,
            text,
            "values of the first key column",
        ));
    }
    let value = Value::Unknown(text.to_string());
    value.assign(&column.ty, &column.name, &ctx.format_settings())
}

fn first_column(table: &TableDef) -> Result<usize> {
    let first = table.key_columns().first().copied();
    first.ok_or_else(|| Error::internal("a table without a key"))
}

/// Bounds of a statement as encoded fields of the key. Errors: as [`split_at`].
fn read_bounds(ctx: &StatementContext, table: &TableDef, bounds: &[Vec<Expr>]) -> Result<Vec<Vec<u8>>> {
    if table.has_hidden_key() {
        return Err(Error::InvalidStatement {
            state: StatementFault::InvalidTableDefinition,
            message: format!("table \"{}\" has no primary key to split it by", table.name),
            hint: Some("Declare PRIMARY KEY (...) over the columns that queries filter by.".to_string()),
        });
    }
    let columns = table.key_columns();
    let mut starts = Vec::with_capacity(bounds.len());
    for bound in bounds {
        if bound.len() > columns.len() {
            return Err(Error::InvalidStatement {
                state: StatementFault::Syntax,
                message: format!(
                    "a bound has {} values, and the key of \"{}\" {} columns",
                    bound.len(),
                    table.name,
                    columns.len()
                ),
                hint: None,
            });
        }
        let mut values = Vec::with_capacity(bound.len());
        for (expr, at) in bound.iter().zip(&columns) {
            let column = &table.columns[*at];
            let constant = query::constant(ctx, expr)?;
            let value = constant.map(|constant| constant.value).ok_or_else(|| {
                Error::unsupported(
                    "a bound of a region that is no constant",
                    Some("Write the values themselves."),
                )
            })?;
            if value == Value::Null {
                return Err(Error::InvalidParameter {
                    message: "a region cannot begin with NULL".to_string(),
                    hint: None,
                });
            }
            values.push(value.assign(&column.ty, &column.name, &ctx.format_settings())?);
        }
        starts.push(encode(table, values)?);
    }
    Ok(starts)
}

/// The fields that values of the first columns of the key have. Errors: 54000.
fn encode(table: &TableDef, values: Vec<Value>) -> Result<Vec<u8>> {
    let mut start = Vec::new();
    for (value, field) in values.iter().zip(table.key_fields(&table.primary_key)) {
        encode_value(&mut start, value, &field);
    }
    match start.len() > BOUND_BYTES_MAX {
        true => Err(Error::LimitExceeded {
            state: Limit::Program,
            message: format!("a bound of a region has at most {BOUND_BYTES_MAX} bytes"),
            hint: "The first letters of the values will do.".to_string(),
        }),
        false => Ok(start),
    }
}
