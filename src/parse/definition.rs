//! `Definition` and `Upkeep`: definitions, and what is done to keep tables in order, that the parser has no tree of.
//! `definition_reader` and `upkeep_reader` read them, `sql::ddl` runs them.

use sqlparser::ast::ObjectName;

/// A change of the catalog.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the line of a variant says what its fields hold")]
pub enum Definition {
    /// ALTER SCHEMA … OWNER TO.
    SchemaOwner { schema: String, owner: RoleName },
    /// ALTER INDEX.
    AlterIndex {
        name: ObjectName,
        if_exists: bool,
        change: IndexChange,
    },
    /// ALTER TABLE with nothing but what is about the storage that PostgreSQL has.
    AlterStorage {
        name: ObjectName,
        if_exists: bool,
        changes: Vec<StorageChange>,
    },
    /// CREATE SEQUENCE.
    CreateSequence {
        name: ObjectName,
        if_not_exists: bool,
        options: Vec<SequenceOption>,
    },
    /// ALTER SEQUENCE.
    AlterSequence {
        name: ObjectName,
        if_exists: bool,
        change: SequenceChange,
    },
    /// ALTER TABLE … ALTER COLUMN of an identity column, and nothing else.
    AlterIdentity {
        table: ObjectName,
        if_exists: bool,
        column: String,
        change: IdentityChange,
    },
    /// ALTER TABLE … ALTER CONSTRAINT, and nothing else.
    AlterConstraint {
        table: ObjectName,
        if_exists: bool,
        constraint: String,
        deferrable: Option<bool>,
        initially_deferred: bool,
    },
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
            Definition::SchemaOwner { .. } => "ALTER SCHEMA",
            Definition::AlterIndex { .. } => "ALTER INDEX",
            Definition::AlterStorage { .. }
            | Definition::AlterIdentity { .. }
            | Definition::AlterConstraint { .. } => "ALTER TABLE",
            Definition::CreateSequence { .. } => "CREATE SEQUENCE",
            Definition::AlterSequence { .. } => "ALTER SEQUENCE",
            Definition::CommentOnConstraint { .. } => "COMMENT",
        }
    }
}

/// How a statement names a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleName {
    /// ALL.
    All,
    /// CURRENT_USER, CURRENT_ROLE, SESSION_USER.
    Current,
    /// By its name.
    Named(String),
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
}

/// What ALTER TABLE changes of an identity column.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the line of a variant says what its fields hold")]
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

/// What ALTER INDEX changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexChange {
    /// RENAME TO.
    Rename(String),
    /// SET TABLESPACE.
    Tablespace(String),
    /// SET (parameters), and RESET, which gives none a value.
    Parameters(Vec<(String, Option<String>)>),
}

/// What ALTER TABLE changes of the storage that PostgreSQL has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StorageChange {
    /// SET LOGGED, SET WITHOUT CLUSTER, SET WITHOUT OIDS, SET ACCESS METHOD heap: so it is.
    AsItIs,
    /// SET UNLOGGED.
    Unlogged,
    /// CLUSTER ON this index.
    ClusterOn(String),
    /// SET TABLESPACE.
    Tablespace(String),
    /// RESET (parameters).
    Reset,
    /// ALTER COLUMN this SET STATISTICS, STORAGE, COMPRESSION or parameters.
    Column {
        /// The column.
        name: String,
        /// What is set of it.
        setting: &'static str,
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
#[expect(missing_docs, reason = "the line of a variant says what its fields hold")]
pub enum UpkeepKind {
    /// VACUUM, with ANALYZE.
    Vacuum { analyze: bool },
    /// ANALYZE.
    Analyze,
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
            UpkeepKind::Analyze => "ANALYZE",
            UpkeepKind::Reindex { .. } => "REINDEX",
            UpkeepKind::Cluster { .. } => "CLUSTER",
            UpkeepKind::Lock { .. } => "LOCK TABLE",
        }
    }
}
