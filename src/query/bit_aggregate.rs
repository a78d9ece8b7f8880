//! `bit_and`, `bit_or` and `bit_xor`, of integers and of bit strings. Called by `aggregate`.

use super::accumulation::{Accumulation, Finish, single_call};
use super::binder::{Binder, Bound};
use super::coercion::CastContext;
use crate::tree::Accumulator;
use crate::types::SqlType;
use crate::{Error, Result};

impl Binder<'_> {
    /// The bits of all values together. `wrong`: the error for other arguments.
    pub(super) fn bits_together(
        &mut self,
        name: &str,
        first: Bound,
        wrong: &impl Fn() -> Error,
    ) -> Result<Accumulation> {
        let first = match first.is_unwritten() {
            true => self.convert(first, &SqlType::Int8, CastContext::Implicit)?,
            false => first,
        };
        if first.ty.is_bits() {
            let first = self.convert(first, &SqlType::Bit(None), CastContext::Implicit)?;
            return Ok(Accumulation {
                finish: Finish::Items(match name {
                    "bit_and" => "bit_list_and",
                    "bit_or" => "bit_list_or",
                    _ => "bit_list_xor",
                }),
                ..self.array_of_values(first)?
            });
        }
        if !matches!(first.ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8) {
            return Err(wrong());
        }
        let function = match name {
            "bit_and" => Accumulator::BitAnd,
            "bit_or" => Accumulator::BitOr,
            _ => Accumulator::BitXor,
        };
        Ok(single_call(function, vec![first.expr], first.ty))
    }
}
