//! `WindowFunction`: a call of a function over a window, and the window's frame.

use std::fmt;

use arrow::datatypes::{DataType, FieldRef};

use super::ScalarValue;
use super::accumulator::Accumulator;
use super::expr::{Expr, OrderKey, bare_field, lit};
use super::row_schema::nullable;
use crate::error::StatementFault;
use crate::{Error, Result};

/// A call over a window.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WindowFunction {
    /// What is called.
    pub fun: WindowedFunction,
    /// With what, over which window.
    pub params: WindowParams,
}

/// What a call over a window is given, and the window.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WindowParams {
    /// The arguments.
    pub args: Vec<Expr>,
    /// PARTITION BY.
    pub partition_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<OrderKey>,
    /// Which rows of the partition are seen from one.
    pub window_frame: WindowFrame,
    /// FILTER.
    pub filter: Option<Box<Expr>>,
    /// IGNORE NULLS.
    pub ignores_nulls: bool,
}

/// What is called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WindowedFunction {
    /// An aggregate.
    Aggregate(Accumulator),
    /// What only windows have.
    Ranking(Ranking),
}

/// A function that only windows have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ranking {
    /// row_number.
    RowNumber,
    /// rank.
    Rank,
    /// dense_rank.
    DenseRank,
    /// percent_rank.
    PercentRank,
    /// cume_dist.
    CumeDist,
    /// ntile.
    Ntile,
    /// lag.
    Lag,
    /// lead.
    Lead,
    /// first_value.
    FirstValue,
    /// last_value.
    LastValue,
    /// nth_value.
    NthValue,
}

impl Ranking {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Ranking::RowNumber => "row_number",
            Ranking::Rank => "rank",
            Ranking::DenseRank => "dense_rank",
            Ranking::PercentRank => "percent_rank",
            Ranking::CumeDist => "cume_dist",
            Ranking::Ntile => "ntile",
            Ranking::Lag => "lag",
            Ranking::Lead => "lead",
            Ranking::FirstValue => "first_value",
            Ranking::LastValue => "last_value",
            Ranking::NthValue => "nth_value",
        }
    }

    /// Over all rows in this order.
    pub fn over(self, order_by: Vec<OrderKey>, window_frame: WindowFrame) -> Expr {
        self.of_parts(Vec::new(), order_by, window_frame)
    }

    /// Over the rows of each part in this order.
    pub fn of_parts(
        self,
        partition_by: Vec<Expr>,
        order_by: Vec<OrderKey>,
        window_frame: WindowFrame,
    ) -> Expr {
        Expr::WindowFunction(Box::new(WindowFunction {
            fun: WindowedFunction::Ranking(self),
            params: WindowParams {
                args: Vec::new(),
                partition_by,
                order_by,
                window_frame,
                filter: None,
                ignores_nulls: false,
            },
        }))
    }
}

impl WindowedFunction {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            WindowedFunction::Aggregate(accumulator) => accumulator.name(),
            WindowedFunction::Ranking(ranking) => ranking.name(),
        }
    }

    /// The field of its result, by those of its arguments.
    pub(super) fn field(&self, arguments: &[FieldRef], name: &str) -> FieldRef {
        let ranking = match self {
            WindowedFunction::Aggregate(accumulator) => return accumulator.field(arguments),
            WindowedFunction::Ranking(ranking) => ranking,
        };
        match ranking {
            Ranking::RowNumber | Ranking::Rank | Ranking::DenseRank | Ranking::Ntile => {
                bare_field(name, DataType::UInt64, false)
            }
            Ranking::PercentRank | Ranking::CumeDist => bare_field(name, DataType::Float64, false),
            Ranking::Lag | Ranking::Lead if let [value, ..] = arguments => nullable(value),
            Ranking::Lag | Ranking::Lead | Ranking::FirstValue | Ranking::LastValue | Ranking::NthValue => {
                let ty = arguments
                    .first()
                    .map_or(DataType::Null, |field| field.data_type().clone());
                bare_field(name, ty, true)
            }
        }
    }
}

/// What a frame's ends are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameUnits {
    /// Rows.
    Rows,
    /// The values of the one key.
    Range,
    /// Groups of rows that are equal in order.
    Groups,
}

impl fmt::Display for FrameUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FrameUnits::Rows => "ROWS",
            FrameUnits::Range => "RANGE",
            FrameUnits::Groups => "GROUPS",
        })
    }
}

/// An end of a frame; an offset of NULL is that of the partition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FrameBound {
    /// Before the row.
    Preceding(ScalarValue),
    /// The row, and those that are equal to it.
    CurrentRow,
    /// Behind the row.
    Following(ScalarValue),
}

impl FrameBound {
    /// Whether it is the partition's.
    pub fn is_unbounded(&self) -> bool {
        match self {
            FrameBound::Preceding(offset) | FrameBound::Following(offset) => offset.is_null(),
            FrameBound::CurrentRow => false,
        }
    }
}

impl fmt::Display for FrameBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameBound::Preceding(offset) if offset.is_null() => f.write_str("UNBOUNDED PRECEDING"),
            FrameBound::Preceding(offset) => write!(f, "{offset} PRECEDING"),
            FrameBound::CurrentRow => f.write_str("CURRENT ROW"),
            FrameBound::Following(offset) if offset.is_null() => f.write_str("UNBOUNDED FOLLOWING"),
            FrameBound::Following(offset) => write!(f, "{offset} FOLLOWING"),
        }
    }
}

/// Which rows of a partition are seen from one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WindowFrame {
    /// What the ends are counted in.
    pub units: FrameUnits,
    /// Its first row.
    pub start_bound: FrameBound,
    /// Its last row.
    pub end_bound: FrameBound,
}

impl WindowFrame {
    /// Of these parts.
    pub fn new_bounds(units: FrameUnits, start_bound: FrameBound, end_bound: FrameBound) -> WindowFrame {
        WindowFrame {
            units,
            start_bound,
            end_bound,
        }
    }

    /// That of a window that names none: the whole partition, or without an order of its own what comes up to the row (`by_row`), or up
    /// to those equal to it.
    pub fn new(by_row: Option<bool>) -> WindowFrame {
        let start = FrameBound::Preceding(ScalarValue::UInt64(None));
        match by_row {
            None => {
                let end = FrameBound::Following(ScalarValue::UInt64(None));
                WindowFrame::new_bounds(FrameUnits::Rows, start, end)
            }
            Some(true) => WindowFrame::new_bounds(FrameUnits::Rows, start, FrameBound::CurrentRow),
            Some(false) => {
                let start = FrameBound::Preceding(ScalarValue::Null);
                WindowFrame::new_bounds(FrameUnits::Range, start, FrameBound::CurrentRow)
            }
        }
    }

    /// Gives a window the order that its frame needs. Errors: 42P20 for one that it cannot do without.
    pub fn regularize_order_bys(&self, order_by: &mut Vec<OrderKey>) -> Result<()> {
        let is_end = |bound: &FrameBound| bound.is_unbounded() || *bound == FrameBound::CurrentRow;
        let is_free = is_end(&self.start_bound) && is_end(&self.end_bound);
        let fault = |message: &str| {
            Err(Error::InvalidStatement {
                state: StatementFault::Windowing,
                message: message.to_string(),
                hint: None,
            })
        };
        match self.units {
            FrameUnits::Range if is_free => {
                if order_by.is_empty() {
                    order_by.push(lit(1_u64).sort(true, false));
                }
                Ok(())
            }
            FrameUnits::Range if order_by.len() != 1 => {
                fault("RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column")
            }
            FrameUnits::Groups if order_by.is_empty() => fault("GROUPS mode requires an ORDER BY clause"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for WindowFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} BETWEEN {} AND {}",
            self.units, self.start_bound, self.end_bound
        )
    }
}
