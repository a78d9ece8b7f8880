//! The door from a name to a table, view, index or sequence: whoever comes through it says what for, and is told in PostgreSQL's
//! words when nothing of the name is there, or something that this cannot be done with. Called by binders, DML and DDL; who may
//! do what is asked here, too, once there are privileges.
//!
//! Tables, views, indexes and sequences share the names of a schema. An index stands in its table's record.

use std::sync::Arc;

use super::{Catalog, IndexDef, Relation, SequenceDef, TEMPORARY_ALIAS, TableDef, ViewDef};
use crate::error::StatementFault;
use crate::error::nearest_name;
use crate::{Error, Result};

/// A name as a statement writes it, folded.
#[derive(Debug, Clone, Copy)]
pub struct RelationName<'a> {
    /// The schema, if the statement says one.
    pub schema: Option<&'a str>,
    /// The name within it.
    pub name: &'a str,
    /// The schemas that are searched when it says none.
    pub search_path: &'a [String],
}

impl<'a> RelationName<'a> {
    /// A name that is searched for.
    pub fn searched(name: &'a str, search_path: &'a [String]) -> RelationName<'a> {
        RelationName {
            schema: None,
            name,
            search_path,
        }
    }

    /// A name in a schema.
    pub fn in_schema(schema: &'a str, name: &'a str) -> RelationName<'a> {
        RelationName {
            schema: Some(schema),
            name,
            search_path: &[],
        }
    }
}

/// What a name means.
#[derive(Debug, Clone, Copy)]
pub enum Object<'a> {
    /// A table.
    Table(&'a Arc<TableDef>),
    /// A view.
    View(&'a Arc<ViewDef>),
    /// An index, and the table that it is of.
    Index(&'a Arc<TableDef>, &'a IndexDef),
    /// A sequence.
    Sequence(&'a Arc<SequenceDef>),
}

/// Kinds of relations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKind {
    /// A table.
    Table,
    /// A view.
    View,
    /// An index.
    Index,
    /// A sequence.
    Sequence,
    /// A materialized view.
    MaterializedView,
}

/// What a statement wants of a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// To know what a name means, and nothing of it: dependencies, IF EXISTS.
    Name,
    /// To read its rows.
    Select,
    /// REFRESH MATERIALIZED VIEW.
    Refresh,
    /// To add rows.
    Insert,
    /// To add rows by COPY FROM.
    CopyFrom,
    /// To read rows by COPY TO.
    CopyTo,
    /// To change rows.
    Update,
    /// To remove rows.
    Delete,
    /// To remove all rows.
    Truncate,
    /// ALTER TABLE, which does so much to a view and an index, too, that each action says of what.
    Alter,
    /// RENAME TO, and what else changes nothing of what rows are: as ALTER TABLE.
    Rename,
    /// An action of ALTER TABLE for tables alone, by its words: `ADD COLUMN`.
    AlterAction(&'static str),
    /// RENAME COLUMN, RENAME CONSTRAINT.
    RenameColumns,
    /// SET SCHEMA.
    SetSchema,
    /// ALTER VIEW and ALTER INDEX.
    AlterKind(ObjectKind),
    /// DROP.
    Drop(ObjectKind),
    /// CREATE INDEX ON, DROP INDEX … ON.
    CreateIndex,
    /// COMMENT ON.
    Comment(ObjectKind),
    /// COMMENT ON COLUMN.
    CommentColumn,
    /// COMMENT ON CONSTRAINT, by the constraint's name.
    CommentConstraint,
    /// GRANT and REVOKE.
    Grant,
    /// LOCK TABLE.
    Lock,
    /// VACUUM and ANALYZE, which pass over what is no table.
    Maintain,
    /// CLUSTER.
    Cluster,
    /// REINDEX TABLE.
    ReindexTable,
    /// REINDEX INDEX.
    Reindex,
    /// CREATE TABLE … (LIKE …).
    Like,
    /// CREATE OR REPLACE VIEW.
    Replace,
}

impl Access {
    /// Whether rows are read or written.
    pub fn is_of_rows(self) -> bool {
        matches!(
            self,
            Access::Select
                | Access::Insert
                | Access::Update
                | Access::Delete
                | Access::CopyFrom
                | Access::CopyTo
                | Access::Truncate
        )
    }
}

impl ObjectKind {
    /// As statements name it: `table`.
    pub fn word(self) -> &'static str {
        match self {
            ObjectKind::Table => "table",
            ObjectKind::View => "view",
            ObjectKind::Index => "index",
            ObjectKind::Sequence => "sequence",
            ObjectKind::MaterializedView => "materialized view",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            ObjectKind::Table => "tables",
            ObjectKind::View => "views",
            ObjectKind::Index => "indexes",
            ObjectKind::Sequence => "sequences",
            ObjectKind::MaterializedView => "materialized views",
        }
    }

    fn drop_words(self) -> &'static str {
        match self {
            ObjectKind::Table => "Use DROP TABLE to remove a table.",
            ObjectKind::View => "Use DROP VIEW to remove a view.",
            ObjectKind::Index => "Use DROP INDEX to remove an index.",
            ObjectKind::Sequence => "Use DROP SEQUENCE to remove a sequence.",
            ObjectKind::MaterializedView => "Use DROP MATERIALIZED VIEW to remove a materialized view.",
        }
    }
}

impl<'a> Object<'a> {
    /// The definition that it stands in: oid and version of a table or a view.
    pub(super) fn definition(self) -> (ObjectKind, u32, u64) {
        let (oid, version) = match self {
            Object::Table(table) => (table.oid, table.version_with_types()),
            Object::Sequence(sequence) => (sequence.oid(), sequence.version),
            Object::View(view) => (view.oid(), view.version),
            Object::Index(table, index) => (index.oid, table.version),
        };
        (self.kind(), oid, version)
    }

    /// What it is.
    pub fn kind(self) -> ObjectKind {
        match self {
            Object::Table(table) if table.is_materialized_view() => ObjectKind::MaterializedView,
            Object::Table(_) => ObjectKind::Table,
            Object::View(_) => ObjectKind::View,
            Object::Index(..) => ObjectKind::Index,
            Object::Sequence(..) => ObjectKind::Sequence,
        }
    }

    /// Its name within its schema.
    pub fn name(self) -> &'a str {
        match self {
            Object::Table(table) => &table.name,
            Object::View(view) => &view.name,
            Object::Index(_, index) => &index.name,
            Object::Sequence(sequence) => &sequence.name,
        }
    }

    /// Its schema.
    pub fn schema(self) -> &'a str {
        match self {
            Object::Table(table) | Object::Index(table, _) => &table.schema,
            Object::View(view) => &view.schema,
            Object::Sequence(sequence) => &sequence.schema,
        }
    }

    /// Its oid in pg_class.
    pub fn oid(self) -> u32 {
        match self {
            Object::Table(table) => table.oid,
            Object::View(view) => view.oid(),
            Object::Index(_, index) => index.oid,
            Object::Sequence(sequence) => sequence.oid(),
        }
    }

    /// The table of an access that takes nothing else. Errors: XX000 for an access that does.
    pub fn table(self) -> Result<&'a Arc<TableDef>> {
        match self {
            Object::Table(table) => Ok(table),
            other => Err(Error::internal(format!(
                "a table was asked for, not a {}",
                other.kind().word()
            ))),
        }
    }
}

impl Catalog {
    /// The relation of the name, with which `access` can be had. Errors: 42P01 with the nearest name, 42704 for an index to be
    /// dropped, 3F000; 42809, 0A000 for what is of another kind.
    #[cfg(test)]
    pub fn relation(&self, name: RelationName<'_>, access: Access) -> Result<Object<'_>> {
        match self.get_relation(name, access)? {
            Some(object) => Ok(object),
            None => Err(self.undefined(name, access)),
        }
    }

    /// As `relation`; `None` when nothing has the name.
    pub fn get_relation(&self, name: RelationName<'_>, access: Access) -> Result<Option<Object<'_>>> {
        let found = match name.schema {
            Some(schema) => self.named_in(schema, name.name),
            None => name
                .search_path
                .iter()
                .find_map(|schema| self.named_in(schema, name.name)),
        };
        match found {
            Some(object) => check_kind(object.kind(), name.name, access).map(|()| Some(object)),
            None => Ok(None),
        }
    }

    /// The record of a table, a view or a sequence. Errors: XX000 for what has none of its own.
    pub fn stored(&self, object: Object<'_>) -> Result<&Relation> {
        let (schema, name) = match object {
            Object::Table(table) => (&table.schema, &table.name),
            Object::View(view) => (&view.schema, &view.name),
            Object::Sequence(sequence) => (&sequence.schema, &sequence.name),
            Object::Index(..) => return Err(Error::internal("an index has no record of its own")),
        };
        let found = self.relations.get(schema, name);
        found.ok_or_else(|| Error::internal(format!("no record of relation \"{name}\"")))
    }

    /// Whether a relation of the schema has the name.
    pub fn is_name_taken(&self, schema: &str, name: &str) -> bool {
        self.named_in(schema, name).is_some()
    }

    fn named_in(&self, schema: &str, name: &str) -> Option<Object<'_>> {
        match self.relations.get(schema, name) {
            Some(Relation::Table(table)) => return Some(Object::Table(table)),
            Some(Relation::View(view)) => return Some(Object::View(view)),
            Some(Relation::Sequence(sequence)) => return Some(Object::Sequence(sequence)),
            None => {}
        }
        let (table, index) = self.relations.index(schema, name)?;
        Some(Object::Index(table, index))
    }

    /// The error for a name that nothing has: 42P01 with the nearest name, 42704 for an index to be dropped; 3F000 in no schema, but for
    /// statements that read and write rows.
    pub fn undefined(&self, name: RelationName<'_>, access: Access) -> Error {
        let RelationName {
            schema,
            name,
            search_path,
        } = name;
        let reads_or_writes = matches!(
            access,
            Access::Name
                | Access::Select
                | Access::Insert
                | Access::Update
                | Access::Delete
                | Access::CopyFrom
                | Access::CopyTo
        );
        let is_unknown = |schema: &&str| *schema != TEMPORARY_ALIAS && !self.schemas.contains_key(*schema);
        if let Some(schema) = schema.filter(is_unknown)
            && !reads_or_writes
        {
            return Error::UndefinedSchema {
                name: schema.to_string(),
            };
        }
        if let Access::Drop(kind) = access {
            return Error::UndefinedObject {
                kind: kind.word(),
                name: name.to_string(),
            };
        }
        let visible = self.relations.iter().filter(|relation| match schema {
            Some(schema) => relation.schema() == schema,
            None => search_path.iter().any(|in_path| in_path == relation.schema()),
        });
        let nearest = nearest_name(name, visible.map(Relation::name));
        match schema {
            Some(schema) => Error::UndefinedTable {
                name: format!("{schema}.{name}"),
                nearest: nearest.map(|nearest| format!("{schema}.{nearest}")),
            },
            None => Error::UndefinedTable {
                name: name.to_string(),
                nearest: nearest.map(str::to_string),
            },
        }
    }
}

/// The actions of ALTER TABLE, besides renaming, that a materialized view takes.
const MATERIALIZED_VIEW_ACTIONS: [&str; 10] = [
    "SET",
    "RESET",
    "CLUSTER ON",
    "SET WITHOUT CLUSTER",
    "SET TABLESPACE",
    "ALTER COLUMN ... SET STATISTICS",
    "ALTER COLUMN ... SET STORAGE",
    "ALTER COLUMN ... SET COMPRESSION",
    "ALTER COLUMN ... SET",
    "ALTER COLUMN ... RESET",
];

/// Whether a relation of this kind is what `access` can be had with. Errors: PostgreSQL's for the two.
fn check_kind(kind: ObjectKind, name: &str, access: Access) -> Result<()> {
    use ObjectKind::{Index, MaterializedView, Sequence, Table, View};
    match (access, kind) {
        (Access::Name | Access::Maintain | Access::Alter | Access::Rename, _) => Ok(()),
        (Access::Select, Table | View | Sequence | MaterializedView) => Ok(()),
        (Access::Refresh, MaterializedView) => Ok(()),
        (Access::Refresh, _) => Err(Error::InvalidStatement {
            state: StatementFault::NotImplemented,
            message: format!("\"{name}\" is not a materialized view"),
            hint: None,
        }),
        (Access::Insert | Access::Update | Access::Delete, Table) => Ok(()),
        (Access::Select | Access::Insert | Access::Update | Access::Delete, other) => {
            Err(no_rows(other, name, access))
        }
        (Access::CopyFrom | Access::CopyTo, Table) => Ok(()),
        (Access::CopyFrom | Access::CopyTo, other) => Err(no_copy(other, name, access)),
        (Access::CreateIndex | Access::CommentConstraint | Access::Grant, Index) => Err(is_index(name)),
        (Access::Grant, _) => Ok(()),
        (Access::Truncate, Table) => Ok(()),
        (Access::Truncate, _) => Err(other_kind(name, "table")),
        (Access::AlterAction(_), Table) => Ok(()),
        (Access::AlterAction(action), MaterializedView) if MATERIALIZED_VIEW_ACTIONS.contains(&action) => {
            Ok(())
        }
        (Access::AlterAction(action), other) => {
            let message = format!("ALTER action {action} cannot be performed on relation \"{name}\"");
            Err(not_supported(message, other))
        }
        (Access::RenameColumns, Table | View | MaterializedView) => Ok(()),
        (Access::RenameColumns, other) => Err(not_supported(
            format!("cannot rename columns of relation \"{name}\""),
            other,
        )),
        (Access::SetSchema, Table | View | Sequence | MaterializedView) => Ok(()),
        (Access::SetSchema, Index) => Err(Error::InvalidStatement {
            state: StatementFault::WrongObjectType,
            message: format!("cannot change schema of index \"{name}\""),
            hint: Some("Change the schema of the table instead.".to_string()),
        }),
        (Access::AlterKind(wanted) | Access::Comment(wanted), found) if wanted == found => Ok(()),
        (Access::AlterKind(wanted) | Access::Comment(wanted), _) => Err(other_kind(name, wanted.word())),
        (Access::Drop(wanted), found) if wanted == found => Ok(()),
        (Access::Drop(wanted), found) => Err(Error::WrongObjectType {
            name: name.to_string(),
            expected: wanted.word(),
            hint: Some(found.drop_words().to_string()),
        }),
        (Access::CreateIndex, Table | MaterializedView) => Ok(()),
        (Access::CreateIndex, other) => Err(not_supported(
            format!("cannot create index on relation \"{name}\""),
            other,
        )),
        // Whoever looks for the column or the constraint says that it is not there.
        (Access::CommentColumn | Access::CommentConstraint, _) => Ok(()),
        (Access::Lock, Table | View) => Ok(()),
        (Access::Lock, other) => Err(not_supported(format!("cannot lock relation \"{name}\""), other)),
        (Access::Cluster | Access::ReindexTable, Table | MaterializedView) => Ok(()),
        (Access::Cluster | Access::ReindexTable, _) => Err(other_kind(name, "table or materialized view")),
        (Access::Reindex, Index) => Ok(()),
        (Access::Reindex, _) => Err(other_kind(name, "index")),
        (Access::Like, Table | View | MaterializedView) => Ok(()),
        (Access::Like, other) => Err(not_supported(
            format!("relation \"{name}\" is invalid in LIKE clause"),
            other,
        )),
        (Access::Replace, View) => Ok(()),
        (Access::Replace, _) => Err(other_kind(name, "view")),
    }
}

/// Rows of what has none that can be had so.
fn no_rows(kind: ObjectKind, name: &str, access: Access) -> Error {
    match (kind, access) {
        (ObjectKind::Index, _) => is_index(name),
        (ObjectKind::Sequence, _) => wrong(format!("cannot change sequence \"{name}\"")),
        (ObjectKind::MaterializedView, _) => wrong(format!("cannot change materialized view \"{name}\"")),
        (ObjectKind::Table | ObjectKind::View, _) => Error::unsupported(
            format!("a write to view \"{name}\""),
            Some("Write to the table that the view reads."),
        ),
    }
}

/// COPY of what is no table.
fn no_copy(kind: ObjectKind, name: &str, access: Access) -> Error {
    let way = match access {
        Access::CopyFrom => "to",
        _ => "from",
    };
    let hint = match (kind, access) {
        (ObjectKind::Index, _) => return is_index(name),
        (ObjectKind::View, Access::CopyFrom) => {
            Some("To enable copying to a view, provide an INSTEAD OF INSERT trigger.")
        }
        (ObjectKind::View, _) | (ObjectKind::MaterializedView, Access::CopyTo) => {
            Some("Try the COPY (SELECT ...) TO variant.")
        }
        _ => None,
    };
    Error::InvalidStatement {
        state: StatementFault::WrongObjectType,
        message: format!("cannot copy {way} {} \"{name}\"", kind.word()),
        hint: hint.map(str::to_string),
    }
}

fn is_index(name: &str) -> Error {
    wrong(format!("\"{name}\" is an index"))
}

fn other_kind(name: &str, expected: &'static str) -> Error {
    Error::WrongObjectType {
        name: name.to_string(),
        expected,
        hint: None,
    }
}

fn wrong(message: String) -> Error {
    Error::InvalidStatement {
        state: StatementFault::WrongObjectType,
        message,
        hint: None,
    }
}

fn not_supported(message: String, of: ObjectKind) -> Error {
    Error::NotSupportedFor {
        message,
        kinds: of.plural(),
    }
}
