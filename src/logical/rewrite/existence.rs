//! The rule `existence`: a join that gives nothing of one side only asks whether that has a row: a semi-join, where each row has one partner
//! at most, or where it does not matter how often rows come; and no join, where the other side stays anyway. Asked by `columns`, which
//! knows what is asked of a join.

use crate::logical::unique_columns::unique_columns;
use crate::tree::{Expr, Join, JoinType, NullEquality, Plan};

/// What a join is of which nothing else is asked.
pub(super) enum Asks {
    /// A join of this kind.
    Join(JoinType),
    /// Its left side, without a join.
    Left,
    /// Its right side.
    Right,
}

/// `gives`: whether columns of the left side are asked for, and of the right one. `once`: it does not matter how often rows come.
pub(super) fn asks(join: &Join, gives: (bool, bool), once: bool) -> Asks {
    let left_only = !gives.1 && (once || comes_once(join, &join.right, |(_, right)| right));
    let right_only = !gives.0 && (once || comes_once(join, &join.left, |(left, _)| left));
    let asks_pairs = join.filter.iter().any(Expr::is_volatile);
    match join.join_type {
        _ if asks_pairs => Asks::Join(join.join_type),
        JoinType::Left if left_only => Asks::Left,
        JoinType::Right if right_only => Asks::Right,
        JoinType::Inner if left_only && !join.on.is_empty() => Asks::Join(JoinType::LeftSemi),
        JoinType::Inner if right_only && !join.on.is_empty() => Asks::Join(JoinType::RightSemi),
        join_type => Asks::Join(join_type),
    }
}

/// Whether a side has one row at most for what it is joined by.
fn comes_once(join: &Join, side: &Plan, key: impl Fn(&(Expr, Expr)) -> &Expr) -> bool {
    let schema = side.schema();
    let keys: Vec<usize> = join
        .on
        .iter()
        .filter_map(|pair| match key(pair) {
            Expr::Column(column) => schema.maybe_index_of_column(column),
            _ => None,
        })
        .collect();
    let nulls_differ = join.null_equality == NullEquality::NullEqualsNothing;
    unique_columns(side).iter().any(|set| {
        let is_told = |at: &usize| keys.contains(at) && (nulls_differ || !schema.field(*at).is_nullable());
        set.iter().all(is_told)
    })
}
