//! What queries have beside the expressions of conditions, as `pg_get_viewdef` prints it: columns with their relations, subqueries, aggregates,
//! calls over windows. Called by `condition_text` for queries.

use sqlparser::ast;

use super::condition_text::Printer;
use super::printed::{Printed, taken};
use super::printed_conditions::negated;
use super::printed_query::{Outputs, as_test, direction, grouped, items_of_row, resolved};
use super::query_layout::QueryLayout;
use super::routine_call::concrete;
use super::scope::Outer;
use super::window_clauses::WindowClauses;
use crate::catalog::{PrintedQuery, RoutineDef, standard_name};
use crate::functions;
use crate::parse::names::fold;
use crate::parse::quoting::{qualified, quote_ident};
use crate::parse::window_frame;
use crate::types::SqlType;

/// A function that a call means.
pub(super) struct CalledRoutine {
    /// Its name as text has it.
    pub(super) name: String,
    /// What it takes each argument of the call as; `Unknown`: as it is.
    pub(super) types: Vec<SqlType>,
}

impl CalledRoutine {
    /// What it takes so many arguments as.
    pub(super) fn argument_types(&self, count: usize) -> Vec<SqlType> {
        let known = self.types.iter().cloned();
        known
            .chain(std::iter::repeat(SqlType::Unknown))
            .take(count)
            .collect()
    }
}

/// Whether an aggregate, or a function of windows, takes values of any type as they are.
fn keeps_domains(name: &str) -> bool {
    matches!(
        name,
        "count" | "array_agg" | "first_value" | "last_value" | "nth_value" | "lag" | "lead" | "mode"
    ) || name.starts_with("json")
}

impl Printer<'_, '_> {
    /// The function of a user's that a call means. `None`: it means one of the server's.
    pub(super) fn called_routine(&mut self, function: &ast::Function) -> Option<CalledRoutine> {
        let chosen = self.binder.routine_meant(function, self.place).ok()??;
        let types = chosen.routine.inputs().map(|input| {
            let ty = concrete(self.binder.ctx, &input.ty, chosen.element.as_ref());
            ty.unwrap_or(SqlType::Unknown)
        });
        Some(CalledRoutine {
            types: match chosen.routine.is_variadic() {
                true => Vec::new(),
                false => types.collect(),
            },
            name: self.routine_name(&chosen.routine),
        })
    }

    /// A function's name: in a query, where an alias may stand before parentheses, in marks.
    fn routine_name(&self, routine: &RoutineDef) -> String {
        let is_built_in = functions::functions_named(&routine.name).next().is_some();
        match self.shown {
            // A bare name is the server's where that has one of it.
            None if is_built_in => qualified(&routine.schema, &routine.name),
            None => standard_name(&routine.schema, &routine.name),
            Some(_) => PrintedQuery::marked_function(&routine.schema, &routine.name),
        }
    }

    /// A column with its relation.
    pub(super) fn column(&mut self, relation: Option<&str>, name: &str, expr: &ast::Expr) -> Printed {
        let ty = self.type_of(expr);
        let (mut scope, mut outer, mut shown) = (Some(self.place.scope), self.place.outer, self.shown);
        while let Some(here) = scope {
            let owner = match relation {
                Some(wanted) => {
                    let found = here.relations.iter().find(|known| known.name == wanted);
                    found.map(|known| Some(known.name.clone()))
                }
                None => match here.get_column(name) {
                    Ok(Some(bound)) => {
                        let owner = here.relations.iter().find(|known| {
                            let mut columns = known.columns.iter();
                            columns.any(|column| column.name == name && column.bound.expr == bound.expr)
                        });
                        Some(owner.map(|known| known.name.clone()))
                    }
                    _ => None,
                },
            };
            match owner {
                Some(Some(owner)) => {
                    let owner = shown.map_or_else(|| owner.clone(), |shown| shown.name(&owner));
                    return Printed::word(format!("{}.{}", quote_ident(&owner), quote_ident(name)), ty);
                }
                Some(None) => return Printed::word(quote_ident(name), ty),
                None => {}
            }
            scope = outer.map(|outer| outer.scope);
            outer = outer.and_then(|outer| outer.parent);
            shown = shown.and_then(|shown| shown.parent);
        }
        self.as_written(expr)
    }

    /// A subquery as a value, a test or a side of a comparison.
    pub(super) fn sublink(&mut self, expr: &ast::Expr) -> Printed {
        match expr {
            ast::Expr::Subquery(query) => {
                let ty = self.type_of(expr);
                let query = self.subquery(query);
                as_test(Printed::call(ty, |text| format!("({})", text(&query))))
            }
            ast::Expr::Exists {
                subquery,
                negated: not,
            } => {
                let query = self.subquery(subquery);
                let exists = as_test(Printed::call(SqlType::Bool, |text| {
                    format!("(EXISTS ({}))", text(&query))
                }));
                match not {
                    true => negated(exists),
                    false => exists,
                }
            }
            ast::Expr::InSubquery {
                expr: value,
                subquery,
                negated: not,
            } => {
                let found = self.compared_with_rows(value, ("=", "ANY"), subquery);
                match not {
                    true => negated(found),
                    false => found,
                }
            }
            other => self.as_written(other),
        }
    }

    /// `(value IN (query))`, `(value > ANY (query))`, each value as the operator takes it beside the query's column.
    pub(super) fn compared_with_rows(
        &mut self,
        value: &ast::Expr,
        (symbol, quantifier): (&str, &str),
        query: &ast::Query,
    ) -> Printed {
        let around = Outer::new(self.place.scope, self.place.outer, Some(self.place.clause));
        let columns = self.binder.query(query, Some(&around)).map(|bound| bound.columns);
        let items = items_of_row(value).unwrap_or_else(|| vec![value.clone()]);
        let mut values = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let column = columns.as_ref().ok().and_then(|columns| columns.get(at));
            let column = column.map_or(SqlType::Unknown, |column| column.ty.clone());
            let value = self.print(item);
            let [ty, _] = taken(symbol, [value.given_type(), column]);
            values.push(value.into_operand(&ty));
        }
        let words = match (symbol, quantifier) {
            ("=", "ANY") => "IN".to_string(),
            _ => format!("{symbol} {quantifier}"),
        };
        let query = self.subquery(query);
        as_test(Printed::call(SqlType::Bool, |text| {
            let values: Vec<String> = values.iter().map(text).collect();
            let values = match values.as_slice() {
                [only] => only.clone(),
                several => format!("({})", several.join(", ")),
            };
            format!("({values} {words} ({}))", text(&query))
        }))
    }

    fn subquery(&mut self, query: &ast::Query) -> Printed {
        let mut layout = QueryLayout::new(self.indent);
        let around = Outer::new(self.place.scope, self.place.outer, Some(self.place.clause));
        let outputs = Outputs {
            types: &[],
            names: None,
            are_visible: false,
        };
        let printed = self
            .binder
            .print_query(query, Some(&around), self.shown, (&mut layout, outputs));
        self.has_failed |= printed.is_none();
        Printed {
            plain: layout.plain,
            pretty: layout.pretty,
            ..Printed::word("", SqlType::Unknown)
        }
    }

    /// A call with clauses of its own, or of an aggregate.
    pub(super) fn call_with_clauses(&mut self, expr: &ast::Expr, function: &ast::Function) -> Printed {
        let printed = self.clauses_of_call(expr, function);
        printed.unwrap_or_else(|| self.as_written(expr))
    }

    fn clauses_of_call(&mut self, expr: &ast::Expr, function: &ast::Function) -> Option<Printed> {
        let name = fold(function.name.0.last()?.as_ident()?);
        let ty = self.type_of(expr);
        if let ast::FunctionArguments::Subquery(query) = &function.args {
            let query = self.subquery(query);
            return (name == "array").then(|| Printed::call(ty, |text| format!("ARRAY({})", text(&query))));
        }
        let ast::FunctionArguments::List(list) = &function.args else {
            return None;
        };
        if !function.within_group.is_empty() || function.null_treatment.is_some() {
            return None;
        }
        let distinct = list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct);
        let called = self.called_routine(function);
        let types = called
            .as_ref()
            .map(|called| called.argument_types(list.args.len()));
        let mut arguments = Vec::new();
        for (at, argument) in list.args.iter().enumerate() {
            arguments.push(match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) => {
                    Printed::word("*", SqlType::Unknown)
                }
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument)) => {
                    let printed = self.print(argument);
                    let ty = types.as_ref().and_then(|types| types.get(at));
                    let printed = match keeps_domains(&name) {
                        true => printed,
                        false => printed.of_base(),
                    };
                    resolved(printed, ty)
                }
                _ => return None,
            });
        }
        let order = match list.clauses.as_slice() {
            [] => None,
            [ast::FunctionArgumentClause::OrderBy(items)] => Some(self.order_items(items)?),
            _ => return None,
        };
        let filter = function.filter.as_ref().map(|filter| self.condition(filter));
        let over = match &function.over {
            None => None,
            Some(ast::WindowType::NamedWindow(name)) => {
                Some(Printed::word(quote_ident(&fold(name)), SqlType::Unknown))
            }
            Some(ast::WindowType::WindowSpec(spec)) => Some(self.window_spec(spec)?),
        };
        let name = called.map_or_else(|| quote_ident(&name), |called| called.name);
        Some(Printed::call(ty, |text| {
            let listed: Vec<String> = arguments.iter().map(text).collect();
            let distinct = if distinct { "DISTINCT " } else { "" };
            let order = order
                .as_ref()
                .map_or(String::new(), |order| format!(" ORDER BY {}", text(order)));
            let filter = filter.as_ref().map_or(String::new(), |filter| {
                format!(" FILTER (WHERE {})", text(filter))
            });
            let over = over
                .as_ref()
                .map_or(String::new(), |over| format!(" OVER {}", text(over)));
            format!("{name}({distinct}{}{order}){filter}{over}", listed.join(", "))
        }))
    }

    fn order_items(&mut self, items: &[ast::OrderByExpr]) -> Option<Printed> {
        let mut printed = Vec::new();
        for item in items {
            printed.push((grouped(self.print(&item.expr), &item.expr), direction(item)));
        }
        Some(Printed::call(SqlType::Unknown, |text| {
            let items: Vec<String> = printed
                .iter()
                .map(|(item, direction)| text(item) + direction)
                .collect();
            items.join(", ")
        }))
    }

    /// A window in its parentheses.
    pub(super) fn window_spec(&mut self, spec: &ast::WindowSpec) -> Option<Printed> {
        let over = ast::WindowType::WindowSpec(spec.clone());
        WindowClauses::of(&over, self.place.windows).ok()?;
        let (base, exclusion) = window_frame::split(spec);
        let mut parts: Vec<Printed> = Vec::new();
        if let Some(base) = base {
            parts.push(Printed::word(quote_ident(&base), SqlType::Unknown));
        }
        if !spec.partition_by.is_empty() {
            let keys: Vec<Printed> = spec
                .partition_by
                .iter()
                .map(|key| grouped(self.print(key), key))
                .collect();
            parts.push(Printed::call(SqlType::Unknown, |text| {
                let keys: Vec<String> = keys.iter().map(text).collect();
                format!("PARTITION BY {}", keys.join(", "))
            }));
        }
        if !spec.order_by.is_empty() {
            let order = self.order_items(&spec.order_by)?;
            parts.push(Printed::call(SqlType::Unknown, |text| {
                format!("ORDER BY {}", text(&order))
            }));
        }
        if let Some(frame) = &spec.window_frame {
            parts.push(self.frame_text(frame, exclusion.as_deref())?);
        }
        Some(Printed::call(SqlType::Unknown, |text| {
            let parts: Vec<String> = parts.iter().map(text).collect();
            format!("({})", parts.join(" "))
        }))
    }

    fn frame_text(&mut self, frame: &ast::WindowFrame, exclusion: Option<&str>) -> Option<Printed> {
        use ast::WindowFrameBound::{CurrentRow, Following, Preceding};
        let mut bound = |bound: &ast::WindowFrameBound| {
            let (offset, word) = match bound {
                CurrentRow => return Printed::word("CURRENT ROW", SqlType::Unknown),
                Preceding(None) => return Printed::word("UNBOUNDED PRECEDING", SqlType::Unknown),
                Following(None) => return Printed::word("UNBOUNDED FOLLOWING", SqlType::Unknown),
                Preceding(Some(offset)) => (offset, "PRECEDING"),
                Following(Some(offset)) => (offset, "FOLLOWING"),
            };
            let offset = self.print(offset);
            Printed::call(SqlType::Unknown, |text| format!("{} {word}", text(&offset)))
        };
        let start = bound(&frame.start_bound);
        let end = frame.end_bound.as_ref().map(bound);
        let exclusion = match exclusion {
            Some("CURRENT") => " EXCLUDE CURRENT ROW",
            Some("GROUP") => " EXCLUDE GROUP",
            Some("TIES") => " EXCLUDE TIES",
            _ => "",
        };
        let units = frame.units.to_string();
        Some(Printed::call(SqlType::Unknown, |text| match &end {
            Some(end) => format!("{units} BETWEEN {} AND {}{exclusion}", text(&start), text(end)),
            None => format!("{units} {}{exclusion}", text(&start)),
        }))
    }
}
