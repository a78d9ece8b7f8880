//! Rows of the catalogs that tell of the queries of views: their rules in `pg_rewrite`, and in `pg_depend` what these read, by which dumps
//! know in which order views can be made again.

use std::collections::BTreeSet;

use super::object_class::{CLASS_CLASS, REWRITE_CLASS};
use super::relation_rows::{Constants, RelationRows, Source, text};
use crate::catalog::Relation;
use crate::system::catalog_version::objects::UserRelation;

/// What is the same for all rules.
pub(super) const RULE: Constants = &[
    ("rulename", "_RETURN"),
    ("ev_type", "1"),
    ("ev_enabled", "O"),
    ("is_instead", "t"),
];

/// The views and materialized views. A rule has its view's oid.
fn each_view<'a>(source: &'a Source<'_>) -> impl Iterator<Item = &'a UserRelation> {
    let relations = source.objects.relations.iter();
    relations.filter(|relation| matches!(relation.kind, 'v' | 'm'))
}

pub(super) fn rules(source: &Source<'_>, rows: &mut RelationRows) {
    for view in each_view(source) {
        rows.push(&[("oid", text(view.oid)), ("ev_class", text(view.oid))]);
    }
}

/// A rule goes with its view, and needs what it reads. Which columns it reads is not told.
pub(super) fn dependencies(source: &Source<'_>, rows: &mut RelationRows) {
    let views: BTreeSet<i64> = each_view(source).map(|view| view.oid).collect();
    for relation in source.ctx.catalog.relations.iter() {
        let view = i64::from(relation.oid());
        if !views.contains(&view) {
            continue;
        }
        let mut push = |referenced: i64, kind: &str| {
            rows.depend((REWRITE_CLASS, view), (CLASS_CLASS, referenced), 0, kind);
        };
        push(view, "i");
        let read: BTreeSet<u32> = Relation::reads(relation).iter().copied().collect();
        for oid in read {
            push(i64::from(oid), "n");
        }
    }
}
