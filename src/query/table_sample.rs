//! `TABLESAMPLE BERNOULLI (p)` and `SYSTEM (p)`: each row is taken by chance, by that of its key where REPEATABLE says so. (There are no pages
//! as PostgreSQL has them, so SYSTEM takes single rows, too.)

use sqlparser::ast;

use super::binder::{Binder, Bound, Place, fault};
use super::coercion::{CastContext, is_assignable, type_name};
use super::from_item::FromItem;
use super::row_origin::RowOrigin;
use super::scope::{Outer, Scope, ScopeRelation};
use crate::error::StatementFault;
use crate::functions::{self, Body, Volatility};
use crate::parse::parse_expression;
use crate::parse::quoting::quote_ident;
use crate::system::pg_catalog::TABLE_OID;
use crate::tree::{self, Operator};
use crate::types::SqlType;
use crate::{Error, Result};

impl Binder<'_> {
    /// The rows of a sample of a table. Errors: 0A000 for another relation, 2202H for what is no percentage.
    pub(super) fn sampled(
        &mut self,
        item: FromItem,
        sample: Option<&ast::TableSampleKind>,
        outer: Option<&Outer<'_>>,
    ) -> Result<FromItem> {
        let Some(
            ast::TableSampleKind::BeforeTableAlias(sample) | ast::TableSampleKind::AfterTableAlias(sample),
        ) = sample
        else {
            return Ok(item);
        };
        // Of a partitioned table the rows of its partitions are.
        let is_of_table = |relation: &ScopeRelation| {
            let is_own = matches!(relation.origin, RowOrigin::Table(_));
            is_own || relation.hidden.iter().any(|column| column.name == TABLE_OID)
        };
        let is_table = matches!(item.scope.relations.as_slice(), [relation] if is_of_table(relation));
        if !is_table {
            let message = "TABLESAMPLE clause can only be applied to tables and materialized views";
            return Err(fault(StatementFault::NotImplemented, message));
        }
        // What its parameters are, no row tells.
        let nothing = Scope::default();
        let place = Self::item_place(&nothing, outer);
        let percentage = self.sample_parameter(quantity(sample)?, ("TABLESAMPLE", SqlType::Float4), place)?;
        let definition = ("sample_percentage", functions::SAMPLE_PERCENTAGE);
        let percentage = self.sample_call(definition, vec![percentage]);
        let chance = match &sample.seed {
            None => self.expression(&parsed("random() * 100.0::float8")?, place)?,
            Some(seed) => {
                let key = parsed(&key_of_rows(&item.scope)?)?;
                let key = self.expression(&key, Self::item_place(&item.scope, outer))?;
                let seed = ast::Expr::Value(seed.value.clone());
                let seed = self.sample_parameter(&seed, ("REPEATABLE", SqlType::Float8), place)?;
                let definition = ("sample_chance", functions::SAMPLE_CHANCE);
                self.sample_call(definition, vec![key, seed])
            }
        };
        let condition = self.compare(Operator::Lt, chance, percentage)?.expr;
        let plan = self.filter(item.plan, condition)?;
        Ok(FromItem {
            plan,
            scope: item.scope,
        })
    }

    /// The percentage, or the seed, as a double. Errors: 42804 for what is no number.
    fn sample_parameter(
        &mut self,
        parameter: &ast::Expr,
        (words, ty): (&str, SqlType),
        place: Place<'_>,
    ) -> Result<Bound> {
        let parameter = self.expression(parameter, place)?;
        if !is_assignable(&parameter.ty, &ty) {
            return Err(Error::DatatypeMismatch {
                message: format!(
                    "argument of {words} must be type {}, not type {}",
                    type_name(&ty),
                    type_name(&parameter.ty)
                ),
                hint: None,
            });
        }
        let parameter = self.convert(parameter, &ty, CastContext::Implicit)?;
        self.convert(parameter, &SqlType::Float8, CastContext::Implicit)
    }

    fn sample_call(&self, (name, body): (&str, Body), arguments: Vec<Bound>) -> Bound {
        let arguments = arguments.into_iter().map(|argument| (argument.expr, argument.ty));
        let definition = (name, body, false, Volatility::Immutable);
        let call = tree::call(definition, arguments.collect(), SqlType::Float8, &self.settings);
        Bound::new(call, SqlType::Float8)
    }
}

/// The percentage of a sample. Errors: 42601 for another dialect's words.
fn quantity(sample: &ast::TableSample) -> Result<&ast::Expr> {
    let is_method = matches!(
        sample.name,
        Some(ast::TableSampleMethod::Bernoulli | ast::TableSampleMethod::System)
    );
    let quantity = sample.quantity.as_ref().filter(|quantity| {
        is_method && quantity.parenthesized && quantity.unit.is_none() && sample.offset.is_none()
    });
    let quantity = quantity.ok_or_else(|| Error::Syntax {
        message: "syntax error at or near \"tablesample\"".to_string(),
        position: 0,
    })?;
    Ok(&quantity.value)
}

fn parsed(text: &str) -> Result<ast::Expr> {
    parse_expression(text).map_err(|error| Error::internal(format!("no part of a sample: {error}")))
}

/// What tells the rows of a table apart, as text. Errors: 0A000 for rows that no key does.
fn key_of_rows(scope: &Scope) -> Result<String> {
    let key = scope.relations.first().and_then(key_text);
    key.ok_or_else(|| {
        Error::unsupported(
            "REPEATABLE of a table without a key",
            Some("Give the table a primary key, or leave REPEATABLE out."),
        )
    })
}

/// What tells the rows of a table apart, as text.
fn key_text(relation: &ScopeRelation) -> Option<String> {
    let of = quote_ident(&relation.name);
    let columns = relation.key.iter().map(|at| relation.columns.get(*at));
    let columns: Option<Vec<String>> = columns
        .map(|column| Some(format!("{of}.{}", quote_ident(&column?.name))))
        .collect();
    match (columns?, &relation.origin) {
        (columns, _) if !columns.is_empty() => Some(format!("ROW({})::text", columns.join(", "))),
        (_, RowOrigin::Table(Some(_))) => Some(format!("{of}.ctid::text")),
        _ => None,
    }
}
