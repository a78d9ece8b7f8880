//! Rows of `pg_catalog` that come from the session and the server rather than from tables: databases,
//! settings, the session itself, time zones.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::Offset;
use chrono::TimeZone;
use chrono_tz::{OffsetComponents, TZ_VARIANTS};

use super::object_class::DATABASE_CLASS;
use super::relation_rows::{Constants, RelationRows, Source, array_or_null, array_text, boolean, text};
use super::role_rows::{self, role_names, user_oid};
use crate::catalog::{DatabaseId, FIRST_DATABASE, FIRST_OID, SettingsOwner};
use crate::codec::keyspace::{AdvisoryKey, Keyspace};
use crate::system::session_state::{ActivityState, WaitFor};
use crate::system::settings::{SettingKind, SettingScope};
use crate::types::{Zone, abbreviations};

pub(crate) const DATABASE: Constants = &[
    ("datdba", "10"),
    ("encoding", "6"),
    ("datlocprovider", "c"),
    ("datistemplate", "f"),
    ("datallowconn", "t"),
    ("datconnlimit", "-1"),
    ("datfrozenxid", "716"),
    ("datminmxid", "1"),
    ("dattablespace", "1663"),
    ("datcollate", "C"),
    ("datctype", "C"),
];

pub(crate) fn databases(source: &Source<'_>, rows: &mut RelationRows) {
    rows.push(&[
        ("oid", text(FIRST_DATABASE)),
        ("datname", text(source.ctx.first_database_name())),
    ]);
    for database in source.ctx.catalog.databases.values() {
        rows.push(&[
            ("oid", text(database.oid)),
            ("datname", text(&database.name)),
            ("datistemplate", boolean(database.is_template)),
            ("datallowconn", boolean(database.allow_connections)),
            ("datconnlimit", text(database.connection_limit)),
        ]);
    }
}

/// Comments on what all databases share.
pub(crate) fn shared_descriptions(source: &Source<'_>, rows: &mut RelationRows) {
    for database in source.ctx.catalog.databases.values() {
        if let Some(comment) = &database.comment {
            rows.push(&[
                ("objoid", text(database.oid)),
                ("classoid", text(DATABASE_CLASS)),
                ("description", text(comment)),
            ]);
        }
    }
    role_rows::descriptions(source, rows);
}

pub(crate) const INDEX_BUILD: Constants = &[
    ("lockers_total", "0"),
    ("lockers_done", "0"),
    ("current_locker_pid", "0"),
    ("blocks_total", "0"),
    ("blocks_done", "0"),
    ("partitions_total", "0"),
    ("partitions_done", "0"),
];

/// The indexes that are being built. How many rows there are is known once all are read.
pub(crate) fn index_builds(source: &Source<'_>, rows: &mut RelationRows) {
    for build in source.ctx.index_builds.running() {
        let command = match build.concurrently {
            true => "CREATE INDEX CONCURRENTLY",
            false => "CREATE INDEX",
        };
        let phase = match build.rows_total() {
            None => "building index: scanning table",
            Some(_) => "building index: loading tuples in tree",
        };
        rows.push(&[
            ("pid", text(build.process_id)),
            ("datid", text(source.ctx.txn.database())),
            ("datname", text(&source.ctx.database)),
            ("relid", text(build.table)),
            ("index_relid", text(build.index)),
            ("command", text(command)),
            ("phase", text(phase)),
            ("tuples_total", text(build.rows_total().unwrap_or(0))),
            ("tuples_done", text(build.rows_done())),
        ]);
    }
}

pub(crate) const COPY: Constants = &[("bytes_total", "0")];

/// The COPY that each session runs.
pub(crate) fn copies(source: &Source<'_>, rows: &mut RelationRows) {
    for session in source.ctx.server.sessions() {
        let Some(copy) = session.copy.get() else { continue };
        rows.push(&[
            ("pid", text(session.process_id)),
            ("datid", text(session.database_id)),
            ("datname", text(&session.database)),
            ("relid", text(copy.relation)),
            (
                "command",
                text(if copy.is_from { "COPY FROM" } else { "COPY TO" }),
            ),
            ("type", text(if copy.is_file { "FILE" } else { "PIPE" })),
            ("bytes_processed", text(copy.bytes())),
            ("tuples_processed", text(copy.rows())),
            ("tuples_excluded", text(copy.excluded())),
        ]);
    }
}

pub(crate) const SETTING: Constants = &[("pending_restart", "f")];

pub(crate) fn settings(source: &Source<'_>, rows: &mut RelationRows) {
    for setting in source.ctx.settings.rows() {
        let definition = setting.def;
        let default = definition.map(|def| def.default.to_string());
        let context = match definition.map(|def| def.scope) {
            None | Some(SettingScope::Session) => "user",
            Some(SettingScope::Server) => "postmaster",
            Some(SettingScope::Internal) => "internal",
        };
        let (kind, unit, least, most, words) =
            definition.map_or(("string", None, None, None, None), |def| facts(&def.kind));
        rows.push(&[
            ("name", text(&setting.name)),
            ("setting", text(&setting.kept_value)),
            ("unit", unit.map(str::to_string)),
            (
                "category",
                text(if setting.name.contains('.') {
                    "Customized Options"
                } else {
                    "Client Connection Defaults"
                }),
            ),
            ("short_desc", definition.map(|def| def.description.to_string())),
            ("context", text(context)),
            ("vartype", text(kind)),
            ("source", text(setting.source.name())),
            ("min_val", least.map(|least| least.to_string())),
            ("max_val", most.map(|most| most.to_string())),
            ("enumvals", words.and_then(|words| array_or_null(words.iter()))),
            ("boot_val", default),
            ("reset_val", setting.reset_value),
        ]);
    }
}

/// What ALTER DATABASE and ROLE … SET left.
pub(crate) fn altered_settings(source: &Source<'_>, rows: &mut RelationRows) {
    let roles = role_names(source.ctx);
    let oid_of = |role: &str| roles.iter().find(|(_, name)| name == role).map(|(oid, _)| *oid);
    for altered in source.ctx.catalog.altered.values() {
        let (database, role) = match &altered.owner {
            SettingsOwner::System => continue,
            SettingsOwner::AllRoles => (0, Some(0)),
            SettingsOwner::Database(database) => (*database, Some(0)),
            SettingsOwner::Role(role) => (0, oid_of(role)),
            SettingsOwner::RoleInDatabase(role, database) => (*database, oid_of(role)),
        };
        // A role that is nobody's here has no oid.
        let Some(role) = role else {
            continue;
        };
        rows.push(&[
            ("setdatabase", text(database)),
            ("setrole", text(role)),
            ("setconfig", Some(array_text(&altered.texts()))),
        ]);
    }
}

type Facts = (
    &'static str,
    Option<&'static str>,
    Option<i64>,
    Option<i64>,
    Option<&'static [&'static str]>,
);

/// What pg_settings says of a kind of setting: vartype, unit, min_val, max_val, enumvals.
fn facts(kind: &SettingKind) -> Facts {
    match kind {
        SettingKind::Bool => ("bool", None, None, None, None),
        SettingKind::Integer { min, max, unit } => ("integer", unit.name(), Some(*min), Some(*max), None),
        SettingKind::Real { min, max } => ("real", None, Some(*min), Some(*max), None),
        SettingKind::Enum(words) => ("enum", None, None, None, Some(words)),
        _ => ("string", None, None, None, None),
    }
}

pub(crate) const ACTIVITY: Constants = &[("backend_type", "client backend")];

/// All sessions.
pub(crate) fn activity(source: &Source<'_>, rows: &mut RelationRows) {
    let waiting = source.ctx.txn.lock_table().waits();
    for session in source.ctx.server.sessions() {
        let (activity, (state, changed_us)) = (session.activity(), session.state());
        let is_active = state == ActivityState::Active;
        let began_us = match (session.transaction_started_us(), is_active) {
            (Some(began_us), _) => Some(began_us),
            (None, true) => Some(activity.query_started_us),
            (None, false) => None,
        };
        let waits = match (session.waiting_for(), is_active) {
            (Some(WaitFor::Sleep), true) => Some(("Timeout", "PgSleep")),
            (None, true) => {
                let key = waiting.get(&session.process_id);
                key.map(|key| ("Lock", LockedObject::of(key).wait_event()))
            }
            (_, false) => Some(("Client", "ClientRead")),
        };
        let query_us = (activity.query_started_us > 0).then_some(activity.query_started_us);
        rows.push(&[
            ("datid", text(session.database_id)),
            ("datname", text(&session.database)),
            ("pid", text(session.process_id)),
            ("usesysid", text(user_oid(&source.ctx.catalog, &session.user))),
            ("usename", text(&session.user)),
            ("application_name", text(&activity.application)),
            (
                "client_addr",
                session.client.map(|ends| ends.client.ip().to_string()),
            ),
            (
                "client_port",
                session.client.map(|ends| ends.client.port().to_string()),
            ),
            ("backend_start", text(session.started_us)),
            ("xact_start", began_us.map(|at| at.to_string())),
            ("query_start", query_us.map(|at| at.to_string())),
            ("state_change", text(changed_us)),
            ("wait_event_type", waits.map(|(kind, _)| kind.to_string())),
            ("wait_event", waits.map(|(_, event)| event.to_string())),
            ("state", text(state.name())),
            ("query", text(activity.told_query())),
        ]);
    }
}

/// Which sessions are encrypted.
pub(crate) fn encryption(source: &Source<'_>, rows: &mut RelationRows) {
    for session in source.ctx.server.sessions() {
        let is_encrypted = session.client.is_some_and(|ends| ends.is_encrypted);
        rows.push(&[("pid", text(session.process_id)), ("ssl", boolean(is_encrypted))]);
    }
}

pub(crate) const LOCK: Constants = &[("fastpath", "f")];

/// All locks, but for those of rows that nobody waits for: there may be millions, and PostgreSQL shows none of them.
pub(crate) fn locks(source: &Source<'_>, rows: &mut RelationRows) {
    let locks = source.ctx.txn.lock_table().rows();
    let waited_for: HashSet<Arc<[u8]>> = locks
        .iter()
        .filter(|lock| lock.waits_since_us.is_some())
        .map(|lock| Arc::clone(&lock.key))
        .collect();
    for lock in locks {
        let object = LockedObject::of(&lock.key);
        if object.is_row() && !waited_for.contains(&lock.key) {
            continue;
        }
        let holder = source.ctx.server.get_session(lock.owner.session);
        let database = holder.map_or(source.ctx.txn.database(), |holder| holder.database_id);
        let mut columns = object.columns(database);
        columns.extend([
            (
                "virtualtransaction",
                text(format!("{}/{}", lock.owner.session, lock.owner.number)),
            ),
            ("pid", text(lock.owner.session)),
            ("mode", text(lock.mode.name())),
            ("granted", boolean(lock.waits_since_us.is_none())),
            ("waitstart", lock.waits_since_us.map(|since| since.to_string())),
        ]);
        rows.push(&columns);
    }
}

/// What a lock is on.
enum LockedObject {
    Advisory(AdvisoryKey),
    Relation(u32),
    /// A row, by the oid of its table.
    Row(u32),
    /// What the server locks for itself: records of the catalog, numbers.
    Record,
}

impl LockedObject {
    fn of(key: &[u8]) -> LockedObject {
        match Keyspace::decode(key) {
            Ok(Keyspace::AdvisoryLock(key)) => LockedObject::Advisory(key),
            Ok(Keyspace::Relation { id }) => LockedObject::Relation(FIRST_OID + id),
            Ok(Keyspace::Entry { table, .. }) => LockedObject::Row(FIRST_OID + table),
            _ => LockedObject::Record,
        }
    }

    fn is_row(&self) -> bool {
        matches!(self, LockedObject::Row(_) | LockedObject::Record)
    }

    /// What a session is said to wait for.
    fn wait_event(&self) -> &'static str {
        match self {
            LockedObject::Advisory(_) => "advisory",
            LockedObject::Relation(_) => "relation",
            LockedObject::Row(_) => "tuple",
            LockedObject::Record => "object",
        }
    }

    /// `database`: that of whoever holds it.
    fn columns(&self, database: DatabaseId) -> Vec<(&'static str, Option<String>)> {
        let mut columns = vec![
            ("locktype", text(self.wait_event())),
            ("database", text(database)),
        ];
        match self {
            LockedObject::Advisory(key) => columns.extend([
                ("classid", text(key.class)),
                ("objid", text(key.object)),
                ("objsubid", text(key.numbers)),
            ]),
            LockedObject::Relation(oid) | LockedObject::Row(oid) => columns.push(("relation", text(oid))),
            LockedObject::Record => {}
        }
        columns
    }
}

/// Of what PostgreSQL counts in a database, connections alone are counted here.
pub(crate) const DATABASE_STATISTICS: Constants = &[
    ("xact_commit", "0"),
    ("xact_rollback", "0"),
    ("blks_read", "0"),
    ("blks_hit", "0"),
    ("tup_returned", "0"),
    ("tup_fetched", "0"),
    ("tup_inserted", "0"),
    ("tup_updated", "0"),
    ("tup_deleted", "0"),
    ("conflicts", "0"),
    ("temp_files", "0"),
    ("temp_bytes", "0"),
    ("deadlocks", "0"),
    ("blk_read_time", "0"),
    ("blk_write_time", "0"),
    ("session_time", "0"),
    ("active_time", "0"),
    ("idle_in_transaction_time", "0"),
    ("sessions", "0"),
    ("sessions_abandoned", "0"),
    ("sessions_fatal", "0"),
    ("sessions_killed", "0"),
];

pub(crate) fn database_statistics(source: &Source<'_>, rows: &mut RelationRows) {
    let sessions = source.ctx.server.sessions();
    let made = source.ctx.catalog.databases.values();
    let made = made.map(|database| (database.oid, database.name.as_str()));
    for (oid, name) in std::iter::once((FIRST_DATABASE, source.ctx.first_database_name())).chain(made) {
        let own = sessions.iter().filter(|session| session.database_id == oid);
        rows.push(&[
            ("datid", text(oid)),
            ("datname", text(name)),
            ("numbackends", text(own.count())),
        ]);
    }
}

pub(crate) fn prepared_statements(source: &Source<'_>, rows: &mut RelationRows) {
    let all = source.ctx.prepared.rows();
    // Those of function calls are nobody's, and have names that no client can give.
    let given = all.iter().filter(|(name, _)| !name.starts_with('\0'));
    for (name, prepared) in given {
        let types: Vec<String> = prepared
            .parameter_types
            .iter()
            .map(|ty| ty.oid().to_string())
            .collect();
        rows.push(&[
            ("name", text(name)),
            ("statement", text(&prepared.text)),
            ("prepare_time", text(prepared.prepared_us)),
            ("parameter_types", text(format!("{{{}}}", types.join(",")))),
            ("from_sql", boolean(prepared.from_sql)),
            // A plan that waits for its parameters is kept, and none is made for them.
            ("generic_plans", text(0)),
            ("custom_plans", text(0)),
        ]);
    }
}

pub(crate) fn cursors(source: &Source<'_>, rows: &mut RelationRows) {
    for cursor in source.ctx.cursors.iter() {
        rows.push(&[
            ("name", text(&cursor.name)),
            ("statement", text(&cursor.statement)),
            ("is_holdable", boolean(cursor.is_holdable)),
            ("is_binary", boolean(cursor.is_binary)),
            ("is_scrollable", boolean(cursor.is_scrollable)),
            ("creation_time", text(cursor.created_us)),
        ]);
    }
}

/// pg_timezone_abbrevs.
pub(crate) fn time_zone_abbreviations(source: &Source<'_>, rows: &mut RelationRows) {
    let now = chrono::DateTime::from_timestamp_micros(source.ctx.transaction_time_us).unwrap_or_default();
    for (name, zone, is_daylight) in abbreviations() {
        let is_daylight = match zone {
            Zone::Named(zone) => {
                let offset = zone.offset_from_utc_datetime(&now.naive_utc());
                !offset.dst_offset().is_zero()
            }
            Zone::Offset(_) | Zone::Posix(_) => is_daylight,
        };
        let seconds = zone.offset_at(source.ctx.transaction_time_us);
        rows.push(&[
            ("abbrev", text(name.to_uppercase())),
            ("utc_offset", text(i64::from(seconds) * 1_000_000)),
            ("is_dst", boolean(is_daylight)),
        ]);
    }
}

pub(crate) fn time_zones(source: &Source<'_>, rows: &mut RelationRows) {
    let now = chrono::DateTime::from_timestamp_micros(source.ctx.transaction_time_us).unwrap_or_default();
    for zone in TZ_VARIANTS {
        let offset = zone.offset_from_utc_datetime(&now.naive_utc());
        let seconds = i64::from(offset.fix().local_minus_utc());
        rows.push(&[
            ("name", text(zone.name())),
            ("abbrev", text(offset)),
            ("utc_offset", text(seconds * 1_000_000)),
            ("is_dst", boolean(!offset.dst_offset().is_zero())),
        ]);
    }
}
