//! The keys of groups.

use super::expr::Expr;

/// Every key of a group, once: that of any set where there are several.
pub fn grouping_keys(group_expr: &[Expr]) -> Vec<&Expr> {
    let keys: Vec<&Expr> = match group_expr {
        [Expr::GroupingSets(sets)] => sets.iter().flatten().collect(),
        keys => keys.iter().collect(),
    };
    let mut once: Vec<&Expr> = Vec::with_capacity(keys.len());
    for key in keys {
        if !once.contains(&key) {
            once.push(key);
        }
    }
    once
}

/// How often the set comes that comes most often, less one.
pub(super) fn repetitions(sets: &[Vec<Expr>]) -> usize {
    let times = |set: &Vec<Expr>| sets.iter().filter(|other| is_same(set, other)).count();
    sets.iter().map(times).max().unwrap_or(1).saturating_sub(1)
}

fn is_same(set: &[Expr], other: &[Expr]) -> bool {
    set.iter().all(|key| other.contains(key)) && other.iter().all(|key| set.contains(key))
}
