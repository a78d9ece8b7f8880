//! `RowStream`: a result on its way to the client, handed out in pieces of at most as many rows as are wanted. It holds
//! the live stream, so a suspended `Portal` is no more than one of these at rest;
//! and the rows of a FETCH hold the portal that they go back to.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::StreamExt;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::counted_run::CountedRun;
use super::{Interrupt, PreparedStatement};
use crate::parse::command::Movement;
use crate::scan::{OutputColumn, Rows, RowsStream};
use crate::sql::{Cursor, SharedCursor};
use crate::store::MemoryAccount;
use crate::system::{CursorRow, Parameters, Settings, StatementMemory};
use crate::txn::Transaction;
use crate::types::WireFormat;
use crate::{Error, Result};

/// A result whose rows are still to be sent. Dropping it stops the work behind it.
pub struct RowStream {
    /// The result's columns.
    pub columns: Arc<[OutputColumn]>,
    source: Source,
    /// The source has ended, and must not be asked again.
    ended: bool,
    /// What of the last batch was not wanted yet.
    rest: Option<Rows>,
    rows: u64,
    tag: RowsTag,
    /// Rows until it stops (FETCH).
    left: Option<u64>,
    /// When the statement times out.
    pub(super) deadline: Option<Instant>,
    /// The transaction of a statement outside a block, to commit at the end should the statement have written.
    pub(super) txn: Option<Arc<Transaction>>,
    /// A BINARY cursor's.
    pub is_binary: bool,
    /// What the statement holds in memory, until its result has left.
    pub(super) memory: Option<Arc<StatementMemory>>,
    /// The cursor that the stream goes back to when FETCH is done.
    pub(super) cursor: Option<Box<Portal>>,
    /// The cursor's name.
    pub(super) cursor_name: String,
    /// Is counted when it is done.
    pub(super) counted: Option<Box<CountedRun>>,
}

/// Where rows come from.
enum Source {
    /// The statement itself.
    Stream(RowsStream),
    /// A cursor on its query's rows.
    Cursor(SharedCursor),
}

impl Source {
    async fn next(&mut self, wanted: usize) -> Result<Option<Rows>> {
        match self {
            Source::Stream(stream) => stream.next().await.transpose(),
            Source::Cursor(cursor) => cursor.lock().await.next(wanted).await,
        }
    }
}

/// A prepared statement with its parameters, before, in or after its execution.
#[derive(Debug)]
pub struct Portal {
    /// The statement.
    pub statement: Arc<PreparedStatement>,
    /// What was bound.
    pub parameters: Parameters,
    /// The format that the client wants each column of the result in.
    pub formats: Arc<[WireFormat]>,
    /// How far it is.
    pub state: PortalState,
    /// What its parameters take of the server's memory; `None`: too little to count.
    pub(super) _memory: Option<MemoryAccount>,
    /// What DECLARE said of it; `None` for those of the protocol.
    pub(super) declared: Option<Declared>,
    /// Counts portals of the session.
    pub(super) number: u64,
}

/// What DECLARE said of a cursor.
#[derive(Debug)]
pub(super) struct Declared {
    /// As the catalog tells of it.
    pub(super) row: Arc<CursorRow>,
    /// Its rows are all here, and it outlives its transaction.
    pub(super) is_held: bool,
}

impl Portal {
    /// Whether it outlives its transaction.
    pub(super) fn is_held(&self) -> bool {
        self.declared.as_ref().is_some_and(|declared| declared.is_held)
    }
}

/// How far a portal is.
#[derive(Debug)]
pub enum PortalState {
    /// Not run yet.
    Ready,
    /// Rows are left: the live stream.
    Streaming(RowStream),
    /// Run to its end. `tag`: what is told of a result that gives no more rows; `None`: it had none.
    Done {
        /// See above.
        tag: Option<String>,
    },
}

/// What CommandComplete says of a result.
#[derive(Debug, Clone)]
pub(super) enum RowsTag {
    /// This and the number of rows sent.
    Counted(&'static str),
    /// This.
    Fixed(String),
}

/// What tags of writes say before the number of rows.
const WRITES: [&str; 6] = ["INSERT 0", "UPSERT 0", "UPDATE", "DELETE", "MERGE", "SELECT"];

impl RowsTag {
    pub(super) fn counted(word: &'static str) -> RowsTag {
        RowsTag::Counted(word)
    }

    /// That of a write whose rows are handed out: who takes them in parts is told of the rows of each part.
    pub(super) fn of_write(tag: String) -> RowsTag {
        let words = tag.rsplit_once(' ').map(|(words, _)| words);
        let known = WRITES.iter().copied().find(|known| Some(*known) == words);
        match known {
            Some(known) => RowsTag::Counted(known),
            None => RowsTag::Fixed(tag),
        }
    }

    fn of_rows(&self, rows: u64) -> String {
        match self {
            RowsTag::Counted(words) => format!("{words} {rows}"),
            RowsTag::Fixed(tag) => tag.clone(),
        }
    }
}

impl RowStream {
    pub(super) fn new(columns: Arc<[OutputColumn]>, stream: RowsStream, tag: RowsTag) -> RowStream {
        RowStream {
            columns,
            source: Source::Stream(stream),
            ended: false,
            rest: None,
            rows: 0,
            tag,
            left: None,
            deadline: None,
            txn: None,
            is_binary: false,
            memory: None,
            cursor: None,
            cursor_name: String::new(),
            counted: None,
        }
    }

    /// What a cursor gives.
    pub(super) fn of_cursor(columns: Arc<[OutputColumn]>, cursor: SharedCursor) -> RowStream {
        let stream = futures::stream::empty().boxed();
        RowStream {
            source: Source::Cursor(cursor),
            ..RowStream::new(columns, stream, RowsTag::counted("FETCH"))
        }
    }

    /// The same result as a cursor makes it of the stream, which then goes forward.
    pub(super) fn into_cursor(mut self, settings: &Arc<Settings>) -> RowStream {
        if let Source::Stream(stream) = self.source {
            let memory = self.memory.clone().unwrap_or_else(|| settings.statement_memory());
            let cursor = Cursor::of_stream(stream, &self.columns, Arc::clone(settings), memory);
            self.source = Source::Cursor(Arc::new(Mutex::new(cursor)));
        }
        self
    }

    /// The cursor that the rows are of.
    pub(super) fn cursor(&self) -> Option<&SharedCursor> {
        match &self.source {
            Source::Cursor(cursor) => Some(cursor),
            Source::Stream(_) => None,
        }
    }

    /// Whether the cursor that the rows are of can go back.
    pub(super) fn is_scrollable(&self) -> bool {
        let cursor = self.cursor().map(|cursor| cursor.try_lock());
        cursor.is_some_and(|cursor| cursor.is_ok_and(|cursor| cursor.is_scrollable()))
    }

    pub(super) fn of_batches(
        columns: Vec<OutputColumn>,
        batches: Vec<RecordBatch>,
        tag: RowsTag,
    ) -> RowStream {
        let stream = futures::stream::iter(batches.into_iter().map(|batch| Ok(Rows::Columns(batch)))).boxed();
        RowStream::new(columns.into(), stream, tag)
    }

    /// Keeps only the columns at these places. Called before the first row is asked for.
    pub(super) fn project(&mut self, kept: Vec<usize>) {
        self.columns = kept.iter().map(|at| self.columns[*at].clone()).collect();
        if let Source::Stream(stream) = &mut self.source {
            let whole = std::mem::replace(stream, futures::stream::empty().boxed());
            *stream = whole.map(move |rows| rows?.project(&kept)).boxed();
        }
    }

    /// The next rows, at least one and at most `wanted`; `None` at the end. Errors: the statement's, or what was raised.
    pub async fn next(&mut self, interrupt: &Interrupt, wanted: usize) -> Result<Option<Rows>> {
        let wanted = wanted.min(
            self.left
                .map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX)),
        );
        if wanted == 0 {
            return Ok(None);
        }
        let rows = match self.rest.take() {
            Some(rows) => rows,
            None if self.ended => return Ok(None),
            None => match interrupt.guard(self.deadline, self.source.next(wanted)).await {
                Ok(Some(rows)) => rows,
                ended => {
                    self.ended = true;
                    return ended;
                }
            },
        };
        if rows.num_columns() != self.columns.len() {
            return Err(Error::internal("a piece has other columns than its result"));
        }
        let taken = rows.num_rows().min(wanted);
        if taken < rows.num_rows() {
            self.rest = Some(rows.slice(taken, rows.num_rows() - taken));
        }
        self.rows += taken as u64;
        self.left = self.left.map(|left| left - taken as u64);
        Ok(Some(rows.slice(0, taken)))
    }

    /// Gives back what `next` gave, all that there was, to be asked for again.
    pub fn put_back(&mut self, rows: Rows) {
        let count = rows.num_rows() as u64;
        self.rows -= count;
        self.left = self.left.map(|left| left + count);
        self.rest = Some(rows);
    }

    /// When the statement times out.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The command tag for the rows handed out so far.
    pub(super) fn tag(&self) -> String {
        self.tag.of_rows(self.rows)
    }

    /// The command tag of an Execute that finds no more rows.
    pub fn tag_without_rows(&self) -> String {
        self.tag.of_rows(0)
    }

    /// Goes on after a suspension: the tag counts from here, and so does the time.
    pub fn resume(&mut self, deadline: Option<Instant>) {
        self.rows = 0;
        self.deadline = deadline;
    }

    /// Whether FETCH or MOVE went through it. (The rows of a FETCH are as many as it says.)
    pub fn was_moved(&self) -> bool {
        self.cursor.is_none() && matches!(self.source, Source::Cursor(_))
    }

    /// What is behind where FETCH and MOVE left it is next. Errors: the query's.
    pub async fn go_on(&mut self) -> Result<()> {
        if let Source::Cursor(cursor) = &mut self.source {
            let left = cursor.lock().await.begin(Movement::ForwardAll, false).await?;
            self.fetch(left);
            self.tag = RowsTag::counted("SELECT");
        }
        Ok(())
    }

    /// Makes it the answer of a FETCH of at most `left` rows, or of the next one.
    pub(super) fn fetch(&mut self, left: Option<u64>) {
        self.rows = 0;
        self.left = left;
        self.ended = false;
        self.tag = RowsTag::counted("FETCH");
    }
}

impl std::fmt::Debug for RowStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream")
            .field("columns", &self.columns)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}
