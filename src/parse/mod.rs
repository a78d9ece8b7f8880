//! Text to tree: a message's statements, each a tree of the parser, or a command of the session. Knows types by name, but no
//! relation and no row; whoever binds or runs what is read stands above.

pub mod command;
mod command_reader;
mod dialect;
mod disjunction;
mod distinct;
pub(crate) mod explain_options;
mod fragment;
mod hash_comment;
mod hints;
pub(crate) mod interval_range;
mod kind;
pub(crate) mod names;
mod nesting;
mod parameterized;
pub(crate) mod parameters;
mod position;
pub(crate) mod quoting;
mod row_assignment;
mod row_locks;
mod setting_reader;
mod short_text;
mod show_from;
mod shown_text;
mod statement;
mod symmetric;
mod syntax_error;
pub(crate) mod text_place;
mod token_reader;
mod tokens;
mod tree;
mod trim;
pub(crate) mod type_name;
mod with_write;
mod word;

pub(crate) use fragment::{parse_expression, parse_query};
pub use hints::{Hints, IndexHint};
pub use kind::StatementKind;
pub(crate) use kind::first_words;
pub use parameterized::Parameterized;
pub(crate) use short_text::TEXT_BYTES_MAX;
pub use short_text::{count_expressions, is_quick_to_read};
pub use shown_text::{shorten, without_constants};
pub(crate) use statement::is_upsert;
pub use statement::{ParsedStatement, Warning, parse};
