//! `Lookup`: a join whose inner side is read by a key of it, or the beginning of one, that the outer rows give: for each batch of outer
//! rows one multi-get, or one scan of several ranges; when these prove to be many, all of it is read in one piece (`whole_inner`). The
//! order of the outer rows stays.

use std::sync::{Arc, OnceLock};

use super::inner_read::InnerRead;
use super::running_lookup::{RunningLookup, no_rows};
use super::whole_inner::LookupCost;
use crate::Result;
use crate::catalog::{IndexDef, TableDef};
use crate::logical::filter_predicate::from_expr;
use crate::logical::placeholder::Constants;
use crate::operators::computed::Computed;
use crate::parse::IndexHint;
use crate::plan::{AccessPath, CompareOp, FullScanPolicy, PlanRules, Predicate, Wanted, plan_equality};
use crate::system::StatementContext;
use crate::system::statement_memory::HeldBytes;
use crate::tree::{Expr, Inner, Partners, RowSchema};

/// Outer rows that are looked up at a time, unless settings allow fewer.
const KEYS_MAX: usize = 512;

/// The inner side of the join.
#[derive(Debug)]
pub(crate) struct Lookup {
    table: Arc<TableDef>,
    /// What the statement calls it.
    alias: Arc<str>,
    /// The columns that rows are looked up by (positions in `TableDef::columns`).
    columns: Vec<usize>,
    /// For each of them its value, computed of the outer row.
    keys: Vec<Computed>,
    /// How one outer row's rows are reached.
    path: Arc<AccessPath>,
    /// Positions in `TableDef::columns` of the columns that the join gives, or its conditions ask for.
    positions: Vec<usize>,
    /// So many columns of an outer row stand before them.
    outer_columns: usize,
    partners: Partners,
    /// What an inner row must satisfy, beside its key, to count: over outer and inner columns.
    conditions: Vec<Computed>,
    /// Those of them that are over inner columns alone.
    own_conditions: Vec<Expr>,
    /// What is the same in all runs, worked out by the first.
    read: OnceLock<Arc<InnerRead>>,
}

impl Lookup {
    /// For rows of `outer`; the conditions are over `both`: the columns of these, then the inner ones. `None`: no key of the table serves
    /// it, or something takes more than rows.
    pub(crate) fn new(
        inner: Inner,
        outer: &RowSchema,
        both: &RowSchema,
        partners: Partners,
        conditions: &[Expr],
    ) -> Option<Lookup> {
        let outer_columns = outer.fields().len();
        let conditions = conditions.iter().map(|condition| Computed::new(condition, both));
        let (mut positions, mut conditions) = (inner.positions, conditions.collect::<Option<Vec<_>>>()?);
        let own_conditions = own_conditions(&conditions, outer_columns);
        if !partners.are_given() {
            positions = only_asked(positions, outer_columns, &mut conditions);
        }
        let (columns, keys): (Vec<usize>, Vec<Expr>) = inner.keys.into_iter().unzip();
        let keys = keys
            .iter()
            .map(|key| Computed::new(key, outer))
            .collect::<Option<Vec<_>>>()?;
        let wanted = Wanted {
            columns: Some(&positions),
            first_in_order: &[],
        };
        Some(Lookup {
            path: Arc::new(plan_equality(&inner.table, &columns, wanted, &inner.index_hint)?),
            table: inner.table,
            alias: inner.alias,
            columns,
            keys,
            positions,
            outer_columns,
            partners,
            conditions,
            own_conditions,
            read: OnceLock::new(),
        })
    }

    /// Whether an outer row has one inner row at most, which one get finds.
    pub(crate) fn is_of_one_row(&self) -> bool {
        self.path.is_of_row_gets()
    }

    pub(crate) fn outer_columns(&self) -> usize {
        self.outer_columns
    }

    /// Positions in `TableDef::columns` of the columns that it gives behind those of outer rows, or its conditions ask for.
    pub(crate) fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// Columns that it gives behind those of outer rows.
    pub(crate) fn inner_columns(&self) -> usize {
        match self.partners.are_given() {
            true => self.positions.len(),
            false => 0,
        }
    }

    /// The columns it looks up by, by name, and what they equal.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (&str, &Computed)> {
        let names = self.columns.iter();
        names
            .map(|position| self.table.columns[*position].name.as_str())
            .zip(&self.keys)
    }

    pub(crate) fn table(&self) -> &Arc<TableDef> {
        &self.table
    }

    /// The key of the table that serves it.
    pub(crate) fn key(&self) -> &IndexDef {
        self.path.key()
    }

    /// What the statement calls the table.
    pub(crate) fn alias(&self) -> &Arc<str> {
        &self.alias
    }

    pub(crate) fn partners(&self) -> Partners {
        self.partners
    }

    /// What an inner row must satisfy beside its key.
    pub(crate) fn conditions(&self) -> &[Computed] {
        &self.conditions
    }

    /// What it computes of rows whose columns go on behind it.
    pub(crate) fn inputs_mut(&mut self) -> impl Iterator<Item = &mut Computed> {
        let conditions = match self.partners.are_given() {
            true => self.conditions.iter_mut(),
            false => [].iter_mut(),
        };
        self.keys.iter_mut().chain(conditions)
    }

    /// Columns of outer rows that its conditions ask for.
    pub(crate) fn outer_columns_asked(&self) -> Vec<usize> {
        let asked = self.conditions.iter().flat_map(Computed::columns);
        asked.filter(|column| *column < self.outer_columns).collect()
    }

    /// From now on outer rows have only the columns `outer`, and it gives only these of the inner ones.
    pub(crate) fn keep_columns(&mut self, outer: &[usize], kept: &[usize]) {
        if self.partners.are_given() {
            self.positions = kept.iter().map(|column| self.positions[*column]).collect();
        } else {
            // Its inner columns are its own: they only move.
            let first = self.outer_columns;
            let inner = first..first + self.positions.len();
            let columns: Vec<usize> = outer.iter().copied().chain(inner).collect();
            for condition in &mut self.conditions {
                condition.renumber(&columns);
            }
        }
        self.outer_columns = outer.len();
        self.read = OnceLock::new();
    }

    fn read(&self) -> &Arc<InnerRead> {
        let read = || InnerRead::new(&self.path, &self.columns, &self.positions);
        self.read.get_or_init(|| Arc::new(read()))
    }

    /// What of its conditions the read itself can check. One that fails does so when it is evaluated, if it ever is.
    fn narrowing(&self, constants: &Constants) -> Vec<Predicate> {
        let own = self.own_conditions.iter();
        let folded = own.filter_map(|condition| constants.folded(condition).ok());
        let predicates = folded.map(|condition| from_expr(&condition, &self.table));
        predicates.filter(narrows).collect()
    }

    /// `stays`: see [`RunningLookup::stays`]. Errors: 42P02.
    pub(crate) fn start(
        &self,
        ctx: &StatementContext,
        constants: &Constants,
        stays: bool,
    ) -> Result<RunningLookup> {
        let bind = |computed: &[Computed]| computed.iter().map(|one| one.bind(constants)).collect();
        let keys: Result<_> = bind(&self.keys);
        let conditions: Result<_> = bind(&self.conditions);
        ctx.generated_columns(&self.table)?;
        let rules = PlanRules {
            index_hint: Some(IndexHint::Force(self.key().name.clone())),
            ..ctx.plan_rules(&self.table)
        };
        let mut cost = LookupCost::default();
        if ctx.hints.index.is_some() || ctx.settings.full_scan == FullScanPolicy::Forbid {
            cost.lift();
        }
        let ranges = self.path.ranges().map_or(0, <[_]>::len);
        let rows_max = match ctx.settings.ranges_max.checked_div(ranges) {
            Some(rows_max) => rows_max,
            None => ctx.settings.multi_get_keys_max,
        };
        Ok(RunningLookup {
            txn: Arc::clone(&ctx.txn),
            memory: HeldBytes::new(Arc::clone(&ctx.memory)),
            table: Arc::clone(&self.table),
            keys: keys?,
            conditions: conditions?,
            narrowing: self.narrowing(constants),
            rules,
            readers_max: ctx.settings.readers_max(),
            cost,
            whole: None,
            converter: None,
            read: Arc::clone(self.read()),
            columns: self.columns.clone(),
            outer_columns: self.outer_columns,
            partners: self.partners,
            rows_max: KEYS_MAX.min(rows_max).max(1),
            outer: no_rows(),
            joined: None,
            stays,
            figures: Arc::default(),
        })
    }
}

/// Those of the conditions that are over inner columns alone.
fn own_conditions(conditions: &[Computed], outer_columns: usize) -> Vec<Expr> {
    let is_own = |condition: &&Computed| {
        let columns = condition.columns();
        !columns.is_empty() && columns.iter().all(|column| *column >= outer_columns)
    };
    let own = conditions.iter().filter(is_own).map(Computed::written);
    own.filter(|condition| !condition.is_volatile())
        .cloned()
        .collect()
}

/// Whether a condition leaves as many ranges of a key as there were, or fewer.
fn narrows(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Compare { op, .. } => *op != CompareOp::NotEq,
        Predicate::IsNull { .. } | Predicate::IsTrue { .. } | Predicate::Like { .. } => true,
        _ => false,
    }
}

/// The inner columns that conditions ask for, which then know them by their new numbers.
fn only_asked(positions: Vec<usize>, outer_columns: usize, conditions: &mut [Computed]) -> Vec<usize> {
    let asked = conditions.iter().flat_map(Computed::columns);
    let mut asked: Vec<usize> = asked.filter(|column| *column >= outer_columns).collect();
    asked.sort_unstable();
    asked.dedup();
    let kept: Vec<usize> = (0..outer_columns).chain(asked.iter().copied()).collect();
    conditions
        .iter_mut()
        .for_each(|condition| condition.renumber(&kept));
    asked
        .iter()
        .map(|column| positions[*column - outer_columns])
        .collect()
}
