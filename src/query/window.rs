//! Window functions: `OVER`, named windows, frames.

use sqlparser::ast;

use super::aggregate::{bigint, is_aggregate};
use super::binder::{Binder, Bound, Clause, Place, fault, fold};
use super::call_clauses;
use super::coercion::{CastContext, common_type};
use super::undefined_function::no_function;
use crate::error::StatementFault;
use crate::functions::functions_named;
use crate::tree::{
    Accumulator, Case, Expr, FrameBound, FrameUnits, OrderKey, Ranking, ScalarValue, WindowFrame,
    WindowFunction, WindowParams, WindowedFunction, lit,
};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// Window functions that need OVER.
pub(crate) const WINDOW_FUNCTIONS: &[&str] = &[
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
];

/// Whether the name is a window function's that needs OVER.
pub(super) fn is_window_only(name: &str) -> bool {
    WINDOW_FUNCTIONS.contains(&name)
}

/// PARTITION BY, ORDER BY and frame of one OVER.
struct Window {
    partition_by: Vec<Expr>,
    order_by: Vec<OrderKey>,
    frame: WindowFrame,
}

/// A call of lag or lead.
type Shifted = (Ranking, Vec<Expr>);

impl Binder<'_> {
    /// `name(arguments) OVER …`.
    pub(super) fn window_function(
        &mut self,
        name: &str,
        function: &ast::Function,
        over: &ast::WindowType,
        place: Place<'_>,
    ) -> Result<Bound> {
        check_clause(place.clause)?;
        let inside = Place {
            clause: Clause::Window,
            ..place
        };
        let window = self.choosing(|binder| binder.window(over, inside))?;
        let filtering = Place {
            clause: Clause::Filter,
            ..place
        };
        let filter = self.filter_clause(function, filtering)?;
        if is_aggregate(name) {
            return self.windowed_aggregate((name, function), &window, filter, inside);
        }
        if !WINDOW_FUNCTIONS.contains(&name) && functions_named(name).next().is_some() {
            let message =
                format!("OVER specified, but {name} is not a window function nor an aggregate function");
            return Err(fault(StatementFault::WrongObjectType, message));
        }
        call_clauses::check_window(name, function, false)?;
        let arguments = self.arguments(name, &function.args, inside)?;
        let ignores_nulls = function.null_treatment == Some(ast::NullTreatment::IgnoreNulls);
        if let Some((found, shifted, default)) = self.shifted(name, &arguments)? {
            let call = |(ranking, arguments): Shifted| {
                let definition = WindowedFunction::Ranking(ranking);
                windowed(definition, arguments, &window, filter.clone(), ignores_nulls)
            };
            let branch = (Box::new(call(found)), Box::new(call(shifted)));
            let case = Case::new(None, vec![branch], Some(Box::new(default.expr)));
            return Ok(Bound::new(Expr::Case(case), default.ty));
        }
        let (ranking, arguments, raw, ty) = self.ranking(name, arguments)?;
        let call = windowed(
            WindowedFunction::Ranking(ranking),
            arguments,
            &window,
            filter,
            ignores_nulls,
        );
        if raw == ty {
            return Ok(Bound::new(call, ty));
        }
        // It counts in unsigned numbers.
        let cast = crate::tree::Cast::new(Box::new(call), ty.arrow_type());
        Ok(Bound::new(Expr::Cast(cast), ty))
    }

    /// FILTER (WHERE …) of a call.
    pub(super) fn filter_clause(
        &mut self,
        function: &ast::Function,
        place: Place<'_>,
    ) -> Result<Option<Box<Expr>>> {
        let filter = function.filter.as_deref();
        let condition = filter.map(|filter| self.choosing(|binder| binder.condition(filter, place)));
        Ok(condition.transpose()?.map(Box::new))
    }

    /// An aggregate over a window's frames.
    fn windowed_aggregate(
        &mut self,
        (name, function): (&str, &ast::Function),
        window: &Window,
        filter: Option<Box<Expr>>,
        inside: Place<'_>,
    ) -> Result<Bound> {
        if !function.within_group.is_empty() {
            let message = format!("OVER is not supported for ordered-set aggregate {name}");
            return Err(fault(StatementFault::NotImplemented, message));
        }
        call_clauses::check_window(name, function, true)?;
        let (accumulation, _, _) = self.accumulation(name, function, inside)?;
        let results = accumulation
            .calls
            .iter()
            .map(|(function, arguments, ty)| {
                let moves = !window.frame.start_bound.is_unbounded();
                let function = match moves && !gives_back(function.name(), ty, accumulation.is_exact) {
                    true => Accumulator::WholeFrame(Box::new(function.clone())),
                    false => function.clone(),
                };
                let definition = WindowedFunction::Aggregate(function);
                Bound::new(
                    windowed(definition, arguments.clone(), window, filter.clone(), false),
                    ty.clone(),
                )
            })
            .collect();
        self.finish(&accumulation.finish, results)
    }

    /// lag or lead with a default that is no constant, which the operator does not take: whether there is such a row, the
    /// value in it, and the default.
    fn shifted(&mut self, name: &str, arguments: &[Bound]) -> Result<Option<(Shifted, Shifted, Bound)>> {
        let ("lag" | "lead", [value, offset, default]) = (name, arguments) else {
            return Ok(None);
        };
        let Some((value, Some(default))) = self.with_default(value.clone(), Some(default.clone()))? else {
            return Ok(None);
        };
        if matches!(default.expr, Expr::Literal(..)) {
            return Ok(None);
        }
        let ranking = match name {
            "lag" => Ranking::Lag,
            _ => Ranking::Lead,
        };
        let offset = self.constant_argument(name, offset.clone())?.expr;
        let found = (ranking, vec![lit(true), offset.clone(), lit(false)]);
        Ok(Some((found, (ranking, vec![value.expr, offset]), default)))
    }

    /// A function that only windows have: its arguments, its type as it is computed and as it is shown.
    fn ranking(
        &mut self,
        name: &str,
        arguments: Vec<Bound>,
    ) -> Result<(Ranking, Vec<Expr>, SqlType, SqlType)> {
        let types: Vec<SqlType> = arguments.iter().map(|argument| argument.ty.clone()).collect();
        let wrong = || no_function(name, &types, false);
        if arguments.len() > arguments_max(name) {
            return Err(wrong());
        }
        let mut arguments = arguments.into_iter();
        let (first, second, third) = (arguments.next(), arguments.next(), arguments.next());
        let counted = |ranking| Ok((ranking, Vec::new(), SqlType::Void, SqlType::Int8));
        match (name, first) {
            ("row_number", None) => counted(Ranking::RowNumber),
            ("rank", None) => counted(Ranking::Rank),
            ("dense_rank", None) => counted(Ranking::DenseRank),
            ("percent_rank", None) => {
                Ok((Ranking::PercentRank, Vec::new(), SqlType::Float8, SqlType::Float8))
            }
            ("cume_dist", None) => Ok((Ranking::CumeDist, Vec::new(), SqlType::Float8, SqlType::Float8)),
            ("ntile", Some(buckets)) => {
                let buckets = self.constant_argument(name, buckets)?;
                if matches!(buckets.literal()?, Some(Value::Int(number)) if number <= 0) {
                    return Err(Error::DataException {
                        state: "22014",
                        message: "argument of ntile must be greater than zero".to_string(),
                    });
                }
                Ok((Ranking::Ntile, vec![buckets.expr], SqlType::Void, SqlType::Int4))
            }
            ("lag" | "lead", Some(value)) => {
                let offset = match second {
                    Some(offset) => self.constant_argument(name, offset)?,
                    None => bigint(1)?,
                };
                let (value, default) = self.with_default(value, third)?.ok_or_else(wrong)?;
                let mut list = vec![value.expr, offset.expr];
                list.extend(default.map(|default| default.expr));
                let ranking = if name == "lag" {
                    Ranking::Lag
                } else {
                    Ranking::Lead
                };
                Ok((ranking, list, value.ty.clone(), value.ty))
            }
            ("first_value" | "last_value", Some(value)) => {
                let value = self.with_decided_type(value)?;
                let ranking = match name {
                    "first_value" => Ranking::FirstValue,
                    _ => Ranking::LastValue,
                };
                Ok((ranking, vec![value.expr], value.ty.clone(), value.ty))
            }
            ("nth_value", Some(value)) => {
                let value = self.with_decided_type(value)?;
                let place = self.constant_argument(name, second.ok_or_else(wrong)?)?;
                Ok((
                    Ranking::NthValue,
                    vec![value.expr, place.expr],
                    value.ty.clone(),
                    value.ty,
                ))
            }
            _ => Err(wrong()),
        }
    }

    /// The value of lag or lead and its default, in a type for both; `None`: there is no such type.
    fn with_default(
        &mut self,
        value: Bound,
        default: Option<Bound>,
    ) -> Result<Option<(Bound, Option<Bound>)>> {
        let Some(default) = default else {
            return Ok(Some((self.with_decided_type(value)?, None)));
        };
        let Some(ty) = common_type(&[value.ty.clone(), default.ty.clone()]) else {
            return Ok(None);
        };
        let value = self.convert(value, &ty, CastContext::Implicit)?.expr;
        let default = self.convert(default, &ty, CastContext::Implicit)?.expr;
        Ok(Some((
            Bound::new(value, ty.clone()),
            Some(Bound::new(default, ty)),
        )))
    }

    /// A count that the operator reads once, before the first row. Errors: 0A000 for one that a row decides, and for NULL.
    fn constant_argument(&mut self, function: &str, argument: Bound) -> Result<Bound> {
        let argument = self.convert(argument, &SqlType::Int8, CastContext::Implicit)?;
        if argument.is_null_literal() || !argument.expr.column_refs().is_empty() {
            let feature = format!("{function} with a count that is no constant");
            return Err(Error::unsupported(feature, Some("Give a number.")));
        }
        Ok(argument)
    }

    fn window(&mut self, over: &ast::WindowType, place: Place<'_>) -> Result<Window> {
        let spec = match over {
            ast::WindowType::NamedWindow(name) => self.named_window(&fold(name), place)?,
            ast::WindowType::WindowSpec(spec) => match &spec.window_name {
                Some(name) => {
                    let mut merged = self.named_window(&fold(name), place)?;
                    if !spec.order_by.is_empty() {
                        merged.order_by.clone_from(&spec.order_by);
                    }
                    if spec.window_frame.is_some() {
                        merged.window_frame.clone_from(&spec.window_frame);
                    }
                    merged
                }
                None => spec.clone(),
            },
        };
        let mut partition_by = Vec::new();
        for expr in &spec.partition_by {
            let bound = self.expression(expr, place)?;
            let bound = self.with_decided_type(bound)?;
            partition_by.push(self.order_key(bound)?);
        }
        let mut order_by = Vec::new();
        let mut order_types = Vec::new();
        for item in &spec.order_by {
            let bound = self.expression(&item.expr, place)?;
            let (mut sort, _) = self.sort_item(item, place)?;
            let by_rows = |frame: &ast::WindowFrame| frame.units == ast::WindowFrameUnits::Rows;
            if matches!(sort.expr, Expr::Literal(..)) && spec.window_frame.as_ref().is_none_or(by_rows) {
                // What is the same in all rows orders none: all of them are peers.
                continue;
            }
            // A frame in terms of intervals adds to them.
            if !matches!(bound.ty, SqlType::Interval(_)) || spec.window_frame.is_none() {
                sort.expr = self.order_key(Bound::new(sort.expr, bound.ty.clone()))?;
            }
            order_types.push(bound.ty);
            order_by.push(sort);
        }
        let frame = match &spec.window_frame {
            None => WindowFrame::new((!order_by.is_empty()).then_some(false)),
            Some(frame) => self.frame(frame, order_types.first(), place)?,
        };
        let frame = if order_types.iter().any(has_no_range) {
            by_peers(frame)
        } else {
            frame
        };
        let by_value = frame.units == FrameUnits::Range;
        if by_value && order_types.iter().any(SqlType::is_variable_numeric) {
            return Err(Error::unsupported(
                "a RANGE frame of values over numeric without a size",
                Some("Cast the ORDER BY to numeric(p,s) of at most 38 digits, or to double precision."),
            ));
        }
        let mut window = Window {
            partition_by,
            order_by,
            frame,
        };
        window.frame.regularize_order_bys(&mut window.order_by)?;
        Ok(window)
    }

    /// What a name of the WINDOW clause stands for. A definition sees those before it, so that none is its own.
    fn named_window(&mut self, name: &str, place: Place<'_>) -> Result<ast::WindowSpec> {
        for (at, ast::NamedWindowDefinition(defined, window)) in place.windows.iter().enumerate() {
            if fold(defined) == name {
                let place = Place {
                    windows: &place.windows[..at],
                    ..place
                };
                return match window {
                    ast::NamedWindowExpr::WindowSpec(spec) => match &spec.window_name {
                        Some(based) => {
                            let mut merged = self.named_window(&fold(based), place)?;
                            merged.order_by.extend(spec.order_by.iter().cloned());
                            if spec.window_frame.is_some() {
                                merged.window_frame.clone_from(&spec.window_frame);
                            }
                            Ok(merged)
                        }
                        None => Ok(spec.clone()),
                    },
                    ast::NamedWindowExpr::NamedWindow(other) => self.named_window(&fold(other), place),
                };
            }
        }
        Err(Error::UndefinedObject {
            kind: "window",
            name: name.to_string(),
        })
    }

    fn frame(
        &mut self,
        frame: &ast::WindowFrame,
        order_type: Option<&SqlType>,
        place: Place<'_>,
    ) -> Result<WindowFrame> {
        let units = match frame.units {
            ast::WindowFrameUnits::Rows => FrameUnits::Rows,
            ast::WindowFrameUnits::Range => FrameUnits::Range,
            ast::WindowFrameUnits::Groups => FrameUnits::Groups,
        };
        let start = self.bound(&frame.start_bound, units, order_type, place)?;
        let end = match &frame.end_bound {
            Some(bound) => self.bound(bound, units, order_type, place)?,
            None => FrameBound::CurrentRow,
        };
        if matches!(&start, FrameBound::Following(offset) if offset.is_null()) {
            return Err(fault(
                StatementFault::Windowing,
                "frame start cannot be UNBOUNDED FOLLOWING",
            ));
        }
        if matches!(&end, FrameBound::Preceding(offset) if offset.is_null()) {
            return Err(fault(
                StatementFault::Windowing,
                "frame end cannot be UNBOUNDED PRECEDING",
            ));
        }
        Ok(WindowFrame::new_bounds(units, start, end))
    }

    fn bound(
        &mut self,
        bound: &ast::WindowFrameBound,
        units: FrameUnits,
        order_type: Option<&SqlType>,
        place: Place<'_>,
    ) -> Result<FrameBound> {
        let (expr, preceding) = match bound {
            ast::WindowFrameBound::CurrentRow => return Ok(FrameBound::CurrentRow),
            ast::WindowFrameBound::Preceding(expr) => (expr, true),
            ast::WindowFrameBound::Following(expr) => (expr, false),
        };
        let offset = match expr {
            None => ScalarValue::UInt64(None),
            Some(expr) => {
                let offset = self.expression(expr, place)?;
                let ty = match (units, order_type) {
                    (
                        FrameUnits::Range,
                        Some(SqlType::Date | SqlType::Timestamp(_) | SqlType::TimestampTz(_)),
                    ) => SqlType::Interval(None),
                    (FrameUnits::Range, Some(ty)) => ty.clone(),
                    _ => SqlType::Int8,
                };
                let offset = self.convert(offset, &ty, CastContext::Explicit)?;
                let Expr::Literal(scalar, _) = &offset.expr else {
                    return Err(Error::unsupported(
                        "a window frame offset that is no constant",
                        None,
                    ));
                };
                match (units, scalar) {
                    (FrameUnits::Range, scalar) => scalar.clone(),
                    (_, ScalarValue::Int64(Some(number))) => match u64::try_from(*number) {
                        Ok(number) => ScalarValue::UInt64(Some(number)),
                        Err(_) => {
                            return Err(Error::DataException {
                                state: "22013",
                                message: "frame starting offset must not be negative".to_string(),
                            });
                        }
                    },
                    _ => {
                        return Err(Error::DataException {
                            state: "22004",
                            message: "frame starting offset must not be null".to_string(),
                        });
                    }
                }
            }
        };
        Ok(if preceding {
            FrameBound::Preceding(offset)
        } else {
            FrameBound::Following(offset)
        })
    }
}

/// Whether what left a moving frame can be taken out of the aggregate, exactly.
fn gives_back(name: &str, ty: &SqlType, is_exact: bool) -> bool {
    let is_float = matches!(ty, SqlType::Float4 | SqlType::Float8);
    is_exact || !is_float && matches!(name, "sum" | "count" | "avg" | "min" | "max")
}

/// Whether the operator refuses frames in terms of the type's values, even those that name none.
fn has_no_range(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Bytea
            | SqlType::Uuid
            | SqlType::Time(_)
            | SqlType::Jsonb
            | SqlType::Enum(_)
            | SqlType::Record(_)
            | SqlType::Range(_)
            | SqlType::Multirange(_)
            | SqlType::Array(_)
    ) || ty.is_variable_numeric()
}

/// A RANGE frame between the ends and the current row, which reaches as far as GROUPS does.
fn by_peers(frame: WindowFrame) -> WindowFrame {
    let names_no_value = |bound: &FrameBound| match bound {
        FrameBound::CurrentRow => true,
        FrameBound::Preceding(offset) | FrameBound::Following(offset) => offset.is_null(),
    };
    let is_range = frame.units == FrameUnits::Range;
    if !is_range || !names_no_value(&frame.start_bound) || !names_no_value(&frame.end_bound) {
        return frame;
    }
    let unbounded = |bound: FrameBound| match bound {
        FrameBound::CurrentRow => FrameBound::CurrentRow,
        FrameBound::Preceding(_) => FrameBound::Preceding(ScalarValue::UInt64(None)),
        FrameBound::Following(_) => FrameBound::Following(ScalarValue::UInt64(None)),
    };
    WindowFrame::new_bounds(
        FrameUnits::Groups,
        unbounded(frame.start_bound),
        unbounded(frame.end_bound),
    )
}

/// How many arguments a function that only windows have takes at most.
fn arguments_max(name: &str) -> usize {
    match name {
        "ntile" | "first_value" | "last_value" => 1,
        "nth_value" => 2,
        "lag" | "lead" => 3,
        _ => 0,
    }
}

fn windowed(
    fun: WindowedFunction,
    args: Vec<Expr>,
    window: &Window,
    filter: Option<Box<Expr>>,
    ignores_nulls: bool,
) -> Expr {
    Expr::WindowFunction(Box::new(WindowFunction {
        fun,
        params: WindowParams {
            args,
            partition_by: window.partition_by.clone(),
            order_by: window.order_by.clone(),
            window_frame: window.frame.clone(),
            filter,
            ignores_nulls,
        },
    }))
}

/// Errors: 42P20, 42803 for a clause that has no windows.
fn check_clause(clause: Clause) -> Result<()> {
    match clause {
        Clause::Select => Ok(()),
        Clause::Window => {
            let message = "window function calls cannot be nested";
            Err(fault(StatementFault::Windowing, message))
        }
        Clause::Aggregate => {
            let message = "aggregate function calls cannot contain window function calls";
            Err(fault(StatementFault::Grouping, message))
        }
        clause => {
            let message = format!("window functions are not allowed in {}", clause.name());
            Err(fault(StatementFault::Windowing, message))
        }
    }
}
