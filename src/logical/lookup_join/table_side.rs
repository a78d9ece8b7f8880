//! `TableSide`: a side of a join, in a rewritten plan, that is a stored table with conditions on its rows.

use std::sync::Arc;

use super::inner::by_equality;
use crate::catalog::TableDef;
use crate::logical::column_mapping::replaced_columns;
use crate::logical::stored_table::{ScannedTable, read_table};
use crate::parse::IndexHint;
use crate::table::row_schema;
use crate::tree::{Column, Expr, Inner, Plan, RowSchema, TableScan, TableSource, split_conjunction};

/// What relations call a table's own columns here, so that they are taken for nobody else's.
const OWN: &str = "?joined";

/// A stored table, the columns that a join sees of it, and the conditions on its rows.
pub(super) struct TableSide {
    /// With all columns that are seen or asked for.
    scanned: ScannedTable,
    /// These columns, called `OWN`.
    schema: RowSchema,
    /// For each column that the join sees its place among them.
    seen: Vec<usize>,
    /// Over `schema`.
    conditions: Vec<Expr>,
}

impl TableSide {
    /// `None`: it is something else, or what it asks of its rows is another thing at each of them.
    pub(super) fn of(plan: &Plan) -> Option<TableSide> {
        match plan {
            Plan::TableScan(scan) => TableSide::of_scan(scan),
            Plan::SubqueryAlias(alias) => TableSide::of(&alias.input),
            Plan::Projection(projection) => {
                let input = TableSide::of(&projection.input)?;
                let below = projection.input.schema();
                let place = |expr: &Expr| match expr.clone().unalias() {
                    Expr::Column(column) => Some(input.seen[below.index_of_column(&column).ok()?]),
                    _ => None,
                };
                let seen = projection.expr.iter().map(place).collect::<Option<_>>()?;
                Some(TableSide { seen, ..input })
            }
            Plan::Filter(filter) => {
                let mut input = TableSide::of(&filter.input)?;
                let below = filter.input.schema();
                let conditions = split_conjunction(&filter.predicate).into_iter();
                let conditions = conditions.map(|condition| {
                    let own = |column: &Column| input.column(below.index_of_column(column).ok()?);
                    replaced_columns(condition.clone(), own)
                });
                for condition in conditions.collect::<Option<Vec<Expr>>>()? {
                    // What a scan checks in part stands above it once more.
                    if !input.conditions.contains(&condition) {
                        input.conditions.push(condition);
                    }
                }
                Some(input)
            }
            _ => None,
        }
    }

    fn of_scan(scan: &TableScan) -> Option<TableSide> {
        if scan.fetch.is_some() {
            return None;
        }
        let mut scanned = read_table(scan)?;
        let seen = (0..scanned.positions.len()).collect();
        for column in scan.filters.iter().flat_map(Expr::column_refs) {
            let position = scanned.table.column_index(&column.name)?;
            if !scanned.positions.contains(&position) {
                scanned.positions.push(position);
            }
        }
        let schema = row_schema(&scanned.table, &scanned.positions);
        let schema = RowSchema::of_relation(OWN, &schema);
        let own = |column: &Column| Some(Expr::Column(Column::new(Some(OWN), &column.name)));
        let conditions = scan.filters.iter().flat_map(split_conjunction);
        let conditions = conditions.map(|condition| replaced_columns(condition.clone(), own));
        Some(TableSide {
            conditions: conditions.collect::<Option<_>>()?,
            scanned,
            schema,
            seen,
        })
    }

    /// What is called here what the join sees as the column at this place.
    pub(super) fn column(&self, seen: usize) -> Option<Expr> {
        let own = self.schema.qualified_field(*self.seen.get(seen)?);
        Some(Expr::Column(Column::from(own)))
    }

    pub(super) fn table(&self) -> &Arc<TableDef> {
        &self.scanned.table
    }

    /// Which keys the statement's hints leave.
    pub(super) fn index_hint(&self) -> &Option<IndexHint> {
        &self.scanned.index_hint
    }

    /// For each column that the join sees its position in `TableDef::columns`.
    pub(super) fn seen_positions(&self) -> Vec<usize> {
        self.seen.iter().map(|at| self.scanned.positions[*at]).collect()
    }

    /// For each column that the join sees its place among those that a lookup gives.
    pub(super) fn seen(&self) -> &[usize] {
        &self.seen
    }

    /// The scan that would read it.
    pub(super) fn source(&self) -> &Arc<dyn TableSource> {
        &self.scanned.source
    }

    pub(super) fn schema(&self) -> &RowSchema {
        &self.schema
    }

    /// The table as what is looked up by these conditions, which are over `outer` and `schema`, and by its own; and what else they
    /// ask. `None`: no key serves them.
    pub(super) fn looked_up(self, outer: &RowSchema, conditions: Vec<Expr>) -> Option<(Inner, Vec<Expr>)> {
        let mut asked = conditions;
        asked.extend(self.conditions);
        let inner = by_equality(self.scanned, &self.schema, outer, &mut asked)?;
        Some((inner, asked))
    }
}
