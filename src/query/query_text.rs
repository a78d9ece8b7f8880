//! Queries as `pg_get_viewdef` prints them: every column with its relation, `*` spelt out, lines and blanks as PostgreSQL sets them. Called
//! when a view is made; expressions are printed by `condition_text`.
//!
//! What there are no rules for makes the whole no text: the view is then shown as it was written. A text that does not mean the same columns
//! is thrown away, too.

use sqlparser::ast;

use super::binder::{Binder, Clause, Place};
use super::condition_text::{Printer, negated};
use super::printed::{Printed, Shape};
use super::query_layout::QueryLayout;
use super::scope::{Outer, Scope};
use super::window_clauses::WindowClauses;
use crate::catalog::{PrintedQuery, RELATION_BEGINS, RELATION_ENDS};
use crate::parse::names::fold;
use crate::parse::quoting::quote_ident;
use crate::parse::{self};
use crate::query::plan_query;
use crate::scan::OutputColumn;
use crate::system::StatementContext;
use crate::types::SqlType;

/// What the relations of a query are called in its text, where queries around it have the same names.
pub(super) struct ShownRelations<'a> {
    /// By the names in the scope.
    pub(super) shown: Vec<(String, String)>,
    pub(super) parent: Option<&'a ShownRelations<'a>>,
}

impl ShownRelations<'_> {
    /// What a relation of the query is called.
    pub(super) fn name(&self, relation: &str) -> String {
        let shown = self.shown.iter().find(|(name, _)| name == relation);
        shown.map_or_else(|| relation.to_string(), |(_, shown)| shown.clone())
    }

    fn is_taken(&self, name: &str) -> bool {
        self.shown.iter().any(|(_, shown)| shown == name)
            || self.parent.is_some_and(|parent| parent.is_taken(name))
    }

    /// Takes a name for a relation: its own, or with a number behind it.
    fn take(&mut self, relation: &str) {
        let mut shown = relation.to_string();
        let mut number = 0;
        while self.is_taken(&shown) {
            number += 1;
            shown = format!("{relation}_{number}");
        }
        self.shown.push((relation.to_string(), shown));
    }
}

/// The text of a view's query whose columns are these, called so. `None`: there is none.
pub(crate) fn query_text(
    ctx: &StatementContext,
    query: &ast::Query,
    (columns, names): (&[OutputColumn], &[String]),
) -> Option<PrintedQuery> {
    let parameters = Vec::new();
    let mut binder = Binder::new(ctx, &parameters);
    let types: Vec<SqlType> = columns.iter().map(|column| column.ty.clone()).collect();
    let mut layout = QueryLayout::new(0);
    let outputs = Outputs {
        types: &types,
        names: Some(names),
    };
    binder.print_query(query, None, None, (&mut layout, outputs))?;
    let printed = PrintedQuery {
        plain: layout.plain,
        pretty: layout.pretty,
    };
    let means_the_same = |text: &str| {
        let text = text.replace([RELATION_BEGINS, RELATION_ENDS], "");
        let Ok(parsed) = parse::parse_query(&text) else {
            return false;
        };
        let Ok(planned) = plan_query(ctx, &parsed, &[]) else {
            return false;
        };
        let text_type = |ty: &SqlType| match ty {
            SqlType::Unknown | SqlType::Void => SqlType::Text,
            ty => ty.clone(),
        };
        let same = |(found, (column, name)): (&OutputColumn, (&OutputColumn, &String))| {
            found.name == *name && text_type(&found.ty) == text_type(&column.ty)
        };
        planned.columns.len() == columns.len()
            && planned.columns.iter().zip(columns.iter().zip(names)).all(same)
    };
    (means_the_same(&printed.plain) && means_the_same(&printed.pretty)).then_some(printed)
}

/// What a query's columns are to be.
#[derive(Clone, Copy)]
struct Outputs<'a> {
    /// Their types; none: as they come.
    types: &'a [SqlType],
    /// Their names; `None`: as they come.
    names: Option<&'a [String]>,
}

/// An output of a select list: its text, its name as it is printed, whether it is a column by itself, and its name.
struct Item {
    printed: Printed,
    own_name: String,
    name: String,
}

type Surroundings<'a> = (Option<&'a Outer<'a>>, Option<&'a ShownRelations<'a>>);

impl Binder<'_> {
    /// Prints a query into a layout. `None`: it cannot be.
    fn print_query(
        &mut self,
        query: &ast::Query,
        outer: Option<&Outer<'_>>,
        parent: Option<&ShownRelations<'_>>,
        (layout, outputs): (&mut QueryLayout, Outputs<'_>),
    ) -> Option<()> {
        let outside = self.common_tables.len();
        let printed = self.one_level_deeper(|binder| {
            Ok(binder.print_query_here(query, (outer, parent), (layout, outputs)))
        });
        self.common_tables.truncate(outside);
        printed.ok().flatten()
    }

    fn print_query_here(
        &mut self,
        query: &ast::Query,
        (outer, parent): Surroundings<'_>,
        (layout, outputs): (&mut QueryLayout, Outputs<'_>),
    ) -> Option<()> {
        if !query.locks.is_empty() || query.for_clause.is_some() || !query.pipe_operators.is_empty() {
            return None;
        }
        let order_by: &[ast::OrderByExpr] = match &query.order_by {
            None => &[],
            Some(order_by) => match &order_by.kind {
                ast::OrderByKind::Expressions(items) => items,
                ast::OrderByKind::All(_) => return None,
            },
        };
        match query.body.as_ref() {
            ast::SetExpr::Select(select) => {
                self.print_select(query, select, order_by, (outer, parent), (layout, outputs))?;
            }
            body => {
                if let Some(with) = &query.with {
                    self.print_with(query, with, (outer, parent), layout)?;
                }
                let names = self.query(query, outer).ok()?.columns;
                let own: Vec<String> = names.iter().map(|column| column.name.clone()).collect();
                let types: Vec<SqlType> = names.iter().map(|column| column.ty.clone()).collect();
                let outputs = Outputs {
                    types: if outputs.types.is_empty() {
                        &types
                    } else {
                        outputs.types
                    },
                    names: outputs.names.or(Some(&own)),
                };
                self.print_body(body, (outer, parent), (layout, outputs))?;
                let mut places = Vec::new();
                for item in order_by {
                    let place = place_of_output(&item.expr, &own)?;
                    places.push(format!("{}{}", place, direction(item)));
                }
                if !places.is_empty() {
                    layout.keyword(" ORDER BY ", -8, 8, 1);
                    layout.word(&places.join(", "));
                }
            }
        }
        self.print_limit(query, layout)
    }

    fn print_with(
        &mut self,
        query: &ast::Query,
        with: &ast::With,
        (outer, parent): Surroundings<'_>,
        layout: &mut QueryLayout,
    ) -> Option<()> {
        layout.indent += 8;
        layout.word(" ");
        let mut word = if with.recursive {
            "WITH RECURSIVE "
        } else {
            "WITH "
        };
        let outside = self.common_tables.len();
        self.with(with, query, outer).ok()?;
        let known = self.common_tables.split_off(outside);
        for cte in &with.cte_tables {
            layout.word(word);
            word = ", ";
            let name = fold(&cte.alias.name);
            layout.word(&quote_ident(&name));
            let columns: Vec<String> = cte
                .alias
                .columns
                .iter()
                .map(|column| quote_ident(&fold(&column.name)))
                .collect();
            if !columns.is_empty() {
                layout.word(&format!("({})", columns.join(", ")));
            }
            layout.word(" AS ");
            match cte.materialized {
                Some(ast::CteAsMaterialized::Materialized) => layout.word("MATERIALIZED "),
                Some(ast::CteAsMaterialized::NotMaterialized) => layout.word("NOT MATERIALIZED "),
                None => {}
            }
            layout.word("(");
            layout.keyword("", 0, 0, 0);
            // A recursion names itself; the others are there when those behind them are printed.
            let source = known.iter().find(|table| table.name == name)?.clone();
            let recursive = with.recursive;
            let before = self.common_tables.len();
            if recursive {
                self.common_tables.push(source.clone());
            }
            let outputs = Outputs {
                types: &[],
                names: None,
            };
            self.print_query(&cte.query, outer, parent, (layout, outputs))?;
            self.common_tables.truncate(before);
            self.common_tables.push(source);
            layout.keyword("", 0, 0, 0);
            layout.word(")");
        }
        layout.indent = layout.indent.saturating_sub(8);
        layout.keyword("", 0, 0, 0);
        Some(())
    }

    /// Set operations, VALUES and queries in parentheses.
    fn print_body(
        &mut self,
        body: &ast::SetExpr,
        (outer, parent): Surroundings<'_>,
        (layout, outputs): (&mut QueryLayout, Outputs<'_>),
    ) -> Option<()> {
        match body {
            ast::SetExpr::Select(select) => {
                let query = bare_query(ast::SetExpr::Select(select.clone()));
                self.print_leaf(&query, (outer, parent), (layout, outputs))
            }
            ast::SetExpr::Values(values) => self.print_values(values, (outer, parent), (layout, outputs)),
            ast::SetExpr::Query(query) => match is_plain(query) {
                true => self.print_body(&query.body, (outer, parent), (layout, outputs)),
                false => {
                    layout.word("(");
                    self.print_leaf(query, (outer, parent), (layout, outputs))?;
                    layout.word(")");
                    Some(())
                }
            },
            ast::SetExpr::SetOperation {
                op,
                set_quantifier,
                left,
                right,
            } => {
                let all = matches!(set_quantifier, ast::SetQuantifier::All);
                let same = |inner: &ast::SetExpr| match unwrapped(inner) {
                    ast::SetExpr::SetOperation {
                        op: o,
                        set_quantifier: q,
                        ..
                    } => Some(o == op && matches!(q, ast::SetQuantifier::All) == all),
                    _ => None,
                };
                let wraps = same(left) == Some(false);
                let extra = if wraps { 8 } else { 0 };
                if wraps {
                    layout.word("(");
                    layout.keyword("", extra, 0, 0);
                }
                self.print_body(left, (outer, parent), (layout, outputs))?;
                match wraps {
                    true => layout.keyword(") ", -extra, 0, 0),
                    false => layout.keyword("", -extra, 0, 0),
                }
                let word = match op {
                    ast::SetOperator::Union => "UNION ",
                    ast::SetOperator::Intersect => "INTERSECT ",
                    _ => "EXCEPT ",
                };
                layout.word(word);
                if all {
                    layout.word("ALL ");
                }
                let wraps = same(right).is_some();
                let extra = if wraps { 8 } else { 0 };
                if wraps {
                    layout.word("(");
                }
                layout.keyword("", extra, 0, 0);
                self.print_body(right, (outer, parent), (layout, outputs))?;
                layout.indent = layout.indent.saturating_sub(if wraps { 8 } else { 0 });
                if wraps {
                    layout.keyword(")", 0, 0, 0);
                }
                Some(())
            }
            _ => None,
        }
    }

    /// A query of a set operation, whose lines begin where the operation's do.
    fn print_leaf(
        &mut self,
        query: &ast::Query,
        (outer, parent): Surroundings<'_>,
        (layout, outputs): (&mut QueryLayout, Outputs<'_>),
    ) -> Option<()> {
        let mut inner = QueryLayout::new(layout.indent);
        self.print_query(query, outer, parent, (&mut inner, outputs))?;
        layout.append(&inner);
        Some(())
    }

    fn print_values(
        &mut self,
        values: &ast::Values,
        (outer, parent): Surroundings<'_>,
        (layout, outputs): (&mut QueryLayout, Outputs<'_>),
    ) -> Option<()> {
        let scope = Scope::default();
        let shown = ShownRelations {
            shown: Vec::new(),
            parent,
        };
        layout.word(" VALUES ");
        let mut types = outputs.types.to_vec();
        if types.is_empty() {
            let query = bare_query(ast::SetExpr::Values(values.clone()));
            let bound = self.query(&query, outer).ok()?;
            types = bound.columns.into_iter().map(|column| column.ty).collect();
        }
        for (at, row) in values.rows.iter().enumerate() {
            layout.word(if at == 0 { "(" } else { ", (" });
            for (column, expr) in row.content.iter().enumerate() {
                if column > 0 {
                    layout.word(",");
                }
                let printed = self.printed(
                    expr,
                    (&scope, Clause::Values),
                    (outer, &shown),
                    (&[], layout.indent),
                )?;
                layout.printed(&resolved(printed, types.get(column)));
            }
            layout.word(")");
        }
        Some(())
    }

    fn print_limit(&mut self, query: &ast::Query, layout: &mut QueryLayout) -> Option<()> {
        let (limit, offset) = match &query.limit_clause {
            None => (None, None),
            Some(ast::LimitClause::LimitOffset {
                limit,
                offset,
                limit_by,
            }) if limit_by.is_empty() => (limit.as_ref(), offset.as_ref().map(|offset| &offset.value)),
            Some(_) => return None,
        };
        let count = |expr: &ast::Expr| match expr {
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Number(digits, _) => Some(digits.clone()),
                _ => None,
            },
            _ => None,
        };
        if let Some(offset) = offset {
            layout.keyword(" OFFSET ", -8, 8, 0);
            layout.word(&count(offset)?);
        }
        match (limit, &query.fetch) {
            (Some(limit), None) => {
                layout.keyword(" LIMIT ", -8, 8, 0);
                layout.word(&count(limit)?);
            }
            (None, Some(fetch)) if !fetch.percent => {
                let fetched = fetch.quantity.as_ref().map_or(Some("1".to_string()), count)?;
                match fetch.with_ties {
                    true => {
                        layout.keyword(" FETCH FIRST ", -8, 8, 0);
                        layout.word(&format!("{fetched} ROWS WITH TIES"));
                    }
                    false => {
                        layout.keyword(" LIMIT ", -8, 8, 0);
                        layout.word(&fetched);
                    }
                }
            }
            (None, None) => {}
            _ => return None,
        }
        Some(())
    }

    fn print_select(
        &mut self,
        query: &ast::Query,
        select: &ast::Select,
        order_by: &[ast::OrderByExpr],
        (outer, parent): Surroundings<'_>,
        (layout, outputs): (&mut QueryLayout, Outputs<'_>),
    ) -> Option<()> {
        if let Some(with) = &query.with {
            self.print_with(query, with, (outer, parent), layout)?;
        }
        let (_, scope) = self.from(&select.from, outer).ok()?;
        let mut shown = ShownRelations {
            shown: Vec::new(),
            parent,
        };
        for relation in &scope.relations {
            shown.take(&relation.name);
        }
        layout.indent += 8;
        layout.word(" SELECT");
        let around = (outer, &shown);
        let windows = select.named_window.as_slice();
        match &select.distinct {
            None | Some(ast::Distinct::All) => {}
            Some(ast::Distinct::Distinct) => layout.word(" DISTINCT"),
            Some(ast::Distinct::On(exprs)) => {
                layout.word(" DISTINCT ON (");
                for (at, expr) in exprs.iter().enumerate() {
                    if at > 0 {
                        layout.word(", ");
                    }
                    let meant = self.meant(expr, select, (&scope, outer))?;
                    let printed =
                        self.printed(&meant, (&scope, Clause::Select), around, (windows, layout.indent))?;
                    layout.printed(&grouped(printed, &meant));
                }
                layout.word(")");
            }
        }
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
            layout.printed(&printed);
        }
        self.print_groups(select, (&scope, around), layout)?;
        if let Some(having) = &select.having {
            layout.keyword(" HAVING ", -8, 8, 0);
            let printed = self.printed(having, (&scope, Clause::Having), around, (windows, layout.indent))?;
            layout.printed(&printed);
        }
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
                scope: &scope,
                outer,
                clause: Clause::Window,
                windows: &windows[..at],
            };
            let mut printer = Printer {
                binder: self,
                place,
                shown: Some(&shown),
                indent: layout.indent,
                has_failed: false,
            };
            let text = printer.window_spec(spec)?;
            if printer.has_failed {
                return None;
            }
            layout.printed(&text);
        }
        for (at, item) in order_by.iter().enumerate() {
            match at {
                0 => layout.keyword(" ORDER BY ", -8, 8, 1),
                _ => layout.word(", "),
            }
            let meant = self.meant(&item.expr, select, (&scope, outer))?;
            let printed = self.printed(&meant, (&scope, Clause::Select), around, (windows, layout.indent))?;
            layout.printed(&grouped(printed, &meant));
            layout.word(&direction(item));
        }
        Some(())
    }

    fn print_items(
        &mut self,
        select: &ast::Select,
        (scope, around, windows): (
            &Scope,
            (Option<&Outer<'_>>, &ShownRelations<'_>),
            &[ast::NamedWindowDefinition],
        ),
        (indent, outputs): (usize, Outputs<'_>),
    ) -> Option<Vec<Item>> {
        let mut items = Vec::new();
        let column = |name: &str, ty: &SqlType, bound: &super::binder::Bound| {
            let owner = scope.relations.iter().find(|relation| {
                let mut columns = relation.columns.iter();
                columns.any(|column| column.bound.expr == bound.expr && column.name == name)
            });
            let text = match owner {
                Some(owner) => format!(
                    "{}.{}",
                    quote_ident(&around.1.name(&owner.name)),
                    quote_ident(name)
                ),
                None => quote_ident(name),
            };
            Item {
                printed: Printed::word(text, ty.clone()),
                own_name: name.to_string(),
                name: name.to_string(),
            }
        };
        for item in &select.projection {
            match item {
                ast::SelectItem::Wildcard(options) if is_plain_wildcard(options) => {
                    items.extend(
                        scope
                            .visible
                            .iter()
                            .map(|known| column(&known.name, &known.bound.ty, &known.bound)),
                    );
                }
                ast::SelectItem::QualifiedWildcard(
                    ast::SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) if is_plain_wildcard(options) => {
                    let name = fold(name.0.last()?.as_ident()?);
                    let relation = scope.relations.iter().find(|relation| relation.name == name)?;
                    let columns = relation.columns.iter();
                    items.extend(columns.map(|known| column(&known.name, &known.bound.ty, &known.bound)));
                }
                ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } => {
                    let printed = self.printed(expr, (scope, Clause::Select), around, (windows, indent))?;
                    let own_name = match without_parentheses(expr) {
                        ast::Expr::Identifier(name) => fold(name),
                        ast::Expr::CompoundIdentifier(parts) => fold(parts.last()?),
                        _ => "?column?".to_string(),
                    };
                    let name = match item {
                        ast::SelectItem::ExprWithAlias { alias, .. } => fold(alias),
                        _ => super::column_name::column_name(expr),
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
        for (at, item) in items.iter_mut().enumerate() {
            item.printed = resolved(item.printed.clone(), outputs.types.get(at));
            if item.printed.shape == Shape::Word
                && item.own_name != "?column?"
                && item.printed.plain.contains("::")
            {
                item.own_name = "?column?".to_string();
            }
            if let Some(name) = outputs.names.and_then(|names| names.get(at)) {
                item.name.clone_from(name);
            }
        }
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
        if !modifiers.is_empty() {
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
                    ast::SelectItem::UnnamedExpr(expr) if super::column_name::column_name(expr) == name => {
                        Some(expr)
                    }
                    _ => None,
                });
                return called.next().cloned();
            }
        }
        Some(expr.clone())
    }

    fn printed(
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
            indent,
            has_failed: false,
        };
        let printed = printer.print(expr);
        (!printer.has_failed).then_some(printed)
    }

    fn print_from(
        &mut self,
        from: &[ast::TableWithJoins],
        (scope, outer, shown): (&Scope, Option<&Outer<'_>>, &ShownRelations<'_>),
        layout: &mut QueryLayout,
    ) -> Option<()> {
        for (at, table) in from.iter().enumerate() {
            match at {
                0 => {
                    layout.keyword(" FROM ", -8, 8, 2);
                    self.print_joined(table, (scope, outer, shown), layout)?;
                }
                _ => {
                    layout.word(", ");
                    let mut item = QueryLayout::new(layout.indent);
                    self.print_joined(table, (scope, outer, shown), &mut item)?;
                    layout.item(&item);
                }
            }
        }
        Some(())
    }

    fn print_joined(
        &mut self,
        table: &ast::TableWithJoins,
        (scope, outer, shown): (&Scope, Option<&Outer<'_>>, &ShownRelations<'_>),
        layout: &mut QueryLayout,
    ) -> Option<()> {
        for _ in &table.joins {
            layout.plain_word("(");
        }
        self.print_factor(&table.relation, (scope, outer, shown), layout)?;
        for join in &table.joins {
            use ast::JoinOperator as J;
            let (word, constraint) = match &join.join_operator {
                J::Join(constraint) | J::Inner(constraint) => (" JOIN ", Some(constraint)),
                J::Left(constraint) | J::LeftOuter(constraint) => (" LEFT JOIN ", Some(constraint)),
                J::Right(constraint) | J::RightOuter(constraint) => (" RIGHT JOIN ", Some(constraint)),
                J::FullOuter(constraint) => (" FULL JOIN ", Some(constraint)),
                J::CrossJoin(_) => (" CROSS JOIN ", None),
                _ => return None,
            };
            layout.keyword(word, -8, 8, 4);
            let is_nested = matches!(&join.relation, ast::TableFactor::NestedJoin { .. });
            if is_nested {
                layout.pretty_word("(");
            }
            self.print_factor(&join.relation, (scope, outer, shown), layout)?;
            if is_nested {
                layout.pretty_word(")");
            }
            match constraint {
                None => {}
                Some(ast::JoinConstraint::On(condition)) => {
                    layout.word(" ON ");
                    layout.plain_word("(");
                    let printed = self.printed(
                        condition,
                        (scope, Clause::JoinOn),
                        (outer, shown),
                        (&[], layout.indent),
                    )?;
                    layout.printed(&printed);
                    layout.plain_word(")");
                }
                Some(ast::JoinConstraint::Using(names)) => {
                    let names: Option<Vec<String>> = names
                        .iter()
                        .map(|name| Some(quote_ident(&fold(name.0.last()?.as_ident()?))))
                        .collect();
                    layout.word(&format!(" USING ({})", names?.join(", ")));
                }
                Some(_) => return None,
            }
            layout.plain_word(")");
        }
        Some(())
    }

    fn print_factor(
        &mut self,
        factor: &ast::TableFactor,
        (scope, outer, shown): (&Scope, Option<&Outer<'_>>, &ShownRelations<'_>),
        layout: &mut QueryLayout,
    ) -> Option<()> {
        match factor {
            ast::TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => self.print_joined(table_with_joins, (scope, outer, shown), layout),
            ast::TableFactor::Derived {
                lateral,
                subquery,
                alias: Some(alias),
                sample: None,
            } => {
                if *lateral {
                    layout.word("LATERAL ");
                }
                layout.word("(");
                let mut inner = QueryLayout::new(layout.indent);
                let around = Outer::new(scope, outer, None);
                let outer = if *lateral { Some(&around) } else { outer };
                let outputs = Outputs {
                    types: &[],
                    names: None,
                };
                self.print_query(subquery, outer, Some(shown), (&mut inner, outputs))?;
                layout.append(&inner);
                layout.word(")");
                self.print_alias(alias, &fold(&alias.name), shown, layout);
                Some(())
            }
            ast::TableFactor::Table {
                name,
                alias,
                args: None,
                version: None,
                with_ordinality: false,
                ..
            } => {
                let (schema, own) = crate::parse::names::relation_name(name).ok()?;
                let is_cte = schema.is_none() && self.common_tables.iter().any(|table| table.name == own);
                let called = alias
                    .as_ref()
                    .map_or_else(|| own.clone(), |alias| fold(&alias.name));
                match is_cte {
                    true => layout.word(&quote_ident(&own)),
                    false => {
                        let (schema, relation) = self.relation_meant(name)?;
                        layout.word(&format!(
                            "{RELATION_BEGINS}{}.{}{RELATION_ENDS}",
                            quote_ident(&schema),
                            quote_ident(&relation)
                        ));
                    }
                }
                let is_renamed = shown.name(&called) != own;
                match alias {
                    Some(alias) if is_renamed || !alias.columns.is_empty() => {
                        self.print_alias(alias, &called, shown, layout);
                    }
                    _ if is_renamed => layout.word(&format!(" {}", quote_ident(&shown.name(&called)))),
                    _ => {}
                }
                Some(())
            }
            _ => self.print_function_item(factor, (scope, outer, shown), layout),
        }
    }

    fn print_alias(
        &mut self,
        alias: &ast::TableAlias,
        called: &str,
        shown: &ShownRelations<'_>,
        layout: &mut QueryLayout,
    ) {
        layout.word(&format!(" {}", quote_ident(&shown.name(called))));
        let columns: Vec<String> = alias
            .columns
            .iter()
            .map(|column| quote_ident(&fold(&column.name)))
            .collect();
        if !columns.is_empty() {
            layout.word(&format!("({})", columns.join(", ")));
        }
    }

    /// A function in FROM, whose columns are always named.
    fn print_function_item(
        &mut self,
        factor: &ast::TableFactor,
        (scope, outer, shown): (&Scope, Option<&Outer<'_>>, &ShownRelations<'_>),
        layout: &mut QueryLayout,
    ) -> Option<()> {
        let ast::TableFactor::Table {
            name,
            alias,
            args: Some(args),
            with_ordinality,
            version: None,
            ..
        } = factor
        else {
            return None;
        };
        let own = fold(name.0.last()?.as_ident()?);
        let called = alias
            .as_ref()
            .map_or_else(|| own.clone(), |alias| fold(&alias.name));
        if alias
            .as_ref()
            .is_some_and(|alias| alias.columns.iter().any(|column| column.data_type.is_some()))
        {
            return None;
        }
        let mut texts = Vec::new();
        for argument in &args.args {
            let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument)) = argument else {
                return None;
            };
            texts.push(self.printed(
                argument,
                (scope, Clause::From),
                (outer, shown),
                (&[], layout.indent),
            )?);
        }
        layout.word(&format!("{}(", quote_ident(&own)));
        for (at, text) in texts.iter().enumerate() {
            if at > 0 {
                layout.word(", ");
            }
            layout.printed(&resolved(text.clone(), None));
        }
        layout.word(")");
        if *with_ordinality {
            layout.word(" WITH ORDINALITY");
        }
        let relation = scope.relations.iter().find(|relation| relation.name == called)?;
        let columns: Vec<String> = relation
            .columns
            .iter()
            .map(|column| quote_ident(&column.name))
            .collect();
        layout.word(&format!(
            " {}({})",
            quote_ident(&shown.name(&called)),
            columns.join(", ")
        ));
        Some(())
    }

    /// The schema and name of the relation that a name means.
    fn relation_meant(&self, name: &ast::ObjectName) -> Option<(String, String)> {
        let (schema, name) = crate::parse::names::relation_name(name).ok()?;
        let wanted = crate::catalog::RelationName {
            schema: schema.as_deref(),
            name: &name,
            search_path: &self.search_path,
        };
        let found = self
            .ctx
            .catalog
            .get_relation(wanted, crate::catalog::Access::Name)
            .ok()??;
        match found {
            crate::catalog::Object::Table(table) => Some((table.schema.clone(), table.name.clone())),
            crate::catalog::Object::View(view) => Some((view.schema.clone(), view.name.clone())),
            _ => None,
        }
    }
}

impl Printer<'_, '_> {
    /// A column with its relation.
    pub(super) fn column(&mut self, relation: Option<&str>, name: &str, expr: &ast::Expr) -> Printed {
        let ty = self.type_of(expr);
        let (mut scope, mut outer, mut shown) = (Some(self.place.scope), self.place.outer, self.shown);
        while let Some(here) = scope {
            let owner = match relation {
                Some(wanted) => {
                    let found = here.relations.iter().find(|known| known.name == wanted);
                    found.map(|known| Some(known.name.clone()))
                }
                None => match here.get_column(name) {
                    Ok(Some(bound)) => {
                        let owner = here.relations.iter().find(|known| {
                            let mut columns = known.columns.iter();
                            columns.any(|column| column.name == name && column.bound.expr == bound.expr)
                        });
                        Some(owner.map(|known| known.name.clone()))
                    }
                    _ => None,
                },
            };
            match owner {
                Some(Some(owner)) => {
                    let owner = shown.map_or_else(|| owner.clone(), |shown| shown.name(&owner));
                    return Printed::word(format!("{}.{}", quote_ident(&owner), quote_ident(name)), ty);
                }
                Some(None) => return Printed::word(quote_ident(name), ty),
                None => {}
            }
            scope = outer.map(|outer| outer.scope);
            outer = outer.and_then(|outer| outer.parent);
            shown = shown.and_then(|shown| shown.parent);
        }
        self.as_written(expr)
    }

    /// A subquery as a value, a test or a side of a comparison.
    pub(super) fn sublink(&mut self, expr: &ast::Expr) -> Printed {
        match expr {
            ast::Expr::Subquery(query) => {
                let ty = self.type_of(expr);
                let query = self.subquery(query);
                Printed::call(ty, |text| format!("({})", text(&query)))
            }
            ast::Expr::Exists {
                subquery,
                negated: not,
            } => {
                let query = self.subquery(subquery);
                let exists = Printed::call(SqlType::Bool, |text| format!("(EXISTS ({}))", text(&query)));
                match not {
                    true => negated(exists),
                    false => exists,
                }
            }
            ast::Expr::InSubquery {
                expr: value,
                subquery,
                negated: not,
            } => {
                let found = self.compared_with_rows(value, "IN", subquery);
                match not {
                    true => negated(found),
                    false => found,
                }
            }
            other => self.as_written(other),
        }
    }

    /// `(value IN (query))`, `(value = ANY (query))`.
    pub(super) fn compared_with_rows(
        &mut self,
        value: &ast::Expr,
        words: &str,
        query: &ast::Query,
    ) -> Printed {
        if matches!(value, ast::Expr::Tuple(_)) {
            return self.as_written(value);
        }
        let words = if words == "= ANY" { "IN" } else { words };
        let value = self.print(value);
        let query = self.subquery(query);
        Printed::call(SqlType::Bool, |text| {
            format!("({} {words} ({}))", text(&value), text(&query))
        })
    }

    fn subquery(&mut self, query: &ast::Query) -> Printed {
        let mut layout = QueryLayout::new(self.indent);
        let around = Outer::new(self.place.scope, self.place.outer, Some(self.place.clause));
        let outputs = Outputs {
            types: &[],
            names: None,
        };
        let printed = self
            .binder
            .print_query(query, Some(&around), self.shown, (&mut layout, outputs));
        self.has_failed |= printed.is_none();
        Printed {
            plain: layout.plain,
            pretty: layout.pretty,
            ..Printed::word("", SqlType::Unknown)
        }
    }

    /// A call with clauses of its own, or of an aggregate.
    pub(super) fn call_with_clauses(&mut self, expr: &ast::Expr, function: &ast::Function) -> Printed {
        let printed = self.clauses_of_call(expr, function);
        printed.unwrap_or_else(|| self.as_written(expr))
    }

    fn clauses_of_call(&mut self, expr: &ast::Expr, function: &ast::Function) -> Option<Printed> {
        let name = fold(function.name.0.last()?.as_ident()?);
        let ty = self.type_of(expr);
        if let ast::FunctionArguments::Subquery(query) = &function.args {
            let query = self.subquery(query);
            return (name == "array").then(|| Printed::call(ty, |text| format!("ARRAY({})", text(&query))));
        }
        let ast::FunctionArguments::List(list) = &function.args else {
            return None;
        };
        if !function.within_group.is_empty() || function.null_treatment.is_some() {
            return None;
        }
        let distinct = list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct);
        let mut arguments = Vec::new();
        for argument in &list.args {
            arguments.push(match argument {
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) => {
                    Printed::word("*", SqlType::Unknown)
                }
                ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument)) => {
                    resolved(self.print(argument), None)
                }
                _ => return None,
            });
        }
        let order = match list.clauses.as_slice() {
            [] => None,
            [ast::FunctionArgumentClause::OrderBy(items)] => Some(self.order_items(items)?),
            _ => return None,
        };
        let filter = function.filter.as_ref().map(|filter| self.print(filter));
        let over = match &function.over {
            None => None,
            Some(ast::WindowType::NamedWindow(name)) => {
                Some(Printed::word(quote_ident(&fold(name)), SqlType::Unknown))
            }
            Some(ast::WindowType::WindowSpec(spec)) => Some(self.window_spec(spec)?),
        };
        Some(Printed::call(ty, |text| {
            let listed: Vec<String> = arguments.iter().map(text).collect();
            let distinct = if distinct { "DISTINCT " } else { "" };
            let order = order
                .as_ref()
                .map_or(String::new(), |order| format!(" ORDER BY {}", text(order)));
            let filter = filter.as_ref().map_or(String::new(), |filter| {
                format!(" FILTER (WHERE {})", text(filter))
            });
            let over = over
                .as_ref()
                .map_or(String::new(), |over| format!(" OVER {}", text(over)));
            format!(
                "{}({distinct}{}{order}){filter}{over}",
                quote_ident(&name),
                listed.join(", ")
            )
        }))
    }

    fn order_items(&mut self, items: &[ast::OrderByExpr]) -> Option<Printed> {
        let mut printed = Vec::new();
        for item in items {
            printed.push((grouped(self.print(&item.expr), &item.expr), direction(item)));
        }
        Some(Printed::call(SqlType::Unknown, |text| {
            let items: Vec<String> = printed
                .iter()
                .map(|(item, direction)| text(item) + direction)
                .collect();
            items.join(", ")
        }))
    }

    /// A window in its parentheses.
    pub(super) fn window_spec(&mut self, spec: &ast::WindowSpec) -> Option<Printed> {
        let over = ast::WindowType::WindowSpec(spec.clone());
        WindowClauses::of(&over, self.place.windows).ok()?;
        let (base, exclusion) = crate::parse::frame_exclusion::split(spec);
        let mut parts: Vec<Printed> = Vec::new();
        if let Some(base) = base {
            parts.push(Printed::word(quote_ident(&base), SqlType::Unknown));
        }
        if !spec.partition_by.is_empty() {
            let keys: Vec<Printed> = spec
                .partition_by
                .iter()
                .map(|key| grouped(self.print(key), key))
                .collect();
            parts.push(Printed::call(SqlType::Unknown, |text| {
                let keys: Vec<String> = keys.iter().map(text).collect();
                format!("PARTITION BY {}", keys.join(", "))
            }));
        }
        if !spec.order_by.is_empty() {
            let order = self.order_items(&spec.order_by)?;
            parts.push(Printed::call(SqlType::Unknown, |text| {
                format!("ORDER BY {}", text(&order))
            }));
        }
        if let Some(frame) = &spec.window_frame {
            parts.push(self.frame_text(frame, exclusion.as_deref())?);
        }
        Some(Printed::call(SqlType::Unknown, |text| {
            let parts: Vec<String> = parts.iter().map(text).collect();
            format!("({})", parts.join(" "))
        }))
    }

    fn frame_text(&mut self, frame: &ast::WindowFrame, exclusion: Option<&str>) -> Option<Printed> {
        use ast::WindowFrameBound::{CurrentRow, Following, Preceding};
        let mut bound = |bound: &ast::WindowFrameBound| {
            let (offset, word) = match bound {
                CurrentRow => return Printed::word("CURRENT ROW", SqlType::Unknown),
                Preceding(None) => return Printed::word("UNBOUNDED PRECEDING", SqlType::Unknown),
                Following(None) => return Printed::word("UNBOUNDED FOLLOWING", SqlType::Unknown),
                Preceding(Some(offset)) => (offset, "PRECEDING"),
                Following(Some(offset)) => (offset, "FOLLOWING"),
            };
            let offset = self.print(offset);
            Printed::call(SqlType::Unknown, |text| format!("{} {word}", text(&offset)))
        };
        let start = bound(&frame.start_bound);
        let end = frame.end_bound.as_ref().map(bound);
        let exclusion = match exclusion {
            Some("CURRENT") => " EXCLUDE CURRENT ROW",
            Some("GROUP") => " EXCLUDE GROUP",
            Some("TIES") => " EXCLUDE TIES",
            _ => "",
        };
        let units = frame.units.to_string();
        Some(Printed::call(SqlType::Unknown, |text| match &end {
            Some(end) => format!("{units} BETWEEN {} AND {}{exclusion}", text(&start), text(end)),
            None => format!("{units} {}{exclusion}", text(&start)),
        }))
    }
}

/// Whether a call is one of an aggregate, or has clauses.
pub(super) fn is_more_than_a_call(function: &ast::Function) -> bool {
    let name = function.name.0.last().and_then(|part| part.as_ident()).map(fold);
    let is_aggregate = name.is_some_and(|name| super::aggregate::is_aggregate_call(&name, function));
    let has_clauses = match &function.args {
        ast::FunctionArguments::List(list) => list.duplicate_treatment.is_some() || !list.clauses.is_empty(),
        ast::FunctionArguments::Subquery(_) => true,
        ast::FunctionArguments::None => false,
    };
    is_aggregate
        || has_clauses
        || function.filter.is_some()
        || function.over.is_some()
        || !function.within_group.is_empty()
}

/// What is not a column alone stands in parentheses where it could be read as something else.
fn grouped(printed: Printed, expr: &ast::Expr) -> Printed {
    match without_parentheses(expr) {
        ast::Expr::Identifier(_) | ast::Expr::CompoundIdentifier(_) => printed,
        _ => {
            let is_call = matches!(
                without_parentheses(expr),
                ast::Expr::Function(_) | ast::Expr::Extract { .. }
            );
            let plain = match is_call {
                true => format!("({})", printed.plain),
                false => printed.plain.clone(),
            };
            Printed {
                plain,
                pretty: format!("({})", printed.pretty),
                ..printed
            }
        }
    }
}

/// A literal of no type is text, unless its column has another; NULL says its type.
fn resolved(printed: Printed, ty: Option<&SqlType>) -> Printed {
    let ty = match ty {
        None | Some(SqlType::Unknown | SqlType::Void) => None,
        Some(ty) => Some(ty),
    };
    if printed.untyped.is_some() {
        return printed.into_type(ty.unwrap_or(&SqlType::Text));
    }
    if printed.plain == "NULL" {
        let ty = ty.cloned().unwrap_or(SqlType::Text);
        return Printed::word(format!("NULL::{ty}"), ty);
    }
    match ty {
        Some(ty) if printed.ty != SqlType::Unknown => printed.into_type(ty),
        _ => printed,
    }
}

fn direction(item: &ast::OrderByExpr) -> String {
    let descends = item.options.asc == Some(false);
    let first = item.options.nulls_first.unwrap_or(descends);
    let nulls = match (descends, first) {
        (false, true) => " NULLS FIRST",
        (true, false) => " NULLS LAST",
        _ => "",
    };
    format!("{}{nulls}", if descends { " DESC" } else { "" })
}

/// The place of an output that ORDER BY of a set operation names.
fn place_of_output(expr: &ast::Expr, names: &[String]) -> Option<usize> {
    match expr {
        ast::Expr::Identifier(name) => {
            let name = fold(name);
            names.iter().position(|own| *own == name).map(|at| at + 1)
        }
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn without_parentheses(expr: &ast::Expr) -> &ast::Expr {
    match expr {
        ast::Expr::Nested(inner) => without_parentheses(inner),
        other => other,
    }
}

fn unwrapped(body: &ast::SetExpr) -> &ast::SetExpr {
    match body {
        ast::SetExpr::Query(query) if is_plain(query) => unwrapped(&query.body),
        other => other,
    }
}

/// Whether a query is no more than its body.
fn is_plain(query: &ast::Query) -> bool {
    query.with.is_none() && query.order_by.is_none() && query.limit_clause.is_none() && query.fetch.is_none()
}

fn is_plain_wildcard(options: &ast::WildcardAdditionalOptions) -> bool {
    options.opt_except.is_none()
        && options.opt_exclude.is_none()
        && options.opt_ilike.is_none()
        && options.opt_rename.is_none()
        && options.opt_replace.is_none()
}

/// A query of a body and nothing else.
fn bare_query(body: ast::SetExpr) -> ast::Query {
    ast::Query {
        with: None,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}
