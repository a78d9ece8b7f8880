//! Membership as `pg_get_expr` prints it: `= ANY (…)`, and IN as that. Called by `condition_text`.

use sqlparser::ast::{self, BinaryOperator as Op};

use super::coercion::{base, common_type};
use super::condition_text::Printer;
use super::printed::{Around, Printed, Shape, Side, taken};
use super::printed_conditions::{array_of, connected, symbol_of};
use crate::parse::walk::visit_expressions;
use crate::types::SqlType;

impl Printer<'_, '_> {
    /// `value = ANY (array)`, `value = ANY (query)`.
    pub(super) fn quantified(
        &mut self,
        left: &ast::Expr,
        (op, words): (&Op, &str),
        right: &ast::Expr,
    ) -> Printed {
        if let ast::Expr::Subquery(query) = right {
            return self.compared_with_rows(left, (&symbol_of(op), words), query);
        }
        let (left, right) = (self.print(left), self.print(right));
        member(left, (&symbol_of(op), words), right)
    }

    /// `value = ANY (ARRAY[…])` of the items that name no column, where these are several; the others are compared one by one.
    pub(super) fn in_list(&mut self, value: &ast::Expr, list: &[ast::Expr], not: bool) -> Printed {
        let (symbol, quantifier) = if not { ("<>", "ALL") } else { ("=", "ANY") };
        let (constants, mut others): (Vec<&ast::Expr>, Vec<&ast::Expr>) =
            list.iter().partition(|item| !names_column(item));
        // There is no array of arrays.
        let is_array = matches!(self.type_of(value), SqlType::Array(_));
        let mut printed = None;
        match !is_array && constants.len() > 1 {
            true => {
                let value = self.print(value);
                let items = constants.into_iter().map(|item| self.print(item)).collect();
                printed = Some(member(
                    value.clone(),
                    (symbol, quantifier),
                    items_beside(&value, items),
                ));
            }
            false => others = list.iter().collect(),
        }
        for item in others {
            let compared = self.infix(value, (symbol, symbol), item, Shape::Operator);
            printed = Some(match printed {
                Some(before) => connected(&[before, compared], not),
                None => compared,
            });
        }
        printed.unwrap_or_else(|| Printed::word("", SqlType::Unknown))
    }
}

/// An array's items in the one type that they have with the value beside which it stands.
fn items_beside(value: &Printed, items: Vec<Printed>) -> Printed {
    let all = std::iter::once(value).chain(&items);
    let types: Vec<SqlType> = all.map(Printed::given_type).collect();
    match common_type(&types) {
        Some(common) => {
            let common = base(&common);
            array_of(
                items.into_iter().map(|item| item.into_type(&common)).collect(),
                common,
            )
        }
        None => array_of(items, SqlType::Unknown),
    }
}

/// `value = ANY (array)`, both as the operator takes them.
fn member(value: Printed, (symbol, quantifier): (&str, &str), array: Printed) -> Printed {
    let item = array
        .given_type()
        .item_type()
        .cloned()
        .unwrap_or(SqlType::Unknown);
    let [ty, item] = taken(symbol, [value.given_type(), item]);
    let value = value.into_operand(&ty);
    let array = match item {
        SqlType::Unknown => array,
        item => array.into_operand(&SqlType::array(item)),
    };
    Printed::of(Shape::Member, SqlType::Bool, |text| {
        let value = text(&value, Around::Operator(Shape::Operator, Side::Left));
        let array = text(&array, Around::Operator(Shape::Operator, Side::Right));
        format!("{value} {symbol} {quantifier} ({array})")
    })
}

/// Whether a column is named in an expression.
fn names_column(expr: &ast::Expr) -> bool {
    let named = visit_expressions(expr, |part| match part {
        ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_) => std::ops::ControlFlow::Break(()),
        _ => std::ops::ControlFlow::Continue(()),
    });
    named.is_break()
}
