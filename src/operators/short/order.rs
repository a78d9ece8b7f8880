//! What of a chain is the table's own: the order that its sort asks for, the columns that its groups share, and a result
//! that is columns of the table.

use super::read::TableRead;
use super::step::Step;
use super::top_rows::SortKey;
use crate::logical::evaluable::acts;
use crate::operators::computed::Computed;
use crate::plan::OrderColumn;

/// The order that the sort asks for by columns of the source, of which `position` says what they are called in it; empty without a sort,
/// `None` when it goes by something else or comes too late for the source's own order.
pub(super) fn of_source(position: impl Fn(usize) -> usize, steps: &[Step]) -> Option<Vec<OrderColumn>> {
    let mut outputs = Outputs::default();
    let mut order = None;
    let sorts = steps.iter().any(|step| matches!(step, Step::Sort(_)));
    for step in steps {
        match step {
            Step::Project { columns, .. } => outputs.project(columns),
            Step::Lookup(_) | Step::CatalogLookup(_) | Step::SubChain(_) | Step::Lateral(_) => {
                outputs.widen(step)
            }
            Step::Numbered { .. } => return None,
            Step::Sort(keys) if order.is_none() => {
                let columns = keys.iter().map(|key| outputs.order_column(&position, key));
                order = Some(columns.collect::<Option<Vec<_>>>()?);
            }
            Step::Groups { keys, totals, .. } => outputs.group(keys, totals.len()),
            Step::Limit { .. } | Step::Totals { .. } if sorts && order.is_none() => return None,
            Step::Sort(_) => return None,
            Step::Filter(_)
            | Step::LockRows(_)
            | Step::Beside { .. }
            | Step::Limit { .. }
            | Step::Totals { .. } => {}
        }
    }
    Some(order.unwrap_or_default())
}

/// The keys that a sort begins with and that are columns of the table, when it sorts rows as they come of it; empty: there is
/// no such sort.
pub(super) fn begun_by_table(table: &TableRead, steps: &[Step]) -> Vec<OrderColumn> {
    let mut outputs = Outputs::default();
    for step in steps {
        match step {
            Step::Project { columns, .. } => outputs.project(columns),
            Step::Lookup(_) | Step::CatalogLookup(_) | Step::SubChain(_) | Step::Lateral(_) => {
                outputs.widen(step)
            }
            Step::Filter(_) | Step::LockRows(_) | Step::Beside { .. } => {}
            Step::Sort(keys) => {
                let columns = keys.iter();
                return columns
                    .map_while(|key| outputs.order_column(|column| table.position(column), key))
                    .collect();
            }
            Step::Limit { .. } | Step::Groups { .. } | Step::Totals { .. } | Step::Numbered { .. } => break,
        }
    }
    Vec::new()
}

/// The columns of the table whose values the first groups share; `None` when there are no groups, their keys are something
/// else, or a sort comes before them.
pub(super) fn of_groups(table: &TableRead, steps: &[Step]) -> Option<Vec<usize>> {
    let mut outputs = Outputs::default();
    for step in steps {
        match step {
            Step::Project { columns, .. } => outputs.project(columns),
            Step::Lookup(_) | Step::CatalogLookup(_) | Step::SubChain(_) | Step::Lateral(_) => {
                outputs.widen(step)
            }
            Step::Groups { keys, .. } => {
                let column = |key: &Computed| Some(table.position(outputs.source_column(key)?));
                return keys.iter().map(column).collect();
            }
            Step::Filter(_) | Step::LockRows(_) | Step::Beside { .. } | Step::Limit { .. } => {}
            Step::Sort(_) | Step::Totals { .. } | Step::Numbered { .. } => return None,
        }
    }
    None
}

/// The column of the table that a column of the result is, if it is one, of rows that are only filtered, ordered and limited.
pub(super) fn column_of_table(table: &TableRead, steps: &[Step], column: usize) -> Option<usize> {
    let mut outputs = Outputs::default();
    for step in steps {
        match step {
            Step::Project { columns, .. } => outputs.project(columns),
            Step::Sort(_) | Step::Limit { .. } | Step::Filter(_) => {}
            _ => return None,
        }
    }
    outputs.source_of(column).map(|column| table.position(column))
}

/// The columns of the source that the result is, when rows are only ordered and limited once.
pub(super) fn unchanged(steps: &[Step]) -> Option<Vec<usize>> {
    let mut outputs = Outputs::default();
    let mut limits = 0;
    for step in steps {
        match step {
            // What is computed and not read may do something.
            Step::Project { columns, .. } if columns.iter().any(|column| acts(column.written())) => {
                return None;
            }
            Step::Project { columns, .. } => outputs.project(columns),
            Step::Sort(_) => {}
            Step::Limit { .. } => limits += 1,
            Step::Filter(_)
            | Step::LockRows(_)
            | Step::Lookup(_)
            | Step::CatalogLookup(_)
            | Step::SubChain(_)
            | Step::Lateral(_)
            | Step::Beside { .. }
            | Step::Numbered { .. }
            | Step::Groups { .. }
            | Step::Totals { .. } => return None,
        }
    }
    match limits {
        0 | 1 => outputs.0?.into_iter().collect(),
        _ => None,
    }
}

/// For each column so far the source's column that it is, if it is one; nothing as long as the columns are the source's.
#[derive(Default)]
struct Outputs(Option<Vec<Option<usize>>>);

impl Outputs {
    fn project(&mut self, columns: &[Computed]) {
        self.0 = Some(columns.iter().map(|column| self.source_column(column)).collect());
    }

    /// Rows keep their order, and get columns behind theirs.
    fn widen(&mut self, step: &Step) {
        let Some((outer, added)) = step.added_columns() else {
            return;
        };
        let outer = (0..outer).map(|column| self.source_of(column));
        self.0 = Some(outer.chain(std::iter::repeat_n(None, added)).collect());
    }

    /// The keys come first, then the totals.
    fn group(&mut self, keys: &[Computed], totals: usize) {
        let keys = keys.iter().map(|key| self.source_column(key));
        self.0 = Some(keys.chain(std::iter::repeat_n(None, totals)).collect());
    }

    /// The column of the source that a sort goes by.
    fn order_column(&self, position: impl Fn(usize) -> usize, key: &SortKey) -> Option<OrderColumn> {
        Some(OrderColumn {
            column: position(self.source_of(key.computed.as_ordered_column()?)?),
            descending: key.descending,
            nulls_first: key.nulls_first,
        })
    }

    fn source_column(&self, computed: &Computed) -> Option<usize> {
        self.source_of(computed.as_column()?)
    }

    fn source_of(&self, column: usize) -> Option<usize> {
        match &self.0 {
            None => Some(column),
            Some(columns) => *columns.get(column)?,
        }
    }
}
