//! `Expiry`: what a table's options say of when its rows are over, and the rule that it makes of it, by which `txn` judges stored rows. Set by
//! `sql::ddl`; knows no clock.
//!
//! Invariants:
//!
//! 1. Where `may_be_over` is false no row of the table states an expiry, and none is judged.
//! 2. A row that tells when it was written was written under an expiry; of any other `since` is taken for it.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::{Catalog, ColumnDef, TableDef};
use crate::codec::expiry::{ExpiryBase, ExpiryRule, ExpiryRules, MomentUnit};
use crate::codec::keyspace::entry_prefix;
use crate::codec::{KeyRange, key, prefix_end};
use crate::types::{FormatSettings, SqlType, Value};

/// When the rows of a table are over.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Expiry {
    /// TTL in microseconds, above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<i64>,
    /// TTL_COLUMN: the name of the column from which TTL counts; without a TTL it holds the moment itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// When the table got its TTL, in microseconds since 1970: rows that do not tell when they were written count from there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub since: i64,
    /// A write has given rows a time of their own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_row: bool,
}

/// The longest TTL, in microseconds: a thousand years.
const TTL_MAX: i128 = 1000 * 366 * 86_400 * 1_000_000;

fn is_zero(number: &i64) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Expiry {
    /// Whether nothing was ever said.
    pub fn is_default(&self) -> bool {
        *self == Expiry::default()
    }

    /// Whether rows may be over: each has to be asked.
    pub fn may_be_over(&self) -> bool {
        self.ttl.is_some() || self.column.is_some() || self.by_row
    }

    /// Takes a TTL as it is written: seconds or an interval, above 0; empty: never. `None` for what is neither, or beyond a thousand years.
    pub fn set_ttl(&mut self, text: &str) -> Option<()> {
        self.ttl = match text {
            "" => None,
            text => {
                let settings = FormatSettings::default();
                let Ok(Value::Interval(interval)) = Value::parse(text, &SqlType::Interval(None), &settings)
                else {
                    return None;
                };
                let micros = interval.span();
                (1..=TTL_MAX).contains(&micros).then_some(())?;
                Some(i64::try_from(micros).ok()?)
            }
        };
        Some(())
    }

    /// The TTL in seconds, as it may be written.
    pub fn ttl_text(&self) -> Option<String> {
        let micros = self.ttl?;
        let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
        Some(match rest {
            0 => seconds.to_string(),
            rest => format!("{seconds}.{rest:06}").trim_end_matches('0').to_string(),
        })
    }

    /// Takes the name of a column as it is written; empty: none.
    pub fn set_column(&mut self, name: &str) {
        self.column = Some(name.to_string()).filter(|name| !name.is_empty());
    }

    /// Whether rows that say nothing themselves may be.
    pub fn is_of_all_rows(&self) -> bool {
        self.ttl.is_some() || self.column.is_some()
    }
}

impl TableDef {
    /// The rule by which its rows are over; `None`: they never are.
    pub fn expiry_rule(&self) -> Option<ExpiryRule> {
        let expiry = &self.options.expiry;
        if !expiry.may_be_over() {
            return None;
        }
        let column = expiry
            .column
            .as_deref()
            .and_then(|name| self.whole_column_index(name));
        let base = match column {
            Some(at) => self
                .base_of(&self.columns[at])
                .map(|base| (base, expiry.ttl.unwrap_or(0))),
            None => expiry
                .ttl
                .map(|ttl| (ExpiryBase::Write { untold: expiry.since }, ttl)),
        };
        Some(ExpiryRule { lifetime: base })
    }

    /// Where the rows are that are over at a moment, in microseconds since 1970, and no others, when TTL_COLUMN stands first in the key.
    /// `None`: they may be anywhere.
    pub fn range_over(&self, moment: i64) -> Option<KeyRange> {
        let expiry = self.options.expiry.clone();
        let column = self.whole_column_index(expiry.column.as_deref().filter(|_| !expiry.by_row)?)?;
        let key = self.primary_key.columns.first()?;
        let column = self
            .columns
            .get(column)
            .filter(|column| column.id == key.column)?;
        let field = self.fields_of(std::slice::from_ref(key)).pop()?;
        let unit = MomentUnit::of(&column.ty)?;
        let last = unit.count_at(moment.saturating_sub(expiry.ttl.unwrap_or(0)));
        let value = match &column.ty {
            SqlType::Date => {
                Value::Date(i32::try_from(last).unwrap_or(if last < 0 { i32::MIN } else { i32::MAX }))
            }
            SqlType::Timestamp(_) => Value::Timestamp(last),
            SqlType::TimestampTz(_) => Value::TimestampTz(last),
            _ => Value::Int(last),
        };
        let mut bound = entry_prefix(self.id, self.primary_key.id).to_vec();
        let all = KeyRange::of_prefix(&bound);
        key::encode_value(&mut bound, &value, &field);
        Some(match field.descending {
            true => KeyRange {
                start: bound,
                end: all.end,
            },
            false => KeyRange {
                start: all.start,
                end: prefix_end(&bound),
            },
        })
    }

    /// `None` for a column of a type that holds no moments, which nobody could name.
    fn base_of(&self, column: &ColumnDef) -> Option<ExpiryBase> {
        let unit = MomentUnit::of(&column.ty)?;
        let key = &self.primary_key.columns;
        match key.iter().position(|key| key.column == column.id) {
            Some(at) => {
                let mut before = self.fields_of(key.get(..=at)?);
                let field = before.pop()?;
                Some(ExpiryBase::Key { before, field, unit })
            }
            None => Some(ExpiryBase::Value {
                id: column.id,
                unit,
                missing: moment_of(&column.missing, unit),
            }),
        }
    }
}

/// The moment that a value is, in microseconds since 1970; `None`: it is NULL.
fn moment_of(value: &Value, unit: MomentUnit) -> Option<i64> {
    match value {
        Value::Int(count) | Value::Timestamp(count) | Value::TimestampTz(count) => Some(unit.micros(*count)),
        Value::Date(days) => Some(unit.micros(i64::from(*days))),
        _ => None,
    }
}

/// The rules of a catalog, worked out when they are first asked for. A clone, which is made to be changed, starts without.
#[derive(Debug, Default)]
pub(super) struct ExpiryCache(OnceLock<Option<Arc<ExpiryRules>>>);

impl Clone for ExpiryCache {
    fn clone(&self) -> ExpiryCache {
        ExpiryCache::default()
    }
}

impl Catalog {
    /// The rules of the tables whose rows may be over; `None`: there are none.
    pub fn expiry_rules(&self) -> Option<&Arc<ExpiryRules>> {
        let rules = self.expiry.0.get_or_init(|| {
            let rules = self
                .tables()
                .filter_map(|table| Some((table.id, table.expiry_rule()?)));
            let rules: BTreeMap<_, _> = rules.collect();
            (!rules.is_empty()).then(|| Arc::new(ExpiryRules::new(rules)))
        });
        rules.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_is_seconds_or_an_interval() {
        for (written, text) in [
            ("2592000", Some("2592000")),
            ("1 day", Some("86400")),
            ("1 mon", Some("2592000")),
            ("0.5", Some("0.5")),
            ("250 ms", Some("0.25")),
            ("P1DT1H", Some("90000")),
            ("", None),
        ] {
            let mut expiry = Expiry {
                ttl: Some(7),
                ..Expiry::default()
            };
            assert_eq!(expiry.set_ttl(written), Some(()), "{written}");
            assert_eq!(expiry.ttl_text().as_deref(), text, "{written}");
            assert_eq!(expiry.may_be_over(), text.is_some());
        }
        for refused in ["0", "-5", "soon", "1 fortnight", "2000 years", "NULL"] {
            assert_eq!(Expiry::default().set_ttl(refused), None, "{refused}");
        }
    }

    #[test]
    fn records_of_tables_without_expiry_say_nothing_of_it() {
        let json = serde_json::to_string(&Expiry::default()).unwrap();
        assert_eq!(json, "{}");
        let expiry = Expiry {
            ttl: Some(5),
            column: Some("ts".into()),
            since: 9,
            by_row: true,
        };
        let json = serde_json::to_string(&expiry).unwrap();
        assert_eq!(serde_json::from_str::<Expiry>(&json).unwrap(), expiry);
    }
}
