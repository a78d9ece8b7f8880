//! Parameters `$n` of a statement: how many it has.

use std::ops::ControlFlow;

use sqlparser::ast::{self, Expr, Value as Literal, Visit, Visitor};

use crate::error::StatementFault;
use crate::{Error, Result};

/// Parameters of a statement at most: the protocol counts them in 16 bits.
const PARAMETERS_MAX: usize = 65_535;

/// The number of parameters: the highest `$n`. Errors: 42P02 above what the protocol can bind.
pub(crate) fn count(statement: &ast::Statement) -> Result<usize> {
    let mut highest = Highest(0);
    let _ = statement.visit(&mut highest);
    if highest.0 > PARAMETERS_MAX {
        return Err(Error::InvalidStatement {
            state: StatementFault::UndefinedParameter,
            message: format!("there is no parameter ${}", highest.0),
            hint: Some(format!("A statement takes at most {PARAMETERS_MAX} parameters.")),
        });
    }
    Ok(highest.0)
}

struct Highest(usize);

impl Visitor for Highest {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Value(value) = expr
            && let Literal::Placeholder(name) = &value.value
            && let Some(number) = name.strip_prefix('$').and_then(|digits| digits.parse().ok())
        {
            self.0 = self.0.max(number);
        }
        ControlFlow::Continue(())
    }
}
