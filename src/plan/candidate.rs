//! `Candidate`: how one key of a table would serve a condition: what would be read of it, and what would be left to check.
//! Never an error: whether it may run is said of the one that is chosen (`choice`).

use std::cmp::Reverse;
use std::sync::Arc;

use super::Predicate;
use super::access_path::{AccessClass, AccessPath, covers};
use super::bounds::{FirstColumn, bounds_column};
use super::boxes::{ConjunctCover, KeyBox, cover_all};
use super::derived::derived;
use super::key_order::KeyOrder;
use super::key_ranges::{self, Points, point_count};
use super::key_shape::KeyShape;
use super::merge::can_be_merged;
use super::one_key::one_key;
use super::rules::{FullScanPolicy, PlanRules};
use super::term_sets::TermSets;
use super::terms;
use super::wanted::Wanted;
use crate::Error;
use crate::catalog::{IndexDef, TableDef};
use crate::codec::keyspace::{ENTRY_PREFIX_BYTES, entry_prefix};
use crate::store::KeyRange;

/// What one key offers.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    /// The key.
    pub(super) key: &'a IndexDef,
    /// What would be read of it.
    pub(super) reach: Reach,
    /// As `AccessPath::residual`.
    pub(super) residual: Option<Predicate>,
    /// As `AccessPath::pinned`.
    pub(super) pinned: Vec<usize>,
    /// As `AccessPath::null_free`.
    pub(super) null_free: Vec<usize>,
    /// As `AccessPath::derived`.
    pub(super) derived: Vec<Predicate>,
    /// How closely the condition bounds the key: its columns from the first that are pinned to points, and whether the one
    /// behind them is bounded. That rows fulfil a partial index's condition is no bound: it may be true of most.
    closeness: (usize, bool),
    /// It gives the rows in the order of which only the first may be wanted.
    is_ordered: bool,
    /// Its entries hold all that is asked for.
    is_covering: bool,
}

/// The part of a key that holds every row for which the condition is true.
#[derive(Debug)]
pub(super) enum Reach {
    /// None of it: no row can match.
    Nothing,
    /// These keys, sorted and distinct.
    Keys(Vec<Vec<u8>>),
    /// So many keys: more than the rules let one read fetch.
    TooManyKeys(u128),
    /// These ranges, sorted and disjoint.
    Ranges(Vec<KeyRange>),
    /// The rows under these terms of an inverted index.
    Terms(TermSets),
    /// All of it, for there is no condition.
    Everything(KeyRange),
    /// All of it: there is a condition, and it says nothing of the first key column.
    Unbounded(KeyRange),
}

impl<'a> Candidate<'a> {
    /// What the best of several keys offers under all of `conditions`. `None`: each holds a column that cannot stand in a key.
    pub(super) fn best(
        table: &TableDef,
        keys: &[&'a IndexDef],
        conditions: &[&Predicate],
        wanted: Wanted<'_>,
        rules: &PlanRules,
    ) -> Option<Candidate<'a>> {
        let mut named = Vec::new();
        for condition in conditions {
            condition.for_each_column(&mut |column| named.push(column));
        }
        let may_bound =
            |column: usize| named.contains(&column) || table.columns[column].generation().is_some();
        // A key of which the conditions say nothing would be read whole, which the primary key does better.
        let may_be_best = |key: &IndexDef| {
            let mut columns = key.columns.iter();
            key.id == 0
                || key.terms.is_some()
                || keys.len() == 1
                || conditions.is_empty()
                || columns.any(|column| table.column_index_by_id(column.column).is_some_and(may_bound))
        };
        let keys = keys.iter().filter(|key| may_be_best(key));
        keys.filter_map(|key| Candidate::of(table, key, conditions, wanted, rules))
            .max_by_key(Candidate::rank)
    }

    /// What `key` offers under all of `conditions`. `None`: a column of it cannot stand in a key, or they want rows of which it has no entry.
    pub(super) fn of(
        table: &TableDef,
        key: &'a IndexDef,
        conditions: &[&Predicate],
        wanted: Wanted<'_>,
        rules: &PlanRules,
    ) -> Option<Candidate<'a>> {
        let mut candidate = match key.terms.is_some() {
            true => Candidate::inverted(table, key, conditions, rules)?,
            false => Candidate::bounded(table, key, conditions, rules)?,
        };
        let condition = key.condition_that_omits().filter(|_| key.terms.is_none());
        let condition = condition.and_then(|id| table.column_index_by_id(id));
        if condition.is_some_and(|at| !candidate.null_free.contains(&at)) && !candidate.is_empty() {
            return None;
        }
        let buckets = table
            .few_first_values(key)
            .filter(|values| can_be_merged(*values));
        let bucket: Vec<usize> = buckets
            .and(key.columns.first())
            .and_then(|first| table.column_index_by_id(first.column))
            .into_iter()
            .filter(|column| !candidate.pinned.contains(column) && table.is_never_null(*column))
            .collect();
        // Its buckets are merged.
        let order = KeyOrder::new(table, key, &candidate.pinned, &candidate.null_free).aside(&bucket);
        let first = wanted.first_in_order;
        candidate.is_ordered = !first.is_empty() && order.direction(first).is_some();
        // Nobody asks it of the primary key, where the rows are.
        candidate.is_covering = key.id != 0
            && match wanted.columns {
                Some(columns) => covers(table, key, columns, candidate.residual.as_ref()),
                None => (0..table.columns.len()).all(|column| table.is_covered(key, column)),
            };
        Some(candidate)
    }

    /// Whether no row can be wanted.
    fn is_empty(&self) -> bool {
        matches!(self.reach, Reach::Nothing)
    }

    /// What is read of a key, and nothing said of it yet.
    fn new(key: &'a IndexDef, reach: Reach) -> Candidate<'a> {
        Candidate {
            key,
            reach,
            residual: None,
            pinned: Vec::new(),
            null_free: Vec::new(),
            derived: Vec::new(),
            closeness: (0, false),
            is_ordered: false,
            is_covering: false,
        }
    }

    /// What an inverted index offers. `None`: the conditions ask for no terms.
    fn inverted(
        table: &TableDef,
        key: &'a IndexDef,
        conditions: &[&Predicate],
        rules: &PlanRules,
    ) -> Option<Candidate<'a>> {
        let rows = || rows_between(table, conditions, rules);
        let offer = terms::offer(table, key, conditions, rows)?;
        let mut candidate = Candidate::new(key, Reach::Terms(offer.terms));
        (candidate.residual, candidate.pinned) = (offer.residual, offer.pinned);
        // As closely as one column that is pinned.
        candidate.closeness = (1, false);
        Some(candidate)
    }

    /// What it offers, whatever is wanted of the rows.
    fn bounded(
        table: &TableDef,
        key: &'a IndexDef,
        conditions: &[&Predicate],
        rules: &PlanRules,
    ) -> Option<Candidate<'a>> {
        let derived = derived(table, key, conditions);
        let all: Vec<&Predicate> = conditions.iter().copied().chain(&derived).collect();
        let new = |reach: Reach| Candidate {
            derived: derived.clone(),
            ..Candidate::new(key, reach)
        };
        if let Some(one) = one_key(table, key, &all) {
            let columns = key.columns.iter();
            let pinned: Vec<usize> = columns
                .filter_map(|column| table.column_index_by_id(column.column))
                .collect();
            return Some(Candidate {
                null_free: pinned.clone(),
                pinned,
                ..new(Reach::Keys(vec![one]))
            });
        }
        let shape = KeyShape::new(table, key)?;
        if conditions.is_empty() {
            return Some(new(Reach::Everything(key_ranges::whole(&shape))));
        }
        let mut cover = cover_all(&shape, &all);
        if cover.boxes.is_empty() {
            return Some(new(Reach::Nothing));
        }
        let names_bucket = shape.buckets.is_some() && is_narrow(&shape, &cover.boxes, 0);
        cover.boxes = in_buckets(&shape, cover.boxes);
        let (reach, exact_columns) = reach(&shape, conditions, (&cover, names_bucket), rules);
        Some(Candidate {
            residual: residual(&shape, conditions, &cover, exact_columns),
            pinned: pinned_columns(&shape, &cover.boxes),
            null_free: null_free_columns(&shape, &cover.boxes),
            closeness: closeness(key, &shape, &cover.boxes),
            ..new(reach)
        })
    }

    /// The path that it offers, if the rules allow it. `refusal`: what a scan that is allowed of a small table ends with
    /// when the table is not.
    pub(super) fn path(
        self,
        table: &Arc<TableDef>,
        rules: &PlanRules,
        refusal: impl FnOnce() -> Error,
    ) -> std::result::Result<AccessPath, Refused> {
        Ok(AccessPath {
            table: Arc::clone(table),
            index: self.key.id,
            class: permitted(self.reach, table, rules, refusal)?,
            reverse: false,
            residual: self.residual,
            pinned: self.pinned,
            null_free: self.null_free,
            derived: self.derived,
            merge: None,
        })
    }

    /// Whether it reads a part of its key that conditions bound.
    pub(super) fn is_bounded(&self) -> bool {
        matches!(
            self.reach,
            Reach::Nothing | Reach::Keys(_) | Reach::Ranges(_) | Reach::Terms(_)
        )
    }

    /// How good it is: of two candidates the greater is read.
    fn rank(&self) -> impl Ord + use<> {
        let is_primary = self.key.id == 0;
        let class = match &self.reach {
            Reach::Nothing => 4,
            Reach::Keys(_) => 3,
            Reach::Ranges(_) | Reach::Terms(_) => 2,
            Reach::Everything(_) | Reach::Unbounded(_) => 1,
            Reach::TooManyKeys(_) => 0,
        };
        // A row is one read away from the primary key, two from an index that does not cover.
        let reads = match &self.reach {
            Reach::Keys(keys) if is_primary || self.is_covering => keys.len(),
            Reach::Keys(keys) => keys.len().saturating_mul(2),
            _ => 0,
        };
        // Whole reads are the primary key's, where the rows are, unless few may be wanted, in another's order.
        let is_ordered = self.is_ordered && !matches!(self.reach, Reach::Unbounded(_));
        (
            class,
            Reverse(reads),
            self.closeness,
            class > 1 && self.key.predicate.is_some(),
            is_ordered,
            is_primary || self.is_covering && class > 1,
            is_primary,
            Reverse(self.key.id),
        )
    }
}

/// Between which keys rows stand, without the bytes that say of which table they are, as far as conditions on the primary key's columns tell.
fn rows_between(table: &TableDef, conditions: &[&Predicate], rules: &PlanRules) -> KeyRange {
    let whole = KeyRange {
        start: Vec::new(),
        end: None,
    };
    let Some(Candidate {
        reach: Reach::Ranges(ranges),
        ..
    }) = Candidate::bounded(table, &table.primary_key, conditions, rules)
    else {
        return whole;
    };
    let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else {
        return whole;
    };
    let prefix = entry_prefix(table.id, table.primary_key.id);
    let behind_prefix = |key: &[u8]| key.get(ENTRY_PREFIX_BYTES..).map(<[u8]>::to_vec);
    let end = last.end.as_ref().filter(|end| end.starts_with(&prefix));
    KeyRange {
        start: behind_prefix(&first.start).unwrap_or_default(),
        end: end.and_then(|end| behind_prefix(end)),
    }
}

/// Why a read may not run.
pub(super) enum Refused {
    FullScan,
    TooManyKeys(u128),
}

/// What is read, if the rules allow it.
fn permitted(
    reach: Reach,
    table: &TableDef,
    rules: &PlanRules,
    refusal: impl FnOnce() -> Error,
) -> std::result::Result<AccessClass, Refused> {
    Ok(match reach {
        Reach::Nothing => AccessClass::Empty,
        // Of a row there may be several versions, and where they stand no get tells.
        Reach::Keys(keys) if table.is_of_versions() => AccessClass::RangeScan {
            ranges: keys.iter().map(|key| KeyRange::of_prefix(key)).collect(),
            whole: false,
        },
        Reach::Keys(keys) => AccessClass::MultiGet { keys },
        Reach::TooManyKeys(keys) => return Err(Refused::TooManyKeys(keys)),
        Reach::Ranges(ranges) => AccessClass::RangeScan { ranges, whole: false },
        Reach::Terms(terms) => AccessClass::TermScan(terms),
        Reach::Everything(range) if rules.full_scan != FullScanPolicy::Forbid => AccessClass::RangeScan {
            ranges: vec![range],
            whole: true,
        },
        Reach::Unbounded(range) if rules.full_scan == FullScanPolicy::Allow => {
            AccessClass::FullScan { range }
        }
        Reach::Unbounded(range) => {
            let rows_max = rules.full_scan.rows_max(table).ok_or(Refused::FullScan)?;
            let refusal = Arc::new(refusal());
            AccessClass::SmallScan {
                range,
                rows_max,
                refusal,
            }
        }
        Reach::Everything(_) => return Err(Refused::FullScan),
    })
}

/// See [`Candidate::closeness`].
fn closeness(key: &IndexDef, shape: &KeyShape, boxes: &[KeyBox]) -> (usize, bool) {
    let is_pinned = |position: &usize| {
        let column = &shape.columns[*position];
        let mut sets = boxes.iter().map(|one| one.set(*position));
        sets.all(|set| set.is_some_and(|set| point_count(column, set).is_some()))
    };
    let first = shape.first_bounded() + usize::from(key.predicate.is_some());
    let pinned = (first..shape.columns.len()).take_while(is_pinned).count();
    let is_bounded = boxes.iter().all(|one| one.set(first + pinned).is_some());
    (pinned, is_bounded)
}

/// The boxes of a key with buckets: what bounds the columns behind the bucket bounds them in each.
fn in_buckets(shape: &KeyShape, boxes: Vec<KeyBox>) -> Vec<KeyBox> {
    let Some(buckets) = shape.all_buckets().map(Arc::new) else {
        return boxes;
    };
    let spread = |one: KeyBox| match one.bounds_from(1) {
        true => one.bounded_by(0, &buckets),
        false => one,
    };
    boxes.into_iter().map(spread).collect()
}

/// What is read of the key, and how many of its columns, from the first, that fully decides. `names_bucket`: the conditions bound the
/// bucket themselves.
fn reach(
    shape: &KeyShape,
    conditions: &[&Predicate],
    (cover, names_bucket): (&ConjunctCover, bool),
    rules: &PlanRules,
) -> (Reach, usize) {
    match key_ranges::points(shape, &cover.boxes, rules.keys_max()) {
        // Where whole tables may be read, ranges around more keys than that may be.
        Points::TooMany(keys) if rules.full_scan != FullScanPolicy::Allow => {
            (Reach::TooManyKeys(keys), shape.columns.len())
        }
        Points::Keys(keys) => (Reach::Keys(keys), shape.columns.len()),
        Points::Open | Points::TooMany(_) if names_bucket || is_bounded(shape, conditions, cover) => {
            let found = key_ranges::ranges(shape, &cover.boxes, rules.ranges_max);
            (Reach::Ranges(found.ranges), found.exact_columns)
        }
        Points::Open | Points::TooMany(_) => (Reach::Unbounded(key_ranges::whole(shape)), 0),
    }
}

/// Whether the condition says where to look: it names the first key column in a way that bounds it, or the boxes do.
fn is_bounded(shape: &KeyShape, conditions: &[&Predicate], cover: &ConjunctCover) -> bool {
    let position = shape.first_bounded();
    let Some(first) = shape.columns.get(position) else {
        return false;
    };
    let first_column = FirstColumn {
        position: first.column,
        is_nullable: !first.not_null,
        ignores_case: first.ignores_case(),
    };
    conditions
        .iter()
        .any(|condition| bounds_column(condition, true, first_column))
        || is_narrow(shape, &cover.boxes, position)
}

/// Whether all boxes leave out values of the key column at a position.
fn is_narrow(shape: &KeyShape, boxes: &[KeyBox], position: usize) -> bool {
    let Some(column) = shape.columns.get(position) else {
        return false;
    };
    let everything = column.not_null_set();
    let narrow = |one: &KeyBox| {
        one.set(position)
            .is_some_and(|set| set.spans() != everything.spans())
    };
    boxes.iter().all(narrow)
}

/// Key columns that every box pins to the same one value.
fn pinned_columns(shape: &KeyShape, boxes: &[KeyBox]) -> Vec<usize> {
    let is_pinned = |position: usize| {
        let column = &shape.columns[position];
        let Some(first) = boxes.first().and_then(|one| one.set(position)) else {
            return false;
        };
        point_count(column, first) == Some(1) && boxes.iter().all(|one| one.set(position) == Some(first))
    };
    (0..shape.columns.len())
        .filter(|position| is_pinned(*position))
        .map(|at| shape.columns[at].column)
        .collect()
}

/// Key columns that no box has NULL in, although they may hold it.
fn null_free_columns(shape: &KeyShape, boxes: &[KeyBox]) -> Vec<usize> {
    let is_free = |position: &usize| {
        let mut sets = boxes.iter().map(|one| one.set(*position));
        sets.all(|set| set.is_some_and(|set| !set.holds_null()))
    };
    let nullable = (0..shape.columns.len()).filter(|at| !shape.columns[*at].not_null);
    nullable
        .filter(is_free)
        .map(|at| shape.columns[at].column)
        .collect()
}

/// The conditions that reading the boxes does not already guarantee: a condition drops out when its cover was tight and
/// the bytes that are read say all that the boxes say of its columns (the first `exact_columns` of the key).
fn residual(
    shape: &KeyShape,
    conditions: &[&Predicate],
    cover: &ConjunctCover,
    exact_columns: usize,
) -> Option<Predicate> {
    let guaranteed = |condition: &Predicate| {
        condition.columns().iter().all(|column| {
            let position = shape.position(*column);
            // A key column without NULLs that is not bounded at all (`a IS NOT NULL`) needs no check either.
            position.is_some_and(|position| {
                position < exact_columns
                    || cover
                        .boxes
                        .iter()
                        .all(|one| spans_everything(shape, one, position))
            })
        })
    };
    let left: Vec<Predicate> = conditions
        .iter()
        .zip(&cover.tight)
        .filter(|(condition, tight)| !(condition.is_told_beside() || **tight && guaranteed(condition)))
        .map(|(condition, _)| (*condition).clone())
        .collect();
    (!left.is_empty()).then(|| Predicate::all(left))
}

fn spans_everything(shape: &KeyShape, one: &KeyBox, position: usize) -> bool {
    let column = &shape.columns[position];
    one.set(position).is_none_or(|set| {
        set.spans() == column.not_null_set().spans() && (column.not_null || set.holds_null())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::predicate::CompareOp;
    use crate::plan::tests::table;
    use crate::types::{SqlType, Value};

    fn compare(column: usize, op: CompareOp, value: i64) -> Predicate {
        Predicate::Compare {
            column,
            op,
            value: Value::Int(value),
        }
    }

    /// Which of the keys (a, b) and (c) is read: 0 is the primary key.
    fn chosen(conditions: &[Predicate]) -> u16 {
        let table = table(&[SqlType::Int8, SqlType::Int8, SqlType::Int8], &[false, false]);
        let mut second = table.primary_key.clone();
        second.id = 1;
        second.columns.truncate(1);
        second.columns[0].column = table.columns[2].id;
        let rules = PlanRules {
            full_scan: FullScanPolicy::Reject,
            multi_get_keys_max: 3,
            ranges_max: 10,
            index_hint: None,
            database: "test".into(),
        };
        let conditions: Vec<&Predicate> = conditions.iter().collect();
        let keys = [&table.primary_key, &second];
        let best = Candidate::best(&table, &keys, &conditions, Wanted::default(), &rules);
        best.expect("both are candidates").key.id
    }

    #[test]
    fn points_come_before_ranges_and_the_primary_key_before_its_like() {
        use CompareOp::{Eq, Greater};
        let (a, b, c) = (compare(0, Eq, 1), compare(1, Eq, 2), compare(2, Eq, 3));
        assert_eq!(chosen(&[]), 0);
        assert_eq!(chosen(std::slice::from_ref(&b)), 0, "neither is bounded");
        assert_eq!(chosen(std::slice::from_ref(&c)), 1);
        assert_eq!(chosen(&[a.clone(), c.clone()]), 1, "points before a range");
        assert_eq!(
            chosen(&[a.clone(), compare(2, Greater, 3)]),
            0,
            "more columns pinned"
        );
        assert_eq!(chosen(&[compare(0, Greater, 1), compare(2, Greater, 3)]), 0);
        assert_eq!(
            chosen(&[a.clone(), b, c]),
            0,
            "both are points, this one pins more"
        );
        let many = Predicate::InList {
            column: 2,
            values: (0..9).map(Value::Int).collect(),
        };
        assert_eq!(chosen(&[a, many]), 0, "too many keys are the last choice");
    }
}
