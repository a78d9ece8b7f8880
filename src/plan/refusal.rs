//! The error that refuses a full scan, and teaches what would serve: an index that is on its way, the CREATE INDEX to paste,
//! a condition on the key, the override.

use super::Predicate;
use super::candidate::Candidate;
use super::predicate::CompareOp;
use super::rules::PlanRules;
use super::union::alternatives;
use crate::Error;
use crate::catalog::{IndexDef, KeyColumn, TableDef};
use crate::codec::key::check_key_type;
use crate::codec::row::ColumnId;
use crate::parse::quoting::quote_ident;

const OVERRIDE: &str = "allow it with /*+ _l_allow_filtering_ */ after SELECT, UPDATE or DELETE, or SET keyspan.full_scan = allow";

/// 53400 for a read under these conditions, which bound no key.
pub(super) fn full_scan(table: &TableDef, conditions: &[&Predicate], rules: &PlanRules) -> Error {
    let index = match (
        index_on_its_way(table, conditions, rules),
        fitting_index(table, conditions, rules).or_else(|| index_of_alternative(table, conditions, rules)),
    ) {
        (Some(name), _) => format!("Index \"{name}\" will serve it once it is built. "),
        (None, Some(index)) => format!("{index} would serve it. "),
        (None, None) => String::new(),
    };
    let (column, key) = match first_columns(table) {
        None if index.is_empty() => (
            String::new(),
            "Only reads of the whole table can go without a key: create the table with a PRIMARY KEY, or "
                .to_string(),
        ),
        None => (String::new(), "Or ".to_string()),
        Some(columns) => {
            let names: Vec<&str> = columns
                .iter()
                .map(|at| table.columns[*at].name.as_str())
                .collect();
            let verb = if index.is_empty() { "Add" } else { "Or add" };
            let conditions = match names.len() {
                1 => "a condition",
                _ => "conditions",
            };
            let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            let equal: Vec<String> = names.iter().map(|name| format!("{name} = …")).collect();
            let (on, such_as) = (quoted.join(" and "), equal.join(" AND "));
            let key = format!("{verb} {conditions} on {on}, such as {such_as}, or ");
            (names.join("\", \""), key)
        }
    };
    Error::FullScan {
        table: table.name.clone(),
        column,
        hint: format!("{index}{key}{OVERRIDE}."),
    }
}

/// What conditions must bound to bound the primary key: its first column, the one behind the bucket, or what the first is
/// computed of. `None`: nobody can.
fn first_columns(table: &TableDef) -> Option<Vec<usize>> {
    if table.has_hidden_key() {
        return None;
    }
    let key = table.key_columns();
    let first = *key.first()?;
    match table.columns[first].generation() {
        Some(_) if table.options.buckets.is_some() => Some(vec![*key.get(1)?]),
        Some(generation) if !generation.inputs.is_empty() => {
            let inputs = generation.inputs.iter();
            inputs.map(|id| table.column_index_by_id(*id)).collect()
        }
        _ => Some(vec![first]),
    }
}

/// An index that is being built and bounds the conditions.
fn index_on_its_way<'a>(
    table: &'a TableDef,
    conditions: &[&Predicate],
    rules: &PlanRules,
) -> Option<&'a str> {
    let mut building = table.indexes.iter().filter(|index| index.building);
    let found = building.find(|index| is_bounded(table, index, conditions, rules))?;
    Some(&found.name)
}

/// The statement that makes an index that bounds the conditions: first the columns that they compare with a constant for
/// equality, then one that they compare otherwise.
fn fitting_index(table: &TableDef, conditions: &[&Predicate], rules: &PlanRules) -> Option<String> {
    let mut columns: Vec<usize> = Vec::new();
    let (mut equal, mut others) = (Vec::new(), Vec::new());
    for condition in conditions {
        match condition {
            Predicate::Compare {
                column,
                op: CompareOp::Eq,
                ..
            }
            | Predicate::InList { column, .. } => equal.push(*column),
            other => others.extend(other.columns()),
        }
    }
    for column in equal.into_iter().chain(others.into_iter().take(1)) {
        let def = &table.columns[column];
        let fits = !def.hidden && check_key_type(&def.ty, &def.name).is_ok();
        if fits && !columns.contains(&column) {
            columns.push(column);
        }
    }
    let index = imagined(table, columns.iter().map(|at| table.columns[*at].id));
    if columns.is_empty() || !is_bounded(table, &index, conditions, rules) {
        return None;
    }
    let names = columns.iter().map(|at| quote_ident(&table.columns[*at].name));
    let names: Vec<String> = names.collect();
    Some(format!(
        "CREATE INDEX ON {} ({})",
        quote_ident(&table.name),
        names.join(", ")
    ))
}

/// The same for the first alternative of an OR that no key bounds: what bounds each of them bounds the whole.
fn index_of_alternative(table: &TableDef, conditions: &[&Predicate], rules: &PlanRules) -> Option<String> {
    let or = conditions
        .iter()
        .find(|condition| matches!(condition, Predicate::Or(_)))?;
    let is_open = |alternative: &&Predicate| {
        let conditions = alternative.conjuncts();
        let mut keys = table.all_indexes().filter(|key| key.is_complete());
        !keys.any(|key| is_bounded(table, key, &conditions, rules))
    };
    let open = alternatives(or).into_iter().find(is_open)?;
    fitting_index(table, &open.conjuncts(), rules)
}

fn is_bounded(table: &TableDef, index: &IndexDef, conditions: &[&Predicate], rules: &PlanRules) -> bool {
    let candidate = Candidate::of(table, index, conditions, Default::default(), rules);
    candidate.is_some_and(|candidate| candidate.is_bounded())
}

/// An index that is not there, over these columns.
fn imagined(table: &TableDef, columns: impl Iterator<Item = ColumnId>) -> IndexDef {
    let key = |column| KeyColumn {
        column,
        descending: false,
        nulls_first: false,
    };
    IndexDef {
        id: table.next_index_id,
        oid: 0,
        name: String::new(),
        columns: columns.map(key).collect(),
        include: Vec::new(),
        unique: false,
        constraint: false,
        built: true,
        building: false,
        invalid: false,
    }
}
