//! The modes of a session's transactions, isolation, access and DEFERRABLE: what BEGIN and SET TRANSACTION say, and what AND CHAIN carries over.

use super::Session;
use crate::Result;
use crate::parse::command::Modes;

impl Session {
    /// SET TRANSACTION, and the modes of BEGIN. `begins`: modes not said take the session's defaults.
    pub(super) fn apply_modes(&mut self, modes: &Modes, begins: bool) -> Result<()> {
        let settings = self.settings.current();
        let default = |name: &str| if begins { settings.get(name) } else { None };
        let on_off = |on: bool| if on { "on" } else { "off" }.to_string();
        let wanted = [
            (
                "transaction_isolation",
                modes
                    .isolation
                    .map(str::to_string)
                    .or_else(|| default("default_transaction_isolation")),
            ),
            (
                "transaction_read_only",
                modes
                    .read_only
                    .map(on_off)
                    .or_else(|| default("default_transaction_read_only")),
            ),
            (
                "transaction_deferrable",
                modes
                    .deferrable
                    .map(on_off)
                    .or_else(|| default("default_transaction_deferrable")),
            ),
        ];
        let changed: Vec<_> = wanted
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .filter(|(name, value)| settings.get(name).as_ref() != Some(value))
            .collect();
        if changed.is_empty() {
            return Ok(());
        }
        self.change_settings(true, |settings| {
            changed
                .iter()
                .try_for_each(|(name, value)| settings.set_internal(name, value))
        })
    }

    /// The modes that AND CHAIN carries over: those in force, however they were set. Errors: 25P01 outside a block.
    pub(super) fn chained_modes(&self, statement: &str, chain: bool) -> Result<Option<Modes>> {
        if !chain {
            return Ok(None);
        }
        self.require_block(&format!("{statement} AND CHAIN"))?;
        Ok(Some(self.modes_in_force()))
    }
}
