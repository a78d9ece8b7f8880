//! SELECT as `pg_get_viewdef` prints it: the select list, conditions, groups, windows and order. Called by `query_text`.

use sqlparser::ast;

use super::binder::{Binder, Bound, Clause, Place};
use super::column_name::column_name;
use super::condition_text::Printer;
use super::printed::Printed;
use super::printed_query::{
    Outputs, ShownRelations, Surroundings, direction, grouped, resolved, without_parentheses,
};
use super::query_layout::QueryLayout;
use super::scope::{Outer, Scope, ScopeColumn};
use crate::parse::group_distinct;
use crate::parse::names::fold;
use crate::parse::quoting::quote_ident;

/// An output of a select list: its text, its name as it is printed, whether it is a column by itself, and its name.
struct Item {
    printed: Printed,
    own_name: String,
    name: String,
}

/// What names mean in a SELECT that is printed: its own relations, those around it and how all are shown, its windows.
type SelectNames<'a> = (
    &'a Scope,
    (Option<&'a Outer<'a>>, &'a ShownRelations<'a>),
    &'a [ast::NamedWindowDefinition],
);

impl Binder<'_> {
    pub(super) fn print_select(
        &mut self,
        query: &ast::Query,
        select: &ast::Select,
        order_by: &[ast::OrderByExpr],
        (outer, parent): Surroundings<'_>,
        (layout, outputs): (&mut QueryLayout, Outputs<'_>),
    ) -> Option<()> {
        let known = match &query.with {
            Some(with) => Some((with, self.known_tables(query, with, outer)?)),
            None => None,
        };
        let (_, scope) = self.from(&select.from, outer).ok()?;
        let mut shown = ShownRelations {
            shown: Vec::new(),
            parent,
        };
        for relation in &scope.relations {
            shown.take(&relation.name);
        }
        if let Some((with, known)) = known {
            // The names of the query's own relations are taken in those of its WITH clause.
            self.print_with(with, known, (outer, Some(&shown)), layout)?;
        }
        layout.indent += 8;
        layout.word(" SELECT");
        let around = (outer, &shown);
        let windows = select.named_window.as_slice();
        self.print_distinct(select, (&scope, around, windows), layout)?;
        let items = self.print_items(select, (&scope, around, windows), (layout.indent, outputs))?;
        for (at, item) in items.iter().enumerate() {
            layout.word(if at == 0 { " " } else { ", " });
            let mut target = item.printed.clone();
            if item.own_name != item.name {
                let name = format!(" AS {}", quote_ident(&item.name));
                target.plain.push_str(&name);
                target.pretty.push_str(&name);
            }
            layout.target(&target, at > 0);
        }
        self.print_from(&select.from, (&scope, outer, &shown), layout)?;
        if let Some(selection) = &select.selection {
            layout.keyword(" WHERE ", -8, 8, 1);
            let printed = self.printed(
                selection,
                (&scope, Clause::Where),
                around,
                (windows, layout.indent),
            )?;
            layout.printed(&printed.into_condition());
        }
        self.print_groups(select, (&scope, around), layout)?;
        if let Some(having) = &select.having {
            layout.keyword(" HAVING ", -8, 8, 0);
            let printed = self.printed(having, (&scope, Clause::Having), around, (windows, layout.indent))?;
            layout.printed(&printed.into_condition());
        }
        self.print_windows((&scope, around, windows), layout)?;
        self.print_order(order_by, select, (&scope, around, windows), layout)
    }

    fn print_distinct(
        &mut self,
        select: &ast::Select,
        (scope, around, windows): SelectNames<'_>,
        layout: &mut QueryLayout,
    ) -> Option<()> {
        match &select.distinct {
            None | Some(ast::Distinct::All) => {}
            Some(ast::Distinct::Distinct) => layout.word(" DISTINCT"),
            Some(ast::Distinct::On(exprs)) => {
                layout.word(" DISTINCT ON (");
                for (at, expr) in exprs.iter().enumerate() {
                    if at > 0 {
                        layout.word(", ");
                    }
                    let meant = self.meant(expr, select, (scope, around.0))?;
                    let printed =
                        self.printed(&meant, (scope, Clause::Select), around, (windows, layout.indent))?;
                    layout.printed(&grouped(printed, &meant));
                }
                layout.word(")");
            }
        }
        Some(())
    }

    fn print_windows(
        &mut self,
        (scope, around, windows): SelectNames<'_>,
        layout: &mut QueryLayout,
    ) -> Option<()> {
        for (at, ast::NamedWindowDefinition(name, definition)) in windows.iter().enumerate() {
            let ast::NamedWindowExpr::WindowSpec(spec) = definition else {
                return None;
            };
            match at {
                0 => layout.keyword(" WINDOW ", -8, 8, 1),
                _ => layout.word(", "),
            }
            layout.word(&format!("{} AS ", quote_ident(&fold(name))));
            let place = Place {
                scope,
                outer: around.0,
                clause: Clause::Window,
                windows: &windows[..at],
            };
            let mut printer = Printer {
                binder: self,
                place,
                shown: Some(around.1),
                domains: &[],
                indent: layout.indent,
                has_failed: false,
            };
            let text = printer.window_spec(spec)?;
            if printer.has_failed {
                return None;
            }
            layout.printed(&text);
        }
        Some(())
    }

    fn print_order(
        &mut self,
        order_by: &[ast::OrderByExpr],
        select: &ast::Select,
        (scope, around, windows): SelectNames<'_>,
        layout: &mut QueryLayout,
    ) -> Option<()> {
        for (at, item) in order_by.iter().enumerate() {
            match at {
                0 => layout.keyword(" ORDER BY ", -8, 8, 1),
                _ => layout.word(", "),
            }
            let meant = self.meant(&item.expr, select, (scope, around.0))?;
            let printed = self.printed(&meant, (scope, Clause::Select), around, (windows, layout.indent))?;
            layout.printed(&grouped(printed, &meant));
            layout.word(&direction(item));
        }
        Some(())
    }

    fn print_items(
        &mut self,
        select: &ast::Select,
        (scope, around, windows): SelectNames<'_>,
        (indent, outputs): (usize, Outputs<'_>),
    ) -> Option<Vec<Item>> {
        let mut items = Vec::new();
        let column = |known: &ScopeColumn| column_item(&known.name, &known.bound, scope, around.1);
        for item in &select.projection {
            match item {
                ast::SelectItem::Wildcard(options) if is_plain_wildcard(options) => {
                    items.extend(scope.visible.iter().map(column));
                }
                ast::SelectItem::QualifiedWildcard(
                    ast::SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) if is_plain_wildcard(options) => {
                    let name = fold(name.0.last()?.as_ident()?);
                    let relation = scope.relations.iter().find(|relation| relation.name == name)?;
                    items.extend(relation.columns.iter().map(column));
                }
                ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } => {
                    let printed = self.printed(expr, (scope, Clause::Select), around, (windows, indent))?;
                    let own_name = match without_parentheses(expr) {
                        ast::Expr::Identifier(name) => fold(name),
                        ast::Expr::CompoundIdentifier(parts) => fold(parts.last()?),
                        _ if outputs.are_visible => String::new(),
                        _ => "?column?".to_string(),
                    };
                    let name = match item {
                        ast::SelectItem::ExprWithAlias { alias, .. } => fold(alias),
                        _ => column_name(expr),
                    };
                    items.push(Item {
                        printed,
                        own_name,
                        name,
                    });
                }
                _ => return None,
            }
        }
        outputs_as_wanted(&mut items, outputs);
        Some(items)
    }

    fn print_groups(
        &mut self,
        select: &ast::Select,
        (scope, around): (&Scope, (Option<&Outer<'_>>, &ShownRelations<'_>)),
        layout: &mut QueryLayout,
    ) -> Option<()> {
        let ast::GroupByExpr::Expressions(exprs, modifiers) = &select.group_by else {
            return None;
        };
        let (exprs, is_distinct) = group_distinct::split(exprs);
        if !modifiers.is_empty() || is_distinct {
            return None;
        }
        for (at, expr) in exprs.iter().enumerate() {
            match at {
                0 => layout.keyword(" GROUP BY ", -8, 8, 1),
                _ => layout.word(", "),
            }
            let meant = self.meant(expr, select, (scope, around.0))?;
            if matches!(
                meant,
                ast::Expr::GroupingSets(_) | ast::Expr::Cube(_) | ast::Expr::Rollup(_) | ast::Expr::Tuple(_)
            ) {
                return None;
            }
            let printed = self.printed(&meant, (scope, Clause::GroupBy), around, (&[], layout.indent))?;
            layout.printed(&grouped(printed, &meant));
        }
        Some(())
    }

    /// What an item of GROUP BY or ORDER BY means: an output by its place or name, or itself.
    fn meant(
        &mut self,
        expr: &ast::Expr,
        select: &ast::Select,
        (scope, _): (&Scope, Option<&Outer<'_>>),
    ) -> Option<ast::Expr> {
        if let ast::Expr::Value(value) = expr
            && let ast::Value::Number(digits, _) = &value.value
        {
            let at = digits.parse::<usize>().ok()?.checked_sub(1)?;
            let plain = select.projection.iter().all(|item| {
                matches!(
                    item,
                    ast::SelectItem::UnnamedExpr(_) | ast::SelectItem::ExprWithAlias { .. }
                )
            });
            if !plain {
                return None;
            }
            return match select.projection.get(at)? {
                ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } => {
                    Some(expr.clone())
                }
                _ => None,
            };
        }
        if let ast::Expr::Identifier(name) = expr {
            let name = fold(name);
            let mut aliased = select.projection.iter().filter_map(|item| match item {
                ast::SelectItem::ExprWithAlias { expr, alias } if fold(alias) == name => Some(expr),
                _ => None,
            });
            if let Some(found) = aliased.next() {
                return Some(found.clone());
            }
            let is_column = matches!(scope.get_column(&name), Ok(Some(_)));
            if !is_column {
                let mut called = select.projection.iter().filter_map(|item| match item {
                    ast::SelectItem::UnnamedExpr(expr) if column_name(expr) == name => Some(expr),
                    _ => None,
                });
                return called.next().cloned();
            }
        }
        Some(expr.clone())
    }

    pub(super) fn printed(
        &mut self,
        expr: &ast::Expr,
        (scope, clause): (&Scope, Clause),
        (outer, shown): (Option<&Outer<'_>>, &ShownRelations<'_>),
        (windows, indent): (&[ast::NamedWindowDefinition], usize),
    ) -> Option<Printed> {
        let place = Place {
            scope,
            outer,
            clause,
            windows,
        };
        let mut printer = Printer {
            binder: self,
            place,
            shown: Some(shown),
            domains: &[],
            indent,
            has_failed: false,
        };
        let printed = printer.print(expr);
        (!printer.has_failed).then_some(printed)
    }
}

fn is_plain_wildcard(options: &ast::WildcardAdditionalOptions) -> bool {
    options.opt_except.is_none()
        && options.opt_exclude.is_none()
        && options.opt_ilike.is_none()
        && options.opt_rename.is_none()
        && options.opt_replace.is_none()
}

/// Gives outputs the types and names that they are to have.
fn outputs_as_wanted(items: &mut [Item], outputs: Outputs<'_>) {
    for (at, item) in items.iter_mut().enumerate() {
        item.printed = resolved(item.printed.clone(), outputs.types.get(at));
        if item.printed.plain.contains("::") {
            item.own_name = match outputs.are_visible {
                true => String::new(),
                false => "?column?".to_string(),
            };
        }
        if let Some(name) = outputs.names.and_then(|names| names.get(at)) {
            item.name.clone_from(name);
        }
    }
}

/// A column that a wildcard stands for.
fn column_item(name: &str, bound: &Bound, scope: &Scope, shown: &ShownRelations<'_>) -> Item {
    let owner = scope.relations.iter().find(|relation| {
        let mut columns = relation.columns.iter();
        columns.any(|column| column.bound.expr == bound.expr && column.name == name)
    });
    let text = match owner {
        Some(owner) => format!("{}.{}", quote_ident(&shown.name(&owner.name)), quote_ident(name)),
        None => quote_ident(name),
    };
    Item {
        printed: Printed::word(text, bound.ty.clone()),
        own_name: name.to_string(),
        name: name.to_string(),
    }
}
