//! Calls of what stands behind PostgreSQL's operators by its own name: `int4pl(1, 2)`, `texteq(a, b)`, `int4larger(a, b)`. They become the
//! operators, and GREATEST, LEAST and comparisons. Called by `function_call` where no function has the name; which names there are
//! the catalog's rows tell.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::binder::{Binder, Bound};
use super::coercion::{self, CastContext};
use super::undefined_function::no_function;
use crate::Result;
use crate::system::catalog_version::definitions::{definition, static_cells};
use crate::tree::{Case, Expr, Operator};
use crate::types::{SqlType, Value};

/// What a function of the catalog does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Meaning {
    /// What the operator of this symbol does.
    Operator(String),
    /// The greater of two, or the smaller.
    Extreme(&'static str),
    /// -1, 0 or 1, as the first is smaller, equal or greater.
    Order,
}

/// A function of the catalog that has no registration of its own.
#[derive(Debug, Clone)]
struct CatalogFunction {
    meaning: Meaning,
    /// The types of its arguments; `None` for one of any type.
    takes: Vec<Option<SqlType>>,
}

/// By their names.
static FUNCTIONS: LazyLock<HashMap<String, Vec<CatalogFunction>>> = LazyLock::new(read);

impl Binder<'_> {
    /// The call of such a function. `None`: none has the name. Errors: 42883 for other arguments, those of the operator.
    pub(super) fn operator_call(&mut self, name: &str, arguments: &[Bound]) -> Result<Option<Bound>> {
        let Some(functions) = FUNCTIONS.get(name) else {
            return Ok(None);
        };
        let types: Vec<SqlType> = arguments.iter().map(|argument| argument.ty.clone()).collect();
        let fits = |function: &&CatalogFunction| {
            function.takes.len() == types.len()
                && function.takes.iter().zip(&types).all(|(wanted, given)| {
                    wanted
                        .as_ref()
                        .is_none_or(|wanted| coercion::implicit(given, wanted))
                })
        };
        let Some(function) = functions.iter().find(fits) else {
            return Err(no_function(name, &types, false));
        };
        let mut operands = Vec::with_capacity(arguments.len());
        for (argument, wanted) in arguments.iter().zip(&function.takes) {
            operands.push(match wanted {
                Some(wanted) => self.convert(argument.clone(), wanted, CastContext::Implicit)?,
                None => argument.clone(),
            });
        }
        match (&function.meaning, <[Bound; 2]>::try_from(operands)) {
            (Meaning::Operator(symbol), Ok([left, right])) => self.operator(symbol, left, right).map(Some),
            (Meaning::Extreme(name), Ok(both)) => self.extreme_of_two(name, both).map(Some),
            (Meaning::Order, Ok(both)) => self.order_of_two(both).map(Some),
            (Meaning::Operator(symbol), Err(mut operand)) => match (symbol.as_str(), operand.pop()) {
                ("-", Some(operand)) => self.negate(operand).map(Some),
                ("@", Some(operand)) => self.unary_function("abs", operand).map(Some),
                ("|/", Some(operand)) => self.unary_function("sqrt", operand).map(Some),
                ("||/", Some(operand)) => self.unary_function("cbrt", operand).map(Some),
                (symbol, Some(operand)) => self.unary_function(symbol, operand).map(Some),
                (_, None) => Ok(None),
            },
            (_, Err(_)) => Ok(None),
        }
    }

    /// The greater or the smaller of two values; NULL where one is.
    fn extreme_of_two(&mut self, name: &str, [left, right]: [Bound; 2]) -> Result<Bound> {
        let ty = left.ty.clone();
        let op = match name {
            "greatest" => Operator::GtEq,
            _ => Operator::LtEq,
        };
        let chosen = self.both_once([left, right], |binder, [left, right]| {
            let first_is_it = binder.compare(op, left.clone(), right.clone())?.expr;
            let second_is_it = Expr::Not(Box::new(first_is_it.clone()));
            let branches = vec![
                (Box::new(first_is_it), Box::new(left.expr)),
                (Box::new(second_is_it), Box::new(right.expr)),
            ];
            Ok(Expr::Case(Case::new(None, branches, None)))
        });
        Ok(Bound::new(chosen?, ty))
    }

    /// How two values stand in their order; NULL where one is.
    fn order_of_two(&mut self, both: [Bound; 2]) -> Result<Bound> {
        let order = self.both_once(both, |binder, [left, right]| {
            let mut branches = Vec::new();
            for (op, order) in [(Operator::Lt, -1), (Operator::Gt, 1), (Operator::Eq, 0)] {
                let test = binder.compare(op, left.clone(), right.clone())?;
                let order = Bound::constant(&Value::Int(order), SqlType::Int4)?;
                branches.push((Box::new(test.expr), Box::new(order.expr)));
            }
            Ok(Expr::Case(Case::new(None, branches, None)))
        });
        Ok(Bound::new(order?, SqlType::Int4))
    }
}

/// What the catalog's rows tell of the functions behind operators, of comparisons, and of those that choose one of two.
fn read() -> HashMap<String, Vec<CatalogFunction>> {
    let mut known: HashMap<String, Vec<CatalogFunction>> = HashMap::new();
    let (Some(functions), Some(operators)) = (
        definition("pg_catalog", "pg_proc"),
        definition("pg_catalog", "pg_operator"),
    ) else {
        return known;
    };
    let mut symbols = HashMap::new();
    for row in static_cells("pg_catalog", "pg_operator") {
        let cell = |column: &str| row.get(operators.position(column)).cloned().flatten();
        if let (Some(code), Some(symbol)) = (cell("oprcode"), cell("oprname")) {
            symbols.entry(code).or_insert(symbol);
        }
    }
    for row in static_cells("pg_catalog", "pg_proc") {
        let cell = |column: &str| row.get(functions.position(column)).cloned().flatten();
        let (Some(oid), Some(name), Some(types)) = (cell("oid"), cell("proname"), cell("proargtypes")) else {
            continue;
        };
        let Some(takes) = argument_types(&types) else {
            continue;
        };
        if let Some(meaning) = meaning_of(&name, symbols.get(&oid), takes.len()) {
            known
                .entry(name)
                .or_default()
                .push(CatalogFunction { meaning, takes });
        }
    }
    known
}

fn meaning_of(name: &str, symbol: Option<&String>, arguments: usize) -> Option<Meaning> {
    match symbol {
        Some(symbol) => Some(Meaning::Operator(symbol.clone())),
        None if arguments != 2 => None,
        None if name.ends_with("larger") => Some(Meaning::Extreme("greatest")),
        None if name.ends_with("smaller") => Some(Meaning::Extreme("least")),
        None if name.ends_with("cmp") => Some(Meaning::Order),
        None => None,
    }
}

/// The types of these oids, of which polymorphic ones are any; `None`: one is of a type that there is none of.
fn argument_types(oids: &str) -> Option<Vec<Option<SqlType>>> {
    let oids = oids.split_whitespace().map(|oid| oid.parse::<u32>().ok());
    oids.map(|oid| match oid? {
        oid if POLYMORPHIC.contains(&oid) => Some(None),
        oid => SqlType::from_oid(oid, -1).map(Some),
    })
    .collect()
}

/// record, anyarray, anyelement, anynonarray, anyenum, anyrange, anymultirange, anycompatible, anycompatiblearray.
const POLYMORPHIC: [u32; 9] = [2249, 2277, 2283, 2776, 3500, 3831, 4537, 5077, 5078];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalog_tells_what_functions_do() {
        let of = |name: &str| FUNCTIONS.get(name).map(|all| all[0].clone());
        let plus = of("int4pl").unwrap();
        assert_eq!(plus.meaning, Meaning::Operator("+".to_string()));
        assert_eq!(plus.takes, [Some(SqlType::Int4), Some(SqlType::Int4)]);
        assert_eq!(of("int4larger").unwrap().meaning, Meaning::Extreme("greatest"));
        assert_eq!(of("btint4cmp").unwrap().meaning, Meaning::Order);
        assert_eq!(of("int4um").unwrap().takes, [Some(SqlType::Int4)]);
        assert!(of("no_such_function").is_none());
    }
}
