//! Conditions over the columns of a row as `pg_get_constraintdef` prints them: with the conversions that PostgreSQL's operators
//! make of their operands, literals with their types, IN as `= ANY`, BETWEEN as two comparisons.
//!
//! In the plain form every operator stands in parentheses; in the pretty one, psql's, an operand does only where it would
//! read otherwise. What there are no rules for is printed as it was written.

use sqlparser::ast::{self, BinaryOperator as Op, CastKind, UnaryOperator};

use super::binder::{Binder, Place};
use super::context_value::is_bare_keyword;
use super::literal_pins::Written;
use super::printed::{Around, Printed, Shape, Side, Untyped, number, operands, quoted};
use super::printed_query::{ShownRelations, is_more_than_a_call, row_items};
use crate::parse::names;
use crate::parse::quoting::quote_ident;
use crate::parse::walk::visit_expressions;
use crate::tree::Expr;
use crate::types::SqlType;

/// Prints expressions that stand at one place.
pub(super) struct Printer<'p, 'c> {
    pub(super) binder: &'p mut Binder<'c>,
    pub(super) place: Place<'p>,
    /// What relations are called before their columns; `None`: columns stand by themselves.
    pub(super) shown: Option<&'p ShownRelations<'p>>,
    /// The columns that stand by themselves and are of domains, with these.
    pub(super) domains: &'p [(String, u32)],
    /// Blanks before a line that begins within an expression.
    pub(super) indent: usize,
    /// There were no rules for something that cannot stand as it was written.
    pub(super) has_failed: bool,
}

impl Printer<'_, '_> {
    pub(super) fn print(&mut self, expr: &ast::Expr) -> Printed {
        use ast::Expr as E;
        match expr {
            E::Nested(inner) => self.print(inner),
            E::Identifier(_) | E::CompoundIdentifier(_) => Printed {
                is_of_domain: self.domain_of(expr).is_some(),
                ..self.named(expr)
            },
            E::Subquery(_) | E::Exists { .. } | E::InSubquery { .. } => self.sublink(expr),
            E::AtTimeZone { timestamp, time_zone } => {
                let zone = self.print(time_zone).into_type(&SqlType::Text);
                let moment = self.print(timestamp);
                let ty = self.type_of(expr);
                Printed::call(ty, |text| {
                    format!("({} AT TIME ZONE {})", text(&moment), text(&zone))
                })
            }
            E::CompoundFieldAccess { root, access_chain } => self.accessed(expr, root, access_chain),
            E::Tuple(items) => self.row(items, None),
            E::Substring { .. } | E::Overlay { .. } | E::Ceil { .. } | E::Floor { .. } => {
                self.spelt_call(expr)
            }
            E::Value(value) => self.value(expr, value),
            E::TypedString(typed) => match self.untyped(&typed.value) {
                Some(untyped) => untyped.typed(&self.type_of(expr)),
                None => self.as_written(expr),
            },
            E::BinaryOp { left, op, right } => self.binary(expr, left, op, right),
            E::UnaryOp { op, expr: operand } => self.unary(expr, *op, operand),
            E::IsNull(inner) => self.test(inner, "IS NULL"),
            E::IsNotNull(inner) => self.test(inner, "IS NOT NULL"),
            E::IsTrue(inner) => self.test(inner, "IS TRUE"),
            E::IsNotTrue(inner) => self.test(inner, "IS NOT TRUE"),
            E::IsFalse(inner) => self.test(inner, "IS FALSE"),
            E::IsNotFalse(inner) => self.test(inner, "IS NOT FALSE"),
            E::IsUnknown(inner) => self.test(inner, "IS UNKNOWN"),
            E::IsNotUnknown(inner) => self.test(inner, "IS NOT UNKNOWN"),
            E::IsDistinctFrom(left, right) => self.infix(left, ("IS DISTINCT FROM", "="), right, Shape::Test),
            E::IsNotDistinctFrom(left, right) => {
                let distinct = self.infix(left, ("IS DISTINCT FROM", "="), right, Shape::Test);
                negated(distinct)
            }
            E::Cast {
                kind: CastKind::Cast | CastKind::DoubleColon,
                expr: inner,
                ..
            } => self.cast(expr, inner),
            E::Case { .. } => self.case(expr),
            E::Function(function) => self.function(expr, function),
            E::Extract {
                field, expr: from, ..
            } => {
                let (from, ty) = (self.print(from), self.type_of(expr));
                let field = field.to_string().to_lowercase();
                Printed::call(ty, |text| format!("EXTRACT({field} FROM {})", text(&from)))
            }
            E::Array(array) => {
                let items: Vec<Printed> = array.elem.iter().map(|item| self.print(item)).collect();
                self.array(expr, items)
            }
            other => self.words(other),
        }
    }

    /// A column by its name.
    fn named(&mut self, expr: &ast::Expr) -> Printed {
        match expr {
            ast::Expr::Identifier(name) if self.shown.is_none() => {
                Printed::word(quote_ident(&names::fold(name)), self.type_of(expr))
            }
            ast::Expr::Identifier(name) => self.column(None, &names::fold(name), expr),
            ast::Expr::CompoundIdentifier(parts) if self.shown.is_some() => match parts.as_slice() {
                [relation, name] | [_, relation, name] => {
                    self.column(Some(&names::fold(relation)), &names::fold(name), expr)
                }
                _ => self.as_written(expr),
            },
            other => self.words(other),
        }
    }

    /// An operator or function that is written in words.
    fn words(&mut self, expr: &ast::Expr) -> Printed {
        use ast::Expr as E;
        match expr {
            E::Between {
                expr,
                negated,
                low,
                high,
            } => self.between(expr, *negated, low, high),
            E::InList {
                expr: operand,
                list,
                negated,
            } => self.in_list(operand, list, *negated),
            E::Like {
                negated,
                any: false,
                expr,
                pattern,
                escape_char: None,
            } => self.matching(expr, if *negated { "!~~" } else { "~~" }, pattern),
            E::ILike {
                negated,
                any: false,
                expr,
                pattern,
                escape_char: None,
            } => self.matching(expr, if *negated { "!~~*" } else { "~~*" }, pattern),
            other => self.other_words(other),
        }
    }

    /// See [`Printer::words`].
    fn other_words(&mut self, expr: &ast::Expr) -> Printed {
        use ast::Expr as E;
        match expr {
            E::Collate { expr, collation } => {
                let inner = self.print(expr);
                Printed::of(Shape::Operator, inner.ty.clone(), |text| {
                    format!("{} COLLATE {collation}", text(&inner, Around::Tight))
                })
            }
            E::Position { expr: part, r#in } => {
                let part = self.print(part).into_type(&SqlType::Text);
                let whole = self.print(r#in).into_type(&SqlType::Text);
                Printed::call(SqlType::Int4, |text| {
                    format!("POSITION(({}) IN ({}))", text(&part), text(&whole))
                })
            }
            E::Interval(interval) => match (interval.value.as_ref(), &interval.leading_field) {
                (E::Value(value), None) => match self.untyped(value) {
                    Some(untyped) => untyped.typed(&SqlType::Interval(None)),
                    None => self.as_written(expr),
                },
                _ => self.as_written(expr),
            },
            E::SimilarTo {
                negated,
                expr,
                pattern,
                escape_char: None,
            } => {
                let operator = if *negated { "!~" } else { "~" };
                let value = self.print(expr).into_type(&SqlType::Text);
                let pattern = self.print(pattern).into_type(&SqlType::Text);
                Printed::of(Shape::Operator, SqlType::Bool, |text| {
                    let value = text(&value, Around::Operator(Shape::Operator, Side::Left));
                    format!(
                        "{value} {operator} similar_to_escape({})",
                        text(&pattern, Around::Tight)
                    )
                })
            }
            E::AnyOp {
                left,
                compare_op,
                right,
                ..
            } => self.quantified(left, (compare_op, "ANY"), right),
            E::AllOp {
                left,
                compare_op,
                right,
            } => self.quantified(left, (compare_op, "ALL"), right),
            other => self.as_written(other),
        }
    }

    pub(super) fn as_written(&mut self, expr: &ast::Expr) -> Printed {
        // A query may call its relations otherwise than the text that it was made of.
        self.has_failed |= self.shown.is_some();
        Printed::word(expr.to_string(), SqlType::Unknown)
    }

    /// What binding says; `Unknown` where it fails.
    pub(super) fn type_of(&mut self, expr: &ast::Expr) -> SqlType {
        let bound = self.binder.expression(expr, self.place);
        bound.map_or(SqlType::Unknown, |bound| bound.ty)
    }

    /// `None`: it is no string.
    fn untyped(&self, literal: &ast::ValueWithSpan) -> Option<Untyped> {
        Some(Untyped {
            written: Written::of(literal)?,
            pins: self.binder.pins.clone(),
        })
    }

    fn value(&mut self, expr: &ast::Expr, literal: &ast::ValueWithSpan) -> Printed {
        if let Some(untyped) = self.untyped(literal) {
            let text = untyped.typed(&SqlType::Text);
            return Printed {
                untyped: Some(untyped),
                ..text
            };
        }
        match &literal.value {
            ast::Value::Number(digits, _) => number(digits, &self.type_of(expr)),
            ast::Value::Boolean(value) => Printed::word(value.to_string(), SqlType::Bool),
            ast::Value::Null => Printed::word("NULL", SqlType::Unknown),
            ast::Value::SingleQuotedByteStringLiteral(bits) => {
                Printed::word(format!("'{bits}'::\"bit\""), self.type_of(expr))
            }
            _ => self.as_written(expr),
        }
    }

    fn unary(&mut self, expr: &ast::Expr, op: UnaryOperator, operand: &ast::Expr) -> Printed {
        if op == UnaryOperator::Not {
            return negated(self.print(operand));
        }
        let ty = self.type_of(expr);
        if let (UnaryOperator::Minus, ast::Expr::Value(value)) = (op, operand)
            && let ast::Value::Number(digits, _) = &value.value
        {
            return number(&format!("-{digits}"), &ty);
        }
        let operand = self.print(operand).of_base();
        Printed::of(Shape::of(&op.to_string()), ty, |text| {
            format!("{op} {}", text(&operand, Around::Tight))
        })
    }

    fn binary(&mut self, expr: &ast::Expr, left: &ast::Expr, op: &Op, right: &ast::Expr) -> Printed {
        match op {
            Op::Eq | Op::NotEq if let (ast::Expr::Tuple(left), ast::Expr::Tuple(right)) = (left, right) => {
                let symbol = if *op == Op::Eq { "=" } else { "<>" };
                let pairs = left.iter().zip(right);
                let pairs =
                    pairs.map(|(one, other)| self.infix(one, (symbol, symbol), other, Shape::Operator));
                let parts: Vec<Printed> = pairs.collect();
                connected(&parts, *op == Op::Eq)
            }
            Op::And | Op::Or => {
                let mut parts = Vec::new();
                chain(expr, op, &mut parts);
                let parts: Vec<Printed> = parts.into_iter().map(|part| self.print(part)).collect();
                connected(&parts, *op == Op::And)
            }
            _ => {
                let ty = self.type_of(expr);
                let symbol = match op.to_string().as_str() {
                    "==" => "=".to_string(),
                    "!=" => "<>".to_string(),
                    symbol => symbol.to_string(),
                };
                let printed = self.infix(left, (&symbol, &symbol), right, Shape::of(&symbol));
                Printed { ty, ..printed }
            }
        }
    }

    /// Two operands, converted as the operator `converts` wants it.
    fn infix(
        &mut self,
        left: &ast::Expr,
        (words, converts): (&str, &str),
        right: &ast::Expr,
        shape: Shape,
    ) -> Printed {
        let (left, right) = operands(converts, self.print(left), self.print(right));
        let inside = match shape {
            Shape::Test => Shape::Operator,
            shape => shape,
        };
        Printed::of(shape, SqlType::Bool, |text| {
            let left = text(&left, Around::Operator(inside, Side::Left));
            let right = text(&right, Around::Operator(inside, Side::Right));
            format!("{left} {words} {right}")
        })
    }

    fn quantified(&mut self, left: &ast::Expr, (op, words): (&Op, &str), right: &ast::Expr) -> Printed {
        if let ast::Expr::Subquery(query) = right {
            return self.compared_with_rows(left, &format!("{op} {words}"), query);
        }
        let (left, right) = (self.print(left), self.print(right));
        let left = match right.ty.item_type() {
            Some(item) => operands(&op.to_string(), left, Printed::word("", item.clone())).0,
            None => left,
        };
        Printed::of(Shape::Member, SqlType::Bool, |text| {
            let left = text(&left, Around::Operator(Shape::Operator, Side::Left));
            let right = text(&right, Around::Operator(Shape::Operator, Side::Right));
            format!("{left} {op} {words} ({right})")
        })
    }

    fn matching(&mut self, value: &ast::Expr, operator: &str, pattern: &ast::Expr) -> Printed {
        self.infix(value, (operator, operator), pattern, Shape::Operator)
    }

    fn test(&mut self, operand: &ast::Expr, words: &str) -> Printed {
        let operand = self.print(operand);
        Printed::of(Shape::Test, SqlType::Bool, |text| {
            format!("{} {words}", text(&operand, Around::Tight))
        })
    }

    fn between(&mut self, value: &ast::Expr, not: bool, low: &ast::Expr, high: &ast::Expr) -> Printed {
        let (above, below) = if not { ("<", ">") } else { (">=", "<=") };
        let parts = [
            self.infix(value, (above, above), low, Shape::Operator),
            self.infix(value, (below, below), high, Shape::Operator),
        ];
        connected(&parts, !not)
    }

    fn in_list(&mut self, value: &ast::Expr, list: &[ast::Expr], not: bool) -> Printed {
        let (symbol, quantifier) = if not { ("<>", "ALL") } else { ("=", "ANY") };
        let is_constant = |item: &ast::Expr| {
            let named = visit_expressions(item, |part| match part {
                ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_) => {
                    std::ops::ControlFlow::Break(())
                }
                _ => std::ops::ControlFlow::Continue(()),
            });
            named.is_continue()
        };
        // There is no array of arrays.
        let is_array = matches!(self.type_of(value), SqlType::Array(_));
        if is_array || list.len() < 2 || !list.iter().all(is_constant) {
            let compare = |item| self.infix(value, (symbol, symbol), item, Shape::Operator);
            let parts: Vec<Printed> = list.iter().map(compare).collect();
            return connected(&parts, not);
        }
        let value = self.print(value);
        let items: Vec<Printed> = list.iter().map(|item| self.print(item)).collect();
        // Each item becomes what it would beside the value; varchar is compared as text, all at once.
        let beside = items
            .iter()
            .map(|item| operands("=", value.clone(), item.clone()));
        let (mut value_text, mut converted) = (value.clone(), Vec::with_capacity(items.len()));
        for (left, right) in beside {
            if left.plain.len() >= value_text.plain.len() {
                value_text = left;
            }
            converted.push(right);
        }
        let is_varchar =
            matches!(value.ty, SqlType::Varchar(_)) && items.iter().all(|item| item.untyped.is_some());
        if value.ty == SqlType::Int8
            || value.ty == SqlType::Int2 && items.iter().any(|item| item.ty == SqlType::Int8)
        {
            converted = converted
                .into_iter()
                .map(|item| item.into_type(&SqlType::Int8))
                .collect();
        }
        let array = match is_varchar {
            true => {
                let varchar = SqlType::Varchar(None);
                let items = items.into_iter().map(|item| item.into_type(&varchar)).collect();
                array_of(items, varchar).cast(SqlType::array(SqlType::Text))
            }
            false => {
                let ty = converted.first().map_or(SqlType::Unknown, |item| item.ty.clone());
                array_of(converted, ty)
            }
        };
        Printed::of(Shape::Member, SqlType::Bool, |text| {
            let value = text(&value_text, Around::Operator(Shape::Operator, Side::Left));
            let array = text(&array, Around::Operator(Shape::Operator, Side::Right));
            format!("{value} {symbol} {quantifier} ({array})")
        })
    }

    fn array(&mut self, expr: &ast::Expr, items: Vec<Printed>) -> Printed {
        match self.type_of(expr) {
            SqlType::Array(item) => {
                let array = SqlType::Array(item.clone());
                let converted = items.into_iter().map(|printed| match printed.ty {
                    SqlType::Array(_) => printed.into_type(&array),
                    _ => printed.into_type(&item),
                });
                array_of(converted.collect(), SqlType::clone(&item))
            }
            _ => array_of(items, SqlType::Unknown),
        }
    }

    fn function(&mut self, expr: &ast::Expr, function: &ast::Function) -> Printed {
        let is_more = is_more_than_a_call(function) || self.binder.is_user_aggregate(function);
        if self.shown.is_some() && is_more {
            return self.call_with_clauses(expr, function);
        }
        if let Some(items) = row_items(function) {
            return self.row(&items, None);
        }
        let Some(name) = names::last_name(&function.name) else {
            return self.as_written(expr);
        };
        let arguments = match &function.args {
            ast::FunctionArguments::List(list) => list.args.as_slice(),
            _ => return Printed::word(name.to_uppercase(), self.type_of(expr)),
        };
        let mut printed = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument)) = argument else {
                return self.as_written(expr);
            };
            printed.push(self.print(argument));
        }
        let ty = self.type_of(expr);
        if is_bare_keyword(&name)
            && let [ast::FunctionArg::Unnamed(digits)] = arguments
        {
            return Printed::word(format!("{}({digits})", name.to_uppercase()), ty);
        }
        let called = self.called_routine(function);
        let types = match &called {
            Some(called) => called.argument_types(printed.len()),
            None => self.argument_types(expr, &name, &ty, printed.len()),
        };
        let printed = match <[Printed; 2]>::try_from(printed) {
            // As what `=` compares.
            Ok([one, other]) if name == "nullif" => <[Printed; 2]>::from(operands("=", one, other)).into(),
            Ok(both) => both.into(),
            Err(printed) => printed,
        };
        let printed: Vec<Printed> = printed
            .into_iter()
            .zip(types)
            .enumerate()
            .map(|(at, (argument, ty))| match &argument.untyped {
                Some(untyped) if takes_any(&name, at) => Printed::word(quoted(&untyped.written.text), ty),
                None if takes_any(&name, at) => argument,
                None if takes_padded(&name) && matches!(argument.ty, SqlType::Char(_)) => argument,
                _ => argument.into_type(&ty),
            })
            .collect();
        let name = match (called, name.as_str()) {
            (Some(called), _) => called.name,
            (None, "coalesce" | "nullif" | "greatest" | "least") => name.to_uppercase(),
            (None, _) => quote_ident(&name),
        };
        Printed::call(ty, |text| {
            let arguments: Vec<String> = printed.iter().map(text).collect();
            format!("{name}({})", arguments.join(", "))
        })
    }

    /// What a function takes its arguments as; `Unknown` where they are as they are.
    fn argument_types(&mut self, expr: &ast::Expr, name: &str, ty: &SqlType, count: usize) -> Vec<SqlType> {
        match name {
            "coalesce" | "greatest" | "least" => return vec![ty.clone(); count],
            "nullif" => return vec![SqlType::Unknown; count],
            _ => {}
        }
        match self.binder.expression(expr, self.place).map(|bound| bound.expr) {
            Ok(Expr::ScalarFunction(call)) if call.func.arguments().len() == count => {
                call.func.arguments().to_vec()
            }
            _ => vec![SqlType::Unknown; count],
        }
    }
}

/// Whether a function takes an argument of any type, as which a literal has none.
fn takes_any(name: &str, at: usize) -> bool {
    match name {
        "concat" | "json_build_array" | "json_build_object" | "jsonb_build_array" | "jsonb_build_object" => {
            true
        }
        "concat_ws" | "format" => at > 0,
        _ => false,
    }
}

/// Whether PostgreSQL has the function for character(n), too.
fn takes_padded(name: &str) -> bool {
    matches!(
        name,
        "length" | "char_length" | "character_length" | "octet_length"
    )
}

pub(super) fn negated(inner: Printed) -> Printed {
    let inner = inner.of_base();
    Printed::of(Shape::Not, SqlType::Bool, |text| {
        format!("NOT {}", text(&inner, Around::Not))
    })
}

/// Conditions joined by AND or OR; one alone stays as it is.
fn connected(parts: &[Printed], all: bool) -> Printed {
    if let [only] = parts {
        return only.clone();
    }
    let parts: Vec<Printed> = parts.iter().map(|part| part.clone().of_base()).collect();
    let (shape, around, word) = match all {
        true => (Shape::And, Around::And, " AND "),
        false => (Shape::Or, Around::Or, " OR "),
    };
    Printed::of(shape, SqlType::Bool, |text| {
        let parts: Vec<String> = parts.iter().map(|part| text(part, around)).collect();
        parts.join(word)
    })
}

/// The parts of a chain of one connective, as it is written from left to right.
fn chain<'a>(expr: &'a ast::Expr, connective: &Op, parts: &mut Vec<&'a ast::Expr>) {
    match expr {
        ast::Expr::BinaryOp { left, op, right } if op == connective => {
            chain(left, connective, parts);
            parts.push(right);
        }
        ast::Expr::Nested(inner) => match inner.as_ref() {
            ast::Expr::BinaryOp { op, .. } if op == connective => chain(inner, connective, parts),
            _ => parts.push(expr),
        },
        part => parts.push(part),
    }
}

fn array_of(items: Vec<Printed>, item: SqlType) -> Printed {
    Printed::call(SqlType::array(item), |text| {
        let items: Vec<String> = items.iter().map(text).collect();
        format!("ARRAY[{}]", items.join(", "))
    })
}
