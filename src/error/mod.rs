//! The one error type of Keyspan: PostgreSQL's SQLSTATE, wording, DETAIL and HINT for everything that can go wrong.
//! Every module returns it; it names no outside library's error type. XX000 means a bug in us.

use std::borrow::Cow;

mod cursor;
mod edit_distance;
mod fault;
mod nearest;
mod operator_hint;
mod raised_state;
mod report;
pub mod utf8;
mod wrapper;

pub use cursor::{CursorFault, ReadOnlyCursor};
pub use edit_distance::{EditCosts, levenshtein};
pub use fault::{DuplicateKind, Limit, StatementFault};
pub use nearest::nearest_name;

/// What every fallible function of the library returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, in PostgreSQL's words (lower case, no full stop, `"names"` quoted).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the line of a variant says what its fields hold")]
pub enum Error {
    // ---- SQL text and names -------------------------------------------------------------------------------------
    /// The statement does not parse. `position` counts characters from 1, 0 when unknown.
    #[error("{message}")]
    Syntax { message: String, position: usize },
    /// An error at a place of the statement's text; `sql` turns a place of its tree into a character of the text.
    #[error("{error}")]
    At { error: Box<Error>, place: TextPlace },
    /// An error of a statement whose text tells better what to do.
    #[error("{error}")]
    Advised { error: Box<Error>, hint: String },
    /// An error met in the midst of something long: PostgreSQL's CONTEXT line says where.
    #[error("{error}")]
    InContext { error: Box<Error>, context: String },
    /// An error of a statement of which a part is done and stays so: the DETAIL says which.
    #[error("{error}")]
    Partly { error: Box<Error>, done: String },
    /// A relation that does not exist; `nearest` is offered in the HINT.
    #[error("relation \"{name}\" does not exist")]
    UndefinedTable { name: String, nearest: Option<String> },
    /// A column that does not exist; `hint` says what to write instead.
    #[error("column {name} does not exist")]
    UndefinedColumn { name: String, hint: Option<String> },
    /// A column name that two relations of the query have.
    #[error("column reference \"{name}\" is ambiguous")]
    AmbiguousColumn { name: String },
    /// A function or operator that does not exist; `signature` is `name(type, …)`.
    #[error("function {signature} does not exist")]
    UndefinedFunction { signature: String, hint: Option<String> },
    /// An operator that does not exist for its operands' types, or several that fit; `signature` is `type op type`.
    #[error("operator {} {signature}", if *ambiguous { "is not unique:" } else { "does not exist:" })]
    UndefinedOperator { signature: String, ambiguous: bool },
    /// A schema, type, setting, role … that does not exist; `kind` is PostgreSQL's word for it.
    #[error("{kind} \"{name}\" does not exist")]
    UndefinedObject { kind: &'static str, name: String },
    /// A schema that does not exist.
    #[error("schema \"{name}\" does not exist")]
    UndefinedSchema { name: String },
    /// An unqualified CREATE while no schema of the search path exists (3F000).
    #[error("no schema has been selected to create in")]
    NoCreationSchema,
    /// A name that users may not give (42939): a schema that starts with `pg_`.
    #[error("unacceptable {kind} name \"{name}\"")]
    ReservedName { kind: &'static str, name: String },
    /// The action is not allowed on this object (42501).
    #[error("permission denied: {message}")]
    NotAllowed { message: String },
    /// Other objects need the object to be dropped (2BP01); `dependents` are PostgreSQL's DETAIL lines.
    #[error("cannot drop {object} because other objects depend on it")]
    DependentObjects { object: String, dependents: Vec<String> },
    /// CREATE of something that is already there; `kind` is `relation`, `schema`, `column` …
    #[error("{kind} \"{name}\" already exists")]
    Duplicate { kind: DuplicateKind, name: String },
    /// The same column is named twice in an INSERT list or a SET clause.
    #[error("column \"{name}\" specified more than once")]
    DuplicateColumn { name: String },
    /// The same column is named twice in a key (42701); `constraint` is `primary key` or `unique`.
    #[error("column \"{name}\" appears twice in {constraint} constraint")]
    DuplicateKeyColumn { name: String, constraint: &'static str },
    /// An object of another kind than the statement needs (`"v" is not a table`).
    #[error("\"{name}\" is not {} {expected}", article(expected))]
    WrongObjectType {
        name: String,
        expected: &'static str,
        hint: Option<String>,
    },
    /// Something that cannot be done with a relation of this kind (42809).
    #[error("{message}")]
    NotSupportedFor { message: String, kinds: &'static str },
    /// The statement is valid SQL that PostgreSQL refuses on its structure (42601, 42803, 42P10 …).
    #[error("{message}")]
    InvalidStatement {
        state: StatementFault,
        message: String,
        hint: Option<String>,
    },
    /// A relation that FROM has not (42P01).
    #[error("missing FROM-clause entry for table \"{relation}\"")]
    MissingFrom { relation: String, hint: Option<String> },
    /// A relation that is there but not for this part of the statement (42P01).
    #[error("invalid reference to FROM-clause entry for table \"{relation}\"")]
    InvalidFromReference {
        relation: String,
        /// The alias that hides its name.
        alias: Option<String>,
    },
    /// An encoding for clients that nobody converts to (0A000).
    #[error("invalid value for parameter \"{setting}\": \"{value}\"")]
    UnknownConversion {
        setting: &'static str,
        value: String,
        encoding: &'static str,
    },
    /// A setting that does not exist.
    #[error("unrecognized configuration parameter \"{name}\"")]
    UndefinedSetting { name: String, nearest: Option<String> },
    /// A setting that SET cannot change (55P02); `restart`: the server's command line can.
    #[error("parameter \"{name}\" cannot be changed{}", if *restart { " without restarting the server" } else { "" })]
    ReadOnlySetting { name: String, restart: bool },
    /// What a serializable transaction has read was written by another that committed first (40001).
    #[error("could not serialize access due to read/write dependencies among transactions")]
    ReadConflict,
    /// A wait for a lock that took too long (55P03).
    #[error("canceling statement due to lock timeout")]
    LockTimeout,
    /// What somebody else has locked, of a statement that does not wait (55P03).
    #[error("could not obtain lock on {object}")]
    LockNotAvailable { object: String },
    /// Sessions that wait for one another (40P01).
    #[error("deadlock detected")]
    Deadlock { detail: String },
    /// A database that sessions are in (55006).
    #[error("{}database \"{name}\" is being accessed by other users", if *is_source { "source " } else { "" })]
    DatabaseInUse {
        name: String,
        sessions: usize,
        /// It was to be copied.
        is_source: bool,
    },
    /// A database that is not there (3D000).
    #[error("database \"{name}\" does not exist")]
    UndefinedDatabase { name: String },

    // ---- types and values ---------------------------------------------------------------------------------------
    /// An expression of the wrong type (42804).
    #[error("{message}")]
    DatatypeMismatch { message: String, hint: Option<String> },
    /// Text that is not a value of the type (22P02).
    #[error("invalid input syntax for type {type_name}: \"{value}\"")]
    InvalidText { type_name: String, value: String },
    /// Text that is not JSON (22P02).
    #[error("invalid input syntax for type json")]
    InvalidJson { detail: String },
    /// Text that is not a date or time (22007).
    #[error("invalid input syntax for type {type_name}: \"{value}\"")]
    InvalidDatetime { type_name: String, value: String },
    /// A date or time out of the range of its type (22008).
    #[error("{message}")]
    DatetimeOverflow { message: String },
    /// A binary parameter that does not decode (22P03).
    #[error("incorrect binary data format in bind parameter {parameter}")]
    InvalidBinary { parameter: usize },
    /// A number out of the range of its type (22003); the message names type and value as PostgreSQL does.
    #[error("{message}")]
    NumericOutOfRange { message: String, detail: Option<String> },
    /// Division by zero (22012).
    #[error("division by zero")]
    DivisionByZero,
    /// A string longer than varchar(n) or char(n) allows (22001).
    #[error("value too long for type {type_name}")]
    StringTooLong { type_name: String },
    /// A zero byte or broken UTF-8 in text (22021).
    #[error("invalid byte sequence for encoding \"UTF8\": {bytes}")]
    InvalidUtf8 { bytes: String },
    /// A function argument or option value that is not allowed (22023).
    #[error("{message}")]
    InvalidParameter { message: String, hint: Option<String> },
    /// A data exception that a function raises with a SQLSTATE of class 22 of its own.
    #[error("{message}")]
    DataException { state: &'static str, message: String },
    /// The same, of which more is to be said.
    #[error("{message}")]
    RefusedValue {
        state: &'static str,
        message: String,
        detail: Option<Cow<'static, str>>,
        hint: Option<&'static str>,
    },
    /// What is not of the form that COPY reads (22P04).
    #[error("{message}")]
    BadCopyData {
        message: String,
        hint: Option<&'static str>,
    },
    /// A scalar subquery that gave more than one row (21000).
    #[error("more than one row returned by a subquery used as an expression")]
    CardinalityViolation,
    /// ON CONFLICT DO UPDATE met the same row twice (21000).
    #[error("ON CONFLICT DO UPDATE command cannot affect row a second time")]
    ConflictRowTwice,
    /// MERGE met the same row twice (21000).
    #[error("MERGE command cannot affect row a second time")]
    MergeRowTwice,
    /// A source of MERGE that is called as its target (42712).
    #[error("name \"{name}\" specified more than once")]
    MergeSourceName { name: String },
    /// Text that is no array (22P02).
    #[error("malformed array literal: \"{text}\"")]
    MalformedArray { text: String, detail: String },
    /// A cast that does not exist (42846).
    #[error("cannot cast type {from} to {to}")]
    CannotCoerce { from: String, to: String },

    // ---- constraints and limits ---------------------------------------------------------------------------------
    /// NULL in a NOT NULL or key column (23502).
    #[error("null value in column \"{column}\" of relation \"{table}\" violates not-null constraint")]
    NotNullViolation {
        schema: String,
        table: String,
        column: String,
        row: String,
    },
    /// NULL in a column that ALTER TABLE makes NOT NULL (23502).
    #[error("column \"{column}\" of relation \"{table}\" contains null values")]
    ContainsNull {
        schema: String,
        table: String,
        column: String,
    },
    /// A row of which a CHECK constraint is false (23514).
    #[error("new row for relation \"{table}\" violates check constraint \"{constraint}\"")]
    CheckViolation {
        schema: String,
        table: String,
        constraint: String,
        row: String,
    },
    /// A row that a view would not show, and that was written through it (44000).
    #[error("new row violates check option for view \"{view}\"")]
    CheckOptionViolation { view: String, row: String },
    /// A write to a view that shows no rows of one table (55000). `verb`: what was tried, `insert into`.
    #[error("cannot {verb} view \"{view}\"")]
    ViewNotUpdatable {
        view: String,
        verb: &'static str,
        detail: &'static str,
        hint: &'static str,
    },
    /// A value that a domain does not have: NULL (23502), or one against a constraint of it (23514).
    #[error("{}", report::domain_message(domain, constraint))]
    DomainViolation {
        schema: String,
        domain: String,
        constraint: Option<String>,
    },
    /// A row that refers to what is not there, or is referred to by another (23503).
    #[error("{message}")]
    ForeignKeyViolation {
        schema: String,
        table: String,
        constraint: String,
        message: String,
        detail: String,
    },
    /// A table that TRUNCATE must leave, for others refer to it (0A000).
    #[error("cannot truncate a table referenced in a foreign key constraint")]
    TruncateReferenced { table: String, by: String },
    /// A column whose type is to change and that something else needs as it is (0A000).
    #[error("cannot alter type of a column used {by}")]
    ColumnUsed {
        /// Where, in PostgreSQL's words: `by a view or rule`.
        by: &'static str,
        /// Which object it is.
        detail: String,
    },
    /// REFRESH … CONCURRENTLY of a materialized view whose rows nothing tells apart (55000).
    #[error("cannot refresh materialized view \"{schema}.{name}\" concurrently")]
    NotRefreshable { schema: String, name: String },
    /// A materialized view whose rows are not there (55000).
    #[error("materialized view \"{name}\" has not been populated")]
    NotPopulated { name: String },
    /// A temporary table that is emptied at COMMIT, to which one refers that is not (0A000).
    #[error("unsupported ON COMMIT and foreign key combination")]
    OnCommitReferenced { table: String, by: String },
    /// A foreign key over columns that cannot be compared (42804).
    #[error("foreign key constraint \"{constraint}\" cannot be implemented")]
    IncomparableReference { constraint: String, detail: String },
    /// A CHECK constraint that is false of a row that was there before it (23514).
    #[error("check constraint \"{constraint}\" of relation \"{table}\" is violated by some row")]
    CheckViolated {
        schema: String,
        table: String,
        constraint: String,
    },
    /// A value for a column that only the server writes (428C9); `detail` says what kind of column it is.
    #[error("{message}")]
    GeneratedAlways {
        message: String,
        detail: String,
        hint: &'static str,
    },
    /// A generated column in a COPY (42P10).
    #[error("{message}")]
    GeneratedInCopy { message: String, detail: String },
    /// A duplicate key (23505); `key` is `(a, b)=(1, 2)`.
    #[error("duplicate key value violates unique constraint \"{constraint}\"")]
    UniqueViolation {
        schema: String,
        table: String,
        constraint: String,
        key: String,
    },
    /// A duplicate found while a unique index was built (23505); `key` as above.
    #[error("could not create unique index \"{index}\"")]
    DuplicateInIndex {
        schema: String,
        table: String,
        index: String,
        key: String,
    },
    /// A filter without a bound on the first key column (53400); `column` is that, empty when the table has none.
    #[error("This query may be a full table scan and thus may have unpredictable performance")]
    FullScan {
        table: String,
        detail: String,
        hint: String,
        /// The CREATE INDEX that would serve.
        index: Option<String>,
    },
    /// A multi-get of too many keys (54000).
    #[error("Multi Get Plan query too many rows in one select")]
    TooManyKeys { keys: u128, keys_max: usize },
    /// A key column, key or row value above its limit (54000).
    #[error("{what} of {bytes} bytes exceeds the limit of {bytes_max} bytes")]
    TooLarge {
        what: String,
        bytes: usize,
        bytes_max: usize,
        setting: &'static str,
    },
    /// Another limit of the server (54000, 54001, 53200, 53300): `setting` is what raises it.
    #[error("{message}")]
    LimitExceeded {
        state: Limit,
        message: String,
        hint: String,
    },

    // ---- transactions and the store -----------------------------------------------------------------------------
    /// A statement in a failed transaction block (25P02).
    #[error("current transaction is aborted, commands ignored until end of transaction block")]
    FailedTransaction,
    /// A statement that cannot run where it stands in a transaction (25001, 25P01, 25006).
    #[error("{message}")]
    TransactionState { state: &'static str, message: String },
    /// A savepoint that does not exist (3B001).
    #[error("savepoint \"{name}\" does not exist")]
    UndefinedSavepoint { name: String },
    /// A concurrent commit changed what this transaction read or wrote (40001). `key` is the stored key.
    #[error("could not serialize access due to concurrent update")]
    Conflict { key: Vec<u8> },
    /// A concurrent commit deleted a row that this transaction writes (40001).
    #[error("could not serialize access due to concurrent delete")]
    ConcurrentDelete { key: Vec<u8> },
    /// The snapshot was given up to keep memory bounded (72000).
    #[error("snapshot too old")]
    SnapshotTooOld,
    /// The store is closed or its committer has ended (57P01).
    #[error("terminating connection due to administrator command")]
    Shutdown,
    /// The data directory is used by another process (55006).
    #[error("data directory \"{path}\" is in use by another process")]
    DataDirInUse { path: String },
    /// The data directory was written by a newer release (0A000).
    #[error("data directory \"{path}\" has format {found}, this release reads up to {supported}")]
    DataDirFormat {
        path: String,
        found: u32,
        supported: u32,
    },
    /// The system refused what a server needs to start (58030).
    #[error("{message}")]
    CannotStart { message: String, hint: String },
    /// Stored bytes that do not decode (XX001).
    #[error("{what} is damaged: {reason}")]
    Corrupt { what: String, reason: String },
    /// Free space on the data directory's disk fell below the reserve (53100): only what frees space is still taken.
    #[error("could not write: no space left on device above the reserve of {reserve_bytes} bytes")]
    DiskFull { free_bytes: u64, reserve_bytes: u64 },
    /// A store behind a network did not tell whether it has committed (08007).
    #[error("could not learn whether the transaction is committed: {reason}")]
    OutcomeUnknown { reason: String },
    /// The storage engine or the operating system failed (58030).
    #[error("{action}: {reason}")]
    Io { action: String, reason: String },

    // ---- sessions and protocol ----------------------------------------------------------------------------------
    /// Valid PostgreSQL that Keyspan does not have (0A000).
    #[error("{feature} is not supported")]
    FeatureNotSupported { feature: String, hint: Option<String> },
    /// A file that COPY cannot have (42501, 58P01, 58030).
    #[error("{message}")]
    FileRefused {
        state: &'static str,
        message: String,
        hint: &'static str,
    },
    /// The client asked to cancel the statement (57014).
    #[error("canceling statement due to user request")]
    QueryCanceled,
    /// The client gave up the COPY whose data it was sending (57014).
    #[error("COPY from stdin failed: {reason}")]
    CopyFailed { reason: String },
    /// `statement_timeout` passed (57014).
    #[error("canceling statement due to statement timeout")]
    StatementTimeout,
    /// The client has gone away while its statement ran (08006); nobody is left to read this.
    #[error("connection to client lost")]
    ClientGone,
    /// A session idle for longer than its time limit (25P03 in a transaction, 57P05 outside).
    #[error("terminating connection due to {} timeout", if *in_transaction { "idle-in-transaction" } else { "idle-session" })]
    IdleTimeout { in_transaction: bool },
    /// Something that is not in the state the statement needs (55000).
    #[error("{message}")]
    NotInState { message: String },
    /// Going back over a cursor's rows that are not kept (55000).
    #[error("cursor can only scan forward")]
    ForwardOnly,
    /// A cursor that locks rows and is declared to be what such cannot be (0A000, 42P11).
    #[error("{}", kind.message(clause))]
    LockingCursor {
        kind: ReadOnlyCursor,
        clause: &'static str,
    },
    /// WHERE CURRENT OF a cursor that names no row (24000).
    #[error("cursor \"{cursor}\" {fault}")]
    CursorState { cursor: String, fault: CursorFault },
    /// A client above `max_connections` (53300).
    #[error("sorry, too many clients already")]
    TooManyClients,
    /// A client that does not know the password of the role it asks for (28P01).
    #[error("password authentication failed for user \"{user}\"")]
    InvalidPassword { user: String },
    /// A start-up packet without a user, or of one that may not log in (28000).
    #[error("{message}")]
    InvalidAuthorization { message: String },
    /// A prepared statement that does not exist (26000).
    #[error("{} does not exist", prepared_statement(.name))]
    UndefinedStatement { name: String },
    /// A portal that does not exist (34000).
    #[error("portal \"{name}\" does not exist")]
    UndefinedPortal { name: String },
    /// A cursor that does not exist (34000).
    #[error("cursor \"{name}\" does not exist")]
    UndefinedCursor { name: String },
    /// A prepared statement whose result has changed since it was described (0A000).
    #[error("cached plan must not change result type")]
    PlanChanged { hint: Option<String> },
    /// A message that breaks the protocol (08P01).
    #[error("{message}")]
    ProtocolViolation { message: String },
    /// What a function raised, or what is told of it in words of its own.
    #[error("{}", .0.message)]
    Raised(Box<Raised>),
    /// A bug in Keyspan (XX000).
    #[error("{message}")]
    Internal { message: String },
}

/// An error with all that is told of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Raised {
    /// SQLSTATE.
    pub sqlstate: String,
    /// One line.
    pub message: String,
    /// DETAIL.
    pub detail: Option<String>,
    /// HINT.
    pub hint: Option<String>,
    /// What it is about.
    pub schema: Option<String>,
    /// See `schema`.
    pub table: Option<String>,
    /// See `schema`.
    pub column: Option<String>,
    /// See `schema`.
    pub constraint: Option<String>,
    /// See `schema`.
    pub data_type: Option<String>,
}

impl Raised {
    /// An error of this state and these words alone.
    pub fn new(sqlstate: &str, message: impl Into<String>) -> Raised {
        Raised {
            sqlstate: sqlstate.to_string(),
            message: message.into(),
            ..Raised::default()
        }
    }
}

impl From<Raised> for Error {
    fn from(raised: Raised) -> Error {
        Error::Raised(Box::new(raised))
    }
}

/// Where in a statement's text an error stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextPlace {
    /// A token of the statement's tree: line and column, in characters from 1.
    Token {
        /// Counts from 1.
        line: u64,
        /// Counts from 1, in characters.
        column: u64,
    },
    /// An operator of this name behind a place.
    Operator {
        /// As it is written, in lower case.
        name: String,
        /// It stands behind this place: counts from 1.
        line: u64,
        /// See `line`.
        column: u64,
        /// So many of the name stand between.
        passed: usize,
    },
    /// The character PostgreSQL reports, from 1.
    Character(usize),
}

impl Error {
    /// Something PostgreSQL has and Keyspan does not, and what to do instead.
    pub fn unsupported(feature: impl Into<String>, hint: Option<&str>) -> Error {
        Error::FeatureNotSupported {
            feature: feature.into(),
            hint: hint.map(str::to_string),
        }
    }

    /// No function of this signature, although perhaps one of this name.
    pub fn undefined_function(signature: String) -> Error {
        let hint = "No function matches the given name and argument types. You might need to add explicit type casts.";
        Error::UndefinedFunction {
            signature,
            hint: Some(hint.to_string()),
        }
    }

    /// Arrow refused what we built ourselves: a bug in us.
    pub fn arrow(error: impl std::fmt::Display) -> Error {
        Error::internal(format!("arrow: {error}"))
    }

    /// A bug in us, with what was expected.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::Internal {
            message: message.into(),
        }
    }
}

/// A prepared statement by its name.
fn prepared_statement(name: &str) -> String {
    match name {
        "" => "unnamed prepared statement".to_string(),
        name => format!("prepared statement \"{name}\""),
    }
}

/// `a` or `an`.
fn article(noun: &str) -> &'static str {
    match noun.starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => "an",
        false => "a",
    }
}
