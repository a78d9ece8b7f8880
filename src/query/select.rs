//! SELECT: from, where, groups, having, windows, select list, DISTINCT and ORDER BY become one chain of plan nodes.

use sqlparser::ast::{self, Spanned};

use super::binder::{Binder, Bound, BoundQuery, Clause, Place, QueryColumn, fault, fold};
use super::column_name::column_name;
use super::distinct_on::{first_of_each, refuse_other_order};
use super::grouping::{Grouped, ungrouped};
use super::indexed_expressions::as_indexed;
use super::lock_scope::{ItemLock, LockedTable};
use super::operator::binary;
use super::outer_aggregate::has_aggregate;
use super::repeated_subqueries::RepeatedSubqueries;
use super::row_subquery::only_true;
use super::same_rows::{refuse_unequal, refuse_unsortable};
use super::scope::{Outer, Scope, ScopeColumn};
use super::select_item::{BoundItem, SortKey, output_at};
use super::set_returning::has_set;
use crate::error::StatementFault;
use crate::parse::row_expansion::row_expanded;
use crate::parse::text_place;
use crate::tree::{Column, Expr, OrderKey, Plan, Transformed, TreeNode, split_conjunction_owned};
use crate::types::SqlType;
use crate::{Error, Result};

/// Errors: 42P10 where a SELECT DISTINCT orders by what it does not give.
fn check_order_of_distinct(orders_by_more: bool) -> Result<()> {
    match orders_by_more {
        false => Ok(()),
        true => Err(fault(
            StatementFault::InvalidColumnReference,
            "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
        )),
    }
}

/// Orders by what indexes hold, where rows are no groups.
fn order_by_indexes(items: &mut [BoundItem], keys: &[SortKey], scope: &Scope) {
    if items.iter().any(|item| has_aggregate(&item.bound.expr)) {
        return;
    }
    for key in keys {
        let bound = &mut items[key.output].bound;
        *bound = as_indexed(bound.clone(), scope);
    }
}

impl Binder<'_> {
    /// Binds a SELECT with the ORDER BY and the locks of its query.
    pub(super) fn select(
        &mut self,
        select: &ast::Select,
        (order_by, locks): (&[ast::OrderByExpr], Vec<ItemLock>),
        outer: Option<&Outer<'_>>,
    ) -> Result<BoundQuery> {
        if select.into.is_some() {
            return Err(fault(
                StatementFault::Syntax,
                "SELECT ... INTO is not allowed here",
            ));
        }
        let (mut plan, scope, locked) = self.locked_from(&select.from, outer, locks)?;
        let place = |clause| Place {
            scope: &scope,
            outer,
            clause,
            windows: &select.named_window,
        };
        self.repeated_subqueries = RepeatedSubqueries::of(select, order_by);
        let (filtered, mut items) = self.listed_and_filtered(plan, select, place(Clause::Select))?;
        plan = filtered;
        let visible = items.len();
        let groups = self.choosing(|binder| binder.group_by(select, &items, place(Clause::GroupBy)))?;
        let having = select.having.as_ref();
        let having =
            having.map(|having| self.choosing(|binder| binder.condition(having, place(Clause::Having))));
        let having = having.transpose()?;
        let mut keys =
            self.choosing(|binder| binder.order_by(order_by, &mut items, place(Clause::Select)))?;
        let mut distinct_on =
            self.choosing(|binder| binder.distinct_on(select, &mut items, place(Clause::Select)))?;
        self.check_windows(place(Clause::Window))?;
        self.repeated_subqueries = RepeatedSubqueries::default();
        let distinct = matches!(select.distinct, Some(ast::Distinct::Distinct));
        check_order_of_distinct(distinct && items.len() > visible)?;
        let locked = with_outputs(locked, &mut items);
        if groups.is_none() && having.is_none() && !distinct {
            order_by_indexes(&mut items, &keys, &scope);
        }
        let mut exprs: Vec<Expr> = items.iter().map(|item| item.bound.expr.clone()).collect();
        if groups.is_some() || having.is_some() || exprs.iter().any(has_aggregate) {
            let groups = groups.unwrap_or_default();
            (plan, exprs) = self.grouped(plan, exprs, (groups, having), (select, &scope))?;
        }
        (plan, exprs) = self.windows(plan, exprs)?;
        (plan, exprs) = self.place_subqueries(plan, exprs, false)?;
        if let Some(on) = &distinct_on
            && let Some(first) = self.first_rows(&plan, (&exprs, &items), (on, &keys))?
        {
            (plan, distinct_on) = (first, None);
        }
        let keeps_order = !keys.is_empty() && !distinct && exprs.iter().any(has_set);
        (plan, exprs) = self.unnest(plan, exprs)?;
        if keeps_order {
            let number = self.number_rows(&mut plan)?;
            keys.push(SortKey::ascending(items.len()));
            exprs.push(number.bound.expr.clone());
            items.push(number);
        }
        let kept = match (distinct, distinct_on) {
            (true, _) => Kept::Distinct,
            (_, Some(on)) => Kept::FirstOfEach(on),
            (_, None) => Kept::All { locked },
        };
        self.project(plan, items, exprs, visible, keys, kept)
    }

    /// The rows for which WHERE is true, and the select list. The list comes first: it decides the types of parameters that stand in both.
    fn listed_and_filtered(
        &mut self,
        plan: Plan,
        select: &ast::Select,
        place: Place<'_>,
    ) -> Result<(Plan, Vec<BoundItem>)> {
        let mut plan = plan;
        let mut items = self.items(&select.projection, place)?;
        if let Some(written) = &select.selection {
            let repeated = std::mem::take(&mut self.repeated_subqueries);
            let place = Place {
                clause: Clause::Where,
                ..place
            };
            let condition = self.choosing(|binder| binder.where_condition(written, place))?;
            self.repeated_subqueries = repeated;
            plan = self.filter(plan, condition)?;
        }
        self.decide_items(&mut items)?;
        Ok((plan, items))
    }

    /// The groups, those for which HAVING is true, and the expressions over them.
    fn grouped(
        &mut self,
        plan: Plan,
        exprs: Vec<Expr>,
        (groups, having): (Vec<Grouped>, Option<Expr>),
        (select, scope): (&ast::Select, &Scope),
    ) -> Result<(Plan, Vec<Expr>)> {
        let mut all = exprs;
        let wanted = all.len();
        // One row whatever there is to read, if anything.
        let is_one_row = groups.is_empty() && having.is_some();
        all.extend(having);
        let is_one_row = is_one_row && !all.iter().any(has_aggregate);
        let grouped = self.group(plan, groups, all, scope);
        let (plan, mut exprs) = self.note_place(grouped, |error| ungrouped(select, error))?;
        let plan = if is_one_row { Plan::one_row() } else { plan };
        match exprs.split_off(wanted).pop() {
            Some(having) => Ok((self.filter(plan, having)?, exprs)),
            None => Ok((plan, exprs)),
        }
    }

    /// A condition over a plan, its subqueries lowered. Conditions without subqueries come first, below those with.
    pub(super) fn filter(&mut self, plan: Plan, condition: Expr) -> Result<Plan> {
        let (with, without): (Vec<Expr>, Vec<Expr>) = split_conjunction_owned(condition)
            .into_iter()
            .flat_map(|condition| only_true(condition, plan.schema()))
            .partition(super::decorrelation::has_subquery);
        let mut plan = plan;
        let joined = |exprs: Vec<Expr>| {
            exprs
                .into_iter()
                .reduce(|a, b| binary(a, crate::tree::Operator::And, b))
        };
        if let Some(condition) = joined(without) {
            plan = plan.filter(condition);
        }
        if with.is_empty() {
            return Ok(plan);
        }
        let fields = plan.schema().fields().len();
        let (lowered, conditions) = self.place_subqueries(plan, with, true)?;
        let Some(condition) = joined(conditions) else {
            return Ok(lowered);
        };
        let filtered = lowered.filter(condition);
        if filtered.schema().fields().len() == fields {
            return Ok(filtered);
        }
        // The columns of the subqueries have done their work.
        let kept: Vec<Expr> = (0..fields)
            .map(|index| Expr::Column(Column::from(filtered.schema().qualified_field(index))))
            .collect();
        filtered.project(kept)
    }

    /// The select list, wildcards expanded.
    pub(super) fn items(
        &mut self,
        projection: &[ast::SelectItem],
        place: Place<'_>,
    ) -> Result<Vec<BoundItem>> {
        let mut items = Vec::with_capacity(projection.len());
        let expand = |columns: &[ScopeColumn]| -> Vec<BoundItem> {
            columns
                .iter()
                .map(|column| BoundItem {
                    name: column.name.clone(),
                    bound: column.bound.clone(),
                })
                .collect()
        };
        for item in projection {
            match item {
                ast::SelectItem::UnnamedExpr(expr) => {
                    if let Some(row) = row_expanded(expr) {
                        let columns = self.fields_of(&row, place)?.into_iter();
                        items.extend(columns.map(|(name, bound)| BoundItem { name, bound }));
                        continue;
                    }
                    let bound = self.expression(expr, place)?;
                    items.push(BoundItem {
                        name: column_name(expr),
                        bound,
                    });
                }
                ast::SelectItem::ExprWithAlias { expr, alias } => {
                    let bound = self.expression(expr, place)?;
                    items.push(BoundItem {
                        name: fold(alias),
                        bound,
                    });
                }
                ast::SelectItem::Wildcard(_) => {
                    if place.scope.visible.is_empty() && place.scope.relations.is_empty() {
                        return Err(fault(
                            StatementFault::Syntax,
                            "SELECT * with no tables specified is not valid",
                        ));
                    }
                    items.extend(expand(&place.scope.visible));
                }
                ast::SelectItem::QualifiedWildcard(
                    ast::SelectItemQualifiedWildcardKind::ObjectName(name),
                    _,
                ) => {
                    let columns = self.columns_behind(name, place)?.into_iter();
                    items.extend(columns.map(|(name, bound)| BoundItem { name, bound }));
                }
                other => return Err(Error::unsupported(format!("the select item {other}"), None)),
            }
        }
        Ok(items)
    }

    /// `items`, where nothing that follows may say of which type a parameter among them is.
    pub(super) fn decided_items(
        &mut self,
        projection: &[ast::SelectItem],
        place: Place<'_>,
    ) -> Result<Vec<BoundItem>> {
        let mut items = self.items(projection, place)?;
        self.decide_items(&mut items)?;
        Ok(items)
    }

    /// A parameter must be of some type, which the conditions may have given it; an untyped literal may still take one from a set operation
    /// around.
    fn decide_items(&mut self, items: &mut [BoundItem]) -> Result<()> {
        for item in items {
            if let Expr::Placeholder(placeholder) = &item.bound.expr
                && matches!(item.bound.ty, SqlType::Unknown | SqlType::Void)
            {
                let parameter = self.parameter(&placeholder.id.clone())?;
                item.bound = self.with_decided_type(parameter)?;
            }
        }
        Ok(())
    }

    /// ORDER BY: positions, output names, expressions (added as hidden outputs).
    pub(super) fn order_by(
        &mut self,
        order_by: &[ast::OrderByExpr],
        items: &mut Vec<BoundItem>,
        place: Place<'_>,
    ) -> Result<Vec<SortKey>> {
        let visible = items.len();
        let mut keys = Vec::with_capacity(order_by.len());
        for item in order_by {
            let output = self.order_item((&item.expr, "ORDER BY"), items, visible, place);
            let output = output.and_then(|output| {
                refuse_unsortable(&items[output].bound.ty)?;
                Ok(output)
            });
            let output = self.note_place(output, |_| text_place::of_span(item.expr.span()))?;
            keys.push(SortKey::new(output, &item.options));
        }
        Ok(keys)
    }

    pub(super) fn order_item(
        &mut self,
        (expr, clause): (&ast::Expr, &str),
        items: &mut Vec<BoundItem>,
        visible: usize,
        place: Place<'_>,
    ) -> Result<usize> {
        if let Some(output) = output_at(expr, clause, visible)? {
            return Ok(output);
        }
        if let ast::Expr::Identifier(ident) = expr {
            let name = fold(ident);
            let mut found: Option<usize> = None;
            for (index, item) in items[..visible]
                .iter()
                .enumerate()
                .filter(|(_, item)| item.name == name)
            {
                match found {
                    Some(first) if items[first].bound.expr != item.bound.expr => {
                        return Err(Error::InvalidStatement {
                            state: StatementFault::AmbiguousColumn,
                            message: format!("ORDER BY \"{name}\" is ambiguous"),
                            hint: None,
                        });
                    }
                    Some(_) => {}
                    None => found = Some(index),
                }
            }
            if let Some(found) = found {
                self.require_written(&name, &items[found].bound, place.scope)?;
                return Ok(found);
            }
        }
        let bound = self.expression(expr, place)?;
        let bound = self.with_decided_type(bound)?;
        Ok(output_of(items, bound))
    }

    pub(super) fn project(
        &mut self,
        plan: Plan,
        items: Vec<BoundItem>,
        exprs: Vec<Expr>,
        visible: usize,
        keys: Vec<SortKey>,
        kept: Kept,
    ) -> Result<BoundQuery> {
        let mut names = Vec::with_capacity(items.len());
        let mut outputs = Vec::with_capacity(items.len());
        for (item, expr) in items.iter().zip(exprs) {
            let name = self.unique_name(&item.name);
            outputs.push(Bound::new(expr, item.bound.ty.clone()).named(&name));
            names.push(name);
        }
        let is_late = |at: usize| at < visible && !keys.iter().any(|key| key.output == at);
        let late = match &kept {
            Kept::All { .. } if !keys.is_empty() => self.computed_late(&mut outputs, is_late),
            _ => Vec::new(),
        };
        let column = |index: usize| Expr::Column(Column::new_unqualified(&names[index]));
        let mut ordered = Vec::with_capacity(items.len());
        if !keys.is_empty() || matches!(kept, Kept::FirstOfEach(_)) {
            for (index, item) in items.iter().enumerate() {
                ordered.push(self.order_key(Bound::new(column(index), item.bound.ty.clone()))?);
            }
        }
        let sort = |key: &SortKey| OrderKey::new(ordered[key.output].clone(), key.ascending, key.nulls_first);
        let mut sorts: Vec<OrderKey> = keys.iter().map(sort).collect();
        let mut plan = plan.project(outputs)?;
        if let Kept::Distinct = kept {
            items.iter().try_for_each(|item| refuse_unequal(&item.bound.ty))?;
            plan = self.distinct_rows(plan)?;
        }
        if let Kept::FirstOfEach(on) = &kept {
            refuse_other_order(on, &keys)?;
            for index in on {
                if !keys.iter().any(|key| key.output == *index) {
                    sorts.push(OrderKey::new(ordered[*index].clone(), true, false));
                }
            }
            let on = on.iter().map(|index| ordered[*index].clone()).collect();
            plan = first_of_each(plan, on, sorts, &names, visible)?;
        } else {
            if !keys.is_empty() {
                plan = plan.sort(sorts);
            }
            if let Kept::All { locked } = kept
                && !locked.is_empty()
            {
                let locks = locked.iter().map(|(table, key)| {
                    let key = key.iter().map(|at| column(*at));
                    table.lock(key.collect())
                });
                plan = plan.lock_rows(locks.collect());
            }
            if names.len() > visible || !late.is_empty() {
                let output = |at: usize| match late.iter().find(|(late, _)| *late == at) {
                    Some((_, expr)) => expr.clone(),
                    None => column(at),
                };
                plan = plan.project((0..visible).map(output))?;
            }
        }
        let columns = items.into_iter().zip(&names).take(visible);
        let columns = columns.map(|(item, name)| output_column(item, name)).collect();
        Ok(BoundQuery { plan, columns })
    }
}

/// An output, which the plan gives under this name.
fn output_column(item: BoundItem, name: &str) -> QueryColumn {
    QueryColumn {
        name: item.name,
        column: Column::new_unqualified(name),
        constant: matches!(item.bound.expr, Expr::Literal(..)),
        ty: item.bound.ty,
        origin: item.bound.origin,
        is_declared: item.bound.is_declared,
    }
}

impl Binder<'_> {
    /// The outputs, of those that may be, which are volatile: they are computed of the rows in their order, as many as are given, and in their
    /// places stand the columns that they are made of. What
    /// cannot be walked is computed where it stands.
    fn computed_late(
        &mut self,
        outputs: &mut Vec<Expr>,
        may_be: impl Fn(usize) -> bool,
    ) -> Vec<(usize, Expr)> {
        let is_late = |at: &usize| may_be(*at) && outputs[*at].is_volatile();
        let places: Vec<usize> = (0..outputs.len()).filter(is_late).collect();
        let (mut late, mut inputs) = (Vec::with_capacity(places.len()), Vec::new());
        for at in places {
            let mut passed: Vec<(Column, String)> = Vec::new();
            for input in outputs[at].column_refs() {
                passed.push((input.clone(), self.unique_name(&input.name)));
            }
            let renamed = outputs[at].clone().transform_down(|expr| {
                let name = match &expr {
                    Expr::Column(column) => passed.iter().find(|(input, _)| input == column),
                    _ => None,
                };
                Ok(match name {
                    Some((_, name)) => Transformed::yes(Expr::Column(Column::new_unqualified(name))),
                    None => Transformed::no(expr),
                })
            });
            let Ok(renamed) = renamed else { continue };
            late.push((at, renamed.data));
            inputs.extend(
                passed
                    .into_iter()
                    .map(|(input, name)| Expr::Column(input).alias(name)),
            );
        }
        let mut at = 0..;
        outputs.retain(|_| {
            at.next()
                .is_none_or(|at| late.iter().all(|(late, _)| *late != at))
        });
        outputs.extend(inputs);
        late
    }
}

/// Which rows a SELECT gives of those that it computes.
pub(super) enum Kept {
    /// All, each locked first, where tables are locked: by the outputs that are their keys.
    All { locked: Vec<(LockedTable, Vec<usize>)> },
    /// Each once.
    Distinct,
    /// The first of those that are the same in these outputs.
    FirstOfEach(Vec<usize>),
}

impl Kept {
    /// All as they are.
    pub(super) fn all() -> Kept {
        Kept::All { locked: Vec::new() }
    }
}

/// The tables with the outputs that are their keys, added where they are not there.
fn with_outputs(locked: Vec<LockedTable>, items: &mut Vec<BoundItem>) -> Vec<(LockedTable, Vec<usize>)> {
    let locked = locked.into_iter().map(|table| {
        let key = table.key.iter().map(|column| output_of(items, column.clone()));
        let key = key.collect();
        (table, key)
    });
    locked.collect()
}

/// The index of an expression among the outputs, added when it is not there.
fn output_of(items: &mut Vec<BoundItem>, bound: Bound) -> usize {
    match items
        .iter()
        .position(|item| item.bound.expr == bound.expr && item.bound.ty == bound.ty)
    {
        Some(index) => index,
        None => {
            items.push(BoundItem {
                name: "sort".to_string(),
                bound,
            });
            items.len() - 1
        }
    }
}
