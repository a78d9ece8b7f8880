//! `TsQuery`: what is searched for: words, and operators over them.

use super::vector::Weight;
use crate::error::Limit;
use crate::{Error, Result};

/// Operators within each other at most: what walks a query calls itself.
pub(super) const DEPTH_MAX: usize = 500;
/// The greatest distance of two words of a phrase; PostgreSQL's.
pub(crate) const DISTANCE_MAX: u16 = 16_384;

/// A word that is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operand {
    /// The word.
    pub(crate) word: String,
    /// The weights that its places may have, bits of [`Weight::bit`]; none: any.
    pub(crate) weights: u8,
    /// Whether words that begin so are meant.
    pub(crate) is_prefix: bool,
}

/// A part of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QueryNode {
    /// A word.
    Word(Operand),
    /// It does not match.
    Not(Box<QueryNode>),
    /// All do; two at least.
    And(Vec<QueryNode>),
    /// One does; two at least.
    Or(Vec<QueryNode>),
    /// The second stands so many places behind the first.
    Phrase(Box<QueryNode>, Box<QueryNode>, u16),
}

/// A query; `None`: it has no words, and matches nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TsQuery {
    /// All of it.
    pub(crate) root: Option<QueryNode>,
}

/// How operators bind: a greater number tighter.
pub(super) fn priority(node: &QueryNode) -> u8 {
    match node {
        QueryNode::Or(_) => 1,
        QueryNode::And(_) => 2,
        QueryNode::Phrase(..) => 3,
        QueryNode::Not(_) => 4,
        QueryNode::Word(_) => 5,
    }
}

impl Operand {
    /// A word of any weight.
    pub(crate) fn any(word: String) -> Operand {
        Operand {
            word,
            weights: 0,
            is_prefix: false,
        }
    }

    /// Whether a place of this weight is one of its.
    pub(super) fn takes(&self, weight: Weight) -> bool {
        self.weights == 0 || self.weights & weight.bit() != 0
    }
}

impl QueryNode {
    /// Both. A list of them stays one list.
    pub(crate) fn and(left: QueryNode, right: QueryNode) -> QueryNode {
        let of = |node| match node {
            QueryNode::And(list) => list,
            other => vec![other],
        };
        let mut list = of(left);
        list.extend(of(right));
        QueryNode::And(list)
    }

    /// One of both.
    pub(crate) fn or(left: QueryNode, right: QueryNode) -> QueryNode {
        let of = |node| match node {
            QueryNode::Or(list) => list,
            other => vec![other],
        };
        let mut list = of(left);
        list.extend(of(right));
        QueryNode::Or(list)
    }

    /// One behind the other.
    pub(crate) fn phrase(left: QueryNode, right: QueryNode, distance: u16) -> QueryNode {
        QueryNode::Phrase(Box::new(left), Box::new(right), distance)
    }

    /// Its parts.
    fn parts(&self) -> Vec<&QueryNode> {
        match self {
            QueryNode::Word(_) => Vec::new(),
            QueryNode::Not(inner) => vec![inner],
            QueryNode::And(list) | QueryNode::Or(list) => list.iter().collect(),
            QueryNode::Phrase(left, right, _) => vec![left, right],
        }
    }

    /// How many operators stand within each other. Works without calling itself, for any depth.
    pub(super) fn depth(&self) -> usize {
        let (mut depth, mut level) = (0, vec![self]);
        while !level.is_empty() {
            depth += 1;
            level = level.into_iter().flat_map(QueryNode::parts).collect();
        }
        depth
    }

    /// How many words and operators it has.
    pub(crate) fn count(&self) -> usize {
        let parts = self.parts();
        let own = match self {
            QueryNode::And(list) | QueryNode::Or(list) => list.len() - 1,
            _ => 1,
        };
        own + parts.into_iter().map(QueryNode::count).sum::<usize>()
    }

    /// Its words, from left to right.
    pub(crate) fn operands(&self) -> Vec<&Operand> {
        match self {
            QueryNode::Word(operand) => vec![operand],
            other => other.parts().into_iter().flat_map(QueryNode::operands).collect(),
        }
    }

    /// What an index could be asked for: without what is negated. `None`: everything.
    pub(crate) fn indexable(&self) -> Option<QueryNode> {
        match self {
            QueryNode::Word(_) => Some(self.clone()),
            QueryNode::Not(_) => None,
            QueryNode::And(list) => {
                let kept = list.iter().filter_map(QueryNode::indexable);
                kept.reduce(QueryNode::and)
            }
            QueryNode::Or(list) => {
                let kept: Option<Vec<_>> = list.iter().map(QueryNode::indexable).collect();
                kept?.into_iter().reduce(QueryNode::or)
            }
            QueryNode::Phrase(left, right, distance) => match (left.indexable(), right.indexable()) {
                (Some(left), Some(right)) => Some(QueryNode::phrase(left, right, *distance)),
                (one, other) => one.or(other),
            },
        }
    }
}

impl TsQuery {
    /// Errors: 54001 for operators too deep within each other.
    pub(crate) fn new(root: Option<QueryNode>) -> Result<TsQuery> {
        match root.as_ref().is_some_and(|root| root.depth() > DEPTH_MAX) {
            true => Err(too_deep()),
            false => Ok(TsQuery { root }),
        }
    }

    /// Bytes that compare as queries do: that of fewer parts first.
    pub(crate) fn order_key(&self) -> Vec<u8> {
        let count = self.root.as_ref().map_or(0, QueryNode::count);
        let mut key = (count as u32).to_be_bytes().to_vec();
        key.extend_from_slice(self.to_string().as_bytes());
        key
    }
}

/// Operators stand too deep within each other.
pub(super) fn too_deep() -> Error {
    Error::LimitExceeded {
        state: Limit::Complexity,
        message: "stack depth limit exceeded".to_string(),
        hint: format!("Operators of a tsquery stand at most {DEPTH_MAX} deep within each other."),
    }
}

/// 22023.
pub(crate) fn out_of_distance() -> Error {
    Error::InvalidParameter {
        message: format!(
            "distance in phrase operator must be an integer value between zero and {DISTANCE_MAX} inclusive"
        ),
        hint: None,
    }
}
