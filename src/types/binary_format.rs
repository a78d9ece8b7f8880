//! The numbers of PostgreSQL's binary forms that reading (`binary_input`) and writing (`scalar`) share.

use super::datetime::MICROS_PER_DAY;

/// Microseconds from 1970-01-01 to 2000-01-01, where PostgreSQL's binary timestamps begin.
pub(super) const EPOCH_MICROS: i64 = 10_957 * MICROS_PER_DAY;
/// Days from 1970-01-01 to 2000-01-01.
pub(super) const EPOCH_DAYS: i32 = 10_957;
/// Signs of a binary numeric.
pub(super) const NUMERIC_NEGATIVE: u16 = 0x4000;
pub(super) const NUMERIC_NAN: u16 = 0xC000;
pub(super) const NUMERIC_INFINITY: u16 = 0xD000;
pub(super) const NUMERIC_NEGATIVE_INFINITY: u16 = 0xF000;
