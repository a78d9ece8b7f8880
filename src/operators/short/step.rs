//! `Source` and `Step`: what a chain is made of.

use arrow::datatypes::{DataType, FieldRef, SchemaRef};

use super::ShortPlan;
use super::append::Append;
use super::catalog_lookup::CatalogLookup;
use super::catalog_source::CatalogSource;
use super::lateral::Lateral;
use super::read::TableRead;
use super::recursion::Recursion;
use super::top_rows::SortKey;
use super::totals::Total;
use crate::logical::evaluable::acts;
use crate::logical::rows_source::MadeRows;
use crate::operators::computed::Computed;
use crate::operators::lookup::Lookup;
use crate::operators::row_locks::RowLocks;
use crate::tree::Expr;

/// Where a chain begins.
#[derive(Debug)]
pub(super) enum Source {
    /// One row without columns.
    OneRow,
    /// Rows in memory.
    Rows(MadeRows),
    Table(TableRead),
    /// A relation of the catalog.
    Catalog(CatalogSource),
    /// The rows of a recursion's turns.
    Recursion(Box<Recursion>),
    /// In the second chain of a recursion of this name: what the turn before gave.
    Work(String),
    /// The rows of chains, one behind the other.
    Append(Append),
}

impl Source {
    /// So many columns its rows have for the steps; `None`: more than these may be there.
    pub(super) fn step_columns(&self) -> Option<usize> {
        match self {
            Source::Table(table) => Some(table.step_columns()),
            Source::Catalog(relation) => Some(relation.step_columns()),
            _ => None,
        }
    }

    /// Whether giving its rows does something.
    pub(super) fn acts(&self) -> bool {
        match self {
            Source::OneRow | Source::Rows(_) | Source::Work(_) => false,
            Source::Recursion(recursion) => recursion.acts(),
            Source::Table(table) => table.acts(),
            Source::Catalog(relation) => relation.acts(),
            Source::Append(append) => append.members().iter().any(ShortPlan::acts),
        }
    }

    /// Whether it, or a condition on its rows, asks the catalogs.
    pub(super) fn reads_catalogs(&self) -> bool {
        match self {
            Source::OneRow | Source::Rows(_) | Source::Work(_) => false,
            Source::Recursion(recursion) => recursion.reads_catalogs(),
            Source::Table(table) => table.reads_catalogs(),
            Source::Catalog(_) => true,
            Source::Append(append) => append.members().iter().any(ShortPlan::reads_catalogs),
        }
    }
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
    Lookup(Box<Lookup>),
    /// A join with a relation of the catalog.
    CatalogLookup(Box<CatalogLookup>),
    /// Leaves the rows that `others` has too, or has not.
    Beside {
        others: Box<ShortPlan>,
        /// What tells its rows apart, and what the rows that come.
        other_keys: Vec<Computed>,
        keys: Vec<Computed>,
        /// The types of the keys.
        types: Vec<DataType>,
        /// Whether the rows that both have stay.
        stays: bool,
    },
    /// The rows of a subquery beside each row.
    Lateral(Box<Lateral>),
    /// The answers of a subquery, as a column behind those of the rows.
    SubChain(Box<SubChain>),
    /// The number of each row among those of its part, as a column behind the others; rows are sorted by the keys.
    Numbered {
        keys: Vec<SortKey>,
        /// Rows of a part have the same values in so many of the keys.
        part_keys: usize,
        outer_columns: usize,
        field: FieldRef,
    },
    Sort(Vec<SortKey>),
    /// Leaves the rows that it could lock.
    LockRows(RowLocks),
    /// OFFSET and LIMIT.
    Limit {
        skip: Option<Expr>,
        fetch: Option<Expr>,
        /// Rows that OFFSET leaves out are given, too: they are left out of the rows of several chains together.
        gives_skipped: bool,
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

/// A subquery over rows that it depends on.
#[derive(Debug)]
pub(super) struct SubChain {
    /// The columns of the outer rows that it reads.
    pub(super) outer: Vec<usize>,
    /// So many columns outer rows have: its answer becomes the next.
    pub(super) outer_columns: usize,
    pub(super) field: FieldRef,
    /// For which rows it is asked: all, or those for which this is true. The others have NULL.
    pub(super) asked_when: Option<Computed>,
    /// What becomes of the outer rows, behind whose columns each row's number stands: the number, then the answer's value.
    pub(super) steps: Vec<Step>,
    pub(super) answer: Answer,
}

/// What a subquery's rows become.
#[derive(Debug)]
pub(super) enum Answer {
    /// The value of the only row. `over_none`: steps that give it where there is none; else it is NULL.
    Scalar { over_none: Option<Vec<Step>> },
    /// Whether there is a row, or is none.
    Exists { negated: bool },
    /// The same as a condition: no column comes of it, but rows for which it does not hold go.
    Keep { negated: bool },
}

impl SubChain {
    /// Columns that it adds to outer rows.
    fn added(&self) -> usize {
        match self.answer {
            Answer::Scalar { .. } | Answer::Exists { .. } => 1,
            Answer::Keep { .. } => 0,
        }
    }

    /// Whether every outer row stays.
    pub(super) fn keeps_all(&self) -> bool {
        !matches!(self.answer, Answer::Keep { .. })
    }

    /// Its steps, and those that give its answer where there is no row.
    fn all_steps_mut(&mut self) -> impl Iterator<Item = &mut Step> {
        let over_none = match &mut self.answer {
            Answer::Scalar {
                over_none: Some(steps),
            } => steps.as_mut_slice(),
            _ => &mut [],
        };
        self.steps.iter_mut().chain(over_none)
    }
}

impl Step {
    /// What it computes of the rows that come to it.
    pub(super) fn inputs_mut(&mut self) -> Vec<&mut Computed> {
        match self {
            Step::Filter(condition) => vec![condition],
            Step::Project { columns, .. } => columns.iter_mut().collect(),
            Step::Lookup(lookup) => lookup.inputs_mut().collect(),
            Step::CatalogLookup(lookup) => lookup.inputs_mut().collect(),
            Step::SubChain(chain) => chain.asked_when.iter_mut().collect(),
            Step::Lateral(lateral) => lateral.bindings.iter_mut().collect(),
            Step::Beside { keys, .. } => keys.iter_mut().collect(),
            Step::Sort(keys) | Step::Numbered { keys, .. } => {
                keys.iter_mut().map(|key| &mut key.computed).collect()
            }
            Step::LockRows(locks) => locks.inputs_mut().collect(),
            Step::Limit { .. } => Vec::new(),
            Step::Groups { keys, totals, .. } => {
                let inputs = totals.iter_mut().flat_map(Total::inputs_mut);
                keys.iter_mut().chain(inputs).collect()
            }
            Step::Totals { totals, .. } => totals.iter_mut().flat_map(Total::inputs_mut).collect(),
        }
    }

    /// Columns that it reads of the rows that come to it, beside what it computes.
    pub(super) fn other_columns(&self) -> Vec<usize> {
        match self {
            Step::Lookup(lookup) => lookup.outer_columns_asked(),
            // Its own column is made whether somebody reads it or not.
            Step::SubChain(chain) => {
                let own = chain.outer_columns..chain.outer_columns + chain.added();
                chain.outer.iter().copied().chain(own).collect()
            }
            // So are those of its rows.
            Step::Lateral(lateral) => {
                let first = lateral.outer_columns;
                (first..first + lateral.inner_columns()).collect()
            }
            Step::Numbered { outer_columns, .. } => vec![*outer_columns],
            _ => Vec::new(),
        }
    }

    /// Whether no column goes through it as it came.
    pub(super) fn makes_columns(&self) -> bool {
        matches!(
            self,
            Step::Project { .. } | Step::Groups { .. } | Step::Totals { .. }
        )
    }

    /// How many columns the rows have that come to it, and how many it adds behind them; `None`: it adds none.
    pub(super) fn added_columns(&self) -> Option<(usize, usize)> {
        match self {
            Step::Lookup(lookup) => Some((lookup.outer_columns(), lookup.inner_columns())),
            Step::CatalogLookup(lookup) => Some((lookup.outer_columns(), lookup.inner_columns())),
            Step::SubChain(chain) => Some((chain.outer_columns, chain.added())),
            Step::Lateral(lateral) => Some((lateral.outer_columns, lateral.inner_columns())),
            Step::Numbered { outer_columns, .. } => Some((*outer_columns, 1)),
            _ => None,
        }
    }

    /// From now on the rows that come to it have only the columns `outer`, and it adds only these of its own.
    pub(super) fn keep_columns(&mut self, outer: &[usize], own: &[usize]) {
        match self {
            Step::Lookup(lookup) => lookup.keep_columns(outer, own),
            Step::CatalogLookup(lookup) => lookup.keep_columns(outer.len(), own),
            Step::SubChain(chain) => {
                let place = |column: &usize| outer.iter().position(|kept| kept == column);
                chain.outer = chain.outer.iter().filter_map(place).collect();
                chain.outer_columns = outer.len();
            }
            Step::Lateral(lateral) => lateral.outer_columns = outer.len(),
            Step::Numbered { outer_columns, .. } => *outer_columns = outer.len(),
            _ => {}
        }
    }

    /// Whether it, or what stands in it, does something.
    pub(super) fn acts(&mut self) -> bool {
        let own = match self {
            Step::Beside { others, .. } => others.acts(),
            Step::Lateral(lateral) => lateral.acts(),
            Step::SubChain(chain) => chain.all_steps_mut().any(Step::acts),
            _ => false,
        };
        own || self.inputs_mut().iter().any(|computed| acts(computed.written()))
    }

    /// Whether a chain with it may be given up for the general plan after rows have come to it. `is_ordered`: a sort has nothing to do;
    /// `keeps_lookups`: none is given up for a lookup.
    pub(super) fn may_be_given_up(&self, is_ordered: bool, keeps_lookups: bool) -> bool {
        match self {
            Step::Filter(_) | Step::Project { .. } | Step::LockRows(_) | Step::Limit { .. } => false,
            Step::Sort(_) => !is_ordered,
            Step::Lookup(_) => !keeps_lookups,
            Step::CatalogLookup(_)
            | Step::Beside { .. }
            | Step::Lateral(_)
            | Step::SubChain(_)
            | Step::Numbered { .. }
            | Step::Groups { .. }
            | Step::Totals { .. } => true,
        }
    }

    /// Whether it, or what stands in it, asks the catalogs.
    pub(super) fn reads_catalogs(&mut self) -> bool {
        let own = match self {
            Step::CatalogLookup(_) => true,
            Step::Beside { others, .. } => others.reads_catalogs(),
            Step::Lateral(lateral) => lateral.reads_catalogs(),
            Step::SubChain(chain) => chain.all_steps_mut().any(Step::reads_catalogs),
            _ => false,
        };
        own || self.inputs_mut().iter().any(|computed| computed.reads_catalogs())
    }
}
