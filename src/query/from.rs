//! FROM: tables, views, WITH queries, subqueries, functions and joins become a plan and the names it brings.

use std::sync::Arc;

use sqlparser::ast::{self, Spanned};

use super::binder::{Binder, Bound, BoundQuery, fold, name_parts};
use super::from_item::{Beside, FromItem, renamed};
use super::indexed_expressions;
use super::partitioned_table::named_as;
use super::routine_rows::is_once;
use super::row_origin::RowOrigin;
use super::scope::{Outer, Scope, ScopeColumn, ScopeRelation};
use super::sequence_row::sequence_view;
use super::system_column::{row_id_of, table_oid};
use super::table_function::table_function;
use crate::catalog::{Access, Object, RelationName, TableDef, VersionRead, ViewDef};
use crate::logical::stored_table::{table_source, whole_table_source};
use crate::operators::catalog_table;
use crate::parse::names::quoted_relation;
use crate::parse::text_place;
use crate::system::pg_catalog;
use crate::system::statement_statistics::PG_STAT_STATEMENTS;
use crate::tree::{Column, Expr, Plan, RelationAlias, TableSource};
use crate::types::{RecordType, SqlType};
use crate::{Error, Result};

impl Binder<'_> {
    /// A FROM item that may use columns of the items before it.
    pub(super) fn lateral(
        &mut self,
        left: &FromItem,
        factor: &ast::TableFactor,
        keep_left: bool,
        outer: Option<&Outer<'_>>,
    ) -> Result<Beside> {
        match factor {
            ast::TableFactor::Derived {
                lateral: true,
                subquery,
                alias,
                ..
            } => {
                let around = Outer::new(&left.scope, outer, None);
                let name = called(alias.as_ref(), "");
                let bound = self.query_of_item(&name, |binder| binder.query(subquery, Some(&around)))?;
                let captured = around.captured.into_inner();
                let (right, fields) = self.derived(bound, alias.as_ref())?;
                // Bound again it would not see names before it that it has as NULL: of columns that nobody has written yet.
                if captured.is_empty() && !keep_left {
                    return Ok(Beside::Apart(right));
                }
                self.lateral_join(left, right, (captured, fields), keep_left)
                    .map(Beside::Joined)
            }
            ast::TableFactor::Table {
                name,
                args: Some(args),
                ..
            } if args.args.is_empty() && kept_as_relation(name).is_some() => Ok(Beside::Unbound),
            _ => self.lateral_function(left, factor, keep_left, outer),
        }
    }

    /// Functions in FROM whose arguments may be columns of the items before them.
    fn lateral_function(
        &mut self,
        left: &FromItem,
        factor: &ast::TableFactor,
        keep_left: bool,
        outer: Option<&Outer<'_>>,
    ) -> Result<Beside> {
        let Some(call) = table_function(factor) else {
            return Ok(Beside::Unbound);
        };
        call.check_definitions()?;
        let place = Self::item_place(&left.scope, outer);
        if let Some(chosen) = self.routine_of_item(&call, place)? {
            return match is_once(&chosen) {
                true => self.routine_item(&call, chosen, None, false).map(Beside::Apart),
                false => self
                    .routine_item(&call, chosen, Some(left), keep_left)
                    .map(Beside::Joined),
            };
        }
        let sets = self.choosing(|binder| binder.set_arguments(&call, place))?;
        if !sets.ask_for_rows() {
            return self
                .function_item(&call, sets, FromItem::one_row(), false)
                .map(Beside::Apart);
        }
        let beside = FromItem {
            plan: left.plan.clone(),
            scope: left.scope.clone(),
        };
        let mut item = self.function_item(&call, sets, beside, keep_left)?;
        if let Some(relation) = item.scope.relations.last_mut() {
            relation.may_be_missing |= keep_left;
        }
        Ok(Beside::Joined(item))
    }

    pub(super) fn factor(
        &mut self,
        factor: &ast::TableFactor,
        outer: Option<&Outer<'_>>,
    ) -> Result<FromItem> {
        match factor {
            ast::TableFactor::Table {
                name,
                alias,
                args: None,
                with_ordinality: false,
                version,
                sample,
                ..
            } => {
                let table = self.at_system_time(version.as_ref(), outer, |binder| {
                    binder.table(name, alias.as_ref())
                });
                let table = table.and_then(|table| self.sampled(table, sample.as_ref(), outer));
                self.note_place(table, |_| text_place::of_span(name.span()))
            }
            // The rows of a function without arguments that the catalogs keep as a relation.
            ast::TableFactor::Table {
                name,
                alias,
                args: Some(args),
                ..
            } if args.args.is_empty()
                && let Some((function, relation)) = kept_as_relation(name) =>
            {
                let named = alias.clone().unwrap_or_else(|| named_as(&function));
                self.table(&quoted_relation("pg_catalog", relation), Some(&named))
            }
            ast::TableFactor::Table { version: Some(_), .. } => {
                Err(Error::unsupported("FOR SYSTEM_TIME behind a function", None))
            }
            ast::TableFactor::Derived { subquery, alias, .. } => {
                // Not lateral: the items before it are not visible, the queries around are.
                let name = called(alias.as_ref(), "");
                let bound = self.query_of_item(&name, |binder| binder.query(subquery, outer))?;
                Ok(self.derived(bound, alias.as_ref())?.0)
            }
            ast::TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } => {
                let item = self.table_with_joins(None, table_with_joins, outer)?;
                match alias {
                    None => Ok(item),
                    Some(alias) => self.aliased_join(item, alias),
                }
            }
            other => match table_function(other) {
                Some(call) => {
                    call.check_definitions()?;
                    let nothing = Scope::default();
                    let place = Self::item_place(&nothing, outer);
                    if let Some(chosen) = self.routine_of_item(&call, place)? {
                        return self.routine_item(&call, chosen, None, false);
                    }
                    let sets = self.choosing(|binder| binder.set_arguments(&call, place))?;
                    self.function_item(&call, sets, FromItem::one_row(), false)
                }
                None => Err(Error::unsupported(format!("{other} in FROM"), None)),
            },
        }
    }

    // ---- relations ----------------------------------------------------------------------------------------------

    pub(super) fn table(
        &mut self,
        written: &ast::ObjectName,
        alias: Option<&ast::TableAlias>,
    ) -> Result<FromItem> {
        let parts = name_parts(written)?;
        let (schema, table) = match parts.as_slice() {
            [table] => (None, table.as_str()),
            [schema, table] | [_, schema, table] => (Some(schema.as_str()), table.as_str()),
            _ => return Err(Error::unsupported(format!("the relation name {written}"), None)),
        };
        if schema.is_none()
            && let Some(common) = self
                .common_tables
                .iter()
                .rev()
                .find(|common| common.name == table)
        {
            let bound = common.source.clone();
            self.require_untimed("a WITH query")?;
            return self.named(bound, table, alias);
        }
        if schema.is_none()
            && let Some(bound) = self.common_rows(table)?
        {
            self.require_untimed("a WITH query")?;
            return self.named(bound, table, alias);
        }
        let ctx = self.ctx;
        let is_hidden = schema.is_none() && self.is_temporary(table)?;
        if !is_hidden && let Some(item) = self.catalog_relation(schema, table, alias)? {
            return Ok(item);
        }
        let name = RelationName {
            schema,
            name: table,
            search_path: &self.search_path,
        };
        match ctx.relation(name, Access::Select)? {
            // What stands in a definition, the statement's hints are not about.
            Object::Table(table)
                if table.partitioning.is_some()
                    && !(self.views == 0 && self.inlined.is_empty() && ctx.hints.names_only(written)) =>
            {
                self.partitioned_table(table, &called(alias, &table.name), alias)
            }
            Object::Table(table) => self.stored_table(table, alias),
            Object::View(view) => {
                self.is_timed = false;
                self.view(view, alias)
            }
            Object::Sequence(sequence) => {
                self.require_present()?;
                self.view(&sequence_view(sequence), alias)
            }
            Object::Index(..) => Err(Error::internal("a relation without rows to read")),
        }
    }

    /// Whether a name that says no schema means a temporary relation, which hides those of pg_catalog.
    fn is_temporary(&self, name: &str) -> Result<bool> {
        let own = &*self.ctx.settings.temporary_schema;
        let first = self.search_path.first();
        if first.is_none_or(|first| first != own || !self.ctx.has_schema(own)) {
            return Ok(false);
        }
        let name = RelationName::in_schema(own, name);
        Ok(self.ctx.get_relation(name, Access::Name)?.is_some())
    }

    /// A relation of pg_catalog, information_schema or keyspan; unqualified names look into pg_catalog first.
    pub(super) fn catalog_relation(
        &mut self,
        schema: Option<&str>,
        name: &str,
        alias: Option<&ast::TableAlias>,
    ) -> Result<Option<FromItem>> {
        let mut schema_name = schema.unwrap_or("pg_catalog");
        if matches!(name, PG_STAT_STATEMENTS | "pg_stat_statements_info") {
            // They are there when the extension is, and are asked for in the schema that it was made in.
            let Some(made_in) = self.ctx.schema_of_extension(PG_STAT_STATEMENTS) else {
                return Ok(None);
            };
            if made_in == schema_name {
                schema_name = "pg_catalog";
            }
        }
        let known_as = called(alias, name);
        let Some(source) = catalog_table::source(schema_name, name, &known_as) else {
            return Ok(None);
        };
        self.require_present()?;
        let types: Vec<(String, SqlType)> = source
            .schema()
            .fields()
            .iter()
            .map(|field| (field.name().clone(), SqlType::from_field(field)))
            .collect();
        let oid = pg_catalog::table_oid(schema_name, name).and_then(|oid| u32::try_from(oid).ok());
        let columns = types.into_iter().zip(1..).map(|((name, ty), attribute)| {
            let origin = oid.filter(|oid| *oid != 0).map(|oid| (oid, attribute));
            (name, ty, origin)
        });
        let columns = columns.collect();
        let schema = alias.is_none().then(|| schema_name.to_string());
        self.scan(source, schema, name, columns, Vec::new(), alias)
            .map(Some)
    }

    pub(super) fn stored_table(
        &mut self,
        table: &Arc<TableDef>,
        alias: Option<&ast::TableAlias>,
    ) -> Result<FromItem> {
        let known_as = called(alias, &table.name);
        let as_it_is = table;
        let versions = self.versions_of(table, self.item_lock(&known_as).is_some())?;
        let (table, open) = match &versions {
            Some(past) => (&past.table, past.open.as_slice()),
            None => (table, Default::default()),
        };
        // Plans ask of a table what computes its generated columns.
        self.ctx.generated_columns(table)?;
        let oid = table.oid();
        let columns = table
            .visible_columns()
            .enumerate()
            .map(|(index, column)| {
                let attribute = i16::try_from(index + 1).unwrap_or(0);
                (column.name.clone(), column.ty.clone(), Some((oid, attribute)))
            })
            .collect();
        // Of one row there may be several versions.
        let has_several = |read: &VersionRead| !read.wanted.is_of_one();
        let key = if table.has_hidden_key() || table.version_read.as_deref().is_some_and(has_several) {
            Vec::new()
        } else {
            table.telling_visible_columns()
        };
        let schema = alias.is_none().then(|| table.schema.clone());
        let indexed = indexed_expressions::positions(table);
        let time = table.version_time();
        let row_id = table.row_id();
        let hidden: Vec<usize> = indexed.iter().copied().chain(time).chain(row_id).collect();
        let shown = table.visible_columns().count();
        let is_locked = self.item_lock(&known_as).is_some();
        let source = match self.item_lock(&known_as) {
            // A row is locked by its key, which may be hidden.
            Some(_) => whole_table_source(table, &known_as, &self.ctx.hints),
            None => table_source(table, &known_as, &self.ctx.hints, &hidden, open),
        };
        let mut item = self.scan(source, schema, &table.name, columns, key, alias)?;
        if !indexed.is_empty() {
            self.note_indexed(table, &mut item)?;
        }
        if time.is_some() {
            self.note_version_times(&mut item, shown + indexed.len());
        }
        self.note_locked(table, &known_as, &item.plan)?;
        // A table that is read whole has it where it stands, any other behind what is shown of it.
        let place = match is_locked {
            true => row_id,
            false => row_id.map(|_| shown + hidden.len() - 1),
        };
        let row_id = place.map(|at| row_id_of(&item, at));
        for relation in &mut item.scope.relations {
            relation.hidden.push(table_oid(oid)?);
            relation.origin = RowOrigin::Table(row_id.clone());
            relation.dynamic_table = Some(as_it_is).filter(|table| table.gets_columns()).cloned();
            relation.row_type = Some(Arc::new(table.row_type()));
        }
        Ok(item)
    }

    /// A scan of a relation under a name of its own.
    #[expect(clippy::type_complexity, reason = "name, type and origin of each column")]
    pub(super) fn scan(
        &mut self,
        source: Arc<dyn TableSource>,
        schema: Option<String>,
        name: &str,
        columns: Vec<(String, SqlType, Option<(u32, i16)>)>,
        key: Vec<usize>,
        alias: Option<&ast::TableAlias>,
    ) -> Result<FromItem> {
        let visible_name = called(alias, name);
        let catalog = source.is::<catalog_table::CatalogTable>();
        let reference = RelationAlias::bare(self.unique_name(&visible_name));
        let plan = Plan::scan(reference.clone(), source);
        let columns: Vec<ScopeColumn> = columns
            .into_iter()
            .map(|(name, ty, origin)| {
                let expr = Expr::Column(Column::new(Some(reference.clone()), &name));
                ScopeColumn {
                    name,
                    bound: Bound {
                        expr,
                        ty,
                        origin,
                        is_declared: true,
                    },
                }
            })
            .collect();
        let (hidden, columns): (Vec<ScopeColumn>, Vec<ScopeColumn>) = columns
            .into_iter()
            .partition(|column| catalog && column.name == catalog_table::TABLE_OID);
        let columns = renamed(columns, alias, &visible_name, false)?;
        let origin = match catalog {
            true => RowOrigin::Catalog,
            false => RowOrigin::Computed,
        };
        let relation = ScopeRelation {
            schema,
            hidden_name: alias.map(|_| name.to_string()),
            hidden,
            origin,
            key,
            ..ScopeRelation::new(visible_name, columns.clone())
        };
        Ok(FromItem {
            plan,
            scope: Scope {
                visible: columns,
                relations: vec![relation],
            },
        })
    }

    /// A view is its query, planned where the view was made.
    pub(super) fn view(&mut self, view: &Arc<ViewDef>, alias: Option<&ast::TableAlias>) -> Result<FromItem> {
        let mut statements = crate::parse::parse(&view.query)?;
        let statement = match (statements.pop(), statements.is_empty()) {
            (Some(statement), true) => statement,
            _ => {
                return Err(Error::Corrupt {
                    what: format!("view \"{}\"", view.name),
                    reason: "its text is not one query".to_string(),
                });
            }
        };
        let ast::Statement::Query(query) = statement.ast else {
            return Err(Error::Corrupt {
                what: format!("view \"{}\"", view.name),
                reason: "its text is no query".to_string(),
            });
        };
        let search_path = std::mem::replace(&mut self.search_path, view.search_path.clone());
        let common_tables = std::mem::take(&mut self.common_tables);
        let names_version_time =
            std::mem::replace(&mut self.names_version_time, statement.hints.names_version_time);
        self.views += 1;
        let name = called(alias, &view.name);
        let bound = self.query_of_item(&name, |binder| {
            binder.one_level_deeper(|binder| binder.showing(|binder| binder.query(&query, None)))
        });
        self.views -= 1;
        self.names_version_time = names_version_time;
        self.search_path = search_path;
        self.common_tables = common_tables;
        let mut bound = bound?;
        let columns = bound.columns.iter_mut().zip(&view.columns);
        for ((column, (name, _)), attribute) in columns.zip(1..) {
            column.name.clone_from(name);
            if !column.is_unwritten() {
                column.origin = Some((view.oid(), attribute));
            }
        }
        let mut item = self.named(bound, &view.name, alias)?;
        if let Some(relation) = item.scope.relations.first_mut() {
            match alias {
                None => relation.schema = Some(view.schema.clone()),
                Some(_) => relation.hidden_name = Some(view.name.clone()),
            }
            let columns = relation.columns.iter().zip(&view.columns);
            let columns = columns.map(|(column, (name, _))| (name.clone(), column.bound.ty.clone()));
            relation.row_type = Some(Arc::new(RecordType::of_relation(
                view.oid(),
                &view.name,
                view.version,
                columns,
            )));
        }
        Ok(item)
    }

    /// A bound query as a relation called `name`, or as its alias says.
    pub(super) fn named(
        &mut self,
        bound: BoundQuery,
        name: &str,
        alias: Option<&ast::TableAlias>,
    ) -> Result<FromItem> {
        let visible_name = called(alias, name);
        let reference = RelationAlias::bare(self.unique_name(if visible_name.is_empty() {
            "subquery"
        } else {
            &visible_name
        }));
        let plan = bound.plan.alias(reference.clone())?;
        let columns: Vec<ScopeColumn> = bound
            .columns
            .into_iter()
            .map(|column| {
                if column.is_unwritten() {
                    // NULL in every row, and still of no type: what is done with it above binds as it will once it is written.
                    return ScopeColumn {
                        name: column.name,
                        bound: Bound {
                            origin: column.origin,
                            ..Bound::unknown(None)
                        },
                    };
                }
                let expr = Expr::Column(Column::new(Some(reference.clone()), &column.column.name));
                let ty = match column.ty {
                    SqlType::Unknown | SqlType::Void => SqlType::Text,
                    ty => ty,
                };
                ScopeColumn {
                    name: column.name,
                    bound: Bound {
                        expr,
                        ty,
                        origin: column.origin,
                        is_declared: column.is_declared,
                    },
                }
            })
            .collect();
        let columns = renamed(columns, alias, &visible_name, false)?;
        let relation = ScopeRelation::new(visible_name, columns.clone());
        Ok(FromItem {
            plan,
            scope: Scope {
                visible: columns,
                relations: vec![relation],
            },
        })
    }

    /// A subquery in FROM; also the internal name of its relation.
    pub(super) fn derived(
        &mut self,
        bound: BoundQuery,
        alias: Option<&ast::TableAlias>,
    ) -> Result<(FromItem, String)> {
        let item = self.named(bound, "", alias)?;
        let name = match item.plan.schema().iter().next() {
            Some((Some(reference), _)) => reference.table().to_string(),
            _ => String::new(),
        };
        Ok((item, name))
    }

    /// `(a JOIN b) AS x`: one relation of all the columns.
    pub(super) fn aliased_join(&mut self, item: FromItem, alias: &ast::TableAlias) -> Result<FromItem> {
        let name = fold(&alias.name);
        let columns = renamed(item.scope.visible, Some(alias), &name, false)?;
        let relation = ScopeRelation::new(name, columns.clone());
        Ok(FromItem {
            plan: item.plan,
            scope: Scope {
                visible: columns,
                relations: vec![relation],
            },
        })
    }

    // ---- joins --------------------------------------------------------------------------------------------------

    // ---- functions ----------------------------------------------------------------------------------------------
}

/// A function without arguments whose rows stand among the catalogs' relations, and the relation.
fn kept_as_relation(name: &ast::ObjectName) -> Option<(String, &'static str)> {
    let function = name_parts(name).ok()?.pop()?;
    let relation = pg_catalog::relation_of_function(&function)?;
    Some((function, relation))
}

/// What an item of FROM is called: by its alias, or by its name.
fn called(alias: Option<&ast::TableAlias>, name: &str) -> String {
    alias.map_or_else(|| name.to_string(), |alias| fold(&alias.name))
}
