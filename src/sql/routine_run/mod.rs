//! What functions in SQL and in PL/pgSQL have in common: how a statement of theirs runs, what it runs in, and their values as others have
//! them.

mod domain_value;
pub(in crate::sql) mod statement_run;
mod values;

pub(in crate::sql) use domain_value::{check_rows, domain_cast};
pub(in crate::sql) use values::{assigned, element_of, inner_context, returned_types, text_of};
