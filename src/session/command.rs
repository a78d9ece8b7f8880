//! Running the session's own statements: transactions, settings, SQL's prepared statements.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::Schema;

use super::rows::RowsTag;
use super::transaction::Block;
use super::{Reply, RowStream, Session};
use crate::parse::command::{Command, Discard, Modes};
use crate::scan::OutputColumn;
use crate::system::{Notice, Parameters, Settings};
use crate::types::SqlType;
use crate::{Error, Result};

impl Session {
    /// Runs one of the session's own statements, given with its text.
    pub(super) async fn run_command(
        &mut self,
        command: &Command,
        whole: &Arc<str>,
        parameters: Parameters,
    ) -> Result<Reply> {
        let tag = match command {
            Command::Begin { modes, start } => {
                self.begin(modes)?;
                if *start { "START TRANSACTION" } else { "BEGIN" }
            }
            Command::Commit { chain } => self.commit(*chain).await?,
            Command::Rollback { chain } => {
                self.rollback(*chain)?;
                "ROLLBACK"
            }
            Command::Savepoint { name } => {
                self.savepoint(name.clone())?;
                "SAVEPOINT"
            }
            Command::Release { name } => {
                self.release(name)?;
                "RELEASE"
            }
            Command::RollbackTo { name } => {
                self.rollback_to(name)?;
                "ROLLBACK"
            }
            Command::SetTransaction { modes } => self.set_transaction(modes)?,
            Command::SetSnapshot { id } => {
                if self.transaction.has_no_block() {
                    self.warn("25P01", "SET TRANSACTION can only be used in transaction blocks");
                }
                self.import_snapshot(id)?;
                "SET"
            }
            Command::SetCharacteristics { modes } => self.set_characteristics(modes)?,
            Command::Set { name, values, local } => self.set(name, values.as_deref(), *local).await?,
            Command::Reset { name } => self.reset(name.as_deref()).await?,
            Command::Show { name } => return self.show(name.as_deref()),
            Command::Prepare { name, types, text } => self.prepare_as_named(name, types, text, whole).await?,
            Command::Execute { name, arguments } => return self.execute_prepared(name, arguments).await,
            Command::MakeOfExecute {
                before,
                name,
                arguments,
                after,
            } => return self.make_of_prepared((before, after), name, arguments).await,
            Command::ExplainExecute {
                explain,
                name,
                arguments,
            } => return self.explain_prepared(explain, name, arguments).await,
            Command::Deallocate { name } => self.deallocate(name.as_deref())?,
            Command::Discard { what } => self.discard(*what).await?,
            Command::Declare { .. } => self.declare(command, whole, parameters).await?,
            Command::Fetch {
                name,
                movement,
                only_move,
            } => return self.fetch(name, *movement, *only_move).await,
            Command::Close { name } => self.close_cursor(name.as_deref())?,
            Command::Satisfied { tag } => tag,
            Command::Listen { channel } => self.listen(channel)?,
            Command::Unlisten { channel } => {
                self.unlisten(channel.as_deref());
                "UNLISTEN"
            }
            Command::Notify { channel, payload } => self.notify_others(channel, payload)?,
            Command::AlterSettings { .. }
            | Command::Define(_)
            | Command::Keep(_)
            | Command::Copy(_)
            | Command::Do { .. }
            | Command::UpdateCatalog(_)
            | Command::SetConstraints { .. }
            | Command::Use { .. } => {
                return Err(Error::internal("what `sql` runs is no session's own"));
            }
        };
        Ok(Reply::Done { tag: tag.to_string() })
    }

    /// The columns that one of the session's own statements gives; `None` when it gives none.
    pub(super) fn command_columns(&self, command: &Command) -> Result<Option<Arc<[OutputColumn]>>> {
        match command {
            Command::Show { name: Some(name) } => Ok(Some([text_column(&self.setting_title(name)?)].into())),
            Command::Show { name: None } => Ok(Some(show_all_columns().into())),
            // It may be prepared by the time that the statement runs.
            Command::Execute { name, .. } => {
                let prepared = self.statement(name).ok();
                Ok(prepared.and_then(|prepared| prepared.description.columns.clone()))
            }
            Command::ExplainExecute { explain, .. } => Ok(Some(crate::sql::explain_columns(explain)?.into())),
            Command::MakeOfExecute { before, .. } if begins_explain(before) => {
                Ok(Some([text_column("QUERY PLAN")].into()))
            }
            Command::Fetch {
                name,
                only_move: false,
                ..
            } => {
                // It may be declared by the time that the statement runs.
                let cursor = self.portals.get(name);
                Ok(cursor.and_then(|cursor| self.portal_columns(cursor)).cloned())
            }
            _ => Ok(None),
        }
    }

    fn set_transaction(&mut self, modes: &Modes) -> Result<&'static str> {
        if self.transaction.has_no_block() {
            self.warn("25P01", "SET TRANSACTION can only be used in transaction blocks");
        }
        if self.transaction.block != Block::None {
            self.apply_modes(modes, false)?;
        }
        Ok("SET")
    }

    fn set_characteristics(&mut self, modes: &Modes) -> Result<&'static str> {
        let on_off = |on: bool| if on { "on" } else { "off" }.to_string();
        let changes = [
            (
                "default_transaction_isolation",
                modes.isolation.map(str::to_string),
            ),
            ("default_transaction_read_only", modes.read_only.map(on_off)),
            ("default_transaction_deferrable", modes.deferrable.map(on_off)),
        ];
        self.settings.change(false, |settings| {
            changes
                .iter()
                .filter_map(|(name, value)| Some((name, value.as_ref()?)))
                .try_for_each(|(name, value)| settings.set_internal(name, value))
        })?;
        Ok("SET")
    }

    async fn set(&mut self, name: &str, values: Option<&[String]>, local: bool) -> Result<&'static str> {
        let until_end = local || name.to_ascii_lowercase().starts_with("transaction_");
        if local && self.transaction.has_no_block() {
            self.warn("25P01", "SET LOCAL can only be used in transaction blocks");
        }
        if until_end && self.transaction.block == Block::None {
            // It is over with this statement, but a bad value is an error all the same.
            let mut settings = Settings::clone(self.settings());
            return values
                .map_or(Ok(()), |values| settings.set(name, values))
                .map(|()| "SET");
        }
        if name.eq_ignore_ascii_case("session_authorization") || name.eq_ignore_ascii_case("role") {
            return self.set_role(name, values, until_end).await;
        }
        let defaults = self.settings.defaults().clone();
        self.change_settings(until_end, |settings| match values {
            Some(values) => settings.set(name, values),
            None => settings.reset(name, &defaults),
        })?;
        self.tell_without_effect(name);
        self.tell_of_cut(name, values);
        Ok("SET")
    }

    /// Says that a setting keeps not all of a name that it was set to.
    pub(super) fn tell_of_cut(&self, name: &str, values: Option<&[String]>) {
        if let Some((written, kept)) = values.and_then(|values| Settings::cut_value(name, values)) {
            self.raise(Notice::of_cut_name(written, kept));
        }
    }

    /// Says once that a setting which was set to something else than its default does nothing.
    pub(super) fn tell_without_effect(&mut self, name: &str) {
        let Some(def) = self.settings().get_without_effect(name) else {
            return;
        };
        if self.told_without_effect.insert(def.name) {
            let message = format!("setting \"{}\" has no effect", def.name);
            let hint = def.instead().map(str::to_string);
            self.notify("NOTICE", "01000", message, hint);
        }
    }

    /// Who the session's statements run as, or who it is. Errors: 22023 for a role that does not exist.
    async fn set_role(&mut self, name: &str, values: Option<&[String]>, local: bool) -> Result<&'static str> {
        let is_user = name.eq_ignore_ascii_case("session_authorization");
        let none = || "none".to_string();
        let role = match values {
            None if is_user => self.user.to_string(),
            None => self.settings.defaults().get("role").unwrap_or_else(none),
            Some([role]) if !is_user && role.eq_ignore_ascii_case("none") => none(),
            Some(roles) => roles.join(", "),
        };
        let is_none = !is_user && role == "none";
        if !is_none && !self.is_role(&role).await? {
            return Err(undefined_role(&role));
        }
        self.change_settings(local, |settings| {
            if is_user {
                // Whoever the session is now runs as himself.
                settings.set_internal("role", "none")?;
            }
            settings.set_internal(if is_user { "session_authorization" } else { "role" }, &role)
        })?;
        Ok("SET")
    }

    /// The role that the client has given at its start is one. Errors: 22023; the store's.
    pub(super) async fn require_own_role(&mut self) -> Result<()> {
        match self.settings().role.clone() {
            Some(role) if !self.is_role(&role).await? => Err(undefined_role(&role)),
            _ => Ok(()),
        }
    }

    /// Whether there is a role that the session can be. Errors: the store's.
    async fn is_role(&mut self, name: &str) -> Result<bool> {
        if *name == *self.user || name == crate::system::catalog_version::objects::OWNER_NAME {
            return Ok(true);
        }
        let (_, catalog) = match self.transaction.block {
            Block::None => {
                let txn = self.instance.begin(self.instance.transaction_options()).await?;
                let catalog = self.instance.catalog(&txn, None).await?;
                (txn, catalog)
            }
            _ => self.block_transaction().await?,
        };
        Ok(catalog.roles.contains_key(name))
    }

    async fn reset(&mut self, name: Option<&str>) -> Result<&'static str> {
        let defaults = self.settings.defaults().clone();
        match name {
            Some(name @ ("session_authorization" | "role")) => {
                self.set_role(name, None, false).await?;
            }
            Some(name) => self
                .settings
                .change(false, |settings| settings.reset(name, &defaults))?,
            None => self.settings.change(false, |settings| {
                settings.reset_all(&defaults);
                Ok(())
            })?,
        }
        Ok("RESET")
    }

    fn show(&mut self, name: Option<&str>) -> Result<Reply> {
        let (columns, values) = match name {
            Some(name) => {
                let value = self.settings().show(name)?;
                (vec![text_column(&self.setting_title(name)?)], vec![vec![value]])
            }
            None => {
                let rows = self.settings().rows();
                let text =
                    |row: &crate::system::SettingRow| row.def.map_or("", |def| def.description).to_string();
                let values = vec![
                    rows.iter().map(|row| row.name.clone()).collect(),
                    rows.iter().map(|row| row.value.clone()).collect(),
                    rows.iter().map(text).collect(),
                ];
                (show_all_columns(), values)
            }
        };
        let fields: Vec<_> = columns
            .iter()
            .map(|column| column.ty.field(&column.name, true))
            .collect();
        let arrays = values
            .into_iter()
            .map(|texts| Arc::new(StringArray::from(texts)) as ArrayRef)
            .collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map_err(|error| Error::internal(error.to_string()))?;
        Ok(Reply::Rows(RowStream::of_batches(
            columns,
            vec![batch],
            RowsTag::Fixed("SHOW".to_string()),
        )))
    }

    /// The name of SHOW's column: the setting's own spelling.
    fn setting_title(&self, name: &str) -> Result<String> {
        self.settings().show(name)?;
        let known = crate::system::definitions()
            .iter()
            .find(|def| def.name.eq_ignore_ascii_case(name));
        Ok(known.map_or_else(|| name.to_lowercase(), |def| def.name.to_string()))
    }

    fn deallocate(&mut self, name: Option<&str>) -> Result<&'static str> {
        match name {
            Some(name) => {
                self.statement(name)?;
                self.close_statement(name);
                Ok("DEALLOCATE")
            }
            None => {
                self.forget_statements();
                Ok("DEALLOCATE ALL")
            }
        }
    }

    fn listen(&self, channel: &str) -> Result<&'static str> {
        self.shared.touch();
        self.shared.channels.listen(channel)?;
        Ok("LISTEN")
    }

    fn notify_others(&self, channel: &str, payload: &str) -> Result<&'static str> {
        let bytes_max = self.settings().notify_queue_bytes_max;
        self.shared.touch();
        self.shared.channels.notify(channel, payload, bytes_max)?;
        Ok("NOTIFY")
    }

    fn unlisten(&self, channel: Option<&str>) {
        self.shared.touch();
        match channel {
            Some(channel) => self.shared.channels.unlisten(channel),
            None => self.shared.channels.unlisten_all(),
        }
    }

    async fn discard(&mut self, what: Discard) -> Result<&'static str> {
        match what {
            Discard::All => {
                if self.transaction.is_within() {
                    let message = "DISCARD ALL cannot run inside a transaction block".to_string();
                    return Err(Error::TransactionState {
                        state: "25001",
                        message,
                    });
                }
                self.portals.clear();
                self.align_cursors();
                self.forget_statements();
                self.set_role("session_authorization", None, false).await?;
                self.reset(None).await?;
                self.unlisten(None);
                self.instance.state().locks.unlock_all(self.process_id);
                self.shared.sequences.discard();
                self.discard_temporary().await?;
                Ok("DISCARD ALL")
            }
            Discard::Plans => Ok("DISCARD PLANS"),
            Discard::Sequences => {
                self.shared.sequences.discard();
                Ok("DISCARD SEQUENCES")
            }
            Discard::Temp => {
                self.discard_temporary().await?;
                Ok("DISCARD TEMP")
            }
        }
    }
}

/// Whether a text begins with EXPLAIN.
fn undefined_role(name: &str) -> Error {
    Error::InvalidParameter {
        message: format!("role \"{name}\" does not exist"),
        hint: Some("CREATE ROLE makes one; \\du lists those there are.".to_string()),
    }
}

fn begins_explain(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.len() >= 7 && first[..7].eq_ignore_ascii_case("explain")
}

fn text_column(name: &str) -> OutputColumn {
    OutputColumn::declared(name, SqlType::Text)
}

fn show_all_columns() -> Vec<OutputColumn> {
    ["name", "setting", "description"].map(text_column).to_vec()
}
