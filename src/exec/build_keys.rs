//! `BuildKeys`: the keys of the rows that a hash join keeps, once they are there, as what bounds the scan that the join streams past
//! them: few keys lead to few rows, and an index to them. DataFusion collects them (`DynamicFilterPhysicalExpr`), and the join
//! compares whatever comes, so that reading too much does no harm.

use std::sync::Arc;

use arrow::array::ArrayRef;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::expressions::{DynamicFilterPhysicalExpr, InListExpr, Literal};
use datafusion::physical_expr::split_conjunction;
use futures::TryStreamExt;
use tokio::sync::OnceCell;

use super::StatementContext;
use super::datafusion_error::from_datafusion;
use super::filter_predicate::from_expr;
use super::planned_access::plan_predicates;
use super::scan::{Demand, scan_batches};
use crate::plan::{AccessClass, AccessPath, PlanRules, Predicate, Wanted};
use crate::types::{Value, value_at};
use crate::{Error, Result};

/// More keys are not collected: the table is read.
pub(super) const KEYS_MAX: usize = 10_000;
/// Bytes of keys likewise.
pub(super) const KEYS_BYTES_MAX: usize = 1 << 20;
/// So many rows are fetched one by one however small the table is.
const GETS_MIN: u64 = 64;
/// Rows that are fetched one by one cost as much as so many that are read one after the other.
const ROWS_A_GET: u64 = 16;

/// In which order a scan that keys bound may give its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// In that of whatever key is read.
    Any,
    /// In that in which it would give them otherwise.
    Kept,
}

/// What bounds a scan once a join has its build side.
#[derive(Debug, Clone)]
pub struct BuildKeys {
    filter: Arc<DynamicFilterPhysicalExpr>,
    /// For each key of the join the column of the scan's table (a position in `TableDef::columns`) that it is compared with.
    columns: Vec<Option<usize>>,
    pub(super) order: Order,
    /// The path that is read in place of the one that was planned, if one is: all parts of the scan come to the same.
    shorter: Arc<OnceCell<Option<Arc<AccessPath>>>>,
}

impl BuildKeys {
    pub(super) fn new(
        filter: Arc<DynamicFilterPhysicalExpr>,
        columns: Vec<Option<usize>>,
        order: Order,
    ) -> BuildKeys {
        BuildKeys {
            filter,
            columns,
            order,
            shorter: Arc::default(),
        }
    }

    /// What the join says once its build side is there.
    pub(super) fn filter(&self) -> &Arc<DynamicFilterPhysicalExpr> {
        &self.filter
    }

    /// What was read in place of what was planned: `Range Scan using line_part, 20 ranges`. `None`: that was read.
    pub fn taken(&self) -> Option<String> {
        self.shorter.get()?.as_deref().map(description)
    }

    /// The columns that the keys bound.
    pub fn bounded(&self) -> Vec<usize> {
        self.columns.iter().copied().flatten().collect()
    }

    /// A path to the rows that have a partner, if it is shorter than `path` in a table of so many rows, which was planned for
    /// `conditions` and gives the columns at `positions`; under these rules, but for how many keys and ranges there may be.
    pub(super) async fn shorter(
        &self,
        ctx: &StatementContext,
        sized: (&AccessPath, u64),
        wanted: (&[Expr], &[usize]),
        rules: PlanRules,
    ) -> Result<Option<Arc<AccessPath>>> {
        let found = self.shorter.get_or_try_init(|| async {
            let found = self.find_shorter(ctx, sized, wanted, rules).await?;
            Ok::<_, Error>(found.map(Arc::new))
        });
        found.await.cloned()
    }

    async fn find_shorter(
        &self,
        ctx: &StatementContext,
        (path, rows): (&AccessPath, u64),
        (conditions, positions): (&[Expr], &[usize]),
        rules: PlanRules,
    ) -> Result<Option<AccessPath>> {
        // The scan may be asked before the join's own side is: by what gathers the rows of several readers. The join waits for no row
        // of this one until it has its own.
        self.filter.wait_complete().await;
        let Some(keys) = self.keys(path)? else {
            return Ok(None);
        };
        let table = &path.table;
        let gets_max = (rows / ROWS_A_GET).max(GETS_MIN);
        let known = conditions.iter().map(|condition| from_expr(condition, table));
        let rules = PlanRules {
            multi_get_keys_max: KEYS_MAX,
            ranges_max: KEYS_MAX,
            ..rules
        };
        let wanted = Wanted {
            columns: Some(positions),
            first_in_order: &[],
        };
        let all = known.chain([keys.clone()]).collect();
        let Ok(mut shorter) = plan_predicates(table, all, wanted, &rules) else {
            return Ok(None);
        };
        // The join compares them again.
        shorter.keep_checks(|check| *check != keys);
        shorter.reverse = path.reverse;
        let is_shorter = match &shorter.class {
            AccessClass::Empty => true,
            AccessClass::MultiGet { keys } => keys.len() as u64 <= gets_max,
            AccessClass::RangeScan { ranges, whole: false } if path.ranges() != Some(ranges) => {
                // Entries that hold all that is asked for are read one after the other.
                let rows_max = match shorter.covers(positions) {
                    true => rows / 2,
                    false => gets_max,
                };
                ranges.len() as u64 <= gets_max && leads_to_few(ctx, &shorter, rows_max).await?
            }
            _ => false,
        };
        Ok(is_shorter.then_some(shorter))
    }

    /// The condition that the keys are. `None`: they are not there, or too many.
    fn keys(&self, path: &AccessPath) -> Result<Option<Predicate>> {
        let current = self.filter.current().map_err(from_datafusion)?;
        let parts = split_conjunction(&current).into_iter();
        let mut lists = parts.filter_map(|part| part.downcast_ref::<InListExpr>());
        let Some(list) = lists.find(|list| !list.negated()) else {
            return Ok(None);
        };
        if list.len() > KEYS_MAX {
            return Ok(None);
        }
        let keys = list.list().iter();
        let keys = keys.map(|key| self.values(key.downcast_ref()?, path));
        let Some(keys) = keys.collect::<Option<Vec<Vec<Value>>>>() else {
            return Ok(None);
        };
        // What is NULL has no partner.
        let keys = keys.into_iter().filter(|key| !key.contains(&Value::Null));
        let mut columns = self.bounded();
        Ok(match columns.len() {
            0 => None,
            1 => Some(Predicate::InList {
                column: columns.remove(0),
                values: keys.flatten().collect(),
            }),
            _ => Some(Predicate::RowIn {
                columns,
                rows: keys.collect(),
            }),
        })
    }

    /// The values of one key for the columns of the scan's table. `None`: it has another form.
    fn values(&self, key: &Literal, path: &AccessPath) -> Option<Vec<Value>> {
        let parts: Vec<ArrayRef> = match (key.value(), self.columns.len()) {
            (ScalarValue::Struct(parts), all) if parts.num_columns() == all => parts.columns().to_vec(),
            (single, 1) => vec![single.to_array().ok()?],
            _ => return None,
        };
        let compared = parts.iter().zip(&self.columns);
        let compared = compared.filter_map(|(part, column)| Some((part, (*column)?)));
        compared
            .map(|(part, column)| value_at(part, 0, &path.table.columns[column].ty).ok())
            .collect()
    }
}

/// See [`BuildKeys::taken`].
fn description(path: &AccessPath) -> String {
    let places = match &path.class {
        AccessClass::MultiGet { keys } => format!(" using {}, {} keys", path.key().name, keys.len()),
        AccessClass::RangeScan { ranges, .. } => {
            format!(" using {}, {} ranges", path.key().name, ranges.len())
        }
        _ => String::new(),
    };
    format!("{}{places}", path.class_name())
}

/// Whether a path through an index leads to so many rows at most.
async fn leads_to_few(ctx: &StatementContext, path: &AccessPath, rows_max: u64) -> Result<bool> {
    if path.index == 0 {
        return Ok(true);
    }
    let entries = AccessPath {
        residual: None,
        ..path.clone()
    };
    let demand = Demand::Rows(rows_max as usize + 1);
    let mut batches = scan_batches(
        Arc::clone(&ctx.txn),
        Arc::new(entries),
        Vec::new(),
        demand,
        Arc::default(),
    );
    let mut rows = 0;
    while let Some(batch) = batches.try_next().await? {
        rows += batch.num_rows() as u64;
    }
    Ok(rows <= rows_max)
}
