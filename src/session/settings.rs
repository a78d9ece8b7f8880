//! `SessionSettings`: a session's settings through its transactions: SET is undone by ROLLBACK, SET LOCAL by the end of
//! the transaction, RESET goes back to what the session began with.

use std::sync::Arc;

use crate::Result;
use crate::system::Settings;

/// A session's settings.
#[derive(Debug)]
pub(super) struct SessionSettings {
    /// What RESET goes back to.
    defaults: Arc<Settings>,
    /// What counts now, SET LOCAL included.
    current: Arc<Settings>,
    /// What will count when the transaction has committed.
    lasting: Arc<Settings>,
    /// What counted when the transaction began; `None` outside one.
    before: Option<Arc<Settings>>,
}

/// A place to roll settings back to.
#[derive(Debug, Clone)]
pub(super) struct SettingsMark {
    current: Arc<Settings>,
    lasting: Arc<Settings>,
}

impl SessionSettings {
    pub(super) fn new(mut defaults: Arc<Settings>) -> SessionSettings {
        Arc::make_mut(&mut defaults).begin_anew();
        SessionSettings {
            current: defaults.clone(),
            lasting: defaults.clone(),
            defaults,
            before: None,
        }
    }

    /// What counts now.
    pub(super) fn current(&self) -> &Arc<Settings> {
        &self.current
    }

    /// What RESET goes back to.
    pub(super) fn defaults(&self) -> &Arc<Settings> {
        &self.defaults
    }

    /// A transaction begins (again: nothing happens).
    pub(super) fn begin(&mut self) {
        self.before.get_or_insert_with(|| self.lasting.clone());
    }

    /// The transaction ends.
    pub(super) fn end(&mut self, committed: bool) {
        if let Some(before) = self.before.take() {
            if !committed {
                self.lasting = before;
            }
            let ended = std::mem::replace(&mut self.current, self.lasting.clone());
            if ended.has_more_names(&self.current) {
                Arc::make_mut(&mut self.lasting).keep_names(&ended);
                self.current = self.lasting.clone();
            }
        }
    }

    /// A place to roll back to.
    pub(super) fn mark(&self) -> SettingsMark {
        SettingsMark {
            current: self.current.clone(),
            lasting: self.lasting.clone(),
        }
    }

    /// Rolls back to a mark.
    pub(super) fn restore(&mut self, mark: &SettingsMark) {
        self.current = mark.current.clone();
        self.lasting = mark.lasting.clone();
    }

    /// Takes back what SET TRANSACTION has said of writes since a mark: PostgreSQL keeps it for its subtransaction alone.
    pub(super) fn restore_access(&mut self, mark: &SettingsMark) -> Result<()> {
        let was = mark.current.transaction_read_only;
        if self.current.transaction_read_only != was {
            let value = if was { "on" } else { "off" };
            Arc::make_mut(&mut self.current).set_internal("transaction_read_only", value)?;
        }
        Ok(())
    }

    /// Changes settings; `local`: until the transaction ends. On an error nothing changes.
    pub(super) fn change(&mut self, local: bool, change: impl Fn(&mut Settings) -> Result<()>) -> Result<()> {
        let mut current = (*self.current).clone();
        change(&mut current)?;
        if !local {
            let mut lasting = (*self.lasting).clone();
            change(&mut lasting)?;
            // What is said of one transaction does not outlast it.
            lasting.begin_anew();
            self.lasting = Arc::new(lasting);
        }
        self.current = match self.before {
            None if !local => Arc::clone(&self.lasting),
            _ => Arc::new(current),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(settings: &mut SessionSettings, value: &str, local: bool) {
        let values = [value.to_string()];
        settings
            .change(local, |settings| settings.set("application_name", &values))
            .unwrap();
    }

    fn name(settings: &SessionSettings) -> String {
        settings.current().show("application_name").unwrap()
    }

    #[test]
    fn set_lasts_with_the_commit_and_local_ends_with_the_transaction() {
        let mut settings = SessionSettings::new(Arc::default());
        set(&mut settings, "a", false);
        settings.begin();
        set(&mut settings, "b", false);
        set(&mut settings, "c", true);
        assert_eq!(name(&settings), "c");
        settings.end(true);
        assert_eq!(name(&settings), "b");
        settings.begin();
        set(&mut settings, "d", false);
        let mark = settings.mark();
        set(&mut settings, "e", false);
        settings.restore(&mark);
        assert_eq!(name(&settings), "d");
        settings.end(false);
        assert_eq!(name(&settings), "b");
    }
}
