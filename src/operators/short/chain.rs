//! Reads a logical plan as a chain: from the top down to the table, then back up step by step.

use std::sync::Arc;

use arrow::datatypes::Schema;

use super::ShortPlan;
use super::append::Append;
use super::catalog_source::{CatalogSource, plain_relation};
use super::ends_of_parts::ends_of_parts;
use super::first_of_parts::first_of_parts;
use super::join_group::{Growing, JoinGroup};
use super::lateral::Lateral;
use super::read::TableRead;
use super::recursion::Recursion;
use super::step::{Source, Step};
use super::subquery::{read_exists, read_subquery};
use super::top_rows::SortKey;
use super::totals::Total;
use crate::logical::column_mapping::below_schema;
use crate::logical::condition_cost::cheapest_first;
use crate::logical::lookup_join::{first_column, inner_of, is_over, with_outer_columns};
use crate::logical::rows_source::{RowsSource, is_whole};
use crate::logical::stored_table::scanned_table;
use crate::logical::work_table::WorkTable;
use crate::operators::catalog_table::scanned_relation;
use crate::operators::computed::{Computed, Condition};
use crate::operators::lookup::Lookup;
use crate::operators::row_locks::{MadeRows, RowLocks, TableRowLocks};
use crate::tree::{
    Aggregate, Column, DependentJoin, Expr, Join, JoinType, Limit, LockRows, NullEquality, OrderKey,
    Partners, Plan, Projection, Ranking, RecursiveQuery, RowSchema, Sort, SubPlanKind, Union, Window,
    WindowedFunction, split_conjunction,
};

/// The plan as a chain; `None` when it is none.
pub(super) fn read(plan: &Plan) -> Option<ShortPlan> {
    match plan {
        Plan::EmptyRelation(empty) if empty.produce_one_row => Some(ShortPlan::from_source(Source::OneRow)),
        Plan::TableScan(scan) => {
            let source = match (scanned_table(scan), scanned_relation(scan)) {
                (Some(scanned), _) => Source::Table(TableRead::new(scanned)),
                (_, Some(scanned)) => Source::Catalog(CatalogSource::new(scanned)),
                (None, None) => match scan.source.downcast_ref::<WorkTable>().filter(|_| is_whole(scan)) {
                    Some(table) => Source::Work(table.name().to_string()),
                    None => Source::Rows(RowsSource::scanned(scan)?),
                },
            };
            Some(ShortPlan::from_source(source))
        }
        Plan::SubqueryAlias(alias) => read(&alias.input),
        Plan::Union(union) => append(union, &[]),
        Plan::RecursiveQuery(query) => {
            let recursion = Box::new(recursion(query)?);
            Some(ShortPlan::from_source(Source::Recursion(recursion)))
        }
        Plan::Join(join) if matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti) => {
            beside(read(&join.left)?, join)
        }
        Plan::Filter(_) | Plan::Join(_) | Plan::DependentJoin(_) => read_filtered(Vec::new(), plan),
        Plan::Projection(projection) => project(read(&projection.input)?, projection),
        Plan::Aggregate(aggregate) => {
            let mut chain = group(read(&aggregate.input)?, aggregate)?;
            if let (Source::Append(append), Some(totals)) = (&mut chain.source, ends_of_parts(aggregate)) {
                append.ask_totals(totals);
            }
            Some(chain)
        }
        Plan::Distinct(input) => distinct(read(input)?, input.schema()),
        Plan::Sort(sort) => order(read(&sort.input)?, sort),
        Plan::LockRows(locked) => lock(read(&locked.input)?, locked),
        Plan::Limit(limit) => read_limit(limit),
        Plan::Window(window) => number(read(&window.input)?, window),
        _ => None,
    }
}

/// The rows of `input` for which all conditions hold. They are checked as far down as they can be: those on a view or
/// a subquery bound the table's key, or are refused, as they would be on the table.
pub(super) fn read_filtered(mut conditions: Vec<Expr>, input: &Plan) -> Option<ShortPlan> {
    match input {
        Plan::Join(join) => match JoinGroup::read(input, conditions.clone()) {
            Some(group) if group.joins_only(|plan| plain_relation(plan).is_some()) => {
                read_group(group, &join.schema)
            }
            _ => read_join(join, conditions),
        },
        Plan::Filter(filter) => {
            let own = split_conjunction(&filter.predicate).into_iter().cloned();
            let is_subquery = |condition: &Expr| matches!(condition, Expr::Exists(_) | Expr::InSubquery(_));
            let (subqueries, own): (Vec<Expr>, Vec<Expr>) = own.partition(is_subquery);
            conditions.splice(0..0, own);
            let chain = read_filtered(conditions, &filter.input)?;
            let schema = filter.input.schema();
            let mut subqueries = subqueries.iter();
            subqueries.try_fold(chain, |chain, condition| keep_rows(chain, condition, schema))
        }
        Plan::SubqueryAlias(alias) if !matches!(*alias.input, Plan::TableScan(_)) => {
            let below = alias.input.schema();
            let column = |at| Some(Expr::Column(Column::from(below.qualified_field(at))));
            let conditions = below_schema(conditions, &alias.schema, column)?;
            read_filtered(conditions, &alias.input)
        }
        Plan::Projection(projection) => {
            let computed = |at: usize| {
                let expr = projection.expr[at].clone().unalias();
                (!expr.is_volatile()).then_some(expr)
            };
            let conditions = below_schema(conditions, &projection.schema, computed)?;
            project(read_filtered(conditions, &projection.input)?, projection)
        }
        Plan::Sort(sort) => order(read_filtered(conditions, &sort.input)?, sort),
        Plan::Union(union) if !conditions.iter().any(Expr::is_volatile) => append(union, &conditions),
        Plan::Distinct(rows) if !conditions.iter().any(Expr::is_volatile) => {
            distinct(read_filtered(conditions, rows)?, rows.schema())
        }
        Plan::Aggregate(aggregate) => {
            let (of_keys, of_groups): (Vec<Expr>, Vec<Expr>) = conditions
                .into_iter()
                .partition(|condition| is_over_keys(condition, aggregate));
            let key = |at: usize| Some(aggregate.group_expr[at].clone().unalias());
            let of_rows = below_schema(of_keys, &aggregate.schema, key)?;
            let mut chain = group(read_filtered(of_rows, &aggregate.input)?, aggregate)?;
            let of_groups: Vec<&Expr> = of_groups.iter().collect();
            add_conditions(&mut chain, &of_groups, input.schema())?;
            Some(chain)
        }
        Plan::DependentJoin(join) => {
            let outer = join.input.schema();
            let is_of_outer = |condition: &Expr| is_over(condition, &[outer]) && !condition.is_volatile();
            let (of_outer, of_answers): (Vec<Expr>, Vec<Expr>) =
                conditions.into_iter().partition(is_of_outer);
            let mut chain = answer(read_filtered(of_outer, &join.input)?, join)?;
            add_conditions(&mut chain, &of_answers.iter().collect::<Vec<_>>(), input.schema())?;
            Some(chain)
        }
        _ => {
            let mut chain = read(input)?;
            let conditions: Vec<&Expr> = conditions.iter().collect();
            add_conditions(&mut chain, &conditions, input.schema())?;
            Some(chain)
        }
    }
}

/// Whether a condition on groups says the same of each row of a group: it is over their keys.
fn is_over_keys(condition: &Expr, aggregate: &Aggregate) -> bool {
    let keys = aggregate.group_expr.len();
    let columns = condition.column_refs();
    let is_key = |column: &&Column| aggregate.schema.index_of_column(column).is_ok_and(|at| at < keys);
    !columns.is_empty()
        && !condition.is_volatile()
        && columns.iter().all(is_key)
        && !aggregate.group_expr.iter().any(Expr::is_volatile)
}

/// Adds conditions on the rows so far: to the table's if nothing was made of its rows yet.
fn add_conditions(chain: &mut ShortPlan, conditions: &[&Expr], schema: &Arc<RowSchema>) -> Option<()> {
    for condition in cheapest_first(conditions.to_vec()) {
        match &mut chain.source {
            Source::Table(table) if chain.steps.is_empty() => {
                table.add_condition(Condition::new(condition, schema)?);
            }
            Source::Catalog(relation) if chain.steps.is_empty() => {
                relation.add_condition(condition, schema)?;
            }
            _ => chain
                .steps
                .push(Step::Filter(Computed::in_statement(condition, schema)?)),
        }
    }
    Some(())
}

/// Relations of the catalog, joined in the order that their conditions give.
fn read_group(mut group: JoinGroup, schema: &RowSchema) -> Option<ShortPlan> {
    let (first, conditions) = group.take_first();
    let mut chain = read(&first)?;
    add_conditions(&mut chain, &conditions.iter().collect::<Vec<_>>(), first.schema())?;
    let mut rows = Growing {
        steps: Vec::new(),
        schema: Arc::clone(first.schema()),
    };
    rows.extend(group)?;
    chain.steps.extend(rows.steps);
    select(chain, &rows.schema, schema)
}

/// A join as lookups of its right side, or, if only the conditions on that bound what is read, of its left one.
fn read_join(join: &Join, above: Vec<Expr>) -> Option<ShortPlan> {
    if !join.on.is_empty() || join.null_equality != NullEquality::NullEqualsNothing {
        return None;
    }
    let written = look_up_right(join, above.clone());
    if join.join_type != JoinType::Inner || written.as_ref().is_some_and(ShortPlan::may_drive) {
        return written;
    }
    let swapped = Join {
        left: Arc::clone(&join.right),
        right: Arc::clone(&join.left),
        schema: Arc::new(join.right.schema().join(join.left.schema())),
        ..join.clone()
    };
    let turned = look_up_right(&swapped, above).filter(ShortPlan::may_drive);
    match turned {
        Some(chain) => select(chain, &swapped.schema, &join.schema),
        None => written,
    }
}

/// The chain with its columns, which are those of one schema, as another has them.
fn select(mut chain: ShortPlan, from: &RowSchema, to: &RowSchema) -> Option<ShortPlan> {
    let columns = to
        .iter()
        .map(|field| Computed::new(&Expr::Column(Column::from(field)), from));
    chain.steps.push(Step::Project {
        columns: columns.collect::<Option<_>>()?,
        schema: Arc::clone(to.inner()),
    });
    Some(chain)
}

/// A join whose right side is looked up. `above`: conditions on what comes of it.
fn look_up_right(join: &Join, mut above: Vec<Expr>) -> Option<ShortPlan> {
    let keeps_outer = match join.join_type {
        JoinType::Inner => false,
        JoinType::Left => true,
        _ => return None,
    };
    let (left, right) = (join.left.schema(), join.right.schema());
    let on = join.filter.as_ref().map(split_conjunction).unwrap_or_default();
    let mut on: Vec<Expr> = on.into_iter().cloned().collect();
    if !keeps_outer {
        on.append(&mut above);
    }
    let inner = inner_of(&join.right, left, &mut on)?;
    // What else a left join asks for decides which inner rows there are, not which rows of the result.
    let is_asked = |condition: &Expr| {
        keeps_outer
            || is_over(condition, &[right]) && !condition.is_volatile() && !condition.column_refs().is_empty()
    };
    let (asked, on): (Vec<Expr>, Vec<Expr>) = on.into_iter().partition(is_asked);
    let partners = match keeps_outer {
        true => Partners::OrNone,
        false => Partners::Needed,
    };
    let is_of_left = |condition: &Expr| is_over(condition, &[left]) && !condition.is_volatile();
    let (of_left, rest): (Vec<Expr>, Vec<Expr>) = on.into_iter().chain(above).partition(is_of_left);
    let chain = read_filtered(of_left, &join.left)?;
    let lookup = Lookup::new(inner, left, &join.schema, partners, &asked)?;
    let mut chain = look_up(chain, lookup)?;
    add_conditions(&mut chain, &rest.iter().collect::<Vec<_>>(), &join.schema)?;
    Some(chain)
}

/// The chain with a lookup behind it. `None`: it is no chain of lookups so far, or a whole table would be looked up row by row
/// in ranges.
fn look_up(mut chain: ShortPlan, lookup: Lookup) -> Option<ShortPlan> {
    let is_joined = |step: &Step| matches!(step, Step::Lookup(_) | Step::Lateral(_) | Step::Filter(_));
    let is_known = matches!(chain.source, Source::Table(_) | Source::Work(_) | Source::Rows(_));
    if !is_known || !chain.steps.iter().all(is_joined) {
        return None;
    }
    let is_cheap = lookup.is_of_one_row() && lookup.partners().are_given();
    if !(chain.may_drive() || is_cheap) {
        return None;
    }
    chain.steps.push(Step::Lookup(Box::new(lookup)));
    Some(chain)
}

/// The chain with the rows for which a subquery, which is a whole condition, holds.
fn keep_rows(mut chain: ShortPlan, condition: &Expr, outer: &RowSchema) -> Option<ShortPlan> {
    match (&chain.source, condition) {
        (Source::Catalog(_), Expr::Exists(exists)) => {
            let kept = read_exists(exists, outer)?;
            chain.steps.push(Step::SubChain(Box::new(kept)));
            Some(chain)
        }
        _ => find_rows(chain, condition, outer),
    }
}

/// The chain with the rows for which a subquery, which is a whole condition, finds a row, or none.
fn find_rows(chain: ShortPlan, condition: &Expr, outer: &RowSchema) -> Option<ShortPlan> {
    let (subquery, partners, mut on) = match condition {
        Expr::Exists(exists) if exists.negated => (&exists.subquery, Partners::Miss, Vec::new()),
        Expr::Exists(exists) => (&exists.subquery, Partners::Exist, Vec::new()),
        Expr::InSubquery(test) if !test.negated => {
            let found = first_column(&test.subquery.subquery)?;
            let equal = (*test.expr).clone().eq(found);
            (&test.subquery, Partners::Exist, vec![equal])
        }
        _ => return None,
    };
    // Which columns it gives, and how often the same, does not matter; what it asks of its table is over that table's.
    let mut plan = subquery.subquery.as_ref();
    if let Plan::Distinct(input) = plan {
        plan = input;
    }
    if let Plan::Projection(projection) = plan {
        plan = &projection.input;
    }
    while let Plan::Filter(filter) = plan {
        on.extend(split_conjunction(&filter.predicate).into_iter().cloned());
        plan = &filter.input;
    }
    let on = on
        .into_iter()
        .map(|condition| with_outer_columns(condition, outer));
    let mut on = on.collect::<Option<Vec<Expr>>>()?;
    let inner = inner_of(plan, outer, &mut on)?;
    let schema = Arc::new(outer.join(plan.schema()));
    let lookup = Lookup::new(inner, outer, &schema, partners, &on)?;
    look_up(chain, lookup)
}

/// Chains one after the other, of the rows for which all conditions hold. `None`: one of them collects.
fn append(union: &Union, conditions: &[Expr]) -> Option<ShortPlan> {
    let members = union.inputs.iter().map(|input| {
        let schema = input.schema();
        let column = |at| Some(Expr::Column(Column::from(schema.qualified_field(at))));
        let conditions = below_schema(conditions.to_vec(), &union.schema, column)?;
        ShortPlan::filtered(conditions, input).filter(ShortPlan::streams)
    });
    let schema = Arc::clone(union.schema.inner());
    if !union.inputs.iter().all(|member| has_types_of(member, &schema)) {
        return None;
    }
    let append = Append::new(members.collect::<Option<_>>()?, schema);
    Some(ShortPlan::from_source(Source::Append(append)))
}

/// Whether the columns of a plan have the types of a schema.
fn has_types_of(plan: &Plan, schema: &Schema) -> bool {
    let own = plan.schema().fields().iter().map(|field| field.data_type());
    own.eq(schema.fields().iter().map(|field| field.data_type()))
}

/// A recursion that leaves no duplicates out, of two chains that give their rows as they come.
fn recursion(query: &RecursiveQuery) -> Option<Recursion> {
    let schema = query.static_term.schema().inner();
    let mut terms = [&query.static_term, &query.recursive_term].into_iter();
    if query.distinct_by.is_some() || !terms.all(|term| has_types_of(term, schema)) {
        return None;
    }
    let start = ShortPlan::of(&query.static_term).filter(ShortPlan::streams)?;
    let step = ShortPlan::of(&query.recursive_term)?;
    let gives_at_once =
        |step: &Step| matches!(step, Step::Filter(_) | Step::Project { .. } | Step::Lookup(_));
    let is_own = matches!(&step.source, Source::Work(name) if *name == query.name);
    (is_own && step.steps.iter().all(gives_at_once)).then(|| Recursion::new(start, step, Arc::clone(schema)))
}

/// The chain with those rows that another chain, the right side of a set operation, has too, or has not.
fn beside(mut chain: ShortPlan, join: &Join) -> Option<ShortPlan> {
    if join.filter.is_some() || join.null_equality != NullEquality::NullEqualsNull {
        return None;
    }
    let (left, right) = (join.left.schema(), join.right.schema());
    let (mut keys, mut other_keys, mut types) = (Vec::new(), Vec::new(), Vec::new());
    for (own, other) in &join.on {
        let ty = own.get_type(left).ok()?;
        if other.get_type(right).ok()? != ty {
            return None;
        }
        keys.push(Computed::in_statement(own, left)?);
        other_keys.push(Computed::in_statement(other, right)?);
        types.push(ty);
    }
    chain.steps.push(Step::Beside {
        others: Box::new(ShortPlan::of(&join.right).filter(ShortPlan::streams)?),
        other_keys,
        keys,
        types,
        stays: join.join_type == JoinType::LeftSemi,
    });
    Some(chain)
}

/// The chain with the projection behind it.
fn project(mut chain: ShortPlan, projection: &Projection) -> Option<ShortPlan> {
    let input = projection.input.schema();
    let columns = projection
        .expr
        .iter()
        .map(|expr| Computed::in_statement(expr, input));
    chain.steps.push(Step::Project {
        columns: columns.collect::<Option<_>>()?,
        schema: Arc::clone(projection.schema.inner()),
    });
    Some(chain)
}

/// The chain with the aggregates behind it. `None`: grouping sets.
fn group(mut chain: ShortPlan, aggregate: &Aggregate) -> Option<ShortPlan> {
    let input = aggregate.input.schema();
    let keys = aggregate
        .group_expr
        .iter()
        .map(|expr| Computed::in_statement(expr, input));
    let keys: Vec<Computed> = keys.collect::<Option<_>>()?;
    let totals = aggregate.aggr_expr.iter().map(|expr| Total::new(expr, input));
    let totals = totals.collect::<Option<_>>()?;
    let schema = Arc::clone(aggregate.schema.inner());
    chain.steps.push(match keys.is_empty() {
        true => Step::Totals { totals, schema },
        false => Step::Groups { keys, totals, schema },
    });
    Some(chain)
}

/// The chain with DISTINCT behind it: rows whose columns are all the same are a group.
fn distinct(mut chain: ShortPlan, schema: &RowSchema) -> Option<ShortPlan> {
    let columns = (0..schema.fields().len()).map(|at| Column::from(schema.qualified_field(at)));
    let keys = columns.map(|column| Computed::new(&Expr::Column(column), schema));
    chain.steps.push(Step::Groups {
        keys: keys
            .collect::<Option<_>>()
            .filter(|keys: &Vec<_>| !keys.is_empty())?,
        totals: Vec::new(),
        schema: Arc::clone(schema.inner()),
    });
    Some(chain)
}

/// The chain with the sort behind it.
fn order(mut chain: ShortPlan, sort: &Sort) -> Option<ShortPlan> {
    let input = sort.input.schema();
    if sort.fetch.is_some() {
        return None;
    }
    let keys = sort.expr.iter().map(|key| sort_key(key, input));
    chain.steps.push(Step::Sort(keys.collect::<Option<_>>()?));
    Some(chain)
}

/// The chain with rows locked behind it.
fn lock(mut chain: ShortPlan, locked: &LockRows) -> Option<ShortPlan> {
    if chain.steps.iter().any(|step| matches!(step, Step::Lateral(_))) {
        // What is asked again of newer rows is not asked of a subquery.
        return None;
    }
    let input = locked.input.schema();
    let tables = locked.locks.iter().map(|lock| {
        let key = lock.key.iter().map(|column| Computed::new(column, input));
        Some((
            Arc::new(TableRowLocks::new(lock)),
            key.collect::<Option<Vec<_>>>()?,
        ))
    });
    let made = MadeRows::of(locked, None);
    chain.steps.push(Step::LockRows(RowLocks::new(
        tables.collect::<Option<_>>()?,
        made,
    )));
    Some(chain)
}

fn sort_key(key: &OrderKey, input: &RowSchema) -> Option<SortKey> {
    Some(SortKey {
        computed: Computed::in_statement(&key.expr, input)?,
        descending: !key.asc,
        nulls_first: key.nulls_first,
    })
}

/// The chain with the numbers of its rows behind it. `None`: other windows.
fn number(mut chain: ShortPlan, window: &Window) -> Option<ShortPlan> {
    let [Expr::WindowFunction(call)] = window.window_expr.as_slice() else {
        return None;
    };
    let is_number = call.fun == WindowedFunction::Ranking(Ranking::RowNumber);
    if !is_number || call.params.filter.is_some() {
        return None;
    }
    let input = window.input.schema();
    let part = |expr: &Expr| sort_key(&expr.clone().sort(true, false), input);
    let parts = call.params.partition_by.iter().map(part);
    let order = call.params.order_by.iter().map(|key| sort_key(key, input));
    chain.steps.push(Step::Numbered {
        keys: parts.chain(order).collect::<Option<_>>()?,
        part_keys: call.params.partition_by.len(),
        outer_columns: input.fields().len(),
        field: Arc::clone(window.schema.fields().last()?),
    });
    Some(chain)
}

/// The chain with the answers of subqueries behind it. `None`: one of them is of another form.
fn answer(mut chain: ShortPlan, join: &DependentJoin) -> Option<ShortPlan> {
    if let [sub_plan] = join.sub_plans.as_slice()
        && matches!(sub_plan.kind, SubPlanKind::Rows { .. })
    {
        if !chain.may_drive() {
            return None;
        }
        let lateral = Lateral::read(sub_plan, join.input.schema())?;
        chain.steps.push(Step::Lateral(Box::new(lateral)));
        return Some(chain);
    }
    let may_drive = chain.may_drive();
    let first = join.input.schema().fields().len();
    for (at, sub_plan) in join.sub_plans.iter().enumerate() {
        let outer = join.schema.iter().take(first + at);
        let outer = outer.map(|(relation, field)| (relation.cloned(), Arc::clone(field)));
        let outer = RowSchema::new(outer.collect());
        let field = join.schema.fields().get(first + at)?;
        let answers = read_subquery(sub_plan, &outer, field, may_drive)?;
        chain.steps.push(Step::SubChain(Box::new(answers)));
    }
    Some(chain)
}

fn read_limit(limit: &Limit) -> Option<ShortPlan> {
    let parts = first_of_parts(limit);
    let mut chain = read(parts.as_ref().unwrap_or(&limit.input))?;
    if let (Source::Append(append), Some(_)) = (&mut chain.source, parts) {
        append.give_skipped()?;
    }
    let count = |count: &Option<Box<Expr>>| count.as_deref().cloned();
    let (skip, fetch) = (count(&limit.skip), count(&limit.fetch));
    chain.steps.push(Step::Limit {
        skip,
        fetch,
        gives_skipped: false,
    });
    Some(chain)
}
