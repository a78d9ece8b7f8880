//! Tables as FROM reads versions of their rows: at a moment of the past (FOR SYSTEM_TIME, AS OF SYSTEM TIME), by hints (`_l_versions_` and
//! its like), or for the column that is a version's time (`<column>_l_ts`). What of it is asked for is decided here, once a table; a plan
//! that lasts holds moments before its run as such, and those that only a run tells as expressions, beside the source of the scan
//! (`logical::open_moments`).

use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{self, BinaryOperator};

use super::binder::{Binder, Bound, Clause, Place};
use super::coercion::CastContext;
use super::constant::constant_of;
use super::from_item::FromItem;
use super::moment::{Past, before_now, is_passing, mistyped, moment_of};
use super::period::period_of;
use super::scope::{Outer, Scope, ScopeColumn};
use crate::catalog::{Moment, TableDef, WantedVersions};
use crate::error::StatementFault;
use crate::logical::placeholder::transaction_time;
use crate::parse::quoting::quote_ident;
use crate::parse::walk::{visit_expressions, visit_expressions_mut};
use crate::parse::{VERSION_TIME_END, VersionHint};
use crate::table::one_version;
use crate::tree::{Column, Expr, fold_constants};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// Functions that tell the time of the statement, or of its transaction.
const CLOCKS: [&str; 6] = [
    "now",
    "current_timestamp",
    "transaction_timestamp",
    "statement_timestamp",
    "clock_timestamp",
    "localtimestamp",
];

/// The moments of an item of FROM that only a run tells.
#[derive(Default)]
struct OpenMoments<'o> {
    /// The queries around.
    outer: Option<&'o Outer<'o>>,
    /// Each once.
    found: Vec<Expr>,
}

/// A table as a read of versions sees it, and the moments that only a run tells.
pub(super) struct PastTable {
    /// The definition.
    pub(super) table: Arc<TableDef>,
    /// `Moment::Open` counts them.
    pub(super) open: Vec<Expr>,
}

impl Binder<'_> {
    /// Binds an item of FROM that FOR SYSTEM_TIME may stand behind.
    pub(super) fn at_system_time(
        &mut self,
        version: Option<&ast::TableVersion>,
        outer: Option<&Outer<'_>>,
        bind: impl FnOnce(&mut Self) -> Result<FromItem>,
    ) -> Result<FromItem> {
        let Some(version) = version else {
            return bind(self);
        };
        let wanted = self.wanted_by(version, outer)?;
        let around = self.past.replace(wanted);
        self.is_timed = true;
        let item = bind(self);
        (self.past, self.is_timed) = (around, false);
        item
    }

    /// What an item of FROM that is no table has to say to FOR SYSTEM_TIME. Errors: 0A000.
    pub(super) fn require_untimed(&mut self, what: &str) -> Result<()> {
        match std::mem::take(&mut self.is_timed) {
            true => Err(Error::unsupported(
                format!("FOR SYSTEM_TIME behind {what}"),
                Some("Write it behind the tables that it reads."),
            )),
            false => Ok(()),
        }
    }

    /// The catalogs have no past. Errors: 0A000.
    pub(super) fn require_present(&self) -> Result<()> {
        match self.past.is_some() || self.ctx.hints.as_of.is_some() {
            true => Err(Error::unsupported(
                "a system catalog as it was at a moment of the past",
                Some("Read it in a statement of its own."),
            )),
            false => Ok(()),
        }
    }

    /// The table as it is read where versions of its rows are asked for; `None`: as it is. Errors: 55000 for one that does not keep them,
    /// 0A000.
    pub(super) fn versions_of(&mut self, table: &TableDef, is_locked: bool) -> Result<Option<PastTable>> {
        self.is_timed = false;
        let past = match (&self.past, &self.ctx.hints.as_of) {
            (Some(past), _) => Some(past.clone()),
            (None, Some(moment)) => {
                let mut open = OpenMoments::default();
                let wanted = WantedVersions::AsOf(self.moment(&moment.clone(), &mut open)?);
                let open = open.found;
                Some(Past { wanted, open })
            }
            (None, None) => None,
        };
        // What a function reads is not the statement's to say.
        let hint = self.ctx.hints.versions.filter(|_| self.inlined.is_empty());
        let wanted = match (past, hint) {
            (None, None) => {
                let may_name_time = self.names_version_time || !self.inlined.is_empty();
                match table.keeps_versions() && may_name_time {
                    true => of_hint(VersionHint::default()),
                    false => return Ok(None),
                }
            }
            (None, Some(_)) if !table.keeps_versions() => return Err(one_version(table)),
            (None, Some(hint)) => of_hint(hint),
            (Some(_), Some(_)) => {
                return Err(Error::unsupported(
                    "hints about versions of a table at a moment of the past",
                    Some("FOR SYSTEM_TIME BETWEEN … AND … gives all versions of a time."),
                ));
            }
            (Some(_), None) if table.options.versions.history.is_none() => return Err(no_history(table)),
            (Some(past), None) => past,
        };
        match is_locked {
            true => Err(Error::unsupported(
                "a lock on versions of rows",
                Some("Lock the rows by a SELECT of its own that names no version."),
            )),
            false => Ok(Some(PastTable {
                table: table.of_versions(wanted.wanted),
                open: wanted.open,
            })),
        }
    }

    /// Gives the item of such a table the names of a version's time: `<column>_l_ts`. `at`: where that stands among the scan's columns.
    pub(super) fn note_version_times(&self, item: &mut FromItem, at: usize) {
        let column = Column::from(item.plan.schema().qualified_field(at));
        for relation in &mut item.scope.relations {
            let names = relation.columns.iter().map(|column| column.name.as_str());
            let times: Vec<String> = names.map(|name| format!("{name}{VERSION_TIME_END}")).collect();
            let is_own = |name: &String| relation.columns.iter().any(|own| own.name == *name);
            let times: Vec<ScopeColumn> = times
                .into_iter()
                .filter(|name| !is_own(name))
                .map(|name| ScopeColumn {
                    name,
                    bound: Bound::new(Expr::Column(column.clone()), SqlType::Int8),
                })
                .collect();
            relation.hidden.extend(times);
        }
    }

    /// What FOR SYSTEM_TIME says; the parser's tree of periods is made in `parse::system_time`.
    fn wanted_by(&mut self, version: &ast::TableVersion, outer: Option<&Outer<'_>>) -> Result<Past> {
        let ast::TableVersion::ForSystemTimeAsOf(moment) = version else {
            return Err(Error::unsupported(
                format!("{version} behind a table"),
                Some("Write FOR SYSTEM_TIME AS OF '…'."),
            ));
        };
        let mut open = OpenMoments {
            outer,
            found: Vec::new(),
        };
        let wanted = match period_of(moment) {
            Some(period) => WantedVersions::Between {
                from: self.moment(period.low, &mut open)?,
                to: self.moment(period.high, &mut open)?,
                includes_end: period.includes_end,
            },
            None => WantedVersions::AsOf(self.moment(moment, &mut open)?),
        };
        let open = open.found;
        Ok(Past { wanted, open })
    }

    /// A moment as it is written; what only a run tells is put behind `open`. Errors: those of the expression, 0A000, 22007, 42804.
    fn moment(&mut self, written: &ast::Expr, open: &mut OpenMoments<'_>) -> Result<Moment> {
        match written {
            ast::Expr::Nested(inner) => return self.moment(inner, open),
            ast::Expr::BinaryOp { left, op, right } if is_clock(left) => {
                let sign = match op {
                    BinaryOperator::Minus => 1,
                    BinaryOperator::Plus => -1,
                    _ => return self.general_moment(written, open),
                };
                return self.moment_beside_now(sign, right, open);
            }
            clock if is_clock(clock) => return Ok(Moment::Before(0)),
            _ => {}
        }
        self.general_moment(written, open)
    }

    /// `now()` less what is written, or and it: an interval, also where nothing says what type it is of.
    fn moment_beside_now(
        &mut self,
        sign: i128,
        written: &ast::Expr,
        open: &mut OpenMoments<'_>,
    ) -> Result<Moment> {
        let bound = self.moment_expression(written, open.outer)?;
        let bound = match bound.ty {
            SqlType::Unknown => self.convert(bound, &SqlType::Interval(None), CastContext::Implicit)?,
            _ => bound,
        };
        let bound = folded(bound)?;
        match constant_of(&bound)?.map(|constant| constant.value) {
            Some(Value::Interval(interval)) => before_now(sign * interval.epoch()),
            _ => {
                let symbol = if sign > 0 { "-" } else { "+" };
                let now = Bound::new(transaction_time(), SqlType::TimestampTz(None));
                let moment = self.operator(symbol, now, bound)?;
                self.moment_of_run(moment, open)
            }
        }
    }

    fn general_moment(&mut self, written: &ast::Expr, open: &mut OpenMoments<'_>) -> Result<Moment> {
        let mut timed = written.clone();
        // All clocks are that of the statement.
        let _: ControlFlow<()> = visit_expressions_mut(&mut timed, |expr| {
            if is_clock(expr)
                && let ast::Expr::Function(call) = expr
            {
                call.name =
                    ast::ObjectName::from(vec![ast::Ident::new("pg_catalog"), ast::Ident::new("now")]);
                call.args = ast::FunctionArguments::List(ast::FunctionArgumentList {
                    duplicate_treatment: None,
                    args: Vec::new(),
                    clauses: Vec::new(),
                });
            }
            ControlFlow::Continue(())
        });
        let mut bound = self.moment_expression(&timed, open.outer)?;
        if matches!(bound.expr, Expr::Placeholder(_)) && bound.ty == SqlType::Unknown
            || matches!(bound.ty, SqlType::Date | SqlType::Timestamp(_))
        {
            bound = self.convert(bound, &SqlType::TimestampTz(None), CastContext::Implicit)?;
        }
        bound = folded(bound)?;
        let Some(constant) = constant_of(&bound)? else {
            return self.moment_of_run(bound, open);
        };
        match &constant.value {
            Value::Unknown(text) | Value::Text(text) if is_passing(text) => self.moment_of_run(bound, open),
            Value::Null => moment_of(&Value::Null, &self.settings),
            _ => match self.type_of_moment(&constant.ty) {
                Some(_) => moment_of(&constant.value, &self.settings),
                None => Err(mistyped(&constant.ty)),
            },
        }
    }

    /// The type in which a run tells a moment that is of this type. `None`: it tells none.
    fn type_of_moment(&self, ty: &SqlType) -> Option<SqlType> {
        match ty {
            SqlType::Date | SqlType::Timestamp(_) | SqlType::TimestampTz(_) => {
                Some(SqlType::TimestampTz(None))
            }
            SqlType::Interval(_) => Some(SqlType::Interval(None)),
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => Some(SqlType::Int8),
            SqlType::Unknown | SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) => Some(SqlType::Text),
            _ => None,
        }
    }

    /// A moment that only a run tells. Errors: 0A000 for what several moments may come of, 42804.
    fn moment_of_run(&mut self, bound: Bound, open: &mut OpenMoments<'_>) -> Result<Moment> {
        let ty = self
            .type_of_moment(&bound.ty)
            .ok_or_else(|| mistyped(&bound.ty))?;
        let bound = self.convert(bound, &ty, CastContext::Implicit)?;
        let is_refused = |part: &Expr| {
            let is_subquery = matches!(
                part,
                Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_)
            );
            is_subquery || matches!(part, Expr::Column(_) | Expr::OuterReferenceColumn(..))
        };
        if bound.expr.has(is_refused) || bound.expr.is_volatile() {
            return Err(not_of_statement());
        }
        let at = open.found.iter().position(|known| *known == bound.expr);
        let at = at.unwrap_or_else(|| {
            open.found.push(bound.expr);
            open.found.len() - 1
        });
        Ok(Moment::Open(at))
    }

    /// What is written, over nothing but what stands around the query: a function's arguments.
    fn moment_expression(&mut self, written: &ast::Expr, outer: Option<&Outer<'_>>) -> Result<Bound> {
        let nothing = Scope::default();
        let place = Place {
            scope: &nothing,
            outer,
            clause: Clause::From,
            windows: &[],
        };
        // Tables of a subquery are none of those that are read at this moment.
        let around = self.past.take();
        let bound = match has_subquery(written) {
            true => Err(not_of_statement()),
            false => self.choosing(|binder| binder.expression(written, place)),
        };
        self.past = around;
        match bound {
            // Several rows are no moment.
            Ok(bound) if bound.expr.has(|part| matches!(part, Expr::Unnest(_))) => Err(not_of_statement()),
            bound => bound,
        }
    }
}

fn folded(bound: Bound) -> Result<Bound> {
    Ok(Bound {
        expr: fold_constants(bound.expr)?,
        ..bound
    })
}

fn has_subquery(written: &ast::Expr) -> bool {
    let found = visit_expressions(written, |expr| match expr {
        ast::Expr::Subquery(_) | ast::Expr::Exists { .. } | ast::Expr::InSubquery { .. } => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Whether it tells the time of the statement, as far as versions go.
fn is_clock(expr: &ast::Expr) -> bool {
    let ast::Expr::Function(call) = expr else {
        return false;
    };
    let has_arguments = match &call.args {
        ast::FunctionArguments::None => false,
        ast::FunctionArguments::List(list) => !list.args.is_empty(),
        ast::FunctionArguments::Subquery(_) => true,
    };
    let name = call.name.0.last().and_then(|part| part.as_ident());
    !has_arguments
        && name.is_some_and(|name| CLOCKS.iter().any(|clock| name.value.eq_ignore_ascii_case(clock)))
}

/// Hints, whose times are in milliseconds, as what is wanted.
fn of_hint(hint: VersionHint) -> Past {
    let micros = |millis: i64| millis.saturating_mul(1000);
    let ends = [hint.before, hint.at.map(|at| at.saturating_add(1))];
    let wanted = WantedVersions::Newest {
        count: hint.count.unwrap_or(1),
        from: hint.from.max(hint.at).map(micros),
        before: ends.into_iter().flatten().min().map(micros),
    };
    Past {
        wanted,
        open: Vec::new(),
    }
}

/// 0A000.
fn not_of_statement() -> Error {
    Error::unsupported(
        "a moment of the past that is not one of the whole statement",
        Some(
            "Write a time stamp, an interval before now as in '-10m', a parameter, or what is computed of these and now(); ask a subquery in a statement of its own.",
        ),
    )
}

/// 55000.
fn no_history(table: &TableDef) -> Error {
    Error::InvalidStatement {
        state: StatementFault::NotInPrerequisiteState,
        message: format!("table \"{}\" keeps no history", table.name),
        hint: Some(format!(
            "ALTER TABLE {} SET (history = '7 days') has every version kept for so long from now on.",
            quote_ident(&table.name)
        )),
    }
}
