//! `Reading`: the work of a COPY FROM: pieces of data to rows written. A `Parser` makes batches of the data, on another thread beside
//! the writing of those before where there is much of it. Errors say where in the data they were met, as PostgreSQL's CONTEXT does.

use std::sync::Arc;

use sqlparser::ast;
use tokio::task::JoinHandle;

use super::options::Options;
use super::parser::{BATCH_BYTES, Parsed, ParsedRows, Parser};
use crate::copy::{CopyHeader, FieldValue, Record};
use crate::parse::copy::{Copy, CopyPlace, CopySubject};
use crate::sql::Statement;
use crate::sql::dml::{CopyPlan, References, settle};
use crate::system::query_threads;
use crate::system::statement_memory::HeldBytes;
use crate::system::{CopyProgress, Copying, Notice, StatementContext};
use crate::table::RowFault;
use crate::txn::Transaction;
use crate::types::strings::truncate_name;
use crate::{Error, Result};

/// Data on its way to rows.
pub(super) struct Reading {
    ctx: StatementContext,
    /// The statement, to bind it anew once the header is read.
    copy: Copy,
    selection: Option<ast::Expr>,
    plan: CopyPlan,
    /// Whether the triggers that fire before its first row have been called.
    has_begun: bool,
    options: Arc<Options>,
    /// What is to be parsed next.
    block: Vec<u8>,
    parsing: Parsing,
    /// What its rows have left to be asked of foreign keys.
    references: References,
    /// The next record is the header.
    awaits_header: bool,
    copied: u64,
    held: HeldBytes,
    copying: Copying,
    /// What of it is committed already (BATCH_ROWS).
    batches: Option<CommittedBatches>,
}

/// Where the parser is.
enum Parsing {
    Here(Box<Parser>),
    /// It parses a block, on a thread of its own.
    Beside(JoinHandle<(Box<Parser>, Vec<Parsed>)>),
    /// It was lost with an error.
    Ended,
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
        let options = Arc::new(Options::of(copy, ctx.settings.client_encoding)?);
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
        let bytes_max = ctx.settings.message_bytes_max;
        let parser = Parser::new(&plan, &options, ctx.format_settings(), bytes_max);
        let references = References::default();
        plan.enter(ctx, &references);
        Ok(Reading {
            block: Vec::new(),
            parsing: Parsing::Here(Box::new(parser)),
            references,
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
            copied: 0,
            has_begun: false,
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

    /// Takes a piece of the data, and reads on once there is much. Errors: the data's, and those of writing rows.
    pub(super) async fn take(&mut self, piece: &[u8]) -> Result<()> {
        self.copying.progress().add_bytes(piece.len());
        for part in piece.chunks(BATCH_BYTES) {
            self.block.extend_from_slice(part);
            if self.block.len() >= BATCH_BYTES {
                let read = self.read_beside().await;
                read.map_err(|error| self.told_far(error))?;
            }
        }
        Ok(())
    }

    /// Reads all that has come, for no more does at present. Errors: as `take`.
    pub(super) async fn catch_up(&mut self) -> Result<()> {
        let read = self.read_here().await;
        read.map_err(|error| self.told_far(error))
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
        self.read_here().await?;
        self.parser()?.end()?;
        self.read_here().await?;
        if self.awaits_header && self.options.format.header == CopyHeader::Match {
            // As PostgreSQL has it, for which there is an empty line.
            let context = format!("COPY {}, line 1: \"\"", self.plan.table_name());
            return Err(wrong_fields(1, self.columns()).in_context(context));
        }
        let (rows, skipped) = (self.parser()?.rows()?, self.parser()?.skipped());
        self.write_rows(&rows).await?;
        self.plan.note_end(&self.ctx, &self.references);
        settle(&self.ctx, &self.references).await?;
        if skipped > 0 {
            let rows = match skipped {
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

    /// Has the block parsed on another thread, and writes meanwhile what came of the one before.
    async fn read_beside(&mut self) -> Result<()> {
        if self.awaits_header {
            return self.read_here().await;
        }
        let (mut parser, parsed) = self.returned().await?;
        let is_refused = matches!(parsed.last(), Some(Parsed::Refused(..)));
        let block = std::mem::replace(&mut self.block, Vec::with_capacity(2 * BATCH_BYTES));
        let lines = parsed.iter().map(Parsed::held_bytes).sum::<usize>();
        self.held.resize(parser.held_bytes() + 2 * block.len() + lines)?;
        if !is_refused {
            // A task of the query threads would wait for this one's thread.
            self.parsing = Parsing::Beside(tokio::task::spawn_blocking(move || {
                let mut parsed = Vec::new();
                parser.read_block(&block, &mut parsed);
                (parser, parsed)
            }));
        }
        self.write(parsed).await
    }

    /// Parses and writes all that has come.
    async fn read_here(&mut self) -> Result<()> {
        let (parser, parsed) = self.returned().await?;
        self.parsing = Parsing::Here(parser);
        self.write(parsed).await?;
        let (block, mut parsed) = (std::mem::take(&mut self.block), Vec::new());
        if !self.awaits_header {
            self.parser()?.read_block(&block, &mut parsed);
        } else {
            self.parser()?.push(&block)?;
            if self.read_header().await? {
                self.parser()?.read(&mut parsed);
            }
        }
        let held = self.parser()?.held_bytes();
        self.held.resize(held)?;
        self.write(parsed).await
    }

    /// The parser, and what it has made of its last block.
    async fn returned(&mut self) -> Result<(Box<Parser>, Vec<Parsed>)> {
        match std::mem::replace(&mut self.parsing, Parsing::Ended) {
            Parsing::Here(parser) => Ok((parser, Vec::new())),
            Parsing::Beside(parsing) => parsing.await.map_err(|_| query_threads::panicked()),
            Parsing::Ended => Err(Error::internal("a COPY goes on that has failed")),
        }
    }

    /// The parser, which is here.
    fn parser(&mut self) -> Result<&mut Parser> {
        match &mut self.parsing {
            Parsing::Here(parser) => Ok(parser),
            Parsing::Beside(_) | Parsing::Ended => Err(Error::internal("a parser that is elsewhere")),
        }
    }

    /// Reads the header, which names the columns, or should. `false`: it has not come.
    async fn read_header(&mut self) -> Result<bool> {
        let Some(header) = self.parser()?.next_record()?.cloned() else {
            return Ok(false);
        };
        self.awaits_header = false;
        if self.options.format.header != CopyHeader::Match {
            return Ok(true);
        }
        let names_columns = super::column_names(&self.copy).is_empty() && self.plan.takes_new_columns();
        let taken = match names_columns {
            true => self.bind_header(&header).await,
            false => self.check_header(&header),
        };
        let context = self.parser()?.record_context();
        taken.map_err(|error| error.in_context(context))?;
        Ok(true)
    }

    /// The columns of a dynamic table are those that the header names.
    async fn bind_header(&mut self, header: &Record) -> Result<()> {
        let mut names = Vec::with_capacity(header.len());
        for at in 0..header.len() {
            match header.get(at) {
                Some(FieldValue::Data(name)) if !name.is_empty() => {
                    let mut name = String::from_utf8_lossy(name).into_owned();
                    truncate_name(&mut name);
                    names.push(name);
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
        if let Parsing::Here(parser) = &mut self.parsing {
            parser.set_columns(&self.plan, self.ctx.format_settings());
        }
        Ok(())
    }

    fn check_header(&self, header: &Record) -> Result<()> {
        let (found, expected) = (header.len(), self.plan.columns().len());
        if found != expected {
            return Err(wrong_fields(found, expected));
        }
        for (at, column) in self.plan.columns().enumerate() {
            let (number, expected) = (at + 1, &column.name);
            let got = match header.get(at) {
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

    /// Writes what was parsed. Errors: those of writing rows; what was refused.
    async fn write(&mut self, parsed: Vec<Parsed>) -> Result<()> {
        for parsed in parsed {
            match parsed {
                Parsed::Rows(rows) => self.write_rows(&rows).await?,
                Parsed::Notice(message) => self.notice(message),
                Parsed::Refused(before, error) => {
                    return Err(match self.write_rows(&before).await {
                        Ok(()) => error,
                        // PostgreSQL asks for duplicates later.
                        Err(earlier) if matches!(earlier.bare(), Error::UniqueViolation { .. }) => error,
                        Err(earlier) => earlier,
                    });
                }
            }
        }
        Ok(())
    }

    async fn write_rows(&mut self, rows: &ParsedRows) -> Result<()> {
        let given = &rows.given;
        if !std::mem::replace(&mut self.has_begun, true) {
            self.plan.fire_before(&self.ctx).await?;
        }
        if given.count > 0 {
            match self.plan.write(&self.ctx, given, &self.references).await {
                Ok(written) => {
                    self.copied += written as u64;
                    let excluded = (given.count - written) as u64;
                    self.copying.progress().add_rows(written as u64, excluded);
                }
                Err(fault) => return Err(self.fault_of_row(fault, rows)),
            }
        }
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
        let txn = Arc::clone(&self.ctx.txn);
        txn.note_statement(false);
        let relaxed = !self.ctx.settings.synchronous_commit;
        self.ctx.jobs.commit(Arc::clone(&txn), relaxed, None).await?;
        batches.committed = self.copied;
        self.ctx.txn = Arc::new(txn.another().await?);
        self.plan.lock(&self.ctx).await
    }

    fn fault_of_row(&self, fault: RowFault, rows: &ParsedRows) -> Error {
        let shows_line = !matches!(fault.error, Error::UniqueViolation { .. });
        let table = self.plan.table_name();
        match fault.row.and_then(|row| rows.context_of(row, table, shows_line)) {
            None => fault.error,
            Some(context) => fault.error.in_context(context),
        }
    }

    fn notice(&self, message: String) {
        self.ctx.notice(Notice::new("00000", message));
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

fn bad(message: String) -> Error {
    Error::BadCopyData { message, hint: None }
}
