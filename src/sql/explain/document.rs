//! EXPLAIN's answer as one text: JSON, YAML or XML, as PostgreSQL prints each. All three are printed of one tree of JSON,
//! which `PlanNode` makes; what a plan says is no matter of this module.
//!
//! ```text
//! [                                 - Plan:                   <explain xmlns="…">
//!   {                                   Node Type: "Sort"       <Query>
//!     "Plan": {                         Sort Key:                 <Plan>
//!       "Node Type": "Sort",              - "a"                     <Node-Type>Sort</Node-Type>
//!       "Sort Key": ["a"]                                           <Sort-Key>
//!     }                                                               <Item>a</Item>
//!   }                                                               </Sort-Key>
//! ]                                                               </Plan>
//!                                                               </Query>
//!                                                             </explain>
//! ```

use serde_json::{Map, Value as Json, json};

use crate::parse::explain_options::Format;
use crate::{Error, Result};

/// What EXPLAIN answers with.
pub(super) enum Document {
    /// A statement's plan and what is said of it.
    Statement(Map<String, Json>),
    /// Lines that are no plan.
    Lines(Vec<String>),
    /// The name of a statement that has no plan: `CREATE TABLE AS`.
    Name(&'static str),
}

impl Document {
    /// The text in a format that is no plain text. Errors: XX000 for a tree that cannot be printed.
    pub(super) fn text(self, format: Format) -> Result<String> {
        match format {
            Format::Json | Format::Text => self.json(),
            Format::Yaml => Ok(self.yaml()),
            Format::Xml => Ok(self.xml()),
        }
    }

    fn json(self) -> Result<String> {
        let tree = match self {
            Document::Statement(statement) => json!([statement]),
            Document::Lines(lines) => return Ok(json!(lines).to_string()),
            Document::Name(name) => json!([name]),
        };
        let text = serde_json::to_string_pretty(&tree);
        text.map_err(|error| Error::internal(format!("EXPLAIN as JSON: {error}")))
    }

    fn yaml(self) -> String {
        let mut lines = Vec::new();
        match self {
            Document::Statement(statement) => yaml_item(&Json::Object(statement), 0, &mut lines),
            Document::Lines(items) => items
                .iter()
                .for_each(|item| yaml_item(&json!(item), 0, &mut lines)),
            Document::Name(name) => yaml_item(&json!(name), 0, &mut lines),
        }
        lines.join("\n")
    }

    fn xml(self) -> String {
        let mut lines = vec!["<explain xmlns=\"http://www.postgresql.org/2009/explain\">".to_string()];
        match self {
            Document::Statement(statement) => {
                xml_element("Query", &Json::Object(statement), 1, &mut lines);
            }
            Document::Lines(items) => items
                .iter()
                .for_each(|item| xml_element("Item", &json!(item), 1, &mut lines)),
            Document::Name(name) => lines.push(format!("  <{} />", xml_tag(name))),
        }
        lines.push("</explain>".to_string());
        lines.join("\n")
    }
}

/// An item of a list. `level`: pairs of blanks before its dash.
fn yaml_item(item: &Json, level: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(level);
    match item {
        // The first property stands behind the dash, the others below it.
        Json::Object(properties) => {
            let first = lines.len();
            for (name, value) in properties {
                yaml_property(name, value, level + 1, lines);
            }
            if let Some(line) = lines.get_mut(first) {
                *line = format!("{indent}- {}", line.trim_start());
            }
        }
        // A list in a list stands on one line.
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(Json::to_string).collect();
            lines.push(format!("{indent}- [{}]", items.join(", ")));
        }
        scalar => lines.push(format!("{indent}- {scalar}")),
    }
}

fn yaml_property(name: &str, value: &Json, level: usize, lines: &mut Vec<String>) {
    let indent = "  ".repeat(level);
    match value {
        Json::Object(properties) => {
            lines.push(format!("{indent}{name}: "));
            for (name, value) in properties {
                yaml_property(name, value, level + 1, lines);
            }
        }
        Json::Array(items) => {
            lines.push(format!("{indent}{name}: "));
            items.iter().for_each(|item| yaml_item(item, level + 1, lines));
        }
        scalar => lines.push(format!("{indent}{name}: {scalar}")),
    }
}

/// An element with all that is in it; none for what is null. `level`: pairs of blanks before it.
fn xml_element(name: &str, value: &Json, level: usize, lines: &mut Vec<String>) {
    let (indent, tag) = ("  ".repeat(level), xml_tag(name));
    match value {
        Json::Null => {}
        Json::Object(properties) => {
            lines.push(format!("{indent}<{tag}>"));
            for (name, value) in properties {
                xml_element(name, value, level + 1, lines);
            }
            lines.push(format!("{indent}</{tag}>"));
        }
        Json::Array(items) => {
            lines.push(format!("{indent}<{tag}>"));
            for item in items {
                xml_element(xml_item(name, item), item, level + 1, lines);
            }
            lines.push(format!("{indent}</{tag}>"));
        }
        scalar => {
            let text = match scalar {
                Json::String(text) => xml_text(text),
                other => other.to_string(),
            };
            lines.push(format!("{indent}<{tag}>{text}</{tag}>"));
        }
    }
}

/// The name of an item of a list: `Plan` of `Plans`; a text has none of its own.
fn xml_item<'n>(list: &'n str, item: &Json) -> &'n str {
    match item {
        Json::Object(_) | Json::Array(_) => list.strip_suffix('s').unwrap_or(list),
        _ => "Item",
    }
}

/// A name as XML takes it: `Node-Type`.
fn xml_tag(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&letter);
    name.chars()
        .map(|letter| if is_plain(letter) { letter } else { '-' })
        .collect()
}

fn xml_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\r' => escaped.push_str("&#x0d;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement() -> Document {
        let tree = json!({
            "Plan": {
                "Node Type": "Aggregate",
                "Grouping Sets": [["a", "b"], []],
                "Filter": null,
                "Plans": [
                    {"Node Type": "Range Scan", "Parallel Aware": false, "Conditions": ["a < '<\"&\\'"]},
                    {"Node Type": "Result"},
                ],
            },
            "Planning Time": 1,
        });
        match tree {
            Json::Object(tree) => Document::Statement(tree),
            _ => Document::Name("nothing"),
        }
    }

    #[test]
    fn yaml_is_indented_as_postgresql_does() {
        let expected = [
            "- Plan: ",
            "    Node Type: \"Aggregate\"",
            "    Grouping Sets: ",
            "      - [\"a\", \"b\"]",
            "      - []",
            "    Filter: null",
            "    Plans: ",
            "      - Node Type: \"Range Scan\"",
            "        Parallel Aware: false",
            "        Conditions: ",
            "          - \"a < '<\\\"&\\\\'\"",
            "      - Node Type: \"Result\"",
            "  Planning Time: 1",
        ];
        assert_eq!(statement().yaml(), expected.join("\n"));
    }

    #[test]
    fn xml_names_the_items_of_lists() {
        let expected = "\
<explain xmlns=\"http://www.postgresql.org/2009/explain\">
  <Query>
    <Plan>
      <Node-Type>Aggregate</Node-Type>
      <Grouping-Sets>
        <Grouping-Set>
          <Item>a</Item>
          <Item>b</Item>
        </Grouping-Set>
        <Grouping-Set>
        </Grouping-Set>
      </Grouping-Sets>
      <Plans>
        <Plan>
          <Node-Type>Range Scan</Node-Type>
          <Parallel-Aware>false</Parallel-Aware>
          <Conditions>
            <Item>a &lt; '&lt;\"&amp;\\'</Item>
          </Conditions>
        </Plan>
        <Plan>
          <Node-Type>Result</Node-Type>
        </Plan>
      </Plans>
    </Plan>
    <Planning-Time>1</Planning-Time>
  </Query>
</explain>";
        assert_eq!(statement().xml(), expected);
    }

    #[test]
    fn a_statement_without_a_plan_is_named() {
        let name = || Document::Name("CREATE TABLE AS");
        assert_eq!(name().yaml(), "- \"CREATE TABLE AS\"");
        assert!(name().xml().ends_with(">\n  <CREATE-TABLE-AS />\n</explain>"));
        assert_eq!(name().json().ok().as_deref(), Some("[\n  \"CREATE TABLE AS\"\n]"));
    }
}
