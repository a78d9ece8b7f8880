//! The table a write goes to, the columns it names, and the dynamic columns it adds.

use std::sync::Arc;

use sqlparser::ast::{Ident, ObjectName, Spanned, TableFactor, TableWithJoins};

use crate::catalog::{
    Access, CatalogWriter, NewDynamicColumn, TableDef, is_system_schema, is_temporary_schema,
};
use crate::error::nearest_name;
use crate::parse::{names, text_place};
use crate::query::{RowColumn, RowRelation};
use crate::sql::column_type::check_stored;
use crate::sql::relation::table;
use crate::system::StatementContext;
use crate::types::SqlType;
use crate::{Error, Result};

/// The table of a write, as the statement names it.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The table; replaced when the write adds columns.
    pub(super) table: Arc<TableDef>,
    /// The alias, if it has one.
    pub(super) alias: Option<String>,
    /// The statement has added columns to it.
    pub(super) is_widened: bool,
}

impl Target {
    /// The table of this name, for `access`. Errors: 42P01, 42809, 0A000 for a view, 42501.
    pub(super) fn find(
        ctx: &StatementContext,
        name: &ObjectName,
        alias: Option<&Ident>,
        access: Access,
    ) -> Result<Target> {
        let (schema, plain_name) = names::relation_name(name)?;
        let schema = schema.as_deref().map(|schema| ctx.settings.schema_meant(schema));
        let is_of_system = |schema: &&str| is_system_schema(schema) && !is_temporary_schema(schema);
        if let Some(schema) = schema.filter(is_of_system) {
            return Err(Error::NotAllowed {
                message: format!("\"{schema}.{plain_name}\" is a system catalog"),
            });
        }
        let table = table(ctx, name, access).map_err(|error| text_place::at_error(error, name.span()))?;
        Ok(Target {
            table,
            alias: alias.map(names::fold),
            is_widened: false,
        })
    }

    /// The table that UPDATE or DELETE FROM names. Errors: as `find`, 0A000 for anything but a table.
    pub(super) fn of_factor(
        ctx: &StatementContext,
        table: &TableWithJoins,
        access: Access,
    ) -> Result<Target> {
        if !table.joins.is_empty() {
            return Err(Error::unsupported(
                "a join as the target of a write",
                Some("Use FROM or USING."),
            ));
        }
        Target::of_relation(ctx, &table.relation, access)
    }

    /// The table that MERGE INTO names. Errors: as `of_factor`.
    pub(super) fn of_relation(
        ctx: &StatementContext,
        relation: &TableFactor,
        access: Access,
    ) -> Result<Target> {
        match relation {
            TableFactor::Table {
                alias: Some(alias), ..
            } if !alias.columns.is_empty() => Err(Error::Syntax {
                message: "syntax error at or near \"(\"".to_string(),
                position: 0,
            }),
            TableFactor::Table {
                name,
                alias,
                args: None,
                with_ordinality: false,
                ..
            } => Target::find(ctx, name, alias.as_ref().map(|alias| &alias.name), access),
            other => Err(Error::unsupported(
                format!("{other} as the target of a write"),
                None,
            )),
        }
    }

    /// The name that expressions know the table by.
    pub(super) fn name(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.table.name)
    }

    /// Its rows as expressions see them.
    pub(super) fn relation(&self) -> RowRelation {
        let columns = self.table.visible_columns().map(|column| RowColumn {
            name: column.name.clone(),
            ty: column.ty.clone(),
            origin: Some((self.table.oid(), column.id as i16)),
        });
        RowRelation {
            name: self.name().to_string(),
            schema: self.alias.is_none().then(|| self.table.schema.clone()),
            columns: columns.collect(),
        }
    }

    /// The position of a named column, or `None` for one that the write may add. Errors: 42703.
    pub(super) fn column(&self, name: &str) -> Result<Option<usize>> {
        match self.table.column_index(name) {
            Some(at) => Ok(Some(at)),
            None if self.table.options.dynamic_columns => Ok(None),
            None => Err(undefined_column(&self.table, name)),
        }
    }

    /// Adds columns to the table and finds their positions. Errors: 0A000 for a type that no row stores.
    pub(super) fn add_columns(&mut self, ctx: &StatementContext, new: Vec<NewDynamicColumn>) -> Result<()> {
        if !new.is_empty() {
            new.iter().try_for_each(|column| check_stored(&column.ty))?;
            let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
            self.table = writer.add_dynamic_columns(&self.table, new)?;
            self.is_widened = true;
        }
        Ok(())
    }
}

/// The error for a column that a statement names and the table does not have.
pub(super) fn undefined_column(table: &TableDef, name: &str) -> Error {
    let nearest = nearest_name(name, table.visible_columns().map(|column| column.name.as_str()));
    let hint = match nearest {
        Some(nearest) => format!("Perhaps you meant the column \"{nearest}\"."),
        None => format!(
            "Add it with ALTER TABLE {} ADD COLUMN, or let writes add columns: ALTER TABLE {} SET (dynamic_columns = true).",
            table.name, table.name
        ),
    };
    Error::UndefinedColumn {
        name: format!("\"{name}\" of relation \"{}\"", table.name),
        hint: Some(hint),
    }
}

/// The name of a column in an INSERT list or a SET clause of `table`. Errors: 42703 for a qualified name.
pub(super) fn column_name(name: &ObjectName, table: &str) -> Result<String> {
    match name.0.as_slice() {
        [part] => Ok(part.as_ident().map(names::fold).unwrap_or_default()),
        [first, ..] => Err(Error::UndefinedColumn {
            name: format!(
                "\"{}\" of relation \"{table}\"",
                first.as_ident().map(names::fold).unwrap_or_default()
            ),
            hint: Some("SET target columns cannot be qualified with the relation name.".to_string()),
        }),
        [] => Err(Error::internal("an empty column name")),
    }
}

/// The type of a dynamic column that an expression of this type is the first to write; `None` when it decides nothing.
pub(super) fn dynamic_type_of(ty: &SqlType) -> Option<SqlType> {
    match ty {
        SqlType::Void => None,
        SqlType::Unknown | SqlType::Name | SqlType::InternalChar | SqlType::Char(None) => Some(SqlType::Text),
        SqlType::Numeric(None) => Some(SqlType::Float8),
        SqlType::Oid | SqlType::Regclass => Some(SqlType::Int8),
        ty => Some(ty.clone()),
    }
}
