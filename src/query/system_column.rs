//! The columns that every table of PostgreSQL has beside its own and that `*` leaves out, as far as rows here can answer them:
//!
//! - `xmin`, which clients compare to learn whether a row was changed since they read it. No row says which transaction wrote it: it is a
//!   checksum of what the row holds, so it changes with every change of a value, and stays where nothing changed.
//! - `ctid`, which tells the rows of a table apart and finds each at once, in `DELETE … WHERE ctid IN (SELECT ctid … LIMIT 100)` and the
//!   like. Of a table without a primary key it is the number of the row, as block and offset; of one with a primary key it is that key,
//!   of the key's type: no place of a row, which none has here.
//! - `xmax`, `cmin` and `cmax`, which are 0 of every row that nobody is about to remove.
//!
//! `tableoid` is a constant of the relation, and stands in its scope.

use super::binder::{Binder, Bound, Place};
use super::from_item::FromItem;
use super::row_origin::RowOrigin;
use super::scope::{Scope, ScopeColumn, ScopeRelation};
use crate::functions::{ROW_STAMP, ROW_STAMP_OR_NULL, Volatility};
use crate::system::pg_catalog::TABLE_OID;
use crate::tree::{self, Column, Expr};
use crate::types::{CatalogType, SqlType, Value};
use crate::{Error, Result};

/// xid.
const XID: SqlType = SqlType::Catalog(CatalogType::Xid);

/// The attribute number of `tableoid`.
const TABLE_OID_ATTRIBUTE: i16 = -6;

/// The column that says of which table rows are.
pub(super) fn table_oid(oid: u32) -> Result<ScopeColumn> {
    Ok(ScopeColumn {
        name: TABLE_OID.to_string(),
        bound: Bound {
            origin: Some((oid, TABLE_OID_ATTRIBUTE)),
            ..Bound::constant(&Value::Int(i64::from(oid)), SqlType::Oid)?
        },
    })
}

impl Binder<'_> {
    /// A column of that name of the relation called so, or of the only one that has it. `None`: there is none. Errors: 42702.
    pub(super) fn system_column(
        &mut self,
        relation: Option<(Option<&str>, &str)>,
        name: &str,
        scope: &Scope,
    ) -> Result<Option<Bound>> {
        if !matches!(name, "ctid" | "xmin" | "xmax" | "cmin" | "cmax") {
            return Ok(None);
        }
        let has_key = |of: &ScopeRelation| !self.key_columns_of(of).is_empty();
        let has_it = |of: &&ScopeRelation| match &of.origin {
            RowOrigin::Computed => false,
            RowOrigin::Table(row_id) => name != "ctid" || row_id.is_some() || has_key(of),
            RowOrigin::Written => matches!(name, "xmin" | "xmax") || (name == "ctid" && has_key(of)),
            RowOrigin::Catalog => name != "ctid",
        };
        let found = match relation {
            Some((schema, relation)) => scope.get_relation(schema, relation).filter(has_it),
            None => {
                let mut found = scope.relations.iter().filter(has_it);
                match (found.next(), found.next()) {
                    (Some(_), Some(_)) => {
                        return Err(Error::AmbiguousColumn {
                            name: name.to_string(),
                        });
                    }
                    (first, _) => first,
                }
            }
        };
        found.map(|found| self.system_column_of(found, name)).transpose()
    }

    /// What a name behind a relation's means that is no column of it: one that every table has, or a function of its row.
    pub(super) fn beside_columns(
        &mut self,
        (schema, relation): (Option<&str>, &str),
        name: &str,
        place: Place<'_>,
    ) -> Result<Option<Bound>> {
        match self.system_column(Some((schema, relation)), name, place.scope)? {
            Some(found) => Ok(Some(found)),
            None => self.function_of_row((schema, relation), name, place),
        }
    }

    fn system_column_of(&mut self, relation: &ScopeRelation, name: &str) -> Result<Bound> {
        let missing = relation.may_be_missing;
        match (name, &relation.origin) {
            ("ctid", RowOrigin::Table(Some(row_id))) => Ok(row_id.clone()),
            ("ctid", _) => self.key_as_place(relation),
            ("xmin", RowOrigin::Catalog) => self.resolve_function("pg_catalog_xmin", Vec::new()),
            ("xmin", _) => Ok(self.row_stamp(relation)),
            // What is the same in all its rows is not there in those that are not.
            (name, _) if missing => Err(Error::unsupported(
                format!("{name} of rows that an outer join may not find"),
                None,
            )),
            ("xmax", _) => Bound::constant(&Value::Int(0), XID),
            (_, _) => Bound::constant(&Value::Int(0), SqlType::Catalog(CatalogType::Cid)),
        }
    }

    /// Positions of the columns that tell a table's rows apart.
    fn key_columns_of(&self, relation: &ScopeRelation) -> Vec<usize> {
        let written = match relation.origin {
            RowOrigin::Written => relation.columns.first().and_then(|column| column.bound.origin),
            _ => None,
        };
        match written.and_then(|(table, _)| self.ctx.table_by_oid(table)) {
            Some(table) => table.telling_visible_columns(),
            None => relation.key.clone(),
        }
    }

    /// The primary key of a table's rows: one column as it is, so that it bounds what is read, several as a row.
    fn key_as_place(&mut self, relation: &ScopeRelation) -> Result<Bound> {
        let key = self.key_columns_of(relation);
        let columns = key.iter().filter_map(|at| relation.columns.get(*at));
        let mut columns: Vec<(String, Bound)> = columns
            .map(|column| (column.name.clone(), column.bound.clone().computed()))
            .collect();
        match columns.len() {
            1 => Ok(columns.remove(0).1),
            _ => self.row_of_columns(columns, None),
        }
    }

    /// The checksum of a row's columns; of a row that may be missing it is NULL where all of them are.
    fn row_stamp(&self, relation: &ScopeRelation) -> Bound {
        let columns = relation.columns.iter().map(|column| &column.bound);
        let arguments = columns.map(|bound| (bound.expr.clone(), bound.ty.clone()));
        let (name, body) = match relation.may_be_missing {
            true => ("row_stamp_or_null", ROW_STAMP_OR_NULL),
            false => ("row_stamp", ROW_STAMP),
        };
        let definition = (name, body, false, Volatility::Immutable);
        let call = tree::call(definition, arguments.collect(), XID, &self.settings);
        Bound::new(call, XID)
    }
}

/// The row id that stands at a place in what a table's scan gives, as the place of a row.
pub(super) fn row_id_of(item: &FromItem, at: usize) -> Bound {
    let column = Column::from(item.plan.schema().qualified_field(at));
    Bound::new(Expr::Column(column), SqlType::Catalog(CatalogType::Tid))
}
