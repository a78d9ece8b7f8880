//! Predicates to boxes. A box gives some key columns a set of values each; a predicate becomes an OR of boxes that
//! covers every row for which it is true, and says whether it covers no other (`tight`).
//!
//! NOT is never applied to boxes, since the complement of a cover is no cover: it goes down to the leaves, where the
//! values that make a comparison false are a set of their own (NULL makes it neither).

use std::sync::Arc;

use super::column_set::ColumnSet;
use super::key_shape::{KeyColumnShape, KeyShape};
use super::like::{LikePattern, LikeShape};
use super::predicate::{CompareOp, Predicate, lower_row_in};
use crate::types::Value;

/// Boxes at most: past it conjuncts are left to the residual filter, and alternatives are merged into their hull.
pub(crate) const BOXES_MAX: usize = 4096;

/// For each key column the values it may take; `None`: any.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KeyBox {
    columns: Vec<Option<Arc<ColumnSet>>>,
}

/// The boxes that cover a condition; none when nothing satisfies it.
#[derive(Debug)]
pub(crate) struct Cover {
    pub(crate) boxes: Vec<KeyBox>,
    /// Every row inside the boxes satisfies the condition.
    pub(crate) tight: bool,
}

/// The boxes that cover all of several conditions.
#[derive(Debug)]
pub(crate) struct ConjunctCover {
    pub(crate) boxes: Vec<KeyBox>,
    /// For each condition: whether every row inside the boxes satisfies it.
    pub(crate) tight: Vec<bool>,
}

/// The values of one key column for which a condition has the truth wanted.
struct Leaf {
    position: usize,
    set: ColumnSet,
    /// The set is exact (else it may hold too much).
    tight: bool,
}

impl KeyBox {
    fn any(columns: usize) -> KeyBox {
        KeyBox {
            columns: vec![None; columns],
        }
    }

    fn one(columns: usize, position: usize, set: ColumnSet) -> KeyBox {
        let mut any = KeyBox::any(columns);
        any.columns[position] = Some(Arc::new(set));
        any
    }

    /// The values of the key column at `position`; `None`: any.
    pub(crate) fn set(&self, position: usize) -> Option<&ColumnSet> {
        self.columns.get(position)?.as_deref()
    }

    /// The box with a set for a column that it did not bound.
    pub(crate) fn bounded_by(mut self, position: usize, set: &Arc<ColumnSet>) -> KeyBox {
        self.columns[position].get_or_insert_with(|| Arc::clone(set));
        self
    }

    /// Whether any column from `position` on is bounded.
    pub(crate) fn bounds_from(&self, position: usize) -> bool {
        self.columns.iter().skip(position).any(Option::is_some)
    }

    /// What lies in both; `None` when nothing does.
    fn intersect(&self, other: &KeyBox) -> Option<KeyBox> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for pair in self.columns.iter().zip(&other.columns) {
            columns.push(match pair {
                (None, set) | (set, None) => set.clone(),
                (Some(left), Some(right)) => {
                    let both = left.intersect(right);
                    if both.is_empty() {
                        return None;
                    }
                    Some(Arc::new(both))
                }
            });
        }
        Some(KeyBox { columns })
    }

    /// The one column that the box bounds, if it is one.
    fn single(&self) -> Option<usize> {
        let mut bounded = self.columns.iter().enumerate().filter(|(_, set)| set.is_some());
        let (position, _) = bounded.next()?;
        bounded.next().is_none().then_some(position)
    }
}

/// Covers the rows for which every one of `conditions` is true.
pub(crate) fn cover_all(shape: &KeyShape, conditions: &[&Predicate]) -> ConjunctCover {
    Builder { shape }.conjunction(conditions, true)
}

struct Builder<'a> {
    shape: &'a KeyShape,
}

impl Builder<'_> {
    /// Covers the rows for which the predicate is `wanted`.
    fn cover(&self, predicate: &Predicate, wanted: bool) -> Cover {
        match predicate {
            Predicate::Constant(truth) => self.constant(*truth == Some(wanted)),
            Predicate::HasTerm { .. } | Predicate::WouldHaveTerms { .. } => self.constant(wanted),
            Predicate::Opaque { .. } => self.loose(),
            Predicate::RowIn { columns, rows } => self.cover(&lower_row_in(columns, rows), wanted),
            Predicate::Not(child) => self.cover(child, !wanted),
            Predicate::Is {
                child,
                truth,
                negated,
            } => self.truth_test(child, *truth, *negated != wanted),
            Predicate::And(children) | Predicate::Or(children) => {
                let children: Vec<_> = children.iter().collect();
                if matches!(predicate, Predicate::And(_)) == wanted {
                    let ConjunctCover { boxes, tight } = self.conjunction(&children, wanted);
                    Cover {
                        boxes,
                        tight: tight.into_iter().all(|tight| tight),
                    }
                } else {
                    self.disjunction(&children, wanted)
                }
            }
            Predicate::Compare { .. }
            | Predicate::InList { .. }
            | Predicate::IsNull { .. }
            | Predicate::IsTrue { .. }
            | Predicate::Like { .. } => match self.leaf(predicate, wanted) {
                Some(Leaf { position, set, tight }) => self.bounded(position, set, tight),
                None if is_never(predicate, wanted) => self.constant(false),
                None => self.loose(),
            },
        }
    }

    /// Covers the rows where the child's truth is `truth` (`holds`), or is not (`!holds`).
    fn truth_test(&self, child: &Predicate, truth: Option<bool>, holds: bool) -> Cover {
        if let Predicate::Constant(constant) = child {
            return self.constant((*constant == truth) == holds);
        }
        if let (Some(truth), true) = (truth, holds) {
            return self.cover(child, truth);
        }
        if let (None, false) = (truth, holds) {
            return merge(vec![self.cover(child, true), self.cover(child, false)]);
        }
        // Only an exact set has a complement that covers what it should.
        let exact = |wanted| self.leaf(child, wanted).filter(|leaf| leaf.tight);
        let other = match truth {
            Some(truth) => exact(truth),
            None => exact(true).zip(exact(false)).map(|(when_true, when_false)| Leaf {
                set: ColumnSet::union([&when_true.set, &when_false.set]),
                ..when_true
            }),
        };
        let Some(Leaf { position, set, .. }) = other else {
            return self.loose();
        };
        let column = &self.shape.columns[position];
        self.bounded(position, column.complement(&set), true)
    }

    fn conjunction(&self, children: &[&Predicate], wanted: bool) -> ConjunctCover {
        let mut covers: Vec<_> = children
            .iter()
            .map(|child| self.cover(child, wanted))
            .enumerate()
            .collect();
        let mut tight = vec![true; children.len()];
        // Few boxes first: what they rule out need not be multiplied.
        covers.sort_by_key(|(_, cover)| cover.boxes.len());
        let mut boxes = vec![KeyBox::any(self.shape.columns.len())];
        for (place, (index, cover)) in covers.into_iter().enumerate() {
            tight[index] = cover.tight;
            if place == 0 {
                boxes = cover.boxes;
                continue;
            }
            if boxes.len() * cover.boxes.len() > BOXES_MAX {
                // Leaving a conjunct out only widens the cover.
                tight[index] = false;
                continue;
            }
            let pairs = boxes
                .iter()
                .flat_map(|left| cover.boxes.iter().map(move |right| (left, right)));
            boxes = merge_single(pairs.filter_map(|(left, right)| left.intersect(right)).collect());
            if boxes.is_empty() {
                break;
            }
        }
        ConjunctCover { boxes, tight }
    }

    fn disjunction(&self, children: &[&Predicate], wanted: bool) -> Cover {
        merge(children.iter().map(|child| self.cover(child, wanted)).collect())
    }

    /// The values for which a condition on one key column is `wanted`; `None` when it is on another column or the planner
    /// cannot use it.
    fn leaf(&self, predicate: &Predicate, wanted: bool) -> Option<Leaf> {
        let (Predicate::Compare { column, .. }
        | Predicate::InList { column, .. }
        | Predicate::IsNull { column }
        | Predicate::IsTrue { column }
        | Predicate::Like { column, .. }) = predicate
        else {
            return None;
        };
        let position = self.shape.position(*column)?;
        let key = &self.shape.columns[position];
        let (set, tight) = match predicate {
            Predicate::Compare { op, value, .. } => {
                let op = if wanted { *op } else { op.negated() };
                (key.compare_set(op, value)?, true)
            }
            Predicate::InList { values, .. } => (in_list_set(key, values, wanted)?, true),
            Predicate::IsNull { .. } if wanted => (key.null_set(), true),
            Predicate::IsNull { .. } => (key.not_null_set(), true),
            Predicate::IsTrue { .. } => (key.compare_set(CompareOp::Eq, &Value::Bool(wanted))?, true),
            Predicate::Like {
                pattern,
                escape,
                case_insensitive,
                ..
            } if key.ignores_case() || !case_insensitive => {
                like_set(key, (pattern, *escape, *case_insensitive), wanted)?
            }
            _ => return None,
        };
        Some(Leaf { position, set, tight })
    }

    fn constant(&self, truth: bool) -> Cover {
        let boxes = if truth {
            vec![KeyBox::any(self.shape.columns.len())]
        } else {
            Vec::new()
        };
        Cover { boxes, tight: true }
    }

    fn loose(&self) -> Cover {
        Cover {
            boxes: vec![KeyBox::any(self.shape.columns.len())],
            tight: false,
        }
    }

    fn bounded(&self, position: usize, set: ColumnSet, tight: bool) -> Cover {
        let boxes = if set.is_empty() {
            Vec::new()
        } else {
            vec![KeyBox::one(self.shape.columns.len(), position, set)]
        };
        Cover { boxes, tight }
    }
}

/// Whether a comparison on a column that the planner cannot use is nevertheless known never to be `wanted`, because of
/// NULL constants.
fn is_never(predicate: &Predicate, wanted: bool) -> bool {
    match predicate {
        Predicate::Compare { value, .. } | Predicate::Like { pattern: value, .. } => *value == Value::Null,
        Predicate::InList { values, .. } if wanted => values.iter().all(|value| *value == Value::Null),
        Predicate::InList { values, .. } => values.contains(&Value::Null),
        _ => false,
    }
}

fn in_list_set(key: &KeyColumnShape, values: &[Value], wanted: bool) -> Option<ColumnSet> {
    let points: Option<Vec<_>> = values
        .iter()
        .map(|value| key.compare_set(CompareOp::Eq, value))
        .collect();
    let when_true = ColumnSet::union(&points?);
    Some(if wanted {
        when_true
    } else if values.is_empty() {
        // `x IN ()`, which only an empty array gives, is false even of NULL.
        key.complement(&when_true)
    } else if values.contains(&Value::Null) {
        ColumnSet::none()
    } else {
        key.complement(&when_true).with_null(false)
    })
}

/// The values that match a pattern, or do not, and whether the set is exact.
fn like_set(
    key: &KeyColumnShape,
    (pattern, escape, case_insensitive): (&Value, Option<char>, bool),
    wanted: bool,
) -> Option<(ColumnSet, bool)> {
    let bytes = match pattern {
        Value::Null => return Some((ColumnSet::none(), true)),
        Value::Text(text) => text.as_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => return None,
    };
    let parsed = Some(LikePattern::parse(bytes, escape)).filter(LikePattern::is_sound)?;
    let shape = match key.ignores_case() {
        true => parsed.to_lowercase().shape(),
        false => parsed.shape(),
    };
    if let LikeShape::Loose(prefix) = &shape
        && prefix.is_empty()
    {
        return None;
    }
    let (when_true, tight) = key.like_set(&shape);
    // Where case counts, such a key finds more.
    let tight = tight && case_insensitive == key.ignores_case();
    let set = match (wanted, tight) {
        (true, _) => when_true,
        (false, true) => key.complement(&when_true).with_null(false),
        (false, false) => key.not_null_set(),
    };
    Some((set, tight))
}

/// The boxes of any of several covers.
fn merge(covers: Vec<Cover>) -> Cover {
    let mut tight = true;
    let mut boxes = Vec::new();
    for cover in covers {
        tight &= cover.tight;
        boxes.extend(cover.boxes);
    }
    let boxes = merge_single(boxes);
    if boxes.len() > BOXES_MAX {
        Cover {
            boxes: vec![hull(&boxes)],
            tight: false,
        }
    } else {
        Cover { boxes, tight }
    }
}

/// Merges the boxes that bound exactly one and the same column; a box that bounds nothing swallows all others.
fn merge_single(boxes: Vec<KeyBox>) -> Vec<KeyBox> {
    if boxes.len() < 2 {
        return boxes;
    }
    let mut singles: Vec<(usize, Vec<KeyBox>)> = Vec::new();
    let mut merged = Vec::new();
    for candidate in boxes {
        if !candidate.bounds_from(0) {
            return vec![candidate];
        }
        match candidate.single() {
            None => merged.push(candidate),
            Some(position) => match singles.iter_mut().find(|(other, _)| *other == position) {
                Some((_, same)) => same.push(candidate),
                None => singles.push((position, vec![candidate])),
            },
        }
    }
    for (position, same) in singles {
        let union = ColumnSet::union(same.iter().filter_map(|single| single.set(position)));
        let columns = same.first().map_or(0, |single| single.columns.len());
        merged.push(KeyBox::one(columns, position, union));
    }
    merged
}

/// One box around all: for each column that every box bounds, all the values that any allows.
fn hull(boxes: &[KeyBox]) -> KeyBox {
    let columns = boxes.first().map_or(0, |first| first.columns.len());
    let column_hull = |position: usize| {
        let sets: Option<Vec<_>> = boxes.iter().map(|one| one.set(position)).collect();
        sets.map(|sets| Arc::new(ColumnSet::union(sets)))
    };
    KeyBox {
        columns: (0..columns).map(column_hull).collect(),
    }
}
