//! Expressions: one function a form of expression, each giving a typed one of the tree.

use sqlparser::ast::{self, Spanned};

use super::binder::{Binder, Bound, Clause, Place, fault, fold, name_parts};
use super::coercion::{CastContext, type_name};
use super::context_value::is_bare_keyword;
use super::function_syntax::is_spelt;
use super::indexed_expressions::as_indexed;
use super::literal::number_literal;
use super::operator::{binary, matching_symbol, no_operator};
use super::scope::{ColumnName, ScopeRelation, capture};
use crate::error::{StatementFault, levenshtein};
use crate::functions::Volatility;
use crate::functions::{ArithmeticOp, pattern};
use crate::parse::{collation, text_place};
use crate::system::query_threads::check_left;
use crate::tree::{self, Expr, Operator};
use crate::types::SqlType;
use crate::{Error, Result};

impl Binder<'_> {
    /// Binds any expression.
    pub(super) fn expression(&mut self, expr: &ast::Expr, place: Place<'_>) -> Result<Bound> {
        check_left()?;
        if let Some(known) = self.repeated_subqueries.get(expr) {
            return Ok(known);
        }
        let bound = self.one_level_deeper(|binder| binder.expression_here(expr, place));
        let bound = match place.clause {
            Clause::Where | Clause::JoinOn => bound.map(|bound| as_indexed(bound, place.scope)),
            _ => bound,
        };
        self.repeated_subqueries.note(expr, &bound);
        self.note_expression(bound, expr)
    }

    pub(super) fn expression_here(&mut self, expr: &ast::Expr, place: Place<'_>) -> Result<Bound> {
        use ast::Expr as E;
        match expr {
            E::Identifier(ident) => self.identifier(ident, place),
            E::CompoundIdentifier(idents) => self.compound_identifier(idents, place),
            E::Nested(inner) => self.expression(inner, place),
            E::Value(value) => self.literal(&value.value),
            E::TypedString(typed) => self.typed_string(typed),
            E::Interval(interval) => self.interval(interval, place),
            E::BinaryOp { left, op, right } => self.binary_operator(left, op, right, place),
            E::UnaryOp { op, expr } => self.unary_operator(*op, expr, place),
            E::Cast { .. } => self.written_cast(expr, place),
            E::Collate { expr, collation } => self.collated(expr, collation, place),
            E::IsNull(_) | E::IsNotNull(_) => self.null_test(expr, place),
            E::IsTrue(_)
            | E::IsNotTrue(_)
            | E::IsFalse(_)
            | E::IsNotFalse(_)
            | E::IsUnknown(_)
            | E::IsNotUnknown(_) => self.truth_test(expr, place),
            E::IsDistinctFrom(a, b) => self.distinct_from(Operator::IsDistinctFrom, a, b, place),
            E::IsNotDistinctFrom(a, b) => self.distinct_from(Operator::IsNotDistinctFrom, a, b, place),
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
            E::Tuple(items) => self.tuple(items, place),
            E::QualifiedWildcard(name, _) => self.row_of_wildcard(name, place),
            E::Array(array) => self.array(&array.elem, place),
            E::CompoundFieldAccess { root, access_chain } => self.field_access(root, access_chain, place),
            other if is_spelt(other) => self.function_syntax(other, place),
            other => Err(no_value(other)),
        }
    }

    /// Binds an expression that must be a condition.
    pub(super) fn condition(&mut self, expr: &ast::Expr, place: Place<'_>) -> Result<Expr> {
        let bound = self.expression(expr, place)?;
        let name = match place.clause {
            Clause::JoinOn => "JOIN/ON",
            Clause::CopyWhere => "WHERE",
            Clause::MergeWhen | Clause::TriggerWhen => "WHEN",
            Clause::Check => "CHECK",
            clause => clause.name(),
        };
        let condition = self.coerce_boolean(bound, name);
        self.note_place(condition, |_| text_place::of_span(expr.span()))
    }

    /// `a COLLATE "C"`, which says how text compares anyway. Errors: 42804 for what is no text, 0A000 for other collations.
    fn collated(&mut self, expr: &ast::Expr, collation: &ast::ObjectName, place: Place<'_>) -> Result<Bound> {
        let bound = self.expression(expr, place)?;
        let item = bound.ty.item_type().unwrap_or(&bound.ty);
        if !item.is_string() && !matches!(item, SqlType::Unknown | SqlType::Void) {
            return Err(Error::DatatypeMismatch {
                message: format!("collations are not supported by type {}", type_name(&bound.ty)),
                hint: None,
            });
        }
        collation::check(collation)?;
        Ok(bound.computed())
    }

    pub(super) fn identifier(&mut self, ident: &ast::Ident, place: Place<'_>) -> Result<Bound> {
        let name = fold(ident);
        if let Some(variable) = self.preferred_variable(&name, place) {
            return self.variable(variable);
        }
        if let Some(found) = place.scope.get_column(&name)? {
            self.check_no_variable(&name, place)?;
            return Ok(found.clone());
        }
        if let Some(found) = self.system_column(None, &name, place.scope)? {
            return Ok(found);
        }
        let (mut outer, mut levels) = (place.outer, 0);
        while let Some(around) = outer {
            if let Some(found) = around.scope.get_column(&name)? {
                self.check_no_variable(&name, place)?;
                return Ok(capture(place.outer.expect("the walk began there"), levels, found));
            }
            outer = around.parent;
            levels += 1;
        }
        if let Some(variable) = self.variable_named(&name, place) {
            return self.variable(variable);
        }
        if ident.quote_style.is_none()
            && let Some(found) = self.bare_keyword(&name)?
        {
            return Ok(found);
        }
        if let Some(row) = self.row_named(None, &name, place)? {
            return Ok(row);
        }
        let is_quoted = ident.quote_style.is_some();
        let unknown = Error::UndefinedColumn {
            name: format!("\"{name}\""),
            hint: place.scope.hint_for(&name, is_quoted),
        };
        let column = ColumnName {
            relation: None,
            name: &name,
            is_quoted,
        };
        self.unwritten_column(column, place, unknown)
    }

    /// `current_date` and its like, which the parser gives as plain names.
    pub(super) fn bare_keyword(&mut self, name: &str) -> Result<Option<Bound>> {
        if is_bare_keyword(name) {
            self.context_value(name, &[])
        } else {
            Ok(None)
        }
    }

    pub(super) fn compound_identifier(&mut self, idents: &[ast::Ident], place: Place<'_>) -> Result<Bound> {
        let parts: Vec<String> = idents.iter().map(fold).collect();
        let (schema, relation, name) = match parts.as_slice() {
            [relation, name] => (None, relation.as_str(), name.as_str()),
            [schema, relation, name] | [_, schema, relation, name] => {
                let schema = self.ctx.settings.schema_meant(schema);
                (Some(schema), relation.as_str(), name.as_str())
            }
            _ => {
                let message = format!(
                    "improper qualified name (too many dotted names): {}",
                    parts.join(".")
                );
                return Err(fault(StatementFault::Syntax, message));
            }
        };
        let column = ColumnName {
            relation: Some(relation),
            name,
            is_quoted: idents.last().is_some_and(|ident| ident.quote_style.is_some()),
        };
        let found = match place.scope.get_qualified(schema, relation, name) {
            Err(unknown) if unknown.is_undefined_column() => {
                if let Some(found) = self.beside_columns((schema, relation), name, place)? {
                    return Ok(found);
                }
                return self.unwritten_column(column, place, unknown);
            }
            found => found?,
        };
        if let Some(found) = found {
            return Ok(found.clone());
        }
        let (mut outer, mut levels) = (place.outer, 0);
        while let Some(around) = outer {
            let found = match around.scope.get_qualified(schema, relation, name) {
                Err(unknown) if unknown.is_undefined_column() => {
                    return match self.system_column(Some((schema, relation)), name, around.scope)? {
                        Some(found) => Ok(capture(
                            place.outer.expect("the walk began there"),
                            levels,
                            &found,
                        )),
                        None => self.unwritten_column(column, place, unknown),
                    };
                }
                found => found?,
            };
            if let Some(found) = found {
                return Ok(capture(place.outer.expect("the walk began there"), levels, found));
            }
            outer = around.parent;
            levels += 1;
        }
        if let Some(variable) = self.qualified_variable(&parts, place)? {
            return self.variable(variable);
        }
        if let Some(field) = self.field_of_variable(&parts, place)? {
            return Ok(field);
        }
        match self.field_of_argument((idents, &parts), place)? {
            Some(field) => Ok(field),
            None => Err(missing_from(relation, place)),
        }
    }

    pub(super) fn binary_operator(
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
        if *op == B::Overlaps {
            return self.overlaps(left, right, place);
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
        let has_own = |ty: &SqlType| {
            matches!(
                ty,
                SqlType::Range(_) | SqlType::Multirange(_) | SqlType::Packed(_)
            )
        };
        if matches!(symbol, "+" | "-" | "*") && (has_own(&left.ty) || has_own(&right.ty)) {
            return self.operator_function(symbol, left, right);
        }
        match symbol {
            "=" => self.compare(Operator::Eq, left, right),
            "<>" | "!=" => self.compare(Operator::NotEq, left, right),
            "<" => self.compare(Operator::Lt, left, right),
            "<=" => self.compare(Operator::LtEq, left, right),
            ">" => self.compare(Operator::Gt, left, right),
            ">=" => self.compare(Operator::GtEq, left, right),
            "+" => self.arithmetic(ArithmeticOp::Add, left, right),
            "-" if left.ty == SqlType::Unknown && is_member(&right.ty) => {
                let left = self.coerce(left, &SqlType::Jsonb)?;
                self.operator_function(symbol, left, right)
            }
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
    pub(super) fn operator_function(&mut self, symbol: &str, left: Bound, right: Bound) -> Result<Bound> {
        let (left_type, right_type) = (left.ty.clone(), right.ty.clone());
        // Regular expressions see char(n) with its padding.
        let left = match left.ty {
            SqlType::Char(_) if matches!(symbol, "~" | "~*" | "!~" | "!~*") => self.like_operand(left)?,
            _ => left,
        };
        match self.resolve_function(matching_symbol(symbol, &left.ty), vec![left, right]) {
            Err(Error::UndefinedFunction { .. }) => Err(no_operator(symbol, &left_type, &right_type)),
            other => other,
        }
    }

    /// `||`: arrays, bytea, jsonb, and text with anything.
    pub(super) fn concatenate(&mut self, left: Bound, right: Bound) -> Result<Bound> {
        use SqlType as S;
        let (a, b) = (left.ty.clone(), right.ty.clone());
        let is_array = |ty: &S| ty.item_type().is_some();
        let special = |ty: &S| is_array(ty) || matches!(ty, S::Bytea | S::Jsonb | S::TsVector | S::TsQuery);
        // Beside a text they are joined as texts.
        let is_text = |ty: &S| ty.is_string() && *ty != S::Unknown || *ty == S::InternalChar;
        let joins_text = (is_text(&a) || is_text(&b)) && !is_array(&a) && !is_array(&b);
        if (special(&a) || special(&b)) && !joins_text {
            return self.operator_function("||", left, right);
        }
        if a.is_bits() && (b.is_bits() || b == S::Unknown) || b.is_bits() && a == S::Unknown {
            let left = self.convert(left, &S::VarBit(None), CastContext::Implicit)?;
            let right = self.convert(right, &S::VarBit(None), CastContext::Implicit)?;
            return self.operator_function("||", left, right);
        }
        let stringy = |ty: &S| ty.is_string() || matches!(ty, S::Unknown | S::Void | S::InternalChar);
        if !stringy(&a) && !stringy(&b) {
            return Err(no_operator("||", &a, &b));
        }
        let left = self.convert(left, &S::Text, CastContext::Explicit)?;
        let right = self.convert(right, &S::Text, CastContext::Explicit)?;
        let definition = ("||", pattern::CONCATENATE, true, Volatility::Immutable);
        let arguments = vec![(left.expr, left.ty), (right.expr, right.ty)];
        Ok(Bound::new(
            tree::call(definition, arguments, S::Text, &self.settings),
            S::Text,
        ))
    }

    pub(super) fn unary_operator(
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
                _ if operand.ty.is_number() => Ok(operand.computed()),
                _ => Err(Error::UndefinedOperator {
                    signature: format!("+ {}", type_name(&operand.ty)),
                    ambiguous: false,
                }),
            },
            U::BitwiseNot => self.unary_function("~", operand),
            U::PGAbs => self.unary_function("abs", operand),
            U::PGPrefixFactorial => self.unary_function("!!", operand),
            U::PGSquareRoot => {
                // The operator is one of doubles alone.
                let operand = match operand.ty.is_number() {
                    true => self.convert(operand, &SqlType::Float8, CastContext::Implicit)?,
                    false => operand,
                };
                self.unary_function("sqrt", operand)
            }
            U::PGCubeRoot => self.unary_function("cbrt", operand),
            other => Err(Error::unsupported(format!("the operator {other}"), None)),
        }
    }

    /// A function that stands behind an operator before its operand.
    pub(super) fn unary_function(&mut self, name: &str, operand: Bound) -> Result<Bound> {
        let ty = operand.ty.clone();
        let symbol = match name {
            "abs" => "@",
            "sqrt" => "|/",
            "cbrt" => "||/",
            symbol => symbol,
        };
        match self.resolve_function(name, vec![operand]) {
            Err(Error::UndefinedFunction { .. }) => Err(Error::UndefinedOperator {
                signature: format!("{symbol} {}", type_name(&ty)),
                ambiguous: false,
            }),
            other => other,
        }
    }
}

fn json_like(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Json | SqlType::Jsonb)
}

/// Whether it is what only members of documents are taken away by: a name, or an array of such.
fn is_member(ty: &SqlType) -> bool {
    let is_name = |ty: &SqlType| *ty != SqlType::Unknown && ty.is_string();
    is_name(ty.item_type().unwrap_or(ty))
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
        B::PGCustomBinaryOperator(_) => return comparison_named(&operator_name(op)),
        _ => return None,
    })
}

/// The comparison of this symbol.
pub(super) fn comparison_named(symbol: &str) -> Option<Operator> {
    Some(match symbol {
        "=" => Operator::Eq,
        "<>" | "!=" => Operator::NotEq,
        "<" => Operator::Lt,
        "<=" => Operator::LtEq,
        ">" => Operator::Gt,
        ">=" => Operator::GtEq,
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

/// The query of `(SELECT …)`.
pub(super) fn query_of(expr: &ast::Expr) -> Option<&ast::Query> {
    match expr {
        ast::Expr::Subquery(query) => Some(query),
        ast::Expr::Nested(inner) => query_of(inner),
        _ => None,
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

pub(super) fn is_row(expr: &ast::Expr) -> bool {
    row_items(expr).is_some()
}

/// The error for what is no value.
fn no_value(expr: &ast::Expr) -> Error {
    match expr {
        ast::Expr::Wildcard(_) => Error::Syntax {
            message: "syntax error at or near \"*\"".to_string(),
            position: 0,
        },
        other => Error::unsupported(format!("the expression {other}"), None),
    }
}

/// The error for a relation that FROM has not, or that an alias hides.
pub(super) fn missing_from(relation: &str, place: Place<'_>) -> Error {
    let relations = &place.scope.relations;
    let is_hidden = |other: &&ScopeRelation| other.hidden_name.as_deref() == Some(relation);
    if let Some(hidden) = relations.iter().find(is_hidden) {
        return Error::InvalidFromReference {
            relation: relation.to_string(),
            alias: Some(hidden.name.clone()),
        };
    }
    let mut aliased = relations.iter().filter(|other| other.schema.is_none());
    let hidden = aliased.find(|other| other.name != relation);
    Error::MissingFrom {
        relation: relation.to_string(),
        hint: hidden
            .filter(|other| levenshtein(&other.name, relation) <= 2)
            .map(|other| {
                format!(
                    "Perhaps you meant to reference the table alias \"{}\".",
                    other.name
                )
            }),
    }
}
