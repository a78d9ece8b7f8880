//! `Numeric`: an exact decimal constant, as wide as SQL text can write one that we store or compare with.

use arrow::datatypes::i256;

use crate::Result;

/// A numeric constant: up to 76 digits, or one of PostgreSQL's three special values (which no column stores).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Numeric {
    /// `unscaled × 10^-scale`.
    Finite { unscaled: i256, scale: u8 },
    /// Below everything.
    NegativeInfinity,
    /// Above everything finite.
    Infinity,
    /// Equal to itself and above everything else, as in PostgreSQL.
    NaN,
}

impl Numeric {
    /// Reads `12.5`, `-1e20`, `NaN`, `Infinity` as PostgreSQL does (blanks around allowed, `_` not).
    /// Errors: 22P02 when it is no number, 22003 above 76 digits.
    pub fn parse(_text: &str) -> Result<Numeric> {
        unimplemented!()
    }
    /// From an integer.
    pub fn from_i64(value: i64) -> Numeric {
        Numeric::Finite {
            unscaled: i256::from(value),
            scale: 0,
        }
    }
    /// The same value with `scale` digits behind the point, rounded half away from zero. 22003 when it does not fit.
    pub fn rescale(&self, _scale: u8) -> Result<Numeric> {
        unimplemented!()
    }
    /// The largest integer not above it / smallest not below it, when it fits i128 (`None` for specials and beyond).
    pub fn floor(&self) -> Option<i128> {
        unimplemented!()
    }
    /// See [`Numeric::floor`].
    pub fn ceil(&self) -> Option<i128> {
        unimplemented!()
    }
    /// The nearest double, as PostgreSQL casts.
    pub fn to_f64(&self) -> f64 {
        unimplemented!()
    }
    /// The exact decimal of a finite double as PostgreSQL's float8→numeric cast gives it (15 significant digits).
    pub fn from_f64(_value: f64) -> Result<Numeric> {
        unimplemented!()
    }
}

impl std::cmp::PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl std::cmp::Ord for Numeric {
    /// By value, whatever the scale; NaN above Infinity.
    fn cmp(&self, _other: &Self) -> std::cmp::Ordering {
        unimplemented!()
    }
}
