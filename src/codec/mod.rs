//! Bytes of keys and rows. `key`: order-preserving fields. `row`: the value of a row. `keyspace`: every kind of key
//! that is stored. Knows nothing of transactions or SQL.

pub mod key;
pub mod keyspace;
pub mod row;

/// The smallest key above every key that starts with `prefix`: trailing FF dropped, last byte plus one.
/// `None`: there is none.
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while end.last() == Some(&0xFF) {
        end.pop();
    }
    *end.last_mut()? += 1;
    Some(end)
}

/// The smallest key above `key`: `key ‖ 00`.
pub fn successor(key: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    next
}
