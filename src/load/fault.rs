//! `LoadFault`: why files could not be loaded, and where in them.

use std::fmt;

use crate::Error;

/// An error, perhaps at a place of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoadFault {
    /// The file.
    pub file: Option<String>,
    /// The line, which counts from 1.
    pub line: Option<u64>,
    /// What is wrong.
    pub message: String,
    /// What a server says besides.
    pub told: Box<Told>,
}

/// What an error of the server's says beside its message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Told {
    /// The SQLSTATE.
    pub sqlstate: Option<String>,
    /// More of it.
    pub detail: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// Where the server met it.
    pub context: Option<String>,
}

impl std::error::Error for LoadFault {}

impl LoadFault {
    pub(super) fn new(message: String) -> LoadFault {
        LoadFault {
            message,
            ..LoadFault::default()
        }
    }

    pub(super) fn at_line(line: u64, message: String) -> LoadFault {
        LoadFault {
            line: Some(line),
            ..LoadFault::new(message)
        }
    }

    /// The system's word on a file, or a connection.
    pub(super) fn of_io(action: &str, error: &std::io::Error) -> LoadFault {
        LoadFault::new(format!("could not {action}: {error}"))
    }

    pub(super) fn of_error(error: &Error) -> LoadFault {
        LoadFault {
            told: Box::new(Told {
                sqlstate: Some(error.sqlstate().to_string()),
                detail: error.detail(),
                hint: error.hint(),
                context: None,
            }),
            ..LoadFault::new(error.to_string())
        }
    }

    pub(super) fn with_hint(mut self, hint: &str) -> LoadFault {
        self.told.hint = Some(hint.to_string());
        self
    }

    pub(super) fn in_file(self, file: &str) -> LoadFault {
        LoadFault {
            file: Some(file.to_string()),
            ..self
        }
    }

    /// The line that COPY's CONTEXT tells of, if it does.
    pub(super) fn copied_line(&self) -> Option<u64> {
        let (_, rest) = self.told.context.as_deref()?.split_once(", line ")?;
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse().ok()
    }
}

impl fmt::Display for LoadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}, line {line}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.message)?;
        if let Some(sqlstate) = &self.told.sqlstate {
            write!(f, " ({sqlstate})")?;
        }
        for (label, part) in [
            ("DETAIL", &self.told.detail),
            ("HINT", &self.told.hint),
            ("CONTEXT", &self.told.context),
        ] {
            if let Some(part) = part {
                write!(f, "\n{label}:  {part}")?;
            }
        }
        Ok(())
    }
}
