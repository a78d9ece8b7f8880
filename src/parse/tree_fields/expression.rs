//! The fields of expressions and of calls.

use sqlparser::ast::{
    AccessExpr, Array, BinaryOperator, CastKind, CeilFloorKind, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgOperator, FunctionArgumentClause, FunctionArguments, Subscript, WindowType,
};

use super::{Flow, Probe, TreeCheck, Unread, fields, verdicts};

/// Only in an array that is named as one may others stand without ARRAY in front.
fn name_inner_arrays(array: &mut Array) {
    for item in &mut array.elem {
        if let Expr::Array(inner) = item {
            inner.named = true;
        }
    }
}

impl<P: Probe> TreeCheck<P> {
    #[expect(clippy::too_many_lines, reason = "a verdict a field, one arm a variant")]
    pub(super) fn expression(&mut self, expr: &mut Expr) -> Flow {
        match expr {
            Expr::Like {
                negated,
                any,
                expr,
                pattern,
                escape_char,
            }
            | Expr::ILike {
                negated,
                any,
                expr,
                pattern,
                escape_char,
            } => {
                verdicts!(self, "Expr::Like",
                    negated: read, any: foreign("ANY"), expr: must, pattern: must, escape_char: read,
                );
            }
            Expr::SimilarTo {
                negated,
                expr,
                pattern,
                escape_char,
            } => {
                verdicts!(self, "Expr::SimilarTo", negated: read, expr: must, pattern: must, escape_char: read);
            }
            Expr::IsNormalized { expr, form, negated } => {
                verdicts!(self, "Expr::IsNormalized", expr: must, form: read, negated: read);
            }
            Expr::InList { expr, list, negated } => {
                verdicts!(self, "Expr::InList", expr: must, list: must, negated: read);
            }
            Expr::InSubquery {
                expr,
                subquery,
                negated,
            } => {
                verdicts!(self, "Expr::InSubquery", expr: must, subquery: must, negated: read);
            }
            Expr::Between {
                expr,
                negated,
                low,
                high,
            } => {
                verdicts!(self, "Expr::Between", expr: must, negated: read, low: must, high: must);
            }
            Expr::Exists { subquery, negated } => {
                verdicts!(self, "Expr::Exists", subquery: must, negated: read);
            }
            Expr::AnyOp {
                left,
                compare_op,
                right,
                is_some,
            } => {
                verdicts!(self, "Expr::AnyOp", left: must, compare_op: must, right: must, is_some: spelling);
            }
            Expr::Cast {
                kind,
                expr,
                data_type,
                array,
                format,
            } => {
                verdicts!(self, "Expr::Cast", expr: must, data_type: must, array: foreign("ARRAY"), format: foreign("FORMAT"));
                match kind {
                    CastKind::Cast | CastKind::DoubleColon => {}
                    CastKind::TryCast => return Flow::Break(Unread::Foreign("TRY_CAST")),
                    CastKind::SafeCast => return Flow::Break(Unread::Foreign("SAFE_CAST")),
                }
            }
            Expr::Extract { field, syntax, expr } => {
                verdicts!(self, "Expr::Extract", field: must, syntax: spelling, expr: must);
            }
            Expr::Ceil { expr, field } | Expr::Floor { expr, field } => {
                verdicts!(self, "Expr::Ceil", expr: must);
                match field {
                    CeilFloorKind::DateTimeField(sqlparser::ast::DateTimeField::NoDateTime) => {}
                    CeilFloorKind::DateTimeField(_) => return Flow::Break(Unread::Foreign("TO")),
                    CeilFloorKind::Scale(_) => return Flow::Break(Unread::Foreign(",")),
                }
            }
            Expr::Substring {
                expr,
                substring_from,
                substring_for,
                special,
                shorthand,
            } => {
                verdicts!(self, "Expr::Substring",
                    expr: must, substring_from: read, substring_for: read, special: spelling, shorthand: spelling,
                );
            }
            Expr::Overlay {
                expr,
                overlay_what,
                overlay_from,
                overlay_for,
            } => {
                verdicts!(self, "Expr::Overlay", expr: must, overlay_what: must, overlay_from: must, overlay_for: read);
            }
            Expr::Trim {
                trim_where,
                trim_what,
                expr,
                trim_characters,
            } => {
                verdicts!(self, "Expr::Trim",
                    trim_where: read, trim_what: read, expr: must, trim_characters: foreign("TRIM"),
                );
            }
            Expr::Collate { expr, collation } => {
                verdicts!(self, "Expr::Collate", expr: must, collation: must);
            }
            Expr::Case {
                case_token,
                end_token,
                operand,
                conditions,
                else_result,
            } => {
                verdicts!(self, "Expr::Case",
                    case_token: spelling, end_token: spelling, operand: read, conditions: must, else_result: read,
                );
            }
            Expr::TypedString(typed) => {
                fields!(
                    self,
                    typed,
                    TypedString {
                        data_type: must,
                        value: must,
                        uses_odbc_syntax: foreign("{")
                    }
                );
            }
            Expr::Array(array) => {
                match array.named {
                    true => name_inner_arrays(array),
                    false => return Flow::Break(Unread::Foreign("[")),
                }
                fields!(
                    self,
                    array,
                    Array {
                        elem: read,
                        named: spelling
                    }
                );
            }
            Expr::Interval(interval) => {
                fields!(
                    self,
                    interval,
                    Interval {
                        value: must,
                        leading_field: read,
                        leading_precision: read,
                        last_field: read,
                        fractional_seconds_precision: read,
                    }
                );
            }
            Expr::Function(function) => return self.call(function),
            Expr::CompoundFieldAccess { root, access_chain } => {
                verdicts!(self, "Expr::CompoundFieldAccess", root: must, access_chain: must);
                return access_chain.iter_mut().try_for_each(|access| self.access(access));
            }
            Expr::BinaryOp { left, op, right } => {
                verdicts!(self, "Expr::BinaryOp", left: must, right: must);
                if matches!(
                    op,
                    BinaryOperator::Xor | BinaryOperator::Match | BinaryOperator::Regexp
                ) {
                    return Flow::Break(Unread::Foreign("XOR"));
                }
            }
            Expr::RLike {
                negated: _,
                expr: _,
                pattern: _,
                regexp: _,
            } => {
                return Flow::Break(Unread::Foreign("RLIKE"));
            }
            Expr::InUnnest {
                expr: _,
                array_expr: _,
                negated: _,
            } => return Flow::Break(Unread::Foreign("UNNEST")),
            Expr::Convert {
                is_try: _,
                expr: _,
                data_type: _,
                charset: _,
                target_before_value: _,
                styles: _,
            } => {
                return Flow::Break(Unread::Foreign("CONVERT"));
            }
            Expr::MatchAgainst {
                columns: _,
                match_value: _,
                opt_search_modifier: _,
            } => {
                return Flow::Break(Unread::Foreign("MATCH"));
            }
            // Without anything optional: whoever binds reads all of it, or refuses the whole.
            Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::JsonAccess { value: _, path: _ }
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
            | Expr::IsDistinctFrom(_, _)
            | Expr::IsNotDistinctFrom(_, _)
            | Expr::AllOp {
                left: _,
                compare_op: _,
                right: _,
            }
            | Expr::UnaryOp { op: _, expr: _ }
            | Expr::AtTimeZone {
                timestamp: _,
                time_zone: _,
            }
            | Expr::Position { expr: _, r#in: _ }
            | Expr::Nested(_)
            | Expr::Value(_)
            | Expr::Prefixed { prefix: _, value: _ }
            | Expr::Subquery(_)
            | Expr::GroupingSets(_)
            | Expr::Cube(_)
            | Expr::Rollup(_)
            | Expr::Tuple(_)
            | Expr::Struct { values: _, fields: _ }
            | Expr::Named { expr: _, name: _ }
            | Expr::Dictionary(_)
            | Expr::Map(_)
            | Expr::Wildcard(_)
            | Expr::QualifiedWildcard(_, _)
            | Expr::OuterJoin(_)
            | Expr::Prior(_)
            | Expr::Lambda(_)
            | Expr::MemberOf(_) => {}
        }
        Flow::Continue(())
    }

    fn access(&mut self, access: &mut AccessExpr) -> Flow {
        match access {
            AccessExpr::Dot(_) | AccessExpr::Subscript(Subscript::Index { index: _ }) => {}
            AccessExpr::Subscript(Subscript::Slice {
                lower_bound,
                upper_bound,
                stride,
            }) => {
                verdicts!(self, "Subscript::Slice", lower_bound: read, upper_bound: read, stride: foreign(":"));
            }
        }
        Flow::Continue(())
    }

    fn call(&mut self, function: &mut Function) -> Flow {
        fields!(
            self,
            function,
            Function {
                name: must,
                uses_odbc_syntax: foreign("{"),
                parameters: foreign("("),
                args: must,
                filter: read,
                null_treatment: foreign("NULLS"),
                over: read,
                within_group: read,
            }
        );
        match args {
            FunctionArguments::None | FunctionArguments::Subquery(_) => {}
            FunctionArguments::List(list) => {
                fields!(
                    self,
                    list,
                    FunctionArgumentList {
                        duplicate_treatment: read,
                        args: read,
                        clauses: read
                    }
                );
                args.iter_mut().try_for_each(|argument| self.argument(argument))?;
                clauses
                    .iter_mut()
                    .try_for_each(|clause| self.argument_clause(clause))?;
            }
        }
        self.order_items(within_group)?;
        match over {
            None | Some(WindowType::NamedWindow(_)) => Flow::Continue(()),
            Some(WindowType::WindowSpec(spec)) => self.window(spec),
        }
    }

    pub(super) fn argument(&mut self, argument: &mut FunctionArg) -> Flow {
        let value = match argument {
            FunctionArg::Unnamed(value) => value,
            FunctionArg::Named { name, arg, operator } => {
                verdicts!(self, "FunctionArg::Named", name: must);
                match operator {
                    FunctionArgOperator::RightArrow | FunctionArgOperator::Assignment => {}
                    FunctionArgOperator::Equals => return Flow::Break(Unread::Foreign("=")),
                    FunctionArgOperator::Colon => return Flow::Break(Unread::Foreign(":")),
                    FunctionArgOperator::Value => return Flow::Break(Unread::Foreign("VALUE")),
                }
                arg
            }
            FunctionArg::ExprNamed { name, arg, operator } => {
                verdicts!(self, "FunctionArg::ExprNamed", name: must, operator: must);
                arg
            }
        };
        match value {
            FunctionArgExpr::Expr(_) | FunctionArgExpr::QualifiedWildcard(_) | FunctionArgExpr::Wildcard => {
                Flow::Continue(())
            }
            FunctionArgExpr::WildcardWithOptions(options) => self.wildcard(options),
        }
    }

    fn argument_clause(&mut self, clause: &mut FunctionArgumentClause) -> Flow {
        use FunctionArgumentClause as C;
        let words = match clause {
            C::OrderBy(items) => return self.order_items(items),
            C::IgnoreOrRespectNulls(_) => "NULLS",
            C::Limit(_) => "LIMIT",
            C::OnOverflow(_) => "ON OVERFLOW",
            C::Having(_) => "HAVING",
            C::Separator(_) => "SEPARATOR",
            C::JsonNullClause(_) => "ON NULL",
            C::JsonReturningClause(_) => "RETURNING",
        };
        Flow::Break(Unread::Foreign(words))
    }
}
