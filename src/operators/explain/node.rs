//! `PlanNode`: what EXPLAIN shows of one node, however it is run; printed as text and as JSON in PostgreSQL's manner.

use serde_json::{Map, Value as Json, json};

use crate::logical::expr_text::all_text;
use crate::scan::figures::Seen;

/// A node of the plan and those below it.
#[derive(Debug, Default)]
pub(crate) struct PlanNode {
    /// The head line: `Hash Left Join`.
    title: String,
    /// `Node Type` in JSON: `Hash Join`.
    kind: &'static str,
    /// What it is to the node above it: `Outer`, `Inner`, `SubPlan` …; none for the first.
    relationship: Option<&'static str>,
    /// `SubPlan 1`: printed on a line of its own.
    label: Option<String>,
    /// What stands before the filter, and behind it.
    details: Vec<Detail>,
    /// Conditions on its rows.
    filters: Vec<String>,
    notes: Vec<Detail>,
    /// What ANALYZE counted.
    actual: Option<Seen>,
    children: Vec<PlanNode>,
}

/// Lines of text, and a key of JSON.
#[derive(Debug)]
struct Detail {
    lines: Vec<String>,
    property: Option<(&'static str, Json)>,
}

impl PlanNode {
    /// `title`: the head line.
    pub(crate) fn new(kind: &'static str, title: impl Into<String>) -> PlanNode {
        PlanNode {
            title: title.into(),
            kind,
            ..PlanNode::default()
        }
    }

    /// A node whose head line is its type.
    pub(crate) fn named(kind: &'static str) -> PlanNode {
        PlanNode::new(kind, kind)
    }

    /// The same with a line `name: text`.
    pub(crate) fn with(mut self, name: &'static str, text: impl Into<String>) -> PlanNode {
        let text = text.into();
        self.details.push(Detail {
            lines: vec![format!("{name}: {text}")],
            property: Some((name, json!(text))),
        });
        self
    }

    /// The same with a line `name: number`.
    pub(crate) fn with_count(mut self, name: &'static str, count: u64) -> PlanNode {
        self.details.push(counted(name, count));
        self
    }

    /// The same with a line `name: a, b`, in JSON an array; without any item nothing.
    pub(crate) fn with_list(mut self, name: &'static str, items: Vec<String>) -> PlanNode {
        if !items.is_empty() {
            self.details.push(Detail {
                lines: vec![format!("{name}: {}", items.join(", "))],
                property: Some((name, json!(items))),
            });
        }
        self
    }

    /// The same with lines that JSON does not have.
    pub(crate) fn with_lines(mut self, lines: Vec<String>) -> PlanNode {
        self.details.push(Detail {
            lines,
            property: None,
        });
        self
    }

    /// The same with what only JSON says.
    pub(crate) fn with_property(mut self, name: &'static str, value: impl Into<Json>) -> PlanNode {
        let property = Some((name, value.into()));
        self.details.push(Detail {
            lines: Vec::new(),
            property,
        });
        self
    }

    /// The same with a line below the filter.
    pub(crate) fn with_note(mut self, name: &'static str, text: Option<String>) -> PlanNode {
        self.notes.push(Detail {
            lines: text.iter().map(|text| format!("{name}: {text}")).collect(),
            property: Some((name, json!(text))),
        });
        self
    }

    /// The same with a number below the filter.
    pub(crate) fn with_noted_count(mut self, name: &'static str, count: u64) -> PlanNode {
        self.notes.push(counted(name, count));
        self
    }

    /// The same with further conditions on its rows.
    pub(crate) fn with_filters(mut self, filters: impl IntoIterator<Item = String>) -> PlanNode {
        self.filters.extend(filters);
        self
    }

    /// The same over this one.
    pub(crate) fn over(self, child: PlanNode) -> PlanNode {
        self.over_as("Outer", child)
    }

    /// The same over this one, which is `relationship` to it.
    pub(crate) fn over_as(mut self, relationship: &'static str, child: PlanNode) -> PlanNode {
        let child = PlanNode {
            relationship: Some(relationship),
            ..child
        };
        // A subquery that is run before it stands before what it reads.
        let at = match relationship {
            "InitPlan" => self
                .children
                .iter()
                .take_while(|child| child.is_init_plan())
                .count(),
            _ => self.children.len(),
        };
        self.children.insert(at, child);
        self
    }

    /// The same under a label: `SubPlan 1`.
    pub(crate) fn labelled(self, label: String) -> PlanNode {
        PlanNode {
            label: Some(label),
            ..self
        }
    }

    /// The same with what was counted of it; what is there already stays when there is nothing.
    pub(crate) fn counted(self, seen: Option<Seen>) -> PlanNode {
        PlanNode {
            actual: seen.or(self.actual),
            ..self
        }
    }

    /// What was counted of it.
    pub(crate) fn actual(&self) -> Option<Seen> {
        self.actual
    }

    /// The same as a node of this kind.
    pub(crate) fn become_kind(self, kind: &'static str) -> PlanNode {
        PlanNode {
            title: kind.to_string(),
            kind,
            ..self
        }
    }

    pub(crate) fn is(&self, kind: &str) -> bool {
        self.kind == kind
    }

    /// Whether all that is below it gives nothing.
    pub(crate) fn reads_nothing(&self) -> bool {
        self.children.iter().all(PlanNode::gives_nothing)
    }

    /// Whether no row comes of it, whatever is stored.
    pub(crate) fn gives_nothing(&self) -> bool {
        let passes_on = ["Sort", "Limit", "Filter", "Result"].contains(&self.kind);
        match self.children.as_slice() {
            [] => self.is("Empty Result"),
            [only] => passes_on && only.gives_nothing(),
            _ => false,
        }
    }

    /// The one node below it.
    pub(crate) fn into_child(mut self) -> Option<PlanNode> {
        match self.children.len() {
            1 => self.children.pop(),
            _ => None,
        }
    }

    /// What needs no row to be known is asked once.
    fn filter_name(&self) -> &'static str {
        match self.kind {
            "Result" => "One-Time Filter",
            _ => "Filter",
        }
    }

    fn is_init_plan(&self) -> bool {
        self.relationship == Some("InitPlan")
    }

    /// The lines of the tree. `timing`: whether times are shown.
    pub(crate) fn lines(&self, timing: bool) -> Vec<String> {
        let mut lines = Vec::new();
        self.print(0, timing, &mut lines);
        lines
    }

    /// `level`: pairs of blanks before the node.
    fn print(&self, level: usize, timing: bool, lines: &mut Vec<String>) {
        let mut level = level;
        if let Some(label) = &self.label {
            lines.push(format!("{}{label}", "  ".repeat(level)));
            level += 1;
        }
        let actual = self.actual.map(|seen| actual_text(&seen, timing));
        let head = format!("{}{}", self.title, actual.unwrap_or_default());
        match level {
            0 => lines.push(head),
            _ => {
                lines.push(format!("{}->  {head}", "  ".repeat(level)));
                level += 2;
            }
        }
        level += 1;
        let indent = "  ".repeat(level);
        let filter = all_text(&self.filters).map(|filter| format!("{}: {filter}", self.filter_name()));
        let before = self.details.iter().flat_map(|detail| detail.lines.iter());
        let behind = self.notes.iter().flat_map(|detail| detail.lines.iter());
        for line in before.chain(&filter).chain(behind) {
            lines.push(format!("{indent}{line}"));
        }
        for child in &self.children {
            child.print(level, timing, lines);
        }
    }

    /// The tree as JSON. `timing`: whether times are shown.
    pub(crate) fn json(&self, timing: bool) -> Json {
        let mut object = Map::new();
        object.insert("Node Type".to_string(), json!(self.kind));
        if let Some(relationship) = self.relationship {
            object.insert("Parent Relationship".to_string(), json!(relationship));
        }
        if let Some(label) = &self.label {
            object.insert("Subplan Name".to_string(), json!(label));
        }
        for (name, value) in self.details.iter().filter_map(|detail| detail.property.as_ref()) {
            object.insert((*name).to_string(), value.clone());
        }
        if let Some(filter) = all_text(&self.filters) {
            object.insert(self.filter_name().to_string(), json!(filter));
        }
        if let Some(seen) = &self.actual {
            actual_json(seen, timing, &mut object);
        }
        for (name, value) in self.notes.iter().filter_map(|detail| detail.property.as_ref()) {
            object.insert((*name).to_string(), value.clone());
        }
        if !self.children.is_empty() {
            let children: Vec<Json> = self.children.iter().map(|child| child.json(timing)).collect();
            object.insert("Plans".to_string(), json!(children));
        }
        Json::Object(object)
    }
}

fn counted(name: &'static str, count: u64) -> Detail {
    Detail {
        lines: vec![format!("{name}: {count}")],
        property: Some((name, json!(count))),
    }
}

/// Rows and times are those of one loop, as PostgreSQL's are.
fn actual_text(seen: &Seen, timing: bool) -> String {
    if seen.loops == 0 {
        return " (never executed)".to_string();
    }
    let time = match timing {
        true => format!(
            "time={}..{} ",
            milliseconds(seen.first, seen.loops),
            milliseconds(seen.total, seen.loops)
        ),
        false => String::new(),
    };
    format!(" (actual {time}rows={} loops={})", rows_of_one(seen), seen.loops)
}

fn actual_json(seen: &Seen, timing: bool, object: &mut Map<String, Json>) {
    if timing {
        let first = number(milliseconds(seen.first, seen.loops));
        object.insert("Actual Startup Time".to_string(), first);
        let total = number(milliseconds(seen.total, seen.loops));
        object.insert("Actual Total Time".to_string(), total);
    }
    object.insert("Actual Rows".to_string(), json!(rows_of_one(seen)));
    object.insert("Actual Loops".to_string(), json!(seen.loops));
}

fn rows_of_one(seen: &Seen) -> u64 {
    let loops = seen.loops.max(1);
    (seen.rows + loops / 2) / loops
}

/// Milliseconds with three digits behind the point, of one of so many loops.
pub(crate) fn milliseconds(time: std::time::Duration, loops: u64) -> String {
    format!("{:.3}", time.as_secs_f64() * 1000.0 / loops.max(1) as f64)
}

/// Digits as a number of JSON that keeps them.
pub(crate) fn number(digits: String) -> Json {
    serde_json::from_str(&digits).unwrap_or(Json::Null)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn seen(loops: u64, rows: u64) -> Option<Seen> {
        Some(Seen {
            loops,
            rows,
            first: Duration::from_micros(500 * loops),
            total: Duration::from_micros(1250 * loops),
        })
    }

    fn tree() -> PlanNode {
        let scan = PlanNode::new("Range Scan", "Range Scan on t using t_pkey")
            .with_filters(["(a > 1)".to_string(), "(b < 2)".to_string()])
            .with_note("Order", Some("a".to_string()));
        let before = PlanNode::named("Result").labelled("InitPlan 1 (returns $0)".to_string());
        let hash = PlanNode::named("Hash").over(PlanNode::named("Result").counted(seen(0, 0)));
        let join = PlanNode::new("Hash Join", "Hash Left Join")
            .with_property("Join Type", "Left")
            .with("Hash Cond", "(t.a = u.a)")
            .over(scan.counted(seen(2, 7)))
            .over_as("Inner", hash)
            .over_as("InitPlan", before);
        PlanNode::named("Sort")
            .with_list("Sort Key", vec!["a".to_string(), "b DESC".to_string()])
            .over(join)
    }

    #[test]
    fn text_is_indented_as_postgresql_does() {
        let expected = "\
Sort
  Sort Key: a, b DESC
  ->  Hash Left Join
        Hash Cond: (t.a = u.a)
        InitPlan 1 (returns $0)
          ->  Result
        ->  Range Scan on t using t_pkey (actual time=0.500..1.250 rows=4 loops=2)
              Filter: ((a > 1) AND (b < 2))
              Order: a
        ->  Hash
              ->  Result (never executed)";
        assert_eq!(tree().lines(true).join("\n"), expected);
        assert!(tree().lines(false)[6].ends_with("t_pkey (actual rows=4 loops=2)"));
    }

    #[test]
    fn json_has_postgresqls_keys() {
        let json = tree().json(true);
        assert_eq!(json["Sort Key"], json!(["a", "b DESC"]));
        let join = &json["Plans"][0];
        assert_eq!(join["Node Type"], "Hash Join");
        assert_eq!(join["Join Type"], "Left");
        assert_eq!(join["Plans"][0]["Subplan Name"], "InitPlan 1 (returns $0)");
        let scan = &join["Plans"][1];
        assert_eq!(scan["Parent Relationship"], "Outer");
        assert_eq!(scan["Actual Total Time"].to_string(), "1.250");
        assert_eq!(scan["Actual Rows"], 4);
        assert_eq!(scan["Filter"], "((a > 1) AND (b < 2))");
    }
}
