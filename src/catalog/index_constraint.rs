//! What an index is that stands for a constraint which rows may break for a while.
//!
//! `Exclusion`: that of an exclusion constraint, `EXCLUDE USING gist (room WITH =, during WITH &&)`: no two rows
//! may be such to each other in all of its columns.
//!
//! Its entries are sorted, those of equal `=` columns next to one another, and of those by the last column. If two rows there are in the
//! way of one another, so are two that are neighbours: a range that begins last before another begins overlaps it, if any does that begins
//! before it; and of values that differ, two neighbours do. So of a row that is written none but its two neighbours are asked
//! (`sql::dml::exclusions`).

/// When a constraint that is DEFERRABLE is asked, unless the transaction says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deferral {
    /// When the statement ends.
    Immediate,
    /// When the transaction commits.
    Deferred,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Exclusion {
    /// The access method that its statement names: told, and nothing more.
    pub method: String,
    /// The operator of each column of the index, but that of its condition: all are `=`, but for the last one.
    pub operators: Vec<ExclusionOperator>,
    /// DEFERRABLE; `None`: asked when the statement ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferral: Option<Deferral>,
}

/// What two rows may not be to each other in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExclusionOperator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `&&`, of ranges.
    Overlaps,
}

impl ExclusionOperator {
    /// Of its symbol.
    pub fn of_symbol(symbol: &str) -> Option<ExclusionOperator> {
        Some(match symbol {
            "=" => ExclusionOperator::Equal,
            "<>" | "!=" => ExclusionOperator::NotEqual,
            "&&" => ExclusionOperator::Overlaps,
            _ => return None,
        })
    }

    /// As SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            ExclusionOperator::Equal => "=",
            ExclusionOperator::NotEqual => "<>",
            ExclusionOperator::Overlaps => "&&",
        }
    }
}
