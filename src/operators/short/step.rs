//! `Source` and `Step`: what a chain is made of.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::logical_expr::Expr;

use super::read::TableRead;
use super::sort_key::SortKey;
use super::totals::Total;
use crate::logical::computed::Computed;
use crate::logical::lookup_join::Lookup;

/// Where a chain begins.
#[derive(Debug)]
pub(super) enum Source {
    /// One row without columns.
    OneRow,
    /// Rows in memory.
    Rows(Vec<RecordBatch>),
    Table(TableRead),
}

/// What becomes of the rows.
#[derive(Debug)]
pub(super) enum Step {
    Filter(Computed),
    Project {
        columns: Vec<Computed>,
        schema: SchemaRef,
    },
    /// A join with a table that is read by its key.
    Lookup(Lookup),
    Sort(Vec<SortKey>),
    /// OFFSET and LIMIT.
    Limit {
        skip: Option<Expr>,
        fetch: Option<Expr>,
    },
    /// A row a group of rows with the same keys: the keys, then aggregates over the group.
    Groups {
        keys: Vec<Computed>,
        totals: Vec<Total>,
        schema: SchemaRef,
    },
    /// Aggregates over all rows: one row.
    Totals {
        totals: Vec<Total>,
        schema: SchemaRef,
    },
}

impl Step {
    /// What it computes of the rows that come to it.
    pub(super) fn inputs_mut(&mut self) -> Vec<&mut Computed> {
        match self {
            Step::Filter(condition) => vec![condition],
            Step::Project { columns, .. } => columns.iter_mut().collect(),
            Step::Lookup(lookup) => lookup.inputs_mut().collect(),
            Step::Sort(keys) => keys.iter_mut().map(|key| &mut key.computed).collect(),
            Step::Limit { .. } => Vec::new(),
            Step::Groups { keys, totals, .. } => {
                let inputs = totals.iter_mut().flat_map(Total::inputs_mut);
                keys.iter_mut().chain(inputs).collect()
            }
            Step::Totals { totals, .. } => totals.iter_mut().flat_map(Total::inputs_mut).collect(),
        }
    }

    /// Whether no column goes through it as it came.
    pub(super) fn makes_columns(&self) -> bool {
        matches!(
            self,
            Step::Project { .. } | Step::Groups { .. } | Step::Totals { .. }
        )
    }
}
