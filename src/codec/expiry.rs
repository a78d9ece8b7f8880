//! When stored rows are over: `ExpiryRule` of one table, `ExpiryRules` of all tables that have one. What of a row's bytes says it; `txn`
//! leaves rows out by it, `catalog` makes it of a table's options. Knows no clock and no SQL.
//!
//! Invariants:
//!
//! 1. A row whose value states an expiry of its own is over from that moment on, whatever the rule says besides.
//! 2. Any other is over its table's TTL after its base: its last write, or the moment in a column of it. NULL there is never.
//! 3. Only rows are judged, never entries of indexes: an entry is worth what its row is.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::key::{self, KeyField};
use super::keyspace::{ENTRY_PREFIX_BYTES, TableId};
use super::row::{ColumnId, RowReader, RowTimes, Stored, column_of_verified};
use super::stored_value::read_integer;
use crate::types::SqlType;
use crate::{Error, Result};

/// The moment of what is never over, in microseconds since 1970.
pub const NEVER: i64 = i64::MAX;

const MICROS_OF_DAY: i64 = 86_400_000_000;

/// When the rows of a table are over.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpiryRule {
    /// Where a row's time begins to count, and how long it is from there, in microseconds; `None`: only rows that say so themselves are over.
    pub lifetime: Option<(ExpiryBase, i64)>,
}

/// The moment from which a row's time counts.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpiryBase {
    /// Its last write; for a row that does not tell it, this moment, in microseconds since 1970.
    Write {
        /// The moment when the table got its rule.
        untold: i64,
    },
    /// A column of the row value.
    Value {
        /// Its id.
        id: ColumnId,
        /// What its numbers count.
        unit: MomentUnit,
        /// What a row has that was written before the column was there.
        missing: Option<i64>,
    },
    /// A column of the key.
    Key {
        /// The fields before it.
        before: Vec<KeyField>,
        /// Its own.
        field: KeyField,
        /// What its numbers count.
        unit: MomentUnit,
    },
}

/// What the numbers of a column with moments count, from 1970 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MomentUnit {
    /// timestamp, timestamptz.
    Micros,
    /// bigint.
    Millis,
    /// date.
    Days,
}

/// The rules of the tables whose rows may be over.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExpiryRules {
    rules: BTreeMap<TableId, Arc<ExpiryRule>>,
}

impl MomentUnit {
    /// Of a column of this type; `None`: it holds no moments.
    pub fn of(ty: &SqlType) -> Option<MomentUnit> {
        match ty {
            SqlType::Timestamp(_) | SqlType::TimestampTz(_) => Some(MomentUnit::Micros),
            SqlType::Int8 => Some(MomentUnit::Millis),
            SqlType::Date => Some(MomentUnit::Days),
            _ => None,
        }
    }

    /// The last count that is no later than a moment in microseconds.
    pub fn count_at(self, micros: i64) -> i64 {
        match self {
            MomentUnit::Micros => micros,
            MomentUnit::Millis => micros.div_euclid(1000),
            MomentUnit::Days => micros.div_euclid(MICROS_OF_DAY),
        }
    }

    /// The moment in microseconds; what is beyond them is the first or the last of all.
    pub fn micros(self, count: i64) -> i64 {
        match self {
            MomentUnit::Micros => count,
            MomentUnit::Millis => count.saturating_mul(1000),
            // The dates without end are beyond.
            MomentUnit::Days => count.saturating_mul(MICROS_OF_DAY),
        }
    }
}

impl ExpiryRule {
    /// The moment from which on the row under a key is over, in microseconds since 1970. Errors: `Corrupt`.
    pub fn over_at(&self, key: &[u8], row: &RowReader<'_>) -> Result<i64> {
        self.counted(key, row.times(), || Ok(*row))
    }

    /// The same of a row value of which `RowReader::new` made a reader before; of most only the beginning is read.
    #[inline]
    pub fn over_at_of_verified(&self, key: &[u8], value: &[u8]) -> Result<i64> {
        match &self.lifetime {
            Some((ExpiryBase::Value { id, unit, missing }, lifetime)) => {
                let (times, stored) = column_of_verified(value, *id)?;
                match times.expiry {
                    Some(own) => Ok(own),
                    None => Ok(after(moment_in(stored, *unit, *missing)?, *lifetime)),
                }
            }
            _ => {
                let row = || RowReader::of_verified(value);
                self.counted(key, RowTimes::of_verified(value)?, row)
            }
        }
    }

    #[inline]
    fn counted<'a>(
        &self,
        key: &[u8],
        times: RowTimes,
        row: impl FnOnce() -> Result<RowReader<'a>>,
    ) -> Result<i64> {
        if let Some(own) = times.expiry {
            return Ok(own);
        }
        let Some((base, lifetime)) = &self.lifetime else {
            return Ok(NEVER);
        };
        let base = match base {
            ExpiryBase::Write { untold } => Some(times.write_time.unwrap_or(*untold)),
            ExpiryBase::Value { id, unit, missing } => moment_in(row()?.get(*id), *unit, *missing)?,
            ExpiryBase::Key { before, field, unit } => {
                Some(unit.micros(key_number(key, before, field, *unit)?))
            }
        };
        Ok(after(base, *lifetime))
    }
}

impl ExpiryRules {
    /// Of these tables.
    pub fn new(rules: BTreeMap<TableId, ExpiryRule>) -> ExpiryRules {
        let rules = rules.into_iter().map(|(table, rule)| (table, Arc::new(rule)));
        ExpiryRules {
            rules: rules.collect(),
        }
    }

    /// That of the row which stands under a key; `None`: there is none, or it is no row's key.
    #[inline]
    pub fn of_key(&self, key: &[u8]) -> Option<&Arc<ExpiryRule>> {
        let prefix: &[u8; ENTRY_PREFIX_BYTES] = key.first_chunk()?;
        let [a, b, c, d, 0, 0] = *prefix else { return None };
        self.rules.get(&TableId::from_be_bytes([a, b, c, d]))
    }
}

/// So long after a moment, if there is one.
#[inline]
fn after(base: Option<i64>, lifetime: i64) -> i64 {
    base.map_or(NEVER, |base| base.saturating_add(lifetime))
}

/// The moment in a column of a row value. Errors: `Corrupt`.
#[inline]
fn moment_in(stored: Option<Stored<'_>>, unit: MomentUnit, missing: Option<i64>) -> Result<Option<i64>> {
    Ok(match stored {
        Some(Stored::Bytes(bytes)) => Some(unit.micros(read_integer(bytes)?)),
        Some(Stored::Null) => None,
        None => missing,
    })
}

/// A whole number of a key. Errors: `Corrupt`.
fn key_number(key: &[u8], before: &[KeyField], field: &KeyField, unit: MomentUnit) -> Result<i64> {
    let short = || Error::Corrupt {
        what: "row key".to_string(),
        reason: "it ends before a moment".to_string(),
    };
    let mut fields = key.get(ENTRY_PREFIX_BYTES..).ok_or_else(short)?;
    for field in before {
        fields = fields
            .get(key::field_length(fields, field)?..)
            .ok_or_else(short)?;
    }
    Ok(match unit {
        MomentUnit::Days => i64::from(i32::from_be_bytes(key::read_fixed(fields, field)?) ^ i32::MIN),
        MomentUnit::Micros | MomentUnit::Millis => {
            i64::from_be_bytes(key::read_fixed(fields, field)?) ^ i64::MIN
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::keyspace::entry_prefix;
    use crate::codec::row::RowWriter;
    use crate::types::Value;

    fn written(write_time: Option<i64>, expiry: Option<i64>) -> Vec<u8> {
        let mut writer = RowWriter::default();
        writer.set_times(write_time, expiry);
        writer.push_stored(3, Stored::Bytes(&5000i64.to_le_bytes()));
        writer.push_stored(4, Stored::Null);
        writer.finish()
    }

    fn over_at(rule: &ExpiryRule, key: &[u8], row: &[u8]) -> i64 {
        let moment = rule.over_at(key, &RowReader::new(row).unwrap()).unwrap();
        assert_eq!(rule.over_at_of_verified(key, row), Ok(moment));
        moment
    }

    fn of_value(id: ColumnId, unit: MomentUnit) -> ExpiryRule {
        let base = ExpiryBase::Value {
            id,
            unit,
            missing: Some(7),
        };
        ExpiryRule {
            lifetime: Some((base, 100)),
        }
    }

    #[test]
    fn a_row_is_over_its_time_after_its_last_write() {
        let rule = ExpiryRule {
            lifetime: Some((ExpiryBase::Write { untold: 40 }, 100)),
        };
        assert_eq!(over_at(&rule, b"", &written(Some(7), None)), 107);
        assert_eq!(over_at(&rule, b"", &written(None, None)), 140);
        assert_eq!(over_at(&rule, b"", &written(Some(i64::MAX - 5), None)), NEVER);
        assert_eq!(
            over_at(&rule, b"", &written(Some(7), Some(9))),
            9,
            "its own says more"
        );
        let none = ExpiryRule { lifetime: None };
        assert_eq!(over_at(&none, b"", &written(Some(7), None)), NEVER);
        assert_eq!(over_at(&none, b"", &written(Some(7), Some(9))), 9);
    }

    #[test]
    fn a_column_says_when_a_row_begins_to_count() {
        let row = written(Some(7), None);
        assert_eq!(over_at(&of_value(3, MomentUnit::Micros), b"", &row), 5100);
        assert_eq!(over_at(&of_value(3, MomentUnit::Millis), b"", &row), 5_000_100);
        assert_eq!(
            over_at(&of_value(3, MomentUnit::Days), b"", &row),
            5000 * MICROS_OF_DAY + 100
        );
        assert_eq!(
            over_at(&of_value(4, MomentUnit::Micros), b"", &row),
            NEVER,
            "NULL"
        );
        assert_eq!(
            over_at(&of_value(5, MomentUnit::Micros), b"", &row),
            107,
            "written before the column"
        );
        assert_eq!(MomentUnit::Days.micros(i64::from(i32::MAX)), NEVER, "infinity");
    }

    #[test]
    fn a_column_is_found_wherever_it_stands() {
        let moment = |at: i64| at.to_le_bytes();
        let row = |columns: &[(ColumnId, &[u8])]| {
            let mut writer = RowWriter::default();
            writer.set_times(None, None);
            for (id, bytes) in columns {
                writer.push_stored(*id, Stored::Bytes(bytes));
            }
            writer.finish()
        };
        let (one, long) = (moment(1), vec![b'x'; 70_000]);
        for (columns, over) in [
            (&[(2, &b"a"[..]), (3, &one)][..], 101),
            (&[(3, &one), (4, b"a")], 101),
            (&[(1, b"a"), (3, &one)], 101),
            (&[(1, b""), (2, &long), (3, &one)], 101),
            (&[(1, b"a"), (2, b"b"), (4, b"c")], 107),
            (&[(4, b"a"), (5, b"b")], 107),
            (&[], 107),
        ] {
            assert_eq!(
                over_at(&of_value(3, MomentUnit::Micros), b"", &row(columns)),
                over
            );
        }
    }

    #[test]
    fn a_column_of_the_key_does_wherever_it_stands_there() {
        for descending in [false, true] {
            let field = |ty| KeyField {
                ty,
                descending,
                nulls_first: false,
            };
            let (text, moment) = (field(SqlType::Text), field(SqlType::TimestampTz(None)));
            let mut key = entry_prefix(9, 0).to_vec();
            key::encode_value(&mut key, &Value::Text("a\0b".into()), &text);
            key::encode_value(&mut key, &Value::TimestampTz(-12), &moment);
            let base = ExpiryBase::Key {
                before: vec![text],
                field: moment,
                unit: MomentUnit::Micros,
            };
            let rule = ExpiryRule {
                lifetime: Some((base, 100)),
            };
            assert_eq!(over_at(&rule, &key, &written(None, None)), 88);
            let row = written(None, None);
            let row = RowReader::new(&row).unwrap();
            assert!(rule.over_at(&key[..key.len() - 1], &row).is_err());
            assert!(rule.over_at(&key[..5], &row).is_err());
        }
    }

    #[test]
    fn only_keys_of_rows_have_a_rule() {
        let rules = ExpiryRules::new(BTreeMap::from([(9, ExpiryRule { lifetime: None })]));
        assert!(rules.of_key(&entry_prefix(9, 0)).is_some());
        for key in [&entry_prefix(9, 1)[..], &entry_prefix(8, 0), b"\0\0\0\x09"] {
            assert_eq!(rules.of_key(key), None);
        }
    }
}
