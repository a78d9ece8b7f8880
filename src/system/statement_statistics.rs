//! `StatementStatistics`: how often statements ran, how long, and over how many rows: what `pg_stat_statements` shows. In memory, by
//! their texts without constants; a start begins anew. Nothing is counted before the extension is created.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::now_us;

/// The extension that asks for them.
pub const PG_STAT_STATEMENTS: &str = "pg_stat_statements";

/// One in so many statements goes when there are too many, those that were used least.
const EVICTED_SHARE: usize = 20;

/// What is left of how much a statement was used each time that some go.
const USAGE_KEPT: f64 = 0.99;

/// Whose statement it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StatementKey {
    /// Who ran it.
    pub user: Arc<str>,
    /// The number of its text.
    pub query_id: i64,
}

/// The runs of a statement so far. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementRuns {
    /// Its text, without constants.
    pub text: Arc<str>,
    /// How many there were.
    pub calls: u64,
    /// What they took together.
    pub total_ms: f64,
    /// The shortest.
    pub least_ms: f64,
    /// The longest.
    pub most_ms: f64,
    /// Rows that they read or wrote.
    pub rows: u64,
    /// The sum of the squares of what each is off the mean.
    squares: f64,
    usage: f64,
}

impl StatementRuns {
    fn new(text: Arc<str>) -> StatementRuns {
        StatementRuns {
            text,
            calls: 0,
            total_ms: 0.0,
            least_ms: 0.0,
            most_ms: 0.0,
            rows: 0,
            squares: 0.0,
            usage: 0.0,
        }
    }

    /// What one took in the mean.
    pub fn mean_ms(&self) -> f64 {
        match self.calls {
            0 => 0.0,
            calls => self.total_ms / calls as f64,
        }
    }

    /// The standard deviation of what they took, of all of them.
    pub fn deviation_ms(&self) -> f64 {
        match self.calls {
            0 => 0.0,
            calls => (self.squares / calls as f64).sqrt(),
        }
    }

    fn add(&mut self, took_ms: f64, rows: u64) {
        let before = self.mean_ms();
        self.least_ms = if self.calls == 0 {
            took_ms
        } else {
            self.least_ms.min(took_ms)
        };
        self.most_ms = self.most_ms.max(took_ms);
        self.calls += 1;
        self.total_ms += took_ms;
        self.squares += (took_ms - before) * (took_ms - self.mean_ms());
        self.rows += rows;
        self.usage += 1.0;
    }
}

#[derive(Debug)]
struct Counted {
    statements: HashMap<StatementKey, StatementRuns>,
    evictions: u64,
    since_us: i64,
}

/// The statements of all sessions.
#[derive(Debug)]
pub struct StatementStatistics {
    is_on: AtomicBool,
    counted: Mutex<Counted>,
}

impl Default for StatementStatistics {
    fn default() -> StatementStatistics {
        StatementStatistics {
            is_on: AtomicBool::new(false),
            counted: Mutex::new(Counted {
                statements: HashMap::new(),
                evictions: 0,
                since_us: now_us(),
            }),
        }
    }
}

impl StatementStatistics {
    /// Whether statements are counted. All that a statement pays where they are not.
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// The extension is there, or it is not: then nothing is kept.
    pub fn switch(&self, on: bool) {
        if self.is_on.swap(on, Ordering::Relaxed) && !on {
            self.reset(|_| true);
        }
    }

    /// A statement ran. `statements_max`: how many are kept.
    pub fn note(&self, key: StatementKey, text: &Arc<str>, took: Duration, rows: u64, statements_max: usize) {
        let mut counted = self.lock();
        if counted.statements.len() >= statements_max && !counted.statements.contains_key(&key) {
            counted.evict();
        }
        let runs = counted.statements.entry(key);
        let runs = runs.or_insert_with(|| StatementRuns::new(Arc::clone(text)));
        runs.add(took.as_secs_f64() * 1e3, rows);
    }

    /// All of them.
    pub fn list(&self) -> Vec<(StatementKey, StatementRuns)> {
        let counted = self.lock();
        let list = counted.statements.iter();
        list.map(|(key, runs)| (key.clone(), runs.clone())).collect()
    }

    /// Forgets these. When all go, the time begins anew.
    pub fn reset(&self, goes: impl Fn(&StatementKey) -> bool) {
        let mut counted = self.lock();
        counted.statements.retain(|key, _| !goes(key));
        if counted.statements.is_empty() {
            counted.evictions = 0;
            counted.since_us = now_us();
        }
    }

    /// How often some had to go, and since when is counted, in microseconds since 1970.
    pub fn evictions(&self) -> (u64, i64) {
        let counted = self.lock();
        (counted.evictions, counted.since_us)
    }

    /// Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted {
    /// Those used least go.
    fn evict(&mut self) {
        let mut usages: Vec<f64> = self.statements.values().map(|runs| runs.usage).collect();
        usages.sort_by(f64::total_cmp);
        let mut left = (usages.len() / EVICTED_SHARE).max(1);
        let Some(limit) = usages.get(left - 1).copied() else {
            return;
        };
        self.statements.retain(|_, runs| {
            let goes = left > 0 && runs.usage <= limit;
            left -= usize::from(goes);
            runs.usage *= USAGE_KEPT;
            !goes
        });
        self.evictions += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(statistics: &StatementStatistics, query_id: i64, took_ms: u64) {
        let key = StatementKey {
            user: "joe".into(),
            query_id,
        };
        statistics.note(key, &"SELECT $1".into(), Duration::from_millis(took_ms), 2, 10);
    }

    #[test]
    fn runs_of_a_text_are_one_row() {
        let statistics = StatementStatistics::default();
        for took_ms in [1, 2, 3, 6] {
            note(&statistics, 7, took_ms);
        }
        let (key, runs) = statistics.list().remove(0);
        assert_eq!((key.query_id, runs.calls, runs.rows), (7, 4, 8));
        assert_eq!(
            (runs.total_ms, runs.least_ms, runs.most_ms, runs.mean_ms()),
            (12.0, 1.0, 6.0, 3.0)
        );
        assert!((runs.deviation_ms() - 3.5f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn what_is_used_least_goes() {
        let statistics = StatementStatistics::default();
        for query_id in 0..10 {
            note(&statistics, query_id, 1);
            note(&statistics, query_id.max(1), 1);
        }
        note(&statistics, 100, 1);
        let mut ids: Vec<i64> = statistics.list().iter().map(|(key, _)| key.query_id).collect();
        ids.sort_unstable();
        assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7, 8, 9, 100]);
        assert_eq!(statistics.evictions().0, 1);
        statistics.reset(|_| true);
        assert_eq!((statistics.list().len(), statistics.evictions().0), (0, 0));
    }
}
