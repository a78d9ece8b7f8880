//! Row values: format version, flags, the ids of the columns present (sorted), their end offsets, their data, CRC32C.
//! Absent is not NULL: an absent column takes the default recorded when it was added. The picture is in the docs of
//! [`crate::codec`]; `table` calls it; what a column is named or defaults to is not known here.
//!
//! Invariants:
//!
//! 1. Column ids rise strictly; end offsets never fall, and the last is the length of the data.
//! 2. [`RowReader::new`] has checked 1 and the checksum, now or before ([`RowReader::of_verified`]), so that looking a column up
//!    cannot fail.
//! 3. No bytes whatever make a reader or builder panic: they are `Corrupt`.

use arrow::array::ArrayRef;

pub use super::column_builder::{ColumnBuilder, STRING_BYTES_GUESS};
pub use super::stored_scalar::{is_scalar, key_scalar, stored_scalar};
use super::stored_value;
pub use super::stored_value::Stored;
pub(crate) use super::stored_value::put as put_stored;
use crate::types::SqlType;
use crate::{Error, Result};

/// The id of a column within its table; never used again.
pub type ColumnId = u16;

/// The version of the row format, the first byte of every row value.
const FORMAT_VERSION: u8 = 1;

const FLAG_WIDE_OFFSETS: u8 = 0x01;
const FLAG_WRITE_TIME: u8 = 0x02;
const FLAG_EXPIRY: u8 = 0x04;
const FLAG_NULLS: u8 = 0x08;
/// The write time is to be that of the commit: never in a store.
const FLAG_UNSETTLED: u8 = 0x10;
/// It says that the row was removed.
const FLAG_REMOVAL: u8 = 0x20;
const FLAGS_KNOWN: u8 =
    FLAG_WIDE_OFFSETS | FLAG_WRITE_TIME | FLAG_EXPIRY | FLAG_NULLS | FLAG_UNSETTLED | FLAG_REMOVAL;

/// Version, flags and count of columns.
const HEADER_BYTES: usize = 4;
const CHECKSUM_BYTES: usize = 4;

/// Writes row values, reusing its buffers from row to row.
#[derive(Debug, Default)]
pub struct RowWriter {
    ids: Vec<ColumnId>,
    ends: Vec<u32>,
    nulls: Vec<bool>,
    data: Vec<u8>,
    write_time: Option<i64>,
    expiry: Option<i64>,
    is_unsettled: bool,
    is_removal: bool,
}

impl RowWriter {
    /// What the rows tell from now on: when they were written, and when they are over, in microseconds since 1970.
    pub fn set_times(&mut self, write_time: Option<i64>, expiry: Option<i64>) {
        (self.write_time, self.expiry) = (write_time, expiry);
    }

    /// Whether the write time is only what it is until the commit.
    pub fn set_unsettled(&mut self, is_unsettled: bool) {
        self.is_unsettled = is_unsettled;
    }

    /// Whether they say that a row was removed.
    pub fn set_removal(&mut self, is_removal: bool) {
        self.is_removal = is_removal;
    }

    /// Forgets the row before, but for what was set of all.
    pub fn clear(&mut self) {
        self.ids.clear();
        self.ends.clear();
        self.nulls.clear();
        self.data.clear();
    }

    /// Adds a column from an Arrow array of its SQL type; ids must rise. A NULL element is stored as present and NULL.
    pub fn push_array(&mut self, id: ColumnId, ty: &SqlType, array: &ArrayRef, row: usize) {
        let is_null = stored_value::is_null(array, row);
        if !is_null {
            stored_value::put(&mut self.data, ty, array, row);
        }
        self.end_column(id, is_null);
    }

    /// Adds a column whose stored bytes come from another row (`RowReader::get`).
    pub fn push_stored(&mut self, id: ColumnId, stored: Stored<'_>) {
        if let Stored::Bytes(bytes) = stored {
            self.data.extend_from_slice(bytes);
        }
        self.end_column(id, stored == Stored::Null);
    }

    fn end_column(&mut self, id: ColumnId, is_null: bool) {
        debug_assert!(
            self.ids.last().is_none_or(|last| *last < id),
            "column {id} does not rise"
        );
        self.ids.push(id);
        self.nulls.push(is_null);
        self.ends.push(self.data.len() as u32); // rows are limited to far less than 4 GiB
    }

    /// The length of the row value that `finish` would give now.
    pub fn encoded_len(&self) -> usize {
        let columns = self.ids.len();
        let nulls = if self.nulls.contains(&true) {
            columns.div_ceil(8)
        } else {
            0
        };
        let offset_bytes = if self.is_wide() { 4 } else { 2 };
        let times = 8 * (usize::from(self.write_time.is_some()) + usize::from(self.expiry.is_some()));
        HEADER_BYTES + times + columns * (2 + offset_bytes) + nulls + self.data.len() + CHECKSUM_BYTES
    }

    fn is_wide(&self) -> bool {
        self.data.len() > usize::from(u16::MAX)
    }

    /// The finished row value, checksum included.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.encoded_len());
        self.finish_into(&mut out);
        out
    }

    /// Appends the finished row value to `out`.
    pub fn finish_into(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        out.reserve(self.encoded_len());
        let has_nulls = self.nulls.contains(&true);
        let mut flags = 0;
        for (flag, is_set) in [
            (FLAG_WIDE_OFFSETS, self.is_wide()),
            (FLAG_NULLS, has_nulls),
            (FLAG_WRITE_TIME, self.write_time.is_some()),
            (FLAG_EXPIRY, self.expiry.is_some()),
            (FLAG_UNSETTLED, self.is_unsettled && self.write_time.is_some()),
            (FLAG_REMOVAL, self.is_removal),
        ] {
            if is_set {
                flags |= flag;
            }
        }
        out.extend_from_slice(&[FORMAT_VERSION, flags]);
        out.extend_from_slice(&(self.ids.len() as u16).to_le_bytes());
        for time in [self.write_time, self.expiry].into_iter().flatten() {
            out.extend_from_slice(&time.to_le_bytes());
        }
        for id in &self.ids {
            out.extend_from_slice(&id.to_le_bytes());
        }
        if has_nulls {
            for eight in self.nulls.chunks(8) {
                let bits = eight
                    .iter()
                    .enumerate()
                    .fold(0, |bits, (i, null)| bits | u8::from(*null) << i);
                out.push(bits);
            }
        }
        for end in &self.ends {
            if flags & FLAG_WIDE_OFFSETS == 0 {
                out.extend_from_slice(&(*end as u16).to_le_bytes());
            } else {
                out.extend_from_slice(&end.to_le_bytes());
            }
        }
        out.extend_from_slice(&self.data);
        let checksum = crc32c::crc32c(&out[start..]);
        out.extend_from_slice(&checksum.to_le_bytes());
    }
}

/// Gives an unsettled row value its time, in microseconds since 1970; `false`: it is none.
pub fn settle(value: &mut [u8], time: i64) -> bool {
    let Some((body, checksum)) = value.split_last_chunk_mut::<CHECKSUM_BYTES>() else {
        return false;
    };
    let [FORMAT_VERSION, flags, _, _, rest @ ..] = &mut *body else {
        return false;
    };
    let is_unsettled = *flags & FLAG_UNSETTLED != 0 && *flags & FLAG_WRITE_TIME != 0;
    let Some(stored) = rest.first_chunk_mut::<8>().filter(|_| is_unsettled) else {
        return false;
    };
    *stored = time.to_le_bytes();
    *flags &= !FLAG_UNSETTLED;
    *checksum = crc32c::crc32c(body).to_le_bytes();
    true
}

/// What a row value tells of its own time, in microseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowTimes {
    /// When the row was written, if its table records it.
    pub(super) write_time: Option<i64>,
    /// When it is over, if it says so.
    pub(super) expiry: Option<i64>,
}

impl RowTimes {
    /// Of bytes of which `RowReader::new` made a reader before: only their beginning is read. Errors: `Corrupt`, for other bytes.
    #[inline]
    pub(super) fn of_verified(bytes: &[u8]) -> Result<RowTimes> {
        Ok(RowTimes::cut(bytes)?.0)
    }

    /// Them, the flags and the count of columns that stand before them, and what is behind.
    #[inline]
    fn cut(body: &[u8]) -> Result<(RowTimes, u8, usize, &[u8])> {
        let ([version, flags, low, high], mut rest) = body
            .split_first_chunk::<HEADER_BYTES>()
            .ok_or_else(|| damaged("it is too short"))?;
        if *version != FORMAT_VERSION || flags & !FLAGS_KNOWN != 0 {
            return Err(damaged(&format!(
                "its format {version} with flags {flags:02x} is unknown"
            )));
        }
        let mut time = |flag| -> Result<Option<i64>> {
            if flags & flag == 0 {
                return Ok(None);
            }
            let (bytes, after) = rest
                .split_first_chunk()
                .ok_or_else(|| damaged("it is too short"))?;
            rest = after;
            Ok(Some(i64::from_le_bytes(*bytes)))
        };
        let (write_time, expiry) = (time(FLAG_WRITE_TIME)?, time(FLAG_EXPIRY)?);
        let columns = usize::from(u16::from_le_bytes([*low, *high]));
        Ok((RowTimes { write_time, expiry }, *flags, columns, rest))
    }
}

/// Reads a row value without copying; looks columns up by id.
#[derive(Debug, Clone, Copy)]
pub struct RowReader<'a> {
    flags: u8,
    times: RowTimes,
    /// One a column, little-endian.
    ids: &'a [[u8; 2]],
    /// One bit a column, or empty.
    nulls: &'a [u8],
    /// Two or four bytes a column.
    ends: &'a [u8],
    wide: bool,
    data: &'a [u8],
}

impl<'a> RowReader<'a> {
    /// Checks format and checksum. Errors: `Corrupt`.
    pub fn new(bytes: &'a [u8]) -> Result<RowReader<'a>> {
        let (body, checksum) = split_checksum(bytes)?;
        if crc32c::crc32c(body) != u32::from_le_bytes(*checksum) {
            return Err(damaged("its checksum does not match"));
        }
        let reader = RowReader::of_body(body)?;
        reader.check()?;
        Ok(reader)
    }

    /// For bytes of which `new` made a reader before: checks nothing again. Errors: `Corrupt`, for other bytes.
    #[inline]
    pub fn of_verified(bytes: &'a [u8]) -> Result<RowReader<'a>> {
        let (body, _) = split_checksum(bytes)?;
        RowReader::of_body(body)
    }

    #[inline]
    fn of_body(body: &'a [u8]) -> Result<RowReader<'a>> {
        let (times, flags, columns, mut rest) = RowTimes::cut(body)?;
        let wide = flags & FLAG_WIDE_OFFSETS != 0;
        let mut cut = |length: usize| -> Result<_> {
            let (part, after) = rest
                .split_at_checked(length)
                .ok_or_else(|| damaged("it is too short"))?;
            rest = after;
            Ok(part)
        };
        let (ids, _) = cut(columns * 2)?.as_chunks();
        let nulls = cut(if flags & FLAG_NULLS == 0 {
            0
        } else {
            columns.div_ceil(8)
        })?;
        let ends = cut(columns * if wide { 4 } else { 2 })?;
        Ok(RowReader {
            flags,
            times,
            ids,
            nulls,
            ends,
            wide,
            data: rest,
        })
    }

    /// Ids rise, offsets do not fall, and the last one is the end of the data.
    #[inline]
    fn check(&self) -> Result<()> {
        let ids_rise = self
            .ids
            .is_sorted_by(|before, after| u16::from_le_bytes(*before) < u16::from_le_bytes(*after));
        let mut end = 0;
        let ends_rise = (0..self.len()).all(|i| {
            let before = std::mem::replace(&mut end, self.end(i));
            before <= end
        });
        if ids_rise && ends_rise && end == self.data.len() {
            Ok(())
        } else {
            Err(damaged("its column ids or offsets do not rise to the end"))
        }
    }

    /// When the row was written, in microseconds since 1970, if its table records it.
    pub fn write_time(&self) -> Option<i64> {
        self.times.write_time
    }

    /// When the row expires, in microseconds since 1970, if it does.
    pub fn expiry(&self) -> Option<i64> {
        self.times.expiry
    }

    /// Both.
    pub(super) fn times(&self) -> RowTimes {
        self.times
    }

    /// Whether its write time is only what it is until the commit.
    pub fn is_unsettled(&self) -> bool {
        self.flags & FLAG_UNSETTLED != 0
    }

    /// Whether it says that the row was removed.
    pub fn is_removal(&self) -> bool {
        self.flags & FLAG_REMOVAL != 0
    }

    /// How many columns are present.
    #[inline]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether no column is present: a row of key columns alone.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The column with this id; `None`: absent.
    #[inline]
    pub fn get(&self, id: ColumnId) -> Option<Stored<'a>> {
        let columns = self.len();
        if columns == 0 {
            return None;
        }
        // Rows mostly hold every column, one id after the other: look there first.
        let guess = usize::from(id.checked_sub(self.id(0))?);
        if guess < columns && self.id(guess) == id {
            return Some(self.stored(guess));
        }
        let (mut low, mut high) = (0, columns);
        while low < high {
            let middle = (low + high) / 2;
            match self.id(middle).cmp(&id) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(self.stored(middle)),
            }
        }
        None
    }

    /// All columns present, by rising id.
    pub fn columns(&self) -> impl Iterator<Item = (ColumnId, Stored<'a>)> {
        let reader = *self;
        (0..self.len()).map(move |i| (reader.id(i), reader.stored(i)))
    }

    #[inline]
    fn id(&self, i: usize) -> ColumnId {
        u16::from_le_bytes(self.ids[i])
    }

    #[inline]
    fn end(&self, i: usize) -> usize {
        if self.wide {
            let at = &self.ends[i * 4..i * 4 + 4];
            u32::from_le_bytes([at[0], at[1], at[2], at[3]]) as usize
        } else {
            usize::from(u16::from_le_bytes([self.ends[i * 2], self.ends[i * 2 + 1]]))
        }
    }

    #[inline]
    fn stored(&self, i: usize) -> Stored<'a> {
        if self
            .nulls
            .get(i / 8)
            .is_some_and(|bits| bits & (1 << (i % 8)) != 0)
        {
            return Stored::Null;
        }
        let start = if i == 0 { 0 } else { self.end(i - 1) };
        Stored::Bytes(&self.data[start..self.end(i)])
    }
}

/// When a row was written and is over, and one of its columns, of bytes of which `RowReader::new` made a reader before. Errors: `Corrupt`, for
/// other bytes.
#[inline]
pub(super) fn column_of_verified(bytes: &[u8], id: ColumnId) -> Result<(RowTimes, Option<Stored<'_>>)> {
    let (times, flags, columns, rest) = RowTimes::cut(bytes)?;
    // Rows mostly hold every column, one id after the other, and no NULL: of those only what leads to the column is read.
    if flags & (FLAG_WIDE_OFFSETS | FLAG_NULLS) == 0
        && let Some(found) = column_in_its_place(rest, columns, id)
    {
        return Ok((times, Some(Stored::Bytes(found))));
    }
    Ok((times, RowReader::of_verified(bytes)?.get(id)))
}

/// The column of a row with narrow offsets and without NULLs, where it stands as far behind the first as its id says. `rest`: the ids and what is
/// behind them.
#[inline]
fn column_in_its_place(rest: &[u8], columns: usize, id: ColumnId) -> Option<&[u8]> {
    let (ids, behind) = rest.split_at_checked(columns * 2)?;
    let (ends, data) = behind.split_at_checked(columns * 2)?;
    let ((ids, _), (ends, _)) = (ids.as_chunks(), ends.as_chunks());
    let number = |numbers: &[[u8; 2]], at: usize| numbers.get(at).map(|bytes| u16::from_le_bytes(*bytes));
    let at = usize::from(id.checked_sub(number(ids, 0)?)?);
    if number(ids, at)? != id {
        return None;
    }
    let start = match at.checked_sub(1) {
        Some(before) => number(ends, before)?,
        None => 0,
    };
    data.get(usize::from(start)..usize::from(number(ends, at)?))
}

#[inline]
fn split_checksum(bytes: &[u8]) -> Result<(&[u8], &[u8; CHECKSUM_BYTES])> {
    bytes.split_last_chunk().ok_or_else(|| damaged("it is too short"))
}

fn damaged(reason: &str) -> Error {
    Error::Corrupt {
        what: "row".to_string(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;
