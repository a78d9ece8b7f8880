//! A [`PointRead`] outside of a block, whose plan is kept: the row is read beside the catalog's version from one snapshot, without a
//! transaction. Where anything is not as it was when the plan was made, the statement runs as all others do.

use std::sync::Arc;

use futures::{StreamExt, stream};

use super::statement_run::{Ran, Run};
use super::{Instance, Reply, Session};
use crate::Result;
use crate::catalog::{Catalog, version_key};
use crate::operators::short::PointRead;
use crate::scan::Rows;
use crate::sql::Outcome;
use crate::store::LockMode;
use crate::system::plan_cache::PlanBasis;
use crate::system::settings::Isolation;

impl Session {
    /// The reply, if the statement is such a query. Errors: the store's; what stops the statement.
    pub(super) async fn read_point(&mut self, run: &Run<'_>) -> Result<Option<Reply>> {
        let Some(kept) = run.statement.kept_query() else {
            return Ok(None);
        };
        // What a serializable transaction reads is remembered, and who keeps a snapshot may have taken another's.
        if run.cursor.is_some() || self.isolation() != Isolation::ReadCommitted {
            return Ok(None);
        }
        let Some(catalog) = self.instance.shared_catalog() else {
            return Ok(None);
        };
        let basis = PlanBasis {
            catalog: &catalog,
            settings: self.settings().of_plans(),
        };
        let plan = kept.get(basis);
        let Some(plan) = plan.filter(|plan| *plan.parameters() == *run.parameters.types) else {
            return Ok(None);
        };
        let read = plan.point_read();
        let Some((read, key)) = read.and_then(|read| Some((read, read.key(&run.parameters.values)?))) else {
            return Ok(None);
        };
        let (instance, interrupt) = (Arc::clone(&self.instance), Arc::clone(&self.interrupt));
        let who = (self.process_id, self.dependency.commit());
        let reading = read_key(&instance, who, read, key, &catalog);
        let Some(row) = interrupt.guard(run.deadline, reading).await? else {
            return Ok(None);
        };
        let outcome = Outcome::Rows {
            columns: plan.columns(),
            stream: stream::iter(row.map(Ok)).boxed(),
        };
        let memory = self.settings().statement_memory();
        run.reply(Ran::Outcome(outcome), &memory).map(Some)
    }
}

/// The row as the process sees it, with the commit that it rests on; `None`: the catalog is another by now, or somebody is changing the table.
async fn read_key(
    instance: &Instance,
    (process_id, rests_on): (i32, u64),
    read: &PointRead,
    key: Vec<u8>,
    catalog: &Arc<Catalog>,
) -> Result<Option<Option<Rows>>> {
    let store = instance.store();
    let locks = store.lock_table();
    let owner = locks.new_owner(process_id);
    if locks.would_wait(owner, locks.hashed(read.record()), LockMode::AccessShare) {
        return Ok(None);
    }
    let snapshot = store.snapshot_after(rests_on).await?;
    let keys = [version_key(), key];
    let values = snapshot.get_many(&keys).await?;
    if !catalog.is_of_version(values.get(0))? {
        return Ok(None);
    }
    instance.state().heat.count_gets(&keys[1..]);
    Ok(Some(values.get(1).map(|value| read.row(&keys[1], value))))
}
