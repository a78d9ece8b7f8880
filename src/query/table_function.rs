//! Functions in FROM: the arrays they give become rows, beside those of the items before them when they use these.

use sqlparser::ast::{self, Spanned};

use super::binder::{Binder, Bound, Place, fold, name_parts};
use super::coercion::CastContext;
use super::column_name::column_name;
use super::from_item::{FromItem, columns_of_their_own, renamed};
use super::record_function::{is_populating_function, is_record_function};
use super::scope::{ScopeColumn, ScopeRelation};
use super::set_returning::refuse_set_in_from;
use super::set_rows::{SetRows, Sets};
use crate::error::StatementFault;
use crate::functions;
use crate::parse::{from_forms, text_place};
use crate::tree::{Expr, Plan, UnnestExpr};
use crate::types::SqlType;
use crate::{Error, Result};

impl Binder<'_> {
    /// The arrays that the calls of a FROM function give, one a column.
    pub(super) fn set_arguments(&mut self, call: &TableFunction<'_>, place: Place<'_>) -> Result<Sets> {
        if !call.calls.is_empty() {
            let mut sets = Sets::from(Vec::new());
            for call in &call.calls {
                sets.extend(self.set_arguments(call, place)?);
            }
            return Ok(sets);
        }
        if let Some(value) = call.value {
            let bound = self.expression(value, place)?;
            refuse_set_in_from(std::slice::from_ref(&bound))?;
            return Ok(Sets::from(vec![self.array_of_rows(bound)]));
        }
        if let Some(rows) = self.defined_rows(call, place)? {
            return Ok(vec![rows].into());
        }
        let mut sets = Vec::new();
        for array in &call.arrays {
            let bound = self.expression(array, place)?;
            let bound = match bound.ty {
                SqlType::Unknown => {
                    self.convert(bound, &SqlType::array(SqlType::Text), CastContext::Implicit)?
                }
                _ => bound,
            };
            if let SqlType::Multirange(_) | SqlType::TsVector = bound.ty {
                sets.push(self.ranges_of(bound)?);
                continue;
            }
            if bound.ty.item_type().is_none() {
                return Err(super::undefined_function::no_function(
                    "unnest",
                    &[bound.ty],
                    false,
                ));
            }
            sets.push(self.items_of(bound));
        }
        if let Some(name) = &call.name
            && let Some(last) = name_parts(name)?.pop()
            && is_populating_function(&last)
        {
            return Ok(self.populated(&last, call.args, place)?.into());
        }
        if let Some(name) = &call.name
            && let Some(last) = name_parts(name)?.pop()
            && (functions::set_function(&last).is_some() || is_record_function(&last))
        {
            let arguments = self.arguments(&last, &call.listed(), place)?;
            refuse_set_in_from(&arguments)?;
            return match functions::set_function(&last) {
                None => Ok(self.listed_rows(&last, arguments, call.definitions)?.into()),
                Some(set) => {
                    let (arguments, shared) = self.shared_arguments(arguments);
                    let columns = set.columns.iter();
                    let arrays = columns.map(|(_, column)| {
                        let array = self.resolve_function(column, arguments.clone())?;
                        Ok(self.items_of(array))
                    });
                    let arrays = arrays.collect::<Result<_>>()?;
                    Ok(Sets { arrays, shared })
                }
            };
        }
        if let Some(name) = &call.name {
            sets.push(self.array_of_call(name, call, place)?);
        }
        refuse_set_in_from(&sets)?;
        Ok(sets.into())
    }

    /// The rows of a call within ROWS FROM whose columns are defined behind it, as an array, unless a function of the registry gives them.
    /// Errors: 42601 for a function that has columns of its own.
    fn defined_rows(&mut self, call: &TableFunction<'_>, place: Place<'_>) -> Result<Option<Bound>> {
        if !call.is_within || call.definitions.is_empty() || is_record_function(&call.called()) {
            return Ok(None);
        }
        let rows = match self.routine_of_item(call, place)? {
            Some(chosen) => self.rows_of_record(chosen, call)?,
            None => None,
        };
        match rows {
            Some(rows) => Ok(Some(rows)),
            None => Err(columns_of_their_own()),
        }
    }

    /// The rows that a call gives, as an array.
    fn array_of_call(
        &mut self,
        name: &ast::ObjectName,
        call: &TableFunction<'_>,
        place: Place<'_>,
    ) -> Result<Bound> {
        let function = ast::Function {
            name: name.clone(),
            uses_odbc_syntax: false,
            parameters: ast::FunctionArguments::None,
            args: call.listed(),
            filter: None,
            null_treatment: None,
            over: None,
            within_group: Vec::new(),
        };
        let bound = self.function(&function, place);
        let bound = self.note_place(bound, |_| text_place::of_span(name.span()))?;
        Ok(self.array_of_rows(bound))
    }

    /// The ranges of a multirange, or the words of a tsvector, as an array.
    fn ranges_of(&mut self, whole: Bound) -> Result<Bound> {
        let ranges = self.resolve_function("unnest", vec![whole])?;
        let item = ranges.ty.clone();
        match ranges.expr {
            Expr::Unnest(UnnestExpr { expr }) => Ok(Bound::new(*expr, SqlType::list(item))),
            _ => Err(Error::internal("a set that gives no rows")),
        }
    }

    /// Columns of rows as the columns of these.
    fn rows_as_columns(&mut self, plan: Plan, columns: Vec<ScopeColumn>) -> Result<(Plan, Vec<ScopeColumn>)> {
        let (mut plan, mut all) = (plan, Vec::with_capacity(columns.len()));
        for column in columns {
            let Some(row) = column.bound.ty.record_type() else {
                all.push(column);
                continue;
            };
            let fields = row.fields.iter();
            let fields: Vec<_> = fields
                .map(|field| (field.name.clone(), field.ty.clone()))
                .collect();
            let (with_fields, found) = self.fields_of_rows(plan, column.bound, &fields)?;
            plan = with_fields;
            all.extend(found);
        }
        Ok((plan, all))
    }

    /// The rows of a FROM function beside `plan`'s. `keep_left`: beside each of these one at least.
    pub(super) fn function_item(
        &mut self,
        call: &TableFunction<'_>,
        sets: Sets,
        FromItem { plan, scope }: FromItem,
        keep_left: bool,
    ) -> Result<FromItem> {
        let default = call.calls.first().unwrap_or(call).called();
        let visible_name = call
            .alias
            .map_or_else(|| default.clone(), |alias| fold(&alias.name));
        let width = sets.arrays.len();
        let one_column = width == 1;
        let names = match call.calls.as_slice() {
            [] => self.column_names(call, width, one_column.then_some(visible_name.as_str()))?,
            calls => {
                let mut names = Vec::with_capacity(width);
                for call in calls {
                    names.extend(self.column_names(call, call.width(), None)?);
                }
                names
            }
        };
        let asked = SetRows {
            is_numbered: call.ordinality,
            keep_left,
        };
        let (plan, columns, ordinality) = self.set_rows(plan, sets, asked)?;
        let mut names = names.into_iter();
        let columns = columns.into_iter().map(|bound| ScopeColumn {
            name: names.next().unwrap_or_else(|| default.clone()),
            bound,
        });
        let columns: Vec<ScopeColumn> = columns.chain(ordinality).collect();
        let row_type = match columns.as_slice() {
            [only] => only.bound.ty.record_type().cloned(),
            _ => None,
        };
        let (plan, columns) = self.rows_as_columns(plan, columns)?;
        let is_defined = is_record_function(&default) && call.calls.is_empty();
        let columns = renamed(columns, call.alias, &visible_name, is_defined)?;
        let relation = ScopeRelation {
            is_value: one_column && row_type.is_none() && !call.ordinality,
            row_type,
            ..ScopeRelation::new(visible_name, columns.clone())
        };
        let mut scope = scope;
        scope.visible.extend(columns);
        scope.add_relations(vec![relation])?;
        Ok(FromItem { plan, scope })
    }

    /// The names of the columns that a function gives, so many. `only`: what its only column is called, unless it has a name for it.
    fn column_names(
        &mut self,
        call: &TableFunction<'_>,
        width: usize,
        only: Option<&str>,
    ) -> Result<Vec<String>> {
        let default = call.called();
        let set = functions::set_function(&default);
        let name = |at: usize| match set {
            Some(set) => set.columns.get(at).map(|(name, _)| (*name).to_string()),
            None => own_column(&default).or(only).map(str::to_string),
        };
        let names = (0..width).map(|at| name(at).unwrap_or_else(|| default.clone()));
        Ok(names.collect())
    }
}

/// What a function of PostgreSQL's calls the only column of its rows, where it has a name for it.
fn own_column(function: &str) -> Option<&'static str> {
    match function {
        "pg_partition_ancestors" => Some("relid"),
        _ if function.ends_with("_array_elements") || function.ends_with("_array_elements_text") => {
            Some("value")
        }
        _ => None,
    }
}

/// A function call in FROM.
#[derive(Default)]
pub(super) struct TableFunction<'a> {
    /// The function; `None` for UNNEST of `arrays`, and for a value.
    name: Option<ast::ObjectName>,
    /// What has a syntax of its own, `CURRENT_DATE`.
    value: Option<&'a ast::Expr>,
    args: &'a [ast::FunctionArg],
    arrays: Vec<&'a ast::Expr>,
    /// The functions of ROWS FROM, two at least: it is none itself then.
    calls: Vec<TableFunction<'a>>,
    /// The columns that are defined behind it.
    definitions: &'a [ast::TableAliasColumnDef],
    /// Whether it stands within ROWS FROM.
    is_within: bool,
    ordinality: bool,
    alias: Option<&'a ast::TableAlias>,
}

impl<'a> TableFunction<'a> {
    /// A call of a function with these arguments.
    fn of_call(name: &ast::ObjectName, args: &'a [ast::FunctionArg]) -> TableFunction<'a> {
        let arrays = arrays_of_unnest(name, args);
        TableFunction {
            name: arrays.is_none().then(|| name.clone()),
            args,
            arrays: arrays.unwrap_or_default(),
            ..TableFunction::default()
        }
    }

    /// What the function is called, without its schema.
    fn called(&self) -> String {
        if let Some(value) = self.value {
            return column_name(value);
        }
        let name = self.name.as_ref().and_then(|name| name_parts(name).ok()?.pop());
        name.unwrap_or_else(|| "unnest".to_string())
    }

    /// How many columns it gives within ROWS FROM.
    fn width(&self) -> usize {
        match functions::set_function(&self.called()) {
            _ if self.value.is_some() => 1,
            Some(set) => set.columns.len(),
            None if self.name.is_none() => self.arrays.len(),
            None => 1,
        }
    }

    /// The function's name.
    pub(super) fn name(&self) -> Option<&ast::ObjectName> {
        self.name.as_ref()
    }

    /// What the item is called.
    pub(super) fn alias(&self) -> Option<&'a ast::TableAlias> {
        self.alias
    }

    /// The columns that are defined behind it.
    pub(super) fn definitions(&self) -> &'a [ast::TableAliasColumnDef] {
        self.definitions
    }

    /// Errors: 42601 where columns are defined that the functions of ROWS FROM, or the number of a row, leave no place for.
    pub(super) fn check_definitions(&self) -> Result<()> {
        let is_typed = |alias: &&ast::TableAlias| has_types(&alias.columns);
        if self.alias.filter(is_typed).is_none() {
            return Ok(());
        }
        let (message, hint) = if !self.calls.is_empty() {
            (
                "ROWS FROM() with multiple functions cannot have a column definition list",
                Some("Put a separate column definition list for each function inside ROWS FROM()."),
            )
        } else if self.is_within && !self.definitions.is_empty() {
            (
                "multiple column definition lists are not allowed for the same function",
                None,
            )
        } else if self.ordinality {
            (
                "WITH ORDINALITY cannot be used with a column definition list",
                Some("Put the column definition list inside ROWS FROM()."),
            )
        } else {
            return Ok(());
        };
        Err(Error::InvalidStatement {
            state: StatementFault::Syntax,
            message: message.to_string(),
            hint: hint.map(str::to_string),
        })
    }

    /// WITH ORDINALITY.
    pub(super) fn has_ordinality(&self) -> bool {
        self.ordinality
    }

    /// Its arguments as those of any call.
    pub(super) fn listed(&self) -> ast::FunctionArguments {
        ast::FunctionArguments::List(ast::FunctionArgumentList {
            duplicate_treatment: None,
            args: self.args.to_vec(),
            clauses: Vec::new(),
        })
    }
}

pub(super) fn table_function(factor: &ast::TableFactor) -> Option<TableFunction<'_>> {
    let call = plain_function(factor)?;
    match call.name.as_ref().is_some_and(from_forms::is_rows_from) {
        true => rows_from(call),
        false => Some(call),
    }
}

/// ROWS FROM as what it stands for; `None`: something in it is no call.
fn rows_from(all: TableFunction<'_>) -> Option<TableFunction<'_>> {
    let calls: Option<Vec<_>> = all.args.iter().map(|arg| call_within(arg, &all)).collect();
    let mut calls = calls?;
    if let [_] = calls.as_slice() {
        let mut only = calls.pop()?;
        // A function alone in it may have its columns defined behind it.
        if only.definitions.is_empty() {
            only.definitions = all.definitions;
            only.is_within = false;
        }
        return Some(only);
    }
    Some(TableFunction { calls, ..all })
}

fn call_within<'a>(arg: &'a ast::FunctionArg, all: &TableFunction<'a>) -> Option<TableFunction<'a>> {
    let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) = arg else {
        return None;
    };
    let within = match (expr, from_forms::defined_function(expr)) {
        (_, Some(defined)) => plain_function(defined)?,
        (ast::Expr::Function(function), None) if function.args != ast::FunctionArguments::None => {
            let args = match &function.args {
                ast::FunctionArguments::List(list) => list.args.as_slice(),
                _ => &[],
            };
            TableFunction::of_call(&function.name, args)
        }
        (value, None) => TableFunction {
            value: Some(value),
            ..TableFunction::default()
        },
    };
    Some(TableFunction {
        is_within: true,
        ordinality: all.ordinality,
        alias: all.alias,
        ..within
    })
}

fn plain_function(factor: &ast::TableFactor) -> Option<TableFunction<'_>> {
    let (call, ordinality, alias) = match factor {
        ast::TableFactor::Table {
            name,
            alias,
            args: Some(args),
            with_ordinality,
            ..
        } => {
            let call = TableFunction {
                name: Some(name.clone()),
                args: &args.args,
                ..TableFunction::default()
            };
            (call, with_ordinality, alias)
        }
        // Behind LATERAL the parser does not tell UNNEST from other functions.
        ast::TableFactor::Function {
            name,
            args,
            alias,
            with_ordinality,
            ..
        } => (TableFunction::of_call(name, args), with_ordinality, alias),
        ast::TableFactor::UNNEST {
            alias,
            array_exprs,
            with_ordinality,
            ..
        } => {
            let call = TableFunction {
                arrays: array_exprs.iter().collect(),
                ..TableFunction::default()
            };
            (call, with_ordinality, alias)
        }
        _ => return None,
    };
    let columns = alias.as_ref().map_or(&[][..], |alias| &alias.columns);
    Some(TableFunction {
        definitions: if has_types(columns) { columns } else { &[] },
        ordinality: *ordinality,
        alias: alias.as_ref(),
        ..call
    })
}

/// Whether columns behind a function are defined, and not only named.
fn has_types(columns: &[ast::TableAliasColumnDef]) -> bool {
    columns.iter().any(|column| column.data_type.is_some())
}

/// The arrays of `unnest(a, b)`; `None`: it is another function.
fn arrays_of_unnest<'a>(name: &ast::ObjectName, args: &'a [ast::FunctionArg]) -> Option<Vec<&'a ast::Expr>> {
    let is_unnest =
        matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(|name| fold(name) == "unnest"));
    let array = |arg: &'a ast::FunctionArg| match arg {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(array)) => Some(array),
        _ => None,
    };
    let arrays: Option<Vec<_>> = args.iter().map(array).collect();
    arrays.filter(|_| is_unnest)
}
