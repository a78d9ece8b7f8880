//! Expressions: one function a form of expression, each giving a typed DataFusion expression.

use datafusion::logical_expr::expr::{Case, InList, Like, Unnest};
use datafusion::logical_expr::{Expr, Operator, Volatility};
use sqlparser::ast;

use super::binder::{Binder, Bound, Clause, Place, fault, fold, name_parts, unsupported};
use super::coercion::{CastContext, item_type, type_name};
use super::operator::{binary, no_operator};
use super::scope::capture;
use super::type_reference::sql_type;
use crate::error::StatementFault;
use crate::exec::functions::{self, ArithmeticOp, pattern};
use crate::exec::pg_catalog;
use crate::types::{Numeric, NumericSize, SqlType, Value};
use crate::{Error, Result};

impl Binder<'_> {
    /// Binds any expression.
    pub(super) fn expression(&mut self, expr: &ast::Expr, place: Place<'_>) -> Result<Bound> {
        self.deeper(|binder| binder.expression_here(expr, place))
    }

    fn expression_here(&mut self, expr: &ast::Expr, place: Place<'_>) -> Result<Bound> {
        use ast::Expr as E;
        match expr {
            E::Identifier(ident) => self.identifier(ident, place),
            E::CompoundIdentifier(idents) => self.compound_identifier(idents, place),
            E::Nested(inner) => self.expression(inner, place),
            E::Value(value) => self.literal(&value.value),
            E::TypedString(typed) => {
                let text = typed.value.value.clone().into_string().unwrap_or_default();
                self.convert(
                    Bound::unknown(Some(text)),
                    &sql_type(&typed.data_type)?,
                    CastContext::Explicit,
                )
            }
            E::Interval(interval) => self.interval(interval, place),
            E::BinaryOp { left, op, right } => self.binary_operator(left, op, right, place),
            E::UnaryOp { op, expr } => self.unary_operator(*op, expr, place),
            E::Cast { expr, data_type, .. } => self.cast(expr, data_type, place),
            E::Collate { expr, .. } => self.expression(expr, place),
            E::IsNull(_) | E::IsNotNull(_) => self.null_test(expr, place),
            E::IsTrue(_)
            | E::IsNotTrue(_)
            | E::IsFalse(_)
            | E::IsNotFalse(_)
            | E::IsUnknown(_)
            | E::IsNotUnknown(_) => self.truth_test(expr, place),
            E::IsDistinctFrom(left, right) => {
                self.distinct_from(Operator::IsDistinctFrom, left, right, place)
            }
            E::IsNotDistinctFrom(left, right) => {
                self.distinct_from(Operator::IsNotDistinctFrom, left, right, place)
            }
            E::Between {
                expr,
                negated,
                low,
                high,
            } => self.between(expr, *negated, low, high, place),
            E::InList { expr, list, negated } => self.in_list(expr, list, *negated, place),
            E::InSubquery {
                expr,
                subquery,
                negated,
            } => self.in_subquery(expr, subquery, *negated, place),
            E::Exists { subquery, negated } => self.exists(subquery, *negated, place),
            E::Subquery(query) => self.scalar_subquery(query, place),
            E::AnyOp {
                left,
                compare_op,
                right,
                ..
            } => self.quantified(left, compare_op, right, false, place),
            E::AllOp {
                left,
                compare_op,
                right,
            } => self.quantified(left, compare_op, right, true, place),
            E::Like { .. } | E::ILike { .. } | E::SimilarTo { .. } => self.pattern(expr, place),
            E::Case {
                operand,
                conditions,
                else_result,
                ..
            } => self.case(operand.as_deref(), conditions, else_result.as_deref(), place),
            E::Function(function) => self.function(function, place),
            E::Array(array) => self.array(&array.elem, place),
            E::CompoundFieldAccess { root, access_chain } => self.field_access(root, access_chain, place),
            E::Extract { .. }
            | E::Ceil { .. }
            | E::Floor { .. }
            | E::Position { .. }
            | E::Substring { .. }
            | E::Trim { .. }
            | E::Overlay { .. }
            | E::AtTimeZone { .. } => self.function_syntax(expr, place),
            E::Tuple(_) => Err(unsupported("a row value outside a comparison")),
            E::Wildcard(_) | E::QualifiedWildcard(..) => Err(Error::Syntax {
                message: "syntax error at or near \"*\"".to_string(),
                position: 0,
            }),
            other => Err(unsupported(format!("the expression {other}"))),
        }
    }

    /// Binds an expression that must be a condition.
    pub(super) fn condition(&mut self, expr: &ast::Expr, place: Place<'_>) -> Result<Expr> {
        let bound = self.expression(expr, place)?;
        let name = match place.clause {
            Clause::JoinOn => "JOIN/ON",
            clause => clause.name(),
        };
        self.coerce_boolean(bound, name)
    }

    fn identifier(&mut self, ident: &ast::Ident, place: Place<'_>) -> Result<Bound> {
        let name = fold(ident);
        if let Some(found) = place.scope.get_column(&name)? {
            return Ok(found.clone());
        }
        let (mut outer, mut levels) = (place.outer, 0);
        while let Some(around) = outer {
            if let Some(found) = around.scope.get_column(&name)? {
                return Ok(capture(place.outer.expect("the walk began there"), levels, found));
            }
            outer = around.parent;
            levels += 1;
        }
        if ident.quote_style.is_none()
            && let Some(found) = self.bare_keyword(&name)?
        {
            return Ok(found);
        }
        if let Some(row) = place.scope.get_relation(None, &name) {
            return Err(unsupported(format!(
                "the whole row of \"{}\" as a value",
                row.name
            )));
        }
        let quoted = ident.quote_style.is_some();
        Err(Error::UndefinedColumn {
            name: format!("\"{name}\""),
            hint: place.scope.hint_for(&name, quoted),
            position: 0,
        })
    }

    /// `current_date` and its like, which the parser gives as plain names.
    fn bare_keyword(&mut self, name: &str) -> Result<Option<Bound>> {
        const KEYWORDS: &[&str] = &[
            "current_date",
            "current_time",
            "current_timestamp",
            "localtime",
            "localtimestamp",
            "current_user",
            "session_user",
            "user",
            "current_role",
            "current_catalog",
            "current_schema",
        ];
        if KEYWORDS.contains(&name) {
            self.context_value(name)
        } else {
            Ok(None)
        }
    }

    fn compound_identifier(&mut self, idents: &[ast::Ident], place: Place<'_>) -> Result<Bound> {
        let parts: Vec<String> = idents.iter().map(fold).collect();
        let (schema, relation, name) = match parts.as_slice() {
            [relation, name] => (None, relation.as_str(), name.as_str()),
            [schema, relation, name] | [_, schema, relation, name] => {
                (Some(schema.as_str()), relation.as_str(), name.as_str())
            }
            _ => return Err(unsupported(format!("the name {}", parts.join(".")))),
        };
        if let Some(found) = place.scope.get_qualified(schema, relation, name)? {
            return Ok(found.clone());
        }
        let (mut outer, mut levels) = (place.outer, 0);
        while let Some(around) = outer {
            if let Some(found) = around.scope.get_qualified(schema, relation, name)? {
                return Ok(capture(place.outer.expect("the walk began there"), levels, found));
            }
            outer = around.parent;
            levels += 1;
        }
        let hidden = place
            .scope
            .relations
            .iter()
            .find(|other| other.name != relation && other.schema.is_none());
        Err(Error::InvalidStatement {
            state: StatementFault::MissingFrom,
            message: format!("missing FROM-clause entry for table \"{relation}\""),
            hint: hidden
                .filter(|other| super::scope::edit_distance(&other.name, relation) <= 2)
                .map(|other| {
                    format!(
                        "Perhaps you meant to reference the table alias \"{}\".",
                        other.name
                    )
                }),
        })
    }

    /// A literal of SQL text.
    pub(super) fn literal(&mut self, value: &ast::Value) -> Result<Bound> {
        use ast::Value as V;
        match value {
            V::Number(text, _) => number_literal(text),
            V::SingleQuotedString(text)
            | V::EscapedStringLiteral(text)
            | V::UnicodeStringLiteral(text)
            | V::NationalStringLiteral(text) => Ok(Bound::unknown(Some(text.clone()))),
            V::DollarQuotedString(text) => Ok(Bound::unknown(Some(text.value.clone()))),
            V::Boolean(flag) => Bound::constant(&Value::Bool(*flag), SqlType::Bool),
            V::Null => Ok(Bound::unknown(None)),
            V::Placeholder(id) => self.parameter(id),
            V::HexStringLiteral(text) => {
                let bound = Bound::unknown(Some(format!("\\x{text}")));
                self.convert(bound, &SqlType::Bytea, CastContext::Explicit)
            }
            other => Err(unsupported(format!("the literal {other}"))),
        }
    }

    fn interval(&mut self, interval: &ast::Interval, place: Place<'_>) -> Result<Bound> {
        let value = self.expression(&interval.value, place)?;
        let Expr::Literal(datafusion::common::ScalarValue::Utf8(Some(text)), _) = &value.expr else {
            return self.convert(value, &SqlType::Interval, CastContext::Explicit);
        };
        let text = match &interval.leading_field {
            Some(field) if text.trim().parse::<f64>().is_ok() => {
                format!("{text} {}", field.to_string().to_lowercase())
            }
            _ => text.clone(),
        };
        self.convert(
            Bound::unknown(Some(text)),
            &SqlType::Interval,
            CastContext::Explicit,
        )
    }

    fn cast(&mut self, expr: &ast::Expr, data_type: &ast::DataType, place: Place<'_>) -> Result<Bound> {
        let target = sql_type(data_type)?;
        if let (ast::Expr::Array(array), SqlType::Array(item)) = (expr, &target)
            && array.elem.is_empty()
        {
            let empty = SqlType::Array(item.clone());
            return Bound::constant(&Value::Array(Vec::new()), empty);
        }
        let bound = self.expression(expr, place)?;
        self.convert(bound, &target, CastContext::Explicit)
    }

    fn binary_operator(
        &mut self,
        left: &ast::Expr,
        op: &ast::BinaryOperator,
        right: &ast::Expr,
        place: Place<'_>,
    ) -> Result<Bound> {
        use ast::BinaryOperator as B;
        if let Some(op) = comparison(op) {
            if is_row(left) || is_row(right) {
                return self.row_comparison(op, left, right, place);
            }
            let (left, right) = (self.expression(left, place)?, self.expression(right, place)?);
            return self.compare(op, left, right);
        }
        if let B::And | B::Or = op {
            let (name, operator) = if *op == B::And {
                ("AND", Operator::And)
            } else {
                ("OR", Operator::Or)
            };
            let left = self.expression(left, place)?;
            let left = self.coerce_boolean(left, name)?;
            let right = self.expression(right, place)?;
            let right = self.coerce_boolean(right, name)?;
            return Ok(Bound::new(binary(left, operator, right), SqlType::Bool));
        }
        let (left, right) = (self.expression(left, place)?, self.expression(right, place)?);
        let op = operator_name(op);
        self.operator(&op, left, right)
    }

    /// An operator by its symbol, over bound operands.
    pub(super) fn operator(&mut self, symbol: &str, left: Bound, right: Bound) -> Result<Bound> {
        match symbol {
            "=" => self.compare(Operator::Eq, left, right),
            "<>" | "!=" => self.compare(Operator::NotEq, left, right),
            "<" => self.compare(Operator::Lt, left, right),
            "<=" => self.compare(Operator::LtEq, left, right),
            ">" => self.compare(Operator::Gt, left, right),
            ">=" => self.compare(Operator::GtEq, left, right),
            "+" => self.arithmetic(ArithmeticOp::Add, left, right),
            "-" if !json_like(&left.ty) => self.arithmetic(ArithmeticOp::Subtract, left, right),
            "*" => self.arithmetic(ArithmeticOp::Multiply, left, right),
            "/" => self.arithmetic(ArithmeticOp::Divide, left, right),
            "%" => self.arithmetic(ArithmeticOp::Modulo, left, right),
            "||" => self.concatenate(left, right),
            "~~" | "!~~" | "~~*" | "!~~*" => self.like(
                left,
                right,
                Some('\\'),
                symbol.starts_with('!'),
                symbol.ends_with('*'),
            ),
            _ => self.operator_function(symbol, left, right),
        }
    }

    /// Operators registered as functions named by their symbols (`~`, `&`, `->`, `@>` …).
    fn operator_function(&mut self, symbol: &str, left: Bound, right: Bound) -> Result<Bound> {
        let (left_type, right_type) = (left.ty.clone(), right.ty.clone());
        match self.resolve_function(symbol, vec![left, right]) {
            Err(Error::UndefinedFunction { .. }) => Err(no_operator(symbol, &left_type, &right_type)),
            other => other,
        }
    }

    /// `||`: arrays, bytea, jsonb, and text with anything.
    fn concatenate(&mut self, left: Bound, right: Bound) -> Result<Bound> {
        use SqlType as S;
        let (a, b) = (left.ty.clone(), right.ty.clone());
        let special = |ty: &S| item_type(ty).is_some() || matches!(ty, S::Bytea | S::Jsonb);
        if special(&a) || special(&b) {
            return self.operator_function("||", left, right);
        }
        let stringy = |ty: &S| ty.is_string() || matches!(ty, S::Unknown | S::Void);
        if !stringy(&a) && !stringy(&b) {
            return Err(no_operator("||", &a, &b));
        }
        let left = self.convert(left, &S::Text, CastContext::Explicit)?;
        let right = self.convert(right, &S::Text, CastContext::Explicit)?;
        let definition = ("||", pattern::CONCATENATE, true, Volatility::Immutable);
        let arguments = vec![(left.expr, left.ty), (right.expr, right.ty)];
        Ok(Bound::new(
            functions::call(definition, arguments, S::Text, &self.settings),
            S::Text,
        ))
    }

    fn unary_operator(
        &mut self,
        op: ast::UnaryOperator,
        expr: &ast::Expr,
        place: Place<'_>,
    ) -> Result<Bound> {
        use ast::UnaryOperator as U;
        if op == U::Minus
            && let ast::Expr::Value(value) = expr
            && let ast::Value::Number(text, _) = &value.value
        {
            // So that the least bigint can be written.
            return number_literal(&format!("-{text}"));
        }
        if op == U::Minus
            && let ast::Expr::BinaryOp {
                left,
                op: power,
                right,
            } = expr
            && operator_name(power) == "^"
        {
            // A sign binds tighter than a power: -2 ^ 2 is 4.
            let negated = ast::Expr::UnaryOp {
                op: U::Minus,
                expr: left.clone(),
            };
            return self.binary_operator(&negated, power, right, place);
        }
        let operand = self.expression(expr, place)?;
        match op {
            U::Not => Ok(Bound::new(
                Expr::Not(Box::new(self.coerce_boolean(operand, "NOT")?)),
                SqlType::Bool,
            )),
            U::Minus => self.negate(operand),
            U::Plus => match operand.ty {
                SqlType::Unknown if operand.is_null_literal() => Ok(operand),
                SqlType::Unknown => self.convert(operand, &SqlType::Float8, CastContext::Implicit),
                _ if operand.ty.is_number() => Ok(Bound {
                    origin: None,
                    ..operand
                }),
                _ => Err(Error::UndefinedOperator {
                    signature: format!("+ {}", type_name(&operand.ty)),
                    ambiguous: false,
                }),
            },
            U::BitwiseNot => self.unary_function("~", operand),
            U::PGAbs => self.unary_function("abs", operand),
            U::PGSquareRoot => self.unary_function("sqrt", operand),
            U::PGCubeRoot => self.unary_function("cbrt", operand),
            other => Err(unsupported(format!("the operator {other}"))),
        }
    }

    fn unary_function(&mut self, symbol: &str, operand: Bound) -> Result<Bound> {
        let ty = operand.ty.clone();
        match self.resolve_function(symbol, vec![operand]) {
            Err(Error::UndefinedFunction { .. }) => Err(Error::UndefinedOperator {
                signature: format!("{symbol} {}", type_name(&ty)),
                ambiguous: false,
            }),
            other => other,
        }
    }

    fn null_test(&mut self, expr: &ast::Expr, place: Place<'_>) -> Result<Bound> {
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
                let one = is_null(self.decided(item)?.expr, negated);
                test = Some(match test {
                    Some(before) => binary(before, Operator::And, one),
                    None => one,
                });
            }
            let test = test.ok_or_else(|| unsupported("an empty row"))?;
            return Ok(Bound::new(test, SqlType::Bool));
        }
        let operand = self.expression(operand, place)?;
        let operand = self.decided(operand)?;
        Ok(Bound::new(is_null(operand.expr, negated), SqlType::Bool))
    }

    fn truth_test(&mut self, expr: &ast::Expr, place: Place<'_>) -> Result<Bound> {
        use ast::Expr as E;
        type Wrap = fn(Box<Expr>) -> Expr;
        let (operand, name, wrap): (_, _, Wrap) = match expr {
            E::IsTrue(operand) => (operand, "IS TRUE", Expr::IsTrue),
            E::IsNotTrue(operand) => (operand, "IS NOT TRUE", Expr::IsNotTrue),
            E::IsFalse(operand) => (operand, "IS FALSE", Expr::IsFalse),
            E::IsNotFalse(operand) => (operand, "IS NOT FALSE", Expr::IsNotFalse),
            E::IsUnknown(operand) => (operand, "IS UNKNOWN", Expr::IsUnknown),
            E::IsNotUnknown(operand) => (operand, "IS NOT UNKNOWN", Expr::IsNotUnknown),
            _ => return Err(Error::internal("no test for truth")),
        };
        let operand = self.expression(operand, place)?;
        let operand = self.coerce_boolean(operand, name)?;
        Ok(Bound::new(wrap(Box::new(operand)), SqlType::Bool))
    }

    fn distinct_from(
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
                test.ok_or_else(|| unsupported("an empty row"))?,
                SqlType::Bool,
            ));
        }
        let (left, right) = (self.expression(left, place)?, self.expression(right, place)?);
        let (left, right) = self.comparable("=", left, right)?;
        Ok(Bound::new(binary(left, op, right), SqlType::Bool))
    }

    fn between(
        &mut self,
        expr: &ast::Expr,
        negated: bool,
        low: &ast::Expr,
        high: &ast::Expr,
        place: Place<'_>,
    ) -> Result<Bound> {
        let operand = self.expression(expr, place)?;
        let (low, high) = (self.expression(low, place)?, self.expression(high, place)?);
        let (first, second, joint) = if negated {
            (Operator::Lt, Operator::Gt, Operator::Or)
        } else {
            (Operator::GtEq, Operator::LtEq, Operator::And)
        };
        let first = self.compare(first, operand.clone(), low)?;
        let second = self.compare(second, operand, high)?;
        Ok(Bound::new(binary(first.expr, joint, second.expr), SqlType::Bool))
    }

    fn in_list(
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
            let test = test.ok_or_else(|| unsupported("an empty IN list"))?;
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

    /// `operand [NOT] IN (items)`: one list when all items compare with the operand in its own type, else comparisons.
    pub(super) fn in_items(&mut self, operand: Bound, items: Vec<Bound>, negated: bool) -> Result<Bound> {
        let operand = match operand.ty {
            // An untyped operand takes the items' common type.
            SqlType::Unknown | SqlType::Void => {
                let ty = self.common_type_of("IN", &items)?;
                self.convert(operand, &ty, CastContext::Implicit)?
            }
            _ => operand,
        };
        let mut listed = Vec::new();
        let mut listed_operand: Option<Expr> = None;
        let mut tests: Vec<Expr> = Vec::new();
        for item in items {
            let (left, right) = self.comparable("=", operand.clone(), item)?;
            match &listed_operand {
                Some(first) if *first == left => listed.push(right),
                None => {
                    listed_operand = Some(left);
                    listed.push(right);
                }
                Some(_) => tests.push(binary(left, Operator::Eq, right)),
            }
        }
        let listed_operand = listed_operand.ok_or_else(|| unsupported("an empty IN list"))?;
        let mut test = Expr::InList(InList::new(
            Box::new(listed_operand),
            listed,
            negated && tests.is_empty(),
        ));
        if tests.is_empty() {
            return Ok(Bound::new(test, SqlType::Bool));
        }
        for one in tests {
            test = binary(test, Operator::Or, one);
        }
        Ok(Bound::new(
            if negated { Expr::Not(Box::new(test)) } else { test },
            SqlType::Bool,
        ))
    }

    /// `(a, b) op (x, y)`, expanded into comparisons of the fields.
    fn row_comparison(
        &mut self,
        op: Operator,
        left: &ast::Expr,
        right: &ast::Expr,
        place: Place<'_>,
    ) -> Result<Bound> {
        let (Some(left), Some(right)) = (row_items(left), row_items(right)) else {
            return Err(unsupported("a comparison of a row with something that is no row"));
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
                return Err(unsupported("a row inside a row"));
            }
            pairs.push((self.expression(left, place)?, self.expression(right, place)?));
        }
        self.compare_rows(op, pairs)
    }

    fn compare_rows(&mut self, op: Operator, mut pairs: Vec<(Bound, Bound)>) -> Result<Bound> {
        let joint = match op {
            Operator::Eq => Some(Operator::And),
            Operator::NotEq => Some(Operator::Or),
            _ => None,
        };
        let Some((left, right)) = pairs.pop() else {
            return Err(unsupported("an empty row"));
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
                let before = self.compare(strict, left.clone(), right.clone())?.expr;
                let equal = self.compare(Operator::Eq, left, right)?.expr;
                binary(before, Operator::Or, binary(equal, Operator::And, test))
            };
        }
        Ok(Bound::new(test, SqlType::Bool))
    }

    fn pattern(&mut self, expr: &ast::Expr, place: Place<'_>) -> Result<Bound> {
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
            return Err(unsupported("LIKE ANY"));
        }
        let escape = match escape_char {
            None => Some('\\'),
            Some(value) => escape_character(&value.value.clone().into_string().unwrap_or_default())?,
        };
        let (operand, pattern) = (self.expression(operand, place)?, self.expression(pattern, place)?);
        if let E::SimilarTo { .. } = expr {
            let operand = self.convert_text(operand)?;
            let pattern = self.convert_text(pattern)?;
            let escape = Bound::unknown(Some(escape.map(String::from).unwrap_or_default()));
            let escape = self.convert_text(escape)?;
            let call = self.resolve_function("similar_to", vec![operand, pattern, escape])?;
            return Ok(if negated {
                Bound::new(Expr::Not(Box::new(call.expr)), SqlType::Bool)
            } else {
                call
            });
        }
        self.like(operand, pattern, escape, negated, matches!(expr, E::ILike { .. }))
    }

    fn convert_text(&mut self, bound: Bound) -> Result<Bound> {
        self.convert(bound, &SqlType::Text, CastContext::Implicit)
    }

    /// `operand LIKE pattern`. DataFusion's own node for the usual escape, so that a scan sees the prefix.
    fn like(
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
        let texty = |ty: &SqlType| ty.is_string() || matches!(ty, SqlType::Unknown | SqlType::Void);
        if !texty(&operand.ty) || !texty(&pattern.ty) {
            return Err(no_operator(symbol, &operand.ty, &pattern.ty));
        }
        let (operand, pattern) = (self.like_operand(operand)?, self.convert_text(pattern)?);
        let usual = match &pattern.expr {
            // Arrow's kernel treats a backslash as PostgreSQL does, but for one at the very end (an error there).
            Expr::Literal(datafusion::common::ScalarValue::Utf8(Some(text)), _) => {
                !text.contains('\\') && !text.contains('\n')
            }
            _ => false,
        };
        if usual && (escape == Some('\\') || !literal_contains(&pattern.expr, escape)) {
            let like = Like::new(
                negated,
                Box::new(operand.expr),
                Box::new(pattern.expr),
                None,
                insensitive,
            );
            return Ok(Bound::new(Expr::Like(like), SqlType::Bool));
        }
        let escape = Bound::constant(
            &Value::Text(escape.map(String::from).unwrap_or_default()),
            SqlType::Text,
        )?;
        let name = if insensitive {
            "ilike_escape"
        } else {
            "like_escape"
        };
        let call = self.resolve_function(name, vec![operand, pattern, escape])?;
        Ok(if negated {
            Bound::new(Expr::Not(Box::new(call.expr)), SqlType::Bool)
        } else {
            call
        })
    }

    /// char(n) keeps its padding under LIKE.
    fn like_operand(&mut self, operand: Bound) -> Result<Bound> {
        match operand.ty {
            SqlType::Char(_) => Ok(Bound::new(operand.expr, SqlType::Text)),
            _ => self.convert_text(operand),
        }
    }

    fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&ast::Expr>,
        place: Place<'_>,
    ) -> Result<Bound> {
        let operand = operand
            .map(|operand| self.expression(operand, place))
            .transpose()?;
        let (mut tests, mut results) = (Vec::new(), Vec::new());
        for branch in conditions {
            let condition = self.expression(&branch.condition, place)?;
            tests.push(match &operand {
                Some(operand) => self.compare(Operator::Eq, operand.clone(), condition)?.expr,
                None => self.coerce_boolean(condition, "CASE/WHEN")?,
            });
            results.push(self.expression(&branch.result, place)?);
        }
        if let Some(otherwise) = otherwise {
            results.push(self.expression(otherwise, place)?);
        }
        let ty = self.common_type_of("CASE", &results)?;
        let mut results = results
            .into_iter()
            .map(|result| Ok(self.convert(result, &ty, CastContext::Implicit)?.expr))
            .collect::<Result<Vec<_>>>()?;
        let otherwise = match otherwise {
            Some(_) => results.pop().map(Box::new),
            None => None,
        };
        let branches = tests
            .into_iter()
            .map(Box::new)
            .zip(results.into_iter().map(Box::new))
            .collect();
        Ok(Bound::new(Expr::Case(Case::new(None, branches, otherwise)), ty))
    }

    fn array(&mut self, items: &[ast::Expr], place: Place<'_>) -> Result<Bound> {
        if items.is_empty() {
            return Err(fault(
                StatementFault::IndeterminateDatatype,
                "cannot determine type of empty array",
            ));
        }
        let items = items
            .iter()
            .map(|item| self.expression(item, place))
            .collect::<Result<Vec<_>>>()?;
        let item = self.common_type_of("ARRAY", &items)?;
        let items = items
            .into_iter()
            .map(|bound| self.convert(bound, &item, CastContext::Implicit))
            .collect::<Result<Vec<_>>>()?;
        let ty = SqlType::Array(Box::new(item));
        let values = items
            .iter()
            .map(Bound::literal)
            .collect::<Result<Option<Vec<Value>>>>()?;
        if let Some(values) = values {
            return Bound::constant(&Value::Array(values), ty);
        }
        let arguments = items.into_iter().map(|bound| (bound.expr, bound.ty)).collect();
        let definition = ("array", functions::MAKE_ARRAY, false, Volatility::Immutable);
        Ok(Bound::new(
            functions::call(definition, arguments, ty.clone(), &self.settings),
            ty,
        ))
    }

    /// A field of a catalog function's composite result, or of a record it gave.
    fn record_field(&mut self, root: &ast::Expr, field: &str, place: Place<'_>) -> Result<Bound> {
        let mut inner = root;
        while let ast::Expr::Nested(nested) = inner {
            inner = nested;
        }
        if let ast::Expr::Function(function) = inner
            && let Some(name) = name_parts(&function.name)?.pop()
            && let Some(set) = pg_catalog::set_function(&name)
        {
            let arguments = self.arguments(&name, &function.args, place)?;
            let Some((_, column)) = set.columns.iter().find(|(column, _)| *column == field) else {
                return Err(Error::UndefinedColumn {
                    name: format!("\"{field}\""),
                    hint: None,
                    position: 0,
                });
            };
            let array = self.resolve_function(column, arguments)?;
            let item = item_type(&array.ty).unwrap_or(SqlType::Text);
            return Ok(Bound::new(Expr::Unnest(Unnest::new(array.expr)), item));
        }
        let record = self.expression(inner, place)?;
        let field = Bound::constant(&Value::Text(field.to_string()), SqlType::Text)?;
        self.resolve_function("expandarray_field", vec![record, field])
    }

    fn field_access(
        &mut self,
        root: &ast::Expr,
        chain: &[ast::AccessExpr],
        place: Place<'_>,
    ) -> Result<Bound> {
        if let [ast::AccessExpr::Dot(ast::Expr::Identifier(field))] = chain {
            return self.record_field(root, &fold(field), place);
        }
        let (mut bound, chain) = match leading_names(root, chain) {
            Some((name, count)) => (self.expression(&name, place)?, &chain[count..]),
            None => (self.expression(root, place)?, chain),
        };
        for access in chain {
            let ast::AccessExpr::Subscript(subscript) = access else {
                return Err(unsupported("a field of a composite value"));
            };
            if let (
                ast::Subscript::Index { index },
                SqlType::Int2Vector | SqlType::Name | SqlType::Catalog(_),
            ) = (subscript, &bound.ty)
            {
                // The vectors of the catalogs count from 0.
                let index = self.expression(index, place)?;
                bound = self.resolve_function("array_subscript", vec![bound, index])?;
                continue;
            }
            let item = match item_type(&bound.ty) {
                Some(item) => item,
                None => {
                    return Err(Error::DatatypeMismatch {
                        message: format!(
                            "cannot subscript type {} because it does not support subscripting",
                            type_name(&bound.ty)
                        ),
                        hint: None,
                    });
                }
            };
            bound = match subscript {
                ast::Subscript::Index { index } => {
                    let index = self.expression(index, place)?;
                    let index = self.convert(index, &SqlType::Int4, CastContext::Implicit)?;
                    let definition = ("subscript", functions::SUBSCRIPT, true, Volatility::Immutable);
                    let arguments = vec![(bound.expr, bound.ty), (index.expr, index.ty)];
                    Bound::new(
                        functions::call(definition, arguments, item.clone(), &self.settings),
                        item,
                    )
                }
                ast::Subscript::Slice {
                    lower_bound,
                    upper_bound,
                    stride: None,
                } => {
                    let mut arguments = vec![(bound.expr, bound.ty.clone())];
                    for limit in [lower_bound, upper_bound] {
                        let limit = match limit {
                            Some(limit) => self.expression(limit, place)?,
                            None => Bound::unknown(None),
                        };
                        let limit = self.convert(limit, &SqlType::Int4, CastContext::Implicit)?;
                        arguments.push((limit.expr, limit.ty));
                    }
                    let definition = ("slice", functions::SLICE, false, Volatility::Immutable);
                    Bound::new(
                        functions::call(definition, arguments, bound.ty.clone(), &self.settings),
                        bound.ty,
                    )
                }
                ast::Subscript::Slice { .. } => return Err(unsupported("a slice with a stride")),
            };
        }
        Ok(bound)
    }
}

/// `a.b` of a chain that starts with names: `tmp.indoption[1]` is parsed as the field `indoption` of `tmp`.
fn leading_names(root: &ast::Expr, chain: &[ast::AccessExpr]) -> Option<(ast::Expr, usize)> {
    let mut idents = match root {
        ast::Expr::Identifier(ident) => vec![ident.clone()],
        ast::Expr::CompoundIdentifier(idents) => idents.clone(),
        _ => return None,
    };
    let before = idents.len();
    idents.extend(chain.iter().map_while(|access| match access {
        ast::AccessExpr::Dot(ast::Expr::Identifier(ident)) => Some(ident.clone()),
        _ => None,
    }));
    let count = idents.len() - before;
    (count > 0).then_some((ast::Expr::CompoundIdentifier(idents), count))
}

fn is_null(operand: Expr, negated: bool) -> Expr {
    if negated {
        Expr::IsNotNull(Box::new(operand))
    } else {
        Expr::IsNull(Box::new(operand))
    }
}

fn json_like(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Json | SqlType::Jsonb)
}

fn literal_contains(pattern: &Expr, escape: Option<char>) -> bool {
    match (pattern, escape) {
        (Expr::Literal(datafusion::common::ScalarValue::Utf8(Some(text)), _), Some(escape)) => {
            text.contains(escape)
        }
        (_, None) => false,
        _ => true,
    }
}

fn escape_character(text: &str) -> Result<Option<char>> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (first, None) => Ok(first),
        _ => Err(Error::DataException {
            state: "22025",
            message: "invalid escape string".to_string(),
        }),
    }
}

fn comparison(op: &ast::BinaryOperator) -> Option<Operator> {
    use ast::BinaryOperator as B;
    Some(match op {
        B::Eq => Operator::Eq,
        B::NotEq => Operator::NotEq,
        B::Lt => Operator::Lt,
        B::LtEq => Operator::LtEq,
        B::Gt => Operator::Gt,
        B::GtEq => Operator::GtEq,
        _ => return None,
    })
}

/// The operator's symbol; `OPERATOR(pg_catalog.~)` is `~`.
pub(super) fn operator_name(op: &ast::BinaryOperator) -> String {
    use ast::BinaryOperator as B;
    match op {
        B::PGCustomBinaryOperator(parts) => parts.last().cloned().unwrap_or_default(),
        B::PGBitwiseXor => "#".to_string(),
        B::PGExp | B::BitwiseXor => "^".to_string(),
        B::NotEq => "<>".to_string(),
        other => other.to_string(),
    }
}

/// The fields of `(a, b)` or `ROW(a, b)`.
pub(super) fn row_items(expr: &ast::Expr) -> Option<Vec<&ast::Expr>> {
    match expr {
        ast::Expr::Tuple(items) => Some(items.iter().collect()),
        ast::Expr::Nested(inner) => row_items(inner),
        ast::Expr::Function(function) => {
            let parts = name_parts(&function.name).ok()?;
            let ast::FunctionArguments::List(list) = &function.args else {
                return None;
            };
            if parts != ["row"] {
                return None;
            }
            list.args
                .iter()
                .map(|argument| match argument {
                    ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr),
                    _ => None,
                })
                .collect()
        }
        _ => None,
    }
}

fn is_row(expr: &ast::Expr) -> bool {
    row_items(expr).is_some()
}

/// integer when it fits, else bigint, else numeric; numeric with a point or exponent.
fn number_literal(text: &str) -> Result<Bound> {
    let text = text.replace('_', "");
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.as_str()),
    };
    let based = [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)]
        .iter()
        .find_map(|(prefix, base)| digits.strip_prefix(prefix).map(|rest| (rest, *base)));
    let whole = match based {
        Some((rest, base)) => i64::from_str_radix(&format!("{sign}{rest}"), base).ok(),
        None => text.parse::<i64>().ok(),
    };
    if let Some(number) = whole {
        let ty = if i32::try_from(number).is_ok() {
            SqlType::Int4
        } else {
            SqlType::Int8
        };
        return Bound::constant(&Value::Int(number), ty);
    }
    let number = match Numeric::parse(&text) {
        Ok(number) => number,
        // Where a numeric cannot hold it (`1e100`), double precision does.
        Err(error) => {
            return match text.parse::<f64>() {
                Ok(double) if double.is_finite() => Bound::constant(&Value::Float8(double), SqlType::Float8),
                _ => Err(error),
            };
        }
    };
    let Numeric::Finite { unscaled, scale } = number else {
        return Err(Error::internal("a numeric literal that is no number"));
    };
    let digits = unscaled.to_string().trim_start_matches('-').len();
    let precision = u8::try_from(digits)
        .unwrap_or(u8::MAX)
        .max(scale + u8::from(digits <= usize::from(scale)));
    let size = (precision <= 38 && scale <= 38).then(|| NumericSize {
        precision: precision.max(1),
        scale,
    });
    Bound::constant(&Value::Numeric(number), SqlType::Numeric(size))
}
