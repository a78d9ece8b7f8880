//! Settings of the clients' own, whose names have a prefix: what SET makes of one, and what is left of it. Called by [`Settings`] and by the
//! session's end of a transaction.

use super::{Settings, undefined};
use crate::Result;
use crate::error::Raised;

impl Settings {
    /// Whether others have not all of its custom settings.
    pub fn has_more_names(&self, others: &Settings) -> bool {
        self.custom.keys().any(|name| !others.custom.contains_key(name))
    }

    /// Has the custom settings of others, too, empty: as in PostgreSQL, a name that was set once stays known.
    pub fn keep_names(&mut self, others: &Settings) {
        for name in others.custom.keys() {
            self.custom.entry(name.clone()).or_default();
        }
    }

    pub(super) fn set_custom(&mut self, name: &str, values: &[String]) -> Result<()> {
        check_custom(name)?;
        self.custom.insert(name.to_lowercase(), values.join(", "));
        Ok(())
    }

    /// Takes back the value that `defaults` has, or the empty one. Errors: as `set`.
    pub(super) fn reset_custom(&mut self, name: &str, defaults: &Settings) -> Result<()> {
        check_custom(name)?;
        let name = name.to_lowercase();
        let default = defaults.custom.get(&name).cloned();
        self.custom.insert(name, default.unwrap_or_default());
        Ok(())
    }

    /// The same of all of them.
    pub(super) fn reset_all_custom(&mut self, defaults: &Settings) {
        for (name, value) in &mut self.custom {
            *value = defaults.custom.get(name).cloned().unwrap_or_default();
        }
    }
}

/// PostgreSQL takes any name with a prefix as a setting of the client's own; `keyspan.` is ours alone.
fn is_custom(name: &str) -> bool {
    let identifier = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    };
    let parts: Vec<_> = name.split('.').collect();
    parts.len() > 1 && parts.iter().all(|part| identifier(part)) && !parts[0].eq_ignore_ascii_case("keyspan")
}

/// Errors: 42704 for a name that is no custom setting's, 42602 for one with a prefix that is none, either.
fn check_custom(name: &str) -> Result<()> {
    let is_own = name.to_lowercase().starts_with("keyspan.");
    match (is_custom(name), name.contains('.') && !is_own) {
        (true, _) => Ok(()),
        (false, false) => Err(undefined(name)),
        (false, true) => Err(Raised {
            detail: Some(
                "Custom parameter names must be two or more simple identifiers separated by dots."
                    .to_string(),
            ),
            ..Raised::new(
                "42602",
                format!("invalid configuration parameter name \"{name}\""),
            )
        }
        .into()),
    }
}
