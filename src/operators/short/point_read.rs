//! `PointRead`: a query for columns of one row, as they are stored, by its whole primary key, each column of which is a parameter. It is
//! by far the most frequent query of a wide table, and all that planning, a transaction and a stream would find out is known once: which
//! parameter makes which part of the key. What it does not take leaves it to the chain, which answers the same.
//!
//! `session::point_read` runs it; `query::plan` keeps it with the plan.

use std::sync::Arc;

use super::ShortPlan;
use super::read::TableRead;
use super::step::{Source, Step};
use crate::catalog::{KeyColumn, TableDef, record_key};
use crate::scan::{Rows, StoredRows};
use crate::store::Page;
use crate::table::{RowLayout, StoredKeys};
use crate::tree::{BinaryExpr, Expr, Operator};
use crate::types::{SqlType, Value};

/// How the row is found and what is given of it.
#[derive(Debug)]
pub struct PointRead {
    /// The key of the table's record, which who changes the table locks.
    record: Vec<u8>,
    keys: StoredKeys,
    /// For each column of the key: its type, and the parameter (from 0) that it equals.
    parameters: Vec<(SqlType, usize)>,
    layout: Arc<RowLayout>,
}

impl PointRead {
    /// The chain as such a query; `None`: it is another. `types`: of the parameters.
    pub fn of(plan: &ShortPlan, types: &[SqlType]) -> Option<PointRead> {
        let (Source::Table(read), Some(layout)) = (&plan.source, &plan.stored) else {
            return None;
        };
        let table = read.table();
        let is_as_it_is = |step: &Step| matches!(step, Step::Project { .. });
        let takes_all = plan.steps.iter().all(is_as_it_is) && layout.is_formattable();
        // Rows that may be over are judged by a transaction, and a view's may not be there.
        let is_plain =
            !table.options.expiry.may_be_over() && !table.is_materialized_view() && !table.is_of_versions();
        if !takes_all || !is_plain || read.has_index_hint() {
            return None;
        }
        Some(PointRead {
            record: record_key(table.id),
            keys: StoredKeys::new(&table),
            parameters: parameters_of(read, &table, types)?,
            layout: Arc::clone(layout),
        })
    }

    /// See the field.
    pub fn record(&self) -> &[u8] {
        &self.record
    }

    /// The key of the row with these parameters; `None`: they are not what the key holds.
    pub fn key(&self, parameters: &[Value]) -> Option<Vec<u8>> {
        let value = |(ty, at): &(SqlType, usize)| parameters.get(*at).filter(|value| is_of(value, ty));
        let values = self.parameters.iter().map(value).collect::<Option<Vec<_>>>()?;
        Some(self.keys.key_of(&values))
    }

    /// The row, as it is stored under its key.
    pub fn row(&self, key: &[u8], value: &[u8]) -> Rows {
        let mut page = Page::new();
        page.push(key, value);
        Rows::Stored(StoredRows::new(Arc::new(page), Arc::clone(&self.layout)))
    }
}

/// For each column of the primary key its type and the parameter that it equals; `None`: there are other conditions, or none on one.
fn parameters_of(read: &TableRead, table: &TableDef, types: &[SqlType]) -> Option<Vec<(SqlType, usize)>> {
    let key = &table.primary_key.columns;
    let mut equal = Vec::with_capacity(key.len());
    for (position, written) in read.conditions_by_column()? {
        let parameter = parameter_that_equals(written)?;
        is_alike(&table.columns[position].ty, types.get(parameter)?).then_some(())?;
        equal.push((table.columns[position].id, parameter));
    }
    if equal.len() != key.len() {
        return None;
    }
    let of_column = |column: &KeyColumn| {
        let (_, parameter) = equal.iter().find(|(id, _)| *id == column.column)?;
        let position = table.column_index_by_id(column.column)?;
        Some((table.columns[position].ty.clone(), *parameter))
    };
    key.iter().map(of_column).collect()
}

/// The parameter (from 0) in `column = $n`.
fn parameter_that_equals(condition: &Expr) -> Option<usize> {
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::Eq,
        right,
    }) = condition
    else {
        return None;
    };
    let number = match (left.as_ref(), right.as_ref()) {
        (Expr::Column(_), Expr::Placeholder(placeholder))
        | (Expr::Placeholder(placeholder), Expr::Column(_)) => placeholder.id.strip_prefix('$')?,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_sub(1)
}

/// Whether values of a parameter's type stand in a key column as they are: nothing is converted, cut or made equal that differs.
fn is_alike(column: &SqlType, parameter: &SqlType) -> bool {
    match column {
        SqlType::Int2
        | SqlType::Int4
        | SqlType::Int8
        | SqlType::Bool
        | SqlType::Uuid
        | SqlType::Bytea
        | SqlType::Packed(_)
        | SqlType::Date => column == parameter,
        SqlType::Text | SqlType::Varchar(_) => matches!(parameter, SqlType::Text | SqlType::Varchar(_)),
        _ => false,
    }
}

/// Whether a value is one of the column's type, and no NULL.
fn is_of(value: &Value, ty: &SqlType) -> bool {
    match (value, ty) {
        (Value::Int(number), SqlType::Int2) => i16::try_from(*number).is_ok(),
        (Value::Int(number), SqlType::Int4) => i32::try_from(*number).is_ok(),
        (Value::Packed(address), SqlType::Packed(kind)) => address.kind == *kind,
        (Value::Int(_), SqlType::Int8)
        | (Value::Bool(_), SqlType::Bool)
        | (Value::Uuid(_), SqlType::Uuid)
        | (Value::Bytes(_), SqlType::Bytea)
        | (Value::Date(_), SqlType::Date)
        | (Value::Text(_), SqlType::Text | SqlType::Varchar(_)) => true,
        _ => false,
    }
}
