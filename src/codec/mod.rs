//! Bytes of keys and rows. `key`: order-preserving fields. `row`: the value of a row. `keyspace`: every kind of key
//! that is stored. Used by `store` (ranges), `catalog` and `table`; knows nothing of transactions or SQL.
//!
//! # The format, byte by byte
//!
//! Everything Keyspan stores is one ordered map from byte strings to byte strings. A key opens with six bytes that say
//! whose it is; [`keyspace::Keyspace`] is the one list of what may follow. All integers in keys are big-endian, because
//! keys are compared; all integers in row values are little-endian, because they are only read.
//!
//! ```text
//! key of a row or index entry
//! +-----------------+-------------+---------+---------+----
//! | table id        | index id    | field 1 | field 2 | …
//! | u32 BE, from 1  | u16 BE, 0 = |  (see   |         |
//! |                 | primary key |  below) |         |
//! +-----------------+-------------+---------+---------+----
//!
//! key of the system: table id 0, then the kind in place of the index id, then what tells its records apart
//! 00 00 00 00 | 00 00                                 Format         the data directory's format number
//! 00 00 00 00 | 00 01                                 CatalogVersion names the state of the catalog
//! 00 00 00 00 | 00 02                                 NextTableId
//! 00 00 00 00 | 00 03 | name                          Schema         UTF-8 to the end of the key
//! 00 00 00 00 | 00 04 | table u32 BE                  Relation
//! 00 00 00 00 | 00 05 | table u32 BE | index u16 BE   Dropped        index FFFF: the whole table
//! 00 00 00 00 | 00 06 | table u32 BE                  NextRowId
//! 00 00 00 00 | 00 07 | sequence u32 BE | generation u16 BE  Sequence
//! 00 00 00 00 | 00 08 | table u32 BE                  Written        put by whoever writes rows of the table
//! 00 00 00 00 | 00 09 | schema | 00 | name            Name           of a relation or an index
//! 00 00 00 00 | 00 0A | oid u32 BE                    Dependents     put by whoever makes something depend on it
//! 00 00 00 00 | 00 0B | whose                         Settings       UTF-8 to the end of the key
//! 00 00 00 00 | 00 0C | part u32 BE                   CatalogPart    names the state of a part of the catalog
//! 00 00 00 00 | 00 0D | oid u32 BE                    Type           that a user made, or an extension: 9210 is citext
//! 00 00 00 00 | 00 0E | schema | 00 | name            TypeName       of such a type
//! 00 00 00 00 | 00 12                                 Clock          the time by which rows were found over
//! 00 00 00 00 | 00 18 | oid u32                       Regions        where a table is split into regions
//! 00 00 00 00 | 00 19 | table u32 BE                  Trash          a dropped or emptied table whose keys are kept
//! 00 00 00 00 | 00 1A | table u32 BE | column u16 BE  DynamicColumn  a column that a write has added to a table
//! 00 00 00 00 | 00 1D | name                          Database       that was made
//! 00 00 00 00 | 00 21 | name                          Role           that was made
//! 00 00 00 00 | 00 1E | database u32 BE               DroppedDatabase  of which objects are still to be removed
//! ```
//!
//! Names of schemas, and what is named in one, begin with `00 | database u32 BE` in another database than the first. Tables' numbers
//! and oids are given once for all databases, so that all other keys are the same in each.
//!
//! ## Key fields
//!
//! A field is a tag byte and a payload. Comparing two keys of one index byte by byte compares their rows as SQL does,
//! field after field, because (1) no field is a proper prefix of another of the same column, so a comparison never runs
//! out of one field into the next, and (2) within a field bytes order as values do. A DESC field is the bitwise
//! complement of the whole field, tag included.
//!
//! ```text
//! type                             tag  payload
//! NULL, index columns only       08|F0  nothing; 08 stands before every value, F0 behind (before complement)
//! boolean                           10  00 or 01
//! smallint, integer, bigint         20  8 bytes, sign bit flipped
//! enum                              20  8 bytes, the label's position, sign bit flipped
//! numeric(p<=18,s)                  30  8 bytes, unscaled value, sign bit flipped
//! numeric(p<=38,s)                  34  16 bytes, the same
//! numeric, any other numeric(p,s)   38  bytes that compare as the numbers do, of equal ones the same; 00 as in text, then 00 01: the value
//!                                       itself, with its digits, stands under the key
//! real                              40  4 bytes, IEEE: sign bit set -> all bits flipped, else sign bit flipped
//! double precision                  44  8 bytes, the same
//! date                              50  4 bytes, days since 1970-01-01, sign bit flipped
//! time                              54  8 bytes, microseconds of the day, sign bit flipped
//! timestamp                         58  8 bytes, microseconds since 1970-01-01, sign bit flipped
//! timestamp with time zone          5C  8 bytes, microseconds since 1970-01-01 UTC, sign bit flipped
//! uuid                              60  16 bytes
//! text, varchar(n), char(n)         70  UTF-8 with 00 written 00 FF, then 00 01; char(n) without trailing blanks
//! citext                            70  the same, in lower case: the value itself stands under the key
//! bytea                             74  bytes, the same
//! inet, cidr, macaddr, macaddr8     74  the bytes that a row holds, the same
//! jsonb, arrays, ranges, rows       78  bytes that compare as the values do (see `key::nested`), the same: the value itself stands under
//!                                       the key
//! interval                          7C  16 bytes, microseconds with months of 30 days, sign bit flipped: the value itself likewise
//! ```
//!
//! ```text
//! ('ab', 7) as (text ASC, integer ASC)     70 61 62 00 01 | 20 80 00 00 00 00 00 00 07
//! ('ab', 7) as (text DESC, integer ASC)    8F 9E 9D FF FE | 20 80 00 00 00 00 00 00 07
//! ('a\0',)  as (bytea ASC)                 74 61 00 FF 00 01
//! (NULL,)   as (integer ASC NULLS LAST)    F0
//! (NULL,)   as (integer DESC NULLS FIRST)  0F      (F0, complemented)
//! ```
//!
//! Invariants, each held by a test in `key`:
//!
//! 1. Bytes of two rows compare as the rows do, for every mix of types, directions and places of NULL.
//! 2. What `encode` writes `decode` reads back, up to −0 (reads +0) and NaN (reads the one NaN).
//! 3. Rows that share their first fields are exactly those in `[prefix, prefix_end(prefix))`.
//! 4. No field begins with 00 or FF, so `prefix_end` of a field's prefix always exists.
//!
//! ## Row values
//!
//! One entry a row; the key columns are in the key and not repeated here. A reader finds a column by binary search and
//! decodes only what it was asked for. *Absent is not NULL*: an absent column reads as the default recorded when it was
//! added to the table.
//!
//! ```text
//! +----+-------+-----------+------------+------------+-------------+--------------+-----------------+------+--------+
//! | 01 | flags | count     | write time | expiry     | column ids  | NULL bits    | end offsets     | data | CRC32C |
//! | u8 | u8    | n: u16 LE | i64 LE     | i64 LE     | n × u16 LE, | ⌈n/8⌉ bytes, | n × u16 LE, or  |      | u32 LE |
//! |    |       |           | if flag 02 | if flag 04 | rising      | if flag 08   | u32 LE: flag 01 |      |        |
//! +----+-------+-----------+------------+------------+-------------+--------------+-----------------+------+--------+
//! ```
//!
//! Column `i` is `data[end(i-1) .. end(i)]`, with `end(-1) = 0`; bit `i % 8` of byte `i / 8` of the NULL bits says that
//! it is present and NULL (its data is then empty). Flag 20 says that the row was removed at its write time: an older version of
//! it ([`version`]), of no columns. (Flag 10, that the write time is still to be that of the commit, is never stored.) The checksum
//! covers everything before it. What the data of a column holds:
//!
//! ```text
//! boolean                          00 or 01
//! smallint / integer / bigint      2 / 4 / 8 bytes LE; a reader takes any of them, so widening rewrites nothing
//! oid, regclass, money (cents)     8 bytes LE
//! enum                             8 bytes LE, the label's position
//! real / double precision          4 / 8 bytes LE, IEEE
//! numeric(p<=18,s) / (p<=38,s)     8 / 16 bytes LE, unscaled value
//! numeric, any other               the bytes of `types::numeric::bytes`, the first of which is 60 or above; before, those
//!                                  without (p,s) were scale u8 (0–38), then the unscaled value LE in as few bytes as
//!                                  hold its sign: still read, never written
//! text, varchar(n), citext, json … UTF-8
//! char(n)                          UTF-8 without trailing blanks, padded again when read
//! tsvector, tsquery                UTF-8, as they print
//! bytea, uuid                      the bytes
//! inet, cidr                       04 or 06, the network's 4 or 16 bytes, the mask's length u8, and the address's bytes
//!                                  unless they are the network's: bytes in the order of addresses
//! macaddr, macaddr8                6 / 8 bytes
//! date                             4 bytes LE, days since 1970-01-01
//! time, timestamp, timestamptz     8 bytes LE, microseconds
//! interval                         months i32 LE, days i32 LE, microseconds i64 LE
//! arrays, int2vector               count u32 LE, then for each element its length u32 LE (FFFFFFFF: NULL) and data
//! ```

#[cfg(test)]
mod arbitrary;
mod column_builder;
pub mod expiry;
pub mod key;
pub mod keyspace;
pub mod large_object;
pub mod postgresql_hash;
pub mod row;
mod stored_array;
mod stored_scalar;
mod stored_value;
pub mod terms;
pub mod version;

/// A sorted half-open range of keys: `start` inclusive, `end` exclusive; `None` is the end of the keyspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyRange {
    /// First key of the range.
    pub start: Vec<u8>,
    /// First key after the range.
    pub end: Option<Vec<u8>>,
}

impl KeyRange {
    /// Every key that starts with `prefix`.
    pub fn of_prefix(prefix: &[u8]) -> KeyRange {
        KeyRange {
            start: prefix.to_vec(),
            end: prefix_end(prefix),
        }
    }

    /// Whether the key is in it.
    pub fn contains(&self, key: &[u8]) -> bool {
        *self.start <= *key && self.end.as_ref().is_none_or(|end| *key < **end)
    }

    /// What is left of it from a key on; all of it for a key outside: whoever comes back for the rest of a table may find that it is
    /// stored elsewhere by now.
    pub fn resumed_at(self, key: Option<&[u8]>) -> KeyRange {
        match key.filter(|key| self.contains(key)) {
            Some(key) => KeyRange {
                start: key.to_vec(),
                end: self.end,
            },
            None => self,
        }
    }

    /// The parts between sorted points inside the range; as many as points and one more.
    pub fn split(self, points: &[Vec<u8>]) -> Vec<KeyRange> {
        let starts = std::iter::once(self.start).chain(points.iter().cloned());
        let ends = points.iter().cloned().map(Some).chain([self.end.clone()]);
        starts
            .zip(ends)
            .map(|(start, end)| KeyRange { start, end })
            .collect()
    }

    /// What stands above `key` in sorted, disjoint ranges.
    pub fn all_behind(ranges: &[KeyRange], key: &[u8]) -> Vec<KeyRange> {
        let next = successor(key);
        let behind = ranges
            .iter()
            .filter(|range| range.end.as_ref().is_none_or(|end| *end > next));
        behind
            .map(|range| KeyRange {
                start: range.start.clone().max(next.clone()),
                end: range.end.clone(),
            })
            .collect()
    }
}

/// The smallest key above every key that starts with `prefix`: trailing FF dropped, last byte plus one.
/// `None`: there is none.
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = prefix.to_vec();
    while end.last() == Some(&0xFF) {
        end.pop();
    }
    *end.last_mut()? += 1;
    Some(end)
}

/// The smallest key above `key`: `key ‖ 00`.
pub fn successor(key: &[u8]) -> Vec<u8> {
    let mut next = Vec::with_capacity(key.len() + 1);
    next.extend_from_slice(key);
    next.push(0);
    next
}
