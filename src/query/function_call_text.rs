//! Calls of functions as `pg_get_expr` prints them. Called by `condition_text`; `call_text` prints those with clauses, `function_syntax_text` those
//! in words.

use sqlparser::ast;

use super::condition_text::Printer;
use super::context_value::is_bare_keyword;
use super::printed::{Printed, operands, quoted};
use super::printed_query::{is_more_than_a_call, row_items};
use crate::parse::names;
use crate::parse::quoting::quote_ident;
use crate::tree::Expr;
use crate::types::SqlType;

impl Printer<'_, '_> {
    /// A call of a function without clauses of its own.
    pub(super) fn function(&mut self, expr: &ast::Expr, function: &ast::Function) -> Printed {
        let is_more = is_more_than_a_call(function) || self.binder.is_user_aggregate(function);
        if self.shown.is_some() && is_more {
            return self.call_with_clauses(expr, function);
        }
        if let Some(items) = row_items(function) {
            return self.row(&items, None);
        }
        let Some(name) = names::last_name(&function.name) else {
            return self.as_written(expr);
        };
        let arguments = match &function.args {
            ast::FunctionArguments::List(list) => list.args.as_slice(),
            _ => return Printed::word(name.to_uppercase(), self.type_of(expr)),
        };
        if name == "normalize" {
            return self.normalize(expr, arguments);
        }
        let Some((printed, names)) = self.arguments(arguments) else {
            return self.as_written(expr);
        };
        let ty = self.type_of(expr);
        if is_bare_keyword(&name)
            && let [ast::FunctionArg::Unnamed(digits)] = arguments
        {
            return Printed::word(format!("{}({digits})", name.to_uppercase()), ty);
        }
        let called = self.called_routine(function);
        let types = match &called {
            // Of those that are named the places say nothing.
            _ if names.iter().any(Option::is_some) => vec![SqlType::Unknown; printed.len()],
            Some(called) => called.argument_types(printed.len()),
            None => self.argument_types(expr, &name, &ty, printed.len()),
        };
        let printed = match <[Printed; 2]>::try_from(printed) {
            // As what `=` compares.
            Ok([one, other]) if name == "nullif" => <[Printed; 2]>::from(operands("=", one, other)).into(),
            Ok(both) => both.into(),
            Err(printed) => printed,
        };
        let printed: Vec<Printed> = printed
            .into_iter()
            .zip(types)
            .enumerate()
            .map(|(at, (argument, ty))| match &argument.untyped {
                Some(untyped) if takes_any(&name, at) => Printed::word(quoted(&untyped.written.text), ty),
                None if takes_any(&name, at) => argument,
                None if takes_padded(&name) && matches!(argument.ty, SqlType::Char(_)) => argument,
                _ => argument.into_type(&ty),
            })
            .collect();
        let name = match (called, name.as_str()) {
            (Some(called), _) => called.name,
            (None, "coalesce" | "nullif" | "greatest" | "least") => name.to_uppercase(),
            (None, _) => quote_ident(&name),
        };
        Printed::call(ty, |text| {
            let arguments = printed.iter().zip(&names).map(|(argument, name)| match name {
                Some(name) => format!("{name} => {}", text(argument)),
                None => text(argument),
            });
            format!("{name}({})", arguments.collect::<Vec<_>>().join(", "))
        })
    }

    /// The arguments, and the names of those that have one. `None`: one is no expression.
    fn arguments(&mut self, arguments: &[ast::FunctionArg]) -> Option<(Vec<Printed>, Vec<Option<String>>)> {
        let pairs = arguments.iter().map(|argument| match argument {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument)) => {
                Some((self.print(argument), None))
            }
            ast::FunctionArg::Named {
                name,
                arg: ast::FunctionArgExpr::Expr(argument),
                ..
            } => Some((self.print(argument), Some(quote_ident(&names::fold(name))))),
            _ => None,
        });
        pairs.collect()
    }

    /// What a function takes its arguments as; `Unknown` where they are as they are.
    fn argument_types(&mut self, expr: &ast::Expr, name: &str, ty: &SqlType, count: usize) -> Vec<SqlType> {
        match name {
            "coalesce" | "greatest" | "least" => return vec![ty.clone(); count],
            "nullif" => return vec![SqlType::Unknown; count],
            _ => {}
        }
        match self.binder.expression(expr, self.place).map(|bound| bound.expr) {
            Ok(Expr::ScalarFunction(call)) if call.func.arguments().len() == count => {
                call.func.arguments().to_vec()
            }
            _ => vec![SqlType::Unknown; count],
        }
    }
}

/// Whether a function takes an argument of any type, as which a literal has none.
fn takes_any(name: &str, at: usize) -> bool {
    match name {
        "concat" | "json_build_array" | "json_build_object" | "jsonb_build_array" | "jsonb_build_object" => {
            true
        }
        "concat_ws" | "format" => at > 0,
        _ => false,
    }
}

/// Whether PostgreSQL has the function for character(n), too.
fn takes_padded(name: &str) -> bool {
    matches!(
        name,
        "length" | "char_length" | "character_length" | "octet_length"
    )
}
