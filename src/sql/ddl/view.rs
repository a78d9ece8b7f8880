//! CREATE [OR REPLACE] VIEW. A view is kept as text that needs nothing but itself: `*` and renamed columns are spelled
//! out, so that columns added to its tables later do not change it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use sqlparser::ast::{self, CreateView, Ident, Query, SelectItem, Visitor};

use super::new_relation::{NewRelation, make_schema};
use super::{notice, view_options};
use crate::catalog::{
    Access, CatalogWriter, Object, PrintedQuery, RelationName, ViewDef, is_temporary_schema, lasting_path,
    stored_name,
};
use crate::error::{DuplicateKind, StatementFault};
use crate::parse::definition::Persistence;
use crate::parse::row_expansion::row_expanded;
use crate::parse::row_locks::without_row_locks;
use crate::parse::walk::Walk;
use crate::parse::with_write::{has_writes, with_writes};
use crate::parse::{names, parse_query};
use crate::query;
use crate::scan::OutputColumn;
use crate::sql::dml;
use crate::sql::relation::get_relation;
use crate::system::StatementContext;
use crate::types::SqlType;
use crate::{Error, Result};

/// Runs CREATE VIEW.
pub(super) async fn create(ctx: &StatementContext, create: &CreateView) -> Result<String> {
    let reads = relations_read(ctx, &create.query);
    let NewRelation { schema, name } = new_view(ctx, create, &reads)?;
    let existing = RelationName::in_schema(&schema, &name);
    let access = match create.or_replace {
        true => Access::Replace,
        false => Access::Name,
    };
    let replaced = match ctx.catalog.get_relation(existing, access)? {
        None => None,
        Some(Object::View(view)) if create.or_replace => Some(view),
        Some(_) if create.if_not_exists => {
            notice(
                ctx,
                "42P07",
                format!("relation \"{name}\" already exists, skipping"),
                None,
            );
            return Ok("CREATE VIEW".to_string());
        }
        Some(_) => {
            return Err(Error::Duplicate {
                kind: DuplicateKind::Relation,
                name,
            });
        }
    };
    if has_writes(&create.query) {
        return Err(with_writes("views"));
    }
    refuse_only(ctx, &reads)?;
    let planned = query::plan_query(ctx, &create.query, &[])?;
    let column_names = output_names(create, &planned.columns)?;
    let columns: Vec<(String, String)> = column_names
        .iter()
        .zip(&planned.columns)
        .map(|(name, output)| (name.clone(), stored_name(&view_type(&output.shown_type()))))
        .collect();
    if let Some(replaced) = replaced {
        check_replacement(replaced, &columns)?;
    }
    let options = view_options::read(ctx, &create.options, &create.query)?;
    let shows = dml::shown_relation(ctx, &create.query, &ctx.settings.search_path)?;
    let (query, printed) = stored_texts(ctx, &create.query, (&planned.columns, &column_names))?;
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    make_schema(ctx, &writer, &schema).await?;
    writer.put_view(&ViewDef {
        id: match replaced {
            Some(view) => view.id,
            None => ctx.sequences.object_ids().take().await?,
        },
        version: 0,
        columns,
        query,
        printed,
        search_path: match is_temporary_schema(&schema) {
            true => ctx.settings.search_path.clone(),
            false => lasting_path(&ctx.settings.search_path),
        },
        comment: replaced.and_then(|view| view.comment.clone()),
        column_comments: replaced.map_or_else(BTreeMap::new, |view| view.column_comments.clone()),
        depends_on: reads,
        options,
        shows,
        triggers: replaced.map_or_else(Vec::new, |view| view.triggers.clone()),
        schema,
        name,
    })?;
    Ok("CREATE VIEW".to_string())
}

/// What CREATE VIEW names: a view of what is temporary is so itself. Errors: as [`NewRelation::of`].
fn new_view(ctx: &StatementContext, create: &CreateView, reads: &[u32]) -> Result<NewRelation> {
    let is_said = create.temporary;
    let reads_temporary = reads_temporary(ctx, reads);
    if reads_temporary && !is_said {
        let (_, name) = names::relation_name(&create.name)?;
        let message = format!("view \"{name}\" will be a temporary view");
        notice(ctx, "00000", message, None);
    }
    let persistence = match is_said || reads_temporary {
        true => Persistence::Temporary,
        false => Persistence::Permanent,
    };
    NewRelation::of(ctx, &create.name, persistence)
}

/// What is kept of a definition does not say ONLY, which matters to partitioned tables alone. Errors: 0A000 for one that does.
pub(super) fn refuse_only(ctx: &StatementContext, reads: &[u32]) -> Result<()> {
    let is_partitioned = |oid: &u32| {
        ctx.table_by_oid(*oid)
            .is_some_and(|table| table.partitioning.is_some())
    };
    match !ctx.hints.only.is_empty() && reads.iter().any(is_partitioned) {
        true => Err(Error::unsupported(
            "a view with ONLY over partitioned tables",
            Some("Leave ONLY out, or read the partitions: a partitioned table has no rows of its own."),
        )),
        false => Ok(()),
    }
}

/// Whether one of these relations is temporary.
pub(super) fn reads_temporary(ctx: &StatementContext, reads: &[u32]) -> bool {
    let mut relations = ctx.catalog.relations.iter();
    relations.any(|relation| reads.contains(&relation.oid()) && is_temporary_schema(relation.schema()))
}

/// The names of the view's columns: the list given, then the query's own. Errors: 42601, 42701.
fn output_names(create: &CreateView, columns: &[OutputColumn]) -> Result<Vec<String>> {
    if create.columns.len() > columns.len() {
        return Err(Error::InvalidStatement {
            state: StatementFault::Syntax,
            message: "CREATE VIEW specifies more column names than columns".to_string(),
            hint: None,
        });
    }
    let given = create.columns.iter().map(|column| names::fold(&column.name));
    let own = columns
        .iter()
        .skip(create.columns.len())
        .map(|column| column.name.clone());
    let names: Vec<String> = given.chain(own).collect();
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| !seen.insert(*name)) {
        Some(name) => Err(Error::DuplicateColumn { name: name.clone() }),
        None => Ok(names),
    }
}

/// A literal of undecided type is text in a view, as in PostgreSQL.
fn view_type(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Unknown | SqlType::Void => SqlType::Text,
        ty => ty.clone(),
    }
}

/// What CREATE OR REPLACE may not change (42P16).
fn check_replacement(old: &ViewDef, new: &[(String, String)]) -> Result<()> {
    let fault = |message: String| {
        let hint = Some("Use DROP VIEW first to change the columns of a view.".to_string());
        Err(Error::InvalidStatement {
            state: StatementFault::InvalidTableDefinition,
            message,
            hint,
        })
    };
    if new.len() < old.columns.len() {
        return fault("cannot drop columns from view".to_string());
    }
    for ((old_name, old_type), (new_name, new_type)) in old.columns.iter().zip(new) {
        if old_name != new_name {
            return fault(format!(
                "cannot change name of view column \"{old_name}\" to \"{new_name}\""
            ));
        }
        if old_type != new_type {
            return fault(format!(
                "cannot change data type of view column \"{old_name}\" from {old_type} to {new_type}"
            ));
        }
    }
    Ok(())
}

/// What is kept of a query: its text, in which literals mean the same to every session, and that which the catalogs show. Errors: as
/// [`stored_query`].
pub(super) fn stored_texts(
    ctx: &StatementContext,
    query: &Query,
    (columns, names): (&[OutputColumn], &[String]),
) -> Result<(String, Option<PrintedQuery>)> {
    let query = query::pinned_query(ctx, query, (columns, names));
    let printed = query::query_text(ctx, &query, (columns, names));
    let stored = match &printed {
        // What is printed has each column that a `*` stands for now: it does not stand for others later.
        Some(printed) if has_wildcard(&query) && has_columns(ctx, printed, columns) => {
            unmarked(&printed.plain)
        }
        _ => stored_query(&query, columns, names)?,
    };
    Ok((stored, printed))
}

/// The text as it is read again.
fn unmarked(text: &str) -> String {
    PrintedQuery::unmarked(text).trim().to_string()
}

/// Whether a printed query is read as one of columns of the same types.
fn has_columns(ctx: &StatementContext, printed: &PrintedQuery, columns: &[OutputColumn]) -> bool {
    let read = parse_query(&unmarked(&printed.plain)).ok();
    let planned = read.and_then(|query| query::plan_query(ctx, &query, &[]).ok());
    planned.is_some_and(|planned| {
        let types = planned.columns.iter().map(|column| &column.ty);
        types.eq(columns.iter().map(|column| &column.ty))
    })
}

/// The text that is kept: the query itself, or with its columns spelled out around it. Errors: 0A000 for a `*` among columns
/// that only their places tell apart, which a column added to a table would shift.
fn stored_query(query: &Query, columns: &[OutputColumn], names: &[String]) -> Result<String> {
    let query = &without_row_locks(query);
    let renamed = columns
        .iter()
        .zip(names)
        .any(|(column, name)| column.name != *name);
    if !renamed && !has_wildcard(query) {
        return Ok(query.to_string());
    }
    let mut own = BTreeSet::new();
    let are_unique = columns.iter().all(|column| own.insert(&column.name));
    let quoted = |name: &str| Ident::with_quote('"', name).to_string();
    let items: Vec<_> = columns
        .iter()
        .zip(names)
        .map(|(column, name)| format!("{} AS {}", quoted(&column.name), quoted(name)))
        .collect();
    if are_unique {
        return Ok(format!("SELECT {} FROM ({query}) AS \"view\"", items.join(", ")));
    }
    if has_wildcard(query) {
        return Err(Error::unsupported(
            "a view over * with several columns of one name",
            Some("Write the columns out in the select list."),
        ));
    }
    let named: Vec<_> = names.iter().map(|name| quoted(name)).collect();
    let named = named.join(", ");
    Ok(format!("SELECT {named} FROM ({query}) AS \"view\"({named})"))
}

/// Whether any SELECT of the query has a `*` in its list.
fn has_wildcard(query: &Query) -> bool {
    struct Wildcards;
    impl Visitor for Wildcards {
        type Break = ();
        fn pre_visit_select(&mut self, select: &ast::Select) -> ControlFlow<()> {
            let is_wildcard = |item: &SelectItem| {
                let is_row = matches!(item, SelectItem::UnnamedExpr(expr) if row_expanded(expr).is_some());
                is_row || matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
            };
            if select.projection.iter().any(is_wildcard) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }
    }
    query.walk(&mut Wildcards).is_break()
}

/// The oids of the relations that a query names, CTEs left out.
pub(super) fn relations_read(ctx: &StatementContext, query: &Query) -> Vec<u32> {
    struct Read<'a> {
        ctx: &'a StatementContext,
        ctes: BTreeSet<String>,
        oids: BTreeSet<u32>,
    }
    impl Visitor for Read<'_> {
        type Break = ();
        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
            self.ctes.extend(ctes.map(|cte| names::fold(&cte.alias.name)));
            ControlFlow::Continue(())
        }
        fn pre_visit_relation(&mut self, name: &ast::ObjectName) -> ControlFlow<()> {
            if let Ok((schema, plain_name)) = names::relation_name(name)
                && (schema.is_some() || !self.ctes.contains(&plain_name))
                && let Ok(Some(object)) = get_relation(self.ctx, name, Access::Name)
            {
                self.oids.insert(object.oid());
            }
            ControlFlow::Continue(())
        }
    }
    let mut read = Read {
        ctx,
        ctes: BTreeSet::new(),
        oids: BTreeSet::new(),
    };
    let _ = query.walk(&mut read);
    read.oids.into_iter().collect()
}
