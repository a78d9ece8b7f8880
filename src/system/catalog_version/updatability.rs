//! What rows may be written through relations, as PostgreSQL counts it: for `pg_relation_is_updatable` and `information_schema`.

use super::objects::{Found, Objects, UserRelation};
use crate::catalog::{TriggerEvent, TriggerTiming};

/// INSERT.
pub(crate) const INSERTS: i32 = 8;
/// UPDATE and DELETE.
pub(crate) const UPDATES: i32 = 4 | 16;
/// DELETE alone.
pub(crate) const DELETES: i32 = 16;

/// Which writes INSTEAD OF triggers carry out: as of [`writes_of`].
pub(crate) fn triggered_writes(relation: &UserRelation) -> i32 {
    let triggers = relation.triggers.iter().map(|trigger| &trigger.def);
    let events = triggers
        .filter(|def| def.timing == TriggerTiming::InsteadOf)
        .flat_map(|def| &def.events);
    let bit = |event: &TriggerEvent| match event {
        TriggerEvent::Insert => INSERTS,
        TriggerEvent::Update => UPDATES & !DELETES,
        TriggerEvent::Delete => DELETES,
        TriggerEvent::Truncate => 0,
    };
    events.fold(0, |writes, event| writes | bit(event))
}

/// Views that stand one upon the other, at most: as many as writes go through.
const VIEWS_DEEP_MAX: usize = 32;

/// Which writes a relation takes: 4 UPDATE, 8 INSERT, 16 DELETE. `column`: one of it, from 0, that must be written, too.
pub(crate) fn writes_of(objects: &Objects, relation: &UserRelation, column: Option<usize>) -> i32 {
    let (mut relation, mut column) = (relation, column);
    let mut writes = INSERTS | UPDATES;
    for _ in 0..VIEWS_DEEP_MAX {
        if relation.is_table() {
            return writes;
        }
        let Some(shows) = &relation.shows else {
            return 0;
        };
        let of_columns = |at: &usize| shows.columns.get(*at).copied().flatten();
        let is_written = match column {
            Some(at) => of_columns(&at).is_some(),
            None => shows.columns.iter().any(Option::is_some),
        };
        if !is_written {
            writes &= DELETES;
        }
        column = column.and_then(|at| of_columns(&at));
        let Some(Found::Relation(below)) = objects.find(i64::from(shows.oid)) else {
            return 0;
        };
        relation = below;
    }
    0
}
