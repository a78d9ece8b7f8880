//! `Faults`: what a check found wrong, all of it counted and the first of each kind kept, so that memory stays bounded
//! however much is damaged. Filled by `catalog::check` and `table::check`; it knows nothing of what was checked.

use std::collections::BTreeMap;

/// Faults kept of each kind; later ones are only counted.
pub const FAULTS_KEPT_MAX: usize = 100;

/// What is wrong with something stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The store could not read on.
    Unreadable,
    /// Log and engine disagree.
    Log,
    /// A key that does not decode.
    Key,
    /// A catalog record that does not decode or contradicts another.
    Record,
    /// A row that does not decode under its table's record.
    Row,
    /// A row without its entry in an index.
    MissingEntry,
    /// An entry that holds something else than its row says; in a unique index, another row.
    WrongEntry,
    /// An index entry without its row.
    StrayEntry,
    /// A key that belongs to no table.
    Ownerless,
}

/// One thing found wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its kind.
    pub kind: FaultKind,
    /// The relation, by schema and name, if one is known.
    pub relation: Option<String>,
    /// The key in readable form: `(id)=(7)`, the name of a record, or hexadecimal digits.
    pub key: String,
    /// What is wrong.
    pub reason: String,
}

/// Everything found wrong.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    kinds: BTreeMap<FaultKind, OneKind>,
}

/// Faults of one kind.
#[derive(Debug, Clone, Default)]
struct OneKind {
    count: u64,
    kept: Vec<Fault>,
}

impl FaultKind {
    /// What the report says before their number.
    pub fn title(self) -> &'static str {
        match self {
            FaultKind::Unreadable => "places where the store could not be read",
            FaultKind::Log => "disagreements of log and engine",
            FaultKind::Key => "keys that do not decode",
            FaultKind::Record => "faults of catalog records",
            FaultKind::Row => "rows that do not decode",
            FaultKind::MissingEntry => "rows without their index entry",
            FaultKind::WrongEntry => "index entries that contradict their row",
            FaultKind::StrayEntry => "index entries without their row",
            FaultKind::Ownerless => "keys that belong to nothing",
        }
    }
}

impl Faults {
    /// Adds a fault.
    pub fn add(
        &mut self,
        kind: FaultKind,
        relation: Option<&str>,
        key: impl Into<String>,
        reason: impl Into<String>,
    ) {
        let found = self.kinds.entry(kind).or_default();
        found.count += 1;
        if found.kept.len() < FAULTS_KEPT_MAX {
            found.kept.push(Fault {
                kind,
                relation: relation.map(str::to_string),
                key: key.into(),
                reason: reason.into(),
            });
        }
    }

    /// How many there are, of all kinds.
    pub fn count(&self) -> u64 {
        self.kinds.values().map(|found| found.count).sum()
    }

    /// Each kind that was found: how many, and the first of them.
    pub fn by_kind(&self) -> impl Iterator<Item = (FaultKind, u64, &[Fault])> {
        self.kinds
            .iter()
            .map(|(kind, found)| (*kind, found.count, found.kept.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_counts_and_the_first_of_each_kind_are_kept() {
        let mut faults = Faults::default();
        for at in 0..FAULTS_KEPT_MAX + 50 {
            faults.add(FaultKind::Row, Some("public.t"), at.to_string(), "broken");
        }
        faults.add(FaultKind::Key, None, "\\x00", "no such kind of key");
        assert_eq!(faults.count(), FAULTS_KEPT_MAX as u64 + 51);
        let found: Vec<_> = faults.by_kind().collect();
        assert_eq!((found[0].0, found[0].1, found[0].2.len()), (FaultKind::Key, 1, 1));
        assert_eq!((found[1].1, found[1].2.len()), (150, FAULTS_KEPT_MAX));
        assert_eq!(found[1].2[99].key, "99");
    }
}
