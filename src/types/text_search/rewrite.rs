//! `ts_rewrite`: a part of a query that is another query becomes a third. As in PostgreSQL what AND and OR join has no order of its own: some of
//! the operands of one may be the part, and the rest is sorted as there, by a check sum of the words.

use std::cmp::Ordering;

use super::query::{QueryNode, TsQuery};
use crate::Result;

impl TsQuery {
    /// The query with `substitute` in the place of each part that is `target`; without one the parts are left out. Errors: 54001.
    pub(crate) fn rewritten(&self, target: &TsQuery, substitute: &TsQuery) -> Result<TsQuery> {
        let (Some(root), Some(target)) = (&self.root, &target.root) else {
            return Ok(self.clone());
        };
        let rewrite = Rewrite {
            target: sorted(target.clone()),
            substitute: substitute.root.clone().map(in_pairs),
        };
        let root = rewrite.part(sorted(root.clone()));
        TsQuery::new(root.map(in_lists))
    }
}

struct Rewrite {
    /// Sorted.
    target: QueryNode,
    /// Its operands two by two, the second first.
    substitute: Option<QueryNode>,
}

impl Rewrite {
    /// The part anew; what is put into it is not looked at. `None`: nothing is left of it.
    fn part(&self, node: QueryNode) -> Option<QueryNode> {
        if compare(&node, &self.target).is_eq() {
            return self.substitute.clone();
        }
        Some(match node {
            QueryNode::And(list) => self.operands(list, QueryNode::And)?,
            QueryNode::Or(list) => self.operands(list, QueryNode::Or)?,
            QueryNode::Not(inner) => QueryNode::Not(Box::new(self.part(*inner)?)),
            QueryNode::Phrase(left, right, distance) => match (self.part(*left), self.part(*right)) {
                (Some(left), Some(right)) => QueryNode::phrase(left, right, distance),
                (left, right) => left.or(right)?,
            },
            word => word,
        })
    }

    fn operands(&self, list: Vec<QueryNode>, join: Join) -> Option<QueryNode> {
        let (list, is_found) = self.without_target(list, join);
        let mut nodes: Vec<QueryNode> = list.into_iter().filter_map(|node| self.part(node)).collect();
        if is_found {
            nodes.extend(self.substitute.clone().map(sorted));
            nodes.sort_by(compare);
        }
        match nodes.len() {
            0 | 1 => nodes.pop(),
            _ => Some(join(nodes)),
        }
    }

    /// The operands without those of the target, if all of these are among them. Both are sorted.
    fn without_target(&self, list: Vec<QueryNode>, join: Join) -> (Vec<QueryNode>, bool) {
        let wanted = match (&self.target, join(Vec::new())) {
            (QueryNode::And(wanted), QueryNode::And(_)) | (QueryNode::Or(wanted), QueryNode::Or(_)) => wanted,
            _ => return (list, false),
        };
        let mut left = wanted.iter().peekable();
        let is_wanted = list
            .iter()
            .map(|node| left.next_if(|wanted| compare(node, wanted).is_eq()).is_some());
        let is_wanted: Vec<bool> = is_wanted.collect();
        if left.next().is_some() {
            return (list, false);
        }
        let kept = list.into_iter().zip(is_wanted);
        (
            kept.filter(|(_, is_wanted)| !is_wanted)
                .map(|(node, _)| node)
                .collect(),
            true,
        )
    }
}

/// AND or OR of operands.
type Join = fn(Vec<QueryNode>) -> QueryNode;

/// The same with each of its operands made anew, and lists of them joined so.
fn with_parts(
    node: QueryNode,
    of_list: fn(Vec<QueryNode>, Join) -> QueryNode,
    of: fn(QueryNode) -> QueryNode,
) -> QueryNode {
    match node {
        QueryNode::And(list) => of_list(list.into_iter().map(of).collect(), QueryNode::And),
        QueryNode::Or(list) => of_list(list.into_iter().map(of).collect(), QueryNode::Or),
        QueryNode::Not(inner) => QueryNode::Not(Box::new(of(*inner))),
        QueryNode::Phrase(left, right, distance) => QueryNode::phrase(of(*left), of(*right), distance),
        word => word,
    }
}

/// With the operands of AND and OR in their order.
fn sorted(node: QueryNode) -> QueryNode {
    let in_order = |mut list: Vec<QueryNode>, join: Join| {
        list.sort_by(compare);
        join(list)
    };
    with_parts(node, in_order, sorted)
}

/// With AND and OR of two operands each, the first two joined first.
fn in_pairs(node: QueryNode) -> QueryNode {
    let paired = |list: Vec<QueryNode>, join: Join| {
        let joined = list.into_iter().reduce(|left, right| join(vec![right, left]));
        joined.unwrap_or_else(|| join(Vec::new()))
    };
    with_parts(node, paired, in_pairs)
}

/// As it is written: with one AND for those within each other, and one OR. PostgreSQL joins the first two operands, then the last one with these,
/// the last but one, and so on, and writes what it joined later first.
fn in_lists(node: QueryNode) -> QueryNode {
    let listed = |mut list: Vec<QueryNode>, join: Join| {
        let is_and = matches!(join(Vec::new()), QueryNode::And(_));
        let joined_last = list.split_off(list.len().min(2));
        let written = joined_last.into_iter().chain(list.into_iter().rev());
        let flat = written.flat_map(|node| match (node, is_and) {
            (QueryNode::And(inner), true) | (QueryNode::Or(inner), false) => inner,
            (other, _) => vec![other],
        });
        join(flat.collect())
    };
    with_parts(node, listed, in_lists)
}

/// PostgreSQL's order of parts: what is greater comes first, words last. Weights and prefixes do not count.
fn compare(one: &QueryNode, other: &QueryNode) -> Ordering {
    use QueryNode::{And, Not, Or, Phrase, Word};
    let operator = |node: &QueryNode| match node {
        Word(_) => 0,
        Not(_) => 1,
        And(_) => 2,
        Or(_) => 3,
        Phrase(..) => 4,
    };
    let lists = |one: &[QueryNode], other: &[QueryNode]| {
        let parts = one.iter().zip(other).map(|(one, other)| compare(one, other));
        let lengths = other.len().cmp(&one.len());
        lengths.then_with(|| parts.fold(Ordering::Equal, Ordering::then))
    };
    match (one, other) {
        (Word(one), Word(other)) => {
            let sums = legacy_crc(&other.word).cmp(&legacy_crc(&one.word));
            sums.then_with(|| one.word.as_bytes().cmp(other.word.as_bytes()))
        }
        (Not(one), Not(other)) => compare(one, other),
        (And(one), And(other)) | (Or(one), Or(other)) => lists(one, other),
        (Phrase(left, right, distance), Phrase(other_left, other_right, other_distance)) => {
            compare(right, other_right)
                .then_with(|| compare(left, other_left))
                .then_with(|| other_distance.cmp(distance))
        }
        (one, other) => operator(other).cmp(&operator(one)),
    }
}

/// PostgreSQL's check sum of a word: that of CRC-32's table, whose bits are reversed, read as if they were not; signed.
fn legacy_crc(word: &str) -> i32 {
    let of_byte = |byte: u32| {
        (0..8).fold(byte, |sum, _| {
            (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg())
        })
    };
    let sum = word.bytes().fold(u32::MAX, |sum, byte| {
        of_byte((sum >> 24) ^ u32::from(byte)) ^ (sum << 8)
    });
    (sum ^ u32::MAX).cast_signed()
}
