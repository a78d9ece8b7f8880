//! Calls over windows as DataFusion's functions.

use std::sync::Arc;

use datafusion_expr::{
    WindowFrame as DataFusionFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition,
};
use datafusion_functions_window as windows;

use super::aggregate_functions::aggregate_function;
use crate::tree::{FrameBound, FrameUnits, Ranking, WindowFrame, WindowedFunction};

/// The function that computes it.
pub(super) fn window_function(function: &WindowedFunction) -> WindowFunctionDefinition {
    let ranking = match function {
        WindowedFunction::Aggregate(accumulator) => {
            return WindowFunctionDefinition::AggregateUDF(aggregate_function(accumulator));
        }
        WindowedFunction::Ranking(ranking) => ranking,
    };
    WindowFunctionDefinition::WindowUDF(match ranking {
        Ranking::RowNumber => windows::row_number::row_number_udwf(),
        Ranking::Rank => windows::rank::rank_udwf(),
        Ranking::DenseRank => windows::rank::dense_rank_udwf(),
        Ranking::PercentRank => windows::rank::percent_rank_udwf(),
        Ranking::CumeDist => windows::cume_dist::cume_dist_udwf(),
        Ranking::Ntile => windows::ntile::ntile_udwf(),
        Ranking::Lag => windows::lead_lag::lag_udwf(),
        Ranking::Lead => windows::lead_lag::lead_udwf(),
        Ranking::FirstValue => windows::nth_value::first_value_udwf(),
        Ranking::LastValue => windows::nth_value::last_value_udwf(),
        Ranking::NthValue => windows::nth_value::nth_value_udwf(),
    })
}

/// The frame.
pub(super) fn window_frame(frame: &WindowFrame) -> Arc<DataFusionFrame> {
    let units = match frame.units {
        FrameUnits::Rows => WindowFrameUnits::Rows,
        FrameUnits::Range => WindowFrameUnits::Range,
        FrameUnits::Groups => WindowFrameUnits::Groups,
    };
    let (start, end) = (bound(&frame.start_bound), bound(&frame.end_bound));
    Arc::new(DataFusionFrame::new_bounds(units, start, end))
}

fn bound(bound: &FrameBound) -> WindowFrameBound {
    match bound {
        FrameBound::Preceding(offset) => WindowFrameBound::Preceding(offset.clone()),
        FrameBound::CurrentRow => WindowFrameBound::CurrentRow,
        FrameBound::Following(offset) => WindowFrameBound::Following(offset.clone()),
    }
}
