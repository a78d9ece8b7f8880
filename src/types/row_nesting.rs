//! How deep rows stand within rows. The text of a row within a row doubles its quotes, so that of a deep nest takes all memory.

use super::{RecordType, SqlType};
use crate::error::Limit;
use crate::{Error, Result};

/// Rows within one another, at most.
const ROWS_NESTED_MAX: usize = 16;

/// Errors: 54001 for a row type with rows in it that are nested too deeply.
pub fn check_row_nesting(row: &RecordType) -> Result<()> {
    if depth(row) <= ROWS_NESTED_MAX {
        return Ok(());
    }
    Err(Error::LimitExceeded {
        state: Limit::Complexity,
        message: "rows are nested too deeply".to_string(),
        hint: format!("At most {ROWS_NESTED_MAX} rows stand within one another; jsonb has no such limit."),
    })
}

fn depth(row: &RecordType) -> usize {
    let within = row.fields.iter().map(|field| match field.ty.innermost() {
        SqlType::Record(row) => depth(row),
        _ => 0,
    });
    1 + within.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn rows_stand_in_rows_and_arrays_of_rows_to_a_depth() {
        let mut ty = SqlType::Int4;
        for depth in 1..=ROWS_NESTED_MAX + 1 {
            let item = if depth % 2 == 0 { SqlType::array(ty) } else { ty };
            let row = RecordType::anonymous([("f1".to_string(), SqlType::Text), ("f2".to_string(), item)]);
            assert_eq!(
                check_row_nesting(&row).is_ok(),
                depth <= ROWS_NESTED_MAX,
                "{depth}"
            );
            ty = SqlType::Record(Arc::new(row));
        }
    }
}
