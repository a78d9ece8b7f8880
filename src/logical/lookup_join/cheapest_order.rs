//! `cheapest_order`: in which order relations under inner joins are likely to be joined at least cost (`estimate`). One after the other
//! comes in; the best way to each set of them is found from the best ways to the sets without one (System R's search).
//! A cost is in rows that are read one after the other.

use std::cell::RefCell;
use std::collections::HashMap;

use super::estimate::{Estimate, EstimatedTable};
use super::sizes::Sizes;
use crate::logical::equal_columns::EqualColumns;
use crate::logical::likely::holds_unique_key;
use crate::plan::{Wanted, plan_equality};
use crate::scan::costs::{ROWS_A_GET, ROWS_A_RANGE};
use crate::tree::{Expr, Plan};

/// Of more relations the order is that in which they are written.
const RELATIONS_MAX: usize = 8;
/// What a row costs that a join keeps, one that it streams past these, and one that it gives.
const KEPT_ROW: f64 = 1.5;
const STREAMED_ROW: f64 = 0.5;
const GIVEN_ROW: f64 = 0.5;
/// One pair of rows in so many satisfies a condition that makes no columns equal.
const OTHER_PAIRS: f64 = 3.0;

/// A relation that comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Its place among the relations.
    pub(super) at: usize,
    /// Whether the join keeps what is joined so far, and streams the relation.
    pub(super) keeps_joined: bool,
}

/// The order. `equal`, `others`: what all the joins ask. `None`: too little is known.
pub(super) fn cheapest_order(
    relations: &[Plan],
    (equal, others): (&EqualColumns, &[Expr]),
    sizes: &Sizes,
) -> Option<Vec<Step>> {
    if !sizes.are_judged() || relations.len() > RELATIONS_MAX {
        return None;
    }
    let estimates = relations.iter().map(|relation| Estimate::of(relation, sizes));
    let estimates: Vec<Estimate> = estimates.collect::<Option<_>>()?;
    let classes = equal.classes().map(|columns| {
        let members = columns.iter().flat_map(|column| {
            let places = relations.iter().zip(&estimates).enumerate();
            places.filter_map(move |(relation, (plan, estimate))| {
                let (values, position) = estimate.column(plan, column)?;
                Some(Member {
                    relation,
                    values,
                    position,
                })
            })
        });
        members.collect()
    });
    let search = Search {
        classes: classes.collect(),
        others: others
            .iter()
            .map(|condition| places_of(condition, relations))
            .collect(),
        estimates,
        keys_max: sizes.keys_max() as f64,
        reached: RefCell::default(),
    };
    Some(search.best())
}

/// The set of relations whose columns a condition is over.
fn places_of(condition: &Expr, relations: &[Plan]) -> usize {
    let columns = condition.column_refs();
    let places = relations
        .iter()
        .enumerate()
        .filter(|(_, relation)| columns.iter().any(|column| relation.schema().has_column(column)));
    places.fold(0, |set, (at, _)| set | 1 << at)
}

/// A column of a class.
struct Member {
    relation: usize,
    values: f64,
    /// Which column of a stored table it is.
    position: Option<usize>,
}

/// By relation and columns: what a row costs that these lead to. `None`: they lead nowhere.
type Reached = HashMap<(usize, Vec<usize>), Option<f64>>;

struct Search {
    estimates: Vec<Estimate>,
    /// Columns that are equal.
    classes: Vec<Vec<Member>>,
    /// For each other condition the set of its relations.
    others: Vec<usize>,
    /// Keys of a join at most that narrow what is read.
    keys_max: f64,
    reached: RefCell<Reached>,
}

/// The best way to a set of relations.
#[derive(Clone, Copy)]
struct Way {
    rows: f64,
    cost: f64,
    last: Step,
}

impl Search {
    fn best(&self) -> Vec<Step> {
        let count = self.estimates.len();
        let mut ways: Vec<Option<Way>> = vec![None; 1 << count];
        for (at, estimate) in self.estimates.iter().enumerate() {
            let first = Step {
                at,
                keeps_joined: false,
            };
            ways[1 << at] = Some(Way {
                rows: estimate.rows,
                cost: estimate.read,
                last: first,
            });
        }
        for set in 1..ways.len() {
            let Some(way) = ways[set] else { continue };
            for at in (0..count).filter(|at| set & 1 << at == 0) {
                let longer = self.with(set, &way, at);
                let known = &mut ways[set | 1 << at];
                if known.is_none_or(|known| longer.cost < known.cost) {
                    *known = Some(longer);
                }
            }
        }
        let (mut steps, mut set) = (Vec::with_capacity(count), ways.len() - 1);
        while let Some(way) = ways[set] {
            steps.push(way.last);
            set &= !(1 << way.last.at);
        }
        steps.reverse();
        steps
    }

    /// The way to a set, and on to one relation more.
    fn with(&self, set: usize, way: &Way, at: usize) -> Way {
        let estimate = &self.estimates[at];
        let meeting = self.meeting(set, at);
        let pairs = way.rows * self.share(set, at, &meeting);
        let led_to = pairs
            * estimate
                .table
                .as_ref()
                .map_or(estimate.rows, |table| table.rows as f64);
        let others = self.others.iter().filter(|places| {
            let all = set | 1 << at;
            **places & !all == 0 && **places & 1 << at != 0 && **places & set != 0
        });
        let rows = (pairs * estimate.rows / OTHER_PAIRS.powi(others.count() as i32)).max(1.0);
        let columns: Vec<usize> = meeting.iter().filter_map(|(_, own)| own.position).collect();
        let read = match self.row_reached_by(at, columns) {
            Some(row) if way.rows <= self.keys_max => {
                estimate.read.min(way.rows * ROWS_A_RANGE as f64 + led_to * row)
            }
            _ => estimate.read,
        };
        let (kept, streamed) = (way.rows.min(estimate.rows), way.rows.max(estimate.rows));
        Way {
            rows,
            cost: way.cost + read + kept * KEPT_ROW + streamed * STREAMED_ROW + rows * GIVEN_ROW,
            last: Step {
                at,
                keeps_joined: way.rows <= estimate.rows,
            },
        }
    }

    /// The columns of a relation that equal some of a set of relations, each with the values that there are of these.
    fn meeting(&self, set: usize, at: usize) -> Vec<(f64, &Member)> {
        let mut meeting = Vec::new();
        for class in &self.classes {
            let others = class.iter().filter(|member| set & 1 << member.relation != 0);
            let values = others.map(|member| member.values).reduce(f64::min);
            let own = class.iter().filter(|member| member.relation == at);
            meeting.extend(
                values
                    .into_iter()
                    .flat_map(|values| own.clone().map(move |own| (values, own))),
            );
        }
        meeting
    }

    /// The share of all pairs of a set's rows with those of a relation in which the columns that meet are equal: no fewer than if each
    /// row had one partner by a unique key.
    fn share(&self, set: usize, at: usize, meeting: &[(f64, &Member)]) -> f64 {
        let share: f64 = meeting
            .iter()
            .map(|(values, own)| 1.0 / values.max(own.values))
            .product();
        let met = |relation: usize| -> Vec<usize> {
            let classes = self.classes.iter().filter(|class| {
                let is_of = |set: usize| class.iter().any(|member| set & 1 << member.relation != 0);
                is_of(1 << at) && is_of(set)
            });
            let members = classes.flatten().filter(|member| member.relation == relation);
            members.filter_map(|member| member.position).collect()
        };
        let relations = (0..self.estimates.len()).filter(|relation| (set | 1 << at) & 1 << relation != 0);
        let tables =
            relations.filter_map(|relation| Some((relation, self.estimates[relation].table.as_ref()?)));
        let unique = tables.filter(|(relation, table)| holds_unique_key(&table.def, &met(*relation)));
        unique
            .map(|(_, table)| 1.0 / table.rows.max(1) as f64)
            .fold(share, f64::max)
    }

    /// What a row of a relation costs to which these columns of it lead. `None`: they do not.
    fn row_reached_by(&self, at: usize, columns: Vec<usize>) -> Option<f64> {
        let table = self.estimates[at].table.as_ref()?;
        let mut reached = self.reached.borrow_mut();
        let row = reached
            .entry((at, columns))
            .or_insert_with_key(|(_, columns)| row_reached(table, columns));
        *row
    }
}

fn row_reached(table: &EstimatedTable, columns: &[usize]) -> Option<f64> {
    if columns.is_empty() {
        return None;
    }
    let path = plan_equality(&table.def, columns, Wanted::default(), &table.index_hint)?;
    Some(match path.index {
        0 => 1.0,
        _ => ROWS_A_GET as f64,
    })
}
