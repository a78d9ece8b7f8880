//! The session's settings: one row a setting in `definitions`, read by SET, SHOW, RESET, pg_settings and
//! `docs/settings.md`. A `Settings` holds every value as text and, typed, those that statements read. Knows nothing of SQL text.

mod change;
mod choices;
mod compatibility;
mod custom;
mod definition;
mod definitions;
mod derived;
mod own;
mod postgresql;
mod readers;
mod search_path;
mod server_facts;
mod severity;
mod source;
mod transaction_mode;
mod value;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::SpillFiles;
use crate::error::nearest_name;
use crate::plan::FullScanPolicy;
use crate::store::{LockPolicy, ServerMemory};
use crate::table::Limits;
use crate::types::{
    ByteaOutput, CharacterEncoding, DateStyle, FormatSettings, IntervalStyle, ResultLimits,
    TrigramThresholds, Zone,
};
use crate::{Error, Result};
pub use change::SettingChange;
pub use choices::{LoggedStatements, UnwrittenColumns};
pub(crate) use definition::SettingKind;
#[cfg(test)]
pub(crate) use definition::Unit;
pub use definition::{SettingDef, SettingScope};
pub use definitions::definitions;
#[cfg(test)]
pub(crate) use own::REWRITE_RULES;
pub use postgresql::SERVER_VERSION;
pub use source::SettingSource;
pub(crate) use transaction_mode::Isolation;
use value::{display, normalize};

/// The values of the settings that plans depend on.
pub type PlanSettings = Arc<[Arc<str>]>;

/// Every setting of a session. Cloned to be changed; statements hold it by `Arc`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// TimeZone.
    pub time_zone: Zone,
    /// client_encoding.
    pub(crate) client_encoding: CharacterEncoding,
    /// DateStyle.
    pub date_style: DateStyle,
    /// IntervalStyle.
    pub interval_style: IntervalStyle,
    /// bytea_output.
    pub bytea_output: ByteaOutput,
    /// extra_float_digits.
    pub extra_float_digits: i8,
    /// pg_trgm's.
    pub trigrams: TrigramThresholds,
    /// search_path, `"$user"` left out: the schemas that names are searched in. That of the session's temporary objects is the first,
    /// or stands where the setting says `pg_temp`.
    pub search_path: Vec<String>,
    /// The schema of the session's temporary objects, whether it is there yet or not; empty: it can have none.
    pub temporary_schema: Arc<str>,
    /// search_path says `pg_temp`.
    pub names_temporary_schema: bool,
    /// keyspan.full_scan.
    pub full_scan: FullScanPolicy,
    /// keyspan.unwritten_columns.
    pub unwritten_columns: UnwrittenColumns,
    /// keyspan.columns_max.
    pub columns_max: usize,
    /// keyspan.trash_hours.
    pub trash_hours: u32,
    /// keyspan.multi_get_max_keys.
    pub multi_get_keys_max: usize,
    /// keyspan.join_keys_max.
    pub join_keys_max: usize,
    /// keyspan.join_order_rows.
    pub join_order_rows: u64,
    /// keyspan.rewrite_rule_off.
    pub rewrite_rule_off: Arc<str>,
    /// keyspan.known_texts_max.
    pub known_texts_max: usize,
    /// keyspan.known_texts_threshold.
    pub known_texts_threshold: usize,
    /// keyspan.max_ranges.
    pub ranges_max: usize,
    /// max_parallel_workers_per_gather.
    pub parallel_workers_max: usize,
    /// statement_timeout in milliseconds; 0: none.
    pub statement_timeout_ms: u64,
    /// keyspan.version_offset_max in milliseconds.
    pub version_offset_max_ms: i64,
    /// log_min_duration_statement in milliseconds; `None`: no statement is logged for the time it took.
    pub log_min_duration_ms: Option<u64>,
    /// log_statement.
    pub log_statement: LoggedStatements,
    /// pg_stat_statements.track.
    pub counts_statements: bool,
    /// pg_stat_statements.track_utility.
    pub counts_utility_statements: bool,
    /// pg_stat_statements.max.
    pub counted_statements_max: usize,
    /// idle_in_transaction_session_timeout in milliseconds; 0: none.
    pub idle_in_transaction_timeout_ms: u64,
    /// idle_session_timeout in milliseconds; 0: none.
    pub idle_session_timeout_ms: u64,
    /// lock_timeout in milliseconds; 0: none.
    pub lock_timeout_ms: u64,
    /// deadlock_timeout in milliseconds.
    pub deadlock_timeout_ms: u64,
    /// transaction_isolation.
    pub isolation: Isolation,
    /// default_transaction_isolation.
    pub default_isolation: Isolation,
    /// keyspan.key_locks_max.
    pub key_locks_max: usize,
    /// session_authorization.
    pub session_user: Arc<str>,
    /// role; `None`: none.
    pub role: Option<Arc<str>>,
    /// keyspan.authentication: clients are asked for the passwords of their roles.
    pub asks_for_passwords: bool,
    /// keyspan.databases_max.
    pub databases_max: usize,
    /// keyspan.any_database: names that nobody gave to a database reach the first.
    pub any_database: bool,
    /// keyspan.advisory_locks_max.
    pub advisory_locks_max: usize,
    /// keyspan.notify_queue_bytes_max.
    pub notify_queue_bytes_max: usize,
    /// synchronous_commit: `false` answers before the commit is durable.
    pub synchronous_commit: bool,
    /// session_replication_role = replica.
    pub replays: bool,
    /// transaction_read_only.
    pub transaction_read_only: bool,
    /// keyspan.key_column_bytes_max, keyspan.key_bytes_max, keyspan.value_bytes_max.
    pub limits: Limits,
    /// keyspan.function_value_bytes_max, keyspan.function_batch_bytes_max.
    pub result_limits: ResultLimits,
    /// keyspan.transaction_bytes_max.
    pub transaction_bytes_max: usize,
    /// keyspan.query_memory_bytes_max.
    pub query_memory_bytes_max: usize,
    /// keyspan.message_bytes_max.
    pub message_bytes_max: usize,
    /// keyspan.prepared_bytes_max.
    pub prepared_bytes_max: usize,
    /// maintenance_work_mem in bytes.
    pub maintenance_bytes_max: usize,
    /// temp_file_limit in bytes.
    pub temp_file_bytes_max: Option<u64>,
    /// Where statements spill to: the server's folder for it.
    pub spill: Arc<SpillFiles>,
    /// What all statements and transactions hold: the server's (keyspan.memory_bytes_max).
    pub memory: Arc<ServerMemory>,
    /// Text of each setting, in the order of `definitions`; numbers in their base unit.
    values: Vec<Arc<str>>,
    /// Where each comes from, in the same order.
    sources: Vec<SettingSource>,
    /// Those of the settings that plans depend on: the same `Arc` as long as they are the same.
    of_plans: PlanSettings,
    /// What RESET goes back to, and where it comes from, in the same order.
    reset_values: Arc<[(Arc<str>, SettingSource)]>,
    /// Settings of the client's own (`app.user`), which PostgreSQL allows under any prefix.
    custom: BTreeMap<String, String>,
    /// What `set_config` asked for while a statement ran.
    requested: Arc<Mutex<Vec<SettingChange>>>,
}

/// One setting, of which SHOW ALL lists what is shown, and pg_settings what is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingRow {
    /// Its name.
    pub name: String,
    /// Its value, as SHOW prints it.
    pub value: String,
    /// Its value in the form that is kept: numbers in the setting's unit.
    pub kept_value: String,
    /// What RESET goes back to, in the same form.
    pub reset_value: Option<String>,
    /// Where the value comes from.
    pub source: SettingSource,
    /// Its row in the table of settings; `None` for settings of the client's own.
    pub def: Option<&'static SettingDef>,
}

impl Settings {
    /// The defaults, with the values that the server was started with. Errors: 42704, 22023, 55P02 for what nobody can set.
    pub fn with_server_values(values: &[(&str, String)]) -> Result<Settings> {
        let mut settings = Settings::defaults();
        for (name, value) in values {
            settings.apply(SettingSource::CommandLine, name, value)?;
        }
        settings.keep_as_reset();
        Ok(settings)
    }

    /// Gives a setting the value that it has from outside a session, unless what counts more has given it another.
    /// Errors: as `with_server_values`.
    pub fn apply(&mut self, source: SettingSource, name: &str, value: &str) -> Result<()> {
        let Some((index, def)) = find(name) else {
            return self.set_custom(name, &[value.to_string()]);
        };
        if def.scope == SettingScope::Internal {
            return Err(read_only(def.name, false));
        }
        let value = normalize(def, &[value.to_string()], &self.values[index])?;
        if self.sources[index] <= source {
            let is_default = source == SettingSource::CommandLine && value == def.default;
            self.sources[index] = if is_default {
                SettingSource::Default
            } else {
                source
            };
            self.values[index] = value.into();
            self.derive();
        }
        Ok(())
    }

    /// RESET goes back to the values of now.
    pub fn keep_as_reset(&mut self) {
        let sources = self.sources.iter().copied();
        self.reset_values = self.values.iter().cloned().zip(sources).collect();
    }

    /// Goes back to what RESET does; one of the client's own becomes the empty text. Errors: as `set`.
    fn take_back(&mut self, name: &str) -> Result<()> {
        let Some((index, def)) = find(name) else {
            return self.set_custom(name, &[]);
        };
        check_scope(def)?;
        let (value, source) = &self.reset_values[index];
        self.values[index] = Arc::clone(value);
        self.sources[index] = *source;
        self.derive();
        Ok(())
    }

    /// A setting's own name, and the value as SHOW would print it, if it may be stored as what sessions begin with.
    /// `by_server`: for all of them (ALTER SYSTEM), which reaches what only a start of the server changes, too.
    /// Errors: as `set`; 0A000 for what the server must know before it opens the store.
    pub fn stored_value(name: &str, values: &[String], by_server: bool) -> Result<(String, String)> {
        let Some((_, def)) = find(name) else {
            let mut custom = Settings::default();
            custom.set_custom(name, values)?;
            return Ok((name.to_lowercase(), values.join(", ")));
        };
        let value = display(def, &normalize(def, values, def.default)?);
        match def.scope {
            SettingScope::Session => Ok((def.name.to_string(), value)),
            SettingScope::Server if !by_server => Err(read_only(def.name, true)),
            SettingScope::Server if definitions::KNOWN_AT_START.contains(&def.name) => {
                Err(Error::FeatureNotSupported {
                    feature: format!("ALTER SYSTEM SET {}", def.name),
                    hint: Some(format!("Start the server with --set {}={value}.", def.name)),
                })
            }
            SettingScope::Server => Ok((def.name.to_string(), value)),
            SettingScope::Internal => Err(read_only(def.name, false)),
        }
    }

    /// Whether a session may begin with a value of it that is not the server's.
    pub fn is_of_sessions(name: &str) -> bool {
        find(name).is_none_or(|(_, def)| def.scope == SettingScope::Session)
    }

    /// The number that a setting has, in its base unit; `None` for others.
    pub fn get_number(&self, name: &str) -> Option<u64> {
        let (index, _) = find(name)?;
        self.values[index].parse().ok()
    }

    /// Sets a setting as SET does. Several values are a list (`search_path`). Errors: 42704 for an unknown name with
    /// the nearest one, 22023 for a value that is not allowed, 55P02 for a setting that SET cannot change.
    pub fn set(&mut self, name: &str, values: &[String]) -> Result<()> {
        self.set_from(SettingSource::Session, name, values)
    }

    /// The same for a value that comes from there. Errors: as `set`.
    pub fn set_from(&mut self, source: SettingSource, name: &str, values: &[String]) -> Result<()> {
        let Some((index, def)) = find(name) else {
            return self.set_custom(name, values);
        };
        check_scope(def)?;
        let value = normalize(def, values, &self.values[index])?;
        self.values[index] = value.into();
        self.sources[index] = source;
        self.derive();
        Ok(())
    }

    /// What a setting that takes a name would keep of such a value; `None`: all of it.
    pub fn cut_value<'v>(name: &str, values: &'v [String]) -> Option<(&'v str, &'v str)> {
        let ([value], Some((_, def))) = (values, find(name)) else {
            return None;
        };
        let cut = value::cut_name(value);
        (def.kind == SettingKind::PrintableName && cut != value).then_some((value.as_str(), cut))
    }

    /// Sets any setting, whoever may change it. For the server's start and the session's own bookkeeping.
    pub fn set_internal(&mut self, name: &str, value: &str) -> Result<()> {
        let (index, def) = find(name).ok_or_else(|| undefined(name))?;
        self.values[index] = normalize(def, &[value.to_string()], &self.values[index])?.into();
        self.derive();
        Ok(())
    }

    /// Takes back the value that `defaults` has; a custom setting is empty from then on where they have none. Errors: as `set`.
    pub fn reset(&mut self, name: &str, defaults: &Settings) -> Result<()> {
        let Some((index, def)) = find(name) else {
            return self.reset_custom(name, defaults);
        };
        check_scope(def)?;
        self.values[index] = defaults.values[index].clone();
        self.sources[index] = defaults.sources[index];
        self.derive();
        Ok(())
    }

    /// Takes back every value that a session may change.
    pub fn reset_all(&mut self, defaults: &Settings) {
        for (index, def) in definitions().iter().enumerate() {
            let kept = def.name.starts_with("transaction_") || def.name == "role";
            if def.scope == SettingScope::Session && !kept {
                self.values[index] = defaults.values[index].clone();
                self.sources[index] = defaults.sources[index];
            }
        }
        self.reset_all_custom(defaults);
        self.derive();
    }

    /// The value as SHOW prints it (`current_setting`). Errors: 42704 with the nearest name.
    pub fn show(&self, name: &str) -> Result<String> {
        self.get(name).ok_or_else(|| undefined(name))
    }

    /// As `show`, `None` for a setting that does not exist.
    pub fn get(&self, name: &str) -> Option<String> {
        match find(name) {
            Some((index, def)) => Some(display(def, &self.values[index])),
            None => self.custom.get(&name.to_lowercase()).cloned(),
        }
    }

    /// Every setting, sorted by name.
    pub fn rows(&self) -> Vec<SettingRow> {
        let known = definitions().iter().enumerate().map(|(index, def)| SettingRow {
            name: def.name.to_string(),
            value: display(def, &self.values[index]),
            kept_value: self.values[index].to_string(),
            reset_value: self.reset_values.get(index).map(|(value, _)| value.to_string()),
            source: self.sources[index],
            def: Some(def),
        });
        let custom = self.custom.iter().map(|(name, value)| SettingRow {
            name: name.clone(),
            value: value.clone(),
            kept_value: value.clone(),
            reset_value: None,
            source: SettingSource::Session,
            def: None,
        });
        let mut rows: Vec<_> = known.chain(custom).collect();
        rows.sort_by_key(|row| row.name.to_lowercase());
        rows
    }

    /// The setting of this name, if it has no effect and is set to anything but its default.
    pub fn get_without_effect(&self, name: &str) -> Option<&'static SettingDef> {
        let (index, def) = find(name)?;
        (!def.has_effect() && *self.values[index] != *def.default).then_some(def)
    }

    /// The settings that clients are told of whenever they change (ParameterStatus).
    pub fn reported(&self) -> impl Iterator<Item = (&'static str, &Arc<str>)> {
        definitions()
            .iter()
            .zip(&self.values)
            .filter(|(def, _)| def.reported)
            .map(|(def, value)| (def.name, value))
    }

    /// What plans depend on.
    pub fn of_plans(&self) -> &PlanSettings {
        &self.of_plans
    }

    /// What reading and printing values depends on.
    pub fn format(&self) -> FormatSettings {
        FormatSettings {
            time_zone: self.time_zone,
            date_style: self.date_style,
            interval_style: self.interval_style,
            bytea_output: self.bytea_output,
            extra_float_digits: self.extra_float_digits,
            now_us: None,
            result_limits: self.result_limits,
            trigrams: self.trigrams,
        }
    }

    /// How many changes were asked for.
    pub fn requested_mark(&self) -> usize {
        self.requested.lock().map_or(0, |requested| requested.len())
    }

    /// Forgets what was asked for since.
    pub fn forget_requested(&self, mark: usize) {
        if let Ok(mut requested) = self.requested.lock() {
            requested.truncate(mark);
        }
    }

    /// Collects `set_config`'s changes apart from those of the settings it was cloned from.
    pub fn detach(&mut self) {
        self.requested = Arc::default();
    }

    /// The changes that `set_config` asked for since the last call.
    pub fn take_requested(&self) -> Vec<SettingChange> {
        self.requested
            .lock()
            .map(|mut requested| std::mem::take(&mut *requested))
            .unwrap_or_default()
    }

    /// How transactions lock.
    pub fn lock_policy(&self) -> LockPolicy {
        LockPolicy {
            timeout: (self.lock_timeout_ms > 0).then(|| Duration::from_millis(self.lock_timeout_ms)),
            deadlock_after: Duration::from_millis(self.deadlock_timeout_ms),
            keys_max: self.key_locks_max,
        }
    }

    fn defaults() -> Settings {
        let mut settings = Settings {
            time_zone: Zone::UTC,
            client_encoding: CharacterEncoding::UTF8,
            date_style: DateStyle::default(),
            interval_style: IntervalStyle::default(),
            bytea_output: ByteaOutput::default(),
            extra_float_digits: 1,
            trigrams: TrigramThresholds::default(),
            search_path: Vec::new(),
            temporary_schema: Arc::default(),
            names_temporary_schema: false,
            full_scan: FullScanPolicy::default(),
            unwritten_columns: UnwrittenColumns::Shown,
            columns_max: 0,
            trash_hours: 0,
            multi_get_keys_max: 0,
            join_keys_max: 0,
            join_order_rows: 0,
            rewrite_rule_off: Arc::default(),
            known_texts_max: 0,
            known_texts_threshold: 0,
            ranges_max: 0,
            parallel_workers_max: 0,
            statement_timeout_ms: 0,
            version_offset_max_ms: 0,
            counts_statements: true,
            counts_utility_statements: true,
            counted_statements_max: 0,
            log_min_duration_ms: None,
            log_statement: LoggedStatements::None,
            idle_in_transaction_timeout_ms: 0,
            idle_session_timeout_ms: 0,
            lock_timeout_ms: 0,
            deadlock_timeout_ms: 0,
            isolation: Isolation::ReadCommitted,
            default_isolation: Isolation::ReadCommitted,
            session_user: Arc::default(),
            role: None,
            asks_for_passwords: false,
            databases_max: 0,
            any_database: false,
            advisory_locks_max: 0,
            key_locks_max: 0,
            notify_queue_bytes_max: 0,
            synchronous_commit: true,
            replays: false,
            transaction_read_only: false,
            limits: Limits::default(),
            result_limits: ResultLimits::default(),
            transaction_bytes_max: 0,
            query_memory_bytes_max: 0,
            message_bytes_max: 0,
            prepared_bytes_max: 0,
            maintenance_bytes_max: 0,
            temp_file_bytes_max: None,
            spill: Arc::default(),
            memory: Arc::default(),
            values: definitions().iter().map(|def| Arc::from(def.default)).collect(),
            sources: vec![SettingSource::Default; definitions().len()],
            of_plans: Arc::default(),
            reset_values: Arc::default(),
            custom: BTreeMap::new(),
            requested: Arc::default(),
        };
        settings.keep_as_reset();
        settings.derive();
        settings
    }

    pub(crate) fn value(&self, name: &str) -> &str {
        let (index, _) = find(name).expect("typed settings have a row in the table");
        &self.values[index]
    }

    fn number(&self, name: &str) -> usize {
        self.value(name).parse().unwrap_or_default()
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::defaults()
    }
}

fn find(name: &str) -> Option<(usize, &'static SettingDef)> {
    definitions()
        .iter()
        .enumerate()
        .find(|(_, def)| def.name.eq_ignore_ascii_case(name))
}

fn read_only(name: &str, restart: bool) -> Error {
    Error::ReadOnlySetting {
        name: name.to_string(),
        restart,
    }
}

/// Errors: 55P02 for a setting that SET cannot change.
fn check_scope(def: &SettingDef) -> Result<()> {
    match def.scope {
        SettingScope::Session => Ok(()),
        SettingScope::Server => Err(read_only(def.name, true)),
        SettingScope::Internal => Err(read_only(def.name, false)),
    }
}

fn undefined(name: &str) -> Error {
    let nearest = nearest_name(name, definitions().iter().map(|def| def.name));
    Error::UndefinedSetting {
        name: name.to_string(),
        nearest: nearest.map(str::to_string),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(settings: &mut Settings, name: &str, value: &str) -> Result<String> {
        settings.set(name, &[value.to_string()])?;
        settings.show(name)
    }

    #[test]
    fn every_default_is_a_value_of_its_setting() {
        for def in definitions() {
            let normalized = normalize(def, &[display(def, def.default)], def.default);
            assert_eq!(normalized.as_deref(), Ok(def.default), "{}", def.name);
        }
    }

    #[test]
    fn values_print_as_postgresql_prints_them() {
        let mut settings = Settings::default();
        assert_eq!(set(&mut settings, "STATEMENT_TIMEOUT", "5s").unwrap(), "5s");
        assert_eq!(settings.statement_timeout_ms, 5000);
        assert_eq!(set(&mut settings, "statement_timeout", "1500").unwrap(), "1500ms");
        assert_eq!(set(&mut settings, "statement_timeout", "0").unwrap(), "0");
        assert_eq!(
            set(&mut settings, "timezone", "europe/berlin").unwrap(),
            "Europe/Berlin"
        );
        assert_eq!(set(&mut settings, "datestyle", "iso, dmy").unwrap(), "ISO, DMY");
        assert_eq!(set(&mut settings, "client_encoding", "utf-8").unwrap(), "UTF8");
        assert_eq!(set(&mut settings, "synchronous_commit", "false").unwrap(), "off");
        assert_eq!(set(&mut settings, "work_mem", "64MB").unwrap(), "64MB");
    }

    #[test]
    fn errors_are_postgresqls() {
        let mut settings = Settings::default();
        let fault = |settings: &mut Settings, name, value| {
            let error = set(settings, name, value).unwrap_err();
            (error.sqlstate(), error.to_string())
        };
        let message = |text: &str| text.to_string();
        assert_eq!(
            fault(&mut settings, "statement_timeout", "-1"),
            (
                "22023",
                message(
                    "-1 ms is outside the valid range for parameter \"statement_timeout\" (0 .. 2147483647)"
                )
            )
        );
        assert_eq!(
            fault(&mut settings, "row_security", "maybe"),
            (
                "22023",
                message("parameter \"row_security\" requires a Boolean value")
            )
        );
        assert_eq!(
            fault(&mut settings, "keyspan.full_scan", "perhaps"),
            (
                "22023",
                message("invalid value for parameter \"keyspan.full_scan\": \"perhaps\"")
            )
        );
        assert_eq!(
            fault(&mut settings, "keyspan.message_bytes_max", "1MB"),
            (
                "55P02",
                message(
                    "parameter \"keyspan.message_bytes_max\" cannot be changed without restarting the server"
                )
            )
        );
        assert_eq!(
            fault(&mut settings, "server_version", "16"),
            ("55P02", message("parameter \"server_version\" cannot be changed"))
        );
        let error = set(&mut settings, "statement_timeot", "1").unwrap_err();
        assert_eq!(error.sqlstate(), "42704");
        assert_eq!(
            error.hint().as_deref(),
            Some("Perhaps you meant \"statement_timeout\".")
        );
    }

    #[test]
    fn clients_may_have_settings_of_their_own() {
        let mut settings = Settings::default();
        assert_eq!(set(&mut settings, "app.User", "7").unwrap(), "7");
        assert!(set(&mut settings, "keyspan.nonsense", "7").is_err());
        settings.reset_all(&Settings::default());
        // The name stays known, as in PostgreSQL.
        assert_eq!(settings.get("app.user").as_deref(), Some(""));
    }

    #[test]
    fn set_config_is_left_for_the_session() {
        let settings = Settings::default();
        let change = SettingChange::of_text("application_name", Some("x"), true);
        assert_eq!(settings.request_change(change.clone()).unwrap(), "x");
        assert_eq!(settings.show("application_name").unwrap(), "");
        assert_eq!(settings.take_requested(), [change]);
        assert!(settings.take_requested().is_empty());
    }
}
