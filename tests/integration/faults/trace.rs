//! The record of a server's file operations, as `ioshim.c` writes it.

/// One file operation that succeeded. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Operation<'a> {
    pub(super) path: &'a str,
    pub(super) what: What<'a>,
    /// Where its record ends: what was acknowledged at this position of the trace came after it.
    pub(super) end: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What<'a> {
    Create,
    MakeFolder,
    /// A write, and whether its data were durable when it returned (O_DSYNC).
    Write {
        offset: u64,
        data: &'a [u8],
        durable: bool,
    },
    /// fsync or fdatasync of a file, or fsync of a folder.
    Sync,
    /// sync_file_range.
    SyncRange {
        offset: u64,
        length: u64,
    },
    Resize {
        size: u64,
    },
    Rename {
        to: &'a str,
    },
    Unlink,
}

/// Every operation of a trace, in order. A record that the killed server has not written whole ends it.
pub(super) fn read(mut trace: &[u8]) -> Vec<Operation<'_>> {
    let length = trace.len();
    let mut operations = Vec::new();
    while let Some((path, what, rest)) = read_one(trace) {
        trace = rest;
        let end = (length - rest.len()) as u64;
        operations.push(Operation { path, what, end });
    }
    operations
}

fn read_one(trace: &[u8]) -> Option<(&str, What<'_>, &[u8])> {
    let (kind, rest) = trace.split_first_chunk()?;
    let (path_length, rest) = rest.split_first_chunk()?;
    let (offset, rest) = rest.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (kind, path_length) = (u32::from_ne_bytes(*kind), u32::from_ne_bytes(*path_length));
    let (offset, length) = (u64::from_ne_bytes(*offset), u64::from_ne_bytes(*length));
    let (path, mut rest) = rest.split_at_checked(path_length as usize)?;
    let mut payload = || -> Option<&[u8]> {
        let (payload, after) = rest.split_at_checked(length as usize)?;
        rest = after;
        Some(payload)
    };
    let what = match kind {
        1 => What::Create,
        2 => What::MakeFolder,
        3 | 4 => What::Write {
            offset,
            data: payload()?,
            durable: kind == 4,
        },
        5 => What::Sync,
        6 => What::SyncRange { offset, length },
        7 => What::Resize { size: offset },
        8 => What::Rename { to: text(payload()?) },
        9 => What::Unlink,
        _ => panic!("the trace has an operation {kind}"),
    };
    Some((text(path), what, rest))
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("paths are UTF-8")
}
