//! Arrays as the catalogs use them: subscripts of vectors and names, and functions that return sets of composite values, a
//! column at a time.

use super::argument::Length;
use super::array::subscript;
use super::{FunctionDef, T, mismatched_types};
use crate::catalog::{TABLE_OPTIONS, TableOption, Verdict};
use crate::system::catalog_version::cells::elements;
use crate::types::{Value, array_column, element_type, lists_of};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    // `x[i]`, where vectors and names count from 0 and arrays from 1.
    FunctionDef::new("array_subscript", &[T::Name, T::Int4], T::Text, |b| {
        b.map2(character)
    }),
    FunctionDef::new("array_subscript", &[T::Any, T::Int4], T::Text, subscript)
        .computed(|types, _| element_type(&types[0]).clone()),
    // information_schema._pg_expandarray(array): the columns of its rows.
    FunctionDef::new("expandarray_x", &[T::AnyArray], T::AnyArray, |b| {
        let lists = lists_of(&b.arrays[0]).ok_or_else(mismatched_types)?;
        Ok(array_column(lists, None))
    }),
    FunctionDef::new("expandarray_n", &[T::AnyArray], T::Int4, |b| {
        b.map1(|Length(count)| (1..=count).collect::<Vec<i32>>())
    })
    .array(T::Int4),
    // pg_options_to_table(options): names and values of `name=value`.
    FunctionDef::new("options_names", &[T::Any], T::Text, |b| {
        b.map_values(|arguments| {
            let options = texts_of_array(&arguments[0]);
            options
                .iter()
                .map(|option| split(option).0.to_string())
                .collect::<Vec<_>>()
        })
    })
    .array(T::Text),
    FunctionDef::new("options_values", &[T::Any], T::Text, |b| {
        b.map_values(|arguments| {
            let options = texts_of_array(&arguments[0]);
            options
                .iter()
                .map(|option| split(option).1.map(str::to_string))
                .collect::<Vec<_>>()
        })
    })
    .array(T::Text),
    // keyspan_table_variables(options): all options of tables, those that were set with their values.
    FunctionDef::new("table_variables_names", &[T::Any], T::Text, |b| {
        b.map_values(|arguments| variables(&arguments[0], |variable| variable.name))
    })
    .on_null()
    .array(T::Text),
    FunctionDef::new("table_variables_values", &[T::Any], T::Text, |b| {
        b.map_values(|arguments| variables(&arguments[0], |variable| variable.value))
    })
    .on_null()
    .array(T::Text),
    FunctionDef::new("table_variables_meanings", &[T::Any], T::Text, |b| {
        b.map_values(|arguments| variables(&arguments[0], |variable| variable.meaning.to_string()))
    })
    .on_null()
    .array(T::Text),
];

/// A function that returns composite values: a set of them, or one.
#[derive(Debug)]
pub struct SetFunction {
    /// Its name.
    pub name: &'static str,
    /// Whether it gives one value, which stands wherever a value may, and is NULL where nothing is found.
    pub gives_one: bool,
    /// Its columns: their names, and the functions that give each as an array.
    pub columns: &'static [(&'static str, &'static str)],
}

/// Every function that returns composite values.
static SET_FUNCTIONS: &[SetFunction] = &[
    SetFunction {
        name: "_pg_expandarray",
        gives_one: false,
        columns: &[("x", "expandarray_x"), ("n", "expandarray_n")],
    },
    SetFunction {
        name: "pg_available_extensions",
        gives_one: false,
        columns: &[
            ("name", "available_extension_names"),
            ("default_version", "available_extension_versions"),
            ("comment", "available_extension_comments"),
        ],
    },
    SetFunction {
        name: "pg_available_extension_versions",
        gives_one: false,
        columns: &[
            ("name", "available_extension_names"),
            ("version", "available_extension_versions"),
            ("superuser", "available_extension_superusers"),
            ("trusted", "available_extension_superusers"),
            ("relocatable", "available_extension_moves"),
            ("schema", "available_extension_schemas"),
            ("requires", "available_extension_requirements"),
            ("comment", "available_extension_comments"),
        ],
    },
    SetFunction {
        name: "pg_identify_object",
        gives_one: true,
        columns: &[
            ("type", "identified_kinds"),
            ("schema", "identified_schemas"),
            ("name", "identified_names"),
            ("identity", "identified_identities"),
        ],
    },
    SetFunction {
        name: "pg_ls_waldir",
        gives_one: false,
        columns: &[
            ("name", "log_file_names"),
            ("size", "log_file_sizes"),
            ("modification", "log_file_times"),
        ],
    },
    SetFunction {
        name: "pg_options_to_table",
        gives_one: false,
        columns: &[
            ("option_name", "options_names"),
            ("option_value", "options_values"),
        ],
    },
    SetFunction {
        name: "pg_sequence_parameters",
        gives_one: true,
        columns: &[
            ("start_value", "sequence_starts"),
            ("minimum_value", "sequence_minima"),
            ("maximum_value", "sequence_maxima"),
            ("increment", "sequence_increments"),
            ("cycle_option", "sequence_cycles"),
            ("cache_size", "sequence_caches"),
            ("data_type", "sequence_types"),
        ],
    },
    SetFunction {
        name: "aclexplode",
        gives_one: false,
        columns: &[
            ("grantor", "aclexplode_grantors"),
            ("grantee", "aclexplode_grantees"),
            ("privilege_type", "aclexplode_privileges"),
            ("is_grantable", "aclexplode_grantables"),
        ],
    },
    SetFunction {
        name: "keyspan_table_variables",
        gives_one: false,
        columns: &[
            ("variable_name", "table_variables_names"),
            ("value", "table_variables_values"),
            ("meaning", "table_variables_meanings"),
        ],
    },
    SetFunction {
        name: "ts_parse",
        gives_one: false,
        columns: &[("tokid", "ts_parse_kinds"), ("token", "ts_parse_tokens")],
    },
    SetFunction {
        name: "ts_token_type",
        gives_one: false,
        columns: &[
            ("tokid", "ts_token_type_numbers"),
            ("alias", "ts_token_type_names"),
            ("description", "ts_token_type_descriptions"),
        ],
    },
    SetFunction {
        name: "json_each",
        gives_one: false,
        columns: &[("key", "json_each_keys"), ("value", "json_each_values")],
    },
    SetFunction {
        name: "json_each_text",
        gives_one: false,
        columns: &[("key", "json_each_keys"), ("value", "json_each_texts")],
    },
    SetFunction {
        name: "pg_partition_tree",
        gives_one: false,
        columns: &[
            ("relid", "pg_partition_tree_relids"),
            ("parentrelid", "pg_partition_tree_parents"),
            ("isleaf", "pg_partition_tree_leaves"),
            ("level", "pg_partition_tree_levels"),
        ],
    },
    SetFunction {
        name: "jsonb_each",
        gives_one: false,
        columns: &[("key", "jsonb_each_keys"), ("value", "jsonb_each_values")],
    },
    SetFunction {
        name: "jsonb_each_text",
        gives_one: false,
        columns: &[("key", "jsonb_each_text_keys"), ("value", "jsonb_each_texts")],
    },
];

/// The function of this name that returns composite values.
pub fn set_function(name: &str) -> Option<&'static SetFunction> {
    SET_FUNCTIONS.iter().find(|function| function.name == name)
}

/// The character at a place, counted from 0.
fn character(name: &str, place: i32) -> Option<String> {
    let place = usize::try_from(place).ok()?;
    name.chars().nth(place).map(String::from)
}

/// The texts of an array, or of an array that is written as a text.
pub(super) fn texts_of_array(argument: &Value) -> Vec<String> {
    let text = |item: &Value| match item {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    };
    match argument {
        Value::Array(items) => items.iter().filter_map(text).collect(),
        other => text(other)
            .map(|text| elements(&text).into_iter().flatten().collect())
            .unwrap_or_default(),
    }
}

/// An option of a table, as SHOW TABLE VARIABLES tells it.
struct Variable {
    /// In upper case.
    name: String,
    value: String,
    meaning: &'static str,
}

/// What is told of each option that a table may have, and of each storage parameter that it has.
fn variables(argument: &Value, told: impl Fn(Variable) -> String) -> Vec<String> {
    let set = texts_of_array(argument);
    let set: Vec<(&str, &str)> = set
        .iter()
        .map(|option| (split(option).0, split(option).1.unwrap_or_default()))
        .collect();
    let value = |name: &str| {
        set.iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    };
    let known = TABLE_OPTIONS.iter().map(|option| {
        let default = match &option.verdict {
            Verdict::Honoured(honoured) => honoured.default,
            Verdict::Kept(_) => "",
        };
        Variable {
            name: option.name.to_uppercase(),
            value: value(option.name).unwrap_or(default).to_string(),
            meaning: option.meaning,
        }
    });
    let others = set.iter().filter(|(name, _)| TableOption::named(name).is_none());
    let others = others.map(|(name, value)| Variable {
        name: name.to_uppercase(),
        value: value.to_string(),
        meaning: "PostgreSQL's, without effect here.",
    });
    known.chain(others).map(told).collect()
}

fn split(option: &str) -> (&str, Option<&str>) {
    match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    }
}
