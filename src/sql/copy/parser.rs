//! `Parser`: pieces of COPY's data to batches of values. It touches no table and no transaction, so it may work beside the writing of
//! the batches before, and may be left at any moment. Driven by `reading`, which takes what it gives in its order.

use std::sync::Arc;

use super::batch::{BatchBuilder, Origin, ROWS_MAX, RecordFault};
use super::options::Options;
use crate::copy::{Decoder, FieldValue, Progress, Record};
use crate::sql::dml::{CopyPlan, Given};
use crate::types::FormatSettings;
use crate::{Error, Result};

/// Bytes of data after which a batch is full, however few rows it has.
pub(super) const BATCH_BYTES: usize = 256 << 10;

/// Bytes of a line, or of a value, that CONTEXT shows.
const SHOWN_BYTES_MAX: usize = 100;

/// The work on the data so far.
pub(super) struct Parser {
    /// As CONTEXT names it.
    table: String,
    options: Arc<Options>,
    decoder: Decoder,
    record: Record,
    batch: BatchBuilder,
    /// Rows left out (ON_ERROR).
    skipped: u64,
}

/// What came of the data, in its order.
pub(super) enum Parsed {
    /// Rows to be written.
    Rows(ParsedRows),
    /// What the client is told.
    Notice(String),
    /// No more comes. An error of the rows before it, other than that one of them is there already, is told in its place.
    Refused(ParsedRows, Error),
}

/// Rows, and where they stood.
pub(super) struct ParsedRows {
    pub(super) given: Given,
    origins: Vec<Origin>,
    /// The lines that they were read of; empty for binary data.
    lines: Vec<u8>,
}

impl Parsed {
    /// Bytes of the data that it holds.
    pub(super) fn held_bytes(&self) -> usize {
        match self {
            Parsed::Rows(rows) | Parsed::Refused(rows, _) => rows.lines.len(),
            Parsed::Notice(message) => message.len(),
        }
    }
}

impl ParsedRows {
    fn none() -> ParsedRows {
        ParsedRows {
            given: Given::default(),
            origins: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// What CONTEXT says of one of the rows; `shows_line`: with its line.
    pub(super) fn context_of(&self, row: usize, table: &str, shows_line: bool) -> Option<String> {
        let origin = self.origins.get(row)?;
        let line = origin.line.clone().filter(|_| shows_line);
        let line = line.map(|line| self.lines.get(line).unwrap_or_default());
        let line = line.map(|line| std::str::from_utf8(line).unwrap_or_default());
        Some(line_context(table, origin.number, line))
    }
}

impl Parser {
    /// `row_bytes_max`: the longest row.
    pub(super) fn new(
        plan: &CopyPlan,
        options: &Arc<Options>,
        settings: FormatSettings,
        row_bytes_max: usize,
    ) -> Parser {
        let format = &options.format;
        Parser {
            table: plan.table_name().to_string(),
            decoder: Decoder::new(format.clone(), plan.columns().len(), row_bytes_max),
            record: Record::default(),
            batch: BatchBuilder::new(plan.columns(), format, settings),
            skipped: 0,
            options: Arc::clone(options),
        }
    }

    /// From now on the data has these columns.
    pub(super) fn set_columns(&mut self, plan: &CopyPlan, settings: FormatSettings) {
        self.batch = BatchBuilder::new(plan.columns(), &self.options.format, settings);
    }

    /// Takes more data. Errors: 22021.
    pub(super) fn push(&mut self, piece: &[u8]) -> Result<()> {
        self.decoder.push(piece)
    }

    /// No more data comes. Errors: 22021.
    pub(super) fn end(&mut self) -> Result<()> {
        self.decoder.end()
    }

    /// Bytes of the data that it holds.
    pub(super) fn held_bytes(&self) -> usize {
        self.decoder.held_bytes()
    }

    /// Rows left out so far.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The next row, as it is. `None`: it has not come. Errors: 22P04, 22021, 54000.
    pub(super) fn next_record(&mut self) -> Result<Option<&Record>> {
        match self.decoder.read(&mut self.record) {
            Ok(Progress::Row) => Ok(Some(&self.record)),
            Ok(Progress::Starved | Progress::Ended) => Ok(None),
            // Nothing was read yet, not even the first of a row.
            Err(error) if self.decoder.number() == 0 => Err(error),
            Err(error) => Err(error.in_context(self.record_context())),
        }
    }

    /// What CONTEXT says of the row read last.
    pub(super) fn record_context(&self) -> String {
        let line = self.decoder.line();
        let line = line.as_ref().map(|line| self.decoder.text(line));
        line_context(&self.table, self.decoder.number(), line)
    }

    /// Takes more data, and reads it.
    pub(super) fn read_block(&mut self, block: &[u8], parsed: &mut Vec<Parsed>) {
        match self.push(block) {
            Ok(()) => self.read(parsed),
            Err(error) => parsed.push(Parsed::Refused(ParsedRows::none(), error)),
        }
    }

    /// Reads what has come.
    pub(super) fn read(&mut self, parsed: &mut Vec<Parsed>) {
        if let Err(error) = self.read_records(parsed) {
            let refused = match self.rows() {
                Ok(before) => Parsed::Refused(before, error),
                Err(error) => Parsed::Refused(ParsedRows::none(), error),
            };
            parsed.push(refused);
        }
    }

    /// The rows that no batch is full of yet. Errors: none but a bug's.
    pub(super) fn rows(&mut self) -> Result<ParsedRows> {
        let (given, origins) = self.batch.finish()?;
        Ok(ParsedRows {
            given,
            origins,
            lines: self.decoder.take_read(),
        })
    }

    fn read_records(&mut self, parsed: &mut Vec<Parsed>) -> Result<()> {
        while self.next_record()?.is_some() {
            self.take_record(parsed)?;
            if self.batch.len() >= self.batch_rows_max() || self.decoder.read_bytes() >= BATCH_BYTES {
                parsed.push(Parsed::Rows(self.rows()?));
            }
        }
        Ok(())
    }

    fn batch_rows_max(&self) -> usize {
        let committed = self.options.batch_rows;
        let committed = committed.and_then(|rows| usize::try_from(rows).ok());
        committed.map_or(ROWS_MAX, |rows| rows.min(ROWS_MAX))
    }

    fn take_record(&mut self, parsed: &mut Vec<Parsed>) -> Result<()> {
        let origin = Origin {
            number: self.decoder.number(),
            line: self.decoder.line(),
        };
        let Err(fault) = self.batch.append(&self.record, origin.clone()) else {
            return Ok(());
        };
        let is_soft = fault.column.is_some() && fault.error.sqlstate().starts_with("22");
        if !self.options.ignores_errors || !is_soft {
            let context = match fault.column {
                Some(_) => self.field_context(fault.column),
                None => self.record_context(),
            };
            return Err(fault.error.in_context(context));
        }
        if self.options.is_verbose {
            parsed.push(Parsed::Notice(self.told_skipped(&fault)));
        }
        self.skipped += 1;
        if let Some(limit) = self.options.reject_limit.filter(|limit| self.skipped > *limit) {
            let error = Error::DataException {
                state: "22P02",
                message: format!(
                    "skipped more than REJECT_LIMIT ({limit}) rows due to data type incompatibility"
                ),
            };
            return Err(error.in_context(self.field_context(fault.column)));
        }
        self.batch.leave_out(origin)
    }

    fn told_skipped(&self, fault: &RecordFault) -> String {
        let line = self.decoder.number();
        let column = fault.column.map_or("", |at| self.batch.column_name(at));
        let value = match fault.column.and_then(|at| self.record.get(at)) {
            Some(FieldValue::Data(bytes)) => format!("\"{}\"", shortened(&String::from_utf8_lossy(bytes))),
            _ => "null input".to_string(),
        };
        format!(
            "skipping row due to data type incompatibility at line {line} for column \"{column}\": {value}"
        )
    }

    /// Of the record read last.
    fn field_context(&self, column: Option<usize>) -> String {
        let place = line_context(&self.table, self.decoder.number(), None);
        let Some(at) = column else { return place };
        let place = format!("{place}, column {}", self.batch.column_name(at));
        match self.record.get(at) {
            _ if self.options.format.is_binary() => place,
            Some(FieldValue::Data(value)) => {
                format!("{place}: \"{}\"", shortened(&String::from_utf8_lossy(value)))
            }
            _ => match self.batch.null_text(at) {
                Some(text) => format!("{place}: \"{}\"", shortened(text)),
                None => format!("{place}: null input"),
            },
        }
    }
}

fn line_context(table: &str, number: u64, line: Option<&str>) -> String {
    let place = format!("COPY {table}, line {number}");
    match line {
        Some(line) => format!("{place}: \"{}\"", shortened(line)),
        None => place,
    }
}

/// A text as CONTEXT shows it.
fn shortened(text: &str) -> String {
    match text.len() > SHOWN_BYTES_MAX {
        true => format!("{}...", &text[..text.floor_char_boundary(SHOWN_BYTES_MAX)]),
        false => text.to_string(),
    }
}
