//! Short statements as nodes.

use crate::operators::explain::{PlanNode, TableRead, lookup_node, with_lookups, with_metrics};
use crate::operators::short::{ShortKind, ShortNode, ShortSource, ShortStory, StepFigures};
use crate::query::Observation;
use crate::scan::figures::Seen;

/// The tree of a short statement, with what was counted of it.
pub(super) fn short_node(story: ShortStory, observation: Option<&Observation>) -> PlanNode {
    chain_node(
        story,
        observation.map(Observation::steps),
        observation.map(Observation::seen),
    )
}

/// The tree of a chain. `result`: the count of its rows.
fn chain_node(story: ShortStory, figures: Option<&StepFigures>, result: Option<Seen>) -> PlanNode {
    let counted = seen_of_step(figures, story.source_step);
    let is_all = story.nodes.is_empty();
    let source = source_node(story.source, (story.limit, story.filters), figures);
    // The result's own count is that of the topmost node.
    let top = source.counted(counted).counted(result.filter(|_| is_all));
    let above = story.nodes.into_iter().enumerate().rev();
    above.fold(top, |below, (at, node)| {
        let seen = match at {
            0 => result,
            _ => seen_of_step(figures, node.step),
        };
        let lookups = match (&node.kind, figures) {
            (ShortKind::Lookup { step, .. }, Some(figures)) => Some(figures.lookup(*step)),
            _ => None,
        };
        let shown = step_node(node);
        let shown = match lookups {
            Some(figures) => with_lookups(shown, &figures),
            None => shown,
        };
        shown.over(below).counted(seen)
    })
}

/// The node of what a chain begins with, of so many rows at most, and with what is left to check of them.
fn source_node(
    source: ShortSource,
    (limit, filters): (Option<usize>, Vec<String>),
    figures: Option<&StepFigures>,
) -> PlanNode {
    let reads = matches!(source, ShortSource::Table { .. } | ShortSource::Ends(_));
    let node = match source {
        ShortSource::Ends(ends) => ends.iter().fold(PlanNode::named("Append"), |node, end| {
            node.over_as("Member", read_node(end, Some(1), Vec::new()))
        }),
        ShortSource::Append(members) if members.is_empty() => PlanNode::named("Empty Result"),
        ShortSource::Append(mut members) if members.len() == 1 => {
            let (place, story) = members.remove(0);
            member_node(place, story, figures)
        }
        ShortSource::Append(members) => members
            .into_iter()
            .fold(PlanNode::named("Append"), |node, (place, story)| {
                node.over_as("Member", member_node(place, story, figures))
            }),
        source => read_node(&source, limit, filters),
    };
    match figures {
        Some(figures) if reads => with_metrics(node, figures.source()),
        _ => node,
    }
}

/// The tree of a member of an append.
fn member_node(place: usize, story: ShortStory, figures: Option<&StepFigures>) -> PlanNode {
    let figures = figures.map(|figures| figures.member(place));
    let result = figures.as_ref().map(|figures| result_of(&story, figures));
    chain_node(story, figures.as_deref(), result)
}

/// The count of the rows that a chain gave.
fn result_of(story: &ShortStory, figures: &StepFigures) -> Seen {
    let last = story.nodes.first().map_or(story.source_step, |node| node.step);
    let seen = last.and_then(|step| figures.seen(step));
    seen.unwrap_or_else(|| figures.seen_of_source())
}

/// The node of a source. `limit`: rows at which it ends. `filters`: what is left to check of its rows.
fn read_node(source: &ShortSource, limit: Option<usize>, filters: Vec<String>) -> PlanNode {
    match source {
        ShortSource::OneRow => PlanNode::named("Result").with_filters(filters),
        ShortSource::Rows => {
            PlanNode::new("Values Scan", "Values Scan on \"*VALUES*\"").with_filters(filters)
        }
        ShortSource::Ends(_) | ShortSource::Append(_) => PlanNode::named("Append"),
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
fn seen_of_step(figures: Option<&StepFigures>, step: Option<usize>) -> Option<Seen> {
    let figures = figures?;
    let seen = step.and_then(|step| figures.seen(step));
    Some(seen.unwrap_or_else(|| figures.seen_of_source()))
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
