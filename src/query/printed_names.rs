//! What stands for something else in a text until its printing ends: types, which know their numbers alone, and lines. Called by whoever prints.

use crate::catalog::standard_name;
use crate::parse::quoting::qualified;
use crate::system::StatementContext;
use crate::types::SqlType;

/// Stands before the number of a type.
const TYPE_BEGINS: char = '\u{4}';
/// Stands behind it.
const TYPE_ENDS: char = '\u{5}';

/// Stands where a line begins within an expression.
pub(super) const LINE_BEGINS: char = '\u{6}';

/// The name of a type in text that is being printed.
pub(super) fn type_text(ty: &SqlType) -> String {
    let oid = match ty.innermost() {
        SqlType::Enum(found) => found.oid,
        SqlType::Record(found) if !found.is_anonymous() => found.oid,
        _ => return ty.to_string(),
    };
    let brackets = if matches!(ty, SqlType::Array(_)) { "[]" } else { "" };
    format!("{TYPE_BEGINS}{oid}{TYPE_ENDS}{brackets}")
}

/// The text of an expression with the names of types that stand as numbers in it.
pub(super) fn with_type_names(ctx: &StatementContext, text: String) -> String {
    with_names(text, |oid| {
        let (schema, name) = ctx.name_of_type(oid)?;
        Some(standard_name(schema, name))
    })
}

/// The same of a query's text, in which each has its schema.
pub(super) fn with_qualified_type_names(ctx: &StatementContext, text: String) -> String {
    with_names(text, |oid| {
        let (schema, name) = ctx.name_of_type(oid)?;
        Some(qualified(schema, name))
    })
}

/// Ends the printing of a text: lines begin, and types have names.
fn with_names(text: String, named_by: impl Fn(u32) -> Option<String>) -> String {
    let text = with_lines(text);
    if !text.contains(TYPE_BEGINS) {
        return text;
    }
    let mut named = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, behind)) = rest.split_once(TYPE_BEGINS) {
        let (oid, behind) = behind.split_once(TYPE_ENDS).unwrap_or((behind, ""));
        let name = oid.parse().ok().and_then(&named_by);
        named.push_str(before);
        named.push_str(name.as_deref().unwrap_or(oid));
        rest = behind;
    }
    named + rest
}

/// Nothing but the end of a line stands before the next.
fn with_lines(text: String) -> String {
    if !text.contains(LINE_BEGINS) {
        return text;
    }
    let mut lines = text.split(LINE_BEGINS);
    let mut whole = lines.next().unwrap_or_default().to_string();
    for line in lines {
        whole.truncate(whole.trim_end_matches(' ').len());
        whole.push('\n');
        whole.push_str(line);
    }
    whole
}
