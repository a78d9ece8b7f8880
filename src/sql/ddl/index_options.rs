//! `WITH (…)` options of indexes: by CREATE INDEX, in CREATE TABLE and by ALTER INDEX. What options there are stands in
//! `catalog::index_options`; PostgreSQL's storage parameters are in `storage`.

use std::collections::BTreeMap;

use sqlparser::ast::Expr;

use super::options::{NewOption, check_kept, check_names, invalid_value};
use super::storage;
use crate::catalog::{BUCKETS_MAX, INDEX_OPTIONS, IndexOption, IndexVerdict};
use crate::{Error, Result};

/// What `INDEX_COVERED_TYPE` takes.
const COVERED_TYPES: &str = "COVERED_ALL_COLUMNS_IN_SCHEMA";

/// The options of a new index.
#[derive(Debug, Default)]
pub(super) struct NewIndexOptions {
    /// Those that are only told.
    pub(super) kept: BTreeMap<String, String>,
    /// Its entries hold all columns.
    pub(super) covers_all: bool,
    /// Its entries are spread over so many places.
    pub(super) buckets: Option<u16>,
}

/// What an option says of an index, beside that it is told.
enum Effect {
    None,
    CoversAll,
    Buckets(u16),
}

impl NewIndexOptions {
    /// As CREATE INDEX writes them. Errors: 22023, all that nobody knows at once; 0A000.
    pub(super) fn read(written: &[Expr]) -> Result<NewIndexOptions> {
        let mut read = NewIndexOptions::default();
        let options: Vec<NewOption> = written.iter().map(storage::written_parameter).collect();
        check_known(&options)?;
        for (name, value) in &options {
            match set(&mut read.kept, name, value.as_deref())? {
                Effect::None => {}
                Effect::CoversAll => read.covers_all = true,
                Effect::Buckets(buckets) => read.buckets = Some(buckets),
            }
        }
        Ok(read)
    }

    /// The names of those that do nothing.
    pub(super) fn unused(&self) -> Vec<String> {
        self.kept.keys().cloned().collect()
    }
}

/// Changes options of an index that is there; answers those that were set and do nothing. Errors: as [`NewIndexOptions::read`].
pub(super) fn change(kept: &mut BTreeMap<String, String>, changes: &[NewOption]) -> Result<Vec<String>> {
    check_known(changes)?;
    for (name, value) in changes {
        let is_of_its_making = |verdict: &IndexVerdict| !matches!(verdict, IndexVerdict::Kept(_));
        let verdict = IndexOption::named(name).map(|option| &option.verdict);
        if verdict.is_some_and(is_of_its_making) {
            return Err(Error::unsupported(
                format!("ALTER INDEX ... SET ({})", name.to_lowercase()),
                Some("Make another index with it, and drop this one."),
            ));
        }
        set(kept, name, value.as_deref())?;
    }
    let set = changes.iter().filter(|(_, value)| value.is_some());
    Ok(set.map(|(name, _)| name.to_lowercase()).collect())
}

/// Sets or resets an option; answers what else it says. Errors: 22023, 0A000.
fn set(kept: &mut BTreeMap<String, String>, name: &str, value: Option<&str>) -> Result<Effect> {
    let lower = name.to_lowercase();
    let Some(value) = value else {
        kept.remove(&lower);
        return Ok(Effect::None);
    };
    match IndexOption::named(name).map(|option| &option.verdict) {
        Some(IndexVerdict::Covers) => return covers_all(value),
        Some(IndexVerdict::Buckets) => return buckets(value),
        Some(IndexVerdict::Kept(values)) => check_kept("index", &lower, value, *values)?,
        None => {
            storage::check_index_value(&lower, value)?;
        }
    }
    kept.insert(lower, value.to_string());
    Ok(Effect::None)
}

/// Errors: 22023.
fn buckets(value: &str) -> Result<Effect> {
    let count = value
        .parse()
        .ok()
        .filter(|count| (2..=BUCKETS_MAX).contains(count));
    match count {
        Some(count) => Ok(Effect::Buckets(count)),
        None => Err(invalid_value(
            "index",
            "buckets",
            value,
            &format!("2 to {BUCKETS_MAX}"),
        )),
    }
}

/// Errors: 0A000 for the columns that writes will add, 22023.
fn covers_all(value: &str) -> Result<Effect> {
    if value.eq_ignore_ascii_case(COVERED_TYPES) {
        Ok(Effect::CoversAll)
    } else if value.eq_ignore_ascii_case("COVERED_DYNAMIC_COLUMNS") {
        Err(Error::unsupported(
            "an index that covers the columns which writes add",
            Some("Name the columns that it is to hold: INCLUDE (a, b)."),
        ))
    } else {
        Err(invalid_value("index", "index_covered_type", value, COVERED_TYPES))
    }
}

/// Errors: 22023.
fn check_known(options: &[NewOption]) -> Result<()> {
    let is_known = |name: &str| IndexOption::named(name).is_some() || storage::is_index_parameter(name);
    let known: Vec<&str> = INDEX_OPTIONS.iter().map(|option| option.name).collect();
    let preface = "The options of indexes are PostgreSQL's storage parameters,";
    check_names(options, is_known, &known, preface)
}
