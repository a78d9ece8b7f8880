//! An OR whose alternatives are bounded by different keys (`channel = 'x' OR status = 'new'`) as several paths, one a key,
//! none of which gives a row that one before it gives.

use std::sync::Arc;

use super::Predicate;
use super::access_path::AccessPath;
use super::candidate::Candidate;
use super::rules::PlanRules;
use super::wanted::Wanted;
use crate::Error;
use crate::catalog::{IndexDef, TableDef};

/// Alternatives at most: each is planned under every key.
const ALTERNATIVES_MAX: usize = 1024;

/// A table's read that no single key bounds.
pub(super) struct UnionPlan<'a> {
    pub(super) table: &'a Arc<TableDef>,
    /// The keys that may be read.
    pub(super) keys: &'a [&'a IndexDef],
    /// What holds for every row wanted.
    pub(super) conditions: &'a [&'a Predicate],
    pub(super) wanted: Wanted<'a>,
    pub(super) rules: &'a PlanRules,
}

/// The alternatives that one key bounds.
struct Part<'a> {
    key: &'a IndexDef,
    alternatives: Vec<Predicate>,
}

impl<'a> UnionPlan<'a> {
    /// The paths; `None` when no OR among the conditions has each of its alternatives bounded.
    pub(super) fn paths(&self) -> Option<Vec<AccessPath>> {
        (0..self.conditions.len()).find_map(|at| {
            let mut others = self.conditions.to_vec();
            // Of what is opaque nobody here can say that a row does not satisfy it.
            match others.remove(at) {
                or @ Predicate::Or(_) if !or.has_opaque() => self.paths_of(&alternatives(or), &others),
                _ => None,
            }
        })
    }

    fn paths_of(&self, alternatives: &[&Predicate], others: &[&Predicate]) -> Option<Vec<AccessPath>> {
        if alternatives.len() > ALTERNATIVES_MAX {
            return None;
        }
        let mut parts: Vec<Part<'a>> = Vec::new();
        for alternative in alternatives {
            let chosen = self.best(self.keys, alternative, others)?;
            match parts.iter_mut().find(|part| part.key.id == chosen.key.id) {
                Some(part) => part.alternatives.push((*alternative).clone()),
                None => parts.push(Part {
                    key: chosen.key,
                    alternatives: vec![(*alternative).clone()],
                }),
            }
        }
        let (mut paths, mut before) = (Vec::with_capacity(parts.len()), Vec::new());
        for part in parts {
            let condition = Predicate::any(part.alternatives);
            let chosen = self.best(&[part.key], &condition, others)?;
            paths.push(self.path(chosen, &before)?);
            before.push(Predicate::Is {
                child: Box::new(condition),
                truth: Some(true),
                negated: true,
            });
        }
        Some(paths)
    }

    /// The best of the keys, if it is bounded.
    fn best<'k>(
        &self,
        keys: &[&'k IndexDef],
        alternative: &Predicate,
        others: &[&Predicate],
    ) -> Option<Candidate<'k>> {
        let mut conditions = others.to_vec();
        conditions.extend(alternative.conjuncts());
        let best = Candidate::best(self.table, keys, &conditions, self.wanted, self.rules);
        best.filter(Candidate::is_bounded)
    }

    /// The path of a part, without the rows that those before it give.
    fn path(&self, chosen: Candidate<'_>, before: &[Predicate]) -> Option<AccessPath> {
        // Its parts are bounded: none is a scan that might be refused.
        let refusal = || Error::internal("a part of a union has no bound");
        let mut path = chosen.path(self.table, self.rules, refusal).ok()?;
        let checks = path.residual.take().into_iter().chain(before.iter().cloned());
        let checks: Vec<Predicate> = checks.collect();
        path.residual = (!checks.is_empty()).then(|| Predicate::all(checks));
        Some(path)
    }
}

/// The alternatives of an OR, however nested.
pub(super) fn alternatives(predicate: &Predicate) -> Vec<&Predicate> {
    match predicate {
        Predicate::Or(children) => children.iter().flat_map(alternatives).collect(),
        other => vec![other],
    }
}
