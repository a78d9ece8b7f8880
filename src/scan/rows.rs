//! `Rows`: a piece of a result on its way to the client, as columns or as rows still in the form they are stored in.
//! Made by scans and queries, cut by sessions, encoded by `wire`.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::stream::BoxStream;

use crate::store::{Entry, Page};
use crate::table::{RowDecoder, RowFormatter, RowLayout};
use crate::types::{FormatSettings, SqlType, WireFormat};
use crate::{Error, Result};

/// A result that streams; dropping it stops the work behind it.
pub type RowsStream = BoxStream<'static, Result<Rows>>;

/// One column of a result, for RowDescription.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputColumn {
    /// The name PostgreSQL gives it.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// The table it comes from (oid) and its attribute number; 0 when computed.
    pub table_oid: u32,
    /// See `table_oid`.
    pub attribute: i16,
    /// Whether the digits of its type are declared by a column or a cast: what is computed has as many as may be needed.
    pub is_declared: bool,
    /// Whether it is NULL of no type: a column that nobody has written yet, or what is computed of such.
    pub is_unwritten: bool,
}

impl OutputColumn {
    /// A column of no table, of a type that is declared.
    pub fn declared(name: impl Into<String>, ty: SqlType) -> OutputColumn {
        OutputColumn {
            name: name.into(),
            ty,
            table_oid: 0,
            attribute: 0,
            is_declared: true,
            is_unwritten: false,
        }
    }

    /// Its type, where it has one: the NULL of a column that nobody has written yet is of any.
    pub fn decided_type(&self) -> SqlType {
        match self.is_unwritten {
            true => SqlType::Unknown,
            false => self.ty.clone(),
        }
    }

    /// Its type as clients are told, and as a table or a view made of it has it: a computed numeric is of any digits.
    pub fn shown_type(&self) -> SqlType {
        match self.is_declared {
            true => self.ty.clone(),
            false => self.ty.with_any_digits(),
        }
    }
}

/// A piece of a result.
#[derive(Debug, Clone)]
pub enum Rows {
    /// Computed rows, column by column.
    Columns(RecordBatch),
    /// Rows of one table as they are stored.
    Stored(StoredRows),
}

/// Rows of one table as they are stored, and where the result's columns stand in them.
#[derive(Debug, Clone)]
pub struct StoredRows {
    page: Arc<Page>,
    first: usize,
    len: usize,
    layout: Arc<RowLayout>,
}

impl Rows {
    /// How many rows.
    pub fn num_rows(&self) -> usize {
        match self {
            Rows::Columns(batch) => batch.num_rows(),
            Rows::Stored(rows) => rows.len,
        }
    }

    /// How many columns.
    pub fn num_columns(&self) -> usize {
        match self {
            Rows::Columns(batch) => batch.num_columns(),
            Rows::Stored(rows) => rows.layout.schema().fields().len(),
        }
    }

    /// `len` rows from `first` on, which must all be there; copies none.
    pub fn slice(&self, first: usize, len: usize) -> Rows {
        match self {
            rows if first == 0 && len == rows.num_rows() => rows.clone(),
            Rows::Columns(batch) => Rows::Columns(batch.slice(first, len)),
            Rows::Stored(rows) => {
                assert!(first + len <= rows.len, "rows of the piece");
                Rows::Stored(StoredRows {
                    first: rows.first + first,
                    len,
                    ..rows.clone()
                })
            }
        }
    }

    /// The columns at these places alone. Errors: `Corrupt`.
    pub fn project(self, places: &[usize]) -> Result<Rows> {
        let projected = self.into_batch()?.project(places);
        projected.map(Rows::Columns).map_err(Error::arrow)
    }

    /// As columns. Errors: `Corrupt`.
    pub fn into_batch(self) -> Result<RecordBatch> {
        match self {
            Rows::Columns(batch) => Ok(batch),
            Rows::Stored(rows) => rows.decode(),
        }
    }
}

impl StoredRows {
    /// All rows of a page.
    pub(crate) fn new(page: Arc<Page>, layout: Arc<RowLayout>) -> StoredRows {
        StoredRows {
            first: 0,
            len: page.len(),
            page,
            layout,
        }
    }

    /// What appends its rows to a message, as columns of these types.
    pub fn formatter(
        &self,
        columns: &[OutputColumn],
        formats: &[WireFormat],
        settings: &FormatSettings,
    ) -> Result<RowFormatter> {
        let types = columns.iter().map(|column| column.ty.clone());
        RowFormatter::new(Arc::clone(&self.layout), types, formats, settings)
    }

    /// A row, which must be there.
    pub fn entry(&self, at: usize) -> Entry<'_> {
        self.page.entry(self.first + at)
    }

    fn decode(&self) -> Result<RecordBatch> {
        let mut decoder = RowDecoder::with_layout(Arc::clone(&self.layout));
        decoder.reserve(self.len);
        for at in 0..self.len {
            decoder.push_entry(self.entry(at))?;
        }
        decoder.finish()
    }
}
