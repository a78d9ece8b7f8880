//! Writes to views that are one table each: the statement with the table in the place of its view.
//!
//! ```text
//! CREATE VIEW v AS SELECT id, name AS called FROM t WHERE active
//!
//! UPDATE v SET called = 'x' WHERE id = 1      =>  UPDATE t AS v SET name = 'x' WHERE (v.active) AND (id = 1)
//! INSERT INTO v VALUES (1, 'x') RETURNING *   =>  INSERT INTO t AS v (id, name) VALUES (1, 'x') RETURNING v.id AS id, v.name AS called
//! ```
//!
//! Called before a write is bound. A view of another kind stays, and is refused where the target is looked for.

use std::borrow::Cow;
use std::ops::ControlFlow;

use sqlparser::ast::{self, Expr, ObjectName, SelectItem, TableFactor, VisitorMut};

use super::target::column_name;
use super::view_checks::ViewCheck;
use super::view_rows::{ShownRows, both, last_name, quoted};
use crate::catalog::{Access, CheckOption, Object, ShownRelation, TriggerEvent, ViewDef};
use crate::parse::names::fold;
use crate::parse::unread_words;
use crate::parse::walk::WalkMut;
use crate::sql::relation::get_relation;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Views that stand one upon the other, at most: nobody writes through more.
const VIEWS_DEEP_MAX: usize = 32;

/// A statement that writes to a table, through views or not.
pub(super) struct ThroughViews<'s> {
    /// It, with a table as its target.
    pub(super) statement: Cow<'s, ast::Statement>,
    /// What the views ask of the rows that it writes, those below first.
    pub(super) checks: Vec<ViewCheck>,
}

/// Why only DELETE goes through a view all of whose columns are computed.
const NO_COLUMNS: &str = "Views that have no updatable columns are not automatically updatable.";

/// The statement with tables only as its target. Errors: 42703 for what the view does not show, 0A000 for what it computes, 55000 for a view
/// of which PostgreSQL, too, says that it shows no rows of one table.
pub(super) fn through_views<'s>(
    ctx: &StatementContext,
    statement: &'s ast::Statement,
) -> Result<ThroughViews<'s>> {
    check_merge(ctx, statement)?;
    let mut statement = Cow::Borrowed(statement);
    let mut checks: Vec<ViewCheck> = Vec::new();
    let mut cascades = false;
    for _ in 0..VIEWS_DEEP_MAX {
        let Some(name) = target_of(&statement) else {
            break;
        };
        let Some(Object::View(view)) = get_relation(ctx, name, Access::Name)? else {
            break;
        };
        if event_of(&statement).is_some_and(|event| view.is_written_by_triggers(event)) {
            break;
        }
        let shown = match ShownTable::of(ctx, view)? {
            Ok(shown) => shown,
            Err(Some(why)) => return Err(not_updatable(view, &statement, why)),
            Err(None) => break,
        };
        let deletes = matches!(*statement, ast::Statement::Delete(_));
        if !deletes && !shown.columns.iter().any(|(_, expr)| is_column(expr)) {
            return Err(not_updatable(view, &statement, NO_COLUMNS));
        }
        for check in &mut checks {
            check.of_shown(&shown.columns);
        }
        let option = view.options.check_option();
        cascades |= option == Some(CheckOption::Cascaded);
        let is_checked = (cascades || option.is_some()) && !deletes;
        let condition = shown.condition.clone().filter(|_| is_checked);
        checks.extend(condition.map(|condition| ViewCheck {
            view: view.name.clone(),
            condition,
        }));
        statement = Cow::Owned(shown.written(statement.into_owned())?);
    }
    checks.reverse();
    Ok(ThroughViews { statement, checks })
}

/// What a statement fires.
fn event_of(statement: &ast::Statement) -> Option<TriggerEvent> {
    match statement {
        ast::Statement::Insert(_) => Some(TriggerEvent::Insert),
        ast::Statement::Update(_) => Some(TriggerEvent::Update),
        ast::Statement::Delete(_) => Some(TriggerEvent::Delete),
        _ => None,
    }
}

/// Why a query is none that rows are written through; `None`: they are, here too.
pub(crate) fn why_not_updatable(
    ctx: &StatementContext,
    query: &ast::Query,
    path: &[String],
) -> Result<Option<String>> {
    Ok(match ShownRows::of(ctx, query, path)? {
        Ok(rows) if !rows.columns.iter().any(|(_, expr)| is_column(expr)) => Some(NO_COLUMNS.to_string()),
        Ok(_) => None,
        Err(why) => Some(
            why.unwrap_or("Rows are not written through views with subqueries here.")
                .to_string(),
        ),
    })
}

/// The one relation that a query shows, if rows are written through it.
pub(crate) fn shown_relation(
    ctx: &StatementContext,
    query: &ast::Query,
    path: &[String],
) -> Result<Option<ShownRelation>> {
    let shown = ShownRows::of(ctx, query, path)?.ok();
    Ok(shown.map(|rows| rows.shown_relation()))
}

/// Errors: 0A000 for MERGE into a view.
fn check_merge(ctx: &StatementContext, statement: &ast::Statement) -> Result<()> {
    let ast::Statement::Merge(merge) = statement else {
        return Ok(());
    };
    let TableFactor::Table { name, args: None, .. } = &merge.table else {
        return Ok(());
    };
    match get_relation(ctx, name, Access::Name)? {
        Some(Object::View(view)) => Err(Error::RefusedValue {
            state: "0A000",
            message: format!("cannot execute MERGE on relation \"{}\"", view.name),
            detail: Some("This operation is not supported for views.".into()),
            hint: None,
        }),
        _ => Ok(()),
    }
}

/// Whether a view shows a column as it is.
fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(name) if name.quote_style.is_some())
}

fn not_updatable(view: &ViewDef, statement: &ast::Statement, detail: &'static str) -> Error {
    let (verb, hint) = match statement {
        ast::Statement::Update(_) => (
            "update",
            "To enable updating the view, provide an INSTEAD OF UPDATE trigger or an unconditional ON UPDATE DO INSTEAD rule.",
        ),
        ast::Statement::Delete(_) => (
            "delete from",
            "To enable deleting from the view, provide an INSTEAD OF DELETE trigger or an unconditional ON DELETE DO INSTEAD rule.",
        ),
        _ => (
            "insert into",
            "To enable inserting into the view, provide an INSTEAD OF INSERT trigger or an unconditional ON INSERT DO INSTEAD rule.",
        ),
    };
    Error::ViewNotUpdatable {
        view: view.name.clone(),
        verb,
        detail,
        hint,
    }
}

/// The relation that a statement writes to, if a view may stand there.
pub(super) fn target_of(statement: &ast::Statement) -> Option<&ObjectName> {
    let factor = match statement {
        ast::Statement::Insert(insert) => match &insert.table {
            ast::TableObject::TableName(name) => return Some(name),
            _ => return None,
        },
        ast::Statement::Update(update) => &update.table.relation,
        ast::Statement::Delete(delete) => match &delete.from {
            ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from) => {
                &from.first()?.relation
            }
        },
        _ => return None,
    };
    match factor {
        TableFactor::Table { name, args: None, .. } => Some(name),
        _ => None,
    }
}

/// A view that shows rows of one table.
struct ShownTable {
    view: String,
    /// The table, with its schema.
    table: ObjectName,
    /// The columns: what the view calls each, and what it is of the table's.
    columns: Vec<(String, Expr)>,
    /// All that the table has.
    table_columns: Vec<String>,
    /// Over the table's columns.
    condition: Option<Expr>,
}

impl ShownTable {
    /// The error: the view is none of these, and why, as [`Shown`] has it.
    fn of(
        ctx: &StatementContext,
        view: &ViewDef,
    ) -> Result<std::result::Result<ShownTable, Option<&'static str>>> {
        let Ok([statement]) = <[_; 1]>::try_from(crate::parse::parse(&view.query)?) else {
            return Ok(Err(None));
        };
        let ast::Statement::Query(query) = &statement.ast else {
            return Ok(Err(None));
        };
        let rows = match ShownRows::of(ctx, query, &view.search_path)? {
            Ok(rows) => rows,
            Err(why) => return Ok(Err(why)),
        };
        let names = view.columns.iter().map(|(name, _)| name.clone());
        let exprs = rows.columns.into_iter().map(|(_, expr)| expr);
        Ok(Ok(ShownTable {
            view: view.name.clone(),
            table: rows.table,
            columns: names.zip(exprs).collect(),
            table_columns: rows.table_columns,
            condition: rows.condition,
        }))
    }

    /// The statement, which writes to the view, as one that writes to the table.
    fn written(self, mut statement: ast::Statement) -> Result<ast::Statement> {
        let (called, has_others) = match &mut statement {
            ast::Statement::Insert(insert) => (self.name_of_insert(insert), false),
            ast::Statement::Update(update) => {
                let others = update
                    .from
                    .as_ref()
                    .is_some_and(|from| !others_of(from).is_empty());
                (self.take_place(&mut update.table.relation), others)
            }
            ast::Statement::Delete(delete) => {
                let others = delete.using.as_ref().is_some_and(|using| !using.is_empty());
                let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
                    &mut delete.from;
                match from.first_mut() {
                    Some(target) => (self.take_place(&mut target.relation), others),
                    None => return Ok(statement),
                }
            }
            _ => return Ok(statement),
        };
        let named = match &mut statement {
            ast::Statement::Insert(insert) => self.name_columns(insert),
            ast::Statement::Update(update) => self.name_assigned(&mut update.assignments),
            _ => Ok(()),
        };
        named?;
        let items = match &mut statement {
            ast::Statement::Insert(insert) => &mut insert.returning,
            ast::Statement::Update(update) => &mut update.returning,
            ast::Statement::Delete(delete) => &mut delete.returning,
            _ => &mut None,
        };
        if let Some(items) = items {
            *items = self.returned(std::mem::take(items), &called, has_others)?;
        }
        let mut references = References {
            shown: &self,
            called: &called,
            has_others,
            inserts: matches!(statement, ast::Statement::Insert(_)),
            queries: 0,
        };
        if let ControlFlow::Break(error) = statement.walk_mut(&mut references) {
            return Err(error);
        }
        if let Some(condition) = &self.condition {
            let condition = over(condition.clone(), &called);
            let selection = match &mut statement {
                ast::Statement::Update(update) => &mut update.selection,
                ast::Statement::Delete(delete) => &mut delete.selection,
                _ => return Ok(statement),
            };
            *selection = Some(match selection.take() {
                Some(written) => both(condition, written),
                None => condition,
            });
        }
        Ok(statement)
    }

    /// Puts the table in the place of the view; what the statement calls it.
    fn take_place(&self, factor: &mut TableFactor) -> String {
        if let TableFactor::Table { name, alias, .. } = factor {
            name.clone_from(&self.table);
            let alias = alias.get_or_insert_with(|| ast::TableAlias {
                explicit: true,
                name: quoted(&self.view),
                columns: Vec::new(),
                at: None,
            });
            return fold(&alias.name);
        }
        self.view.clone()
    }

    fn name_of_insert(&self, insert: &mut ast::Insert) -> String {
        insert.table = ast::TableObject::TableName(self.table.clone());
        let alias = insert
            .table_alias
            .get_or_insert_with(|| ast::TableAliasWithoutColumns {
                explicit: true,
                alias: quoted(&self.view),
            });
        fold(&alias.alias)
    }

    /// The columns of an INSERT, and those of its ON CONFLICT, as the table calls them.
    fn name_columns(&self, insert: &mut ast::Insert) -> Result<()> {
        let named = unread_words::split(&insert.columns).named.len();
        let marks = insert.columns.len() - named;
        if named == 0 {
            let all = self
                .columns
                .iter()
                .map(|(name, _)| ObjectName::from(vec![quoted(name)]));
            // Values of fewer columns are those of the first.
            let given = insert
                .source
                .as_ref()
                .and_then(|source| match source.body.as_ref() {
                    ast::SetExpr::Values(values) => values.rows.iter().map(|row| row.content.len()).max(),
                    _ => None,
                });
            if insert.source.is_some() {
                let taken = given.unwrap_or(self.columns.len()).min(self.columns.len());
                insert.columns.extend(all.take(taken));
            }
        }
        for name in &mut insert.columns[marks..] {
            self.name_column(name, "insert into")?;
        }
        let Some(ast::OnInsert::OnConflict(conflict)) = &mut insert.on else {
            return Ok(());
        };
        if let Some(ast::ConflictTarget::Columns(columns)) = &mut conflict.conflict_target {
            for column in columns {
                if let Some((_, Expr::Identifier(own))) = self.column(&fold(column)) {
                    column.clone_from(own);
                }
            }
        }
        match &mut conflict.action {
            ast::OnConflictAction::DoUpdate(update) => self.name_assigned(&mut update.assignments),
            ast::OnConflictAction::DoNothing => Ok(()),
        }
    }

    fn name_assigned(&self, assignments: &mut [ast::Assignment]) -> Result<()> {
        for assignment in assignments {
            let names = match &mut assignment.target {
                ast::AssignmentTarget::ColumnName(name) => std::slice::from_mut(name),
                ast::AssignmentTarget::Tuple(names) => names.as_mut_slice(),
            };
            for name in names {
                self.name_column(name, "update")?;
            }
        }
        Ok(())
    }

    /// A column that is written, as the table calls it.
    fn name_column(&self, name: &mut ObjectName, verb: &str) -> Result<()> {
        let [_] = name.0.as_slice() else {
            return Ok(());
        };
        let written = column_name(name, &self.view)?;
        match self.column(&written) {
            Some((_, Expr::Identifier(own))) => {
                *name = ObjectName::from(vec![own.clone()]);
                Ok(())
            }
            Some(_) => Err(Error::RefusedValue {
                state: "0A000",
                message: format!("cannot {verb} column \"{written}\" of view \"{}\"", self.view),
                detail: Some(
                    "View columns that are not columns of their base relation are not updatable.".into(),
                ),
                hint: None,
            }),
            None => Err(Error::UndefinedColumn {
                name: format!("\"{written}\" of relation \"{}\"", self.view),
                hint: None,
            }),
        }
    }

    fn column(&self, name: &str) -> Option<&(String, Expr)> {
        self.columns.iter().find(|(shown, _)| shown == name)
    }

    /// RETURNING with the columns of the view where it says `*`. Errors: 0A000 beside relations without a name.
    fn returned(&self, items: Vec<SelectItem>, called: &str, has_others: bool) -> Result<Vec<SelectItem>> {
        let mut returned = Vec::with_capacity(items.len());
        for item in items {
            match item {
                SelectItem::Wildcard(_) if has_others => {
                    return Err(Error::unsupported(
                        "RETURNING * of a view beside other relations",
                        Some("Name the columns, or write view.* and the others' names."),
                    ));
                }
                SelectItem::Wildcard(_) => returned.extend(self.all_columns(called)),
                SelectItem::QualifiedWildcard(ast::SelectItemQualifiedWildcardKind::ObjectName(name), _)
                    if is_name(&name, called) =>
                {
                    returned.extend(self.all_columns(called));
                }
                SelectItem::UnnamedExpr(expr) => match last_name(&expr) {
                    Some(name) => returned.push(SelectItem::ExprWithAlias {
                        alias: quoted(&name),
                        expr,
                    }),
                    None => returned.push(SelectItem::UnnamedExpr(expr)),
                },
                other => returned.push(other),
            }
        }
        Ok(returned)
    }

    fn all_columns(&self, called: &str) -> impl Iterator<Item = SelectItem> {
        self.columns.iter().map(|(name, _)| SelectItem::ExprWithAlias {
            expr: Expr::CompoundIdentifier(vec![quoted(called), quoted(name)]),
            alias: quoted(name),
        })
    }
}

/// An expression over a table's columns, where a statement calls the table so.
fn over(mut expr: Expr, called: &str) -> Expr {
    let _ = expr.walk_mut(&mut OwnNames { called });
    expr
}

fn others_of(from: &ast::UpdateTableFromKind) -> &[ast::TableWithJoins] {
    let (ast::UpdateTableFromKind::BeforeSet(tables) | ast::UpdateTableFromKind::AfterSet(tables)) = from;
    tables
}

/// Replaces what a statement says of a view's columns.
struct References<'a> {
    shown: &'a ShownTable,
    /// What the statement calls the view.
    called: &'a str,
    /// Whether a name without a relation may be another's.
    has_others: bool,
    /// Whether the statement is an INSERT, whose new rows are called excluded.
    inserts: bool,
    /// The queries around.
    queries: usize,
}

impl References<'_> {
    /// The column that an expression names. Errors: 42703 for one that the view does not show.
    fn column(&self, expr: &Expr) -> Result<Option<&Expr>> {
        let (relation, name) = match expr {
            Expr::Identifier(name) if self.queries == 0 && !self.has_others => (None, name),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [relation, name] if fold(relation) == self.called => (Some(relation), name),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let name = fold(name);
        match self.shown.column(&name) {
            Some((_, own)) => Ok(Some(own)),
            None if relation.is_none() && !self.shown.table_columns.contains(&name) => Ok(None),
            None => Err(Error::UndefinedColumn {
                name: match relation {
                    Some(_) => format!("{}.{name}", self.called),
                    None => format!("\"{name}\""),
                },
                hint: None,
            }),
        }
    }
}

impl VisitorMut for References<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<Error> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut ast::Query) -> ControlFlow<Error> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [relation, name] = parts.as_mut_slice()
            && self.inserts
            && fold(relation) == "excluded"
        {
            if let Some((_, Expr::Identifier(own))) = self.shown.column(&fold(name)) {
                name.clone_from(own);
            }
            return ControlFlow::Continue(());
        }
        let own = match self.column(expr) {
            Ok(None) => return ControlFlow::Continue(()),
            Ok(Some(own)) => own.clone(),
            Err(error) => return ControlFlow::Break(error),
        };
        *expr = match over(own, self.called) {
            column @ Expr::CompoundIdentifier(_) => column,
            computed => Expr::Nested(Box::new(computed)),
        };
        ControlFlow::Continue(())
    }
}

/// Puts what a statement calls a table before the names of its columns.
struct OwnNames<'a> {
    called: &'a str,
}

impl VisitorMut for OwnNames<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && name.quote_style.is_some()
        {
            *expr = Expr::CompoundIdentifier(vec![quoted(self.called), name.clone()]);
        }
        ControlFlow::Continue(())
    }
}

fn is_name(name: &ObjectName, called: &str) -> bool {
    matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(|ident| fold(ident) == called))
}
