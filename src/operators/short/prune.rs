//! `prune`: leaves out of a chain's rows what nobody reads.

use super::step::Step;

/// Leaves out what lookups would give and nobody reads; answers the columns of the source that somebody reads, which are all that it
/// is to give from now on. `None`: all, for every column goes through to the result.
pub(super) fn prune(steps: &mut [Step]) -> Option<Vec<usize>> {
    let shaping = steps.iter().position(Step::makes_columns)?;
    // Up to there a column has one number: steps add theirs behind those of the source.
    let steps = &mut steps[..=shaping];
    let inputs = steps.iter_mut().flat_map(Step::inputs_mut);
    let mut used: Vec<usize> = inputs.flat_map(|computed| computed.columns()).collect();
    used.extend(steps.iter().flat_map(Step::other_columns));
    used.sort_unstable();
    used.dedup();
    let (mut of_source, mut given) = (used.clone(), 0);
    for step in steps {
        if let Some((first, added)) = step.added_columns() {
            of_source.retain(|column| *column < first);
            given = given.max(of_source.len());
            let own = used
                .iter()
                .filter(|column| (first..first + added).contains(column));
            let own: Vec<usize> = own.map(|column| column - first).collect();
            step.keep_columns(&used[..given], &own);
            given += own.len();
        }
        for computed in step.inputs_mut() {
            computed.renumber(&used);
        }
    }
    Some(of_source)
}

/// Takes out a step that only puts columns in another order, all that come to it, if what comes behind it makes columns of its own.
/// `source_columns`: so many the source gives.
pub(super) fn without_reordering(steps: &mut Vec<Step>, source_columns: usize) {
    let shaping = |steps: &[Step]| steps.iter().position(Step::makes_columns);
    let Some(at) = shaping(steps) else { return };
    let (Step::Project { columns, .. }, Some(next)) = (&steps[at], shaping(&steps[at + 1..])) else {
        return;
    };
    let Some(order) = columns
        .iter()
        .map(|column| column.as_column())
        .collect::<Option<Vec<_>>>()
    else {
        return;
    };
    if steps[at..=at + next]
        .iter()
        .any(|step| matches!(step, Step::LockRows(_)))
    {
        // What is made of newer rows has the columns as they are.
        return;
    }
    let widened = steps[..at].iter().rev().find_map(Step::added_columns);
    if order.len() != widened.map_or(source_columns, |(outer, added)| outer + added) {
        return;
    }
    let mut places = vec![None; order.len()];
    for (place, column) in order.iter().enumerate() {
        match places.get_mut(*column) {
            Some(free @ None) => *free = Some(place),
            _ => return,
        }
    }
    steps.remove(at);
    let behind = &mut steps[at..=at + next];
    let added: usize = behind
        .iter()
        .filter_map(Step::added_columns)
        .map(|(_, added)| added)
        .sum();
    let places = places.into_iter().flatten();
    let places: Vec<usize> = places.chain(order.len()..order.len() + added).collect();
    for step in behind {
        for computed in step.inputs_mut() {
            computed.renumber(&places);
        }
        if let Step::SubChain(chain) = step {
            for column in &mut chain.outer {
                *column = order.get(*column).copied().unwrap_or(*column);
            }
        }
    }
}
