//! Subqueries in expressions. Binding leaves a marker (the tree's own subquery expressions) in the expression; `lower` then
//! decides, where the expression gets its place in the plan, who computes each one: a join, where that is known to be right,
//! or else a dependent join that runs the subquery for every distinct set of outer values.

use std::sync::Arc;

use sqlparser::ast;

use super::binder::{Binder, Bound, BoundQuery, Place, QueryColumn, fault};
use super::branches::Branches;
use super::coercion::{self, CastContext};
use super::correlation_bound;
use super::decorrelation::{has_subquery, sub_plan, sub_plan_of, without_never_true};
use super::expression::{operator_name, query_of, row_items};
use super::operator::{binary, matching_symbol, no_operator};
use super::same_rows::has_equality;
use super::scope::Outer;
use super::set_returning::has_set;
use crate::error::StatementFault;
use crate::functions;
use crate::functions::Volatility;
use crate::functions::value_array::scalar_of;
use crate::tree::{
    self, Accumulator, AggregateFunction, Alias, Case, Column, DependentJoin, Exists, Expr, InSubquery,
    Operator, Plan, Projection, RowSchema, ScalarValue, SubPlan, Subquery, Transformed, TreeNode,
    TreeNodeRecursion,
};
use crate::types::{ArrayValue, SqlType, Value};
use crate::{Error, Result};

impl Binder<'_> {
    /// Binds a subquery and notes the outer columns it uses.
    pub(super) fn subquery(
        &mut self,
        query: &ast::Query,
        place: Place<'_>,
    ) -> Result<(BoundQuery, Subquery)> {
        let outer = Outer::new(place.scope, place.outer, Some(place.clause));
        let around = std::mem::take(&mut self.repeated_subqueries);
        let bound = self.query(query, Some(&outer));
        self.repeated_subqueries = around;
        let bound = bound?;
        let marker = Subquery {
            subquery: Arc::new(bound.plan.clone()),
            // The alias keeps the column's name inside the subquery while the expression may be mapped.
            outer_ref_columns: captured(outer),
        };
        Ok((bound, marker))
    }

    fn one_column(&mut self, query: &ast::Query, place: Place<'_>) -> Result<(QueryColumn, Subquery)> {
        let (bound, marker) = self.subquery(query, place)?;
        match bound.columns.as_slice() {
            [column] => Ok((column.clone(), marker)),
            [] => Err(fault(StatementFault::Syntax, "subquery must return a column")),
            _ => Err(fault(
                StatementFault::Syntax,
                "subquery must return only one column",
            )),
        }
    }

    /// `(SELECT …)` as a value.
    pub(super) fn scalar_subquery(&mut self, query: &ast::Query, place: Place<'_>) -> Result<Bound> {
        let (column, marker) = self.one_column(query, place)?;
        let (ty, is_declared) = (column.ty, column.is_declared);
        let plan = &marker.subquery;
        let is_open = plan.has_expression(|expr| matches!(expr, Expr::Placeholder(_)));
        let is_nullable = plan.schema().field(0).is_nullable() && !is_open;
        let mut value = Expr::ScalarSubquery(marker);
        if !is_nullable {
            // A column without NULLs (a parameter may become one) gives one when there is no row.
            value = self.perhaps_null(value, &ty, Volatility::Immutable);
        }
        Ok(Bound {
            is_declared,
            ..Bound::new(value, ty)
        })
    }

    /// The expression, as one that may be NULL.
    pub(super) fn perhaps_null(&self, expr: Expr, ty: &SqlType, volatility: Volatility) -> Expr {
        let definition = ("perhaps_null", functions::cast::CAST, false, volatility);
        tree::call(definition, vec![(expr, ty.clone())], ty.clone(), &self.settings)
    }

    /// `EXISTS (SELECT …)`.
    pub(super) fn exists(&mut self, query: &ast::Query, negated: bool, place: Place<'_>) -> Result<Bound> {
        let (_, mut marker) = self.subquery(query, place)?;
        if let Plan::Projection(projection) = marker.subquery.as_ref()
            && !projection.expr.iter().any(has_set)
        {
            // What is selected does not matter; as columns it could clash with those that decorrelation adds.
            let one = Bound::constant(&Value::Int(1), SqlType::Int4)?.expr;
            let one = one.alias(self.unique_name("?exists"));
            let plan = projection.input.as_ref().clone().project(vec![one])?;
            marker.subquery = Arc::new(plan);
        }
        Ok(Bound::new(
            Expr::Exists(Exists::new(marker, negated)),
            SqlType::Bool,
        ))
    }

    /// `x IN (SELECT …)`, also `(x, y) IN (SELECT a, b …)`.
    pub(super) fn in_subquery(
        &mut self,
        expr: &ast::Expr,
        query: &ast::Query,
        negated: bool,
        place: Place<'_>,
    ) -> Result<Bound> {
        if let Some(items) = row_items(expr) {
            return self.row_in_subquery(&items, query, negated, place);
        }
        let operand = self.expression(expr, place)?;
        self.membership(operand, query, negated, place)
    }

    fn membership(
        &mut self,
        operand: Bound,
        query: &ast::Query,
        negated: bool,
        place: Place<'_>,
    ) -> Result<Bound> {
        let (bound, marker) = self.subquery(query, place)?;
        let [column] = bound.columns.as_slice() else {
            return Err(fault(StatementFault::Syntax, "subquery has too many columns"));
        };
        let inner = Bound::new(Expr::Column(column.column.clone()), column.ty.clone());
        let (operand, item) = self.comparable("=", operand, inner)?;
        let marker = self.with_column(marker, item)?;
        Ok(Bound::new(
            Expr::InSubquery(InSubquery::new(Box::new(operand), marker, negated)),
            SqlType::Bool,
        ))
    }

    /// The subquery with its only column computed as `item`.
    fn with_column(&mut self, marker: Subquery, item: Expr) -> Result<Subquery> {
        let correlated = !marker.outer_ref_columns.is_empty();
        if matches!(item, Expr::Column(_)) && !correlated {
            return Ok(marker);
        }
        let name = self.unique_name("?item");
        let (input, item) = match marker.subquery.as_ref() {
            // Decorrelation adds columns to a projection: the name of a column of the table could clash with them.
            Plan::Projection(projection) if correlated && !projection.expr.iter().any(has_set) => (
                projection.input.as_ref().clone(),
                computed_below(item, projection)?,
            ),
            plan => (plan.clone(), item),
        };
        let plan = input.project(vec![item.alias(name)])?;
        Ok(Subquery {
            subquery: Arc::new(plan),
            ..marker
        })
    }

    /// `x op ANY (…)` and `x op ALL (…)` over a subquery or an array.
    pub(super) fn quantified(
        &mut self,
        left: &ast::Expr,
        op: &ast::BinaryOperator,
        right: &ast::Expr,
        all: bool,
        place: Place<'_>,
    ) -> Result<Bound> {
        let symbol = operator_name(op);
        if let Some(query) = query_of(right) {
            if let Some(items) = row_items(left) {
                return self.quantified_row(&items, &symbol, (query, all), place);
            }
            let operand = self.expression(left, place)?;
            return match (symbol.as_str(), all) {
                ("=", false) => self.membership(operand, query, false, place),
                ("<>", true) => self.membership(operand, query, true, place),
                _ => self.quantified_subquery(operand, &symbol, query, all, place),
            };
        }
        let (operand, array) = (self.expression(left, place)?, self.expression(right, place)?);
        self.quantified_array(operand, &symbol, array, all)
    }

    /// An array, of values of the operand's type where it says nothing of what it is.
    fn array_beside(&mut self, array: Bound, operand: &SqlType) -> Result<Bound> {
        if !matches!(array.ty, SqlType::Unknown | SqlType::Void) {
            return Ok(array);
        }
        let item = match operand {
            // Of varchar there are no operators.
            SqlType::Unknown | SqlType::Void | SqlType::Varchar(_) => SqlType::Text,
            ty => coercion::base(ty),
        };
        self.convert(array, &SqlType::array(item), CastContext::Implicit)
    }

    /// The items of a literal that says nothing of what it is, each as untyped as that. `None`: of any other array, and where the operand's
    /// type does not say what an item is.
    fn untyped_items(&mut self, array: &Bound, operand: &SqlType) -> Result<Option<Vec<Bound>>> {
        let is_item = |ty: &SqlType| {
            !matches!(
                ty,
                SqlType::Unknown | SqlType::Void | SqlType::Array(_) | SqlType::Record(_)
            )
        };
        let text = match &array.expr {
            Expr::Literal(ScalarValue::Utf8(Some(text)), _) if array.ty == SqlType::Unknown => text,
            _ => return Ok(None),
        };
        if !is_item(operand) {
            return Ok(None);
        }
        let texts = SqlType::array(SqlType::Text);
        let Value::Array(items) = Value::parse(text, &texts, &self.ctx.format_settings())? else {
            return Ok(None);
        };
        let item = |item| match item {
            Value::Text(text) => Bound::unknown(Some(text)),
            _ => Bound::unknown(None),
        };
        Ok(Some(items.into_items().into_iter().map(item).collect()))
    }

    /// The operand compared with each item: one of them, or `all`, must do.
    fn compare_items(&mut self, operand: Bound, symbol: &str, items: Vec<Bound>, all: bool) -> Result<Bound> {
        if items.is_empty() {
            return Bound::constant(&Value::Bool(all), SqlType::Bool);
        }
        match (symbol, all) {
            ("=", false) => return self.among(operand, items, false),
            ("<>", true) => return self.among(operand, items, true),
            _ => {}
        }
        let mut test: Option<Expr> = None;
        let joint = if all { Operator::And } else { Operator::Or };
        for item in items {
            let one = self.operator(symbol, operand.clone(), item)?;
            let one = self.coerce_boolean(one, "ANY/ALL")?;
            test = Some(match test {
                Some(before) => binary(before, joint, one),
                None => one,
            });
        }
        let test = test.ok_or_else(|| Error::unsupported("an empty list", None))?;
        Ok(Bound::new(test, SqlType::Bool))
    }

    /// Over an array: a constant one becomes an IN list or comparisons, any other a function of both.
    fn quantified_array(&mut self, operand: Bound, symbol: &str, array: Bound, all: bool) -> Result<Bound> {
        if let Some(items) = self.untyped_items(&array, &operand.ty)? {
            return self.compare_items(operand, symbol, items, all);
        }
        let array = self.array_beside(array, &operand.ty)?;
        let Some(item) = array.ty.item_type() else {
            return Err(Error::WrongObjectType {
                name: "ANY/ALL".to_string(),
                expected: "operator over an array",
                hint: Some("op ANY/ALL requires an array on its right side.".to_string()),
            });
        };
        if let Some(Value::Array(values)) = array.literal()? {
            let items = values
                .iter()
                .map(|value| Bound::constant(value, item.clone()))
                .collect::<Result<Vec<_>>>()?;
            return self.compare_items(operand, symbol, items, all);
        }
        if let Some(test) = functions::quantified_pattern(matching_symbol(symbol, &operand.ty), all) {
            return self.match_listed(operand, (symbol, test), array);
        }
        let common = match (&operand.ty, item) {
            // "char" compares with any string as text.
            (SqlType::InternalChar, other) | (other, SqlType::InternalChar) if other.is_string() => {
                Some(SqlType::Text)
            }
            (operand, item) if operand.is_float() || item.is_float() => coercion::promote(operand, item),
            (operand, item) => super::operator::compared_type(operand, item),
        };
        let common = common.filter(has_equality);
        let common = common.ok_or_else(|| no_operator(symbol, &operand.ty, item))?;
        let operand = self.convert(operand, &common, CastContext::Implicit)?;
        let common = match array.ty.is_list() {
            true => SqlType::list(common),
            false => SqlType::array(common),
        };
        let array = self.convert(array, &common, CastContext::Implicit)?;
        let Some((name, body)) = functions::quantified(symbol, all) else {
            return Err(Error::unsupported(
                format!("{symbol} with ANY or ALL over an array"),
                None,
            ));
        };
        // By which a list compares, once the array is known.
        let key = match &operand.ty {
            SqlType::Citext => Some((self.order_key(operand.clone())?, SqlType::Text)),
            ty if ty.is_variable_numeric() => Some((self.order_key(operand.clone())?, SqlType::Bytea)),
            _ => None,
        };
        let mut arguments = vec![(operand.expr, operand.ty), (array.expr, array.ty)];
        arguments.extend(key);
        let definition = (name, body, false, Volatility::Immutable);
        Ok(Bound::new(
            tree::call(definition, arguments, SqlType::Bool, &self.settings),
            SqlType::Bool,
        ))
    }

    /// `x ~~ ANY (patterns)` and its like. `test`: the function that it is.
    fn match_listed(
        &mut self,
        operand: Bound,
        (symbol, (name, body)): (&str, (&'static str, functions::Body)),
        patterns: Bound,
    ) -> Result<Bound> {
        let item = patterns.ty.item_type().unwrap_or(&SqlType::Unknown);
        let is_text = |ty: &SqlType| ty.is_string() || matches!(ty, SqlType::Unknown);
        if !is_text(&operand.ty) || !is_text(item) {
            return Err(super::operator::no_operator(symbol, &operand.ty, item));
        }
        let operand = self.convert(operand, &SqlType::Text, CastContext::Implicit)?;
        let patterns = self.convert(patterns, &SqlType::array(SqlType::Text), CastContext::Implicit)?;
        let arguments = vec![(operand.expr, operand.ty), (patterns.expr, patterns.ty)];
        let definition = (name, body, false, Volatility::Immutable);
        let test = tree::call(definition, arguments, SqlType::Bool, &self.settings);
        Ok(Bound::new(test, SqlType::Bool))
    }

    /// `x < ALL (SELECT …)` and its like, over the subquery's column as an array.
    fn quantified_subquery(
        &mut self,
        operand: Bound,
        symbol: &str,
        query: &ast::Query,
        all: bool,
        place: Place<'_>,
    ) -> Result<Bound> {
        // No row at all gives a list without items, so that ALL holds and ANY does not.
        let list = self.listed_subquery(query, false, place)?;
        self.quantified_array(operand, symbol, list, all)
    }

    /// `ARRAY(SELECT …)`.
    pub(super) fn array_subquery(&mut self, query: &ast::Query, place: Place<'_>) -> Result<Bound> {
        self.listed_subquery(query, true, place)
    }

    /// The column of a subquery as a list, or as an array.
    fn listed_subquery(&mut self, query: &ast::Query, is_array: bool, place: Place<'_>) -> Result<Bound> {
        let (bound, marker) = self.subquery(query, place)?;
        let [column] = bound.columns.as_slice() else {
            return Err(fault(
                StatementFault::Syntax,
                "subquery must return only one column",
            ));
        };
        let given = Bound::new(Expr::Column(column.column.clone()), column.ty.clone());
        // Of a string of no type the array is one of texts.
        let item = match is_array {
            true => self.with_decided_type(given)?,
            false => given,
        };
        let (argument, item) = (item.expr, item.ty);
        let ty = SqlType::list(item.clone());
        let (input, order) = self.with_order(bound.plan.clone())?;
        let call = AggregateFunction::new(Accumulator::Array, vec![argument], false, None, order);
        let name = self.unique_name("?array");
        let gathered = input.aggregate(Vec::new(), vec![Expr::AggregateFunction(call)])?;
        let array = Expr::Column(Column::from(gathered.schema().qualified_field(0)));
        let empty = scalar_of(&Value::Array(ArrayValue::default()), &ty)?;
        let filled = Case::new(
            None,
            vec![(
                Box::new(Expr::IsNull(Box::new(array.clone()))),
                Box::new(Expr::Literal(empty, None)),
            )],
            Some(Box::new(array)),
        );
        let list = Bound::new(Expr::Case(filled), ty);
        let whole = match is_array {
            true => {
                let array = SqlType::array(item);
                self.gathered("array_agg", functions::GATHERED, list, array)
            }
            false => list,
        };
        let ty = whole.ty;
        let plan = gathered.project(vec![whole.expr.alias(name)])?;
        Ok(Bound::new(
            Expr::ScalarSubquery(Subquery {
                subquery: Arc::new(plan),
                ..marker
            }),
            ty,
        ))
    }

    /// Gives every subquery in the expressions its place in the plan: those of ours become columns of a dependent join
    /// over `plan`. `filter`: the expressions are conditions that only TRUE passes, so joins may be made of them.
    pub(super) fn place_subqueries(
        &mut self,
        plan: Plan,
        exprs: Vec<Expr>,
        filter: bool,
    ) -> Result<(Plan, Vec<Expr>)> {
        if !exprs.iter().any(has_subquery) {
            return Ok((plan, exprs));
        }
        let (plan, exprs) = self.place_operands(plan, exprs)?;
        let mut sub_plans = Vec::new();
        let mut lowered = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let expr = if filter { without_never_true(expr) } else { expr };
            let kept = if filter { self.keep_as_join(&expr)? } else { None };
            lowered.push(match kept {
                Some(kept) => kept,
                None => self.lower_subqueries(expr, None, &mut sub_plans)?,
            });
        }
        let is_bounded = correlation_bound::is_bounded(&plan, if filter { &lowered } else { &[] });
        let (mut plan, mut dependent) = (plan, Vec::new());
        for sub_plan in sub_plans {
            match self.grouped_join(&sub_plan, is_bounded)? {
                Some(joined) => plan = joined.join_to(plan)?,
                None => dependent.push(sub_plan),
            }
        }
        if dependent.is_empty() {
            return Ok((plan, lowered));
        }
        Ok((
            Plan::DependentJoin(DependentJoin::new(Arc::new(plan), dependent)),
            lowered,
        ))
    }

    /// The expression with a column in place of each subquery of ours, which joins `sub_plans`. `when`: where the expression
    /// is looked at.
    fn lower_subqueries(
        &mut self,
        expr: Expr,
        when: Option<&Expr>,
        sub_plans: &mut Vec<SubPlan>,
    ) -> Result<Expr> {
        let lowered = expr.transform_down(|expr| {
            if let Some(branches) = Branches::of(&expr, when) {
                let case = self.lower_branches(branches, sub_plans)?;
                return Ok(Transformed::new(case, true, TreeNodeRecursion::Jump));
            }
            let Some((kind, subquery)) = sub_plan_of(&expr) else {
                return Ok(Transformed::no(expr));
            };
            // One that was bound once for several places is asked once for them.
            let known = sub_plans.iter().find(|known| {
                let is_same = Arc::ptr_eq(&known.plan, &subquery.subquery) && known.kind == kind;
                is_same && known.asked_when.as_ref() == when
            });
            let name = match known {
                Some(known) => known.name.clone(),
                None => {
                    let name = self.unique_name("?subquery");
                    sub_plans.push(SubPlan {
                        asked_when: when.cloned(),
                        ..sub_plan(kind, subquery, &name)?
                    });
                    name
                }
            };
            let column = Expr::Column(Column::new_unqualified(name));
            Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
        });
        lowered.map(|lowered| lowered.data)
    }

    /// A CASE whose subqueries are asked only where their branch is taken.
    fn lower_branches(&mut self, branches: Branches, sub_plans: &mut Vec<SubPlan>) -> Result<Expr> {
        let mut lowered = Vec::with_capacity(branches.when_then.len());
        for (condition, result, taken) in branches.when_then {
            let condition = self.lower_subqueries(condition, None, sub_plans)?;
            let result = self.lower_subqueries(result, taken.as_ref(), sub_plans)?;
            lowered.push((Box::new(condition), Box::new(result)));
        }
        let otherwise = branches.otherwise.map(|(result, taken)| {
            let result = self.lower_subqueries(result, taken.as_ref(), sub_plans)?;
            Ok::<_, Error>(Box::new(result))
        });
        Ok(Expr::Case(Case::new(None, lowered, otherwise.transpose()?)))
    }
}

/// The expression over a projection's columns as one over its input.
pub(super) fn computed_below(expr: Expr, projection: &Projection) -> Result<Expr> {
    computed_of(expr, &projection.schema, &projection.expr)
}

/// An expression over the columns of `schema`, in terms of what these are computed by.
pub(super) fn computed_of(expr: Expr, schema: &RowSchema, computed: &[Expr]) -> Result<Expr> {
    let replaced = expr.transform_up(|expr| match &expr {
        Expr::Column(column) => {
            let index = schema.index_of_column(column)?;
            Ok(Transformed::yes(computed[index].clone().unalias()))
        }
        _ => Ok(Transformed::no(expr)),
    });
    replaced.map(|replaced| replaced.data)
}

/// All that a subquery uses of the query around.
pub(super) fn captured(outer: Outer<'_>) -> Vec<Expr> {
    outer
        .captured
        .into_inner()
        .into_iter()
        .map(named_capture)
        .collect()
}

/// What a subquery uses of the query around, under the name that it has there.
pub(super) fn named_capture((Column { relation, name, .. }, expr): (Column, Expr)) -> Expr {
    Expr::Alias(Alias::new(expr, relation, name))
}
