//! The table a write goes to, the columns it names, and the dynamic columns it adds.

use std::sync::Arc;

use sqlparser::ast::{Ident, ObjectName, Spanned, TableFactor, TableWithJoins};

use super::named_columns::NamedColumns;
use super::transition_tables::triggers_see_rows;
use crate::catalog::{
    Access, CatalogWriter, NewDynamicColumn, Object, TableDef, TriggerEvent, is_system_schema,
    is_temporary_schema,
};
use crate::codec::row::ColumnId;
use crate::error::nearest_name;
use crate::parse::{names, text_place};
use crate::query::{RowColumn, RowRelation, view_types};
use crate::sql::column_type::{check_no_system_column, check_stored};
use crate::sql::relation::{get_relation, table};
use crate::system::{Notice, StatementContext};
use crate::types::SqlType;
use crate::{Error, Result};

/// The table of a write, as the statement names it.
#[derive(Debug, Clone)]
pub(super) struct Target {
    /// The table, without the columns that the write has nothing to do with; replaced when the write adds columns.
    pub(super) table: Arc<TableDef>,
    /// The table with all of its columns.
    whole: Arc<TableDef>,
    /// What it is narrowed to.
    named: Option<NamedColumns>,
    /// The alias, if it has one.
    pub(super) alias: Option<String>,
    /// The columns that the statement has added to it.
    pub(super) added: Vec<String>,
    /// The statement has changed what else is recorded of it.
    is_changed: bool,
    /// Whether the statement is an UPDATE.
    updates: bool,
}

/// What stands for a view in a statement that its INSTEAD OF triggers carry out; `None`: the name is of none, or it has none of them.
fn written_by_triggers(
    ctx: &StatementContext,
    name: &ObjectName,
    access: Access,
) -> Result<Option<Arc<TableDef>>> {
    let Some(event) = event_of(access) else {
        return Ok(None);
    };
    match get_relation(ctx, name, Access::Name)? {
        Some(Object::View(view)) if view.is_written_by_triggers(event) => {
            let types = view_types(ctx, view)?;
            Ok(Some(Arc::new(view.stand_in(types.into_iter()))))
        }
        _ => Ok(None),
    }
}

/// What a write fires.
fn event_of(access: Access) -> Option<TriggerEvent> {
    match access {
        Access::Insert | Access::CopyFrom => Some(TriggerEvent::Insert),
        Access::Update => Some(TriggerEvent::Update),
        Access::Delete => Some(TriggerEvent::Delete),
        _ => None,
    }
}

impl Target {
    /// A table that is written whole, without a name in a statement.
    pub(super) fn of_table(table: &Arc<TableDef>) -> Target {
        Target {
            table: Arc::clone(table),
            whole: Arc::clone(table),
            named: None,
            alias: None,
            added: Vec::new(),
            is_changed: false,
            updates: false,
        }
    }

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
        let table = match written_by_triggers(ctx, name, access)? {
            Some(view) => view,
            None => table(ctx, name, access).map_err(|error| text_place::at_error(error, name.span()))?,
        };
        Ok(Target {
            whole: Arc::clone(&table),
            table,
            named: None,
            alias: alias.map(names::fold),
            added: Vec::new(),
            is_changed: false,
            updates: access == Access::Update,
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
            TableFactor::Table { sample: Some(_), .. } => Err(Error::Syntax {
                message: "syntax error at or near \"tablesample\"".to_string(),
                position: 0,
            }),
            TableFactor::Table { version: Some(_), .. } => Err(Error::unsupported(
                "FOR SYSTEM_TIME behind the target of a write",
                Some("The past does not change: write it behind a table that the statement reads."),
            )),
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

    /// Leaves out the columns that the write has nothing to do with, of many.
    pub(super) fn narrow(&mut self, ctx: &StatementContext, named: NamedColumns) -> Result<()> {
        // Its partitions are written, or triggers see the whole row.
        let table = &self.whole;
        if table.partitioning.is_some() || table.stands_for_view() || triggers_see_rows(ctx, table)? {
            return Ok(());
        }
        self.named = (!named.take_whole_rows(self.name())).then_some(named);
        self.table = self.narrowed();
        Ok(())
    }

    fn narrowed(&self) -> Arc<TableDef> {
        match &self.named {
            Some(named) => self.whole.narrowed(|column| named.has(&column.name)),
            None => Arc::clone(&self.whole),
        }
    }

    /// Whether a column of one of these names is of the primary key, or one that such a column is computed of.
    pub(super) fn has_key_column<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> bool {
        let table = &self.whole;
        let generations = table.generations();
        let of_key = generations.filter(|(at, _)| table.is_key_column(table.columns[*at].id));
        let inputs: Vec<ColumnId> = of_key
            .flat_map(|(_, generation)| generation.inputs.clone())
            .collect();
        names.any(|name| {
            let column = table.column_index(name).map(|at| &table.columns[at]);
            column.is_some_and(|column| table.is_key_column(column.id) || inputs.contains(&column.id))
        })
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
            hidden_name: self.alias.as_ref().map(|_| self.table.name.clone()),
            columns: columns.collect(),
            dynamic_table: Some(&self.table).filter(|table| table.gets_columns()).cloned(),
            row_type: Some(Arc::new(self.table.row_type())),
            is_table: true,
        }
    }

    /// The position of a named column, or `None` for one that the write may add. Errors: 42703.
    pub(super) fn column(&self, name: &str) -> Result<Option<usize>> {
        match self.table.column_index(name) {
            Some(at) => Ok(Some(at)),
            None if self.may_add(name) => Ok(None),
            None if name == self.name() => Err(qualified_column(name, &self.whole.name)),
            None => Err(undefined_column(&self.whole, name)),
        }
    }

    /// The target of an INSERT of a MERGE, which may add what its UPDATE may not.
    pub(super) fn of_insert(&self) -> Target {
        Target {
            updates: false,
            ..self.clone()
        }
    }

    fn may_add(&self, name: &str) -> bool {
        let table = &self.whole;
        let adds_any = !self.updates || table.options.update_adds_columns;
        table.may_get_column(name) && (adds_any || table.pattern_of(name).is_some())
    }

    /// Rows that the write gives may say themselves when they are over: from now on those of the table are asked.
    pub(super) fn let_rows_expire(&mut self, ctx: &StatementContext) -> Result<()> {
        if !self.whole.options.expiry.by_row {
            let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
            self.whole = writer.let_rows_expire(&self.whole)?;
            self.table = self.narrowed();
            self.is_changed = true;
        }
        Ok(())
    }

    /// Adds columns to the table and finds their positions. Errors: 0A000 for a type that no row stores, 54011.
    pub(super) fn add_columns(&mut self, ctx: &StatementContext, new: Vec<NewDynamicColumn>) -> Result<()> {
        if !new.is_empty() {
            new.iter().try_for_each(|column| check_stored(&column.ty))?;
            new.iter()
                .try_for_each(|column| check_no_system_column(&column.name))?;
            self.added.extend(new.iter().map(|column| column.name.clone()));
            let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
            self.whole = writer.add_dynamic_columns(&self.whole, new, ctx.settings.columns_max)?;
            self.table = self.narrowed();
        }
        Ok(())
    }

    /// Adds those of the columns of these names whose types patterns of the table say.
    pub(super) fn add_columns_of_patterns<'n>(
        &mut self,
        ctx: &StatementContext,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<()> {
        let new = self.columns_of_patterns(names);
        self.add_columns(ctx, new)
    }

    /// The same for a statement that does not run: nobody else gets to know the columns.
    pub(super) fn assume_columns_of_patterns<'n>(
        &mut self,
        ctx: &StatementContext,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<()> {
        let new = self.columns_of_patterns(names);
        self.assume_columns(ctx, new)
    }

    /// Finds the positions of columns that a run would add.
    pub(super) fn assume_columns(
        &mut self,
        ctx: &StatementContext,
        new: Vec<NewDynamicColumn>,
    ) -> Result<()> {
        if !new.is_empty() {
            self.added.extend(new.iter().map(|column| column.name.clone()));
            let table = self.whole.with_dynamic_columns(new, ctx.settings.columns_max)?;
            self.whole = Arc::new(table);
            self.table = self.narrowed();
        }
        Ok(())
    }

    fn columns_of_patterns<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<NewDynamicColumn> {
        let mut new: Vec<NewDynamicColumn> = Vec::new();
        for name in names.filter(|name| self.whole.column_index(name).is_none()) {
            let Some(pattern) = self.whole.pattern_of(name) else {
                continue;
            };
            if new.iter().all(|known| known.name != name) {
                new.push(NewDynamicColumn {
                    name: name.to_string(),
                    ty: pattern.ty.clone(),
                    domain: pattern.domain.clone(),
                });
            }
        }
        new
    }

    /// Whether the statement has added columns, or changed what else is recorded of the table.
    pub(super) fn is_widened(&self) -> bool {
        !self.added.is_empty() || self.is_changed
    }

    /// Tells the client which columns the statement has added: who misspelt one must hear of it.
    pub(super) fn tell_added(&self, ctx: &StatementContext) {
        if !self.added.is_empty() {
            ctx.notice(added_columns(&self.whole, &self.added));
        }
    }
}

/// Binds a write to its table without the columns that it has nothing to do with; where it names an unknown one, to the whole table:
/// the nearest name may be that of any column.
pub(super) fn bind_narrowed<T>(
    types: &mut Vec<Option<SqlType>>,
    mut bind: impl FnMut(&mut Vec<Option<SqlType>>, bool) -> Result<T>,
) -> Result<T> {
    let known = types.clone();
    match bind(types, true) {
        Err(error) if error.is_undefined_column() => {
            *types = known;
            bind(types, false)
        }
        bound => bound,
    }
}

/// The notice that a write has added columns, with the nearest names of those that may be misspelt.
fn added_columns(table: &TableDef, added: &[String]) -> Notice {
    let mut shown: Vec<String> = added
        .iter()
        .take(ADDED_SHOWN_MAX)
        .map(|name| format!("\"{name}\""))
        .collect();
    if added.len() > shown.len() {
        shown.push(format!("{} more", added.len() - shown.len()));
    }
    let others: Vec<&str> = table
        .visible_columns()
        .map(|column| column.name.as_str())
        .collect();
    let others = || {
        others
            .iter()
            .copied()
            .filter(|name| added.iter().all(|added| added != name))
    };
    let near = added.iter().filter_map(|name| {
        let near = nearest_name(name, others().filter(|other| !differ_in_digits(name, other)))?;
        Some(format!("\"{near}\" for \"{name}\""))
    });
    let near: Vec<String> = near.take(ADDED_SHOWN_MAX).collect();
    let columns = if added.len() == 1 { "column" } else { "columns" };
    Notice {
        hint: match near.as_slice() {
            [] => None,
            near => Some(format!(
                "Perhaps you meant {}. ALTER TABLE {} DROP COLUMN takes a misspelt column away.",
                near.join(", "),
                table.name
            )),
        },
        ..Notice::new(
            "00000",
            format!(
                "new {columns} {} of relation \"{}\" added by this statement",
                shown.join(", "),
                table.name
            ),
        )
    }
}

/// So many of the columns that a statement adds are named in its notice.
const ADDED_SHOWN_MAX: usize = 10;

/// Whether the names are those of a series, `a1` and `a2`: nobody has misspelt these.
fn differ_in_digits(left: &str, right: &str) -> bool {
    let letters = |name: &str| {
        name.chars()
            .filter(|letter| !letter.is_ascii_digit())
            .collect::<String>()
    };
    left != right && letters(left) == letters(right)
}

/// The error for a column that a statement names and the table does not have.
pub(super) fn undefined_column(table: &TableDef, name: &str) -> Error {
    let nearest = nearest_name(name, table.visible_columns().map(|column| column.name.as_str()));
    let hint = match nearest {
        Some(nearest) => format!("Perhaps you meant the column \"{nearest}\"."),
        None if table.options.dynamic_columns => format!(
            "UPDATE adds no columns: name it in INSERT or UPSERT, or let UPDATE add columns, too: ALTER TABLE {} SET (dynamic_columns = 'any').",
            table.name
        ),
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
        [first, ..] => {
            let first = first.as_ident().map(names::fold).unwrap_or_default();
            Err(qualified_column(&first, table))
        }
        [] => Err(Error::internal("an empty column name")),
    }
}

/// The error for a column of `table` that stands behind what the statement calls the table.
fn qualified_column(name: &str, table: &str) -> Error {
    Error::UndefinedColumn {
        name: format!("\"{name}\" of relation \"{table}\""),
        hint: Some("SET target columns cannot be qualified with the relation name.".to_string()),
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
