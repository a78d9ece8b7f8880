//! Scans: engine pages merged with the memtable and the undo map, a page at a time. Opened by snapshots; `delete_range` and
//! `split_points` use the synchronous half, `fill`, themselves.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::cursor::Cursor;
use super::emptied::Interval;
use super::limits::EMPTIED_KEYS_MIN;
use super::memtable::MemtableRow;
use super::page_limits::Limits;
use super::stored::split_stored;
use super::view::{View, run_blocking};
use crate::Result;
use crate::codec::expiry::ExpiryRule;
use crate::codec::successor;
use crate::store::page::KnownOfAll;
use crate::store::{Page, Scan, ScanRequest};

/// The first page of a scan is small, so that the first row comes at once; each after it is larger.
const FIRST_PAGE: Limits = Limits::new(128, 64 << 10);
/// The same where not everything is wanted, and nobody says how much.
const FIRST_PAGE_OF_FEW: Limits = Limits::new(24, 32 << 10);
/// What the engine has in memory is read on the caller's thread, and so are pages of up to this size wherever they are, unless the
/// engine is busy: handing one to another thread costs more than it saves. Others that must be waited for are read on a blocking
/// thread, ahead if the request says so.
const INLINE_PAGE_MAX: Limits = Limits::new(1024, 512 << 10);
/// No page is larger (but for one large row): offsets in a page have 32 bits.
const PAGE_BYTES_LIMIT: usize = 256 << 20;

/// A scan of a snapshot.
pub(super) struct MvccScan {
    view: Arc<View>,
    /// Behind the last page.
    cursor: Cursor,
    content: Content,
    read_ahead: bool,
    /// The page that is being read on a blocking thread. When the scan is dropped it is read to its end and forgotten.
    reading: Option<Reading>,
    /// A page given back, to be filled again.
    spare: Page,
    /// What the request allows.
    limits_max: Limits,
    /// What the next page may hold.
    limits: Limits,
}

/// What pages hold.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// Keys alone.
    Keys,
    /// Keys and values. The rule, where one is told: from when on the first of them is over is wanted, too.
    Rows(Option<Arc<ExpiryRule>>),
}

impl Content {
    fn rule(&self) -> Option<&Arc<ExpiryRule>> {
        match self {
            Content::Keys => None,
            Content::Rows(rule) => rule.as_ref(),
        }
    }

    fn of<'a>(&self, value: &'a [u8]) -> &'a [u8] {
        match self {
            Content::Keys => &[],
            Content::Rows(_) => value,
        }
    }
}

/// A page on its way, and the cursor behind it.
type Reading = BoxFuture<'static, Result<(Page, Cursor)>>;

impl MvccScan {
    pub(super) fn new(view: Arc<View>, request: ScanRequest) -> MvccScan {
        let limits_max = Limits::new(
            request.page_rows_max.max(1),
            request.page_bytes_max.clamp(1, PAGE_BYTES_LIMIT),
        );
        // Without a word how much is wanted, perhaps little.
        let first = match request.read_ahead || request.page_rows_max <= FIRST_PAGE.rows_max {
            true => FIRST_PAGE,
            false => FIRST_PAGE_OF_FEW,
        };
        let limits = first.at_most(limits_max);
        let cursor = Cursor::new(request.ranges, request.reverse);
        MvccScan {
            view,
            cursor,
            content: match request.keys_only {
                true => Content::Keys,
                false => Content::Rows(None),
            },
            read_ahead: request.read_ahead,
            reading: None,
            spare: Page::new(),
            limits_max,
            limits,
        }
    }

    /// The scan only moves on when a page has come, so a dropped future loses nothing.
    async fn next(&mut self, page: &mut Page) -> Result<()> {
        page.clear();
        let mut has_waited = false;
        while page.is_empty() && !self.cursor.is_done() {
            let limits = self.limits;
            if self.reading.is_none() && !self.read_here(page)? {
                self.reading = Some(self.read(std::mem::take(page)));
            }
            if let Some(reading) = self.reading.as_mut() {
                let read = reading.await;
                self.reading = None;
                let (filled, cursor) = read?;
                self.spare = std::mem::replace(page, filled);
                self.cursor = cursor;
                has_waited = true;
            }
            self.limits = match page.is_empty() {
                true => limits.reaching_further(),
                false => limits.grown(self.limits_max),
            };
        }
        if self.read_ahead && has_waited && !self.cursor.is_done() {
            let spare = std::mem::take(&mut self.spare);
            self.reading = Some(self.read(spare));
        }
        Ok(())
    }

    /// Reads a page on this thread; `false` when it would have to wait for it longer than it may.
    fn read_here(&mut self, page: &mut Page) -> Result<bool> {
        let wait = match self.limits.are_within(INLINE_PAGE_MAX) && !self.view.shared.engine.is_busy() {
            true => Wait::May,
            false => Wait::Never,
        };
        let mut cursor = self.cursor.clone();
        let filled = fill(&self.view, &mut cursor, &self.content, self.limits, wait, page)?;
        self.cursor = cursor;
        Ok(filled == Filled::Read || !page.is_empty())
    }

    /// Begins to read the page behind the cursor, on a blocking thread.
    fn read(&self, mut page: Page) -> Reading {
        let (view, content, limits) = (Arc::clone(&self.view), self.content.clone(), self.limits);
        let mut cursor = self.cursor.clone();
        page.clear();
        run_blocking(move || {
            fill(&view, &mut cursor, &content, limits, Wait::May, &mut page)?;
            Ok((page, cursor))
        })
        .boxed()
    }
}

impl Scan for MvccScan {
    fn next_page<'a>(&'a mut self, page: &'a mut Page) -> BoxFuture<'a, Result<()>> {
        self.next(page).boxed()
    }

    fn skip_to(&mut self, key: &[u8]) {
        self.reading = None;
        self.cursor.skip_to(key);
    }

    fn tell_over(&mut self, rule: &Arc<ExpiryRule>) {
        if let Content::Rows(told) = &mut self.content {
            *told = Some(Arc::clone(rule));
        }
    }
}

impl std::fmt::Debug for MvccScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MvccScan")
            .field("view", &self.view)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}

/// Whether a page may be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// As long as the engine takes.
    May,
    /// What is not in memory is left.
    Never,
}

/// What filling a page came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filled {
    /// The page is full, or the scan at its end.
    Read,
    /// The next row would have to be waited for.
    WouldWait,
}

/// Appends the next rows of the scan to `page`, which is empty, and moves the cursor behind them. May add nothing
/// although the cursor is not done, when it met only entries too new for the snapshot.
pub(super) fn fill(
    view: &View,
    cursor: &mut Cursor,
    content: &Content,
    limits: Limits,
    wait: Wait,
    page: &mut Page,
) -> Result<Filled> {
    let mut entries_left = limits.entries_max;
    let (mut filled, mut known) = (Filled::Read, KnownOfAll::OF_NONE);
    while !is_full(page, limits)
        && entries_left > 0
        && let Some((start, end)) = cursor.bounds()
    {
        let border = if cursor.reverse { end } else { Some(start) };
        let memtable = &view.shared.memtable;
        let behind = |border| memtable.behind_emptied(border, cursor.reverse, view.timestamp);
        if let Some(border) = border.and_then(behind) {
            cursor.resume_at(border);
            continue;
        }
        let piece = Piece {
            view,
            start,
            end,
            reverse: cursor.reverse,
            content,
            limits,
            wait,
        };
        let read = piece.read(&mut entries_left, page)?;
        known = known.and(read.known);
        match read.reached {
            Reached::Key(key) => cursor.resume_after(&key),
            Reached::End => cursor.next_range(),
            Reached::Wait => {
                filled = Filled::WouldWait;
                break;
            }
        }
    }
    if let Content::Rows(_) = content {
        page.set_known(known);
    }
    view.check()?;
    Ok(filled)
}

/// What is left of a range, read from the three places where rows stand.
struct Piece<'a> {
    view: &'a View,
    start: &'a [u8],
    end: Option<&'a [u8]>,
    reverse: bool,
    content: &'a Content,
    limits: Limits,
    wait: Wait,
}

/// What reading a piece came to.
struct PieceRead {
    reached: Reached,
    /// What is known of all its rows.
    known: KnownOfAll,
}

/// How far a read came.
enum Reached {
    /// All there is.
    End,
    /// This key is the last that was looked at.
    Key(Vec<u8>),
    /// Nowhere: the first key would have to be waited for.
    Wait,
}

impl Piece<'_> {
    /// Appends rows from the beginning of the piece.
    ///
    /// The memtable is asked first, so that a commit that moves to the engine meanwhile is seen in one of the two; the undo
    /// map last, for whatever the engine's entries are too new to show is in there by then.
    fn read(&self, entries_left: &mut usize, page: &mut Page) -> Result<PieceRead> {
        let from = page.len();
        let limits = self.limits;
        let memtable = self.view.shared.memtable.collect(
            self.interval(None),
            self.reverse,
            self.view.timestamp,
            (limits.rows_max, *entries_left),
            limits.bytes_max,
        );
        // So many of the engine's rows go again.
        let going = deleted_keys(&memtable.rows).count();
        let read = self.read_engine((memtable.stopped_at.as_deref(), going), entries_left, page)?;
        let mut reached = match read.reached {
            Reached::End => None,
            Reached::Key(key) => Some(key),
            Reached::Wait => return Ok(read),
        };
        let undo = self.view.shared.undo.collect(
            self.interval(reached.as_deref()),
            self.reverse,
            self.view.timestamp,
            limits.rows_max,
            limits.bytes_max,
        );
        if let Some(border) = undo.stopped_at {
            while page.len() > from && page.last().is_some_and(|(key, _)| self.is_beyond(key, &border)) {
                page.truncate(page.len() - 1);
            }
            reached = Some(border.to_vec());
        }
        let undo_rows = undo.rows.iter().map(|(key, value)| (&**key, Some(&**value)));
        self.overlay(from, undo_rows, page);
        let memtable_rows = memtable
            .rows
            .iter()
            .take_while(|(key, _)| reached.as_ref().is_none_or(|border| !self.is_beyond(key, border)));
        self.overlay(
            from,
            memtable_rows.map(|(key, value)| (&**key, value.as_deref())),
            page,
        );
        trim(page, limits, &mut reached);
        if going >= EMPTIED_KEYS_MIN {
            self.note_emptied(&memtable.rows, (page, from), reached.as_deref());
        }
        Ok(PieceRead {
            reached: reached.map_or(Reached::End, Reached::Key),
            known: match undo.rows.is_empty() && memtable.rows.is_empty() {
                true => read.known,
                false => KnownOfAll::default(),
            },
        })
    }

    /// Tells the memtable in which intervals there is no row although it has many keys there: before the lowest of the page's rows,
    /// which begin at `from`, and behind the highest.
    fn note_emptied(&self, rows: &[MemtableRow], (page, from): (&Page, usize), reached: Option<&[u8]>) {
        if self.view.check().is_err() {
            return;
        }
        let (start, end) = match (reached, self.reverse) {
            (Some(last), false) => (self.start, Some(successor(last))),
            (Some(last), true) => (last, self.end.map(<[u8]>::to_vec)),
            (None, _) => (self.start, self.end.map(<[u8]>::to_vec)),
        };
        let row = |at: usize| (from..page.len()).contains(&at).then(|| page.row(at).0);
        let (first, last) = (row(from), row(page.len().saturating_sub(1)));
        let (lowest, highest) = if self.reverse {
            (last, first)
        } else {
            (first, last)
        };
        let before = (start.to_vec(), lowest.map(<[u8]>::to_vec).or_else(|| end.clone()));
        let behind = highest.map(|highest| (successor(highest), end));
        for (start, end) in [Some(before), behind].into_iter().flatten() {
            let Some(end) = end else { continue };
            let are_there =
                deleted_keys(rows).filter(|key| *key >= start.as_slice() && *key < end.as_slice());
            if are_there.count() >= EMPTIED_KEYS_MIN {
                let since = self.view.timestamp;
                self.view
                    .shared
                    .memtable
                    .note_emptied(Interval { start, end, since });
            }
        }
    }

    /// The keys of the piece, up to `reached` and with it.
    fn interval<'b>(&'b self, reached: Option<&'b [u8]>) -> (Bound<&'b [u8]>, Bound<&'b [u8]>) {
        let end = self.end.map_or(Bound::Unbounded, Bound::Excluded);
        match (reached, self.reverse) {
            (None, _) => (Bound::Included(self.start), end),
            (Some(last), false) => (Bound::Included(self.start), Bound::Included(last)),
            (Some(last), true) => (Bound::Included(last), end),
        }
    }

    /// Appends the engine's entries that the snapshot sees, up to `border` and with it, so many more than the page may hold as `going`
    /// says: those that are in memory, or when there are none, and it may wait, those that are next.
    fn read_engine(
        &self,
        (border, going): (Option<&[u8]>, usize),
        entries_left: &mut usize,
        page: &mut Page,
    ) -> Result<PieceRead> {
        let behind_border = border.map(successor);
        let (start, end) = match (border, self.reverse) {
            (None, _) => (self.start, self.end),
            (Some(_), false) => (self.start, behind_border.as_deref()),
            (Some(border), true) => (border, self.end),
        };
        let mut entries = EngineEntries {
            piece: self,
            page,
            limits: self.limits.with_rows(going),
            left: entries_left,
            looked_at: LookedAt::Nothing,
            is_enough: false,
            damage: Ok(()),
        };
        let engine = &self.view.shared.engine;
        let in_memory = engine.scan_in_memory(
            start,
            end,
            self.reverse,
            self.content.rule(),
            &mut |key, stored| entries.take(key, stored),
        );
        let mut read = PieceRead {
            reached: Reached::Wait,
            known: in_memory.known,
        };
        let is_at_end = match (in_memory.is_done, &entries.looked_at) {
            (true, _) => !entries.is_enough,
            (false, LookedAt::Nothing) if self.wait == Wait::Never => return Ok(read),
            (false, LookedAt::Nothing) => {
                engine.scan(start, end, self.reverse, &mut |key, stored| {
                    entries.take(key, stored)
                })?;
                read.known = KnownOfAll::default();
                !entries.is_enough
            }
            (false, _) => false,
        };
        read.reached = match (is_at_end, border) {
            (true, None) => Reached::End,
            (true, Some(border)) => Reached::Key(border.to_vec()),
            (false, _) => Reached::Key(entries.last_key()),
        };
        entries.damage?;
        Ok(read)
    }

    /// Puts rows among those of the page from `from` on, in place of what stands there under their keys; those without a
    /// value take it away.
    fn overlay<'b>(
        &self,
        from: usize,
        rows: impl Iterator<Item = (&'b [u8], Option<&'b [u8]>)>,
        page: &mut Page,
    ) {
        let mut rows = rows.peekable();
        if rows.peek().is_none() {
            return;
        }
        let mut below = Page::new();
        (from..page.len())
            .map(|index| page.row(index))
            .for_each(|(key, value)| below.push(key, value));
        page.truncate(from);
        let mut below = below.iter().peekable();
        for (key, value) in rows {
            while let Some((key_below, value_below)) =
                below.next_if(|(key_below, _)| self.is_beyond(key, key_below))
            {
                page.push(key_below, value_below);
            }
            below.next_if(|(key_below, _)| *key_below == key);
            if let Some(value) = value {
                page.push(key, self.content.of(value));
            }
        }
        below.for_each(|(key, value)| page.push(key, value));
    }

    /// Whether `key` comes after `border` in the scan's direction.
    fn is_beyond(&self, key: &[u8], border: &[u8]) -> bool {
        if self.reverse { key < border } else { key > border }
    }
}

/// Takes entries of the engine into a page.
struct EngineEntries<'a> {
    piece: &'a Piece<'a>,
    page: &'a mut Page,
    limits: Limits,
    /// Entries that may be looked at yet.
    left: &'a mut usize,
    looked_at: LookedAt,
    /// Whether it stopped for what the page may hold.
    is_enough: bool,
    damage: Result<()>,
}

/// The entry that was looked at last.
enum LookedAt {
    Nothing,
    /// It is the last of the page.
    Row,
    /// The snapshot does not see it.
    Unseen(Vec<u8>),
}

impl EngineEntries<'_> {
    fn take(&mut self, key: &[u8], stored: &[u8]) -> ControlFlow<()> {
        match split_stored(stored) {
            Ok((timestamp, value)) if timestamp <= self.piece.view.timestamp => {
                self.page.push(key, self.piece.content.of(value));
                self.looked_at = LookedAt::Row;
            }
            Ok(_) => self.looked_at = LookedAt::Unseen(key.to_vec()),
            Err(error) => {
                self.damage = Err(error);
                return ControlFlow::Break(());
            }
        }
        *self.left -= 1;
        self.is_enough = *self.left == 0 || is_full(self.page, self.limits);
        match self.is_enough {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn last_key(&self) -> Vec<u8> {
        match &self.looked_at {
            LookedAt::Unseen(key) => key.clone(),
            LookedAt::Row | LookedAt::Nothing => {
                self.page.last().map_or_else(Vec::new, |(key, _)| key.to_vec())
            }
        }
    }
}

fn deleted_keys(rows: &[MemtableRow]) -> impl Iterator<Item = &[u8]> {
    let deleted = rows.iter().filter(|(_, value)| value.is_none());
    deleted.map(|(key, _)| key.as_slice())
}

fn is_full(page: &Page, limits: Limits) -> bool {
    page.len() >= limits.rows_max || page.size_bytes() >= limits.bytes_max
}

/// Ends a page that memtable and undo map made too large where its limits say.
fn trim(page: &mut Page, limits: Limits, reached: &mut Option<Vec<u8>>) {
    if page.len() <= 1 {
        return;
    }
    let mut bytes = 0;
    let mut rows = 0;
    for (key, value) in page.iter() {
        bytes += key.len() + value.len();
        rows += 1;
        if rows >= limits.rows_max || bytes >= limits.bytes_max {
            break;
        }
    }
    if rows < page.len() {
        page.truncate(rows);
        *reached = page.last().map(|(key, _)| key.to_vec());
    }
}
