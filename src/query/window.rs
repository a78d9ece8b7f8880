//! Window functions: `OVER`, named windows, frames.

use sqlparser::ast;

use super::aggregate::{bigint, is_aggregate};
use super::binder::{Binder, Bound, Clause, Place, fault, fold};
use super::call_clauses;
use super::coercion::{CastContext, common_type};
use super::same_rows::refuse_unequal;
use super::undefined_function::no_function;
use super::window_clauses::WindowClauses;
use super::window_frame::WindowKey;
use crate::error::StatementFault;
use crate::functions::functions_named;
use crate::tree::{
    Accumulator, Expr, FrameUnits, OrderKey, Ranking, WindowFrame, WindowFunction, WindowParams,
    WindowedFunction,
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
        if is_aggregate(name) || self.is_user_aggregate(function) {
            return self.windowed_aggregate((name, function), &window, filter, inside);
        }
        if !WINDOW_FUNCTIONS.contains(&name) && functions_named(name).next().is_some() {
            let message =
                format!("OVER specified, but {name} is not a window function nor an aggregate function");
            return Err(fault(StatementFault::WrongObjectType, message));
        }
        call_clauses::check_window(name, function, false)?;
        let arguments = self.arguments(name, &function.args, inside)?;
        // What is taken of other rows is of the type that it has there.
        let is_of_unwritten = matches!(arguments.as_slice(), [first] | [first, _] if first.is_of_unwritten());
        let (ranking, arguments, raw, ty) = self.ranking(name, arguments)?;
        let call = windowed(WindowedFunction::Ranking(ranking), arguments, &window, filter);
        if raw == ty {
            return Ok(Bound::new(call, ty).open_if(is_of_unwritten));
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
                let moves = window.frame.moves();
                let function = match moves && !gives_back(function.name(), ty, accumulation.is_exact) {
                    true => Accumulator::WholeFrame(Box::new(function.clone())),
                    false => function.clone(),
                };
                let definition = WindowedFunction::Aggregate(function);
                Bound::new(
                    windowed(definition, arguments.clone(), window, filter.clone()),
                    ty.clone(),
                )
            })
            .collect();
        self.finish(&accumulation.finish, results)
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
                let buckets = self.integer_argument(buckets, &wrong)?;
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
                    Some(offset) => self.integer_argument(offset, &wrong)?,
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
                let place = self.integer_argument(second.ok_or_else(wrong)?, &wrong)?;
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

    /// An argument that is an integer, as the operator takes it. Errors: what is `wrong` where it is none.
    fn integer_argument(&mut self, argument: Bound, wrong: &dyn Fn() -> Error) -> Result<Bound> {
        if !self.converts(&argument.ty, &SqlType::Int4) {
            return Err(wrong());
        }
        let argument = self.convert(argument, &SqlType::Int4, CastContext::Implicit)?;
        self.convert(argument, &SqlType::Int8, CastContext::Implicit)
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

    fn window(&mut self, over: &ast::WindowType, place: Place<'_>) -> Result<Window> {
        let clauses = WindowClauses::of(over, place.windows)?;
        self.bound_window(&clauses, place)
    }

    /// Errors: those of the definitions of WINDOW, also of those that no function names.
    pub(super) fn check_windows(&mut self, place: Place<'_>) -> Result<()> {
        for (at, ast::NamedWindowDefinition(name, _)) in place.windows.iter().enumerate() {
            let name = fold(name);
            let before = &place.windows[..at];
            if before.iter().any(|definition| fold(&definition.0) == name) {
                let message = format!("window \"{name}\" is already defined");
                return Err(fault(StatementFault::Windowing, message));
            }
            let clauses = WindowClauses::named(&name, &place.windows[..=at])?;
            self.choosing(|binder| binder.bound_window(&clauses, place))?;
        }
        Ok(())
    }

    fn bound_window(&mut self, clauses: &WindowClauses<'_>, place: Place<'_>) -> Result<Window> {
        let mut partition_by = Vec::new();
        for expr in clauses.partition_by {
            let bound = self.expression(expr, place)?;
            let bound = self.with_decided_type(bound)?;
            refuse_unequal(&bound.ty)?;
            partition_by.push(self.order_key(bound)?);
        }
        let mut order_by = Vec::new();
        let mut keys = Vec::new();
        for item in clauses.order_by {
            let (mut sort, ty) = self.sort_item(item, place)?;
            let by_rows = |frame: &ast::WindowFrame| frame.units == ast::WindowFrameUnits::Rows;
            if matches!(sort.expr, Expr::Literal(..)) && clauses.frame.is_none_or(by_rows) {
                // What is the same in all rows orders none: all of them are peers.
                continue;
            }
            let bound = Bound::new(sort.expr, ty);
            keys.push(WindowKey {
                bound: bound.clone(),
                ascending: sort.asc,
            });
            sort.expr = self.order_key(bound)?;
            order_by.push(sort);
        }
        let frame = match clauses.frame {
            None => WindowFrame::new((!order_by.is_empty()).then_some(false)),
            Some(frame) => self.frame((frame, clauses.exclusion.as_deref()), &keys, place)?,
        };
        let frame = match keys.iter().any(|key| has_no_range(&key.bound.ty)) {
            true => by_peers(frame),
            false => frame,
        };
        let mut window = Window {
            partition_by,
            order_by,
            frame,
        };
        window.frame.regularize_order_bys(&mut window.order_by)?;
        Ok(window)
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
            | SqlType::Packed(_)
            | SqlType::TsVector
            | SqlType::TsQuery
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
    let is_free = frame.start_bound.offset().is_none() && frame.end_bound.offset().is_none();
    match frame.units {
        FrameUnits::Range if is_free => WindowFrame {
            units: FrameUnits::Groups,
            ..frame
        },
        _ => frame,
    }
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

fn windowed(fun: WindowedFunction, args: Vec<Expr>, window: &Window, filter: Option<Box<Expr>>) -> Expr {
    Expr::WindowFunction(Box::new(WindowFunction {
        fun,
        params: WindowParams {
            args,
            partition_by: window.partition_by.clone(),
            order_by: window.order_by.clone(),
            window_frame: window.frame.clone(),
            filter,
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
