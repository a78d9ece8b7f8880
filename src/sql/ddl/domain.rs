//! CREATE DOMAIN and ALTER DOMAIN. What values of a domain pass is asked by casts (`query::domain`) and writes
//! (`sql::dml::row_checks`).

use sqlparser::ast::{Expr, ObjectName};

use super::{default, notice, row_expression, type_lookup, user_type};
use crate::catalog::{CatalogWriter, ColumnDefault, DomainCheck, DomainDef, TableDef, TypeDef, TypeKind};
use crate::error::{DuplicateKind, StatementFault};
use crate::parse::definition::{DomainChange, NewDomain, NewDomainCheck};
use crate::query;
use crate::query::type_name::{NamedType, declared_type};
use crate::sql::{column_type, dml};
use crate::store::LockMode;
use crate::system::StatementContext;
use crate::types::SqlType;
use crate::{Error, Result};

/// Runs CREATE DOMAIN. Errors: 42710, 42704, those of its default and conditions.
pub(super) async fn create(ctx: &StatementContext, new: &NewDomain) -> Result<()> {
    let (schema, name) = user_type::new_name(ctx, &new.name)?;
    query::warn_of_digits(ctx, &new.ty);
    let NamedType { ty, domain: over } = declared_type(ctx, &new.ty)?;
    let ty = match ty {
        SqlType::Char(None) => SqlType::Text,
        ty => ty,
    };
    column_type::check_stored(&ty)?;
    let mut domain = DomainDef {
        default: match &new.default {
            Some(expr) => default_text(ctx, expr, &ty, &name).await?,
            None => None,
        },
        ty,
        over,
        not_null: new.not_null == Some(true),
        checks: Vec::new(),
    };
    for check in &new.checks {
        add_check(ctx, &name, &mut domain, check, false).await?;
    }
    let oids = (user_type::take_oid(ctx).await?, user_type::take_oid(ctx).await?);
    user_type::put_new(ctx, oids, (schema, name), TypeKind::Domain(domain))
}

/// Runs ALTER DOMAIN. Errors: 42704, 42809, 23514 and 23502 for values that are there.
pub(super) async fn alter(ctx: &StatementContext, name: &ObjectName, change: &DomainChange) -> Result<()> {
    let ty = type_lookup::user_type(ctx, name)?;
    let Some(domain) = ty.domain() else {
        return Err(Error::InvalidStatement {
            state: StatementFault::WrongObjectType,
            message: format!("{} is not a domain", ty.name),
            hint: None,
        });
    };
    let mut changed = domain.clone();
    let is_stricter = match change {
        DomainChange::Type(change) => return user_type::alter_any(ctx, &ty, change),
        DomainChange::Default(None) => {
            changed.default = None;
            false
        }
        DomainChange::Default(Some(expr)) => {
            changed.default = default_text(ctx, expr, &domain.ty, &ty.name).await?;
            false
        }
        DomainChange::NotNull(not_null) => {
            changed.not_null = *not_null;
            *not_null && !domain.not_null
        }
        DomainChange::AddCheck { check, not_valid } => {
            add_check(ctx, &ty.name, &mut changed, check, *not_valid).await?;
            !not_valid
        }
        DomainChange::DropCheck { name, if_exists } => {
            if !drop_check(ctx, &ty, &mut changed, name, *if_exists)? {
                return Ok(());
            }
            false
        }
        DomainChange::RenameCheck { from, to } => {
            rename_check(&ty, &mut changed, from, to)?;
            false
        }
        DomainChange::Validate(name) => {
            let check = changed.checks.iter_mut().find(|check| check.name == *name);
            let check = check.ok_or_else(|| undefined_check(&ty, name))?;
            std::mem::take(&mut check.not_valid)
        }
    };
    let altered = TypeDef {
        kind: TypeKind::Domain(changed),
        ..TypeDef::clone(&ty)
    };
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    if is_stricter {
        verify(ctx, &writer, &ty, &altered).await?;
    }
    writer.put_type(&altered)
}

/// The text of a default, which means the same under any search path. `None`: it is NULL. Errors: as those of a column's.
async fn default_text(
    ctx: &StatementContext,
    expr: &Expr,
    ty: &SqlType,
    name: &str,
) -> Result<Option<String>> {
    let read = default::read(ctx, expr, ty, name).await?;
    let kept = row_expression::with_schemas(ctx, expr);
    Ok(read.map(|default| match default {
        ColumnDefault::Constant { text: Some(text), .. } if kept == *expr => text.plain,
        _ => kept.to_string(),
    }))
}

async fn add_check(
    ctx: &StatementContext,
    domain_name: &str,
    domain: &mut DomainDef,
    new: &NewDomainCheck,
    not_valid: bool,
) -> Result<()> {
    row_expression::check_no_subquery(&new.expr, "check constraint")?;
    query::check_domain_condition(ctx, &new.expr, &domain.ty)?;
    let is_taken = |name: &str| domain.checks.iter().any(|check| check.name == name);
    let name = match &new.name {
        Some(name) if is_taken(name) => {
            return Err(Error::Duplicate {
                kind: DuplicateKind::Constraint,
                name: format!("{name}\" for domain \"{domain_name}"),
            });
        }
        Some(name) => name.clone(),
        None => {
            let base = format!("{domain_name}_check");
            let numbered = (1u32..).map(|number| format!("{base}{number}"));
            let mut names = std::iter::once(base.clone()).chain(numbered);
            names.find(|name| !is_taken(name)).unwrap_or(base)
        }
    };
    let kept = row_expression::with_schemas(ctx, &new.expr);
    let expr = query::pinned_domain_condition(ctx, &kept, &domain.ty)?;
    let (text, pretty_text) = query::domain_condition_text(ctx, &expr, &domain.ty)?;
    domain.checks.push(DomainCheck {
        oid: user_type::take_oid(ctx).await?,
        name,
        sql: expr.to_string(),
        text,
        pretty_text,
        not_valid,
    });
    domain.checks.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(())
}

/// Whether there is something to change.
fn drop_check(
    ctx: &StatementContext,
    ty: &TypeDef,
    domain: &mut DomainDef,
    name: &str,
    if_exists: bool,
) -> Result<bool> {
    let before = domain.checks.len();
    domain.checks.retain(|check| check.name != name);
    match (domain.checks.len() < before, if_exists) {
        (true, _) => Ok(true),
        (false, true) => {
            let message = format!(
                "constraint \"{name}\" of domain \"{}\" does not exist, skipping",
                ty.name
            );
            notice(ctx, "00000", message, None);
            Ok(false)
        }
        (false, false) => Err(undefined_check(ty, name)),
    }
}

fn rename_check(ty: &TypeDef, domain: &mut DomainDef, from: &str, to: &str) -> Result<()> {
    if domain.checks.iter().any(|check| check.name == to) {
        return Err(Error::Duplicate {
            kind: DuplicateKind::Constraint,
            name: format!("{to}\" for domain \"{}", ty.name),
        });
    }
    let check = domain.checks.iter_mut().find(|check| check.name == from);
    let check = check.ok_or_else(|| Error::InvalidStatement {
        state: StatementFault::UndefinedObject,
        message: format!("constraint \"{from}\" for domain {} does not exist", ty.name),
        hint: None,
    })?;
    check.name = to.to_string();
    domain.checks.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(())
}

fn undefined_check(ty: &TypeDef, name: &str) -> Error {
    Error::UndefinedObject {
        kind: "constraint",
        name: format!("{name}\" of domain \"{}", ty.name),
    }
}

/// Asks all values of columns of a domain, or of domains over it, whether they are of it as it will be. Nobody writes meanwhile,
/// and who does so afterwards by an older definition is found out by the tables' records, which are written anew. Errors: 23514, 23502.
async fn verify(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    old: &TypeDef,
    new: &TypeDef,
) -> Result<()> {
    let tables: Vec<TableDef> = ctx
        .catalog
        .tables()
        .filter(|table| table.columns.iter().any(|column| is_of(column, old)))
        .map(|table| TableDef::clone(table))
        .collect();
    for table in tables {
        super::verification::shut_writers_out(ctx, &table, LockMode::ShareRowExclusive).await?;
        for column in table.visible_columns().filter(|column| is_of(column, old)) {
            dml::verify_domain(ctx, &table, column, new).await?;
        }
        writer.put_table_in(table, LockMode::ShareRowExclusive)?;
    }
    Ok(())
}

fn is_of(column: &crate::catalog::ColumnDef, ty: &TypeDef) -> bool {
    let domain = column.domain.as_ref();
    domain.is_some_and(|domain| domain.domains().iter().any(|domain| domain.oid == ty.oid))
}
