//! `RelationRows`: rows of one system relation under construction, column by name, and what they are made from. Used by the files that fill relations.

use std::collections::HashMap;
use std::fmt::Display;

use arrow::array::RecordBatch;

use crate::system::StatementContext;
use crate::system::catalog_version::cells::{self, Cell};
use crate::system::catalog_version::definitions::{Definition, definition};
use crate::system::catalog_version::objects::{Objects, UserRelation};

/// What a relation is filled from.
pub(crate) struct Source<'a> {
    pub(crate) ctx: &'a StatementContext,
    pub(crate) objects: &'a Objects,
    /// How many rows tables have, by oid.
    pub(crate) row_counts: Option<&'a HashMap<u32, u64>>,
    /// The last values of sequences that have given some, by oid.
    pub(crate) last_values: Option<&'a HashMap<u32, i64>>,
}

impl Source<'_> {
    /// The relations that information_schema tells of: all but the temporary ones of other sessions.
    pub(crate) fn standard_relations(&self) -> impl Iterator<Item = &UserRelation> {
        let relations = self.objects.relations.iter();
        relations.filter(|relation| !self.ctx.is_of_another(&relation.schema))
    }

    /// How many rows a table has; 0 where nobody knows, as of a table that this transaction has made.
    pub(crate) fn live_rows(&self, oid: i64) -> Cell {
        text(self.known_count(oid).copied().unwrap_or(0))
    }

    /// pg_class.reltuples: how many rows a relation has; -1 where nobody knows.
    pub(crate) fn row_count(&self, oid: i64) -> String {
        self.known_count(oid)
            .map_or_else(|| "-1".to_string(), u64::to_string)
    }

    fn known_count(&self, oid: i64) -> Option<&u64> {
        u32::try_from(oid).ok().and_then(|oid| self.row_counts?.get(&oid))
    }
}

/// Columns that are the same in every row a file writes: name and text.
pub(crate) type Constants = &'static [(&'static str, &'static str)];

/// Rows of one relation. A column that a row does not name is NULL, unless the constants name it.
#[derive(Debug)]
pub(crate) struct RelationRows {
    definition: &'static Definition,
    template: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
}

impl RelationRows {
    /// No rows yet, of a relation of `pg_catalog` or `information_schema`.
    pub(crate) fn new(schema: &str, name: &str, constants: Constants) -> RelationRows {
        let definition = definition(schema, name).expect("the relation stands in relations.txt");
        let mut template = vec![None; definition.fields.fields().len()];
        for (column, text) in constants {
            template[definition.position(column)] = Some((*text).to_string());
        }
        RelationRows {
            definition,
            template,
            rows: Vec::new(),
        }
    }

    /// A row of `pg_depend`: an object depends on another, or on a column of it (0: on the whole), in this way. Each is named by the class
    /// that it stands in and its oid.
    pub(crate) fn depend(
        &mut self,
        (class, object): (i64, impl Display),
        (of, referenced): (i64, impl Display),
        column: impl Display,
        kind: &str,
    ) {
        self.push(&[
            ("classid", text(class)),
            ("objid", text(object)),
            ("objsubid", text(0)),
            ("refclassid", text(of)),
            ("refobjid", text(referenced)),
            ("refobjsubid", text(column)),
            ("deptype", text(kind)),
        ]);
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, cells: &[(&str, Cell)]) {
        let mut row = self.template.clone();
        for (column, cell) in cells {
            row[self.definition.position(column)].clone_from(cell);
        }
        self.rows.push(row);
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows as a batch, which are not among those that follow.
    pub(crate) fn take(&mut self) -> RecordBatch {
        let batch = self.finish();
        self.rows.clear();
        batch
    }

    /// The rows as a batch.
    pub(crate) fn finish(&self) -> RecordBatch {
        cells::batch(&self.definition.fields, &self.rows)
    }
}

/// A value as PostgreSQL prints it.
pub(crate) fn text(value: impl Display) -> Cell {
    Some(value.to_string())
}

/// `t` or `f`.
pub(crate) fn boolean(value: bool) -> Cell {
    Some(if value { "t" } else { "f" }.to_string())
}

/// `YES` or `NO`, as information_schema says it.
pub(crate) fn yes_or_no(value: bool) -> Cell {
    Some(if value { "YES" } else { "NO" }.to_string())
}

/// The numbers of an int2vector or oidvector.
pub(crate) fn vector<T: Display>(items: impl IntoIterator<Item = T>) -> Cell {
    Some(
        items
            .into_iter()
            .map(|item| item.to_string())
            .collect::<Vec<_>>()
            .join(" "),
    )
}

/// An array of any texts.
pub(crate) fn array_text(items: &[String]) -> String {
    let quoted = |item: &String| format!("\"{}\"", item.replace('\\', "\\\\").replace('"', "\\\""));
    let items: Vec<String> = items.iter().map(quoted).collect();
    format!("{{{}}}", items.join(","))
}

/// An array of any texts; NULL when there are none.
pub(crate) fn texts_or_null(items: &[String]) -> Cell {
    (!items.is_empty()).then(|| array_text(items))
}

/// An array whose elements are plain words or numbers; NULL when there are none.
pub(crate) fn array_or_null<T: Display>(items: impl IntoIterator<Item = T>) -> Cell {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    (!items.is_empty()).then(|| format!("{{{}}}", items.join(",")))
}
