//! How values and the clock stand in the engine (the picture is in the module above). The applier and the replay write
//! them so, and every read takes them apart here.

use crate::codec::expiry::ExpiryRule;
use crate::codec::row::RowReader;
use crate::store::engine::{Engine, EngineBatch};
use crate::store::log::{Origin, Timestamp};
use crate::{Error, Result};

/// The engine key of the clock.
pub(super) const CLOCK_KEY: &[u8] = b"";

/// How values and the clock stand in the engine (the picture above); any other number is not ours. Format 1 had no origin.
const MVCC_FORMAT: u32 = 2;
const MVCC_FORMAT_WITHOUT_ORIGIN: u32 = 1;

/// How far an engine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct EngineClock {
    /// The newest commit that it has; 0: none.
    pub(crate) timestamp: Timestamp,
    /// Whose commit that is; `None` when it has none, or when a release wrote it that did not say.
    pub(crate) origin: Option<Origin>,
}

/// Bytes before each value.
pub(super) const TIMESTAMP_BYTES: usize = 8;

/// Adds a write as it stands in the engine: the value behind the timestamp of its commit.
pub(super) fn put_write(batch: &mut EngineBatch, timestamp: Timestamp, key: &[u8], value: Option<&[u8]>) {
    match value {
        Some(value) => batch.put(key, &[&timestamp.to_be_bytes(), value]),
        None => batch.delete(key),
    }
}

/// Moves the engine's clock to a commit of this origin.
pub(super) fn put_clock(batch: &mut EngineBatch, clock: Timestamp, origin: Origin) {
    let parts: [&[u8]; 4] = [
        &clock.to_be_bytes(),
        &MVCC_FORMAT.to_be_bytes(),
        &origin.log_id.to_be_bytes(),
        &origin.branch.to_be_bytes(),
    ];
    batch.put(CLOCK_KEY, &parts);
}

/// The newest commit in the engine.
pub(crate) fn read_clock(engine: &dyn Engine) -> Result<EngineClock> {
    let mut clock = Ok(EngineClock::default());
    engine.get(CLOCK_KEY, &mut |stored| {
        clock = split_stored(stored).and_then(|(timestamp, rest)| {
            let origin = parse_origin(rest)
                .ok_or_else(|| corrupt("the clock record", format!("its format is {rest:02x?}")))?;
            Ok(EngineClock { timestamp, origin })
        });
    })?;
    clock
}

/// What stands behind the clock's timestamp.
fn parse_origin(bytes: &[u8]) -> Option<Option<Origin>> {
    let (format, rest) = bytes.split_first_chunk()?;
    match u32::from_be_bytes(*format) {
        MVCC_FORMAT_WITHOUT_ORIGIN if rest.is_empty() => Some(None),
        MVCC_FORMAT => {
            let (log_id, branch) = rest.split_first_chunk()?;
            Some(Some(Origin {
                log_id: u128::from_be_bytes(*log_id),
                branch: u64::from_be_bytes(branch.try_into().ok()?),
            }))
        }
        _ => None,
    }
}

/// An engine value apart: when it was committed, and the value.
pub(crate) fn split_stored(stored: &[u8]) -> Result<(Timestamp, &[u8])> {
    match stored.split_first_chunk() {
        Some((timestamp, value)) => Ok((Timestamp::from_be_bytes(*timestamp), value)),
        None => Err(corrupt(
            "a stored value",
            format!("{} bytes are too few for a timestamp", stored.len()),
        )),
    }
}

/// Whether an engine value is that of a sound row, which need not be checked again as long as it stays in memory.
pub(crate) fn is_sound_row(stored: &[u8]) -> bool {
    split_stored(stored).is_ok_and(|(_, value)| RowReader::new(value).is_ok())
}

/// When the row of an engine value is over that is sound; `None`: it is damaged.
pub(crate) fn over_at_of_sound_row(rule: &ExpiryRule, key: &[u8], stored: &[u8]) -> Option<i64> {
    let (_, value) = split_stored(stored).ok()?;
    rule.over_at_of_verified(key, value).ok()
}

pub(super) fn corrupt(what: &str, reason: String) -> Error {
    Error::Corrupt {
        what: what.to_string(),
        reason,
    }
}

// `split_stored` slices behind the timestamp; both sides of the disk agree on its width.
const _: () = assert!(TIMESTAMP_BYTES == size_of::<Timestamp>());
