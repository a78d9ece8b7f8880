//! `StepFigures`: what EXPLAIN ANALYZE counts of a chain's run, step by step.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::operators::lookup::LookupFigures;
use crate::scan::figures::Seen;
use crate::scan::scan_metrics::ScanMetrics;

/// The counters of one run.
#[derive(Debug)]
pub struct StepFigures {
    source: Arc<ScanMetrics>,
    steps: Mutex<Vec<StepCount>>,
    /// Those of lookups, by their steps.
    lookups: Mutex<BTreeMap<usize, Arc<LookupFigures>>>,
    /// Those of the chains that an append runs, by their places in it.
    members: Mutex<BTreeMap<usize, Arc<StepFigures>>>,
}

/// What one step did by itself.
#[derive(Debug, Default, Clone, Copy)]
struct StepCount {
    rows: u64,
    busy: Duration,
    /// What it took until its first row was there, by all up to it.
    first: Option<Duration>,
}

impl Default for StepFigures {
    fn default() -> StepFigures {
        StepFigures {
            source: Arc::new(ScanMetrics::timed()),
            steps: Mutex::default(),
            lookups: Mutex::default(),
            members: Mutex::default(),
        }
    }
}

impl StepFigures {
    /// What the source is counted in.
    pub fn source(&self) -> &Arc<ScanMetrics> {
        &self.source
    }

    /// What the source gave.
    pub fn seen_of_source(&self) -> Seen {
        let figures = self.source.figures.as_ref();
        figures.map(|figures| figures.seen()).unwrap_or_default()
    }

    /// What a step that looks up is counted in.
    pub fn lookup(&self, step: usize) -> Arc<LookupFigures> {
        let mut lookups = self.lookups.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(lookups.entry(step).or_default())
    }

    /// What a chain that an append runs is counted in.
    pub fn member(&self, place: usize) -> Arc<StepFigures> {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(members.entry(place).or_default())
    }

    /// What came out of a step, and of all below it; `None` when the run had no such step.
    pub fn seen(&self, step: usize) -> Option<Seen> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let own = steps.get(step)?;
        let source = self.seen_of_source();
        let total = source.total + busy(&steps[..=step]);
        Some(Seen {
            loops: source.loops,
            rows: own.rows,
            first: own.first.unwrap_or(total),
            total,
        })
    }

    /// Counts an answer of a step.
    pub(super) fn add(&self, step: usize, rows: usize, busy_for: Duration) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        if steps.len() <= step {
            steps.resize(step + 1, StepCount::default());
        }
        steps[step].rows += rows as u64;
        steps[step].busy += busy_for;
        if rows > 0 && steps[step].first.is_none() {
            let spent = self.seen_of_source().total + busy(&steps[..=step]);
            steps[step].first = Some(spent);
        }
    }
}

fn busy(steps: &[StepCount]) -> Duration {
    steps.iter().map(|step| step.busy).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_the_time_of_all_below_it() {
        let figures = StepFigures::default();
        let ms = Duration::from_millis;
        figures.add(0, 5, ms(2));
        figures.add(1, 0, ms(3));
        figures.add(0, 4, ms(2));
        figures.add(1, 1, ms(3));
        let seen = figures.seen(0).unwrap();
        assert_eq!((seen.rows, seen.first, seen.total), (9, ms(2), ms(4)));
        let seen = figures.seen(1).unwrap();
        assert_eq!((seen.rows, seen.first, seen.total), (1, ms(10), ms(10)));
        assert_eq!(figures.seen(2), None);
    }
}
