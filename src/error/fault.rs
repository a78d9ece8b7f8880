//! What kinds of errors have in common: which object is there already, why a statement is refused that parses, which limit it passes. Each names
//! its SQLSTATE in `report`.

/// What a CREATE found already there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DuplicateKind {
    /// A table, view, index or sequence.
    Relation,
    /// A schema.
    Schema,
    /// A database.
    Database,
    /// A column of a table.
    Column,
    /// A prepared statement.
    PreparedStatement,
    /// A portal.
    Cursor,
    /// A constraint of a table.
    Constraint,
    /// A CHECK constraint of the same statement.
    Check,
    /// A type.
    Type,
    /// An extension.
    Extension,
    /// A trigger of a table.
    Trigger,
    /// Any other object.
    Object,
}

/// Why PostgreSQL refuses a statement that parses; names its SQLSTATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StatementFault {
    /// 42601.
    Syntax,
    /// 42803: a column that is neither grouped nor aggregated.
    Grouping,
    /// 42P20: a window function where none may stand.
    Windowing,
    /// 42P10: ORDER BY position, ON CONFLICT target.
    InvalidColumnReference,
    /// 42P16: a table definition that cannot be.
    InvalidTableDefinition,
    /// 42611: a column that cannot be defined so.
    InvalidColumnDefinition,
    /// 55006: what the transaction itself still has to do with.
    ObjectInUse,
    /// 55000: an object that is not as the statement needs it.
    NotInPrerequisiteState,
    /// 72000: a moment of which nothing is known any more.
    SnapshotTooOld,
    /// 22008: a moment that is out of bounds.
    DatetimeOverflow,
    /// 42830: a foreign key to what is no key.
    InvalidForeignKey,
    /// 42P17: a definition that contradicts itself or the rules for such objects.
    InvalidObjectDefinition,
    /// 42P02: a parameter `$n` that was not given.
    UndefinedParameter,
    /// 42P18: a parameter whose type cannot be found.
    IndeterminateDatatype,
    /// 42712: a table name given twice in FROM.
    DuplicateAlias,
    /// 2BP01: other objects depend on it.
    DependentObjects,
    /// 42P01: a table missing from FROM.
    MissingFrom,
    /// 42P01: a table, in words of its own.
    UndefinedTable,
    /// 42702: a name that several columns have, in words of its own.
    AmbiguousColumn,
    /// 42703: a column, in words of its own.
    UndefinedColumn,
    /// 42P19: a recursive query of a wrong shape.
    InvalidRecursion,
    /// 42809: a function of another kind than its place needs.
    WrongObjectType,
    /// 42P21: collations that contradict one another, or one for a type without collations.
    Collation,
    /// 42725: a name that several functions or operators have.
    AmbiguousRoutine,
    /// 42P11: options of a cursor that contradict one another.
    InvalidCursorDefinition,
    /// 0A000: a form that PostgreSQL's grammar takes and its analysis does not.
    NotImplemented,
    /// 0LP01: a role that cannot be granted to another.
    InvalidGrant,
    /// 42939: a name that users may not give, in words of its own.
    ReservedName,
    /// 3D000: a database, in words of its own.
    UndefinedDatabase,
    /// 42704: an object that a definition names in words of its own.
    UndefinedObject,
    /// 42710: an object that is there, in words of its own.
    DuplicateObject,
    /// 42602: a name that cannot be one.
    InvalidName,
    /// 42883: a function that is looked for by what it does, not by its name.
    UndefinedRoutine,
    /// 42P13: a function that cannot be.
    InvalidFunctionDefinition,
    /// 42723: a function that is there with the same types of arguments.
    DuplicateFunction,
}

/// Which kind of limit was exceeded; names its SQLSTATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// 54000.
    Program,
    /// 54001: the statement is nested too deeply.
    Complexity,
    /// 54011.
    Columns,
    /// 53200.
    Memory,
    /// 53100.
    Disk,
    /// 53300.
    Connections,
}

impl std::fmt::Display for DuplicateKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            DuplicateKind::Relation => "relation",
            DuplicateKind::Schema => "schema",
            DuplicateKind::Database => "database",
            DuplicateKind::Column => "column",
            DuplicateKind::PreparedStatement => "prepared statement",
            DuplicateKind::Cursor => "cursor",
            DuplicateKind::Constraint => "constraint",
            DuplicateKind::Trigger => "trigger",
            DuplicateKind::Check => "check constraint",
            DuplicateKind::Extension => "extension",
            DuplicateKind::Type => "type",
            DuplicateKind::Object => "object",
        })
    }
}

impl StatementFault {
    /// The code that a client sees.
    pub(super) fn sqlstate(self) -> &'static str {
        match self {
            StatementFault::Syntax => "42601",
            StatementFault::UndefinedDatabase => "3D000",
            StatementFault::InvalidGrant => "0LP01",
            StatementFault::ReservedName => "42939",
            StatementFault::InvalidFunctionDefinition => "42P13",
            StatementFault::DuplicateFunction => "42723",
            StatementFault::Grouping => "42803",
            StatementFault::Windowing => "42P20",
            StatementFault::InvalidColumnReference => "42P10",
            StatementFault::InvalidTableDefinition => "42P16",
            StatementFault::InvalidColumnDefinition => "42611",
            StatementFault::ObjectInUse => "55006",
            StatementFault::NotInPrerequisiteState => "55000",
            StatementFault::SnapshotTooOld => "72000",
            StatementFault::DatetimeOverflow => "22008",
            StatementFault::InvalidForeignKey => "42830",
            StatementFault::InvalidObjectDefinition => "42P17",
            StatementFault::UndefinedParameter => "42P02",
            StatementFault::IndeterminateDatatype => "42P18",
            StatementFault::DuplicateAlias => "42712",
            StatementFault::DependentObjects => "2BP01",
            StatementFault::MissingFrom | StatementFault::UndefinedTable => "42P01",
            StatementFault::AmbiguousColumn => "42702",
            StatementFault::UndefinedColumn => "42703",
            StatementFault::InvalidRecursion => "42P19",
            StatementFault::WrongObjectType => "42809",
            StatementFault::Collation => "42P21",
            StatementFault::AmbiguousRoutine => "42725",
            StatementFault::InvalidCursorDefinition => "42P11",
            StatementFault::NotImplemented => "0A000",
            StatementFault::DuplicateObject => "42710",
            StatementFault::InvalidName => "42602",
            StatementFault::UndefinedObject => "42704",
            StatementFault::UndefinedRoutine => "42883",
        }
    }
}
