//! JSON values as fields of COPY's text form. Used by `ndjson`.

use serde_json::Value;

/// Appends a field: NULL as `\N`, a text as itself, an array as PostgreSQL writes arrays where the column is one, what has members as
/// JSON. Errors: what cannot be a value of any column.
pub(super) fn put_field(value: &Value, is_array: bool, out: &mut Vec<u8>) -> Result<(), String> {
    match value {
        Value::Null => out.extend_from_slice(b"\\N"),
        Value::String(text) => put_escaped(text, out)?,
        Value::Array(elements) if is_array => {
            let mut text = String::new();
            put_array(elements, &mut text);
            put_escaped(&text, out)?;
        }
        other => put_escaped(&other.to_string(), out)?,
    }
    Ok(())
}

/// `{1,"a b",NULL,{…}}`.
fn put_array(elements: &[Value], out: &mut String) {
    out.push('{');
    for (at, element) in elements.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        match element {
            Value::Null => out.push_str("NULL"),
            Value::Array(elements) => put_array(elements, out),
            Value::String(text) => put_quoted(text, out),
            Value::Object(_) => put_quoted(&element.to_string(), out),
            Value::Bool(_) | Value::Number(_) => out.push_str(&element.to_string()),
        }
    }
    out.push('}');
}

fn put_quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

fn put_escaped(text: &str, out: &mut Vec<u8>) -> Result<(), String> {
    for byte in text.bytes() {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0 => return Err("\\u0000 cannot be in a text".to_string()),
            byte => out.push(byte),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_fields() {
        for (json, is_array, expected) in [
            ("null", false, r"\N"),
            (r#""\\N""#, false, r"\\N"),
            (r#""a\tb\n\\c\r""#, false, r"a\tb\n\\c\r"),
            ("12345678901234567890.10", false, "12345678901234567890.10"),
            ("true", false, "true"),
            (r#"{"a": [1, "x\n"]}"#, false, r#"{"a":[1,"x\\n"]}"#),
            ("[1, null]", false, "[1,null]"),
            ("[1, null, [2.5, true]]", true, "{1,NULL,{2.5,true}}"),
            (
                r#"["", "a\"b\\", "NULL", {"k": "v"}]"#,
                true,
                r#"{"","a\\"b\\\\","NULL","{\\"k\\":\\"v\\"}"}"#,
            ),
        ] {
            let mut out = Vec::new();
            put_field(&serde_json::from_str(json).unwrap(), is_array, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{json}");
        }
        let nul = serde_json::from_str(r#""a\u0000""#).unwrap();
        assert!(put_field(&nul, false, &mut Vec::new()).is_err());
    }
}
