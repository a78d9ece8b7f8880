//! `RowPlan`: what a write computes of rows in memory, planned.

use std::fmt;

use arrow::array::{BooleanArray, RecordBatch};

use super::placeholder::Constants;
use crate::Result;
use crate::scan::OutputColumn;
use crate::types::SqlType;

/// Expressions over rows.
pub trait RowEvaluator: fmt::Debug + Send + Sync {
    /// Which rows satisfy the condition (`None`: all), and the select list of these. Errors: the expressions', 42P02.
    fn evaluate(
        &self,
        rows: &RecordBatch,
        constants: &Constants,
    ) -> Result<(Option<BooleanArray>, RecordBatch)>;
}

/// Expressions over rows in memory with their types.
#[derive(Debug)]
pub struct RowPlan {
    /// The select list's columns.
    pub columns: Vec<OutputColumn>,
    /// The types of `$1` …
    pub parameters: Vec<SqlType>,
    /// What is evaluated.
    pub expressions: Box<dyn RowEvaluator>,
}
