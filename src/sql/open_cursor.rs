//! `Cursor`: the rows of a DECLARE or of an OPEN, and the place among them that FETCH and MOVE change. Rows that can be gone back to are
//! kept in a `Spool`; of a cursor that said neither SCROLL nor NO SCROLL as long as they are few. `session` and `plpgsql` make and
//! move them; a `RowStream` hands their rows out.
//!
//! - The place is 0 before the first row, n on the nth, and one more than there are rows behind the last.
//! - Rows that are kept end where those that the query still has begin.

use std::sync::Arc;

use arrow::array::UInt64Array;

use crate::operators::Spool;
use crate::parse::command::Movement;
use crate::query::{CursorRows, RowKey};
use crate::scan::{OutputColumn, Rows, RowsStream};
use crate::sql::OpenedCursor;
use crate::system::{CursorPosition, CursorRowsAtHand, InUse, Settings, StatementMemory};
use crate::types::{SqlType, take_rows};
use crate::{Error, Result};

/// So many bytes of rows are kept of a cursor that did not say SCROLL, should it be asked to go back.
const UNASKED_BYTES_MAX: usize = 4 << 20;

/// A cursor as the session and its bodies share it.
pub(crate) type SharedCursor = Arc<tokio::sync::Mutex<Cursor>>;

/// The same of what the session's list of cursors keeps.
pub(crate) fn shared_cursor(rows: CursorRowsAtHand) -> Option<SharedCursor> {
    rows.downcast().ok()
}

/// The rows of a cursor, and a place among them.
pub(crate) struct Cursor {
    columns: Arc<[OutputColumn]>,
    /// What the query still has; `None` when that is nothing.
    source: Option<CursorRows>,
    /// The rows of tables that its rows are made of.
    keys: Arc<[RowKey]>,
    /// Whether the query locks rows.
    locks_rows: bool,
    /// The tables that it reads, until all is read for others to come.
    in_use: Option<InUse>,
    /// The columns that are the client's: the first.
    visible: usize,
    /// The row given last, with all columns, where its keys are known.
    last: Option<Rows>,
    /// What came of the query, and was not given yet.
    rest: Option<Rows>,
    /// Rows that came of the query.
    read: u64,
    /// Rows that are kept; `None` when only the next can be read.
    kept: Option<Spool>,
    scroll: Scroll,
    place: u64,
    /// FETCH goes back.
    backward: bool,
    settings: Arc<Settings>,
    memory: Arc<StatementMemory>,
}

/// Whether a cursor can go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scroll {
    Always,
    WhileFew,
    Never,
}

impl Cursor {
    /// Before the first row of a query. `scroll`: as DECLARE said it; one that locks rows gives each as it is when it comes by, and goes
    /// forward.
    pub(crate) fn new(
        opened: OpenedCursor,
        scroll: Option<bool>,
        settings: Arc<Settings>,
        memory: Arc<StatementMemory>,
    ) -> Cursor {
        let scroll = match scroll {
            _ if opened.locks_rows => Scroll::Never,
            Some(true) => Scroll::Always,
            Some(false) => Scroll::Never,
            None => Scroll::WhileFew,
        };
        let spool = || Spool::new(Arc::clone(&settings), Arc::clone(&memory), 0);
        Cursor {
            columns: Arc::clone(&opened.columns),
            source: Some(opened.rows),
            keys: opened.keys,
            locks_rows: opened.locks_rows,
            in_use: opened.in_use,
            visible: opened.columns.len(),
            last: None,
            rest: None,
            read: 0,
            kept: (scroll != Scroll::Never).then(spool),
            scroll,
            place: 0,
            backward: false,
            settings,
            memory,
        }
    }

    /// Before the first of rows of so many columns, that can only go forward.
    pub(crate) fn of_stream(
        rows: RowsStream,
        columns: &Arc<[OutputColumn]>,
        settings: Arc<Settings>,
        memory: Arc<StatementMemory>,
    ) -> Cursor {
        let opened = OpenedCursor {
            columns: Arc::clone(columns),
            keys: Arc::default(),
            locks_rows: false,
            in_use: None,
            rows: CursorRows::Stream(rows),
        };
        Cursor::new(opened, Some(false), settings, memory)
    }

    /// Where it stands. `name`: its own.
    pub(crate) fn position(&self, name: &str) -> Result<CursorPosition> {
        let on = self.last.as_ref().filter(|_| self.is_on_row());
        let keys = on.map(|row| {
            let row = row.clone().into_batch()?;
            let key = |key: &RowKey| key.places.iter().map(|at| Arc::clone(row.column(*at))).collect();
            Ok::<_, Error>(self.keys.iter().map(key).collect())
        });
        Ok(CursorPosition {
            cursor: name.to_string(),
            locks_rows: self.locks_rows,
            tables: self.keys.iter().map(|key| key.table.oid).collect(),
            keys: keys.transpose()?,
        })
    }

    /// The columns that are the client's.
    pub(crate) fn columns(&self) -> &Arc<[OutputColumn]> {
        &self.columns
    }

    /// The same as names and types.
    pub(crate) fn names_and_types(&self) -> Vec<(String, SqlType)> {
        let columns = self.columns.iter();
        columns
            .map(|column| (column.name.clone(), column.decided_type()))
            .collect()
    }

    /// MOVE: passes rows over; answers how many. Errors: as `begin`'s and `next`'s.
    pub(crate) async fn pass(&mut self, movement: Movement) -> Result<u64> {
        if matches!(movement, Movement::Forward(0) | Movement::Relative(0)) {
            return Ok(u64::from(self.is_on_row()));
        }
        let mut left = self.begin(movement, true).await?;
        let mut passed = 0;
        while left != Some(0) {
            let wanted = left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
            let Some(rows) = self.next(wanted).await? else {
                break;
            };
            passed += rows.num_rows() as u64;
            left = left.map(|left| left - rows.num_rows() as u64);
        }
        Ok(passed)
    }

    /// Whether it can go back.
    pub(crate) fn is_scrollable(&self) -> bool {
        self.scroll != Scroll::Never
    }

    /// Goes to where the rows that a movement gives begin; answers how many these are at most, `None` for all. `only_moves`: they are
    /// passed over. Errors: 55000, the query's.
    pub(crate) async fn begin(&mut self, movement: Movement, only_moves: bool) -> Result<Option<u64>> {
        let forward = |rows: i64| (false, Some(rows.unsigned_abs()));
        let (backward, left) = match movement {
            Movement::Forward(0) | Movement::Relative(0) => match self.is_on_row() {
                true => {
                    self.skip_back(1)?;
                    forward(1)
                }
                false => forward(0),
            },
            Movement::Forward(rows) => (rows < 0, Some(rows.unsigned_abs())),
            Movement::ForwardAll => (false, None),
            // It is there already, and need not go back.
            Movement::BackwardAll if only_moves && self.place == 0 => forward(0),
            Movement::BackwardAll => (true, None),
            Movement::Absolute(row) if row >= 0 => {
                self.go_before(row.unsigned_abs()).await?;
                forward(row.min(1))
            }
            Movement::Absolute(row) => {
                self.skip(u64::MAX).await?;
                self.skip_back(row.unsigned_abs() - 1)?;
                (true, Some(1))
            }
            Movement::Relative(rows) if rows > 0 => {
                self.skip(rows.unsigned_abs() - 1).await?;
                forward(1)
            }
            Movement::Relative(rows) => {
                self.skip_back(rows.unsigned_abs() - 1)?;
                (true, Some(1))
            }
        };
        if backward {
            self.require_scroll()?;
        }
        self.backward = backward;
        Ok(left)
    }

    /// Whether it stands on a row.
    pub(crate) fn is_on_row(&self) -> bool {
        self.place > 0 && !self.is_behind_last()
    }

    /// The next rows in the direction of the movement, at most `wanted`, which is not 0; `None` behind the last one, where it
    /// then stands. Errors: the query's, 53100, 53200.
    pub(crate) async fn next(&mut self, wanted: usize) -> Result<Option<Rows>> {
        let rows = match self.backward {
            true => self.next_back(wanted).await?,
            false => self.next_forward(wanted).await?,
        };
        let Some(rows) = rows else { return Ok(None) };
        if !self.keys.is_empty() {
            self.last = Some(rows.slice(rows.num_rows() - 1, 1));
        }
        match self.visible < rows.num_columns() {
            true => rows.project(&(0..self.visible).collect::<Vec<_>>()).map(Some),
            false => Ok(Some(rows)),
        }
    }

    async fn next_forward(&mut self, wanted: usize) -> Result<Option<Rows>> {
        let Some(rows) = self.next_piece(wanted).await? else {
            self.place = self.read + 1;
            return Ok(None);
        };
        let taken = rows.num_rows().min(wanted);
        if self.kept.is_none() && taken < rows.num_rows() {
            self.rest = Some(rows.slice(taken, rows.num_rows() - taken));
        }
        self.place += taken as u64;
        Ok(Some(rows.slice(0, taken)))
    }

    /// Reads what the query still has, so that no transaction is needed for it. Errors: the query's, 53100, 53200.
    pub(crate) async fn hold(&mut self) -> Result<()> {
        self.in_use = None;
        if self.source.is_none() && self.rest.is_none() {
            return Ok(());
        }
        if self.kept.is_none() {
            let mut kept = Spool::new(Arc::clone(&self.settings), Arc::clone(&self.memory), self.place);
            if let Some(rest) = self.rest.take() {
                kept.push(rest.into_batch()?).await?;
            }
            self.kept = Some(kept);
        }
        while let Some(rows) = self.read_next(usize::MAX).await? {
            if let Some(kept) = &mut self.kept {
                kept.push(rows.into_batch()?).await?;
            }
        }
        Ok(())
    }

    /// Rows from the place on, as many as stand together, and no more than `wanted` are locked for it.
    async fn next_piece(&mut self, wanted: usize) -> Result<Option<Rows>> {
        if let Some(rest) = self.rest.take() {
            return Ok(Some(rest));
        }
        let place = self.place;
        let is_kept = |kept: &Spool| place < kept.end();
        if !self.kept.as_ref().is_some_and(is_kept) {
            let Some(rows) = self.read_next(wanted).await? else {
                return Ok(None);
            };
            let Some(kept) = &mut self.kept else {
                return Ok(Some(rows));
            };
            if self.scroll == Scroll::WhileFew && kept.bytes() > UNASKED_BYTES_MAX {
                self.scroll = Scroll::Never;
                self.kept = None;
                return Ok(Some(rows));
            }
            kept.push(rows.into_batch()?).await?;
        }
        let Some(kept) = &mut self.kept else {
            return Ok(None);
        };
        let (first, batch) = kept.piece(place).await?;
        let passed = (place - first) as usize;
        Ok(Some(Rows::Columns(
            batch.slice(passed, batch.num_rows() - passed),
        )))
    }

    async fn next_back(&mut self, wanted: usize) -> Result<Option<Rows>> {
        let Some(last) = self.place.checked_sub(2) else {
            self.place = 0;
            return Ok(None);
        };
        let Some(kept) = &mut self.kept else {
            return Err(Error::ForwardOnly);
        };
        let (first, batch) = kept.piece(last).await?;
        let count = ((last - first) as usize + 1).min(wanted) as u64;
        let places = (0..count).map(|back| last - first - back);
        let reversed = take_rows(&batch, &UInt64Array::from_iter_values(places));
        self.place -= count;
        Ok(Some(Rows::Columns(reversed.map_err(Error::arrow)?)))
    }

    /// What the query gives next, at most `wanted` where it locks rows for it.
    async fn read_next(&mut self, wanted: usize) -> Result<Option<Rows>> {
        let Some(source) = &mut self.source else {
            return Ok(None);
        };
        loop {
            match source.next(wanted).await? {
                Some(rows) if rows.num_rows() == 0 => {}
                Some(rows) => {
                    self.read += rows.num_rows() as u64;
                    return Ok(Some(rows));
                }
                None => {
                    self.source = None;
                    return Ok(None);
                }
            }
        }
    }

    /// So that the row of this number is the next.
    async fn go_before(&mut self, row: u64) -> Result<()> {
        let target = row.saturating_sub(1);
        match self.place > target || row == 0 {
            true => self.skip_back(self.place - target),
            false => self.skip(target - self.place).await,
        }
    }

    async fn skip(&mut self, rows: u64) -> Result<()> {
        self.backward = false;
        let mut left = rows;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(usize::MAX);
            match self.next(wanted).await? {
                Some(passed) => left -= passed.num_rows() as u64,
                None => break,
            }
        }
        Ok(())
    }

    fn skip_back(&mut self, rows: u64) -> Result<()> {
        if rows > 0 {
            self.require_scroll()?;
        }
        self.place = self.place.saturating_sub(rows);
        Ok(())
    }

    fn require_scroll(&self) -> Result<()> {
        match self.scroll {
            Scroll::Never => Err(Error::ForwardOnly),
            Scroll::Always | Scroll::WhileFew => Ok(()),
        }
    }

    fn is_behind_last(&self) -> bool {
        self.source.is_none() && self.place > self.read
    }
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cursor")
            .field("place", &self.place)
            .field("scroll", &self.scroll)
            .finish_non_exhaustive()
    }
}
