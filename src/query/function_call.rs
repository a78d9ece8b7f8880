//! Calls of functions: which of the functions of a name PostgreSQL would pick for the argument types, and the constructs
//! that are syntax for a call (`EXTRACT`, `SUBSTRING … FROM`, `AT TIME ZONE` …).

use std::sync::Arc;

use sqlparser::ast;

use super::binder::{Binder, Bound, Clause, Place, fault, name_parts};
use super::call_clauses;
use super::coercion::{CastContext, base, common_type};
use super::context_value::is_context_value;
use super::named_arguments;
use super::overload::{expanded, pick};
use super::range_type::{bound_type, multirange_of, range_of};
use super::record_function::is_populating_function;
use super::routine_call::ChosenRoutine;
use super::undefined_function::no_function;
use super::variadic;
use crate::catalog::{RoutineDef, RoutineKind};
use crate::error::StatementFault;
use crate::functions::{self, FunctionDef, Returns, T};
use crate::parse::{names, subscript_assignment};
use crate::tree::{self, Expr, UnnestExpr};
use crate::types::{CatalogType, SqlType, Value, element_type};
use crate::{Error, Result};

/// Functions that print values of any type: an oid that names an object prints as the name.
const PRINT_VALUES: &[&str] = &[
    "array_to_json",
    "array_to_string",
    "concat",
    "concat_ws",
    "format",
    "json_build_array",
    "json_build_object",
    "jsonb_build_array",
    "jsonb_build_object",
    "quote_literal",
    "quote_nullable",
    "to_json",
    "to_jsonb",
];

/// Schemas in which the functions of the registry may be asked for. What extensions bring is in the schemas of these.
const BUILT_IN_SCHEMAS: &[&str] = &["pg_catalog", "keyspan", "information_schema"];

/// The oid of the type `unknown`, which untyped literals are of.
const UNKNOWN_OID: i64 = 705;

/// Calls that SQL defines by what they mean, for arguments of any type.
#[derive(Debug, Clone, Copy)]
enum Construct {
    Coalesce,
    NullIf,
    Greatest,
    Least,
}

impl Construct {
    fn named(name: &str) -> Option<Construct> {
        match name {
            "coalesce" => Some(Construct::Coalesce),
            "nullif" => Some(Construct::NullIf),
            "greatest" => Some(Construct::Greatest),
            "least" => Some(Construct::Least),
            _ => None,
        }
    }
}

/// The type that a call of this name may cast to. `char` that is called is always the quoted one: the other is a word of the grammar.
fn type_called(name: &str) -> Option<SqlType> {
    match name {
        "char" => Some(SqlType::InternalChar),
        name => SqlType::from_name(name, &[]).ok().flatten(),
    }
}

/// Whether every call of this name computes and answers about as much as it is given, as the functions themselves say.
pub(crate) fn is_bounded_call(name: &str) -> bool {
    is_context_value(name)
        || Construct::named(name).is_some()
        || super::aggregate::is_folding(name)
        || functions::are_bounded(name)
}

impl Binder<'_> {
    /// `name(arguments)` in any of its forms.
    pub(super) fn function(&mut self, function: &ast::Function, place: Place<'_>) -> Result<Bound> {
        let mut parts = name_parts(&function.name)?;
        let name = parts.pop().unwrap_or_default();
        if name == "row" && parts.is_empty() {
            return self.row_value(&listed_items(&function.args)?, place);
        }
        if name == subscript_assignment::MARK {
            return self.array_assignment(function, place);
        }
        let schema = parts
            .last()
            .map(|schema| self.ctx.settings.schema_meant(schema).to_string());
        if let Some(call) = self.call_of_routine((schema.as_deref(), &name), function, place)? {
            return Ok(call);
        }
        if let ast::FunctionArguments::Subquery(query) = &function.args {
            if name == "array" {
                return self.array_subquery(query, place);
            }
            return Err(Error::unsupported(
                format!("a subquery as the argument of {name}"),
                None,
            ));
        }
        if let Some(over) = &function.over {
            return self.window_function(&name, function, over, place);
        }
        if super::aggregate::is_aggregate_call(&name, function) {
            return self.aggregate_function(&name, function, place);
        }
        if super::window::is_window_only(&name) {
            return Err(fault(
                StatementFault::WrongObjectType,
                format!("window function {name} requires an OVER clause"),
            ));
        }
        call_clauses::check_plain(&name, function)?;
        if is_populating_function(&name)
            && let ast::FunctionArguments::List(list) = &function.args
        {
            let rows = self.populated_value(&name, &list.args, place)?;
            self.check_set_place(&rows, place)?;
            return Ok(rows);
        }
        if let Some(before) = variadic::before_array(&function.args) {
            return self.variadic_call(&name, before, place);
        }
        let arguments = self.arguments(&name, &function.args, place)?;
        if let Some(set) = functions::set_function(&name) {
            let mut columns = Vec::with_capacity(set.columns.len());
            for (column, function) in set.columns {
                columns.push((column.to_string(), self.set_column(function, arguments.clone())?));
            }
            let rows = self.rows_of_sets(columns);
            let item = element_type(&rows.ty).clone();
            if set.gives_one {
                let first = Bound::constant(&Value::Int(1), SqlType::Int4)?;
                return Ok(self.element_at(rows, first, item));
            }
            let rows = Bound::new(Expr::Unnest(UnnestExpr::new(rows.expr)), item);
            self.check_set_place(&rows, place)?;
            return Ok(rows);
        }
        self.named_call(&name, arguments, place)
    }

    /// A call of a function that a user made. `None`: it is none. Errors: 3F000, 42883.
    fn call_of_routine(
        &mut self,
        (schema, name): (Option<&str>, &str),
        function: &ast::Function,
        place: Place<'_>,
    ) -> Result<Option<Bound>> {
        let routines = self.routines_named(schema, name);
        let has_built_in = schema.is_none_or(|schema| BUILT_IN_SCHEMAS.contains(&schema));
        if let Some(schema) = schema.filter(|_| routines.is_empty() && !has_built_in) {
            if !self.ctx.has_schema(schema) {
                return Err(Error::UndefinedSchema {
                    name: schema.to_string(),
                });
            }
            let bound = self.call_arguments(&function.args, place)?.bound;
            let types: Vec<SqlType> = bound.iter().map(|argument| argument.ty.clone()).collect();
            return match functions::functions_named(name).next() {
                // What an extension brings is asked for in the schema that it was made in.
                Some(_) if self.ctx.has_extension_in(schema) => Ok(None),
                _ => Err(no_function(&format!("{schema}.{name}"), &types, false)),
            };
        }
        if routines
            .iter()
            .any(|routine| routine.kind == RoutineKind::Aggregate)
        {
            return match &function.over {
                Some(over) => self.window_function(name, function, over, place).map(Some),
                None => self.aggregate_function(name, function, place).map(Some),
            };
        }
        if routines.is_empty() || function.over.is_some() {
            return Ok(None);
        }
        let Some(chosen) = self.routine_of(routines, (schema, name), function, place)? else {
            return Ok(None);
        };
        call_clauses::check_plain(name, function)?;
        let bound = self.routine_value(chosen, place)?;
        self.check_set_place(&bound, place)?;
        Ok(Some(bound))
    }

    /// The function or aggregate of a user's that a call means, whoever binds it. `None`: one of the registry is meant. Errors: those of
    /// choosing it.
    pub(super) fn routine_meant(
        &mut self,
        function: &ast::Function,
        place: Place<'_>,
    ) -> Result<Option<ChosenRoutine>> {
        let (schema, name) = names::relation_name(&function.name)?;
        let schema = schema.map(|schema| self.ctx.settings.schema_meant(&schema).to_string());
        let routines = self.routines_named(schema.as_deref(), &name);
        match routines.is_empty() {
            true => Ok(None),
            false => self.routine_of(routines, (schema.as_deref(), &name), function, place),
        }
    }

    fn routine_of(
        &mut self,
        routines: Vec<Arc<RoutineDef>>,
        (schema, name): (Option<&str>, &str),
        function: &ast::Function,
        place: Place<'_>,
    ) -> Result<Option<ChosenRoutine>> {
        let call = self.call_arguments(&function.args, place)?;
        let may_be_built_in = schema.is_none() || schema == Some("pg_catalog");
        self.chosen_routine(name, routines, &call, may_be_built_in)
    }

    /// Errors: 0A000 for a set where none may be.
    fn check_set_place(&self, bound: &Bound, place: Place<'_>) -> Result<()> {
        let may_be = matches!(place.clause, Clause::Select | Clause::From | Clause::GroupBy);
        if !matches!(bound.expr, Expr::Unnest(_)) || may_be {
            return Ok(());
        }
        Err(Error::InvalidStatement {
            state: StatementFault::NotImplemented,
            message: match place.clause {
                Clause::Aggregate => {
                    "aggregate function calls cannot contain set-returning function calls".to_string()
                }
                other => format!("set-returning functions are not allowed in {}", other.name()),
            },
            hint: Some("Call it in FROM instead.".to_string()),
        })
    }

    /// A call over bound arguments.
    pub(super) fn named_call(
        &mut self,
        name: &str,
        arguments: Vec<Bound>,
        place: Place<'_>,
    ) -> Result<Bound> {
        if let Some(value) = self.context_value(name, &arguments)? {
            return Ok(value);
        }
        if let Some(construct) = Construct::named(name) {
            return match construct {
                Construct::Coalesce => self.coalesce(arguments),
                Construct::NullIf => self.nullif(arguments),
                Construct::Greatest | Construct::Least => self.extreme(name, arguments),
            };
        }
        match name {
            "octet_length" if matches!(arguments.as_slice(), [argument] if matches!(argument.ty, SqlType::Char(_))) =>
            {
                // Padding counts.
                let padded = arguments
                    .into_iter()
                    .map(|argument| Bound::new(argument.expr, SqlType::Text))
                    .collect();
                self.resolve_function(name, padded)
            }
            "overlaps" if arguments.len() == 4 => {
                let ends = self.ends_of_periods(arguments)?;
                self.resolve_function(name, ends)
            }
            "age" if matches!(arguments.as_slice(), [one] if one.ty != SqlType::Catalog(CatalogType::Xid)) => {
                self.age_today(arguments)
            }
            "pg_typeof" if matches!(arguments.as_slice(), [argument] if argument.ty == SqlType::Unknown) => {
                let regtype = SqlType::Catalog(CatalogType::Regtype);
                Bound::constant(&Value::Int(UNKNOWN_OID), regtype)
            }
            _ => {
                if let [row] = arguments.as_slice()
                    && let Some(field) = self.field_as_call(name, row)?
                {
                    return Ok(field);
                }
                let is_registered = functions::functions_named(name).next().is_some();
                let takes_one = || functions::functions_named(name).any(|row| row.arguments.len() == 1);
                if let [argument] = arguments.as_slice()
                    && let Some(ty) = type_called(name)
                    // A literal is read as the type, whatever functions of the name there are, and anything has a text.
                    && (!is_registered
                        || argument.ty == SqlType::Unknown
                        || ty.is_string()
                        || !takes_one() && functions::cast::cast_exists(&argument.ty, &ty))
                    // A row becomes no text so.
                    && (argument.ty.record_type().is_none() || !ty.is_string())
                {
                    // A type's name called as a function casts.
                    let argument = argument.clone();
                    return self.convert(argument, &ty, CastContext::Explicit);
                }
                if !is_registered && let Some(call) = self.operator_call(name, &arguments)? {
                    return Ok(call);
                }
                let bound = self.resolve_function(name, arguments)?;
                self.check_set_place(&bound, place)?;
                Ok(bound)
            }
        }
    }

    /// `field(row)`, where no function of the name takes the row.
    fn field_as_call(&mut self, name: &str, row: &Bound) -> Result<Option<Bound>> {
        let fields = row.ty.record_type();
        if !fields.is_some_and(|row| row.fields.iter().any(|field| field.name == name)) {
            return Ok(None);
        }
        if functions::functions_named(name).next().is_some()
            && self.resolve_function(name, vec![row.clone()]).is_ok()
        {
            return Ok(None);
        }
        self.field_named(row.clone(), name).map(Some)
    }

    /// `age(timestamp)`: counted from the midnight that today began with.
    fn age_today(&mut self, arguments: Vec<Bound>) -> Result<Bound> {
        let ty = match arguments[0].ty {
            SqlType::Timestamp(_) => SqlType::Timestamp(None),
            _ => SqlType::TimestampTz(None),
        };
        let today = self.context_value("current_date", &[])?;
        let today = today.ok_or_else(|| Error::internal("no current_date"))?;
        let today = self.convert(today, &ty, CastContext::Implicit)?;
        let all = std::iter::once(today).chain(arguments).collect();
        self.resolve_function("age", all)
    }

    /// Binds the arguments of a call.
    pub(super) fn arguments(
        &mut self,
        name: &str,
        arguments: &ast::FunctionArguments,
        place: Place<'_>,
    ) -> Result<Vec<Bound>> {
        let list = match arguments {
            ast::FunctionArguments::None => return Ok(Vec::new()),
            ast::FunctionArguments::List(list) => list,
            ast::FunctionArguments::Subquery(_) => {
                return Err(Error::unsupported(
                    format!("a subquery as the argument of {name}"),
                    None,
                ));
            }
        };
        let (mut bound, mut names) = (Vec::with_capacity(list.args.len()), Vec::new());
        for argument in &list.args {
            let (named, argument) = named_arguments::parts(argument)?;
            if named.is_none() && !names.is_empty() {
                return Err(fault(
                    StatementFault::Syntax,
                    "positional argument cannot follow named argument",
                ));
            }
            names.extend(named);
            match argument {
                // The name of a form is a word of the syntax.
                ast::FunctionArgExpr::Expr(ast::Expr::Identifier(form))
                    if name == "normalize" && bound.len() == 1 && is_normal_form(form) =>
                {
                    bound.push(Bound::constant(&Value::Text(form.value.clone()), SqlType::Text)?);
                }
                ast::FunctionArgExpr::Expr(expr) if self.is_place_of_output(expr) => {}
                ast::FunctionArgExpr::Expr(expr) => bound.push(self.expression(expr, place)?),
                ast::FunctionArgExpr::QualifiedWildcard(row) => bound.push(self.row_of_wildcard(row, place)?),
                _ => {
                    return Err(Error::UndefinedFunction {
                        signature: format!("{name}()"),
                        hint: None,
                    });
                }
            }
        }
        match names.is_empty() {
            true => Ok(bound),
            false => named_arguments::in_order(name, bound, &names),
        }
    }

    /// Picks the function of this name for the arguments, as PostgreSQL's `func_select_candidate` does, and calls it.
    pub(super) fn resolve_function(&mut self, name: &str, mut arguments: Vec<Bound>) -> Result<Bound> {
        if PRINT_VALUES.contains(&name) {
            let shown = arguments.into_iter().map(|argument| self.as_shown(argument));
            arguments = shown.collect::<Result<_>>()?;
        }
        let types: Vec<SqlType> = arguments.iter().map(|argument| argument.ty.clone()).collect();
        let mut rows: Vec<&'static FunctionDef> = functions::functions_named(name).collect();
        if rows.iter().any(|row| self.agrees(row, &types)) {
            rows.retain(|row| self.agrees(row, &types));
        }
        match pick(&rows, &types, self.ctx.casts()) {
            Some(row) => self.call_function(row, arguments),
            None => Err(no_function(name, &types, rows.is_empty())),
        }
    }

    /// Calls a registration: arguments take its types, the result type is fixed.
    pub(super) fn call_function(&mut self, row: &FunctionDef, arguments: Vec<Bound>) -> Result<Bound> {
        let types: Vec<SqlType> = arguments.iter().map(|argument| argument.ty.clone()).collect();
        let wanted = expanded(row, arguments.len())
            .ok_or_else(|| Error::internal("a function of another number of arguments"))?;
        let element = self.element_type(row.name, &wanted, &types)?;
        let mut converted = Vec::with_capacity(arguments.len());
        for (argument, wanted) in arguments.into_iter().zip(&wanted) {
            converted.push(match (wanted.sql_type(), wanted) {
                // A numeric argument keeps its own scale: results take theirs from it.
                (Some(SqlType::Numeric(None)), _) => match argument.ty {
                    SqlType::Unknown | SqlType::Void => {
                        self.convert(argument, &SqlType::Numeric(None), CastContext::Implicit)?
                    }
                    _ => self.as_numeric(argument)?,
                },
                (Some(ty), _) => self.convert(argument, &ty, CastContext::Implicit)?,
                (None, T::AnyElement | T::AnyEnum) => {
                    self.convert(argument, &element, CastContext::Implicit)?
                }
                (None, T::AnyRange) => self.convert(argument, &range_of(&element)?, CastContext::Implicit)?,
                (None, T::AnyMultirange) => {
                    let ty = multirange_of(&element)?;
                    self.convert(argument, &ty, CastContext::Implicit)?
                }
                // A list is one, and so are the vectors of the catalogs, which count from 0.
                (None, T::AnyArray) if is_list_of(&argument.ty, &element) => argument,
                (None, T::AnyArray) => {
                    self.convert(argument, &SqlType::array(element.clone()), CastContext::Implicit)?
                }
                (None, _) => self.with_decided_type(argument)?,
            });
        }
        let types: Vec<SqlType> = converted.iter().map(|argument| argument.ty.clone()).collect();
        // What becomes rows is a list.
        let gives_rows = row.gives_rows();
        let array_of = if gives_rows { SqlType::list } else { SqlType::array };
        let returns = match row.returns {
            Returns::Type(T::AnyElement | T::AnyEnum) => element,
            Returns::Type(T::AnyRange) => range_of(&element)?,
            Returns::Type(T::AnyMultirange) => multirange_of(&element)?,
            Returns::ArrayOf(T::AnyRange) => array_of(range_of(&element)?),
            Returns::Type(T::AnyArray) => SqlType::array(element),
            Returns::Type(T::Any) => types.first().cloned().unwrap_or(SqlType::Text),
            Returns::Type(ty) => ty.sql_type().unwrap_or(SqlType::Text),
            Returns::ArrayOf(T::AnyElement | T::AnyEnum) => array_of(element),
            Returns::ArrayOf(ty) => array_of(ty.sql_type().unwrap_or(SqlType::Text)),
            Returns::Computed(compute) => {
                let literals = converted.iter().map(Bound::literal).collect::<Result<Vec<_>>>()?;
                let computed = compute(&types, &literals);
                match gives_rows {
                    true => SqlType::list(element_type(&computed).clone()),
                    false => computed,
                }
            }
        };
        let arguments = converted
            .into_iter()
            .map(|argument| (argument.expr, argument.ty))
            .collect();
        let definition = (row.name, row.body, row.strict, row.volatility);
        let call = tree::call(definition, arguments, returns.clone(), &self.settings);
        if gives_rows {
            let item = element_type(&returns).clone();
            return Ok(Bound::new(Expr::Unnest(UnnestExpr::new(call)), item));
        }
        Ok(Bound::new(call, returns))
    }

    /// A column of a function that gives rows: the array of its values.
    fn set_column(&mut self, function: &str, arguments: Vec<Bound>) -> Result<Bound> {
        let bound = self.resolve_function(function, arguments)?;
        Ok(match bound.expr {
            Expr::Unnest(UnnestExpr { expr }) => Bound::new(*expr, SqlType::list(bound.ty)),
            _ => self.items_of(bound),
        })
    }

    /// Whether one type can stand for what is polymorphic in a registration.
    fn agrees(&self, row: &FunctionDef, types: &[SqlType]) -> bool {
        let Some(wanted) = expanded(row, types.len()) else {
            return false;
        };
        let is_polymorphic = |wanted: &T| {
            matches!(
                wanted,
                T::AnyElement | T::AnyEnum | T::AnyRange | T::AnyMultirange | T::AnyArray
            )
        };
        !wanted.iter().any(is_polymorphic) || self.element_type(row.name, &wanted, types).is_ok()
    }

    /// What `AnyElement` stands for in a call.
    pub(super) fn element_type(&self, name: &str, wanted: &[T], types: &[SqlType]) -> Result<SqlType> {
        let known: Vec<SqlType> = wanted
            .iter()
            .zip(types)
            .filter_map(|(wanted, ty)| match wanted {
                T::AnyElement | T::AnyEnum => Some(ty.clone()),
                T::AnyArray => ty.item_type().cloned(),
                T::AnyRange | T::AnyMultirange => match ty {
                    SqlType::Range(kind) | SqlType::Multirange(kind) => Some(kind.bound_type()),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        if let Some(bound) = bound_type(wanted, &known) {
            return bound.ok_or_else(|| no_function(name, types, false));
        }
        let is_enum = |ty: &SqlType| matches!(ty, SqlType::Enum(_));
        let fits = |ty: &SqlType| is_enum(ty) || !wanted.contains(&T::AnyEnum);
        // An untyped array has items of any length and digits.
        let is_open = |(wanted, ty): (&T, &SqlType)| *wanted == T::AnyArray && *ty == SqlType::Unknown;
        let common = common_type(&known).filter(fits);
        let common = common.map(|ty| match wanted.iter().zip(types).any(is_open) {
            true => base(&ty),
            false => ty,
        });
        common.ok_or_else(|| no_function(name, types, false))
    }
}

/// What stands in a call's parentheses, without names.
fn listed_items(arguments: &ast::FunctionArguments) -> Result<Vec<ast::FunctionArgExpr>> {
    let ast::FunctionArguments::List(list) = arguments else {
        return Ok(Vec::new());
    };
    let items = list.args.iter().map(|argument| match argument {
        ast::FunctionArg::Unnamed(item) => Ok(item.clone()),
        _ => Err(fault(StatementFault::Syntax, "a column of ROW takes no name")),
    });
    items.collect()
}

/// Whether a word names one of Unicode's normal forms.
fn is_normal_form(word: &ast::Ident) -> bool {
    let forms = ["NFC", "NFD", "NFKC", "NFKD"];
    word.quote_style.is_none() && forms.iter().any(|form| word.value.eq_ignore_ascii_case(form))
}

/// Whether it is a list of items of this type, or int2vector or oidvector.
fn is_list_of(ty: &SqlType, element: &SqlType) -> bool {
    ty.is_list() && ty.item_type() == Some(element)
}
