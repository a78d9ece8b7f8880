//! Subqueries that are answered before the plan around them is made: uncorrelated ones that a condition compares something
//! with, and those of a key's `IN`. With constants in their place the condition bounds the key that is read, or is refused,
//! as one with constants is. Called by `plan`.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::DataType;
use futures::TryStreamExt;

use super::BatchStream;
use crate::functions::value_array::{null_of, scalar_at};
use crate::functions::{self, Volatility};
use crate::logical::dependent_join::{for_each_node, is_volatile};
use crate::logical::stored_table::scanned_table;
use crate::tree::{
    self, BinaryExpr, Expr, Filter, InList, Operator, Placeholder, Plan, ScalarValue, Subquery, Transformed,
    TreeNode, TreeNodeRecursion, split_conjunction,
};
use crate::types::{FormatSettings, SqlType};
use crate::{Error, Result};

/// A subquery to be answered first.
#[derive(Debug)]
pub(super) struct PriorSubquery {
    /// As it stands in a condition: a scalar subquery, or a membership.
    marker: Expr,
    /// What it gives.
    pub(super) plan: Plan,
}

/// The subqueries of a query that are answered first.
pub(super) fn prior_subqueries(plan: &Plan) -> Vec<PriorSubquery> {
    let mut found = Vec::new();
    let walked = plan.apply(|node| {
        match node {
            // What it repeats may read its own rows.
            Plan::RecursiveQuery(_) => return Ok(TreeNodeRecursion::Jump),
            Plan::Filter(filter) => {
                for condition in split_conjunction(&filter.predicate) {
                    found.extend(compared_subqueries(condition)?);
                    found.extend(key_membership(condition, &filter.input));
                }
            }
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_or_else(|_| Vec::new(), |_| found)
}

/// The scalar subqueries that a comparison compares something with.
fn compared_subqueries(condition: &Expr) -> Result<Vec<PriorSubquery>> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else {
        return Ok(Vec::new());
    };
    let sides = [left, right];
    let is_comparison = matches!(
        op,
        Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
    );
    if !is_comparison || sides.iter().all(|side| side.column_refs().is_empty()) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for side in sides.into_iter().filter(|side| side.column_refs().is_empty()) {
        side.apply(|expr| {
            if let Expr::ScalarSubquery(subquery) = expr
                && stands_alone(subquery)
            {
                found.push(PriorSubquery::new(expr, subquery));
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(found)
}

/// `key IN (SELECT …)`.
fn key_membership(condition: &Expr, input: &Plan) -> Option<PriorSubquery> {
    let Expr::InSubquery(test) = condition else {
        return None;
    };
    let operand = match test.expr.as_ref() {
        Expr::Cast(cast) => cast.expr.as_ref(),
        operand => operand,
    };
    if test.negated || !is_key_column(operand, input) || !stands_alone(&test.subquery) {
        return None;
    }
    Some(PriorSubquery::new(condition, &test.subquery))
}

/// Whether the expression is a column of the primary key of a stored table in the plan.
fn is_key_column(expr: &Expr, plan: &Plan) -> bool {
    let Expr::Column(column) = expr else {
        return false;
    };
    let relation = column.relation.as_ref().map(|relation| relation.table());
    let is_key = |node: &Plan| {
        let Plan::TableScan(scan) = node else {
            return false;
        };
        scanned_table(scan).is_some_and(|scanned| {
            let (table, alias) = (&scanned.table, &*scanned.alias);
            let at = table.column_index(&column.name);
            relation == Some(alias) && at.is_some_and(|at| table.key_columns().contains(&at))
        })
    };
    plan.exists(|node| Ok(is_key(node))).unwrap_or(false)
}

/// Whether a subquery gives the same rows wherever and whenever it is run, and nobody else counts on their being made once.
fn stands_alone(subquery: &Subquery) -> bool {
    let plan = &subquery.subquery;
    let mut is_own = subquery.outer_ref_columns.is_empty();
    let walked = for_each_node(plan, &mut |node| {
        is_own &= !matches!(node, Plan::SharedRows(_));
        Ok(TreeNodeRecursion::Continue)
    });
    walked.is_ok() && is_own && matches!(is_volatile(plan), Ok(false))
}

impl PriorSubquery {
    fn new(marker: &Expr, subquery: &Subquery) -> PriorSubquery {
        PriorSubquery {
            marker: marker.clone(),
            plan: subquery.subquery.as_ref().clone(),
        }
    }

    /// Whether it stands for all values of a list, of which there must be few.
    pub(super) fn is_list(&self) -> bool {
        matches!(self.marker, Expr::InSubquery(_))
    }

    /// What it gives, of its rows; `None` when a list would be longer than it may. Errors: 21000 for several rows of a scalar, and
    /// those of the rows.
    pub(super) async fn answer(&self, rows: BatchStream, items_max: usize) -> Result<Option<Answer>> {
        match self.is_list() {
            true => Ok(values(rows, items_max).await?.map(Answer::List)),
            false => {
                let ty = self.plan.schema().field(0).data_type();
                Ok(Some(Answer::Value(value(rows, ty).await?)))
            }
        }
    }

    /// What stands in the marker's place with an answer.
    pub(super) fn answered(&self, answer: &Answer) -> Expr {
        let literal = |value: &ScalarValue| Expr::Literal(value.clone(), None);
        match (answer, &self.marker) {
            (Answer::List(items), Expr::InSubquery(test)) if !items.is_empty() => {
                let items = items.iter().map(literal).collect();
                Expr::InList(InList::new(test.expr.clone(), items, false))
            }
            (Answer::List(_), _) => Expr::Literal(ScalarValue::Boolean(Some(false)), None),
            (Answer::Value(value), _) => literal(value),
        }
    }

    /// What stands there in a plan that is kept: a placeholder of this name for the value, or for an array of the list. `None`: values
    /// of its type are listed by another form than their own.
    pub(super) fn open(&self, name: &str, settings: &Arc<FormatSettings>) -> Option<Expr> {
        let (field, ty) = (self.plan.schema().field(0), self.item_type());
        let placeholder = |field| {
            Expr::Placeholder(Placeholder {
                id: name.to_string(),
                field: Some(Arc::new(field)),
            })
        };
        let Expr::InSubquery(test) = &self.marker else {
            return Some(placeholder(field.as_ref().clone().with_nullable(true)));
        };
        if ty == SqlType::Citext || ty.is_variable_numeric() || ty.item_type().is_some() {
            return None;
        }
        let (name, body) = functions::quantified("=", false)?;
        let array = SqlType::list(ty.clone());
        let list = placeholder(array.field(name, true));
        let arguments = vec![((*test.expr).clone(), ty), (list, array)];
        let definition = (name, body, false, Volatility::Immutable);
        Some(tree::call(definition, arguments, SqlType::Bool, settings))
    }

    /// What that placeholder stands for.
    pub(super) fn constant(&self, answer: &Answer) -> ScalarValue {
        match answer {
            Answer::Value(value) => value.clone(),
            Answer::List(items) => {
                let items: Vec<ScalarValue> = items.iter().cloned().collect();
                let ty = self.plan.schema().field(0).data_type();
                ScalarValue::List(ScalarValue::new_list_nullable(&items, ty))
            }
        }
    }

    fn item_type(&self) -> SqlType {
        SqlType::from_field(self.plan.schema().field(0))
    }
}

/// What a subquery gives.
#[derive(Debug)]
pub(super) enum Answer {
    /// A scalar's value.
    Value(ScalarValue),
    /// Those of a list that are not NULL.
    List(HashSet<ScalarValue>),
}

/// The one value; NULL without a row. Errors: 21000 for several rows.
async fn value(mut batches: BatchStream, ty: &DataType) -> Result<ScalarValue> {
    let mut found = None;
    while let Some(batch) = batches.try_next().await? {
        if batch.num_rows() > 1 || (found.is_some() && batch.num_rows() > 0) {
            return Err(Error::CardinalityViolation);
        }
        if batch.num_rows() == 1 {
            found = Some(scalar_at(batch.column(0), 0)?);
        }
    }
    found.map_or_else(|| null_of(ty), Ok)
}

/// The distinct values that are not NULL; `None` when there are more than so many.
async fn values(mut batches: BatchStream, values_max: usize) -> Result<Option<HashSet<ScalarValue>>> {
    let mut found = HashSet::new();
    while let Some(batch) = batches.try_next().await? {
        for row in 0..batch.num_rows() {
            let value = scalar_at(batch.column(0), row)?;
            if !value.is_null() {
                found.insert(value);
            }
        }
        if found.len() > values_max {
            return Ok(None);
        }
    }
    Ok(Some(found))
}

/// The plan with answers in the place of the markers.
pub(super) fn with_answers(plan: &Plan, answers: &[(&PriorSubquery, Expr)]) -> Result<Plan> {
    let answer_to = |expr: Expr| {
        let known = answers.iter().find(|(subquery, _)| subquery.marker == expr);
        Ok(match known {
            Some((_, answer)) => Transformed::new(answer.clone(), true, TreeNodeRecursion::Jump),
            None => Transformed::no(expr),
        })
    };
    let plan = plan.clone().transform_down(|node| match node {
        Plan::RecursiveQuery(_) => Ok(Transformed::new(node, false, TreeNodeRecursion::Jump)),
        Plan::Filter(filter) => {
            let predicate = filter.predicate.transform_down(answer_to)?;
            Ok(predicate.update_data(|predicate| Plan::Filter(Filter::new(predicate, filter.input))))
        }
        node => Ok(Transformed::no(node)),
    });
    plan.map(|plan| plan.data)
}
