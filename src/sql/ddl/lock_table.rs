//! LOCK TABLE: a relation is locked as a whole, until the transaction ends, as statements that use it do for themselves.

use std::collections::BTreeMap;

use crate::catalog::{Access, Object, record_key};
use crate::error::Error;
use crate::parse::definition::UpkeepTarget;
use crate::sql::relation::relation;
use crate::store::{LockMode, LockWait};
use crate::system::StatementContext;
use crate::{Result, catalog};

/// Locks the relations; of a view also those that it reads. `mode`: its place in PostgreSQL's order of them, from 1 on. Errors: 25P01
/// outside a block, 40P01, 42P01, 42809, 55P03.
pub(super) async fn execute(
    ctx: &StatementContext,
    targets: &[UpkeepTarget],
    mode: u8,
    nowait: bool,
) -> Result<()> {
    if !ctx.in_block {
        return Err(Error::TransactionState {
            state: "25P01",
            message: "LOCK TABLE can only be used in transaction blocks".to_string(),
        });
    }
    let mode =
        LockMode::of_relations(mode).ok_or_else(|| Error::internal("a lock mode that there is not"))?;
    let wait = match nowait {
        true => LockWait::NoWait,
        false => LockWait::Block,
    };
    for target in targets {
        let mut relations = Vec::new();
        match relation(ctx, &target.name, Access::Lock)? {
            Object::Table(table) => {
                relations.push((table.id, table.name.clone()));
                let partitions = ctx.leaves_of(table)?;
                relations.extend(partitions.iter().map(|table| (table.id, table.name.clone())));
            }
            Object::View(view) => {
                relations.push((view.id, view.name.clone()));
                relations.extend(read_by(ctx, view));
            }
            Object::Index(..) | Object::Sequence(..) => {}
        }
        for (id, name) in relations {
            let unlocked = ctx.txn.lock_as_it_is(&[record_key(id)], mode, wait).await?;
            if unlocked.refused.is_some() {
                let object = format!("relation \"{name}\"");
                return Err(Error::LockNotAvailable { object });
            }
        }
    }
    Ok(())
}

/// The relations that a view reads, those of views among them too: number and name.
fn read_by(ctx: &StatementContext, view: &catalog::ViewDef) -> BTreeMap<u32, String> {
    let (mut found, mut open) = (BTreeMap::new(), view.depends_on.clone());
    while let Some(oid) = open.pop() {
        let relation = ctx
            .catalog
            .relations
            .iter()
            .find(|relation| relation.oid() == oid);
        let Some(relation) = relation.filter(|relation| !found.contains_key(&relation.id())) else {
            continue;
        };
        if let catalog::Relation::View(view) = relation {
            open.extend(&view.depends_on);
        }
        found.insert(relation.id(), relation.name().to_string());
    }
    found
}
