//! stub
use sqlparser::ast::Expr;
use crate::catalog::TableDef;
use crate::exec::StatementContext;
use crate::plan::Predicate;
use crate::types::SqlType;
use crate::Result;
pub(crate) fn from_ast(_: &Expr, _: &TableDef, _: Option<&str>, _: &StatementContext) -> Result<Predicate> { unimplemented!() }
pub(crate) fn infer_parameters(_: &Expr, _: &TableDef, _: &mut [Option<SqlType>]) { unimplemented!() }
