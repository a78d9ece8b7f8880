//! Where to cut a key range into parts of about the same size, for an engine without statistics. Called by
//! `MvccStore::split_points`.

use std::collections::BTreeSet;

use super::cursor::Cursor;
use super::page_limits::Limits;
use super::scan::{Content, Wait, fill};
use super::view::View;
use crate::Result;
use crate::store::{KeyRange, Page};

/// Up to this many keys are walked, so that the cuts are exact.
const WALK_KEYS_MAX: usize = 1_000;

/// Keys probed for each part of a larger range.
const PROBES_PER_PART: usize = 32;

/// Bytes behind the common prefix that probing counts with.
const DIGITS: usize = 8;

/// Up to `parts - 1` sorted keys inside `range`, each a key that exists.
///
/// A range of few keys is walked and cut exactly. In a larger one, probes halve the gaps between keys found, widest
/// numerically first, and the cuts are taken evenly among the keys found. That costs a bounded number of engine reads,
/// and errs where keys are dense in one place and sparse in another.
pub(super) fn split_points(view: &View, range: &KeyRange, parts: usize) -> Result<Vec<Vec<u8>>> {
    let Some(keys) = walk(view, range, WALK_KEYS_MAX + 1)? else {
        return Ok(Vec::new());
    };
    if keys.len() <= WALK_KEYS_MAX {
        return Ok(cut(&keys.iter().map(Vec::as_slice).collect::<Vec<_>>(), parts));
    }
    let (Some(first), Some(last)) = (keys.into_iter().next(), edge(view, range, true)?) else {
        return Ok(Vec::new());
    };
    let found = probe(view, range, first, last, parts.saturating_mul(PROBES_PER_PART))?;
    Ok(cut(&found.iter().map(Vec::as_slice).collect::<Vec<_>>(), parts))
}

/// `parts - 1` keys evenly among `keys`; the first key cuts nothing off, so it is no cut.
fn cut(keys: &[&[u8]], parts: usize) -> Vec<Vec<u8>> {
    let mut cuts: Vec<Vec<u8>> = (1..parts)
        .filter_map(|part| keys.get(part * keys.len() / parts))
        .map(|key| key.to_vec())
        .collect();
    cuts.dedup();
    cuts.retain(|key| keys.first().is_some_and(|first| key != first));
    cuts
}

/// The first `keys_max` keys of the range; `None` when it is empty.
fn walk(view: &View, range: &KeyRange, keys_max: usize) -> Result<Option<Vec<Vec<u8>>>> {
    let mut cursor = Cursor::new(vec![range.clone()], false);
    let mut keys = Vec::new();
    let mut page = Page::new();
    while keys.len() < keys_max && !cursor.is_done() {
        page.clear();
        fill(
            view,
            &mut cursor,
            &Content::Keys,
            Limits::new(1024, 1 << 20),
            Wait::May,
            &mut page,
        )?;
        keys.extend(page.iter().map(|(key, _)| key.to_vec()));
    }
    Ok((!keys.is_empty()).then_some(keys))
}

/// The first key of the range, or the last.
fn edge(view: &View, range: &KeyRange, last: bool) -> Result<Option<Vec<u8>>> {
    let mut cursor = Cursor::new(vec![range.clone()], last);
    let mut page = Page::new();
    while page.is_empty() && !cursor.is_done() {
        fill(
            view,
            &mut cursor,
            &Content::Keys,
            Limits::new(1, 1),
            Wait::May,
            &mut page,
        )?;
    }
    Ok(page.last().map(|(key, _)| key.to_vec()))
}

/// Keys of the range from `first` to `last`, spread over it.
fn probe(
    view: &View,
    range: &KeyRange,
    first: Vec<u8>,
    last: Vec<u8>,
    probes: usize,
) -> Result<BTreeSet<Vec<u8>>> {
    let prefix = first.iter().zip(&last).take_while(|(a, b)| a == b).count();
    // Gaps not yet halved, by width.
    let mut gaps = BTreeSet::from([(
        number(&last, prefix) - number(&first, prefix),
        first.clone(),
        last.clone(),
    )]);
    let mut found = BTreeSet::from([first, last]);
    for _ in 0..probes {
        let Some((width, low, high)) = gaps.pop_last() else {
            break;
        };
        if width < 2 {
            break;
        }
        let mut middle = low.get(..prefix).unwrap_or_default().to_vec();
        middle.extend_from_slice(&(number(&low, prefix) + width / 2).to_be_bytes());
        let upper = KeyRange {
            start: middle,
            end: range.end.clone(),
        };
        let Some(key) = edge(view, &upper, false)? else {
            continue;
        };
        if key < high {
            let at = number(&key, prefix);
            gaps.insert((at.saturating_sub(number(&low, prefix)), low, key.clone()));
            gaps.insert((number(&high, prefix).saturating_sub(at), key.clone(), high));
            found.insert(key);
        } else {
            // Nothing stands in the upper half: look in the lower one.
            let middle = upper_bound(&low, prefix, width / 2);
            gaps.insert((width / 2, low, middle));
        }
    }
    found.retain(|key| range.end.as_ref().is_none_or(|end| key < end));
    Ok(found)
}

/// The key that stands `distance` above `low`, for counting only.
fn upper_bound(low: &[u8], prefix: usize, distance: u64) -> Vec<u8> {
    let mut key = low.get(..prefix).unwrap_or_default().to_vec();
    key.extend_from_slice(&number(low, prefix).saturating_add(distance).to_be_bytes());
    key
}

/// The bytes behind the common prefix as a number.
fn number(key: &[u8], prefix: usize) -> u64 {
    let mut digits = [0; DIGITS];
    for (digit, byte) in digits.iter_mut().zip(key.get(prefix..).unwrap_or_default()) {
        *digit = *byte;
    }
    u64::from_be_bytes(digits)
}
