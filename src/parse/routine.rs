//! What CREATE, ALTER and DROP FUNCTION, PROCEDURE and EXTENSION, and DO say. `routine_reader` reads them, `sql::ddl` and
//! `sql::routine` run them.

use sqlparser::ast::{DataType, ObjectName};

use super::role_name::RoleName;
use super::trigger::TriggerDefinition;

/// How an argument is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassedAs {
    /// IN, or nothing.
    In,
    /// OUT.
    Out,
    /// INOUT.
    InOut,
    /// VARIADIC.
    Variadic,
    /// A column of RETURNS TABLE.
    Table,
}

/// A type as a function's argument, result or variable names it.
#[derive(Debug, Clone, PartialEq)]
pub enum WrittenType {
    /// By its name.
    Named(DataType),
    /// `table.column%TYPE`.
    OfColumn(ObjectName),
    /// `table%ROWTYPE`.
    OfRow(ObjectName),
}

/// An argument as written.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenArgument {
    /// Its name.
    pub name: Option<String>,
    /// IN, OUT …
    pub passed: PassedAs,
    /// Its type.
    pub ty: WrittenType,
    /// DEFAULT, as text.
    pub default: Option<String>,
}

/// A body as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrittenBody {
    /// AS 'text'.
    Text(String),
    /// RETURN expression.
    Return(String),
    /// BEGIN ATOMIC … END: what is between.
    Atomic(String),
}

/// A clause of CREATE or ALTER FUNCTION that may be changed.
#[derive(Debug, Clone, PartialEq)]
pub enum RoutineOption {
    /// IMMUTABLE, STABLE, VOLATILE.
    Immutable,
    /// See `Immutable`.
    Stable,
    /// See `Immutable`.
    Volatile,
    /// STRICT; `false`: CALLED ON NULL INPUT.
    Strict(bool),
    /// LEAKPROOF.
    Leakproof(bool),
    /// SECURITY DEFINER; `false`: INVOKER.
    SecurityDefiner(bool),
    /// PARALLEL.
    Parallel(String),
    /// COST.
    Cost(f32),
    /// ROWS.
    Rows(f32),
    /// SET name = values.
    Set { name: String, values: Vec<String> },
    /// SET name FROM CURRENT.
    SetFromCurrent(String),
    /// RESET; `None` for ALL.
    Reset(Option<String>),
}

/// CREATE FUNCTION, CREATE PROCEDURE.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRoutine {
    /// PROCEDURE.
    pub is_procedure: bool,
    /// OR REPLACE.
    pub or_replace: bool,
    /// Its name.
    pub name: ObjectName,
    /// Its arguments, those of RETURNS TABLE behind the others.
    pub arguments: Vec<WrittenArgument>,
    /// RETURNS a type.
    pub returns: Option<WrittenType>,
    /// RETURNS SETOF, RETURNS TABLE.
    pub returns_set: bool,
    /// LANGUAGE.
    pub language: Option<String>,
    /// Its body.
    pub body: Option<WrittenBody>,
    /// The other clauses.
    pub options: Vec<RoutineOption>,
}

/// CREATE AGGREGATE.
#[derive(Debug, Clone, PartialEq)]
pub struct NewAggregate {
    /// OR REPLACE.
    pub or_replace: bool,
    /// Its name.
    pub name: ObjectName,
    /// What it is given; nothing: rows as they are.
    pub arguments: Vec<WrittenArgument>,
    /// SFUNC.
    pub step: Option<ObjectName>,
    /// STYPE.
    pub state: Option<WrittenType>,
    /// FINALFUNC.
    pub finish: Option<ObjectName>,
    /// FINALFUNC_EXTRA.
    pub finish_extra: bool,
    /// INITCOND.
    pub initial: Option<String>,
}

/// FUNCTION, PROCEDURE or ROUTINE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutineWord {
    /// FUNCTION.
    Function,
    /// PROCEDURE.
    Procedure,
    /// ROUTINE: either.
    Routine,
    /// AGGREGATE.
    Aggregate,
}

impl RoutineWord {
    /// As messages name it.
    pub fn word(self) -> &'static str {
        match self {
            RoutineWord::Function => "function",
            RoutineWord::Procedure => "procedure",
            RoutineWord::Routine => "routine",
            RoutineWord::Aggregate => "aggregate",
        }
    }
}

/// A function as a statement names it.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutineRef {
    /// Its name.
    pub name: ObjectName,
    /// Its arguments; `None`: not said.
    pub arguments: Option<Vec<WrittenArgument>>,
}

/// What ALTER FUNCTION changes.
#[derive(Debug, Clone, PartialEq)]
pub enum RoutineChange {
    /// RENAME TO.
    Rename(String),
    /// OWNER TO.
    Owner(RoleName),
    /// SET SCHEMA.
    Schema(String),
    /// Its clauses.
    Options(Vec<RoutineOption>),
}

/// CREATE EXTENSION.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewExtension {
    /// Its name.
    pub name: String,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// SCHEMA.
    pub schema: Option<String>,
    /// VERSION.
    pub version: Option<String>,
}

/// A definition of a function, procedure, trigger or extension.
#[derive(Debug, Clone, PartialEq)]
pub enum RoutineDefinition {
    /// CREATE FUNCTION, CREATE PROCEDURE.
    Create(Box<NewRoutine>),
    /// CREATE AGGREGATE.
    CreateAggregate(Box<NewAggregate>),
    /// DROP FUNCTION, PROCEDURE, ROUTINE.
    Drop {
        word: RoutineWord,
        routines: Vec<RoutineRef>,
        if_exists: bool,
        cascade: bool,
    },
    /// ALTER FUNCTION, PROCEDURE, ROUTINE.
    Alter {
        word: RoutineWord,
        routine: RoutineRef,
        change: RoutineChange,
    },
    /// COMMENT ON FUNCTION, PROCEDURE, ROUTINE.
    Comment {
        word: RoutineWord,
        routine: RoutineRef,
        comment: Option<String>,
    },
    /// Of a trigger.
    Trigger(TriggerDefinition),
    /// CREATE EXTENSION.
    CreateExtension(NewExtension),
    /// DROP EXTENSION.
    DropExtensions {
        names: Vec<String>,
        if_exists: bool,
        cascade: bool,
    },
    /// ALTER EXTENSION … UPDATE, or SET SCHEMA.
    AlterExtension { name: String, schema: Option<String> },
    /// COMMENT ON EXTENSION.
    CommentOnExtension { name: String, comment: Option<String> },
    /// CREATE LANGUAGE.
    CreateLanguage(String),
}

impl RoutineDefinition {
    /// Its command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            RoutineDefinition::Create(new) if new.is_procedure => "CREATE PROCEDURE",
            RoutineDefinition::Create(_) => "CREATE FUNCTION",
            RoutineDefinition::CreateAggregate(_) => "CREATE AGGREGATE",
            RoutineDefinition::Drop { word, .. } => match word {
                RoutineWord::Function => "DROP FUNCTION",
                RoutineWord::Procedure => "DROP PROCEDURE",
                RoutineWord::Routine => "DROP ROUTINE",
                RoutineWord::Aggregate => "DROP AGGREGATE",
            },
            RoutineDefinition::Alter { word, .. } => match word {
                RoutineWord::Function => "ALTER FUNCTION",
                RoutineWord::Procedure => "ALTER PROCEDURE",
                RoutineWord::Routine => "ALTER ROUTINE",
                RoutineWord::Aggregate => "ALTER AGGREGATE",
            },
            RoutineDefinition::Comment { .. } | RoutineDefinition::CommentOnExtension { .. } => "COMMENT",
            RoutineDefinition::Trigger(definition) => definition.tag(),
            RoutineDefinition::CreateExtension(_) => "CREATE EXTENSION",
            RoutineDefinition::DropExtensions { .. } => "DROP EXTENSION",
            RoutineDefinition::AlterExtension { .. } => "ALTER EXTENSION",
            RoutineDefinition::CreateLanguage(_) => "CREATE LANGUAGE",
        }
    }
}
