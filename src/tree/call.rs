//! `FunctionCall`: a call of a function of the registry.

use std::sync::Arc;

use arrow::datatypes::FieldRef;

use super::expr::Expr;
use super::expr_name::comma_separated;
use crate::functions::{Body, BoundFunction, Volatility};
use crate::types::{FormatSettings, SqlType};

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FunctionCall {
    /// What is called, for arguments of fixed types.
    pub func: Arc<BoundFunction>,
    /// The arguments.
    pub args: Vec<Expr>,
}

/// A call of `body` as an expression: arguments of exactly these types, result of the `returns` type.
pub fn call(
    definition: (&str, Body, bool, Volatility),
    arguments: Vec<(Expr, SqlType)>,
    returns: SqlType,
    settings: &Arc<FormatSettings>,
) -> Expr {
    let (args, types): (Vec<Expr>, Vec<SqlType>) = arguments.into_iter().unzip();
    let func = Arc::new(BoundFunction::new(definition, types, returns, settings));
    Expr::ScalarFunction(FunctionCall { func, args })
}

impl FunctionCall {
    /// What is called.
    pub fn name(&self) -> &str {
        self.func.name()
    }

    /// The field of its result.
    pub(super) fn field(&self) -> FieldRef {
        Arc::new(self.func.returns().field(self.name(), true))
    }

    /// What it is called as an output. The types tell apart calls that differ in nothing else (casts of one expression to several types).
    pub(super) fn schema_name(&self) -> String {
        let arguments = comma_separated(&self.args, ",");
        format!("{}[{}]({arguments})", self.name(), self.func.returns())
    }
}
