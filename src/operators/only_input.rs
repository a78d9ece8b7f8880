//! `only_input`: the input of a node of ours that has one.

use datafusion_common::{DataFusionError, Result as DataFusionResult};

/// The one input that a node is given anew. Errors: it is given none.
pub(crate) fn only_input<T>(inputs: Vec<T>) -> DataFusionResult<T> {
    let input = inputs.into_iter().next();
    input.ok_or_else(|| DataFusionError::Internal("no input".to_string()))
}
