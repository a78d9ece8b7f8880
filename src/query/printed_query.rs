//! What the parts of a printed query share: what its relations are called, what its columns are to be, and small rules of `ruleutils`. Used by
//! `query_text` and the files of its clauses.

use sqlparser::ast;

use super::printed::{Printed, Shape};
use super::printed_names::type_text;
use super::scope::Outer;
use crate::parse::names::{self, fold};
use crate::types::SqlType;

/// What the relations of a query are called in its text, where queries around it have the same names.
pub(super) struct ShownRelations<'a> {
    /// By the names in the scope.
    pub(super) shown: Vec<(String, String)>,
    pub(super) parent: Option<&'a ShownRelations<'a>>,
}

impl ShownRelations<'_> {
    /// What a relation of the query is called.
    pub(super) fn name(&self, relation: &str) -> String {
        let shown = self.shown.iter().find(|(name, _)| name == relation);
        shown.map_or_else(|| relation.to_string(), |(_, shown)| shown.clone())
    }

    pub(super) fn is_taken(&self, name: &str) -> bool {
        self.shown.iter().any(|(_, shown)| shown == name)
            || self.parent.is_some_and(|parent| parent.is_taken(name))
    }

    /// Takes a name for a relation: its own, or with a number behind it.
    pub(super) fn take(&mut self, relation: &str) {
        let mut shown = relation.to_string();
        let mut number = 0;
        while self.is_taken(&shown) {
            number += 1;
            shown = format!("{relation}_{number}");
        }
        self.shown.push((relation.to_string(), shown));
    }
}

/// What a query's columns are to be.
#[derive(Clone, Copy)]
pub(super) struct Outputs<'a> {
    /// Their types; none: as they come.
    pub(super) types: &'a [SqlType],
    /// Their names; `None`: as they come.
    pub(super) names: Option<&'a [String]>,
    /// Whether anybody sees the names: then even one that says nothing is written.
    pub(super) are_visible: bool,
}

/// The query around a query, and what the relations of that are called.
pub(super) type Surroundings<'a> = (Option<&'a Outer<'a>>, Option<&'a ShownRelations<'a>>);

/// What stands in parentheses beside an operator, though it has its own.
pub(super) fn as_test(printed: Printed) -> Printed {
    Printed {
        shape: Shape::Test,
        ..printed
    }
}

/// Whether a call is one of an aggregate, or has clauses.
pub(super) fn is_more_than_a_call(function: &ast::Function) -> bool {
    let name = function.name.0.last().and_then(|part| part.as_ident()).map(fold);
    let is_aggregate = name.is_some_and(|name| super::aggregate::is_aggregate_call(&name, function));
    let has_clauses = match &function.args {
        ast::FunctionArguments::List(list) => list.duplicate_treatment.is_some() || !list.clauses.is_empty(),
        ast::FunctionArguments::Subquery(_) => true,
        ast::FunctionArguments::None => false,
    };
    is_aggregate
        || has_clauses
        || function.filter.is_some()
        || function.over.is_some()
        || !function.within_group.is_empty()
}

/// The items of `row(…)`; `None`: it is another call, or one of rows that are spelt out.
pub(super) fn row_items(function: &ast::Function) -> Option<Vec<ast::Expr>> {
    let ast::FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let is_row = function.name.0.len() == 1 && names::last_name(&function.name).as_deref() == Some("row");
    let items = list.args.iter().map(|argument| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(item)) => Some(item.clone()),
        _ => None,
    });
    is_row.then(|| items.collect()).flatten()
}

/// The items of a row that is written as one.
pub(super) fn items_of_row(expr: &ast::Expr) -> Option<Vec<ast::Expr>> {
    match without_parentheses(expr) {
        ast::Expr::Tuple(items) => Some(items.clone()),
        ast::Expr::Function(function) => row_items(function),
        _ => None,
    }
}

/// What is not a column alone stands in parentheses where it could be read as something else.
pub(super) fn grouped(printed: Printed, expr: &ast::Expr) -> Printed {
    match without_parentheses(expr) {
        ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_) | ast::Expr::Value(_) => printed,
        _ => {
            let is_call = matches!(
                without_parentheses(expr),
                ast::Expr::Function(_) | ast::Expr::Extract { .. }
            );
            let plain = match is_call {
                true => format!("({})", printed.plain),
                false => printed.plain.clone(),
            };
            Printed {
                plain,
                pretty: format!("({})", printed.pretty),
                ..printed
            }
        }
    }
}

/// A literal of no type is text, unless its column has another; NULL says its type.
pub(super) fn resolved(printed: Printed, ty: Option<&SqlType>) -> Printed {
    let ty = match ty {
        None | Some(SqlType::Unknown | SqlType::Void) => None,
        Some(ty) => Some(ty),
    };
    if printed.untyped.is_some() {
        return printed.into_type(ty.unwrap_or(&SqlType::Text));
    }
    if printed.plain == "NULL" {
        let ty = ty.cloned().unwrap_or(SqlType::Text);
        return Printed::word(format!("NULL::{}", type_text(&ty)), ty);
    }
    match ty {
        Some(ty) if printed.ty != SqlType::Unknown && !printed.is_of_domain => printed.into_type(ty),
        _ => printed,
    }
}

pub(super) fn direction(item: &ast::OrderByExpr) -> String {
    let descends = item.options.asc == Some(false);
    let first = item.options.nulls_first.unwrap_or(descends);
    let nulls = match (descends, first) {
        (false, true) => " NULLS FIRST",
        (true, false) => " NULLS LAST",
        _ => "",
    };
    format!("{}{nulls}", if descends { " DESC" } else { "" })
}

pub(super) fn without_parentheses(expr: &ast::Expr) -> &ast::Expr {
    match expr {
        ast::Expr::Nested(inner) => without_parentheses(inner),
        other => other,
    }
}
