//! What a refused full scan is told when the table is joined with others: the index by which the join would look its rows up.

use crate::Error;
use crate::codec::key::check_key_type;
use crate::logical::equality;
use crate::logical::stored_table::{ScannedTable, scanned_table};
use crate::parse::quoting::quote_ident;
use crate::plan::bounding_columns;
use crate::tree::{Column, Expr, Plan, TreeNode, TreeNodeRecursion, split_conjunction};

/// The error with the index that would make the table's join a lookup, if it refuses one that is joined by equality.
pub(super) fn with_join_hint(error: Error, plan: &Plan) -> Error {
    let Error::FullScan {
        table,
        detail,
        hint,
        index,
    } = error
    else {
        return error;
    };
    let scans = scans_of(plan, &table);
    let joined = scans.iter().find_map(|scan| joined_column(plan, scan));
    let of_join = joined.map(|joined| {
        let (table, joined) = (quote_ident(&table), quote_ident(&joined));
        format!("CREATE INDEX ON {table} ({joined})")
    });
    let told = of_join
        .as_ref()
        .map(|index| format!("{index} would let the join look its rows up. "));
    Error::FullScan {
        table,
        detail,
        hint: told.unwrap_or_default() + &hint,
        index: of_join.or(index),
    }
}

/// A column by which a table is joined with another relation, and that no key of it begins with.
fn joined_column(plan: &Plan, scan: &ScannedTable) -> Option<String> {
    let table = &scan.table;
    let is_own = |column: &Column| {
        let relation = column.relation.as_ref();
        relation.is_some_and(|relation| relation.table() == &*scan.alias)
    };
    let is_of_others = |expr: &Expr| {
        let columns = expr.column_refs();
        !columns.is_empty() && !columns.into_iter().any(is_own)
    };
    let joined = |condition: &Expr| {
        let column = equality(condition)?.into_iter().find_map(|sides| match sides {
            (Expr::Column(column), other) if is_own(column) && is_of_others(other) => Some(column),
            _ => None,
        })?;
        let at = table.column_index(&column.name)?;
        let is_open = bounding_columns(table, &[at], &None).is_none();
        let fits = check_key_type(&table.columns[at].ty, &column.name).is_ok();
        (is_open && fits).then(|| column.name.clone())
    };
    let mut found = None;
    let _ = plan.apply(|node| {
        let condition = match node {
            Plan::Filter(filter) => Some(&filter.predicate),
            Plan::Join(join) => join.filter.as_ref(),
            _ => None,
        };
        let conditions = condition.map(split_conjunction).unwrap_or_default();
        found = conditions.into_iter().find_map(joined);
        Ok(match found {
            Some(_) => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    });
    found
}

/// The scans of a table of this name.
fn scans_of(plan: &Plan, name: &str) -> Vec<ScannedTable> {
    let mut found = Vec::new();
    let _ = plan.apply(|node| {
        if let Plan::TableScan(scan) = node {
            found.extend(scanned_table(scan).filter(|scanned| scanned.table.name == name));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    found
}
