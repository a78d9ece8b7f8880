//! What the results of an aggregate's accumulators become.

use super::accumulation::Finish;
use super::binder::{Binder, Bound};
use super::coercion::CastContext;
use crate::functions::Volatility;
use crate::functions::{self, ArithmeticOp};
use crate::tree;
use crate::types::{SqlType, element_type};
use crate::{Error, Result};

impl Binder<'_> {
    /// What the accumulators' results become.
    pub(super) fn finish(&mut self, finish: &Finish, results: Vec<Bound>) -> Result<Bound> {
        let mut results = results.into_iter();
        let first = results
            .next()
            .ok_or_else(|| Error::internal("an aggregate without accumulators"))?;
        match finish {
            Finish::Cast(ty) => self.convert(first, ty, CastContext::Explicit),
            Finish::Float(ty) => {
                Ok(self.gathered("float_of_key", functions::FLOAT_OF_KEY, first, ty.clone()))
            }
            Finish::Citext => {
                Ok(self.gathered("citext_of_key", functions::CITEXT_OF_KEY, first, SqlType::Citext))
            }
            Finish::Unwritten => Ok(first.open_if(true)),
            Finish::KeyedInterval => Ok(self.interval_of_key(first)),
            Finish::Quotient => {
                let second = results
                    .next()
                    .ok_or_else(|| Error::internal("an average without a count"))?;
                let (sum, count) = (self.as_numeric(first)?, self.as_numeric(second)?);
                let returns = SqlType::Numeric(None);
                let definition = ("avg", ArithmeticOp::Divide.body(), true, Volatility::Immutable);
                let arguments = vec![(sum.expr, sum.ty), (count.expr, count.ty)];
                Ok(Bound::new(
                    tree::call(definition, arguments, returns.clone(), &self.settings),
                    returns,
                ))
            }
            Finish::Joined(separator) => {
                let separator = Bound::new(separator.expr.clone(), separator.ty.clone());
                Ok(self.joined_items(first, separator, false))
            }
            Finish::JoinedByRow => {
                let separators = results
                    .next()
                    .ok_or_else(|| Error::internal("texts without separators"))?;
                Ok(self.joined_items(first, separators, true))
            }
            Finish::Percentile(percentile, fraction) => {
                self.percentile_of(*percentile, first, fraction.clone())
            }
            Finish::Hypothetical(hypothetical) => {
                let results = std::iter::once(first).chain(results).collect();
                self.hypothetical_place(*hypothetical, results)
            }
            Finish::Folded(folding) => {
                let lists = std::iter::once(first).chain(results).collect();
                self.folded(folding, lists)
            }
            Finish::Object(function) => {
                let values = results
                    .next()
                    .ok_or_else(|| Error::internal("keys without values"))?;
                self.resolve_function(function, vec![first, values])
            }
            Finish::Unrepeated(rest) => {
                let arrays = std::iter::once(first).chain(results).collect();
                let arrays = self.unrepeated(arrays)?;
                self.finish(rest, arrays)
            }
            Finish::Extreme(_) | Finish::Intervals { .. } | Finish::Array | Finish::Mode => {
                let item = element_type(&first.ty).clone();
                let (name, body, returns) = of_array(finish, item);
                Ok(self.gathered(name, body, first, returns))
            }
            Finish::Interval { is_average } => {
                let mut parts = vec![first];
                parts.extend(results);
                self.interval_of(parts, *is_average)
            }
            Finish::Items(function) => self.resolve_function(function, vec![first]),
            Finish::Json(ty) => {
                let list = if *ty == SqlType::Json {
                    "json_list_of"
                } else {
                    "jsonb_list_of"
                };
                self.resolve_function(list, vec![first])
            }
        }
    }

    /// What an array of texts, or of bytes, makes with its separator, or with one a row.
    fn joined_items(&self, items: Bound, separators: Bound, by_row: bool) -> Bound {
        let returns = element_type(&items.ty).clone();
        let body = match (&returns, by_row) {
            (SqlType::Bytea, false) => functions::JOIN_BYTES,
            (SqlType::Bytea, true) => functions::JOIN_BYTES_BY_ROW,
            (_, false) => functions::JOIN_TEXTS,
            (_, true) => functions::JOIN_TEXTS_BY_ROW,
        };
        let definition = ("string_agg", body, by_row, Volatility::Immutable);
        let arguments = vec![(items.expr, items.ty), (separators.expr, separators.ty)];
        let call = tree::call(definition, arguments, returns.clone(), &self.settings);
        Bound::new(call, returns)
    }

    /// The interval of sums of months, days and microseconds, and of a count that divides it.
    fn interval_of(&mut self, parts: Vec<Bound>, is_average: bool) -> Result<Bound> {
        let function = match is_average {
            true => "interval_average_of_parts",
            false => "interval_of_parts",
        };
        self.resolve_function(function, parts)
    }

    /// A function of the gathered values, or of what else an accumulator gave.
    pub(super) fn gathered(
        &self,
        name: &str,
        body: functions::Body,
        array: Bound,
        returns: SqlType,
    ) -> Bound {
        let definition = (name, body, true, Volatility::Immutable);
        let arguments = vec![(array.expr, array.ty)];
        let call = tree::call(definition, arguments, returns.clone(), &self.settings);
        Bound::new(call, returns)
    }
}

/// The function that makes a result of an array of items, its name and the type of what it gives.
fn of_array(finish: &Finish, item: SqlType) -> (&'static str, functions::Body, SqlType) {
    match finish {
        Finish::Extreme(extreme) => {
            let (name, body) = extreme.definition();
            (name, body, item)
        }
        Finish::Intervals { is_average: true } => (
            "interval_average",
            functions::INTERVAL_AVERAGE,
            SqlType::Interval(None),
        ),
        Finish::Intervals { is_average: false } => {
            ("interval_sum", functions::INTERVAL_SUM, SqlType::Interval(None))
        }
        Finish::Array => ("array_agg", functions::GATHERED, SqlType::array(item)),
        _ => ("mode", functions::MODE, item),
    }
}
