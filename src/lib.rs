//! Keyspan: a PostgreSQL-wire SQL engine for wide tables over a pluggable ordered key-value store.
//!
//! Modules stand in the order of dependency; each may use only what stands before it (the `tidy` test checks):
//! `error < types < codec < store < txn < catalog < table < plan < exec < sql < session < wire`.

pub mod catalog;
pub mod codec;
pub mod error;
pub mod exec;
pub mod plan;
pub mod session;
pub mod sql;
pub mod store;
pub mod table;
pub mod txn;
pub mod types;
pub mod wire;

pub use error::{Error, Result};
