//! The error that refuses a full scan, and teaches what would serve: an index that is on its way, the CREATE INDEX to paste,
//! a condition on the key, the override.

use super::Predicate;
use super::candidate::Candidate;
use super::predicate::CompareOp;
use super::rules::{FullScanPolicy, PlanRules};
use super::union::alternatives;
use crate::Error;
use crate::catalog::{IndexDef, KeyColumn, TableDef};
use crate::codec::key::check_key_type;
use crate::codec::row::ColumnId;
use crate::codec::terms::TermClass;
use crate::parse::quoting::quote_ident;

const OVERRIDE: &str = "allow it with /*+ _l_allow_filtering_ */ after SELECT, UPDATE or DELETE, or SET keyspan.full_scan = allow";

/// 53400 for a read under these conditions, which bound no key.
pub(super) fn full_scan(table: &TableDef, conditions: &[&Predicate], rules: &PlanRules) -> Error {
    let serving = serving(table, conditions, rules);
    let on_its_way = index_on_its_way(table, conditions, rules).filter(|_| !table.is_of_versions());
    let index = match (on_its_way, &serving) {
        (Some(name), _) => format!("Index \"{name}\" will serve it once it is built. "),
        (None, Some(index)) => format!("{index} would serve it. "),
        (None, None) => String::new(),
    };
    let key = match Needed::by_key(table, conditions) {
        None if index.is_empty() => {
            "Only reads of the whole table can go without a key: create the table with a PRIMARY KEY, or "
                .to_string()
        }
        None => "Or ".to_string(),
        Some(needed) => {
            let verb = if index.is_empty() { "Add" } else { "Or add" };
            let conditions = match needed.columns.len() {
                1 => "a condition",
                _ => "conditions",
            };
            let (on, such_as) = (needed.quoted(), needed.example());
            format!("{verb} {conditions} on {on}, such as {such_as}, or ")
        }
    };
    Error::FullScan {
        table: table.name.clone(),
        detail: detail(table, conditions),
        hint: format!("{index}{key}{OVERRIDE}.{}", small_table(table, rules)),
        index: serving,
    }
}

/// The CREATE INDEX that would serve conditions; `None`: nobody knows one.
pub fn serving_index(table: &TableDef, condition: &Predicate, rules: &PlanRules) -> Option<String> {
    serving(table, &condition.conjuncts(), rules)
}

/// The same of several conditions.
fn serving(table: &TableDef, conditions: &[&Predicate], rules: &PlanRules) -> Option<String> {
    // Indexes lead to the newest versions alone.
    if table.is_of_versions() {
        return None;
    }
    fitting_index(table, conditions, rules).or_else(|| index_of_alternative(table, conditions, rules))
}

/// How the rule of small tables has to do with it.
fn small_table(table: &TableDef, rules: &PlanRules) -> String {
    match rules.full_scan {
        FullScanPolicy::Reject if !table.is_wide() => format!(
            " For tables of few rows: ALTER DATABASE {} SET keyspan.full_scan = small.",
            quote_ident(&rules.database)
        ),
        FullScanPolicy::Small { rows_max } if !table.is_wide() => format!(
            " keyspan.full_scan = small serves tables of at most {rows_max} rows (keyspan.small_table_rows)."
        ),
        FullScanPolicy::Small { .. } => format!(
            " keyspan.full_scan = small leaves \"{}\" out, which was made for many rows.",
            table.name
        ),
        FullScanPolicy::Allow | FullScanPolicy::Reject | FullScanPolicy::Forbid => String::new(),
    }
}

/// What is missing.
fn detail(table: &TableDef, conditions: &[&Predicate]) -> String {
    let Some(needed) = Needed::by_key(table, conditions) else {
        return format!(
            "Table \"{}\" has no primary key that a condition could bound.",
            table.name
        );
    };
    let (columns, name) = (needed.quoted(), &table.name);
    match needed.place {
        Place::First => {
            format!("The condition puts no bound on {columns}, the first key column of \"{name}\".")
        }
        Place::BehindBucket => format!(
            "The condition puts no bound on {columns}, the first column of \"{name}\"'s key behind the bucket."
        ),
        Place::Hashed => format!(
            "The condition does not pin {columns} by = or IN, of which the hash is computed that the key of \"{name}\" begins with."
        ),
        Place::Computed(first) => format!(
            "The condition does not pin {columns} by = or IN, of which \"{first}\", the first key column of \"{name}\", is computed."
        ),
    }
}

/// What conditions must bound to bound the primary key.
struct Needed<'a> {
    columns: Vec<&'a str>,
    place: Place<'a>,
}

/// Where the columns stand.
enum Place<'a> {
    /// First of the key.
    First,
    /// First but for the bucket.
    BehindBucket,
    /// The key begins with a hash of them.
    Hashed,
    /// The key begins with this column, which is computed of them.
    Computed(&'a str),
}

impl<'a> Needed<'a> {
    /// Of a key that begins with what is computed, those of its inputs that are not pinned. `None`: nobody can bound the key.
    fn by_key(table: &'a TableDef, conditions: &[&Predicate]) -> Option<Needed<'a>> {
        if table.has_hidden_key() {
            return None;
        }
        let key = table.key_columns();
        let first = &table.columns[*key.first()?];
        let name = |at: usize| table.columns[at].name.as_str();
        match first.generation() {
            Some(_) if table.few_first_values(&table.primary_key).is_some() => Some(Needed {
                columns: vec![name(*key.get(1)?)],
                place: Place::BehindBucket,
            }),
            Some(generation) if !generation.inputs.is_empty() => {
                let inputs = generation.inputs.iter();
                let inputs: Option<Vec<usize>> = inputs.map(|id| table.column_index_by_id(*id)).collect();
                let inputs = inputs?;
                let mut open: Vec<usize> = inputs.clone();
                open.retain(|input| !conditions.iter().any(|one| is_pinned_by(*input, one)));
                let columns = if open.is_empty() { inputs } else { open };
                Some(Needed {
                    columns: columns.into_iter().map(name).collect(),
                    place: match first.hidden && first.name.starts_with("hash") {
                        true => Place::Hashed,
                        false => Place::Computed(&first.name),
                    },
                })
            }
            _ => Some(Needed {
                columns: vec![&first.name],
                place: Place::First,
            }),
        }
    }

    fn quoted(&self) -> String {
        let quoted: Vec<String> = self.columns.iter().map(|name| format!("\"{name}\"")).collect();
        quoted.join(" and ")
    }

    fn example(&self) -> String {
        let equal: Vec<String> = self
            .columns
            .iter()
            .map(|name| format!("{} = …", quote_ident(name)))
            .collect();
        equal.join(" AND ")
    }
}

fn is_pinned_by(input: usize, condition: &Predicate) -> bool {
    match condition {
        Predicate::Compare { column, op, .. } => *column == input && *op == CompareOp::Eq,
        Predicate::InList { column, .. } => *column == input,
        _ => false,
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
        return inverted_index(table, conditions);
    }
    let names = columns.iter().map(|at| quote_ident(&table.columns[*at].name));
    let names: Vec<String> = names.collect();
    Some(format!(
        "CREATE INDEX ON {} ({})",
        quote_ident(&table.name),
        names.join(", ")
    ))
}

/// The statement that makes an inverted index that bounds one of the conditions.
fn inverted_index(table: &TableDef, conditions: &[&Predicate]) -> Option<String> {
    let (column, class) = conditions.iter().find_map(|condition| match condition {
        Predicate::WouldHaveTerms { column, class } => Some((&table.columns[*column], *class)),
        _ => None,
    })?;
    let class = match class {
        TermClass::Trigrams => " gin_trgm_ops",
        _ => "",
    };
    Some(format!(
        "CREATE INDEX ON {} USING gin ({}{class})",
        quote_ident(&table.name),
        quote_ident(&column.name)
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
    IndexDef::new(
        table.next_index_id,
        0,
        "",
        columns.map(KeyColumn::ascending).collect(),
    )
}
