//! `BuildKeys`: the keys of the rows that a hash join keeps, once they are there, as what bounds the scan that the join streams past
//! them: few keys lead to few rows, and an index to them. DataFusion collects them (`DynamicFilterPhysicalExpr`), and the join
//! compares whatever comes, so that reading too much does no harm.

use std::sync::Arc;

use arrow::array::ArrayRef;
use datafusion_common::ScalarValue;
use datafusion_physical_expr::expressions::{DynamicFilterPhysicalExpr, InListExpr, Literal};
use datafusion_physical_expr::{PhysicalExpr, split_conjunction};
use tokio::sync::OnceCell;

use crate::plan::{AccessClass, AccessPath, PlanRules, Predicate, Wanted};
use crate::scan::costs::{ROWS_A_GET, ROWS_A_RANGE};
use crate::scan::range_cardinality::rows_led_to;
use crate::scan::row_keys::row_keys;
use crate::scan::table_access::plan_predicates;
use crate::system::StatementContext;
use crate::system::datafusion_error::from_datafusion;
use crate::types::{Value, value_at};
use crate::{Error, Result};

/// Bytes of keys that are collected; of more, as of more keys than `keyspan.join_keys_max`, the table is read.
pub(super) const KEYS_BYTES_MAX: usize = 1 << 20;
/// So many rows are fetched one by one however small the table is.
const GETS_MIN: u64 = 64;
/// In which order a scan that keys bound may give its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// In that of whatever key is read.
    Any,
    /// In that in which it would give them otherwise.
    Kept,
}

/// What bounds a scan once the joins above have their build sides.
#[derive(Debug, Clone)]
pub struct BuildKeys {
    joins: Vec<JoinKeys>,
    pub(super) order: Order,
    /// The path that is read in place of the one that was planned, if one is: all parts of the scan come to the same.
    shorter: Arc<OnceCell<Option<Arc<AccessPath>>>>,
}

/// The keys of one join.
#[derive(Debug, Clone)]
pub(super) struct JoinKeys {
    /// What the join says once its build side is there.
    pub(super) filter: Arc<DynamicFilterPhysicalExpr>,
    /// For each key of the join the column of the scan's table (a position in `TableDef::columns`) that it is compared with.
    pub(super) columns: Vec<Option<usize>>,
}

impl BuildKeys {
    pub(super) fn new(joins: Vec<JoinKeys>, order: Order) -> BuildKeys {
        BuildKeys {
            joins,
            order,
            shorter: Arc::default(),
        }
    }

    pub(super) fn joins(&self) -> &[JoinKeys] {
        &self.joins
    }

    /// What was read in place of what was planned: `Range Scan using line_part, 20 ranges`. `None`: that was read.
    pub fn taken(&self) -> Option<String> {
        self.shorter.get()?.as_deref().map(description)
    }

    /// The columns that the keys bound.
    pub fn bounded(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        for column in self.joins.iter().flat_map(JoinKeys::bounded) {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        columns
    }

    /// A path to the rows that have a partner, if it is shorter than `path` in a table of so many rows, which was planned for
    /// `conditions` and gives the columns at `positions`; under these rules, but for how many keys and ranges there may be.
    pub(super) async fn shorter(
        &self,
        ctx: &StatementContext,
        sized: (&AccessPath, u64),
        wanted: (&[Predicate], &[usize]),
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
        (conditions, positions): (&[Predicate], &[usize]),
        rules: PlanRules,
    ) -> Result<Option<AccessPath>> {
        // The scan may be asked before a join's own side is: by what gathers the rows of several readers. The join waits for no row
        // of this one until it has its own.
        for join in &self.joins {
            join.filter.wait_complete().await;
        }
        let planned = self.planned_cost(ctx, path, rows).await?;
        let keys_max = (planned / ROWS_A_RANGE).max(GETS_MIN) as usize;
        let keys_max = ctx.settings.join_keys_max.min(keys_max);
        let rules = PlanRules {
            multi_get_keys_max: keys_max,
            ranges_max: keys_max,
            ..rules
        };
        let wanted = Wanted {
            columns: Some(positions),
            first_in_order: &[],
        };
        let mut best: Option<(u64, AccessPath)> = None;
        for join in &self.joins {
            let Some(keys) = join.keys(path, keys_max)? else {
                continue;
            };
            let all = conditions.iter().cloned().chain([keys.clone()]).collect();
            let Ok(mut shorter) = plan_predicates(&path.table, all, wanted, &rules) else {
                continue;
            };
            // The join compares them again.
            shorter.keep_checks(|check| *check != keys);
            let Some(cost) = self.cost(ctx, (path, planned), &shorter, positions).await? else {
                continue;
            };
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, shorter));
            }
        }
        let Some((_, mut shorter)) = best else {
            return Ok(None);
        };
        if self.is_by_gets(path, &shorter) {
            let keys = row_keys(&ctx.txn, &shorter, keys_max).await?;
            return Ok(keys.map(|keys| gets_of(path, keys, shorter.residual)));
        }
        shorter.reverse = path.reverse;
        Ok(Some(shorter))
    }

    /// What the planned path costs in a table of so many rows, in rows read one after the other: as far as it takes to know that there
    /// are not too many keys to look for less. Errors: those of reading.
    async fn planned_cost(&self, ctx: &StatementContext, path: &AccessPath, rows: u64) -> Result<u64> {
        let Some(ranges) = path.ranges().filter(|_| !path.is_whole()) else {
            return Ok(rows);
        };
        let counts = self.joins.iter().filter_map(|join| join.count().transpose());
        let fewest = counts.collect::<Result<Vec<usize>>>()?.into_iter().min();
        let Some(fewest) = fewest else {
            return Ok(0);
        };
        let row = if path.index == 0 { 1 } else { ROWS_A_GET };
        let rows_max = (fewest as u64 * ROWS_A_RANGE / row).min(rows);
        let led_to = rows_led_to(&ctx.txn, path, ranges, rows_max).await?;
        Ok(led_to.map_or(rows, |led_to| (led_to * row).min(rows)))
    }

    /// Whether what a path leads to is fetched in the order of another.
    fn is_by_gets(&self, path: &AccessPath, shorter: &AccessPath) -> bool {
        self.order == Order::Kept && shorter.index != path.index
    }

    /// What reading a path costs, in rows read one after the other; `None` when it is too much beside `path`, which was planned.
    async fn cost(
        &self,
        ctx: &StatementContext,
        (path, rows): (&AccessPath, u64),
        shorter: &AccessPath,
        positions: &[usize],
    ) -> Result<Option<u64>> {
        let ranges = match &shorter.class {
            AccessClass::Empty => return Ok(Some(0)),
            AccessClass::MultiGet { keys } => return Ok(Some(keys.len() as u64 * ROWS_A_GET)),
            AccessClass::RangeScan { ranges, whole: false } if path.ranges() != Some(ranges) => ranges,
            _ => return Ok(None),
        };
        // Rows, and entries that hold all that is asked for, are read one after the other.
        let is_walk = shorter.index == 0 || shorter.covers(positions) && !self.is_by_gets(path, shorter);
        let rows_max = match is_walk {
            true => rows / 2,
            false => rows / ROWS_A_GET,
        }
        .max(GETS_MIN);
        let led_to = rows_led_to(&ctx.txn, shorter, ranges, rows_max).await?;
        let cost = led_to.map(|led_to| {
            let row = if is_walk { 1 } else { ROWS_A_GET };
            led_to * row + ranges.len() as u64 * ROWS_A_RANGE
        });
        Ok(cost.filter(|cost| *cost <= rows.max(GETS_MIN * ROWS_A_GET)))
    }
}

impl JoinKeys {
    /// The columns of the scan's table that the keys bound.
    pub(super) fn bounded(&self) -> Vec<usize> {
        self.columns.iter().copied().flatten().collect()
    }

    /// How many keys there are. `None`: they are not there.
    fn count(&self) -> Result<Option<usize>> {
        let current = self.filter.current().map_err(from_datafusion)?;
        Ok(list_of(&current).map(InListExpr::len))
    }

    /// The condition that the keys are. `None`: they are not there, or too many.
    fn keys(&self, path: &AccessPath, keys_max: usize) -> Result<Option<Predicate>> {
        let current = self.filter.current().map_err(from_datafusion)?;
        let Some(list) = list_of(&current).filter(|list| list.len() <= keys_max) else {
            return Ok(None);
        };
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

/// The keys that a join keeps, in what it says of them.
fn list_of(said: &Arc<dyn PhysicalExpr>) -> Option<&InListExpr> {
    let parts = split_conjunction(said).into_iter();
    let mut lists = parts.filter_map(|part| part.downcast_ref::<InListExpr>());
    lists.find(|list| !list.negated())
}

/// The rows under these keys, in the order of the key that the path reads, which is the primary one.
fn gets_of(path: &AccessPath, keys: Vec<Vec<u8>>, residual: Option<Predicate>) -> AccessPath {
    let mut keys = keys;
    keys.sort_unstable();
    keys.dedup();
    AccessPath {
        class: AccessClass::MultiGet { keys },
        residual,
        ..path.clone()
    }
}

/// See [`BuildKeys::taken`].
pub(super) fn description(path: &AccessPath) -> String {
    let places = match &path.class {
        AccessClass::MultiGet { keys } => format!(" using {}, {} keys", path.key().name, keys.len()),
        AccessClass::RangeScan { ranges, .. } => {
            format!(" using {}, {} ranges", path.key().name, ranges.len())
        }
        _ => String::new(),
    };
    format!("{}{places}", path.class_name())
}
