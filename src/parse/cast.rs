//! What CREATE CAST, DROP CAST and COMMENT ON CAST say. `cast_reader` reads them, `sql::ddl` runs them.

use sqlparser::ast::DataType;

use super::routine::RoutineRef;

/// The two types of a cast, as a statement names them.
#[derive(Debug, Clone, PartialEq)]
pub struct CastTypes {
    /// What it is from.
    pub source: DataType,
    /// What it is to.
    pub target: DataType,
}

/// How a cast is done, as written.
#[derive(Debug, Clone, PartialEq)]
pub enum WrittenMethod {
    /// WITH INOUT.
    InOut,
    /// WITH FUNCTION.
    Function(RoutineRef),
    /// WITHOUT FUNCTION.
    WithoutFunction,
}

/// Where a cast needs not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenContext {
    /// Nowhere.
    Explicit,
    /// AS ASSIGNMENT.
    Assignment,
    /// AS IMPLICIT.
    Implicit,
}

/// A definition of a cast.
#[derive(Debug, Clone, PartialEq)]
pub enum CastDefinition {
    /// CREATE CAST.
    Create {
        types: CastTypes,
        method: WrittenMethod,
        context: WrittenContext,
    },
    /// DROP CAST.
    Drop { types: CastTypes, if_exists: bool },
    /// COMMENT ON CAST.
    Comment {
        types: CastTypes,
        comment: Option<String>,
    },
}

impl CastDefinition {
    /// Its command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            CastDefinition::Create { .. } => "CREATE CAST",
            CastDefinition::Drop { .. } => "DROP CAST",
            CastDefinition::Comment { .. } => "COMMENT",
        }
    }
}
