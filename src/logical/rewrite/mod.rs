//! The rewriter: a bound plan becomes one that gives the same rows and reads less for them. What PostgreSQL does in `prepjointree.c`,
//! `prepqual.c`, `allpaths.c` and `clauses.c`, over the tree that the binder makes. Called with a bound plan, its parameters put in
//! or left open; what it gives is made executable as it stands. Each rule is one file and one pass over the plan:
//!
//! | rule              | what becomes of a plan                                                                            |
//! |-------------------|---------------------------------------------------------------------------------------------------|
//! | `semi_joins`      | EXISTS and IN that the binder leaves in conditions are joins                                      |
//! | `grouping`        | grouping() is told by the number of the grouping set                                              |
//! | `constants`       | what is constant is computed, AND, OR and NOT say everything once                                 |
//! | `unions`          | unions of unions are one                                                                          |
//! | `distinct`        | DISTINCT is a group                                                                               |
//! | `outer_joins`     | outer joins whose made-up rows a condition drops are inner ones                                   |
//! | `limits`          | a LIMIT is known to what need not give more rows                                                  |
//! | `filters`         | conditions are asked where their columns come from, equalities between relations join these       |
//! | `empty_relations` | what has no rows is not asked for them                                                            |
//! | `first_rows`      | where the first rows in an order are asked for, parts of a union and what joins and subqueries keep give their first |
//! | `distinct_values` | aggregates of distinct values of one expression are aggregates of its groups                      |
//! | `common_expressions` | what several expressions of a node compute is computed once                                       |
//! | `waiting`         | functions that wait are called below groups, windows and rows of VALUES                           |
//! | `columns`         | nobody gives a column that nobody asks for                                                        |
//! | `existence`       | joins of which one side is only asked whether it has rows are semi-joins, or none (within `columns`) |
//!
//! What `unasked` drops is gone before: it is asked of every bound plan, of those too that run as they are bound.
//!
//! Invariants of all rules:
//! 1. The columns of the plan keep names, types and order; so do those of every node that another refers to by name.
//! 2. What is volatile is computed as often as before, and stays above groups, windows and DISTINCT.
//! 3. A condition without columns stays above what gives a row of nothing (`SELECT count(*) … HAVING false`).
//! 4. What stands in a branch of CASE, or behind AND or OR, is computed for no row for which it was not. Conditions that an AND joins at the
//!    top of WHERE or ON may be asked in any order, and of rows that others or a join would drop, as in PostgreSQL.
//! 5. Filters move in the logical plan only, where a column has its relation's name.

mod absent;
mod boolean;
mod column_demand;
mod columns;
mod common_expressions;
mod comparison;
mod constants;
mod distinct;
mod distinct_values;
mod empty_relations;
mod equalities;
pub(crate) mod evaluation;
mod existence;
mod filters;
mod first_rows;
mod grouping;
mod in_list;
mod inference;
mod inner_joins;
mod join_filter_pushdown;
mod lateral_rows;
mod limits;
mod operands;
mod outer_joins;
mod output_names;
mod projections;
mod scan_filters;
mod semi_joins;
mod substitution;
pub(crate) mod unasked;
mod unions;
mod waiting;
pub(crate) use first_rows::FIRST_ROWS_MAX;

use std::cell::Cell;
use std::sync::Arc;

use crate::Result;
use crate::system::pg_catalog::CatalogContext;
use crate::system::query_threads::check_left;
use crate::tree::{Expr, Plan, Transformed, TransformedResult, TreeNode};

/// The rules in their order, and whether a plan runs as well without.
const RULES: &[(&str, Without, Rule)] = &[
    ("semi_joins", Without::Fails, semi_joins::semi_joins),
    ("grouping", Without::Fails, grouping::grouping),
    ("subqueries", Without::Fails, subqueries),
    ("constants", Without::Runs, constants::constants),
    ("unions", Without::Runs, unions::unions),
    ("lateral_rows", Without::Runs, lateral_rows::lateral_rows),
    ("distinct", Without::Fails, distinct::distinct),
    ("outer_joins", Without::Runs, outer_joins::outer_joins),
    ("limits", Without::Runs, limits::limits),
    ("filters", Without::Runs, filters::filters),
    ("empty_relations", Without::Runs, empty_relations::empty_relations),
    ("first_rows", Without::Runs, first_rows::first_rows),
    ("distinct_values", Without::Runs, distinct_values::distinct_values),
    (
        "common_expressions",
        Without::Runs,
        common_expressions::common_expressions,
    ),
    ("waiting", Without::Fails, waiting::waiting),
    ("columns", Without::Runs, columns::columns),
];

/// What a plan does that a rule did not rewrite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Without {
    Runs,
    Fails,
}

/// A rule: a plan that gives the same rows.
type Rule = fn(Plan, &Rewriting<'_>) -> Result<Plan>;

/// The plan rewritten. `catalogs`: those that functions over constants may ask. `left_out`: a rule that is left out, or `all`, for
/// tests. Errors: those of a plan that does not fit together; 57014.
pub(crate) fn rewrite(plan: Plan, catalogs: Option<&Arc<CatalogContext>>, left_out: &str) -> Result<Plan> {
    let rewriting = Rewriting {
        catalogs,
        left_out,
        infers: true,
        names: Cell::new(0),
    };
    let mut plan = plan;
    for (name, without, rule) in RULES {
        check_left()?;
        if *without == Without::Fails || !rewriting.leaves_out(name) {
            plan = rule(plan, &rewriting)?;
        }
    }
    Ok(plan)
}

/// Rewrites the subqueries in the expressions of a plan, each as a plan of its own.
fn subqueries(plan: Plan, rewriting: &Rewriting<'_>) -> Result<Plan> {
    let rewritten = plan.transform_down(|node| {
        node.map_subqueries(|subquery| {
            rewrite(subquery, rewriting.catalogs, rewriting.left_out).map(Transformed::yes)
        })
    });
    rewritten.data()
}

/// The plan with the filters that are written in it where they go, in scans as far as these ask them, and nothing inferred.
pub(super) fn with_written_filters(plan: Plan, catalogs: Option<&Arc<CatalogContext>>) -> Result<Plan> {
    let rewriting = Rewriting {
        catalogs,
        left_out: "",
        infers: false,
        names: Cell::new(0),
    };
    let plan = constants::constants(plan, &rewriting)?;
    let plan = outer_joins::outer_joins(plan, &rewriting)?;
    filters::filters(plan, &rewriting)
}

/// What a plan is rewritten in.
struct Rewriting<'a> {
    /// Those that functions over constants may ask.
    catalogs: Option<&'a Arc<CatalogContext>>,
    left_out: &'a str,
    /// Whether relations are asked what follows from what others are asked.
    infers: bool,
    /// Names that rules made so far.
    names: Cell<usize>,
}

impl Rewriting<'_> {
    fn leaves_out(&self, rule: &str) -> bool {
        self.left_out == rule || self.left_out == "all"
    }

    /// A name that nothing in the plan has.
    fn name(&self, of: &str) -> String {
        let number = self.names.get() + 1;
        self.names.set(number);
        format!("?{of} {number}")
    }
}

/// Whether a condition is another at every row, whatever the row.
fn is_of_each_row(condition: &Expr) -> bool {
    condition.is_volatile() && !condition.any_column_refs()
}

/// Whether a join can ask it of a pair: it needs no subquery.
fn is_asked_by_join(condition: &Expr) -> bool {
    !condition.has(|expr| {
        matches!(
            expr,
            Expr::ScalarSubquery(_)
                | Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::OuterReferenceColumn(..)
                | Expr::Unnest(_)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::settings::REWRITE_RULES;

    /// What `keyspan.rewrite_rule_off` takes is what there is.
    #[test]
    fn every_rule_that_need_not_be_is_left_out_by_its_name() {
        let optional = RULES.iter().filter(|(_, without, _)| *without == Without::Runs);
        let names: Vec<&str> = optional.map(|(name, ..)| *name).collect();
        let expected: Vec<&str> = ["none", "all"]
            .into_iter()
            .chain(names)
            .chain(["existence"])
            .collect();
        assert_eq!(REWRITE_RULES, expected);
    }
}
