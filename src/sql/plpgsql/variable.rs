//! Variables of a run: scalars, and records, whose fields may be of other types each time.

use crate::catalog::{Access, ColumnDef, Object, TypeDef};
use crate::error::Raised;
use crate::parse::names;
use crate::parse::plpgsql::tree::VariableType;
use crate::parse::routine::WrittenType;
use crate::query::type_name::{self, NamedType};
use crate::sql::relation::{get_relation, relation};
use crate::sql::routine_run::assigned;
use crate::system::StatementContext;
use crate::types::{CatalogType, RecordType, SqlType, Value};
use crate::{Error, Result};
use std::sync::Arc;

/// The type of a cursor variable.
pub(super) const REFCURSOR: SqlType = SqlType::Catalog(CatalogType::Refcursor);

/// A field of a record.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) name: String,
    /// Its type; `Unknown`: NULL, of a column that nobody has written yet.
    pub(super) ty: SqlType,
    pub(super) value: Value,
}

impl Field {
    /// What a record has of a column of a row.
    fn of(name: &str, ty: &SqlType, value: Value) -> Field {
        let (ty, value) = decided(ty.clone(), value);
        let name = name.to_string();
        Field { name, ty, value }
    }
}

/// A literal that nothing gave a type is text, as `row_type` has it.
fn decided(ty: SqlType, value: Value) -> (SqlType, Value) {
    match (ty, value) {
        (SqlType::Unknown, Value::Unknown(text) | Value::Text(text)) => (SqlType::Text, Value::Text(text)),
        typed => typed,
    }
}

/// What a variable holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Holder {
    /// A value of a type.
    Scalar { ty: SqlType, value: Value },
    /// A row of a relation's.
    Row(Fields),
    /// A record; `None`: nothing was assigned.
    Record(Option<Fields>),
}

/// The fields of a row. A row that is NULL has none but NULLs; one of NULLs alone need not be NULL.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fields {
    pub(super) all: Vec<Field>,
    pub(super) is_null: bool,
}

impl Fields {
    /// Of NULL.
    fn of_null(all: Vec<Field>) -> Fields {
        Fields { all, is_null: true }
    }

    /// It is NULL from now on.
    fn clear(&mut self) {
        self.is_null = true;
        self.all.iter_mut().for_each(|field| field.value = Value::Null);
    }

    /// All of them as one value.
    pub(super) fn whole(&self) -> (Value, SqlType) {
        let values = self.all.iter().map(|field| field.value.clone());
        let value = match self.is_null {
            true => Value::Null,
            false => Value::Record(values.collect()),
        };
        (value, row_type(&self.all))
    }
}

/// A name that a statement may use.
#[derive(Debug, Clone)]
pub(super) struct Name {
    pub(super) name: String,
    /// The label of its block, or its function.
    pub(super) qualifier: Option<String>,
    /// The place of the variable.
    pub(super) at: usize,
}

/// A variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Variable {
    pub(super) holder: Holder,
    /// The domain that its values are of.
    pub(super) domain: Option<Arc<TypeDef>>,
    pub(super) constant: bool,
    pub(super) not_null: bool,
}

impl Holder {
    /// Of a value of a type: a row's columns are held one by one.
    pub(super) fn new(ty: SqlType, value: Value) -> Holder {
        let SqlType::Record(row) = &ty else {
            return Holder::Scalar { ty, value };
        };
        let (values, is_null) = match value {
            Value::Record(values) => (values, false),
            _ => (Vec::new(), true),
        };
        let mut values = values.into_iter();
        let fields = row.fields.iter().map(|field| Field {
            name: field.name.clone(),
            ty: field.ty.clone(),
            value: values.next().unwrap_or(Value::Null),
        });
        Holder::Row(Fields {
            all: fields.collect(),
            is_null,
        })
    }

    /// Of what an expression gave.
    pub(super) fn of_result(ty: SqlType, value: Value) -> Holder {
        let (ty, value) = decided(ty, value);
        Holder::new(ty, value)
    }

    /// All of it as one value; `None`: nothing was assigned to the record.
    pub(super) fn whole(&self) -> Option<(Value, SqlType)> {
        match self {
            Holder::Scalar { ty, value } => Some((value.clone(), ty.clone())),
            Holder::Row(fields) | Holder::Record(Some(fields)) => Some(fields.whole()),
            Holder::Record(None) => None,
        }
    }
}

/// The type of a row of these fields: what has no type is text in it, as in the result of a query.
fn row_type(fields: &[Field]) -> SqlType {
    let columns = fields.iter().map(|field| {
        let ty = match &field.ty {
            SqlType::Unknown => SqlType::Text,
            ty => ty.clone(),
        };
        (field.name.clone(), ty)
    });
    SqlType::Record(Arc::new(RecordType::anonymous(columns)))
}
impl Variable {
    /// One that takes whatever it is given.
    pub(super) fn of(holder: Holder) -> Variable {
        Variable {
            holder,
            domain: None,
            constant: false,
            not_null: false,
        }
    }

    /// One of a type, NULL.
    pub(super) fn scalar(ty: SqlType) -> Variable {
        Variable::of(Holder::Scalar {
            ty,
            value: Value::Null,
        })
    }
}

/// What a declaration of this type makes. Errors: 42704, 42P01, 42703.
pub(super) fn variable_of(ctx: &StatementContext, ty: &VariableType) -> Result<Variable> {
    let written = match ty {
        VariableType::Record => return Ok(Variable::of(Holder::Record(None))),
        VariableType::Cursor => return Ok(Variable::scalar(REFCURSOR)),
        VariableType::Written(written) => written,
    };
    match written {
        WrittenType::OfRow(name) => Ok(Variable::of(Holder::Row(Fields::of_null(fields_of(ctx, name)?)))),
        written => {
            // The name of a relation is that of its row type.
            if let WrittenType::Named(sqlparser::ast::DataType::Custom(name, modifiers)) = written
                && modifiers.is_empty()
                && relation(ctx, name, Access::Name).is_ok()
                && type_of(ctx, written).is_err()
            {
                return Ok(Variable::of(Holder::Row(Fields::of_null(fields_of(ctx, name)?))));
            }
            let named = type_of(ctx, written)?;
            Ok(Variable {
                domain: named.domain,
                ..Variable::of(Holder::new(named.ty, Value::Null))
            })
        }
    }
}

/// A scalar type as written. Errors: 42704, 42P01, 42703.
pub(in crate::sql) fn type_of(ctx: &StatementContext, written: &WrittenType) -> Result<NamedType> {
    match written {
        WrittenType::Named(named) => type_name::named_type(ctx, named),
        WrittenType::OfColumn(name) => {
            let Some((column, table)) = name.0.split_last().filter(|(_, table)| !table.is_empty()) else {
                return Err(Error::UndefinedObject {
                    kind: "type",
                    name: format!("{name}%TYPE"),
                });
            };
            let column = column.as_ident().map(names::fold).unwrap_or_default();
            let table = sqlparser::ast::ObjectName(table.to_vec());
            let found = columns_of(ctx, &table)?
                .into_iter()
                .find(|(name, _)| *name == column);
            found.map(|(_, ty)| ty).ok_or_else(|| Error::UndefinedColumn {
                name: format!("\"{column}\" of relation \"{table}\""),
                hint: None,
            })
        }
        WrittenType::OfRow(name) => Err(Error::unsupported(format!("{name}%ROWTYPE here"), None)),
    }
}

/// The columns of a relation, NULL each.
fn fields_of(ctx: &StatementContext, name: &sqlparser::ast::ObjectName) -> Result<Vec<Field>> {
    let field = |(name, named): (String, NamedType)| Field {
        name,
        ty: named.ty,
        value: Value::Null,
    };
    Ok(columns_of(ctx, name)?.into_iter().map(field).collect())
}

/// The names and types of the columns of a relation, or of the attributes of a composite type. Errors: 42P01 where nothing has the name.
fn columns_of(ctx: &StatementContext, name: &sqlparser::ast::ObjectName) -> Result<Vec<(String, NamedType)>> {
    if get_relation(ctx, name, Access::Name)?.is_none()
        && let Some(attributes) = attributes_of(ctx, name)
    {
        return Ok(attributes);
    }
    match relation(ctx, name, Access::Name)? {
        Object::Table(table) => {
            let column = |column: &ColumnDef| {
                let named = NamedType {
                    ty: column.ty.clone(),
                    domain: column.domain.clone(),
                };
                (column.name.clone(), named)
            };
            Ok(table.visible_columns().map(column).collect())
        }
        Object::View(view) => {
            let columns = view.columns.iter().map(|(name, ty)| {
                let ty = ctx.catalog.types.of_stored_name(ty)?;
                Ok((name.clone(), NamedType { ty, domain: None }))
            });
            columns.collect()
        }
        other => Err(Error::WrongObjectType {
            name: other.name().to_string(),
            expected: "table",
            hint: None,
        }),
    }
}

/// Those of a composite type, if it is one.
fn attributes_of(
    ctx: &StatementContext,
    name: &sqlparser::ast::ObjectName,
) -> Option<Vec<(String, NamedType)>> {
    let written = sqlparser::ast::DataType::Custom(name.clone(), Vec::new());
    let SqlType::Record(row) = type_name::named_type(ctx, &written).ok()?.ty else {
        return None;
    };
    let attributes = row.fields.iter().map(|field| {
        let named = NamedType {
            ty: field.ty.clone(),
            domain: None,
        };
        (field.name.clone(), named)
    });
    Some(attributes.collect())
}

/// Errors: those of the type of a declaration that could never be made.
pub(super) fn check_type(ctx: &StatementContext, ty: &VariableType) -> Result<()> {
    match ty {
        // A relation may be made by then.
        VariableType::Written(WrittenType::OfRow(_) | WrittenType::OfColumn(_)) => Ok(()),
        ty => variable_of(ctx, ty).map(drop),
    }
}

/// Gives a variable a value. Errors: 22005, 22004, those of the cast.
pub(super) fn assign(
    ctx: &StatementContext,
    variable: &mut Variable,
    name: &str,
    value: Value,
    from: &SqlType,
) -> Result<()> {
    check_assignable(variable, name)?;
    let not_null = variable.not_null;
    match &mut variable.holder {
        Holder::Scalar { ty, value: held } => {
            let value = assigned(ctx, value, from, ty)?;
            if not_null && value == Value::Null {
                return Err(null_value(name));
            }
            *held = value;
            Ok(())
        }
        Holder::Row(fields) if value == Value::Null => {
            fields.clear();
            Ok(())
        }
        Holder::Record(held) if value == Value::Null => {
            *held = None;
            Ok(())
        }
        Holder::Row(_) | Holder::Record(_) if matches!(value, Value::Record(_)) => {
            let (Value::Record(values), SqlType::Record(row)) = (&value, from) else {
                return Err(Error::internal("a row of no type"));
            };
            let columns = row
                .fields
                .iter()
                .map(|field| (field.name.clone(), field.ty.clone()));
            let columns: Vec<_> = columns.collect();
            assign_row(ctx, &mut variable.holder, &columns, Some(values.clone()))
        }
        Holder::Row(_) | Holder::Record(_) => Err(Error::DatatypeMismatch {
            message: "cannot assign non-composite value to a record variable".to_string(),
            hint: None,
        }),
    }
}

/// Errors: 22005 for a constant.
pub(super) fn check_assignable(variable: &Variable, name: &str) -> Result<()> {
    match variable.constant {
        true => Err(Raised::new("22005", format!("variable \"{name}\" is declared CONSTANT")).into()),
        false => Ok(()),
    }
}

pub(super) fn null_value(name: &str) -> Error {
    let message = format!("null value cannot be assigned to variable \"{name}\" declared NOT NULL");
    Raised::new("22004", message).into()
}

/// Gives a record or a row what another one holds.
pub(super) fn assign_record(ctx: &StatementContext, holder: &mut Holder, other: Holder) -> Result<()> {
    match (holder, other) {
        (Holder::Record(held), Holder::Row(fields) | Holder::Record(Some(fields))) => {
            *held = Some(fields);
            Ok(())
        }
        (Holder::Record(held), _) => {
            *held = None;
            Ok(())
        }
        (holder, Holder::Row(fields) | Holder::Record(Some(fields))) if !fields.is_null => {
            let columns = fields.all.iter();
            let columns = columns.map(|field| (field.name.clone(), field.ty.clone()));
            let columns: Vec<(String, SqlType)> = columns.collect();
            let values = fields.all.into_iter().map(|field| field.value);
            assign_row(ctx, holder, &columns, Some(values.collect()))
        }
        (Holder::Row(fields), _) => {
            fields.clear();
            Ok(())
        }
        (Holder::Scalar { .. }, _) => Err(Error::internal("a row for a scalar")),
    }
}

/// Gives a record the columns of a row; `None`: of no row, of which it has NULLs, and is not NULL itself.
pub(super) fn assign_row(
    ctx: &StatementContext,
    holder: &mut Holder,
    columns: &[(String, SqlType)],
    row: Option<Vec<Value>>,
) -> Result<()> {
    match holder {
        Holder::Record(held) => {
            let values = row.unwrap_or_else(|| vec![Value::Null; columns.len()]);
            let fields = columns
                .iter()
                .zip(values)
                .map(|((name, ty), value)| Field::of(name, ty, value));
            *held = Some(Fields {
                all: fields.collect(),
                is_null: false,
            });
            Ok(())
        }
        Holder::Row(fields) => {
            fields.is_null = false;
            let values = row.unwrap_or_default();
            let mut given = values.into_iter().zip(columns);
            for field in &mut fields.all {
                field.value = match given.next() {
                    Some((value, (_, ty))) => assigned(ctx, value, ty, &field.ty)?,
                    None => Value::Null,
                };
            }
            Ok(())
        }
        Holder::Scalar { .. } => Err(Error::internal("a row for a scalar")),
    }
}

pub(super) fn unassigned(name: &str) -> Error {
    Raised {
        detail: Some("The tuple structure of a not-yet-assigned record is indeterminate.".to_string()),
        ..Raised::new("55000", format!("record \"{name}\" is not assigned yet"))
    }
    .into()
}
