//! `Definition` and `Upkeep`: definitions, and what is done to keep tables in order, that the parser has no tree of.
//! `definition_reader` and `upkeep_reader` read them, `sql::ddl` runs them.

use sqlparser::ast::{ColumnDef, DataType, Expr, ForValues, IndexColumn, ObjectName};

use super::cast::CastDefinition;
use super::database::DatabaseDefinition;
use super::grant::Grant;
use super::role::RoleDefinition;
pub use super::role_name::RoleName;
use super::routine::RoutineDefinition;

/// How long a relation lasts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Persistence {
    /// Until it is dropped.
    #[default]
    Permanent,
    /// The same, as UNLOGGED says that it need not be written to a log.
    Unlogged,
    /// As long as its session.
    Temporary,
}

/// A change of the catalog.
#[derive(Debug, Clone, PartialEq)]
pub enum Definition {
    /// REFRESH MATERIALIZED VIEW; `with_rows`: not WITH NO DATA.
    RefreshView {
        name: ObjectName,
        concurrently: bool,
        with_rows: bool,
    },
    /// ALTER SCHEMA … RENAME TO.
    RenameSchema { schema: String, new_name: String },
    /// ALTER SCHEMA … OWNER TO.
    SchemaOwner { schema: String, owner: RoleName },
    /// ALTER INDEX, BUILD INDEX; `table`: what stands behind ON.
    AlterIndex {
        name: ObjectName,
        table: Option<ObjectName>,
        if_exists: bool,
        change: IndexChange,
    },
    /// CREATE SEQUENCE.
    CreateSequence {
        name: ObjectName,
        persistence: Persistence,
        if_not_exists: bool,
        options: Vec<SequenceOption>,
    },
    /// ALTER SEQUENCE.
    AlterSequence {
        name: ObjectName,
        if_exists: bool,
        change: SequenceChange,
    },
    /// CREATE TYPE … AS ENUM.
    CreateEnum { name: ObjectName, labels: Vec<String> },
    /// CREATE TYPE … AS (…): its attributes.
    CreateComposite {
        name: ObjectName,
        attributes: Vec<(String, DataType)>,
    },
    /// ALTER TYPE.
    AlterType { name: ObjectName, change: TypeChange },
    /// DROP TYPE, DROP DOMAIN.
    DropTypes(TypeDrop),
    /// CREATE DOMAIN.
    CreateDomain(Box<NewDomain>),
    /// ALTER DOMAIN.
    AlterDomain {
        name: ObjectName,
        change: Box<DomainChange>,
    },
    /// ALTER LARGE OBJECT, COMMENT ON LARGE OBJECT.
    LargeObject { oid: u32, change: LargeObjectChange },
    /// Of functions, procedures and extensions.
    Routine(RoutineDefinition),
    /// Of casts.
    Cast(CastDefinition),
    /// GRANT, REVOKE, ALTER DEFAULT PRIVILEGES.
    Grant(Grant),
    /// UNDROP TABLE, PURGE.
    Trash(TrashStatement),
    /// Of roles.
    Role(RoleDefinition),
    /// Of databases.
    Database(DatabaseDefinition),
    /// COMMENT ON what every database has: a function, a role. `kind`: its first word.
    CommentOnSystem { kind: String },
    /// COMMENT ON CONSTRAINT; an empty comment is none.
    CommentOnConstraint {
        constraint: String,
        table: ObjectName,
        comment: Option<String>,
    },
}

impl Definition {
    /// Its command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            Definition::RefreshView { .. } => "REFRESH MATERIALIZED VIEW",
            Definition::SchemaOwner { .. } | Definition::RenameSchema { .. } => "ALTER SCHEMA",
            Definition::AlterIndex { .. } => "ALTER INDEX",
            Definition::CreateSequence { .. } => "CREATE SEQUENCE",
            Definition::AlterSequence { .. } => "ALTER SEQUENCE",
            Definition::CreateEnum { .. } | Definition::CreateComposite { .. } => "CREATE TYPE",
            Definition::AlterType { .. } => "ALTER TYPE",
            Definition::DropTypes(drop) if drop.of_domains => "DROP DOMAIN",
            Definition::DropTypes(_) => "DROP TYPE",
            Definition::CreateDomain(_) => "CREATE DOMAIN",
            Definition::AlterDomain { .. } => "ALTER DOMAIN",
            Definition::LargeObject { change, .. } => match change {
                LargeObjectChange::Comment(_) => "COMMENT",
                LargeObjectChange::Owner(_) => "ALTER LARGE OBJECT",
            },
            Definition::Database(definition) => definition.tag(),
            Definition::Role(definition) => definition.tag(),
            Definition::Routine(definition) => definition.tag(),
            Definition::Cast(definition) => definition.tag(),
            Definition::Grant(grant) => grant.tag(),
            Definition::Trash(TrashStatement::Undrop { .. }) => "UNDROP TABLE",
            Definition::Trash(TrashStatement::Purge { table: Some(_) }) => "PURGE TABLE",
            Definition::Trash(TrashStatement::Purge { table: None }) => "PURGE TRASH",
            Definition::CommentOnConstraint { .. } | Definition::CommentOnSystem { .. } => "COMMENT",
        }
    }
}

/// What changes of a large object beside its bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum LargeObjectChange {
    /// An empty comment is none.
    Comment(Option<String>),
    /// OWNER TO.
    Owner(RoleName),
}

/// What becomes of tables in the trash.
#[derive(Debug, Clone, PartialEq)]
pub enum TrashStatement {
    /// UNDROP TABLE … [AS name].
    Undrop {
        table: TrashName,
        new_name: Option<ObjectName>,
    },
    /// PURGE TABLE, PURGE TRASH.
    Purge { table: Option<TrashName> },
}

/// Which table in the trash.
#[derive(Debug, Clone, PartialEq)]
pub struct TrashName {
    /// The name that it had; the newest of it is meant.
    pub name: Option<ObjectName>,
    /// WITH ID.
    pub id: Option<u32>,
}

/// What ALTER TYPE changes, of enums and of domains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypeChange {
    /// ADD VALUE.
    AddValue {
        label: String,
        if_not_exists: bool,
        place: LabelPlace,
    },
    /// RENAME VALUE.
    RenameValue { from: String, to: String },
    /// ADD, DROP and ALTER ATTRIBUTE.
    Attributes(Vec<AttributeChange>),
    /// RENAME ATTRIBUTE.
    RenameAttribute { from: String, to: String },
    /// RENAME TO.
    Rename(String),
    /// SET SCHEMA.
    Schema(String),
    /// OWNER TO.
    Owner(RoleName),
}

/// What ALTER TYPE changes of one attribute of a composite type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeChange {
    /// ADD ATTRIBUTE.
    Add { name: String, ty: DataType },
    /// DROP ATTRIBUTE.
    Drop { name: String, if_exists: bool },
    /// ALTER ATTRIBUTE … TYPE.
    Retype { name: String, ty: DataType },
}

/// Where ADD VALUE puts a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelPlace {
    /// Behind all others.
    End,
    /// Before this one.
    Before(String),
    /// Behind this one.
    After(String),
}

/// DROP TYPE, DROP DOMAIN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeDrop {
    /// DOMAIN.
    pub of_domains: bool,
    /// Which.
    pub names: Vec<ObjectName>,
    /// IF EXISTS.
    pub if_exists: bool,
    /// CASCADE.
    pub cascade: bool,
}

/// CREATE DOMAIN.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDomain {
    /// Its name.
    pub name: ObjectName,
    /// What it is over.
    pub ty: DataType,
    /// DEFAULT.
    pub default: Option<Expr>,
    /// NOT NULL, or NULL.
    pub not_null: Option<bool>,
    /// CHECK.
    pub checks: Vec<NewDomainCheck>,
}

/// A CHECK constraint of a domain, as written.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDomainCheck {
    /// CONSTRAINT.
    pub name: Option<String>,
    /// The condition.
    pub expr: Expr,
}

/// What ALTER DOMAIN changes.
#[derive(Debug, Clone, PartialEq)]
pub enum DomainChange {
    /// SET DEFAULT, DROP DEFAULT.
    Default(Option<Expr>),
    /// SET NOT NULL, DROP NOT NULL.
    NotNull(bool),
    /// ADD CONSTRAINT … CHECK.
    AddCheck { check: NewDomainCheck, not_valid: bool },
    /// DROP CONSTRAINT.
    DropCheck { name: String, if_exists: bool },
    /// RENAME CONSTRAINT.
    RenameCheck { from: String, to: String },
    /// VALIDATE CONSTRAINT.
    Validate(String),
    /// What every type takes.
    Type(TypeChange),
}

/// An option of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SequenceOption {
    /// AS, with the name of a type.
    Type(String),
    /// INCREMENT BY.
    Increment(i64),
    /// MINVALUE; `None`: NO MINVALUE.
    Min(Option<i64>),
    /// MAXVALUE; `None`: NO MAXVALUE.
    Max(Option<i64>),
    /// START WITH.
    Start(i64),
    /// RESTART, with a value or at START.
    Restart(Option<i64>),
    /// CACHE.
    Cache(i64),
    /// CYCLE; `false`: NO CYCLE.
    Cycle(bool),
    /// OWNED BY, with what is written there.
    OwnedBy(ObjectName),
    /// SEQUENCE NAME, of an identity column's.
    Name(ObjectName),
}

/// What ALTER SEQUENCE changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SequenceChange {
    /// Options.
    Options(Vec<SequenceOption>),
    /// RENAME TO.
    Rename(String),
    /// SET SCHEMA.
    Schema(String),
    /// OWNER TO.
    Role(RoleName),
    /// SET UNLOGGED; `false`: SET LOGGED.
    Unlogged(bool),
}

/// What ALTER TABLE changes of an identity column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentityChange {
    /// ADD GENERATED … AS IDENTITY.
    Add {
        always: bool,
        options: Vec<SequenceOption>,
    },
    /// SET GENERATED, SET an option, RESTART.
    Set {
        always: Option<bool>,
        options: Vec<SequenceOption>,
    },
    /// DROP IDENTITY.
    Drop { if_exists: bool },
}

/// An action of ALTER TABLE that the parser has no tree of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlterAction {
    /// What PostgreSQL stores in its own way.
    Storage(StorageChange),
    /// SET (options), SET 'option' = 'value', and RESET (options), which gives none a value.
    Options(Vec<(String, Option<String>)>),
    /// ALTER COLUMN of an identity column, or one that becomes such.
    Identity { column: String, change: IdentityChange },
    /// ALTER COLUMN … DROP EXPRESSION.
    DropExpression { column: String, if_exists: bool },
    /// ALTER CONSTRAINT.
    Constraint {
        name: String,
        deferrable: Option<bool>,
        initially_deferred: bool,
    },
    /// ADD WILDCARD: a pattern of names, and their type.
    AddWildcard {
        column: Box<ColumnDef>,
        if_not_exists: bool,
    },
    /// DROP WILDCARD.
    DropWildcard { name: String, if_exists: bool },
    /// ALTER PRIMARY KEY: its columns, and over how many buckets it is spread.
    PrimaryKey {
        columns: Vec<IndexColumn>,
        buckets: Option<String>,
    },
    /// COMPACT: space is to be taken back.
    Compact,
    /// SPLIT AT VALUES: where regions are to begin.
    SplitAt(Vec<Vec<Expr>>),
    /// UNSPLIT AT VALUES, and UNSPLIT ALL, which names none.
    UnsplitAt(Option<Vec<Vec<Expr>>>),
    /// ATTACH PARTITION: which rows the table is to have.
    AttachPartition {
        partition: ObjectName,
        bound: Box<ForValues>,
    },
    /// DETACH PARTITION.
    DetachPartition {
        partition: ObjectName,
        concurrently: bool,
        finalizes: bool,
    },
    /// What is not supported, and what to do.
    Refused {
        feature: &'static str,
        hint: &'static str,
    },
}

/// What ALTER INDEX changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexChange {
    /// ATTACH PARTITION: the index of a partition.
    Attach(ObjectName),
    /// RENAME TO.
    Rename(String),
    /// SET TABLESPACE.
    Tablespace(String),
    /// SET (parameters), and RESET, which gives none a value.
    Parameters(Vec<(String, Option<String>)>),
    /// LindormTable's states, and BUILD INDEX, which is the first. `later`: ASYNC.
    State {
        /// Which.
        state: IndexState,
        /// The statement does not wait for what must be built.
        later: bool,
    },
}

/// Whether an index is kept and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// ACTIVE: both.
    Active,
    /// INACTIVE: writes keep its entries, and no plan reads it.
    Inactive,
    /// DISABLED: neither; it has no entries.
    Disabled,
}

/// What ALTER TABLE changes of the storage that PostgreSQL has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageChange {
    /// SET WITHOUT CLUSTER, SET WITHOUT OIDS, SET ACCESS METHOD heap: so it is.
    AsItIs,
    /// SET UNLOGGED; `false`: SET LOGGED.
    Unlogged(bool),
    /// CLUSTER ON this index.
    ClusterOn(String),
    /// SET TABLESPACE.
    Tablespace(String),
    /// ALTER COLUMN this SET STATISTICS, STORAGE, COMPRESSION or parameters.
    Column {
        /// The column.
        name: String,
        /// What is set of it.
        setting: &'static str,
        /// What its parameters say of whether a write added it.
        dynamic: Option<bool>,
    },
}

/// What is done to keep tables in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Upkeep {
    /// What.
    pub kind: UpkeepKind,
    /// The tables, or indexes of REINDEX INDEX; none for all there are.
    pub targets: Vec<UpkeepTarget>,
}

/// A relation, and some of its columns.
#[derive(Debug, Clone, PartialEq)]
pub struct UpkeepTarget {
    /// Its name.
    pub name: ObjectName,
    /// The columns of ANALYZE.
    pub columns: Vec<String>,
}

/// See [`Upkeep`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpkeepKind {
    /// VACUUM, with ANALYZE.
    Vacuum {
        /// Waits until what was dropped is gone.
        full: bool,
        analyze: bool,
        /// Passes over what it would have to wait for.
        skip_locked: bool,
    },
    /// FLUSH: what was written is to stand in the engine's files.
    Flush,
    /// ANALYZE.
    Analyze {
        /// As of VACUUM.
        skip_locked: bool,
    },
    /// REINDEX.
    Reindex { of: ReindexOf, concurrently: bool },
    /// CLUSTER, by an index.
    Cluster { index: Option<String> },
    /// LOCK TABLE, in a mode (its place in PostgreSQL's order of them, from 1 on), without waiting.
    Lock { mode: u8, nowait: bool },
}

/// What REINDEX builds anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReindexOf {
    /// Indexes.
    Index,
    /// All indexes of a table.
    Table,
    /// Those of a schema.
    Schema(String),
    /// Those of the database; its name, which PostgreSQL 16 lets be left out.
    Database(Option<String>),
    /// Those of the catalogs.
    System(Option<String>),
}

impl UpkeepKind {
    /// Its command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            UpkeepKind::Vacuum { .. } => "VACUUM",
            UpkeepKind::Flush => "FLUSH",
            UpkeepKind::Analyze { .. } => "ANALYZE",
            UpkeepKind::Reindex { .. } => "REINDEX",
            UpkeepKind::Cluster { .. } => "CLUSTER",
            UpkeepKind::Lock { .. } => "LOCK TABLE",
        }
    }
}
