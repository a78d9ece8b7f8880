//! `BatchBuilder`: records of data to columns of values, a batch at a time. Called by `reading`.

use std::ops::Range;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::compute::filter;

use crate::catalog::ColumnDef;
use crate::codec::row::{ColumnBuilder, Stored};
use crate::copy::{CopyFormat, FieldValue, Record};
use crate::sql::dml::Given;
use crate::types::{FormatSettings, SqlType, Value};
use crate::{Error, Result};

/// Rows of a batch.
pub(super) const ROWS_MAX: usize = 1024;

/// Collects rows.
#[derive(Debug)]
pub(super) struct BatchBuilder {
    columns: Vec<ColumnReader>,
    /// Where each row stands in the data.
    origins: Vec<Origin>,
    /// Whether each row is kept; empty while all are.
    kept: Vec<bool>,
    settings: FormatSettings,
    is_binary: bool,
}

/// Where a row stands in the data.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    /// Its line, or its number; counts from 1.
    pub(super) number: u64,
    /// Its line's place among the decoder's, unless the data is binary.
    pub(super) line: Option<Range<usize>>,
}

/// What is wrong with a record.
#[derive(Debug)]
pub(super) struct RecordFault {
    /// Which column, if it is one.
    pub(super) column: Option<usize>,
    pub(super) error: Box<Error>,
}

#[derive(Debug)]
struct ColumnReader {
    name: String,
    ty: SqlType,
    builder: ColumnBuilder,
    /// What NULL reads as (FORCE_NOT_NULL).
    null_text: Option<String>,
    /// What reads as NULL though it was in quotes (FORCE_NULL).
    forced_null: Option<String>,
    /// Rows that take the column's default.
    defaults: Vec<usize>,
}

impl BatchBuilder {
    /// For these columns, in the order of the data's.
    pub(super) fn new<'a>(
        columns: impl Iterator<Item = &'a ColumnDef>,
        format: &CopyFormat,
        settings: FormatSettings,
    ) -> BatchBuilder {
        let is_binary = format.is_binary();
        // Which objects are meant by names is found where the rows are written.
        let read_as = |ty: &SqlType| match ty.names_objects() && !is_binary {
            true => SqlType::Text,
            false => ty.clone(),
        };
        let reader = |column: &ColumnDef| ColumnReader {
            name: column.name.clone(),
            ty: read_as(&column.ty),
            builder: ColumnBuilder::new(&read_as(&column.ty), ROWS_MAX),
            null_text: format
                .force_not_null
                .holds(&column.name)
                .then(|| format.null.clone()),
            forced_null: format.force_null.holds(&column.name).then(|| format.null.clone()),
            defaults: Vec::new(),
        };
        BatchBuilder {
            columns: columns.map(reader).collect(),
            origins: Vec::with_capacity(ROWS_MAX),
            kept: Vec::new(),
            settings,
            is_binary,
        }
    }

    /// Rows collected, those that are left out among them.
    pub(super) fn len(&self) -> usize {
        self.origins.len()
    }

    /// The name of a column.
    pub(super) fn column_name(&self, at: usize) -> &str {
        self.columns.get(at).map_or("", |column| &column.name)
    }

    /// What NULL reads as in a column.
    pub(super) fn null_text(&self, at: usize) -> Option<&str> {
        self.columns.get(at)?.null_text.as_deref()
    }

    /// Appends a row. After an error it is to be left out, or nothing is to be made of the batch. Errors: 22P04 for too many fields or
    /// too few, those of the columns' types.
    pub(super) fn append(&mut self, record: &Record, origin: Origin) -> Result<(), RecordFault> {
        let row = self.origins.len();
        let whole = |error| RecordFault {
            column: None,
            error: Box::new(error),
        };
        let is_empty_line =
            self.columns.is_empty() && matches!(record.get(0), Some(FieldValue::Data([])) | None);
        if record.len() > self.columns.len() && !is_empty_line {
            return Err(whole(bad("extra data after last expected column".to_string())));
        }
        for (at, column) in self.columns.iter_mut().enumerate() {
            let Some(field) = record.get(at) else {
                let message = format!("missing data for column \"{}\"", column.name);
                return Err(whole(bad(message)));
            };
            let appended = column.append(field, row, &self.settings, self.is_binary);
            appended.map_err(|error| RecordFault {
                column: Some(at),
                error: Box::new(error),
            })?;
        }
        self.origins.push(origin);
        if !self.kept.is_empty() {
            self.kept.push(true);
        }
        Ok(())
    }

    /// Leaves the row out that could not be appended. Errors: none but a bug's.
    pub(super) fn leave_out(&mut self, origin: Origin) -> Result<()> {
        let row = self.origins.len();
        for column in &mut self.columns {
            if column.builder.len() == row {
                column.builder.append_value(&Value::Null)?;
            }
            if column.defaults.last() == Some(&row) {
                column.defaults.pop();
            }
        }
        self.kept.resize(row, true);
        self.kept.push(false);
        self.origins.push(origin);
        Ok(())
    }

    /// The rows collected, but for those left out, and where each stands; it begins anew. Those behind the last whole row are
    /// forgotten.
    pub(super) fn finish(&mut self) -> Result<(Given, Vec<Origin>)> {
        let mut origins = std::mem::replace(&mut self.origins, Vec::with_capacity(ROWS_MAX));
        let (rows, kept) = (origins.len(), std::mem::take(&mut self.kept));
        let mask = (!kept.is_empty()).then(|| BooleanArray::from(kept.clone()));
        let mut arrays = Vec::with_capacity(self.columns.len());
        let mut defaults = Vec::with_capacity(self.columns.len());
        // The place of each row among those that are kept.
        let mut places = Vec::with_capacity(kept.len());
        kept.iter().fold(0, |place, kept| {
            places.push(place);
            place + usize::from(*kept)
        });
        for column in &mut self.columns {
            let builder = std::mem::replace(&mut column.builder, ColumnBuilder::new(&column.ty, ROWS_MAX));
            let array: ArrayRef = builder.finish().slice(0, rows);
            arrays.push(match &mask {
                None => array,
                Some(mask) => filter(&array, mask).map_err(Error::arrow)?,
            });
            let rows = std::mem::take(&mut column.defaults);
            defaults.push(
                rows.into_iter()
                    .map(|row| places.get(row).copied().unwrap_or(row))
                    .collect(),
            );
        }
        if !kept.is_empty() {
            let mut kept = kept.iter();
            origins.retain(|_| kept.next().copied().unwrap_or(true));
        }
        let given = Given {
            arrays,
            defaults,
            count: origins.len(),
        };
        Ok((given, origins))
    }
}

impl ColumnReader {
    fn append(
        &mut self,
        field: FieldValue<'_>,
        row: usize,
        settings: &FormatSettings,
        is_binary: bool,
    ) -> Result<()> {
        match (field, &self.null_text, &self.forced_null) {
            (FieldValue::Data(bytes), _, _) if is_binary => self.append_binary(bytes, settings),
            (FieldValue::Data(bytes), _, Some(null)) if bytes == null.as_bytes() => {
                self.builder.append_value(&Value::Null)
            }
            (FieldValue::Data(bytes), _, _) => self.append_text(bytes, settings),
            (FieldValue::Null, Some(text), _) => {
                let text = text.clone();
                self.append_text(text.as_bytes(), settings)
            }
            (FieldValue::Null, None, _) => self.builder.append_value(&Value::Null),
            (FieldValue::Default, _, _) => {
                self.defaults.push(row);
                self.builder.append_value(&Value::Null)
            }
        }
    }

    /// Appends what the column's type reads of a text.
    fn append_text(&mut self, bytes: &[u8], settings: &FormatSettings) -> Result<()> {
        let is_short = |length: u32| bytes.len() <= length as usize;
        match &self.ty {
            SqlType::Text | SqlType::Varchar(None) => {
                return self.builder.append_stored(Stored::Bytes(bytes));
            }
            SqlType::Varchar(Some(length)) | SqlType::Char(Some(length)) if is_short(*length) => {
                return self.builder.append_stored(Stored::Bytes(bytes));
            }
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => {
                if let Some(number) = plain_integer(bytes).filter(|number| fits(*number, &self.ty)) {
                    return self.builder.append_value(&Value::Int(number));
                }
            }
            _ => {}
        }
        let text = std::str::from_utf8(bytes).map_err(|_| Error::internal("a field that is no text"))?;
        let value = Value::parse(text, &self.ty, settings)?;
        self.builder.append_value(&value)
    }

    fn append_binary(&mut self, bytes: &[u8], settings: &FormatSettings) -> Result<()> {
        let value = Value::from_binary(bytes, &self.ty, 0).map_err(|error| match error {
            Error::InvalidBinary { .. } => Error::DataException {
                state: "22P03",
                message: "incorrect binary data format".to_string(),
            },
            error => error,
        })?;
        let value = value.assign(&self.ty, &self.name, settings)?;
        self.builder.append_value(&value)
    }
}

/// A number of few digits and nothing else, perhaps negative: what most are.
fn plain_integer(bytes: &[u8]) -> Option<i64> {
    let (digits, is_negative) = match bytes {
        [b'-', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    if !(1..=18).contains(&digits.len()) {
        return None;
    }
    let mut number = 0_i64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + i64::from(digit);
    }
    Some(if is_negative { -number } else { number })
}

fn fits(number: i64, ty: &SqlType) -> bool {
    match ty {
        SqlType::Int2 => i16::try_from(number).is_ok(),
        SqlType::Int4 => i32::try_from(number).is_ok(),
        _ => true,
    }
}

fn bad(message: String) -> Error {
    Error::BadCopyData { message, hint: None }
}
