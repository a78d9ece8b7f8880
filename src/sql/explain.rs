//! stub
use super::{Outcome, Statement};
use crate::Result;
use crate::exec::{OutputColumn, StatementContext};
pub(crate) async fn execute(_: &StatementContext, _: &Statement) -> Result<Outcome> { unimplemented!() }
pub(crate) fn columns(_: &sqlparser::ast::Statement) -> Vec<OutputColumn> { unimplemented!() }
