//! `TABLESAMPLE BERNOULLI (p)` and `SYSTEM (p)`: each row is taken by chance, by that of its key where REPEATABLE says so. (There are no pages
//! as PostgreSQL has them, so SYSTEM takes single rows, too.)

use sqlparser::ast;

use super::binder::{Binder, Clause, Place, fault};
use super::from_item::FromItem;
use super::row_origin::RowOrigin;
use super::scope::{Outer, Scope, ScopeRelation};
use crate::error::StatementFault;
use crate::parse::parse_expression;
use crate::parse::quoting::quote_ident;
use crate::system::pg_catalog::TABLE_OID;
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
        let percent = percent(sample)?;
        let chance = match &sample.seed {
            None => "random() * 100.0::float8".to_string(),
            Some(seed) => chance_of_key(&item.scope, &seed.value.value)?,
        };
        let condition = parse_expression(&format!("{chance} < {percent:?}::float8"))
            .map_err(|error| Error::internal(format!("no condition of a sample: {error}")))?;
        let place = Place {
            scope: &item.scope,
            outer,
            clause: Clause::Where,
            windows: &[],
        };
        let condition = self.condition(&condition, place)?;
        let plan = self.filter(item.plan, condition)?;
        Ok(FromItem {
            plan,
            scope: item.scope,
        })
    }
}

/// The percentage of a sample. Errors: 2202H, 42601 for another dialect's words, 0A000 for what is no constant.
fn percent(sample: &ast::TableSample) -> Result<f64> {
    let is_method = matches!(
        sample.name,
        Some(ast::TableSampleMethod::Bernoulli | ast::TableSampleMethod::System)
    );
    let Some(quantity) = sample.quantity.as_ref().filter(|quantity| {
        is_method && quantity.parenthesized && quantity.unit.is_none() && sample.offset.is_none()
    }) else {
        return Err(Error::Syntax {
            message: "syntax error at or near \"tablesample\"".to_string(),
            position: 0,
        });
    };
    let invalid = |message: &str| {
        Err(Error::DataException {
            state: "2202H",
            message: message.to_string(),
        })
    };
    match constant(&quantity.value) {
        None => Err(Error::unsupported(
            "a percentage of TABLESAMPLE that is no constant",
            Some("Write the number, or WHERE random() < expression."),
        )),
        Some(None) => invalid("TABLESAMPLE parameter cannot be null"),
        Some(Some(percent)) if (0.0..=100.0).contains(&percent) => Ok(percent),
        Some(Some(_)) => invalid("sample percentage must be between 0 and 100"),
    }
}

/// A number that is written out; within: `None` for NULL.
fn constant(expr: &ast::Expr) -> Option<Option<f64>> {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Null => Some(None),
            ast::Value::Number(text, _) | ast::Value::SingleQuotedString(text) => text.parse().ok().map(Some),
            _ => None,
        },
        ast::Expr::Nested(inner) | ast::Expr::Cast { expr: inner, .. } => constant(inner),
        ast::Expr::UnaryOp {
            op: ast::UnaryOperator::Minus,
            expr,
        } => constant(expr).map(|number| number.map(|number| -number)),
        _ => None,
    }
}

/// A number from 0 to 100 that each row's key has with a seed. Errors: 0A000 for rows that no key tells apart.
fn chance_of_key(scope: &Scope, seed: &ast::Value) -> Result<String> {
    let ast::Value::Number(seed, _) = seed else {
        return Err(Error::unsupported(
            "REPEATABLE of what is no number",
            Some("Write the number."),
        ));
    };
    let seed = seed.parse().unwrap_or(0.0_f64).to_bits() >> 2;
    let key = scope.relations.first().and_then(key_text).ok_or_else(|| {
        Error::unsupported(
            "REPEATABLE of a table without a key",
            Some("Give the table a primary key, or leave REPEATABLE out."),
        )
    })?;
    // 53 bits of a hash, as many as a double has.
    Ok(format!(
        "(hashtextextended({key}, {seed}) & 9007199254740991)::float8 * (100.0::float8 / 9007199254740992.0::float8)"
    ))
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
