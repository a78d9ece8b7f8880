//! What settings say of a statement's transaction. Asked by `session` before a statement, and by functions that write.

use super::Settings;

impl Settings {
    /// Whether the transaction of a statement may not write: one of a block, or its own.
    pub fn is_read_only(&self, in_block: bool) -> bool {
        let by_default = || self.get("default_transaction_read_only").as_deref() == Some("on");
        self.transaction_read_only || !in_block && by_default()
    }
}
