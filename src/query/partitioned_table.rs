//! A partitioned table in FROM: the rows of its partitions, one behind the other. Each is read as any table is, by the keys that the
//! conditions bound; a partition whose bound has no row that they let through is not read (`plan::partition_pruning`).

use std::sync::Arc;

use sqlparser::ast::{self, Ident};

use super::binder::{Binder, Bound, BoundQuery, QueryColumn};
use super::from_item::FromItem;
use super::lock_scope::LockedTable;
use crate::catalog::TableDef;
use crate::operators::catalog_table::TABLE_OID;
use crate::parse::VERSION_TIME_END;
use crate::tree::{Column, Plan, Union};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

impl Binder<'_> {
    /// The item of a partitioned table, which is known by this name.
    pub(super) fn partitioned_table(
        &mut self,
        table: &Arc<TableDef>,
        known_as: &str,
        alias: Option<&ast::TableAlias>,
    ) -> Result<FromItem> {
        let partitions = self.ctx.read_leaves(table)?;
        if partitions.is_empty() {
            // It has none of its own, whose columns are those that are asked for.
            return self.stored_table(table, alias);
        }
        let before = self.locks.tables.len();
        let mut items = Vec::with_capacity(partitions.len());
        for partition in &partitions {
            items.push(self.stored_table(partition, Some(&named_as(known_as)))?);
        }
        let locked = self.locks.tables.split_off(before);
        let visible = table.visible_columns().count();
        let time = version_time(&items);
        let shown: Vec<(&str, SqlType)> = table
            .visible_columns()
            .map(|column| (column.name.as_str(), column.ty.clone()))
            .chain([(TABLE_OID, SqlType::Oid)])
            .chain(time.as_deref().map(|time| (time, SqlType::Int8)))
            .collect();
        let mut names: Vec<String> = shown.iter().map(|(name, _)| self.unique_name(name)).collect();
        let keys: Vec<&Bound> = locked.iter().flat_map(|locked| &locked.key).collect();
        names.extend(keys.iter().map(|_| self.unique_name("?key")));
        let plan = one_behind_the_other(items, &locked, &shown, &names)?;
        let types = shown.iter().map(|(name, ty)| (*name, ty.clone()));
        let types = types.chain(keys.iter().map(|key| ("?key", key.ty.clone())));
        let columns = types.enumerate().map(|(at, (name, ty))| QueryColumn {
            name: name.to_string(),
            column: Column::from(plan.schema().qualified_field(at)),
            ty,
            origin: (at < visible).then(|| (table.oid, i16::try_from(at + 1).unwrap_or(0))),
            is_declared: true,
            constant: false,
        });
        let columns = columns.collect();
        let mut item = self.named(BoundQuery { plan, columns }, &table.name, alias)?;
        item.scope.visible.truncate(visible);
        if let Some(relation) = item.scope.relations.first_mut() {
            let mut keys = relation
                .columns
                .split_off(shown.len())
                .into_iter()
                .map(|key| key.bound);
            for locked in locked {
                let key = keys.by_ref().take(locked.key.len()).collect();
                self.locks.tables.push(LockedTable { key, ..locked });
            }
            let hidden = relation.columns.split_off(visible);
            relation.hidden.extend(hidden.into_iter().next());
            match alias {
                None => relation.schema = Some(table.schema.clone()),
                Some(_) => relation.hidden_name = Some(table.name.clone()),
            }
            if !table.has_hidden_key() {
                relation.key = table.telling_visible_columns();
            }
            relation.row_type = Some(Arc::new(table.row_type()));
        }
        if time.is_some() {
            self.note_version_times(&mut item, visible + 1);
        }
        Ok(item)
    }
}

/// A name by which all partitions know the time of a version; `None`: not all of them tell it.
fn version_time(items: &[FromItem]) -> Option<String> {
    let hidden = |item: &FromItem| {
        let relation = item.scope.relations.first();
        relation.map_or_else(Vec::new, |relation| {
            relation.hidden.iter().map(|column| column.name.clone()).collect()
        })
    };
    let (first, others) = items.split_first()?;
    let of_others: Vec<Vec<String>> = others.iter().map(hidden).collect();
    let mut times = hidden(first)
        .into_iter()
        .filter(|name| name.ends_with(VERSION_TIME_END));
    times.find(|time| of_others.iter().all(|names| names.contains(time)))
}

/// The rows of all partitions, with their columns and the keys by which each is locked under these names.
fn one_behind_the_other(
    items: Vec<FromItem>,
    locked: &[LockedTable],
    shown: &[(&str, SqlType)],
    names: &[String],
) -> Result<Plan> {
    let mut inputs = Vec::with_capacity(items.len());
    for (at, item) in items.into_iter().enumerate() {
        let mut outputs = columns_of(&item, shown)?;
        for (of, locked) in locked.iter().enumerate() {
            // A row is of one partition alone, and has no key in the others.
            let own = |key: &Bound| match of == at {
                true => Ok(key.clone()),
                false => Bound::constant(&Value::Null, key.ty.clone()),
            };
            outputs.extend(locked.key.iter().map(own).collect::<Result<Vec<_>>>()?);
        }
        let outputs = outputs.into_iter().zip(names);
        let outputs: Vec<_> = outputs.map(|(bound, name)| bound.named(name)).collect();
        inputs.push(Arc::new(item.plan.project(outputs)?));
    }
    Ok(Plan::Union(Union::try_new(inputs)?))
}

/// The alias that gives an item of FROM this name.
pub(super) fn named_as(name: &str) -> ast::TableAlias {
    ast::TableAlias {
        explicit: true,
        name: Ident::with_quote('"', name),
        columns: Vec::new(),
        at: None,
    }
}

/// The columns of these names of a partition, the last of which are hidden.
fn columns_of(item: &FromItem, shown: &[(&str, SqlType)]) -> Result<Vec<Bound>> {
    let relation = item.scope.relations.first();
    let relation = relation.ok_or_else(|| Error::internal("a table without its relation"))?;
    let column = |name: &str| {
        let mut columns = relation.columns.iter().chain(&relation.hidden);
        let found = columns.find(|column| column.name == name);
        let missing = || Error::internal(format!("a partition without the column \"{name}\" of its table"));
        found.map(|column| column.bound.clone()).ok_or_else(missing)
    };
    shown.iter().map(|(name, _)| column(name)).collect()
}
