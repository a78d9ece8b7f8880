//! Running statements: access paths as streams of Arrow batches, DataFusion's table provider and plan nodes over them,
//! functions, writes. Knows nothing of SQL text or sessions.

mod bound_constants;
pub mod catalog_table;
mod compared_column;
mod context;
pub mod datafusion_error;
pub mod datafusion_state;
pub mod dependent_join;
pub mod dependent_join_exec;
mod dependent_join_run;
pub mod expr_text;
pub mod figures;
pub mod filter_predicate;
pub mod functions;
mod index_builds;
mod jobs;
mod merged_scan;
mod numeric_builder;
pub mod observed;
mod only_input;
mod optimizer;
mod ordered_column;
pub mod outer_values;
mod output_column;
mod parallel;
pub mod pauses;
pub mod pg_catalog;
mod pieces;
pub mod placeholder;
pub mod plan_cache;
mod prepared_list;
pub mod query_threads;
pub mod residual;
mod row_plan;
mod rows;
mod rows_of_entries;
pub mod scan;
pub mod scan_exec;
pub mod scan_metrics;
pub(crate) mod settings;
pub mod shared_rows;
pub mod short;
pub mod shown_plans;
mod spill;
mod statement_state;
pub mod table_provider;
pub mod value_array;
pub mod whole_frame;
pub mod written_expr;
mod written_filters;

pub use compared_column::compared_column;
pub use context::{Notice, Parameters, StatementContext};
pub use index_builds::{Building, IndexBuild, IndexBuilds};
pub use jobs::{Abandoned, Jobs};
pub use output_column::OutputColumn;
pub use prepared_list::{PreparedList, PreparedRow};
pub use row_plan::{RowPlan, RowPlans, RowSite};
pub use rows::{Rows, RowsStream, StoredRows};
pub use settings::{
    SERVER_VERSION, SettingChange, SettingDef, SettingRow, SettingScope, Settings, definitions, severity_rank,
};
pub use spill::SpillFiles;
