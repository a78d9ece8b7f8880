//! `Finding`: something that is wrong with a key, and the words that findings have in common.

use std::sync::Arc;

use crate::catalog::{ColumnDef, TableDef};
use crate::parse::quoting::{qualified, quote_ident};

/// Something that is wrong with a key.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The table.
    pub table: Arc<TableDef>,
    /// The index, if it is about one.
    pub index: Option<String>,
    /// What was found, with figures.
    pub finding: String,
    /// What to do.
    pub advice: String,
    /// The statement that does it.
    pub ddl: Option<String>,
}

/// A table as its statements name it.
pub(super) fn table_name(table: &TableDef) -> String {
    match table.schema.as_str() {
        "public" => quote_ident(&table.name),
        schema => qualified(schema, &table.name),
    }
}

/// The visible columns of the primary key.
pub(super) fn key_columns(table: &TableDef) -> Vec<&ColumnDef> {
    let columns = table.key_columns().into_iter().map(|at| &table.columns[at]);
    columns.filter(|column| !column.hidden).collect()
}

/// A number as it is read: `412,000`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So much of so much, in whole percent, which is 100 for all alone.
pub(super) fn percent(part: u64, whole: u64) -> u64 {
    match whole {
        0 => 0,
        _ => (u128::from(part) * 100 / u128::from(whole)) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let texts = [0, 12, 999, 1000, 412_000, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "12", "999", "1,000", "412,000", "1,234,567"]);
        assert_eq!(
            (percent(999, 1000), percent(1000, 1000), percent(1, 0)),
            (99, 100, 0)
        );
    }
}
