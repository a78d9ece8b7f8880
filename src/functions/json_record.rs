//! Rows of documents: what `json_populate_record`, `json_to_recordset` and their kin give. Called by the binder, which knows the type of
//! the row. An object within becomes a row, an array an array; of a key that a document has not, the row to begin with has the value.

use super::json::refuse;
use super::{Batch, Body, mismatched_types};
use crate::Result;
use crate::error::{Error, Raised};
use crate::types::json_piece::{Kind, Piece};
use crate::types::{FormatSettings, RecordType, SqlType, Value, check_escapes, element_type, jsonb_text};
use arrow::array::ArrayRef;

/// The rows of a document, as an array: of a row to begin with, the document and the function's name.
pub const ROWS_OF_DOCUMENT: Body = Body::Batch(rows_of_document);
/// The same of a function of one row, as the row.
pub const ROW_OF_DOCUMENT: Body = Body::Batch(row_of_document);

fn rows_of_document(batch: &Batch) -> Result<ArrayRef> {
    let SqlType::Record(ty) = element_type(batch.returns) else {
        return Err(mismatched_types());
    };
    batch.map_values(|values| rows(values, ty, batch.settings))
}

fn row_of_document(batch: &Batch) -> Result<ArrayRef> {
    let SqlType::Record(ty) = batch.returns else {
        return Err(mismatched_types());
    };
    batch.map_values(|values| {
        Ok::<_, Error>(rows(values, ty, batch.settings)?.and_then(|rows| rows.into_iter().next()))
    })
}

/// The rows of one document; `None` for a NULL that is to become several.
fn rows(values: &[Value], ty: &RecordType, settings: &FormatSettings) -> Result<Option<Vec<Value>>> {
    let [base, document, Value::Text(function)] = values else {
        return Err(mismatched_types());
    };
    let base = match base {
        Value::Record(fields) => Some(fields.as_slice()),
        _ => None,
    };
    let Value::Text(document) = document else {
        let alone = base.map_or(Value::Null, |fields| Value::Record(fields.to_vec()));
        return Ok((!function.ends_with("set")).then(|| vec![alone]));
    };
    check_escapes(document)?;
    let rows = records(Piece::new(document), function)?.into_iter();
    let rows = rows.map(|object| row(object, base, ty, settings));
    rows.collect::<Result<_>>().map(Some)
}

/// The objects that a function makes rows of; 22023 where there are others.
fn records<'t>(whole: Piece<'t>, function: &str) -> Result<Vec<Piece<'t>>> {
    let is_set = function.ends_with("set");
    match whole.kind() {
        Kind::Object if !is_set => Ok(vec![whole]),
        Kind::Array if is_set => whole
            .items()
            .map(|row| match row.kind() {
                Kind::Object => Ok(row),
                _ => Err(refuse(format!(
                    "argument of {function} must be an array of objects"
                ))),
            })
            .collect(),
        Kind::Object => Err(refuse(format!("cannot call {function} on an object"))),
        Kind::Array => Err(refuse(format!("cannot call {function} on an array"))),
        _ => Err(refuse(format!("cannot call {function} on a scalar"))),
    }
}

/// The row of an object. `base`: the values of the keys that it has not.
fn row(object: Piece, base: Option<&[Value]>, ty: &RecordType, settings: &FormatSettings) -> Result<Value> {
    let members: Vec<(String, Piece)> = object.members().collect();
    let fields = ty.fields.iter().enumerate().map(|(at, field)| {
        // Of equal keys the last counts.
        match members.iter().rev().find(|(name, _)| *name == field.name) {
            Some((_, member)) => value(*member, &field.name, &field.ty, settings),
            None => Ok(base.and_then(|base| base.get(at)).cloned().unwrap_or(Value::Null)),
        }
    });
    fields.collect::<Result<_>>().map(Value::Record)
}

/// A part of a document as a value of a type. Errors: those of reading the type, 22P02 and 22023 for a part of another kind.
fn value(part: Piece, key: &str, ty: &SqlType, settings: &FormatSettings) -> Result<Value> {
    match (ty, part.kind()) {
        (_, Kind::Null) => Ok(Value::Null),
        (SqlType::Json, _) => Ok(Value::Text(part.text().to_string())),
        (SqlType::Jsonb, _) => jsonb_text(part.text()).map(Value::Text),
        (SqlType::Array(_) | SqlType::Record(_), Kind::String) => {
            Value::parse(&part.string().unwrap_or_default(), ty, settings)
        }
        (SqlType::Array(item), Kind::Array) => array(part, key, ty, item, settings),
        (SqlType::Array(_), _) => Err(Error::from(Raised {
            hint: Some(format!("See the value of key \"{key}\".")),
            ..Raised::new("22P02", "expected JSON array")
        })),
        (SqlType::Record(inner), Kind::Object) => row(part, None, inner, settings),
        (SqlType::Record(_), Kind::Array) => {
            Err(refuse("cannot call populate_composite on an array".to_string()))
        }
        (SqlType::Record(_), _) => Err(refuse("cannot call populate_composite on a scalar".to_string())),
        _ => match part.plain_text() {
            Some(text) => Value::parse(&text, ty, settings),
            None => Ok(Value::Null),
        },
    }
}

/// The items of an array as those of one of a type.
fn array(part: Piece, key: &str, ty: &SqlType, item: &SqlType, settings: &FormatSettings) -> Result<Value> {
    if matches!(
        item.innermost(),
        SqlType::Record(_) | SqlType::Json | SqlType::Jsonb
    ) {
        let items = part
            .items()
            .map(|item_part| value(item_part, key, item, settings));
        return items.collect::<Result<_>>().map(Value::Array);
    }
    // As text, so that dimensions which do not fit are told as they are of any array.
    Value::parse(&texts(part), ty, settings)
}

/// The array as the text of one of SQL.
fn texts(part: Piece) -> String {
    let items = part.items().map(|item| match item.kind() {
        Kind::Array => texts(item),
        _ => {
            let text = item.plain_text();
            let one = text.map_or(Value::Null, |text| Value::Text(text.into_owned()));
            let array = Value::Array(vec![one].into()).to_text(&FormatSettings::default());
            let inside = array
                .strip_prefix('{')
                .and_then(|inside| inside.strip_suffix('}'));
            inside.unwrap_or_default().to_string()
        }
    });
    format!("{{{}}}", items.collect::<Vec<_>>().join(","))
}
