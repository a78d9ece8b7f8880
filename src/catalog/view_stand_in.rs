//! Views that INSTEAD OF triggers write to, as writes see them: tables with the view's columns that store nothing.

use super::{ColumnDef, IndexDef, TableDef, TriggerDef, TriggerEvent, TriggerTiming, ViewDef};
use crate::types::SqlType;

impl ViewDef {
    /// The trigger of this name.
    pub fn trigger(&self, name: &str) -> Option<&TriggerDef> {
        self.triggers.iter().find(|trigger| trigger.name == name)
    }

    /// Whether triggers do what a statement would do to its rows.
    pub fn is_written_by_triggers(&self, event: TriggerEvent) -> bool {
        self.triggers
            .iter()
            .any(|trigger| trigger.events.contains(&event))
    }

    /// The table that stands for it in such a statement. `types`: those of its columns.
    pub fn stand_in(&self, types: impl Iterator<Item = SqlType>) -> TableDef {
        let columns = self.columns.iter().zip(types).zip(1..);
        let columns = columns.map(|(((name, _), ty), id)| ColumnDef::new(id, name.clone(), ty));
        TableDef {
            version: self.version,
            triggers: self.triggers.clone(),
            ..TableDef::new(
                (self.id, self.oid()),
                self.schema.clone(),
                self.name.clone(),
                columns.collect(),
                no_key(),
            )
        }
    }
}

impl TableDef {
    /// Whether it stands for a view: its rows are written by triggers alone.
    pub fn stands_for_view(&self) -> bool {
        let mut triggers = self.triggers.iter();
        triggers.any(|trigger| trigger.timing == TriggerTiming::InsteadOf)
    }
}

/// The primary key of what has none.
fn no_key() -> IndexDef {
    IndexDef {
        unique: true,
        ..IndexDef::new(0, 0, "", Vec::new())
    }
}
