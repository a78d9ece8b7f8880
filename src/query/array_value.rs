//! Arrays in expressions: constructors, subscripts, slices, and what stands behind a value in such.

use sqlparser::ast;

use super::binder::{Binder, Bound, Place, fault, fold};
use super::bound::declare_alike;
use super::coercion::{CastContext, type_name};
use crate::error::StatementFault;
use crate::functions;
use crate::functions::Volatility;
use crate::parse::row_expansion::row_expanded;
use crate::tree;
use crate::types::{ArrayValue, SqlType, Value, check_dimension_count, element_type};
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
        let item = item.innermost();
        let array = SqlType::array(item.clone());
        if items.is_empty() {
            return Bound::constant(&Value::Array(ArrayValue::default()), array);
        }
        let holds_arrays = items.iter().any(|item| matches!(item, ast::Expr::Array(_)));
        let cast = |written: &ast::Expr| {
            if let ast::Expr::Array(inner) = written {
                return self.array_cast_to(&inner.elem, item, place);
            }
            let bound = self.expression(written, place)?;
            let target = match bound.ty {
                SqlType::Array(_) => array.clone(),
                // A literal beside arrays is one.
                SqlType::Unknown if holds_arrays => array.clone(),
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
        let holds_arrays = matches!(item, SqlType::Array(_));
        let ty = match holds_arrays {
            true => item,
            false => SqlType::array(item),
        };
        let values = items
            .iter()
            .map(Bound::literal)
            .collect::<Result<Option<Vec<Value>>>>()?;
        // What makes no array fails where it is asked for.
        if let Some(values) = values
            && let Ok(array) = functions::array_items(&values, holds_arrays)
        {
            return Ok(Bound {
                is_declared,
                ..Bound::constant(&Value::Array(array), ty)?
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
        let mut rest = chain;
        while let Some((access, behind)) = rest.split_first() {
            rest = behind;
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
            let mut subscripts = vec![subscript];
            while let Some((ast::AccessExpr::Subscript(next), behind)) = rest.split_first() {
                subscripts.push(next);
                rest = behind;
            }
            bound = self.subscripted(bound, &subscripts, place)?;
        }
        Ok(bound)
    }

    /// What subscripts lead to, all that stand side by side: an item, or a part of the array where one of them is a slice. Errors: 42804,
    /// 54000.
    pub(super) fn subscripted(
        &mut self,
        array: Bound,
        subscripts: &[&ast::Subscript],
        place: Place<'_>,
    ) -> Result<Bound> {
        let item = subscripted_item(&array.ty)?;
        check_dimension_count(subscripts.len())?;
        let is_slice = subscripts
            .iter()
            .any(|subscript| matches!(subscript, ast::Subscript::Slice { .. }));
        let (is_declared, ty) = (array.is_declared, array.ty.clone());
        let mut arguments = vec![(array.expr, array.ty)];
        let first = ast::Expr::value(ast::Value::Number("1".to_string(), false));
        for subscript in subscripts {
            // A limit that is not written is beyond what an array can have.
            let limits = match subscript {
                ast::Subscript::Index { index } if is_slice => [(Some(&first), 0), (Some(index), 0)].to_vec(),
                ast::Subscript::Index { index } => vec![(Some(index), 0)],
                ast::Subscript::Slice {
                    lower_bound,
                    upper_bound,
                    stride: None,
                } => [(lower_bound.as_ref(), i32::MIN), (upper_bound.as_ref(), i32::MAX)].to_vec(),
                ast::Subscript::Slice { .. } => {
                    return Err(Error::unsupported("a slice with a stride", None));
                }
            };
            for (limit, beyond) in limits {
                let limit = match limit {
                    Some(limit) => self.expression(limit, place)?,
                    None => Bound::constant(&Value::Int(i64::from(beyond)), SqlType::Int4)?,
                };
                let limit = self.convert(limit, &SqlType::Int4, CastContext::Implicit)?;
                arguments.push((limit.expr, limit.ty));
            }
        }
        let (name, body, ty) = match is_slice {
            true => ("slice", functions::SLICE, ty),
            false => ("subscript", functions::SUBSCRIPT, item),
        };
        let definition = (name, body, true, Volatility::Immutable);
        let part = tree::call(definition, arguments, ty.clone(), &self.settings);
        Ok(Bound {
            is_declared: is_declared && !is_slice,
            ..Bound::new(part, ty)
        })
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

    /// The items of an array as a list.
    pub(super) fn items_of(&self, array: Bound) -> Bound {
        if array.ty.is_list() {
            return array;
        }
        let list = SqlType::list(element_type(&array.ty).clone());
        let definition = ("items", functions::ITEMS, true, Volatility::Immutable);
        let arguments = vec![(array.expr, array.ty)];
        Bound::new(
            tree::call(definition, arguments, list.clone(), &self.settings),
            list,
        )
    }
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
