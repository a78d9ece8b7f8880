//! The PostgreSQL protocol over any stream of bytes: start-up, messages in both protocols, encoding of rows, cancel, shutdown.
//! Called by `main`; knows nothing of tables or plans. pgwire's structs encode what the server sends. What clients send
//! is decoded here (`message`), because pgwire's decoder panics on a message whose lengths lie.
//!
//! A connection in the order of its life: `listener` accepts it and gives it a thread (`connection_threads`), `startup` makes a session, `connection` reads messages
//! and hands each to `simple` or `extended`, which run it in the session and send what it gives through `rows`. Where it
//! stands is its `state`. Below `listener` nobody knows of sockets: `input` and `output` are two halves of whatever stream.
//!
//! - Nothing collects a result: a batch is asked for only when the last one has left for the socket.
//! - Every wait for the socket or for rows ends on cancel, timeout, shutdown or when the client goes.
//! - Silent connections keep nobody out (`startups`), and clients, however many, leave the store its file descriptors
//!   (`descriptors`).
//! - Bytes in the output buffer are whole messages, so that an error may follow them at any time.

mod authentication;
mod binary_texts;
mod cancel;
mod client_encoding;
mod connection;
mod connection_threads;
mod constant_answer;
mod copy;
mod copy_messages;
mod descriptors;
mod extended;
mod function_call;
mod input;
mod listener;
mod listening;
mod message;
mod output;
mod report;
mod responder;
mod rows;
mod server;
#[cfg(test)]
mod several_servers_tests;
mod simple;
mod startup;
mod startups;
mod state;
mod statement_log;
mod tls;

pub use constant_answer::ConstantAnswer;
pub use server::{Server, ServerOptions};
