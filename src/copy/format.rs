//! `CopyFormat`: what COPY's options say of the form of its data. Made by `sql::copy`, which checks them.

use crate::types::CharacterEncoding;

/// The form of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyFormat {
    /// Text, CSV or binary.
    pub form: CopyForm,
    /// Stands between two fields.
    pub delimiter: u8,
    /// Stands for NULL.
    pub null: String,
    /// Stands for a column's default.
    pub default: Option<String>,
    /// Whether the first line names the columns.
    pub header: CopyHeader,
    /// Around what is quoted, in CSV.
    pub quote: u8,
    /// Before a quote within quotes, in CSV.
    pub escape: u8,
    /// Columns whose values are always quoted, in CSV.
    pub force_quote: ForcedColumns,
    /// Columns in which nothing is NULL, in CSV.
    pub force_not_null: ForcedColumns,
    /// Columns in which what stands for NULL is so in quotes too, in CSV.
    pub force_null: ForcedColumns,
    /// What the texts are in.
    pub(crate) encoding: CharacterEncoding,
}

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyForm {
    /// A line a row, special characters behind a backslash.
    Text,
    /// Values in quotes where they need them.
    Csv,
    /// Lengths and the types' own binary forms.
    Binary,
}

/// The first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyHeader {
    /// It is a row.
    Absent,
    /// It names the columns, whatever it says.
    Present,
    /// It names the columns, which must be these.
    Match,
}

/// Columns that an option of CSV names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForcedColumns {
    /// `*`.
    All,
    /// These.
    Named(Vec<String>),
}

impl ForcedColumns {
    /// None.
    pub fn none() -> ForcedColumns {
        ForcedColumns::Named(Vec::new())
    }

    /// Whether the column is one of them.
    pub fn holds(&self, column: &str) -> bool {
        match self {
            ForcedColumns::All => true,
            ForcedColumns::Named(names) => names.iter().any(|name| name == column),
        }
    }
}

impl CopyFormat {
    /// That of a form when no option says more.
    pub fn of(form: CopyForm) -> CopyFormat {
        let is_csv = form == CopyForm::Csv;
        CopyFormat {
            form,
            delimiter: if is_csv { b',' } else { b'\t' },
            null: if is_csv { "" } else { "\\N" }.to_string(),
            default: None,
            header: CopyHeader::Absent,
            quote: b'"',
            escape: b'"',
            force_quote: ForcedColumns::none(),
            force_not_null: ForcedColumns::none(),
            force_null: ForcedColumns::none(),
            encoding: CharacterEncoding::UTF8,
        }
    }

    /// Whether it is binary.
    pub fn is_binary(&self) -> bool {
        self.form == CopyForm::Binary
    }
}
