//! `Hints`: what the comments behind a statement's verb ask of its plan (`SELECT /*+ _l_force_index_('i') */ …`), in
//! LindormTable's words. What such a comment asks for and nobody gives is an error, not a comment.

use super::definition::AlterAction;
use crate::{Error, Result};

/// The hints that are honoured.
const KNOWN: [&str; 5] = [
    "_l_allow_filtering_",
    "_l_force_index_",
    "_l_ignore_index_",
    "_l_operation_timeout_",
    "_l_ttl_",
];
/// Those of LindormTable that ask for older versions of a row.
const VERSIONS: [&str; 4] = ["_l_ts_", "_l_ts_max_", "_l_ts_min_", "_l_versions_"];

/// What a statement asks of its plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// `_l_allow_filtering_`, or ALLOW FILTERING: it may scan a whole table.
    pub allow_filtering: bool,
    /// Which keys there are to choose from.
    pub index: Option<IndexHint>,
    /// `_l_ttl_(ms)`: how long the rows live that are written, in microseconds.
    pub row_lifetime: Option<i64>,
    /// `_l_operation_timeout_(ms)`: in place of statement_timeout, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// `CREATE INDEX … ASYNC`: the server builds the index after the statement.
    pub is_async: bool,
    /// `DROP INDEX CONCURRENTLY`.
    pub drops_concurrently: bool,
    /// `CREATE UNLOGGED TABLE`.
    pub unlogged: bool,
    /// Words of a definition that mean nothing here.
    pub without_effect: Vec<String>,
    /// The tablespaces that a definition names.
    pub tablespaces: Vec<String>,
    /// `CREATE TABLE … AS … WITH NO DATA`.
    pub without_rows: bool,
    /// The LIKE clauses of CREATE TABLE.
    pub likes: Vec<Like>,
    /// The actions of ALTER TABLE that the tree holds by their numbers.
    pub actions: Vec<AlterAction>,
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
    /// Takes the hints of a comment, if it holds any: `+ hint, hint`. Errors: 0A000 for what is no hint of ours, 22023.
    pub(super) fn read(&mut self, comment: &str) -> Result<()> {
        for (name, rest) in hints_of(comment) {
            match name.as_str() {
                "_l_allow_filtering_" => self.allow_filtering = true,
                "_l_ignore_index_" => self.index = Some(IndexHint::Ignore),
                "_l_force_index_" => {
                    if let Some(name) = argument(rest) {
                        self.index = Some(IndexHint::Force(name));
                    }
                }
                "_l_operation_timeout_" => {
                    let timeout_ms = argument(rest).and_then(|text| text.parse().ok());
                    self.timeout_ms = Some(timeout_ms.ok_or_else(|| Error::InvalidParameter {
                        message: format!("hint \"{name}\" takes a number of milliseconds"),
                        hint: Some(format!("Write {name}(5000).")),
                    })?);
                }
                "_l_ttl_" => self.row_lifetime = Some(row_lifetime(rest)?),
                _ => return Err(unknown(&name)),
            }
        }
        Ok(())
    }
}

/// The first hint of a comment that stands where none counts.
pub(super) fn misplaced(comment: &str) -> Option<String> {
    hints_of(comment).into_iter().next().map(|(name, _)| name)
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
        if name.starts_with("_l_") {
            found.push((name, rest));
        }
    }
    found
}

/// The microseconds that `(ms)` says. Errors: 22023; 0A000 where it names columns.
fn row_lifetime(rest: &str) -> Result<i64> {
    let inner = argument(rest).unwrap_or_default();
    if inner.contains([',', ':', '=']) {
        return Err(Error::unsupported(
            "the hint _l_ttl_ for columns",
            Some("A row is over as a whole: write _l_ttl_(60000), the milliseconds that the row lives."),
        ));
    }
    let millis = inner.parse().ok().filter(|millis| *millis > 0);
    let micros = millis.and_then(|millis: i64| millis.checked_mul(1000));
    micros.ok_or_else(|| Error::InvalidParameter {
        message: "hint \"_l_ttl_\" takes a number of milliseconds above 0".to_string(),
        hint: Some("Write _l_ttl_(60000) for a row that lives a minute; without the hint it lives as long as its table says.".to_string()),
    })
}

/// Errors: 0A000 for a hint that a statement, which `inserts` no rows, has no use for.
pub(super) fn check_used(hints: &Hints, inserts: bool) -> Result<()> {
    match hints.row_lifetime.is_some() && !inserts {
        true => Err(Error::unsupported(
            "the hint _l_ttl_ in a statement that inserts no rows",
            Some("Write it behind INSERT or UPSERT; an UPDATE lets a row live as long as its table says."),
        )),
        false => Ok(()),
    }
}

fn unknown(name: &str) -> Error {
    let way_out = if VERSIONS.contains(&name) {
        "Rows have one version: leave the hint out, or make the time a column of the key.".to_string()
    } else if name == "_l_hot_only_" {
        "There is no cold storage, all data are hot: leave the hint out.".to_string()
    } else {
        format!("The hints are {}.", KNOWN.join(", "))
    };
    Error::FeatureNotSupported {
        feature: format!("the hint {name}"),
        hint: Some(way_out),
    }
}

/// The name in `('name')`, `("name")` or `(name)`; one without quotes is folded.
fn argument(text: &str) -> Option<String> {
    let inner = text.trim_start().strip_prefix('(')?;
    let inner = inner[..inner.find(')')?].trim();
    let quoted = |quote: char| inner.strip_prefix(quote)?.strip_suffix(quote);
    match quoted('\'').or_else(|| quoted('"')) {
        Some(name) => Some(name.to_string()),
        None => Some(inner.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(comment: &str) -> Hints {
        let mut hints = Hints::default();
        hints.read(comment).unwrap();
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
        assert_eq!(read("+ _l_force_index_(").index, None);
    }

    #[test]
    fn what_nobody_gives_is_an_error() {
        assert_eq!(read("+ _l_operation_timeout_(250)").timeout_ms, Some(250));
        assert_eq!(read("+ parallel(4) x_l_ts_").timeout_ms, None);
        for (comment, sqlstate) in [
            ("+ _l_ts_(5)", "0A000"),
            ("+ _l_versions_(2)", "0A000"),
            ("+_l_hot_only_", "0A000"),
            ("+ _l_allow_filter_", "0A000"),
            ("+ _l_operation_timeout_(soon)", "22023"),
        ] {
            let error = Hints::default().read(comment).unwrap_err();
            assert_eq!(error.sqlstate(), sqlstate, "{comment}");
            assert!(error.hint().is_some(), "{comment}");
        }
        assert_eq!(misplaced("+ _L_TS_(5)").as_deref(), Some("_l_ts_"));
        assert_eq!(misplaced(" _l_ts_(5)"), None);
    }
}
