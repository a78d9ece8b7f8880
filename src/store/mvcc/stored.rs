//! How values and the clock stand in the engine (the picture is in the module above). The applier and the replay write
//! them so, and every read takes them apart here.

use crate::codec::row::RowReader;
use crate::store::engine::{Engine, EngineBatch};
use crate::store::log::Timestamp;
use crate::{Error, Result};

/// The engine key of the clock.
pub(super) const CLOCK_KEY: &[u8] = b"";

/// How values stand in the engine (the picture above); any other number is not ours.
pub const MVCC_FORMAT: u32 = 1;

/// Bytes before each value.
pub(super) const TIMESTAMP_BYTES: usize = 8;

/// Adds a write as it stands in the engine: the value behind the timestamp of its commit.
pub(super) fn put_write(batch: &mut EngineBatch, timestamp: Timestamp, key: &[u8], value: Option<&[u8]>) {
    match value {
        Some(value) => batch.put(key, &[&timestamp.to_be_bytes(), value]),
        None => batch.delete(key),
    }
}

/// Moves the engine's clock.
pub(super) fn put_clock(batch: &mut EngineBatch, clock: Timestamp) {
    batch.put(CLOCK_KEY, &[&clock.to_be_bytes(), &MVCC_FORMAT.to_be_bytes()]);
}

/// The timestamp of the newest commit in the engine; 0 when there is none.
pub(crate) fn read_clock(engine: &dyn Engine) -> Result<Timestamp> {
    let mut clock = Ok(0);
    engine.get(CLOCK_KEY, &mut |stored| {
        clock = split_stored(stored).and_then(|(timestamp, format)| match <[u8; 4]>::try_from(format) {
            Ok(format) if u32::from_be_bytes(format) == MVCC_FORMAT => Ok(timestamp),
            _ => Err(corrupt(
                "the clock record",
                format!("its format is {format:02x?}"),
            )),
        });
    })?;
    clock
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

pub(super) fn corrupt(what: &str, reason: String) -> Error {
    Error::Corrupt {
        what: what.to_string(),
        reason,
    }
}

// `split_stored` slices behind the timestamp; both sides of the disk agree on its width.
const _: () = assert!(TIMESTAMP_BYTES == size_of::<Timestamp>());
