//! Keys as sled holds them: never four FF bytes in a row. Called by `tree` for every key and every bound of a scan; knows
//! nothing of values.
//!
//! To step back over the border of a node, sled looks for the node before the key `lo` by a guess: `lo` with its last
//! byte less one, then four FF bytes. A key that goes on with more FF bytes there (every small negative integer is
//! `7F FF FF FF FF FF FF FF`) stands above the guess; sled finds a node too low, steps forward, one too high, and gives
//! up after a million rounds. So after every third FF byte in a row a byte 00 is put in:
//!
//! ```text
//! 20 7F FF FF FF FF FF FF FF          a key
//! 20 7F FF FF FF 00 FF FF FF 00 FF    what sled holds
//! ```
//!
//! 1. It keeps the order: where two keys differ first, they have had the same bytes and so the same stuffing before.
//! 2. It keeps prefixes: a key's bytes depend on what stands before them alone.
//! 3. It is undone without doubt: what follows three FF bytes is always stuffing, and is 00.
//! 4. What begins with four FF bytes is no key: `tree` keeps its own entries there.

use std::borrow::Cow;

/// How many FF bytes may stand in a row.
const RUN_MAX: usize = 3;
/// What ends a run of them. Any byte but FF would do.
const STUFFING: u8 = 0;

/// The key as sled holds it; borrowed when it has no run of FF bytes.
pub(super) fn stuff(key: &[u8]) -> Cow<'_, [u8]> {
    if !has_run(key) {
        return Cow::Borrowed(key);
    }
    let mut stuffed = Vec::with_capacity(key.len() + key.len() / RUN_MAX);
    let mut run = 0;
    for &byte in key {
        stuffed.push(byte);
        run = if byte == 0xFF { run + 1 } else { 0 };
        if run == RUN_MAX {
            stuffed.push(STUFFING);
            run = 0;
        }
    }
    Cow::Owned(stuffed)
}

/// The key that was stuffed, in `buffer` if it is not the same; `None`: these bytes are no stuffed key.
pub(super) fn unstuff<'a>(stuffed: &'a [u8], buffer: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    if !has_run(stuffed) {
        return Some(stuffed);
    }
    buffer.clear();
    let mut run = 0;
    for &byte in stuffed {
        if run == RUN_MAX {
            if byte != STUFFING {
                return None;
            }
            run = 0;
            continue;
        }
        buffer.push(byte);
        run = if byte == 0xFF { run + 1 } else { 0 };
    }
    (run < RUN_MAX).then_some(buffer.as_slice())
}

/// Whether as many FF bytes stand in a row as may.
fn has_run(bytes: &[u8]) -> bool {
    let mut run = 0;
    bytes.contains(&0xFF)
        && bytes.iter().any(|&byte| {
            run = if byte == 0xFF { run + 1 } else { 0 };
            run == RUN_MAX
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Keys of few different bytes, so that they have runs and share prefixes.
    fn key() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(
            prop_oneof![6 => Just(0xFF), 2 => Just(0), 1 => Just(0xFE), 1 => Just(7)],
            0..24,
        )
    }

    fn longest_run(bytes: &[u8]) -> usize {
        let runs = bytes.split(|byte| *byte != 0xFF);
        runs.map(<[u8]>::len).max().unwrap_or_default()
    }

    #[test]
    fn the_example_of_the_head() {
        let key = [0x20, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
        let stuffed = [0x20, 0x7F, 0xFF, 0xFF, 0xFF, 0, 0xFF, 0xFF, 0xFF, 0, 0xFF];
        assert_eq!(&*stuff(&key), stuffed);
        assert_eq!(unstuff(&stuffed, &mut Vec::new()), Some(&key[..]));
        assert_eq!(unstuff(&[0xFF; 4], &mut Vec::new()), None);
        assert_eq!(unstuff(&[0xFF; 3], &mut Vec::new()), None);
        assert!(matches!(stuff(&[0xFF, 0xFF, 0]), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn keys_come_back_without_long_runs(key in key()) {
            let stuffed = stuff(&key);
            prop_assert!(longest_run(&stuffed) <= RUN_MAX);
            let mut buffer = Vec::new();
            prop_assert_eq!(unstuff(&stuffed, &mut buffer), Some(&key[..]));
        }

        #[test]
        fn order_and_prefixes_are_kept(one in key(), other in key(), tail in key()) {
            prop_assert_eq!(stuff(&one).cmp(&stuff(&other)), one.cmp(&other));
            let longer = [one.clone(), tail].concat();
            prop_assert!(stuff(&longer).starts_with(&stuff(&one)));
            prop_assert_eq!(stuff(&longer).starts_with(&stuff(&other)), longer.starts_with(&other));
        }
    }
}
