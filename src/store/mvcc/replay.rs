//! Replay: what the log has and the engine lacks goes to the engine before the store opens. Called by `MvccStore::open`.

use std::time::{Duration, Instant};

use super::limits::{REPLAYED_BYTES_MAX, REPLAYED_WRITES_MAX};
use super::stored::{EngineClock, corrupt, put_clock, put_write};
use crate::Result;
use crate::store::engine::{Engine, EngineBatch};
use crate::store::log::{LogPlace, Origin, Position, ReadRecords, Record, Survey, Timestamp};

/// Progress is reported this often.
const REPORT_INTERVAL: Duration = Duration::from_secs(2);

/// Error `Corrupt` when engine and log do not belong together: the engine must know every commit from before the oldest
/// segment, and none that the log does not have; and its newest commit must be the log's of that number.
pub(super) fn check_clocks(engine: EngineClock, survey: &Survey) -> Result<()> {
    let (begins_after, ends_at) = (survey.begins_after, survey.clock);
    let (engine_clock, is_other) = (
        engine.timestamp,
        engine.origin.is_some() && engine.origin != survey.origin_of(engine.timestamp),
    );
    if engine_clock < begins_after {
        return Err(corrupt(
            "the storage engine",
            format!("it ends at commit {engine_clock}, but commit {begins_after} was durable in it"),
        ));
    }
    if engine_clock > ends_at {
        return Err(corrupt(
            "the commit log",
            format!("it ends at commit {ends_at}, but the storage engine has commit {engine_clock}"),
        ));
    }
    if is_other {
        return Err(corrupt(
            "the commit log",
            format!(
                "its commit {engine_clock} is not that of the storage engine: they are of two data directories, or of copies of one that went apart"
            ),
        ));
    }
    Ok(())
}

/// Has an engine say whose its commits are, where an earlier release did not.
pub(super) fn name_origin(engine: &dyn Engine, clock: Timestamp, origin: Origin) -> Result<()> {
    let mut batch = EngineBatch::default();
    put_clock(&mut batch, clock, origin);
    engine.apply(&batch)
}

/// Applies every commit above the engine's clock, and answers how many. May be interrupted at any moment and begun again.
pub(super) fn replay(
    engine: &dyn Engine,
    clock: EngineClock,
    log: &LogPlace,
    survey: &Survey,
) -> Result<u64> {
    let commits = survey.clock - clock.timestamp;
    if commits == 0 {
        tracing::info!(
            "recovery: the storage engine has all commits, up to commit {}",
            survey.clock
        );
        return Ok(0);
    }
    let started = Instant::now();
    let records = ReadRecords::new(&*log.disk, &log.directory, survey);
    let mut replay = Replay {
        engine,
        survey,
        batch: EngineBatch::default(),
        clock: clock.timestamp,
        begin: survey.end - survey.bytes,
        bytes: survey.bytes,
        reported: Instant::now(),
    };
    records.for_each(|position, record| replay.record(&records, position, record))?;
    replay.flush()?;
    tracing::info!(
        "recovery: {commits} commits were replayed from the log, up to commit {}, in {} ms",
        survey.clock,
        started.elapsed().as_millis()
    );
    Ok(commits)
}

struct Replay<'a> {
    engine: &'a dyn Engine,
    survey: &'a Survey,
    /// Whole commits, not applied yet.
    batch: EngineBatch,
    /// The newest commit in the engine or the batch.
    clock: Timestamp,
    begin: Position,
    bytes: u64,
    reported: Instant,
}

impl Replay<'_> {
    fn record(&mut self, records: &ReadRecords<'_>, position: Position, record: Record<'_>) -> Result<()> {
        match record {
            Record::Commit {
                timestamp, writes, ..
            } if timestamp > self.clock => {
                writes.for_each(|key, value| {
                    put_write(&mut self.batch, timestamp, key, value);
                    Ok(())
                })?;
                self.clock = timestamp;
                self.flush_if_full()?;
            }
            Record::Close { large, timestamp, .. } if timestamp > self.clock => {
                if !self.survey.has_parts(large) {
                    let reason = format!("commit {timestamp} lacks some of its parts");
                    return Err(corrupt("the commit log", reason));
                }
                self.flush()?;
                self.large(records, large, timestamp)?;
            }
            Record::Commit { .. } | Record::Part { .. } | Record::Close { .. } | Record::Mark => {}
        }
        self.report(position);
        Ok(())
    }

    /// A large commit goes in pieces; the last one moves the clock.
    fn large(&mut self, records: &ReadRecords<'_>, large: Position, timestamp: Timestamp) -> Result<()> {
        records.for_each_part(large, |writes| {
            writes.for_each(|key, value| {
                put_write(&mut self.batch, timestamp, key, value);
                if is_full(&self.batch) {
                    let batch = std::mem::take(&mut self.batch);
                    self.engine.apply(&batch)?;
                }
                Ok(())
            })
        })?;
        self.clock = timestamp;
        self.flush()
    }

    fn flush_if_full(&mut self) -> Result<()> {
        if is_full(&self.batch) {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Applies the whole commits of the batch, and moves the clock.
    fn flush(&mut self) -> Result<()> {
        let mut batch = std::mem::take(&mut self.batch);
        let origin = self.survey.origin_of(self.clock).unwrap_or_default();
        put_clock(&mut batch, self.clock, origin);
        self.engine.apply(&batch)
    }

    fn report(&mut self, position: Position) {
        if self.reported.elapsed() >= REPORT_INTERVAL {
            self.reported = Instant::now();
            let percent = (position - self.begin) * 100 / self.bytes.max(1);
            tracing::info!("replaying the log: {percent} % of {} MB", self.bytes >> 20);
        }
    }
}

fn is_full(batch: &EngineBatch) -> bool {
    batch.len() >= REPLAYED_WRITES_MAX || batch.size_bytes() >= REPLAYED_BYTES_MAX
}
