//! How well a document matches: `ts_rank`, by how often words stand in it and how near to each other, and `ts_rank_cd`, by how short the
//! pieces of it are that match. The numbers are PostgreSQL's.

use super::match_query::{Document, is_in};
use super::query::{Operand, QueryNode, TsQuery};
use super::vector::{Lexeme, POSITION_MAX, Position, TsVector, Weight};

/// What places of the weights D, C, B and A count.
pub(crate) const DEFAULT_WEIGHTS: [f32; 4] = [0.1, 0.2, 0.4, 1.0];

/// Bits of what the rank is divided by.
const BY_LOG_OF_LENGTH: i32 = 1;
const BY_LENGTH: i32 = 2;
const BY_DISTANCE: i32 = 4;
const BY_WORDS: i32 = 8;
const BY_LOG_OF_WORDS: i32 = 16;
const TO_ONE: i32 = 32;

/// The sum of 1/n² over all n, to which the places of one word add up at most.
const SQUARES: f64 = 1.644_934_066_85;

/// The words of a query, each once.
fn distinct_operands(query: &TsQuery) -> Vec<&Operand> {
    let mut operands = query.root.as_ref().map(QueryNode::operands).unwrap_or_default();
    // Of equal words the last is the one that counts.
    operands.reverse();
    operands.sort_by(|a, b| a.word.cmp(&b.word));
    operands.dedup_by(|a, b| a.word == b.word);
    operands
}

fn lexemes_of<'a>(vector: &'a TsVector, operand: &'a Operand) -> Vec<&'a Lexeme> {
    match operand.is_prefix {
        true => vector.beginning_with(&operand.word).collect(),
        false => vector.get(&operand.word).into_iter().collect(),
    }
}

/// How many places there are; a word without any counts as one.
fn length_of(vector: &TsVector) -> usize {
    let lengths = vector
        .lexemes()
        .iter()
        .map(|lexeme| lexeme.positions.len().max(1));
    lengths.sum()
}

/// `ts_rank`.
pub(crate) fn rank(weights: &[f32; 4], vector: &TsVector, query: &TsQuery, normalization: i32) -> f32 {
    let Some(root) = query.root.as_ref().filter(|_| !vector.lexemes().is_empty()) else {
        return 0.0;
    };
    let operands = distinct_operands(query);
    let is_all = matches!(root, QueryNode::And(_) | QueryNode::Phrase(..)) && operands.len() > 1;
    let mut rank = match is_all {
        true => rank_of_all(weights, vector, &operands),
        false => rank_of_any(weights, vector, &operands),
    };
    if rank < 0.0 {
        rank = 1e-20;
    }
    let (length, words) = (length_of(vector), vector.lexemes().len());
    if normalization & BY_LOG_OF_LENGTH != 0 {
        rank = (f64::from(rank) / (((length + 1) as f64).ln() / 2_f64.ln())) as f32;
    }
    if normalization & BY_LENGTH != 0 && length > 0 {
        rank /= length as f32;
    }
    if normalization & BY_WORDS != 0 {
        rank /= words as f32;
    }
    if normalization & BY_LOG_OF_WORDS != 0 {
        rank = (f64::from(rank) / (((words + 1) as f64).ln() / 2_f64.ln())) as f32;
    }
    if normalization & TO_ONE != 0 {
        rank /= rank + 1.0;
    }
    rank
}

fn weight_of(weights: &[f32; 4], position: Position) -> f32 {
    weights[position.weight as usize]
}

fn rank_of_any(weights: &[f32; 4], vector: &TsVector, operands: &[&Operand]) -> f32 {
    const NOWHERE: [Position; 1] = [Position {
        place: 0,
        weight: Weight::D,
    }];
    let mut rank = 0_f32;
    for operand in operands {
        for lexeme in lexemes_of(vector, operand) {
            let positions = match lexeme.positions.is_empty() {
                true => &NOWHERE[..],
                false => &lexeme.positions,
            };
            let (mut sum, mut greatest, mut greatest_at) = (0_f32, -1_f32, 0);
            for (at, position) in positions.iter().enumerate() {
                let weight = weight_of(weights, *position);
                sum += weight / ((at + 1) * (at + 1)) as f32;
                if weight > greatest {
                    (greatest, greatest_at) = (weight, at);
                }
            }
            let first = greatest / ((greatest_at + 1) * (greatest_at + 1)) as f32;
            rank = (f64::from(rank) + f64::from(greatest + sum - first) / SQUARES) as f32;
        }
    }
    match operands.len() {
        0 => rank,
        count => rank / count as f32,
    }
}

/// How much two words count that stand so far from each other.
fn nearness(distance: u32) -> f32 {
    if distance > 100 {
        return 1e-30;
    }
    (1.0 / (1.005 + 0.05 * (f64::from(distance as f32) / 1.5 - 2.0).exp())) as f32
}

fn rank_of_all(weights: &[f32; 4], vector: &TsVector, operands: &[&Operand]) -> f32 {
    const LAST: [Position; 1] = [Position {
        place: POSITION_MAX,
        weight: Weight::D,
    }];
    let mut rank = -1_f32;
    let mut before: Vec<(&[Position], bool)> = Vec::new();
    for operand in operands {
        let mut own: Option<(&[Position], bool)> = None;
        for lexeme in lexemes_of(vector, operand) {
            let (positions, is_known) = match lexeme.positions.is_empty() {
                true => (&LAST[..], false),
                false => (&lexeme.positions[..], true),
            };
            own = Some((positions, is_known));
            for (others, others_known) in &before {
                for a in positions {
                    for b in *others {
                        let distance = u32::from(a.place.abs_diff(b.place));
                        let distance = match distance {
                            0 if is_known && *others_known => continue,
                            0 => u32::from(POSITION_MAX) + 1,
                            distance => distance,
                        };
                        let product = weight_of(weights, *a) * weight_of(weights, *b) * nearness(distance);
                        let found = f64::from(product).sqrt() as f32;
                        rank = match rank < 0.0 {
                            true => found,
                            false => (1.0 - (1.0 - f64::from(rank)) * (1.0 - f64::from(found))) as f32,
                        };
                    }
                }
            }
        }
        before.extend(own);
    }
    rank
}

/// A place of a document where words of the query stand.
struct Spot {
    position: Position,
    /// The operands that it is one of, by their numbers.
    operands: Vec<usize>,
}

/// The words that the spots of a piece of a document have.
struct Piece<'a> {
    operands: &'a [&'a Operand],
    /// By the operand: its places, rising.
    places: Vec<Vec<u16>>,
}

impl Piece<'_> {
    fn add(&mut self, spot: &Spot) {
        for operand in &spot.operands {
            let places = &mut self.places[*operand];
            if let Err(at) = places.binary_search(&spot.position.place) {
                places.insert(at, spot.position.place);
            }
        }
    }

    fn clear(&mut self) {
        self.places.iter_mut().for_each(Vec::clear);
    }
}

impl Document for Piece<'_> {
    fn places(&self, operand: &Operand) -> Option<Vec<u16>> {
        let at = self.operands.iter().position(|own| *own == operand)?;
        Some(self.places[at].clone()).filter(|places| !places.is_empty())
    }
}

/// Where words of the query stand, from the front to the back.
fn spots_of(vector: &TsVector, operands: &[&Operand]) -> Vec<Spot> {
    let mut spots: Vec<Spot> = Vec::new();
    for (number, operand) in operands.iter().enumerate() {
        for lexeme in lexemes_of(vector, operand) {
            // Words without places have none to be near to others.
            let taken = lexeme
                .positions
                .iter()
                .copied()
                .filter(|position| operand.takes(position.weight));
            spots.extend(taken.map(|position| Spot {
                position,
                operands: vec![number],
            }));
        }
    }
    spots.sort_by_key(|spot| (spot.position.place, spot.position.weight));
    let mut merged: Vec<Spot> = Vec::with_capacity(spots.len());
    for spot in spots {
        match merged.last_mut() {
            Some(last) if last.position == spot.position => last.operands.extend(spot.operands),
            _ => merged.push(spot),
        }
    }
    merged
}

/// The next piece that matches and has none within it that does: its first and last spot. `from`: where the search for the next one begins.
fn cover(
    root: &QueryNode,
    spots: &[Spot],
    piece: &mut Piece<'_>,
    from: &mut usize,
) -> Option<(usize, usize)> {
    while *from < spots.len() {
        piece.clear();
        let matches = |piece: &mut Piece<'_>, at: &usize| {
            piece.add(&spots[*at]);
            is_in(root, piece)
        };
        let last = (*from..spots.len()).find(|at| matches(piece, at))?;
        piece.clear();
        let first = (*from..=last).rev().find(|at| matches(piece, at));
        if let Some(first) = first {
            *from = first + 1;
            return Some((first, last));
        }
        *from += 1;
    }
    None
}

/// `ts_rank_cd`.
pub(crate) fn rank_by_covers(
    weights: &[f32; 4],
    vector: &TsVector,
    query: &TsQuery,
    normalization: i32,
) -> f32 {
    let Some(root) = &query.root else { return 0.0 };
    let mut operands = root.operands();
    operands.sort_by(|a, b| a.word.cmp(&b.word));
    operands.dedup();
    let spots = spots_of(vector, &operands);
    let mut piece = Piece {
        places: vec![Vec::new(); operands.len()],
        operands: &operands,
    };
    let (mut rank, mut distances, mut count, mut previous, mut from) = (0_f64, 0_f64, 0_u32, 0_f64, 0);
    while let Some((first, last)) = cover(root, &spots, &mut piece, &mut from) {
        let inverse = |spot: &Spot| 1.0 / f64::from(weights[spot.position.weight as usize]);
        let sum: f64 = spots[first..=last].iter().map(inverse).sum();
        let (start, end) = (spots[first].position.place, spots[last].position.place);
        let between = last - first;
        let noise = usize::from(end - start)
            .checked_sub(between)
            .unwrap_or(between / 2);
        rank += (between + 1) as f64 / sum / (1 + noise) as f64;
        let middle = (f64::from(start) + f64::from(end)) / 2.0;
        if count > 0 && middle > previous {
            distances += 1.0 / (middle - previous);
        }
        previous = middle;
        count += 1;
    }
    let (length, words) = (length_of(vector), vector.lexemes().len());
    if normalization & BY_LOG_OF_LENGTH != 0 && words > 0 {
        rank /= ((length + 1) as f64).ln();
    }
    if normalization & BY_LENGTH != 0 && length > 0 {
        rank /= length as f64;
    }
    if normalization & BY_DISTANCE != 0 && count > 0 && distances > 0.0 {
        rank /= f64::from(count) / distances;
    }
    if normalization & BY_WORDS != 0 && words > 0 {
        rank /= words as f64;
    }
    if normalization & BY_LOG_OF_WORDS != 0 && words > 0 {
        rank /= ((words + 1) as f64).ln() / 2_f64.ln();
    }
    if normalization & TO_ONE != 0 {
        rank /= rank + 1.0;
    }
    rank as f32
}
