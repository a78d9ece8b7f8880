//! `CheckReport`: what a check has read and what it found wrong, and how that is printed.

use std::fmt;

use crate::catalog::check::Faults;

/// The result of a check.
#[derive(Debug, Clone)]
pub struct CheckReport {
    /// What each table holds.
    pub relations: Vec<RelationFigures>,
    /// Views in the catalog.
    pub views: usize,
    /// Schemas with a record.
    pub schemas: usize,
    /// Dropped key ranges that are still to be removed …
    pub dropped_ranges: usize,
    /// … and the keys in them.
    pub dropped_keys: u64,
    /// Schema changes that had not ended: columns and indexes whose older rows are not verified. The next start undoes them.
    pub unfinished: usize,
    /// Everything found wrong.
    pub faults: Faults,
}

/// What one table holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationFigures {
    /// Schema and name, behind the database where that is not the first.
    pub name: String,
    /// Rows, damaged ones included.
    pub rows: u64,
    /// Those of them that are over, and still to be removed.
    pub over: u64,
    /// Entries of its indexes.
    pub entries: u64,
    /// Older versions of its rows.
    pub versions: u64,
    /// Bytes of keys and values of all of them.
    pub bytes: u64,
    /// Faults found in it.
    pub faults: u64,
}

impl RelationFigures {
    pub(super) fn new(name: String) -> RelationFigures {
        RelationFigures {
            name,
            rows: 0,
            over: 0,
            entries: 0,
            versions: 0,
            bytes: 0,
            faults: 0,
        }
    }
}

impl CheckReport {
    /// Whether nothing was found wrong.
    pub fn is_sound(&self) -> bool {
        self.faults.count() == 0
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_table(f, &self.relations)?;
        writeln!(
            f,
            "{} tables, {} views, {} schemas with a record",
            self.relations.len(),
            self.views,
            self.schemas
        )?;
        let over: u64 = self.relations.iter().map(|relation| relation.over).sum();
        if over > 0 {
            writeln!(f, "over and still to be removed: {over} rows")?;
        }
        let versions: u64 = self.relations.iter().map(|relation| relation.versions).sum();
        if versions > 0 {
            writeln!(f, "older versions of rows: {versions}")?;
        }
        if self.dropped_ranges > 0 {
            writeln!(
                f,
                "dropped and still to be removed: {} ranges with {} keys",
                self.dropped_ranges, self.dropped_keys
            )?;
        }
        if self.unfinished > 0 {
            writeln!(
                f,
                "schema changes that had not ended, and that the next start undoes: {}",
                self.unfinished
            )?;
        }
        for (kind, count, kept) in self.faults.by_kind() {
            writeln!(f, "\n{}: {count}", kind.title())?;
            for fault in kept {
                let relation = fault.relation.as_deref().unwrap_or("-");
                writeln!(f, "  {relation} {}: {}", fault.key, fault.reason)?;
            }
            if count > kept.len() as u64 {
                writeln!(f, "  ... {} more", count - kept.len() as u64)?;
            }
        }
        match self.faults.count() {
            0 => writeln!(f, "no damage found"),
            count => writeln!(f, "\ndamage found: {count} faults"),
        }
    }
}

/// A line a table, in columns.
fn write_table(f: &mut fmt::Formatter<'_>, relations: &[RelationFigures]) -> fmt::Result {
    let width = relations.iter().map(|relation| relation.name.chars().count());
    let width = width.max().unwrap_or(0).max("table".len());
    writeln!(
        f,
        " {:width$} | {:>12} | {:>12} | {:>16} | {:>8}",
        "table", "rows", "entries", "bytes", "faults"
    )?;
    writeln!(
        f,
        "-{:-<width$}-+-{:->12}-+-{:->12}-+-{:->16}-+-{:->8}",
        "", "", "", "", ""
    )?;
    for relation in relations {
        writeln!(
            f,
            " {:width$} | {:>12} | {:>12} | {:>16} | {:>8}",
            relation.name, relation.rows, relation.entries, relation.bytes, relation.faults
        )?;
    }
    Ok(())
}
