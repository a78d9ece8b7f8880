//! `LiteralPins`: what the string literals of a definition mean where they are written. A view, a CHECK, the condition of an index are kept as
//! text, which is read again by sessions with other settings: '03/02/2024' beside a date, or a time of day beside a timestamptz, would be
//! another moment there. PostgreSQL keeps the value, and so such a literal is kept in a form that every session reads alike.
//!
//! Of which type a literal is, printing tells; what there are no rules to print for stays as it is written.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use sqlparser::ast;

use crate::parse::walk::{WalkMut, visit_expressions_mut};
use crate::system::StatementContext;
use crate::types::{
    DateOrder, DateStyle, FormatSettings, IntervalStyle, PackedKind, RangeKind, SqlType, Value, Zone,
};

/// Settings under which a literal reads alike that depends on none.
static OTHERS: LazyLock<[FormatSettings; 3]> = LazyLock::new(|| {
    let ordered = |order| FormatSettings {
        date_style: DateStyle {
            order,
            ..DateStyle::default()
        },
        ..FormatSettings::default()
    };
    [
        ordered(DateOrder::Ymd),
        FormatSettings {
            time_zone: Zone::Offset(-20_700),
            ..ordered(DateOrder::Dmy)
        },
        FormatSettings {
            interval_style: IntervalStyle::SqlStandard,
            ..FormatSettings::default()
        },
    ]
});

/// Literals that were met while a tree was printed.
#[derive(Debug)]
pub(super) struct LiteralPins {
    reading: FormatSettings,
    /// In their other form.
    pinned: Mutex<HashMap<Written, String>>,
}

impl LiteralPins {
    /// For what is written in a statement.
    pub(super) fn new(ctx: &StatementContext) -> Arc<LiteralPins> {
        Arc::new(LiteralPins {
            reading: ctx.settings.format(),
            pinned: Mutex::default(),
        })
    }

    /// A literal is a value of this type.
    pub(super) fn note(&self, literal: &Written, ty: &SqlType) {
        if !is_read_by_settings(ty) {
            return;
        }
        let own = FormatSettings::default();
        let read = |settings: &FormatSettings| Value::parse(&literal.text, ty, settings).ok();
        // What is no value of its own, such as 'now', is read anew each time.
        let Some(value) = read(&self.reading) else { return };
        if read(&own).as_ref() != Some(&value)
            || OTHERS.iter().any(|other| read(other).as_ref() != Some(&value))
        {
            let mut pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
            pinned.insert(literal.clone(), value.to_text(&own));
        }
    }

    /// The tree that was printed, with them.
    pub(super) fn put<T: WalkMut + Clone>(&self, tree: &T) -> T {
        let mut tree = tree.clone();
        let pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        if pinned.is_empty() {
            return tree;
        }
        let _ = visit_expressions_mut(&mut tree, |expr| {
            let literal = match expr {
                ast::Expr::Value(literal) => literal,
                ast::Expr::TypedString(typed) => &mut typed.value,
                _ => return ControlFlow::<()>::Continue(()),
            };
            let written = Written::of(literal);
            if let Some(text) = written.and_then(|written| pinned.get(&written)) {
                literal.value = ast::Value::SingleQuotedString(text.clone());
            }
            ControlFlow::Continue(())
        });
        tree
    }
}

/// A string literal as it stands in the statement: what prints a tree may print a copy.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Written {
    pub(super) text: String,
    line: u64,
    column: u64,
}

impl Written {
    pub(super) fn of(literal: &ast::ValueWithSpan) -> Option<Written> {
        let (ast::Value::SingleQuotedString(text) | ast::Value::EscapedStringLiteral(text)) = &literal.value
        else {
            return None;
        };
        let start = literal.span.start;
        Some(Written {
            text: text.clone(),
            line: start.line,
            column: start.column,
        })
    }
}

/// Whether a text may be another value of the type under other settings.
fn is_read_by_settings(ty: &SqlType) -> bool {
    match ty {
        SqlType::Date | SqlType::Timestamp(_) | SqlType::TimestampTz(_) | SqlType::Interval(_) => true,
        SqlType::Packed(kind) => matches!(kind, PackedKind::TimeTz(_)),
        SqlType::Array(item) => is_read_by_settings(item),
        SqlType::Range(kind) | SqlType::Multirange(kind) => {
            matches!(
                kind,
                RangeKind::Date | RangeKind::Timestamp | RangeKind::TimestampTz
            )
        }
        _ => false,
    }
}
