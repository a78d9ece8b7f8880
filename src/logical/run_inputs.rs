//! `RunInputs`: what the present run of a generic plan is given. A generic plan, as PostgreSQL calls it, serves all values of its
//! parameters: these stand in it as calls of [`parameter`], and as placeholders in the conditions of its scans.
//!
//! 1. While the plan is made the inputs are those of the run that it is made for: scans choose their keys by them. A call of a
//!    parameter fails then, so that nothing becomes part of the plan that another run may have otherwise.
//! 2. Between two runs there are none: a plan that waits keeps no snapshot open.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::Result as DataFusionResult;
use datafusion_common::ScalarValue;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::{
    ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

use super::dependent_join::rewrite_own_expressions;
use super::filter_predicate::from_expr;
use super::placeholder::Constants;
use crate::catalog::TableDef;
use crate::functions::fold_constants;
use crate::plan::Predicate;
use crate::system::datafusion_error::to_datafusion;
use crate::system::pg_catalog::{CatalogContext, CatalogPlace};
use crate::{Error, Result};

/// The statement that a run belongs to, and what its placeholders stand for.
#[derive(Debug)]
pub struct Given {
    /// The statement, and the catalogs as it sees them.
    pub catalogs: Arc<CatalogContext>,
    /// Its constants.
    pub constants: Arc<Constants>,
    /// The plan is made and runs.
    is_running: bool,
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct RunInputs {
    given: RwLock<Option<Arc<Given>>>,
    catalogs: Arc<CatalogPlace>,
}

impl RunInputs {
    /// Inputs that a plan is made with.
    pub fn planning(catalogs: Arc<CatalogContext>, constants: Arc<Constants>) -> Arc<RunInputs> {
        let inputs = RunInputs::default();
        inputs.set(Some(Given {
            catalogs,
            constants,
            is_running: false,
        }));
        Arc::new(inputs)
    }

    /// A run begins.
    pub fn begin(&self, catalogs: Arc<CatalogContext>, constants: Arc<Constants>) {
        self.catalogs.set(Some(Arc::clone(&catalogs)));
        self.set(Some(Given {
            catalogs,
            constants,
            is_running: true,
        }));
    }

    /// The run, or planning, has ended.
    pub fn end(&self) {
        self.catalogs.set(None);
        self.set(None);
    }

    /// Where the plan's functions find the catalogs.
    pub(crate) fn catalogs(&self) -> &Arc<CatalogPlace> {
        &self.catalogs
    }

    fn set(&self, given: Option<Given>) {
        *self.given.write().unwrap_or_else(PoisonError::into_inner) = given.map(Arc::new);
    }

    /// What is given. Errors: there is no run.
    pub fn given(&self) -> Result<Arc<Given>> {
        let given = self.given.read().unwrap_or_else(PoisonError::into_inner);
        given
            .clone()
            .ok_or_else(|| Error::internal("a generic plan that is not run"))
    }

    /// What a condition on a table says in the run at hand. One that fails says nothing: it does so when it is evaluated, if it
    /// ever is.
    pub(crate) fn predicate(&self, condition: &Expr, table: &TableDef) -> Predicate {
        match self.filled(condition) {
            Ok(filled) => from_expr(&filled, table),
            Err(_) => from_expr(condition, table),
        }
    }

    /// A condition with the constants in the places of its placeholders, folded. Errors: 42P02; those of folding.
    fn filled(&self, condition: &Expr) -> Result<Expr> {
        fold_constants(self.given()?.constants.replace(condition.clone())?)
    }

    /// The value of a placeholder. Errors: the plan does not run; 42P02.
    fn value(&self, placeholder: &str) -> Result<ScalarValue> {
        let given = self.given()?;
        if !given.is_running {
            return Err(Error::internal("a parameter's value while a plan is made"));
        }
        match given.constants.get(placeholder)? {
            Expr::Literal(value, _) => Ok(value),
            _ => Err(Error::internal("a parameter that is looked up")),
        }
    }
}

/// The plan with calls in the places of its placeholders, but for the conditions of its scans. What an expression gives keeps its
/// name, by which the nodes above know it. Errors: a placeholder has no type.
pub(crate) fn with_parameters(plan: LogicalPlan, inputs: &Arc<RunInputs>) -> DataFusionResult<LogicalPlan> {
    rewrite_own_expressions(plan, &|expr| {
        expr.transform_up(|expr| match expr {
            Expr::Placeholder(placeholder) => {
                let untyped = || to_datafusion(Error::internal("a parameter without a type"));
                let field = placeholder.field.ok_or_else(untyped)?;
                let call = parameter(placeholder.id, field, Arc::clone(inputs));
                Ok(Transformed::yes(call))
            }
            other => Ok(Transformed::no(other)),
        })
    })
}

/// What gives the value of a placeholder in the present run.
fn parameter(id: String, field: FieldRef, inputs: Arc<RunInputs>) -> Expr {
    let function = ScalarUDF::from(Parameter {
        id,
        field,
        inputs,
        signature: Signature::nullary(Volatility::Stable),
    });
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(function), Vec::new()))
}

/// A placeholder as a function without arguments.
struct Parameter {
    id: String,
    field: FieldRef,
    inputs: Arc<RunInputs>,
    signature: Signature,
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

impl PartialEq for Parameter {
    fn eq(&self, other: &Parameter) -> bool {
        self.id == other.id && self.field == other.field && Arc::ptr_eq(&self.inputs, &other.inputs)
    }
}

impl Eq for Parameter {}

impl Hash for Parameter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl ScalarUDFImpl for Parameter {
    fn name(&self) -> &str {
        &self.id
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> DataFusionResult<DataType> {
        Ok(self.field.data_type().clone())
    }
    fn return_field_from_args(&self, _: ReturnFieldArgs) -> DataFusionResult<FieldRef> {
        Ok(Arc::new(self.field.as_ref().clone().with_nullable(true)))
    }
    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let value = self.inputs.value(&self.id).map_err(to_datafusion)?;
        Ok(ColumnarValue::Scalar(value))
    }
}
