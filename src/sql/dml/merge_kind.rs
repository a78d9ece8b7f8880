//! The kinds of WHEN clauses of MERGE, and what each may name.

use sqlparser::ast::{self, MergeClauseKind};

use super::row_search::RowSearch;
use super::target::Target;
use crate::error::StatementFault;
use crate::query::RowRelation;
use crate::{Error, Result};

/// Which rows of the join a clause is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Both sides are there.
    Matched,
    /// The target alone.
    NotMatchedBySource,
    /// The source alone.
    NotMatched,
}

impl Kind {
    /// That of a clause as it is written.
    pub(super) fn of(kind: &MergeClauseKind) -> Kind {
        match kind {
            MergeClauseKind::Matched => Kind::Matched,
            MergeClauseKind::NotMatchedBySource => Kind::NotMatchedBySource,
            MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget => Kind::NotMatched,
        }
    }
}

/// Whether a MERGE has a clause of this kind.
pub(super) fn has(merge: &ast::Merge, kind: Kind) -> bool {
    merge
        .clauses
        .iter()
        .any(|clause| Kind::of(&clause.clause_kind) == kind)
}

/// Whether it asks for rows that no row of the source matches.
pub(super) fn by_source(merge: &ast::Merge) -> bool {
    has(merge, Kind::NotMatchedBySource)
}

/// The source's relations, without what marks its rows.
pub(super) fn source_of(found: &RowSearch, is_marked: bool) -> Vec<RowRelation> {
    let mut source = found.beside.clone();
    if is_marked && let Some(last) = source.last_mut() {
        last.columns.pop();
    }
    source
}

/// What the expressions of a clause may name.
pub(super) fn relations_of(target: &Target, source: Vec<RowRelation>, kind: Kind) -> Vec<RowRelation> {
    match kind {
        Kind::NotMatched => source,
        Kind::Matched | Kind::NotMatchedBySource => {
            let mut both = vec![target.relation()];
            both.extend(source);
            both
        }
    }
}

/// Errors: 42601 for a clause that no row comes to.
pub(super) fn check_reachable(clauses: &[ast::MergeClause]) -> Result<()> {
    let mut closed: Vec<Kind> = Vec::new();
    for clause in clauses {
        let kind = Kind::of(&clause.clause_kind);
        if closed.contains(&kind) {
            return Err(Error::InvalidStatement {
                state: StatementFault::Syntax,
                message: "unreachable WHEN clause specified after unconditional WHEN clause".to_string(),
                hint: None,
            });
        }
        if clause.predicate.is_none() {
            closed.push(kind);
        }
    }
    Ok(())
}
