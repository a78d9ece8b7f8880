//! `SET tags[2] = 'x'` and `SET tags[1:2] = '{a,b}'`: the column's array with a part replaced. Called by `function_call` for
//! the call that `parse::subscript_assignment` makes of one.

use sqlparser::ast::{self, AccessExpr, Subscript};

use super::array_value::is_slice;
use super::binder::{Binder, Bound, Place, fold};
use super::coercion::{CastContext, base, is_assignable, type_name};
use crate::functions::{self, Volatility};
use crate::parse::subscript_assignment;
use crate::tree;
use crate::types::{SqlType, Value, check_dimension_count};
use crate::{Error, Result};

/// How a dimension is given, as the function is told: one subscript, or a slice without some of its limits.
const INDEX: i64 = 0;
const SLICE: i64 = 1;
const LOW_OPEN: i64 = 2;
const HIGH_OPEN: i64 = 4;

impl Binder<'_> {
    /// The whole array as it is after the assignment. `expr`: the call. Errors: 42804, 0A000.
    pub(super) fn array_assignment(&mut self, function: &ast::Function, place: Place<'_>) -> Result<Bound> {
        let broken = || Error::internal("an assignment to a part of an array that is none");
        let call = ast::Expr::Function(function.clone());
        let (root, chain, value) = subscript_assignment::parts(&call).ok_or_else(broken)?;
        let held = self.expression(root, place)?;
        let mut inner = root;
        while let ast::Expr::Nested(nested) = inner {
            inner = nested;
        }
        self.with_part(held, chain, value, (inner, place))
    }

    /// What is held, with the part replaced that the chain leads to.
    fn with_part(
        &mut self,
        held: Bound,
        chain: &[AccessExpr],
        value: &ast::Expr,
        (root, place): (&ast::Expr, Place<'_>),
    ) -> Result<Bound> {
        match chain {
            [AccessExpr::Dot(ast::Expr::Identifier(field)), inner @ ..] => {
                self.with_field(held, &fold(field), (inner, value), (root, place))
            }
            chain if held.ty == SqlType::Jsonb => self.with_member(held, chain, value, (root, place)),
            chain => match chain
                .iter()
                .position(|access| matches!(access, AccessExpr::Dot(_)))
            {
                None => self.with_item(held, chain, ast_value(value), (root, place)),
                Some(fields) => {
                    // The item as it is, with its part replaced, is the item's new value.
                    let (items, inner) = chain.split_at(fields);
                    let item = self.item_at(held.clone(), items, place)?;
                    let item = self.with_part(item, inner, value, (root, place))?;
                    self.with_item(held, items, PartValue::Bound(item), (root, place))
                }
            },
        }
    }

    /// The row with another value of a field, or of a part of one. Errors: 42703, 42804.
    fn with_field(
        &mut self,
        row: Bound,
        name: &str,
        (inner, value): (&[AccessExpr], &ast::Expr),
        (root, place): (&ast::Expr, Place<'_>),
    ) -> Result<Bound> {
        let column = column_of(root);
        let SqlType::Record(ty) = row.ty.clone() else {
            return Err(no_fields(name, &column, &type_name(&row.ty)));
        };
        let Some(at) = ty.place_of(name) else {
            return Err(no_such_field(name, &column, &ty.name));
        };
        let field_type = ty.fields[at].ty.clone();
        let assigned = match inner {
            [] => {
                let bound = self.expression(value, place)?;
                if !is_assignable(&bound.ty, &field_type) {
                    return Err(Error::DatatypeMismatch {
                        message: format!(
                            "subfield \"{name}\" is of type {} but expression is of type {}",
                            field_type.full_base_name(),
                            type_name(&bound.ty)
                        ),
                        hint: Some("You will need to rewrite or cast the expression.".to_string()),
                    });
                }
                self.convert(bound, &field_type, CastContext::Explicit)?
            }
            inner => {
                let held = self.field_at(row.clone(), at)?;
                let part = self.with_part(held, inner, value, (root, place))?;
                self.convert(part, &field_type, CastContext::Explicit)?
            }
        };
        let mut columns = Vec::with_capacity(ty.fields.len());
        for (other, field) in ty.fields.iter().enumerate() {
            let bound = match other == at {
                true => assigned.clone(),
                false => self.field_at(row.clone(), other)?,
            };
            columns.push((field.name.clone(), bound));
        }
        self.row_of_columns(columns, Some(ty))
    }

    /// The document with another value at a path: `SET doc['a'] = '1'`. Errors: 42804.
    fn with_member(
        &mut self,
        document: Bound,
        chain: &[AccessExpr],
        value: &ast::Expr,
        (root, place): (&ast::Expr, Place<'_>),
    ) -> Result<Bound> {
        let mut path = Vec::with_capacity(chain.len());
        for access in chain {
            let AccessExpr::Subscript(Subscript::Index { index }) = access else {
                return Err(Error::DatatypeMismatch {
                    message: "jsonb subscript does not support slices".to_string(),
                    hint: None,
                });
            };
            let index = self.expression(index, place)?;
            path.push(self.convert(index, &SqlType::Text, CastContext::Explicit)?);
        }
        let bound = self.expression(value, place)?;
        if !matches!(bound.ty, SqlType::Jsonb | SqlType::Unknown | SqlType::Void) {
            return Err(Error::DatatypeMismatch {
                message: format!(
                    "subscripted assignment to \"{}\" requires type jsonb but expression is of type {}",
                    column_of(root),
                    type_name(&bound.ty)
                ),
                hint: Some("You will need to rewrite or cast the expression.".to_string()),
            });
        }
        let value = self.convert(bound, &SqlType::Jsonb, CastContext::Implicit)?;
        let texts = SqlType::array(SqlType::Text);
        let items = path.into_iter().map(|item| (item.expr, item.ty)).collect();
        let definition = ("array", functions::MAKE_ARRAY, false, Volatility::Immutable);
        let path = Bound::new(
            tree::call(definition, items, texts.clone(), &self.settings),
            texts,
        );
        self.resolve_function("jsonb_assign", vec![document, path, value])
    }

    /// The item of an array that subscripts lead to. Errors: 42804.
    fn item_at(&mut self, array: Bound, items: &[AccessExpr], place: Place<'_>) -> Result<Bound> {
        let subscripts = items.iter().filter_map(|access| match access {
            AccessExpr::Subscript(subscript) => Some(subscript),
            AccessExpr::Dot(_) => None,
        });
        let subscripts: Vec<&Subscript> = subscripts.collect();
        self.subscripted(array, &subscripts, place)
    }

    /// The array with another item or slice. Errors: 42804, 0A000.
    fn with_item(
        &mut self,
        array: Bound,
        chain: &[AccessExpr],
        value: PartValue<'_>,
        (root, place): (&ast::Expr, Place<'_>),
    ) -> Result<Bound> {
        let Some(item) = array
            .ty
            .item_type()
            .filter(|_| matches!(array.ty, SqlType::Array(_)))
        else {
            return Err(Error::DatatypeMismatch {
                message: format!(
                    "cannot subscript type {} because it does not support subscripting",
                    type_name(&array.ty)
                ),
                hint: None,
            });
        };
        let is_slice = chain.iter().any(is_slice);
        let held = widest(&array.ty);
        check_dimension_count(chain.len())?;
        let taken = match is_slice {
            true => held.clone(),
            false => widest(item.innermost()),
        };
        let value = match value {
            PartValue::Written(value) => self.assigned_part(value, &taken, root, place)?,
            PartValue::Bound(bound) => self.convert(bound, &taken, CastContext::Implicit)?,
        };
        let array = self.convert(array, &held, CastContext::Implicit)?;
        let mut arguments = vec![(array.expr, held.clone()), (value.expr, taken)];
        for access in chain {
            for limit in self.limits(access, place)? {
                arguments.push((limit.expr, limit.ty));
            }
        }
        let definition = (
            "array_assignment",
            functions::ASSIGN_PART,
            false,
            Volatility::Immutable,
        );
        Ok(Bound::new(
            tree::call(definition, arguments, held.clone(), &self.settings),
            held,
        ))
    }

    /// The value as one of the type that the part holds. Errors: 42804.
    fn assigned_part(
        &mut self,
        value: &ast::Expr,
        taken: &SqlType,
        root: &ast::Expr,
        place: Place<'_>,
    ) -> Result<Bound> {
        let bound = self.expression(value, place)?;
        if !is_assignable(&bound.ty, taken) {
            return Err(Error::DatatypeMismatch {
                message: format!(
                    "subscripted assignment to \"{}\" requires type {} but expression is of type {}",
                    column_of(root),
                    type_name(taken),
                    type_name(&bound.ty)
                ),
                hint: Some("You will need to rewrite or cast the expression.".to_string()),
            });
        }
        self.convert(bound, taken, CastContext::Explicit)
    }

    /// What says how a dimension is given, and its two limits.
    fn limits(&mut self, access: &AccessExpr, place: Place<'_>) -> Result<[Bound; 3]> {
        let mut limit = |expr: Option<&ast::Expr>| match expr {
            Some(expr) => {
                let bound = self.expression(expr, place)?;
                self.convert(bound, &SqlType::Int4, CastContext::Implicit)
            }
            None => Bound::constant(&Value::Null, SqlType::Int4),
        };
        let (form, low, high) = match access {
            AccessExpr::Subscript(Subscript::Index { index }) => (INDEX, limit(None)?, limit(Some(index))?),
            AccessExpr::Subscript(Subscript::Slice {
                lower_bound,
                upper_bound,
                stride: None,
            }) => {
                let mut form = SLICE;
                form |= if lower_bound.is_none() { LOW_OPEN } else { 0 };
                form |= if upper_bound.is_none() { HIGH_OPEN } else { 0 };
                (form, limit(lower_bound.as_ref())?, limit(upper_bound.as_ref())?)
            }
            _ => return Err(Error::unsupported("a slice with a stride", None)),
        };
        Ok([Bound::constant(&Value::Int(form), SqlType::Int4)?, low, high])
    }
}

/// What a part is assigned.
enum PartValue<'a> {
    Written(&'a ast::Expr),
    /// A part of it was assigned.
    Bound(Bound),
}

fn ast_value(value: &ast::Expr) -> PartValue<'_> {
    PartValue::Written(value)
}

/// The column that an assignment to a part names.
fn column_of(root: &ast::Expr) -> String {
    match root {
        ast::Expr::CompoundIdentifier(names) => {
            names.last().map(|name| name.value.clone()).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// The type without the length and scale of its items: they are checked when the column is given the whole array.
fn widest(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Array(item) => item.map(widest),
        SqlType::Char(_) => SqlType::Text,
        ty => base(ty),
    }
}

/// 42804: a field of a column whose type has none.
pub(crate) fn no_fields(field: &str, column: &str, ty: &str) -> Error {
    Error::DatatypeMismatch {
        message: format!(
            "cannot assign to field \"{field}\" of column \"{column}\" because its type {ty} is not a composite type"
        ),
        hint: None,
    }
}

/// 42703: a field that the type of the column has not.
pub(crate) fn no_such_field(field: &str, column: &str, ty: &str) -> Error {
    Error::DataException {
        state: "42703",
        message: format!(
            "cannot assign to field \"{field}\" of column \"{column}\" because there is no such column in data type {ty}"
        ),
    }
}
