//! `WindowFunction`: a call of a function over a window, and the window's frame.

use std::fmt;

use arrow::datatypes::{DataType, FieldRef};

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

    /// Whether its answer depends on the frame.
    pub fn reads_frame(self) -> bool {
        matches!(self, Ranking::FirstValue | Ranking::LastValue | Ranking::NthValue)
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
            Ranking::RowNumber | Ranking::Rank | Ranking::DenseRank => {
                bare_field(name, DataType::UInt64, false)
            }
            Ranking::Ntile => bare_field(name, DataType::UInt64, true),
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

/// An end of a frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING: the first row of the partition.
    UnboundedPreceding,
    /// Before the row.
    Preceding(FrameOffset),
    /// The row, and those that are equal to it.
    CurrentRow,
    /// Behind the row.
    Following(FrameOffset),
    /// UNBOUNDED FOLLOWING: the last row of the partition.
    UnboundedFollowing,
}

/// How far from the row an end of a frame is; the same for all rows of a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FrameOffset {
    /// Rows or groups, a bigint; of RANGE what is added to the key, or taken from it.
    pub count: Expr,
    /// How RANGE reaches so far.
    pub reach: Option<Box<ValueReach>>,
}

/// An end of a RANGE frame: the rows whose key is not beyond a limit that is computed of the row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ValueReach {
    /// The key, as Arrow compares it.
    pub key: Expr,
    /// What keys are compared with, as Arrow compares it.
    pub limit: Expr,
    /// Whether the offset is below zero, which is an error.
    pub is_negative: Expr,
}

impl FrameOffset {
    /// A number of rows or groups. Errors: 22013, it is below zero.
    pub fn rows(count: i64, is_start: bool) -> Result<usize> {
        usize::try_from(count).map_err(|_| Error::DataException {
            state: "22013",
            message: format!("frame {} offset must not be negative", end_name(is_start)),
        })
    }

    /// 22004, of an offset that is NULL.
    pub fn null(is_start: bool) -> Error {
        Error::DataException {
            state: "22004",
            message: format!("frame {} offset must not be null", end_name(is_start)),
        }
    }

    fn parts(&self) -> impl Iterator<Item = &Expr> {
        let reach = self.reach.iter();
        let reach = reach.flat_map(|reach| [&reach.key, &reach.limit, &reach.is_negative]);
        std::iter::once(&self.count).chain(reach)
    }

    fn map(self, map: &mut impl FnMut(Expr) -> Result<Expr>) -> Result<FrameOffset> {
        let mut map_reach = |reach: ValueReach| -> Result<Box<ValueReach>> {
            Ok(Box::new(ValueReach {
                key: map(reach.key)?,
                limit: map(reach.limit)?,
                is_negative: map(reach.is_negative)?,
            }))
        };
        let reach = self.reach.map(|reach| map_reach(*reach)).transpose()?;
        let count = map(self.count)?;
        Ok(FrameOffset { count, reach })
    }
}

fn end_name(is_start: bool) -> &'static str {
    match is_start {
        true => "starting",
        false => "ending",
    }
}

impl FrameBound {
    /// Whether it is the partition's.
    pub fn is_unbounded(&self) -> bool {
        matches!(
            self,
            FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing
        )
    }

    /// How far from the row it is, if it says so.
    pub fn offset(&self) -> Option<&FrameOffset> {
        match self {
            FrameBound::Preceding(offset) | FrameBound::Following(offset) => Some(offset),
            FrameBound::UnboundedPreceding | FrameBound::CurrentRow | FrameBound::UnboundedFollowing => None,
        }
    }

    fn map(self, map: &mut impl FnMut(Expr) -> Result<Expr>) -> Result<FrameBound> {
        Ok(match self {
            FrameBound::Preceding(offset) => FrameBound::Preceding(offset.map(map)?),
            FrameBound::Following(offset) => FrameBound::Following(offset.map(map)?),
            other => other,
        })
    }
}

impl fmt::Display for FrameBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameBound::UnboundedPreceding => f.write_str("UNBOUNDED PRECEDING"),
            FrameBound::Preceding(offset) => write!(f, "{} PRECEDING", offset.count),
            FrameBound::CurrentRow => f.write_str("CURRENT ROW"),
            FrameBound::Following(offset) => write!(f, "{} FOLLOWING", offset.count),
            FrameBound::UnboundedFollowing => f.write_str("UNBOUNDED FOLLOWING"),
        }
    }
}

/// Rows between the ends of a frame that are not in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FrameExclusion {
    /// None.
    #[default]
    NoOthers,
    /// The row.
    CurrentRow,
    /// The row, and those that are equal to it in order.
    Group,
    /// Those that are equal to the row in order, but not itself.
    Ties,
}

impl FrameExclusion {
    /// As SQL writes it, behind the frame.
    pub fn text(self) -> &'static str {
        match self {
            FrameExclusion::NoOthers => "",
            FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
            FrameExclusion::Group => " EXCLUDE GROUP",
            FrameExclusion::Ties => " EXCLUDE TIES",
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
    /// What of it is left out.
    pub exclusion: FrameExclusion,
}

impl WindowFrame {
    /// All rows between these ends.
    pub fn new_bounds(units: FrameUnits, start_bound: FrameBound, end_bound: FrameBound) -> WindowFrame {
        WindowFrame {
            units,
            start_bound,
            end_bound,
            exclusion: FrameExclusion::NoOthers,
        }
    }

    /// That of a window that names none: the whole partition, or without an order of its own what comes up to the row (`by_row`), or up
    /// to those equal to it.
    pub fn new(by_row: Option<bool>) -> WindowFrame {
        let (units, end) = match by_row {
            None => (FrameUnits::Rows, FrameBound::UnboundedFollowing),
            Some(true) => (FrameUnits::Rows, FrameBound::CurrentRow),
            Some(false) => (FrameUnits::Range, FrameBound::CurrentRow),
        };
        WindowFrame::new_bounds(units, FrameBound::UnboundedPreceding, end)
    }

    /// The expressions of its ends.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Expr> {
        let ends = [&self.start_bound, &self.end_bound];
        ends.into_iter()
            .filter_map(FrameBound::offset)
            .flat_map(FrameOffset::parts)
    }

    /// With what is made of the expressions of its ends.
    pub(super) fn map(self, mut map: impl FnMut(Expr) -> Result<Expr>) -> Result<WindowFrame> {
        Ok(WindowFrame {
            start_bound: self.start_bound.map(&mut map)?,
            end_bound: self.end_bound.map(&mut map)?,
            ..self
        })
    }

    /// Whether rows leave it as it goes over a partition.
    pub fn moves(&self) -> bool {
        !self.start_bound.is_unbounded() || self.exclusion != FrameExclusion::NoOthers
    }

    /// Gives a window the order that its frame needs. Errors: 42P20 for one that it cannot do without.
    pub fn regularize_order_bys(&self, order_by: &mut Vec<OrderKey>) -> Result<()> {
        match self.units {
            FrameUnits::Range if order_by.is_empty() => {
                order_by.push(lit(1_u64).sort(true, false));
                Ok(())
            }
            FrameUnits::Groups if order_by.is_empty() => Err(Error::InvalidStatement {
                state: StatementFault::Windowing,
                message: "GROUPS mode requires an ORDER BY clause".to_string(),
                hint: None,
            }),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for WindowFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} BETWEEN {} AND {}{}",
            self.units,
            self.start_bound,
            self.end_bound,
            self.exclusion.text()
        )
    }
}
