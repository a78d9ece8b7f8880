//! The names PostgreSQL gives to output columns without AS (`FigureColname`).

use sqlparser::ast::{self, AccessExpr};

use super::binder::fold;
use crate::parse::trim;
use crate::parse::type_name::sql_type;
use crate::types::SqlType;

/// The name of an expression's output column.
pub(super) fn column_name(expr: &ast::Expr) -> String {
    figure(expr)
        .map(|(name, _)| name)
        .unwrap_or_else(|| "?column?".to_string())
}

/// What an index over an expression is named after (`FigureIndexColname`).
pub(crate) fn index_column_name(expr: &ast::Expr) -> String {
    figure(expr).map_or_else(|| "expr".to_string(), |(name, _)| name)
}

/// A name and how strong it is: a cast's own type name gives way to a column's or function's.
fn figure(expr: &ast::Expr) -> Option<(String, u8)> {
    use ast::Expr as E;
    let strong = |name: &str| Some((name.to_string(), 2));
    match expr {
        E::Identifier(ident) => Some((fold(ident), 2)),
        E::CompoundIdentifier(idents) => idents.last().map(|ident| (fold(ident), 2)),
        E::QualifiedWildcard(name, _) => {
            let last = name.0.last().and_then(|part| part.as_ident())?;
            Some((fold(last), 2))
        }
        E::Nested(inner) => figure(inner),
        E::BinaryOp {
            op: ast::BinaryOperator::Overlaps,
            ..
        } => strong("overlaps"),
        E::Collate { expr, .. } => figure(expr),
        E::CompoundFieldAccess { root, access_chain } => {
            let mut fields = access_chain.iter().rev().filter_map(|access| match access {
                AccessExpr::Dot(E::Identifier(field)) => Some(fold(field)),
                _ => None,
            });
            match fields.next() {
                Some(field) => Some((field, 2)),
                None => figure(root),
            }
        }
        E::Function(function) => Some((crate::parse::names::last_name(&function.name)?, 2)),
        E::Cast { expr, data_type, .. } => match figure(expr) {
            Some((name, 2)) => Some((name, 2)),
            _ => Some((type_column_name(data_type)?, 1)),
        },
        E::TypedString(typed) => Some((type_column_name(&typed.data_type)?, 1)),
        E::Interval(_) => Some(("interval".to_string(), 1)),
        E::Case { else_result, .. } => match else_result.as_deref().and_then(figure) {
            Some((name, 2)) => Some((name, 2)),
            _ => Some(("case".to_string(), 1)),
        },
        E::Exists { negated: false, .. } => strong("exists"),
        E::Array(_) => strong("array"),
        E::Subquery(query) => subquery_name(&query.body),
        E::Extract { .. } => strong("extract"),
        E::Ceil { .. } => strong("ceil"),
        E::Floor { .. } => strong("floor"),
        E::Position { .. } => strong("position"),
        E::Substring { shorthand: true, .. } => strong("substr"),
        E::Substring { .. } => strong("substring"),
        E::Overlay { .. } => strong("overlay"),
        E::Trim { trim_where, .. } => strong(trim::function_name(*trim_where)),
        E::AtTimeZone { .. } => strong("timezone"),
        E::Tuple(_) => strong("row"),
        _ => None,
    }
}

/// The name a cast gives: the type's name in the catalog, `int4` for integer.
fn type_column_name(data_type: &ast::DataType) -> Option<String> {
    match sql_type(data_type) {
        Ok(ty) => Some(catalog_name(&ty)),
        Err(_) => user_type_name(data_type),
    }
}

/// The name of a type in the catalog; of an array that of its items.
fn catalog_name(ty: &SqlType) -> String {
    match ty {
        SqlType::Bool => "bool".to_string(),
        SqlType::Int2 => "int2".to_string(),
        SqlType::Int4 => "int4".to_string(),
        SqlType::Int8 => "int8".to_string(),
        SqlType::Float4 => "float4".to_string(),
        SqlType::Float8 => "float8".to_string(),
        SqlType::Numeric(_) => "numeric".to_string(),
        SqlType::Varchar(_) => "varchar".to_string(),
        SqlType::Char(_) => "bpchar".to_string(),
        SqlType::InternalChar => "char".to_string(),
        SqlType::Bit(_) => "bit".to_string(),
        SqlType::VarBit(_) => "varbit".to_string(),
        SqlType::Timestamp(_) => "timestamp".to_string(),
        SqlType::TimestampTz(_) => "timestamptz".to_string(),
        SqlType::Time(_) => "time".to_string(),
        SqlType::Packed(kind) => kind.name().to_string(),
        SqlType::Interval(_) => "interval".to_string(),
        SqlType::Array(item) => catalog_name(item),
        other => other.name(),
    }
}

/// The name of a type that a user made, as it is written.
fn user_type_name(data_type: &ast::DataType) -> Option<String> {
    match data_type {
        ast::DataType::Custom(name, _) => name.0.last()?.as_ident().map(fold),
        ast::DataType::Array(
            ast::ArrayElemTypeDef::SquareBracket(inner, _)
            | ast::ArrayElemTypeDef::AngleBracket(inner)
            | ast::ArrayElemTypeDef::Parenthesis(inner),
        ) => user_type_name(inner),
        _ => None,
    }
}

fn subquery_name(body: &ast::SetExpr) -> Option<(String, u8)> {
    match body {
        ast::SetExpr::Select(select) => match select.projection.first()? {
            ast::SelectItem::ExprWithAlias { alias, .. } => Some((fold(alias), 2)),
            ast::SelectItem::UnnamedExpr(expr) => Some((column_name(expr), 2)),
            _ => None,
        },
        ast::SetExpr::Query(query) => subquery_name(&query.body),
        ast::SetExpr::SetOperation { left, .. } => subquery_name(left),
        ast::SetExpr::Values(_) => Some(("column1".to_string(), 2)),
        _ => None,
    }
}
