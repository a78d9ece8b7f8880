//! Calls over windows as DataFusion's functions.

use std::sync::Arc;

use datafusion_expr::{
    WindowFrame as DataFusionFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition,
};
use datafusion_functions_window as windows;

use super::aggregate_functions::aggregate_function;
use crate::tree::{
    Expr, FrameBound, FrameExclusion, FrameOffset, FrameUnits, Ranking, ScalarValue, WindowFrame,
    WindowedFunction,
};

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

/// The frame as DataFusion has it. `None`: it has none such.
pub(super) fn window_frame(frame: &WindowFrame) -> Option<Arc<DataFusionFrame>> {
    if frame.exclusion != FrameExclusion::NoOthers || ends_before_start(frame) {
        return None;
    }
    let units = match frame.units {
        FrameUnits::Rows => WindowFrameUnits::Rows,
        FrameUnits::Range => WindowFrameUnits::Range,
        FrameUnits::Groups => WindowFrameUnits::Groups,
    };
    // What RANGE has no offset for is untyped to DataFusion.
    let unbounded = match frame.units {
        FrameUnits::Range => ScalarValue::Null,
        _ => ScalarValue::UInt64(None),
    };
    let bound = |bound: &FrameBound| {
        Some(match bound {
            FrameBound::UnboundedPreceding => WindowFrameBound::Preceding(unbounded.clone()),
            FrameBound::Preceding(offset) => WindowFrameBound::Preceding(known_rows(offset)?),
            FrameBound::CurrentRow => WindowFrameBound::CurrentRow,
            FrameBound::Following(offset) => WindowFrameBound::Following(known_rows(offset)?),
            FrameBound::UnboundedFollowing => WindowFrameBound::Following(unbounded.clone()),
        })
    };
    let (start, end) = (bound(&frame.start_bound)?, bound(&frame.end_bound)?);
    Some(Arc::new(DataFusionFrame::new_bounds(units, start, end)))
}

/// Whether no row's frame has a row, for its end is known to stand before its start: DataFusion cuts from one to the other.
fn ends_before_start(frame: &WindowFrame) -> bool {
    let rows_on = |bound: &FrameBound| match bound {
        FrameBound::CurrentRow => Some(0),
        FrameBound::Preceding(offset) => Some(-known_count(offset)?),
        FrameBound::Following(offset) => known_count(offset),
        FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => None,
    };
    match (rows_on(&frame.start_bound), rows_on(&frame.end_bound)) {
        (Some(start), Some(end)) => start > end,
        _ => false,
    }
}

/// A number of rows or groups that is known before the plan runs.
fn known_rows(offset: &FrameOffset) -> Option<ScalarValue> {
    let count = u64::try_from(known_count(offset)?).ok()?;
    Some(ScalarValue::UInt64(Some(count)))
}

fn known_count(offset: &FrameOffset) -> Option<i64> {
    match (&offset.count, &offset.reach) {
        (Expr::Literal(ScalarValue::Int64(count), _), None) => *count,
        _ => None,
    }
}

/// Whether DataFusion computes a call with these arguments: it reads counts and defaults before the first row.
pub(super) fn takes_arguments(function: &WindowedFunction, arguments: &[Expr]) -> bool {
    let WindowedFunction::Ranking(ranking) = function else {
        return true;
    };
    let is_count = |expr: Option<&Expr>, least: i64| match expr {
        Some(Expr::Literal(ScalarValue::Int64(Some(count)), _)) => *count >= least,
        _ => false,
    };
    match ranking {
        Ranking::Ntile => is_count(arguments.first(), 1),
        Ranking::NthValue => is_count(arguments.get(1), 1),
        Ranking::Lag | Ranking::Lead => {
            let is_known = |default: &Expr| matches!(default, Expr::Literal(..));
            is_count(arguments.get(1), i64::MIN) && arguments.get(2).is_none_or(is_known)
        }
        _ => true,
    }
}
