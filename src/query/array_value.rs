//! Arrays in expressions: constructors, subscripts, slices, and what stands behind a value in such.

use sqlparser::ast;

use super::binder::{Binder, Bound, Place, fault, fold};
use super::bound::declare_alike;
use super::coercion::{CastContext, null_of, type_name};
use crate::error::StatementFault;
use crate::functions;
use crate::functions::Volatility;
use crate::parse::row_expansion::row_expanded;
use crate::tree;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

impl Binder<'_> {
    /// An array constructor.
    pub(super) fn array(&mut self, items: &[ast::Expr], place: Place<'_>) -> Result<Bound> {
        if items.is_empty() {
            return Err(fault(
                StatementFault::IndeterminateDatatype,
                "cannot determine type of empty array",
            ));
        }
        let items = items
            .iter()
            .map(|item| self.expression(item, place))
            .collect::<Result<Vec<_>>>()?;
        self.array_of(items)
    }

    /// An array constructor that is cast to arrays of a type: each item is, where it stands.
    pub(super) fn array_cast_to(
        &mut self,
        items: &[ast::Expr],
        item: &SqlType,
        place: Place<'_>,
    ) -> Result<Bound> {
        // The constructors say how many dimensions there are.
        let item = item.innermost();
        let array = SqlType::Array(Box::new(item.clone()));
        if items.is_empty() {
            return Bound::constant(&Value::Array(Vec::new()), array);
        }
        let cast = |written: &ast::Expr| {
            if let ast::Expr::Array(inner) = written {
                return self.array_cast_to(&inner.elem, item, place);
            }
            let bound = self.expression(written, place)?;
            let target = match bound.ty {
                SqlType::Array(_) => array.clone(),
                _ => item.clone(),
            };
            self.cast_bound(bound, target)
        };
        let items = items.iter().map(cast).collect::<Result<Vec<_>>>()?;
        self.array_of(items)
    }

    /// The array of these items, which are brought to one type.
    fn array_of(&mut self, items: Vec<Bound>) -> Result<Bound> {
        let item = self.common_type_of("ARRAY", &items)?;
        let is_declared = declare_alike(&items, &item);
        let items = items
            .into_iter()
            .map(|bound| self.convert(bound, &item, CastContext::Implicit))
            .collect::<Result<Vec<_>>>()?;
        let ty = SqlType::Array(Box::new(item));
        let values = items
            .iter()
            .map(Bound::literal)
            .collect::<Result<Option<Vec<Value>>>>()?;
        if let Some(values) = values {
            let holds_arrays = matches!(ty.item_type(), Some(SqlType::Array(_)));
            let values = functions::array_items(&values, holds_arrays)?;
            return Ok(Bound {
                is_declared,
                ..Bound::constant(&Value::Array(values), ty)?
            });
        }
        let arguments = items.into_iter().map(|bound| (bound.expr, bound.ty)).collect();
        let definition = ("array", functions::MAKE_ARRAY, false, Volatility::Immutable);
        let array = tree::call(definition, arguments, ty.clone(), &self.settings);
        Ok(Bound {
            is_declared,
            ..Bound::new(array, ty)
        })
    }

    /// A member of a document: `doc['a']`, `doc[0]`. Errors: 42804.
    fn member(&mut self, document: Bound, subscript: &ast::Subscript, place: Place<'_>) -> Result<Bound> {
        let mismatch = |message: String, hint: Option<&str>| Error::DatatypeMismatch {
            message,
            hint: hint.map(str::to_string),
        };
        let ast::Subscript::Index { index } = subscript else {
            let message = "jsonb subscript does not support slices";
            return Err(mismatch(message.to_string(), None));
        };
        let index = self.expression(index, place)?;
        let is_taken =
            index.ty.is_string() || matches!(index.ty, SqlType::Int2 | SqlType::Int4 | SqlType::Unknown);
        if !is_taken {
            return Err(mismatch(
                format!("subscript type {} is not supported", type_name(&index.ty)),
                Some("jsonb subscript must be coercible to either integer or text."),
            ));
        }
        let index = self.convert(index, &SqlType::Text, CastContext::Explicit)?;
        self.resolve_function("jsonb_extract_path", vec![document, index])
    }

    pub(super) fn field_access(
        &mut self,
        root: &ast::Expr,
        chain: &[ast::AccessExpr],
        place: Place<'_>,
    ) -> Result<Bound> {
        let all = ast::Expr::CompoundFieldAccess {
            root: Box::new(root.clone()),
            access_chain: chain.to_vec(),
        };
        if let Some(row) = row_expanded(&all) {
            // Where there is no list to expand it in, it is the row itself.
            return self.expression(&row, place);
        }
        if let [ast::AccessExpr::Dot(ast::Expr::Identifier(field))] = chain {
            return self.record_field(root, &fold(field), place);
        }
        let (mut bound, chain) = match leading_names(root, chain) {
            Some((name, count)) => (self.expression(&name, place)?, &chain[count..]),
            None => (self.expression(root, place)?, chain),
        };
        if bound.is_unwritten() {
            // An array or a document, once it is written.
            return Ok(bound);
        }
        let is_indexed = |access: &ast::AccessExpr| {
            matches!(access, ast::AccessExpr::Subscript(ast::Subscript::Index { .. }))
        };
        let leads_to_item = chain.iter().all(is_indexed) && !chain.is_empty();
        let mut sliced = 0;
        for (at, access) in chain.iter().enumerate() {
            let subscript = match access {
                ast::AccessExpr::Subscript(subscript) => subscript,
                ast::AccessExpr::Dot(ast::Expr::Identifier(field)) => {
                    bound = self.field_named(bound, &fold(field))?;
                    continue;
                }
                ast::AccessExpr::Dot(other) => {
                    return Err(Error::unsupported(format!("the field {other}"), None));
                }
            };
            if let (
                ast::Subscript::Index { index },
                SqlType::Int2Vector | SqlType::Name | SqlType::Catalog(_),
            ) = (subscript, &bound.ty)
            {
                // The vectors of the catalogs count from 0.
                let index = self.expression(index, place)?;
                bound = self.resolve_function("array_subscript", vec![bound, index])?;
                continue;
            }
            if bound.ty == SqlType::Jsonb {
                bound = self.member(bound, subscript, place)?;
                continue;
            }
            let item = subscripted_item(&bound.ty)?;
            bound = match subscript {
                // Beside a slice, an index is the end of one that begins at 1.
                ast::Subscript::Index { index } if stands_beside_slice(chain, at) => {
                    let first = ast::Expr::value(ast::Value::Number("1".to_string(), false));
                    sliced += 1;
                    self.slice(bound, [&Some(first), &Some(index.clone())], sliced - 1, place)?
                }
                ast::Subscript::Index { index } => self.subscripted(bound, index, item, place)?,
                ast::Subscript::Slice {
                    lower_bound,
                    upper_bound,
                    stride: None,
                } => {
                    sliced += 1;
                    self.slice(bound, [lower_bound, upper_bound], sliced - 1, place)?
                }
                ast::Subscript::Slice { .. } => {
                    return Err(Error::unsupported("a slice with a stride", None));
                }
            };
        }
        match leads_to_item {
            // Fewer subscripts than dimensions lead to nothing.
            true if matches!(bound.ty, SqlType::Array(_)) => {
                let ty = bound.ty.innermost().clone();
                Ok(Bound::new(null_of(&ty)?, ty))
            }
            _ => Ok(bound),
        }
    }

    /// `a[index]`.
    fn subscripted(
        &mut self,
        array: Bound,
        index: &ast::Expr,
        item: SqlType,
        place: Place<'_>,
    ) -> Result<Bound> {
        let index = self.expression(index, place)?;
        let index = self.convert(index, &SqlType::Int4, CastContext::Implicit)?;
        Ok(self.element_at(array, index, item))
    }

    /// The item of an array at a place, an integer.
    pub(super) fn element_at(&self, array: Bound, index: Bound, item: SqlType) -> Bound {
        let definition = ("subscript", functions::SUBSCRIPT, true, Volatility::Immutable);
        let is_declared = array.is_declared;
        let arguments = vec![(array.expr, array.ty), (index.expr, index.ty)];
        let value = tree::call(definition, arguments, item.clone(), &self.settings);
        Bound {
            is_declared,
            ..Bound::new(value, item)
        }
    }

    /// `a[low:high]` in a dimension, counted from 0. A limit that is not written is beyond what an array can have; one that is NULL makes
    /// NULL of the slice.
    fn slice(
        &mut self,
        array: Bound,
        limits: [&Option<ast::Expr>; 2],
        dimension: i64,
        place: Place<'_>,
    ) -> Result<Bound> {
        let mut arguments = vec![(array.expr, array.ty.clone())];
        for (limit, beyond) in limits.into_iter().zip([i32::MIN, i32::MAX]) {
            let limit = match limit {
                Some(limit) => self.expression(limit, place)?,
                None => Bound::constant(&Value::Int(i64::from(beyond)), SqlType::Int4)?,
            };
            let limit = self.convert(limit, &SqlType::Int4, CastContext::Implicit)?;
            arguments.push((limit.expr, limit.ty));
        }
        let dimension = Bound::constant(&Value::Int(dimension), SqlType::Int4)?;
        arguments.push((dimension.expr, dimension.ty));
        let definition = ("slice", functions::SLICE, true, Volatility::Immutable);
        Ok(Bound::new(
            tree::call(definition, arguments, array.ty.clone(), &self.settings),
            array.ty,
        ))
    }

    /// An array of one dimension, of the items of one of more.
    pub(super) fn flattened(&self, bound: Bound) -> Bound {
        if !matches!(bound.ty.item_type(), Some(SqlType::Array(_))) {
            return bound;
        }
        let flat = SqlType::Array(Box::new(bound.ty.innermost().clone()));
        let definition = ("flat_array", functions::FLAT, true, Volatility::Immutable);
        let arguments = vec![(bound.expr, bound.ty)];
        Bound::new(
            tree::call(definition, arguments, flat.clone(), &self.settings),
            flat,
        )
    }
}

/// Whether the subscripts that one stands among hold a slice.
fn stands_beside_slice(chain: &[ast::AccessExpr], at: usize) -> bool {
    let is_field = |access: &ast::AccessExpr| matches!(access, ast::AccessExpr::Dot(_));
    let first = chain[..at]
        .iter()
        .rposition(is_field)
        .map_or(0, |field| field + 1);
    let mut together = chain[first..].iter().take_while(|access| !is_field(access));
    together.any(is_slice)
}

pub(super) fn is_slice(access: &ast::AccessExpr) -> bool {
    matches!(access, ast::AccessExpr::Subscript(ast::Subscript::Slice { .. }))
}

/// `a.b` of a chain that starts with names: `tmp.indoption[1]` is parsed as the field `indoption` of `tmp`.
fn leading_names(root: &ast::Expr, chain: &[ast::AccessExpr]) -> Option<(ast::Expr, usize)> {
    let mut idents = match root {
        ast::Expr::Identifier(ident) => vec![ident.clone()],
        ast::Expr::CompoundIdentifier(idents) => idents.clone(),
        _ => return None,
    };
    let before = idents.len();
    idents.extend(chain.iter().map_while(|access| match access {
        ast::AccessExpr::Dot(ast::Expr::Identifier(ident)) => Some(ident.clone()),
        _ => None,
    }));
    let count = idents.len() - before;
    (count > 0).then_some((ast::Expr::CompoundIdentifier(idents), count))
}

/// The type of what a subscript leads to. Errors: 42804.
fn subscripted_item(ty: &SqlType) -> Result<SqlType> {
    ty.item_type().cloned().ok_or_else(|| Error::DatatypeMismatch {
        message: format!(
            "cannot subscript type {} because it does not support subscripting",
            type_name(ty)
        ),
        hint: None,
    })
}
