//! What the system catalogs look like: every relation of `pg_catalog` and `information_schema` with its columns, and
//! the rows that every PostgreSQL 15 database has. Both are text files (`postgres15/`, written by `generate.py` there);
//! this file reads them, once. Used by the rest of `pg_catalog`; knows nothing of Keyspan's own catalog.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema, SchemaRef};

use super::cells;
use crate::types::{SqlType, TYPES};

/// The oid of schema pg_catalog.
pub(crate) const PG_CATALOG_OID: i64 = 11;

/// One system relation.
#[derive(Debug)]
pub(crate) struct Definition {
    /// pg_class.oid, PostgreSQL's.
    pub(crate) oid: i64,
    /// `pg_catalog`, `information_schema` or `keyspan`.
    pub(crate) schema: &'static str,
    /// Its name.
    pub(crate) name: &'static str,
    /// Its name with its schema's.
    pub(crate) full_name: &'static str,
    /// Its columns as fields.
    pub(crate) fields: SchemaRef,
    column_positions: HashMap<&'static str, usize>,
    static_rows: OnceLock<RecordBatch>,
}

impl Definition {
    /// The position of a column. It is a bug to ask for one that does not exist.
    pub(crate) fn position(&self, column: &str) -> usize {
        *self
            .column_positions
            .get(column)
            .expect("the column stands in relations.txt")
    }

    /// The rows that every database has (none for most relations).
    pub(crate) fn static_rows(&self) -> &RecordBatch {
        self.static_rows.get_or_init(|| {
            let rows = static_cells(self.schema, self.name);
            cells::batch(&self.fields, &rows)
        })
    }
}

/// The definition of a system relation.
pub(crate) fn definition(schema: &str, name: &str) -> Option<&'static Definition> {
    DEFINITIONS
        .by_name
        .get(&(schema, name))
        .map(|position| &DEFINITIONS.list[*position])
}

/// All system relations, those of pg_catalog first.
pub(crate) fn definitions() -> &'static [Definition] {
    &DEFINITIONS.list
}

/// The cells of the rows that every database has, in the order of the relation's columns.
pub(crate) fn static_cells(schema: &str, name: &str) -> Vec<Vec<Option<String>>> {
    STATIC_TEXT
        .get(format!("{schema}.{name}").as_str())
        .map_or_else(Vec::new, |text| read_rows(text))
}

struct Definitions {
    list: Vec<Definition>,
    by_name: HashMap<(&'static str, &'static str), usize>,
}

static DEFINITIONS: LazyLock<Definitions> = LazyLock::new(|| {
    let of_postgres = include_str!("postgres15/relations.txt").lines();
    let list: Vec<Definition> = of_postgres
        .chain(include_str!("keyspan_relations.txt").lines())
        .filter_map(read_definition)
        .collect();
    let by_name = list
        .iter()
        .enumerate()
        .map(|(position, d)| ((d.schema, d.name), position))
        .collect();
    Definitions { list, by_name }
});

static STATIC_TEXT: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    include_str!("postgres15/rows.txt")
        .split("\n# ")
        .filter_map(|section| section.trim_start_matches("# ").split_once('\n'))
        .collect()
});

/// `1259 r pg_catalog.pg_class oid=oid relname=name …`
fn read_definition(line: &'static str) -> Option<Definition> {
    let mut words = line.split(' ');
    let oid = words.next()?.parse().ok()?;
    let _kind = words.next()?;
    let full_name = words.next()?;
    let (schema, name) = full_name.split_once('.')?;
    let mut fields = Vec::new();
    let mut column_positions = HashMap::new();
    for (position, column) in words.enumerate() {
        let (column, ty) = column.split_once('=')?;
        column_positions.insert(column, position);
        fields.push(catalog_field(column, ty));
    }
    let fields = Arc::new(Schema::new(fields));
    Some(Definition {
        oid,
        schema,
        name,
        full_name,
        fields,
        column_positions,
        static_rows: OnceLock::new(),
    })
}

/// The field of a column whose type is given by its name in pg_type, with a modifier behind a colon.
fn catalog_field(column: &str, ty: &str) -> Field {
    let (name, modifier) = match ty.split_once(':') {
        Some((name, modifier)) => (name, modifier.parse().unwrap_or(-1)),
        None => (ty, -1),
    };
    type_by_catalog_name(name, modifier).field(column, true)
}

/// The type whose pg_type.typname is `name`. Types that only catalogs have and no client reads (statistics, node
/// trees we do not know) are text.
pub(crate) fn type_by_catalog_name(name: &str, modifier: i32) -> SqlType {
    let find = |name: &str| TYPES.iter().find(|row| row.catalog_name == name);
    match find(name) {
        Some(row) => SqlType::from_oid(row.oid, modifier).unwrap_or(SqlType::Text),
        None => match name.strip_prefix('_').and_then(find) {
            Some(row) => SqlType::array(row.ty.clone()),
            None => SqlType::Text,
        },
    }
}

/// Splits a section of `rows.txt` into cells: `\N` is NULL, `=` repeats the cell above.
fn read_rows(text: &str) -> Vec<Vec<Option<String>>> {
    let mut rows: Vec<Vec<Option<String>>> = Vec::new();
    for line in text.lines() {
        let row = line
            .split('\t')
            .enumerate()
            .map(|(position, cell)| match cell {
                "=" => rows
                    .last()
                    .and_then(|above| above.get(position).cloned())
                    .flatten(),
                "\\N" => None,
                cell => Some(unescape(cell)),
            })
            .collect();
        rows.push(row);
    }
    rows
}

/// Undoes the escapes of COPY's text format.
fn unescape(cell: &str) -> String {
    if !cell.contains('\\') {
        return cell.to_string();
    }
    let mut out = String::with_capacity(cell.len());
    let mut chars = cell.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some('r') => out.push('\r'),
                Some('b') => out.push('\u{8}'),
                Some('f') => out.push('\u{c}'),
                Some('v') => out.push('\u{b}'),
                Some(other) => out.push(other),
                None => {}
            },
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_static_row_has_its_relations_columns() {
        let mut rows = 0;
        for definition in definitions() {
            let batch = definition.static_rows();
            assert_eq!(
                batch.num_columns(),
                definition.fields.fields().len(),
                "{}",
                definition.name
            );
            for row in static_cells(definition.schema, definition.name) {
                assert_eq!(row.len(), batch.num_columns(), "{}: {row:?}", definition.name);
            }
            rows += batch.num_rows();
        }
        assert!(rows > 15_000, "{rows} rows");
    }

    #[test]
    fn a_repeated_cell_is_the_one_above_and_escapes_are_undone() {
        let rows = read_rows("1\t\\N\t\\=\n2\t=\ta\\tb\n3\t=\t=");
        let text = |cell: &str| Some(cell.to_string());
        assert_eq!(rows[0], [text("1"), None, text("=")]);
        assert_eq!(rows[1], [text("2"), None, text("a\tb")]);
        assert_eq!(rows[2], [text("3"), None, text("a\tb")]);
    }
}
