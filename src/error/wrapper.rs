//! What stands around an error: its place in a text, its CONTEXT, what of the statement is done.

use super::{Error, TextPlace};

impl Error {
    /// The error at a place of the text, unless it has one already.
    pub fn at(self, place: TextPlace) -> Error {
        match self {
            placed @ (Error::At { .. } | Error::Advised { .. } | Error::Syntax { position: 1.., .. }) => {
                placed
            }
            error => Error::At {
                error: Box::new(error),
                place,
            },
        }
    }

    /// The error with its CONTEXT line, unless it has one already.
    pub fn in_context(self, context: String) -> Error {
        match self {
            told @ Error::InContext { .. } => told,
            error => Error::InContext {
                error: Box::new(error),
                context,
            },
        }
    }

    /// The error with one more line of CONTEXT, behind those that it has.
    pub fn within(self, line: String) -> Error {
        match self {
            Error::InContext { error, context } => Error::InContext {
                error,
                context: format!("{context}\n{line}"),
            },
            error => error.in_context(line),
        }
    }

    /// The error itself, without where it was met.
    pub fn bare(&self) -> &Error {
        match self {
            Error::InContext { error, .. }
            | Error::At { error, .. }
            | Error::Advised { error, .. }
            | Error::Partly { error, .. } => error.bare(),
            error => error,
        }
    }

    /// The same error, of a text that the client does not see or of which PostgreSQL says no place.
    pub fn without_place(self) -> Error {
        match self {
            Error::At { error, .. } => *error,
            Error::Syntax { message, .. } => Error::Syntax { message, position: 0 },
            Error::Advised { error, hint } => Error::Advised {
                error: Box::new(error.without_place()),
                hint,
            },
            error => error,
        }
    }

    /// The same at the same place, but for a missing relation that is there for other parts of the statement.
    pub fn out_of_reach(self, is_there: impl Fn(&str) -> bool) -> Error {
        match self {
            Error::At { error, place } => error.out_of_reach(is_there).at(place),
            Error::MissingFrom { relation, .. } if is_there(&relation) => Error::InvalidFromReference {
                relation,
                alias: None,
            },
            error => error,
        }
    }

    /// Whether a column was named that is not there.
    pub fn is_undefined_column(&self) -> bool {
        match self {
            Error::At { error, .. } | Error::Advised { error, .. } => error.is_undefined_column(),
            error => matches!(error, Error::UndefinedColumn { .. }),
        }
    }
}
