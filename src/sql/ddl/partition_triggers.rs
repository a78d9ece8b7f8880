//! What partitions have of their tables' triggers: those of rows, as their own.

use super::triggers::{sort, taken};
use crate::Result;
use crate::catalog::{CatalogWriter, TableDef, TriggerDef};
use crate::codec::row::ColumnId;
use crate::system::StatementContext;

/// Gives a partition the triggers for each row that its parent has. Errors: 42710 for a name that another has.
pub(super) async fn take_of_parent(
    ctx: &StatementContext,
    parent: &TableDef,
    child: &mut TableDef,
) -> Result<()> {
    let column = |child: &TableDef, id: &ColumnId| {
        let at = parent.column_index_by_id(*id)?;
        let own = child.column_index(&parent.columns[at].name)?;
        Some(child.columns[own].id)
    };
    for trigger in parent.triggers.iter().filter(|trigger| trigger.for_each_row) {
        if child.trigger(&trigger.name).is_some() {
            return Err(taken(&trigger.name, &child.name));
        }
        let mut own = trigger.clone();
        own.oid = ctx.sequences.object_ids().take_oid().await?;
        own.update_of = own.update_of.iter().filter_map(|id| column(child, id)).collect();
        if let Some(when) = &mut own.when {
            when.columns = when.columns.iter().filter_map(|id| column(child, id)).collect();
        }
        child.triggers.push(own);
        sort(&mut child.triggers);
    }
    Ok(())
}

/// Gives the partitions of a table that has become one, and theirs, the triggers that it has got of its parent. Errors: as
/// [`take_of_parent`].
pub(super) async fn give_to_partitions(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    (before, table): (&TableDef, &TableDef),
) -> Result<()> {
    let is_new = |trigger: &&TriggerDef| before.trigger(&trigger.name).is_none();
    let given: Vec<TriggerDef> = table.triggers.iter().filter(is_new).cloned().collect();
    let mut above = vec![(table.clone(), given)];
    while let Some((parent, given)) = above.pop() {
        if given.is_empty() {
            continue;
        }
        let giving = TableDef {
            triggers: given,
            ..parent
        };
        for partition in ctx.catalog.partitions_of(giving.oid) {
            let mut changed = TableDef::clone(partition);
            take_of_parent(ctx, &giving, &mut changed).await?;
            let own = changed
                .triggers
                .iter()
                .filter(|trigger| partition.trigger(&trigger.name).is_none());
            let own = own.cloned().collect();
            above.push((TableDef::clone(writer.put_table(changed)?.as_ref()), own));
        }
    }
    Ok(())
}

/// Takes off a partition that is detached, and off those below it, what it has of its parent's triggers.
pub(super) fn leave_to_parent(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    parent: &TableDef,
    detached: TableDef,
) -> Result<()> {
    let is_of_parent = |trigger: &TriggerDef| {
        let known = parent.trigger(&trigger.name);
        known.is_some_and(|known| known.for_each_row && known.function == trigger.function)
    };
    let mut tables = vec![detached];
    while let Some(mut table) = tables.pop() {
        table.triggers.retain(|trigger| !is_of_parent(trigger));
        tables.extend(
            ctx.catalog
                .partitions_of(table.oid)
                .map(|partition| TableDef::clone(partition)),
        );
        writer.put_table(table)?;
    }
    Ok(())
}
