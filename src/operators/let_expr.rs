//! `LetExpr`: an expression over a value that is computed once a row (`tree::Let`), and over the columns that it reads besides.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Schema};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion_common::Result as DataFusionResult;
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr_common::physical_expr::is_volatile;

use super::few_columns::FewColumns;
use super::physical_expr::{ExprBuilder, Physical};
use crate::logical::evaluable::calls_waiting;
use crate::tree::{Expr, Let, LetValue, RowSchema};

/// See the module.
#[derive(Debug)]
pub(super) struct LetExpr {
    /// Which of those within each other.
    number: usize,
    /// Which of the operands the value is. `None`: the body does not ask for it.
    value: Option<usize>,
    /// The value, and the columns of the row that the body reads, in the order of its columns.
    operands: Vec<Physical>,
    /// Over rows of the operands.
    body: Physical,
    schema: Arc<Schema>,
}

impl LetExpr {
    /// What asks for the operands: it is over columns of its own, so it is no child.
    pub(super) fn body(&self) -> &Physical {
        &self.body
    }

    /// The same with another body over the operands.
    pub(super) fn with_body(&self, body: Physical) -> LetExpr {
        LetExpr {
            operands: self.operands.clone(),
            body,
            schema: Arc::clone(&self.schema),
            ..*self
        }
    }

    /// What it says, its operands and a body over such columns being written so.
    pub(super) fn written(&self, mut operands: Vec<Expr>, body: impl FnOnce(&[Expr]) -> Expr) -> Expr {
        let Some(at) = self.value else {
            return body(&operands);
        };
        let kept = LetValue {
            number: self.number,
            field: Arc::clone(&self.schema.fields()[at]),
        };
        let value = std::mem::replace(&mut operands[at], Expr::LetValue(kept));
        Expr::Let(Let {
            number: self.number,
            value: Box::new(value),
            body: Box::new(body(&operands)),
        })
    }
}

impl ExprBuilder {
    /// Computes the value once. Errors: those of what it is made of.
    pub(super) fn let_expr(&self, kept: &Let, schema: &RowSchema) -> DataFusionResult<Physical> {
        if calls_waiting(&kept.body) {
            // What waits is called below, of columns of the input alone.
            return self.build(&kept.clone().unfolded()?, schema);
        }
        let value = self.build(&kept.value, schema)?;
        let field = value.return_field(schema.as_arrow())?;
        let name = let_column(kept.number);
        let field = Arc::new(field.as_ref().clone().with_name(name).with_nullable(true));
        // The value is the last column, so that of two of one number the inner one is found.
        let around = schema.join(&RowSchema::new(vec![(None, field)]));
        let at = around.fields().len() - 1;
        let few = FewColumns::of(&self.build(&kept.body, &around)?)?;
        let operands = few.columns.iter().map(|column| match *column == at {
            true => Arc::clone(&value),
            false => Arc::new(Column::new(around.field(*column).name(), *column)) as Physical,
        });
        Ok(Arc::new(LetExpr {
            number: kept.number,
            value: few.columns.iter().position(|column| *column == at),
            operands: operands.collect(),
            schema: Arc::new(around.as_arrow().project(&few.columns)?),
            body: few.expr,
        }))
    }

    /// The value of a `Let` in its body.
    pub(super) fn let_value(value: &LetValue, around: &RowSchema) -> DataFusionResult<Physical> {
        let name = let_column(value.number);
        let fields = around.fields();
        let found = fields.iter().rposition(|field| *field.name() == name);
        let at = found.ok_or_else(|| crate::Error::internal("a value that nobody computes"))?;
        Ok(Arc::new(Column::new(&name, at)))
    }
}

/// What the column of a value is called: no column of a user's has a zero in its name.
pub(super) fn let_column(number: usize) -> String {
    format!("\0let {number}")
}

// Derived, they would move the parts out.
impl PartialEq for LetExpr {
    fn eq(&self, other: &LetExpr) -> bool {
        self.operands == other.operands && self.body.eq(&other.body)
    }
}

impl Eq for LetExpr {}

impl Hash for LetExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.operands, &self.body).hash(state);
    }
}

impl PhysicalExpr for LetExpr {
    fn return_field(&self, _: &Schema) -> DataFusionResult<FieldRef> {
        self.body.return_field(&self.schema)
    }
    fn data_type(&self, _: &Schema) -> DataFusionResult<DataType> {
        self.body.data_type(&self.schema)
    }
    fn nullable(&self, _: &Schema) -> DataFusionResult<bool> {
        self.body.nullable(&self.schema)
    }
    fn evaluate(&self, batch: &RecordBatch) -> DataFusionResult<ColumnarValue> {
        let rows = batch.num_rows();
        let operands = self.operands.iter();
        let operands = operands.map(|operand| operand.evaluate(batch)?.into_array(rows));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let operands = RecordBatch::try_new_with_options(
            Arc::clone(&self.schema),
            operands.collect::<DataFusionResult<_>>()?,
            &options,
        );
        self.body.evaluate(&operands?)
    }
    fn children(&self) -> Vec<&Physical> {
        self.operands.iter().collect()
    }
    fn is_volatile_node(&self) -> bool {
        is_volatile(&self.body)
    }
    fn with_new_children(self: Arc<Self>, children: Vec<Physical>) -> DataFusionResult<Physical> {
        Ok(Arc::new(LetExpr {
            operands: children,
            body: Arc::clone(&self.body),
            schema: Arc::clone(&self.schema),
            ..*self
        }))
    }
    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for LetExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.body.to_string())
    }
}
