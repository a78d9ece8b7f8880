//! Short statements as nodes.

use crate::operators::explain::{PlanNode, TableRead, lookup_node, with_lookups, with_metrics};
use crate::operators::short::{ShortKind, ShortNode, ShortSource, ShortStory};
use crate::query::Observation;
use crate::scan::figures::Seen;

/// The tree of a short statement, with what was counted of it.
pub(super) fn short_node(story: ShortStory, observation: Option<&Observation>) -> PlanNode {
    let result = observation.map(Observation::seen);
    let source = source_node(&story, observation);
    // The result's own count is that of the topmost node.
    let top = source.counted(result.filter(|_| story.nodes.is_empty()));
    let above = story.nodes.into_iter().enumerate().rev();
    above.fold(top, |below, (at, node)| {
        let seen = match at {
            0 => result,
            _ => seen_of_step(observation, node.step),
        };
        let figures = match (&node.kind, observation) {
            (ShortKind::Lookup { step, .. }, Some(observation)) => Some(observation.steps().lookup(*step)),
            _ => None,
        };
        let shown = step_node(node);
        let shown = match figures {
            Some(figures) => with_lookups(shown, &figures),
            None => shown,
        };
        shown.over(below).counted(seen)
    })
}

fn source_node(story: &ShortStory, observation: Option<&Observation>) -> PlanNode {
    let node = match &story.source {
        ShortSource::Ends(ends) => ends.iter().fold(PlanNode::named("Append"), |node, end| {
            node.over_as("Member", read_node(end, Some(1), Vec::new()))
        }),
        source => read_node(source, story.limit, story.filters.clone()),
    };
    let reads = matches!(story.source, ShortSource::Table { .. } | ShortSource::Ends(_));
    let node = match observation {
        Some(observation) if reads => with_metrics(node, observation.steps().source()),
        _ => node,
    };
    node.counted(seen_of_step(observation, story.source_step))
}

/// The node of a source. `limit`: rows at which it ends. `filters`: what is left to check of its rows.
fn read_node(source: &ShortSource, limit: Option<usize>, filters: Vec<String>) -> PlanNode {
    match source {
        ShortSource::OneRow => PlanNode::named("Result").with_filters(filters),
        ShortSource::Rows => {
            PlanNode::new("Values Scan", "Values Scan on \"*VALUES*\"").with_filters(filters)
        }
        ShortSource::Ends(_) => PlanNode::named("Append"),
        ShortSource::RowCount { table, alias } => {
            let relation = match **alias == *table.name {
                true => table.name.clone(),
                false => format!("{} {alias}", table.name),
            };
            PlanNode::new("Row Count", format!("Row Count of {relation}"))
                .with_property("Schema", table.schema.as_str())
                .with_property("Relation Name", table.name.as_str())
                .with_property("Alias", &**alias)
        }
        ShortSource::Table { path, alias, columns } => {
            let read = TableRead {
                limit,
                ..TableRead::new(path, alias, columns)
            };
            read.node(filters)
        }
    }
}

/// What came out of a step; of the source when no step ran for it.
fn seen_of_step(observation: Option<&Observation>, step: Option<usize>) -> Option<Seen> {
    let steps = observation?.steps();
    let seen = step.and_then(|step| steps.seen(step));
    Some(seen.unwrap_or_else(|| steps.seen_of_source()))
}

fn step_node(node: ShortNode) -> PlanNode {
    let shown = match node.kind {
        ShortKind::Limit => PlanNode::named("Limit"),
        ShortKind::LockRows => PlanNode::named("LockRows"),
        ShortKind::Filter => PlanNode::named("Subquery Scan"),
        ShortKind::Sort { keys, presorted: 0 } => PlanNode::named("Sort").with_list("Sort Key", keys),
        ShortKind::Sort { keys, presorted } => {
            let first = keys[..presorted].to_vec();
            PlanNode::named("Incremental Sort")
                .with_list("Sort Key", keys)
                .with_list("Presorted Key", first)
        }
        ShortKind::Aggregate => PlanNode::named("Aggregate")
            .with_property("Strategy", "Plain")
            .with_property("Partial Mode", "Simple"),
        ShortKind::Groups { keys, together } => {
            let (name, strategy) = match together {
                true => ("GroupAggregate", "Sorted"),
                false => ("HashAggregate", "Hashed"),
            };
            PlanNode::new("Aggregate", name)
                .with_property("Strategy", strategy)
                .with_property("Partial Mode", "Simple")
                .with_list("Group Key", keys)
        }
        ShortKind::Lookup { lookup, .. } => lookup_node(lookup),
    };
    shown.with_filters(node.filters)
}
