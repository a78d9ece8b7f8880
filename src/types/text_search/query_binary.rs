//! The binary form of tsquery: how many parts there are, then each operator before its operands.

use super::query::{DEPTH_MAX, DISTANCE_MAX, Operand, QueryNode, TsQuery, out_of_distance, too_deep};
use super::word_reader::WORD_BYTES_MAX;
use crate::error::utf8;
use crate::{Error, Result};

/// PostgreSQL's numbers of parts and operators.
const WORD: u8 = 1;
const OPERATOR: u8 = 2;
const NOT: u8 = 1;
const AND: u8 = 2;
const OR: u8 = 3;
const PHRASE: u8 = 4;

/// Appends the binary form: how many parts there are, then each operator before its operands, the right one first.
pub(in crate::types) fn put_binary(out: &mut Vec<u8>, query: &TsQuery) {
    let count = query.root.as_ref().map_or(0, QueryNode::count);
    out.extend_from_slice(&(count as u32).to_be_bytes());
    if let Some(root) = &query.root {
        put_part(out, root);
    }
}

fn put_part(out: &mut Vec<u8>, node: &QueryNode) {
    match node {
        QueryNode::Word(operand) => {
            out.extend_from_slice(&[WORD, operand.weights, u8::from(operand.is_prefix)]);
            out.extend_from_slice(operand.word.as_bytes());
            out.push(0);
        }
        QueryNode::Not(inner) => {
            out.extend_from_slice(&[OPERATOR, NOT]);
            put_part(out, inner);
        }
        QueryNode::And(list) | QueryNode::Or(list) => {
            let symbol = if matches!(node, QueryNode::And(_)) {
                AND
            } else {
                OR
            };
            // The last is the right side of the first operator, as where each was read behind the others.
            for (at, part) in list.iter().enumerate().rev() {
                if at > 0 {
                    out.extend_from_slice(&[OPERATOR, symbol]);
                }
                put_part(out, part);
            }
        }
        QueryNode::Phrase(left, right, distance) => {
            out.extend_from_slice(&[OPERATOR, PHRASE]);
            out.extend_from_slice(&distance.to_be_bytes());
            put_part(out, right);
            put_part(out, left);
        }
    }
}

/// Reads the binary form; `None`: bytes are missing, or too many. Errors: 22P03, 22021, 54001.
pub(in crate::types) fn read_binary(bytes: &[u8]) -> Option<Result<TsQuery>> {
    let (count, mut rest) = bytes.split_first_chunk::<4>()?;
    if u32::from_be_bytes(*count) == 0 {
        return rest.is_empty().then(|| Ok(TsQuery::default()));
    }
    if u32::from_be_bytes(*count) as usize > bytes.len() {
        return Some(Err(damaged("invalid size of tsquery")));
    }
    let root = match read_part(&mut rest, 0)? {
        Ok(root) => root,
        Err(error) => return Some(Err(error)),
    };
    rest.is_empty().then(|| TsQuery::new(Some(root)))
}

fn damaged(message: &str) -> Error {
    Error::DataException {
        state: "22P03",
        message: message.to_string(),
    }
}

fn read_part(rest: &mut &[u8], depth: usize) -> Option<Result<QueryNode>> {
    if depth > DEPTH_MAX {
        return Some(Err(too_deep()));
    }
    let (kind, after) = rest.split_first()?;
    let (first, after) = after.split_first()?;
    *rest = after;
    if *kind == WORD {
        return read_word(rest, *first);
    }
    let part = |rest: &mut &[u8]| read_part(rest, depth + 1);
    let node = match (*kind, *first) {
        (OPERATOR, NOT) => match part(rest)? {
            Ok(inner) => QueryNode::Not(Box::new(inner)),
            error => return Some(error),
        },
        (OPERATOR, symbol @ (AND | OR | PHRASE)) => {
            let mut distance = 0;
            if symbol == PHRASE {
                let (word, after) = rest.split_first_chunk::<2>()?;
                distance = u16::from_be_bytes(*word);
                *rest = after;
            }
            let (right, left) = match (part(rest)?, part(rest)?) {
                (Ok(right), Ok(left)) => (right, left),
                (Err(error), _) | (_, Err(error)) => return Some(Err(error)),
            };
            match symbol {
                AND => QueryNode::and(left, right),
                OR => QueryNode::or(left, right),
                _ if distance > DISTANCE_MAX => return Some(Err(out_of_distance())),
                _ => QueryNode::phrase(left, right, distance),
            }
        }
        _ => return Some(Err(damaged("unrecognized operator type"))),
    };
    Some(Ok(node))
}

/// A word behind its weights.
fn read_word(rest: &mut &[u8], weights: u8) -> Option<Result<QueryNode>> {
    let (is_prefix, after) = rest.split_first()?;
    let end = after.iter().position(|byte| *byte == 0)?;
    let word = match utf8::text(&after[..end]) {
        Ok(word) => word.to_string(),
        Err(error) => return Some(Err(error)),
    };
    *rest = &after[end + 1..];
    if weights > 0xF {
        return Some(Err(damaged("invalid tsquery: invalid weight bitmap")));
    }
    if word.len() > WORD_BYTES_MAX {
        return Some(Err(damaged("invalid tsquery: operand too long")));
    }
    Some(Ok(QueryNode::Word(Operand {
        word,
        weights,
        is_prefix: *is_prefix != 0,
    })))
}
