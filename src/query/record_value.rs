//! Rows as values of expressions: `ROW(…)`, `(row).column`, `(row).*`, `row IS NULL`.

use std::sync::Arc;

use sqlparser::ast;

use super::binder::{Binder, Bound, Place, fault, fold};
use super::condition::is_null;
use super::operator::binary;
use super::result_columns::{RESULT_COLUMNS_MAX, require_few};
use super::whole_row::is_column;
use crate::error::StatementFault;
use crate::functions::{self, Volatility};
use crate::parse::row_expansion::row_expanded;
use crate::tree::{self, Expr, Operator};
use crate::types::{RecordType, SqlType, Value, check_row_nesting};
use crate::{Error, Result};

impl Binder<'_> {
    /// `ROW(a, t.*)` or `(a, b)`, whose columns are called f1, f2. Errors: 0A000 for a row of nothing, 54001 for too many in one another.
    pub(super) fn row_value(&mut self, items: &[ast::FunctionArgExpr], place: Place<'_>) -> Result<Bound> {
        let mut bound = Vec::with_capacity(items.len());
        for item in items {
            match item {
                ast::FunctionArgExpr::Expr(expr) => match row_expanded(expr) {
                    Some(row) => {
                        let columns = self.fields_of(&row, place)?.into_iter();
                        bound.extend(columns.map(|(_, bound)| bound));
                    }
                    None => bound.push(self.expression(expr, place)?),
                },
                ast::FunctionArgExpr::QualifiedWildcard(name) => {
                    let item = ast::SelectItemQualifiedWildcardKind::ObjectName(name.clone());
                    let options = ast::WildcardAdditionalOptions::default();
                    let item = ast::SelectItem::QualifiedWildcard(item, options);
                    let columns = self.decided_items(&[item], place)?;
                    bound.extend(columns.into_iter().map(|column| column.bound));
                }
                _ => {
                    return Err(Error::Syntax {
                        message: "syntax error at or near \"*\"".to_string(),
                        position: 0,
                    });
                }
            }
        }
        let columns = (1..).zip(bound);
        let columns = columns.map(|(number, bound)| (format!("f{number}"), bound));
        self.row_of_columns(columns.collect(), None)
    }

    /// `(a, b)`.
    pub(super) fn tuple(&mut self, items: &[ast::Expr], place: Place<'_>) -> Result<Bound> {
        let items: Vec<_> = items.iter().cloned().map(ast::FunctionArgExpr::Expr).collect();
        self.row_value(&items, place)
    }

    /// The column of a variable that is a row: `r.a`. `None`: it is none.
    pub(super) fn field_of_variable(&mut self, parts: &[String], place: Place<'_>) -> Result<Option<Bound>> {
        let [row, field] = parts else { return Ok(None) };
        let variable = self.variable_named(row, place);
        let Some(variable) = variable.filter(|variable| variable.ty.record_type().is_some()) else {
            return Ok(None);
        };
        let record = self.variable(variable)?;
        self.field_named(record, field).map(Some)
    }

    /// The field that three names mean: of a function's argument, behind the function's name.
    pub(super) fn field_of_argument(
        &mut self,
        (idents, parts): (&[ast::Ident], &[String]),
        place: Place<'_>,
    ) -> Result<Option<Bound>> {
        let [function, argument, field] = parts else {
            return Ok(None);
        };
        let variables = self.variables.as_ref();
        let variable = variables.and_then(|all| all.qualified(std::slice::from_ref(function), argument));
        if let Some(variable) = variable.filter(|variable| variable.ty.record_type().is_some()) {
            let record = self.variable(variable.clone())?;
            return self.field_named(record, field).map(Some);
        }
        let (mut outermost, mut around) = (place.scope, place.outer);
        while let Some(next) = around {
            (outermost, around) = (next.scope, next.parent);
        }
        let argument = outermost.get_qualified(None, function, argument);
        let is_row = matches!(argument, Ok(Some(bound)) if bound.ty.record_type().is_some());
        match is_row {
            true => {
                let record = self.compound_identifier(&idents[..2], place)?;
                self.field_named(record, field).map(Some)
            }
            false => Ok(None),
        }
    }

    /// The row of these columns, of the type `named` where its columns are of such types. Errors: 0A000 for a row of nothing.
    pub(super) fn row_of_columns(
        &mut self,
        columns: Vec<(String, Bound)>,
        named: Option<Arc<RecordType>>,
    ) -> Result<Bound> {
        if columns.is_empty() {
            return Err(Error::unsupported(
                "a row of no columns",
                Some("Give ROW(...) a value."),
            ));
        }
        require_few(columns.len(), || {
            format!("ROW expressions can have at most {RESULT_COLUMNS_MAX} entries")
        })?;
        let (mut names, mut arguments) = (
            Vec::with_capacity(columns.len()),
            Vec::with_capacity(columns.len()),
        );
        for (name, bound) in columns {
            // An untyped literal is still one: the type that the row becomes decides.
            let bound = match &bound.expr {
                Expr::Literal(..) if bound.ty == SqlType::Unknown => bound,
                _ => self.with_decided_type(bound)?,
            };
            // An oid that names an object is shown by that name.
            let bound = match bound.ty.output_type() == bound.ty {
                true => bound,
                false => {
                    let shown = bound.ty.output_type();
                    let names = self.object_names(bound)?;
                    Bound::new(names.expr, shown)
                }
            };
            names.push((name, bound.ty.clone()));
            arguments.push((bound.expr, bound.ty));
        }
        let has_its_columns = |ty: &Arc<RecordType>| {
            let own = ty.fields.iter().map(|field| &field.ty);
            own.eq(names.iter().map(|(_, ty)| ty))
        };
        let record = named.filter(has_its_columns);
        let record = record.unwrap_or_else(|| Arc::new(RecordType::anonymous(names)));
        check_row_nesting(&record)?;
        let ty = SqlType::Record(record);
        let definition = (
            functions::MAKE_ROW_NAME,
            functions::MAKE_ROW,
            false,
            Volatility::Immutable,
        );
        let call = tree::call(definition, arguments, ty.clone(), &self.settings);
        Ok(Bound::new(call, ty))
    }

    /// `(root).field`: a column of a row. Errors: 42703, 42809.
    pub(super) fn record_field(&mut self, root: &ast::Expr, field: &str, place: Place<'_>) -> Result<Bound> {
        if let Some(row) = name_of_row(root)
            && !is_column(&fold(row), place)?
            && self.variable_named(&fold(row), place).is_none()
        {
            let column = vec![row.clone(), ast::Ident::with_quote('"', field)];
            return self.expression(&ast::Expr::CompoundIdentifier(column), place);
        }
        let record = self.expression(root, place)?;
        self.field_named(record, field)
    }

    /// The column of this name of a row. Errors: 42703, 42809.
    pub(super) fn field_named(&mut self, record: Bound, name: &str) -> Result<Bound> {
        let SqlType::Record(ty) = &record.ty else {
            return Err(fault(
                StatementFault::WrongObjectType,
                format!(
                    "column notation .{name} applied to type {}, which is not a composite type",
                    record.ty.full_base_name()
                ),
            ));
        };
        match ty.place_of(name) {
            Some(at) => self.field_at(record, at),
            None => Err(Error::DataException {
                state: "42703",
                message: match ty.is_anonymous() {
                    true => format!("could not identify column \"{name}\" in record data type"),
                    false => format!("column \"{name}\" not found in data type {}", ty.quoted_name()),
                },
            }),
        }
    }

    /// The column at a place of a row.
    pub(super) fn field_at(&mut self, record: Bound, at: usize) -> Result<Bound> {
        let field = record.ty.record_type().and_then(|ty| ty.fields.get(at));
        let ty = field
            .ok_or_else(|| Error::internal("no column of a row"))?
            .ty
            .clone();
        if let Some(Value::Record(values)) = record.literal()? {
            return Bound::constant(values.get(at).unwrap_or(&Value::Null), ty);
        }
        if let Some(columns) = columns_made(&record.expr)
            && let Some(column) = columns.get(at)
        {
            return Ok(Bound::new(column.clone(), ty));
        }
        let place = Bound::constant(&Value::Int(at as i64), SqlType::Int4)?;
        let definition = ("field", functions::FIELD, true, Volatility::Immutable);
        let arguments = vec![(record.expr, record.ty), (place.expr, place.ty)];
        let call = tree::call(definition, arguments, ty.clone(), &self.settings);
        Ok(Bound::new(call, ty))
    }

    /// `(root).*`: all columns of a row. Errors: 42809.
    pub(super) fn fields_of(&mut self, root: &ast::Expr, place: Place<'_>) -> Result<Vec<(String, Bound)>> {
        if let Some(name) = name_of_row(root)
            && let Some(relation) = place.scope.get_relation(None, &fold(name))
            && !is_column(&fold(name), place)?
        {
            let columns = relation.columns.iter();
            return Ok(columns
                .map(|column| (column.name.clone(), column.bound.clone()))
                .collect());
        }
        let record = self.expression(root, place)?;
        self.fields_of_record(&record)
    }

    /// All columns of a row. Errors: 42809.
    pub(super) fn fields_of_record(&mut self, record: &Bound) -> Result<Vec<(String, Bound)>> {
        let SqlType::Record(ty) = record.ty.clone() else {
            return Err(fault(
                StatementFault::WrongObjectType,
                format!("type {} is not composite", record.ty.full_base_name()),
            ));
        };
        let fields = ty.fields.iter().enumerate();
        fields
            .map(|(at, field)| Ok((field.name.clone(), self.field_at(record.clone(), at)?)))
            .collect()
    }

    /// `row IS [NOT] NULL`: all columns are, or none is.
    pub(super) fn row_null_test(&mut self, record: Bound, negated: bool) -> Result<Bound> {
        if let Some(columns) = columns_made(&record.expr) {
            let tests = columns.iter().map(|column| is_null(column.clone(), negated));
            let test = tests.reduce(|before, one| binary(before, Operator::And, one));
            let test = test.ok_or_else(|| Error::internal("a row of no columns"))?;
            return Ok(Bound::new(test, SqlType::Bool));
        }
        let none = Bound::constant(&Value::Bool(negated), SqlType::Bool)?;
        let definition = (
            "row_null_test",
            functions::ROW_NULL_TEST,
            false,
            Volatility::Immutable,
        );
        let arguments = vec![(record.expr, record.ty), (none.expr, none.ty)];
        let call = tree::call(definition, arguments, SqlType::Bool, &self.settings);
        Ok(Bound::new(call, SqlType::Bool))
    }

    /// Sets of one row each beside another, as sets of rows: what a function of several columns gives as a value.
    pub(super) fn rows_of_sets(&mut self, sets: Vec<(String, Bound)>) -> Bound {
        let columns = sets.iter().map(|(name, set)| {
            let item = set.ty.item_type().cloned();
            (name.clone(), item.unwrap_or(SqlType::Text))
        });
        let row = SqlType::Record(Arc::new(RecordType::anonymous(columns)));
        let arguments = sets.into_iter().map(|(_, set)| (set.expr, set.ty));
        let definition = ("rows_of", functions::ROWS_OF, false, Volatility::Immutable);
        let ty = SqlType::list(row);
        let call = tree::call(definition, arguments.collect(), ty.clone(), &self.settings);
        Bound::new(call, ty)
    }
}

/// The name that an expression in parentheses is.
fn name_of_row(root: &ast::Expr) -> Option<&ast::Ident> {
    match root {
        ast::Expr::Identifier(name) => Some(name),
        ast::Expr::Nested(inner) => name_of_row(inner),
        _ => None,
    }
}

/// The columns of a row that the expression makes. `None`: it takes the row from elsewhere.
fn columns_made(row: &Expr) -> Option<&[Expr]> {
    match row {
        Expr::ScalarFunction(call) if call.name() == functions::MAKE_ROW_NAME => Some(&call.args),
        _ => None,
    }
}
