//! CREATE, ALTER, DROP, TRUNCATE, COMMENT: statements that change the catalog.

use super::Statement;
use crate::Result;
use crate::exec::StatementContext;

/// Runs a statement that changes the catalog inside the transaction; answers its command tag.
pub async fn execute(_ctx: &StatementContext, _statement: &Statement) -> Result<String> {
    unimplemented!()
}
