//! The tests that speak to Keyspan as its users do: over the wire. One binary, so that it links once.
//!
//! `server` starts servers, `client` speaks the protocol in text; every other module is one subject. What SQL can say
//! stands in `sql-tests/*.slt` (run by `slt`), what several sessions say in `sql-tests/isolation/*.steps` (run by `isolation`)
//! and in PostgreSQL's own specs (`isolation_specs`).

#![allow(clippy::panic, clippy::print_stderr, clippy::unwrap_used)]

mod agreement;
mod altered_meanwhile;
mod applications;
mod bad_input;
mod check;
mod client;
mod client_encodings;
mod clients;
mod column_origins;
mod command_line;
mod computed_indexes;
mod conversations;
mod copy;
mod data_format;
mod database_copies;
mod databases;
mod definitions;
mod dropped_meanwhile;
mod durability;
mod dynamic_columns;
mod edges;
mod encryption;
mod expiry;
mod fairness;
mod faults;
mod formats;
mod histories;
mod isolation;
mod isolation_specs;
mod known_texts;
mod limits;
mod load;
mod made_again;
mod memory;
mod moved_keys;
mod names_of_objects;
mod notices;
mod numeric_parameters;
mod older_definitions;
mod place;
mod postgresql;
mod predicates;
mod protocol;
mod random;
mod range_locks;
mod regions;
mod rekey;
mod resources;
mod roles;
mod server;
mod server_log;
mod session_settings;
mod session_signals;
mod slt;
mod streaming;
mod transactions;
mod trash;
mod typed_parameters;
mod unsynced;
mod versions;
