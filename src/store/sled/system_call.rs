//! Keeps sled from `sync_file_range`. Called once before the first database is opened; knows nothing of what is stored.
//!
//! sled takes a buffer for stable when `sync_file_range` has returned, and then reuses segments and writes headers that
//! rely on it. But that call flushes neither the file's size nor the disk's cache: a power cut can destroy everything.
//! When it answers ENOSYS, sled calls `sync_all` on the file instead (`pagecache/iobuf.rs`, `write_to_log`), which is
//! what it should have done. So a seccomp filter makes it answer ENOSYS in every thread of this process, and in the
//! processes that it starts; nothing else here calls it. Seen with strace: all of them fail so, an `fsync` follows each.

use crate::Result;

/// Installs the filter, the first time it is called. Errors: `FeatureNotSupported` when the system refuses.
#[cfg(target_os = "linux")]
pub(super) fn refuse_sync_file_range() -> Result<()> {
    use std::sync::OnceLock;

    static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();
    INSTALLED
        .get_or_init(|| install().map_err(|error| error.to_string()))
        .clone()
        .map_err(|reason| crate::Error::FeatureNotSupported {
            feature: format!("the store \"sled\" where a system call cannot be filtered ({reason})"),
            hint: Some("Start with --store fjall, or allow the seccomp system call.".to_string()),
        })
}

/// Elsewhere sled calls `sync_all` by itself.
#[cfg(not(target_os = "linux"))]
pub(super) fn refuse_sync_file_range() -> Result<()> {
    Ok(())
}

#[cfg(target_os = "linux")]
fn install() -> Result<(), seccompiler::Error> {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

    let filter = SeccompFilter::new(
        [(libc::SYS_sync_file_range, Vec::new())].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::ENOSYS.unsigned_abs()),
        std::env::consts::ARCH.try_into()?,
    )?;
    let program: BpfProgram = filter.try_into()?;
    seccompiler::apply_filter_all_threads(&program)
}
