//! What a client is told of an error beside its message: SQLSTATE, DETAIL, HINT and position. Called by whoever writes an
//! error or a notice out; it knows nothing of the wire. Every match is exhaustive, so that a new variant is thought about.

use std::borrow::Cow;

use super::operator_hint::operator_hint;
use super::{DuplicateKind, Error, Limit, TextPlace};

/// Names of what an error is about, each where it is about such a thing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErrorObject<'a> {
    /// The schema of the table.
    pub schema: Option<&'a str>,
    /// The table.
    pub table: Option<&'a str>,
    /// The column.
    pub column: Option<&'a str>,
    /// The constraint.
    pub constraint: Option<&'a str>,
    /// The data type; the schema is its own then.
    pub data_type: Option<&'a str>,
}

/// What is told of a value that a domain does not have.
pub(super) fn domain_message(domain: &str, constraint: &Option<String>) -> String {
    match constraint {
        Some(constraint) => {
            format!("value for domain {domain} violates check constraint \"{constraint}\"")
        }
        None => format!("domain {domain} does not allow null values"),
    }
}

impl Error {
    /// Whether it is of values that somebody computed, perhaps in vain, not of the statement as a whole.
    pub(crate) fn is_of_values(&self) -> bool {
        let state = self.sqlstate();
        state.starts_with("21") || state.starts_with("22")
    }

    /// PostgreSQL's five-character SQLSTATE.
    #[expect(
        clippy::too_many_lines,
        reason = "one line a variant, so that a new one is thought about"
    )]
    pub fn sqlstate(&self) -> &'static str {
        match self {
            Error::At { error, .. }
            | Error::Advised { error, .. }
            | Error::InContext { error, .. }
            | Error::Partly { error, .. } => error.sqlstate(),
            Error::Syntax { .. } => "42601",
            Error::UndefinedTable { .. } => "42P01",
            Error::UndefinedColumn { .. } => "42703",
            Error::AmbiguousColumn { .. } => "42702",
            Error::UndefinedFunction { .. } => "42883",
            Error::UndefinedObject {
                kind: "table" | "view" | "materialized view" | "sequence",
                ..
            } => "42P01",
            Error::UndefinedOperator { ambiguous, .. } => {
                if *ambiguous {
                    "42725"
                } else {
                    "42883"
                }
            }
            Error::UndefinedObject { .. } | Error::UndefinedSetting { .. } => "42704",
            Error::UndefinedSchema { .. } | Error::NoCreationSchema => "3F000",
            Error::ReservedName { .. } => "42939",
            Error::NotAllowed { .. } => "42501",
            Error::DependentObjects { .. } => "2BP01",
            Error::Duplicate { kind, .. } => kind.sqlstate(),
            Error::DuplicateColumn { .. } | Error::DuplicateKeyColumn { .. } => "42701",
            Error::WrongObjectType { .. } | Error::NotSupportedFor { .. } => "42809",
            Error::InvalidStatement { state, .. } => state.sqlstate(),
            Error::DatatypeMismatch { .. } => "42804",
            Error::InvalidText { .. } | Error::MalformedArray { .. } | Error::InvalidJson { .. } => "22P02",
            Error::InvalidDatetime { .. } => "22007",
            Error::DatetimeOverflow { .. } => "22008",
            Error::InvalidBinary { .. } => "22P03",
            Error::NumericOutOfRange { .. } => "22003",
            Error::DivisionByZero => "22012",
            Error::StringTooLong { .. } => "22001",
            Error::InvalidUtf8 { .. } => "22021",
            Error::BadCopyData { .. } => "22P04",
            Error::InvalidParameter { .. } => "22023",
            Error::DataException { state, .. }
            | Error::RefusedValue { state, .. }
            | Error::FileRefused { state, .. }
            | Error::TransactionState { state, .. } => state,
            Error::CardinalityViolation | Error::ConflictRowTwice | Error::MergeRowTwice => "21000",
            Error::MergeSourceName { .. } => "42712",
            Error::MissingFrom { .. } | Error::InvalidFromReference { .. } => "42P01",
            Error::CannotCoerce { .. } => "42846",
            Error::GeneratedAlways { .. } => "428C9",
            Error::GeneratedInCopy { .. } => "42P10",
            Error::NotNullViolation { .. } | Error::ContainsNull { .. } => "23502",
            Error::UniqueViolation { .. } | Error::DuplicateInIndex { .. } => "23505",
            Error::ForeignKeyViolation { .. } => "23503",
            Error::IncomparableReference { .. } => "42804",
            Error::CheckViolation { .. } | Error::CheckViolated { .. } => "23514",
            Error::CheckOptionViolation { .. } => "44000",
            Error::DomainViolation { constraint: None, .. } => "23502",
            Error::DomainViolation { .. } => "23514",
            Error::FullScan { .. } => "53400",
            Error::TooManyKeys { .. } | Error::TooLarge { .. } => "54000",
            Error::LimitExceeded { state, .. } => state.sqlstate(),
            Error::FailedTransaction => "25P02",
            Error::UndefinedSavepoint { .. } => "3B001",
            Error::Conflict { .. } | Error::ConcurrentDelete { .. } | Error::ReadConflict => "40001",
            Error::SnapshotTooOld => "72000",
            Error::Shutdown => "57P01",
            Error::DataDirInUse { .. } => "55006",
            Error::DataDirFormat { .. }
            | Error::FeatureNotSupported { .. }
            | Error::UnknownConversion { .. }
            | Error::ColumnUsed { .. }
            | Error::OnCommitReferenced { .. }
            | Error::TruncateReferenced { .. } => "0A000",
            Error::Corrupt { .. } => "XX001",
            Error::DiskFull { .. } => "53100",
            Error::Io { .. } | Error::CannotStart { .. } => "58030",
            Error::QueryCanceled | Error::StatementTimeout | Error::CopyFailed { .. } => "57014",
            Error::ReadOnlySetting { .. } => "55P02",
            Error::UndefinedDatabase { .. } => "3D000",
            Error::DatabaseInUse { .. } => "55006",
            Error::LockTimeout | Error::LockNotAvailable { .. } => "55P03",
            Error::Deadlock { .. } => "40P01",
            Error::ClientGone => "08006",
            Error::OutcomeUnknown { .. } => "08007",
            Error::IdleTimeout { in_transaction: true } => "25P03",
            Error::IdleTimeout {
                in_transaction: false,
            } => "57P05",
            Error::NotInState { .. }
            | Error::ForwardOnly
            | Error::NotPopulated { .. }
            | Error::ViewNotUpdatable { .. }
            | Error::NotRefreshable { .. } => "55000",
            Error::LockingCursor { kind, .. } => kind.sqlstate(),
            Error::CursorState { .. } => "24000",
            Error::TooManyClients => "53300",
            Error::InvalidAuthorization { .. } => "28000",
            Error::InvalidPassword { .. } => "28P01",
            Error::UndefinedStatement { .. } => "26000",
            Error::UndefinedPortal { .. } | Error::UndefinedCursor { .. } => "34000",
            Error::PlanChanged { .. } => "0A000",
            Error::ProtocolViolation { .. } => "08P01",
            Error::Raised(raised) => super::raised_state::interned(&raised.sqlstate),
            Error::Internal { .. } => "XX000",
        }
    }

    /// The DETAIL line, when there is one.
    #[expect(
        clippy::too_many_lines,
        reason = "one line a variant, so that a new one is thought about"
    )]
    pub fn detail(&self) -> Option<String> {
        match self {
            Error::At { error, .. } | Error::Advised { error, .. } | Error::InContext { error, .. } => {
                error.detail()
            }
            Error::Partly { error, done } => Some(match error.detail() {
                Some(detail) => format!("{detail}\n{done}"),
                None => done.clone(),
            }),
            Error::UniqueViolation { key, .. } => Some(format!("Key {key} already exists.")),
            Error::DuplicateInIndex { key, .. } => Some(format!("Key {key} is duplicated.")),
            Error::NotNullViolation { row, .. }
            | Error::CheckViolation { row, .. }
            | Error::CheckOptionViolation { row, .. } => Some(format!("Failing row contains {row}.")),
            Error::DatabaseInUse { sessions, .. } => Some(match sessions {
                0 | 1 => "There is 1 other session using the database.".to_string(),
                sessions => format!("There are {sessions} other sessions using the database."),
            }),
            Error::ViewNotUpdatable { detail, .. } => Some((*detail).to_string()),
            Error::FullScan { detail, .. }
            | Error::ForeignKeyViolation { detail, .. }
            | Error::IncomparableReference { detail, .. } => Some(detail.clone()),
            Error::TruncateReferenced { table, by } => {
                Some(format!("Table \"{by}\" references \"{table}\"."))
            }
            Error::ColumnUsed { detail, .. } => Some(detail.clone()),
            Error::UnknownConversion { encoding, .. } => Some(format!(
                "Conversion between {encoding} and UTF8 is not supported."
            )),
            Error::MergeSourceName { .. } => {
                Some("The name is used both as MERGE target table and data source.".to_string())
            }
            Error::OnCommitReferenced { table, by } => Some(format!(
                "Table \"{by}\" references \"{table}\", but they do not have the same ON COMMIT setting."
            )),
            Error::TooManyKeys { keys, keys_max } => Some(format!(
                "The conditions name {keys} keys; at most {keys_max} may be fetched in one statement."
            )),
            Error::NumericOutOfRange { detail, .. } => detail.clone(),
            Error::ReservedName { .. } => {
                Some("The prefix \"pg_\" is reserved for system schemas.".to_string())
            }
            Error::DependentObjects { dependents, .. } => Some(dependents.join("\n")),
            Error::Deadlock { detail }
            | Error::InvalidJson { detail }
            | Error::MalformedArray { detail, .. }
            | Error::GeneratedInCopy { detail, .. }
            | Error::GeneratedAlways { detail, .. } => Some(detail.clone()),
            Error::NotSupportedFor { kinds, .. } => {
                Some(format!("This operation is not supported for {kinds}."))
            }
            Error::DiskFull { free_bytes, .. } => Some(format!("{free_bytes} bytes are free.")),
            Error::LockingCursor { kind, .. } => Some(kind.detail()),
            Error::Raised(raised) => raised.detail.clone(),
            Error::RefusedValue { detail, .. } => detail.clone().map(Cow::into_owned),
            Error::Syntax { .. }
            | Error::UndefinedTable { .. }
            | Error::UndefinedColumn { .. }
            | Error::AmbiguousColumn { .. }
            | Error::UndefinedFunction { .. }
            | Error::UndefinedOperator { .. }
            | Error::UndefinedObject { .. }
            | Error::UndefinedSchema { .. }
            | Error::NoCreationSchema
            | Error::NotAllowed { .. }
            | Error::Duplicate { .. }
            | Error::DuplicateColumn { .. }
            | Error::DuplicateKeyColumn { .. }
            | Error::WrongObjectType { .. }
            | Error::InvalidStatement { .. }
            | Error::UndefinedSetting { .. }
            | Error::UndefinedDatabase { .. }
            | Error::LockTimeout
            | Error::LockNotAvailable { .. }
            | Error::ReadOnlySetting { .. }
            | Error::DatatypeMismatch { .. }
            | Error::InvalidText { .. }
            | Error::InvalidDatetime { .. }
            | Error::DatetimeOverflow { .. }
            | Error::InvalidBinary { .. }
            | Error::DivisionByZero
            | Error::StringTooLong { .. }
            | Error::InvalidUtf8 { .. }
            | Error::InvalidParameter { .. }
            | Error::DataException { .. }
            | Error::BadCopyData { .. }
            | Error::FileRefused { .. }
            | Error::CardinalityViolation
            | Error::ConflictRowTwice
            | Error::MergeRowTwice
            | Error::MissingFrom { .. }
            | Error::InvalidFromReference { .. }
            | Error::CannotCoerce { .. }
            | Error::ContainsNull { .. }
            | Error::CheckViolated { .. }
            | Error::DomainViolation { .. }
            | Error::TooLarge { .. }
            | Error::LimitExceeded { .. }
            | Error::FailedTransaction
            | Error::TransactionState { .. }
            | Error::UndefinedSavepoint { .. }
            | Error::Conflict { .. }
            | Error::ConcurrentDelete { .. }
            | Error::ReadConflict
            | Error::SnapshotTooOld
            | Error::Shutdown
            | Error::DataDirInUse { .. }
            | Error::DataDirFormat { .. }
            | Error::CannotStart { .. }
            | Error::Corrupt { .. }
            | Error::Io { .. }
            | Error::OutcomeUnknown { .. }
            | Error::FeatureNotSupported { .. }
            | Error::QueryCanceled
            | Error::CopyFailed { .. }
            | Error::StatementTimeout
            | Error::ClientGone
            | Error::IdleTimeout { .. }
            | Error::NotInState { .. }
            | Error::ForwardOnly
            | Error::CursorState { .. }
            | Error::InvalidAuthorization { .. }
            | Error::InvalidPassword { .. }
            | Error::TooManyClients
            | Error::UndefinedStatement { .. }
            | Error::UndefinedPortal { .. }
            | Error::UndefinedCursor { .. }
            | Error::PlanChanged { .. }
            | Error::ProtocolViolation { .. }
            | Error::NotPopulated { .. }
            | Error::NotRefreshable { .. }
            | Error::Internal { .. } => None,
        }
    }

    /// The HINT line, when there is one: what the user should do next.
    #[expect(
        clippy::too_many_lines,
        reason = "one line a variant, so that a new one is thought about"
    )]
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::At { error, .. } | Error::InContext { error, .. } | Error::Partly { error, .. } => {
                error.hint()
            }
            Error::Advised { hint, .. } => Some(hint.clone()),
            Error::Raised(raised) => raised.hint.clone(),
            Error::BadCopyData { hint, .. } | Error::RefusedValue { hint, .. } => hint.map(str::to_string),
            Error::FileRefused { hint, .. } | Error::ViewNotUpdatable { hint, .. } => {
                Some((*hint).to_string())
            }
            Error::ForwardOnly => {
                Some("Declare it with SCROLL option to enable backward scan.".to_string())
            }
            Error::UndefinedTable { nearest: Some(nearest), .. } => {
                Some(format!("Perhaps you meant the table \"{nearest}\"."))
            }
            Error::UndefinedSetting { nearest: Some(nearest), .. } => {
                Some(format!("Perhaps you meant \"{nearest}\"."))
            }
            Error::UndefinedColumn { hint, .. }
            | Error::UndefinedFunction { hint, .. }
            | Error::WrongObjectType { hint, .. }
            | Error::InvalidStatement { hint, .. }
            | Error::DatatypeMismatch { hint, .. }
            | Error::InvalidParameter { hint, .. }
            | Error::PlanChanged { hint }
            | Error::FeatureNotSupported { hint, .. } => hint.clone(),
            Error::UndefinedOperator {
                signature,
                ambiguous,
            } => Some(operator_hint(signature, *ambiguous)),
            Error::FullScan { hint, .. } | Error::LimitExceeded { hint, .. } => Some(hint.clone()),
            Error::TooManyKeys { .. } => Some(
                "Split the IN lists over several statements, or raise keyspan.multi_get_max_keys.".to_string(),
            ),
            Error::DatabaseInUse { is_source, .. } => Some(match is_source {
                true => "Nobody else may be in a database that is copied: end them (pg_stat_activity lists them).".to_string(),
                false => "End them (pg_stat_activity lists them), or write DROP DATABASE … WITH (FORCE).".to_string(),
            }),
            Error::UndefinedDatabase { .. } => Some(
                "CREATE DATABASE makes one; pg_database (\\l in psql) lists those there are.".to_string(),
            ),
            Error::TooLarge { setting, .. } => Some(format!("Shorten the value, or raise {setting}.")),
            Error::GeneratedAlways { hint, .. } => Some(hint.to_string()),
            Error::ColumnUsed { .. } => Some(
                "Drop what uses it first, and make it again afterwards (for a hash or BUCKETS: DROP CONSTRAINT, ADD PRIMARY KEY)."
                    .to_string(),
            ),
            Error::NotRefreshable { .. } => Some(
                "Create a unique index with no WHERE clause on one or more columns of the materialized view."
                    .to_string(),
            ),
            Error::OutcomeUnknown { .. } => Some(
                "It is committed as a whole or not at all: look at what it was to write before you run it again.".to_string(),
            ),
            Error::NotPopulated { .. } => {
                Some("Use the REFRESH MATERIALIZED VIEW command.".to_string())
            }
            Error::OnCommitReferenced { by, .. } => {
                Some(format!("Make \"{by}\" with ON COMMIT DELETE ROWS, too."))
            }
            Error::TruncateReferenced { by, .. } => Some(format!(
                "Truncate table \"{by}\" at the same time, or use TRUNCATE ... CASCADE."
            )),
            Error::DependentObjects { .. } => {
                Some("Use DROP ... CASCADE to drop the dependent objects too.".to_string())
            }
            Error::MissingFrom { hint, .. } => hint.clone(),
            Error::InvalidFromReference { relation, alias } => Some(match alias {
                Some(alias) => format!("Perhaps you meant to reference the table alias \"{alias}\"."),
                None => format!(
                    "There is an entry for table \"{relation}\", but it cannot be referenced from this part of the query."
                ),
            }),
            Error::MergeRowTwice => Some(
                "Ensure that not more than one source row matches any one target row.".to_string(),
            ),
            Error::ConflictRowTwice => Some(
                "Ensure that no rows proposed for insertion within the same command have duplicate constrained values."
                    .to_string(),
            ),
            Error::Conflict { .. }
            | Error::ConcurrentDelete { .. }
            | Error::ReadConflict
            | Error::Deadlock { .. } => Some("The transaction might succeed if retried.".to_string()),
            Error::SnapshotTooOld => {
                Some("Use shorter transactions, or raise keyspan.undo_bytes_max.".to_string())
            }
            Error::DataDirInUse { .. } => {
                Some("Stop the other server, or give another directory with --data-dir.".to_string())
            }
            Error::DiskFull { .. } => Some(
                "DELETE, TRUNCATE or DROP what is not needed, or free space on the disk: writes go on once keyspan.disk_reserve_bytes are free."
                    .to_string(),
            ),
            Error::CannotStart { hint, .. } => Some(hint.clone()),
            Error::Corrupt { .. } => Some(
                "\"keyspan check\" with the data directory says what else is damaged; a backup of the whole directory brings it back."
                    .to_string(),
            ),
            Error::DataDirFormat { .. } => Some("Open it with the release that wrote it, or a newer one.".to_string()),
            Error::Syntax { .. }
            | Error::UndefinedTable { .. }
            | Error::AmbiguousColumn { .. }
            | Error::NotSupportedFor { .. }
            | Error::UndefinedObject { .. }
            | Error::UndefinedSchema { .. }
            | Error::NoCreationSchema
            | Error::ReservedName { .. }
            | Error::NotAllowed { .. }
            | Error::Duplicate { .. }
            | Error::DuplicateColumn { .. }
            | Error::DuplicateKeyColumn { .. }
            | Error::UndefinedSetting { .. }
            | Error::ReadOnlySetting { .. }
            | Error::InvalidText { .. }
            | Error::MalformedArray { .. }
            | Error::InvalidJson { .. }
            | Error::LockTimeout
            | Error::LockNotAvailable { .. }
            | Error::InvalidDatetime { .. }
            | Error::DatetimeOverflow { .. }
            | Error::InvalidBinary { .. }
            | Error::NumericOutOfRange { .. }
            | Error::DivisionByZero
            | Error::StringTooLong { .. }
            | Error::InvalidUtf8 { .. }
            | Error::DataException { .. }
            | Error::CardinalityViolation
            | Error::MergeSourceName { .. }
            | Error::UnknownConversion { .. }
            | Error::CannotCoerce { .. }
            | Error::NotNullViolation { .. }
            | Error::ContainsNull { .. }
            | Error::CheckViolation { .. }
            | Error::CheckOptionViolation { .. }
            | Error::CheckViolated { .. }
            | Error::DomainViolation { .. }
            | Error::ForeignKeyViolation { .. }
            | Error::IncomparableReference { .. }
            | Error::UniqueViolation { .. }
            | Error::DuplicateInIndex { .. }
            | Error::FailedTransaction
            | Error::TransactionState { .. }
            | Error::UndefinedSavepoint { .. }
            | Error::Shutdown
            | Error::Io { .. }
            | Error::QueryCanceled
            | Error::CopyFailed { .. }
            | Error::GeneratedInCopy { .. }
            | Error::StatementTimeout
            | Error::ClientGone
            | Error::IdleTimeout { .. }
            | Error::NotInState { .. }
            | Error::LockingCursor { .. }
            | Error::CursorState { .. }
            | Error::InvalidAuthorization { .. }
            | Error::InvalidPassword { .. }
            | Error::TooManyClients
            | Error::UndefinedStatement { .. }
            | Error::UndefinedPortal { .. }
            | Error::UndefinedCursor { .. }
            | Error::ProtocolViolation { .. }
            | Error::Internal { .. } => None,
        }
    }

    /// The CONTEXT line, when there is one: what was at hand.
    pub fn context(&self) -> Option<&str> {
        match self {
            Error::InContext { context, .. } => Some(context),
            Error::At { error, .. } | Error::Advised { error, .. } | Error::Partly { error, .. } => {
                error.context()
            }
            _ => None,
        }
    }

    /// What of the database a row was against, for clients that tell constraints apart by more than words.
    pub fn object(&self) -> ErrorObject<'_> {
        let of = |schema, table, column, constraint| ErrorObject {
            schema: Some(schema),
            table: Some(table),
            column,
            constraint,
            data_type: None,
        };
        match self.bare() {
            Error::DomainViolation {
                schema,
                domain,
                constraint,
            } => ErrorObject {
                schema: Some(schema),
                constraint: constraint.as_deref(),
                data_type: Some(domain),
                ..ErrorObject::default()
            },
            Error::Raised(raised) => ErrorObject {
                schema: raised.schema.as_deref(),
                table: raised.table.as_deref(),
                column: raised.column.as_deref(),
                constraint: raised.constraint.as_deref(),
                data_type: raised.data_type.as_deref(),
            },
            Error::NotNullViolation {
                schema,
                table,
                column,
                ..
            }
            | Error::ContainsNull {
                schema,
                table,
                column,
            } => of(schema, table, Some(column), None),
            Error::UniqueViolation {
                schema,
                table,
                constraint,
                ..
            }
            | Error::DuplicateInIndex {
                schema,
                table,
                index: constraint,
                ..
            }
            | Error::ForeignKeyViolation {
                schema,
                table,
                constraint,
                ..
            }
            | Error::CheckViolation {
                schema,
                table,
                constraint,
                ..
            }
            | Error::CheckViolated {
                schema,
                table,
                constraint,
            } => of(schema, table, None, Some(constraint)),
            _ => ErrorObject::default(),
        }
    }

    /// Where in the statement the error stands, in characters from 1.
    pub fn position(&self) -> Option<usize> {
        match self {
            Error::InContext { error, .. } | Error::Partly { error, .. } => error.position(),
            Error::Syntax { position, .. } => (*position > 0).then_some(*position),
            Error::At {
                place: TextPlace::Character(position),
                ..
            } => Some(*position),
            Error::Advised { error, .. } => error.position(),
            _ => None,
        }
    }
}

impl DuplicateKind {
    fn sqlstate(self) -> &'static str {
        match self {
            DuplicateKind::Relation => "42P07",
            DuplicateKind::Schema => "42P06",
            DuplicateKind::Database => "42P04",
            DuplicateKind::Column => "42701",
            DuplicateKind::PreparedStatement => "42P05",
            DuplicateKind::Cursor => "42P03",
            DuplicateKind::Constraint
            | DuplicateKind::Check
            | DuplicateKind::Extension
            | DuplicateKind::Trigger
            | DuplicateKind::Type
            | DuplicateKind::Object => "42710",
        }
    }
}

impl Limit {
    fn sqlstate(self) -> &'static str {
        match self {
            Limit::Program => "54000",
            Limit::Complexity => "54001",
            Limit::Columns => "54011",
            Limit::Memory => "53200",
            Limit::Disk => "53100",
            Limit::Connections => "53300",
        }
    }
}
