//! Calls whose arguments have names: `make_interval(days => 10)`. They become calls of all arguments in their order, with the defaults
//! that the registry has for those that are left out.

use sqlparser::ast;

use super::bound::Bound;
use super::coercion::type_name;
use crate::functions::{self, FunctionDef};
use crate::parse::names::fold;
use crate::{Error, Result};

/// An argument's name, if it has one, and the argument. Errors: 0A000 for a name that is none.
pub(super) fn parts(argument: &ast::FunctionArg) -> Result<(Option<String>, &ast::FunctionArgExpr)> {
    match argument {
        ast::FunctionArg::Unnamed(argument) => Ok((None, argument)),
        ast::FunctionArg::Named { name, arg, .. } => Ok((Some(fold(name)), arg)),
        ast::FunctionArg::ExprNamed {
            name: ast::Expr::Identifier(name),
            arg,
            ..
        } => Ok((Some(fold(name)), arg)),
        ast::FunctionArg::ExprNamed { .. } => Err(Error::unsupported("a computed name of an argument", None)),
    }
}

/// The arguments in the order of the function's own; `names` are those of the last of them. Errors: 42883 where no function of this name
/// has arguments of these names.
pub(super) fn in_order(function: &str, arguments: Vec<Bound>, names: &[String]) -> Result<Vec<Bound>> {
    let positional = arguments.len() - names.len();
    let takes = |row: &&FunctionDef| {
        let Some(rest) = row.parameters.get(positional..) else {
            return false;
        };
        let knows = |name: &String| rest.iter().any(|(known, _)| known == name);
        let is_given = |(known, default): &(&str, Option<&str>)| {
            default.is_some() || names.iter().any(|name| name == known)
        };
        names.iter().all(knows) && rest.iter().all(is_given)
    };
    let Some(row) = functions::functions_named(function).find(takes) else {
        return Err(Error::undefined_function(signature(function, &arguments, names)));
    };
    let mut arguments = arguments.into_iter();
    let mut ordered: Vec<Bound> = arguments.by_ref().take(positional).collect();
    let named: Vec<(&String, Bound)> = names.iter().zip(arguments).collect();
    for (known, default) in &row.parameters[positional..] {
        let given = named.iter().find(|(name, _)| name == known);
        ordered.push(match given {
            Some((_, argument)) => argument.clone(),
            None => Bound::unknown(default.map(str::to_string)),
        });
    }
    Ok(ordered)
}

/// The call as messages show it.
fn signature(function: &str, arguments: &[Bound], names: &[String]) -> String {
    let positional = arguments.len() - names.len();
    let shown = arguments.iter().enumerate().map(|(place, argument)| {
        let name = place.checked_sub(positional).and_then(|at| names.get(at));
        match name {
            Some(name) => format!("{name} => {}", type_name(&argument.ty)),
            None => type_name(&argument.ty),
        }
    });
    format!("{function}({})", shown.collect::<Vec<_>>().join(", "))
}
