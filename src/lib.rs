//! Keyspan: a PostgreSQL-wire SQL engine for wide tables over a pluggable ordered key-value store.
//!
//! Modules stand in the order of dependency; each may use only what stands before it (the `tidy` test checks):
//! `error < types < codec < store < txn < catalog < table < plan < exec < sql < session < wire`.

pub mod error;
pub mod types;
pub mod codec;
pub mod store;
pub mod txn;
pub mod catalog;
pub mod table;
pub mod plan;
pub mod exec;
pub mod sql;
pub mod session;
pub mod wire;

#[cfg(test)]
mod tidy;


pub use error::{Error, Result};
