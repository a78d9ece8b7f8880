//! `Visibility`: which of the rows that stand in the store a statement sees: those that are not over at its time. Every read of a
//! transaction goes through it, so that nobody above need know that rows can be over.
//!
//! Invariants:
//!
//! 1. All reads of a statement judge by one time; those of a transaction that keeps its snapshot by one for all.
//! 2. A row that is over is damaged or whole when it is left out: its checksum was asked first.
//! 3. Rows of a page of which none is over before a later time are not looked at one by one: the store knew that of them all.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::Result;
use crate::codec::expiry::{ExpiryRule, ExpiryRules};
use crate::codec::row::RowReader;
use crate::store::{Entry, KeptMoment, KnownOfAll, Page, Values, WallClock};

/// What a statement judges rows by.
#[derive(Debug)]
pub(super) struct Visibility {
    clock: Arc<WallClock>,
    /// When it reads, in microseconds since 1970.
    time: i64,
    /// When it began to write: later than `time` where its transaction keeps a snapshot.
    write_time: i64,
    /// Of a transaction that keeps its snapshot: what is not over at `time` is not removed meanwhile.
    kept: Option<Arc<KeptMoment>>,
    /// The rules of the catalog that it has loaded; `None`: no row is ever over.
    rules: RwLock<Option<Arc<ExpiryRules>>>,
    /// It sees what is over as well.
    sees_all: bool,
}

impl Clone for Visibility {
    fn clone(&self) -> Visibility {
        Visibility {
            clock: Arc::clone(&self.clock),
            time: self.time,
            write_time: self.write_time,
            kept: self.kept.clone(),
            rules: RwLock::new(self.rules()),
            sees_all: self.sees_all,
        }
    }
}

impl Visibility {
    /// As it is now. `keeps`: for a transaction that keeps its snapshot.
    pub(super) fn now(clock: &Arc<WallClock>, keeps: bool) -> Visibility {
        let kept = keeps.then(|| clock.keep());
        let time = kept.as_ref().map_or_else(|| clock.now(), |kept| kept.micros());
        Visibility {
            clock: Arc::clone(clock),
            time,
            write_time: time,
            kept,
            rules: RwLock::default(),
            sees_all: false,
        }
    }

    /// That of the next statement, by the same rules until it has loaded its catalog.
    pub(super) fn next(&self, clock: &Arc<WallClock>, keeps: bool) -> Visibility {
        match keeps {
            true => Visibility {
                write_time: clock.now(),
                ..self.clone()
            },
            false => Visibility {
                rules: RwLock::new(self.rules()),
                ..Visibility::now(clock, self.kept.is_some())
            },
        }
    }

    /// The same, but that it sees what is over as well.
    pub(super) fn of_all(&self) -> Visibility {
        Visibility {
            sees_all: true,
            ..self.clone()
        }
    }

    pub(super) fn time(&self) -> i64 {
        self.time
    }

    pub(super) fn now_of_clock(&self) -> i64 {
        self.clock.now()
    }

    pub(super) fn write_time(&self) -> i64 {
        self.write_time
    }

    /// From now on rows are over by these rules.
    pub(super) fn judge_by(&self, rules: Option<&Arc<ExpiryRules>>) {
        let mut own = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        if own.as_ref().map(Arc::as_ptr) != rules.map(Arc::as_ptr) {
            *own = rules.cloned();
        }
    }

    /// What judges the rows in the range that begins with a key; `None`: all of them are seen.
    pub(super) fn judge_of(&self, key: &[u8]) -> Option<Judge> {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        let rule = rules.as_ref().filter(|_| !self.sees_all)?.of_key(key)?;
        Some(Judge {
            clock: Arc::clone(&self.clock),
            rule: Arc::clone(rule),
            time: self.time,
        })
    }

    /// Leaves out of the values of keys those of rows that are over; answers them by their places. Errors: `Corrupt`.
    pub(super) fn keep_seen(
        &self,
        keys: &[Vec<u8>],
        values: &mut Values,
    ) -> Result<BTreeMap<usize, Vec<u8>>> {
        let mut over = BTreeMap::new();
        let rules = match self.rules() {
            Some(rules) if !self.sees_all => rules,
            _ => return Ok(over),
        };
        for (at, key) in keys.iter().enumerate() {
            let Some(rule) = rules.of_key(key) else { continue };
            let Some(value) = values.get(at) else { continue };
            if rule.over_at(key, &RowReader::new(value)?)? <= self.time {
                self.clock.note_judged();
                over.insert(at, value.to_vec());
                values.forget(at);
            }
        }
        Ok(over)
    }

    fn rules(&self) -> Option<Arc<ExpiryRules>> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What judges the rows of a table in a scan.
#[derive(Debug)]
pub(super) struct Judge {
    clock: Arc<WallClock>,
    rule: Arc<ExpiryRule>,
    time: i64,
}

impl Judge {
    /// By which it judges.
    pub(super) fn rule(&self) -> &Arc<ExpiryRule> {
        &self.rule
    }

    /// Leaves out of a page, whose rows have their values, those that are over. Errors: `Corrupt`.
    pub(super) fn keep_seen(&self, page: &mut Page) -> Result<()> {
        let over = self.places_over(page)?;
        if !over.is_empty() {
            self.clock.note_judged();
        }
        leave_out(page, &over);
        // Each was checked just now, or before.
        page.set_known(KnownOfAll {
            are_verified: true,
            ..page.known()
        });
        Ok(())
    }

    /// The same; answers the rows that are over.
    pub(super) fn take_over(&self, page: &mut Page) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let over = self.places_over(page)?;
        let rows = over.iter().map(|at| page.row(*at));
        let rows = rows.map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
        leave_out(page, &over);
        Ok(rows)
    }

    /// When each row of a page is over. Errors: `Corrupt`.
    pub(super) fn moments_over(&self, page: &Page) -> Result<Vec<i64>> {
        (0..page.len()).map(|at| self.over_at(page.entry(at))).collect()
    }

    fn places_over(&self, page: &Page) -> Result<Vec<usize>> {
        if page.known().over_from.is_some_and(|moment| moment > self.time) {
            return Ok(Vec::new());
        }
        let mut over = Vec::new();
        for at in 0..page.len() {
            if self.is_over(page.entry(at))? {
                over.push(at);
            }
        }
        Ok(over)
    }

    #[inline]
    fn is_over(&self, row: Entry<'_>) -> Result<bool> {
        Ok(self.over_at(row)? <= self.time)
    }

    #[inline]
    fn over_at(&self, row: Entry<'_>) -> Result<i64> {
        match row.is_verified {
            true => self.rule.over_at_of_verified(row.key, row.value),
            false => self.rule.over_at(row.key, &RowReader::new(row.value)?),
        }
    }
}

/// Drops the rows at these places, rising, of a page.
fn leave_out(page: &mut Page, places: &[usize]) {
    if !places.is_empty() {
        let mut places = places.iter().copied().peekable();
        page.retain(|at| places.next_if_eq(&at).is_none());
    }
}
