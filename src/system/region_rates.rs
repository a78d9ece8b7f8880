//! What is read and written of regions a second, and which of them are hot. Asked by the catalogs and by the task that splits and merges.

use crate::catalog::{Catalog, SettingsOwner, TableDef};
use crate::codec::KeyRange;
use crate::system::Settings;
use crate::txn::heat::{HeatId, IndexHeat, KeyHeat};

/// Settings of regions.
const REGION_BYTES: &str = "keyspan.region_bytes";
const REGION_HOT: &str = "keyspan.region_hot_per_second";

const MINUTE_SECONDS: f64 = 60.0;

/// When a region is large, and when it is hot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RegionRules {
    /// Bytes above which it is split; 0: never for its size.
    pub bytes_max: u64,
    /// Rows read and written a second above which it is hot; 0: none ever is.
    pub hot_per_second: u64,
}

/// What is read and written of a range a second: the mean of the last minute and the present one, so that a moment makes nothing hot.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RegionRates {
    /// Rows read.
    pub reads: f64,
    /// Rows written.
    pub writes: f64,
}

impl RegionRules {
    /// By ALTER SYSTEM, or by what the server began with.
    pub fn of(settings: &Settings, catalog: &Catalog) -> RegionRules {
        let altered = catalog.altered.get(&SettingsOwner::System);
        let number = |name: &str| {
            let altered = altered.and_then(|altered| altered.values.get(name)?.parse().ok());
            altered.or_else(|| settings.value(name).parse().ok()).unwrap_or(0)
        };
        RegionRules {
            bytes_max: number(REGION_BYTES),
            hot_per_second: number(REGION_HOT),
        }
    }

    /// Whether so much makes a region hot.
    pub fn is_hot(&self, rates: RegionRates) -> bool {
        self.hot_per_second > 0 && rates.reads + rates.writes >= self.hot_per_second as f64
    }
}

/// The rates of sorted ranges of a table's rows.
pub fn region_rates(heat: &KeyHeat, table: &TableDef, ranges: &[KeyRange]) -> Vec<RegionRates> {
    let slices = heat.slices();
    let id = HeatId {
        table: table.id,
        index: 0,
    };
    match slices.get(id) {
        Some(index) => ranges.iter().map(|range| rates(heat, index, range)).collect(),
        None => vec![RegionRates::default(); ranges.len()],
    }
}

fn rates(heat: &KeyHeat, index: &IndexHeat, range: &KeyRange) -> RegionRates {
    let (now, into) = heat.minute();
    let seconds = MINUTE_SECONDS + into;
    let mut rates = RegionRates::default();
    for slice in index.slices.iter().filter(|slice| range.contains(&slice.start)) {
        for counts in slice.minutes_since(now - 1, now) {
            rates.reads += counts.reads as f64 / seconds;
            rates.writes += counts.writes as f64 / seconds;
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::codec::keyspace::index_range;
    use crate::plan::tests::table_of;
    use crate::store::memory::MemoryEngine;
    use crate::store::mvcc::MvccStore;
    use crate::store::{Store, StoreOptions};
    use crate::txn::{Transaction, TransactionOptions};
    use crate::types::SqlType;

    #[tokio::test]
    async fn rates_are_of_the_last_minute_and_the_present_one() {
        let engine = Arc::new(MemoryEngine::new());
        let store: Arc<dyn Store> =
            Arc::new(MvccStore::open(engine, &StoreOptions::default(), None).unwrap());
        let table = table_of("t", &[("n", SqlType::Int8), ("v", SqlType::Int8)], &[false]);
        let heat = Arc::new(KeyHeat::default());
        let minute = 60_000_000;
        heat.turn(100 * minute);
        let range = index_range(table.id, 0);
        let options = TransactionOptions {
            heat: Some(Arc::clone(&heat)),
            ..TransactionOptions::default()
        };
        let read = |times: usize| {
            let (store, options, range) = (Arc::clone(&store), options.clone(), range.clone());
            async move {
                let txn = Transaction::begin_with(store, options).await.unwrap();
                txn.get_many(&vec![range.start; times]).await.unwrap();
            }
        };
        let rate = || region_rates(&heat, &table, &[range.clone()])[0].reads.round();
        assert_eq!(rate(), 0.0);
        read(300).await;
        heat.turn(100 * minute + 15_000_000);
        assert_eq!(rate(), 4.0);
        heat.turn(101 * minute);
        assert_eq!(rate(), 5.0);
        read(300).await;
        heat.turn(101 * minute + 40_000_000);
        assert_eq!(rate(), 6.0);
        heat.turn(103 * minute);
        assert_eq!(rate(), 0.0);
        let rules = RegionRules {
            bytes_max: 0,
            hot_per_second: 10,
        };
        let of = |reads, writes| RegionRates { reads, writes };
        assert!(rules.is_hot(of(5.0, 5.0)) && !rules.is_hot(of(5.0, 4.0)));
        assert!(
            !RegionRules {
                hot_per_second: 0,
                ..rules
            }
            .is_hot(of(1e9, 0.0))
        );
    }
}
