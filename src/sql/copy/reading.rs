//! `Reading`: the work of a COPY FROM: pieces of data to records, to batches, to rows written. Its errors say where in the data
//! they were met, as PostgreSQL's CONTEXT does.

use std::sync::Arc;

use sqlparser::ast;

use super::batch::{BatchBuilder, Origin, ROWS_MAX, RecordFault};
use super::options::Options;
use crate::copy::{CopyHeader, Decoder, FieldValue, Progress, Record};
use crate::parse::copy::{Copy, CopyPlace, CopySubject};
use crate::sql::Statement;
use crate::sql::dml::{CopyPlan, Given, References, settle};
use crate::system::statement_memory::HeldBytes;
use crate::system::{CopyProgress, Copying, Notice, StatementContext};
use crate::table::RowFault;
use crate::txn::Transaction;
use crate::{Error, Result};

/// Bytes of data after which a batch is written, however few rows it has.
const BATCH_BYTES: usize = 256 << 10;

/// Bytes of data that are read at once.
const PART_BYTES: usize = 64 << 10;

/// Bytes of a line, or of a value, that CONTEXT shows.
const SHOWN_BYTES_MAX: usize = 100;

/// Data on its way to rows.
pub(super) struct Reading {
    ctx: StatementContext,
    /// The statement, to bind it anew once the header is read.
    copy: Copy,
    selection: Option<ast::Expr>,
    plan: CopyPlan,
    options: Options,
    decoder: Decoder,
    record: Record,
    batch: BatchBuilder,
    /// What its rows have left to be asked of foreign keys.
    references: References,
    /// The next record is the header.
    awaits_header: bool,
    copied: u64,
    /// Rows left out (ON_ERROR).
    skipped: u64,
    held: HeldBytes,
    copying: Copying,
    /// What of it is committed already (BATCH_ROWS).
    batches: Option<CommittedBatches>,
}

/// The transactions of a COPY that commits as it goes.
struct CommittedBatches {
    /// Rows of each, at least.
    rows: u64,
    /// Rows of those that have ended.
    committed: u64,
}

/// What a COPY FROM has done.
pub struct Copied {
    /// Rows written.
    pub rows: u64,
    /// The transaction of the last of them, where it is not the one that the statement began in.
    pub txn: Option<Arc<Transaction>>,
}

impl Reading {
    /// Of a statement, bound. Errors: those of binding and of the options.
    pub(super) async fn begin(ctx: &StatementContext, statement: &Statement, copy: &Copy) -> Result<Reading> {
        let selection = selection_of(statement, copy);
        let columns = super::column_names(copy);
        let has_marker = copy.options.iter().any(|option| option.name == "default");
        let name = relation_of(copy)?;
        let plan = CopyPlan::bind(ctx, name, &columns, selection.as_ref(), has_marker).await?;
        let options = Options::of(copy, ctx.settings.client_encoding)?;
        let format = &options.format;
        for (forced, option) in [
            (&format.force_not_null, "FORCE_NOT_NULL"),
            (&format.force_null, "FORCE_NULL"),
        ] {
            let named: Vec<&str> = plan.columns().map(|column| column.name.as_str()).collect();
            super::check_forced(forced, option, &named, |name| plan.check_column(name))?;
        }
        if options.batch_rows.is_some() && ctx.in_block {
            return Err(Error::TransactionState {
                state: "25001",
                message: "COPY with BATCH_ROWS cannot run inside a transaction block".to_string(),
            });
        }
        let (columns, bytes_max) = (plan.columns().len(), ctx.settings.message_bytes_max);
        Ok(Reading {
            decoder: Decoder::new(format.clone(), columns, bytes_max),
            batch: BatchBuilder::new(plan.columns(), format, ctx.format_settings()),
            references: References::default(),
            awaits_header: format.header != CopyHeader::Absent,
            held: HeldBytes::new(Arc::clone(&ctx.memory)),
            copying: ctx.session.copy.begin(CopyProgress::new(
                plan.table_oid(),
                true,
                copy.place != CopyPlace::Client,
            )),
            batches: options
                .batch_rows
                .map(|rows| CommittedBatches { rows, committed: 0 }),
            ctx: ctx.clone(),
            copy: copy.clone(),
            record: Record::default(),
            copied: 0,
            skipped: 0,
            selection,
            plan,
            options,
        })
    }

    /// What the data's columns are in number.
    pub(super) fn columns(&self) -> usize {
        self.plan.columns().len()
    }

    /// Whether the data is binary.
    pub(super) fn is_binary(&self) -> bool {
        self.options.format.is_binary()
    }

    /// Takes a piece of the data. Errors: the data's, and those of writing rows.
    pub(super) async fn take(&mut self, piece: &[u8]) -> Result<()> {
        // What is released of a long piece is little each time: what is behind it moves up.
        for part in piece.chunks(PART_BYTES) {
            self.copying.progress().add_bytes(part.len());
            let taken = self.decoder.push(part);
            taken.map_err(|error| self.told_far(error))?;
            let read = self.read_records().await;
            read.map_err(|error| self.told_far(error))?;
        }
        self.held.resize(self.decoder.held_bytes())
    }

    /// No more data comes: writes the last rows; answers how many there were. Errors: as `take`.
    pub(super) async fn end(mut self) -> Result<Copied> {
        let ended = self.read_end().await;
        ended.map_err(|error| self.told_far(error))?;
        let began_others = self.batches.as_ref().is_some_and(|batches| batches.committed > 0);
        Ok(Copied {
            rows: self.copied,
            txn: began_others.then(|| Arc::clone(&self.ctx.txn)),
        })
    }

    async fn read_end(&mut self) -> Result<()> {
        self.decoder.end()?;
        self.read_records().await?;
        if self.awaits_header && self.options.format.header == CopyHeader::Match {
            // As PostgreSQL has it, for which there is an empty line.
            let context = format!("COPY {}, line 1: \"\"", self.plan.table_name());
            return Err(wrong_fields(1, self.columns()).in_context(context));
        }
        self.write_batch().await?;
        settle(&self.ctx, &self.references).await?;
        if self.skipped > 0 {
            let rows = match self.skipped {
                1 => "1 row was".to_string(),
                rows => format!("{rows} rows were"),
            };
            self.notice(format!("{rows} skipped due to data type incompatibility"));
        }
        Ok(())
    }

    /// The error of a COPY that commits as it goes says how far it came.
    fn told_far(&self, error: Error) -> Error {
        let committed = self.batches.as_ref().map_or(0, |batches| batches.committed);
        if committed == 0 {
            return error;
        }
        let far = format!(
            "COPY {}, {committed} rows committed before",
            self.plan.table_name()
        );
        match error {
            Error::InContext { error, context } => error.in_context(format!("{context}\n{far}")),
            error => error.in_context(far),
        }
    }

    async fn read_records(&mut self) -> Result<()> {
        loop {
            match self.decoder.read(&mut self.record) {
                Ok(Progress::Row) if self.awaits_header => self.take_header().await?,
                Ok(Progress::Row) => self.take_record().await?,
                Ok(Progress::Starved | Progress::Ended) => return Ok(()),
                // Nothing was read yet, not even the first of a row.
                Err(error) if self.decoder.number() == 0 => return Err(error),
                Err(error) => {
                    let fault = RecordFault {
                        column: None,
                        error: Box::new(error),
                    };
                    return Err(self.refused(fault).await);
                }
            }
            if self.batch.len() >= self.batch_rows_max() || self.decoder.read_bytes() >= BATCH_BYTES {
                self.write_batch().await?;
            }
        }
    }

    fn batch_rows_max(&self) -> usize {
        let committed = self.batches.as_ref().map(|batches| batches.rows);
        let committed = committed.and_then(|rows| usize::try_from(rows).ok());
        committed.map_or(ROWS_MAX, |rows| rows.min(ROWS_MAX))
    }

    async fn take_record(&mut self) -> Result<()> {
        let origin = self.origin();
        let Err(fault) = self.batch.append(&self.record, origin.clone()) else {
            return Ok(());
        };
        let is_soft = fault.column.is_some() && fault.error.sqlstate().starts_with("22");
        if !self.options.ignores_errors || !is_soft {
            return Err(self.refused(fault).await);
        }
        if self.options.is_verbose {
            self.tell_skipped(&fault);
        }
        self.skipped += 1;
        if self
            .options
            .reject_limit
            .is_some_and(|limit| self.skipped > limit)
        {
            let limit = self.options.reject_limit.unwrap_or_default();
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

    fn tell_skipped(&self, fault: &RecordFault) {
        let line = self.decoder.number();
        let column = fault.column.map_or("", |at| self.batch.column_name(at));
        let value = match fault.column.and_then(|at| self.record.get(at)) {
            Some(FieldValue::Data(bytes)) => format!("\"{}\"", shortened(&String::from_utf8_lossy(bytes))),
            _ => "null input".to_string(),
        };
        self.notice(format!(
            "skipping row due to data type incompatibility at line {line} for column \"{column}\": {value}"
        ));
    }

    fn notice(&self, message: String) {
        self.ctx.notice(Notice {
            severity: "NOTICE",
            sqlstate: "00000".into(),
            detail: None,
            message,
            hint: None,
        });
    }

    /// The header was read: it names the columns, or it should.
    async fn take_header(&mut self) -> Result<()> {
        self.awaits_header = false;
        if self.options.format.header != CopyHeader::Match {
            return Ok(());
        }
        let names_columns = super::column_names(&self.copy).is_empty() && self.plan.takes_new_columns();
        let taken = match names_columns {
            true => self.bind_header().await,
            false => self.check_header(),
        };
        taken.map_err(|error| error.in_context(self.line_context(&self.origin(), true)))
    }

    /// The columns of a dynamic table are those that the header names.
    async fn bind_header(&mut self) -> Result<()> {
        let mut names = Vec::with_capacity(self.record.len());
        for at in 0..self.record.len() {
            match self.record.get(at) {
                Some(FieldValue::Data(name)) if !name.is_empty() => {
                    names.push(String::from_utf8_lossy(name).into_owned());
                }
                _ => {
                    return Err(bad(format!(
                        "missing column name in header line field {}",
                        at + 1
                    )));
                }
            }
        }
        let (name, selection) = (relation_of(&self.copy)?, self.selection.as_ref());
        let has_marker = self.options.format.default.is_some();
        // What it has added is in its transaction, and in no catalog that was loaded before.
        let ctx = self.ctx.clone().seeing_definitions().await?;
        self.plan = CopyPlan::bind(&ctx, name, &names, selection, has_marker).await?;
        self.ctx = ctx;
        self.batch = BatchBuilder::new(
            self.plan.columns(),
            &self.options.format,
            self.ctx.format_settings(),
        );
        Ok(())
    }

    fn check_header(&self) -> Result<()> {
        let (found, expected) = (self.record.len(), self.plan.columns().len());
        if found != expected {
            return Err(wrong_fields(found, expected));
        }
        for (at, column) in self.plan.columns().enumerate() {
            let (number, expected) = (at + 1, &column.name);
            let got = match self.record.get(at) {
                Some(FieldValue::Data(name)) if name == expected.as_bytes() => continue,
                Some(FieldValue::Data(name)) => format!("\"{}\"", String::from_utf8_lossy(name)),
                _ => format!("null value (\"{}\")", self.options.format.null),
            };
            return Err(bad(format!(
                "column name mismatch in header line field {number}: got {got}, expected \"{expected}\""
            )));
        }
        Ok(())
    }

    /// The error for a record, unless one before it, which is not written yet, is at fault.
    async fn refused(&mut self, fault: RecordFault) -> Error {
        let context = match fault.column {
            Some(_) => self.field_context(fault.column),
            None => self.line_context(&self.origin(), true),
        };
        match self.write_batch().await {
            // PostgreSQL asks for duplicates later.
            Ok(()) => fault.error.in_context(context),
            Err(earlier) => match earlier.bare() {
                Error::UniqueViolation { .. } => fault.error.in_context(context),
                _ => earlier,
            },
        }
    }

    async fn write_batch(&mut self) -> Result<()> {
        let (given, origins): (Given, Vec<Origin>) = self.batch.finish()?;
        if !origins.is_empty() {
            match self.plan.write(&self.ctx, &given, &self.references).await {
                Ok(written) => {
                    self.copied += written as u64;
                    let excluded = (given.count - written) as u64;
                    self.copying.progress().add_rows(written as u64, excluded);
                }
                Err(fault) => return Err(self.fault_of_row(fault, &origins)),
            }
        }
        self.decoder.release();
        self.commit_batch().await
    }

    /// Commits what was written, where that is to be done and it is enough, and goes on in another transaction.
    async fn commit_batch(&mut self) -> Result<()> {
        let Some(batches) = &mut self.batches else {
            return Ok(());
        };
        if self.copied - batches.committed < batches.rows {
            return Ok(());
        }
        settle(&self.ctx, &self.references).await?;
        let txn = &self.ctx.txn;
        txn.note_statement(false);
        txn.commit(!self.ctx.settings.synchronous_commit).await?;
        batches.committed = self.copied;
        self.ctx.txn = Arc::new(txn.another().await?);
        self.plan.lock(&self.ctx).await
    }

    fn fault_of_row(&self, fault: RowFault, origins: &[Origin]) -> Error {
        match fault.row.and_then(|row| origins.get(row)) {
            None => fault.error,
            Some(origin) => {
                let shows_line = !matches!(fault.error, Error::UniqueViolation { .. });
                fault.error.in_context(self.line_context(origin, shows_line))
            }
        }
    }

    fn origin(&self) -> Origin {
        Origin {
            number: self.decoder.number(),
            line: self.decoder.line(),
        }
    }

    fn line_context(&self, origin: &Origin, shows_line: bool) -> String {
        let place = format!("COPY {}, line {}", self.plan.table_name(), origin.number);
        match &origin.line {
            Some(line) if shows_line => format!("{place}: \"{}\"", shortened(self.decoder.text(line))),
            _ => place,
        }
    }

    /// Of the record read last.
    fn field_context(&self, column: Option<usize>) -> String {
        let place = self.line_context(&self.origin(), false);
        let Some(at) = column else { return place };
        let place = format!("{place}, column {}", self.batch.column_name(at));
        match self.record.get(at) {
            _ if self.is_binary() => place,
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

/// WHERE, which stands beside the statement as a query's.
fn selection_of(statement: &Statement, copy: &Copy) -> Option<ast::Expr> {
    match &statement.parsed.ast {
        ast::Statement::Query(query) if copy.has_condition => match query.body.as_ref() {
            ast::SetExpr::Select(select) => select.selection.clone(),
            _ => None,
        },
        _ => None,
    }
}

fn relation_of(copy: &Copy) -> Result<&ast::ObjectName> {
    match &copy.subject {
        CopySubject::Relation { name, .. } => Ok(name),
        CopySubject::Query => Err(Error::internal("rows are copied to a query")),
    }
}

fn wrong_fields(found: usize, expected: usize) -> Error {
    bad(format!(
        "wrong number of fields in header line: got {found}, expected {expected}"
    ))
}

/// A text as CONTEXT shows it.
fn shortened(text: &str) -> String {
    match text.len() > SHOWN_BYTES_MAX {
        true => format!("{}...", &text[..text.floor_char_boundary(SHOWN_BYTES_MAX)]),
        false => text.to_string(),
    }
}

fn bad(message: String) -> Error {
    Error::BadCopyData { message, hint: None }
}
