//! COPY: the options' meaning, data to rows (`from`) and rows to data (`to`). Called by `sql::execute`; the client's side of it is
//! `session`'s and `wire`'s. The forms of data are `copy`'s, the write is `dml::CopyPlan`'s, what is read is a query's.

mod batch;
mod file;
mod from;
mod options;
mod parser;
mod reading;
mod to;

use super::{Outcome, Statement};
use crate::copy::ForcedColumns;
use crate::error::StatementFault;
use crate::parse::copy::{Copy, CopySubject};
use crate::parse::names;
use crate::system::StatementContext;
use crate::{Error, Result};

pub use from::CopyIn;

/// Runs a COPY, or begins it where the client has a part in it. Errors: those of its options and of binding; a file's.
pub(super) async fn execute(ctx: &StatementContext, statement: &Statement, copy: &Copy) -> Result<Outcome> {
    match copy.is_from {
        true => Box::pin(from::begin(ctx, statement, copy)).await,
        false => to::begin(ctx, statement, copy).await,
    }
}

/// The columns that the statement names.
fn column_names(copy: &Copy) -> Vec<String> {
    match &copy.subject {
        CopySubject::Relation { columns, .. } => columns.iter().map(names::fold).collect(),
        CopySubject::Query => Vec::new(),
    }
}

/// The columns that an option names are copied. `find`: what is said of one that is not there at all. Errors: 42P10, `find`'s.
fn check_forced(
    forced: &ForcedColumns,
    option: &str,
    copied: &[&str],
    find: impl Fn(&str) -> Result<()>,
) -> Result<()> {
    let ForcedColumns::Named(names) = forced else {
        return Ok(());
    };
    for name in names {
        if copied.contains(&name.as_str()) {
            continue;
        }
        find(name)?;
        return Err(Error::InvalidStatement {
            state: StatementFault::InvalidColumnReference,
            message: format!("{option} column \"{name}\" not referenced by COPY"),
            hint: None,
        });
    }
    Ok(())
}
