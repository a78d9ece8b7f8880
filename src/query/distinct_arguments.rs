//! DISTINCT inside an aggregate's parentheses. Where the arguments are gathered in arrays, these are sorted by all of the arguments, and of
//! equal rows the first is kept: two arguments are told apart together, as PostgreSQL does. What else there is, counts and sums, leaves it
//! to its operator.

use super::accumulation::{Accumulation, Finish};
use super::binder::{Binder, Bound, fault};
use super::same_rows::refuse_unequal;
use crate::error::StatementFault;
use crate::functions::{self, Volatility};
use crate::tree::{self, Accumulator, Expr, OrderKey};
use crate::types::SqlType;
use crate::{Error, Result};

/// Which of the arguments of an aggregate with DISTINCT each key of its ORDER BY is; `types`: of the keys. Errors: 42P10 for a key that is
/// none, 42883 for arguments that cannot be compared.
pub(super) fn places_in_arguments(
    arguments: &[Bound],
    order_by: &[OrderKey],
    types: &[SqlType],
) -> Result<Vec<usize>> {
    arguments.iter().try_for_each(|own| refuse_unequal(&own.ty))?;
    // A cast that is written makes another value of what it changes nothing of.
    let place = |(key, ty): (&OrderKey, &SqlType)| {
        let is_it = |own: &Bound| own.expr == key.expr && own.ty == *ty;
        arguments.iter().position(is_it)
    };
    let places: Option<Vec<usize>> = order_by.iter().zip(types).map(place).collect();
    places.ok_or_else(|| {
        let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
        fault(StatementFault::InvalidColumnReference, message)
    })
}

impl Binder<'_> {
    /// The accumulators of an aggregate with DISTINCT, whether the operator is to tell what is distinct, and the order. `places`: which
    /// argument each key of the order is.
    pub(super) fn distinct_accumulation(
        &mut self,
        mut accumulation: Accumulation,
        order_by: Vec<OrderKey>,
        places: &[usize],
    ) -> Result<(Accumulation, bool, Vec<OrderKey>)> {
        let Some(gathered) = gathered_arguments(&accumulation) else {
            return Ok((accumulation, true, order_by));
        };
        let (mut keys, mut sorted) = (Vec::new(), Vec::new());
        let given = order_by.into_iter().zip(places.iter().copied());
        // To find what is distinct, PostgreSQL sorts by the others, too.
        let others =
            (0..gathered.len()).map(|at| (OrderKey::new(gathered[at].expr.clone(), true, false), at));
        for (key, at) in given.chain(others) {
            if at < gathered.len() && !sorted.contains(&at) {
                sorted.push(at);
                let expr = gathered[at].expr.clone();
                keys.push(OrderKey { expr, ..key });
            }
        }
        let is_plain = |only: &Bound| functions::order_function(&only.ty).is_none();
        if matches!(gathered.as_slice(), [only] if is_plain(only)) {
            return Ok((accumulation, true, keys));
        }
        // Equal values may differ, so that of each run of equal ones the first is kept.
        for (key, at) in keys.iter_mut().zip(sorted) {
            key.expr = self.order_key(gathered[at].clone())?;
        }
        accumulation.finish = Finish::Unrepeated(Box::new(accumulation.finish));
        Ok((accumulation, false, keys))
    }

    /// Sorted arrays, without the rows that equal the one before.
    pub(super) fn unrepeated(&self, arrays: Vec<Bound>) -> Result<Vec<Bound>> {
        let without_repeats = |at: usize| {
            let mut ordered = arrays.clone();
            ordered.swap(0, at);
            let returns = ordered
                .first()
                .map(|array| array.ty.clone())
                .ok_or_else(|| Error::internal("no array of an aggregate"))?;
            let arguments = ordered.into_iter().map(|array| (array.expr, array.ty));
            let definition = ("unrepeated", functions::UNREPEATED, true, Volatility::Immutable);
            let call = tree::call(definition, arguments.collect(), returns.clone(), &self.settings);
            Ok(Bound::new(call, returns))
        };
        (0..arrays.len()).map(without_repeats).collect()
    }
}

/// What is gathered, where all accumulators make arrays.
fn gathered_arguments(accumulation: &Accumulation) -> Option<Vec<Bound>> {
    let argument = |call: &(Accumulator, Vec<Expr>, SqlType)| match call {
        (Accumulator::Array, arguments, SqlType::Array(item)) => {
            let argument = arguments.first()?;
            Some(Bound::new(argument.clone(), SqlType::clone(item)))
        }
        _ => None,
    };
    accumulation.calls.iter().map(argument).collect()
}
