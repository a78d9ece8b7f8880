//! `string_agg`: texts, or bytes, and what joins them, gathered in arrays.

use super::accumulation::{Accumulation, Finish};
use super::binder::{Binder, Bound};
use crate::Result;
use crate::tree::{Accumulator, OrderKey};
use crate::types::SqlType;

impl Binder<'_> {
    /// Every text, and what joins them.
    pub(super) fn joined(&mut self, text: Bound, separator: Bound) -> Result<Accumulation> {
        if text.ty == SqlType::Bytea {
            return self.joined_bytes(text, separator);
        }
        let text = self.coerce(text, &SqlType::Text)?;
        let separator = self.coerce(separator, &SqlType::Text)?;
        // Arrays may be gathered in several orders at once, which texts may not.
        let ty = SqlType::list(SqlType::Text);
        let array = |expr| (Accumulator::Array, vec![expr], ty.clone());
        Ok(match separator.expr.column_refs().is_empty() {
            true => Accumulation::joined(vec![array(text.expr)], Finish::Joined(separator)),
            false => Accumulation::joined(vec![array(text.expr), array(separator.expr)], Finish::JoinedByRow),
        })
    }

    /// Every bytea, and what joins them, in two arrays.
    fn joined_bytes(&mut self, bytes: Bound, separator: Bound) -> Result<Accumulation> {
        let ty = SqlType::list(SqlType::Bytea);
        let separator = self.coerce(separator, &SqlType::Bytea)?;
        let array = |expr| (Accumulator::Array, vec![expr], ty.clone());
        Ok(match separator.expr.column_refs().is_empty() {
            true => Accumulation::joined(vec![array(bytes.expr)], Finish::Joined(separator)),
            false => Accumulation::joined(
                vec![array(bytes.expr), array(separator.expr)],
                Finish::JoinedByRow,
            ),
        })
    }
}

/// What string_agg joins is text by then, and in the order of texts where it is sorted by itself, as PostgreSQL has it. `types`: of what
/// it is sorted by.
pub(super) fn sort_as_text(name: &str, arguments: &[Bound], order_by: &[OrderKey], types: &mut [SqlType]) {
    let joined = arguments.first();
    let Some(joined) = joined.filter(|first| name == "string_agg" && first.ty == SqlType::Citext) else {
        return;
    };
    for (sort, ty) in order_by.iter().zip(types) {
        if sort.expr == joined.expr {
            *ty = SqlType::Text;
        }
    }
}
