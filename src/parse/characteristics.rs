//! `[NOT] DEFERRABLE` and `INITIALLY DEFERRED | IMMEDIATE`, where the parser does not read them: of constraint triggers, and behind ALTER
//! CONSTRAINT.

use super::token_reader::TokenReader;
use crate::Result;

/// What is said of when a constraint is asked.
pub(super) struct Characteristics {
    /// DEFERRABLE, or NOT.
    pub(super) deferrable: Option<bool>,
    /// INITIALLY DEFERRED, or IMMEDIATE.
    pub(super) initially_deferred: Option<bool>,
    /// The token with which the last of the two begins.
    pub(super) last_at: usize,
}

impl TokenReader<'_> {
    /// Each once at most, in any order; it ends before the first other word. Errors: 42601 for one that is not whole.
    pub(super) fn characteristics(&mut self) -> Result<Characteristics> {
        let mut said = Characteristics {
            deferrable: None,
            initially_deferred: None,
            last_at: self.at,
        };
        loop {
            let at = self.at;
            if said.deferrable.is_none() && self.word("DEFERRABLE") {
                said.deferrable = Some(true);
            } else if said.deferrable.is_none() && self.word("NOT") {
                self.expect("DEFERRABLE")?;
                said.deferrable = Some(false);
            } else if said.initially_deferred.is_none() && self.word("INITIALLY") {
                let is_deferred = self.word("DEFERRED");
                if !is_deferred {
                    self.expect("IMMEDIATE")?;
                }
                said.initially_deferred = Some(is_deferred);
            } else {
                return Ok(said);
            }
            said.last_at = at;
        }
    }
}
