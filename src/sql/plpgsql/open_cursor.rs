//! `OpenCursor`: a cursor of a body that is open, and where it stands. Knows nothing of variables.

use std::collections::VecDeque;

use crate::sql::routine_run::statement_run::Ran;
use crate::system::StatementMemory;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// What a value in memory takes besides its bytes.
const VALUE_BYTES: usize = 48;

/// A cursor that is open.
pub(super) struct OpenCursor {
    ran: Ran,
    columns: Vec<(String, SqlType)>,
    /// Rows read and kept; the first of them is number `dropped` + 1.
    rows: VecDeque<Vec<Value>>,
    dropped: usize,
    /// The number of the row it stands on, from 1; 0: before the first.
    pub(super) at: usize,
    is_done: bool,
    /// NO SCROLL.
    forward_only: bool,
    /// Whether the body goes back anywhere: only then rows are kept.
    scrolls: bool,
}

impl OpenCursor {
    /// Over rows on their way. `scrolls`: the body goes back somewhere.
    pub(super) fn new(
        ran: Ran,
        columns: Vec<(String, SqlType)>,
        forward_only: bool,
        scrolls: bool,
    ) -> OpenCursor {
        OpenCursor {
            ran,
            columns,
            rows: VecDeque::new(),
            dropped: 0,
            at: 0,
            is_done: false,
            forward_only,
            scrolls,
        }
    }

    /// The names and types of its columns.
    pub(super) fn columns(&self) -> &[(String, SqlType)] {
        &self.columns
    }

    /// The number of the last row read.
    pub(super) fn last(&self) -> usize {
        self.dropped + self.rows.len()
    }

    /// Goes to the row of a number; whether it is there.
    pub(super) async fn go_to(&mut self, memory: &StatementMemory, number: i64) -> Result<bool> {
        let Some(number) = usize::try_from(number).ok().filter(|number| *number > 0) else {
            return self.back_to(0).map(|()| false);
        };
        if number < self.at {
            self.back_to(number)?;
        }
        while self.last() < number && !self.is_done {
            match self.ran.rows.next().await? {
                None => self.is_done = true,
                Some(row) => {
                    match self.scrolls {
                        true => memory.hold(bytes_of(&row))?,
                        false => {
                            self.dropped = self.last();
                            self.rows.clear();
                        }
                    }
                    self.rows.push_back(row);
                }
            }
        }
        let is_there = number <= self.last();
        self.at = match is_there {
            true => number,
            false => self.last() + 1,
        };
        Ok(is_there)
    }

    /// Errors: 55000 for a cursor that only goes on.
    fn back_to(&mut self, number: usize) -> Result<()> {
        match self.forward_only && self.at > number {
            true => Err(Error::ForwardOnly),
            false => {
                self.at = number;
                Ok(())
            }
        }
    }

    pub(super) fn row(&self) -> Option<Vec<Value>> {
        let place = self.at.checked_sub(self.dropped + 1)?;
        self.rows.get(place).cloned()
    }
}

/// What a row in memory takes.
pub(super) fn bytes_of(row: &[Value]) -> usize {
    let bytes = |value: &Value| match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Array(items) | Value::Record(items) => VALUE_BYTES * items.len(),
        _ => 0,
    };
    row.iter().map(|value| VALUE_BYTES + bytes(value)).sum()
}
