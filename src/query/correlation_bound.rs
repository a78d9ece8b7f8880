//! Whether conditions bound a key of the rows that a subquery is asked for: then it is asked for few, and read by its own key
//! for each of them.

use std::collections::HashMap;

use crate::logical::stored_table::scanned_table;
use crate::logical::{compared_column, pinned_column};
use crate::plan::is_bounded_by;
use crate::tree::{Column, Expr, Plan, TreeNode, TreeNodeRecursion, split_conjunction};

/// Whether the conditions in the plan, or those that are to stand above it, bound by their form a key of a table in it.
pub(super) fn is_bounded(plan: &Plan, above: &[Expr]) -> bool {
    is_bounded_by_columns(plan, above, compared_column)
}

/// Whether conditions in the plan that columns equal something bound a key of a table in it.
pub(super) fn is_pinned(plan: &Plan) -> bool {
    is_bounded_by_columns(plan, &[], pinned_column)
}

/// `column_of`: the column on which a condition bounds what is read.
fn is_bounded_by_columns(plan: &Plan, above: &[Expr], column_of: fn(&Expr) -> Option<&Column>) -> bool {
    let mut compared: HashMap<String, Vec<String>> = HashMap::new();
    let mut note = |condition: &Expr| {
        for condition in split_conjunction(condition) {
            if let Some(column) = column_of(condition)
                && let Some(relation) = &column.relation
            {
                let columns = compared.entry(relation.table().to_string()).or_default();
                columns.push(column.name.clone());
            }
        }
    };
    above.iter().for_each(&mut note);
    let mut tables = Vec::new();
    let _ = plan.apply(|node| {
        match node {
            Plan::Filter(filter) => note(&filter.predicate),
            Plan::TableScan(scan) => tables.extend(scanned_table(scan)),
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    });
    tables.iter().any(|scanned| {
        let columns = compared.get(&*scanned.alias).into_iter().flatten();
        let columns = columns.filter_map(|name| scanned.table.column_index(name));
        is_bounded_by(&scanned.table, &columns.collect::<Vec<_>>(), &scanned.index_hint)
    })
}
