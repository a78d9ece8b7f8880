//! `Returning`: RETURNING, bound over the rows written and those of the relations beside them.

use arrow::array::RecordBatch;
use sqlparser::ast::SelectItem;

use super::row_buffer::RowBuffer;
use super::row_expressions::RowExpressions;
use super::target::Target;
use crate::Result;
use crate::query::{Clause, RowQuery, RowRelation};
use crate::scan::OutputColumn;
use crate::system::StatementContext;
use crate::types::SqlType;

/// A RETURNING clause.
#[derive(Debug)]
pub(super) struct Returning {
    /// Which columns of the rows names reach: the target's visible ones and those beside.
    visible: Vec<usize>,
    expressions: RowExpressions,
}

impl Returning {
    /// Binds it, if there is one. `beside`: the relations whose columns stand behind the target's. Errors: those of binding.
    pub(super) fn bind(
        ctx: &StatementContext,
        target: &Target,
        beside: &[RowRelation],
        items: Option<&[SelectItem]>,
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<Option<Returning>> {
        let Some(items) = items else { return Ok(None) };
        let mut relations = vec![target.relation()];
        relations.extend_from_slice(beside);
        let width = target.table.columns.len();
        let mut visible = target.table.visible_positions();
        visible.extend(width..width + width_of(beside));
        Returning::over(ctx, &relations, visible, items, types).map(Some)
    }

    /// Binds that of MERGE: the source's columns come first. `source`: its relations, whose columns stand behind the target's; `action`: the
    /// relation of what was done, whose column stands behind those, where it is asked for.
    pub(super) fn bind_merge(
        ctx: &StatementContext,
        target: &Target,
        (source, action): (&[RowRelation], Option<RowRelation>),
        items: &[SelectItem],
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<Returning> {
        let (width, others) = (target.table.columns.len(), width_of(source));
        let mut relations = source.to_vec();
        relations.push(target.relation());
        let mut visible: Vec<usize> = (width..width + others).collect();
        visible.extend(target.table.visible_positions());
        if let Some(action) = action {
            relations.push(action);
            visible.push(width + others);
        }
        Returning::over(ctx, &relations, visible, items, types)
    }

    fn over(
        ctx: &StatementContext,
        relations: &[RowRelation],
        visible: Vec<usize>,
        items: &[SelectItem],
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<Returning> {
        let query = RowQuery {
            relations,
            items,
            selection: None,
            clause: Clause::Returning,
        };
        let expressions = RowExpressions::bind(ctx, query, types)?;
        Ok(Returning { visible, expressions })
    }

    /// The result's columns.
    pub(super) fn columns(&self) -> &[OutputColumn] {
        self.expressions.columns()
    }

    /// Whether it reads more than the rows.
    pub(super) fn reads_more(&self) -> bool {
        self.expressions.reads_more()
    }

    /// Whether a function is run in it that may write, and sees what was written: it is asked once each row is.
    pub(super) fn may_write(&self) -> bool {
        self.expressions.may_write()
    }

    /// A row is written. What is shown of it comes behind what was `shown`, or once the rows are there that are kept for `later`. Errors: those
    /// of evaluating it.
    pub(super) async fn note(
        &self,
        ctx: &StatementContext,
        rows: RecordBatch,
        (later, shown): (&mut RowBuffer, &mut Vec<RecordBatch>),
    ) -> Result<()> {
        match self.may_write() {
            true => shown.extend(self.evaluate(ctx, vec![rows]).await?),
            false => later.push(rows)?,
        }
        Ok(())
    }

    /// What it makes of rows that were written: whole ones of the target, with the columns beside. Errors: the expressions',
    /// 53200.
    pub(super) async fn evaluate(
        &self,
        ctx: &StatementContext,
        rows: Vec<RecordBatch>,
    ) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::with_capacity(rows.len());
        for rows in rows {
            let rows = rows.project(&self.visible).map_err(crate::Error::arrow)?;
            let batch = self.expressions.evaluate(ctx, &rows).await?.batch;
            ctx.memory.hold(batch.get_array_memory_size())?;
            batches.push(batch);
        }
        Ok(batches)
    }
}

/// How many columns relations have.
fn width_of(relations: &[RowRelation]) -> usize {
    relations.iter().map(|relation| relation.columns.len()).sum()
}
