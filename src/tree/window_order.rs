//! Calls over windows by the order that they need: those of one order are computed together, and an order that another begins with
//! comes above that one.

use std::cmp::Ordering;

use super::expr::{Expr, OrderKey};
use super::row_schema::RowSchema;

/// The keys of a window, and of each whether it parts.
type NeededOrder = Vec<(OrderKey, bool)>;

/// The calls of one order each, the order that is made first first.
pub(super) fn by_order(calls: Vec<Expr>, schema: &RowSchema) -> Vec<Vec<Expr>> {
    let mut groups: Vec<(NeededOrder, Vec<Expr>)> = Vec::new();
    for call in calls {
        let order = needed_order(&call);
        match groups.iter_mut().find(|(known, _)| *known == order) {
            Some((_, calls)) => calls.push(call),
            None => groups.push((order, vec![call])),
        }
    }
    groups.sort_by(|(one, _), (other, _)| {
        let mut pairs = one.iter().zip(other);
        let differ = pairs.find_map(|((one, _), (other, _))| {
            Some(compare(one, other, schema)).filter(|ordering| ordering.is_ne())
        });
        differ.unwrap_or_else(|| other.len().cmp(&one.len()))
    });
    groups.into_iter().map(|(_, calls)| calls).collect()
}

/// The keys of a window, and of each whether it parts.
fn needed_order(call: &Expr) -> NeededOrder {
    let Expr::WindowFunction(call) = call else {
        return Vec::new();
    };
    let params = &call.params;
    let mut keys = NeededOrder::new();
    for part in &params.partition_by {
        let ordered = params.order_by.iter().find(|key| key.expr == *part);
        let key = ordered.cloned().unwrap_or_else(|| part.clone().sort(true, false));
        if !keys.iter().any(|(known, _)| *known == key) {
            keys.push((key, true));
        }
    }
    for key in &params.order_by {
        if !keys.iter().any(|(known, _)| known == key) {
            keys.push((key.clone(), false));
        }
    }
    keys
}

fn compare(one: &OrderKey, other: &OrderKey, schema: &RowSchema) -> Ordering {
    let places = |key: &OrderKey| {
        let mut places = Vec::new();
        key.expr
            .each_column(&mut |column| places.extend(schema.maybe_index_of_column(column)));
        places
    };
    let (one_places, other_places) = (places(one), places(other));
    let mut pairs = one_places.iter().zip(&other_places);
    let differ = pairs.find_map(|(one, other)| Some(one.cmp(other)).filter(|ordering| ordering.is_ne()));
    differ
        .unwrap_or_else(|| other_places.len().cmp(&one_places.len()))
        .then(one.asc.cmp(&other.asc))
        .then(other.nulls_first.cmp(&one.nulls_first))
}
