//! `RunInputs`: what the present run of a generic plan is given. A generic plan, as PostgreSQL calls it, serves all values of its
//! parameters: these stay placeholders in its tree, and are asked for what they stand for when its operators compute them.
//!
//! 1. While the plan is made the inputs are those of the run that it is made for: scans choose their keys by them. To ask for
//!    a parameter fails then, so that nothing becomes part of the plan that another run may have otherwise.
//! 2. Between two runs there are none: a plan that waits keeps no snapshot open.

use std::sync::{Arc, PoisonError, RwLock};

use super::filter_predicate::from_expr;
use super::placeholder::Constants;
use crate::catalog::TableDef;
use crate::plan::Predicate;
use crate::system::pg_catalog::{CatalogContext, CatalogPlace};
use crate::tree::{Expr, ScalarValue};
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
        match self.given().and_then(|given| given.constants.folded(condition)) {
            Ok(folded) => from_expr(&folded, table),
            Err(_) => from_expr(condition, table),
        }
    }

    /// The value of a placeholder. Errors: the plan does not run; 42P02.
    pub(crate) fn value(&self, placeholder: &str) -> Result<ScalarValue> {
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
