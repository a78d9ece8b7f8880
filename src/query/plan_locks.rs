//! `PlanLocks`: the tables that a plan reads, and how it locks them. Who reads keeps nobody from anything but from changing the table
//! itself, as in PostgreSQL.

use std::sync::Arc;

use crate::Result;
use crate::catalog::{TableDef, record_key};
use crate::logical::dependent_join::for_each_node;
use crate::logical::stored_table::read_table;
use crate::store::LockMode;
use crate::system::{InUse, StatementContext};
use crate::tree::{Plan, TreeNodeRecursion};

/// The records of the tables, and of views.
#[derive(Debug, Default)]
pub(super) struct PlanLocks {
    read: Vec<Vec<u8>>,
    /// The tables' oids.
    oids: Arc<[u32]>,
    /// Those of which rows are locked.
    rows_locked: Vec<Vec<u8>>,
    /// A materialized view among them whose rows are not there.
    unpopulated: Option<Arc<TableDef>>,
}

impl PlanLocks {
    /// Of a bound plan, whose names lead through these views: they are locked first, as their names are met first.
    pub(super) fn of(plan: &Plan, views: &[Vec<u8>]) -> PlanLocks {
        let mut locks = PlanLocks {
            read: views.to_vec(),
            ..PlanLocks::default()
        };
        let mut oids: Vec<u32> = Vec::new();
        let add = |keys: &mut Vec<Vec<u8>>, key: Vec<u8>| {
            if !keys.contains(&key) {
                keys.push(key);
            }
        };
        // No step of it fails.
        let _ = for_each_node(plan, &mut |node| {
            match node {
                Plan::TableScan(scan) => {
                    if let Some(read) = read_table(scan) {
                        add(&mut locks.read, record_key(read.table.id));
                        oids.push(read.table.oid);
                        if read.table.require_populated().is_err() {
                            locks.unpopulated = Some(Arc::clone(&read.table));
                        }
                    }
                }
                Plan::LockRows(locked) => {
                    for lock in &locked.locks {
                        add(&mut locks.rows_locked, record_key(lock.table.id));
                    }
                }
                _ => {}
            }
            Ok(TreeNodeRecursion::Continue)
        });
        locks.oids = oids.into();
        locks
    }

    /// While it runs, no statement of its session changes what it reads.
    pub(super) fn enter(&self, ctx: &StatementContext) -> InUse {
        ctx.session.relations_in_use.enter(&self.oids)
    }

    /// Whether it locks rows.
    pub(super) fn locks_rows(&self) -> bool {
        !self.rows_locked.is_empty()
    }

    /// Locks the tables until the transaction ends. A statement of its own, which is over soon, only waits for those who have locked them,
    /// and locks no table of which it locks no rows. Errors: `Conflict` where it waited and need not keep its snapshot, which is older than
    /// what was waited for, and leaves the locks; 40P01, 53200, 55P03; 55000 for rows that are not there.
    pub(super) async fn lock_tables(&self, ctx: &StatementContext) -> Result<()> {
        self.unpopulated
            .as_ref()
            .map_or(Ok(()), |view| view.require_populated())?;
        let lock = |records, mode| ctx.txn.lock_before_reading(records, mode);
        lock(&self.rows_locked, LockMode::RowShare).await?;
        let would_wait = |key: &Vec<u8>| ctx.txn.would_wait(key, LockMode::AccessShare);
        if ctx.in_block || self.read.iter().any(would_wait) {
            lock(&self.read, LockMode::AccessShare).await?;
        }
        Ok(())
    }
}
