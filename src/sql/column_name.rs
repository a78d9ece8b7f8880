//! Column names in WHERE clauses: the part of `predicate` that finds a column, or says which one was meant.

use sqlparser::ast::{Expr, Ident};

use super::operand::Operand;
use super::predicate::Converter;
use super::{names, text_place, type_name};
use crate::catalog::nearest_name;
use crate::{Error, Result};

impl Converter<'_> {
    /// The column that an expression is, looked through parentheses and casts that lose nothing.
    /// Errors: 42703 for a plain name that the table does not have.
    pub(super) fn operand(&self, expr: &Expr) -> Result<Option<Operand>> {
        Ok(match expr {
            Expr::Nested(inner) => self.operand(inner)?,
            Expr::Identifier(ident) => match self.table.column_index(&names::fold(ident)) {
                Some(column) => Some(Operand::new(column, self.table.columns[column].ty.clone())),
                None if self.is_table_name(ident) => None,
                None => return Err(self.undefined_column(ident, None)),
            },
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [.., table, ident] if self.is_table_name(table) => {
                    match self.table.column_index(&names::fold(ident)) {
                        Some(column) => Some(Operand::new(column, self.table.columns[column].ty.clone())),
                        None => return Err(self.undefined_column(ident, Some(table))),
                    }
                }
                _ => None,
            },
            Expr::Cast {
                expr,
                data_type,
                array: false,
                format: None,
                ..
            } => match self.operand(expr)? {
                Some(operand) => match type_name::get_sql_type(data_type)? {
                    Some(ty) => operand.cast(ty),
                    None => None,
                },
                None => None,
            },
            _ => None,
        })
    }

    fn is_table_name(&self, ident: &Ident) -> bool {
        names::fold(ident) == self.alias.unwrap_or(&self.table.name)
    }

    fn undefined_column(&self, ident: &Ident, table: Option<&Ident>) -> Error {
        let name = names::fold(ident);
        let shown = match table {
            Some(table) => format!("{}.{name}", names::fold(table)),
            None => format!("\"{name}\""),
        };
        let candidates = self.table.visible_columns().map(|column| column.name.as_str());
        let hint = match nearest_name(&name, candidates) {
            _ if ident.quote_style == Some('"') && table.is_none() => Some(format!(
                "Double quotes name columns; a string takes single quotes: '{name}'."
            )),
            Some(nearest) => {
                let table = self.alias.unwrap_or(&self.table.name);
                Some(format!(
                    "Perhaps you meant to reference the column \"{table}.{nearest}\"."
                ))
            }
            None => None,
        };
        let error = Error::UndefinedColumn { name: shown, hint };
        text_place::at_error(error, table.unwrap_or(ident).span)
    }
}
