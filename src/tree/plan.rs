//! `Plan`: a relation, made of others.

use std::sync::Arc;

use super::aggregate::Aggregate;
use super::expr::Expr;
use super::join::Join;
use super::lock_rows::LockRows;
use super::lookup_join::LookupJoin;
use super::relations::{Limit, Projection, Sort, SubqueryAlias, TableScan, Union, Unnest, Values, Window};
use super::row_schema::{RowSchema, RowSchemaRef};
use super::shared_rows::SharedRows;
use super::sub_plan::DependentJoin;
use super::top_rows::TopRows;

/// A relation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Plan {
    /// What a table gives.
    TableScan(TableScan),
    /// No row, or one without columns.
    EmptyRelation(EmptyRelation),
    /// Rows that are computed of nothing.
    Values(Values),
    /// What is computed of rows.
    Projection(Projection),
    /// Rows for which a condition is true.
    Filter(Filter),
    /// Groups.
    Aggregate(Aggregate),
    /// Each row once.
    Distinct(Arc<Plan>),
    /// Rows with what window functions say.
    Window(Window),
    /// Rows in order.
    Sort(Sort),
    /// Rows that are locked as they come by.
    LockRows(LockRows),
    /// Some of the rows.
    Limit(Limit),
    /// A relation under a name.
    SubqueryAlias(SubqueryAlias),
    /// Two relations joined.
    Join(Join),
    /// The rows of several.
    Union(Union),
    /// Rows of arrays.
    Unnest(Unnest),
    /// WITH RECURSIVE.
    RecursiveQuery(RecursiveQuery),
    /// Rows with the answers of subqueries that depend on each.
    DependentJoin(DependentJoin),
    /// Rows with what is looked up for them.
    LookupJoin(LookupJoin),
    /// Rows that several places of the tree read.
    SharedRows(SharedRows),
    /// The first rows in an order, in one of two ways.
    TopRows(TopRows),
}

/// No row, or one without columns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EmptyRelation {
    /// One.
    pub produce_one_row: bool,
    /// The columns that there would be.
    pub schema: RowSchemaRef,
}

/// Rows for which a condition is true.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Filter {
    /// The condition.
    pub predicate: Expr,
    /// The rows.
    pub input: Arc<Plan>,
}

impl Filter {
    /// Of these parts. The condition goes without a name.
    pub fn new(predicate: Expr, input: Arc<Plan>) -> Filter {
        Filter {
            predicate: predicate.unalias(),
            input,
        }
    }
}

/// WITH RECURSIVE.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecursiveQuery {
    /// What the step calls the rows of the turn before.
    pub name: String,
    /// The first rows.
    pub static_term: Arc<Plan>,
    /// What comes of the rows of a turn.
    pub recursive_term: Arc<Plan>,
    /// UNION: rows that were there are dropped, told apart by the columns at these places. `None`: UNION ALL.
    pub distinct_by: Option<Vec<usize>>,
}

impl Plan {
    /// The columns of its rows.
    pub fn schema(&self) -> &RowSchemaRef {
        match self {
            Plan::TableScan(scan) => &scan.projected_schema,
            Plan::EmptyRelation(empty) => &empty.schema,
            Plan::Values(values) => &values.schema,
            Plan::Projection(projection) => &projection.schema,
            Plan::Filter(filter) => filter.input.schema(),
            Plan::Aggregate(aggregate) => &aggregate.schema,
            Plan::Distinct(input) => input.schema(),
            Plan::Window(window) => &window.schema,
            Plan::Sort(sort) => sort.input.schema(),
            Plan::LockRows(locked) => locked.input.schema(),
            Plan::Limit(limit) => limit.input.schema(),
            Plan::SubqueryAlias(alias) => &alias.schema,
            Plan::Join(join) => &join.schema,
            Plan::Union(union) => &union.schema,
            Plan::Unnest(unnest) => &unnest.schema,
            Plan::RecursiveQuery(recursion) => recursion.static_term.schema(),
            Plan::DependentJoin(join) => &join.schema,
            Plan::LookupJoin(join) => &join.schema,
            Plan::SharedRows(shared) => shared.input.schema(),
            Plan::TopRows(top) => top.whole.schema(),
        }
    }

    /// The scan that its rows are of, but for what leaves rows or columns out.
    pub fn only_scan(&self) -> Option<&TableScan> {
        match self {
            Plan::TableScan(scan) => Some(scan),
            Plan::Projection(projection) => projection.input.only_scan(),
            Plan::Filter(filter) => filter.input.only_scan(),
            Plan::SubqueryAlias(alias) => alias.input.only_scan(),
            _ => None,
        }
    }
}

impl Default for Plan {
    fn default() -> Plan {
        Plan::EmptyRelation(EmptyRelation {
            produce_one_row: false,
            schema: Arc::new(RowSchema::empty()),
        })
    }
}
