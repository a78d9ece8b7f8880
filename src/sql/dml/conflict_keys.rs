//! `ConflictKeys`: what the target of ON CONFLICT names, and which unique index that is.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, SelectItem};

use super::generated_columns::computed_type;
use super::target::Target;
use crate::catalog::{IndexDef, TableDef};
use crate::codec::row::ColumnId;
use crate::parse::conflict_target::{self, ConflictKey};
use crate::parse::names;
use crate::parse::walk::visit_expressions_mut;
use crate::query::{
    Clause, RowQuery, condition_text, index_condition, pinned_condition, plan_row_query, second_follows,
};
use crate::system::StatementContext;
use crate::{Error, Result};

/// Columns and expressions, each once; expressions as they are printed, so that two are equal that say the same.
#[derive(Debug, Default)]
pub(super) struct ConflictKeys {
    columns: Vec<ColumnId>,
    expressions: Vec<String>,
    /// The partial indexes of the table, by their oids, whose conditions hold where that does which is named.
    said: Vec<u32>,
}

impl ConflictKeys {
    /// Errors: 42703, those of binding the expressions.
    pub(super) fn read(ctx: &StatementContext, target: &Target, names: &[Ident]) -> Result<ConflictKeys> {
        let table = &target.table;
        let printed = |mut expr: Expr| {
            unqualify(&mut expr, target);
            printed(ctx, table, &expr)
        };
        let mut keys = ConflictKeys::default();
        let mut condition = None;
        for name in names {
            let key = conflict_target::read(name);
            match key.ok_or_else(|| Error::internal("a target of ON CONFLICT that cannot be read"))? {
                ConflictKey::Column(name) => keys.columns.push(column_id(table, &name)?),
                ConflictKey::Expression(expr) => keys.expressions.push(printed(expr)?),
                ConflictKey::Condition(mut expr) => {
                    printed(expr.clone())?;
                    unqualify(&mut expr, target);
                    condition = Some(expr);
                }
            }
        }
        keys.columns.sort_unstable();
        keys.columns.dedup();
        keys.expressions.sort_unstable();
        keys.expressions.dedup();
        for index in &table.indexes {
            if let (Some(said), Some(wanted)) = (&condition, index_condition(table, index)?)
                && says(ctx, target, said, wanted)?
            {
                keys.said.push(index.oid);
            }
        }
        Ok(keys)
    }

    /// Whether they are an index's. Those of a partial index are when its condition holds where that does which is named.
    pub(super) fn are_of(&self, table: &TableDef, index: &IndexDef) -> bool {
        if index.id == 0 && table.has_hidden_key() {
            return false;
        }
        if index.id == 0 && self.expressions.is_empty() && self.columns == telling_ids(table) {
            return true;
        }
        let is_computed = |id: &ColumnId| index.expressions.iter().any(|expr| expr.column == *id);
        let shown = index.shown_columns();
        let columns = shown.iter().map(|part| part.column);
        let mut columns: Vec<ColumnId> = columns.filter(|id| !is_computed(id)).collect();
        columns.sort_unstable();
        columns.dedup();
        let mut expressions: Vec<&String> = index.expressions.iter().map(|expr| &expr.text).collect();
        expressions.sort_unstable();
        expressions.dedup();
        columns == self.columns
            && expressions.into_iter().eq(&self.expressions)
            && (index.predicate.is_none() || self.said.contains(&index.oid))
    }
}

/// Whether the condition of an index holds where that does which the clause names. Errors: those of binding them.
fn says(ctx: &StatementContext, target: &Target, said: &Expr, wanted: Expr) -> Result<bool> {
    // The index has its literals so.
    let said = pinned_condition(ctx, &target.table, said)?;
    let query = RowQuery {
        relations: &[target.relation()],
        items: &[said, wanted].map(SelectItem::UnnamedExpr),
        selection: None,
        clause: Clause::IndexExpression,
    };
    let planned = plan_row_query(ctx, query, &mut Vec::new())?;
    Ok(second_follows(&planned.plan))
}

/// Columns that are named as the statement knows the table, by their names alone, as those of indexes are.
fn unqualify(expr: &mut Expr, target: &Target) {
    let _: ControlFlow<()> = visit_expressions_mut(expr, |expr| {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [relation, column] = parts.as_slice()
            && names::fold(relation) == target.name()
        {
            *expr = Expr::Identifier(column.clone());
        }
        ControlFlow::Continue(())
    });
}

/// An expression as the catalogs print it. Errors: 42703 for a column that is not there.
fn printed(ctx: &StatementContext, table: &TableDef, expr: &Expr) -> Result<String> {
    let inputs: Vec<ColumnId> = table.visible_columns().map(|column| column.id).collect();
    let columns = (table.name.as_str(), table.columns.as_slice());
    computed_type(ctx, columns, expr, &inputs, Clause::IndexExpression)?;
    // The index has its literals so.
    let expr = pinned_condition(ctx, table, expr)?;
    condition_text(ctx, table, &expr).map(|(text, _)| text)
}

/// The ids of the primary key's columns that tell rows apart, sorted.
fn telling_ids(table: &TableDef) -> Vec<ColumnId> {
    let columns = table.telling_key_columns().into_iter();
    let mut ids: Vec<ColumnId> = columns.map(|at| table.columns[at].id).collect();
    ids.sort_unstable();
    ids
}

fn column_id(table: &TableDef, name: &Ident) -> Result<ColumnId> {
    let name = names::fold(name);
    let at = table.column_index(&name).ok_or_else(|| Error::UndefinedColumn {
        name: format!("\"{name}\""),
        hint: None,
    })?;
    Ok(table.columns[at].id)
}
