//! Paths that read all of a key for the order that it gives, whatever the conditions say. Asked by `scan_exec`, where the same rows may be read
//! by the conditions alone.

use std::sync::Arc;

use crate::Result;
use crate::catalog::TableDef;
use crate::parse::IndexHint;
use crate::plan::{AccessPath, FullScanPolicy, OrderColumn, PlanRules, Predicate, Wanted};
use crate::scan::table_access::plan_predicates;
use crate::system::StatementContext;

/// What such a path is to give.
pub(super) struct OrderedRows<'a> {
    pub(super) table: &'a Arc<TableDef>,
    /// What the rows satisfy.
    pub(super) predicates: Vec<Predicate>,
    /// The columns that are read (positions in `TableDef::columns`).
    pub(super) positions: &'a [usize],
    pub(super) order: &'a [OrderColumn],
}

impl OrderedRows<'_> {
    /// The path by a key that leads to all rows, one that holds all that is asked for before others. `None`: none has the order.
    pub(super) fn path(&self, ctx: &StatementContext) -> Option<AccessPath> {
        let keys = self.table.all_indexes();
        let keys = keys.filter(|key| key.is_complete() && key.predicate.is_none() && key.terms.is_none());
        let paths = keys.filter_map(|key| self.path_of_key(&key.name, ctx).ok().flatten());
        let whole = paths.filter(AccessPath::is_whole);
        whole.max_by_key(|path| path.covers(self.positions))
    }

    /// The path by this key. `None`: it has not the order. Errors: those of planning the access.
    pub(super) fn path_of_key(&self, key: &str, ctx: &StatementContext) -> Result<Option<AccessPath>> {
        ctx.generated_columns(self.table)?;
        let rules = PlanRules {
            full_scan: FullScanPolicy::Allow,
            index_hint: Some(IndexHint::Force(key.to_string())),
            ..ctx.plan_rules(self.table)
        };
        let wanted = Wanted {
            columns: Some(self.positions),
            first_in_order: &[],
        };
        let mut path = plan_predicates(self.table, self.predicates.clone(), wanted, &rules)?;
        Ok(path.serve(self.order, true).then_some(path))
    }
}
