//! `Statement`: one statement as it was read, with what is known of running it.

use std::sync::{Arc, OnceLock};

use sqlparser::ast;

use super::dml::{WithWrites, WritePlan};
use super::effort::Effort;
use crate::Result;
use crate::parse::command::Command;
use crate::parse::copy::CopySubject;
use crate::parse::kind::is_select_into;
use crate::parse::with_write::has_writes;
use crate::parse::{self, NormalizedText, ParsedStatement, TextConstants};
use crate::query::QueryPlan;
use crate::store::MemoryAccount;
use crate::system::StatementContext;
use crate::system::plan_cache::PlanCache;

/// One statement, which may run many times.
#[derive(Debug, Clone)]
pub struct Statement {
    /// As it was read.
    pub parsed: ParsedStatement,
    /// Whether its work is bounded by its form.
    pub(super) effort: Effort,
    /// Its plan.
    pub(super) kept: KeptPlan,
    /// What the tree of a long text takes of the server's memory.
    _held: Option<Arc<MemoryAccount>>,
    /// Its text without constants, once that is asked for.
    normalized: NormalizedOnce,
}

/// A clone, which may become another statement, starts without.
#[derive(Debug, Default)]
struct NormalizedOnce(OnceLock<NormalizedText>);

impl Clone for NormalizedOnce {
    fn clone(&self) -> NormalizedOnce {
        NormalizedOnce::default()
    }
}

/// The plan that a statement keeps. What it is tells which statements are alike.
#[derive(Debug, Clone)]
pub(super) enum KeptPlan {
    /// That of a query.
    Query(PlanCache<QueryPlan>),
    /// That of a write.
    Write(PlanCache<WritePlan>),
    /// That of a query or a write whose WITH clause writes.
    WithWrites(PlanCache<WithWrites>),
    /// All others keep none.
    None,
}

/// The statements of a message. Errors: 42601 with a position, 54001.
pub fn parse(text: &str) -> Result<Vec<Statement>> {
    let parsed = parse::parse(text)?;
    Ok(parsed.into_iter().map(Statement::new).collect())
}

impl Statement {
    pub(super) fn new(parsed: ParsedStatement) -> Statement {
        Statement {
            effort: Effort::of(&parsed),
            kept: KeptPlan::of(&parsed.ast),
            parsed,
            _held: None,
            normalized: NormalizedOnce::default(),
        }
    }

    /// The same statement, whose memory the account holds as long as it is there.
    pub fn held_in(self, account: &Arc<MemoryAccount>) -> Statement {
        Statement {
            _held: Some(Arc::clone(account)),
            ..self
        }
    }

    /// Its text without constants; of what is no query, and writes no rows, with them. `has_parameters_for_constants`: parameters stand
    /// for constants that its text had; it is so in all its runs.
    pub fn normalized_text(&self, has_parameters_for_constants: bool) -> &NormalizedText {
        let constants = match self.is_utility() {
            true => TextConstants::Stay,
            false if has_parameters_for_constants => TextConstants::GoLikeParameters,
            false => TextConstants::Go,
        };
        let normalized = &self.normalized.0;
        normalized.get_or_init(|| NormalizedText::of(&self.parsed.text, constants))
    }

    /// Whether it is no SELECT, INSERT, UPDATE, DELETE or MERGE.
    pub fn is_utility(&self) -> bool {
        use ast::Statement::{Delete, Insert, Merge, Query, Update};
        self.parsed.command.is_some()
            || !matches!(
                self.parsed.ast,
                Query(_) | Insert(_) | Update(_) | Delete(_) | Merge(_)
            )
    }

    /// Where a query keeps its plan, if nothing is said of it each time and it runs nothing of users.
    pub(crate) fn kept_query(&self) -> Option<&PlanCache<QueryPlan>> {
        let KeptPlan::Query(kept) = &self.kept else {
            return None;
        };
        let parsed = &self.parsed;
        (parsed.warnings.is_empty()
            && parsed.databases.is_empty()
            && parsed.command.is_none()
            && !parsed.runs_code())
        .then_some(kept)
    }

    /// The relation whose rows an INSERT, UPDATE, DELETE, MERGE or COPY FROM writes, if that is all it writes.
    pub fn rows_written_to(&self) -> Option<&ast::ObjectName> {
        if let Some(Command::Copy(copy)) = &self.parsed.command {
            return match &copy.subject {
                CopySubject::Relation { name, .. } if copy.is_from => Some(name),
                _ => None,
            };
        }
        match &self.parsed.ast {
            ast::Statement::Insert(insert) => match &insert.table {
                ast::TableObject::TableName(name) => Some(name),
                _ => None,
            },
            ast::Statement::Update(update) => name_of(&update.table),
            ast::Statement::Delete(delete) => match &delete.from {
                ast::FromTable::WithFromKeyword(tables) | ast::FromTable::WithoutKeyword(tables) => {
                    tables.first().and_then(name_of)
                }
            },
            ast::Statement::Merge(merge) => name_of_factor(&merge.table),
            _ => None,
        }
    }

    /// Whether it is a query that makes no table and writes nothing.
    pub fn is_query(&self) -> bool {
        let is_query = matches!(&self.parsed.ast, ast::Statement::Query(query) if !is_select_into(query) && !has_writes(query));
        is_query && self.parsed.command.is_none()
    }

    /// What a COPY copies, as a statement of its own.
    pub(super) fn without_command(&self) -> Statement {
        let mut statement = self.clone();
        statement.parsed.command = None;
        statement
    }

    /// The same statement with another tree: what it explains, or what it reads as.
    pub(super) fn with_tree(&self, ast: ast::Statement) -> Statement {
        let mut statement = self.clone();
        statement.kept = KeptPlan::of(&ast);
        statement.parsed.ast = ast;
        statement
    }
}

/// The relation that a write names as its target.
fn name_of(target: &ast::TableWithJoins) -> Option<&ast::ObjectName> {
    name_of_factor(&target.relation)
}

fn name_of_factor(target: &ast::TableFactor) -> Option<&ast::ObjectName> {
    match target {
        ast::TableFactor::Table { name, .. } => Some(name),
        _ => None,
    }
}

impl KeptPlan {
    /// None yet, of a statement with this tree.
    fn of(ast: &ast::Statement) -> KeptPlan {
        match ast {
            ast::Statement::Query(query) if is_select_into(query) => KeptPlan::None,
            ast::Statement::Query(query) if has_writes(query) => KeptPlan::WithWrites(PlanCache::default()),
            ast::Statement::Query(_) => KeptPlan::Query(PlanCache::default()),
            ast::Statement::Insert(_)
            | ast::Statement::Update(_)
            | ast::Statement::Delete(_)
            | ast::Statement::Merge(_) => KeptPlan::Write(PlanCache::default()),
            _ => KeptPlan::None,
        }
    }

    /// Whether the last run was short.
    pub(super) fn is_short_by_experience(&self, ctx: &StatementContext) -> bool {
        match self {
            KeptPlan::Query(kept) => {
                let plan = kept.get(ctx.plan_basis());
                plan.is_some_and(|plan| plan.fits(ctx) && plan.is_short_by_experience())
            }
            KeptPlan::WithWrites(kept) => {
                let plan = kept.get(ctx.plan_basis());
                plan.is_some_and(|plan| plan.fits(ctx) && plan.is_short_by_experience())
            }
            KeptPlan::Write(kept) => {
                let plan = kept.get(ctx.plan_basis());
                plan.is_some_and(|plan| plan.fits(ctx) && plan.is_short_by_experience())
            }
            KeptPlan::None => false,
        }
    }
}
