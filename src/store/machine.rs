//! How much memory this machine, or the control group that this process is in, has: the default size of the cache is a
//! quarter of it. Called for the defaults of options; knows nothing of stores.

/// What is assumed where the system does not tell.
const MEMORY_BYTES_UNKNOWN: u64 = 1 << 30;

/// The part of the memory that the engine's cache gets.
const CACHE_DIVISOR: u64 = 4;

/// Smaller than this no cache is made.
const CACHE_BYTES_MIN: u64 = 16 << 20;

/// The default for the engine's cache.
pub(crate) fn default_cache_bytes() -> u64 {
    (memory_bytes() / CACHE_DIVISOR).max(CACHE_BYTES_MIN)
}

/// Memory that this process may use: the machine's, or the least limit of its control groups.
fn memory_bytes() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let machine = read("/proc/meminfo").and_then(|text| parse_meminfo(&text));
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups).filter_map(|path| read(&path)?.trim().parse().ok());
    limits.chain(machine).min().unwrap_or(MEMORY_BYTES_UNKNOWN)
}

/// The total of `/proc/meminfo`, which counts in kB of 1,024 bytes.
fn parse_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
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
        assert_eq!(parse_meminfo(text), Some(24_683_520 << 10));
        assert_eq!(parse_meminfo("nothing"), None);
        let files: Vec<String> = limit_files("0::/a/b\n").collect();
        let expected = ["", "/a", "/a/b"].map(|group| format!("/sys/fs/cgroup{group}/memory.max"));
        assert_eq!(files, expected);
        let files: Vec<String> = limit_files("9:name=systemd:/\n4:cpu,memory:/c\n").collect();
        let expected = ["", "/c"].map(|group| format!("/sys/fs/cgroup/memory{group}/memory.limit_in_bytes"));
        assert_eq!(files, expected);
        assert!(default_cache_bytes() >= CACHE_BYTES_MIN);
    }
}
