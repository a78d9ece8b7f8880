//! Constraints of tables that are no indexes, as PostgreSQL's catalogs count and print them.

use crate::catalog::{Catalog, CheckConstraint, ForeignKey, ReferentialAction, TableDef};
use crate::codec::row::ColumnId;
use crate::parse::quoting::{qualified, quote_ident};

/// A CHECK or FOREIGN KEY constraint.
#[derive(Debug)]
pub(crate) struct UserConstraint {
    pub(crate) oid: i64,
    pub(crate) name: String,
    /// As `pg_get_constraintdef` prints it.
    pub(crate) definition: String,
    /// The same without parentheses that are not needed.
    pub(crate) pretty_definition: String,
    /// Attribute numbers of its columns.
    pub(crate) columns: Vec<usize>,
    pub(crate) valid: bool,
    pub(crate) comment: Option<String>,
    pub(crate) kind: ConstraintKind,
}

/// What only one kind of constraint has.
#[derive(Debug)]
pub(crate) enum ConstraintKind {
    /// CHECK.
    Check {
        /// pg_constraint.conbin, as `pg_get_expr` prints it.
        condition: String,
        no_inherit: bool,
    },
    /// FOREIGN KEY.
    ForeignKey(UserForeignKey),
}

/// What a foreign key refers to.
#[derive(Debug)]
pub(crate) struct UserForeignKey {
    /// The table.
    pub(crate) table: i64,
    /// Its columns, by attribute number.
    pub(crate) columns: Vec<usize>,
    /// The index over them.
    pub(crate) index: i64,
    pub(crate) match_full: bool,
    pub(crate) on_update: ReferentialAction,
    pub(crate) on_delete: ReferentialAction,
    /// Of the columns that ON DELETE sets where these are not all.
    pub(crate) set_columns: Vec<usize>,
    pub(crate) deferrable: bool,
    pub(crate) initially_deferred: bool,
}

impl UserConstraint {
    /// What it refers to, if it is a foreign key.
    pub(crate) fn foreign_key(&self) -> Option<&UserForeignKey> {
        match &self.kind {
            ConstraintKind::ForeignKey(key) => Some(key),
            ConstraintKind::Check { .. } => None,
        }
    }
}

/// Those of a table, by name and kind.
pub(super) fn user_constraints(catalog: &Catalog, table: &TableDef) -> Vec<UserConstraint> {
    let checks = table.checks.iter().map(|check| user_check(table, check));
    let keys = table.foreign_keys.iter();
    checks
        .chain(keys.map(|key| user_foreign_key(catalog, table, key)))
        .collect()
}

fn user_check(table: &TableDef, check: &CheckConstraint) -> UserConstraint {
    let definition = |condition: &str| {
        let no_inherit = if check.no_inherit { " NO INHERIT" } else { "" };
        format!("CHECK ({condition}){no_inherit}{}", not_valid(check.not_valid))
    };
    UserConstraint {
        oid: i64::from(check.oid),
        name: check.name.clone(),
        definition: definition(&check.text),
        pretty_definition: definition(&check.pretty_text),
        columns: attributes(table, &check.columns),
        valid: !check.not_valid,
        comment: check.comment.clone(),
        kind: ConstraintKind::Check {
            condition: check.text.clone(),
            no_inherit: check.no_inherit,
        },
    }
}

fn user_foreign_key(catalog: &Catalog, table: &TableDef, key: &ForeignKey) -> UserConstraint {
    let referenced = catalog.table_by_oid(key.table);
    let (relation, columns, others) = match referenced {
        Some(referenced) => (
            qualified(&referenced.schema, &referenced.name),
            attributes(referenced, &key.referenced),
            names(referenced, &key.referenced),
        ),
        None => (key.table.to_string(), Vec::new(), String::new()),
    };
    let match_full = if key.match_full { " MATCH FULL" } else { "" };
    let definition = format!(
        "FOREIGN KEY ({}) REFERENCES {relation}({others}){match_full}{}{}{}{}{}{}",
        names(table, &key.columns),
        action("UPDATE", key.on_update),
        action("DELETE", key.on_delete),
        match key.set_columns.is_empty() {
            true => String::new(),
            false => format!(" ({})", names(table, &key.set_columns)),
        },
        if key.deferrable { " DEFERRABLE" } else { "" },
        if key.initially_deferred {
            " INITIALLY DEFERRED"
        } else {
            ""
        },
        not_valid(key.not_valid)
    );
    UserConstraint {
        oid: i64::from(key.oid),
        name: key.name.clone(),
        pretty_definition: definition.clone(),
        definition,
        columns: attributes(table, &key.columns),
        valid: !key.not_valid,
        comment: key.comment.clone(),
        kind: ConstraintKind::ForeignKey(UserForeignKey {
            table: i64::from(key.table),
            columns,
            index: i64::from(key.key),
            match_full: key.match_full,
            on_update: key.on_update,
            on_delete: key.on_delete,
            set_columns: attributes(table, &key.set_columns),
            deferrable: key.deferrable,
            initially_deferred: key.initially_deferred,
        }),
    }
}

fn not_valid(not_valid: bool) -> &'static str {
    if not_valid { " NOT VALID" } else { "" }
}

fn action(event: &str, action: ReferentialAction) -> String {
    match action {
        ReferentialAction::NoAction => String::new(),
        action => format!(" ON {event} {}", action_words(action)),
    }
}

/// An action as SQL has it.
pub(crate) fn action_words(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "NO ACTION",
        ReferentialAction::Restrict => "RESTRICT",
        ReferentialAction::Cascade => "CASCADE",
        ReferentialAction::SetNull => "SET NULL",
        ReferentialAction::SetDefault => "SET DEFAULT",
    }
}

/// Attribute numbers.
fn attributes(table: &TableDef, ids: &[ColumnId]) -> Vec<usize> {
    let position = |id: &ColumnId| table.visible_columns().position(|column| column.id == *id);
    ids.iter().filter_map(|id| Some(position(id)? + 1)).collect()
}

fn names(table: &TableDef, ids: &[ColumnId]) -> String {
    let names = ids.iter().filter_map(|id| {
        let column = table.columns.get(table.column_index_by_id(*id)?)?;
        Some(quote_ident(&column.name))
    });
    names.collect::<Vec<_>>().join(", ")
}
