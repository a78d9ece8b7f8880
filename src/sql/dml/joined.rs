//! The relations beside the target: those of `UPDATE … FROM` and `DELETE … USING`, whose columns RETURNING may name.
//! Used by `update` and `delete`, which read their columns with the target's rows, and by `returning`.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema};
use sqlparser::ast::{Expr, SelectItem, TableWithJoins};

use super::evaluate::{Rows, column_of};
use super::target::Target;
use crate::exec::StatementContext;
use crate::query::{self, JoinedRelation};
use crate::table::write_schema;
use crate::{Error, Result};

/// The relations, in the order of FROM. None, unless RETURNING asks.
#[derive(Debug, Default)]
pub(super) struct JoinedRelations {
    relations: Vec<JoinedRelation>,
}

impl JoinedRelations {
    /// Those of `from`, if there are `items` of RETURNING.
    pub(super) fn of(
        ctx: &StatementContext,
        target: &Target,
        items: Option<&[SelectItem]>,
        from: &[TableWithJoins],
    ) -> Result<JoinedRelations> {
        let relations = match items {
            Some(_) if !from.is_empty() => {
                query::joined_relations(ctx, &target.table, target.alias.as_deref(), from)?
            }
            _ => Vec::new(),
        };
        Ok(JoinedRelations { relations })
    }

    /// Their columns as expressions.
    pub(super) fn columns(&self) -> Vec<Expr> {
        let columns = |relation: &JoinedRelation| {
            let columns = relation.columns.iter();
            columns
                .map(|(column, _)| column_of(&relation.name, column))
                .collect::<Vec<_>>()
        };
        self.relations.iter().flat_map(columns).collect()
    }

    /// The columns of the relation of this name, as expressions.
    pub(super) fn get_columns(&self, name: &str) -> Option<Vec<Expr>> {
        let relation = self.relations.iter().find(|relation| relation.name == name)?;
        let columns = relation.columns.iter();
        Some(columns.map(|(column, _)| column_of(name, column)).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.relations.is_empty()
    }

    /// Whole rows of the target with the columns of the relations behind them.
    pub(super) fn append_joined(&self, rows: RecordBatch, joined: Vec<ArrayRef>) -> Result<RecordBatch> {
        if self.is_empty() {
            return Ok(rows);
        }
        let mut fields: Vec<Arc<Field>> = rows.schema().fields().iter().cloned().collect();
        for (name, ty) in self.relations.iter().flat_map(|relation| &relation.columns) {
            fields.push(Arc::new(ty.field(name, true)));
        }
        let columns = rows.columns().iter().cloned().chain(joined).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(Error::arrow)
    }

    /// Takes apart what `beside` put together: the target's rows, and those of each relation.
    pub(super) fn split(&self, target: &Target, batch: &RecordBatch) -> Result<(RecordBatch, Vec<Rows>)> {
        let schema = write_schema(&target.table);
        let mut at = schema.fields().len();
        let rows = RecordBatch::try_new(schema, batch.columns()[..at].to_vec()).map_err(Error::arrow)?;
        let relations = self.relations.iter().map(|relation| {
            let range: Vec<usize> = (at..at + relation.columns.len()).collect();
            at += range.len();
            Ok(Rows {
                name: relation.name.clone(),
                batch: batch.project(&range).map_err(Error::arrow)?,
            })
        });
        let relations = relations.collect::<Result<_>>()?;
        Ok((rows, relations))
    }

    /// No rows, with the columns of all.
    pub(super) fn no_rows(&self, target: &Target) -> Result<RecordBatch> {
        let columns = self.relations.iter().flat_map(|relation| &relation.columns);
        let nothing = columns.map(|(_, ty)| arrow::array::new_empty_array(&ty.arrow_type()));
        self.append_joined(
            RecordBatch::new_empty(write_schema(&target.table)),
            nothing.collect(),
        )
    }
}
