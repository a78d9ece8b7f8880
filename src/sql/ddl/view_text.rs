//! The texts of views, and the bodies of functions that are read where they are made, which name what they read: when that gets another
//! name, they are written anew so that they mean what they did. A relation in FROM keeps the alias that it had, `FROM "public"."u" AS "t"`, and the names of its columns,
//! `FROM (SELECT "new" AS "a", "b" AS "b" FROM "public"."t") AS "t"`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{
    self, Expr, Ident, ObjectName, ObjectNamePart, Query, SetExpr, Statement, TableAlias,
    TableAliasWithoutColumns, TableFactor, TableObject, Visitor, VisitorMut,
};

use super::body_text;
use super::column_views;
use super::printed_rename::{NewNames, with_new_names};
use crate::catalog::{
    Access, BodyKind, CatalogWriter, Language, Relation, RelationName, RoutineDef, TableDef, ViewDef,
};
use crate::parse::names;
use crate::parse::walk::{Walk, WalkMut};
use crate::parse::with_write::has_writes;
use crate::parse::{mentions_word, parse_query};
use crate::system::StatementContext;
use crate::{Error, Result};

/// A relation under the names that it had and those that it gets.
struct Renamed<'a> {
    oid: u32,
    old: (&'a str, &'a str),
    new: (&'a str, &'a str),
    /// The new names of its columns, each with the old one, if one of them changes.
    columns: Option<Vec<(&'a str, &'a str)>>,
}

/// Lets the views that read a table follow its new names.
pub(super) fn follow(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    old: &TableDef,
    new: &TableDef,
) -> Result<()> {
    let columns: Vec<(&str, &str)> = old
        .visible_columns()
        .filter_map(|column| {
            let kept = new.columns.iter().find(|kept| kept.id == column.id)?;
            Some((kept.name.as_str(), column.name.as_str()))
        })
        .collect();
    let is_renamed = columns.iter().any(|(new, old)| new != old);
    if is_renamed && (&old.schema, &old.name) == (&new.schema, &new.name) {
        return follow_columns(ctx, writer, old, columns);
    }
    let renamed = Renamed {
        oid: old.oid,
        old: (&old.schema, &old.name),
        new: (&new.schema, &new.name),
        columns: is_renamed.then_some(columns),
    };
    renamed.rewrite_views(ctx, writer)
}

/// The same of columns alone, each with the new name and the old one: a view that names none of them by either is as it was.
fn follow_columns(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    table: &TableDef,
    columns: Vec<(&str, &str)>,
) -> Result<()> {
    let changed: Vec<(&str, &str)> = columns.iter().copied().filter(|(new, old)| new != old).collect();
    let mut users = BTreeSet::new();
    for (_, old) in &changed {
        let id = table.column_index(old).map(|at| table.columns[at].id);
        let using = id.map(|id| column_views::of_column(ctx, table, id));
        users.extend(using.into_iter().flatten().map(Relation::oid));
    }
    let names_new = |view: &&Relation| {
        let text = view.query().map_or("", |(text, _)| text);
        mentions_word(text, "natural") || changed.iter().any(|(new, _)| mentions_word(text, new))
    };
    let renamed = Renamed {
        oid: table.oid,
        old: (&table.schema, &table.name),
        new: (&table.schema, &table.name),
        columns: Some(columns),
    };
    writer.guard_dependents(table.oid);
    let reading = ctx.catalog.queries_reading(table.oid);
    for view in reading.filter(|view| users.contains(&view.oid()) || names_new(view)) {
        writer.put_query(&renamed.written_into(ctx, view)?)?;
    }
    renamed.rewrite_bodies(ctx, writer)
}

/// Lets the views that read a view follow its new names.
pub(super) fn follow_view(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    old: &ViewDef,
    new: &ViewDef,
) -> Result<()> {
    let pairs = new.columns.iter().zip(&old.columns);
    let columns: Vec<(&str, &str)> = pairs
        .map(|((new, _), (old, _))| (new.as_str(), old.as_str()))
        .collect();
    let is_renamed = columns.iter().any(|(new, old)| new != old);
    let renamed = Renamed {
        oid: old.oid(),
        old: (&old.schema, &old.name),
        new: (&new.schema, &new.name),
        columns: is_renamed.then_some(columns),
    };
    renamed.rewrite_views(ctx, writer)
}

/// A view, or any relation, whose query names what is moved by its new schema.
pub(super) fn pinned(
    ctx: &StatementContext,
    relation: &Relation,
    moved: &[&Relation],
    schema: &str,
) -> Result<Relation> {
    let mut pinned = relation.clone();
    for moved in moved
        .iter()
        .filter(|moved| relation.reads().contains(&moved.oid()))
    {
        let renamed = Renamed {
            oid: moved.oid(),
            old: (moved.schema(), moved.name()),
            new: (schema, moved.name()),
            columns: None,
        };
        pinned = renamed.written_into(ctx, &pinned)?;
    }
    Ok(pinned)
}

/// The text of a view whose columns get other names.
pub(super) fn with_names<'a>(query: &str, old: &[String], new: impl Iterator<Item = &'a str>) -> String {
    let quoted = |name: &str| Ident::with_quote('"', name).to_string();
    let items: Vec<_> = old
        .iter()
        .zip(new)
        .map(|(old, new)| format!("{} AS {}", quoted(old), quoted(new)))
        .collect();
    format!("SELECT {} FROM ({query}) AS \"view\"", items.join(", "))
}

impl Renamed<'_> {
    fn rewrite_views(&self, ctx: &StatementContext, writer: &CatalogWriter<'_>) -> Result<()> {
        if self.old == self.new && self.columns.is_none() {
            return Ok(());
        }
        // Nor may anybody be creating a view of it under the old names.
        writer.guard_dependents(self.oid);
        for view in ctx.catalog.queries_reading(self.oid) {
            writer.put_query(&self.written_into(ctx, view)?)?;
        }
        self.rewrite_bodies(ctx, writer)
    }

    /// Errors: 0A000 for a body that cannot follow.
    fn rewrite_bodies(&self, ctx: &StatementContext, writer: &CatalogWriter<'_>) -> Result<()> {
        let routines = ctx.catalog.routines.iter();
        let is_read = |routine: &&Arc<RoutineDef>| {
            routine.language == Language::Sql && routine.body_kind != BodyKind::Text
        };
        let naming = routines.filter(|routine| routine.depends_on.contains(&self.oid));
        for routine in naming.filter(is_read) {
            let changed = body_text::with_changed(routine, |tree| {
                match only_reads(tree) || !self.renames_word_of(tree) {
                    true => self.write_into(ctx, tree, &routine.search_path),
                    // The target of a write cannot have its columns under other names.
                    false => return Err(body_text::cannot_follow(routine)),
                }
                Ok(())
            })?;
            if changed.body != routine.body {
                writer.put_routine(&changed)?;
            }
        }
        Ok(())
    }

    /// Whether a statement may name one of the columns that get other names.
    fn renames_word_of(&self, tree: &Statement) -> bool {
        let text = tree.to_string();
        let changed = self.columns.iter().flatten().filter(|(new, old)| new != old);
        changed.copied().any(|(_, old)| mentions_word(&text, old))
    }

    /// Writes the new names into a statement that is read along a path.
    fn write_into(&self, ctx: &StatementContext, tree: &mut Statement, search_path: &[String]) {
        let only_reads = only_reads(tree);
        let ctes = ctes_of(tree);
        let _ = tree.walk_mut(&mut Pin {
            ctx,
            renamed: self,
            columns: self.columns.as_deref().filter(|_| only_reads),
            search_path,
            ctes,
        });
    }

    /// A view whose query names it anew.
    fn written_into(&self, ctx: &StatementContext, view: &Relation) -> Result<Relation> {
        let Some((text, search_path)) = view.query() else {
            return Ok(view.clone());
        };
        let names = NewNames {
            old: self.old,
            new: self.new,
            columns: self.columns.as_deref().unwrap_or_default(),
        };
        if let Some(printed) = view.printed().and_then(|printed| with_new_names(printed, &names)) {
            return Ok(view.with_printed(printed));
        }
        let mut query = parse_query(text).map_err(|error| Error::Corrupt {
            what: format!("view \"{}\"", view.name()),
            reason: error.to_string(),
        })?;
        let mut pin = Pin {
            ctx,
            renamed: self,
            columns: self.columns.as_deref(),
            search_path,
            ctes: ctes_of(&query),
        };
        let _ = query.walk_mut(&mut pin);
        Ok(view.with_query(query.to_string()))
    }

    /// The new one.
    fn name(&self) -> ObjectName {
        let (schema, name) = self.new;
        let part = |name: &str| ObjectNamePart::Identifier(Ident::with_quote('"', name));
        ObjectName(vec![part(schema), part(name)])
    }

    fn alias(&self) -> TableAlias {
        TableAlias {
            explicit: true,
            name: Ident::with_quote('"', self.old.1),
            columns: Vec::new(),
            at: None,
        }
    }
}

fn only_reads(tree: &Statement) -> bool {
    matches!(tree, Statement::Query(query) if !has_writes(query))
}

/// The names of the WITH clauses, which hide relations.
fn ctes_of(tree: &impl Walk) -> BTreeSet<String> {
    struct Ctes(BTreeSet<String>);
    impl Visitor for Ctes {
        type Break = ();
        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
            self.0.extend(ctes.map(|cte| names::fold(&cte.alias.name)));
            ControlFlow::Continue(())
        }
    }
    let mut ctes = Ctes(BTreeSet::new());
    let _ = tree.walk(&mut ctes);
    ctes.0
}

/// Writes the new name, under the old one as an alias.
struct Pin<'a> {
    ctx: &'a StatementContext,
    renamed: &'a Renamed<'a>,
    /// See there.
    columns: Option<&'a [(&'a str, &'a str)]>,
    search_path: &'a [String],
    ctes: BTreeSet<String>,
}

impl VisitorMut for Pin<'_> {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<()> {
        if let Statement::Insert(insert) = statement
            && let TableObject::TableName(name) = &mut insert.table
            && self.means_renamed(name)
        {
            *name = self.renamed.name();
            let alias = self.renamed.alias();
            insert.table_alias.get_or_insert(TableAliasWithoutColumns {
                explicit: alias.explicit,
                alias: alias.name,
            });
        }
        ControlFlow::Continue(())
    }

    /// Once what it holds is visited: what takes its place names the relation again.
    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = factor
        else {
            return ControlFlow::Continue(());
        };
        if !self.means_renamed(name) {
            return ControlFlow::Continue(());
        }
        let pinned = alias.take().unwrap_or_else(|| self.renamed.alias());
        *name = self.renamed.name();
        if let Some(derived) = self.columns.and_then(|columns| derived(factor, columns)) {
            *factor = derived;
        }
        if let TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } = factor {
            *alias = Some(pinned);
        }
        ControlFlow::Continue(())
    }

    /// `public.t.a`: the alias has no schema.
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [schema, table, _] = parts.as_slice()
            && (names::fold(schema).as_str(), names::fold(table).as_str()) == self.renamed.old
        {
            parts.remove(0);
        }
        ControlFlow::Continue(())
    }
}

/// The relation with its columns under the old names.
fn derived(relation: &TableFactor, columns: &[(&str, &str)]) -> Option<TableFactor> {
    let quoted = |name: &str| Ident::with_quote('"', name).to_string();
    let items: Vec<String> = columns
        .iter()
        .map(|(new, old)| format!("{} AS {}", quoted(new), quoted(old)))
        .collect();
    let text = format!("SELECT 1 FROM (SELECT {} FROM {relation}) AS t", items.join(", "));
    let query = parse_query(&text).ok()?;
    let SetExpr::Select(mut select) = *query.body else {
        return None;
    };
    Some(select.from.pop()?.relation)
}

impl Pin<'_> {
    fn means_renamed(&self, name: &ast::ObjectName) -> bool {
        let Ok((schema, name)) = names::relation_name(name) else {
            return false;
        };
        let is_cte = schema.is_none() && self.ctes.contains(&name);
        let name = RelationName {
            schema: schema.as_deref(),
            name: &name,
            search_path: self.search_path,
        };
        let found = self.ctx.catalog.get_relation(name, Access::Name);
        !is_cte && matches!(found, Ok(Some(object)) if object.oid() == self.renamed.oid)
    }
}
