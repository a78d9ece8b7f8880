//! What PostgreSQL's operators take: the catalog's rows, and the choice among those of one symbol. Printed definitions ask, in which the
//! operands stand as the operator takes them.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::coercion::{base, common_type};
use super::overload::{Takes, choose};
use crate::catalog::Casts;
use crate::functions::T;
use crate::system::catalog_version::definitions::{definition, static_cells};
use crate::types::SqlType;

/// An operand as `pg_operator` declares it.
#[derive(Debug, Clone)]
enum Operand {
    Of(SqlType),
    /// A type that the operands decide.
    Any(T),
}

impl Takes for Operand {
    fn sql_type(&self) -> Option<SqlType> {
        match self {
            Operand::Of(ty) => Some(ty.clone()),
            Operand::Any(_) => None,
        }
    }

    fn polymorphic(&self) -> T {
        match self {
            Operand::Of(_) => T::Any,
            Operand::Any(any) => *any,
        }
    }
}

/// The operators by their symbols, each with its operands.
static OPERATORS: LazyLock<HashMap<String, Vec<Vec<Operand>>>> = LazyLock::new(read);

/// What an operator takes of operands of these types, `Unknown` that of a literal without one. `None`: the catalog has no such operator,
/// or none of several that is better than the others.
pub(super) fn operand_types(symbol: &str, given: &[SqlType]) -> Option<Vec<SqlType>> {
    let known = OPERATORS.get(symbol)?;
    let given: Vec<SqlType> = given.iter().map(base).collect();
    // Text in any case has operators of its own.
    if given.contains(&SqlType::Citext) {
        return None;
    }
    // A literal is first taken for what stands beside it.
    let alike = match given.as_slice() {
        [SqlType::Unknown, other] | [other, SqlType::Unknown] => vec![other.clone(), other.clone()],
        given => given.to_vec(),
    };
    let is_exact = |operands: &&Vec<Operand>| {
        let mut pairs = operands.iter().zip(&alike);
        operands.len() == alike.len()
            && pairs.all(|(operand, ty)| matches!(operand, Operand::Of(of) if of == ty))
    };
    if let Some(exact) = known.iter().find(is_exact) {
        return concrete(exact, &given);
    }
    let candidates = known.iter().filter(|operands| operands.len() == given.len());
    let candidates = candidates.map(|operands| (operands, operands.clone()));
    match choose(candidates.collect(), &given, &Casts::default()).as_slice() {
        [(only, _)] => concrete(only, &given),
        _ => None,
    }
}

/// The types of the operands of a chosen operator. `None`: what it takes is not decided.
fn concrete(operands: &[Operand], given: &[SqlType]) -> Option<Vec<SqlType>> {
    let pairs = || operands.iter().zip(given);
    let elements: Vec<SqlType> = pairs().filter_map(|(operand, ty)| element(operand, ty)).collect();
    let same = |any: T| {
        let mut alike =
            pairs().filter(|(operand, ty)| operand.polymorphic() == any && **ty != SqlType::Unknown);
        alike.next().map(|(_, ty)| ty.clone())
    };
    let of = |operand: &Operand| match operand {
        Operand::Of(taken) => Some(taken.clone()),
        Operand::Any(T::AnyArray) => Some(SqlType::array(common_type(&elements)?)),
        Operand::Any(T::AnyElement) => range_bound(given).or_else(|| common_type(&elements)),
        Operand::Any(any) => same(*any),
    };
    operands.iter().map(of).collect()
}

/// What an operand says of the type that all elements have.
fn element(operand: &Operand, ty: &SqlType) -> Option<SqlType> {
    match (operand, ty) {
        (_, SqlType::Unknown) => None,
        (Operand::Any(T::AnyArray), array) => array.item_type().cloned(),
        (Operand::Any(T::AnyElement), ty) => Some(ty.clone()),
        _ => None,
    }
}

/// The type of the bounds of a range among the operands.
fn range_bound(given: &[SqlType]) -> Option<SqlType> {
    given.iter().find_map(|ty| match ty {
        SqlType::Range(kind) | SqlType::Multirange(kind) => Some(kind.bound_type()),
        _ => None,
    })
}

fn read() -> HashMap<String, Vec<Vec<Operand>>> {
    let mut known: HashMap<String, Vec<Vec<Operand>>> = HashMap::new();
    let Some(operators) = definition("pg_catalog", "pg_operator") else {
        return known;
    };
    for row in static_cells("pg_catalog", "pg_operator") {
        let cell = |column: &str| row.get(operators.position(column)).cloned().flatten();
        let oid = |column: &str| cell(column).and_then(|oid| oid.parse::<u32>().ok());
        let operands = [oid("oprleft"), oid("oprright")]
            .into_iter()
            .flatten()
            .filter(|oid| *oid != 0);
        if let (Some(symbol), Some(operands)) = (cell("oprname"), operands.map(declared).collect()) {
            known.entry(symbol).or_default().push(operands);
        }
    }
    known
}

/// An operand of the type of an oid. `None`: there is no such type here.
fn declared(oid: u32) -> Option<Operand> {
    let any = match oid {
        2249 => T::AnyRecord,
        2277 | 5078 => T::AnyArray,
        2283 | 2776 | 5077 | 5079 => T::AnyElement,
        3500 => T::AnyEnum,
        3831 => T::AnyRange,
        4537 => T::AnyMultirange,
        oid => return SqlType::from_oid(oid, -1).map(Operand::Of),
    };
    Some(Operand::Any(any))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn takes(left: SqlType, symbol: &str, right: SqlType, taken: [SqlType; 2]) {
        let given = [left, right];
        assert_eq!(
            operand_types(symbol, &given),
            Some(taken.to_vec()),
            "{given:?} {symbol}"
        );
    }

    #[test]
    fn operands_become_what_postgresql_makes_of_them() {
        use SqlType::{
            Char, Float8, Int2, Int4, Int8, Interval, Jsonb, Numeric, Text, Timestamp, Unknown, Varchar,
        };
        let array = SqlType::array;
        takes(Int4, "=", Int8, [Int4, Int8]);
        takes(Int4, "=", Numeric(None), [Numeric(None), Numeric(None)]);
        takes(Int2, "%", Int8, [Int8, Int8]);
        takes(Varchar(None), "=", Unknown, [Text, Text]);
        takes(Char(None), "=", Unknown, [Char(None), Char(None)]);
        takes(Char(None), "=", Text, [Text, Text]);
        takes(Char(None), "||", Int4, [Text, Int4]);
        takes(Interval(None), "*", Int4, [Interval(None), Float8]);
        takes(Timestamp(None), "+", Unknown, [Timestamp(None), Interval(None)]);
        takes(Jsonb, "->", Unknown, [Jsonb, Text]);
        takes(array(Int4), "||", Int2, [array(Int4), Int4]);
        takes(array(Int4), "||", Int8, [array(Int8), Int8]);
        takes(array(Int4), "&&", Unknown, [array(Int4), array(Int4)]);
        assert_eq!(operand_types("no", &[Int4, Int4]), None);
        assert_eq!(operand_types("|/", &[Int4]), Some(vec![Float8]));
    }
}
