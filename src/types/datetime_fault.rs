//! Why text is no date, time or interval, with PostgreSQL's SQLSTATE and wording. What the
//! `datetime_` readers answer one another.

use crate::Error;

/// Why text is no date; PostgreSQL's DTERR codes.
#[derive(Debug, PartialEq)]
pub(crate) enum Fault {
    Format,
    FieldOverflow,
    MonthDayOverflow,
    OffsetOverflow,
    UnknownZone(String),
}

impl Fault {
    pub(super) fn error(self, text: &str, type_name: &str) -> Error {
        match self {
            Fault::Format => Error::InvalidDatetime {
                type_name: type_name.to_string(),
                value: text.to_string(),
            },
            Fault::FieldOverflow => Error::DatetimeOverflow {
                message: format!("date/time field value out of range: \"{text}\""),
            },
            Fault::MonthDayOverflow => Error::RefusedValue {
                state: "22008",
                message: format!("date/time field value out of range: \"{text}\""),
                detail: None,
                hint: Some("Perhaps you need a different \"datestyle\" setting."),
            },
            Fault::OffsetOverflow => Error::DataException {
                state: "22009",
                message: format!("time zone displacement out of range: \"{text}\""),
            },
            Fault::UnknownZone(name) => Error::InvalidParameter {
                message: format!("time zone \"{name}\" not recognized"),
                hint: None,
            },
        }
    }
}
