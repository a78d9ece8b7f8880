//! Who computes a subquery: a join, where that is known to give PostgreSQL's answer, or else a dependent
//! join of ours. Called by `subquery` when expressions get their place in the plan.

use std::collections::HashSet;
use std::sync::Arc;

use super::binder::Binder;
use crate::logical::dependent_join::for_each_node;
use crate::logical::equality;
use crate::logical::rewrite::evaluation::is_never_true;
use crate::logical::stored_table::{ScannedTable, scanned_table};
use crate::operators::catalog_table::is_catalog;
use crate::plan::FullScanPolicy;
use crate::tree::{
    Column, Exists, Expr, InSubquery, Operator, Plan, SubPlan, SubPlanKind, Subquery, TreeNode,
    TreeNodeRecursion,
};
use crate::{Error, Result};

/// Levels of subqueries in one another that one plan has. Each doubles what it takes to check a plan; what lies deeper
/// stands in a dependent join, whose subqueries are plans of their own.
const LEVELS_MAX: usize = 4;

/// Whether a subquery stands anywhere in the expression.
pub(super) fn has_subquery(expr: &Expr) -> bool {
    expr.has(Expr::is_subquery)
}

/// A condition that only TRUE passes without the constants of an OR that are not true: `false IS TRUE OR EXISTS (…)`, as tools write
/// where they leave something out.
pub(super) fn without_never_true(condition: Expr) -> Expr {
    let Expr::BinaryExpr(binary) = condition else {
        return condition;
    };
    let is_never = |side: &Expr| !has_subquery(side) && is_never_true(side);
    match binary.op {
        Operator::Or if is_never(&binary.left) => without_never_true(*binary.right),
        Operator::Or if is_never(&binary.right) => without_never_true(*binary.left),
        _ => Expr::BinaryExpr(binary),
    }
}

impl Binder<'_> {
    /// A whole condition that the rewriter turns into a semi or anti join: `[NOT] EXISTS` correlated by equalities and
    /// what else is asked of rows that are equal so, `IN` uncorrelated or so.
    pub(super) fn keep_as_join(&self, expr: &Expr) -> Result<Option<Expr>> {
        Ok(match expr {
            Expr::Exists(exists) if !exists.subquery.outer_ref_columns.is_empty() => self
                .as_decorrelatable(&exists.subquery)?
                .map(|subquery| Expr::Exists(Exists::new(subquery, exists.negated))),
            Expr::InSubquery(test) if !test.negated && !has_subquery(&test.expr) => self
                .as_decorrelatable(&test.subquery)?
                .map(|subquery| Expr::InSubquery(InSubquery::new(test.expr.clone(), subquery, false))),
            _ => None,
        })
    }

    /// The marker as a subquery that a join answers, when that gives PostgreSQL's answer.
    fn as_decorrelatable(&self, marker: &Subquery) -> Result<Option<Subquery>> {
        let references: Option<Vec<Expr>> = marker.outer_ref_columns.iter().map(own_reference).collect();
        let Some(references) = references.filter(|_| levels(&marker.subquery) < LEVELS_MAX) else {
            return Ok(None);
        };
        if !references.is_empty() && !self.joins_well(&marker.subquery)? {
            return Ok(None);
        }
        Ok(Some(Subquery {
            outer_ref_columns: references,
            ..marker.clone()
        }))
    }

    /// Whether a correlated subquery may be the inner side of a join. With conditions beside equalities it is not where
    /// a key answers each outer row and reading the whole table would be refused.
    fn joins_well(&self, plan: &Plan) -> Result<bool> {
        let Some(correlation) = Correlation::of(plan) else {
            return Ok(false);
        };
        if correlation.equalities_only {
            return Ok(true);
        }
        let reads = self.inner_reads(correlation.input, &correlation.equal)?;
        Ok(reads.may_scan || !reads.by_key)
    }

    /// How the tables of a subquery's plan are read, once for each set of values of the columns `equal`.
    pub(super) fn inner_reads(&self, plan: &Plan, equal: &HashSet<&str>) -> Result<InnerReads> {
        let mut reads = InnerReads {
            stored_only: true,
            may_scan: true,
            by_key: false,
            catalogs: false,
        };
        plan.apply(|node| {
            match node {
                Plan::TableScan(scan) => match scanned_table(scan) {
                    Some(ScannedTable { table, .. }) => {
                        reads.may_scan &= self.ctx.plan_rules(&table).full_scan == FullScanPolicy::Allow;
                        reads.by_key |= table
                            .all_indexes()
                            .filter_map(|index| index.columns.first())
                            .filter_map(|first| table.column_index_by_id(first.column))
                            .any(|at| equal.contains(table.columns[at].name.as_str()));
                    }
                    None => {
                        reads.catalogs |= is_catalog(scan);
                        reads.stored_only &= is_catalog(scan);
                    }
                },
                Plan::DependentJoin(_)
                | Plan::SharedRows(_)
                | Plan::RecursiveQuery(_)
                | Plan::LockRows(_) => {
                    reads.stored_only = false;
                }
                _ => {}
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(reads)
    }
}

/// How a subquery's tables are read.
pub(super) struct InnerReads {
    /// Nothing else is read than stored tables, and relations of the catalog, which are made once a statement.
    pub(super) stored_only: bool,
    /// Reading every table from end to end is allowed.
    pub(super) may_scan: bool,
    /// Some key or index begins with a column whose value is known.
    pub(super) by_key: bool,
    /// A relation of the catalog is read, whose few rows are found without a join.
    pub(super) catalogs: bool,
}

/// An outer column as subqueries refer to it; `None`: it is computed.
fn own_reference(reference: &Expr) -> Option<Expr> {
    let Expr::Alias(alias) = reference else {
        return None;
    };
    let Expr::Column(column) = alias.expr.as_ref() else {
        return None;
    };
    if column.relation != alias.relation || column.name != alias.name {
        return None;
    }
    let field = Arc::new(arrow::datatypes::Field::new(
        &column.name,
        arrow::datatypes::DataType::Null,
        true,
    ));
    Some(Expr::OuterReferenceColumn(field, column.clone()))
}

/// How a subquery uses outer columns that can be joined with.
struct Correlation<'a> {
    /// The inner columns that equal outer ones.
    equal: HashSet<&'a str>,
    /// Outer columns appear nowhere else.
    equalities_only: bool,
    /// What is filtered.
    input: &'a Plan,
}

impl<'a> Correlation<'a> {
    /// Outer columns may appear in one filter at the top of a plain query or right below its select list: in an equality
    /// with an inner column at least, beside it in any condition on inner columns. These must have names of their own:
    /// decorrelation drops their tables.
    fn of(plan: &'a Plan) -> Option<Correlation<'a>> {
        let filter = match plan {
            Plan::Projection(projection) if !projection.expr.iter().any(has_outer_reference) => {
                projection.input.as_ref()
            }
            plan => plan,
        };
        let Plan::Filter(filter) = filter else {
            return None;
        };
        let mut found = Correlation {
            equal: HashSet::new(),
            equalities_only: true,
            input: &filter.input,
        };
        let mut named: HashSet<&Column> = HashSet::new();
        for condition in crate::tree::split_conjunction(&filter.predicate) {
            if !has_outer_reference(condition) {
                continue;
            }
            let inner = condition.column_refs();
            match equal_column(condition) {
                Some(column) => drop(found.equal.insert(column.name.as_str())),
                None if inner.is_empty() || has_subquery(condition) || condition.is_volatile() => {
                    return None;
                }
                None => found.equalities_only = false,
            }
            named.extend(inner);
        }
        let names: HashSet<&str> = named.iter().map(|column| column.name.as_str()).collect();
        let is_joinable = names.len() == named.len()
            && (found.equalities_only || !found.equal.is_empty())
            && !plan_has_outer_reference(&filter.input);
        is_joinable.then_some(found)
    }
}

/// The levels of subqueries in a plan; none of those that dependent joins hold.
fn levels(plan: &Plan) -> usize {
    let mut deepest = 0;
    let walked = plan.apply(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Some(subquery) = marker(expr) {
                    deepest = deepest.max(1 + levels(&subquery.subquery));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    });
    // A plan that cannot be walked is not one to nest.
    walked.map_or(LEVELS_MAX, |_| deepest)
}

/// The subquery that an expression is.
pub(super) fn marker(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(subquery) => Some(subquery),
        Expr::Exists(exists) => Some(&exists.subquery),
        Expr::InSubquery(test) => Some(&test.subquery),
        _ => None,
    }
}

/// The inner column of `inner = outer`.
pub(super) fn equal_column(condition: &Expr) -> Option<&Column> {
    equality(condition)?.into_iter().find_map(|sides| match sides {
        (Expr::Column(column), Expr::OuterReferenceColumn(..)) => Some(column),
        _ => None,
    })
}

pub(super) fn has_outer_reference(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(matches!(expr, Expr::OuterReferenceColumn(..)) || marker(expr).is_some()))
        .unwrap_or(true)
}

pub(super) fn plan_has_outer_reference(plan: &Plan) -> bool {
    plan.exists(|node| {
        Ok(matches!(node, Plan::DependentJoin(_) | Plan::SharedRows(_))
            || node.expressions().into_iter().any(has_outer_reference))
    })
    .unwrap_or(true)
}

/// Whether the plan uses columns that are none of its own: those of a query around it.
pub(super) fn refers_out(plan: &Plan) -> Result<bool> {
    let (mut used, mut own) = (HashSet::new(), HashSet::new());
    for_each_node(plan, &mut |node| {
        own.extend(node.schema().columns());
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::OuterReferenceColumn(_, column) = expr {
                    used.insert(column.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(!used.is_subset(&own))
}

/// What a marker becomes of ours; `None`: it is no marker, or it is computed once before the plan (an uncorrelated scalar).
pub(super) fn sub_plan_of(expr: &Expr) -> Option<(SubPlanKind, Subquery)> {
    match expr {
        Expr::ScalarSubquery(subquery)
            if subquery.outer_ref_columns.is_empty() && levels(&subquery.subquery) < LEVELS_MAX =>
        {
            None
        }
        Expr::ScalarSubquery(subquery) => Some((SubPlanKind::Scalar, subquery.clone())),
        Expr::Exists(exists) => Some((
            SubPlanKind::Exists {
                negated: exists.negated,
            },
            exists.subquery.clone(),
        )),
        Expr::InSubquery(test) => Some((
            SubPlanKind::In {
                operand: *test.expr.clone(),
                negated: test.negated,
            },
            test.subquery.clone(),
        )),
        _ => None,
    }
}

pub(super) fn sub_plan(kind: SubPlanKind, subquery: Subquery, name: &str) -> Result<SubPlan> {
    let mut bindings = Vec::with_capacity(subquery.outer_ref_columns.len());
    for reference in subquery.outer_ref_columns {
        let Expr::Alias(alias) = reference else {
            return Err(Error::internal("an outer reference without its name"));
        };
        bindings.push((
            Column::new(alias.relation.clone(), alias.name.clone()),
            *alias.expr,
        ));
    }
    Ok(SubPlan {
        plan: subquery.subquery,
        kind,
        bindings,
        asked_when: None,
        name: name.to_string(),
    })
}
