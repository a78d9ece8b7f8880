//! `Statement`: one statement as it was read, with what is known of running it.

use std::sync::Arc;

use sqlparser::ast;

use super::dml::{WithWrites, WritePlan};
use super::effort::Effort;
use crate::Result;
use crate::parse::{self, ParsedStatement};
use crate::query::QueryPlan;
use crate::store::MemoryAccount;
use crate::system::plan_cache::PlanCache;

/// One statement, which may run many times.
#[derive(Debug, Clone)]
pub struct Statement {
    /// As it was read.
    pub parsed: ParsedStatement,
    /// Whether its work is bounded by its form.
    pub(super) effort: Effort,
    /// The plan of a query.
    pub(super) plan: PlanCache<QueryPlan>,
    /// The plan of a write.
    pub(super) write: PlanCache<WritePlan>,
    /// The plan of a statement whose WITH clause writes.
    pub(super) with_writes: PlanCache<WithWrites>,
    /// What the tree of a long text takes of the server's memory.
    _held: Option<Arc<MemoryAccount>>,
}

/// The statements of a message. Errors: 42601 with a position, 54001.
pub fn parse(text: &str) -> Result<Vec<Statement>> {
    let parsed = parse::parse(text)?;
    Ok(parsed.into_iter().map(Statement::new).collect())
}

impl Statement {
    fn new(parsed: ParsedStatement) -> Statement {
        Statement {
            effort: Effort::of(&parsed),
            parsed,
            plan: PlanCache::default(),
            write: PlanCache::default(),
            with_writes: PlanCache::default(),
            _held: None,
        }
    }

    /// The same statement, whose memory the account holds as long as it is there.
    pub fn held_in(self, account: &Arc<MemoryAccount>) -> Statement {
        Statement {
            _held: Some(Arc::clone(account)),
            ..self
        }
    }

    /// The same statement with another tree: what it explains, or what it reads as.
    pub(super) fn with_tree(&self, ast: ast::Statement) -> Statement {
        let mut statement = self.clone();
        statement.parsed.ast = ast;
        statement
    }
}
