//! `Estimate`: how many rows a relation under inner joins is likely to give, what reading them costs, and how many values its columns have.

use std::sync::Arc;

use super::sizes::Sizes;
use super::table_side::TableSide;
use crate::catalog::TableDef;
use crate::logical::likely::{distinct_values, rows_selected};
use crate::parse::IndexHint;
use crate::tree::{Column, JoinType, Plan, RowCount, split_conjunction};

/// A group has so many rows.
const ROWS_A_GROUP: u64 = 5;

/// What is likely of a relation.
pub(super) struct Estimate {
    /// Rows that it gives.
    pub(super) rows: f64,
    /// Rows of stored tables that are read for them.
    pub(super) read: f64,
    /// The stored table that it is, with conditions on its rows.
    pub(super) table: Option<EstimatedTable>,
}

/// A stored table under inner joins.
pub(super) struct EstimatedTable {
    pub(super) def: Arc<TableDef>,
    pub(super) rows: u64,
    pub(super) index_hint: Option<IndexHint>,
    /// For each column of the relation its position in `TableDef::columns`.
    positions: Vec<usize>,
}

impl Estimate {
    /// `None`: nothing is known of it.
    pub(super) fn of(relation: &Plan, sizes: &Sizes) -> Option<Estimate> {
        let side = TableSide::of(relation);
        let table = side.and_then(|side| {
            let scan = sizes.of_scan(relation.only_scan()?)?;
            Some(EstimatedTable {
                def: Arc::clone(side.table()),
                rows: scan.table_rows,
                index_hint: side.index_hint().clone(),
                positions: side.seen_positions(),
            })
        });
        Some(Estimate {
            rows: rows_of(relation, sizes)?.max(1) as f64,
            read: rows_read(relation, sizes)? as f64,
            table,
        })
    }

    /// How many values a column of the relation has, and which column of a stored table it is. `None`: it is none of the relation's.
    pub(super) fn column(&self, relation: &Plan, column: &Column) -> Option<(f64, Option<usize>)> {
        let at = relation.schema().maybe_index_of_column(column)?;
        let Some(table) = &self.table else {
            return Some((self.rows, None));
        };
        let position = table.positions[at];
        let values = distinct_values(&table.def, position, table.rows);
        Some((values.max(1) as f64, Some(position)))
    }
}

/// Rows that a plan is likely to give.
fn rows_of(plan: &Plan, sizes: &Sizes) -> Option<u64> {
    Some(match plan {
        Plan::TableScan(scan) => sizes.of_scan(scan)?.given,
        Plan::EmptyRelation(_) => 1,
        Plan::Values(values) => values.values.len() as u64,
        Plan::Filter(filter) => {
            let asked = filter.input.only_scan().map(|scan| scan.filters.as_slice());
            let asked: Vec<_> = asked
                .unwrap_or_default()
                .iter()
                .flat_map(split_conjunction)
                .collect();
            // What a scan checks in part stands above it once more.
            let own = split_conjunction(&filter.predicate).into_iter();
            let own = own.filter(|condition| !asked.contains(condition));
            rows_selected(rows_of(&filter.input, sizes)?, own)
        }
        Plan::Limit(limit) => match limit.fetch_count() {
            RowCount::Known(fetch) => (fetch as u64).min(rows_of(&limit.input, sizes)?),
            _ => rows_of(&limit.input, sizes)?,
        },
        Plan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => 1,
        Plan::Aggregate(aggregate) => rows_of(&aggregate.input, sizes)?.div_ceil(ROWS_A_GROUP),
        Plan::Distinct(input) => rows_of(input, sizes)?.div_ceil(ROWS_A_GROUP),
        Plan::Join(join) => {
            let (left, right) = (rows_of(&join.left, sizes)?, rows_of(&join.right, sizes)?);
            match join.join_type {
                JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => left.max(right),
                JoinType::LeftSemi | JoinType::LeftAnti => left.div_ceil(2),
                JoinType::RightSemi => right.div_ceil(2),
            }
        }
        Plan::LookupJoin(join) => rows_of(&join.outer, sizes)?,
        Plan::Union(union) => {
            let inputs = union.inputs.iter().map(|input| rows_of(input, sizes));
            inputs.sum::<Option<u64>>()?
        }
        Plan::Projection(_)
        | Plan::SubqueryAlias(_)
        | Plan::Sort(_)
        | Plan::Window(_)
        | Plan::SharedRows(_)
        | Plan::TopRows(_) => rows_of(plan.inputs().first()?, sizes)?,
        _ => return None,
    })
}

/// Rows of stored tables that a plan reads.
fn rows_read(plan: &Plan, sizes: &Sizes) -> Option<u64> {
    match plan {
        Plan::TableScan(scan) => Some(sizes.of_scan(scan)?.read),
        Plan::TopRows(top) => rows_read(&top.whole, sizes),
        other => {
            let inputs = other.inputs().into_iter();
            inputs.map(|input| rows_read(input, sizes)).sum()
        }
    }
}
