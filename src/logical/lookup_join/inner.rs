//! The inner side of a join as what is looked up: a stored table, by the columns that conditions say to equal something of the
//! outer rows.

use arrow::datatypes::DataType;

use crate::functions::sort_key::is_key_of_operand;
use crate::logical::equality;
use crate::logical::evaluable::is_computable;
use crate::logical::stored_table::{ScannedTable, scanned_table};
use crate::plan::bounding_columns;
use crate::tree::{Column, Expr, Inner, Plan, RowSchema, Transformed, TreeNode};

/// A stored table as what is looked up: by the columns that conditions, which are taken out, say to equal something of the
/// outer rows.
pub(crate) fn inner_of(plan: &Plan, outer: &RowSchema, conditions: &mut Vec<Expr>) -> Option<Inner> {
    by_equality(plain_table(plan)?, plan.schema(), outer, conditions)
}

/// The table by those of its columns that conditions, which are taken out, say to equal something of the outer rows. `schema`:
/// what the conditions call its columns.
pub(crate) fn by_equality(
    scanned: ScannedTable,
    schema: &RowSchema,
    outer: &RowSchema,
    conditions: &mut Vec<Expr>,
) -> Option<Inner> {
    let ScannedTable {
        table,
        alias,
        positions,
        index_hint,
        ..
    } = scanned;
    let mut equal = Vec::new();
    for (at, position) in positions.iter().enumerate() {
        let column = Expr::Column(Column::from(schema.qualified_field(at)));
        let ty = schema.field(at).data_type();
        let mut given = conditions.iter().enumerate();
        equal.extend(given.find_map(|(condition, expr)| {
            let value = key_value(expr, &column, outer, ty)?;
            Some((*position, condition, value))
        }));
    }
    let columns: Vec<usize> = equal.iter().map(|(position, ..)| *position).collect();
    let bounding = bounding_columns(&table, &columns, &index_hint)?;
    equal.retain(|(position, ..)| bounding.contains(position));
    let mut used: Vec<usize> = equal.iter().map(|(_, condition, _)| *condition).collect();
    used.sort_unstable();
    used.into_iter()
        .rev()
        .for_each(|condition| drop(conditions.remove(condition)));
    let keys: Vec<(usize, Expr)> = equal
        .into_iter()
        .map(|(position, _, key)| (position, key))
        .collect();
    // What equals constants alone is read as any table is.
    let is_of_outer = |(_, key): &(usize, Expr)| key.any_column_refs();
    keys.iter().any(is_of_outer).then_some(Inner {
        table,
        alias,
        positions,
        index_hint,
        keys,
    })
}

/// The column of a table that is the only one of a subquery.
pub(crate) fn first_column(plan: &Plan) -> Option<Expr> {
    let Plan::Projection(projection) = plan else {
        return None;
    };
    match projection.expr.as_slice() {
        [expr] => Some(expr.clone().unalias()).filter(|expr| matches!(expr, Expr::Column(_))),
        _ => None,
    }
}

/// The condition with columns of the outer query as such of `outer`. `None`: they are of one further out.
pub(crate) fn with_outer_columns(condition: Expr, outer: &RowSchema) -> Option<Expr> {
    let mut is_whole = true;
    let replaced = condition.transform_up(|expr| {
        Ok(match expr {
            Expr::OuterReferenceColumn(_, column) => {
                is_whole &= outer.has_column(&column);
                Transformed::yes(Expr::Column(column))
            }
            other => Transformed::no(other),
        })
    });
    replaced.ok().filter(|_| is_whole).map(|replaced| replaced.data)
}

/// What a condition `column = value`, either way round, says that the column is: something over `schema` of its own type.
fn key_value(condition: &Expr, column: &Expr, schema: &RowSchema, ty: &DataType) -> Option<Expr> {
    let sides = equality(condition)?.map(|(own, value)| {
        let as_keys = compared_as_key(own).zip(compared_as_key(value));
        as_keys.unwrap_or((own, value))
    });
    let mut sides = sides.into_iter();
    let (_, value) = sides.find(|(own, value)| *own == column && *value != column)?;
    // Floats that are equal need not be alike.
    let is_same = is_over(value, &[schema])
        && !ty.is_floating()
        && value.get_type(schema).is_ok_and(|found| found == *ty);
    (is_same && is_computable(value, schema)).then(|| value.clone())
}

/// Of what a value compares by, as which it stands in keys, the value.
fn compared_as_key(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::ScalarFunction(call) if is_key_of_operand(call.name()) => call.args.first(),
        _ => None,
    }
}

/// Whether each column of an expression is in one of the schemas.
pub(crate) fn is_over(expr: &Expr, schemas: &[&RowSchema]) -> bool {
    let mut columns = expr.column_refs().into_iter();
    columns.all(|column| schemas.iter().any(|schema| schema.has_column(column)))
}

/// The stored table that a plan is.
fn plain_table(plan: &Plan) -> Option<ScannedTable> {
    match plan {
        Plan::TableScan(scan) => scanned_table(scan),
        Plan::SubqueryAlias(alias) => plain_table(&alias.input),
        _ => None,
    }
}
