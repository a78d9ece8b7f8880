//! `LockScope`: what is known of row locks while FROM is bound: what is asked for, and which tables were met. Kept by the binder, filled
//! by `row_locks`.

use std::sync::Arc;

use super::bound::Bound;
use crate::catalog::TableDef;
use crate::parse::row_locks::{LockStrength, LockingClause, WaitPolicy};
use crate::tree::{Expr, RowLock};

/// The rows of an item of FROM that a query asks to be locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ItemLock {
    /// What FROM calls it.
    pub(super) item: String,
    pub(super) strength: LockStrength,
    pub(super) wait: WaitPolicy,
}

/// A table of FROM whose rows are locked.
#[derive(Debug, Clone)]
pub(super) struct LockedTable {
    pub(super) table: Arc<TableDef>,
    pub(super) lock: ItemLock,
    /// Its primary key, in the key's order.
    pub(super) key: Vec<Bound>,
}

impl LockedTable {
    /// As a plan has it, the key's columns being called so.
    pub(super) fn lock(&self, key: Vec<Expr>) -> RowLock {
        RowLock {
            table: Arc::clone(&self.table),
            relation: self.table.name.clone(),
            key,
            strength: self.lock.strength,
            wait: self.lock.wait,
        }
    }
}

/// What is known of locks while FROM is bound.
#[derive(Debug, Default)]
pub(super) struct LockScope {
    /// The clauses of the query around, which the query that is bound next takes over.
    pub(super) around: Vec<LockingClause>,
    /// What is to be locked of the FROM that is bound.
    pub(super) items: Vec<ItemLock>,
    /// The tables of it that were met.
    pub(super) tables: Vec<LockedTable>,
}

impl ItemLock {
    /// The clause by which all relations of a subquery are locked so.
    pub(super) fn of_all(&self) -> LockingClause {
        LockingClause {
            strength: self.strength,
            relations: Vec::new(),
            wait: self.wait,
        }
    }
}
