//! `Computed`: a bound expression made ready to be evaluated over batches, its parameters still open.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, TableReference};
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::create_physical_expr;
use datafusion::physical_expr::expressions::{Column as PhysicalColumn, Literal};

use crate::exec::datafusion_error::{from_datafusion, to_datafusion};
use crate::exec::functions;
use crate::exec::placeholder::Constants;
use crate::exec::table_provider::ordered_column;
use crate::{Error, Result};

/// Parameters stand as columns from here on, so that pruning the input's columns leaves them alone.
const FIRST_PARAMETER: usize = 1 << 24;

/// An expression over a batch.
#[derive(Debug)]
pub(super) struct Computed {
    expr: Arc<dyn PhysicalExpr>,
    /// What it was made of, for EXPLAIN.
    written: Expr,
    /// The placeholders in it: the first is the column `FIRST_PARAMETER`.
    placeholders: Vec<String>,
}

impl Computed {
    /// The expression over rows of `schema`. `None`: it needs what only the general plan has (subqueries, the catalogs).
    pub(super) fn new(expr: &Expr, schema: &DFSchema) -> Option<Computed> {
        if !is_plain(expr) {
            return None;
        }
        let written = expr.clone();
        let folded = match functions::fold_constants(expr.clone()) {
            Ok(folded) => folded,
            // It fails when it is evaluated, if it ever is.
            Err(_) => expr.clone(),
        };
        let open = Open::read(folded, schema)?;
        let expr = create_physical_expr(
            &open.expr,
            &open.schema,
            &ExecutionProps::new(),
            &PhysicalPlanningContext::default(),
        );
        Some(Computed::of(
            expr.ok()?,
            written,
            schema.fields().len(),
            open.placeholders,
        ))
    }

    /// A physical expression over `columns` columns, then the placeholders.
    pub(super) fn of(
        expr: Arc<dyn PhysicalExpr>,
        written: Expr,
        columns: usize,
        placeholders: Vec<String>,
    ) -> Computed {
        let moved = map_columns(expr, |column| {
            (column >= columns).then(|| FIRST_PARAMETER + column - columns)
        });
        Computed {
            expr: moved,
            written,
            placeholders,
        }
    }

    /// What it was made of, its parameters still open.
    pub(super) fn written(&self) -> &Expr {
        &self.written
    }

    /// The input's column that it is.
    pub(super) fn as_column(&self) -> Option<usize> {
        let column = self.expr.downcast_ref::<PhysicalColumn>()?;
        (column.index() < FIRST_PARAMETER).then(|| column.index())
    }

    /// The input's column that it orders rows by.
    pub(super) fn as_ordered_column(&self) -> Option<usize> {
        ordered_column(&self.expr).filter(|column| *column < FIRST_PARAMETER)
    }

    /// The input's columns that it reads.
    pub(super) fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        // The closure does not fail.
        let _ = self.expr.apply(|expr| {
            if let Some(column) = expr.downcast_ref::<PhysicalColumn>()
                && column.index() < FIRST_PARAMETER
            {
                columns.push(column.index());
            }
            Ok(TreeNodeRecursion::Continue)
        });
        columns
    }

    /// From now on the input has only the columns `kept`, in this order; all that it reads must be among them.
    pub(super) fn renumber(&mut self, kept: &[usize]) {
        let place = |column| kept.iter().position(|kept| *kept == column);
        self.expr = map_columns(Arc::clone(&self.expr), place);
    }

    /// The expression with its parameters. Errors: 42P02.
    pub(super) fn bind(&self, constants: &Constants) -> Result<Arc<dyn PhysicalExpr>> {
        if self.placeholders.is_empty() {
            return Ok(Arc::clone(&self.expr));
        }
        let literals = self
            .placeholders
            .iter()
            .map(|placeholder| match constants.get(placeholder)? {
                Expr::Literal(scalar, _) => Ok(Arc::new(Literal::new(scalar)) as Arc<dyn PhysicalExpr>),
                _ => Err(Error::internal(
                    "a parameter that is looked up in a short statement",
                )),
            })
            .collect::<Result<Vec<_>>>()?;
        let bound = Arc::clone(&self.expr).transform_up(|expr| {
            let parameter = expr
                .downcast_ref::<PhysicalColumn>()
                .and_then(|column| column.index().checked_sub(FIRST_PARAMETER));
            Ok(match parameter {
                Some(at) => Transformed::yes(Arc::clone(&literals[at])),
                None => Transformed::no(expr),
            })
        });
        bound.map(|bound| bound.data).map_err(from_datafusion)
    }
}

/// An expression whose placeholders are columns behind those of its input.
pub(super) struct Open {
    pub(super) expr: Expr,
    pub(super) schema: DFSchema,
    pub(super) placeholders: Vec<String>,
}

impl Open {
    /// `None` when a placeholder has no type.
    pub(super) fn read(expr: Expr, schema: &DFSchema) -> Option<Open> {
        let mut fields: Vec<(String, FieldRef)> = Vec::new();
        let opened = expr.transform_up(|expr| match &expr {
            Expr::Placeholder(placeholder) => {
                let untyped = || to_datafusion(Error::internal("a parameter without a type"));
                let field = placeholder.field.as_ref().ok_or_else(untyped)?;
                if fields.iter().all(|(id, _)| *id != placeholder.id) {
                    fields.push((placeholder.id.clone(), Arc::clone(field)));
                }
                let column = Column::new_unqualified(&placeholder.id);
                Ok(Transformed::yes(Expr::Column(column)))
            }
            _ => Ok(Transformed::no(expr)),
        });
        let expr = opened.ok()?.data;
        if fields.is_empty() {
            return Some(Open {
                expr,
                schema: schema.clone(),
                placeholders: Vec::new(),
            });
        }
        let named = |(id, field): &(String, FieldRef)| {
            let field = field.as_ref().clone().with_name(id).with_nullable(true);
            (None::<TableReference>, Arc::new(field))
        };
        let inputs = schema
            .iter()
            .map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)));
        let all = inputs.chain(fields.iter().map(named)).collect();
        Some(Open {
            expr,
            schema: DFSchema::new_with_metadata(all, HashMap::new()).ok()?,
            placeholders: fields.into_iter().map(|(id, _)| id).collect(),
        })
    }
}

/// Whether an expression is made of columns, constants and functions that need nothing of the statement.
pub(super) fn is_plain(expr: &Expr) -> bool {
    let found = expr.exists(|expr| {
        Ok(match expr {
            Expr::ScalarFunction(call) => !functions::is_self_contained(&call.func),
            Expr::ScalarSubquery(_)
            | Expr::InSubquery(_)
            | Expr::Exists(_)
            | Expr::SetComparison(_)
            | Expr::OuterReferenceColumn(..)
            | Expr::WindowFunction(_)
            | Expr::Unnest(_)
            | Expr::GroupingSet(_) => true,
            _ => false,
        })
    });
    matches!(found, Ok(false))
}

/// The expression with other numbers for its columns; a column keeps its number where `number` has none.
fn map_columns(
    expr: Arc<dyn PhysicalExpr>,
    number: impl Fn(usize) -> Option<usize>,
) -> Arc<dyn PhysicalExpr> {
    let mapped = Arc::clone(&expr).transform_up(|expr| {
        let Some(column) = expr.downcast_ref::<PhysicalColumn>() else {
            return Ok(Transformed::no(expr));
        };
        Ok(match number(column.index()) {
            Some(index) => {
                let moved = PhysicalColumn::new(column.name(), index);
                Transformed::yes(Arc::new(moved) as Arc<dyn PhysicalExpr>)
            }
            None => Transformed::no(expr),
        })
    });
    // The closure does not fail, and children of the same kinds fit.
    mapped.map_or(expr, |mapped| mapped.data)
}
