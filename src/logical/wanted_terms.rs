//! What a condition on a column asks of the terms of its values, for the inverted indexes that have these: beside the condition, which
//! says whether a row is wanted. Called by `filter_predicate`.

use arrow::datatypes::DataType;

use super::literal::literal;
use crate::catalog::{IndexDef, TableDef};
use crate::codec::key::check_key_type;
use crate::codec::terms::{TermClass, WantedTerms};
use crate::functions::ANY_EQUAL_NAME;
use crate::functions::cast::CAST_NAME;
use crate::functions::value_array::value_of_scalar;
use crate::plan::{CompareOp, Predicate};
use crate::tree::Expr;
use crate::types::{SqlType, Value, element_type, item_field};

/// What an array is asked of that has an item.
const HAS_ITEM: &str = "has";

fn is_readable(index: &IndexDef) -> bool {
    index.terms.is_some() && index.is_complete()
}

/// The condition, and what it asks of terms. `expr`: the condition as it stands in the plan.
pub(super) fn with_terms(condition: Predicate, expr: &Expr, table: &TableDef) -> Predicate {
    let asked = match &condition {
        Predicate::Opaque { .. } => of_call(expr, table),
        Predicate::Like {
            column,
            pattern: Value::Text(pattern),
            escape,
            case_insensitive,
        } => {
            let serves_alone = *case_insensitive || pattern.starts_with(['%', '_']);
            of_column(table, (*column, serves_alone), |class, _| {
                class.wanted_by_pattern(pattern, *escape)
            })
        }
        Predicate::Compare {
            column,
            op: CompareOp::Eq,
            value,
        } => of_column(table, (*column, false), |class, ty| class.wanted("=", value, ty)),
        Predicate::InList { column, values } => of_column(table, (*column, false), |class, ty| {
            WantedTerms::any(values.iter().map(|value| class.wanted("=", value, ty)))
        }),
        _ => Vec::new(),
    };
    match asked.is_empty() {
        true => condition,
        false => Predicate::all(asked.into_iter().chain([condition]).collect()),
    }
}

/// What `value symbol constant`, or the other way round, asks for.
fn of_call(expr: &Expr, table: &TableDef) -> Vec<Predicate> {
    let Expr::ScalarFunction(call) = expr else {
        return Vec::new();
    };
    let [one, other] = call.args.as_slice() else {
        return Vec::new();
    };
    let (value, symbol, constant) = match (call.name(), column_of(one, table), column_of(other, table)) {
        (symbol, Some(column), None) => (column, symbol, other),
        (ANY_EQUAL_NAME, None, Some(column)) => (column, HAS_ITEM, one),
        (symbol, None, Some(column)) => match turned(symbol) {
            Some(symbol) => (column, symbol, one),
            None => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    let Some(constant) = literal(constant) else {
        return Vec::new();
    };
    of_column(table, (value, true), |class, ty| {
        let of =
            constant_type(class, symbol, ty).filter(|of| carries(&constant.data_type(), &of.arrow_type()));
        let constant = of.and_then(|of| value_of_scalar(constant, &of).ok());
        constant.map_or_else(WantedTerms::default, |constant| {
            class.wanted(symbol, &constant, ty)
        })
    })
}

/// The symbol that says the same with its sides exchanged.
fn turned(symbol: &str) -> Option<&'static str> {
    match symbol {
        "@>" => Some("<@"),
        "<@" => Some("@>"),
        "&&" => Some("&&"),
        "@@" => Some("@@"),
        _ => None,
    }
}

/// The type of the constant behind a symbol, beside a value of a type.
fn constant_type(class: TermClass, symbol: &str, ty: &SqlType) -> Option<SqlType> {
    match (class, symbol) {
        (TermClass::Items, HAS_ITEM) => Some(element_type(ty).clone()),
        (TermClass::Items, _) => Some(ty.clone()),
        (TermClass::Json | TermClass::JsonPaths, "@>") => Some(SqlType::Jsonb),
        (TermClass::Json, "?") => Some(SqlType::Text),
        (TermClass::Json, "?|" | "?&") => Some(SqlType::array(SqlType::Text)),
        (TermClass::Words, "@@") => Some(SqlType::TsQuery),
        _ => None,
    }
}

/// Position in `TableDef::columns` of a column, perhaps under a cast that changes nothing of it.
fn column_of(expr: &Expr, table: &TableDef) -> Option<usize> {
    match expr {
        Expr::Alias(alias) => column_of(&alias.expr, table),
        Expr::Column(column) => table.whole_column_index(&column.name),
        Expr::Cast(cast) => {
            column_of(&cast.expr, table).filter(|at| table.columns[*at].ty.arrow_type() == cast.ty)
        }
        Expr::ScalarFunction(call) if call.name() == CAST_NAME => {
            let at = column_of(call.args.first()?, table)?;
            let is_alike = matches!(
                (table.columns[at].ty.innermost(), call.func.returns().innermost()),
                (
                    SqlType::Text | SqlType::Varchar(_),
                    SqlType::Text | SqlType::Varchar(None)
                )
            );
            is_alike.then_some(at)
        }
        _ => None,
    }
}

/// Whether values of an Arrow type are those of another, whatever the items of lists are called.
fn carries(one: &DataType, other: &DataType) -> bool {
    match (one, other) {
        (DataType::List(one), DataType::List(other)) => carries(one.data_type(), other.data_type()),
        (DataType::Struct(_), DataType::Struct(_)) => match (item_field(one), item_field(other)) {
            (Some(one), Some(other)) => carries(one.data_type(), other.data_type()),
            _ => one == other,
        },
        (one, other) => one == other,
    }
}

/// How an index that a column lacks would take its values apart.
fn class_to_make(ty: &SqlType) -> Option<TermClass> {
    match ty {
        SqlType::Array(_) if check_key_type(ty.innermost(), "").is_err() => None,
        SqlType::Text | SqlType::Varchar(_) => Some(TermClass::Trigrams),
        ty => TermClass::own(ty),
    }
}

/// What is asked of each index that has the terms of a column; where there is none and nothing else would serve, which would.
fn of_column(
    table: &TableDef,
    (column, serves_alone): (usize, bool),
    wanted: impl Fn(TermClass, &SqlType) -> WantedTerms,
) -> Vec<Predicate> {
    let position = column;
    let column = &table.columns[position];
    let mut asked = Vec::new();
    for index in table.indexes.iter().filter(|index| is_readable(index)) {
        let sources = index.term_sources().enumerate();
        for (place, source) in sources.filter(|(_, source)| source.column == column.id) {
            let wanted = wanted(source.class, &column.ty);
            asked.extend(wanted.sets().iter().map(|any| Predicate::HasTerm {
                index: index.id,
                source: place,
                any: any.clone(),
            }));
        }
    }
    if asked.is_empty()
        && serves_alone
        && let Some(class) = class_to_make(&column.ty).filter(|_| !column.hidden)
        && !wanted(class, &column.ty).sets().is_empty()
    {
        asked.push(Predicate::WouldHaveTerms {
            column: position,
            class,
        });
    }
    asked
}
