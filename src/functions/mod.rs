//! PostgreSQL's scalar functions, operators and casts. Each topic's file holds one table of
//! registrations (`FunctionDef` rows) and the functions themselves: functions of Rust values that `Batch` maps over arrays
//! (`argument`, `output`), or functions of arrays. The binder picks a row by name and argument types, fixes the result type and calls `call`.
//! Knows nothing of SQL text.

mod accent;
mod acl;
mod argument;
pub mod arithmetic;
mod array;
mod array_aggregates;
mod array_assignment;
mod array_shape;
mod backend;
mod batch;
mod bits;
mod bound_function;
mod bytea;
pub mod cast;
mod catalog_array;
mod citext;
mod collation_name;
mod column_cast;
pub mod compare;
mod counted_statements;
mod datetime;
mod datetime_field;
mod datetime_format;
mod datetime_from_char;
mod datetime_make;
mod datetime_period;
mod datetime_template;
mod datetime_to_char;
mod datetime_trunc;
mod datetime_values;
mod definition;
mod digest;
mod domain;
mod double_metaphone;
mod encoding;
mod enumeration;
mod escaped_text;
pub(crate) mod evaluate;
mod exponential;
mod extension;
mod float;
mod format_text;
mod fuzzy_match;
mod hash;
mod headline_options;
mod immutability;
mod index_property;
mod integer;
mod interval;
mod joined_items;
mod json;
mod json_argument;
mod json_assignment;
mod json_build;
mod json_change;
mod json_headline;
mod json_object;
mod json_path;
mod json_path_condition;
mod json_path_item;
mod json_path_method;
mod json_path_moment;
mod json_path_object_id;
mod json_path_run;
mod json_record;
mod kept_regexes;
mod large_object;
mod lsn;
mod metaphone;
mod money;
mod network;
mod normal_form;
mod number_format;
mod number_from_char;
mod number_template;
mod number_to_char;
mod numeric;
mod numeric_builder;
mod object_definition;
mod object_id;
mod object_identity;
pub(crate) mod object_name;
mod object_name_array;
mod output;
mod partition;
pub mod pattern;
mod pattern_list;
pub(crate) mod pattern_prefix;
mod percentile;
mod postgresql_hash;
mod privilege;
mod range;
mod record;
mod regexp;
mod regions;
mod regular_automaton;
mod regular_backtracking;
mod regular_bracket;
mod regular_escape;
mod regular_expression;
mod regular_fault;
mod regular_groups;
mod regular_options;
mod regular_syntax;
mod routine;
mod routine_name;
mod row_limit;
mod row_stamp;
mod sample;
mod sent_object_name;
mod sequence;
mod server;
mod setting;
mod size;
mod size_of;
pub mod sort_key;
mod soundex;
mod standard_types;
mod statistics;
mod string;
mod system;
mod table_size;
mod text_configuration;
mod text_dictionary;
mod text_encoding;
mod text_headline;
mod text_parser;
mod text_search;
mod text_search_documents;
mod transaction_id;
mod trigonometry;
mod trigram;
mod type_name;
mod uuid;
pub mod value_array;
mod waits;
mod width_bucket;
use arrow::array::{ArrayRef, new_null_array};

/// Rows that one call of a set-returning function gives at most: they are made in memory.
const SET_ROWS_MAX: usize = 20_000_000;

pub use arithmetic::{ArithmeticOp, arithmetic_result};
pub use array::ANY_EQUAL_NAME;
pub use array::{AT_LEAST_ONE, GATHERED, ITEMS, MAKE_ARRAY, ORDINALITY, SLICE, SUBSCRIPT, quantified};
pub use array_aggregates::{
    DENSE_RANK, GREATEST_ITEM, INTERVAL_AVERAGE, INTERVAL_SUM, LEAST_ITEM, MODE, UNREPEATED,
};
pub use array_assignment::ASSIGN_PART;
pub use array_shape::array_items;
pub use batch::Batch;
pub use bound_function::BoundFunction;
pub(crate) use bound_function::bound_function_of;
pub use catalog_array::set_function;
pub use compare::{CITEXT_OF_KEY, CITEXT_WITH_KEY, FLOAT_KEY, FLOAT_OF_KEY};
pub use definition::{Body, FunctionDef, Parameter, Returns, T, Volatility};
pub use domain::DOMAIN_VALUE;
pub use exponential::square_root_at;
pub use immutability::is_immutable_cast;
pub use interval::{INTERVAL_OF_KEY, INTERVAL_WITH_KEY};
pub use joined_items::{JOIN_BYTES, JOIN_BYTES_BY_ROW, JOIN_TEXTS, JOIN_TEXTS_BY_ROW};
pub use json_record::{ROW_OF_DOCUMENT, ROWS_OF_DOCUMENT};
pub use pattern_list::quantified_pattern;
pub use percentile::{PERCENTILE_CONT, PERCENTILE_DISC};
pub use record::{FIELD, MAKE_ROW, MAKE_ROW_NAME, NULL_TEST as ROW_NULL_TEST, ROWS_OF};
pub use routine::RoutineForm;
pub(crate) use routine_name::function_by_oid;
pub use row_limit::{LimitClause, WITHIN_LIMIT, row_count};
pub use row_stamp::{ROW_STAMP, ROW_STAMP_OR_NULL};
pub use sample::{SAMPLE_CHANCE, SAMPLE_PERCENTAGE};
pub use sent_object_name::OID_OF_SENT_NAME;
pub use sequence::SEQUENCE_CALLS;
pub use server::note_server_start;
pub use sort_key::order_function;

/// A function was called with other types than its registration says: a bug in us.
fn mismatched_types() -> crate::Error {
    crate::Error::internal("a function of other types than it was planned for")
}

/// NULL in every row.
fn null(batch: &Batch) -> crate::Result<ArrayRef> {
    Ok(new_null_array(&batch.returns.arrow_type(), batch.rows))
}

/// Every function there is.
pub fn every_function() -> impl Iterator<Item = &'static FunctionDef> {
    let tables = TABLES.iter().chain(OF_EXTENSIONS);
    tables.flat_map(|table| table.iter())
}

/// Every function of this name.
pub fn functions_named(name: &str) -> impl Iterator<Item = &'static FunctionDef> {
    every_function().filter(move |row| row.name == name)
}

/// Whether an extension brings functions of this name. One that a user made goes before those of the same arguments.
pub fn is_of_extension(name: &str) -> bool {
    let mut functions = OF_EXTENSIONS.iter().flat_map(|table| table.iter());
    functions.any(|row| row.name == name)
}

/// Whether there are functions of this name, all of them bounded.
pub fn are_bounded(name: &str) -> bool {
    let mut rows = functions_named(name).peekable();
    rows.peek().is_some() && rows.all(|row| row.is_bounded)
}

/// Whether a function of this name gives a set.
pub fn is_set_returning(name: &str) -> bool {
    let gives_rows = |row: &FunctionDef| matches!(row.body, Body::Rows(_) | Body::CatalogRows(_));
    set_function(name).is_some_and(|set| !set.gives_one) || functions_named(name).any(gives_rows)
}

/// Every function name, for hints and pg_proc.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    every_function().map(|row| row.name)
}

static TABLES: &[&[FunctionDef]] = &[
    acl::FUNCTIONS,
    array::FUNCTIONS,
    backend::FUNCTIONS,
    bits::FUNCTIONS,
    standard_types::FUNCTIONS,
    bytea::FUNCTIONS,
    catalog_array::FUNCTIONS,
    datetime::FUNCTIONS,
    datetime_format::FUNCTIONS,
    datetime_period::FUNCTIONS,
    citext::FUNCTIONS,
    digest::FUNCTIONS,
    enumeration::FUNCTIONS,
    encoding::FUNCTIONS,
    escaped_text::FUNCTIONS,
    float::FUNCTIONS,
    format_text::FUNCTIONS,
    hash::FUNCTIONS,
    index_property::FUNCTIONS,
    integer::FUNCTIONS,
    interval::FUNCTIONS,
    json::FUNCTIONS,
    json_assignment::FUNCTIONS,
    json_build::FUNCTIONS,
    extension::FUNCTIONS,
    json_change::FUNCTIONS,
    json_object::FUNCTIONS,
    json_path::FUNCTIONS,
    json_path::OPERATORS,
    money::FUNCTIONS,
    normal_form::FUNCTIONS,
    number_format::FUNCTIONS,
    numeric::FUNCTIONS,
    network::FUNCTIONS,
    time_tz::FUNCTIONS,
    object_definition::FUNCTIONS,
    object_identity::FUNCTIONS,
    object_name::FUNCTIONS,
    sent_object_name::FUNCTIONS,
    object_name_array::FUNCTIONS,
    pattern::FUNCTIONS,
    range::CONSTRUCTORS.as_flattened(),
    // Before those of a range and a value: an untyped operand beside a range is a range.
    range::COMPARISONS.as_flattened(),
    range::FUNCTIONS,
    range::PARTS.as_flattened(),
    partition::FUNCTIONS,
    postgresql_hash::FUNCTIONS,
    privilege::FUNCTIONS,
    regexp::FUNCTIONS,
    row_stamp::FUNCTIONS,
    sequence::FUNCTIONS,
    server::FUNCTIONS,
    setting::FUNCTIONS,
    size_of::FUNCTIONS,
    regions::FUNCTIONS,
    statistics::FUNCTIONS,
    string::FUNCTIONS,
    system::FUNCTIONS,
    text_dictionary::FUNCTIONS,
    text_headline::FUNCTIONS,
    json_headline::OF_JSON,
    json_headline::OF_JSONB,
    text_search::FUNCTIONS,
    text_search_documents::FUNCTIONS,
    transaction_id::FUNCTIONS,
    large_object::FUNCTIONS,
    lsn::FUNCTIONS,
    trigonometry::FUNCTIONS,
    uuid::FUNCTIONS,
    waits::FUNCTIONS,
    waits::LOCKS.as_flattened(),
    width_bucket::FUNCTIONS,
];

/// Those that PostgreSQL has of extensions whose functions have names that a user may well have given.
static OF_EXTENSIONS: &[&[FunctionDef]] = &[
    counted_statements::FUNCTIONS,
    fuzzy_match::FUNCTIONS,
    text_dictionary::UNACCENT_FUNCTIONS,
    trigram::FUNCTIONS,
];

/// 54000 for a set too large to be made in memory.
fn too_many_rows() -> crate::Error {
    crate::Error::LimitExceeded {
        state: crate::error::Limit::Program,
        message: format!("a set-returning function gave more than {SET_ROWS_MAX} rows"),
        hint: "Ask for a smaller series, or join several.".to_string(),
    }
}

#[cfg(test)]
mod tests;
mod time_tz;
