//! `DeferredConstraints`: what a transaction has left to be asked of foreign keys and unique keys when it commits, and which of them it
//! has said to ask later, or at once. Filled and asked by `sql::dml`; SET CONSTRAINTS changes it, a savepoint marks it.
//!
//! Invariants
//!
//! 1. What is to be asked is kept in the order in which it was left; what was asked is struck out, not taken away, so that a savepoint
//!    brings it back.
//! 2. It holds keys of rows that the transaction has written, whose limit bounds it.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatch};

use crate::catalog::{ForeignKey, TableDef, TriggerEvent};

/// See the module.
#[derive(Debug, Default)]
pub struct DeferredConstraints(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// SET CONSTRAINTS in the order said: of a foreign key, or of all, and whether they are asked later.
    said: Vec<(Option<u32>, bool)>,
    checks: Vec<Open>,
    /// Places of those that were asked, in the order in which they were.
    asked: Vec<usize>,
}

#[derive(Debug)]
struct Open {
    check: Arc<DeferredCheck>,
    is_asked: bool,
}

/// Something to be asked.
#[derive(Debug, Clone)]
pub enum DeferredCheck {
    /// Of a foreign key.
    Reference(ReferenceCheck),
    /// Of a unique key.
    Unique(UniqueCheck),
    /// Of an exclusion constraint.
    Exclusion(ExclusionCheck),
    /// The function of a trigger.
    Trigger(TriggerCheck),
}

/// A row for which a trigger was fired: a batch of one row each.
#[derive(Debug, Clone)]
pub struct TriggerCheck {
    /// The table whose row was written.
    pub table: Arc<TableDef>,
    /// The oid of the trigger, and of the constraint that it is.
    pub trigger: u32,
    /// What fired it.
    pub event: TriggerEvent,
    /// The row as it was.
    pub old: Option<RecordBatch>,
    /// The row as it became.
    pub new: Option<RecordBatch>,
}

/// Keys to be asked of a foreign key.
#[derive(Debug, Clone)]
pub struct ReferenceCheck {
    /// Why they are.
    pub cause: DeferredCause,
    /// The table whose rows were written.
    pub table: Arc<TableDef>,
    /// The table that refers.
    pub by: u32,
    /// The constraint.
    pub foreign_key: ForeignKey,
    /// A column each, in the order of [`ForeignKey::columns`].
    pub keys: Vec<ArrayRef>,
}

/// Keys that several rows had when a statement ended.
#[derive(Debug, Clone)]
pub struct UniqueCheck {
    /// The table whose rows were written.
    pub table: Arc<TableDef>,
    /// The oid of the constraint, and of its index.
    pub index: u32,
    /// A column each, in the order of the index.
    pub keys: Vec<ArrayRef>,
}

/// Keys whose rows were in the way of others when a statement ended.
#[derive(Debug, Clone)]
pub struct ExclusionCheck {
    /// The table whose rows were written.
    pub table: Arc<TableDef>,
    /// The oid of the constraint, and of its index.
    pub index: u32,
    /// As stored.
    pub keys: Vec<Vec<u8>>,
}

impl DeferredCheck {
    /// The oid of the constraint.
    pub fn constraint(&self) -> u32 {
        match self {
            DeferredCheck::Reference(check) => check.foreign_key.oid,
            DeferredCheck::Unique(check) => check.index,
            DeferredCheck::Exclusion(check) => check.index,
            DeferredCheck::Trigger(check) => check.trigger,
        }
    }

    /// The table whose rows were written.
    pub fn table(&self) -> &Arc<TableDef> {
        match self {
            DeferredCheck::Reference(check) => &check.table,
            DeferredCheck::Unique(check) => &check.table,
            DeferredCheck::Exclusion(check) => &check.table,
            DeferredCheck::Trigger(check) => &check.table,
        }
    }
}

/// Why keys are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeferredCause {
    /// Rows were written that refer to them, and they were not there.
    Missing,
    /// They have gone, and rows may refer to them.
    Gone,
}

/// A place to roll back to.
#[derive(Debug, Clone, Copy, Default)]
pub struct DeferredMark {
    said: usize,
    checks: usize,
    asked: usize,
}

impl DeferredConstraints {
    /// Whether a constraint that is deferrable is asked when the transaction commits. `initially`: what its definition says.
    pub fn is_deferred(&self, constraint: u32, initially: bool) -> bool {
        self.with(|state| state.get_said(constraint)).unwrap_or(initially)
    }

    /// SET CONSTRAINTS, of the constraint with this oid, or of all.
    pub fn say(&self, constraint: Option<u32>, deferred: bool) {
        self.with(|state| {
            // Who says the same again and again adds nothing.
            if state.said.last() != Some(&(constraint, deferred)) {
                state.said.push((constraint, deferred));
            }
        });
    }

    /// Leaves something to be asked.
    pub fn leave(&self, check: DeferredCheck) {
        let check = Arc::new(check);
        self.with(|state| {
            state.checks.push(Open {
                check,
                is_asked: false,
            })
        });
    }

    /// What is to be asked of these constraints, with its place.
    pub fn open(&self, is_wanted: impl Fn(&DeferredCheck) -> bool) -> Vec<(usize, Arc<DeferredCheck>)> {
        self.with(|state| {
            let open = state.checks.iter().enumerate();
            let open = open.filter(|(_, open)| !open.is_asked && is_wanted(&open.check));
            open.map(|(at, open)| (at, Arc::clone(&open.check))).collect()
        })
    }

    /// Whether there is something to be asked.
    pub fn has_open(&self) -> bool {
        self.with(|state| state.checks.len() > state.asked.len())
    }

    /// Whether something is to be asked because rows of this table were written.
    pub fn has_open_of(&self, table: u32) -> bool {
        self.with(|state| {
            let mut open = state.checks.iter().filter(|open| !open.is_asked);
            open.any(|open| open.check.table().oid == table)
        })
    }

    /// It was asked, and nothing was against it.
    pub fn strike(&self, place: usize) {
        self.with(|state| {
            if let Some(open) = state.checks.get_mut(place).filter(|open| !open.is_asked) {
                open.is_asked = true;
                state.asked.push(place);
            }
        });
    }

    /// A savepoint.
    pub fn mark(&self) -> DeferredMark {
        self.with(|state| DeferredMark {
            said: state.said.len(),
            checks: state.checks.len(),
            asked: state.asked.len(),
        })
    }

    /// Back to a savepoint; to the beginning of the transaction by the default of the mark.
    pub fn roll_back_to(&self, mark: DeferredMark) {
        self.with(|state| {
            state.said.truncate(mark.said);
            let kept = mark.asked.min(state.asked.len());
            for place in state.asked.split_off(kept) {
                state.checks[place].is_asked = false;
            }
            state.checks.truncate(mark.checks);
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    /// What SET CONSTRAINTS has said last that is about a constraint.
    fn get_said(&self, constraint: u32) -> Option<bool> {
        let mut said = self.said.iter().rev();
        let said = said.find(|(of, _)| of.is_none_or(|of| of == constraint));
        said.map(|(_, deferred)| *deferred)
    }
}
