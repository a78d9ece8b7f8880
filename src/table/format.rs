//! `RowFormatter`: stored rows straight into the fields of a DataRow, without becoming columns first. For results whose
//! rows leave as they are stored; `wire` calls it, and knows nothing of how rows are stored.

use std::sync::Arc;

use super::layout::{LayoutColumn, Place, RowLayout};
use super::read::{fields_of, row_of};
use crate::codec::key;
use crate::codec::row::{ColumnBuilder, Stored, is_scalar, key_scalar, stored_scalar};
use crate::store::Entry;
use crate::types::{ColumnEncoder, FormatSettings, SqlType, Value, WireFormat};
use crate::{Error, Result};

/// The length that stands for NULL.
const NULL: [u8; 4] = (-1i32).to_be_bytes();

/// Formats rows of one table.
#[derive(Debug)]
pub struct RowFormatter {
    layout: Arc<RowLayout>,
    /// For each column of the projection, how it is sent.
    outputs: Vec<Output>,
    settings: FormatSettings,
    /// Where each field of the key starts in the row at hand.
    key_starts: Vec<usize>,
    scratch: Vec<u8>,
}

/// How a column of the result is sent.
#[derive(Debug)]
struct Output {
    /// The column's type in the result, which may be another than the stored one of the same bytes (`jsonb::text`).
    ty: SqlType,
    format: WireFormat,
    /// The field of a row written before there was the column; `None`: NULL.
    missing: Option<Vec<u8>>,
}

impl RowLayout {
    /// Whether a `RowFormatter` can format every column.
    pub fn is_formattable(&self) -> bool {
        self.columns.iter().all(|column| is_scalar(&column.ty))
    }
}

impl RowFormatter {
    /// For the projection of a layout that is formattable. `types`: of the result's columns; `formats`: that of each
    /// column; text where it says nothing.
    pub fn new(
        layout: Arc<RowLayout>,
        types: impl IntoIterator<Item = SqlType>,
        formats: &[WireFormat],
        settings: &FormatSettings,
    ) -> Result<RowFormatter> {
        let output = |(at, (&column, ty)): (usize, (&usize, SqlType))| {
            let format = formats.get(at).copied().unwrap_or(WireFormat::Text);
            let missing = missing_field(&layout.columns[column], &ty, format, settings)?;
            Ok(Output { ty, format, missing })
        };
        Ok(RowFormatter {
            outputs: layout
                .outputs
                .iter()
                .zip(types)
                .enumerate()
                .map(output)
                .collect::<Result<_>>()?,
            settings: settings.clone(),
            key_starts: Vec::with_capacity(layout.key_fields.len()),
            scratch: Vec::new(),
            layout,
        })
    }

    /// Appends each column as DataRow holds it: its length as i32 BE, then the value; -1 for NULL. Errors: `Corrupt`;
    /// then something may have been appended.
    pub fn put_row(&mut self, entry: Entry<'_>, out: &mut Vec<u8>) -> Result<()> {
        let fields = fields_of(entry.key)?;
        self.find_key_fields(fields)?;
        let row = match self.layout.reads_values {
            true => Some(row_of(entry)?),
            false => None,
        };
        for (&column, output) in self.layout.outputs.iter().zip(&self.outputs) {
            let column = &self.layout.columns[column];
            let in_key = match &column.place {
                Place::Key(at) | Place::KeyOrValue { at, .. } => {
                    self.key_starts.get(*at).map(|start| (at, start))
                }
                Place::Value { .. } => None,
            };
            let scalar = match (&column.place, in_key) {
                (_, Some((at, start))) => {
                    let (field, _) = &self.layout.key_fields[*at];
                    key_scalar(&fields[*start..], field, &mut self.scratch)?
                }
                (Place::Key(_), None) => return Err(Error::internal("a key without one of its columns")),
                (Place::Value { id, .. } | Place::KeyOrValue { id, .. }, None) => {
                    match row.as_ref().and_then(|row| row.get(*id)) {
                        Some(Stored::Bytes(bytes)) => Some(stored_scalar(&column.ty, bytes)?),
                        Some(Stored::Null) => None,
                        None => {
                            out.extend_from_slice(output.missing.as_deref().unwrap_or(&NULL));
                            continue;
                        }
                    }
                }
            };
            let start = out.len();
            out.extend_from_slice(&NULL);
            if let Some(scalar) = scalar {
                scalar.sent_as(&output.ty).put(output.format, &self.settings, out);
                let length = (out.len() - start - 4) as i32; // a value of 2 GiB is above every limit
                out[start..start + 4].copy_from_slice(&length.to_be_bytes());
            }
        }
        Ok(())
    }

    /// Finds where the fields of a key start.
    fn find_key_fields(&mut self, fields: &[u8]) -> Result<()> {
        self.key_starts.clear();
        let (mut at, mut before) = (0, None);
        for (place, (field, _)) in self.layout.key_fields.iter().enumerate() {
            if let Some(before) = before.replace(field) {
                at += key::field_length(&fields[at..], before)?;
            }
            if at == fields.len() && place >= self.layout.fields_always {
                break;
            }
            self.key_starts.push(at);
        }
        Ok(())
    }
}

/// The field of rows written before there was the column; `None`: NULL.
fn missing_field(
    column: &LayoutColumn,
    ty: &SqlType,
    format: WireFormat,
    settings: &FormatSettings,
) -> Result<Option<Vec<u8>>> {
    let missing = match &column.place {
        Place::Value { missing, .. } if *missing != Value::Null => missing,
        _ => return Ok(None),
    };
    let mut builder = ColumnBuilder::new(&column.ty, 1);
    builder.append_value(missing)?;
    let mut field = Vec::new();
    ColumnEncoder::new(ty, &builder.finish(), format, settings)?.encode_field(0, &mut field);
    Ok(Some(field))
}
