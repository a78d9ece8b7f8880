//! `FROM s` of a sequence: its one row, as a view over the functions that tell of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::{SequenceDef, ViewDef};

/// The view that a sequence is read as.
pub(super) fn sequence_view(sequence: &SequenceDef) -> Arc<ViewDef> {
    let oid = sequence.oid();
    let query = format!(
        "SELECT pg_catalog.sequence_last_value({oid}::oid) AS last_value, \
         pg_catalog.sequence_log_count({oid}::oid) AS log_cnt, \
         pg_catalog.sequence_is_called({oid}::oid) AS is_called"
    );
    let column = |name: &str, ty: &str| (name.to_string(), ty.to_string());
    Arc::new(ViewDef {
        id: sequence.id,
        version: sequence.version,
        schema: sequence.schema.clone(),
        name: sequence.name.clone(),
        columns: vec![
            column("last_value", "bigint"),
            column("log_cnt", "bigint"),
            column("is_called", "boolean"),
        ],
        query,
        printed: None,
        search_path: Vec::new(),
        comment: None,
        column_comments: BTreeMap::new(),
        depends_on: Vec::new(),
        options: Default::default(),
        shows: None,
        triggers: Vec::new(),
    })
}
