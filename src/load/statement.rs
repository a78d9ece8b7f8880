//! The COPY statement of a load: its columns and options. Called by `source`.

use clap::ValueEnum;

use super::LoadOptions;
use crate::parse::quoting::quote_ident;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LoadFormat {
    /// Comma-separated values.
    Csv,
    /// COPY's text: tabs between fields, `\N` for NULL.
    Tsv,
    /// COPY's binary form.
    Binary,
    /// A JSON object a line.
    Ndjson,
}

/// What becomes of a row that holds what is no value of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// It ends the load.
    Stop,
    /// It is left out; so many of them, at most.
    Ignore(Option<u64>),
}

impl LoadFormat {
    /// What the end of a file's name says.
    pub(super) fn of_extension(extension: &str) -> Option<LoadFormat> {
        match extension.to_ascii_lowercase().as_str() {
            "csv" => Some(LoadFormat::Csv),
            "tsv" | "tab" | "txt" => Some(LoadFormat::Tsv),
            "bin" => Some(LoadFormat::Binary),
            "ndjson" | "jsonl" => Some(LoadFormat::Ndjson),
            _ => None,
        }
    }
}

/// `COPY t (columns) FROM STDIN …`. `columns`: none names the table's own.
pub(super) fn copy_statement(
    options: &LoadOptions,
    format: LoadFormat,
    columns: &[String],
    header: bool,
) -> String {
    let columns = match columns {
        [] => String::new(),
        columns => {
            let columns: Vec<String> = columns.iter().map(|column| quote_ident(column)).collect();
            format!(" ({})", columns.join(", "))
        }
    };
    let mut said = vec![match format {
        LoadFormat::Csv => "FORMAT csv".to_string(),
        LoadFormat::Tsv | LoadFormat::Ndjson => "FORMAT text".to_string(),
        LoadFormat::Binary => "FORMAT binary".to_string(),
    }];
    if format == LoadFormat::Ndjson {
        said.push(format!("DEFAULT {}", literal("\\D")));
    }
    if header {
        said.push("HEADER".to_string());
    }
    if let Some(delimiter) = &options.delimiter {
        said.push(format!("DELIMITER {}", literal(delimiter)));
    }
    if let Some(null) = &options.null {
        said.push(format!("NULL {}", literal(null)));
    }
    if let OnError::Ignore(limit) = options.on_error {
        said.push("ON_ERROR ignore".to_string());
        said.extend(limit.map(|limit| format!("REJECT_LIMIT {limit}")));
    }
    said.extend(options.batch_rows.map(|rows| format!("BATCH_ROWS {rows}")));
    format!(
        "COPY {}{columns} FROM STDIN WITH ({})",
        table_name(&options.table),
        said.join(", ")
    )
}

/// A text between quotes, its backslashes as they are.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The name as SQL takes it: parts that are none but in quotes get these.
pub(super) fn table_name(name: &str) -> String {
    let (mut parts, mut part, mut is_quoted) = (Vec::new(), String::new(), false);
    for c in name.chars() {
        match c {
            '"' => {
                is_quoted = !is_quoted;
                part.push(c);
            }
            '.' if !is_quoted => parts.push(std::mem::take(&mut part)),
            c => part.push(c),
        }
    }
    parts.push(part);
    let is_plain = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
            && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    };
    let written = parts
        .iter()
        .map(|part| match is_plain(part) || part.contains('"') {
            true => part.clone(),
            false => quote_ident(part),
        });
    written.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(table: &str) -> LoadOptions {
        LoadOptions {
            table: table.to_string(),
            format: None,
            columns: Vec::new(),
            header: false,
            delimiter: None,
            null: None,
            on_error: OnError::Stop,
            batch_rows: None,
            single_transaction: false,
            files: Vec::new(),
        }
    }

    #[test]
    fn statements_say_what_was_asked_for() {
        let plain = copy_statement(&options("t"), LoadFormat::Csv, &[], false);
        assert_eq!(plain, "COPY t FROM STDIN WITH (FORMAT csv)");
        let mut asked = options("s.my table");
        (asked.delimiter, asked.null) = (Some(";".to_string()), Some("it's".to_string()));
        (asked.batch_rows, asked.on_error) = (Some(10), OnError::Ignore(Some(3)));
        let columns = ["a".to_string(), "B c".to_string()];
        assert_eq!(
            copy_statement(&asked, LoadFormat::Tsv, &columns, true),
            "COPY s.\"my table\" (a, \"B c\") FROM STDIN WITH (FORMAT text, HEADER, DELIMITER ';', NULL 'it''s', \
             ON_ERROR ignore, REJECT_LIMIT 3, BATCH_ROWS 10)"
        );
        let json = copy_statement(&options("\"A.b\".c"), LoadFormat::Ndjson, &[], false);
        assert_eq!(
            json,
            "COPY \"A.b\".c FROM STDIN WITH (FORMAT text, DEFAULT '\\D')"
        );
    }
}
