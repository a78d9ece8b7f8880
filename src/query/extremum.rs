//! min and max: the types that have them, and what of a value the accumulator compares.

use super::accumulation::{Accumulation, Extreme, Finish, single_call};
use super::binder::{Binder, Bound};
use super::coercion;
use crate::functions::{self, Volatility};
use crate::tree::{self, Accumulator};
use crate::types::{CatalogType, PackedKind, SqlType};
use crate::{Error, Result};

impl Binder<'_> {
    /// The least of the values (`min`), or the greatest. Errors: 0A000 for a type that has none.
    pub(super) fn extremum(&mut self, name: &str, argument: Bound) -> Result<Accumulation> {
        if argument.is_of_unwritten() {
            let argument = self.with_decided_type(argument)?;
            return Ok(Accumulation {
                finish: Finish::Unwritten,
                ..single_call(Accumulator::First, vec![argument.expr], argument.ty)
            });
        }
        let argument = self.with_decided_type(argument)?;
        let ty = extremum_type(&argument.ty)?;
        let (function, extreme) = match name {
            "min" => (Accumulator::Min, Extreme::Least),
            _ => (Accumulator::Max, Extreme::Greatest),
        };
        match ty {
            SqlType::Array(_) => Ok(Accumulation {
                finish: Finish::Extreme(extreme),
                ..self.array_of_values(argument)?
            }),
            SqlType::Float4 | SqlType::Float8 => {
                // Per group, the operator begins with the greatest finite float, and compares with NaN as IEEE does.
                let definition = ("float_key", functions::FLOAT_KEY, true, Volatility::Immutable);
                let arguments = vec![(argument.expr, argument.ty)];
                let key = tree::call(definition, arguments, SqlType::Int8, &self.settings);
                Ok(Accumulation {
                    calls: vec![(function, vec![key], SqlType::Int8)],
                    finish: Finish::Float(ty),
                    is_exact: false,
                })
            }
            SqlType::Citext => {
                let body = functions::CITEXT_WITH_KEY;
                let key = self.gathered("citext_with_key", body, argument, SqlType::Text);
                Ok(Accumulation {
                    finish: Finish::Citext,
                    ..single_call(function, vec![key.expr], SqlType::Text)
                })
            }
            SqlType::Interval(_) => {
                let body = functions::INTERVAL_WITH_KEY;
                let key = self.gathered("interval_with_key", body, argument, SqlType::Bytea);
                Ok(Accumulation {
                    finish: Finish::KeyedInterval,
                    ..single_call(function, vec![key.expr], SqlType::Bytea)
                })
            }
            ty => Ok(single_call(function, vec![argument.expr], ty)),
        }
    }

    /// The interval behind its key.
    pub(super) fn interval_of_key(&self, key: Bound) -> Bound {
        let ty = SqlType::Interval(None);
        self.gathered("interval_of_key", functions::INTERVAL_OF_KEY, key, ty)
    }
}

/// The type of the least and the greatest of values of a type, where PostgreSQL has such an aggregate. Errors: 0A000.
fn extremum_type(ty: &SqlType) -> Result<SqlType> {
    use SqlType as S;
    let has_none = match ty {
        S::Bool
        | S::Uuid
        | S::Bytea
        | S::Bit(_)
        | S::VarBit(_)
        | S::Json
        | S::Jsonb
        | S::TsVector
        | S::TsQuery
        | S::Range(_)
        | S::Multirange(_)
        | S::Record(_) => true,
        S::Packed(kind) => kind.is_mac(),
        S::Catalog(
            CatalogType::Xid
            | CatalogType::Cid
            | CatalogType::Aclitem
            | CatalogType::JsonPath
            | CatalogType::PgSnapshot
            | CatalogType::TxidSnapshot
            | CatalogType::Refcursor,
        ) => true,
        _ => false,
    };
    if has_none {
        return Err(Error::unsupported("an extremum", None));
    }
    Ok(match ty {
        // Of what is no address of the internet there is none in PostgreSQL, either.
        S::Packed(kind) if kind.is_ip() => S::Packed(PackedKind::Inet),
        S::Varchar(_) | S::Name | S::InternalChar => S::Text,
        other => coercion::unrounded(other),
    })
}
