//! Calls of functions that users made: which of a name is meant, its arguments with their defaults, and the query that takes the place of
//! the call where the function is one SELECT. All others are run as the rows are computed.

use sqlparser::ast;

use super::binder::{Binder, Bound, Place, fault};
use super::coercion::{self, type_name};
use super::named_arguments;
use super::overload::{Takes, choose, expanded};
use crate::catalog::{
    Polymorphic, RoutineArgument, RoutineDef, RoutineKind, RoutineResult, RoutineType, Volatile,
};
use crate::error::StatementFault;
use crate::functions::{self, Body, FunctionDef, RoutineForm, T, Volatility};
use crate::system::StatementContext;
use crate::tree::{self, Expr, UnnestExpr};
use crate::types::{CatalogType, RecordType, SqlType};
use crate::{Error, Result};
use std::sync::Arc;

/// A function that is chosen, with its arguments as it takes them.
pub(super) struct ChosenRoutine {
    pub(super) routine: Arc<RoutineDef>,
    /// One for each that a caller gives, of its declared type.
    pub(super) arguments: Vec<Bound>,
    /// What polymorphic arguments stand for.
    pub(super) element: Option<SqlType>,
}

/// Arguments as a call has them.
pub(super) struct CallArguments {
    pub(super) bound: Vec<Bound>,
    /// The names of the last of them.
    pub(super) names: Vec<String>,
    /// VARIADIC stands before the last.
    pub(super) is_variadic: bool,
}

impl CallArguments {
    /// These, without names.
    pub(super) fn of(bound: Vec<Bound>) -> CallArguments {
        CallArguments {
            bound,
            names: Vec::new(),
            is_variadic: false,
        }
    }
}

/// Where an argument of a function comes from.
#[derive(Clone, Copy)]
pub(super) enum Given {
    Argument(usize),
    Default,
    /// All from this one on, as an array.
    Rest(usize),
}

/// One that may be meant: one of the registry's, or a user's with where its arguments come from.
enum Candidate {
    BuiltIn,
    Users(Arc<RoutineDef>, Vec<Given>),
}

impl Candidate {
    /// Whether it takes an argument that is not given.
    fn uses_default(&self) -> bool {
        matches!(self, Candidate::Users(_, given)
            if given.iter().any(|given| !matches!(given, Given::Argument(_))))
    }

    fn takes_domains(&self) -> bool {
        matches!(self, Candidate::Users(routine, _)
            if routine.inputs().any(|input| input.ty.domain().is_some()))
    }
}

/// What a candidate takes, whoever declares it.
enum Wanted {
    BuiltIn(T),
    Users(RoutineType),
}

impl Takes for Wanted {
    fn sql_type(&self) -> Option<SqlType> {
        match self {
            Wanted::BuiltIn(ty) => ty.sql_type(),
            Wanted::Users(ty) => Takes::sql_type(ty),
        }
    }

    fn polymorphic(&self) -> T {
        match self {
            Wanted::BuiltIn(ty) => *ty,
            Wanted::Users(ty) => ty.polymorphic(),
        }
    }
}

impl Binder<'_> {
    /// The functions that users made of this name, where it may mean one.
    pub(super) fn routines_named(&self, schema: Option<&str>, name: &str) -> Vec<Arc<RoutineDef>> {
        self.ctx.routines_named(schema, name, &self.search_path)
    }

    /// The arguments of a call as they stand.
    pub(super) fn call_arguments(
        &mut self,
        arguments: &ast::FunctionArguments,
        place: Place<'_>,
    ) -> Result<CallArguments> {
        let mut call = CallArguments::of(Vec::new());
        let ast::FunctionArguments::List(list) = arguments else {
            return Ok(call);
        };
        for argument in &list.args {
            let (named, argument) = named_arguments::parts(argument)?;
            if named.is_none() && !call.names.is_empty() {
                return Err(fault(
                    StatementFault::Syntax,
                    "positional argument cannot follow named argument",
                ));
            }
            call.names.extend(named);
            let expr = match argument {
                ast::FunctionArgExpr::Expr(expr) => expr,
                ast::FunctionArgExpr::QualifiedWildcard(row) => {
                    call.bound.push(self.row_of_wildcard(row, place)?);
                    continue;
                }
                _ => return Err(Error::undefined_function("*".to_string())),
            };
            let expr = match expr {
                ast::Expr::Prefixed { prefix, value } if prefix.value.eq_ignore_ascii_case("variadic") => {
                    call.is_variadic = true;
                    value
                }
                expr => expr,
            };
            if !self.is_place_of_output(expr) {
                call.bound.push(self.expression(expr, place)?);
            }
        }
        Ok(call)
    }

    /// The user's function that a call means; `None`: one of the registry is. Errors: 42883, 42725.
    pub(super) fn chosen_routine(
        &mut self,
        name: &str,
        routines: Vec<Arc<RoutineDef>>,
        call: &CallArguments,
        may_be_built_in: bool,
    ) -> Result<Option<ChosenRoutine>> {
        let types: Vec<SqlType> = call.bound.iter().map(|bound| bound.ty.clone()).collect();
        let candidates = candidates(self.ctx, name, routines, call, &types, may_be_built_in)?;
        let mut best = choose(candidates, &types, self.ctx.casts());
        let is_built_in = |candidate: &Candidate| matches!(candidate, Candidate::BuiltIn);
        if best.len() > 1 && best.iter().any(|(candidate, _)| is_built_in(candidate)) {
            if !functions::is_of_extension(name) {
                return Ok(None);
            }
            best.retain(|(candidate, _)| !is_built_in(candidate));
        }
        // One without defaults is nearer, and one that takes values as they are rather than as a domain's.
        for is_farther in [Candidate::uses_default, Candidate::takes_domains] {
            if best.iter().any(|(candidate, _)| !is_farther(candidate)) {
                best.retain(|(candidate, _)| !is_farther(candidate));
            }
        }
        let signature = || signature_of_call(name, call);
        match (best.pop(), best.is_empty()) {
            (None, _) if may_be_built_in && functions::functions_named(name).next().is_some() => Ok(None),
            (None, _) => Err(Error::undefined_function(signature())),
            (Some((Candidate::BuiltIn, _)), _) => Ok(None),
            (Some(_), false) => Err(Error::InvalidStatement {
                state: StatementFault::AmbiguousRoutine,
                message: format!("function {} is not unique", signature()),
                hint: Some(
                    "Could not choose a best candidate function. You might need to add explicit type casts."
                        .to_string(),
                ),
            }),
            (Some((Candidate::Users(routine, given), _)), true) => {
                self.with_arguments(routine, &given, call, &types).map(Some)
            }
        }
    }

    /// `t.f`, where f is no column of t but a function of its rows.
    pub(super) fn function_of_row(
        &mut self,
        (schema, relation): (Option<&str>, &str),
        function: &str,
        place: Place<'_>,
    ) -> Result<Option<Bound>> {
        let routines = self.routines_named(None, function);
        if routines.is_empty() {
            return Ok(None);
        }
        let Some(row) = self.row_named(schema, relation, place)? else {
            return Ok(None);
        };
        let call = CallArguments::of(vec![row]);
        match self.chosen_routine(function, routines, &call, false) {
            Ok(Some(chosen)) => self.routine_value(chosen, place).map(Some),
            _ => Ok(None),
        }
    }

    /// A call in an expression. Errors: 42809 for a procedure, 0A000 for one of several columns.
    pub(super) fn routine_value(&mut self, chosen: ChosenRoutine, place: Place<'_>) -> Result<Bound> {
        let routine = Arc::clone(&chosen.routine);
        check_callable(&routine)?;
        let Some(ty) = self.value_type(&chosen)? else {
            return Err(Error::unsupported(
                format!("the row of function {} as a value", routine.name),
                Some("Call it in FROM: SELECT * FROM function(...) AS name (column type, ...)."),
            ));
        };
        if routine.returns_set {
            return self.routine_run(chosen, ty, RoutineForm::Values);
        }
        let inlined = match routine.returns.is_row() {
            true => None,
            false => self.inlined_value(&chosen, &ty, place)?,
        };
        match inlined {
            Some(value) => self.as_returned(value, &routine),
            None => self.routine_run(chosen, ty, RoutineForm::Value),
        }
    }

    /// A value as the function gives it.
    fn as_returned(&mut self, value: Bound, routine: &RoutineDef) -> Result<Bound> {
        match &routine.returns {
            RoutineResult::Type(ty) => self.of_declared(value, ty),
            _ => Ok(value),
        }
    }

    /// The type of what a call gives; `None`: rows of columns that neither the call nor the function's body says.
    pub(super) fn value_type(&mut self, chosen: &ChosenRoutine) -> Result<Option<SqlType>> {
        let routine = &chosen.routine;
        let element = chosen.element.as_ref();
        Ok(match &routine.returns {
            RoutineResult::Void | RoutineResult::Trigger => Some(SqlType::Catalog(CatalogType::Void)),
            RoutineResult::Type(ty) => Some(concrete(self.ctx, ty, element)?),
            RoutineResult::Outputs => Some(SqlType::Record(Arc::new(RecordType::anonymous(
                self.output_columns(routine, element)?,
            )))),
            RoutineResult::Record => self
                .row_of_body(chosen)?
                .map(|row| SqlType::Record(Arc::new(row))),
        })
    }

    /// The names and types of the columns that a function has arguments for.
    pub(super) fn output_columns(
        &self,
        routine: &RoutineDef,
        element: Option<&SqlType>,
    ) -> Result<Vec<(String, SqlType)>> {
        let outputs = routine.outputs().enumerate();
        let columns = outputs.map(|(at, output)| {
            let name = output.name.clone().unwrap_or_else(|| format!("column{}", at + 1));
            Ok((name, concrete(self.ctx, &output.ty, element)?))
        });
        columns.collect()
    }

    /// A call that is run for each row.
    pub(super) fn routine_run(
        &mut self,
        chosen: ChosenRoutine,
        ty: SqlType,
        form: RoutineForm,
    ) -> Result<Bound> {
        let routine = chosen.routine;
        let volatility = match routine.volatile {
            Volatile::Immutable => Volatility::Immutable,
            Volatile::Stable => Volatility::Stable,
            Volatile::Volatile => Volatility::Volatile,
        };
        let returns = match form {
            RoutineForm::Value => ty.clone(),
            RoutineForm::Values => SqlType::list(ty.clone()),
        };
        let definition = (
            routine.name.as_str(),
            Body::Routine(routine.oid, form),
            routine.strict,
            volatility,
        );
        let arguments = chosen
            .arguments
            .into_iter()
            .map(|argument| (argument.expr, argument.ty))
            .collect();
        let call = tree::call(definition, arguments, returns, &self.settings);
        match form {
            RoutineForm::Value => self.as_returned(Bound::new(call, ty), &routine),
            RoutineForm::Values => Ok(Bound::new(Expr::Unnest(UnnestExpr::new(call)), ty)),
        }
    }
}

/// Those of a name that may be meant, each with what it takes for the arguments that are given.
fn candidates(
    ctx: &StatementContext,
    name: &str,
    routines: Vec<Arc<RoutineDef>>,
    call: &CallArguments,
    types: &[SqlType],
    may_be_built_in: bool,
) -> Result<Vec<(Candidate, Vec<Wanted>)>> {
    let mut candidates: Vec<(Candidate, Vec<Wanted>)> = Vec::new();
    let built_in: Vec<&FunctionDef> = match may_be_built_in {
        true => functions::functions_named(name).collect(),
        false => Vec::new(),
    };
    for row in built_in {
        if let Some(wanted) = expanded(row, types.len()).filter(|_| call.names.is_empty()) {
            candidates.push((
                Candidate::BuiltIn,
                wanted.into_iter().map(Wanted::BuiltIn).collect(),
            ));
        }
    }
    for routine in routines {
        if let Some((given, wanted)) = fitted(&routine, call)
            && is_of_one_type(&wanted, types)
        {
            // Of two schemas of the path the first counts.
            let is_hidden = candidates.iter().any(|(known, _)| match known {
                Candidate::Users(known, _) => {
                    known.schema != routine.schema && known.signature() == routine.signature()
                }
                Candidate::BuiltIn => false,
            });
            if !is_hidden {
                let wanted = wanted.into_iter().map(|ty| match ty {
                    RoutineType::Row(_) | RoutineType::Domain(_) => {
                        concrete(ctx, &ty, None).map(RoutineType::Sql)
                    }
                    ty => Ok(ty),
                });
                let wanted = wanted.map(|ty| ty.map(Wanted::Users)).collect::<Result<_>>()?;
                candidates.push((Candidate::Users(routine, given), wanted));
            }
        }
    }
    Ok(candidates)
}

/// Errors: 42809 for a procedure, 0A000 for a trigger function.
pub(super) fn check_callable(routine: &RoutineDef) -> Result<()> {
    if matches!(routine.returns, RoutineResult::Trigger) {
        return Err(fault(
            StatementFault::NotImplemented,
            "trigger functions can only be called as triggers",
        ));
    }
    match routine.kind {
        // An aggregate is no call by itself; who binds one has taken it before.
        RoutineKind::Function | RoutineKind::Aggregate => Ok(()),
        RoutineKind::Procedure => Err(Error::InvalidStatement {
            state: StatementFault::WrongObjectType,
            message: format!("{} is a procedure", described(routine)),
            hint: Some("To call a procedure, use CALL.".to_string()),
        }),
    }
}

/// `f(integer, text)`.
pub(crate) fn described(routine: &RoutineDef) -> String {
    let types = routine.inputs().map(|input| match &input.ty {
        RoutineType::Sql(ty) => type_name(ty),
        RoutineType::Domain(ty) => ty.name.clone(),
        ty => ty.stored_name(),
    });
    format!("{}({})", routine.name, types.collect::<Vec<_>>().join(", "))
}

/// 42P13 of a body that gives something else than the function declares.
pub(crate) fn wrong_result(routine: &RoutineDef, detail: &str) -> Error {
    let declared = match &routine.returns {
        RoutineResult::Void => "void".to_string(),
        RoutineResult::Type(RoutineType::Sql(ty)) => ty.full_base_name(),
        RoutineResult::Type(RoutineType::Domain(ty)) => ty.name.clone(),
        RoutineResult::Type(RoutineType::Polymorphic(ty)) => ty.name().to_string(),
        RoutineResult::Type(RoutineType::Row(_)) | RoutineResult::Outputs | RoutineResult::Record => {
            "record".to_string()
        }
        RoutineResult::Trigger => "trigger".to_string(),
    };
    crate::error::Raised {
        detail: Some(detail.to_string()),
        ..crate::error::Raised::new(
            "42P13",
            format!("return type mismatch in function declared to return {declared}"),
        )
    }
    .into()
}

/// The type that a declared one stands for in a call. Errors: 42704 for the row of a relation that is gone.
pub(crate) fn concrete(
    ctx: &StatementContext,
    ty: &RoutineType,
    element: Option<&SqlType>,
) -> Result<SqlType> {
    let decided = || element.cloned().unwrap_or(SqlType::Text);
    Ok(match ty {
        RoutineType::Sql(ty) => ty.clone(),
        RoutineType::Domain(ty) => ty.sql_type(),
        RoutineType::Polymorphic(Polymorphic::Element(_)) => decided(),
        RoutineType::Polymorphic(Polymorphic::Array(_)) => SqlType::array(decided()),
        RoutineType::Row(oid) => {
            let row = ctx.row_type_by_oid(*oid)?;
            SqlType::Record(row.ok_or_else(|| Error::UndefinedObject {
                kind: "type",
                name: format!("with OID {oid}"),
            })?)
        }
    })
}

/// Where the arguments of a function come from, and what it takes for each that is given. `None`: it does not take these.
fn fitted(routine: &RoutineDef, call: &CallArguments) -> Option<(Vec<Given>, Vec<RoutineType>)> {
    let inputs: Vec<&RoutineArgument> = routine.inputs().collect();
    let positional = call.bound.len() - call.names.len();
    let spreads = routine.is_variadic() && !call.is_variadic;
    if call.is_variadic && !routine.is_variadic() {
        return None;
    }
    if positional > inputs.len() && !spreads {
        return None;
    }
    // A name says the array, not what comes more often.
    if spreads && !call.names.is_empty() {
        return None;
    }
    let mut given = Vec::with_capacity(inputs.len());
    let mut wanted: Vec<Option<RoutineType>> = vec![None; call.bound.len()];
    for (at, input) in inputs.iter().enumerate() {
        let is_last = at + 1 == inputs.len();
        if is_last && spreads {
            if positional <= at {
                // Nothing is left for it.
                input.default.as_ref()?;
                given.push(Given::Default);
                continue;
            }
            let item = item_of(&input.ty);
            for slot in &mut wanted[at..] {
                *slot = Some(item.clone());
            }
            given.push(Given::Rest(at));
            continue;
        }
        let named = call
            .names
            .iter()
            .position(|name| input.name.as_ref() == Some(name));
        let source = match named {
            Some(_) if at < positional => return None,
            Some(place) => Some(positional + place),
            None if at < positional => Some(at),
            None => None,
        };
        match source {
            Some(place) => {
                wanted[place] = Some(input.ty.clone());
                given.push(Given::Argument(place));
            }
            None if input.default.is_some() => given.push(Given::Default),
            None => return None,
        }
    }
    let wanted = wanted.into_iter().collect::<Option<Vec<_>>>()?;
    Some((given, wanted))
}

/// Whether what is polymorphic stands for one and the same type, as all but the compatible ones must.
fn is_of_one_type(wanted: &[RoutineType], types: &[SqlType]) -> bool {
    let known: Vec<&SqlType> = wanted
        .iter()
        .zip(types)
        .filter_map(|(wanted, ty)| match wanted {
            RoutineType::Polymorphic(polymorphic) if polymorphic.is_compatible() => None,
            _ if matches!(ty, SqlType::Unknown | SqlType::Void) => None,
            RoutineType::Polymorphic(Polymorphic::Element(_)) => Some(ty),
            RoutineType::Polymorphic(Polymorphic::Array(_)) => ty.item_type(),
            _ => None,
        })
        .collect();
    known
        .windows(2)
        .all(|pair| coercion::base(pair[0]) == coercion::base(pair[1]))
}

/// What one of the arguments is that VARIADIC takes.
pub(super) fn item_of(ty: &RoutineType) -> RoutineType {
    match ty {
        RoutineType::Sql(SqlType::Array(item)) => RoutineType::Sql(SqlType::clone(item)),
        RoutineType::Polymorphic(polymorphic) => RoutineType::Polymorphic(polymorphic.item()),
        ty => ty.clone(),
    }
}

/// The call as messages show it.
fn signature_of_call(name: &str, call: &CallArguments) -> String {
    let positional = call.bound.len() - call.names.len();
    let shown = call.bound.iter().enumerate().map(|(place, argument)| {
        let named = place.checked_sub(positional).and_then(|at| call.names.get(at));
        match named {
            Some(named) => format!("{named} => {}", type_name(&argument.ty)),
            None => type_name(&argument.ty),
        }
    });
    format!("{name}({})", shown.collect::<Vec<_>>().join(", "))
}
