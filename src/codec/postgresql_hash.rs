//! PostgreSQL's own hashes of values: Bob Jenkins's lookup3 as PostgreSQL has it, so that a number, and the partition that a row is in, is the
//! same on both.

use crate::types::Value;
use crate::{Error, Result};

/// So that a bigint hashes as the integer that equals it.
pub fn folded(number: i64) -> u32 {
    let (low, high) = (number as u32, (number >> 32) as u32);
    match number >= 0 {
        true => low ^ high,
        false => low ^ !high,
    }
}

/// The state of lookup3.
struct State {
    a: u32,
    b: u32,
    c: u32,
}

impl State {
    fn new(length: usize, seed: u64) -> State {
        let start = 0x9e37_79b9_u32
            .wrapping_add(length as u32)
            .wrapping_add(3_923_095);
        let mut state = State {
            a: start,
            b: start,
            c: start,
        };
        if seed != 0 {
            state.add((seed >> 32) as u32, seed as u32, 0);
            state.mix();
        }
        state
    }

    fn add(&mut self, a: u32, b: u32, c: u32) {
        self.a = self.a.wrapping_add(a);
        self.b = self.b.wrapping_add(b);
        self.c = self.c.wrapping_add(c);
    }

    fn mix(&mut self) {
        let State { a, b, c } = self;
        for (first, second) in [(4, 6), (16, 19)] {
            *a = a.wrapping_sub(*c) ^ c.rotate_left(first);
            *c = c.wrapping_add(*b);
            *b = b.wrapping_sub(*a) ^ a.rotate_left(second);
            *a = a.wrapping_add(*c);
            *c = c.wrapping_sub(*b) ^ b.rotate_left(if first == 4 { 8 } else { 4 });
            *b = b.wrapping_add(*a);
        }
    }

    fn finish(mut self) -> u64 {
        let State { a, b, c } = &mut self;
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(14));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(11));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(25));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(16));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(4));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(14));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(24));
        (u64::from(*b) << 32) | u64::from(*c)
    }
}

/// The hash of bytes, 64 bits of it.
pub fn hash(bytes: &[u8], seed: u64) -> u64 {
    let mut state = State::new(bytes.len(), seed);
    let mut blocks = bytes.chunks_exact(12);
    let word = |bytes: &[u8]| {
        let shifted = bytes.iter().zip(0..);
        shifted.fold(0, |word, (byte, at)| word | (u32::from(*byte) << (8 * at)))
    };
    for block in &mut blocks {
        state.add(word(&block[..4]), word(&block[4..8]), word(&block[8..]));
        state.mix();
    }
    let rest = blocks.remainder();
    let part = |at: usize| word(&rest[at.min(rest.len())..(at + 4).min(rest.len())]);
    // The lowest byte of the last word is the length's.
    state.add(part(0), part(4), part(8) << 8);
    state.finish()
}

/// The hash of a number, 64 bits of it.
pub fn hash_u32(number: u32, seed: u64) -> u64 {
    let mut state = State::new(4, seed);
    state.add(number, 0, 0);
    state.finish()
}

/// What PostgreSQL hashes keys of partitions with.
const PARTITION_SEED: u64 = 0x7A5B_2236_7996_DCFD;
/// Microseconds from 1970 to 2000, from which on PostgreSQL counts.
const EPOCH_MICROSECONDS: i64 = 946_684_800_000_000;
/// The same in days.
const EPOCH_DAYS: i32 = 10_957;

/// The hash by which rows with these values in the columns of the partition key are told apart: PostgreSQL's, so that they stand in the same
/// partitions there. Errors: 0A000 for a type that has none here.
pub fn partition_hash(values: &[Value]) -> Result<u64> {
    let mut combined = 0u64;
    for value in values.iter().filter(|value| **value != Value::Null) {
        let hash = hash_of(value)?;
        let mixed = hash
            .wrapping_add(0x49a0_f4dd_15e5_a8e3)
            .wrapping_add(combined << 54)
            .wrapping_add(combined >> 7);
        combined ^= mixed;
    }
    Ok(combined)
}

fn hash_of(value: &Value) -> Result<u64> {
    let of_number = |number: i64| hash_u32(folded(number), PARTITION_SEED);
    Ok(match value {
        Value::Bool(truth) => hash_u32(u32::from(*truth), PARTITION_SEED),
        Value::Int(number) => of_number(*number),
        Value::Text(text) => hash(text.as_bytes(), PARTITION_SEED),
        Value::Bytes(bytes) => hash(bytes, PARTITION_SEED),
        Value::Uuid(bytes) => hash(bytes, PARTITION_SEED),
        Value::Date(days) => hash_u32(days.wrapping_sub(EPOCH_DAYS) as u32, PARTITION_SEED),
        Value::Timestamp(at) | Value::TimestampTz(at) => of_number(at.wrapping_sub(EPOCH_MICROSECONDS)),
        Value::Time(at) => of_number(*at),
        other => {
            return Err(Error::unsupported(
                format!("a partition by the hash of {}", other.natural_type()),
                Some("Partition by the hash of an integer, a text, a uuid or a moment."),
            ));
        }
    })
}
