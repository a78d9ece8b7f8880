//! NDJSON to rows of COPY's text form: a JSON object a line, its members by the columns' names. Used by `source`.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::LoadFault;
use super::member_text::put_field;

/// What a line is read as.
pub(super) type Object = Map<String, Value>;

/// Makes rows of lines.
#[derive(Debug, Default)]
pub(super) struct ObjectRows {
    columns: Vec<String>,
    places: HashMap<String, usize>,
    /// Of each column whether it is an array.
    are_arrays: Vec<bool>,
    /// Lines so far, and rows.
    lines: u64,
    rows: u64,
    /// Rows behind a line that was none: their number, and that of their line.
    shifts: Vec<(u64, u64)>,
    fields: Vec<Option<Value>>,
}

impl ObjectRows {
    /// For these columns, of which some are arrays.
    pub(super) fn new(columns: Vec<String>, arrays: &[String]) -> ObjectRows {
        let places = columns.iter().cloned().zip(0..).collect();
        ObjectRows {
            are_arrays: columns.iter().map(|column| arrays.contains(column)).collect(),
            places,
            columns,
            ..ObjectRows::default()
        }
    }

    /// Appends the row of a line, if it is one. A member that is not there is the column's default. Errors: a line that is no object, and
    /// a member that is no column.
    pub(super) fn put_line(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<(), LoadFault> {
        self.lines += 1;
        let number = self.lines;
        let at_line = |message| LoadFault::at_line(number, message);
        let Some(object) = read_object(line).map_err(at_line)? else {
            return Ok(());
        };
        self.rows += 1;
        let shift = self.shifts.last().map_or(0, |(row, line)| line - row);
        if self.lines - self.rows != shift {
            self.shifts.push((self.rows, self.lines));
        }
        self.fields.clear();
        self.fields.resize(self.columns.len(), None);
        for (name, value) in object {
            let Some(at) = self.places.get(&name) else {
                return Err(at_line(format!(
                    "member \"{name}\" is none of the columns that are loaded"
                ))
                .with_hint("Name all members that there are by --columns."));
            };
            self.fields[*at] = Some(value);
        }
        for (at, value) in self.fields.iter().enumerate() {
            if at > 0 {
                out.push(b'\t');
            }
            match value {
                None => out.extend_from_slice(b"\\D"),
                Some(value) => {
                    let put = put_field(value, self.are_arrays[at], out);
                    put.map_err(|reason| at_line(format!("member \"{}\": {reason}", self.columns[at])))?;
                }
            }
        }
        out.push(b'\n');
        Ok(())
    }

    /// The line of a row; both count from 1.
    pub(super) fn line_of(&self, row: u64) -> u64 {
        let after = self.shifts.partition_point(|(first, _)| *first <= row);
        match after.checked_sub(1).map(|at| self.shifts[at]) {
            Some((first, line)) => line + (row - first),
            None => row,
        }
    }
}

/// The object of a line; `None`: the line is empty. Errors: what is wrong with it.
pub(super) fn read_object(line: &[u8]) -> Result<Option<Object>, String> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    match serde_json::from_slice::<Value>(line) {
        Ok(Value::Object(object)) => Ok(Some(object)),
        Ok(_) => Err("a line is a JSON object, with a member a column".to_string()),
        Err(error) => {
            // The line is the file's, the column is this one's.
            let reason = error.to_string();
            let reason = reason.split(" at line ").next().unwrap_or_default();
            Err(format!("invalid JSON: {reason}, at column {}", error.column()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_rows_that_know_their_lines() {
        let columns = ["a", "b", "c"].map(str::to_string).to_vec();
        let mut rows = ObjectRows::new(columns, &["c".to_string()]);
        let mut out = Vec::new();
        for line in [
            r#"{"a": 1, "b": "x", "c": [1, 2]}"#,
            "",
            r#"{"b": null, "a": {"k": [1]}}"#,
            "  ",
            "",
            "{}",
            r#"{"a": 1, "a": 2}"#,
        ] {
            rows.put_line(line.as_bytes(), &mut out).unwrap();
        }
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text,
            "1\tx\t{1,2}\n{\"k\":[1]}\t\\N\t\\D\n\\D\t\\D\t\\D\n2\t\\D\t\\D\n"
        );
        let lines: Vec<u64> = (1..=4).map(|row| rows.line_of(row)).collect();
        assert_eq!(lines, [1, 3, 6, 7]);
    }

    #[test]
    fn what_is_no_row_is_an_error_with_its_line() {
        for (line, message) in [
            ("[1]", "a line is a JSON object, with a member a column"),
            ("{\"a\": }", "invalid JSON: expected value, at column 7"),
            (
                "{\"z\": 1}",
                "member \"z\" is none of the columns that are loaded",
            ),
            (
                "{\"a\": \"\\u0000\"}",
                "member \"a\": \\u0000 cannot be in a text",
            ),
        ] {
            let mut rows = ObjectRows::new(vec!["a".to_string()], &[]);
            rows.put_line(b"", &mut Vec::new()).unwrap();
            let fault = rows.put_line(line.as_bytes(), &mut Vec::new()).unwrap_err();
            assert_eq!((fault.line, fault.message.as_str()), (Some(2), message));
        }
    }
}
