//! Rows of `pg_aggregate`: the aggregates that users made.

use std::sync::LazyLock;

use super::relation_rows::{RelationRows, Source, boolean, text};
use crate::catalog::{AggregateFunctionDef, RoutineDef};
use crate::system::catalog_version::definitions::{definition, static_cells};
use crate::system::catalog_version::routine_text::type_oid;

/// The name, the number of arguments and the oid of each function that every database has.
static BUILT_IN: LazyLock<Vec<(String, usize, u32)>> = LazyLock::new(|| {
    let Some(relation) = definition("pg_catalog", "pg_proc") else {
        return Vec::new();
    };
    let rows = static_cells("pg_catalog", "pg_proc");
    let functions = rows.iter().filter_map(|row| {
        let cell = |column: &str| row.get(relation.position(column))?.as_ref();
        Some((
            cell("proname")?.to_string(),
            cell("pronargs")?.parse().ok()?,
            cell("oid")?.parse().ok()?,
        ))
    });
    functions.collect()
});

/// Of several of a name and as many arguments, the first.
fn oid_of(function: Option<&AggregateFunctionDef>, arguments: usize) -> u32 {
    match function {
        None => 0,
        Some(AggregateFunctionDef::Function(oid)) => *oid,
        Some(AggregateFunctionDef::BuiltIn(name)) => {
            let mut known = BUILT_IN.iter();
            let found = known.find(|(known, count, _)| known == name && *count == arguments);
            found.map_or(0, |(.., oid)| *oid)
        }
    }
}

/// `pg_aggregate`.
pub(super) fn aggregates(source: &Source<'_>, rows: &mut RelationRows) {
    for routine in source.ctx.catalog.routines.iter() {
        push(source, routine, rows);
    }
}

fn push(source: &Source<'_>, routine: &RoutineDef, rows: &mut RelationRows) {
    let Some(aggregate) = &routine.aggregate else {
        return;
    };
    let arguments = routine.arguments.len();
    let more = if aggregate.finish_extra { arguments } else { 0 };
    let state = source.ctx.catalog.types.routine_type(&aggregate.state);
    let mut cells = vec![
        ("aggfnoid", text(routine.oid)),
        ("aggkind", text("n")),
        ("aggtransfn", text(oid_of(Some(&aggregate.step), 1 + arguments))),
        ("aggfinalfn", text(oid_of(aggregate.finish.as_ref(), 1 + more))),
        ("aggfinalextra", boolean(aggregate.finish_extra)),
        ("aggmfinalextra", boolean(false)),
        ("aggfinalmodify", text("r")),
        ("aggmfinalmodify", text("r")),
        ("aggtranstype", text(state.map_or(0, |state| type_oid(&state)))),
        ("agginitval", aggregate.initial.clone()),
    ];
    let none = [
        "aggnumdirectargs",
        "aggcombinefn",
        "aggserialfn",
        "aggdeserialfn",
        "aggmtransfn",
        "aggminvtransfn",
        "aggmfinalfn",
        "aggsortop",
        "aggtransspace",
        "aggmtranstype",
        "aggmtransspace",
    ];
    cells.extend(none.map(|column| (column, text(0))));
    rows.push(&cells);
}
