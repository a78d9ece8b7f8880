//! `Computed`: a bound expression made ready to be evaluated over batches, its parameters still open.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use arrow::datatypes::{FieldRef, Schema};
use datafusion_common::Result as DataFusionResult;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_physical_expr::expressions::{Column as PhysicalColumn, Literal};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion_physical_expr_common::physical_expr::is_volatile;

use super::fold_expr::FoldExpr;
use super::let_expr::LetExpr;
use super::physical_expr::ExprBuilder;
use crate::functions::bound_function_of;
use crate::logical::compared_column;
use crate::logical::evaluable::{is_evaluable, reads_catalogs};
use crate::logical::placeholder::Constants;
use crate::operators::order_requirements::ordered_column;
use crate::tree::{self, Column, Expr, RelationAlias, RowSchema};
use crate::{Error, Result};

/// Parameters stand as columns from here on, so that pruning the input's columns leaves them alone.
const FIRST_PARAMETER: usize = 1 << 24;

/// An expression over a batch.
#[derive(Debug)]
pub(crate) struct Computed {
    expr: Arc<dyn PhysicalExpr>,
    /// What it was made of, for EXPLAIN.
    written: Expr,
    /// The placeholders in it: the first is the column `FIRST_PARAMETER`.
    placeholders: Vec<String>,
    /// A function in it asks the catalogs.
    reads_catalogs: bool,
}

impl Computed {
    /// The expression over rows of `schema`. `None`: it needs what only the general plan has (subqueries), or the catalogs.
    pub(crate) fn new(expr: &Expr, schema: &RowSchema) -> Option<Computed> {
        Computed::in_statement(expr, schema).filter(|computed| !computed.reads_catalogs)
    }

    /// The same where the statement's catalogs are at hand ([`Constants::with_catalogs`]).
    pub(crate) fn in_statement(expr: &Expr, schema: &RowSchema) -> Option<Computed> {
        if let Some(column) = named_column(expr) {
            let index = schema.index_of_column(column).ok()?;
            return Some(Computed {
                expr: Arc::new(PhysicalColumn::new(&column.name, index)),
                written: Expr::Column(column.clone()),
                placeholders: Vec::new(),
                reads_catalogs: false,
            });
        }
        if !is_evaluable(expr) {
            return None;
        }
        let reads_catalogs = reads_catalogs(expr);
        let written = expr.clone();
        let open = Open::read(folded(expr), schema)?;
        let expr = ExprBuilder::default().build(&open.expr, &open.schema);
        let computed = Computed::of(expr.ok()?, written, schema.fields().len(), open.placeholders);
        Some(Computed {
            reads_catalogs,
            ..computed
        })
    }

    /// A physical expression over `columns` columns, then the placeholders.
    pub(crate) fn of(
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
            reads_catalogs: false,
        }
    }

    /// Whether a function in it asks the catalogs.
    pub(crate) fn reads_catalogs(&self) -> bool {
        self.reads_catalogs
    }

    /// What it was made of, its parameters still open.
    pub(crate) fn written(&self) -> &Expr {
        &self.written
    }

    /// What evaluates it when no parameter is in it.
    pub(crate) fn expr(&self) -> &Arc<dyn PhysicalExpr> {
        &self.expr
    }

    /// Whether it gives the same value whenever it is asked in one statement.
    pub(crate) fn is_settled(&self) -> bool {
        !is_volatile(&self.expr)
    }

    /// Whether it is a constant other than NULL.
    pub(crate) fn is_constant(&self) -> bool {
        let literal = self.expr.downcast_ref::<Literal>();
        literal.is_some_and(|literal| !literal.value().is_null())
    }

    /// The input's column that it is.
    pub(crate) fn as_column(&self) -> Option<usize> {
        let column = self.expr.downcast_ref::<PhysicalColumn>()?;
        (column.index() < FIRST_PARAMETER).then(|| column.index())
    }

    /// The input's column that it orders rows by.
    pub(crate) fn as_ordered_column(&self) -> Option<usize> {
        ordered_column(&self.expr).filter(|column| *column < FIRST_PARAMETER)
    }

    /// The input's columns that it reads.
    pub(crate) fn columns(&self) -> Vec<usize> {
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
    pub(crate) fn renumber(&mut self, kept: &[usize]) {
        let place = |column| kept.iter().position(|kept| *kept == column);
        self.expr = map_columns(Arc::clone(&self.expr), place);
    }

    /// The expression with its parameters, and the catalogs that it asks. Errors: 42P02.
    pub(crate) fn bind(&self, constants: &Constants) -> Result<Arc<dyn PhysicalExpr>> {
        if self.placeholders.is_empty() && !self.reads_catalogs {
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
        let options = match self.reads_catalogs {
            true => Some(constants.catalog_options()?),
            false => None,
        };
        Ok(bound(&self.expr, &literals, options)?)
    }
}

/// The expression with these parameters, and the catalogs that the options lead to.
fn bound(
    expr: &Arc<dyn PhysicalExpr>,
    literals: &[Arc<dyn PhysicalExpr>],
    options: Option<&Arc<ConfigOptions>>,
) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
    let bound = Arc::clone(expr).transform_up(|expr| {
        if let Some(column) = expr.downcast_ref::<PhysicalColumn>() {
            return Ok(match column.index().checked_sub(FIRST_PARAMETER) {
                Some(at) => Transformed::yes(Arc::clone(&literals[at])),
                None => Transformed::no(expr),
            });
        }
        if let Some(kept) = expr.downcast_ref::<LetExpr>() {
            let bound = kept.with_body(bound(kept.body(), literals, options)?);
            return Ok(Transformed::yes(Arc::new(bound)));
        }
        if let Some(fold) = expr.downcast_ref::<FoldExpr>() {
            let bound = fold.with_step(bound(fold.step(), literals, options)?);
            return Ok(Transformed::yes(Arc::new(bound)));
        }
        let asking = options.and_then(|options| asking_catalogs(&expr, options));
        Ok(asking.map_or_else(|| Transformed::no(expr), Transformed::yes))
    });
    Ok(bound?.data)
}

/// A call that asks the catalogs which these options lead to. `None`: it is none that asks any.
fn asking_catalogs(
    expr: &Arc<dyn PhysicalExpr>,
    options: &Arc<ConfigOptions>,
) -> Option<Arc<dyn PhysicalExpr>> {
    let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
    if !bound_function_of(call.fun()).is_some_and(|function| function.reads_catalogs()) {
        return None;
    }
    // What it gives does not depend on its input's schema.
    let returns = call.return_field(&Schema::empty()).ok()?;
    Some(Arc::new(ScalarFunctionExpr::new(
        call.name(),
        Arc::new(call.fun().clone()),
        call.args().to_vec(),
        returns,
        Arc::clone(options),
    )))
}

/// With its constants computed. One that cannot be computed fails when it is evaluated, if it ever is.
pub(super) fn folded(expr: &Expr) -> Expr {
    tree::fold_constants(expr.clone()).unwrap_or_else(|_| expr.clone())
}

/// The column that an expression is.
fn named_column(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::Alias(alias) => named_column(&alias.expr),
        Expr::Column(column) => Some(column),
        _ => None,
    }
}

/// A condition on the rows of a table, made ready when a run has to evaluate it: most are checked by the access path.
#[derive(Debug)]
pub(crate) struct Condition {
    written: Expr,
    /// The same with its constants computed.
    folded: Expr,
    is_volatile: bool,
    schema: Arc<RowSchema>,
    /// The columns it reads: as the schema numbers them, and as its input does.
    columns: Vec<(usize, usize)>,
    computed: OnceLock<Option<Computed>>,
}

impl Condition {
    /// `None`: as `Computed::in_statement`.
    pub(crate) fn new(written: &Expr, schema: &Arc<RowSchema>) -> Option<Condition> {
        if !is_evaluable(written) {
            return None;
        }
        let mut columns = Vec::new();
        for column in written.column_refs() {
            let at = schema.index_of_column(column).ok()?;
            columns.push((at, at));
        }
        Some(Condition {
            written: written.clone(),
            folded: folded(written),
            is_volatile: written.is_volatile(),
            schema: Arc::clone(schema),
            columns,
            computed: OnceLock::new(),
        })
    }

    /// What it was made of, its parameters still open.
    pub(crate) fn written(&self) -> &Expr {
        &self.written
    }

    /// The same with what is constant in every run computed.
    pub(crate) fn folded(&self) -> &Expr {
        &self.folded
    }

    /// Whether it may differ from row to row, whatever the row.
    pub(crate) fn is_volatile(&self) -> bool {
        self.is_volatile
    }

    /// The input's column that it compares with what is known before any row is.
    pub(crate) fn compared_column(&self) -> Option<usize> {
        match self.columns.as_slice() {
            [(_, column)] => compared_column(&self.written).map(|_| *column),
            _ => None,
        }
    }

    /// The input's columns that it reads.
    pub(crate) fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.columns.iter().map(|(_, column)| *column)
    }

    /// As [`Computed::renumber`]; before anything is bound.
    pub(crate) fn renumber(&mut self, kept: &[usize]) {
        for (_, column) in &mut self.columns {
            if let Some(at) = kept.iter().position(|kept| kept == column) {
                *column = at;
            }
        }
    }

    /// The expression with its parameters. Errors: 42P02.
    pub(crate) fn bind(&self, constants: &Constants) -> Result<Arc<dyn PhysicalExpr>> {
        let computed = self.computed.get_or_init(|| {
            let mut computed = Computed::in_statement(&self.written, &self.schema)?;
            let place = |at: usize| {
                self.columns
                    .iter()
                    .find(|(own, _)| *own == at)
                    .map(|(_, column)| *column)
            };
            computed.expr = map_columns(Arc::clone(&computed.expr), place);
            Some(computed)
        });
        match computed {
            Some(computed) => computed.bind(constants),
            None => Err(Error::internal(
                "a condition of a short statement that cannot be computed",
            )),
        }
    }
}

/// An expression whose placeholders are columns behind those of its input.
pub(crate) struct Open<'a> {
    pub(crate) expr: Expr,
    pub(crate) schema: Cow<'a, RowSchema>,
    pub(crate) placeholders: Vec<String>,
}

impl Open<'_> {
    /// `None` when a placeholder has no type.
    pub(crate) fn read(expr: Expr, schema: &RowSchema) -> Option<Open<'_>> {
        let mut fields: Vec<(String, FieldRef)> = Vec::new();
        let opened = tree::TreeNode::transform_up(expr, |expr| match &expr {
            Expr::Placeholder(placeholder) => {
                let untyped = || Error::internal("a parameter without a type");
                let field = placeholder.field.as_ref().ok_or_else(untyped)?;
                if fields.iter().all(|(id, _)| *id != placeholder.id) {
                    fields.push((placeholder.id.clone(), Arc::clone(field)));
                }
                let column = Column::new_unqualified(&placeholder.id);
                Ok(tree::Transformed::yes(Expr::Column(column)))
            }
            _ => Ok(tree::Transformed::no(expr)),
        });
        let expr = opened.ok()?.data;
        if fields.is_empty() {
            return Some(Open {
                expr,
                schema: Cow::Borrowed(schema),
                placeholders: Vec::new(),
            });
        }
        let named = |(id, field): &(String, FieldRef)| {
            let field = field.as_ref().clone().with_name(id).with_nullable(true);
            (None::<RelationAlias>, Arc::new(field))
        };
        let inputs = schema
            .iter()
            .map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)));
        let all = inputs.chain(fields.iter().map(named)).collect();
        Some(Open {
            expr,
            schema: Cow::Owned(RowSchema::new(all)),
            placeholders: fields.into_iter().map(|(id, _)| id).collect(),
        })
    }
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
