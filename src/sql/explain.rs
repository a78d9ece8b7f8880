//! EXPLAIN: the class of each access in PostgreSQL's manner, as text lines or as JSON that tools may rely on.
//!
//! ```text
//! Range Scan on orders using orders_pkey
//!   Range: channel = 'alipay' AND id > 'a0089'
//!   Filter: ts = '2024-01-20 21:35:02'
//!   Order: channel, id, ts
//! ```
//!
//! JSON has one object an access, its keys in PostgreSQL's spelling: `Node Type`, `Relation Name`, `Index Name`,
//! `Scan Direction`, `Keys` or `Ranges` (counts), `Conditions` (readable, cut short when many), `Filter`, `Order`; where
//! LIMIT ends it also `Limit` (rows, those of OFFSET among them); with ANALYZE also `Actual Rows`, `Rows Read`, `Pages`,
//! `Gets`, `Bytes`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Map, Value as Json, json};
use sqlparser::ast::{self, AnalyzeFormat, AnalyzeFormatKind, UtilityOption};

use super::condition_text::condition_text;
use super::query::QueryPlan;
use super::{Outcome, Statement, dml, query};
use crate::error::StatementFault;
use crate::exec::scan::ScanMetrics;
use crate::exec::short::{ShortNode, ShortStory};
use crate::exec::{OutputColumn, Rows, StatementContext};
use crate::plan::{AccessClass, AccessPath};
use crate::types::SqlType;
use crate::{Error, Result};

/// What EXPLAIN was asked for.
#[derive(Debug, Clone, Copy, Default)]
struct Options {
    analyze: bool,
    json: bool,
}

/// Runs EXPLAIN. Errors: those of planning the statement, 42601 for options, 0A000 for formats.
pub(crate) async fn execute(ctx: &StatementContext, statement: &Statement) -> Result<Outcome> {
    let ast::Statement::Explain {
        statement: explained, ..
    } = &statement.ast
    else {
        return Err(Error::internal("EXPLAIN of nothing"));
    };
    let options = options_of(&statement.ast)?;
    let inner = Statement {
        ast: (**explained).clone(),
        ..statement.clone()
    };
    let plan = match explained.as_ref() {
        ast::Statement::Query(query) => explain_query(ctx, query, options).await?,
        ast::Statement::Update(_) | ast::Statement::Delete(_) | ast::Statement::Insert(_) => {
            explain_write(ctx, &inner, options).await?
        }
        _ => {
            return Err(Error::unsupported("EXPLAIN of this statement", None));
        }
    };
    let lines = if options.json {
        let text = serde_json::to_string_pretty(&json!([{ "Plan": plan.json }]));
        vec![text.map_err(|error| Error::internal(format!("EXPLAIN as JSON: {error}")))?]
    } else {
        plan.lines
    };
    let columns = columns(&statement.ast);
    let array: ArrayRef = Arc::new(StringArray::from(lines));
    let schema = arrow::datatypes::Schema::new(vec![columns[0].ty.field(&columns[0].name, false)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![array]).map_err(Error::arrow)?;
    Ok(Outcome::Rows {
        columns: columns.into(),
        stream: stream::once(async move { Ok(Rows::Columns(batch)) }).boxed(),
    })
}

/// EXPLAIN's result: one column `QUERY PLAN`.
pub(crate) fn columns(statement: &ast::Statement) -> Vec<OutputColumn> {
    let json = options_of(statement).is_ok_and(|options| options.json);
    let ty = if json { SqlType::Json } else { SqlType::Text };
    vec![OutputColumn {
        name: "QUERY PLAN".to_string(),
        ty,
        table_oid: 0,
        attribute: 0,
    }]
}

/// An access path as EXPLAIN prints it: the head line, then its details, two blanks in.
pub(crate) fn path_lines(path: &AccessPath) -> Vec<String> {
    let mut lines = vec![path.title()];
    match &path.class {
        AccessClass::Empty => {}
        AccessClass::MultiGet { keys } => {
            lines.push(format!("  Keys: {}", keys.len()));
            lines.extend(path.readable().into_iter().map(|key| format!("  Key: {key}")));
        }
        AccessClass::RangeScan { ranges, whole } => {
            if ranges.len() > 1 {
                lines.push(format!("  Ranges: {}", ranges.len()));
            }
            if *whole {
                lines.push("  Range: all".to_string());
            }
            lines.extend(
                path.readable()
                    .into_iter()
                    .map(|range| format!("  Range: {range}")),
            );
        }
        AccessClass::FullScan { .. } => lines.push("  Range: all".to_string()),
    }
    if let Some(residual) = &path.residual {
        lines.push(format!("  Filter: {}", condition_text(residual, &path.table)));
    }
    if let Some(order) = order_text(path) {
        lines.push(format!("  Order: {order}"));
    }
    lines
}

/// An access path as a JSON object; the keys stay as they are from release to release.
pub(crate) fn path_json(path: &AccessPath) -> Map<String, Json> {
    let mut object = Map::new();
    let node = match &path.class {
        AccessClass::Empty => "Empty Result",
        AccessClass::MultiGet { .. } => "Multi-Get",
        AccessClass::RangeScan { .. } => "Range Scan",
        AccessClass::FullScan { .. } => "Full Scan",
    };
    object.insert("Node Type".to_string(), json!(node));
    object.insert("Schema".to_string(), json!(path.table.schema));
    object.insert("Relation Name".to_string(), json!(path.table.name));
    object.insert("Index Name".to_string(), json!(path.key().name));
    object.insert(
        "Scan Direction".to_string(),
        json!(if path.reverse { "Backward" } else { "Forward" }),
    );
    match &path.class {
        AccessClass::Empty => {}
        AccessClass::MultiGet { keys } => {
            object.insert("Keys".to_string(), json!(keys.len()));
        }
        AccessClass::RangeScan { ranges, .. } => {
            object.insert("Ranges".to_string(), json!(ranges.len()));
        }
        AccessClass::FullScan { .. } => {
            object.insert("Ranges".to_string(), json!(1));
        }
    }
    object.insert("Conditions".to_string(), json!(path.readable()));
    let filter = path
        .residual
        .as_ref()
        .map(|residual| condition_text(residual, &path.table));
    object.insert("Filter".to_string(), json!(filter));
    object.insert("Order".to_string(), json!(order_text(path)));
    object
}

/// A plan in both forms.
struct Explained {
    lines: Vec<String>,
    json: Json,
}

impl Explained {
    fn of_path(path: &AccessPath) -> Explained {
        Explained {
            lines: path_lines(path),
            json: Json::Object(path_json(path)),
        }
    }

    /// The table under a short statement, with the conditions on its rows.
    fn of_source(story: &ShortStory) -> Explained {
        let Some(path) = &story.path else {
            return Explained {
                lines: vec!["Result".to_string()],
                json: json!({ "Node Type": "Result" }),
            };
        };
        let mut explained = Explained::of_path(path);
        if !story.filters.is_empty() {
            explained.add_filter(&story.filters.join(" AND "));
        }
        explained
    }

    /// Adds to the filter that the path has, if it has one.
    fn add_filter(&mut self, filter: &str) {
        let mut whole = filter.to_string();
        match self.lines.iter_mut().find(|line| line.starts_with("  Filter: ")) {
            Some(line) => {
                line.push_str(&format!(" AND {filter}"));
                whole = line.trim_start_matches("  Filter: ").to_string();
            }
            None => self.lines.push(format!("  Filter: {filter}")),
        }
        if let Json::Object(object) = &mut self.json {
            object.insert("Filter".to_string(), json!(whole));
        }
    }

    /// The same below a node of a short statement.
    fn below_node(self, node: ShortNode) -> Explained {
        let mut explained = self.below(node.title);
        for (name, text) in node.details.into_iter().rev() {
            explained.lines.insert(1, format!("  {name}: {text}"));
            if let Json::Object(object) = &mut explained.json {
                object.insert(name.to_string(), json!(text));
            }
        }
        explained
    }

    fn add(&mut self, name: &str, value: u64) {
        self.lines.push(format!("  {name}: {value}"));
        if let Json::Object(object) = &mut self.json {
            object.insert(name.to_string(), json!(value));
        }
    }

    fn add_metrics(&mut self, metrics: &ScanMetrics) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.add("Actual Rows", read(&metrics.rows));
        self.add("Rows Read", read(&metrics.rows_read));
        self.add("Pages", read(&metrics.pages));
        self.add("Gets", read(&metrics.gets));
        self.add("Bytes", read(&metrics.bytes));
    }

    /// The same, one level down below a head line.
    fn below(self, head: String) -> Explained {
        let mut lines = vec![head.clone()];
        lines.extend(self.lines.into_iter().enumerate().map(|(at, line)| match at {
            0 => format!("  -> {line}"),
            _ => format!("   {line}"),
        }));
        Explained {
            lines,
            json: json!({ "Node Type": head, "Plans": [self.json] }),
        }
    }
}

async fn explain_query(ctx: &StatementContext, query: &ast::Query, options: Options) -> Result<Explained> {
    let plan = QueryPlan::new(query::plan_query(ctx, query, &super::known_types(ctx))?);
    explain_plan(ctx, &plan, options.analyze).await
}

/// `analyze`: runs it as well.
async fn explain_plan(ctx: &StatementContext, plan: &QueryPlan, analyze: bool) -> Result<Explained> {
    if let Some(story) = plan.story(ctx)? {
        let mut explained = Explained::of_source(&story);
        if analyze {
            let metrics = Arc::new(ScanMetrics::default());
            let mut rows = plan.run_counted(ctx, metrics.clone()).await?;
            while rows.try_next().await?.is_some() {}
            if story.path.is_some() {
                explained.add_metrics(&metrics);
            }
        }
        for node in story.nodes.into_iter().rev() {
            explained = explained.below_node(node);
        }
        return Ok(explained);
    }
    let lines = query::explain_query(ctx, plan.planned(), analyze).await?;
    Ok(Explained {
        json: json!({ "Node Type": "Query", "Lines": lines }),
        lines,
    })
}

/// A write: what it does, and below it how its rows are found. ANALYZE carries the write out, as in PostgreSQL.
async fn explain_write(ctx: &StatementContext, statement: &Statement, options: Options) -> Result<Explained> {
    let verb = match &statement.ast {
        ast::Statement::Update(_) => "Update",
        ast::Statement::Delete(_) => "Delete",
        _ => "Insert",
    };
    let mut explained = match dml::plan_of_write(ctx, &statement.ast)? {
        Some((table, plan)) => explain_plan(ctx, &plan, false)
            .await?
            .below(format!("{verb} on {table}")),
        None => Explained {
            lines: vec![verb.to_string()],
            json: json!({ "Node Type": verb }),
        },
    };
    if options.analyze {
        let written = dml::execute(ctx, statement).await?;
        let rows = written
            .tag
            .rsplit(' ')
            .next()
            .and_then(|count| count.parse().ok())
            .unwrap_or(0);
        explained.add("Actual Rows", rows);
    }
    Ok(explained)
}

/// The order in which rows come: the key's columns, those pinned to one value left out.
fn order_text(path: &AccessPath) -> Option<String> {
    if matches!(path.class, AccessClass::Empty) || path.table.has_hidden_key() {
        return None;
    }
    let columns: Vec<String> = path
        .key()
        .columns
        .iter()
        .filter_map(|key| {
            let at = path.table.column_index_by_id(key.column)?;
            let descending = if key.descending != path.reverse {
                " DESC"
            } else {
                ""
            };
            (!path.pinned.contains(&at)).then(|| format!("{}{descending}", path.table.columns[at].name))
        })
        .collect();
    (!columns.is_empty()).then(|| columns.join(", "))
}

/// The options of `EXPLAIN ANALYZE VERBOSE` and of `EXPLAIN (ANALYZE, FORMAT JSON, …)`.
fn options_of(statement: &ast::Statement) -> Result<Options> {
    let ast::Statement::Explain {
        analyze,
        format,
        options: listed,
        ..
    } = statement
    else {
        return Ok(Options::default());
    };
    let mut options = Options {
        analyze: *analyze,
        json: false,
    };
    if let Some(AnalyzeFormatKind::Keyword(format) | AnalyzeFormatKind::Assignment(format)) = format {
        match format {
            AnalyzeFormat::TEXT => {}
            AnalyzeFormat::JSON => options.json = true,
            other => return Err(unsupported_format(&other.to_string())),
        }
    }
    for option in listed.iter().flatten() {
        read_option(option, &mut options)?;
    }
    Ok(options)
}

fn read_option(option: &UtilityOption, options: &mut Options) -> Result<()> {
    let argument = option
        .arg
        .as_ref()
        .map(|arg| arg.to_string().trim_matches('\'').to_lowercase());
    let on = !matches!(argument.as_deref(), Some("false" | "off" | "0"));
    match option.name.value.to_lowercase().as_str() {
        "analyze" => options.analyze = on,
        "format" => match argument.as_deref() {
            Some("json") => options.json = true,
            Some("text") => options.json = false,
            other => return Err(unsupported_format(other.unwrap_or_default())),
        },
        "verbose" | "costs" | "settings" | "buffers" | "wal" | "timing" | "summary" | "generic_plan" => {}
        other => {
            return Err(Error::InvalidStatement {
                state: StatementFault::Syntax,
                message: format!("unrecognized EXPLAIN option \"{other}\""),
                hint: None,
            });
        }
    }
    Ok(())
}

fn unsupported_format(format: &str) -> Error {
    Error::unsupported(
        format!("EXPLAIN format {}", format.to_uppercase()),
        Some("FORMAT is TEXT or JSON."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::table_of;
    use crate::plan::{CompareOp, FullScanPolicy, PlanRules, Predicate, plan_access};
    use crate::types::Value;

    fn path(predicate: Option<Predicate>) -> AccessPath {
        let columns = [
            ("channel", SqlType::Text),
            ("id", SqlType::Text),
            ("ts", SqlType::Timestamp),
            ("n", SqlType::Int4),
        ];
        let table = table_of("orders", &columns, &[false, false, false]);
        let rules = PlanRules {
            full_scan: FullScanPolicy::Allow,
            multi_get_keys_max: 2000,
            ranges_max: 1024,
        };
        plan_access(&table, predicate.as_ref(), &rules).unwrap()
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
            assert_eq!(path_lines(&path(predicate)), expected)
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
                "  Filter: ts = '2024-01-20 21:35:02'",
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
                "  Filter: id = 'b' OR n IS NOT NULL",
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
        let object = path_json(&path(Some(compare(0, CompareOp::NotEq, "x"))));
        assert_eq!(object["Node Type"], "Range Scan");
        assert_eq!(object["Ranges"], 2);
        assert_eq!(object["Relation Name"], "orders");
        assert_eq!(object["Conditions"][0], "channel < 'x'");
        assert_eq!(object["Filter"], Json::Null);
    }
}
