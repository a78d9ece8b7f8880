//! `TableOptions`, and the options of tables, a row each: its name, what it means here and what becomes of it. CREATE TABLE, ALTER TABLE, the
//! catalogs and SHOW TABLE VARIABLES all read these rows. Called by `sql::ddl` and `system`; knows no SQL.

use std::collections::BTreeMap;

use super::expiry::Expiry;
use super::split_options::SplitOptions;
use super::versions::Versions;

/// WITH (…) options of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct TableOptions {
    /// DYNAMIC_COLUMNS: writes may name columns that do not exist yet.
    pub dynamic_columns: bool,
    /// DYNAMIC_COLUMNS = 'any': UPDATE may name such columns, too, and not INSERT, UPSERT and COPY alone.
    #[serde(default, skip_serializing_if = "is_false")]
    pub update_adds_columns: bool,
    /// WILDCARD_COLUMN as CREATE TABLE says it; the table has its [`super::TableDef::wildcards`] instead.
    #[serde(skip)]
    pub wildcard_column: Option<String>,
    /// FULL_SCAN = 'allow': filters without a key bound may run.
    pub full_scan_allowed: bool,
    /// FULL_SCAN = 'reject': they may not, however few rows there are.
    #[serde(default, skip_serializing_if = "is_false")]
    pub full_scan_rejected: bool,
    /// UNLOGGED: nothing is stored otherwise for it, it is only told.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unlogged: bool,
    /// DISABLE TRIGGER ALL: what PostgreSQL's triggers of foreign keys ask of its rows is not asked.
    #[serde(default, skip_serializing_if = "is_false")]
    pub triggers_disabled: bool,
    /// ON COMMIT, of a temporary table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_commit: Option<OnCommit>,
    /// BUCKETS: the primary key begins with a hidden column of so many values, 0 and up, which the rest of it decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<u16>,
    /// TTL, TTL_COLUMN: when rows are over.
    #[serde(default, skip_serializing_if = "Expiry::is_default")]
    pub expiry: Expiry,
    /// NUMREGIONS, STARTKEY, ENDKEY, SPLITKEYS: where it was split when it was made.
    #[serde(default, skip_serializing_if = "SplitOptions::is_default")]
    pub split: SplitOptions,
    /// VERSIONS, HISTORY: which older versions of rows are kept.
    #[serde(default, skip_serializing_if = "Versions::is_default")]
    pub versions: Versions,
    /// Options that do nothing here, by their names in lower case, with their values as written: they are only told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kept: BTreeMap<String, String>,
}

/// What becomes of a temporary table when a transaction commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCommit {
    /// ON COMMIT DELETE ROWS.
    DeleteRows,
    /// ON COMMIT DROP.
    Drop,
}

/// The option that lists wildcard columns. Its value keeps its case: patterns are names.
pub const WILDCARD_COLUMN: &str = "wildcard_column";

/// BUCKETS at most: an ordered read of a key's range reads as many ranges at once.
pub const BUCKETS_MAX: u16 = 64;

/// An option.
#[derive(Debug)]
pub struct TableOption {
    /// In lower case; it may be written in any.
    pub name: &'static str,
    /// What it means here, or why it means nothing, as a sentence.
    pub meaning: &'static str,
    /// What becomes of it.
    pub verdict: Verdict,
}

/// What becomes of an option.
#[derive(Debug)]
pub enum Verdict {
    /// It does what it says.
    Honoured(Honoured),
    /// It changes nothing that a statement answers: taken with a NOTICE, kept and shown.
    Kept(Values),
}

/// How an option that does what it says is set.
#[derive(Debug)]
pub struct Honoured {
    /// Sets it by a value without blanks around it, in lower case unless it `keeps_case`; `None` for a value that it does not take.
    pub set: fn(&mut TableOptions, &str) -> Option<()>,
    /// Its value is taken as it is written.
    pub keeps_case: bool,
    /// Makes it what it is of a table of which nobody said it.
    pub reset: fn(&mut TableOptions),
    /// Its value, if it is another than that.
    pub value: fn(&TableOptions) -> Option<String>,
    /// What it is then, as SHOW TABLE VARIABLES tells it.
    pub default: &'static str,
    /// The values that it takes, for the HINT.
    pub values: &'static str,
}

/// The values of an option that is only kept.
#[derive(Debug, Clone, Copy)]
pub enum Values {
    /// One of these, in any case.
    OneOf(&'static [&'static str]),
    /// A whole number, 0 and up.
    Number,
    /// Any text.
    Text,
}

const HOW_BYTES_STAND: &str = "How bytes stand on disk is the engine's own business.";
const ONE_COPY: &str =
    "Every index entry changes in the commit of its row, and every read sees all that was committed before.";

/// An option that says where a new table is split: what it is of [`SplitOptions`].
macro_rules! split {
    ($name:literal, $meaning:literal, $set:expr, $value:expr, $values:literal $(,)?) => {
        TableOption {
            name: $name,
            meaning: $meaning,
            verdict: Verdict::Honoured(Honoured {
                set: |options, value| {
                    let set: fn(&mut SplitOptions, &str) -> Option<()> = $set;
                    set(&mut options.split, value)
                },
                keeps_case: true,
                // Regions are merged, not forgotten: `sql::ddl` refuses it.
                reset: |_| {},
                value: |options| {
                    let value: fn(&SplitOptions) -> Option<String> = $value;
                    value(&options.split)
                },
                default: "",
                values: $values,
            }),
        }
    };
}

/// All options of tables but PostgreSQL's storage parameters.
pub static TABLE_OPTIONS: &[TableOption] = &[
    TableOption {
        name: "dynamic_columns",
        meaning: "Writes may name columns that do not exist yet.",
        verdict: Verdict::Honoured(Honoured {
            set: |options, value| {
                options.update_adds_columns = value == "any";
                options.dynamic_columns = options.update_adds_columns || boolean(value)?;
                Some(())
            },
            keeps_case: false,
            reset: |options| (options.dynamic_columns, options.update_adds_columns) = (false, false),
            value: |options| match (options.dynamic_columns, options.update_adds_columns) {
                (true, true) => Some("any".to_string()),
                (true, false) => Some("true".to_string()),
                (false, _) => None,
            },
            default: "false",
            values: "true, false, any",
        }),
    },
    TableOption {
        name: "full_scan",
        meaning: "Whether conditions that bound no key may read all rows.",
        verdict: Verdict::Honoured(Honoured {
            set: |options, value| {
                (options.full_scan_allowed, options.full_scan_rejected) = match value {
                    "allow" => (true, false),
                    "reject" => (false, true),
                    _ => return None,
                };
                Some(())
            },
            keeps_case: false,
            reset: |options| (options.full_scan_allowed, options.full_scan_rejected) = (false, false),
            value: |options| match (options.full_scan_allowed, options.full_scan_rejected) {
                (true, _) => Some("allow".to_string()),
                (_, true) => Some("reject".to_string()),
                _ => None,
            },
            default: "",
            values: "allow, reject",
        }),
    },
    TableOption {
        name: "buckets",
        meaning: "Spreads rows over so many ranges of keys.",
        verdict: Verdict::Honoured(Honoured {
            set: |options, value| {
                let buckets = value.parse().ok()?;
                options.buckets = (2..=BUCKETS_MAX).contains(&buckets).then_some(buckets);
                options.buckets.map(|_| ())
            },
            keeps_case: false,
            reset: |options| options.buckets = None,
            value: |options| options.buckets.map(|buckets| buckets.to_string()),
            default: "",
            values: "whole numbers from 2 to 64",
        }),
    },
    TableOption {
        name: "versions",
        meaning: "How many versions of a row are kept, the newest among them.",
        verdict: Verdict::Honoured(Honoured {
            set: |options, value| options.versions.set_count(value),
            keeps_case: false,
            reset: |options| options.versions.count = None,
            value: |options| options.versions.count.map(|count| count.to_string()),
            default: "1",
            values: "whole numbers from 1 to 500",
        }),
    },
    kept(
        "compression",
        HOW_BYTES_STAND,
        Values::OneOf(&["none", "snappy", "zstd", "lz4", "lzo", "gz", "zlib", "default"]),
    ),
    kept("data_block_encoding", HOW_BYTES_STAND, Values::Text),
    kept("ec_policy", HOW_BYTES_STAND, Values::Text),
    kept("block_size", HOW_BYTES_STAND, Values::Number),
    kept("bloomfilter", HOW_BYTES_STAND, Values::Text),
    kept(
        "compaction_major_period",
        "Space is taken back as rows go; there is no compaction to wait for.",
        Values::Number,
    ),
    kept(
        "mutability",
        ONE_COPY,
        Values::OneOf(&[
            "immutable",
            "immutable_rows",
            "mutable_latest",
            "mutable_all",
            "mutable_udt",
        ]),
    ),
    kept("consistency", ONE_COPY, Values::OneOf(&["eventual", "strong"])),
    kept("storage_policy", "There is one kind of storage.", Values::Text),
    kept(
        "chs",
        "There is no cold storage: all rows are read alike.",
        Values::Text,
    ),
    kept(
        "chs_l2",
        "There is no cold storage: all rows are read alike.",
        Values::Text,
    ),
    split!(
        "numregions",
        "Into how many regions the table was split when it was made.",
        |options, value| options.set_regions(value),
        |options| options.regions.map(|regions| regions.to_string()),
        "whole numbers from 1 to 500",
    ),
    split!(
        "startkey",
        "Where the second of NUMREGIONS regions begins.",
        |options, value| {
            options.start_key = Some(value.to_string());
            Some(())
        },
        |options| options.start_key.clone(),
        "values of the first key column",
    ),
    split!(
        "endkey",
        "Where the last of NUMREGIONS regions begins.",
        |options, value| {
            options.end_key = Some(value.to_string());
            Some(())
        },
        |options| options.end_key.clone(),
        "values of the first key column",
    ),
    split!(
        "splitkeys",
        "Where the regions begin into which the table was split when it was made, but for the first.",
        |options, value| {
            options.split_keys = Some(value.to_string());
            Some(())
        },
        |options| options.split_keys.clone(),
        "values of the first key column, with commas between them",
    ),
    TableOption {
        name: "ttl",
        meaning: "How long a row lives after its last write, or after the moment in TTL_COLUMN.",
        verdict: Verdict::Honoured(Honoured {
            set: |options, value| options.expiry.set_ttl(value),
            keeps_case: true,
            reset: |options| options.expiry.ttl = None,
            value: |options| options.expiry.ttl_text(),
            default: "",
            values: "seconds above 0, an interval such as '30 days', or '' for rows that stay",
        }),
    },
    TableOption {
        name: "ttl_column",
        meaning: "The column from whose moment a row's TTL counts; without a TTL, the moment when the row is over.",
        verdict: Verdict::Honoured(Honoured {
            set: |options, value| {
                options.expiry.set_column(value);
                Some(())
            },
            keeps_case: true,
            reset: |options| options.expiry.column = None,
            value: |options| options.expiry.column.clone(),
            default: "",
            values: "a column's name, or '' for none",
        }),
    },
    TableOption {
        name: "history",
        meaning: "How long every committed version of a row is kept, for FOR SYSTEM_TIME AS OF.",
        verdict: Verdict::Honoured(Honoured {
            set: |options, value| options.versions.set_history(value),
            keeps_case: true,
            reset: |options| options.versions.history = None,
            value: |options| options.versions.history_text(),
            default: "",
            values: "seconds above 0, an interval such as '7 days', or '' for none",
        }),
    },
    TableOption {
        name: WILDCARD_COLUMN,
        meaning: "The types of columns that writes add, by patterns of their names.",
        verdict: Verdict::Honoured(Honoured {
            set: |options, value| {
                options.wildcard_column = Some(value.to_string());
                Some(())
            },
            keeps_case: true,
            // Patterns are dropped one by one, as columns are.
            reset: |_| {},
            // The table's definition has it.
            value: |_| None,
            default: "",
            values: "patterns of column names, for example 'c2*, *_str'",
        }),
    },
];

const fn kept(name: &'static str, meaning: &'static str, values: Values) -> TableOption {
    TableOption {
        name,
        meaning,
        verdict: Verdict::Kept(values),
    }
}

impl TableOption {
    /// The option of this name, in whatever case.
    pub fn named(name: &str) -> Option<&'static TableOption> {
        let mut options = TABLE_OPTIONS.iter();
        options.find(|option| option.name.eq_ignore_ascii_case(name))
    }
}

impl Values {
    /// Whether it is one of them.
    pub fn take(self, value: &str) -> bool {
        match self {
            Values::OneOf(known) => known.iter().any(|known| known.eq_ignore_ascii_case(value)),
            Values::Number => !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()),
            Values::Text => true,
        }
    }

    /// For the HINT.
    pub fn told(self) -> String {
        match self {
            Values::OneOf(known) => known.join(", "),
            Values::Number => "whole numbers".to_string(),
            Values::Text => "texts".to_string(),
        }
    }
}

impl TableOptions {
    /// The options that were set, as pg_class.reloptions has them: `name=value`; those that do something first.
    pub fn texts(&self) -> Vec<String> {
        let honoured = TABLE_OPTIONS.iter().filter_map(|option| match &option.verdict {
            Verdict::Honoured(honoured) => Some(format!("{}={}", option.name, (honoured.value)(self)?)),
            Verdict::Kept(_) => None,
        });
        let kept = self.kept.iter().map(|(name, value)| format!("{name}={value}"));
        honoured.chain(kept).collect()
    }
}

/// What a word for a truth value means.
pub fn boolean(value: &str) -> Option<bool> {
    match value {
        "true" | "on" | "yes" | "1" | "t" => Some(true),
        "false" | "off" | "no" | "0" | "f" => Some(false),
        _ => None,
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_says_what_it_was_set_to_until_it_is_reset() {
        for (name, value) in [
            ("dynamic_columns", "true"),
            ("dynamic_columns", "any"),
            ("full_scan", "reject"),
            ("buckets", "8"),
        ] {
            let Some(TableOption {
                verdict: Verdict::Honoured(honoured),
                ..
            }) = TableOption::named(&name.to_uppercase())
            else {
                panic!("{name}");
            };
            let mut options = TableOptions::default();
            assert_eq!((honoured.set)(&mut options, value), Some(()), "{name}");
            assert_eq!(options.texts(), [format!("{name}={value}")]);
            (honoured.reset)(&mut options);
            assert_eq!(options, TableOptions::default(), "{name}");
        }
    }

    #[test]
    fn names_are_in_lower_case_and_once() {
        for (at, option) in TABLE_OPTIONS.iter().enumerate() {
            assert_eq!(option.name, option.name.to_lowercase());
            assert!(TABLE_OPTIONS[..at].iter().all(|other| other.name != option.name));
            assert!(option.meaning.ends_with('.'), "{}", option.meaning);
        }
    }
}
