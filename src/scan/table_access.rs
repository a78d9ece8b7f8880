//! How a table is reached for conditions, of which the planner may know nothing: those are left to whoever evaluates them. Called for
//! every read of a table by a statement.

use std::sync::Arc;

use crate::catalog::TableDef;
use crate::parse::IndexHint;
use crate::plan::{AccessClass, AccessPath, PlanRules, Predicate, Wanted, plan_access};
use crate::system::StatementContext;
use crate::{Error, Result};

/// The access path to rows for which all of the predicates hold. Those that hold something opaque are not checked by it:
/// whoever asks does that. Errors: `FullScan`, `TooManyKeys`, 42704 for a forced index that no table has.
pub(crate) fn plan_conditions(
    table: &Arc<TableDef>,
    predicates: Vec<Predicate>,
    wanted: Wanted<'_>,
    ctx: &StatementContext,
) -> Result<AccessPath> {
    if let Some(IndexHint::Force(name)) = &ctx.hints.index {
        let mut indexes = ctx.catalog.tables().flat_map(|table| table.all_indexes());
        if !indexes.any(|index| index.name == *name) {
            return Err(Error::UndefinedObject {
                kind: "index",
                name: name.clone(),
            });
        }
    }
    // Whoever plans derives conditions on generated columns by what computes them.
    ctx.generated_columns(table)?;
    plan_predicates(table, predicates, wanted, &ctx.plan_rules(table))
}

/// The same under these rules. What computes the table's generated columns must be there.
pub(crate) fn plan_predicates(
    table: &Arc<TableDef>,
    predicates: Vec<Predicate>,
    wanted: Wanted<'_>,
    rules: &PlanRules,
) -> Result<AccessPath> {
    let condition = all_of(predicates);
    let mut path = plan_access(table, condition.as_ref(), wanted, rules)?;
    if let Some(after) = &table.read_after {
        path.keep_behind(after);
    }
    match &mut path.class {
        AccessClass::Union { parts } => parts.iter_mut().for_each(drop_opaque),
        _ => drop_opaque(&mut path),
    }
    Ok(path)
}

/// Leaves the conditions that hold something opaque to whoever evaluates them above.
fn drop_opaque(path: &mut AccessPath) {
    path.keep_checks(|condition| !condition.has_opaque());
}

fn all_of(mut predicates: Vec<Predicate>) -> Option<Predicate> {
    match predicates.len() {
        0 => None,
        1 => predicates.pop(),
        _ => Some(Predicate::And(predicates)),
    }
}
