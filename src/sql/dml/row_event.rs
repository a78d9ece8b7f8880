//! `RowEvent`: what a write does to rows, and which triggers it fires.

use crate::catalog::{TableDef, TriggerDef, TriggerEvent, TriggerTiming};
use crate::codec::row::ColumnId;
use crate::system::StatementContext;

/// What a write does to rows. `set`: the columns that an UPDATE names.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowEvent<'a> {
    pub(super) event: TriggerEvent,
    pub(super) set: &'a [ColumnId],
}

impl RowEvent<'_> {
    pub(super) const INSERT: RowEvent<'static> = RowEvent::of(TriggerEvent::Insert);
    pub(super) const DELETE: RowEvent<'static> = RowEvent::of(TriggerEvent::Delete);

    pub(super) const fn update(set: &[ColumnId]) -> RowEvent<'_> {
        RowEvent {
            event: TriggerEvent::Update,
            set,
        }
    }

    pub(super) const fn of(event: TriggerEvent) -> RowEvent<'static> {
        RowEvent { event, set: &[] }
    }

    /// The triggers of a table that it fires, in their order.
    pub(super) fn triggers<'t>(
        self,
        ctx: &StatementContext,
        table: &'t TableDef,
        timing: TriggerTiming,
        for_each_row: bool,
    ) -> impl Iterator<Item = &'t TriggerDef> {
        let replays = ctx.settings.replays;
        let all = table.triggers_of(self.event, timing, for_each_row, replays);
        all.filter(move |trigger| {
            let of = &trigger.update_of;
            self.event != TriggerEvent::Update
                || of.is_empty()
                || of.iter().any(|column| self.set.contains(column))
        })
    }
}
