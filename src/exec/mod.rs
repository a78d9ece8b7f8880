//! Running statements: access paths as streams of Arrow batches, DataFusion's table provider and plan nodes over them,
//! functions, writes. Knows nothing of SQL text or sessions.

mod context;
pub mod predicate;
pub mod residual;
pub mod scan;
mod settings;

pub use context::{Notice, OutputColumn, StatementContext};
pub use settings::{
    SERVER_VERSION, SettingChange, SettingDef, SettingRow, SettingScope, Settings, definitions, severity_rank,
};
