//! Which rows are the same, for DISTINCT, GROUP BY and the set operations: those whose values PostgreSQL calls equal.
//! Arrow tells `1 month` from `30 days`, numeric 1.5 from 1.50, −0 from 0 and jsonb `1` from `1.0`, so rows with such values are told apart by a
//! key beside them, and one of the same rows is shown (`group_value`).

use arrow::datatypes::Field;

use super::binder::{Binder, Bound};
use super::coercion::type_name;
use crate::error::Raised;
use crate::tree::{Column, Expr, FieldMetadata, JoinType, Plan};
use crate::types::{CatalogType, RangeKind, SqlType};
use crate::{Error, Result};

/// Whether values of the type that differ may be equal.
pub(super) fn has_unlike_equals(ty: &SqlType) -> bool {
    match ty {
        SqlType::Float4 | SqlType::Float8 => true,
        SqlType::Jsonb | SqlType::Interval(_) | SqlType::Char(None) | SqlType::Citext => true,
        SqlType::Numeric(_) => ty.is_variable_numeric(),
        SqlType::Array(item) => has_unlike_equals(item),
        SqlType::Record(_) => true,
        SqlType::Range(kind) | SqlType::Multirange(kind) => *kind == RangeKind::Numeric,
        _ => false,
    }
}

/// Whether equal values of the expression are alike whatever its type: a part of a time, `extract(year FROM …)`, has one scale.
fn has_one_form(expr: &Expr) -> bool {
    let Expr::ScalarFunction(call) = expr else {
        return false;
    };
    let part = call.args.first();
    let part = part.and_then(|part| match part {
        Expr::Literal(part, _) => part.try_as_str().flatten(),
        _ => None,
    });
    call.name() == "extract" && part.is_some_and(|part| part != "julian")
}

impl Binder<'_> {
    /// What tells apart the values of an expression that is such a field; `None`: they do so themselves.
    pub(super) fn key_of(&mut self, expr: &Expr, field: &Field) -> Result<Option<Expr>> {
        self.key_of_bound(&Bound::new(expr.clone(), SqlType::from_field(field)))
    }

    /// The same of a bound expression.
    pub(super) fn key_of_bound(&mut self, bound: &Bound) -> Result<Option<Expr>> {
        match has_unlike_equals(&bound.ty) && !has_one_form(&bound.expr) {
            true => self.order_key(bound.clone()).map(Some),
            false => Ok(None),
        }
    }

    /// Each row once.
    pub(super) fn distinct_rows(&mut self, plan: Plan) -> Result<Plan> {
        let (mut keys, mut values, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
        let labelled = |column: Expr, field: &Field| {
            let label = FieldMetadata::from(field.metadata().clone());
            column.alias_with_metadata(field.name(), Some(label))
        };
        for index in 0..plan.schema().fields().len() {
            let (qualifier, field) = plan.schema().qualified_field(index);
            let column = Expr::Column(Column::from((qualifier, field)));
            match self.key_of(&column, field)? {
                None => {
                    outputs.push(column.clone());
                    keys.push(column);
                }
                Some(key) => {
                    let name = self.unique_name("?first");
                    let (call, value) = self.group_value(Bound::new(column, SqlType::from_field(field)))?;
                    let shown = Expr::Column(Column::new_unqualified(&name));
                    outputs.push(labelled(self.shown_value(&value, shown)?, field));
                    values.push(call.alias(name));
                    keys.push(key.alias(self.unique_name("?key")));
                }
            }
        }
        match values.is_empty() {
            true => Ok(plan.distinct()),
            false => plan.aggregate(keys, values)?.project(outputs),
        }
    }

    /// The rows of `left` that `right` has (`LeftSemi`) or has not (`LeftAnti`), the same as often as they stand there.
    pub(super) fn rows_beside(&mut self, left: Plan, right: Plan, kind: JoinType) -> Result<Plan> {
        let columns = columns_of(&left);
        let (left, left_keys) = self.with_keys(left)?;
        let (right, right_keys) = self.with_keys(right)?;
        let one = right_keys.iter().cloned().map(Expr::Column);
        let right = right.project(one)?;
        left.join_same(right, kind, (left_keys, right_keys))
            .project(columns)
    }

    /// The plan with keys of these names behind those columns whose equal values may differ, and the places of what tells its rows apart.
    pub(super) fn with_unlike_keys(&mut self, plan: Plan, names: &[String]) -> Result<(Plan, Vec<usize>)> {
        let mut outputs = columns_of(&plan);
        let mut places = Vec::with_capacity(outputs.len());
        for (index, name) in names.iter().enumerate() {
            match self.key_of(&outputs[index].clone(), plan.schema().field(index))? {
                None => places.push(index),
                Some(key) => {
                    places.push(outputs.len());
                    outputs.push(key.alias(name));
                }
            }
        }
        Ok((plan.project(outputs)?, places))
    }

    /// The plan with columns that tell its rows apart.
    fn with_keys(&mut self, plan: Plan) -> Result<(Plan, Vec<Column>)> {
        let columns = columns_of(&plan);
        let mut outputs = columns.clone();
        let mut names = Vec::new();
        for (index, column) in columns.into_iter().enumerate() {
            let key = self.key_of(&column, plan.schema().field(index))?;
            let name = self.unique_name("?key");
            outputs.push(key.unwrap_or(column).alias(&name));
            names.push(Column::new_unqualified(name));
        }
        if names.is_empty() {
            // Rows without columns are all the same.
            let name = self.unique_name("?key");
            outputs.push(crate::tree::lit(1_i64).alias(&name));
            names.push(Column::new_unqualified(name));
        }
        let plan = plan.project(outputs)?;
        Ok((plan, names))
    }
}

fn columns_of(plan: &Plan) -> Vec<Expr> {
    (0..plan.schema().fields().len())
        .map(|index| Expr::Column(Column::from(plan.schema().qualified_field(index))))
        .collect()
}

/// What PostgreSQL tells of two values of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Comparison {
    /// Nothing.
    None,
    /// Whether they are equal.
    Equality,
    /// Which comes first, too.
    Order,
}

/// Those of an array are told as its items are, those of a row as those of the column of which least is told. What a row's columns are that
/// has no type of its own, PostgreSQL asks when it runs.
fn comparison(ty: &SqlType) -> Comparison {
    match ty {
        SqlType::Json
        | SqlType::Catalog(
            CatalogType::JsonPath
            | CatalogType::PgSnapshot
            | CatalogType::TxidSnapshot
            | CatalogType::Refcursor
            | CatalogType::Void,
        ) => Comparison::None,
        SqlType::Catalog(CatalogType::Xid | CatalogType::Cid | CatalogType::Aclitem) => Comparison::Equality,
        SqlType::Array(item) => comparison(item),
        SqlType::Record(row) if !row.is_anonymous() => {
            let columns = row.fields.iter().map(|field| comparison(&field.ty));
            columns.min().unwrap_or(Comparison::Order)
        }
        _ => Comparison::Order,
    }
}

/// Whether PostgreSQL tells of values of the type whether they are equal.
pub(super) fn has_equality(ty: &SqlType) -> bool {
    comparison(ty) > Comparison::None
}

/// Refuses to sort by a type without an order. Errors: 42883.
pub(super) fn refuse_unsortable(ty: &SqlType) -> Result<()> {
    let hint = match (comparison(ty), ty) {
        (Comparison::Order, _) => return Ok(()),
        (_, SqlType::Json) => "Cast it to jsonb, which has an order.",
        _ => "Use an explicit ordering operator or modify the query.",
    };
    Err(not_identified("an ordering", ty, Some(hint)))
}

/// Refuses to tell apart values of a type without equality. Errors: 42883.
pub(super) fn refuse_unequal(ty: &SqlType) -> Result<()> {
    if has_equality(ty) {
        return Ok(());
    }
    let hint = matches!(ty, SqlType::Json).then_some("Cast it to jsonb, which has equality.");
    Err(not_identified("an equality", ty, hint))
}

fn not_identified(operator: &str, ty: &SqlType, hint: Option<&str>) -> Error {
    let name = type_name(ty);
    let message = format!("could not identify {operator} operator for type {name}");
    Error::from(Raised {
        hint: hint.map(str::to_string),
        ..Raised::new("42883", message)
    })
}
