//! Access paths as nodes: the class, the key, and what of it is read.
//!
//! ```text
//! Range Scan on orders using orders_pkey
//!   Range: channel = 'alipay' AND id > 'a0089'
//!   Filter: (ts = '2024-01-20 21:35:02')
//!   Order: id
//! ```
//!
//! JSON has, beside PostgreSQL's keys (`Node Type`, `Relation Name`, `Alias`, `Index Name`, `Scan Direction`, `Filter`),
//! `Derived` (conditions on generated columns), `Merged` where parts are, `Covering` of a secondary index, `Lookup` (the key by which rows are fetched where it does not
//! cover), `Keys` or `Ranges` (counts), `Conditions` (readable, cut short when many), `Order`; where LIMIT ends it also `Limit`
//! (rows, those of OFFSET among them); of a Small Scan `Rows At Most`, beyond which it is refused; below Top Rows `Rows Read At Most`, beyond which they are made as `Otherwise` says; with ANALYZE also `Rows Read`, `Pages`, `Gets`, `Bytes`. These stay as they are from
//! release to release.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value as Json;

use super::condition_text::condition_text;
use super::node::PlanNode;
use crate::catalog::{Moment, VERSION_KEY, WantedVersions};
use crate::plan::{AccessClass, AccessPath, Predicate};
use crate::scan::scan_metrics::ScanMetrics;
use crate::types::{FormatSettings, Value};

/// Characters of derived conditions that are shown at most.
const DERIVED_CHARS_MAX: usize = 200;

/// A read of a table as the statement calls it.
pub(crate) struct TableRead<'a> {
    pub(crate) path: &'a AccessPath,
    pub(crate) alias: &'a str,
    /// Whether several readers share it.
    pub(crate) is_shared: bool,
    /// Whether its rows come in the order of the key.
    pub(crate) is_ordered: bool,
    /// Columns whose values a join above may know before it begins.
    pub(crate) narrowed_by: &'a [usize],
    /// Rows at which it ends.
    pub(crate) limit: Option<usize>,
    /// What is read: positions in `TableDef::columns`.
    pub(crate) columns: &'a [usize],
    /// What the keys and ranges come from, when these are others the next time.
    pub(crate) stated: Option<String>,
}

impl<'a> TableRead<'a> {
    /// A read by one reader to its end.
    pub(crate) fn new(path: &'a AccessPath, alias: &'a str, columns: &'a [usize]) -> TableRead<'a> {
        TableRead {
            path,
            alias,
            is_shared: false,
            is_ordered: true,
            narrowed_by: &[],
            limit: None,
            columns,
            stated: None,
        }
    }

    /// `filters`: conditions that the path does not check.
    pub(crate) fn node(&self, filters: Vec<String>) -> PlanNode {
        let mut node = self.own_node(filters);
        if let AccessClass::Union { parts } = &self.path.class {
            for part in parts {
                let read = TableRead::new(part, self.alias, self.columns);
                node = node.over_as("Member", read.own_node(Vec::new()));
            }
        }
        node
    }

    fn narrowed_text(&self) -> String {
        let columns = self.narrowed_by.iter();
        let names: Vec<&str> = columns
            .map(|at| self.path.table.columns[*at].name.as_str())
            .collect();
        names.join(", ")
    }

    fn own_node(&self, filters: Vec<String>) -> PlanNode {
        let path = self.path;
        let parallel = if self.is_shared { "Parallel " } else { "" };
        let title = format!("{parallel}{}", path.title(self.alias));
        let direction = if path.reverse { "Backward" } else { "Forward" };
        let mut node = PlanNode::new(path.class_name(), title)
            .with_property("Parallel Aware", self.is_shared)
            .with_property("Schema", path.table.schema.as_str())
            .with_property("Relation Name", path.table.name.as_str())
            .with_property("Alias", self.alias)
            .with_property("Index Name", path.key().name.as_str())
            .with_property("Scan Direction", direction);
        node = match &self.stated {
            Some(condition) => node.with("Condition", condition.clone()),
            None => with_places(node, path),
        };
        if !path.derived.is_empty() && self.stated.is_none() {
            node = node.with("Derived", derived_text(path));
        }
        let residual = path.residual.as_ref().map(Predicate::conjuncts);
        // It is among the conditions as they are stated.
        let residual = residual.filter(|_| self.stated.is_none()).unwrap_or_default();
        let own = residual
            .into_iter()
            .map(|residual| condition_text(residual, &path.table));
        if path.index != 0 && path.class != AccessClass::Empty {
            let is_covering = path.covers(self.columns);
            let primary = || path.table.primary_key.name.clone();
            node = node
                .with_property("Covering", is_covering)
                .with_note("Lookup", (!is_covering).then(primary));
        }
        let expires = path.table.options.expiry.may_be_over() && path.class != AccessClass::Empty;
        if expires {
            node = node.with_note("Expiry", Some("each row is asked".to_string()));
        }
        if let Some(read) = &path.table.version_read {
            node = node.with_note("Versions", Some(versions_text(read.wanted)));
        }
        node = node
            .with_property("Filter", Json::Null)
            .with_filters(own.chain(filters));
        if let Some(merge) = &path.merge {
            node = node.with("Merged", format!("{} parts", merge.parts.len()));
        }
        node = node.with_note("Order", order_text(path).filter(|_| self.is_ordered));
        if !self.narrowed_by.is_empty() {
            node = node.with_note("Narrowed By", Some(self.narrowed_text()));
        }
        match self.limit {
            Some(limit) => node.with_noted_count("Limit", limit as u64),
            None => node,
        }
    }
}

/// Which versions of each row are read.
fn versions_text(wanted: WantedVersions) -> String {
    let moment = |moment: Moment| match moment {
        Moment::At(micros) => Value::TimestampTz(micros).to_text(&FormatSettings::default()),
        Moment::Before(0) => "now".to_string(),
        Moment::Before(micros) => format!("{} s before now", micros as f64 / 1e6),
        Moment::Open(_) => "a moment that the run tells".to_string(),
    };
    match wanted {
        WantedVersions::Newest { count, from, before } => {
            let millis = |micros: i64| micros.div_euclid(1000);
            let from = from.map(|from| format!(", from {} on", millis(from)));
            let before = before.map(|before| format!(", before {}", millis(before)));
            let bounds = [from, before].into_iter().flatten().collect::<String>();
            format!("{count} at most{bounds}")
        }
        WantedVersions::AsOf(at) => format!("as of {}", moment(at)),
        WantedVersions::Between { from, to, .. } => format!("from {} to {}", moment(from), moment(to)),
    }
}

/// What a scan read, below its node's filter.
pub(crate) fn with_metrics(node: PlanNode, metrics: &ScanMetrics) -> PlanNode {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    node.with_noted_count("Rows Read", read(&metrics.rows_read))
        .with_noted_count("Pages", read(&metrics.pages))
        .with_noted_count("Gets", read(&metrics.gets))
        .with_noted_count("Bytes", read(&metrics.bytes))
}

/// The keys or ranges.
fn with_places(node: PlanNode, path: &AccessPath) -> PlanNode {
    let readable = path.readable();
    let lines = |name: &str| readable.iter().map(|place| format!("{name}: {place}")).collect();
    let whole = || vec!["Range: all".to_string()];
    let node = match &path.class {
        AccessClass::Empty | AccessClass::Union { .. } => node,
        AccessClass::MultiGet { keys } => node
            .with_count("Keys", keys.len() as u64)
            .with_lines(lines("Key")),
        AccessClass::RangeScan {
            ranges,
            whole: is_whole,
        } => {
            let node = match ranges.len() {
                1 => node.with_property("Ranges", 1),
                many => node.with_count("Ranges", many as u64),
            };
            node.with_lines(if *is_whole { whole() } else { lines("Range") })
        }
        AccessClass::TermScan(terms) => node
            .with_count("Terms", terms.sets.iter().map(|set| set.len() as u64).sum())
            .with_lines(lines("Term")),
        AccessClass::FullScan { .. } => node.with_property("Ranges", 1).with_lines(whole()),
        AccessClass::SmallScan { rows_max, .. } => node
            .with_property("Ranges", 1)
            .with_lines(whole())
            .with_count("Rows At Most", *rows_max),
    };
    node.with_property("Conditions", readable)
}

/// The conditions on generated columns that follow from the others.
fn derived_text(path: &AccessPath) -> String {
    let derived = path.derived.iter();
    let texts: Vec<String> = derived.map(|one| condition_text(one, &path.table)).collect();
    let text = texts.join(" AND ");
    match text.char_indices().nth(DERIVED_CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The order in which rows come: the key's columns, those pinned to one value left out.
fn order_text(path: &AccessPath) -> Option<String> {
    if matches!(path.class, AccessClass::Empty) || path.table.has_hidden_key() {
        return None;
    }
    let sorted = path.sort_columns();
    let own = sorted.iter().filter(|column| {
        let id = path.table.columns[column.column].id;
        path.key().has_column(id) && id != VERSION_KEY
    });
    let columns: Vec<String> = own
        .map(|column| {
            let direction = match column.descending != path.reverse {
                true => " DESC",
                false => "",
            };
            format!("{}{direction}", path.table.columns[column.column].name)
        })
        .collect();
    (!columns.is_empty()).then(|| columns.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::table_of;
    use crate::plan::{CompareOp, FullScanPolicy, PlanRules, plan_access};
    use crate::types::SqlType;

    fn path(predicate: Option<Predicate>) -> AccessPath {
        let columns = [
            ("channel", SqlType::Text),
            ("id", SqlType::Text),
            ("ts", SqlType::Timestamp(None)),
            ("n", SqlType::Int4),
        ];
        let table = table_of("orders", &columns, &[false, false, false]);
        let rules = PlanRules {
            full_scan: FullScanPolicy::Allow,
            multi_get_keys_max: 2000,
            ranges_max: 1024,
            index_hint: None,
            database: "test".into(),
        };
        plan_access(&table, predicate.as_ref(), Default::default(), &rules).unwrap()
    }

    fn compare(column: usize, op: CompareOp, value: &str) -> Predicate {
        Predicate::Compare {
            column,
            op,
            value: Value::Text(value.to_string()),
        }
    }

    fn at(us: i64) -> Predicate {
        Predicate::Compare {
            column: 2,
            op: CompareOp::Eq,
            value: Value::Timestamp(us),
        }
    }

    #[test]
    fn each_class_reads_in_sql_values() {
        use CompareOp::*;
        let alipay = || compare(0, Eq, "alipay");
        let check = |predicate: Option<Predicate>, expected: &[&str]| {
            assert_eq!(
                TableRead::new(&path(predicate), "orders", &[])
                    .node(Vec::new())
                    .lines(true),
                expected
            )
        };
        check(
            Some(Predicate::And(vec![
                alipay(),
                compare(1, Eq, "it's"),
                at(1_705_786_502_000_000),
            ])),
            &[
                "Multi-Get on orders using orders_pkey",
                "  Keys: 1",
                "  Key: (channel, id, ts) = ('alipay', 'it''s', '2024-01-20 21:35:02')",
            ],
        );
        check(
            Some(Predicate::And(vec![
                alipay(),
                compare(1, Greater, "a0089"),
                at(1_705_786_502_000_000),
            ])),
            &[
                "Range Scan on orders using orders_pkey",
                "  Range: channel = 'alipay' AND id > 'a0089'",
                "  Filter: (ts = '2024-01-20 21:35:02')",
                "  Order: id",
            ],
        );
        check(
            Some(compare(0, NotEq, "x")),
            &[
                "Range Scan on orders using orders_pkey",
                "  Ranges: 2",
                "  Range: channel < 'x'",
                "  Range: channel > 'x'",
                "  Order: channel, id, ts",
            ],
        );
        check(
            Some(Predicate::And(vec![alipay(), compare(1, LessEq, "b")])),
            &[
                "Range Scan on orders using orders_pkey",
                "  Range: channel = 'alipay' AND id <= 'b'",
                "  Order: id, ts",
            ],
        );
        check(
            Some(Predicate::Or(vec![
                compare(1, Eq, "b"),
                Predicate::IsNull { column: 3 }.negate(),
            ])),
            &[
                "Full Scan on orders using orders_pkey",
                "  Range: all",
                "  Filter: ((id = 'b') OR (n IS NOT NULL))",
                "  Order: channel, id, ts",
            ],
        );
        check(
            None,
            &[
                "Range Scan on orders using orders_pkey",
                "  Range: all",
                "  Order: channel, id, ts",
            ],
        );
        check(
            Some(Predicate::And(vec![alipay(), compare(0, Eq, "wechat")])),
            &["Empty Result"],
        );
    }

    #[test]
    fn json_names_the_class_and_its_counts() {
        let path = path(Some(compare(0, CompareOp::NotEq, "x")));
        let object = TableRead::new(&path, "o", &[]).node(Vec::new()).json(true);
        assert_eq!(object["Node Type"], "Range Scan");
        assert_eq!(object["Ranges"], 2);
        assert_eq!(object["Relation Name"], "orders");
        assert_eq!(object["Alias"], "o");
        assert_eq!(object["Conditions"][0], "channel < 'x'");
        assert_eq!(object["Filter"], Json::Null);
    }
}
