//! json and jsonb as text: whether it is JSON, and the form in which PostgreSQL prints jsonb (keys ordered by length, then
//! bytes; of equal keys the last; numbers as written but without exponent; one blank behind `:` and `,`).

use serde_json::{Number, Value as Json};

use super::json_fault::fault_of;
use crate::error::Limit;
use crate::{Error, Result};

/// The largest decimal exponent of a number in jsonb; it is printed with all its zeros. PostgreSQL allows 131,072.
const EXPONENT_MAX: i64 = 1_000;

/// Checks that the text is JSON, however deeply nested. Errors: 22P02.
pub(super) fn check(text: &str) -> Result<()> {
    serde_json::from_str::<serde::de::IgnoredAny>(text)
        .map(drop)
        .map_err(|error| refuse(text, &error))
}

/// What json, kept as it was written, may hold and no text can be made of: half a pair of surrogates, NUL. Errors: 22P02, 22P05.
pub(crate) fn check_escapes(text: &str) -> Result<()> {
    if !text.contains("\\u") {
        return Ok(());
    }
    match normalize(text) {
        Err(error) if matches!(error.sqlstate(), "22P02" | "22P05") => Err(error),
        _ => Ok(()),
    }
}

/// The text of the document as PostgreSQL prints jsonb. Errors: 22P02, 22P05, 22003, 54001.
pub(crate) fn normalize(text: &str) -> Result<String> {
    let document: Json = serde_json::from_str(text).map_err(|error| refuse(text, &error))?;
    let mut out = Vec::with_capacity(text.len() + text.len() / 8);
    put(&mut out, &document)?;
    String::from_utf8(out).map_err(|_| Error::internal("jsonb of UTF-8 strings is UTF-8"))
}

fn refuse(text: &str, error: &serde_json::Error) -> Error {
    let reason = error.to_string();
    if reason.starts_with("recursion limit") {
        return Error::LimitExceeded {
            state: Limit::Complexity,
            message: "stack depth limit exceeded".to_string(),
            hint: "Nest the JSON document less deeply: at most 127 levels.".to_string(),
        };
    }
    Error::InvalidJson {
        detail: fault_of(text),
    }
}

fn put(out: &mut Vec<u8>, document: &Json) -> Result<()> {
    match document {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
        Json::Number(number) => put_number(out, number)?,
        Json::String(string) => put_string(out, string)?,
        Json::Array(elements) => {
            out.push(b'[');
            for (i, element) in elements.iter().enumerate() {
                if i > 0 {
                    out.extend_from_slice(b", ");
                }
                put(out, element)?;
            }
            out.push(b']');
        }
        Json::Object(members) => {
            let mut sorted: Vec<(&String, &Json)> = members.iter().collect();
            sorted
                .sort_by(|(left, _), (right, _)| left.len().cmp(&right.len()).then_with(|| left.cmp(right)));
            out.push(b'{');
            for (i, (name, member)) in sorted.into_iter().enumerate() {
                if i > 0 {
                    out.extend_from_slice(b", ");
                }
                put_string(out, name)?;
                out.extend_from_slice(b": ");
                put(out, member)?;
            }
            out.push(b'}');
        }
    }
    Ok(())
}

fn put_string(out: &mut Vec<u8>, string: &str) -> Result<()> {
    out.push(b'"');
    for byte in string.bytes() {
        match byte {
            0 => {
                return Err(Error::DataException {
                    state: "22P05",
                    message: "unsupported Unicode escape sequence".to_string(),
                });
            }
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0C => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x01..=0x1F => {
                out.extend_from_slice(b"\\u00");
                out.push(b"0123456789abcdef"[usize::from(byte >> 4)]);
                out.push(b"0123456789abcdef"[usize::from(byte & 15)]);
            }
            byte => out.push(byte),
        }
    }
    out.push(b'"');
    Ok(())
}

/// A text in quotes, as JSON.
pub(super) fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    // A text without a zero byte, as all of SQL's are.
    match put_string(&mut out, text) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(_) => String::new(),
    }
}

/// The number without exponent: digits as written, moved past the point.
fn put_number(out: &mut Vec<u8>, number: &Number) -> Result<()> {
    let written = number.to_string();
    let (mantissa, exponent) = match written.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().unwrap_or(i64::MAX)),
        None => (written.as_str(), 0),
    };
    let (negative, unsigned) = match mantissa.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, mantissa),
    };
    if exponent.unsigned_abs() > EXPONENT_MAX.unsigned_abs() {
        return Err(Error::NumericOutOfRange {
            message: "value overflows numeric format".to_string(),
            detail: None,
        });
    }
    let (integer, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let is_zero = unsigned.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if negative && !is_zero {
        out.push(b'-');
    }
    // Digits before the point after moving it; zeros are put in where there are none.
    let before = integer.len() as i64 + exponent;
    let all: Vec<u8> = integer.bytes().chain(fraction.bytes()).collect();
    let start = out.len();
    out.extend((0..before).map(|i| all.get(i as usize).copied().unwrap_or(b'0')));
    let zeros = out[start..].iter().take_while(|byte| **byte == b'0').count();
    out.drain(start..start + zeros);
    if out.len() == start {
        out.push(b'0');
    }
    let after = (fraction.len() as i64 - exponent).max(0);
    if after > 0 {
        out.push(b'.');
        out.extend((before..before + after).map(|i| {
            usize::try_from(i)
                .ok()
                .and_then(|i| all.get(i).copied())
                .unwrap_or(b'0')
        }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jsonb_prints_as_postgresql_prints_it() {
        let cases = [
            (r#"{"bb":1,"a":2,"b":3,"a":4}"#, r#"{"a": 4, "b": 3, "bb": 1}"#),
            (
                r#" [1 ,2.50, -0, 1e2, 1.5e-3, 12345678901234567890123] "#,
                r#"[1, 2.50, 0, 100, 0.0015, 12345678901234567890123]"#,
            ),
            (
                r#"{"k":{"z":[],"y":{}},"é":"\u00e9\t\u0001\/"}"#,
                "{\"k\": {\"y\": {}, \"z\": []}, \"é\": \"é\\t\\u0001/\"}",
            ),
            ("null", "null"),
            ("true", "true"),
            ("1.20e1", "12.0"),
        ];
        for (text, expected) in cases {
            assert_eq!(normalize(text).unwrap(), expected);
            assert!(check(text).is_ok());
        }
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for (text, detail) in [
            ("{a:1}", "Token \"a\" is invalid."),
            ("", "The input string ended unexpectedly."),
            ("[1,", "The input string ended unexpectedly."),
            ("nul", "Token \"nul\" is invalid."),
        ] {
            let error = check(text).unwrap_err();
            assert_eq!(
                (error.sqlstate(), error.to_string().as_str()),
                ("22P02", "invalid input syntax for type json")
            );
            assert_eq!(error.detail().unwrap(), detail, "{text}");
        }
        assert_eq!(normalize(&"[".repeat(100_000)).unwrap_err().sqlstate(), "54001");
        assert_eq!(normalize(r#""\u0000""#).unwrap_err().sqlstate(), "22P05");
        assert_eq!(normalize("1e99999").unwrap_err().sqlstate(), "22003");
    }
}
