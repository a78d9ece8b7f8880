//! Rows as keys and values: decode pages into Arrow batches, encode batches into rows, unique checks, writes through a
//! transaction. Knows nothing of SQL text, plans or DataFusion.
//!
//! # Index entries
//!
//! A table's `kept_indexes` have entries, changed in the same batch as their rows. An entry's key is the index prefix,
//! the indexed columns, then the primary-key columns that are not among them; its value is a row value
//! ([`crate::codec::row`]) of the columns that the index includes. In a unique index without a NULL among the indexed columns the primary-key columns leave
//! the key and stand in the value: then two rows of equal columns have the same key, and the second is refused.
//!
//! A row of which an index's condition does not hold has no entry in it.
//!
//! An inverted index has an entry for each term of a row ([`crate::codec::terms`]). In its key stands, where the indexed columns would, the
//! column of the index's condition if it has one, then a field of bytea: the place of the column that the term is of among those of
//! the index (one byte), and the term.

mod arbiter;
mod backfill;
mod bound_text;
mod build;
mod carried_times;
pub mod check;
mod describe;
mod encode;
mod encoded_row;
mod entry;
mod exclusion;
mod format;
mod large_object;
mod layout;
mod limits;
mod over;
mod partial_rows;
mod range_figures;
mod read;
mod rekeyed;
mod removal;
mod row_count;
mod row_id;
mod row_pages;
mod rows_request;
mod sequence;
mod sequence_state;
mod sorted_keys;
mod table_lock;
mod update;
mod vacated;
mod version_rekey;
mod version_removal;
mod version_rewrite;
mod version_scan;
mod versions;
mod write;

pub use arbiter::Arbiter;
pub use backfill::Backfill;
pub use bound_text::{bound_text, bound_values};
pub use build::{EntryMaker, build_index, build_rows, duplicate_entry, has_null, is_empty, scan_rows};
pub use carried_times::carry_times;
pub use describe::{constraint_key, indexed_key_text, key_text, row_text, stored_key_text};
pub use encode::{RowEncoder, StoredKeys, require_not_null};
pub use encoded_row::RowFault;
pub use entry::{EntryEncoder, EntryReader, IndexEntry};
pub use exclusion::ExclusionReader;
pub use format::RowFormatter;
pub(crate) use large_object::{
    comment_large_object, create_large_object, large_object, large_objects, missing_large_object,
    read_large_object, remove_large_object, truncate_large_object, write_large_object,
};
pub use layout::{RowLayout, row_schema};
pub use limits::Limits;
pub use over::remove_rows_over;
pub use range_figures::{RangeFigures, range_figures};
pub use read::RowDecoder;
pub use rekeyed::{
    CurrentRows, current_rows, insert_beside, log_keys, logged_keys, next_keys, remove_beside,
};
pub use removal::remove_over_page;
pub use row_count::{begin_count, committed_row_counts, correct_count, row_count, stored_row_count};
pub use row_pages::RowPages;
pub(crate) use rows_request::pages_of_range;
pub use rows_request::{PAGE_ROWS_MAX, first_rows, next_rows, rows_range, rows_under};
pub use sequence::{OpenSequence, Sequences};
pub use sequence_state::{SequenceRun, SequenceState};
pub use table_lock::lock_for_writes;
pub use update::{Replaced, RowUpdate, update_rows};
pub use version_rekey::{RekeyedRows, RekeyedVersions, unclear_keys};
pub use version_removal::{VersionPass, remove_versions_page};
pub use version_rewrite::VersionPages;
pub use version_scan::VersionScan;
pub use versions::{
    carry_versions, check_given_time, check_moves, keep_rows_that_are_over, older_base, one_version,
};
pub use write::{
    Conflicts, delete_rows, get_rows, insert_missing_rows, insert_rows, insert_told_rows, upsert_rows,
};

#[cfg(test)]
mod sequence_tests;
#[cfg(test)]
mod tests;
