//! File descriptors: how many sockets the server may hold open, so that the store always finds a descriptor left. Asked
//! once, when the server starts.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::connection_threads::{CONNECTION_THREADS_MAX, DESCRIPTORS};
use super::startups::STARTUPS_MAX;

/// Descriptors that no connection may take: the store's files, spill files, the runtime's own, standard streams. A store
/// that cannot open a file ends the process.
const RESERVED: usize = 64;

/// Connections that share a thread, where descriptors are few.
const CONNECTIONS_A_THREAD: usize = 16;

/// How many connections of each kind there may be at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConnectionLimits {
    /// Those with a session: `max_connections`, or as many as the limit of open files leaves room for.
    pub(super) sessions: usize,
    /// Those in start-up, or asking for a cancel.
    pub(super) startups: usize,
    /// Threads that serve them all.
    pub(super) threads: usize,
}

impl ConnectionLimits {
    /// Raises the process's limit of open files as far as the system lets it, and divides it. Warns when it does not
    /// allow as many sessions as asked.
    pub(super) fn from_system(sessions_asked: usize) -> ConnectionLimits {
        let files = raise_files_max();
        let limits = ConnectionLimits::within(files, sessions_asked);
        if limits.sessions < sessions_asked {
            tracing::warn!(
                "max_connections is lowered from {sessions_asked} to {}: the system allows this process {files} open files; \
                 allow more (ulimit -Hn, LimitNOFILE= in systemd, --ulimit nofile= in Docker), or ask for fewer with \
                 --max-connections",
                limits.sessions
            );
        }
        limits
    }

    /// What `files_max` descriptors leave room for: one a connection, and what threads need.
    fn within(files_max: usize, sessions_asked: usize) -> ConnectionLimits {
        let free = files_max.saturating_sub(RESERVED);
        let threads = CONNECTION_THREADS_MAX.min(free / CONNECTIONS_A_THREAD).max(1);
        let sockets = free.saturating_sub(threads * DESCRIPTORS);
        let startups = STARTUPS_MAX.min(sockets / 4).max(1);
        let sessions = sessions_asked.min(sockets.saturating_sub(startups).max(1));
        ConnectionLimits {
            sessions,
            startups,
            threads,
        }
    }
}

/// Raises the soft limit of open files to the hard one, and answers what then holds.
fn raise_files_max() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let current = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        // Some systems have a lower limit of their own, beside the hard one.
        Err(_) => limit.current,
    };
    current.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::{ConnectionLimits, DESCRIPTORS, RESERVED};

    #[track_caller]
    fn check(files_max: usize, sessions_asked: usize, sessions: usize, startups: usize, threads: usize) {
        let limits = ConnectionLimits::within(files_max, sessions_asked);
        assert_eq!(
            limits,
            ConnectionLimits {
                sessions,
                startups,
                threads
            }
        );
    }

    #[test]
    fn sockets_leave_the_reserve_alone() {
        check(usize::MAX, 200, 200, 100, 64);
        check(1024, 200, 200, 100, 60);
        check(1024, 2000, 680, 100, 60);
        check(128, 200, 39, 13, 4);
        for files_max in RESERVED + DESCRIPTORS + 2..2000 {
            let limits = ConnectionLimits::within(files_max, 1000);
            let taken = limits.sessions + limits.startups + limits.threads * DESCRIPTORS;
            assert!(taken + RESERVED <= files_max);
        }
    }

    #[test]
    fn one_client_is_always_served() {
        check(RESERVED, 200, 1, 1, 1);
        check(0, 200, 1, 1, 1);
    }
}
