//! Definitions as SQL text: what pg_get_indexdef, pg_get_constraintdef and pg_get_viewdef print, for our objects and for
//! the system's. Called by rows and catalog functions.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::shown_names::{shown_expression, shown_printed, shown_query};
use crate::catalog::{Deferral, Exclusion, TEMPORARY_ALIAS, is_temporary_schema};
use crate::parse::fetch_first;
use crate::parse::from_forms;
use crate::parse::quoting::{qualified, quote_ident, quote_literal};
use crate::parse::search_cycle;
use crate::parse::window_frame;
use crate::system::catalog_version::cells::{Cell, elements};
use crate::system::catalog_version::objects::{Found, Objects, SYSTEM, UserIndex, UserRelation, read};

/// `CREATE INDEX …`; `with_schema` names the table's schema (the plain form), else only where it is not in the way.
pub(crate) fn index_definition(
    relation: &UserRelation,
    index: &UserIndex,
    (with_schema, pretty): (bool, bool),
) -> String {
    let table = if with_schema {
        qualified_table(relation)
    } else {
        quote_ident(&relation.name)
    };
    // Those of its partitions have definitions of their own.
    let table = match relation.partitioning.is_some() {
        true => format!("ONLY {table}"),
        false => table,
    };
    let keys = (0..index.keys.len()).filter_map(|position| index_key(relation, index, (position, pretty)));
    let keys = with_computed(index, keys.collect(), true);
    let method = match &index.exclusion {
        _ if index.is_inverted => "gin",
        Some(exclusion) => &exclusion.method,
        None => "btree",
    };
    let created = create_index(index.unique, &index.name, &table, method, &keys);
    let included = index.included.iter();
    let included = included.filter_map(|attribute| relation.columns.get(attribute - 1));
    let included: Vec<String> = included.map(|column| quote_ident(&column.name)).collect();
    let created = match included.is_empty() {
        true => created,
        false => format!("{created} INCLUDE ({})", included.join(", ")),
    };
    let created = match index.nulls_not_distinct {
        true => format!("{created} NULLS NOT DISTINCT"),
        false => created,
    };
    let options = index.options.iter().map(|option| match option.split_once('=') {
        // As it is where a name is.
        Some((name, value)) if quote_ident(value) == value => format!("{name}={value}"),
        Some((name, value)) => format!("{name}={}", quote_literal(value)),
        None => option.clone(),
    });
    let options: Vec<String> = options.collect();
    let created = match options.is_empty() {
        true => created,
        false => format!("{created} WITH ({})", options.join(", ")),
    };
    match &index.predicate {
        Some((_, pretty_text)) if pretty => format!("{created} WHERE {pretty_text}"),
        Some((text, _)) => format!("{created} WHERE {text}"),
        None => created,
    }
}

fn create_index(unique: bool, name: &str, table: &str, method: &str, keys: &[String]) -> String {
    let unique = if unique { "UNIQUE " } else { "" };
    format!(
        "CREATE {unique}INDEX {} ON {table} USING {method} ({})",
        quote_ident(name),
        keys.join(", ")
    )
}

/// A key of an index with its direction.
fn index_key(
    relation: &UserRelation,
    index: &UserIndex,
    (position, pretty): (usize, bool),
) -> Option<String> {
    let key = index.keys.get(position)?;
    let name = match &key.computed {
        Some(computed) if pretty => computed.pretty_text.clone(),
        Some(computed) => computed.text.clone(),
        None => quote_ident(&relation.columns.get(key.attribute - 1)?.name),
    };
    let class = key.class.iter().map(|class| format!(" {class}"));
    Some(name + &class.collect::<String>() + direction(key.descending, key.nulls_first))
}

/// The keys with those between them that are computed; `parenthesized`: as CREATE INDEX has them.
fn with_computed(index: &UserIndex, keys: Vec<String>, parenthesized: bool) -> Vec<String> {
    let mut all = keys;
    for (before, computed) in index.computed.iter().enumerate() {
        let at = (computed.at + before).min(all.len());
        let direction = direction(computed.descending, computed.nulls_first);
        let text = &computed.text;
        all.insert(
            at,
            match parenthesized && !computed.is_call {
                true => format!("({text}){direction}"),
                false => format!("{text}{direction}"),
            },
        );
    }
    all
}

/// ASC has its NULLs last and DESC first, unless said otherwise.
fn direction(descending: bool, nulls_first: bool) -> &'static str {
    match (descending, nulls_first) {
        (false, false) => "",
        (false, true) => " NULLS FIRST",
        (true, true) => " DESC",
        (true, false) => " DESC NULLS LAST",
    }
}

/// `EXCLUDE USING gist (a WITH =, r WITH &&)`
fn exclusion_definition(relation: &UserRelation, index: &UserIndex, exclusion: &Exclusion) -> String {
    let parts = exclusion.operators.iter().enumerate();
    let parts = parts.filter_map(|(at, operator)| {
        Some(format!(
            "{} WITH {}",
            index_key(relation, index, (at, false))?,
            operator.symbol()
        ))
    });
    let parts: Vec<String> = parts.collect();
    let condition = index.predicate.iter().map(|(text, _)| format!(" WHERE ({text})"));
    format!("EXCLUDE USING {} ({})", exclusion.method, parts.join(", ")) + &condition.collect::<String>()
}

/// `PRIMARY KEY (a, b)`; a key column that is stored descending says so.
pub(super) fn constraint_definition(relation: &UserRelation, index: &UserIndex) -> String {
    let deferral = match index.deferral {
        None => "",
        Some(Deferral::Immediate) => " DEFERRABLE",
        Some(Deferral::Deferred) => " DEFERRABLE INITIALLY DEFERRED",
    };
    if let Some(exclusion) = &index.exclusion {
        return exclusion_definition(relation, index, exclusion) + deferral;
    }
    let keys = index.keys.iter().filter_map(|key| {
        let column = relation.columns.get(key.attribute - 1)?;
        Some(quote_ident(&column.name) + if key.descending { " DESC" } else { "" })
    });
    let keys = with_computed(index, keys.collect(), false);
    let included = index.included.iter();
    let included = included.filter_map(|attribute| relation.columns.get(attribute - 1));
    let included: Vec<String> = included.map(|column| quote_ident(&column.name)).collect();
    let include = match included.is_empty() {
        true => String::new(),
        false => format!(" INCLUDE ({})", included.join(", ")),
    };
    let kind = match (index.primary, index.nulls_not_distinct) {
        (true, _) => "PRIMARY KEY",
        (false, true) => "UNIQUE NULLS NOT DISTINCT",
        (false, false) => "UNIQUE",
    };
    format!("{kind} ({}){include}{deferral}", keys.join(", "))
}

/// The operator class that pg_trgm brings, behind a column.
const TRIGRAM_CLASS: &str = " gin_trgm_ops";

/// pg_get_indexdef: the whole definition (`column` 0) or one key. `None`: no such index or column.
pub(crate) fn get_indexdef(
    objects: &Objects,
    search_path: &[String],
    oid: i64,
    column: i64,
    pretty: bool,
) -> Cell {
    let Some(Found::Index(relation, index)) = objects.find(oid) else {
        return system_indexdef(oid, column, pretty);
    };
    match usize::try_from(column).ok()?.checked_sub(1) {
        None => {
            let visible = objects.is_visible(relation.oid, search_path) == Some(true);
            let definition = index_definition(relation, index, (!(pretty && visible), pretty));
            let definition = shown_expression(&definition, objects, search_path);
            // Extensions are made in `public` unless they are told otherwise, and their classes with them.
            Some(match search_path.iter().any(|schema| schema == "public") {
                true => definition,
                false => {
                    definition.replace(TRIGRAM_CLASS, &format!(" public.{}", TRIGRAM_CLASS.trim_start()))
                }
            })
        }
        Some(position) => {
            if let Some(computed) = index.keys.get(position).and_then(|key| key.computed.as_ref()) {
                let text = if pretty {
                    &computed.pretty_text
                } else {
                    &computed.text
                };
                return Some(shown_expression(text, objects, search_path));
            }
            let attribute = index.attributes().nth(position)?;
            Some(quote_ident(&relation.columns.get(attribute - 1)?.name))
        }
    }
}

/// The name of a table with its schema: a session's own temporary ones are found by `pg_temp`.
pub(crate) fn qualified_table(relation: &UserRelation) -> String {
    match is_temporary_schema(&relation.schema) {
        true => qualified(TEMPORARY_ALIAS, &relation.name),
        false => qualified(&relation.schema, &relation.name),
    }
}

/// What the domains of information_schema ask of their values, by the oid of the constraint; and without parentheses that are not needed.
const SYSTEM_CHECKS: [(i64, &str, &str); 2] = [
    (13222, "(VALUE >= 0)", "VALUE >= 0"),
    (
        13235,
        "((VALUE)::text = ANY ((ARRAY['YES'::character varying, 'NO'::character varying])::text[]))",
        "VALUE::text = ANY (ARRAY['YES'::character varying, 'NO'::character varying]::text[])",
    ),
];

/// pg_get_constraintdef; `pretty`: without parentheses that are not needed. `None`: no such constraint.
pub(crate) fn get_constraintdef(objects: &Objects, search_path: &[String], oid: i64, pretty: bool) -> Cell {
    if let Some(constraint) = objects.constraint(oid) {
        let text = match pretty {
            true => &constraint.pretty_definition,
            false => &constraint.definition,
        };
        return Some(match constraint.foreign_key() {
            Some(key) => shown_reference(text, objects, search_path, key.table),
            None => shown_expression(text, objects, search_path),
        });
    }
    if let Some(check) = objects.domain_check(oid) {
        let not_valid = if check.not_valid { " NOT VALID" } else { "" };
        let text = if pretty { &check.pretty_text } else { &check.text };
        let text = shown_expression(text, objects, search_path);
        return Some(format!("CHECK ({text}){not_valid}"));
    }
    if let Some((_, text, pretty_text)) = SYSTEM_CHECKS.iter().find(|check| check.0 == oid) {
        return Some(format!("CHECK ({})", if pretty { pretty_text } else { text }));
    }
    match objects.find(oid) {
        Some(Found::Index(relation, index)) if index.constraint => {
            Some(constraint_definition(relation, index))
        }
        Some(_) => None,
        None => {
            let constraint = SYSTEM_KEYS.constraints.get(&oid)?;
            let columns: Option<Vec<String>> = constraint
                .columns
                .iter()
                .map(|number| {
                    SYSTEM_KEYS
                        .attributes
                        .get(&(constraint.relation, *number))
                        .map(|name| quote_ident(name))
                })
                .collect();
            let kind = if constraint.primary {
                "PRIMARY KEY"
            } else {
                "UNIQUE"
            };
            Some(format!("{kind} ({})", columns?.join(", ")))
        }
    }
}

/// The definition of a foreign key, which names the table that it refers to with its schema.
fn shown_reference(text: &str, objects: &Objects, search_path: &[String], table: i64) -> String {
    let (Some((schema, name)), Some(shown)) = (
        objects.relation_name(table),
        objects.relation_display_name(table, search_path),
    ) else {
        return text.to_string();
    };
    let whole = format!(" REFERENCES {}(", qualified(&schema, &name));
    text.replacen(&whole, &format!(" REFERENCES {shown}("), 1)
}

/// pg_get_viewdef: the SELECT as PostgreSQL prints it, or as it was written where there are no rules for that, ended by a semicolon; names
/// with their schemas where the search path does not find them. `None`: no view of ours.
pub(crate) fn get_viewdef(objects: &Objects, search_path: &[String], oid: i64, pretty: bool) -> Cell {
    match objects.find(oid)? {
        Found::Relation(relation) => view_definition(relation, objects, search_path, pretty),
        Found::Index(..) => None,
    }
}

/// See [`get_viewdef`].
pub(crate) fn view_definition(
    view: &UserRelation,
    objects: &Objects,
    search_path: &[String],
    pretty: bool,
) -> Cell {
    if let Some(printed) = &view.printed {
        let text = if pretty { &printed.pretty } else { &printed.plain };
        return Some(format!("{};", shown_printed(text, objects, search_path)));
    }
    Some(format!(" {};", written_query(view, objects, search_path)?))
}

/// A view's query as it was written, with names that the search path finds.
pub(super) fn written_query(view: &UserRelation, objects: &Objects, search_path: &[String]) -> Cell {
    let (query, made_with) = view.query.as_ref()?;
    let query = query.trim().trim_end_matches(';').trim_end();
    let query = shown_query(query, made_with, objects, search_path);
    let query = search_cycle::spelt_out(&window_frame::spelt_out(&query));
    Some(from_forms::spelt_out(&fetch_first::spelt_out(&query)))
}

/// Keys of the system's relations.
struct SystemKeys {
    indexes: HashMap<i64, SystemIndex>,
    constraints: HashMap<i64, SystemConstraint>,
    attributes: HashMap<(i64, i64), String>,
}

struct SystemIndex {
    relation: i64,
    unique: bool,
    columns: Vec<i64>,
}

struct SystemConstraint {
    relation: i64,
    primary: bool,
    columns: Vec<i64>,
}

static SYSTEM_KEYS: LazyLock<SystemKeys> = LazyLock::new(|| SystemKeys {
    indexes: read("pg_index", &["indexrelid", "indrelid", "indisunique", "indkey"])
        .map(|[oid, relation, unique, columns]| {
            let index = SystemIndex {
                relation: number(&relation),
                unique: unique.as_deref() == Some("t"),
                columns: numbers(&columns),
            };
            (number(&oid), index)
        })
        .collect(),
    constraints: read("pg_constraint", &["oid", "conrelid", "contype", "conkey"])
        .filter(|[_, _, kind, _]| matches!(kind.as_deref(), Some("p" | "u")))
        .map(|[oid, relation, kind, columns]| {
            let constraint = SystemConstraint {
                relation: number(&relation),
                primary: kind.as_deref() == Some("p"),
                columns: numbers(&columns),
            };
            (number(&oid), constraint)
        })
        .collect(),
    attributes: read("pg_attribute", &["attrelid", "attnum", "attname"])
        .map(|[relation, attribute, name]| {
            ((number(&relation), number(&attribute)), name.unwrap_or_default())
        })
        .collect(),
});

/// The system's indexes are btrees over plain columns, of which a few have a special operator class: `opclass` is left out.
fn system_indexdef(oid: i64, column: i64, pretty: bool) -> Cell {
    let index = SYSTEM_KEYS.indexes.get(&oid)?;
    let key = |number: &i64| {
        SYSTEM_KEYS
            .attributes
            .get(&(index.relation, *number))
            .map(|name| quote_ident(name))
    };
    match usize::try_from(column).ok()?.checked_sub(1) {
        Some(position) => key(index.columns.get(position)?),
        None => {
            let keys: Option<Vec<String>> = index.columns.iter().map(key).collect();
            let table = &SYSTEM.classes.get(&index.relation)?.name;
            let table = if pretty {
                quote_ident(table)
            } else {
                qualified("pg_catalog", table)
            };
            Some(create_index(
                index.unique,
                &SYSTEM.classes.get(&oid)?.name,
                &table,
                "btree",
                &keys?,
            ))
        }
    }
}

fn number(cell: &Cell) -> i64 {
    cell.as_deref().and_then(|cell| cell.parse().ok()).unwrap_or(0)
}

fn numbers(cell: &Cell) -> Vec<i64> {
    cell.as_deref()
        .map(elements)
        .unwrap_or_default()
        .iter()
        .map(number)
        .collect()
}
