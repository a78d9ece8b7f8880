//! The rule that a table's options make of when its rows are over, by which `txn` judges stored rows; and those of a whole catalog. Knows no
//! clock.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::{Catalog, ColumnDef, TableDef};
use crate::codec::expiry::{ExpiryBase, ExpiryRule, ExpiryRules, MomentUnit};
use crate::codec::keyspace::entry_prefix;
use crate::codec::{KeyRange, key, prefix_end};
use crate::types::{SqlType, Value};

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
