//! `Aggregate`: groups of rows.

use std::sync::Arc;

use arrow::datatypes::DataType;

use super::expr::{Expr, bare_field};
use super::grouping_sets::{grouping_keys, repetitions};
use super::plan::Plan;
use super::row_schema::{RowSchema, RowSchemaRef, nullable};
use crate::Result;

/// Groups of rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Aggregate {
    /// The rows.
    pub input: Arc<Plan>,
    /// The keys, or one [`Expr::GroupingSets`].
    pub group_expr: Vec<Expr>,
    /// What is computed of each group.
    pub aggr_expr: Vec<Expr>,
    /// The keys, the number of the grouping set where there are several, then what is computed.
    pub schema: RowSchemaRef,
}

impl Aggregate {
    /// The column with the number of a grouping set: a bit a key, the last key's the lowest, set where the set leaves the key out; above
    /// these, how often the same set came before.
    pub const INTERNAL_GROUPING_ID: &'static str = "__grouping_id";

    /// Errors: an expression does not fit the rows.
    pub fn try_new(input: Arc<Plan>, group_expr: Vec<Expr>, aggr_expr: Vec<Expr>) -> Result<Aggregate> {
        let below = input.schema();
        let keys = grouping_keys(&group_expr).into_iter();
        let mut fields = keys.map(|key| key.to_field(below)).collect::<Result<Vec<_>>>()?;
        if let [Expr::GroupingSets(sets)] = group_expr.as_slice() {
            for (_, field) in &mut fields {
                *field = nullable(field);
            }
            let ty = grouping_id_type(fields.len(), repetitions(sets));
            fields.push((None, bare_field(Aggregate::INTERNAL_GROUPING_ID, ty, false)));
        }
        for call in &aggr_expr {
            fields.push(call.to_field(below)?);
        }
        Ok(Aggregate {
            schema: Arc::new(RowSchema::new(fields)),
            input,
            group_expr,
            aggr_expr,
        })
    }

    /// How many columns stand before what is computed.
    pub fn group_expr_len(&self) -> usize {
        self.schema.fields().len() - self.aggr_expr.len()
    }
}

/// The least type that holds the number of a grouping set.
fn grouping_id_type(keys: usize, repetitions: usize) -> DataType {
    match keys + (usize::BITS - repetitions.leading_zeros()) as usize {
        0..=8 => DataType::UInt8,
        9..=16 => DataType::UInt16,
        17..=32 => DataType::UInt32,
        _ => DataType::UInt64,
    }
}
