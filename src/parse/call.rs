//! Calls of functions, of which the parser has the syntax alone.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
};

/// `name(arguments)`.
pub(super) fn call(name: Ident, arguments: Vec<Expr>) -> Expr {
    let unnamed = |argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument));
    call_with(
        name,
        FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments.into_iter().map(unnamed).collect(),
            clauses: Vec::new(),
        }),
    )
}

/// `name`, a word that is a call: `CURRENT_ROLE`.
pub(super) fn call_without_parentheses(name: Ident) -> Expr {
    call_with(name, FunctionArguments::None)
}

fn call_with(name: Ident, args: FunctionArguments) -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![name]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args,
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
