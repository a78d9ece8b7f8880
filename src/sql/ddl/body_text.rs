//! The bodies of functions that are read where they are made, BEGIN ATOMIC and RETURN: when what they name gets another name, they are written
//! anew. Called by `view_text`, which changes their trees.

use sqlparser::ast::Statement;

use crate::catalog::{BodyKind, RoutineDef};
use crate::parse::{ParsedStatement, parse};
use crate::query::RoutineBody;
use crate::{Error, Result};

/// The function with every statement of its body changed. Errors: 0A000 for one that its tree does not tell whole.
pub(super) fn with_changed(
    routine: &RoutineDef,
    mut change: impl FnMut(&mut Statement) -> Result<()>,
) -> Result<RoutineDef> {
    let mut texts = Vec::new();
    for statement in &RoutineBody::of(routine)?.statements {
        let mut tree = statement.ast.clone();
        change(&mut tree)?;
        let text = tree.to_string();
        if !is_whole(statement) || !is_text_of(&text, &tree) {
            return Err(cannot_follow(routine));
        }
        texts.push(text);
    }
    let mut changed = RoutineDef {
        parsed: Default::default(),
        ..routine.clone()
    };
    changed.body = match (routine.body_kind, texts.as_slice()) {
        (BodyKind::Return, [only]) => {
            let expression = only.strip_prefix("SELECT ");
            expression.ok_or_else(|| cannot_follow(routine))?.to_string()
        }
        _ => texts.join("; "),
    };
    Ok(changed)
}

/// Errors: 0A000.
pub(super) fn cannot_follow(routine: &RoutineDef) -> Error {
    Error::unsupported(
        format!(
            "another name for what the body of function {} names",
            routine.name
        ),
        Some("Drop the function first, and create it again afterwards."),
    )
}

/// Whether the tree is all of a statement.
fn is_whole(statement: &ParsedStatement) -> bool {
    statement.command.is_none()
        && statement.row_locks.is_none()
        && statement.current_of.is_none()
        && statement.hints == Default::default()
}

/// Whether a text is read as a tree.
fn is_text_of(text: &str, tree: &Statement) -> bool {
    parse(text).is_ok_and(|read| matches!(read.as_slice(), [only] if only.ast == *tree && is_whole(only)))
}
