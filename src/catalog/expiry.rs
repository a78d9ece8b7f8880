//! `Expiry`: what a table's options say of when its rows are over, as they are written. Set by
//! `sql::ddl`; knows no clock.
//!
//! Invariants:
//!
//! 1. Where `may_be_over` is false no row of the table states an expiry, and none is judged.
//! 2. A row that tells when it was written was written under an expiry; of any other `since` is taken for it.

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
            text => Some(micros_of(text)?),
        };
        Some(())
    }

    /// The TTL in seconds, as it may be written.
    pub fn ttl_text(&self) -> Option<String> {
        self.ttl.map(micros_text)
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

/// The microseconds of a time as options have it: seconds or an interval, above 0. `None` for what is neither, or beyond a thousand years.
pub(super) fn micros_of(text: &str) -> Option<i64> {
    let micros = match text.parse::<i64>() {
        Ok(seconds) => i128::from(seconds) * 1_000_000,
        Err(_) => interval_micros(text)?,
    };
    (1..=TTL_MAX).contains(&micros).then_some(())?;
    i64::try_from(micros).ok()
}

/// Microseconds as seconds, as options may have them.
pub(super) fn micros_text(micros: i64) -> String {
    let (seconds, rest) = (micros / 1_000_000, micros % 1_000_000);
    match rest {
        0 => seconds.to_string(),
        rest => format!("{seconds}.{rest:06}").trim_end_matches('0').to_string(),
    }
}

/// `None`: it is no interval.
fn interval_micros(text: &str) -> Option<i128> {
    let settings = FormatSettings::default();
    match Value::parse(text, &SqlType::Interval(None), &settings) {
        Ok(Value::Interval(interval)) => Some(interval.epoch()),
        _ => None,
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
