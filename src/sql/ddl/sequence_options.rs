//! What the options of a sequence make of it: PostgreSQL's defaults and checks, in its order. Knows nothing of where a sequence stands.

use crate::catalog::{SequenceDef, SequenceType};
use crate::error::StatementFault;
use crate::parse::definition::SequenceOption;
use crate::table::SequenceState;
use crate::types::SqlType;
use crate::{Error, Result};

/// The options as they are given, each at most once.
#[derive(Default)]
struct Given {
    ty: Option<SequenceType>,
    increment: Option<i64>,
    min: Option<Option<i64>>,
    max: Option<Option<i64>>,
    start: Option<i64>,
    restart: Option<Option<i64>>,
    cache: Option<i64>,
    cycles: Option<bool>,
    has_owner: Option<()>,
    has_name: Option<()>,
}

/// Changes a sequence by options; answers what it has given then. `state`: what it has given so far, or `None` for one that is made.
/// Errors: 42601 for an option given twice, 42704, 22023.
pub(super) fn apply(
    def: &mut SequenceDef,
    options: &[SequenceOption],
    state: Option<SequenceState>,
) -> Result<SequenceState> {
    let given = Given::read(options)?;
    let is_new = state.is_none();
    let old_type = def.ty;
    def.ty = given.ty.unwrap_or(old_type);
    if let Some(increment) = given.increment {
        if increment == 0 {
            return Err(wrong("INCREMENT must not be zero".to_string()));
        }
        def.increment = increment;
    }
    def.cycles = given.cycles.unwrap_or(def.cycles);
    // Bounds that were those of the type become those of the other type.
    let is_retyped = |bound: i64, of: fn(SequenceType) -> i64| given.ty.is_some() && bound == of(old_type);
    let resets_max = is_new || is_retyped(def.max, SequenceType::max);
    let resets_min = is_new || is_retyped(def.min, SequenceType::min);
    let (min, max) = def.ty.default_bounds(def.increment);
    def.max = bound(given.max, resets_max, def.max, max);
    require_in_type("MAXVALUE", def.max, def.ty)?;
    def.min = bound(given.min, resets_min, def.min, min);
    require_in_type("MINVALUE", def.min, def.ty)?;
    if def.min >= def.max {
        let (min, max) = (def.min, def.max);
        return Err(wrong(format!(
            "MINVALUE ({min}) must be less than MAXVALUE ({max})"
        )));
    }
    let first = if def.increment > 0 { def.min } else { def.max };
    def.start = given.start.unwrap_or(if is_new { first } else { def.start });
    require_in_bounds("START", def.start, def)?;
    let state = match (given.restart, state) {
        (Some(value), _) => SequenceState::starting_at(value.unwrap_or(def.start)),
        (None, None) => SequenceState::starting_at(def.start),
        (None, Some(state)) => state,
    };
    require_in_bounds("RESTART", state.last, def)?;
    if let Some(cache) = given.cache {
        if cache <= 0 {
            return Err(wrong(format!("CACHE ({cache}) must be greater than zero")));
        }
        def.cache = cache;
    }
    Ok(state)
}

impl Given {
    fn read(options: &[SequenceOption]) -> Result<Given> {
        let mut given = Given::default();
        for option in options {
            match option {
                SequenceOption::Type(name) => set(&mut given.ty, sequence_type(name)?)?,
                SequenceOption::Increment(value) => set(&mut given.increment, *value)?,
                SequenceOption::Min(value) => set(&mut given.min, *value)?,
                SequenceOption::Max(value) => set(&mut given.max, *value)?,
                SequenceOption::Start(value) => set(&mut given.start, *value)?,
                SequenceOption::Restart(value) => set(&mut given.restart, *value)?,
                SequenceOption::Cache(value) => set(&mut given.cache, *value)?,
                SequenceOption::Cycle(value) => set(&mut given.cycles, *value)?,
                SequenceOption::OwnedBy(_) => set(&mut given.has_owner, ())?,
                SequenceOption::Name(_) => set(&mut given.has_name, ())?,
            }
        }
        Ok(given)
    }
}

fn set<T>(place: &mut Option<T>, value: T) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::InvalidStatement {
            state: StatementFault::Syntax,
            message: "conflicting or redundant options".to_string(),
            hint: None,
        }),
    }
}

/// A bound: as it is given, as it is, or that of the type where `NO` is said or it is to be found anew.
fn bound(given: Option<Option<i64>>, resets: bool, old: i64, of_type: i64) -> i64 {
    match (given, resets) {
        (Some(Some(value)), _) => value,
        (Some(None), _) | (None, true) => of_type,
        (None, false) => old,
    }
}

fn sequence_type(name: &str) -> Result<SequenceType> {
    let ty = match name {
        "int" | "int4" => Some(SqlType::Int4),
        "int2" => Some(SqlType::Int2),
        "int8" => Some(SqlType::Int8),
        name => SqlType::from_formatted(name)?,
    };
    let ty = ty.ok_or_else(|| Error::UndefinedObject {
        kind: "type",
        name: name.to_string(),
    })?;
    SequenceType::of(&ty)
        .ok_or_else(|| wrong("sequence type must be smallint, integer, or bigint".to_string()))
}

fn require_in_type(what: &str, value: i64, ty: SequenceType) -> Result<()> {
    match (ty.min()..=ty.max()).contains(&value) {
        true => Ok(()),
        false => Err(wrong(format!(
            "{what} ({value}) is out of range for sequence data type {}",
            ty.sql_type()
        ))),
    }
}

fn require_in_bounds(what: &str, value: i64, def: &SequenceDef) -> Result<()> {
    let (min, max) = (def.min, def.max);
    if value < min {
        return Err(wrong(format!(
            "{what} value ({value}) cannot be less than MINVALUE ({min})"
        )));
    }
    if value > max {
        return Err(wrong(format!(
            "{what} value ({value}) cannot be greater than MAXVALUE ({max})"
        )));
    }
    Ok(())
}

fn wrong(message: String) -> Error {
    Error::InvalidParameter { message, hint: None }
}
