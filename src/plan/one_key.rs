//! The commonest condition: every key column equals one constant, and that is all. It names one key, found here without
//! sets and boxes; `plan_access` asks this first. What it does not understand the algebra does.

use super::Predicate;
use super::compare::{is_own_kind, reduce};
use super::predicate::CompareOp;
use crate::catalog::{IndexDef, KeyColumn, TableDef};
use crate::codec::key::{self, KeyField};
use crate::codec::keyspace::entry_prefix;
use crate::types::{SqlType, Value};

/// The one key that can satisfy all of `conditions`, when they are `column = constant` for each column of the key.
pub(crate) fn one_key(table: &TableDef, index: &IndexDef, conditions: &[&Predicate]) -> Option<Vec<u8>> {
    if !index.unique || conditions.len() != index.columns.len() {
        return None;
    }
    let mut bytes = entry_prefix(table.id, index.id).to_vec();
    for key in &index.columns {
        let position = table.column_index_by_id(key.column)?;
        let constant = conditions.iter().find_map(|condition| match condition {
            Predicate::Compare {
                column,
                op: CompareOp::Eq,
                value,
            } if *column == position => Some(value),
            _ => None,
        })?;
        encode_equal(&mut bytes, &table.columns[position].ty, key, constant)?;
    }
    Some(bytes)
}

/// Appends the one value that a column of a key has in rows in which it equals the constant; `None`: there may be others, or none.
pub(super) fn encode_equal(
    bytes: &mut Vec<u8>,
    ty: &SqlType,
    key: &KeyColumn,
    constant: &Value,
) -> Option<()> {
    let constant = equal_value(ty, constant)?;
    let field = KeyField {
        ty: ty.clone(),
        descending: key.descending,
        nulls_first: key.nulls_first,
    };
    key::encode_value(bytes, &constant, &field);
    Some(())
}

/// The value that a column of the type has where it equals the constant. `None`: it has none, or it may be one of several.
pub(crate) fn equal_value(ty: &SqlType, constant: &Value) -> Option<Value> {
    Some(reduce(ty, constant)).filter(|constant| is_value_of(ty, constant))
}

/// Whether the constant is a value that a column of the type can hold: beyond it nothing matches, which is another class.
fn is_value_of(ty: &SqlType, constant: &Value) -> bool {
    is_own_kind(ty, constant)
        && match (ty, constant) {
            (SqlType::Int2, Value::Int(value)) => i16::try_from(*value).is_ok(),
            (SqlType::Int4, Value::Int(value)) => i32::try_from(*value).is_ok(),
            (SqlType::Time(_), _) => false,
            _ => true,
        }
}
