//! Keys as the tree holds them: never empty. Called by the engine for every key and bound; knows nothing of the tree.
//!
//! A key of nothing but 00 bytes (the empty one among them) gets one more; every other key is as it was. Order stays:
//! whatever holds another byte stands behind any number of 00 bytes, and among themselves they compare by length.

use std::borrow::Cow;

/// The key in the tree.
pub(super) fn to_tree(key: &[u8]) -> Cow<'_, [u8]> {
    match key.iter().all(|byte| *byte == 0) {
        true => Cow::Owned(vec![0; key.len() + 1]),
        false => Cow::Borrowed(key),
    }
}

/// The key that is so in the tree.
pub(super) fn from_tree(key: &[u8]) -> &[u8] {
    match key.iter().all(|byte| *byte == 0) {
        true => key.get(1..).unwrap_or_default(),
        false => key,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![5 => Just(0), 1 => Just(1)], 0..5)
    }

    proptest! {
        #[test]
        fn keys_come_back_and_keep_their_order(one in key(), other in key()) {
            let held = to_tree(&one);
            prop_assert!(!held.is_empty());
            prop_assert_eq!(from_tree(&held), &one[..]);
            prop_assert_eq!(to_tree(&one).cmp(&to_tree(&other)), one.cmp(&other));
        }
    }
}
