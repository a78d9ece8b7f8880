//! Scans: engine pages merged with the undo map, a page at a time. Opened by snapshots; `delete_range` and
//! `split_points` use the synchronous half, `fill`, themselves.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::snapshot::{View, run_blocking};
use super::split_stored;
use crate::Result;
use crate::codec::successor;
use crate::store::{KeyRange, Page, Scan, ScanRequest};

/// The first page of a scan is small, so that the first row comes at once …
const FIRST_PAGE: Limits = Limits {
    rows_max: 128,
    bytes_max: 64 << 10,
};
/// … and each page after it is this many times larger, up to what the request allows.
const PAGE_GROWTH: usize = 2;
/// Pages of up to this size are read on the caller's thread when they are asked for: handing one to another thread
/// costs more than it saves. Larger ones are read on a blocking thread, ahead if the request says so.
const INLINE_PAGE_MAX: Limits = Limits {
    rows_max: 1024,
    bytes_max: 256 << 10,
};
/// For each row asked for a page looks at this many engine entries at most: the others are too new for the snapshot.
const ENTRIES_PER_ROW_MAX: usize = 4;
/// No page is larger (but for one large row): offsets in a page have 32 bits.
const PAGE_BYTES_LIMIT: usize = 256 << 20;

/// The least key of a store; below it stands only the clock.
const LEAST_KEY: &[u8] = &[0];

/// A scan of a snapshot.
pub(super) struct MvccScan {
    view: Arc<View>,
    /// Behind the last page.
    cursor: Cursor,
    keys_only: bool,
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

/// A page on its way, and the cursor behind it.
type Reading = BoxFuture<'static, Result<(Page, Cursor)>>;

/// When a page ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) rows_max: usize,
    pub(super) bytes_max: usize,
}

/// Where a scan stands: a place in sorted, disjoint ranges.
#[derive(Debug, Clone)]
pub(super) struct Cursor {
    ranges: Arc<[KeyRange]>,
    reverse: bool,
    /// Ranges walked to their end, counted in the scan's direction.
    done: usize,
    /// The bound to go on from within the current range instead of its own: the start (inclusive), or in reverse the
    /// end (exclusive).
    resume: Option<Vec<u8>>,
}

impl MvccScan {
    pub(super) fn new(view: Arc<View>, request: ScanRequest) -> MvccScan {
        let limits_max = Limits {
            rows_max: request.page_rows_max.max(1),
            bytes_max: request.page_bytes_max.clamp(1, PAGE_BYTES_LIMIT),
        };
        let limits = FIRST_PAGE.at_most(limits_max);
        let cursor = Cursor::new(request.ranges, request.reverse);
        MvccScan {
            view,
            cursor,
            keys_only: request.keys_only,
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
        while page.is_empty() && !self.cursor.is_done() {
            let limits = self.limits;
            if limits.is_inline() && self.reading.is_none() {
                let mut cursor = self.cursor.clone();
                fill(&self.view, &mut cursor, self.keys_only, limits, page)?;
                self.cursor = cursor;
            } else {
                if self.reading.is_none() {
                    self.reading = Some(self.read(std::mem::take(page)));
                }
                let reading = self.reading.as_mut().expect("it is being read");
                let read = reading.await;
                self.reading = None;
                let (filled, cursor) = read?;
                self.spare = std::mem::replace(page, filled);
                self.cursor = cursor;
            }
            self.limits = limits.grown(self.limits_max);
        }
        if self.read_ahead && !self.cursor.is_done() && !self.limits.is_inline() {
            let spare = std::mem::take(&mut self.spare);
            self.reading = Some(self.read(spare));
        }
        Ok(())
    }

    /// Begins to read the page behind the cursor, on a blocking thread.
    fn read(&self, mut page: Page) -> Reading {
        let (view, keys_only, limits) = (Arc::clone(&self.view), self.keys_only, self.limits);
        let mut cursor = self.cursor.clone();
        page.clear();
        run_blocking(move || {
            fill(&view, &mut cursor, keys_only, limits, &mut page)?;
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
}

impl Limits {
    /// Whether a page of these limits is read on the caller's thread.
    fn is_inline(self) -> bool {
        self.rows_max <= INLINE_PAGE_MAX.rows_max && self.bytes_max <= INLINE_PAGE_MAX.bytes_max
    }

    /// The limits of the next page.
    fn grown(self, limits_max: Limits) -> Limits {
        Limits {
            rows_max: self.rows_max.saturating_mul(PAGE_GROWTH),
            bytes_max: self.bytes_max.saturating_mul(PAGE_GROWTH),
        }
        .at_most(limits_max)
    }

    fn at_most(self, limits_max: Limits) -> Limits {
        Limits {
            rows_max: self.rows_max.min(limits_max.rows_max),
            bytes_max: self.bytes_max.min(limits_max.bytes_max),
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

impl Cursor {
    /// At the first key of the ranges, or at the last in reverse.
    pub(super) fn new(ranges: Vec<KeyRange>, reverse: bool) -> Cursor {
        Cursor {
            ranges: ranges.into(),
            reverse,
            done: 0,
            resume: None,
        }
    }

    /// Whether every range was walked to its end.
    pub(super) fn is_done(&self) -> bool {
        self.done >= self.ranges.len()
    }

    /// What is left of the current range: start (inclusive, at least the least key) and end (exclusive).
    fn bounds(&self) -> Option<(&[u8], Option<&[u8]>)> {
        let range = self.range(self.done)?;
        let (mut start, mut end) = (range.start.as_slice(), range.end.as_deref());
        if let Some(resume) = &self.resume {
            if self.reverse {
                end = Some(resume)
            } else {
                start = resume
            }
        }
        Some((start.max(LEAST_KEY), end))
    }

    fn range(&self, done: usize) -> Option<&KeyRange> {
        let index = if self.reverse {
            self.ranges.len().checked_sub(done + 1)?
        } else {
            done
        };
        self.ranges.get(index)
    }

    /// Goes on after `key`.
    fn resume_after(&mut self, key: &[u8]) {
        self.resume = Some(if self.reverse {
            key.to_vec()
        } else {
            successor(key)
        });
    }

    /// Goes on with the next range.
    fn next_range(&mut self) {
        self.done += 1;
        self.resume = None;
    }

    fn skip_to(&mut self, key: &[u8]) {
        while let Some(range) = self.range(self.done) {
            let is_behind = match self.reverse {
                true => range.start.as_slice() > key,
                false => range.end.as_deref().is_some_and(|end| end <= key),
            };
            if !is_behind {
                break;
            }
            self.next_range();
        }
        let Some((start, end)) = self.bounds() else { return };
        if self.reverse {
            let bound = successor(key);
            if end.is_none_or(|end| bound.as_slice() < end) {
                self.resume = Some(bound);
            }
        } else if start < key {
            self.resume = Some(key.to_vec());
        }
    }
}

/// Appends the next rows of the scan to `page`, which is empty, and moves the cursor behind them. May add nothing
/// although the cursor is not done, when it met only entries too new for the snapshot.
pub(super) fn fill(
    view: &View,
    cursor: &mut Cursor,
    keys_only: bool,
    limits: Limits,
    page: &mut Page,
) -> Result<()> {
    let mut entries_left = limits.rows_max.saturating_mul(ENTRIES_PER_ROW_MAX);
    while !is_full(page, limits)
        && entries_left > 0
        && let Some((start, end)) = cursor.bounds()
    {
        let from = page.len();
        let mut reached = read_engine(
            view,
            (start, end),
            cursor.reverse,
            keys_only,
            limits,
            &mut entries_left,
            page,
        )?;
        merge_undo(
            view,
            (start, end),
            cursor.reverse,
            keys_only,
            limits,
            from,
            &mut reached,
            page,
        );
        trim(page, limits, &mut reached);
        match reached {
            Some(key) => cursor.resume_after(&key),
            None => cursor.next_range(),
        }
    }
    view.check()
}

fn is_full(page: &Page, limits: Limits) -> bool {
    page.len() >= limits.rows_max || page.size_bytes() >= limits.bytes_max
}

/// Appends the engine's entries of the range that the snapshot sees. Answers the last key looked at when it stopped
/// before the end of the range.
fn read_engine(
    view: &View,
    (start, end): (&[u8], Option<&[u8]>),
    reverse: bool,
    keys_only: bool,
    limits: Limits,
    entries_left: &mut usize,
    page: &mut Page,
) -> Result<Option<Vec<u8>>> {
    let mut stopped_at = None;
    let mut damage = Ok(());
    view.shared.engine.scan(start, end, reverse, &mut |key, stored| {
        match split_stored(stored) {
            Ok((timestamp, value)) if timestamp <= view.timestamp => {
                page.push(key, if keys_only { &[] } else { value })
            }
            Ok(_) => {}
            Err(error) => {
                damage = Err(error);
                return ControlFlow::Break(());
            }
        }
        *entries_left -= 1;
        if *entries_left == 0 || is_full(page, limits) {
            stopped_at = Some(key.to_vec());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    damage.map(|()| stopped_at)
}

/// Puts the undo map's rows of the interval just read among the page's rows from `from` on. `reached` is the last key
/// of the interval (`None`: the whole range), and moves back when the undo map holds more than fits a page.
#[expect(
    clippy::too_many_arguments,
    reason = "the leaf of one loop; a struct for it would be read once"
)]
fn merge_undo(
    view: &View,
    (start, end): (&[u8], Option<&[u8]>),
    reverse: bool,
    keys_only: bool,
    limits: Limits,
    from: usize,
    reached: &mut Option<Vec<u8>>,
    page: &mut Page,
) {
    let end = end.map_or(Bound::Unbounded, Bound::Excluded);
    let interval = match (reached.as_deref(), reverse) {
        (None, _) => (Bound::Included(start), end),
        (Some(last), false) => (Bound::Included(start), Bound::Included(last)),
        (Some(last), true) => (Bound::Included(last), end),
    };
    let undo = view.shared.undo.collect(
        interval,
        reverse,
        view.timestamp,
        limits.rows_max,
        limits.bytes_max,
    );
    let is_beyond = |key: &[u8], border: &[u8]| if reverse { key < border } else { key > border };
    if let Some(border) = undo.stopped_at {
        *reached = Some(border.to_vec());
        while page.len() > from && page.last().is_some_and(|(key, _)| is_beyond(key, &border)) {
            page.truncate(page.len() - 1);
        }
    }
    if undo.rows.is_empty() {
        return;
    }
    let mut engine_rows = Page::new();
    (from..page.len())
        .map(|index| page.row(index))
        .for_each(|(key, value)| engine_rows.push(key, value));
    page.truncate(from);
    let mut engine_rows = engine_rows.iter().peekable();
    for (key, value) in &undo.rows {
        while let Some((engine_key, engine_value)) =
            engine_rows.next_if(|(engine_key, _)| is_beyond(key, engine_key))
        {
            page.push(engine_key, engine_value);
        }
        // The engine was read before the commit that moved this very value: both show the same.
        engine_rows.next_if(|(engine_key, _)| *engine_key == &**key);
        page.push(key, if keys_only { &[] } else { value });
    }
    engine_rows.for_each(|(key, value)| page.push(key, value));
}

/// Ends a page that the undo map made too large where its limits say.
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
