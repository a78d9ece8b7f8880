//! `Hints`: what the comments behind a statement's verb ask of its plan (`SELECT /*+ _l_force_index_('i') */ …`), in
//! LindormTable's words. What such a comment asks for and nobody gives is an error, not a comment.

use sqlparser::ast::{CreateIndex, Expr, ObjectName, Spanned};
use sqlparser::tokenizer::Location;

use super::definition::AlterAction;
use crate::error::nearest_name;
use crate::{Error, Result};

/// A hint.
struct Hint {
    /// In lower case; it may be written in any.
    name: &'static str,
    verdict: Verdict,
}

/// What becomes of a hint.
enum Verdict {
    /// It is obeyed: what it takes behind its name, as an example has it, and how that is noted; `None` for what it does not take.
    Obeyed {
        example: &'static str,
        note: fn(&mut Hints, Option<&str>) -> Option<()>,
    },
    /// The same behind some verbs; an error behind others.
    ObeyedBehind {
        verbs: &'static [Verb],
        example: &'static str,
        note: fn(&mut Hints, Verb, Option<&str>) -> Option<()>,
    },
    /// It would change what the statement answers, and nothing here does: an error, which says what to write instead.
    Refused(&'static str),
}

/// How the name of a column ends that is the time of a version: `<column>_l_ts`.
pub const VERSION_TIME_END: &str = "_l_ts";

/// All hints; any other that begins as they do is an error.
const HINTS: &[Hint] = &[
    Hint {
        name: "_l_allow_filtering_",
        verdict: Verdict::Obeyed {
            example: "_l_allow_filtering_",
            note: |hints, argument| {
                hints.allow_filtering = true;
                argument.is_none().then_some(())
            },
        },
    },
    Hint {
        name: "_l_force_index_",
        verdict: Verdict::Obeyed {
            example: "_l_force_index_('name')",
            note: |hints, argument| hints.name_index(IndexHint::Force(name_in(argument?)?)),
        },
    },
    Hint {
        name: "_l_ignore_index_",
        verdict: Verdict::Obeyed {
            example: "_l_ignore_index_, and not with _l_force_index_",
            note: |hints, argument| {
                hints.name_index(IndexHint::Ignore)?;
                argument.is_none().then_some(())
            },
        },
    },
    Hint {
        name: "_l_operation_timeout_",
        verdict: TIMEOUT,
    },
    // Its name before LindormTable 2.5.2.
    Hint {
        name: "operationtimeout",
        verdict: TIMEOUT,
    },
    Hint {
        name: "_l_ts_",
        verdict: Verdict::ObeyedBehind {
            verbs: &[Verb::Select, Verb::Write],
            example: "_l_ts_(1000): a time in milliseconds since 1970",
            note: |hints, verb, argument| {
                let millis = version_time(argument?)?;
                match verb {
                    Verb::Write => hints.version_time = Some(millis),
                    _ => hints.versions.get_or_insert_default().at = Some(millis),
                }
                Some(())
            },
        },
    },
    of_read(
        "_l_ts_max_",
        "_l_ts_max_(2000): versions before a time in milliseconds since 1970",
        |hints, _, argument| {
            hints.versions.get_or_insert_default().before = Some(version_time(argument?)?);
            Some(())
        },
    ),
    of_read(
        "_l_ts_min_",
        "_l_ts_min_(1000): versions from a time in milliseconds since 1970 on",
        |hints, _, argument| {
            hints.versions.get_or_insert_default().from = Some(version_time(argument?)?);
            Some(())
        },
    ),
    of_read(
        "_l_versions_",
        "_l_versions_(2): how many versions of a row, from 1 on",
        |hints, _, argument| {
            let count = argument?.parse().ok().filter(|count| *count > 0)?;
            hints.versions.get_or_insert_default().count = Some(count);
            Some(())
        },
    ),
    refused(
        "_l_hot_only_",
        "There is no cold storage, all data are hot: leave the hint out.",
    ),
    Hint {
        name: "_l_batch_",
        verdict: Verdict::Obeyed {
            example: "_l_batch_(10000): rows that are written before each commit, from 1 to 1000000",
            note: |hints, argument| {
                let rows: usize = argument?.parse().ok()?;
                hints.batch_rows = Some(rows).filter(|rows| (1..=BATCH_ROWS_MAX).contains(rows));
                hints.batch_rows.map(|_| ())
            },
        },
    },
    Hint {
        name: "_l_ttl_",
        verdict: Verdict::Obeyed {
            example: "_l_ttl_(60000) for a row that lives a minute; without the hint it lives as long as its table says",
            note: |hints, argument| {
                hints.row_lifetime = Some(row_lifetime(argument?)?);
                Some(())
            },
        },
    },
];

/// Rows of a batch at most.
const BATCH_ROWS_MAX: usize = 1_000_000;

const TIMEOUT: Verdict = Verdict::Obeyed {
    example: "_l_operation_timeout_(5000): milliseconds from 1 on",
    note: |hints, argument| {
        let timeout_ms = argument?.parse().ok()?;
        hints.timeout_ms = Some(timeout_ms).filter(|timeout_ms| *timeout_ms > 0);
        hints.timeout_ms.map(|_| ())
    },
};

const fn of_read(
    name: &'static str,
    example: &'static str,
    note: fn(&mut Hints, Verb, Option<&str>) -> Option<()>,
) -> Hint {
    Hint {
        name,
        verdict: Verdict::ObeyedBehind {
            verbs: &[Verb::Select],
            example,
            note,
        },
    }
}

const fn refused(name: &'static str, hint: &'static str) -> Hint {
    Hint {
        name,
        verdict: Verdict::Refused(hint),
    }
}

/// What a statement asks of its plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// `_l_allow_filtering_`, or ALLOW FILTERING: it may scan a whole table.
    pub allow_filtering: bool,
    /// Which keys there are to choose from.
    pub index: Option<IndexHint>,
    /// `_l_ttl_(ms)`: how long the rows live that are written, in microseconds.
    pub row_lifetime: Option<i64>,
    /// `_l_batch_(n)`: an UPDATE or DELETE commits after so many rows.
    pub batch_rows: Option<usize>,
    /// `_l_ts_(ms)` of a write: the time that the rows have which are written, in milliseconds since 1970.
    pub version_time: Option<i64>,
    /// Which versions of rows are read.
    pub versions: Option<VersionHint>,
    /// A column is named as those are that are a version's time.
    pub names_version_time: bool,
    /// AS OF SYSTEM TIME: the moment at which all tables are read.
    pub as_of: Option<Box<Expr>>,
    /// `_l_operation_timeout_(ms)`: in place of statement_timeout, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// `CREATE INDEX … ASYNC`: the server builds the index after the statement.
    pub is_async: bool,
    /// `DROP INDEX CONCURRENTLY`.
    pub drops_concurrently: bool,
    /// Where the names stand that have ONLY in front: what is said of those tables is not said of their partitions.
    pub only: Vec<Location>,
    /// `CREATE UNLOGGED TABLE`.
    pub unlogged: bool,
    /// Its rows are fetched, and perhaps not all of them, or something is done between two: the query of a cursor, or of a write.
    pub may_end: bool,
    /// Words of a definition that mean nothing here.
    pub without_effect: Vec<String>,
    /// The tablespaces that a definition names.
    pub tablespaces: Vec<String>,
    /// `CREATE TABLE … AS … WITH NO DATA`.
    pub without_rows: bool,
    /// The LIKE clauses of CREATE TABLE.
    pub likes: Vec<Like>,
    /// The indexes that stand among the columns of CREATE TABLE; the table that they name is none.
    pub keys: Vec<CreateIndex>,
    /// The actions of ALTER TABLE that the tree holds by their numbers.
    pub actions: Vec<AlterAction>,
    /// The elements of CREATE SCHEMA, in the order in which they are made.
    pub schema_elements: Vec<String>,
    /// The hints that were read, and what stands behind each.
    pub given: Vec<(String, Option<String>)>,
}

/// Which versions of each row a query reads, by `_l_versions_` and its like: times in milliseconds since 1970.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VersionHint {
    /// `_l_versions_(n)`: so many of the newest; `None`: one.
    pub count: Option<u32>,
    /// `_l_ts_(n)`: those of this time.
    pub at: Option<i64>,
    /// `_l_ts_min_(n)`: those from this time on.
    pub from: Option<i64>,
    /// `_l_ts_max_(n)`: those before this time.
    pub before: Option<i64>,
}

/// The verb that a hint stands behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Select,
    /// INSERT, UPSERT, UPDATE.
    Write,
    Delete,
    /// MERGE or COPY.
    Load,
}

/// `LIKE table INCLUDING …` among the columns of CREATE TABLE.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Like {
    /// The names of schema and table.
    pub table: Vec<String>,
    /// How many columns stand before it.
    pub at: usize,
    /// What is taken besides names, types and NOT NULL: `defaults`, `indexes` …
    pub including: Vec<&'static str>,
    /// Whether the options of the table are taken, too.
    pub with_options: bool,
}

/// A hint about the keys that a statement reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexHint {
    /// `_l_force_index_('name')`: this one.
    Force(String),
    /// `_l_ignore_index_`: primary keys only.
    Ignore,
}

impl Hints {
    /// Whether ONLY stands before this name of the statement.
    pub fn names_only(&self, name: &ObjectName) -> bool {
        !self.only.is_empty() && self.only.contains(&name.span().start)
    }

    /// Takes the hints of a comment, if it holds any: `+ hint, hint`. Errors: 0A000 for what is no hint of ours, 22023.
    pub(super) fn read(&mut self, comment: &str, verb: Verb) -> Result<()> {
        for (name, rest) in hints_of(comment) {
            let Some(hint) = HINTS.iter().find(|hint| hint.name == name) else {
                return Err(unknown(&name));
            };
            match &hint.verdict {
                Verdict::ObeyedBehind { verbs, .. } if !verbs.contains(&verb) => {
                    return Err(misplaced_verb(&name, verb, verbs));
                }
                Verdict::ObeyedBehind { example, note, .. } => {
                    let argument = argument(rest);
                    self.note_given(&name, argument)?;
                    note(self, verb, argument).ok_or_else(|| not_taken(&name, argument, example))?;
                }
                Verdict::Obeyed { example, note } => {
                    let argument = argument(rest);
                    self.note_given(&name, argument)?;
                    note(self, argument).ok_or_else(|| not_taken(&name, argument, example))?;
                }
                Verdict::Refused(way_out) => {
                    return Err(Error::unsupported(format!("the hint {name}"), Some(way_out)));
                }
            }
        }
        Ok(())
    }

    /// Errors: 22023 for a hint that says one thing here and another there.
    fn note_given(&mut self, name: &str, argument: Option<&str>) -> Result<()> {
        let argument = argument.map(str::to_string);
        match self.given.iter().find(|(given, _)| given == name) {
            Some((_, given)) if *given == argument => Ok(()),
            Some(_) => Err(Error::InvalidParameter {
                message: format!("the hint {name} is given more than once"),
                hint: Some("Hints are those of the whole statement: write one of them.".to_string()),
            }),
            None => {
                self.given.push((name.to_string(), argument));
                Ok(())
            }
        }
    }

    /// Whether it reads others than the newest versions, or says which.
    pub fn reads_versions(&self) -> bool {
        self.versions.is_some() || self.as_of.is_some()
    }

    /// Notes which keys there are to choose from; `None` when that contradicts what was said before.
    fn name_index(&mut self, index: IndexHint) -> Option<()> {
        match &self.index {
            Some(before) if *before != index => None,
            _ => {
                self.index = Some(index);
                Some(())
            }
        }
    }
}

/// The hints of a comment that stands where none counts, by their names.
pub(super) fn misplaced(comment: &str) -> Vec<String> {
    hints_of(comment).into_iter().map(|(name, _)| name).collect()
}

/// The names in a comment that begins with `+` and is about hints, in lower case, and what stands behind each.
fn hints_of(comment: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    let Some(mut rest) = comment.strip_prefix('+') else {
        return found;
    };
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    while let Some(start) = rest.find(is_part) {
        let word = &rest[start..];
        let end = word.find(|c| !is_part(c)).unwrap_or(word.len());
        rest = &word[end..];
        let name = word[..end].to_ascii_lowercase();
        if name.starts_with("_l_") || HINTS.iter().any(|hint| hint.name == name) {
            found.push((name, rest));
            // What stands in its parentheses is no hint.
            if let Some(inner) = argument(rest) {
                rest = &rest[rest.find(inner).map_or(0, |at| at + inner.len())..];
            }
        }
    }
    found
}

/// A time in milliseconds since 1970, from 0 on.
fn version_time(argument: &str) -> Option<i64> {
    argument.parse().ok().filter(|millis| *millis >= 0)
}

fn misplaced_verb(name: &str, verb: Verb, verbs: &[Verb]) -> Error {
    let hint = match verbs.contains(&Verb::Write) {
        true if verb == Verb::Load => {
            "MERGE and COPY write versions of the time of their commit: write INSERT, UPSERT or UPDATE, and the hint behind it."
        }
        true => {
            "DELETE removes all versions of a row; the hint stands behind SELECT, INSERT, UPSERT or UPDATE."
        }
        false => "Versions are read by SELECT: write the hint behind it.",
    };
    Error::unsupported(format!("the hint {name} behind this verb"), Some(hint))
}

/// The microseconds that a number of milliseconds, above 0, is.
fn row_lifetime(argument: &str) -> Option<i64> {
    let millis: i64 = argument.trim().parse().ok().filter(|millis| *millis > 0)?;
    millis.checked_mul(1000)
}

/// What is said of a hint that does not take what stands behind it. `_l_ttl_` may name columns elsewhere.
fn not_taken(name: &str, argument: Option<&str>, example: &str) -> Error {
    if name == "_l_ttl_" && argument.is_some_and(|argument| argument.contains([',', ':', '='])) {
        return Error::unsupported(
            "the hint _l_ttl_ for columns",
            Some("A row is over as a whole: write _l_ttl_(60000), the milliseconds that the row lives."),
        );
    }
    Error::InvalidParameter {
        message: format!("the hint {name} does not take what is written behind it"),
        hint: Some(format!("Write {example}.")),
    }
}

/// What a statement does, as far as hints ask.
#[derive(Debug, Clone, Copy)]
pub(super) struct HintUses {
    /// It may write new rows.
    pub(super) inserts: bool,
    /// It may write rows by INSERT, UPSERT or UPDATE, whose versions may have a time.
    pub(super) writes_versions: bool,
    /// It is an UPDATE or DELETE, and does nothing else.
    pub(super) changes: bool,
    /// It reads tables, and what it reads them by is not kept as a text.
    pub(super) reads_versions: bool,
    /// It keeps a query for others to read by, as a view does.
    pub(super) keeps_query: bool,
}

/// Errors: 0A000 for a hint that a statement has no use for.
pub(super) fn check_used(hints: &Hints, uses: HintUses) -> Result<()> {
    if hints.version_time.is_some() && !uses.writes_versions {
        return Err(Error::unsupported(
            "the hint _l_ts_ for this statement",
            Some("Write it behind INSERT, UPSERT or UPDATE of a statement that is one."),
        ));
    }
    if hints.reads_versions() && !uses.reads_versions {
        let what = match hints.as_of {
            Some(_) => "AS OF SYSTEM TIME in this statement",
            None => "hints about versions in this statement",
        };
        return Err(Error::unsupported(
            what,
            Some(
                "Write it in a SELECT, which views and functions are not kept with; FOR SYSTEM_TIME AS OF stands behind a table anywhere.",
            ),
        ));
    }
    if uses.keeps_query && (hints.allow_filtering || hints.index.is_some()) {
        return Err(Error::unsupported(
            "hints in a view's query",
            Some("Write them in the statements that read the view."),
        ));
    }
    if hints.row_lifetime.is_some() && !uses.inserts {
        return Err(Error::unsupported(
            "the hint _l_ttl_ outside INSERT and UPSERT",
            Some(
                "Write it behind INSERT or UPSERT; any other write lets a row live as long as its table says.",
            ),
        ));
    }
    match hints.batch_rows.is_some() && !uses.changes {
        true => Err(Error::unsupported(
            "the hint _l_batch_ outside UPDATE and DELETE",
            Some("Write any other statement a range of the key at a time."),
        )),
        false => Ok(()),
    }
}

fn unknown(name: &str) -> Error {
    let obeyed = HINTS
        .iter()
        .filter(|hint| !matches!(hint.verdict, Verdict::Refused(_)));
    let obeyed: Vec<&str> = obeyed
        .map(|hint| hint.name)
        .filter(|name| name.starts_with("_l_"))
        .collect();
    let near = nearest_name(name, HINTS.iter().map(|hint| hint.name));
    let near = near.map_or_else(String::new, |near| format!("Perhaps you meant {near}. "));
    Error::FeatureNotSupported {
        feature: format!("the hint {name}"),
        hint: Some(format!("{near}The hints are {}.", obeyed.join(", "))),
    }
}

/// What stands in the parentheses that follow, without blanks around it; `None`: there are none that close.
fn argument(text: &str) -> Option<&str> {
    let inner = text.trim_start().strip_prefix('(')?;
    Some(inner[..inner.find(')')?].trim())
}

/// The name in `'name'`, `"name"` or `name`; one without quotes is folded.
fn name_in(inner: &str) -> Option<String> {
    let quoted = |quote: char| inner.strip_prefix(quote)?.strip_suffix(quote);
    let name = match quoted('\'').or_else(|| quoted('"')) {
        Some(name) => name.to_string(),
        None => inner.to_lowercase(),
    };
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(comment: &str) -> Hints {
        let mut hints = Hints::default();
        hints.read(comment, Verb::Select).unwrap();
        hints
    }

    #[test]
    fn hints_are_read_wherever_they_stand_in_the_comment() {
        let force = |name: &str| Some(IndexHint::Force(name.to_string()));
        assert_eq!(
            read(" _l_allow_filtering_ "),
            Hints::default(),
            "no hint without +"
        );
        assert!(read("+ _L_ALLOW_FILTERING_ ").allow_filtering);
        assert_eq!(read("+ _l_force_index_('By_Time') ").index, force("By_Time"));
        assert_eq!(read("+_l_force_index_ (By_Time)").index, force("by_time"));
        assert_eq!(read("+_l_ignore_index_").index, Some(IndexHint::Ignore));
        let both = read("+ _l_allow_filtering_, _l_force_index_(\"i\")");
        assert_eq!((both.allow_filtering, both.index), (true, force("i")));
        let timed = read("+ operationTimeout(5) , _l_force_index_('_l_ignore_index_')");
        assert_eq!(
            (timed.timeout_ms, timed.index),
            (Some(5), force("_l_ignore_index_"))
        );
    }

    #[test]
    fn a_time_is_of_what_is_read_or_written() {
        let hint = read("+ _l_versions_(2), _l_ts_min_(1000) _l_ts_max_( 2000 )");
        let versions = VersionHint {
            count: Some(2),
            at: None,
            from: Some(1000),
            before: Some(2000),
        };
        assert_eq!((hint.versions, hint.version_time), (Some(versions), None));
        assert_eq!(read("+ _l_ts_(7)").versions.unwrap().at, Some(7));
        let mut hints = Hints::default();
        hints.read("+ _l_ts_(7)", Verb::Write).unwrap();
        assert_eq!((hints.versions, hints.version_time), (None, Some(7)));
        for (comment, verb) in [
            ("+ _l_ts_(7)", Verb::Delete),
            ("+ _l_ts_(7)", Verb::Load),
            ("+ _l_versions_(2)", Verb::Write),
        ] {
            let error = Hints::default().read(comment, verb).unwrap_err();
            assert_eq!(error.sqlstate(), "0A000");
        }
    }

    #[test]
    fn what_nobody_gives_is_an_error() {
        assert_eq!(read("+ _l_operation_timeout_(250)").timeout_ms, Some(250));
        assert_eq!(read("+ _L_Batch_( 250 )").batch_rows, Some(250));
        assert_eq!(read("+ parallel(4) x_l_ts_").timeout_ms, None);
        for (comment, sqlstate) in [
            ("+ _l_ts_(-5)", "22023"),
            ("+ _l_ts_", "22023"),
            ("+ _l_versions_(0)", "22023"),
            ("+ _l_ts_min_(soon)", "22023"),
            ("+_l_hot_only_", "0A000"),
            ("+ _l_allow_filter_", "0A000"),
            ("+ _l_batch_(0)", "22023"),
            ("+ _l_batch_(1000001)", "22023"),
            ("+ _l_batch_", "22023"),
            ("+ _l_operation_timeout_(soon)", "22023"),
            ("+ _l_operation_timeout_(0)", "22023"),
            ("+ _l_operation_timeout_", "22023"),
            ("+ _l_force_index_(", "22023"),
            ("+ _l_force_index_('')", "22023"),
            ("+ _l_force_index_(i), _l_ignore_index_", "22023"),
            ("+ _l_allow_filtering_(true)", "22023"),
        ] {
            let error = Hints::default().read(comment, Verb::Select).unwrap_err();
            assert_eq!(error.sqlstate(), sqlstate, "{comment}");
            assert!(error.hint().is_some(), "{comment}");
        }
        assert_eq!(
            misplaced("+ _L_TS_(5), _l_versions_(2)"),
            ["_l_ts_", "_l_versions_"]
        );
        assert!(misplaced(" _l_ts_(5)").is_empty());
    }
}
