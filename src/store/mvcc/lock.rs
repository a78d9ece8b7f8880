//! Locking keys and ranges of an `MvccStore`: the lock, then what is committed under the keys. The order counts: who held them before has given
//! them up only once his commit was visible, or had entered: then whoever locks them rests on it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::group::{KeyState, state_of, view_of};
use super::snapshot::MvccSnapshot;
use super::state::Shared;
use super::view::{View, run_blocking};
use crate::Result;
use crate::store::log::Timestamp;
use crate::store::{
    HeldLocks, LockAsks, Locked, Page, RangeState, ScanRequest, Snapshot, Values, Wanted, WantedRange,
};

/// This many keys are looked for on the caller's thread; more on a blocking one.
const INLINE_KEYS_MAX: usize = 256;

/// See [`Store::lock`](crate::store::Store::lock).
pub(super) async fn lock_keys(
    shared: &Arc<Shared>,
    locks: &HeldLocks,
    wanted: Wanted<'_>,
    since: &Arc<dyn Snapshot>,
    asks: LockAsks,
) -> Result<Locked> {
    let unlocked = locks.acquire(wanted).await?;
    let seen = view_of(shared, since)?;
    let keys = wanted.keys;
    let mut locked = Locked {
        unlocked,
        ..Locked::default()
    };
    locked.rests_on = newest_not_visible(shared, keys);
    // Where nothing was committed since, nothing has changed.
    let has_news = shared.entered.load(Ordering::Acquire) > seen.timestamp;
    let newest = has_news.then(|| MvccSnapshot {
        view: Arc::new(View::open(Arc::clone(shared), locked.rests_on)),
    });
    if newest.is_some() && asks.for_changes() {
        let states = states(seen, keys).await?;
        locks.note_there(
            keys.iter()
                .zip(&states)
                .map(|(key, state)| (key.as_slice(), state.is_there)),
        );
        let changed = states.iter().enumerate().filter(|(_, state)| state.is_changed);
        locked.changed = changed.map(|(at, _)| at).collect();
    }
    if asks.for_values() {
        let values = match &newest {
            Some(newest) => newest.get_many(keys).await?,
            None => since.get_many(keys).await?,
        };
        locks.note_there(there(keys, &values));
        locked.values = values;
    }
    Ok(locked)
}

/// See [`Store::lock_range`](crate::store::Store::lock_range).
pub(super) async fn lock_range(
    shared: &Arc<Shared>,
    locks: &HeldLocks,
    wanted: WantedRange<'_>,
    since: &Arc<dyn Snapshot>,
) -> Result<Option<u64>> {
    if !locks.acquire_range(wanted)? {
        return Ok(None);
    }
    let seen = view_of(shared, since)?;
    let entered = shared.entered.load(Ordering::Acquire);
    let rests_on = Some(entered).filter(|entered| *entered > shared.undo.visible());
    let rests_on = rests_on.unwrap_or(0);
    let newest = || MvccSnapshot {
        view: Arc::new(View::open(Arc::clone(shared), rests_on)),
    };
    // Where nothing was committed since, nothing has changed.
    let has_news = entered > seen.timestamp;
    let is_so = match wanted.state {
        RangeState::Absent => {
            is_empty(since.as_ref(), &wanted).await? && (!has_news || is_empty(&newest(), &wanted).await?)
        }
        RangeState::Unchanged => {
            !has_news
                || states(seen, wanted.keys)
                    .await?
                    .iter()
                    .all(|state| !state.is_changed)
        }
    };
    match is_so {
        true => locks.note_range(wanted),
        false => locks.release_range(wanted),
    }
    Ok(is_so.then_some(rests_on))
}

/// Whether a snapshot has nothing in the range.
async fn is_empty(snapshot: &dyn Snapshot, wanted: &WantedRange<'_>) -> Result<bool> {
    let mut page = Page::default();
    let mut scan = snapshot.scan(ScanRequest {
        ranges: wanted.range().into_iter().collect(),
        reverse: false,
        keys_only: true,
        read_ahead: false,
        page_rows_max: 1,
        page_bytes_max: usize::MAX,
    });
    scan.next_page(&mut page).await?;
    Ok(page.is_empty())
}

/// The newest commit that wrote one of the keys, if it is not visible yet; else 0.
fn newest_not_visible(shared: &Shared, keys: &[Vec<u8>]) -> Timestamp {
    let visible = shared.undo.visible();
    if shared.entered.load(Ordering::Acquire) <= visible {
        return 0;
    }
    let written = keys.iter().filter_map(|key| shared.memtable.last_write(key));
    let newest = written.map(|(timestamp, _)| timestamp).max();
    newest.filter(|newest| *newest > visible).unwrap_or(0)
}

fn there<'a>(keys: &'a [Vec<u8>], values: &'a Values) -> impl Iterator<Item = (&'a [u8], bool)> {
    let keys = keys.iter().enumerate();
    keys.map(|(at, key)| (key.as_slice(), values.get(at).is_some()))
}

/// What has become of keys since the view.
async fn states(view: &Arc<View>, keys: &[Vec<u8>]) -> Result<Vec<KeyState>> {
    if keys.len() <= INLINE_KEYS_MAX {
        return look(view, keys);
    }
    let (view, keys) = (Arc::clone(view), keys.to_vec());
    run_blocking(move || look(&view, &keys)).await
}

fn look(view: &View, keys: &[Vec<u8>]) -> Result<Vec<KeyState>> {
    let states = keys.iter().map(|key| state_of(view, key));
    let states = states.collect::<Result<Vec<_>>>()?;
    // Only now is it sure that what the undo map did not have was not there.
    view.check()?;
    Ok(states)
}
