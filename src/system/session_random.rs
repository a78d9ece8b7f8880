//! `SessionRandom`: the numbers that `random()` gives in a session. They are PostgreSQL's, xoroshiro128**, so that those behind `setseed`
//! are the same there and here.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Mutex, PoisonError};

/// Where a session's sequence of random numbers stands; `None`: nobody has asked yet.
#[derive(Debug, Default)]
pub struct SessionRandom(Mutex<Option<[u64; 2]>>);

impl SessionRandom {
    /// Begins anew. `seed`: -1 to 1.
    pub fn seed(&self, seed: f64) {
        let seed = ((1_u64 << 52) - 1) as f64 * seed;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(seeded(seed as i64 as u64));
    }

    /// The next: 0 to 1, without 1.
    pub fn next(&self) -> f64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let state = state.get_or_insert_with(|| seeded(RandomState::new().build_hasher().finish()));
        let [first, second] = *state;
        let mixed = first ^ second;
        let value = first.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        *state = [
            first.rotate_left(24) ^ mixed ^ (mixed << 16),
            mixed.rotate_left(37),
        ];
        (value >> 12) as f64 / (1_u64 << 52) as f64
    }
}

/// splitmix64 of a seed, twice.
fn seeded(seed: u64) -> [u64; 2] {
    let mut seed = seed;
    let mut next = || {
        seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut value = seed;
        value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        value ^ (value >> 31)
    };
    [next(), next()]
}
