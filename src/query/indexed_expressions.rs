//! What indexes hold of expressions: a condition over `lower(email)` reads the hidden column that an index has of it, and conditions
//! that say as much as the condition of a partial index bound its column. See `sql::ddl::index_expression`.

use sqlparser::ast;

use super::binder::{Binder, Bound, Clause, Place};
use super::from_item::FromItem;
use super::implied_conditions::{follows, plain};
use super::indexed_column::{Held, IndexedColumn};
use super::operator::binary;
use super::scope::Scope;
use crate::catalog::{IndexDef, IndexExpression, TableDef};
use crate::parse::parse_expression;
use crate::tree::{Column, Expr, Operator, Plan, lit, split_conjunction};
use crate::{Error, Result};

/// Positions in `TableDef::columns` of the columns that conditions may read so.
pub(super) fn positions(table: &TableDef) -> Vec<usize> {
    let complete = table.indexes.iter().filter(|index| index.is_complete());
    let columns = complete.flat_map(|index| index.expressions.iter().chain(&index.predicate));
    let mut positions: Vec<usize> = columns
        .filter_map(|expr| table.column_index_by_id(expr.column))
        .collect();
    positions.sort_unstable();
    positions.dedup();
    positions
}

/// WHERE of a partial index, which its column holds as `CASE WHEN … THEN true END`; `None`: it has none. Errors: `Corrupt`.
pub(crate) fn index_condition(table: &TableDef, index: &IndexDef) -> Result<Option<ast::Expr>> {
    let Some(predicate) = &index.predicate else {
        return Ok(None);
    };
    let at = table.column_index_by_id(predicate.column);
    let generation = at.and_then(|at| table.columns[at].generation());
    match generation
        .map(|generation| written(generation.written()))
        .transpose()?
    {
        Some(ast::Expr::Case { mut conditions, .. }) if conditions.len() == 1 => {
            Ok(Some(conditions.remove(0).condition))
        }
        _ => Err(Error::internal("a partial index without its condition")),
    }
}

/// An expression of a record.
fn written(sql: &str) -> Result<ast::Expr> {
    parse_expression(sql).map_err(|error| Error::Corrupt {
        what: format!("expression {sql}"),
        reason: error.to_string(),
    })
}

impl Binder<'_> {
    /// Notes in the scope of a table's scan what its indexes hold; the scan has their columns, by the names that they have in the table.
    pub(super) fn note_indexed(&mut self, table: &TableDef, item: &mut FromItem) -> Result<()> {
        let mut indexed = Vec::new();
        for index in table.indexes.iter().filter(|index| index.is_complete()) {
            for expr in &index.expressions {
                indexed.extend(self.indexed(table, item, (expr, None))?);
            }
            if let Some(predicate) = &index.predicate {
                let condition = index_condition(table, index)?;
                indexed.extend(self.indexed(table, item, (predicate, condition))?);
            }
        }
        if let Some(relation) = item.scope.relations.first_mut() {
            relation.indexed = indexed;
        }
        Ok(())
    }

    fn indexed(
        &mut self,
        table: &TableDef,
        item: &FromItem,
        (expr, condition): (&IndexExpression, Option<ast::Expr>),
    ) -> Result<Option<IndexedColumn>> {
        let column = table.column_index_by_id(expr.column).map(|at| &table.columns[at]);
        let Some((column, generation)) = column.and_then(|column| Some((column, column.generation()?)))
        else {
            return Ok(None);
        };
        let fields = 0..item.plan.schema().fields().len();
        let mut fields = fields.map(|at| item.plan.schema().qualified_field(at));
        let Some(field) = fields.find(|(_, field)| *field.name() == column.name) else {
            return Ok(None);
        };
        let place = Place {
            scope: &item.scope,
            outer: None,
            clause: Clause::IndexExpression,
            windows: &[],
        };
        let held = match condition {
            None => {
                let written = written(generation.written())?;
                let value = self.within_definition(|binder| binder.expression(&written, place))?;
                Held::Value(value.expr)
            }
            Some(condition) => {
                let condition = self.within_definition(|binder| binder.condition(&condition, place))?;
                let parts = split_conjunction(&condition).into_iter();
                Held::Conditions(parts.map(|part| plain(part).clone()).collect())
            }
        };
        let expr = Expr::Column(Column::from(field));
        let column = Bound::new(expr, column.ty.clone());
        Ok(Some(IndexedColumn { held, column }))
    }

    /// WHERE, where it is asked of rows of tables: with what it says of partial indexes.
    pub(super) fn where_condition(&mut self, selection: &ast::Expr, place: Place<'_>) -> Result<Expr> {
        let condition = self.condition(selection, place)?;
        let told = told_conditions(&condition, place.scope);
        Ok(told.into_iter().fold(condition, |condition, column| {
            let is_true = binary(column.expr, Operator::Eq, lit(true));
            binary(condition, Operator::And, is_true)
        }))
    }
}

/// The columns of partial indexes that are true where the condition is.
fn told_conditions(condition: &Expr, scope: &Scope) -> Vec<Bound> {
    let relations = scope.relations.iter().filter(|relation| !relation.may_be_missing);
    let mut indexed = relations.flat_map(|relation| &relation.indexed).peekable();
    if indexed.peek().is_none() {
        return Vec::new();
    }
    let said: Vec<&Expr> = split_conjunction(condition).into_iter().map(plain).collect();
    let mut told: Vec<Bound> = Vec::new();
    for indexed in indexed {
        let Held::Conditions(conditions) = &indexed.held else {
            continue;
        };
        let is_new = told.iter().all(|known| known.expr != indexed.column.expr);
        if is_new && conditions.iter().all(|wanted| follows(&said, wanted)) {
            told.push(indexed.column.clone());
        }
    }
    told
}

/// The expression, or the column that an index has of it.
pub(super) fn as_indexed(bound: Bound, scope: &Scope) -> Bound {
    if matches!(
        bound.expr,
        Expr::Column(_) | Expr::Literal(..) | Expr::Placeholder(_)
    ) {
        return bound;
    }
    let relations = scope.relations.iter().filter(|relation| !relation.may_be_missing);
    let mut indexed = relations.flat_map(|relation| &relation.indexed);
    let found = indexed.find(|indexed| match &indexed.held {
        Held::Value(expr) => *expr == bound.expr && indexed.column.ty == bound.ty,
        Held::Conditions(_) => false,
    });
    match found {
        Some(indexed) => indexed.column.clone(),
        None => bound,
    }
}

/// Whether of the two conditions that a query gives the second holds wherever the first does, as far as their forms tell.
pub(crate) fn second_follows(plan: &Plan) -> bool {
    let Plan::Projection(projection) = plan else {
        return false;
    };
    match projection.expr.as_slice() {
        [said, wanted] => follows(&split_conjunction(said.unnamed()), wanted.unnamed()),
        _ => false,
    }
}
