//! Windows. Called by `builder`.

use std::sync::Arc;

use arrow::datatypes::FieldRef;
use datafusion_common::{DataFusionError, Result as DataFusionResult, ScalarValue};
use datafusion_expr::WindowFrame as DataFusionFrame;
use datafusion_physical_expr::aggregate::AggregateExprBuilder;
use datafusion_physical_expr::expressions::{Column, Literal};
use datafusion_physical_expr::window::{StandardWindowExpr, WindowExpr};
use datafusion_physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion_physical_plan::windows::{
    BoundedWindowAggExec, WindowAggExec, create_window_expr, get_window_mode,
};
use datafusion_physical_plan::{ExecutionPlanProperties, InputOrderMode};

use super::order::with_ordered_inputs;
use super::{Builder, Operator, exprs};
use crate::operators::aggregate_functions::aggregate_function;
use crate::operators::frame_rows::{ComputedFrame, End, Reach};
use crate::operators::framed_call::{FramedCall, Function};
use crate::operators::physical_expr::Physical;
use crate::operators::short_circuit::computed_where;
use crate::operators::window_functions::{takes_arguments, window_frame, window_function};
use crate::operators::window_memory::WindowMemory;
use crate::tree::{
    Expr, FrameBound, RowSchema, Window, WindowFrame, WindowFunction, WindowParams, WindowedFunction,
};

impl Builder<'_> {
    /// The rows of the input with what the window functions say of each; they share one order.
    pub(super) fn window(&self, window: &Window, input: Operator) -> DataFusionResult<Operator> {
        let calls = window.window_expr.iter();
        let parts = calls.map(|call| self.partition_keys(call, window.input.schema(), &input));
        let mut parts = parts.collect::<DataFusionResult<Vec<_>>>()?;
        let mut computed: Vec<Physical> = Vec::new();
        for key in parts.iter().flatten() {
            // DataFusion knows the order of any column, but not of whatever is computed.
            if !key.is::<Column>() && !computed.contains(key) {
                computed.push(Arc::clone(key));
            }
        }
        // DataFusion loses the number of rows that have no columns: they are given one.
        if computed.is_empty() && input.schema().fields().is_empty() {
            computed.push(Arc::new(Literal::new(ScalarValue::Boolean(Some(true)))));
        }
        if computed.is_empty() {
            return self.window_over(window, input, parts);
        }
        let given = input.schema().fields().len();
        let widened = with_columns(input, &computed)?;
        for key in parts.iter_mut().flatten() {
            if let Some(at) = computed.iter().position(|known| known == key) {
                let name = widened.schema().field(given + at).name().clone();
                *key = Arc::new(Column::new(&name, given + at));
            }
        }
        let told = with_ordered_inputs(self.window_over(window, widened, parts)?)?;
        // Nothing above sees what was computed for it.
        let fields = told.schema();
        let kept = fields.fields().iter().enumerate();
        let kept = kept.filter(|(at, _)| !(given..given + computed.len()).contains(at));
        let columns = kept.map(|(at, field)| {
            let column = Arc::new(Column::new(field.name(), at)) as Physical;
            (column, field.name().clone())
        });
        exprs::projected(columns.collect(), Arc::clone(&told), &window.schema, false)
    }

    /// What parts the rows for a call: not what is the same in all of them, nor what is another key again. Of those DataFusion cannot always
    /// tell that the rows are in their order.
    fn partition_keys(
        &self,
        call: &Expr,
        schema: &RowSchema,
        input: &Operator,
    ) -> DataFusionResult<Vec<Physical>> {
        let mut keys = self.exprs.all(&called(call)?.params.partition_by, schema)?;
        let known = input.equivalence_properties();
        keys.retain(|key| known.is_expr_constant(key).is_none());
        let mut parting: Vec<Physical> = Vec::new();
        for key in keys {
            if !parting
                .iter()
                .any(|other| known.eq_group().exprs_equal(other, &key))
            {
                parting.push(key);
            }
        }
        Ok(parting)
    }

    /// `parts`: what parts the rows for each call.
    fn window_over(
        &self,
        window: &Window,
        input: Operator,
        parts: Vec<Vec<Physical>>,
    ) -> DataFusionResult<Operator> {
        let calls = window.window_expr.iter().zip(parts);
        let calls = calls
            .map(|(expr, partition_by)| self.window_call(expr, partition_by, window.input.schema(), &input));
        let mut calls = calls.collect::<DataFusionResult<Vec<_>>>()?;
        if window.window_expr.iter().all(turns) {
            calls = in_order_of(&input, calls)?;
        }
        // What looks at few rows before and behind its own streams; else the rows of a partition are kept, and counted.
        Ok(match calls.iter().all(|call| call.uses_bounded_memory()) {
            true => Arc::new(BoundedWindowAggExec::try_new(
                calls,
                input,
                InputOrderMode::Sorted,
                false,
            )?),
            false => Arc::new(WindowAggExec::try_new(calls, WindowMemory::of(input), false)?),
        })
    }

    fn window_call(
        &self,
        expr: &Expr,
        partition_by: Vec<Physical>,
        schema: &RowSchema,
        input: &Operator,
    ) -> DataFusionResult<Arc<dyn WindowExpr>> {
        let name = expr.column_name();
        let WindowFunction { fun, params } = called(expr)?;
        let filter = params.filter.as_ref();
        let order_by = self.exprs.order(&params.order_by, schema)?;
        let filter = filter.map(|filter| self.expr(filter, schema)).transpose()?;
        let arguments = self.exprs.all(&params.args, schema)?.into_iter();
        let arguments = arguments.map(|argument| computed_where(filter.as_ref(), argument));
        let arguments = arguments.collect::<DataFusionResult<Vec<_>>>()?;
        let input_schema = input.schema();
        match window_frame(&params.window_frame).filter(|_| takes_arguments(fun, &params.args)) {
            Some(frame) => create_window_expr(
                &window_function(fun),
                name,
                &arguments,
                &partition_by,
                &order_by,
                frame,
                input_schema,
                false,
                false,
                filter,
            ),
            None => {
                let function = match fun {
                    WindowedFunction::Aggregate(accumulator) => {
                        let built =
                            AggregateExprBuilder::new(aggregate_function(accumulator), arguments.clone())
                                .schema(input_schema)
                                .alias(name.clone())
                                .build()?;
                        Function::Aggregate(Arc::new(built))
                    }
                    WindowedFunction::Ranking(ranking) => Function::Ranking(*ranking),
                };
                let field = expr.to_field(schema)?.1;
                let call =
                    self.framed_call((name, field, function), (arguments, filter), (params, schema))?;
                // The call knows its frame, which DataFusion's has no words for.
                let told_frame = Arc::new(DataFusionFrame::new(None));
                Ok(Arc::new(StandardWindowExpr::new(
                    Arc::new(call),
                    &partition_by,
                    &order_by,
                    told_frame,
                )))
            }
        }
    }

    fn framed_call(
        &self,
        (name, field, function): (String, FieldRef, Function),
        (arguments, filter): (Vec<Physical>, Option<Physical>),
        (params, schema): (&WindowParams, &RowSchema),
    ) -> DataFusionResult<FramedCall> {
        let mut exprs = arguments;
        let arguments = 0..exprs.len();
        let order_by = self.exprs.order(&params.order_by, schema)?;
        let order = (exprs.len(), order_by.iter().map(|key| key.options).collect());
        exprs.extend(order_by.into_iter().map(|key| key.expr));
        let filter = filter.map(|filter| place_of(filter, &mut exprs));
        let frame = self.computed_frame(&params.window_frame, schema, &mut exprs)?;
        Ok(FramedCall {
            name,
            field,
            function,
            exprs,
            arguments,
            order,
            filter,
            frame,
        })
    }

    fn computed_frame(
        &self,
        frame: &WindowFrame,
        schema: &RowSchema,
        exprs: &mut Vec<Physical>,
    ) -> DataFusionResult<ComputedFrame> {
        let mut end = |bound: &FrameBound| -> DataFusionResult<End> {
            let (precedes, offset) = match bound {
                FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => return Ok(End::Unbounded),
                FrameBound::CurrentRow => return Ok(End::CurrentRow),
                FrameBound::Preceding(offset) => (true, offset),
                FrameBound::Following(offset) => (false, offset),
            };
            let mut place =
                |expr: &Expr| -> DataFusionResult<usize> { Ok(place_of(self.expr(expr, schema)?, exprs)) };
            let reach = match &offset.reach {
                Some(reach) => Some(Reach {
                    key: place(&reach.key)?,
                    limit: place(&reach.limit)?,
                    is_negative: place(&reach.is_negative)?,
                }),
                None => None,
            };
            Ok(End::Offset {
                precedes,
                count: place(&offset.count)?,
                reach,
            })
        };
        Ok(ComputedFrame {
            units: frame.units,
            start: end(&frame.start_bound)?,
            end: end(&frame.end_bound)?,
            exclusion: frame.exclusion,
        })
    }
}

/// The call of a window's expression, which may be named.
fn called(expr: &Expr) -> DataFusionResult<&WindowFunction> {
    let call = match expr {
        Expr::Alias(alias) => alias.expr.as_ref(),
        other => other,
    };
    match call {
        Expr::WindowFunction(call) => Ok(call),
        _ => Err(DataFusionError::Internal(
            "a window without its function".to_string(),
        )),
    }
}

/// Whether a call may read its rows backwards. (DataFusion would turn any aggregate around, and not what it gathers.)
fn turns(expr: &Expr) -> bool {
    called(expr).is_ok_and(|call| match &call.fun {
        WindowedFunction::Aggregate(aggregate) => aggregate.turns(),
        WindowedFunction::Ranking(_) => true,
    })
}

/// The input with more columns behind its own.
fn with_columns(input: Operator, computed: &[Physical]) -> DataFusionResult<Operator> {
    let fields = input.schema();
    let given = fields
        .fields()
        .iter()
        .enumerate()
        .map(|(at, field)| ProjectionExpr {
            alias: field.name().clone(),
            expr: Arc::new(Column::new(field.name(), at)),
        });
    let more = computed.iter().zip(fields.fields().len()..);
    let more = more.map(|(expr, at)| ProjectionExpr {
        alias: format!("partition {at}"),
        expr: Arc::clone(expr),
    });
    Ok(Arc::new(ProjectionExec::try_new(given.chain(more), input)?))
}

/// Puts an expression behind the others, and answers where.
fn place_of(expr: Physical, exprs: &mut Vec<Physical>) -> usize {
    exprs.push(expr);
    exprs.len() - 1
}

/// The calls, or the same read backwards where the rows come in the opposite of their order.
fn in_order_of(
    input: &Operator,
    calls: Vec<Arc<dyn WindowExpr>>,
) -> DataFusionResult<Vec<Arc<dyn WindowExpr>>> {
    let Some(first) = calls.first() else {
        return Ok(calls);
    };
    let is_opposite = matches!(
        get_window_mode(first.partition_by(), first.order_by(), input)?,
        Some((true, InputOrderMode::Sorted))
    );
    let backwards = || calls.iter().map(|call| call.get_reverse_expr()).collect();
    let backwards: Option<Vec<_>> = is_opposite.then(backwards).flatten();
    Ok(backwards.unwrap_or(calls))
}
