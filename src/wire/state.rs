//! `State`: where a connection stands in the protocol, and what a client may send there. Kept by the connection and by what
//! answers its messages; knows no bytes.
//!
//! ```text
//! StartUp ─► Authentication ─► Idle ◄───────► Executing
//!                               ▲                 │ a message of the extended protocol fails
//!                               └──── Sync ──── Failed
//! each ─► Closing
//! ```
//!
//! What a client sends to a COPY is part of what is executed (`copy_messages`). A state more (replication) is a variant here, what
//! leads to it and what it takes.

use super::message::Message;

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// Nothing is known of the client: it asks for encryption, for a cancel or for a session.
    #[default]
    StartUp,
    /// It has asked for a session, and is told that it has one.
    Authentication,
    /// It may send a message of either protocol.
    Idle,
    /// A message is being answered.
    Executing,
    /// A message of the extended protocol has failed: everything up to Sync is skipped.
    Failed,
    /// Nothing that it sends is read any more.
    Closing,
}

impl State {
    /// Goes on to another state.
    pub(super) fn enter(&mut self, next: State) {
        debug_assert!(self.leads_to(next), "{self:?} does not lead to {next:?}");
        *self = next;
    }

    /// Whether a message has its place here; it is an error of the protocol otherwise.
    pub(super) fn takes(self, message: &Message) -> bool {
        match self {
            State::StartUp | State::Authentication | State::Closing => false,
            // A password is asked for in start-up or never. What is left of a COPY is ignored, as PostgreSQL does: a client
            // may not have heard yet that it has failed.
            State::Idle | State::Executing | State::Failed => !matches!(message, Message::Password),
        }
    }

    fn leads_to(self, next: State) -> bool {
        use State::{Authentication, Closing, Executing, Failed, Idle, StartUp};
        match self {
            StartUp => matches!(next, Authentication | Closing),
            Authentication => matches!(next, Idle | Closing),
            Idle => matches!(next, Executing | Failed | Closing),
            Executing => matches!(next, Idle | Failed | Closing),
            Failed => matches!(next, Idle | Closing),
            Closing => false,
        }
    }
}
