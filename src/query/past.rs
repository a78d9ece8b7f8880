//! Tables as FROM reads versions of their rows: at a moment of the past (FOR SYSTEM_TIME, AS OF SYSTEM TIME), by hints (`_l_versions_` and
//! its like), or for the column that is a version's time (`<column>_l_ts`). What of it is asked for is decided here, once a table; a plan
//! that lasts holds moments before its run as such, and no other that changes.

use std::sync::Arc;

use sqlparser::ast::{self, BinaryOperator};

use super::binder::{Binder, Bound, Clause, Place};
use super::coercion::CastContext;
use super::constant::constant_of;
use super::from_item::FromItem;
use super::scope::{Scope, ScopeColumn};
use crate::catalog::{Moment, TableDef, WantedVersions};
use crate::error::StatementFault;
use crate::parse::quoting::quote_ident;
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

/// Words of a moment that are another each day.
const PASSING_WORDS: [&str; 3] = ["today", "tomorrow", "yesterday"];

impl Binder<'_> {
    /// Binds an item of FROM that FOR SYSTEM_TIME may stand behind.
    pub(super) fn at_system_time(
        &mut self,
        version: Option<&ast::TableVersion>,
        bind: impl FnOnce(&mut Self) -> Result<FromItem>,
    ) -> Result<FromItem> {
        let Some(version) = version else {
            return bind(self);
        };
        let wanted = self.wanted_by(version)?;
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
    pub(super) fn versions_of(&mut self, table: &TableDef, is_locked: bool) -> Result<Option<Arc<TableDef>>> {
        self.is_timed = false;
        let past = match (self.past, &self.ctx.hints.as_of) {
            (Some(past), _) => Some(past),
            (None, Some(moment)) => Some(WantedVersions::AsOf(self.moment(&moment.clone())?)),
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
            false => Ok(Some(table.of_versions(wanted))),
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
    fn wanted_by(&mut self, version: &ast::TableVersion) -> Result<WantedVersions> {
        let ast::TableVersion::ForSystemTimeAsOf(moment) = version else {
            return Err(Error::unsupported(
                format!("{version} behind a table"),
                Some("Write FOR SYSTEM_TIME AS OF '…'."),
            ));
        };
        match moment {
            ast::Expr::Between {
                expr,
                negated: false,
                low,
                high,
            } if let ast::Expr::Value(mark) = expr.as_ref() => Ok(WantedVersions::Between {
                from: self.moment(low)?,
                to: self.moment(high)?,
                includes_end: mark.value == ast::Value::Null,
            }),
            moment => Ok(WantedVersions::AsOf(self.moment(moment)?)),
        }
    }

    /// A moment as it is written. Errors: 0A000 for one that only a run tells, 22007.
    fn moment(&mut self, written: &ast::Expr) -> Result<Moment> {
        let before_now = |micros: i128| i64::try_from(micros).map(Moment::Before).map_err(|_| too_far());
        match written {
            ast::Expr::Nested(inner) => return self.moment(inner),
            ast::Expr::BinaryOp { left, op, right } if is_clock(left) => {
                let sign = match op {
                    BinaryOperator::Minus => 1,
                    BinaryOperator::Plus => -1,
                    _ => return Err(not_constant()),
                };
                return match self.constant_value(right)? {
                    Value::Interval(interval) => before_now(sign * interval.epoch()),
                    Value::Unknown(text) => before_now(sign * self.interval_micros(&text)?),
                    _ => Err(not_constant()),
                };
            }
            clock if is_clock(clock) => return Ok(Moment::Before(0)),
            _ => {}
        }
        match self.constant_value(written)? {
            Value::Unknown(text) | Value::Text(text) => self.moment_of_text(&text),
            Value::Interval(interval) => before_now(-interval.epoch()),
            Value::TimestampTz(moment) => Ok(Moment::At(moment)),
            // As CockroachDB has it: nanoseconds since 1970.
            Value::Int(nanos) => Ok(Moment::At(nanos.div_euclid(1000))),
            _ => Err(not_constant()),
        }
    }

    /// A time stamp, or an interval before now.
    fn moment_of_text(&self, text: &str) -> Result<Moment> {
        let trimmed = text.trim();
        if trimmed.eq_ignore_ascii_case("now") {
            return Ok(Moment::Before(0));
        }
        if PASSING_WORDS
            .iter()
            .any(|word| trimmed.eq_ignore_ascii_case(word))
        {
            return Err(not_constant());
        }
        if trimmed.starts_with('-')
            && let Ok(micros) = self.interval_micros(trimmed)
        {
            return i64::try_from(-micros).map(Moment::Before).map_err(|_| too_far());
        }
        match Value::parse(trimmed, &SqlType::TimestampTz(None), &self.settings)? {
            Value::TimestampTz(moment) => Ok(Moment::At(moment)),
            _ => Err(not_constant()),
        }
    }

    fn interval_micros(&self, text: &str) -> Result<i128> {
        match Value::parse(text, &SqlType::Interval(None), &self.settings)? {
            Value::Interval(interval) => Ok(interval.epoch()),
            _ => Err(not_constant()),
        }
    }

    /// The value of an expression that no run decides; of dates and times without a zone that in the session's. Errors: 0A000.
    fn constant_value(&mut self, written: &ast::Expr) -> Result<Value> {
        let nothing = Scope::default();
        let place = Place {
            scope: &nothing,
            outer: None,
            clause: Clause::From,
            windows: &[],
        };
        let mut bound = self.expression(written, place)?;
        if matches!(bound.ty, SqlType::Date | SqlType::Timestamp(_)) {
            bound = self.convert(bound, &SqlType::TimestampTz(None), CastContext::Implicit)?;
        }
        bound.expr = fold_constants(bound.expr)?;
        let constant = constant_of(&bound)?.ok_or_else(not_constant)?;
        Ok(constant.value)
    }
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
fn of_hint(hint: VersionHint) -> WantedVersions {
    let micros = |millis: i64| millis.saturating_mul(1000);
    let ends = [hint.before, hint.at.map(|at| at.saturating_add(1))];
    WantedVersions::Newest {
        count: hint.count.unwrap_or(1),
        from: hint.from.max(hint.at).map(micros),
        before: ends.into_iter().flatten().min().map(micros),
    }
}

/// 0A000.
fn not_constant() -> Error {
    Error::unsupported(
        "a moment of the past that is no constant",
        Some("Write a time stamp, an interval before now as in '-10m', or now() - interval '10 minutes'."),
    )
}

/// 22008.
fn too_far() -> Error {
    Error::InvalidStatement {
        state: StatementFault::DatetimeOverflow,
        message: "interval out of range".to_string(),
        hint: None,
    }
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
