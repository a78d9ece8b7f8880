//! Which triggers of a table a write fires.

use super::{TableDef, TriggerDef, TriggerEvent, TriggerTiming};

impl TableDef {
    /// The trigger of this name.
    pub fn trigger(&self, name: &str) -> Option<&TriggerDef> {
        self.triggers.iter().find(|trigger| trigger.name == name)
    }

    /// The trigger of this name that is a constraint.
    pub fn constraint_trigger(&self, name: &str) -> Option<&TriggerDef> {
        self.trigger(name).filter(|trigger| trigger.constraint.is_some())
    }

    /// The triggers that an event fires at this moment, in their order. `replays`: session_replication_role is replica.
    pub fn triggers_of(
        &self,
        event: TriggerEvent,
        timing: TriggerTiming,
        for_each_row: bool,
        replays: bool,
    ) -> impl Iterator<Item = &TriggerDef> {
        self.triggers.iter().filter(move |trigger| {
            // What stands for a view has those alone that fire instead.
            (trigger.timing == timing
                || timing == TriggerTiming::Before && trigger.timing == TriggerTiming::InsteadOf)
                && trigger.for_each_row == for_each_row
                && trigger.events.contains(&event)
                && trigger.state.fires(replays)
        })
    }

    /// Whether functions may make others of the rows that an event is to write.
    pub fn changes_before(&self, event: TriggerEvent) -> bool {
        let fires = |trigger: &TriggerDef| {
            trigger.for_each_row && trigger.timing == TriggerTiming::Before && trigger.events.contains(&event)
        };
        self.triggers.iter().any(fires)
    }

    /// Whether writes call functions that see rows, with all columns of them.
    pub fn has_row_triggers(&self) -> bool {
        let sees_rows = |trigger: &TriggerDef| trigger.for_each_row || trigger.has_transition_tables();
        self.triggers.iter().any(sees_rows)
    }
}
