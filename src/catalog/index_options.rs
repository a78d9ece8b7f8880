//! The options of indexes, a row each, but for PostgreSQL's storage parameters: what `CREATE INDEX … WITH (…)` and ALTER INDEX may name.
//! Called by `sql::ddl`; knows no SQL.

use super::table_options::Values;

/// An option of an index.
#[derive(Debug)]
pub struct IndexOption {
    /// In lower case; it may be written in any.
    pub name: &'static str,
    /// What becomes of it.
    pub verdict: IndexVerdict,
}

/// What becomes of an option of an index.
#[derive(Debug)]
pub enum IndexVerdict {
    /// INDEX_COVERED_TYPE: which columns an index includes besides those that it names.
    Covers,
    /// BUCKETS: its entries are spread over so many places.
    Buckets,
    /// It changes nothing that a statement answers: taken with a NOTICE, kept and shown.
    Kept(Values),
}

/// All of them.
pub static INDEX_OPTIONS: &[IndexOption] = &[
    IndexOption {
        name: "index_covered_type",
        verdict: IndexVerdict::Covers,
    },
    IndexOption {
        name: "buckets",
        verdict: IndexVerdict::Buckets,
    },
    kept("compression", Values::Text),
    kept("data_block_encoding", Values::Text),
    kept("ec_policy", Values::Text),
    kept("compaction_major_period", Values::Number),
    kept("numregions", Values::Number),
    kept("startkey", Values::Text),
    kept("endkey", Values::Text),
    kept("splitkeys", Values::Text),
    kept("splitalgo", Values::Text),
];

const fn kept(name: &'static str, values: Values) -> IndexOption {
    IndexOption {
        name,
        verdict: IndexVerdict::Kept(values),
    }
}

impl IndexOption {
    /// The option of this name, in whatever case.
    pub fn named(name: &str) -> Option<&'static IndexOption> {
        let mut options = INDEX_OPTIONS.iter();
        options.find(|option| option.name.eq_ignore_ascii_case(name))
    }
}
