//! What EXPLAIN tells of a chain: its nodes from the result down to the table, and which running step each ends with.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;

use super::append::Append;
use super::read::{Access, TableRead};
use super::step::{Source, Step};
use super::top_rows::SortKey;
use super::totals::Total;
use super::{Arrival, ShortPlan, rows_wanted};
use crate::Result;
use crate::catalog::TableDef;
use crate::logical::expr_text::{Names, expr_text, order_text};
use crate::logical::placeholder::Constants;
use crate::operators::computed::Computed;
use crate::operators::lookup::LookupStory;
use crate::plan::{AccessClass, AccessPath};
use crate::system::StatementContext;
use crate::tree::{Expr, Transformed, TreeNode};

/// A node above the table.
#[derive(Debug)]
pub struct ShortNode {
    /// What it does.
    pub kind: ShortKind,
    /// Conditions on the rows that it makes.
    pub filters: Vec<String>,
    /// The running step whose rows are the node's; `None` when no step runs for it.
    pub step: Option<usize>,
}

/// What a node does.
#[derive(Debug)]
pub enum ShortKind {
    /// OFFSET and LIMIT.
    Limit,
    /// FOR UPDATE and kin.
    LockRows,
    /// Conditions on the rows of a sort or of a limit.
    Filter,
    /// ORDER BY these keys.
    Sort {
        /// The keys.
        keys: Vec<String>,
        /// Rows come in the order of so many of them.
        presorted: usize,
    },
    /// One row of aggregates.
    Aggregate,
    /// A row a group.
    Groups {
        /// What rows of a group share.
        keys: Vec<String>,
        /// Whether rows of a group come one after the other.
        together: bool,
    },
    /// A join with a table that is read by its key.
    Lookup {
        /// The running step that looks up.
        step: usize,
        /// What it looks up.
        lookup: LookupStory,
    },
}

/// The nodes of a chain, the result's first, and how the table under them is read.
#[derive(Debug)]
pub struct ShortStory {
    /// The nodes above the source.
    pub nodes: Vec<ShortNode>,
    /// Where the rows come from.
    pub source: ShortSource,
    /// The conditions on the source's rows that the path does not check.
    pub filters: Vec<String>,
    /// The running step whose rows are the source's with these conditions; `None`: its own.
    pub source_step: Option<usize>,
    /// Rows at which the source ends.
    pub limit: Option<usize>,
    /// Whether rows of the next groups come one after the other.
    is_grouped: bool,
    /// So many keys of the next sort are those that rows come sorted by.
    presorted: usize,
}

/// Where a chain begins.
#[derive(Debug)]
pub enum ShortSource {
    /// One row without columns.
    OneRow,
    /// Rows in memory.
    Rows,
    /// The number of a table's rows, which is known.
    RowCount {
        /// The table.
        table: Arc<TableDef>,
        /// What the statement calls it.
        alias: Arc<str>,
    },
    /// The first row of each of these, and the number of rows.
    Ends(Vec<ShortSource>),
    /// What these give, one behind the other, with their places among all members of the append.
    Append(Vec<(usize, ShortStory)>),
    /// A table.
    Table {
        /// How it is reached.
        path: Box<AccessPath>,
        /// What is read: positions in `TableDef::columns`.
        columns: Vec<usize>,
        /// What the statement calls it.
        alias: Arc<str>,
    },
}

impl ShortPlan {
    /// What would run with these constants; `None` when it would not be this. Errors: as `run`.
    pub fn story(&self, ctx: &StatementContext, constants: &Constants) -> Result<Option<ShortStory>> {
        let joins = self.steps.iter().any(|step| matches!(step, Step::Lookup(_)));
        let names = match joins || matches!(self.source, Source::Append(_)) {
            true => Names::Qualified,
            false => Names::Bare,
        };
        match self.is_told() {
            true => self.story_with(ctx, constants, names),
            false => Ok(None),
        }
    }

    fn story_with(
        &self,
        ctx: &StatementContext,
        constants: &Constants,
        names: Names,
    ) -> Result<Option<ShortStory>> {
        let mut arrival = Arrival::default();
        let begun = match &self.source {
            Source::OneRow => Some(Begun::with(ShortSource::OneRow)),
            Source::Rows(_) => Some(Begun::with(ShortSource::Rows)),
            Source::Catalog(_) | Source::Recursion(_) | Source::Work(_) => None,
            Source::Append(append) => append_story(append, ctx, (constants, names), &mut arrival)?,
            Source::Table(table) => self.table_story(table, ctx, (constants, names), &mut arrival)?,
        };
        let Some(Begun {
            source,
            filters,
            limit,
        }) = begun
        else {
            return Ok(None);
        };
        let mut story = ShortStory {
            nodes: Vec::new(),
            source,
            source_step: filters.len().checked_sub(1),
            filters,
            limit,
            is_grouped: arrival.is_grouped,
            presorted: arrival.first_ordered,
        };
        let mut outputs = Outputs::of(&self.source, constants, names);
        if arrival.is_extreme {
            let first = Step::Limit {
                skip: None,
                fetch: None,
                gives_skipped: false,
            };
            story.add(&first, &mut outputs);
        }
        for step in self.running_steps(arrival) {
            if !(arrival.is_ordered && matches!(step, Step::Sort(_))) {
                story.add(step, &mut outputs);
            }
        }
        story.nodes.reverse();
        Ok(Some(story))
    }

    /// How its table is read; `None`: it would not be this.
    fn table_story(
        &self,
        table: &TableRead,
        ctx: &StatementContext,
        (constants, names): (&Constants, Names),
        arrival: &mut Arrival,
    ) -> Result<Option<Begun>> {
        let Some(mut access) = self.access(table, ctx, constants)? else {
            return Ok(None);
        };
        *arrival = self.arrival(&mut access);
        let ends = self.ends_access(table, ctx, constants);
        if self.reads_ends_only && ends.is_none() && !self.is_end(&access, *arrival) {
            return Ok(None);
        }
        let outputs = Outputs::new(constants, names);
        let filters = access
            .unchecked()
            .map(|condition| outputs.text_of_table(condition.written()))
            .collect();
        let limit = match arrival.is_extreme {
            _ if !access.is_exact() => None,
            true => Some(1),
            false => rows_wanted(&self.steps, arrival.is_ordered, constants)?,
        };
        let count = self.counts_rows(ends.is_some()).then(|| ShortSource::RowCount {
            table: table.table(),
            alias: Arc::clone(table.alias()),
        });
        let source = match (ends, count) {
            (None, None) => table_source(table, access),
            (None, Some(count)) => count,
            (Some(ends), count) => {
                let ends = ends.into_iter().map(|end| table_source(table, end));
                ShortSource::Ends(ends.chain(count).collect())
            }
        };
        Ok(Some(Begun {
            source,
            filters,
            limit,
        }))
    }
}

/// Where a chain begins.
struct Begun {
    source: ShortSource,
    /// See [`ShortStory::filters`].
    filters: Vec<String>,
    limit: Option<usize>,
}

impl Begun {
    fn with(source: ShortSource) -> Begun {
        Begun {
            source,
            filters: Vec::new(),
            limit: None,
        }
    }
}

/// Which members of it run, and how their rows come; `None`: one would not be this.
fn append_story(
    append: &Append,
    ctx: &StatementContext,
    (constants, names): (&Constants, Names),
    arrival: &mut Arrival,
) -> Result<Option<Begun>> {
    let (places, is_ordered) = append.places(constants);
    let told = |chains: &[ShortPlan]| {
        let told = places.iter().map(|place| {
            let story = chains[*place].story_with(ctx, constants, names)?;
            Ok(story.map(|story| (*place, story)))
        });
        told.collect::<Result<Option<Vec<_>>>>()
    };
    if let Some(totals) = append.totals()
        && let Some(told) = told(totals)?
    {
        arrival.are_totals = true;
        return Ok(Some(Begun::with(ShortSource::Append(told))));
    }
    arrival.is_ordered = is_ordered;
    let told = told(append.members())?;
    Ok(told.map(|mut told| {
        told.retain(|(_, story)| !story.is_empty());
        Begun::with(ShortSource::Append(told))
    }))
}

impl ShortStory {
    /// Whether it is known to give no rows.
    fn is_empty(&self) -> bool {
        match &self.source {
            ShortSource::Table { path, .. } => path.class == AccessClass::Empty,
            _ => false,
        }
    }

    /// Adds the next running step: as a node, or to the one below it.
    fn add(&mut self, step: &Step, outputs: &mut Outputs<'_>) {
        let last = self.nodes.last().map_or(self.source_step, |node| node.step);
        let step_number = last.map_or(0, |last| last + 1);
        let own = Some(step_number);
        let kind = match step {
            Step::Project { columns, schema } => {
                outputs.become_those(schema, columns.iter().map(Computed::written));
                return self.extend(own, None);
            }
            Step::Filter(condition) => {
                let last = self.nodes.last().map(|node| &node.kind);
                if matches!(last, Some(ShortKind::Limit | ShortKind::Sort { .. })) {
                    self.push(ShortKind::Filter, own);
                }
                let filter = match self.nodes.is_empty() {
                    true => outputs.text_of_table(condition.written()),
                    false => outputs.text(condition.written()),
                };
                return self.extend(own, Some(filter));
            }
            Step::Limit { .. } => ShortKind::Limit,
            Step::LockRows(_) => ShortKind::LockRows,
            Step::Sort(keys) => ShortKind::Sort {
                keys: keys.iter().map(|key| key_text(key, outputs)).collect(),
                presorted: std::mem::take(&mut self.presorted),
            },
            Step::Groups { keys, totals, schema } => {
                let texts = keys.iter().map(|key| outputs.text(key.written())).collect();
                let written = keys.iter().map(Computed::written);
                outputs.become_those(schema, written.chain(totals.iter().map(Total::written)));
                ShortKind::Groups {
                    keys: texts,
                    together: std::mem::take(&mut self.is_grouped),
                }
            }
            Step::Totals { totals, schema } => {
                outputs.become_those(schema, totals.iter().map(Total::written));
                ShortKind::Aggregate
            }
            // Of a chain with such steps nothing is told.
            Step::CatalogLookup(_)
            | Step::Lateral(_)
            | Step::SubChain(_)
            | Step::Beside { .. }
            | Step::Numbered { .. } => {
                return;
            }
            Step::Lookup(lookup) => ShortKind::Lookup {
                step: step_number,
                lookup: LookupStory::new(lookup, lookup.alias(), |computed| {
                    outputs.text(computed.written())
                }),
            },
        };
        self.push(kind, own);
    }

    fn push(&mut self, kind: ShortKind, step: Option<usize>) {
        self.nodes.push(ShortNode {
            kind,
            filters: Vec::new(),
            step,
        });
    }

    fn extend(&mut self, step: Option<usize>, filter: Option<String>) {
        match self.nodes.last_mut() {
            Some(node) => {
                node.filters.extend(filter);
                node.step = step;
            }
            None => {
                self.filters.extend(filter);
                self.source_step = step;
            }
        }
    }
}

fn table_source(table: &TableRead, access: Access<'_>) -> ShortSource {
    ShortSource::Table {
        alias: Arc::clone(table.alias()),
        columns: access.columns().to_vec(),
        path: Box::new(access.into_path()),
    }
}

fn key_text(key: &SortKey, outputs: &Outputs<'_>) -> String {
    let expr = outputs.resolve(key.computed.written());
    order_text(&expr, outputs.names, key.descending, key.nulls_first)
}

/// What the columns so far were computed of.
struct Outputs<'a> {
    constants: &'a Constants,
    names: Names,
    expressions: HashMap<String, Expr>,
}

impl<'a> Outputs<'a> {
    fn new(constants: &'a Constants, names: Names) -> Outputs<'a> {
        Outputs {
            constants,
            names,
            expressions: HashMap::new(),
        }
    }

    /// What the columns of a source are computed of: those of an append of what its first member computes.
    fn of(source: &Source, constants: &'a Constants, names: Names) -> Outputs<'a> {
        let mut outputs = Outputs::new(constants, names);
        let Source::Append(append) = source else {
            return outputs;
        };
        let Some(first) = append.members().first() else {
            return outputs;
        };
        let mut own = Outputs::of(&first.source, constants, names);
        for step in &first.steps {
            if let Step::Project { columns, schema } = step {
                let written = || columns.iter().map(Computed::written);
                let computed = written().map(|expr| own.resolve(expr)).collect::<Vec<_>>();
                let shown = append.schema().fields().iter().map(|field| field.name().clone());
                outputs.expressions = shown.zip(computed).collect();
                own.become_those(schema, written());
            }
        }
        outputs
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

    /// Conditions of a scan name its own columns.
    fn text_of_table(&self, expr: &Expr) -> String {
        expr_text(&self.resolve(expr), Names::Bare)
    }

    fn text(&self, expr: &Expr) -> String {
        expr_text(&self.resolve(expr), self.names)
    }
}
