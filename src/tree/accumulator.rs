//! `Accumulator`: what an aggregate computes of the rows of a group. The operators know how.

use std::sync::Arc;

use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Field, FieldRef};

use crate::types::SqlType;

/// What is computed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Accumulator {
    /// How many there are.
    Count,
    /// Their sum.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// The first.
    First,
    /// Whether all are true.
    And,
    /// Whether one is true.
    Or,
    /// All of them.
    Array,
    /// The bits that all have.
    BitAnd,
    /// The bits that one has.
    BitOr,
    /// The bits that an odd number has.
    BitXor,
    /// Which keys a grouping set leaves out; the rewriter tells.
    Grouping,
    /// A moment of numbers, with all its digits.
    Exact {
        /// The function that is computed.
        name: String,
        /// The moment.
        moment: Moment,
        /// Equal numbers count once.
        distinct: bool,
    },
    /// A moment of floats.
    Float {
        /// The function that is computed.
        name: String,
        /// The moment.
        moment: FloatMoment,
    },
    /// Another one, computed anew for each frame of a window.
    WholeFrame(Box<Accumulator>),
}

/// What is computed of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Moment {
    /// sum.
    Sum,
    /// avg.
    Average,
    /// variance and stddev.
    Deviation {
        /// The square root of the variance.
        is_root: bool,
        /// Of a sample, not of all there is.
        of_sample: bool,
    },
}

/// What is computed of the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FloatMoment {
    /// sum, of one argument.
    Sum {
        /// Of float4.
        is_single: bool,
    },
    /// avg, of one argument.
    Average,
    /// variance and stddev, of one argument.
    Deviation {
        /// The square root of the variance.
        is_root: bool,
        /// Of a sample, not of all there is.
        of_sample: bool,
    },
    /// covar_pop, covar_samp.
    Covariance {
        /// Of a sample, not of all there is.
        of_sample: bool,
    },
    /// corr.
    Correlation,
    /// regr_count, as a float.
    Count,
    /// regr_avgx.
    AverageX,
    /// regr_avgy.
    AverageY,
    /// regr_sxx.
    SquaresX,
    /// regr_syy.
    SquaresY,
    /// regr_sxy.
    Products,
    /// regr_slope.
    Slope,
    /// regr_intercept.
    Intercept,
    /// regr_r2.
    Determination,
}

impl FloatMoment {
    /// The aggregate of this name.
    pub fn named(name: &str) -> Option<FloatMoment> {
        let deviation = |is_root, of_sample| FloatMoment::Deviation { is_root, of_sample };
        Some(match name {
            "stddev" | "stddev_samp" => deviation(true, true),
            "stddev_pop" => deviation(true, false),
            "variance" | "var_samp" => deviation(false, true),
            "var_pop" => deviation(false, false),
            "covar_pop" => FloatMoment::Covariance { of_sample: false },
            "covar_samp" => FloatMoment::Covariance { of_sample: true },
            "corr" => FloatMoment::Correlation,
            "regr_count" => FloatMoment::Count,
            "regr_avgx" => FloatMoment::AverageX,
            "regr_avgy" => FloatMoment::AverageY,
            "regr_sxx" => FloatMoment::SquaresX,
            "regr_syy" => FloatMoment::SquaresY,
            "regr_sxy" => FloatMoment::Products,
            "regr_slope" => FloatMoment::Slope,
            "regr_intercept" => FloatMoment::Intercept,
            "regr_r2" => FloatMoment::Determination,
            _ => return None,
        })
    }

    /// How many arguments it has.
    pub fn arguments(self) -> usize {
        match self {
            FloatMoment::Sum { .. } | FloatMoment::Average | FloatMoment::Deviation { .. } => 1,
            _ => 2,
        }
    }
}

impl Accumulator {
    /// Whether the order in which rows come is told by what it makes of them. To others no order is told: operators take it for one that they
    /// need, and none for two calls.
    pub fn depends_on_order(&self) -> bool {
        use Accumulator::{
            And, Array, BitAnd, BitOr, BitXor, Count, Exact, First, Float, Grouping, Max, Min, Or, Sum,
        };
        match self {
            Array | First | Float { .. } => true,
            Count | Sum | Min | Max | And | Or | BitAnd | BitOr | BitXor | Grouping | Exact { .. } => false,
            Accumulator::WholeFrame(inner) => inner.depends_on_order(),
        }
    }

    /// The aggregate's name; that of one that tells equal numbers by itself says so.
    pub fn name(&self) -> &str {
        match self {
            Accumulator::Count => "count",
            Accumulator::Sum => "sum",
            Accumulator::Min => "min",
            Accumulator::Max => "max",
            Accumulator::First => "first_value",
            Accumulator::And => "bool_and",
            Accumulator::Or => "bool_or",
            Accumulator::Array => "array_agg",
            Accumulator::BitAnd => "bit_and",
            Accumulator::BitOr => "bit_or",
            Accumulator::BitXor => "bit_xor",
            Accumulator::Grouping => "grouping",
            Accumulator::Exact { name, .. } | Accumulator::Float { name, .. } => name,
            Accumulator::WholeFrame(inner) => inner.name(),
        }
    }

    /// An aggregate of numbers that keeps all their digits. `distinct`: equal numbers count once, of which 1.5 and 1.50 are two.
    pub fn exact(name: &str, moment: Moment, distinct: bool) -> Accumulator {
        let name = match distinct {
            true => format!("{name} distinct"),
            false => name.to_string(),
        };
        Accumulator::Exact {
            name,
            moment,
            distinct,
        }
    }

    /// Whether a window may be read backwards for it: its answer does not tell in which order the rows came, and it gives back, exactly, what
    /// leaves a frame that then moves at both ends.
    pub fn turns(&self) -> bool {
        use Accumulator::{Count, Exact, Max, Min, Sum};
        matches!(self, Count | Sum | Min | Max | Exact { .. })
    }

    /// The field of its result, by those of its arguments.
    pub(super) fn field(&self, arguments: &[FieldRef]) -> FieldRef {
        let first = || {
            arguments
                .first()
                .map_or(DataType::Null, |field| field.data_type().clone())
        };
        let ty = match self {
            Accumulator::WholeFrame(inner) => return inner.field(arguments),
            Accumulator::Exact { name, .. } => return Arc::new(SqlType::Numeric(None).field(name, true)),
            Accumulator::Count => DataType::Int64,
            Accumulator::Grouping => DataType::Int32,
            Accumulator::And | Accumulator::Or => DataType::Boolean,
            Accumulator::Float { .. } => DataType::Float64,
            Accumulator::Array => DataType::List(Arc::new(Field::new_list_field(first(), true))),
            Accumulator::Sum => match first() {
                DataType::Decimal128(precision, scale) => {
                    DataType::Decimal128((precision + 10).min(DECIMAL128_MAX_PRECISION), scale)
                }
                other => other,
            },
            _ => first(),
        };
        let field = Field::new(self.name(), ty, *self != Accumulator::Count);
        let label = arguments.first().filter(|_| *self == Accumulator::First);
        Arc::new(match label {
            Some(argument) => field.with_metadata(argument.metadata().clone()),
            None => field,
        })
    }
}
