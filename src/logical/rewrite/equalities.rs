//! Equalities of one column under an OR: the values that it is asked for as one list.

use std::collections::HashMap;

use super::operands::said_once;
use crate::tree::{BinaryExpr, Column, Expr, InList, Operator};

/// A list of a column with no more values than this is written as equalities.
pub(super) const SHORT_MAX: usize = 3;

/// The sides of an OR, with those that ask one column for values as one list, where the first of them stood, if it is a long one.
pub(super) fn merged_equalities(sides: Vec<Expr>) -> Vec<Expr> {
    if sides.len() <= SHORT_MAX && !sides.iter().any(|side| matches!(side, Expr::InList(_))) {
        return sides;
    }
    let mut asked: HashMap<&Column, usize> = HashMap::new();
    for (column, values) in sides.iter().filter_map(column_values) {
        *asked.entry(column).or_default() += values.len();
    }
    let long: Vec<Column> = asked
        .into_iter()
        .filter(|(_, values)| *values > SHORT_MAX)
        .map(|(column, _)| column.clone())
        .collect();
    if long.is_empty() {
        return sides;
    }
    let (mut merged, mut places): (Vec<Expr>, HashMap<Column, usize>) = (Vec::new(), HashMap::new());
    let mut lists: Vec<(usize, Vec<Expr>)> = Vec::new();
    for side in sides {
        let asked = column_values(&side).filter(|(column, _)| long.contains(column));
        let Some((column, values)) = asked else {
            merged.push(side);
            continue;
        };
        let values = values.into_iter().cloned();
        match places.get(column) {
            Some(at) => lists[*at].1.extend(values),
            None => {
                places.insert(column.clone(), lists.len());
                lists.push((merged.len(), values.collect()));
                merged.push(Expr::Column(column.clone()));
            }
        }
    }
    for (place, values) in lists {
        let column = std::mem::take(&mut merged[place]);
        merged[place] = Expr::InList(InList::new(Box::new(column), said_once(values), false));
    }
    merged
}

/// The column and the constants of `column = constant` or `column IN (constants)`.
fn column_values(side: &Expr) -> Option<(&Column, Vec<&Expr>)> {
    let is_constant = |value: &&Expr| matches!(value, Expr::Literal(..));
    match side {
        Expr::InList(list) if !list.negated => {
            let values: Vec<&Expr> = list.list.iter().collect();
            match list.expr.as_ref() {
                Expr::Column(column) if values.iter().all(is_constant) => Some((column, values)),
                _ => None,
            }
        }
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Eq,
            right,
        }) => match (left.as_ref(), right.as_ref()) {
            (Expr::Column(column), value @ Expr::Literal(..))
            | (value @ Expr::Literal(..), Expr::Column(column)) => Some((column, vec![value])),
            _ => None,
        },
        _ => None,
    }
}
