//! Rows of text cells to Arrow batches: how catalog rows, written by hand or read from a file, become columns.
//! Called by the rest of `pg_catalog`; knows nothing of what the rows mean.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Float32Builder, Float64Builder, Int16Builder, Int32Builder,
    Int64Builder, IntervalMonthDayNanoBuilder, ListBuilder, RecordBatch, RecordBatchOptions, StringBuilder,
    TimestampMicrosecondBuilder, new_null_array,
};
use arrow::datatypes::{DataType, Field, Fields, IntervalMonthDayNano, IntervalUnit, SchemaRef, TimeUnit};

use crate::types::{
    FormatSettings, Numeric, PackedValue, SqlType, Value, array_column, item_field, items_of,
};

/// One value as PostgreSQL prints it; `None` is NULL. Timestamps and intervals are written as a count of microseconds.
pub(crate) type Cell = Option<String>;

/// The rows as one batch of the schema.
pub(crate) fn batch(schema: &SchemaRef, rows: &[Vec<Cell>]) -> RecordBatch {
    let columns = schema
        .fields()
        .iter()
        .enumerate()
        .map(|(position, field)| {
            let cells = rows
                .iter()
                .map(|row| row.get(position).and_then(|cell| cell.as_deref()));
            column(field, &cells.collect::<Vec<_>>())
        })
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .expect("columns are built from the schema's own types")
}

/// The elements of an array's text form, or of an int2vector's. Nested arrays stay text.
pub(crate) fn elements(text: &str) -> Vec<Cell> {
    let Some(inner) = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) else {
        return text
            .split(' ')
            .filter(|element| !element.is_empty())
            .map(|e| Some(e.to_string()))
            .collect();
    };
    let mut out = Vec::new();
    let (mut element, mut quoted, mut in_quotes, mut started) = (String::new(), false, false, false);
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        started = true;
        match c {
            '"' => {
                in_quotes = !in_quotes;
                quoted = true;
            }
            '\\' => element.extend(chars.next()),
            ',' if !in_quotes => {
                out.push(array_element(&mut element, quoted));
                quoted = false;
            }
            c => element.push(c),
        }
    }
    if started {
        out.push(array_element(&mut element, quoted));
    }
    out
}

fn array_element(element: &mut String, quoted: bool) -> Cell {
    let element = std::mem::take(element);
    if quoted {
        return Some(element);
    }
    let trimmed = element.trim();
    (!trimmed.eq_ignore_ascii_case("null")).then(|| trimmed.to_string())
}

/// The cells of a column of addresses.
fn addresses(field: &Field, cells: &[Option<&str>]) -> ArrayRef {
    let kind = SqlType::from_field(field).packed_kind();
    let read = |cell: &str| PackedValue::parse(cell, kind?, &FormatSettings::default()).ok();
    let mut builder = BinaryBuilder::new();
    for cell in cells {
        let address = cell.and_then(read);
        builder.append_option(address.as_ref().map(PackedValue::bytes));
    }
    Arc::new(builder.finish())
}

/// The cells of a column of numerics.
fn numerics(cells: &[Option<&str>]) -> ArrayRef {
    let mut builder = BinaryBuilder::new();
    for cell in cells {
        let number = cell.and_then(|cell| Numeric::parse(cell).ok());
        let bytes = number.map(|number| {
            let mut bytes = Vec::new();
            number.put_bytes(&mut bytes);
            bytes
        });
        builder.append_option(bytes);
    }
    Arc::new(builder.finish())
}

/// The cells as an Arrow array. A cell that does not read as its type is NULL; the tests of the generated files show
/// that there is none.
fn column(field: &Field, cells: &[Option<&str>]) -> ArrayRef {
    let data_type = field.data_type();
    macro_rules! numbers {
        ($builder:ty) => {{
            let mut builder = <$builder>::with_capacity(cells.len());
            cells
                .iter()
                .for_each(|cell| builder.append_option(cell.and_then(|cell| cell.parse().ok())));
            Arc::new(builder.finish()) as ArrayRef
        }};
    }
    match data_type {
        DataType::Boolean => {
            let mut builder = BooleanBuilder::with_capacity(cells.len());
            cells
                .iter()
                .for_each(|cell| builder.append_option(cell.map(|cell| cell == "t")));
            Arc::new(builder.finish())
        }
        DataType::Int16 => numbers!(Int16Builder),
        DataType::Int32 => numbers!(Int32Builder),
        DataType::Int64 => numbers!(Int64Builder),
        DataType::Float32 => numbers!(Float32Builder),
        DataType::Float64 => numbers!(Float64Builder),
        DataType::Utf8 => {
            let mut builder = StringBuilder::new();
            cells.iter().for_each(|cell| builder.append_option(*cell));
            Arc::new(builder.finish())
        }
        DataType::Binary if SqlType::from_field(field).packed_kind().is_some() => addresses(field, cells),
        DataType::Binary if matches!(SqlType::from_field(field), SqlType::Numeric(_)) => numerics(cells),
        DataType::Binary => {
            let mut builder = BinaryBuilder::new();
            for cell in cells {
                match cell.map(|cell| Value::parse(cell, &SqlType::Bytea, &FormatSettings::default())) {
                    Some(Ok(Value::Bytes(bytes))) => builder.append_value(bytes),
                    _ => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let mut builder = TimestampMicrosecondBuilder::with_capacity(cells.len());
            cells
                .iter()
                .for_each(|cell| builder.append_option(cell.and_then(|cell| cell.parse().ok())));
            Arc::new(builder.finish().with_timezone_opt(zone.clone()))
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let mut builder = IntervalMonthDayNanoBuilder::with_capacity(cells.len());
            let microseconds = |cell: &str| cell.parse::<i64>().ok().and_then(|us| us.checked_mul(1000));
            let interval = |cell: &str| microseconds(cell).map(|ns| IntervalMonthDayNano::new(0, 0, ns));
            cells
                .iter()
                .for_each(|cell| builder.append_option(cell.and_then(interval)));
            Arc::new(builder.finish())
        }
        DataType::Struct(columns) if item_field(data_type).is_some() => arrays(columns, data_type, cells),
        DataType::List(item) => match item.data_type() {
            DataType::Int16 => list(Int16Builder::new(), item, cells, |b, e| {
                b.append_option(e.and_then(|e| e.parse().ok()))
            }),
            DataType::Int64 => list(Int64Builder::new(), item, cells, |b, e| {
                b.append_option(e.and_then(|e| e.parse().ok()))
            }),
            DataType::Float32 => list(Float32Builder::new(), item, cells, |b, e| {
                b.append_option(e.and_then(|e| e.parse().ok()))
            }),
            DataType::Float64 => list(Float64Builder::new(), item, cells, |b, e| {
                b.append_option(e.and_then(|e| e.parse().ok()))
            }),
            DataType::Boolean => list(BooleanBuilder::new(), item, cells, |b, e| {
                b.append_option(e.map(|e| e == "t"))
            }),
            DataType::Utf8 => list(StringBuilder::new(), item, cells, |b, e| b.append_option(e)),
            _ => new_null_array(data_type, cells.len()),
        },
        _ => new_null_array(data_type, cells.len()),
    }
}

/// Arrays, whose items the first column of what carries them has.
fn arrays(columns: &Fields, carrier: &DataType, cells: &[Option<&str>]) -> ArrayRef {
    let lists = columns.first().map(|items| column(items, cells));
    match lists.as_ref().and_then(|lists| items_of(lists)) {
        Some(items) => array_column(items.clone(), None),
        None => new_null_array(carrier, cells.len()),
    }
}

fn list<B: arrow::array::ArrayBuilder>(
    values: B,
    item: &arrow::datatypes::FieldRef,
    cells: &[Option<&str>],
    append: impl Fn(&mut B, Option<&str>),
) -> ArrayRef {
    let mut builder = ListBuilder::new(values).with_field(Arc::clone(item));
    for cell in cells {
        for element in cell.iter().flat_map(|cell| elements(cell)) {
            append(builder.values(), element.as_deref());
        }
        builder.append(cell.is_some());
    }
    Arc::new(builder.finish())
}

#[cfg(test)]
mod tests {
    use super::elements;

    #[test]
    fn arrays_and_vectors_split_into_elements() {
        let some = |items: &[&str]| {
            items
                .iter()
                .map(|item| Some(item.to_string()))
                .collect::<Vec<_>>()
        };
        assert_eq!(elements("1 2 3"), some(&["1", "2", "3"]));
        assert_eq!(elements(""), some(&[]));
        assert_eq!(elements("{}"), some(&[]));
        assert_eq!(elements("{a,\"b,c\",\"d\\\"e\"}"), some(&["a", "b,c", "d\"e"]));
        assert_eq!(elements("{NULL,\"NULL\"}"), vec![None, Some("NULL".to_string())]);
    }
}
