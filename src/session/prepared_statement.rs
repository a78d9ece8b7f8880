//! `PreparedStatement`: a parsed statement that clients run by its name, and portals are made of.

use std::sync::Arc;

use crate::sql::{Description, Statement};
use crate::types::SqlType;

/// A parsed statement with the types of its parameters and the columns of its result.
#[derive(Debug)]
pub struct PreparedStatement {
    /// `None` for an empty text.
    pub parsed: Option<Arc<Statement>>,
    /// What Describe tells.
    pub description: Description,
    /// The types of its parameters, shared with every execution: `Unknown` where nothing decides.
    pub types: Arc<[SqlType]>,
}

impl PreparedStatement {
    pub(super) fn new(parsed: Option<Arc<Statement>>, description: Description) -> PreparedStatement {
        PreparedStatement {
            types: description.parameters.as_slice().into(),
            parsed,
            description,
        }
    }
}
