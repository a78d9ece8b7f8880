//! Column definitions of CREATE TABLE and ALTER TABLE … ADD COLUMN: type, NULL, default, inline constraints.

use sqlparser::ast::{
    ColumnOption, DataType, Expr, GeneratedAs, GeneratedExpressionMode, Ident, SequenceOptions,
};

use super::check::NewCheck;
use super::default;
use super::foreign_key::NewForeignKey;
use super::key::{NewUnique, check_primary_characteristics, read_unique};
use crate::catalog::{ColumnDef, ColumnDefault, NO_SEQUENCE};
use crate::error::StatementFault;
use crate::parse::definition::SequenceOption;
use crate::parse::quoting::quote_ident;
use crate::parse::{collation, names, sequence_options_of, type_name};
use crate::query;
use crate::query::type_name::{NamedType, declared_type};
use crate::sql::{column_type, dml};
use crate::system::StatementContext;
use crate::types::SqlType;
use crate::{Error, Result};

/// A column as written, with the constraints that stand in its definition.
pub(super) struct NewColumn {
    /// Its definition; the id is not given yet.
    pub(super) def: ColumnDef,
    /// PRIMARY KEY here, with the constraint's name if it has one.
    pub(super) primary_key: Option<Option<String>>,
    /// UNIQUE here, without its column.
    pub(super) unique: Option<NewUnique>,
    /// CHECK here.
    pub(super) checks: Vec<NewCheck>,
    /// REFERENCES here.
    pub(super) foreign_keys: Vec<NewForeignKey>,
    /// GENERATED ALWAYS AS (…) STORED: to be read once all columns are known.
    pub(super) generation: Option<Expr>,
    /// A sequence is to be made for it, with these options.
    pub(super) sequence: Option<Vec<SequenceOption>>,
}

/// A type as a column definition has it, but for its modifier. Errors: none but of a bug.
pub(super) fn written_type(ty: &SqlType) -> Result<DataType> {
    match dml::parse_expression(&format!("NULL::{}", ty.full_base_name()))? {
        Expr::Cast { data_type, .. } => Ok(data_type),
        other => Err(Error::internal(format!("{other} is no cast"))),
    }
}

/// Reads a column definition of `table`. Errors: 42704 for its type, those of its default, 0A000.
pub(super) async fn read(
    ctx: &StatementContext,
    table: &str,
    column: &sqlparser::ast::ColumnDef,
) -> Result<NewColumn> {
    let name = names::fold(&column.name);
    column_type::check_no_system_column(&name)?;
    let serial = serial_type(&column.data_type);
    let bounded = type_name::bounded_bytes(&column.data_type);
    let NamedType { ty, domain } = match &serial {
        Some(ty) => plain_type(ty),
        None => {
            query::warn_of_digits(ctx, &column.data_type);
            let bytes = bounded.as_ref().map(|(data_type, _)| data_type);
            stored_type(ctx, bytes.unwrap_or(&column.data_type))?
        }
    };
    let def = ColumnDef {
        domain,
        not_null: serial.is_some(),
        default: serial
            .as_ref()
            .map(|_| ColumnDefault::Sequence { oid: NO_SEQUENCE }),
        ..ColumnDef::new(0, name, ty)
    };
    let mut new = NewColumn {
        def,
        primary_key: None,
        unique: None,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        generation: None,
        sequence: serial.map(|_| Vec::new()),
    };
    if let Some((_, bytes_max)) = bounded {
        let length = format!("octet_length({}) <= {bytes_max}", quote_ident(&new.def.name));
        new.checks.push(NewCheck {
            name: None,
            expr: dml::parse_expression(&length)?,
            no_inherit: false,
            of_parent: false,
        });
    }
    let mut nullable = false;
    for option in &column.options {
        nullable |= matches!(option.option, ColumnOption::Null);
        read_option(ctx, &mut new, option.name.as_ref(), &option.option).await?;
    }
    check_one_source(table, &new)?;
    if nullable && (new.def.not_null || new.primary_key.is_some()) {
        return Err(Error::InvalidStatement {
            state: StatementFault::Syntax,
            message: format!(
                "conflicting NULL/NOT NULL declarations for column \"{}\" of table \"{table}\"",
                new.def.name
            ),
            hint: None,
        });
    }
    Ok(new)
}

async fn read_option(
    ctx: &StatementContext,
    new: &mut NewColumn,
    constraint: Option<&Ident>,
    option: &ColumnOption,
) -> Result<()> {
    let constraint = constraint.map(names::fold);
    match option {
        ColumnOption::Null => {}
        ColumnOption::NotNull => new.def.not_null = true,
        ColumnOption::Default(expr) => {
            if new.def.default.is_some() {
                return Err(multiple_defaults(&new.def.name));
            }
            let read = default::read(ctx, expr, &new.def.ty, &new.def.name).await?;
            new.def.default = default::or_null_over_domain(ctx, read, &new.def);
        }
        ColumnOption::PrimaryKey(key) => {
            check_primary_characteristics(key.characteristics.as_ref())?;
            new.primary_key = Some(constraint);
        }
        ColumnOption::Unique(unique) => {
            new.unique = Some(NewUnique {
                name: constraint,
                ..read_unique(unique)?
            });
        }
        ColumnOption::Comment(text) => new.def.comment = Some(text.clone()),
        ColumnOption::Generated {
            generated_as,
            sequence_options,
            generation_expr: None,
            ..
        } => give_identity(new, generated_as, sequence_options.as_deref().unwrap_or_default())?,
        ColumnOption::Generated {
            generation_expr: Some(expr),
            generation_expr_mode: Some(GeneratedExpressionMode::Stored),
            ..
        } => {
            if new.generation.replace(expr.clone()).is_some() {
                return Err(syntax(format!(
                    "multiple generation clauses specified for column \"{}\"",
                    new.def.name
                )));
            }
        }
        ColumnOption::Generated { .. } => {
            return Err(Error::unsupported(
                "a generated column that is not STORED",
                Some("Write GENERATED ALWAYS AS (...) STORED."),
            ));
        }
        ColumnOption::Collation(name) => collate(&mut new.def, name)?,
        ColumnOption::Check(check) => new.checks.push(NewCheck::of(check, constraint)),
        ColumnOption::ForeignKey(key) => {
            let column = Ident::with_quote('"', &new.def.name);
            let key = NewForeignKey::of(key, Some((&column, constraint)));
            new.foreign_keys.push(key);
        }
        other => return Err(Error::unsupported(format!("the column option {other}"), None)),
    }
    Ok(())
}

/// GENERATED … AS IDENTITY. Errors: 22023, 42601 beside a default.
fn give_identity(new: &mut NewColumn, generated_as: &GeneratedAs, options: &[SequenceOptions]) -> Result<()> {
    check_identity_type(&new.def.ty)?;
    if new.def.default.is_some() {
        return Err(syntax(format!(
            "both default and identity specified for column \"{}\"",
            new.def.name
        )));
    }
    new.def.not_null = true;
    new.def.default = Some(ColumnDefault::Identity {
        always: matches!(generated_as, GeneratedAs::Always),
        oid: NO_SEQUENCE,
    });
    new.sequence = Some(sequence_options_of(options)?);
    Ok(())
}

/// Errors: 42601 for a generated column that has a default as well.
fn check_one_source(table: &str, new: &NewColumn) -> Result<()> {
    let other = match (&new.generation, &new.def.default) {
        (None, _) | (Some(_), None) => return Ok(()),
        (Some(_), Some(ColumnDefault::Identity { .. })) => "identity",
        (Some(_), Some(_)) => "default",
    };
    Err(syntax(format!(
        "both {other} and generation expression specified for column \"{}\" of table \"{table}\"",
        new.def.name
    )))
}

/// Whether a column of the type may be an identity column. Errors: 22023.
pub(super) fn check_identity_type(ty: &SqlType) -> Result<()> {
    match ty.is_integer() {
        true => Ok(()),
        false => Err(Error::InvalidParameter {
            message: "identity column type must be smallint, integer, or bigint".to_string(),
            hint: None,
        }),
    }
}

/// The type of a column. Errors: 42704, 0A000 for types that no row stores.
fn stored_type(ctx: &StatementContext, data_type: &DataType) -> Result<NamedType> {
    if matches!(data_type, DataType::Unspecified) {
        return Err(Error::Syntax {
            message: "a column definition takes a type".to_string(),
            position: 0,
        });
    }
    let named = declared_type(ctx, data_type)?;
    let ty = match named.ty {
        SqlType::Char(None) => SqlType::Text,
        ty => ty,
    };
    column_type::check_stored(&ty)?;
    Ok(NamedType { ty, ..named })
}

/// The integer type behind serial, bigserial and smallserial.
pub(super) fn serial_type(data_type: &DataType) -> Option<SqlType> {
    let DataType::Custom(name, _) = data_type else {
        return None;
    };
    match name.to_string().to_lowercase().as_str() {
        "serial" | "serial4" => Some(SqlType::Int4),
        "bigserial" | "serial8" => Some(SqlType::Int8),
        "smallserial" | "serial2" => Some(SqlType::Int2),
        _ => None,
    }
}

fn multiple_defaults(column: &str) -> Error {
    syntax(format!(
        "multiple default values specified for column \"{column}\""
    ))
}

fn syntax(message: String) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message,
        hint: None,
    }
}

/// A type that is no domain.
fn plain_type(ty: &SqlType) -> NamedType {
    NamedType {
        ty: ty.clone(),
        domain: None,
    }
}

/// COLLATE. Errors: 42804 for a type that has no order of texts; 0A000 for another than that of bytes.
fn collate(def: &mut ColumnDef, name: &sqlparser::ast::ObjectName) -> Result<()> {
    def.collation = collation_of(&def.ty, name)?;
    Ok(())
}

/// The collation that a column of the type gets. Errors: as [`collate`].
pub(super) fn collation_of(ty: &SqlType, name: &sqlparser::ast::ObjectName) -> Result<Option<String>> {
    match ty.innermost().is_string() {
        true => collation::read(name),
        false => Err(Error::DatatypeMismatch {
            message: format!("collations are not supported by type {}", ty.full_base_name()),
            hint: None,
        }),
    }
}
