//! Rows of `pg_cast`, and which casts stand in it in every database.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::object_class::{CAST_CLASS, PROCEDURE_CLASS, TYPE_CLASS};
use super::relation_rows::{RelationRows, Source, text};
use crate::catalog::{CastApplies, CastMethod};
use crate::system::catalog_version::definitions::{definition, static_cells};
use crate::types::SqlType;

/// The types of the casts that are built in.
static BUILT_IN: LazyLock<HashSet<(u32, u32)>> = LazyLock::new(|| {
    let Some(relation) = definition("pg_catalog", "pg_cast") else {
        return HashSet::new();
    };
    let rows = static_cells("pg_catalog", "pg_cast");
    let pairs = rows.iter().filter_map(|row| {
        let oid = |column: &str| row.get(relation.position(column))?.as_ref()?.parse().ok();
        Some((oid("castsource")?, oid("casttarget")?))
    });
    pairs.collect()
});

/// Whether a cast of these types is built in.
pub(crate) fn has_built_in_cast(source: &SqlType, target: &SqlType) -> bool {
    BUILT_IN.contains(&(source.oid(), target.oid()))
}

/// `pg_cast`: those that users made.
pub(super) fn casts(source: &Source<'_>, rows: &mut RelationRows) {
    for cast in source.ctx.catalog.casts.iter() {
        let (method, function) = match cast.method {
            CastMethod::Text => ("i", 0),
            CastMethod::Same => ("b", 0),
            CastMethod::Function(oid) => ("f", oid),
        };
        let context = match cast.applies {
            CastApplies::Explicit => "e",
            CastApplies::Assignment => "a",
            CastApplies::Implicit => "i",
        };
        rows.push(&[
            ("oid", text(cast.oid)),
            ("castsource", text(cast.source.oid())),
            ("casttarget", text(cast.target.oid())),
            ("castfunc", text(function)),
            ("castcontext", text(context)),
            ("castmethod", text(method)),
        ]);
    }
}

/// Their oids and comments.
pub(super) fn comments(source: &Source<'_>) -> Vec<(i64, i64, Option<String>)> {
    let casts = source.ctx.catalog.casts.iter();
    let comments = casts.map(|cast| (i64::from(cast.oid), CAST_CLASS, cast.comment.clone()));
    comments.collect()
}

/// What they depend on, in `pg_depend`.
pub(super) fn dependencies(source: &Source<'_>, rows: &mut RelationRows) {
    for cast in source.ctx.catalog.casts.iter() {
        let ends = [&cast.source, &cast.target].map(|ty| (TYPE_CLASS, ty.oid()));
        let function = match cast.method {
            CastMethod::Function(oid) => Some((PROCEDURE_CLASS, oid)),
            CastMethod::Text | CastMethod::Same => None,
        };
        for (class, oid) in ends.into_iter().chain(function) {
            rows.depend((CAST_CLASS, cast.oid), (class, oid), 0, "n");
        }
    }
}
