//! Partitioned tables and partitions as PostgreSQL's catalogs have them.

use crate::catalog::{
    Catalog, IndexDef, PartitionBound, PartitionStrategy, RangeEdge, TableDef, counterpart,
};
use crate::parse::quoting::quote_ident;
use crate::plan::literal;
use crate::types::{FormatSettings, SqlType, Value};

/// What a partitioned table is.
#[derive(Debug)]
pub(crate) struct UserPartitioning {
    pub(crate) strategy: PartitionStrategy,
    /// The attribute numbers of the partition key.
    pub(crate) columns: Vec<usize>,
    /// The oid of the default partition, or 0.
    pub(crate) default: i64,
    /// As `pg_get_partkeydef` prints it.
    pub(crate) definition: String,
}

/// What a partition is.
#[derive(Debug)]
pub(crate) struct UserPartition {
    /// The oid of its table.
    pub(crate) parent: i64,
    /// pg_class.relpartbound, as `pg_get_expr` prints it.
    pub(crate) bound: String,
    /// As `pg_get_partition_constraintdef` prints it; `None`: all rows may be its own.
    pub(crate) constraint: Option<String>,
}

pub(super) fn user_partitioning(catalog: &Catalog, table: &TableDef) -> Option<UserPartitioning> {
    let strategy = table.partitioning.as_ref()?.strategy;
    let positions = table.partition_positions();
    let names: Vec<String> = positions
        .iter()
        .map(|at| quote_ident(&table.columns[*at].name))
        .collect();
    let visible = table.visible_positions();
    let number = |at: &usize| visible.iter().position(|known| known == at).map(|at| at + 1);
    let is_default = |table: &TableDef| {
        table
            .partition
            .as_ref()
            .is_some_and(|of| of.bound == PartitionBound::Default)
    };
    let mut partitions = catalog.partitions_of(table.oid);
    Some(UserPartitioning {
        strategy,
        columns: positions.iter().filter_map(number).collect(),
        default: partitions
            .find(|table| is_default(table))
            .map_or(0, |table| i64::from(table.oid)),
        definition: format!("{} ({})", strategy.word(), names.join(", ")),
    })
}

pub(super) fn user_partition(catalog: &Catalog, table: &TableDef) -> Option<UserPartition> {
    let of = table.partition.as_ref()?;
    let parent = catalog.table_by_oid(of.parent)?;
    let types = parent.partition_types();
    let key = Key {
        names: parent
            .partition_positions()
            .iter()
            .map(|at| quote_ident(&parent.columns[*at].name))
            .collect(),
        types: &types,
        parent: parent.oid,
    };
    let constraint = match &of.bound {
        PartitionBound::Default => {
            let others = catalog
                .partitions_of(parent.oid)
                .filter(|other| other.oid != table.oid);
            let others = others.filter_map(|other| key.condition(&other.partition.as_ref()?.bound));
            let others: Vec<String> = others.collect();
            match others.as_slice() {
                [] => None,
                [only] => Some(format!("(NOT {only})")),
                _ => Some(format!("(NOT ({}))", others.join(" OR "))),
            }
        }
        bound => key.condition(bound),
    };
    Some(UserPartition {
        parent: i64::from(parent.oid),
        bound: of.bound.text(&types, &FormatSettings::default()),
        constraint,
    })
}

/// The oid of the index of a table's parent that this one is like.
pub(super) fn parent_index(catalog: &Catalog, table: &TableDef, index: &IndexDef) -> Option<i64> {
    let parent = catalog.parent_of(table)?;
    let mut indexes = parent.all_indexes();
    let above = indexes.find(|above| counterpart(parent, above, table).is_some_and(|own| own.id == index.id));
    above.map(|above| i64::from(above.oid))
}

/// Whether queries may use an index: one of a partitioned table is there once each partition has its own.
pub(super) fn is_valid_index(catalog: &Catalog, table: &TableDef, index: &IndexDef) -> bool {
    let mut partitions = catalog.partitions_of(table.oid);
    index.is_complete()
        && partitions.all(|partition| {
            let own = counterpart(table, index, partition);
            own.is_some_and(|own| is_valid_index(catalog, partition, own))
        })
}

/// The columns of a partition key.
struct Key<'t> {
    names: Vec<String>,
    types: &'t [SqlType],
    parent: u32,
}

impl Key<'_> {
    fn condition(&self, bound: &PartitionBound) -> Option<String> {
        match bound {
            PartitionBound::Default => None,
            PartitionBound::List(values) => Some(self.listed(values)),
            PartitionBound::Range { from, to } => {
                let mut parts: Vec<String> = self
                    .names
                    .iter()
                    .map(|name| format!("({name} IS NOT NULL)"))
                    .collect();
                parts.extend(self.beyond(0, from, (">", ">=")));
                parts.extend(self.beyond(0, to, ("<", "<")));
                Some(format!("({})", parts.join(" AND ")))
            }
            PartitionBound::Hash { modulus, remainder } => Some(format!(
                "satisfies_hash_partition('{}'::oid, {modulus}, {remainder}, {})",
                self.parent,
                self.names.join(", ")
            )),
        }
    }

    fn constant(&self, at: usize, value: &Value) -> String {
        match self.types.get(at) {
            Some(SqlType::Int4) => literal(value),
            Some(ty) => format!(
                "'{}'::{ty}",
                value.to_text(&FormatSettings::default()).replace('\'', "''")
            ),
            None => literal(value),
        }
    }

    fn listed(&self, values: &[Value]) -> String {
        let name = &self.names[0];
        let constants = values.iter().filter(|value| **value != Value::Null);
        let constants: Vec<String> = constants.map(|value| self.constant(0, value)).collect();
        let equal = match constants.as_slice() {
            [] => return format!("({name} IS NULL)"),
            [only] => format!("({name} = {only})"),
            _ => format!("({name} = ANY (ARRAY[{}]))", constants.join(", ")),
        };
        match values.contains(&Value::Null) {
            true => format!("(({name} IS NULL) OR {equal})"),
            false => format!("(({name} IS NOT NULL) AND {equal})"),
        }
    }

    /// That the columns from this one on stand beyond an edge; `None`: all do. `ops`: of those that are not the last, and of the last.
    fn beyond(&self, at: usize, edges: &[RangeEdge], ops: (&str, &str)) -> Option<String> {
        let name = self.names.get(at)?;
        let RangeEdge::Value(value) = edges.get(at)? else {
            return None;
        };
        let constant = self.constant(at, value);
        if at + 1 == self.names.len() {
            return Some(format!("({name} {} {constant})", ops.1));
        }
        let behind = self.beyond(at + 1, edges, ops);
        let is_open = matches!(edges.get(at + 1), Some(RangeEdge::MinValue)) && ops.0 == "<"
            || matches!(edges.get(at + 1), Some(RangeEdge::MaxValue)) && ops.0 == ">";
        Some(match behind {
            Some(behind) => format!(
                "(({name} {} {constant}) OR (({name} = {constant}) AND {behind}))",
                ops.0
            ),
            None if is_open => format!("({name} {} {constant})", ops.0),
            None => format!("({name} {}= {constant})", ops.0),
        })
    }
}
