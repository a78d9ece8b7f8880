//! `Binder`: turns one query's tree into a bound plan ([`crate::tree::Plan`]) whose expressions are wholly typed: names and types are
//! decided here, once.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use sqlparser::ast;

pub(super) use super::bound::Bound;
use super::bound::is_stored;
pub(crate) use super::clause::Clause;
use super::literal_pins::LiteralPins;
use super::lock_scope::LockScope;
use super::moment::Past;
use super::repeated_subqueries::RepeatedSubqueries;
use super::scope::{Outer, Scope};
use crate::catalog::STANDARD_SCHEMA;
use crate::error::{Limit, StatementFault, TextPlace};
pub(super) use crate::parse::names::fold;
use crate::parse::text_place;
use crate::system::{StatementContext, Variables};
use crate::tree::{Column, Expr, Plan};
use crate::types::{FormatSettings, SqlType};
use crate::{Error, Result};

/// How deeply expressions and queries may nest. Deeper statements are refused before the stack is in danger: a level
/// costs some stack frames here and below, and both grow the stack as they need.
pub(super) const NESTING_MAX: usize = 2_000;

/// Where an expression stands: what its names mean, and what may not be in it.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The names of this query.
    pub(super) scope: &'a Scope,
    /// The query around it.
    pub(super) outer: Option<&'a Outer<'a>>,
    /// The clause.
    pub(super) clause: Clause,
    /// `WINDOW` definitions.
    pub(super) windows: &'a [ast::NamedWindowDefinition],
}

/// A query of WITH that later parts may name.
#[derive(Clone)]
pub(super) struct CommonTable {
    /// Its name.
    pub(super) name: String,
    /// What it gives.
    pub(super) source: BoundQuery,
}

/// A bound query: its plan's output fields stand in the order of `columns`.
#[derive(Debug, Clone)]
pub(super) struct BoundQuery {
    /// The plan.
    pub(super) plan: Plan,
    /// The columns: PostgreSQL's names (which may repeat) over the plan's own unique fields.
    pub(super) columns: Vec<QueryColumn>,
}

/// An output column of a bound query.
#[derive(Debug, Clone)]
pub(super) struct QueryColumn {
    /// The name the user sees.
    pub(super) name: String,
    /// The plan's field.
    pub(super) column: Column,
    /// Its type.
    pub(super) ty: SqlType,
    /// The table column it is, unchanged.
    pub(super) origin: Option<(u32, i16)>,
    /// Whether its digits are declared, as [`Bound::is_declared`] says.
    pub(super) is_declared: bool,
    /// Whether it is a literal in every row.
    pub(super) constant: bool,
}

impl QueryColumn {
    /// Whether it is the NULL of a column that nobody has written yet and that has no type.
    pub(super) fn is_unwritten(&self) -> bool {
        self.constant && self.is_of_unwritten()
    }

    /// The same, or what is computed of such columns alone.
    pub(super) fn is_of_unwritten(&self) -> bool {
        self.ty == SqlType::Unknown && !self.origin.as_ref().is_none_or(is_stored)
    }
}

/// Where a definition that names no schema has its functions and types, whatever path a session has: it names all others.
fn definition_path() -> Vec<String> {
    vec![STANDARD_SCHEMA.to_string()]
}

/// Binds one statement.
pub(super) struct Binder<'c> {
    /// What the statement runs in.
    pub(super) ctx: &'c StatementContext,
    /// What reading and printing constants depends on.
    pub(super) settings: Arc<FormatSettings>,
    /// The types of `$1` …, as far as decided.
    pub(super) parameters: Vec<Option<SqlType>>,
    /// WITH queries in sight, the innermost last.
    pub(super) common_tables: Vec<CommonTable>,
    /// Where unqualified relations are looked up (a view's own inside it).
    pub(super) search_path: Vec<String>,
    /// The types of GROUP BY's expressions whose equal values may differ; not every expression says its own.
    pub(super) group_types: Vec<(Expr, SqlType)>,
    /// The subqueries that the SELECT at hand may write in several places.
    pub(super) repeated_subqueries: RepeatedSubqueries,
    /// Nesting of expressions, queries and views.
    pub(super) depth: usize,
    /// The first error that binding met and where in the statement it stands.
    fault: Option<(Error, TextPlace)>,
    /// What a string literal that does not read as its type failed with, and its text.
    pub(super) unread: Option<(Error, String)>,
    /// Whether what is bound decides which rows there are or what is written; see [`super::dynamic_columns`].
    pub(super) chooses: bool,
    /// The columns that nobody has written yet and that were read: table and column.
    pub(super) unwritten: BTreeSet<(String, String)>,
    /// How many views the binder is inside of: their text is not the statement's.
    pub(super) views: usize,
    /// How many values that are computed once what is bound may ask for.
    pub(super) lets: usize,
    /// Whether it is inside of the second term of a recursion.
    pub(super) is_in_step: bool,
    /// The variables that names may mean.
    pub(super) variables: Option<Arc<Variables>>,
    /// The functions whose bodies the binder is inside of.
    pub(super) inlined: Vec<u32>,
    /// What FOR SYSTEM_TIME around says of the versions that tables are read at.
    pub(super) past: Option<Past>,
    /// It stands behind the item of FROM at hand, which has not been found yet.
    pub(super) is_timed: bool,
    /// Whether a name of the text at hand may be that of a version's time.
    pub(super) names_version_time: bool,
    /// What is known of row locks while FROM is bound.
    pub(super) locks: LockScope,
    /// Where a definition that is printed keeps what its literals mean.
    pub(super) pins: Option<Arc<LiteralPins>>,
    names: HashMap<String, usize>,
}

impl<'c> Binder<'c> {
    /// For what a definition stores, which is not of the statement: its names are looked up where the definition means them.
    pub(super) fn of_definition(ctx: &'c StatementContext, parameters: &[Option<SqlType>]) -> Binder<'c> {
        Binder {
            search_path: definition_path(),
            ..Binder::new(ctx, parameters)
        }
    }

    /// Binds what a definition stores, in the midst of a statement.
    pub(super) fn within_definition<R>(&mut self, bind: impl FnOnce(&mut Self) -> R) -> R {
        let path = std::mem::replace(&mut self.search_path, definition_path());
        let bound = bind(self);
        self.search_path = path;
        bound
    }

    /// For a statement. `parameters`: the types the client gave.
    pub(super) fn new(ctx: &'c StatementContext, parameters: &[Option<SqlType>]) -> Binder<'c> {
        Binder {
            ctx,
            // Calls that keep them may run in other transactions.
            settings: Arc::new(ctx.settings.format()),
            parameters: parameters.to_vec(),
            common_tables: Vec::new(),
            search_path: ctx.settings.search_path.clone(),
            group_types: Vec::new(),
            repeated_subqueries: RepeatedSubqueries::default(),
            depth: 0,
            fault: None,
            unread: None,
            chooses: true,
            unwritten: BTreeSet::new(),
            views: 0,
            lets: 0,
            is_in_step: false,
            variables: ctx.variables.clone(),
            inlined: Vec::new(),
            past: None,
            is_timed: false,
            names_version_time: ctx.hints.names_version_time,
            locks: LockScope::default(),
            pins: None,
            names: HashMap::new(),
        }
    }

    /// A name that nothing else in the plan has: `wish`, or `wish_2` and so on.
    pub(super) fn unique_name(&mut self, wish: &str) -> String {
        let mut candidate = wish.to_string();
        loop {
            let uses = self.names.entry(candidate.clone()).or_insert(0);
            *uses += 1;
            if *uses == 1 {
                return candidate;
            }
            let next = format!("{wish}_{uses}");
            if !self.names.contains_key(&next) {
                candidate = next;
            }
        }
    }

    /// Goes one level deeper with enough stack. Errors: 54001.
    pub(super) fn one_level_deeper<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        if self.depth >= NESTING_MAX {
            return Err(Error::LimitExceeded {
                state: Limit::Complexity,
                message: "stack depth limit exceeded".to_string(),
                hint: format!("Write the statement with fewer than {NESTING_MAX} levels of nesting."),
            });
        }
        self.depth += 1;
        let result = stacker::maybe_grow(STACK_RED_ZONE_BYTES, STACK_SEGMENT_BYTES, || work(self));
        self.depth -= 1;
        result
    }

    /// Notes where the error stands, unless something inside has: the innermost place says most.
    pub(super) fn note_place<R>(
        &mut self,
        result: Result<R>,
        place: impl FnOnce(&Error) -> Option<TextPlace>,
    ) -> Result<R> {
        if let Err(error) = &result
            && self.views == 0
            && self.fault.as_ref().is_none_or(|(noted, _)| noted != error)
            && let Some(place) = place(error)
        {
            self.fault = Some((error.clone(), place));
        }
        result
    }

    /// The same of the binding of an expression: a literal of it that does not read, or what the error says.
    pub(super) fn note_expression<R>(&mut self, result: Result<R>, expr: &ast::Expr) -> Result<R> {
        let unread = self.unread.take();
        let unread_as = |error: &Error| unread.filter(|(noted, _)| noted == error);
        self.note_place(result, |error| match unread_as(error) {
            Some((_, text)) => text_place::of_literal(expr, &text),
            None => text_place::of_expr(expr, error),
        })
    }

    /// The error that ends the binding, at the place that was noted for it.
    pub(super) fn at_its_place(&self, error: Error) -> Error {
        match &self.fault {
            Some((noted, place)) if *noted == error => error.at(place.clone()),
            _ => error,
        }
    }

    /// The parameter `$n` as an expression of undecided type, or of the type found before.
    pub(super) fn parameter(&mut self, id: &str) -> Result<Bound> {
        let number = id
            .strip_prefix('$')
            .and_then(|number| number.parse::<usize>().ok());
        let Some(number) = number.filter(|number| (1..=PARAMETERS_MAX).contains(number)) else {
            return Err(Error::InvalidStatement {
                state: StatementFault::UndefinedParameter,
                message: format!("there is no parameter {id}"),
                hint: None,
            });
        };
        if self.parameters.len() < number {
            self.parameters.resize(number, None);
        }
        let ty = self.parameters[number - 1].clone();
        let ty = ty.filter(|ty| !matches!(ty, SqlType::Unknown | SqlType::Void));
        let field = ty.as_ref().map(|ty| Arc::new(ty.field(id, true)));
        let expr = Expr::Placeholder(crate::tree::Placeholder {
            id: id.to_string(),
            field,
        });
        Ok(Bound::new(expr, ty.unwrap_or(SqlType::Unknown)))
    }

    /// The type of a parameter from now on: `wanted`, unless it was decided before.
    pub(super) fn decide_parameter(&mut self, id: &str, wanted: &SqlType) -> SqlType {
        match parameter_place(id).and_then(|at| self.parameters.get_mut(at)) {
            Some(Some(decided)) if !matches!(decided, SqlType::Unknown | SqlType::Void) => decided.clone(),
            Some(slot) => {
                *slot = Some(wanted.clone());
                wanted.clone()
            }
            None => wanted.clone(),
        }
    }

    /// Nothing that was bound until now gives a parameter a type.
    pub(super) fn leave_undecided(&mut self, id: &str) {
        if let Some(slot @ None) = parameter_place(id).and_then(|at| self.parameters.get_mut(at)) {
            *slot = Some(SqlType::Unknown);
        }
    }

    /// Whether an argument is a parameter that the client declares as void: by that drivers hold the place of an OUT parameter, which is
    /// none of the arguments of the call.
    pub(super) fn is_place_of_output(&self, argument: &ast::Expr) -> bool {
        let ast::Expr::Value(value) = argument else {
            return false;
        };
        let ast::Value::Placeholder(id) = &value.value else {
            return false;
        };
        let declared = parameter_place(id).and_then(|at| self.parameters.get(at)?.as_ref());
        declared == Some(&SqlType::Void)
    }

    /// Whether nothing has given the parameter `id` a type yet.
    pub(super) fn is_undecided(&self, id: &str) -> bool {
        let decided = parameter_place(id).and_then(|at| self.parameters.get(at)?.as_ref());
        matches!(decided, None | Some(SqlType::Unknown | SqlType::Void))
    }
}

/// The place of `$n` among the parameters.
fn parameter_place(id: &str) -> Option<usize> {
    id.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)
}

/// PostgreSQL's protocol counts parameters in 16 bits.
const PARAMETERS_MAX: usize = 65_535;
/// With less stack than this left, a new segment is taken.
const STACK_RED_ZONE_BYTES: usize = 256 * 1024;
/// The size of a new segment.
const STACK_SEGMENT_BYTES: usize = 2 * 1024 * 1024;

/// The parts of a name, folded.
pub(super) fn name_parts(name: &ast::ObjectName) -> Result<Vec<String>> {
    name.0
        .iter()
        .map(|part| match part.as_ident() {
            Some(ident) => Ok(fold(ident)),
            None => Err(Error::unsupported(format!("the name {name}"), None)),
        })
        .collect()
}

/// A statement refused on its structure.
pub(super) fn fault(state: StatementFault, message: impl Into<String>) -> Error {
    Error::InvalidStatement {
        state,
        message: message.into(),
        hint: None,
    }
}
