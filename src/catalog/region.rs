//! `TableRegions`: the named slices of a table's rows, by their keys. A record of its own beside the table's, so that cutting one slice
//! in two concerns nobody who reads or writes. Where there is no record a table is one region, or one for each of its buckets. Called by
//! `sql::ddl`, `system` and the server's own task; knows no SQL.
//!
//! Invariants
//!
//! 1. The first region begins with the first key; the others begin where they say, rising. All are known by numbers that are not given
//!    again.
//! 2. Bounds are encoded fields of the primary key, without its prefix: TRUNCATE, which gives other prefixes, leaves them as they are.
//! 3. Bounds of another key than the table has by now say nothing: the record counts for none then.

use serde::{Deserialize, Serialize};

use super::constant_record;
use super::record::{self, Head, Stamp};
use super::split_options::REGIONS_MAX;
use super::{TableDef, record_key};
use crate::codec::KeyRange;
use crate::codec::key::{encode_value, field_length};
use crate::codec::keyspace::{FIRST_DATABASE, Keyspace, entry_prefix, regions_range};
use crate::error::Limit;
use crate::store::{LockMode, Page, ScanRequest, Write};
use crate::txn::Transaction;
use crate::types::Value;
use crate::{Error, Result};

/// What stands before the JSON.
const KIND: u8 = b'R';
/// They are found by the table's oid, in whichever database that is.
const STAMP: Stamp = Stamp {
    version: 0,
    database: FIRST_DATABASE,
};

/// The regions of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRegions {
    /// The table's oid.
    pub oid: u32,
    /// The columns of the key that the bounds are of, with types and directions.
    key: Vec<String>,
    /// The number of the next region.
    next_number: u32,
    /// In the order of the key, one at least.
    regions: Vec<RegionDef>,
}

/// A region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionDef {
    /// Its number: `r1`.
    pub number: u32,
    /// The encoded fields that it begins with; empty: the first.
    #[serde(with = "hex_bytes")]
    pub start: Vec<u8>,
    /// Who made it.
    pub origin: RegionOrigin,
}

/// Who made a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RegionOrigin {
    /// The table began with it.
    Table,
    /// It is a bucket.
    Bucket,
    /// NUMREGIONS or SPLITKEYS.
    Options,
    /// ALTER TABLE … SPLIT AT.
    Statement,
    /// The server, for its size.
    Size,
    /// The server, for what was read and written of it.
    Heat,
}

impl RegionOrigin {
    /// As it is shown.
    pub fn word(self) -> &'static str {
        match self {
            RegionOrigin::Table => "table",
            RegionOrigin::Bucket => "bucket",
            RegionOrigin::Options => "options",
            RegionOrigin::Statement => "statement",
            RegionOrigin::Size => "size",
            RegionOrigin::Heat => "heat",
        }
    }

    /// Whether the server may take it back.
    pub fn is_automatic(self) -> bool {
        matches!(self, RegionOrigin::Size | RegionOrigin::Heat)
    }
}

impl RegionDef {
    /// `r1`.
    pub fn name(&self) -> String {
        format!("r{}", self.number)
    }
}

impl TableRegions {
    /// Those of a table of which no record says more.
    pub fn of_table(table: &TableDef) -> TableRegions {
        let mut regions = TableRegions {
            oid: table.oid,
            key: key_columns(table),
            next_number: 2,
            regions: vec![RegionDef {
                number: 1,
                start: Vec::new(),
                origin: RegionOrigin::Table,
            }],
        };
        // BUCKETS of a table without a primary key wait for one.
        if let (Some(buckets), Some(field), false) = (
            table.options.buckets,
            table.key_fields(&table.primary_key).first(),
            table.has_hidden_key(),
        ) {
            let starts = (1..buckets).map(|bucket| {
                let mut start = Vec::new();
                encode_value(&mut start, &Value::Int(i64::from(bucket)), field);
                start
            });
            // There are fewer buckets than there may be regions.
            let _ = regions.split(starts.collect(), RegionOrigin::Bucket);
        }
        regions
    }

    /// Those of a table as a transaction sees them. Errors: the store's, `Corrupt`.
    pub async fn read(txn: &Transaction, table: &TableDef) -> Result<TableRegions> {
        let values = txn.get_many(&[key_of(table.oid)]).await?;
        match values.get(0) {
            Some(value) => Ok(decode(value)?.fit(table)),
            None => Ok(TableRegions::of_table(table)),
        }
    }

    /// The same as its snapshot has them, for who reads by them: whatever they are, all rows are read.
    pub async fn read_committed(txn: &Transaction, table: &TableDef) -> Result<TableRegions> {
        let values = txn.get_stored(&[key_of(table.oid)]).await?;
        match values.get(0) {
            Some(value) => Ok(decode(value)?.fit(table)),
            None => Ok(TableRegions::of_table(table)),
        }
    }

    /// All records, as a transaction sees them. Errors: as [`TableRegions::read`].
    pub async fn read_all(txn: &Transaction) -> Result<Vec<TableRegions>> {
        let mut scan = txn.scan(ScanRequest {
            ranges: vec![regions_range()],
            reverse: false,
            keys_only: false,
            read_ahead: false,
            page_rows_max: 256,
            page_bytes_max: 1 << 20,
        });
        let (mut page, mut all) = (Page::new(), Vec::new());
        loop {
            scan.next_page(&mut page).await?;
            if page.is_empty() {
                return Ok(all);
            }
            for (_, value) in page.iter() {
                all.push(decode(value)?);
            }
        }
    }

    /// These, or those that a table of another key begins with.
    pub fn fit(self, table: &TableDef) -> TableRegions {
        match self.key == key_columns(table) {
            true => self,
            false => TableRegions::of_table(table),
        }
    }

    /// Those of a copy of the table, which has this oid.
    pub fn of_copy(self, oid: u32) -> TableRegions {
        TableRegions { oid, ..self }
    }

    /// Writes the record of a table that is made in the same transaction.
    pub fn write_new(&self, txn: &Transaction) -> Result<()> {
        let (key, value) = (key_of(self.oid), record::encode(KIND, STAMP, self.oid, self)?);
        txn.write(Write::Put { key, value }, Some(LockMode::Replace))
    }

    /// Writes the record, in a transaction that sees the table as it is.
    pub fn write(&self, txn: &Transaction, table: &TableDef) -> Result<()> {
        txn.guard_in(&record_key(table.id), LockMode::AccessShare);
        self.write_new(txn)
    }

    /// In the order of the key.
    pub fn regions(&self) -> &[RegionDef] {
        &self.regions
    }

    /// Splits at bounds, beside where it is split already; answers how many are new, or are the server's no more. Errors: 54000 for too
    /// many.
    pub fn split(&mut self, mut starts: Vec<Vec<u8>>, origin: RegionOrigin) -> Result<usize> {
        starts.sort_unstable();
        let mut changed = 0;
        for start in starts {
            let found = self.regions.binary_search_by(|region| region.start.cmp(&start));
            let at = match found {
                Err(at) => at,
                Ok(at) => {
                    let known = &mut self.regions[at];
                    if known.origin.is_automatic() && !origin.is_automatic() {
                        known.origin = origin;
                        changed += 1;
                    }
                    continue;
                }
            };
            if self.regions.len() == REGIONS_MAX {
                return Err(Error::LimitExceeded {
                    state: Limit::Program,
                    message: format!("tables can have at most {REGIONS_MAX} regions"),
                    hint: "Split where much is read or written, or where there are many rows.".to_string(),
                });
            }
            self.regions.insert(
                at,
                RegionDef {
                    number: self.next_number,
                    start,
                    origin,
                },
            );
            self.next_number += 1;
            changed += 1;
        }
        Ok(changed)
    }

    /// Takes back the bounds of which it holds; answers how many.
    pub fn merge(&mut self, is_gone: impl Fn(&RegionDef) -> bool) -> usize {
        let before = self.regions.len();
        self.regions
            .retain(|region| region.start.is_empty() || !is_gone(region));
        before - self.regions.len()
    }

    /// A bound that does not decode as fields of the table's key; of another key than the table's by now none is looked at.
    pub(super) fn damaged_bound(&self, table: &TableDef) -> Option<&[u8]> {
        if self.key != key_columns(table) {
            return None;
        }
        let fields = table.key_fields(&table.primary_key);
        let is_damaged = |start: &[u8]| {
            let mut rest = start;
            for field in &fields {
                if rest.is_empty() {
                    return false;
                }
                match field_length(rest, field) {
                    Ok(length) => rest = rest.get(length..).unwrap_or_default(),
                    Err(_) => return true,
                }
            }
            !rest.is_empty()
        };
        let mut starts = self.regions.iter().map(|region| region.start.as_slice());
        starts.find(|start| is_damaged(start))
    }

    /// The keys of each region, for a table of this prefix.
    pub fn ranges(&self, table: &TableDef) -> Vec<KeyRange> {
        let whole = KeyRange::of_prefix(&entry_prefix(table.id, 0));
        whole.split(&self.cuts(table))
    }

    /// The stored keys that cut the table's rows into its regions.
    pub fn cuts(&self, table: &TableDef) -> Vec<Vec<u8>> {
        let prefix = entry_prefix(table.id, 0);
        let inner = self.regions.iter().skip(1);
        inner.map(|region| [&prefix, &*region.start].concat()).collect()
    }
}

/// The key of a table's record.
pub(super) fn key_of(oid: u32) -> Vec<u8> {
    Keyspace::Regions { oid }.encode()
}

/// A record. Errors: `Corrupt`, for what breaks an invariant, too.
pub(super) fn decode(bytes: &[u8]) -> Result<TableRegions> {
    let regions: TableRegions = match record::open(bytes)? {
        Head { kind: KIND, json, .. } => record::parse(json)?,
        Head { kind, .. } => {
            return Err(constant_record::corrupt(format!(
                "kind {kind} is no list of regions"
            )));
        }
    };
    let starts_rise = regions.regions.is_sorted_by(|a, b| a.start < b.start);
    let begins = regions
        .regions
        .first()
        .is_some_and(|first| first.start.is_empty());
    if !starts_rise || !begins {
        return Err(constant_record::corrupt(
            "its regions are not in order".to_string(),
        ));
    }
    let mut numbers: Vec<u32> = regions.regions.iter().map(|region| region.number).collect();
    numbers.sort_unstable();
    let is_given = numbers.is_sorted_by(|a, b| a < b);
    if !is_given || numbers.last().is_some_and(|last| *last >= regions.next_number) {
        return Err(constant_record::corrupt(
            "its regions have numbers that were not given".to_string(),
        ));
    }
    Ok(regions)
}

impl TableDef {
    /// Whether bounds of the other table's regions could be bounds of its own.
    pub fn is_keyed_as(&self, other: &TableDef) -> bool {
        key_columns(self) == key_columns(other)
    }
}

/// What bounds depend on.
fn key_columns(table: &TableDef) -> Vec<String> {
    let key = &table.primary_key;
    let fields = key.columns.iter().zip(table.key_fields(key));
    let column = fields.map(|(column, field)| {
        let direction = if field.descending { " DESC" } else { "" };
        let nulls = if field.nulls_first { " NULLS FIRST" } else { "" };
        format!("{} {}{direction}{nulls}", column.column, field.ty.name())
    });
    column.collect()
}

/// Bytes as hexadecimal digits.
mod hex_bytes {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        use std::fmt::Write as _;
        let mut text = String::with_capacity(2 * bytes.len());
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        serializer.serialize_str(&text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.as_bytes().chunks(2).map(|pair| {
            let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
            u8::from_str_radix(pair, 16).ok()
        });
        let bytes: Option<Vec<u8>> = digits.collect();
        bytes.ok_or_else(|| D::Error::custom("no hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::check::tests::table;
    use crate::types::SqlType;

    fn starts(regions: &TableRegions) -> Vec<Vec<u8>> {
        regions
            .regions()
            .iter()
            .map(|region| region.start.clone())
            .collect()
    }

    #[test]
    fn a_table_is_split_and_merged_and_numbers_are_not_given_again() {
        let table = table();
        let mut regions = TableRegions::of_table(&table);
        assert_eq!(regions.regions().len(), 1);
        let made = regions.split(vec![vec![9], vec![5], vec![9]], RegionOrigin::Statement);
        assert_eq!(made.unwrap(), 2);
        assert_eq!(starts(&regions), [vec![], vec![5], vec![9]]);
        assert_eq!(regions.merge(|region| region.start == [5]), 1);
        assert_eq!(regions.split(vec![vec![7]], RegionOrigin::Heat).unwrap(), 1);
        let numbers: Vec<u32> = regions.regions().iter().map(|region| region.number).collect();
        assert_eq!(numbers, [1, 4, 3]);
        // What the server has made is a statement's once that says so.
        assert_eq!(regions.split(vec![vec![7]], RegionOrigin::Size).unwrap(), 0);
        assert_eq!(regions.split(vec![vec![7]], RegionOrigin::Statement).unwrap(), 1);
        assert!(!regions.regions()[1].origin.is_automatic());
        let bytes = record::encode(KIND, STAMP, regions.oid, &regions).unwrap();
        assert_eq!(decode(&bytes).unwrap(), regions);
        assert_eq!(regions.merge(|_| true), 2, "the first stays");
        let many = (0..=REGIONS_MAX as u16).map(|n| vec![1, (n >> 8) as u8, n as u8]);
        let refused = regions
            .split(many.collect(), RegionOrigin::Statement)
            .unwrap_err();
        assert_eq!(refused.sqlstate(), "54000");
    }

    #[test]
    fn bounds_of_another_key_say_nothing() {
        let table = table();
        let mut other = table.clone();
        other.columns[0].ty = SqlType::Text;
        let mut regions = TableRegions::of_table(&table);
        regions.split(vec![vec![5]], RegionOrigin::Statement).unwrap();
        assert_eq!(regions.clone().fit(&table), regions);
        assert_eq!(regions.fit(&other), TableRegions::of_table(&other));
    }

    #[test]
    fn a_record_that_breaks_a_rule_is_damaged() {
        let table = table();
        let mut regions = TableRegions::of_table(&table);
        regions
            .split(vec![vec![5], vec![9]], RegionOrigin::Statement)
            .unwrap();
        let damage: [fn(&mut TableRegions); 4] = [
            |regions| regions.regions.swap(1, 2),
            |regions| regions.regions[0].start.push(1),
            |regions| regions.regions[2].number = 2,
            |regions| regions.next_number = 3,
        ];
        for damage in damage {
            let mut damaged = regions.clone();
            damage(&mut damaged);
            let bytes = record::encode(KIND, STAMP, 1, &damaged).unwrap();
            assert_eq!(decode(&bytes).unwrap_err().sqlstate(), "XX001");
        }
    }
}
