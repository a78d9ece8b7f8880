//! `RowChecks`: the CHECK constraints of a table as writes ask them: all in one projection, bound with the write's plan. The
//! one place that says whether a row may be as it is.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray, RecordBatch};
use arrow::compute::bool_and;
use sqlparser::ast::{
    self, BinaryOperator, CastKind, Expr, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, SelectItem,
};

use super::default::parse_expression;
use super::generated_columns::settled;
use super::partition_rows::PartitionCheck;
use super::row_expressions::RowExpressions;
use crate::catalog::{CheckConstraint, ColumnDef, TableDef, TypeDef};
use crate::query::type_name::name_by_oid;
use crate::query::{self, Clause, RowColumn, RowQuery, RowRelation};
use crate::system::StatementContext;
use crate::table::{RowPages, require_not_null, row_text};
use crate::{Error, Result};

/// CHECK constraints, bound.
#[derive(Debug, Default)]
pub(super) struct RowChecks {
    /// The names of the constraints, in the order of the projection.
    names: Vec<String>,
    /// A boolean a constraint; `None` without any.
    projection: Option<RowExpressions>,
    /// The columns that it is over: their positions in the table.
    positions: Vec<usize>,
    /// What the table asks as a partition.
    partition: PartitionCheck,
}

impl RowChecks {
    /// All of a table. Errors: those of binding, which were met when they were added.
    pub(super) fn bind(ctx: &StatementContext, table: &TableDef) -> Result<RowChecks> {
        Ok(RowChecks {
            partition: PartitionCheck::of(ctx, table)?,
            ..RowChecks::bind_some(ctx, table, |_| true)?
        })
    }

    /// Some of them.
    pub(super) fn bind_some(
        ctx: &StatementContext,
        table: &TableDef,
        is_wanted: impl Fn(&CheckConstraint) -> bool,
    ) -> Result<RowChecks> {
        let (mut names, mut exprs) = (Vec::new(), Vec::new());
        for check in table.checks.iter().filter(|check| is_wanted(check)) {
            names.push(check.name.clone());
            exprs.push(parse_expression(&check.sql)?);
        }
        // Casts to domains, which fail where these do not hold; what they give is of no use.
        let columns = table.visible_columns();
        exprs.extend(columns.filter_map(domain_cast));
        RowChecks::of(ctx, table, names, exprs)
    }

    /// Conditions over a table's columns, by the names that they are told of.
    pub(super) fn bind_named(
        ctx: &StatementContext,
        table: &TableDef,
        conditions: impl Iterator<Item = (String, Expr)>,
    ) -> Result<RowChecks> {
        let (names, exprs) = conditions.unzip();
        RowChecks::of(ctx, table, names, exprs)
    }

    /// `names`: of the first of the expressions, or of all.
    fn of(
        ctx: &StatementContext,
        table: &TableDef,
        names: Vec<String>,
        exprs: Vec<Expr>,
    ) -> Result<RowChecks> {
        if exprs.is_empty() {
            return Ok(RowChecks::default());
        }
        Ok(RowChecks {
            names,
            projection: Some(bind(ctx, table, exprs)?),
            positions: table.visible_positions(),
            partition: PartitionCheck::default(),
        })
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.projection.is_none()
    }

    /// Which rows are not those of the table, which is a partition; `None`: all are. Errors: 0A000.
    pub(super) fn leaving(&self, rows: &RecordBatch) -> Result<Option<BooleanArray>> {
        self.partition.leaving(rows)
    }

    /// Asks them of rows that views are to show. Errors: 44000 for the first row of which one is not true; those of the expressions.
    pub(super) async fn require_shown(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        rows: &RecordBatch,
    ) -> Result<()> {
        match self.first_broken(ctx, rows, false).await? {
            None => Ok(()),
            Some((row, check)) => Err(Error::CheckOptionViolation {
                view: self.names[check].clone(),
                row: row_text(table, rows, row),
            }),
        }
    }

    /// Whether one of them takes columns that an UPSERT gives together with others that it leaves as they are, so that only the row
    /// that stands says whether it holds.
    pub(super) fn need_standing_rows(&self, table: &TableDef, named: &[bool]) -> bool {
        let is_left = |id| {
            let at = table.column_index_by_id(id);
            !table.is_key_column(id) && at.is_some_and(|at| !named[at])
        };
        let told = table.partition.iter().flat_map(|of| &of.columns);
        let mut columns = table.checks.iter().flat_map(|check| &check.columns).chain(told);
        columns.any(|id| is_left(*id))
    }

    /// Asks them of whole rows, generated columns among them. Errors: 23514 for the first row of which one is false, or that is not the
    /// partition's, 23502 where that or a row before is NULL in a column that may not be; those of the expressions.
    pub(super) async fn require(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        rows: &RecordBatch,
    ) -> Result<()> {
        let leaving = self.partition.first_leaving(rows)?;
        let broken = self.first_broken(ctx, rows, true).await?;
        let first = broken.iter().map(|(row, _)| *row).chain(leaving).min();
        let Some(first) = first else {
            return Ok(());
        };
        require_not_null(table, rows, first + 1)?;
        let Some((row, check)) = broken.filter(|(row, _)| *row == first) else {
            return Err(PartitionCheck::violation(table, rows, first));
        };
        Err(Error::CheckViolation {
            schema: table.schema.clone(),
            table: table.name.clone(),
            constraint: self.names[check].clone(),
            row: row_text(table, rows, row),
        })
    }

    /// The first row of which one is false, and which. `keeps_null`: NULL is not false.
    async fn first_broken(
        &self,
        ctx: &StatementContext,
        rows: &RecordBatch,
        keeps_null: bool,
    ) -> Result<Option<(usize, usize)>> {
        let Some(projection) = &self.projection else {
            return Ok(None);
        };
        if rows.num_rows() == 0 {
            return Ok(None);
        }
        let rows = rows.project(&self.positions).map_err(Error::arrow)?;
        let results = projection.evaluate(ctx, &rows).await?.batch;
        let results: Vec<&BooleanArray> = results
            .columns()
            .iter()
            .take(self.names.len())
            .map(|array| {
                let array = array.as_any().downcast_ref::<BooleanArray>();
                array.ok_or_else(|| Error::internal("a check that is no boolean"))
            })
            .collect::<Result<_>>()?;
        // Mostly all of them are true of all rows.
        let is_kept = |result: &&BooleanArray| result.null_count() == 0 && bool_and(result) != Some(false);
        if results.iter().all(is_kept) {
            return Ok(None);
        }
        let is_broken = |row: usize| {
            let mut results = results.iter();
            results.position(|result| match result.is_valid(row) {
                true => !result.value(row),
                false => !keeps_null,
            })
        };
        Ok((0..rows.num_rows()).find_map(|row| Some((row, is_broken(row)?))))
    }
}

/// What casts a column of a domain to it, and is true if that succeeds.
fn domain_cast(column: &ColumnDef) -> Option<Expr> {
    let domain = column.domain.as_ref()?;
    let cast = Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::Identifier(Ident::with_quote('"', &column.name))),
        data_type: name_by_oid(domain),
        array: false,
        format: None,
    };
    let nulls = ast::Function {
        name: ObjectName::from(vec![Ident::new("num_nulls")]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(cast))],
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    };
    Some(Expr::BinaryOp {
        left: Box::new(Expr::Function(nulls)),
        op: BinaryOperator::GtEq,
        right: Box::new(Expr::Value(ast::Value::Number("0".to_string(), false).into())),
    })
}

/// Checks that an expression can be asked of rows of this table. Errors: those of binding, 42804 for one that is not boolean.
pub(crate) fn check_condition(ctx: &StatementContext, table: &TableDef, expr: &Expr) -> Result<()> {
    let ctx = &settled(ctx);
    let relation = relation(table);
    let mut parameters = Vec::new();
    let query = RowQuery {
        relations: &[relation],
        items: &[SelectItem::UnnamedExpr(expr.clone())],
        selection: None,
        clause: Clause::Check,
    };
    RowExpressions::bind(ctx, query, &mut parameters)?;
    match parameters.is_empty() {
        true => Ok(()),
        false => Err(Error::InvalidStatement {
            state: crate::error::StatementFault::UndefinedParameter,
            message: "there is no parameter $1".to_string(),
            hint: None,
        }),
    }
}

/// Whether the constraints of these names hold of all rows that the transaction sees. Errors: 23514.
pub(crate) async fn verify_checks(ctx: &StatementContext, table: &TableDef, names: &[String]) -> Result<()> {
    let checks = RowChecks::bind_some(ctx, table, |check| names.contains(&check.name))?;
    let mut pages = RowPages::new(&ctx.txn, table);
    while let Some(rows) = pages.next().await? {
        if let Some((_, check)) = checks.first_broken(ctx, &rows, true).await? {
            return Err(Error::CheckViolated {
                schema: table.schema.clone(),
                table: table.name.clone(),
                constraint: checks.names[check].clone(),
            });
        }
    }
    Ok(())
}

/// Whether all values of a column, as the transaction sees them, are of a domain. Errors: 23514, 23502.
pub(crate) async fn verify_domain(
    ctx: &StatementContext,
    table: &TableDef,
    column: &ColumnDef,
    ty: &TypeDef,
) -> Result<()> {
    let Some(domain) = ty.domain() else {
        return Ok(());
    };
    let (mut names, mut exprs) = (Vec::new(), Vec::new());
    let value = Expr::Identifier(Ident::with_quote('"', &column.name));
    if domain.not_null {
        names.push((column.name.clone(), true));
        exprs.push(Expr::IsNotNull(Box::new(value.clone())));
    }
    for check in domain.checks.iter().filter(|check| !check.not_valid) {
        names.push((column.name.clone(), false));
        let condition = query::condition_of_value(parse_expression(&check.sql)?, &value);
        exprs.push(Expr::Nested(Box::new(condition)));
    }
    if exprs.is_empty() {
        return Ok(());
    }
    let checks = RowChecks {
        names: names.iter().map(|(column, _)| column.clone()).collect(),
        projection: Some(bind(ctx, table, exprs)?),
        positions: table.visible_positions(),
        partition: PartitionCheck::default(),
    };
    let mut pages = RowPages::new(&ctx.txn, table);
    while let Some(rows) = pages.next().await? {
        if let Some((_, check)) = checks.first_broken(ctx, &rows, true).await? {
            let (column, is_null) = &names[check];
            let (state, what) = match is_null {
                true => ("23502", "null values"),
                false => ("23514", "values that violate the new constraint"),
            };
            return Err(Error::DataException {
                state,
                message: format!("column \"{column}\" of table \"{}\" contains {what}", table.name),
            });
        }
    }
    Ok(())
}

fn bind(ctx: &StatementContext, table: &TableDef, exprs: Vec<Expr>) -> Result<RowExpressions> {
    let items: Vec<SelectItem> = exprs.into_iter().map(SelectItem::UnnamedExpr).collect();
    let query = RowQuery {
        relations: &[relation(table)],
        items: &items,
        selection: None,
        clause: Clause::Check,
    };
    RowExpressions::bind(&settled(ctx), query, &mut Vec::new())
}

fn relation(table: &TableDef) -> RowRelation {
    let columns = table.visible_columns().map(|column| RowColumn {
        name: column.name.clone(),
        ty: column.ty.clone(),
        origin: None,
    });
    RowRelation {
        schema: Some(table.schema.clone()),
        row_type: Some(Arc::new(table.row_type())),
        ..RowRelation::new(table.name.clone(), columns.collect())
    }
}
