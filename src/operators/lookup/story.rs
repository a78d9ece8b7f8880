//! `LookupStory`: what EXPLAIN tells of a join by lookup.

use std::sync::Arc;

use super::table_lookup::Lookup;
use crate::catalog::TableDef;
use crate::operators::computed::Computed;
use crate::tree::Partners;

/// A join by lookup in words.
#[derive(Debug)]
pub struct LookupStory {
    /// What is looked up.
    pub table: Arc<TableDef>,
    /// What the statement calls it.
    pub alias: String,
    /// The key of it.
    pub key: String,
    /// Which join: `Inner`, `Left`, `Semi`, `Anti`.
    pub join: &'static str,
    /// `p.maker = s.maker`.
    pub keys: Vec<String>,
    /// What a partner must satisfy beside its key.
    pub conditions: Vec<String>,
}

impl LookupStory {
    /// `text`: what is computed, over the columns of outer rows, then the lookup's own.
    pub(crate) fn new(lookup: &Lookup, alias: &str, text: impl Fn(&Computed) -> String) -> LookupStory {
        let key = |(name, key): (&str, &Computed)| format!("{alias}.{name} = {}", text(key));
        LookupStory {
            table: Arc::clone(lookup.table()),
            alias: alias.to_string(),
            key: lookup.key().name.clone(),
            join: match lookup.partners() {
                Partners::Needed => "Inner",
                Partners::OrNone => "Left",
                Partners::Exist => "Semi",
                Partners::Miss => "Anti",
            },
            keys: lookup.keys().map(key).collect(),
            conditions: lookup.conditions().iter().map(text).collect(),
        }
    }
}
