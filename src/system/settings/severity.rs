//! How grave messages are, for what a client wants to hear of.

use super::Settings;

impl Settings {
    /// Whether the client wants to hear of messages of this severity. Who says INFO always has asked for it.
    pub fn wants(&self, severity: &str) -> bool {
        severity == "INFO" || severity_rank(severity) >= severity_rank(self.value("client_min_messages"))
    }
}

/// How grave a message of this severity is to a client (`client_min_messages`).
fn severity_rank(severity: &str) -> u8 {
    match severity.to_ascii_lowercase().as_str() {
        "debug5" | "debug4" | "debug3" | "debug2" | "debug1" | "debug" => 0,
        "log" => 1,
        "info" | "notice" => 2,
        "warning" => 3,
        _ => 4,
    }
}
