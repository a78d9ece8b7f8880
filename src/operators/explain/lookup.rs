//! Joins by lookup as nodes.

use std::sync::atomic::Ordering;

use super::access::with_metrics;
use super::node::PlanNode;
use crate::logical::expr_text::all_text;
use crate::operators::lookup::{LookupFigures, LookupStory};

pub(crate) fn lookup_node(lookup: LookupStory) -> PlanNode {
    let words = match lookup.join {
        "Inner" => String::new(),
        other => format!("{other} "),
    };
    let name = &lookup.table.name;
    let relation = match lookup.alias == *name {
        true => name.clone(),
        false => format!("{name} {}", lookup.alias),
    };
    let title = format!("Lookup {words}Join with {relation} using {}", lookup.key);
    let join = PlanNode::new("Lookup Join", title)
        .with_property("Join Type", lookup.join)
        .with_property("Schema", lookup.table.schema.as_str())
        .with_property("Relation Name", name.as_str())
        .with_property("Alias", lookup.alias.as_str())
        .with_property("Index Name", lookup.key.as_str())
        .with_list("Key", lookup.keys);
    match all_text(&lookup.conditions) {
        Some(condition) => join.with("Join Filter", condition),
        None => join,
    }
}

/// The node with what was looked up.
pub(crate) fn with_lookups(node: PlanNode, figures: &LookupFigures) -> PlanNode {
    let node = node
        .with_noted_count("Lookups", figures.keys.load(Ordering::Relaxed))
        .with_noted_count("Batches", figures.batches.load(Ordering::Relaxed));
    let kept = figures.kept.load(Ordering::Relaxed);
    let node = match kept {
        0 => node,
        kept => node.with_noted_count("Rows Kept", kept),
    };
    with_metrics(node, &figures.scan)
}
