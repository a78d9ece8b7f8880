//! Conditions: tests for NULL and truth, BETWEEN, IN lists, comparisons of rows, LIKE and SIMILAR TO.

use sqlparser::ast;

use super::binder::{Binder, Bound, Place, fault};
use super::coercion::{CastContext, common_type, null_of};
use super::expression::{query_of, row_items};
use super::operator::{binary, comparison_symbol, no_operator};
use crate::error::StatementFault;
use crate::functions::pattern::invalid_escape;
use crate::tree::{Expr, InList, Like, Operator, TruthTest};
use crate::types::SqlType;
use crate::{Error, Result};

impl Binder<'_> {
    /// `(start, end) OVERLAPS (start, end)`; an end may be an interval behind the start.
    pub(super) fn overlaps(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        place: Place<'_>,
    ) -> Result<Bound> {
        let mut ends = Vec::with_capacity(4);
        for (side, expr) in [("left", left), ("right", right)] {
            let Some([start, end]) = row_items(expr)
                .as_deref()
                .and_then(|items| <[_; 2]>::try_from(items).ok())
            else {
                return Err(fault(
                    StatementFault::Syntax,
                    format!("wrong number of parameters on {side} side of OVERLAPS expression"),
                ));
            };
            ends.extend([self.expression(start, place)?, self.expression(end, place)?]);
        }
        let ends = self.ends_of_periods(ends)?;
        self.resolve_function("overlaps", ends)
    }

    /// Starts and ends in turn, where an interval is an end so far behind its start.
    pub(super) fn ends_of_periods(&mut self, ends: Vec<Bound>) -> Result<Vec<Bound>> {
        let mut moments: Vec<Bound> = Vec::with_capacity(ends.len());
        for (place, end) in ends.into_iter().enumerate() {
            let start = moments.last().filter(|_| place % 2 == 1).cloned();
            moments.push(match (start, &end.ty) {
                (Some(start), SqlType::Interval(_)) => self.operator("+", start, end)?,
                _ => end,
            });
        }
        Ok(moments)
    }

    pub(super) fn null_test(&mut self, expr: &ast::Expr, place: Place<'_>) -> Result<Bound> {
        let (operand, negated) = match expr {
            ast::Expr::IsNotNull(operand) => (operand, true),
            ast::Expr::IsNull(operand) => (operand, false),
            _ => return Err(Error::internal("no test for NULL")),
        };
        if let Some(items) = row_items(operand) {
            // A row IS NULL when all its fields are, IS NOT NULL when none is.
            let mut test: Option<Expr> = None;
            for item in items {
                let item = self.expression(item, place)?;
                let one = is_null(self.with_decided_type(item)?.expr, negated);
                test = Some(match test {
                    Some(before) => binary(before, Operator::And, one),
                    None => one,
                });
            }
            let test = test.ok_or_else(|| Error::unsupported("an empty row", None))?;
            return Ok(Bound::new(test, SqlType::Bool));
        }
        let operand = self.expression(operand, place)?;
        let operand = self.with_decided_type(operand)?;
        if let SqlType::Record(_) = operand.ty {
            return self.row_null_test(operand, negated);
        }
        Ok(Bound::new(is_null(operand.expr, negated), SqlType::Bool))
    }

    pub(super) fn truth_test(&mut self, expr: &ast::Expr, place: Place<'_>) -> Result<Bound> {
        use ast::Expr as E;
        let (operand, truth, negated) = match expr {
            E::IsTrue(operand) => (operand, Some(true), false),
            E::IsNotTrue(operand) => (operand, Some(true), true),
            E::IsFalse(operand) => (operand, Some(false), false),
            E::IsNotFalse(operand) => (operand, Some(false), true),
            E::IsUnknown(operand) => (operand, None, false),
            E::IsNotUnknown(operand) => (operand, None, true),
            _ => return Err(Error::internal("no test for truth")),
        };
        let operand = self.expression(operand, place)?;
        let operand = self.coerce_boolean(operand, TruthTest::words_of(truth, negated))?;
        Ok(Bound::new(operand.truth_test(truth, negated), SqlType::Bool))
    }

    pub(super) fn distinct_from(
        &mut self,
        op: Operator,
        left: &ast::Expr,
        right: &ast::Expr,
        place: Place<'_>,
    ) -> Result<Bound> {
        if let (Some(a), Some(b)) = (row_items(left), row_items(right)) {
            let mut test: Option<Expr> = None;
            let joint = if op == Operator::IsDistinctFrom {
                Operator::Or
            } else {
                Operator::And
            };
            for (a, b) in a.iter().zip(b) {
                let one = self.distinct_from(op, a, b, place)?.expr;
                test = Some(match test {
                    Some(before) => binary(before, joint, one),
                    None => one,
                });
            }
            return Ok(Bound::new(
                test.ok_or_else(|| Error::unsupported("an empty row", None))?,
                SqlType::Bool,
            ));
        }
        let (left, right) = (self.expression(left, place)?, self.expression(right, place)?);
        let (left, right) = self.comparable("=", left, right)?;
        Ok(Bound::new(binary(left, op, right), SqlType::Bool))
    }

    pub(super) fn between(
        &mut self,
        expr: &ast::Expr,
        negated: bool,
        low: &ast::Expr,
        high: &ast::Expr,
        place: Place<'_>,
    ) -> Result<Bound> {
        if row_items(expr).is_some() {
            let first = self.row_comparison(Operator::GtEq, expr, low, place)?;
            let second = self.row_comparison(Operator::LtEq, expr, high, place)?;
            let within = binary(first.expr, Operator::And, second.expr);
            return Ok(Bound::new(
                if negated {
                    Expr::Not(Box::new(within))
                } else {
                    within
                },
                SqlType::Bool,
            ));
        }
        let operand = self.expression(expr, place)?;
        let within = self.long_once(operand, |binder, operand| {
            binder.within(operand, negated, (low, high), place)
        })?;
        Ok(Bound::new(within, SqlType::Bool))
    }

    /// BETWEEN, of a value that may stand in both comparisons.
    fn within(
        &mut self,
        operand: Bound,
        negated: bool,
        (low, high): (&ast::Expr, &ast::Expr),
        place: Place<'_>,
    ) -> Result<Expr> {
        let (first, second, joint) = if negated {
            (Operator::Lt, Operator::Gt, Operator::Or)
        } else {
            (Operator::GtEq, Operator::LtEq, Operator::And)
        };
        // One after the other, as the two comparisons that it stands for: in `k BETWEEN $1 AND $1 + 9` the first decides.
        let low = self.expression(low, place)?;
        let first = self.compare(first, operand.clone(), low)?;
        let high = self.expression(high, place)?;
        let operand = match &operand.expr {
            // It may have got its type by the first.
            Expr::Placeholder(placeholder) if operand.ty == SqlType::Unknown => {
                self.parameter(&placeholder.id.clone())?
            }
            _ => operand,
        };
        let second = self.compare(second, operand, high)?;
        Ok(binary(first.expr, joint, second.expr))
    }

    pub(super) fn in_list(
        &mut self,
        expr: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
        place: Place<'_>,
    ) -> Result<Bound> {
        if row_items(expr).is_some() {
            let mut test: Option<Expr> = None;
            for item in list {
                let one = self.row_comparison(Operator::Eq, expr, item, place)?.expr;
                test = Some(match test {
                    Some(before) => binary(before, Operator::Or, one),
                    None => one,
                });
            }
            let test = test.ok_or_else(|| Error::unsupported("an empty IN list", None))?;
            return Ok(Bound::new(
                if negated { Expr::Not(Box::new(test)) } else { test },
                SqlType::Bool,
            ));
        }
        let operand = self.expression(expr, place)?;
        let items = list
            .iter()
            .map(|item| self.expression(item, place))
            .collect::<Result<Vec<_>>>()?;
        self.in_items(operand, items, negated)
    }

    /// `operand [NOT] IN (items)`: one list of the constants that compare with the operand in one type, comparisons for
    /// the rest (a list that runs takes one NULL among computed items for a NULL in every row).
    pub(super) fn in_items(&mut self, operand: Bound, mut items: Vec<Bound>, negated: bool) -> Result<Bound> {
        let operand = self.operand_of_items(operand, &items)?;
        if let Some(common) = common_of_listed(&operand, &items) {
            for item in items.iter_mut().filter(|item| is_listed(&item.expr)) {
                *item = self.convert(item.clone(), &common, CastContext::Implicit)?;
            }
        }
        self.among(operand, items, negated)
    }

    /// An untyped operand takes the items' common type.
    fn operand_of_items(&mut self, operand: Bound, items: &[Bound]) -> Result<Bound> {
        match operand.ty {
            SqlType::Unknown | SqlType::Void => {
                let ty = self.common_type_of("IN", items)?;
                self.convert(operand, &ty, CastContext::Implicit)
            }
            _ => Ok(operand),
        }
    }

    /// `operand = ANY (array of items)`, or `operand <> ALL` of it: each item is compared as the operator has it for its own type.
    pub(super) fn among(&mut self, operand: Bound, items: Vec<Bound>, negated: bool) -> Result<Bound> {
        let operand = self.operand_of_items(operand, &items)?;
        let test = self.once(operand, |binder, operand| {
            binder.in_list_of(operand, items, negated)
        })?;
        Ok(Bound::new(test, SqlType::Bool))
    }

    fn in_list_of(&mut self, operand: Bound, items: Vec<Bound>, negated: bool) -> Result<Expr> {
        let mut listed = Vec::new();
        let mut listed_operand: Option<Expr> = None;
        let mut tests: Vec<Expr> = Vec::new();
        for item in items {
            let (left, right) = self.comparable("=", operand.clone(), item)?;
            let joins_list =
                is_constant(&right) && listed_operand.as_ref().is_none_or(|first| *first == left);
            if joins_list {
                listed_operand = Some(left);
                listed.push(right);
            } else {
                tests.push(binary(left, Operator::Eq, right));
            }
        }
        let list_negated = negated && tests.is_empty();
        let list =
            listed_operand.map(|operand| Expr::InList(InList::new(Box::new(operand), listed, list_negated)));
        let test = list
            .into_iter()
            .chain(tests)
            .reduce(|test, one| binary(test, Operator::Or, one))
            .ok_or_else(|| Error::unsupported("an empty IN list", None))?;
        Ok(match negated && !list_negated {
            true => Expr::Not(Box::new(test)),
            false => test,
        })
    }

    /// `(a, b) op x`, where x is a row as a value. Errors: 42883 for any other.
    fn row_with_value(
        &mut self,
        op: Operator,
        left: &ast::Expr,
        right: &ast::Expr,
        place: Place<'_>,
    ) -> Result<Bound> {
        if let (Some(items), Some(query)) = (row_items(left), query_of(right)) {
            let items = items.into_iter().map(|item| self.expression(item, place));
            let items = items.collect::<Result<Vec<_>>>()?;
            let row = self.row_of_query(query, items.len(), place)?;
            return self.compare_rows(op, items.into_iter().zip(row).collect());
        }
        let (left, right) = (self.expression(left, place)?, self.expression(right, place)?);
        match (&left.ty, &right.ty) {
            (SqlType::Record(_), SqlType::Record(_) | SqlType::Unknown)
            | (SqlType::Unknown, SqlType::Record(_)) => self.compare(op, left, right),
            _ => Err(no_operator(comparison_symbol(op), &left.ty, &right.ty)),
        }
    }

    /// `(a, b) op (x, y)`, expanded into comparisons of the fields.
    pub(super) fn row_comparison(
        &mut self,
        op: Operator,
        left: &ast::Expr,
        right: &ast::Expr,
        place: Place<'_>,
    ) -> Result<Bound> {
        let (Some(left), Some(right)) = (row_items(left), row_items(right)) else {
            return self.row_with_value(op, left, right, place);
        };
        if left.len() != right.len() {
            return Err(fault(
                StatementFault::Syntax,
                "unequal number of entries in row expressions",
            ));
        }
        let mut pairs = Vec::with_capacity(left.len());
        for (left, right) in left.iter().zip(right) {
            if row_items(left).is_some() {
                return Err(Error::unsupported("a row inside a row", None));
            }
            pairs.push((self.expression(left, place)?, self.expression(right, place)?));
        }
        self.compare_rows(op, pairs)
    }

    pub(super) fn compare_rows(&mut self, op: Operator, mut pairs: Vec<(Bound, Bound)>) -> Result<Bound> {
        let joint = match op {
            Operator::Eq => Some(Operator::And),
            Operator::NotEq => Some(Operator::Or),
            _ => None,
        };
        let Some((left, right)) = pairs.pop() else {
            return Err(Error::unsupported("an empty row", None));
        };
        let mut test = self.compare(op, left, right)?.expr;
        while let Some((left, right)) = pairs.pop() {
            test = if let Some(joint) = joint {
                binary(self.compare(op, left, right)?.expr, joint, test)
            } else {
                // (a, rest) < (x, more)  is  a < x OR (a = x AND rest < more).
                let strict = match op {
                    Operator::Lt | Operator::LtEq => Operator::Lt,
                    _ => Operator::Gt,
                };
                self.both_once([left, right], |binder, [left, right]| {
                    let before = binder.compare(strict, left.clone(), right.clone())?.expr;
                    let equal = binder.compare(Operator::Eq, left, right)?.expr;
                    Ok(binary(before, Operator::Or, binary(equal, Operator::And, test)))
                })?
            };
        }
        Ok(Bound::new(test, SqlType::Bool))
    }

    pub(super) fn pattern(&mut self, expr: &ast::Expr, place: Place<'_>) -> Result<Bound> {
        use ast::Expr as E;
        let (negated, any, operand, pattern, escape_char) = match expr {
            E::Like {
                negated,
                any,
                expr,
                pattern,
                escape_char,
            }
            | E::ILike {
                negated,
                any,
                expr,
                pattern,
                escape_char,
            } => (*negated, *any, expr, pattern, escape_char),
            E::SimilarTo {
                negated,
                expr,
                pattern,
                escape_char,
            } => (*negated, false, expr, pattern, escape_char),
            _ => return Err(Error::internal("no pattern match")),
        };
        if any {
            return Err(Error::unsupported("LIKE ANY", None));
        }
        let escape = match escape_char {
            None => Some('\\'),
            Some(value) => escape_character(&value.value.clone().into_string().unwrap_or_default())?,
        };
        let (operand, pattern) = (self.expression(operand, place)?, self.expression(pattern, place)?);
        if escape_char
            .as_ref()
            .is_some_and(|escape| escape.value == ast::Value::Null)
        {
            return Ok(Bound::new(null_of(&SqlType::Bool)?, SqlType::Bool));
        }
        if let E::SimilarTo { .. } = expr {
            let ignores_case = operand.ty == SqlType::Citext;
            let operand = self.like_operand(operand)?;
            let pattern = self.convert_text(pattern)?;
            let escape = Bound::unknown(Some(escape.map(String::from).unwrap_or_default()));
            let escape = self.convert_text(escape)?;
            let name = if ignores_case {
                "similar_in_any_case_to"
            } else {
                "similar_to"
            };
            let call = self.resolve_function(name, vec![operand, pattern, escape])?;
            return Ok(if negated {
                Bound::new(Expr::Not(Box::new(call.expr)), SqlType::Bool)
            } else {
                call
            });
        }
        self.like(operand, pattern, escape, negated, matches!(expr, E::ILike { .. }))
    }

    pub(super) fn convert_text(&mut self, bound: Bound) -> Result<Bound> {
        self.convert(bound, &SqlType::Text, CastContext::Implicit)
    }

    /// `operand LIKE pattern`, of text or of bytes, in which no character but the escape means anything beyond ASCII.
    pub(super) fn like(
        &mut self,
        operand: Bound,
        pattern: Bound,
        escape: Option<char>,
        negated: bool,
        insensitive: bool,
    ) -> Result<Bound> {
        let symbol = match (negated, insensitive) {
            (false, false) => "~~",
            (true, false) => "!~~",
            (false, true) => "~~*",
            (true, true) => "!~~*",
        };
        let texty = |ty: &SqlType| {
            ty.is_string() || matches!(ty, SqlType::Unknown | SqlType::Void | SqlType::InternalChar)
        };
        // citext is LIKE what it is ILIKE.
        let case_insensitive = insensitive || operand.ty == SqlType::Citext;
        let (operand, pattern) = match (&operand.ty, &pattern.ty) {
            (SqlType::Bytea, _) | (SqlType::Unknown, SqlType::Bytea) if !insensitive => (
                self.coerce(operand, &SqlType::Bytea)?,
                self.coerce(pattern, &SqlType::Bytea)?,
            ),
            (ty, of_pattern) if texty(ty) && texty(of_pattern) => {
                (self.like_operand(operand)?, self.convert_text(pattern)?)
            }
            (ty, of_pattern) => return Err(no_operator(symbol, ty, of_pattern)),
        };
        let like = Like {
            negated,
            expr: Box::new(operand.expr),
            pattern: Box::new(pattern.expr),
            case_insensitive,
            escape,
        };
        Ok(Bound::new(Expr::Like(like), SqlType::Bool))
    }

    /// char(n) keeps its padding under patterns of every kind.
    pub(super) fn like_operand(&mut self, operand: Bound) -> Result<Bound> {
        match operand.ty {
            SqlType::Char(_) => Ok(Bound::new(operand.expr, SqlType::Text)),
            _ => self.convert_text(operand),
        }
    }
}

/// Whether it is known before the first row: a literal or a parameter.
pub(super) fn is_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(..) | Expr::Placeholder(_))
}

/// Whether an item of IN has no column of its query, so that PostgreSQL takes it into the array.
fn is_listed(item: &Expr) -> bool {
    !item.asks_for_column(&|_| true)
}

/// The type in which several items of IN compare with the operand: PostgreSQL makes those without columns an array of the type that
/// they and the operand have in common, if there is one. One alone is compared as by `=`. `None`, too, for exact numbers, which are
/// equal in whatever type they compare.
fn common_of_listed(operand: &Bound, items: &[Bound]) -> Option<SqlType> {
    let listed = items.iter().filter(|item| is_listed(&item.expr));
    let mut types: Vec<SqlType> = listed.map(|item| item.ty.clone()).collect();
    if types.len() < 2 {
        return None;
    }
    types.insert(0, operand.ty.clone());
    let is_exact = |ty: &SqlType| ty.is_integer() || matches!(ty, SqlType::Numeric(_));
    let common = common_type(&types)?;
    (!types.iter().all(is_exact)).then_some(common)
}

pub(super) fn is_null(operand: Expr, negated: bool) -> Expr {
    if negated {
        Expr::IsNotNull(Box::new(operand))
    } else {
        Expr::IsNull(Box::new(operand))
    }
}

/// What ESCAPE names; `None` when it names none. Errors: 22025.
fn escape_character(text: &str) -> Result<Option<char>> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (first, None) => Ok(first),
        _ => Err(invalid_escape()),
    }
}
