//! `PreparedStatement`: a parsed statement that clients run by its name, and portals are made of; `PreparedStatements`: those
//! of a session.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Limit;
use crate::parse::count_expressions;
use crate::sql::{Description, Statement};
use crate::types::SqlType;
use crate::{Error, Result};

/// A parsed statement with the types of its parameters and the columns of its result.
#[derive(Debug)]
pub struct PreparedStatement {
    /// `None` for an empty text.
    pub parsed: Option<Arc<Statement>>,
    /// What Describe tells.
    pub description: Description,
    /// The types of its parameters, shared with every execution: `Unknown` where nothing decides.
    pub types: Arc<[SqlType]>,
    /// About what it and its plan take.
    bytes: usize,
}

/// What the smallest statement takes, and what each expression of its text adds.
const STATEMENT_BYTES: usize = 2 << 10;
const EXPRESSION_BYTES: usize = 256;

/// The prepared statements of a session by name, which take no more than they may together.
#[derive(Debug, Default)]
pub(super) struct PreparedStatements {
    by_name: HashMap<String, Arc<PreparedStatement>>,
    /// What those with a name take. The one without is replaced by the next.
    bytes: usize,
}

impl PreparedStatements {
    pub(super) fn get(&self, name: &str) -> Option<&Arc<PreparedStatement>> {
        self.by_name.get(name)
    }

    /// Keeps a statement. Errors: 53200 when there is no room for it among those with a name.
    pub(super) fn insert(
        &mut self,
        name: &str,
        statement: Arc<PreparedStatement>,
        bytes_max: usize,
    ) -> Result<()> {
        self.remove(name);
        let bytes = match name.is_empty() {
            true => self.bytes,
            false => self.bytes + statement.bytes,
        };
        if bytes > bytes_max {
            return Err(Error::LimitExceeded {
                state: Limit::Memory,
                message: format!("the prepared statements of the session exceed the limit of {bytes_max} bytes"),
                hint: "DEALLOCATE those that are not used any more, or start the server with more keyspan.prepared_bytes_max."
                    .to_string(),
            });
        }
        self.bytes = bytes;
        self.by_name.insert(name.to_string(), statement);
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str) {
        if let Some(removed) = self.by_name.remove(name)
            && !name.is_empty()
        {
            self.bytes -= removed.bytes;
        }
    }

    /// Forgets all that have a name.
    pub(super) fn clear(&mut self) {
        self.by_name.retain(|name, _| name.is_empty());
        self.bytes = 0;
    }
}

impl PreparedStatement {
    pub(super) fn new(parsed: Option<Arc<Statement>>, description: Description) -> PreparedStatement {
        let text = parsed.as_ref().map_or("", |statement| &statement.parsed.text);
        PreparedStatement {
            bytes: STATEMENT_BYTES + 4 * text.len() + EXPRESSION_BYTES * count_expressions(text),
            types: description.parameters.as_slice().into(),
            parsed,
            description,
        }
    }
}
