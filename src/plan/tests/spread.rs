//! Tables of the random tests whose keys spread load: a generated column in the key, or buckets before it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arrow::array::ArrayRef;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use crate::Result;
use crate::catalog::{ColumnDef, ColumnDefault, GeneratedColumns, Generation, KeyColumn, TableDef};
use crate::codec::row::ColumnBuilder;
use crate::types::{SqlType, Value, value_at};

/// Values of a generated column.
const VALUES: u64 = 6;

/// A column of [`VALUES`] small numbers.
#[derive(Debug)]
struct Spread {
    inputs: Vec<SqlType>,
}

/// Makes a table, often, one with a generated column behind its others: somewhere in the key and of any columns, or of
/// the key and before it, as BUCKETS has it. Answers whether, and whether conditions may name it.
pub(super) fn spread(random: &mut StdRng, table: &mut TableDef) -> Option<bool> {
    if random.random_bool(0.4) {
        return None;
    }
    let has_buckets = random.random_bool(0.4);
    let inputs = match has_buckets {
        true => table.primary_key.columns.iter().map(|key| key.column).collect(),
        false => {
            let mut ids: Vec<u16> = table.columns.iter().map(|column| column.id).collect();
            ids.shuffle(random);
            ids.truncate(random.random_range(1..=2));
            ids
        }
    };
    let place = match has_buckets || random.random_bool(0.7) {
        true => 0,
        false => random.random_range(0..=table.primary_key.columns.len()),
    };
    let column = table.columns.len() as u16 + 1;
    let descending = !has_buckets && random.random();
    table.primary_key.columns.insert(
        place,
        KeyColumn {
            column,
            descending,
            nulls_first: descending,
        },
    );
    table.options.buckets = has_buckets.then_some(VALUES as u16);
    table.columns.push(ColumnDef {
        id: column,
        name: "spread".to_string(),
        ty: SqlType::Int8,
        default: Some(ColumnDefault::Generated(Generation {
            text: None,
            written: None,
            sql: String::new(),
            inputs,
            // Whether they are known to be few.
            values: random.random_bool(0.5).then_some((0, VALUES as i64 - 1)),
        })),
        hidden: has_buckets,
        ..table.columns[0].clone()
    });
    Some(!has_buckets)
}

/// Has the planner know how the table's column is computed.
pub(super) fn publish(table: &TableDef) {
    let types = |generation: &Generation| {
        let inputs = generation.inputs.iter();
        inputs
            .map(|id| table.columns[usize::from(*id) - 1].ty.clone())
            .collect()
    };
    let made = table.generated_or(|| {
        let inputs = table.generations().map(|(_, generation)| types(generation));
        Ok(Arc::new(Spread {
            inputs: inputs.last().unwrap_or_default(),
        }))
    });
    made.unwrap();
}

/// Gives a row the value of the generated column.
pub(super) fn complete(table: &TableDef, row: &mut Vec<Value>) {
    let inputs = table.generations().map(|(_, generation)| {
        let inputs = generation.inputs.iter();
        inputs
            .map(|id| row[usize::from(*id) - 1].clone())
            .collect::<Vec<_>>()
    });
    if let Some(inputs) = inputs.last() {
        row.push(value_of(&inputs));
    }
}

/// Values that PostgreSQL can tell apart are told apart here, whether or not they are equal.
fn value_of(inputs: &[Value]) -> Value {
    let mut hasher = DefaultHasher::new();
    format!("{inputs:?}").hash(&mut hasher);
    Value::Int((hasher.finish() % VALUES) as i64)
}

impl GeneratedColumns for Spread {
    fn compute(&self, _: usize, inputs: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let mut builder = ColumnBuilder::new(&SqlType::Int8, rows);
        for row in 0..rows {
            let values = inputs.iter().zip(&self.inputs);
            let values: Vec<Value> = values
                .map(|(array, ty)| value_at(array, row, ty))
                .collect::<Result<_>>()?;
            builder.append_value(&value_of(&values)).unwrap();
        }
        Ok(builder.finish())
    }
}
