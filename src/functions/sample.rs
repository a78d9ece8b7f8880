//! TABLESAMPLE: what its percentage may be, and the chance of each row where REPEATABLE says the seed. Used by the binder.

use super::definition::Body;
use crate::codec::postgresql_hash::hash;
use crate::{Error, Result};

/// 53 bits, as many as a double has.
const CHANCES: i64 = (1 << 53) - 1;

/// The percentage of a sample, checked; takes NULL. Errors: 2202H.
pub const SAMPLE_PERCENTAGE: Body = Body::Batch(|b| b.map1(percentage));

/// A number from 0 to 100 that a row's key, as text, has with a seed, which may be NULL. Errors: 2202G.
pub const SAMPLE_CHANCE: Body = Body::Batch(|b| b.map2(chance));

fn percentage(percentage: Option<f64>) -> Result<f64> {
    let message = match percentage {
        Some(percentage) if (0.0..=100.0).contains(&percentage) => return Ok(percentage),
        Some(_) => "sample percentage must be between 0 and 100",
        None => "TABLESAMPLE parameter cannot be null",
    };
    Err(Error::DataException {
        state: "2202H",
        message: message.to_string(),
    })
}

fn chance(key: &str, seed: Option<f64>) -> Result<f64> {
    let seed = seed.ok_or_else(|| Error::DataException {
        state: "2202G",
        message: "TABLESAMPLE REPEATABLE parameter cannot be null".to_string(),
    })?;
    let bits = hash(key.as_bytes(), seed.to_bits() >> 2) as i64 & CHANCES;
    Ok(bits as f64 * (100.0 / (CHANCES + 1) as f64))
}
