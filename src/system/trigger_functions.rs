//! The functions that PostgreSQL has built in for triggers: they are called as a user's are, and stand in no record of the store. Asked by
//! whoever looks for a trigger's function, by its name or its oid.

use std::sync::{Arc, LazyLock};

use crate::catalog::{Language, RoutineDef, RoutineResult};

/// Name, oid in pg_proc, and whether the second argument is a column that tells the configuration.
const KEEP_TSVECTOR: [(&str, u32, bool); 2] = [
    ("tsvector_update_trigger", 3752, false),
    ("tsvector_update_trigger_column", 3753, true),
];

/// What these run.
const BODY: &str = include_str!("tsvector_update_trigger.plpgsql");

/// Compares rows as texts, in which every bit of a float shows.
const SUPPRESS_REDUNDANT_UPDATES: &str = include_str!("suppress_redundant_updates_trigger.plpgsql");

static TRIGGER_FUNCTIONS: LazyLock<Vec<Arc<RoutineDef>>> = LazyLock::new(|| {
    let function = |name: &str, oid, body| RoutineDef {
        oid,
        language: Language::Plpgsql,
        returns: RoutineResult::Trigger,
        body,
        ..RoutineDef::new("pg_catalog".to_string(), name.to_string())
    };
    let keep_tsvector = KEEP_TSVECTOR.map(|(name, oid, by_column)| {
        function(name, oid, BODY.replace("{by_column}", &by_column.to_string()))
    });
    let suppress = RoutineDef {
        settings: vec![("extra_float_digits".to_string(), vec!["3".to_string()])],
        ..function(
            "suppress_redundant_updates_trigger",
            1291,
            SUPPRESS_REDUNDANT_UPDATES.to_string(),
        )
    };
    keep_tsvector
        .into_iter()
        .chain([suppress])
        .map(Arc::new)
        .collect()
});

/// The one of this oid.
pub(super) fn get_trigger_function(oid: u32) -> Option<&'static Arc<RoutineDef>> {
    TRIGGER_FUNCTIONS.iter().find(|routine| routine.oid == oid)
}

/// The one that a name means, with the schema or without.
pub(crate) fn trigger_function_named(schema: Option<&str>, name: &str) -> Option<&'static Arc<RoutineDef>> {
    let mut functions = TRIGGER_FUNCTIONS.iter();
    functions.find(|routine| routine.name == name && schema.is_none_or(|schema| schema == routine.schema))
}
