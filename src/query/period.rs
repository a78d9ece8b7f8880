//! FOR SYSTEM_TIME as the parser's tree holds it: a moment, or a period, which `parse::system_time` spells as a comparison. Called by who
//! binds it (`past`) and who prints it (`from_text`).

use sqlparser::ast::{self, Expr, TableVersion};

/// A period: BETWEEN a AND b, or FROM a TO b.
pub(super) struct Period<'a> {
    pub(super) low: &'a Expr,
    pub(super) high: &'a Expr,
    /// Whether what began at the end is of it: BETWEEN.
    pub(super) includes_end: bool,
}

/// The period that what stands behind AS OF in the tree is; `None`: a moment.
pub(super) fn period_of(moment: &Expr) -> Option<Period<'_>> {
    let Expr::Between {
        expr,
        negated: false,
        low,
        high,
    } = moment
    else {
        return None;
    };
    let Expr::Value(mark) = expr.as_ref() else {
        return None;
    };
    Some(Period {
        low,
        high,
        includes_end: mark.value == ast::Value::Null,
    })
}

/// The clause as a user writes it.
pub(super) fn written_period(version: &TableVersion) -> String {
    let TableVersion::ForSystemTimeAsOf(moment) = version else {
        return version.to_string();
    };
    match period_of(moment) {
        None => format!("FOR SYSTEM_TIME AS OF {moment}"),
        Some(Period {
            low,
            high,
            includes_end: true,
        }) => format!("FOR SYSTEM_TIME BETWEEN {low} AND {high}"),
        Some(Period { low, high, .. }) => format!("FOR SYSTEM_TIME FROM {low} TO {high}"),
    }
}
