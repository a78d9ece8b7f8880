//! `Copy`: a COPY statement as it was read. `copy_reader` reads it, `sql::copy` says what its options mean and runs it.

use sqlparser::ast::{Ident, ObjectName};

/// COPY. The tree beside it is the query of `COPY (query)`, or holds the condition of WHERE.
#[derive(Debug, Clone, PartialEq)]
pub struct Copy {
    /// The table, or a query.
    pub subject: CopySubject,
    /// FROM, not TO.
    pub is_from: bool,
    /// Where the data comes from, or goes.
    pub place: CopyPlace,
    /// Its options as they are written, those of the older syntax among them.
    pub options: Vec<CopyOption>,
    /// Whether there is a WHERE.
    pub has_condition: bool,
}

/// What is copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopySubject {
    /// A relation, and its columns, all when none is named.
    Relation {
        /// Its name.
        name: ObjectName,
        /// As they are named.
        columns: Vec<Ident>,
    },
    /// What a query gives.
    Query,
}

/// The other end of a COPY.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyPlace {
    /// STDIN, STDOUT.
    Client,
    /// A file of the server.
    File(String),
    /// A command of the server.
    Program,
}

/// One option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOption {
    /// In lower case, unless quoted.
    pub name: String,
    /// What stands behind it.
    pub value: CopyValue,
    /// Where it stands in the message, in characters from 1.
    pub position: usize,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyValue {
    /// None.
    Absent,
    /// A word, in lower case, or a string.
    Word(String),
    /// A number as it is written.
    Number(String),
    /// `*`.
    All,
    /// Names in parentheses.
    Names(Vec<String>),
}

impl Copy {
    /// As messages name it.
    pub fn name(&self) -> &'static str {
        match self.is_from {
            true => "COPY FROM",
            false => "COPY TO",
        }
    }
}
