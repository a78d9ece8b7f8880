//! `Channels`: LISTEN and NOTIFY between the sessions of a server, in memory. What a transaction notifies waits in its
//! session's `SessionChannels` until the commit, which hands it to the `Inbox` of every session that listens; the
//! connection takes it from there when no transaction is open.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::error::Limit;
use crate::{Error, Result};

/// A payload is shorter than this, in bytes, as in PostgreSQL.
const PAYLOAD_BYTES: usize = 8000;
/// A channel's name is shorter than this, likewise.
const NAME_BYTES: usize = 64;
/// What a notification takes beside its payload, about.
const NOTIFICATION_BYTES: usize = 96;

/// What a session is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// `pg_backend_pid()` of the session that notifies.
    pub process_id: i32,
    /// The channel.
    pub channel: Arc<str>,
    /// The payload; empty when there is none.
    pub payload: Arc<str>,
}

/// The channels of a server.
#[derive(Debug, Default)]
pub struct Channels {
    /// Who listens, by channel and session.
    listeners: Mutex<HashMap<String, BTreeMap<i32, Arc<Inbox>>>>,
    /// Bytes in all inboxes.
    queued_bytes: Arc<AtomicUsize>,
}

/// Notifications that a session has not sent to its client yet.
#[derive(Debug, Default)]
pub struct Inbox {
    queue: Mutex<VecDeque<Notification>>,
    is_filled: AtomicBool,
    filled: Notify,
    queued_bytes: Arc<AtomicUsize>,
}

/// What LISTEN and NOTIFY have to do with one session.
#[derive(Debug)]
pub struct SessionChannels {
    process_id: i32,
    inbox: Arc<Inbox>,
    pending: Mutex<Pending>,
    listening: Mutex<BTreeSet<String>>,
}

/// What the commit will do.
#[derive(Debug, Default)]
struct Pending {
    notifications: Vec<(Arc<str>, Arc<str>)>,
    known: HashSet<(Arc<str>, Arc<str>)>,
    bytes: usize,
    changes: Vec<Change>,
}

/// A LISTEN or UNLISTEN.
#[derive(Debug, Clone)]
enum Change {
    Listen(String),
    Unlisten(String),
    UnlistenAll,
}

/// A place in what is pending, to roll back to.
#[derive(Debug, Clone, Copy, Default)]
pub struct PendingMark {
    notifications: usize,
    changes: usize,
}

impl Channels {
    /// A session's part.
    pub fn session(&self, process_id: i32) -> SessionChannels {
        SessionChannels {
            process_id,
            inbox: Arc::new(Inbox {
                queued_bytes: Arc::clone(&self.queued_bytes),
                ..Inbox::default()
            }),
            pending: Mutex::default(),
            listening: Mutex::default(),
        }
    }

    /// Whether what a session has pending may be queued; asked before its commit. Errors: 54000.
    pub fn require_room(&self, session: &SessionChannels, bytes_max: usize) -> Result<()> {
        let bytes = lock(&session.pending).bytes;
        if bytes == 0 || bytes.saturating_add(self.queued_bytes.load(Ordering::Relaxed)) <= bytes_max {
            return Ok(());
        }
        Err(Error::LimitExceeded {
            state: Limit::Program,
            message: "too many notifications in the NOTIFY queue".to_string(),
            hint: format!(
                "Sessions that listen take notifications only between transactions; at most {bytes_max} bytes wait for them (keyspan.notify_queue_bytes_max)."
            ),
        })
    }

    /// The session's transaction has committed: it listens, and what it notified is handed out.
    pub fn commit(&self, session: &SessionChannels) {
        let pending = std::mem::take(&mut *lock(&session.pending));
        let mut listeners = lock(&self.listeners);
        if !pending.changes.is_empty() {
            let mut listening = lock(&session.listening);
            for change in pending.changes {
                match change {
                    Change::Listen(channel) => {
                        let inboxes = listeners.entry(channel.clone()).or_default();
                        inboxes.insert(session.process_id, Arc::clone(&session.inbox));
                        listening.insert(channel);
                    }
                    Change::Unlisten(channel) => {
                        listening.remove(&channel);
                        forget(&mut listeners, &channel, session.process_id);
                    }
                    Change::UnlistenAll => {
                        for channel in std::mem::take(&mut *listening) {
                            forget(&mut listeners, &channel, session.process_id);
                        }
                    }
                }
            }
        }
        for (channel, payload) in pending.notifications {
            for inbox in listeners.get(&*channel).into_iter().flat_map(BTreeMap::values) {
                inbox.put(Notification {
                    process_id: session.process_id,
                    channel: Arc::clone(&channel),
                    payload: Arc::clone(&payload),
                });
            }
        }
    }

    /// How much of the queue is in use: 0 to 1.
    pub fn queued_share(&self, bytes_max: usize) -> f64 {
        self.queued_bytes.load(Ordering::Relaxed) as f64 / bytes_max as f64
    }

    /// The session ends.
    pub fn end_session(&self, session: &SessionChannels) {
        session.roll_back_to(PendingMark::default());
        session.unlisten_all();
        self.commit(session);
        session.inbox.take();
    }
}

fn forget(listeners: &mut HashMap<String, BTreeMap<i32, Arc<Inbox>>>, channel: &str, process_id: i32) {
    if let Some(inboxes) = listeners.get_mut(channel) {
        inboxes.remove(&process_id);
        if inboxes.is_empty() {
            listeners.remove(channel);
        }
    }
}

impl SessionChannels {
    /// NOTIFY: the commit will tell whoever listens. The same again within the transaction is told once. Errors: 22023 for
    /// a name or payload that is too long, 54000 for more than `bytes_max` bytes.
    pub fn notify(&self, channel: &str, payload: &str, bytes_max: usize) -> Result<()> {
        check_name(channel)?;
        if payload.len() >= PAYLOAD_BYTES {
            return Err(invalid("payload string too long"));
        }
        let notification = (Arc::from(channel), Arc::from(payload));
        let mut pending = lock(&self.pending);
        if pending.known.contains(&notification) {
            return Ok(());
        }
        let bytes = pending.bytes + NOTIFICATION_BYTES + payload.len();
        if bytes > bytes_max {
            return Err(Error::LimitExceeded {
                state: Limit::Program,
                message: "too many notifications in one transaction".to_string(),
                hint: format!("At most {bytes_max} bytes wait (keyspan.notify_queue_bytes_max)."),
            });
        }
        pending.bytes = bytes;
        pending.known.insert(notification.clone());
        pending.notifications.push(notification);
        Ok(())
    }

    /// LISTEN, from the commit on. Errors: 22023.
    pub fn listen(&self, channel: &str) -> Result<()> {
        check_name(channel)?;
        lock(&self.pending)
            .changes
            .push(Change::Listen(channel.to_string()));
        Ok(())
    }

    /// UNLISTEN, from the commit on.
    pub fn unlisten(&self, channel: &str) {
        lock(&self.pending)
            .changes
            .push(Change::Unlisten(channel.to_string()));
    }

    /// UNLISTEN *, from the commit on.
    pub fn unlisten_all(&self) {
        lock(&self.pending).changes.push(Change::UnlistenAll);
    }

    /// pg_listening_channels(): those that are listened to, sorted.
    pub fn listening(&self) -> Vec<String> {
        lock(&self.listening).iter().cloned().collect()
    }

    /// A mark for `roll_back_to`.
    pub fn mark(&self) -> PendingMark {
        let pending = lock(&self.pending);
        PendingMark {
            notifications: pending.notifications.len(),
            changes: pending.changes.len(),
        }
    }

    /// Forgets what came after the mark.
    pub fn roll_back_to(&self, mark: PendingMark) {
        let mut pending = lock(&self.pending);
        pending.changes.truncate(mark.changes);
        let at = mark.notifications.min(pending.notifications.len());
        for notification in pending.notifications.split_off(at) {
            pending.bytes -= NOTIFICATION_BYTES + notification.1.len();
            pending.known.remove(&notification);
        }
    }

    /// What its client is to be told.
    pub fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }
}

impl Inbox {
    /// Whether there is anything, without a lock.
    pub fn is_filled(&self) -> bool {
        self.is_filled.load(Ordering::Acquire)
    }

    /// Takes everything out.
    pub fn take(&self) -> Vec<Notification> {
        let mut queue = lock(&self.queue);
        self.is_filled.store(false, Ordering::Release);
        let bytes: usize = queue.iter().map(bytes_of).sum();
        self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
        queue.drain(..).collect()
    }

    /// Resolves when there is something.
    pub async fn filled(&self) {
        loop {
            let filled = self.filled.notified();
            if self.is_filled() {
                return;
            }
            filled.await;
        }
    }

    fn put(&self, notification: Notification) {
        self.queued_bytes
            .fetch_add(bytes_of(&notification), Ordering::Relaxed);
        lock(&self.queue).push_back(notification);
        self.is_filled.store(true, Ordering::Release);
        self.filled.notify_one();
    }
}

fn bytes_of(notification: &Notification) -> usize {
    NOTIFICATION_BYTES + notification.payload.len()
}

fn check_name(channel: &str) -> Result<()> {
    match channel.len() {
        0 => Err(invalid("channel name cannot be empty")),
        NAME_BYTES.. => Err(invalid("channel name too long")),
        _ => Ok(()),
    }
}

fn invalid(message: &str) -> Error {
    Error::InvalidParameter {
        message: message.to_string(),
        hint: None,
    }
}

/// Nothing is left half done under these locks, so a panic elsewhere does not spoil them.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payloads(session: &SessionChannels) -> Vec<String> {
        let told = session.inbox().take().into_iter();
        told.map(|told| format!("{} {}", told.channel, told.payload))
            .collect()
    }

    #[test]
    fn a_commit_tells_those_that_listen_once() {
        let channels = Channels::default();
        let (from, to) = (channels.session(1), channels.session(2));
        to.listen("a").unwrap();
        from.notify("a", "before", 1000).unwrap();
        channels.commit(&from);
        channels.commit(&to);
        for payload in ["x", "y", "x"] {
            from.notify("a", payload, 1000).unwrap();
        }
        let mark = from.mark();
        from.notify("a", "z", 1000).unwrap();
        from.roll_back_to(mark);
        from.notify("b", "nobody listens", 1000).unwrap();
        assert!(!to.inbox().is_filled());
        channels.commit(&from);
        assert_eq!(payloads(&to), ["a x", "a y"]);
        assert_eq!(to.listening(), ["a"]);
        to.unlisten_all();
        channels.commit(&to);
        from.notify("a", "late", 1000).unwrap();
        channels.commit(&from);
        assert_eq!(payloads(&to), Vec::<String>::new());
        assert!(lock(&channels.listeners).is_empty());
    }

    #[test]
    fn names_payloads_and_the_queue_are_bounded() {
        let channels = Channels::default();
        let (from, to) = (channels.session(1), channels.session(2));
        for (channel, payload, sqlstate) in [
            ("", String::new(), "22023"),
            (&*"c".repeat(64), String::new(), "22023"),
            ("c", "p".repeat(8000), "22023"),
            ("c", "p".repeat(2000), "54000"),
        ] {
            let refused = from.notify(channel, &payload, 1000).unwrap_err();
            assert_eq!(refused.sqlstate(), sqlstate);
        }
        to.listen("c").unwrap();
        channels.commit(&to);
        from.notify("c", &"p".repeat(500), 1000).unwrap();
        channels.require_room(&from, 1000).unwrap();
        channels.commit(&from);
        from.notify("c", &"q".repeat(500), 1000).unwrap();
        assert_eq!(
            channels.require_room(&from, 1000).unwrap_err().sqlstate(),
            "54000"
        );
        channels.end_session(&to);
        channels.require_room(&from, 1000).unwrap();
        assert_eq!(channels.queued_bytes.load(Ordering::Relaxed), 0);
    }
}
