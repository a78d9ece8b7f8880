//! The server and its sessions as facts: settings, the relations of the system catalogs, what statements of all sessions share, what one
//! statement runs in ([`StatementContext`]), and the threads and memory it may take. Knows nothing of how a statement runs.

pub(crate) mod advisory_locks;
pub mod allowance;
pub(crate) mod blocking_wait;
mod call_place;
pub(crate) mod catalog_version;
mod channels;
mod common_rows;
mod context;
mod copy_progress;
mod cursor_position;
pub mod datafusion_error;
mod deferred_constraints;
mod expiry_figures;
mod exported_snapshots;
pub(crate) mod extensions;
mod grown_stack;
mod index_builds;
pub(crate) mod interrupt;
mod jobs;
pub mod key_advice;
pub mod large_object_descriptors;
mod live_sessions;
mod notices;
mod open_cursors;
pub mod pg_catalog;
pub mod plan_cache;
mod prepared_list;
pub mod query_threads;
pub mod refused_statements;
pub mod region_rates;
mod relations_in_use;
mod routine_call;
mod run_sorter;
mod scram;
pub(crate) mod sequence_values;
mod server_state;
pub(crate) mod session_random;
mod session_sequences;
pub(crate) mod session_state;
pub(crate) mod settings;
pub(crate) mod small_scans;
mod spill;
pub(crate) mod statement_memory;
pub mod statement_statistics;
mod transaction_control;
mod trigger_functions;

pub use call_place::{CallPlace, Step};
pub use common_rows::{CommonColumn, CommonRows};
pub use context::{Parameters, StatementContext};
pub use copy_progress::{CopyProgress, Copying};
pub use cursor_position::CursorPosition;
pub use deferred_constraints::{
    DeferredCause, DeferredCheck, DeferredMark, ExclusionCheck, ReferenceCheck, TriggerCheck, UniqueCheck,
};
pub use exported_snapshots::ExportedSnapshot;
pub use extensions::{KNOWN_EXTENSIONS, KnownExtension, PLPGSQL, extension_of};
pub use grown_stack::{GrownStack, with_grown_stack};
pub use index_builds::{Building, IndexBuild, IndexBuilds};
pub use jobs::{Abandoned, Jobs};
pub use live_sessions::{ClosedDatabase, Closing, LiveSessions, SessionLimits};
pub use notices::{Notice, Notices};
pub use open_cursors::{CursorRow, CursorRowsAtHand};
pub use prepared_list::{PreparedList, PreparedRow};
pub use relations_in_use::InUse;
pub use routine_call::{CALLS_MAX, NameConflict, RoutineCall, TriggerCall, Variable, Variables};
pub use run_sorter::{MergedRuns, RunSorter};
pub use scram::{SCRAM_SHA_256, ScramExchange, scram_verifier};
pub use server_state::ServerState;
pub use session_state::{ActivityState, SessionOwner, SessionState, SharedMark, TcpEnds, now_us};
pub use settings::{
    LoggedStatements, PlanSettings, SERVER_VERSION, SettingChange, SettingRow, SettingSource, Settings,
    UnwrittenColumns, definitions,
};
pub use spill::SpillFiles;
pub use statement_memory::StatementMemory;
pub use transaction_control::{
    AskedOfSession, Counted, TransactionAtHand, TransactionControl, TransactionRequest,
};
pub(crate) use trigger_functions::trigger_function_named;
