//! Quoting and formatting of text, and any value as text.

use super::names::object_name;
use super::{Call, Function, Returns, lenient, strict};
use crate::exec::pg_catalog::naming::{quote_ident, quote_literal};
use crate::types::{FormatSettings, SqlType, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[Function] = &[
    // `x::text`: an oid that names an object becomes its name.
    strict("text", (1, 1), Returns::Text, |call| {
        Ok(Value::Text(as_text(call, 0)))
    }),
    strict("quote_ident", (1, 1), Returns::Text, |call| {
        Ok(Value::Text(quote_ident(call.text(0)?)))
    }),
    strict("quote_literal", (1, 1), Returns::Text, |call| {
        Ok(Value::Text(quote_literal(&as_text(call, 0))))
    }),
    lenient("quote_nullable", (1, 1), Returns::Text, |call| {
        Ok(Value::Text(match call.arguments[0] {
            Value::Null => "NULL".to_string(),
            _ => quote_literal(&as_text(call, 0)),
        }))
    }),
    lenient("format", (1, 16), Returns::Text, format),
];

/// An argument as PostgreSQL prints it.
pub(super) fn as_text(call: &Call<'_>, position: usize) -> String {
    let settings = FormatSettings {
        time_zone: call.catalog.statement().settings.time_zone,
    };
    match (&call.arguments[position], call.object_kind(position)) {
        (Value::Int(oid), Some(kind)) => object_name(call, kind, *oid),
        (Value::Bool(value), _) => value.to_string(),
        (Value::Array(items), _) if is_vector(call, position) => items
            .iter()
            .map(|item| item.to_text(&settings))
            .collect::<Vec<_>>()
            .join(" "),
        (value, _) => value.to_text(&settings),
    }
}

fn is_vector(call: &Call<'_>, position: usize) -> bool {
    call.fields.get(position).is_some_and(|field| {
        let ty = SqlType::from_field(field);
        matches!(
            ty,
            SqlType::Int2Vector | SqlType::Catalog(crate::types::CatalogType::OidVector)
        )
    })
}

/// PostgreSQL's format(): `%s`, `%I`, `%L`, `%%`, with an optional `n$`.
fn format(call: &Call<'_>) -> Result<Value> {
    if call.arguments[0] == Value::Null {
        return Ok(Value::Null);
    }
    let pattern = call.text(0)?.to_string();
    let mut out = String::new();
    let mut next = 1;
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if chars.next_if_eq(&'%').is_some() {
            out.push('%');
            continue;
        }
        let mut digits = String::new();
        while let Some(digit) = chars.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        let position = if !digits.is_empty() && chars.next_if_eq(&'$').is_some() {
            digits
                .parse()
                .map_err(|_| bad_format("format specifies argument 0, but arguments are numbered from 1"))?
        } else {
            next
        };
        next = position + 1;
        let kind = chars
            .next()
            .ok_or_else(|| bad_format("unterminated format() type specifier"))?;
        let Some(value) = call.arguments.get(position) else {
            return Err(bad_format("too few arguments for format()"));
        };
        match (kind, value) {
            ('s', Value::Null) => {}
            ('s', _) => out += &as_text(call, position),
            ('I', Value::Null) => {
                return Err(Error::DataException {
                    state: "22004",
                    message: "null values cannot be formatted as an SQL identifier".to_string(),
                });
            }
            ('I', _) => out += &quote_ident(&as_text(call, position)),
            ('L', Value::Null) => out += "NULL",
            ('L', _) => out += &quote_literal(&as_text(call, position)),
            (other, _) => {
                return Err(bad_format(&format!(
                    "unrecognized format() type specifier \"{other}\""
                )));
            }
        }
    }
    Ok(Value::Text(out))
}

fn bad_format(message: &str) -> Error {
    Error::InvalidParameter {
        message: message.to_string(),
        hint: None,
    }
}
