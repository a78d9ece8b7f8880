//! The statements of a function in SQL, read once and kept with its definition, and which of them can be part of the plan of who calls it.

use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{self, Visitor, VisitorMut};

use super::is_aggregate;
use crate::Result;
use crate::catalog::{BodyKind, Language, RoutineDef};
use crate::functions;
use crate::parse::walk::{Walk, WalkMut};
use crate::parse::{ParsedStatement, kind::is_select_into, names, parse, with_write::has_writes};

/// What of a function's body is known from its text.
#[derive(Debug)]
pub(crate) struct RoutineBody {
    /// Its statements.
    pub(crate) statements: Vec<ParsedStatement>,
    /// The one query that it is, whose parameters are names.
    query: Option<Arc<ast::Query>>,
}

impl RoutineBody {
    /// That of a function in SQL. Errors: 42601.
    pub(crate) fn of(routine: &RoutineDef) -> Result<Arc<RoutineBody>> {
        routine.parsed.get_or(|| {
            let text = match routine.body_kind {
                BodyKind::Return => format!("SELECT {}", routine.body),
                BodyKind::Text | BodyKind::Atomic => routine.body.clone(),
            };
            let statements = parse(&text)?;
            let query = match statements.as_slice() {
                [only] => query_of(only).map(Arc::new),
                _ => None,
            };
            Ok(RoutineBody { statements, query })
        })
    }

    /// The query that may stand in the place of a call; `None`: the function is run. `wants_set`: in FROM.
    pub(super) fn inlined(routine: &RoutineDef, in_from: bool) -> Result<Option<Arc<ast::Query>>> {
        // The rows of a query are not asked what a domain wants.
        let has_domains = || routine.result_domains().iter().any(Option::is_some);
        let may_be = routine.language == Language::Sql
            && routine.settings.is_empty()
            && !(in_from && (routine.strict || has_domains()));
        match may_be {
            true => Ok(RoutineBody::of(routine)?.query.clone()),
            false => Ok(None),
        }
    }
}

/// The query that a statement is, if it reads and does nothing else.
fn query_of(statement: &ParsedStatement) -> Option<ast::Query> {
    let is_plain =
        statement.command.is_none() && statement.row_locks.is_none() && statement.hints == Default::default();
    match &statement.ast {
        ast::Statement::Query(query) if is_plain && !is_select_into(query) && !has_writes(query) => {
            let mut query = query.as_ref().clone();
            let _ = query.walk_mut(&mut Parameters);
            Some(query)
        }
        _ => None,
    }
}

/// Makes names of parameters.
struct Parameters;

impl VisitorMut for Parameters {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        if let ast::Expr::Value(value) = expr
            && let ast::Value::Placeholder(name) = &value.value
        {
            *expr = ast::Expr::Identifier(ast::Ident::with_quote('"', name.clone()));
        }
        ControlFlow::Continue(())
    }
}

/// The expression that a query of one row without relations is: `SELECT expression`.
pub(super) fn expression_of(query: &ast::Query) -> Option<&ast::Expr> {
    let ast::SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let groups = match &select.group_by {
        ast::GroupByExpr::Expressions(keys, _) => !keys.is_empty(),
        ast::GroupByExpr::All(_) => true,
    };
    let is_more = query.with.is_some()
        || query.order_by.is_some()
        || query.limit_clause.is_some()
        || query.fetch.is_some()
        || !select.from.is_empty()
        || select.selection.is_some()
        || select.having.is_some()
        || select.distinct.is_some()
        || groups;
    let (false, [ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. }]) =
        (is_more, select.projection.as_slice())
    else {
        return None;
    };
    let mut gathers = Gathers(false);
    let _ = expr.walk(&mut gathers);
    (!gathers.0).then_some(expr)
}

/// Whether an expression has aggregates, windows or sets in it.
struct Gathers(bool);

impl Visitor for Gathers {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        if let ast::Expr::Function(function) = expr {
            let name = function.name.0.last().and_then(|part| part.as_ident());
            let name = name.map(names::fold).unwrap_or_default();
            self.0 |= function.over.is_some() || is_aggregate(&name) || functions::is_set_returning(&name);
        }
        ControlFlow::Continue(())
    }
}

/// How often a query names an argument, by its name or its number.
pub(super) fn uses_of(query: &ast::Query, names: &[String]) -> usize {
    let mut uses = Uses { names, found: 0 };
    let _ = query.walk(&mut uses);
    uses.found
}

/// Whether a query reads a table at a moment of the past that these names tell.
pub(super) fn names_moment(query: &ast::Query, names: &[String]) -> bool {
    query.walk(&mut Moments { names }).is_break()
}

struct Moments<'a> {
    names: &'a [String],
}

impl Visitor for Moments<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &ast::TableFactor) -> ControlFlow<()> {
        let ast::TableFactor::Table {
            version: Some(ast::TableVersion::ForSystemTimeAsOf(moment)),
            ..
        } = factor
        else {
            return ControlFlow::Continue(());
        };
        let mut uses = Uses {
            names: self.names,
            found: 0,
        };
        let _ = moment.walk(&mut uses);
        match uses.found {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

struct Uses<'a> {
    names: &'a [String],
    found: usize,
}

impl Visitor for Uses<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        let name = match expr {
            ast::Expr::Identifier(name) => Some(name),
            ast::Expr::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        };
        let is_it = |name: &ast::Ident| self.names.iter().any(|known| *known == names::fold(name));
        self.found += usize::from(name.is_some_and(is_it));
        ControlFlow::Continue(())
    }
}
