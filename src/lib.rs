//! Keyspan: a PostgreSQL-wire SQL engine for wide tables over a pluggable ordered key-value store.
//!
//! Modules stand in the order of dependency; each may use only what stands before it (the `tidy` test checks):
//! `error < types < copy < parse < codec < store < txn < catalog < table < plan < system < functions < tree < scan < logical < operators < query <
//! sql < session < wire`.
//!
//! # The life of a statement
//!
//! `SELECT * FROM orders WHERE channel = 'alipay' AND id > 'a0089' LIMIT 10`, from socket to socket:
//!
//! 1. `wire` cuts the bytes into a `Message` and hands its text to the connection's [`session::Session`].
//! 2. [`parse::parse`] splits the text and makes each part a [`parse::ParsedStatement`]: PostgreSQL's tree, plus what is ours
//!    (UPSERT, hints, ALLOW FILTERING). A text that came before, but for its constants, is neither parsed nor bound: the
//!    session knows it as a prepared statement of which those are the parameters ([`parse::Parameterized`]).
//! 3. The session opens or continues a [`txn::Transaction`]: one [`store::Snapshot`] and the writes buffered over it.
//! 4. [`catalog::Catalog::load`] gives the schema as that snapshot sees it; together they are the
//!    [`system::StatementContext`] the statement runs in.
//! 5. `query` binds it: names are resolved and every type decided, once; what comes of it is a [`tree::Plan`] over [`tree::Expr`]s
//!    ([`query::PlannedQuery`]), without what a query around does not ask for of those in its FROM (`logical::rewrite::unasked`). Is the
//!    bound plan a chain over one table or none, an [`operators::short::ShortPlan`] runs it as it is; the rest is rewritten (`logical::rewrite`),
//!    built of operators ([`operators::planner`]) and run on threads of its own, aggregates of a long scan with a reader for each
//!    processor. Either way table scans come back
//!    to step 6. A prepared statement keeps what it is bound to ([`system::plan_cache::PlanCache`]), and one that was short its
//!    operators, too: a generic plan, into which each run puts its parameters ([`operators::generic_plan::GenericPlan`]), computed in the
//!    connection's task until it proves long ([`system::allowance`]). A write is a plan that is bound once ([`sql::dml`]); UPDATE and
//!    DELETE find their rows by a query's. A read of one row by its whole key, prepared, knows its key from its parameters
//!    ([`operators::short::PointRead`]) and skips steps 3 to 7.
//! 6. WHERE becomes a [`plan::Predicate`], then boxes for each key of the table, then an offer of that key; the best
//!    becomes a [`plan::AccessPath`], points or ranges, or an error that teaches ([`plan::plan_access`]).
//! 7. [`scan::executor::scan_stored`] reads the path through the transaction: a [`store::Page`] at a time from
//!    [`store::Scan`], or values by multi-get; entries of an index that does not cover are looked up. What must be filtered or computed with becomes Arrow batches on the way
//!    ([`table::RowDecoder`]).
//! 8. The pieces leave as [`scan::Rows`], stored or in columns; a [`session::RowStream`] cuts them to the rows wanted.
//! 9. `wire` writes them as DataRow messages as the socket takes them (stored rows by [`table::RowFormatter`]); nothing
//!    collects a result, and a client that stops reading stops the scan.
//! 10. A write instead buffers [`store::Write`]s in its transaction; COMMIT hands them as one [`store::Batch`] to the
//!     committer, which answers once a group of them is durable.

mod catalog;
mod codec;
mod copy;
mod error;
mod functions;
mod load;
mod logical;
mod operators;
mod parse;
mod plan;
mod query;
mod scan;
mod session;
mod sql;
mod store;
mod system;
mod table;
mod tree;
mod txn;
mod types;
mod wire;

#[cfg(test)]
mod tidy;

pub use error::{Error, Result};
pub use load::{
    LoadArguments, LoadFault, LoadFormat, LoadObserver, LoadOptions, LoadProgress, LoadTarget, OnError,
    ServerAddress, load_files,
};
pub use store::StoreKind;
pub use system::query_threads::{THREAD_STACK_BYTES, blocking_threads_max};
pub use table::check::{CheckProgress, CheckReport, check_data_dir};
pub use wire::{Server, ServerOptions};

/// The store and the messages below SQL, for benchmarks and tests that look at them alone.
pub mod layers {
    pub use crate::scan::{OutputColumn, Rows};
    pub use crate::store::engine::{Engine, EngineBatch};
    pub use crate::store::fjall::FjallEngine;
    pub use crate::store::sled::SledEngine;
    pub use crate::store::{Batch, KeyRange, Page, ScanRequest, StoreOptions, Write, open_store};
    pub use crate::types::SqlType;
    pub use crate::wire::ConstantAnswer;
}
