//! What conditions ask of the terms of a value: `value symbol constant`, `value LIKE pattern`.

use super::wanted::{Term, WantedTerms};
use super::{TermClass, items, json, trigrams, words};
use crate::types::text_search::TsQuery;
use crate::types::{SqlType, Value};

impl TermClass {
    /// What `value symbol constant` asks of the terms of a value of a type.
    pub fn wanted(self, symbol: &str, constant: &Value, ty: &SqlType) -> WantedTerms {
        let none = WantedTerms::default;
        match (self, symbol, constant) {
            (TermClass::Items, "@>", Value::Array(of)) => WantedTerms::all(items::of_items(of, ty)),
            (TermClass::Items, "&&", Value::Array(of)) => any_of(items::of_items(of, ty)),
            (TermClass::Items, "<@", Value::Array(of)) => {
                let within = items::of_items(of, ty).into_iter();
                any_of(within.chain([items::of_nothing()]).collect())
            }
            (TermClass::Items, "has", item) => {
                WantedTerms::all(items::of_items(std::slice::from_ref(item), ty))
            }
            (TermClass::Json | TermClass::JsonPaths, "@>", Value::Text(part)) => {
                let terms = json::of_part(part, self == TermClass::Json);
                terms.map_or_else(|_| none(), WantedTerms::all)
            }
            (TermClass::Json, "?", Value::Text(key)) => WantedTerms::all(vec![json::of_key(key)]),
            (TermClass::Json, "?|", Value::Array(keys)) => any_of(of_keys(keys)),
            (TermClass::Json, "?&", Value::Array(keys)) => WantedTerms::all(of_keys(keys)),
            (TermClass::Words, "@@", Value::Text(query)) => {
                let root = TsQuery::parse(query).ok().and_then(|query| query.root);
                root.map_or_else(none, |root| words::of_query(&root))
            }
            (TermClass::Trigrams, "=", Value::Text(text)) => WantedTerms::all(trigrams::of_text(text)),
            _ => none(),
        }
    }

    /// What `value LIKE pattern` asks for, or ILIKE.
    pub fn wanted_by_pattern(self, pattern: &str, escape: Option<char>) -> WantedTerms {
        match self {
            TermClass::Trigrams => WantedTerms::all(trigrams::of_pattern(pattern, escape)),
            _ => WantedTerms::default(),
        }
    }
}

/// One of some terms.
fn any_of(terms: Vec<Vec<u8>>) -> WantedTerms {
    WantedTerms::any(terms.into_iter().map(|term| WantedTerms::one(Term::Whole(term))))
}

fn of_keys(keys: &[Value]) -> Vec<Vec<u8>> {
    let key = |key: &Value| match key {
        Value::Text(key) => Some(json::of_key(key)),
        _ => None,
    };
    keys.iter().filter_map(key).collect()
}
