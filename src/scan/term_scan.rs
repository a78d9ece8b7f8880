//! `TermScan`: the keys of the rows that stand under a term of each of several sets, in their order. Called by `executor`.
//!
//! The entries of a term are sorted by their rows' keys. So those of a set are merged, and between sets whoever is behind goes on to the key
//! at which another stands (a leapfrog join): of a common term little more is read than of the rarest.

use super::open_range::OpenRange;
use crate::codec::key::{self, KeyField};
use crate::codec::keyspace::{ENTRY_PREFIX_BYTES, entry_prefix};
use crate::error::Limit;
use crate::plan::{AccessPath, TermRange, TermSets};
use crate::store::{KeyRange, Page, ScanRequest};
use crate::txn::Transaction;
use crate::types::SqlType;
use crate::{Error, Result};

/// Entries of a page of one term, at first and at most.
const PAGE_ROWS_MAX: usize = 256;
const PAGE_BYTES_MAX: usize = 16 << 10;
/// Rows of a page that is made of them.
const ROWS_MAX: usize = 512;
/// So many entries of terms that begin alike are gathered and sorted at most.
const GATHERED_MAX: usize = 200_000;

/// The rows under terms, on their way.
pub(crate) struct TermScan {
    sets: Vec<Set>,
    row_prefix: [u8; ENTRY_PREFIX_BYTES],
    page_rows_max: usize,
}

/// The rows under any term of a set.
struct Set {
    terms: Vec<TermEntries>,
}

/// The rows under a term, or under several that were gathered.
struct TermEntries {
    source: Source,
    reverse: bool,
}

enum Source {
    Range(Box<OpenRange>),
    /// Rows' keys in the order wanted, and the one that comes next.
    Gathered {
        rows: Vec<Vec<u8>>,
        at: usize,
    },
}

impl TermScan {
    /// Errors: those of reading; 54000 where terms that begin alike are of too many rows.
    pub(crate) async fn open(
        txn: &Transaction,
        path: &AccessPath,
        terms: &TermSets,
        page_rows_max: usize,
    ) -> Result<TermScan> {
        let mut sets = Vec::with_capacity(terms.sets.len());
        let mut too_many = None;
        for set in &terms.sets {
            match Set::open(txn, (terms, path.reverse), set).await {
                Ok(set) => sets.push(set),
                // The others lead to the rows, too.
                Err(error @ Error::LimitExceeded { .. }) => too_many = Some(error),
                Err(error) => return Err(error),
            }
        }
        match too_many.filter(|_| sets.is_empty()) {
            Some(error) => Err(error),
            None => Ok(TermScan {
                sets,
                row_prefix: entry_prefix(path.table.id, path.table.primary_key.id),
                page_rows_max: page_rows_max.clamp(1, ROWS_MAX),
            }),
        }
    }

    /// Fills `page` with the keys of the next rows; `false` at the end.
    pub(crate) async fn next_page(&mut self, page: &mut Page) -> Result<bool> {
        page.clear();
        let mut row_key = self.row_prefix.to_vec();
        while page.len() < self.page_rows_max {
            let Some(next) = self.next_common().await? else {
                break;
            };
            row_key.truncate(ENTRY_PREFIX_BYTES);
            row_key.extend_from_slice(&next);
            page.push(&row_key, &[]);
            if let Some(first) = self.sets.first_mut() {
                first.pass(&next).await?;
            }
        }
        Ok(!page.is_empty())
    }

    /// The next row that stands under a term of each set.
    async fn next_common(&mut self) -> Result<Option<Vec<u8>>> {
        let sets = self.sets.len();
        let Some(first) = self.sets.first_mut() else {
            return Ok(None);
        };
        let Some(mut target) = first.head().map(<[u8]>::to_vec) else {
            return Ok(None);
        };
        let (mut agreed, mut at) = (1, 1 % sets);
        while agreed < sets {
            let set = &mut self.sets[at];
            set.skip_to(&target).await?;
            match set.head() {
                None => return Ok(None),
                Some(head) if head == target => agreed += 1,
                Some(head) => {
                    target = head.to_vec();
                    agreed = 1;
                }
            }
            at = (at + 1) % sets;
        }
        Ok(Some(target))
    }
}

impl Set {
    async fn open(
        txn: &Transaction,
        (terms, reverse): (&TermSets, bool),
        ranges: &[TermRange],
    ) -> Result<Set> {
        let mut open = Vec::with_capacity(ranges.len());
        for range in ranges {
            let request = request(range.within(&terms.rows), reverse);
            let source = match range.is_one_term {
                true => {
                    let mut range = Box::new(OpenRange::new(txn.scan(request), range.prefix.len()));
                    range.fill().await?;
                    Source::Range(range)
                }
                false => Source::Gathered {
                    rows: gathered(txn, terms, request).await?,
                    at: 0,
                },
            };
            open.push(TermEntries { source, reverse });
        }
        Ok(Set { terms: open })
    }

    /// The row that comes next.
    fn head(&self) -> Option<&[u8]> {
        let heads = self.terms.iter().filter_map(TermEntries::head);
        match self.terms.first().is_some_and(|term| term.reverse) {
            true => heads.max(),
            false => heads.min(),
        }
    }

    /// Leaves out the rows before one.
    async fn skip_to(&mut self, row: &[u8]) -> Result<()> {
        for term in &mut self.terms {
            term.skip_to(row).await?;
        }
        Ok(())
    }

    /// Leaves out a row.
    async fn pass(&mut self, row: &[u8]) -> Result<()> {
        for term in &mut self.terms {
            if term.head() == Some(row) {
                term.pass_head().await?;
            }
        }
        Ok(())
    }
}

impl TermEntries {
    fn head(&self) -> Option<&[u8]> {
        match &self.source {
            Source::Range(range) => range.rest_of_key(),
            Source::Gathered { rows, at } => rows.get(*at).map(Vec::as_slice),
        }
    }

    async fn pass_head(&mut self) -> Result<()> {
        match &mut self.source {
            Source::Range(range) => range.pass().await,
            Source::Gathered { at, .. } => {
                *at += 1;
                Ok(())
            }
        }
    }

    async fn skip_to(&mut self, row: &[u8]) -> Result<()> {
        let reverse = self.reverse;
        let is_before = |head: &[u8]| if reverse { head > row } else { head < row };
        match &mut self.source {
            Source::Range(range) => range.skip_to(row, is_before).await,
            Source::Gathered { rows, at } => {
                *at += rows[*at..].partition_point(|head| is_before(head));
                Ok(())
            }
        }
    }
}

/// The rows of all entries of a range, each once, in their order.
async fn gathered(txn: &Transaction, terms: &TermSets, request: ScanRequest) -> Result<Vec<Vec<u8>>> {
    let field = KeyField::ascending(SqlType::Bytea);
    let reverse = request.reverse;
    let mut scan = txn.scan(request);
    let (mut page, mut rows) = (Page::new(), Vec::new());
    loop {
        tokio::task::coop::consume_budget().await;
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            break;
        }
        for (key, _) in page.iter() {
            let from_term = key.get(terms.term_at..).unwrap_or_default();
            let row = &from_term[key::field_length(from_term, &field)?..];
            if is_within(row, &terms.rows) {
                rows.push(row.to_vec());
            }
        }
        if rows.len() > GATHERED_MAX {
            return Err(Error::LimitExceeded {
                state: Limit::Program,
                message: format!("more than {GATHERED_MAX} rows have a word that begins so"),
                hint: "Ask for more of the word, or for another word, too.".to_string(),
            });
        }
    }
    rows.sort_unstable();
    rows.dedup();
    if reverse {
        rows.reverse();
    }
    Ok(rows)
}

fn is_within(row: &[u8], range: &KeyRange) -> bool {
    *row >= *range.start && range.end.as_ref().is_none_or(|end| *row < **end)
}

fn request(range: KeyRange, reverse: bool) -> ScanRequest {
    ScanRequest {
        ranges: vec![range],
        reverse,
        keys_only: true,
        read_ahead: false,
        page_rows_max: PAGE_ROWS_MAX,
        page_bytes_max: PAGE_BYTES_MAX,
    }
}
