//! `SettingChange`: a change of a setting that a statement asks for while it runs, by `set_config` or in a function, and that the session makes when
//! the statement has succeeded.

use super::definition::SettingKind;
use super::{Settings, find};
use crate::Result;

/// A change that `set_config` asks for; the session applies it when the statement has succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingChange {
    /// The setting.
    pub name: String,
    /// Its new value, as SET gives it; `None`: what RESET goes back to.
    pub values: Option<Vec<String>>,
    /// Until the end of the transaction only.
    pub local: bool,
}

impl SettingChange {
    /// What `set_config` asks for: the value is the text of the whole setting, NULL is what RESET goes back to.
    pub fn of_text(name: &str, value: Option<&str>, local: bool) -> SettingChange {
        let is_list = find(name).is_some_and(|(_, def)| def.kind == SettingKind::Names);
        let values = value.map(|text| match is_list && text.is_empty() {
            // No name at all, where SET's empty text is an empty name.
            true => Vec::new(),
            false => vec![text.to_string()],
        });
        SettingChange {
            name: name.to_string(),
            values,
            local,
        }
    }

    /// Makes the change. Errors: as `Settings::set`.
    pub fn apply(&self, settings: &mut Settings) -> Result<()> {
        match &self.values {
            Some(values) => settings.set(&self.name, values),
            None => settings.take_back(&self.name),
        }
    }
}

impl Settings {
    /// Checks a change now and leaves it for the session to apply when the statement has succeeded; answers the value
    /// as SHOW will print it. Errors: as `set`.
    pub fn request_change(&self, change: SettingChange) -> Result<String> {
        let mut changed = self.clone();
        change.apply(&mut changed)?;
        let shown = changed.show(&change.name);
        if let Ok(mut requested) = self.requested.lock() {
            requested.push(change);
        }
        shown
    }

    /// Hands on what was asked for apart from these settings ([`Settings::detach`]), but for what is local and was set for that time alone.
    pub fn hand_on(&self, apart: &Settings, is_set_for_it: impl Fn(&str) -> bool) {
        let changes = apart.take_requested().into_iter();
        let lasting = changes.filter(|change| !(change.local && is_set_for_it(&change.name)));
        if let Ok(mut requested) = self.requested.lock() {
            requested.extend(lasting);
        }
    }

    /// The settings with the changes that were asked for and are not applied yet; `None` where there are none.
    pub fn with_requested(&self) -> Option<Settings> {
        let requested = self.requested.lock().map(|requested| requested.clone());
        let requested = requested.unwrap_or_default();
        let mut changed = (!requested.is_empty()).then(|| self.clone())?;
        for change in requested {
            // It was taken once, and is a value that the setting can have.
            let _ = change.apply(&mut changed);
        }
        Some(changed)
    }
}
