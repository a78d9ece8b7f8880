//! `StoredQuery`: the query whose rows a materialized view keeps. It stands in the record of a table, which holds the rows.

use crate::parse::quoting::qualified;

/// Stands before the name of a relation in a printed query, which whoever shows it may call otherwise.
pub const RELATION_BEGINS: char = '\u{2}';
/// Stands behind it.
pub const RELATION_ENDS: char = '\u{3}';
/// Stands behind the name of a function in marks.
const FUNCTION: &str = "()";

/// A query as `pg_get_viewdef` prints it: the names of relations and users' functions with their schemas, in marks that whoever shows it takes away.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PrintedQuery {
    /// Each operator in parentheses.
    pub plain: String,
    /// As psql shows it.
    pub pretty: String,
}

impl PrintedQuery {
    /// The name of a function in marks: with parentheses, which tell it from a relation's.
    pub(crate) fn marked_function(schema: &str, name: &str) -> String {
        format!(
            "{RELATION_BEGINS}{}{FUNCTION}{RELATION_ENDS}",
            qualified(schema, name)
        )
    }

    /// A text with what `shown` says in place of each mark: of the name in it, and whether that is a function's.
    pub(crate) fn with_names(text: &str, shown: impl Fn(&str, bool) -> String) -> String {
        let mut whole = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once(RELATION_BEGINS) {
            let (name, behind) = behind.split_once(RELATION_ENDS).unwrap_or((behind, ""));
            whole.push_str(before);
            whole.push_str(&match name.strip_suffix(FUNCTION) {
                Some(function) => shown(function, true),
                None => shown(name, false),
            });
            rest = behind;
        }
        whole + rest
    }

    /// A text with other names in its marks; `None`: as it is.
    pub(crate) fn with_marked(text: &str, new: impl Fn(&str, bool) -> Option<String>) -> String {
        PrintedQuery::with_names(text, |name, is_function| {
            let named = new(name, is_function);
            let behind = if is_function { FUNCTION } else { "" };
            format!(
                "{RELATION_BEGINS}{}{behind}{RELATION_ENDS}",
                named.as_deref().unwrap_or(name)
            )
        })
    }

    /// What stands in no marks.
    pub(crate) fn without_marked(text: &str) -> String {
        PrintedQuery::with_names(text, |_, _| String::new())
    }

    /// A text without marks, each name with its schema: as it is read.
    pub(crate) fn unmarked(text: &str) -> String {
        PrintedQuery::with_names(text, |name, _| name.to_string())
    }
}

/// What makes a table a materialized view.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StoredQuery {
    /// The SELECT, whose columns are the table's in their order.
    pub query: String,
    /// It as it is printed; `None`: as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<PrintedQuery>,
    /// The search path when it was created.
    pub search_path: Vec<String>,
    /// Oids of the relations that it reads.
    pub depends_on: Vec<u32>,
    /// Whether its rows are there: a view WITH NO DATA cannot be read.
    pub is_populated: bool,
}
