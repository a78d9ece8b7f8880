//! What EXPLAIN tells of a chain: its nodes in PostgreSQL's words, from the result down to the table.

use std::collections::HashMap;

use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::Expr;

use super::ShortPlan;
use super::computed::Computed;
use super::step::{SortKey, Source, Step};
use super::totals::Total;
use crate::Result;
use crate::exec::StatementContext;
use crate::exec::expr_text::{Names, expr_text};
use crate::exec::placeholder::Constants;
use crate::plan::AccessPath;

/// A node of the plan.
#[derive(Debug, PartialEq, Eq)]
pub struct ShortNode {
    /// `Sort`.
    pub title: String,
    /// `("Sort Key", "a DESC")`.
    pub details: Vec<(&'static str, String)>,
}

/// The nodes of a chain, the result's first, and how the table under them is read.
#[derive(Debug)]
pub struct ShortStory {
    /// The nodes above the table.
    pub nodes: Vec<ShortNode>,
    /// How the table is reached; `None` without one.
    pub path: Option<AccessPath>,
    /// The conditions on the table's rows that the path does not check.
    pub filters: Vec<String>,
}

impl ShortPlan {
    /// What would run with these constants; `None` when it would not be this. Errors: as `run`.
    pub fn story(&self, ctx: &StatementContext, constants: &Constants) -> Result<Option<ShortStory>> {
        let (mut path, mut filters, mut is_ordered) = (None, Vec::new(), false);
        if let Source::Table(table) = &self.source {
            let Some(mut access) = table.access(ctx, constants)? else {
                return Ok(None);
            };
            is_ordered = self.order.as_ref().is_some_and(|order| access.serve(order));
            filters = access
                .unchecked()
                .map(|condition| Outputs::new(constants).text(condition.written()))
                .collect();
            path = Some(access.into_path());
        }
        let mut nodes: Vec<ShortNode> = Vec::new();
        let mut outputs = Outputs::new(constants);
        for step in &self.steps {
            match step {
                Step::Project { columns, schema } => {
                    outputs.become_those(schema, columns.iter().map(Computed::written))
                }
                Step::Sort(_) if is_ordered => {}
                Step::Filter(condition) => {
                    let filter = outputs.text(condition.written());
                    match nodes.last_mut() {
                        Some(below) => below.details.push(("Filter", filter)),
                        None => filters.push(filter),
                    }
                }
                Step::Limit { .. } => nodes.push(node("Limit", Vec::new())),
                Step::Sort(keys) => {
                    let keys: Vec<String> = keys.iter().map(|key| key_text(key, &outputs)).collect();
                    nodes.push(node("Sort", vec![("Sort Key", keys.join(", "))]));
                }
                Step::Totals { totals, schema } => {
                    outputs.become_those(schema, totals.iter().map(Total::written));
                    nodes.push(node("Aggregate", Vec::new()));
                }
                Step::Lookup(lookup) => {
                    let key = |(name, key): (String, &Computed)| {
                        format!("{name} = {}", outputs.qualified(key.written()))
                    };
                    let keys: Vec<String> = lookup.keys().map(key).collect();
                    nodes.push(node(&lookup.title(), vec![("Key", keys.join(", "))]));
                }
            }
        }
        nodes.reverse();
        Ok(Some(ShortStory { nodes, path, filters }))
    }
}

fn node(title: &str, details: Vec<(&'static str, String)>) -> ShortNode {
    ShortNode {
        title: title.to_string(),
        details,
    }
}

fn key_text(key: &SortKey, outputs: &Outputs<'_>) -> String {
    let mut text = outputs.text(key.computed.written());
    if key.descending {
        text.push_str(" DESC");
    }
    match (key.descending, key.nulls_first) {
        (false, true) => text.push_str(" NULLS FIRST"),
        (true, false) => text.push_str(" NULLS LAST"),
        _ => {}
    }
    text
}

/// What the columns so far were computed of.
struct Outputs<'a> {
    constants: &'a Constants,
    expressions: HashMap<String, Expr>,
}

impl<'a> Outputs<'a> {
    fn new(constants: &'a Constants) -> Outputs<'a> {
        Outputs {
            constants,
            expressions: HashMap::new(),
        }
    }

    fn become_those<'e>(&mut self, schema: &SchemaRef, written: impl Iterator<Item = &'e Expr>) {
        let names = schema.fields().iter().map(|field| field.name().clone());
        self.expressions = names
            .zip(written.map(|expr| self.resolve(expr)).collect::<Vec<_>>())
            .collect();
    }

    /// The expression over the table's columns, with its parameters put in.
    fn resolve(&self, expr: &Expr) -> Expr {
        let replaced = expr.clone().transform_up(|expr| {
            let Expr::Column(column) = &expr else {
                return Ok(Transformed::no(expr));
            };
            Ok(match self.expressions.get(&column.name) {
                Some(computed) => Transformed::yes(computed.clone()),
                None => Transformed::no(expr),
            })
        });
        let resolved = replaced.map_or_else(|_| expr.clone(), |replaced| replaced.data);
        self.constants.replace(resolved.clone()).unwrap_or(resolved)
    }

    fn text(&self, expr: &Expr) -> String {
        expr_text(&self.resolve(expr), Names::Bare)
    }

    fn qualified(&self, expr: &Expr) -> String {
        expr_text(&self.resolve(expr), Names::Qualified)
    }
}
