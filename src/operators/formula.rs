//! `Formula`: an expression over parameters alone, computed of their values without a plan being run: what conditions and assignments
//! of a routine's body mostly are.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion_common::tree_node::TreeNode;
use datafusion_physical_expr::PhysicalExpr;

use super::computed::{Open, folded};
use super::fold_expr::FoldExpr;
use super::let_expr::LetExpr;
use super::physical_expr::ExprBuilder;
use crate::functions::evaluate::values;
use crate::functions::value_array::array_of;
use crate::logical::evaluable::{acts, is_plain};
use crate::tree::{Expr, RowSchema};
use crate::types::{SqlType, Value, value_at};
use crate::{Error, Result};

/// See the module.
#[derive(Debug)]
pub(crate) struct Formula {
    /// Over one row of the parameters that it names.
    expr: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
    /// Which parameters these are, `$1` being 0, and their types.
    parameters: Vec<(usize, SqlType)>,
}

impl Formula {
    /// The expression over parameters of these types. `None`: it takes more than their values (rows, catalogs, the statement's time), does
    /// more than answer, or names a parameter of no type.
    pub(crate) fn of(expr: &Expr, types: &[SqlType]) -> Option<Formula> {
        if !is_plain(expr) || acts(expr) {
            return None;
        }
        let no_columns = RowSchema::empty();
        let open = Open::read(folded(expr), &no_columns)?;
        let parameters = open.placeholders.iter().map(|id| {
            let at = id.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)?;
            let ty = types.get(at).filter(|ty| **ty != SqlType::Unknown)?;
            Some((at, ty.clone()))
        });
        let parameters = parameters.collect::<Option<Vec<_>>>()?;
        let expr = ExprBuilder::default().build(&open.expr, &open.schema).ok()?;
        let fields = parameters.iter().zip(&open.placeholders);
        let fields: Vec<_> = fields.map(|((_, ty), id)| ty.field(id, true)).collect();
        (!has_rows_of_its_own(&expr)).then(|| Formula {
            expr,
            schema: Arc::new(Schema::new(fields)),
            parameters,
        })
    }

    /// What it gives, of the type `ty`, of the values of `$1` and so on. Errors: the expression's.
    pub(crate) fn compute(&self, given: &[Value], ty: &SqlType) -> Result<Value> {
        let arrays = self.parameters.iter().map(|(at, ty)| match given.get(*at) {
            Some(value) => array_of(std::slice::from_ref(value), ty),
            None => Err(Error::internal("a parameter that was not given")),
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let row = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options);
        value_at(&values(&self.expr, &row.map_err(Error::arrow)?)?, 0, ty)
    }
}

/// Whether a part of it is over rows that it makes, in which parameters stand for themselves.
fn has_rows_of_its_own(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let is_one = |expr: &Arc<dyn PhysicalExpr>| {
        Ok(expr.downcast_ref::<LetExpr>().is_some() || expr.downcast_ref::<FoldExpr>().is_some())
    };
    expr.exists(is_one).unwrap_or(true)
}
