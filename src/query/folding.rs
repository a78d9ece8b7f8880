//! `Folding`: what is known of a call of a user's aggregate while its arguments are gathered.

use crate::catalog::AggregateDef;
use crate::types::SqlType;

/// How the arrays of an aggregate's arguments become its value.
#[derive(Debug)]
pub(super) struct Folding {
    /// How it computes.
    pub(super) aggregate: AggregateDef,
    /// The types of its arguments.
    pub(super) inputs: Vec<SqlType>,
    /// That of its state.
    pub(super) state: SqlType,
}
