//! `Accumulation`: what an aggregate is computed by. `aggregate` and `ordered_set` make one of a call, and plan it.

use std::sync::Arc;

use super::bound::Bound;
use super::folding::Folding;
use crate::functions::{self, Body};
use crate::tree::{Accumulator, Expr, Moment};
use crate::types::{FIXED_PRECISION_MAX, SqlType};

/// What computes an aggregate: accumulators, and what is made of their results.
pub(super) struct Accumulation {
    /// The accumulators, their arguments, the types of their results.
    pub(super) calls: Vec<(Accumulator, Vec<Expr>, SqlType)>,
    /// What the results become.
    pub(super) finish: Finish,
    /// It is one of numerics that tells equal numbers by itself, so that DISTINCT is not for the operator.
    pub(super) is_exact: bool,
}

impl Accumulation {
    /// An aggregate of numbers that keeps all their digits.
    pub(super) fn exact(name: &str, moment: Moment, argument: Bound, distinct: bool) -> Accumulation {
        let function = Accumulator::exact(name, moment, distinct);
        let ty = SqlType::Numeric(None);
        Accumulation {
            calls: vec![(function, vec![argument.expr], ty.clone())],
            finish: Finish::Cast(ty),
            is_exact: true,
        }
    }

    /// Arrays of the texts, and maybe of their separators, that are joined.
    pub(super) fn joined(calls: Vec<(Accumulator, Vec<Expr>, SqlType)>, finish: Finish) -> Accumulation {
        Accumulation {
            calls,
            finish,
            is_exact: false,
        }
    }
}

/// The type in which operators sum fixed numerics, when it holds the sum of as many as there can be.
pub(super) fn sums_stay_fixed(ty: &SqlType) -> Option<SqlType> {
    let size = ty.fixed_size()?;
    // No table has 10^19 rows.
    (size.precision + 19 <= FIXED_PRECISION_MAX).then(|| SqlType::numeric_of_scale(size.shown_scale()))
}

/// What the accumulators' results become.
#[derive(Debug, Clone)]
pub(super) enum Finish {
    /// The only result, cast.
    Cast(SqlType),
    /// The float, of this type, that the result is the key of.
    Float(SqlType),
    /// The citext that the result has behind its key.
    Citext,
    /// Likewise the interval.
    KeyedInterval,
    /// The only result: NULL, of no type, as what is aggregated.
    Unwritten,
    /// The first divided by the second, as numerics.
    Quotient,
    /// Sorted arrays of values, of which equal ones may differ, each row once; then what they become.
    Unrepeated(Box<Finish>),
    /// The least or the greatest of an array's items.
    Extreme(Extreme),
    /// Sums of the months, days and microseconds of intervals as an interval; divided by a fourth result for an average.
    Interval { is_average: bool },
    /// The sum of an array's intervals, or their average.
    Intervals { is_average: bool },
    /// A list as an array.
    Array,
    /// The item that comes most often in a sorted array.
    Mode,
    /// An array as JSON.
    Json(SqlType),
    /// What this function makes of an array: of ranges, of bit strings.
    Items(&'static str),
    /// An array of keys and one of values as a JSON object, by this function.
    Object(&'static str),
    /// An array of texts as one text; NULLs are left out.
    Joined(Bound),
    /// As `Joined`, of an array of texts and one of their separators.
    JoinedByRow,
    /// The percentiles of an array in its order, at a fraction.
    Percentile(Percentile, Bound),
    /// The place of a row that there is not, by how many come before it.
    Hypothetical(Hypothetical),
    /// What a user's aggregate makes of the arrays of its arguments.
    Folded(Arc<Folding>),
}

/// What is asked of a row that there is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hypothetical {
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
}

impl Hypothetical {
    /// The aggregate of this name, which with OVER is a window function.
    pub(super) fn named(name: &str) -> Option<Hypothetical> {
        match name {
            "rank" => Some(Hypothetical::Rank),
            "dense_rank" => Some(Hypothetical::DenseRank),
            "percent_rank" => Some(Hypothetical::PercentRank),
            "cume_dist" => Some(Hypothetical::CumeDist),
            _ => None,
        }
    }
}

/// Which end of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extreme {
    /// min.
    Least,
    /// max.
    Greatest,
}

impl Extreme {
    /// The name and the body of the function that finds it in an array.
    pub(super) fn definition(self) -> (&'static str, Body) {
        match self {
            Extreme::Least => ("least_item", functions::LEAST_ITEM),
            Extreme::Greatest => ("greatest_item", functions::GREATEST_ITEM),
        }
    }
}

/// The function that takes the percentiles out of a sorted array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Percentile {
    /// percentile_cont: between two values where none stands at the place.
    Continuous,
    /// percentile_disc: the first value at the place or after it.
    Discrete,
}

impl Percentile {
    /// The aggregate of this name.
    pub(super) fn named(name: &str) -> Option<Percentile> {
        match name {
            "percentile_cont" => Some(Percentile::Continuous),
            "percentile_disc" => Some(Percentile::Discrete),
            _ => None,
        }
    }

    /// The name and the body of the function.
    pub(super) fn definition(self) -> (&'static str, Body) {
        match self {
            Percentile::Continuous => ("percentile_cont", functions::PERCENTILE_CONT),
            Percentile::Discrete => ("percentile_disc", functions::PERCENTILE_DISC),
        }
    }
}

/// An aggregate of one accumulator, whose result it is.
pub(super) fn single_call(function: Accumulator, arguments: Vec<Expr>, ty: SqlType) -> Accumulation {
    Accumulation {
        calls: vec![(function, arguments, ty.clone())],
        finish: Finish::Cast(ty),
        is_exact: false,
    }
}
