//! The rules that physical plans are optimized by: DataFusion's, without what would change an answer, and ours. Called by
//! `datafusion_state`.
//!
//! Filters move in the logical plan only (`rewrite`), where a column has its relation's name. The physical rule finds columns by their
//! bare names, and of two tables with one name it takes the first.

use std::sync::Arc;

use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::join_selection::JoinSelection;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

use super::counted_rows::CountWindows;
use super::far_limits::FarLimits;
use super::narrowed_probes::NarrowedProbes;
use super::parallel::ParallelReaders;
use super::pauses::PauseAboveJoins;
use super::turned_joins::TurnedJoins;

/// The rules for physical plans, in their order.
pub(super) fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    rules.retain(|rule| !rule.name().starts_with(PHYSICAL_PUSHDOWN_NAME));
    let selected = rules
        .iter()
        .position(|rule| rule.name() == JoinSelection::new().name());
    rules.insert(selected.map_or(0, |at| at + 1), Arc::new(TurnedJoins));
    rules.push(Arc::new(FarLimits));
    rules.push(Arc::new(ParallelReaders));
    rules.push(Arc::new(NarrowedProbes));
    rules.push(Arc::new(CountWindows));
    rules.push(Arc::new(PauseAboveJoins));
    rules
}

/// How the names of both phases of `FilterPushdown` begin.
const PHYSICAL_PUSHDOWN_NAME: &str = "FilterPushdown";
