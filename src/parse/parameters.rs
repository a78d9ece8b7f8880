//! Parameters `$n` of a statement: which it has.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{self, Expr, Value as Literal, Visitor};

use super::walk::Walk;
use crate::error::StatementFault;
use crate::{Error, Result};

/// Parameters of a statement at most: the protocol counts them in 16 bits.
const PARAMETERS_MAX: usize = 65_535;

/// The number of parameters: the highest `$n`. Errors: 42P02 above what the protocol can bind.
pub(crate) fn count(statement: &ast::Statement) -> Result<usize> {
    let mut highest = 0;
    let _ = statement.walk(&mut Numbers(|number: usize| highest = highest.max(number)));
    if highest > PARAMETERS_MAX {
        return Err(Error::InvalidStatement {
            state: StatementFault::UndefinedParameter,
            message: format!("there is no parameter ${highest}"),
            hint: Some(format!("A statement takes at most {PARAMETERS_MAX} parameters.")),
        });
    }
    Ok(highest)
}

/// The numbers of its parameters.
pub(crate) fn named(statement: &ast::Statement) -> BTreeSet<usize> {
    let mut named = BTreeSet::new();
    let _ = statement.walk(&mut Numbers(|number| named.extend([number])));
    named
}

/// Is told the number of each parameter.
struct Numbers<F>(F);

impl<F: FnMut(usize)> Visitor for Numbers<F> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Value(value) = expr
            && let Literal::Placeholder(name) = &value.value
            && let Some(number) = name.strip_prefix('$').and_then(|digits| digits.parse().ok())
        {
            (self.0)(number);
        }
        ControlFlow::Continue(())
    }
}
