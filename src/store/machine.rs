//! How much memory this machine, or the control group that this process is in, has: a quarter of it is the default size of
//! the cache, three eighths that of what statements and transactions hold. Called for the defaults of options; knows
//! nothing of stores.

use rustix::process::{Resource, getrlimit};

/// What is assumed where the system does not tell.
const MEMORY_BYTES_UNKNOWN: u64 = 1 << 30;

/// The part of the memory that the engine's cache gets.
const CACHE_DIVISOR: u64 = 4;

/// The part that statements and transactions get, in eighths; what is left is for what nobody counts.
const STATEMENTS_EIGHTHS: u64 = 3;

/// The part above which the process is short of memory, in eighths.
const PROCESS_EIGHTHS: u64 = 7;

/// Statements get so much on the smallest machine.
const STATEMENTS_BYTES_MIN: u64 = 64 << 20;

/// The part that large commits may take while they wait for the engine.
const LARGE_COMMITS_DIVISOR: u64 = 16;

/// Smaller than this no cache is made.
const CACHE_BYTES_MIN: u64 = 16 << 20;

/// The default for the engine's cache.
pub(crate) fn default_cache_bytes() -> u64 {
    (memory_bytes() / CACHE_DIVISOR).max(CACHE_BYTES_MIN)
}

/// The default for large commits that the engine does not have yet.
pub(crate) fn default_large_commits_bytes() -> u64 {
    memory_bytes() / LARGE_COMMITS_DIVISOR
}

/// The default for what all statements and transactions hold together.
pub fn default_statements_bytes() -> u64 {
    (memory_bytes() / 8 * STATEMENTS_EIGHTHS).max(STATEMENTS_BYTES_MIN)
}

/// What the process may have before large statements are refused more.
pub(super) fn process_bytes_max() -> u64 {
    memory_bytes() / 8 * PROCESS_EIGHTHS
}

/// Memory that the process has: pages of its own, without those of files.
pub(super) fn process_bytes() -> Option<u64> {
    parse_kilobytes(&std::fs::read_to_string("/proc/self/status").ok()?, "RssAnon:")
}

/// The addresses that the process may have; `None`: as many as there are.
pub fn address_bytes_max() -> Option<u64> {
    getrlimit(Resource::As).current
}

/// Memory that this process may use: the machine's, or the least limit of its control groups or of its addresses.
fn memory_bytes() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| parse_kilobytes(&text, "MemTotal:"));
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups).filter_map(|path| read(&path)?.trim().parse().ok());
    let limits = limits.chain(machine).chain(address_bytes_max());
    limits.min().unwrap_or(MEMORY_BYTES_UNKNOWN)
}

/// The number that a file of `/proc` tells of this, which counts in kB of 1,024 bytes.
fn parse_kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

/// The files that may hold limits, given `/proc/self/cgroup`: of each group on the way to the process's own. Those of
/// version 2 say `max` where there is none, those of version 1 a number beyond any memory.
fn limit_files(groups: &str) -> impl Iterator<Item = String> {
    groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (
            fields.next().unwrap_or_default(),
            fields.next().unwrap_or_default(),
        );
        let (folder, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => ("", ""),
        };
        // In a container the process's group is often mounted as the root.
        let above = path.match_indices('/').map(|(at, _)| &path[..at]);
        let groups = above.chain([path]).filter(|_| !folder.is_empty());
        groups
            .map(|group| format!("{folder}{group}/{file}"))
            .collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_tells_is_read() {
        let text = "MemTotal:       24683520 kB\nMemFree:        22000000 kB\n";
        assert_eq!(parse_kilobytes(text, "MemTotal:"), Some(24_683_520 << 10));
        assert_eq!(parse_kilobytes("nothing", "MemTotal:"), None);
        let files: Vec<String> = limit_files("0::/a/b\n").collect();
        let expected = ["", "/a", "/a/b"].map(|group| format!("/sys/fs/cgroup{group}/memory.max"));
        assert_eq!(files, expected);
        let files: Vec<String> = limit_files("9:name=systemd:/\n4:cpu,memory:/c\n").collect();
        let expected = ["", "/c"].map(|group| format!("/sys/fs/cgroup/memory{group}/memory.limit_in_bytes"));
        assert_eq!(files, expected);
        assert!(default_cache_bytes() >= CACHE_BYTES_MIN);
        assert!(default_statements_bytes() < process_bytes_max());
        assert!(process_bytes().is_some_and(|bytes| bytes < process_bytes_max()));
    }
}
