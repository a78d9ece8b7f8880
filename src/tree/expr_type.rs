//! What type an expression has over a schema, and the field of its output.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};

use super::column::RelationAlias;
use super::expr::{Cast, Expr};
use super::row_schema::{RowSchema, labelled, renamed};
use super::with_stack;
use crate::{Error, Result};

impl Expr {
    /// Its type. Errors: it does not fit the schema.
    pub fn get_type(&self, schema: &RowSchema) -> Result<DataType> {
        with_stack(|| match self {
            Expr::Alias(alias) => alias.expr.get_type(schema),
            Expr::Column(column) => Ok(schema.field_from_column(column)?.data_type().clone()),
            Expr::OuterReferenceColumn(field, _) => Ok(field.data_type().clone()),
            Expr::Literal(value, _) => Ok(value.data_type()),
            Expr::Placeholder(placeholder) => Ok(placeholder
                .field
                .as_ref()
                .map_or(DataType::Null, |field| field.data_type().clone())),
            Expr::Let(kept) => kept.body.get_type(schema),
            Expr::Fold(fold) => fold.step.get_type(schema),
            Expr::LetValue(value) => Ok(value.field.data_type().clone()),
            Expr::Cast(cast) => Ok(cast.ty.clone()),
            Expr::Case(case) => {
                for (_, then) in &case.when_then_expr {
                    let ty = then.get_type(schema)?;
                    if !ty.is_null() {
                        return Ok(ty);
                    }
                }
                case.else_expr
                    .as_ref()
                    .map_or(Ok(DataType::Null), |expr| expr.get_type(schema))
            }
            Expr::BinaryExpr(binary) if !binary.op.is_condition() => binary.left.get_type(schema),
            Expr::ScalarFunction(call) => Ok(call.func.returns().arrow_type()),
            Expr::AggregateFunction(_) | Expr::WindowFunction(_) => {
                Ok(self.own_field(schema)?.data_type().clone())
            }
            Expr::ScalarSubquery(subquery) => Ok(subquery.subquery.schema().field(0).data_type().clone()),
            Expr::Unnest(unnest) => match unnest.expr.get_type(schema)? {
                DataType::List(item) => Ok(item.data_type().clone()),
                _ => Err(Error::internal("rows of what is no array")),
            },
            Expr::GroupingSets(_) => Ok(DataType::Null),
            _ => Ok(DataType::Boolean),
        })
    }

    /// Whether it may be NULL. Errors: it does not fit the schema.
    pub fn nullable(&self, schema: &RowSchema) -> Result<bool> {
        with_stack(|| match self {
            Expr::Alias(alias) => alias.expr.nullable(schema),
            Expr::Not(inner) => inner.nullable(schema),
            Expr::Cast(cast) => cast.expr.nullable(schema),
            Expr::Column(column) => Ok(schema.field_from_column(column)?.is_nullable()),
            Expr::OuterReferenceColumn(field, _) => Ok(field.is_nullable()),
            Expr::Literal(value, _) => Ok(value.is_null()),
            Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::TruthTest(_) | Expr::Exists(_) => Ok(false),
            Expr::BinaryExpr(binary) => Ok(binary.left.nullable(schema)? || binary.right.nullable(schema)?),
            Expr::Like(like) => Ok(like.expr.nullable(schema)? || like.pattern.nullable(schema)?),
            Expr::InList(list) => any_nullable(std::iter::once(&*list.expr).chain(&list.list), schema),
            Expr::Case(case) => {
                let Some(otherwise) = &case.else_expr else {
                    return Ok(true);
                };
                let branches = case.when_then_expr.iter().map(|(_, then)| &**then);
                any_nullable(branches.chain([&**otherwise]), schema)
            }
            Expr::Let(kept) => kept.body.nullable(schema),
            Expr::Fold(_) => Ok(true),
            Expr::LetValue(value) => Ok(value.field.is_nullable()),
            Expr::InSubquery(test) => {
                let found = test.subquery.subquery.schema();
                let found = found.fields().first().is_some_and(|field| field.is_nullable());
                Ok(found || test.expr.nullable(schema)?)
            }
            Expr::ScalarSubquery(subquery) => Ok(subquery.subquery.schema().field(0).is_nullable()),
            Expr::AggregateFunction(_) | Expr::WindowFunction(_) => Ok(self.own_field(schema)?.is_nullable()),
            Expr::ScalarFunction(_) | Expr::Placeholder(_) | Expr::Unnest(_) | Expr::GroupingSets(_) => {
                Ok(true)
            }
        })
    }

    /// The column that it becomes as an output: of which relation, and its field. Errors: it does not fit the schema.
    pub fn to_field(&self, schema: &RowSchema) -> Result<(Option<RelationAlias>, FieldRef)> {
        if let Expr::Column(column) = self {
            let field = Arc::clone(schema.field_from_column(column)?);
            return Ok((column.relation.clone(), field));
        }
        let (relation, name) = self.qualified_name();
        Ok((relation, renamed(&self.own_field(schema)?, &name)))
    }

    /// Its field, whatever that is called.
    fn own_field(&self, schema: &RowSchema) -> Result<FieldRef> {
        with_stack(|| match self {
            Expr::Alias(alias) => {
                let field = alias.expr.own_field(schema)?;
                let metadata = alias.metadata.as_ref();
                Ok(labelled(&field, metadata.map(|metadata| metadata.inner())))
            }
            Expr::Column(column) => schema.field_from_column(column).cloned(),
            Expr::OuterReferenceColumn(field, _) => Ok(Arc::clone(field)),
            Expr::Let(kept) => kept.body.own_field(schema),
            Expr::Fold(fold) => fold.step.own_field(schema),
            Expr::LetValue(value) => Ok(Arc::clone(&value.field)),
            Expr::Literal(value, metadata) => {
                let field = Arc::new(Field::new("", value.data_type(), value.is_null()));
                let metadata = metadata.as_ref();
                Ok(labelled(&field, metadata.map(|metadata| metadata.inner())))
            }
            Expr::Placeholder(placeholder) if let Some(field) = &placeholder.field => Ok(Arc::clone(field)),
            Expr::ScalarFunction(call) => Ok(call.field()),
            Expr::ScalarSubquery(subquery) => Ok(Arc::clone(subquery.subquery.schema().field(0))),
            Expr::Cast(Cast { expr, ty }) => {
                let field = expr.own_field(schema)?;
                Ok(Arc::new(field.as_ref().clone().with_data_type(ty.clone())))
            }
            Expr::AggregateFunction(call) => Ok(call.func.field(&fields(&call.params.args, schema)?)),
            Expr::WindowFunction(call) => Ok(call.fun.field(&fields(&call.params.args, schema)?, "")),
            other => Ok(Arc::new(Field::new(
                "",
                other.get_type(schema)?,
                other.nullable(schema)?,
            ))),
        })
    }
}

fn fields(exprs: &[Expr], schema: &RowSchema) -> Result<Vec<FieldRef>> {
    exprs.iter().map(|expr| expr.own_field(schema)).collect()
}

fn any_nullable<'a>(mut exprs: impl Iterator<Item = &'a Expr>, schema: &RowSchema) -> Result<bool> {
    exprs.try_fold(false, |found, expr| Ok(found || expr.nullable(schema)?))
}
