//! `NamedColumns`: the columns that a write may mean, by the names in it: what a wide table is narrowed to before the write is bound
//! ([`TableDef::narrowed`](crate::catalog::TableDef::narrowed)). Too many names do no harm: which column each means, binding says.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    self, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query, SelectItem, SetExpr, Visitor,
};

use crate::parse::names::fold;
use crate::parse::walk::Walk;

/// The names in a write.
#[derive(Debug, Clone, Default)]
pub(super) struct NamedColumns {
    names: HashSet<String>,
    /// Whether it takes whole rows.
    all: bool,
}

impl NamedColumns {
    /// Those of an INSERT, and of its list of columns.
    pub(super) fn of_insert(insert: &ast::Insert, listed: &[String]) -> NamedColumns {
        let mut named = NamedColumns::default();
        named.names.extend(listed.iter().cloned());
        let _ = insert.walk(&mut named);
        if let Some(ast::OnInsert::OnConflict(conflict)) = &insert.on
            && let ast::OnConflictAction::DoUpdate(update) = &conflict.action
        {
            named.assigned(&update.assignments);
        }
        named.returned(insert.returning.as_deref());
        named
    }

    /// Those of an UPDATE.
    pub(super) fn of_update(update: &ast::Update) -> NamedColumns {
        let mut named = NamedColumns::default();
        let _ = update.walk(&mut named);
        named.assigned(&update.assignments);
        named.returned(update.returning.as_deref());
        named
    }

    /// Those of a DELETE.
    pub(super) fn of_delete(delete: &ast::Delete) -> NamedColumns {
        let mut named = NamedColumns::default();
        let _ = delete.walk(&mut named);
        named.returned(delete.returning.as_deref());
        named
    }

    /// Those of a COPY FROM: its list of columns, and its WHERE.
    pub(super) fn of_copy(listed: &[String], selection: Option<&Expr>) -> NamedColumns {
        let mut named = NamedColumns::default();
        named.names.extend(listed.iter().cloned());
        if let Some(selection) = selection {
            let _ = selection.walk(&mut named);
        }
        named
    }

    /// Those of a MERGE, which inserts whole rows where it lists no columns.
    pub(super) fn of_merge(merge: &ast::Merge) -> NamedColumns {
        let mut named = NamedColumns::default();
        let _ = merge.walk(&mut named);
        for clause in &merge.clauses {
            match &clause.action {
                ast::MergeAction::Update(update) => named.assigned(&update.assignments),
                ast::MergeAction::Insert(insert) => {
                    named.all |= insert.columns.is_empty();
                    let names = insert.columns.iter().filter_map(|name| name.0.last()?.as_ident());
                    named.names.extend(names.map(fold));
                }
                _ => {}
            }
        }
        if let Some(ast::OutputClause::Returning { select_items, .. }) = &merge.output {
            named.returned(Some(select_items));
        }
        named
    }

    /// Whether a column of this name may be meant.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether each column of a relation may be meant that expressions know by this name.
    pub(super) fn take_whole_rows(&self, relation: &str) -> bool {
        self.all || self.has(relation) || self.has("xmin")
    }

    fn assigned(&mut self, assignments: &[ast::Assignment]) {
        for assignment in assignments {
            let targets = match &assignment.target {
                ast::AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
                ast::AssignmentTarget::Tuple(names) => names,
            };
            let parts = targets.iter().filter_map(|name| name.0.last()?.as_ident());
            self.names.extend(parts.map(fold));
        }
    }

    fn returned(&mut self, items: Option<&[SelectItem]>) {
        self.all |= returns_all(items);
    }
}

/// Whether `*` is among the items of RETURNING.
pub(super) fn returns_all(items: Option<&[SelectItem]>) -> bool {
    let is_wildcard =
        |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    items.unwrap_or_default().iter().any(is_wildcard)
}

impl Visitor for NamedColumns {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) => {
                self.names.insert(fold(name));
            }
            // `t.c`
            Expr::CompoundIdentifier(parts) => self.names.extend(parts.last().map(fold)),
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => self.all = true,
            Expr::Function(function) => self.all |= takes_row(&function.args),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = query.body.as_ref() {
            let is_row = |item: &SelectItem| matches!(item, SelectItem::QualifiedWildcard(..));
            self.all |= select.projection.iter().any(is_row);
        }
        ControlFlow::Continue(())
    }
}

/// Whether `t.*` is among the arguments.
fn takes_row(arguments: &FunctionArguments) -> bool {
    let FunctionArguments::List(list) = arguments else {
        return false;
    };
    list.args.iter().any(|argument| {
        let (FunctionArg::Unnamed(value)
        | FunctionArg::Named { arg: value, .. }
        | FunctionArg::ExprNamed { arg: value, .. }) = argument;
        matches!(value, FunctionArgExpr::QualifiedWildcard(_))
    })
}
