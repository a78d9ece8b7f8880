//! Keys and key ranges in SQL words, decoded from the very bytes that are read, for EXPLAIN and its tests.

use super::column_set::Span;
use super::key_shape::{KeyColumnShape, KeyShape};
use super::term_sets::{TermRange, TermSets};
use crate::catalog::{IndexDef, TableDef};
use crate::codec::key;
use crate::codec::keyspace::ENTRY_PREFIX_BYTES;
use crate::store::KeyRange;
use crate::types::{FormatSettings, Numeric, Value};

/// Lines at most, one a key or range; then `… n more`.
const LINES_MAX: usize = 16;

/// The stored keys of rows of a table, one line each.
pub(crate) fn row_keys(table: &TableDef, stored: &[Vec<u8>]) -> Vec<String> {
    let shape = KeyShape::new(table, &table.primary_key);
    shape.map_or_else(Vec::new, |shape| keys(table, &shape, stored))
}

/// One line a key: `(channel, id) = ('alipay', 'a0001')`.
pub(super) fn keys(table: &TableDef, shape: &KeyShape, keys: &[Vec<u8>]) -> Vec<String> {
    let names: Vec<_> = shape
        .columns
        .iter()
        .map(|column| table.columns[column.column].name.as_str())
        .collect();
    let line = |stored: &Vec<u8>| {
        let fields = decode(shape, stored);
        let values: Vec<_> = fields.values.iter().map(literal).collect();
        format!("{} = {}", tuple(&names), tuple(&values))
    };
    limited(keys, line)
}

/// One line a range: `channel = 'alipay' AND id > 'a0089'`.
pub(super) fn ranges(table: &TableDef, shape: &KeyShape, ranges: &[KeyRange]) -> Vec<String> {
    limited(ranges, |range| describe_range(table, shape, range))
}

/// One line a set of terms, of which a row has one: `tags: 'a' or 'b'`.
pub(super) fn terms(table: &TableDef, index: &IndexDef, terms: &TermSets) -> Vec<String> {
    limited(&terms.sets, |set| {
        let found: Vec<(&str, String)> = set
            .iter()
            .filter_map(|term| term_text(table, index, term))
            .collect();
        let mut line = String::new();
        for of_column in found.chunk_by(|one, other| one.0 == other.0) {
            let texts: Vec<&str> = of_column.iter().map(|(_, text)| text.as_str()).collect();
            let before = if line.is_empty() { "" } else { " or " };
            line.push_str(&format!("{before}{}: {}", of_column[0].0, texts.join(" or ")));
        }
        line
    })
}

/// A term that is read, and the column that it is of.
fn term_text<'t>(table: &'t TableDef, index: &IndexDef, term: &TermRange) -> Option<(&'t str, String)> {
    let fields = table.key_fields(index);
    let (field, before) = fields.split_last()?;
    let mut rest = term.prefix.get(ENTRY_PREFIX_BYTES..)?.to_vec();
    for field in before {
        rest.drain(..key::field_length(&rest, field).ok()?);
    }
    if !term.is_one_term {
        // A beginning does not end as a field does.
        rest.extend([0, 1]);
    }
    let (Value::Bytes(stored), _) = key::decode_value(&rest, field).ok()? else {
        return None;
    };
    let (place, stored) = stored.split_first()?;
    let source = index.term_sources().nth(usize::from(*place))?;
    let column = &table.columns[table.column_index_by_id(source.column)?];
    let text = source.class.term_text(stored, &column.ty);
    let more = if term.is_one_term { "" } else { "*" };
    Some((&column.name, format!("{text}{more}")))
}

/// A constant as SQL writes it.
pub(crate) fn literal(value: &Value) -> String {
    let text = || value.to_text(&FormatSettings::default());
    match value {
        Value::Null => "NULL".to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(_) | Value::Numeric(Numeric::Finite(_)) => text(),
        Value::Float4(number) if number.is_finite() => text(),
        Value::Float8(number) if number.is_finite() => text(),
        Value::Array(values) if values.shape().is_none() => {
            let values: Vec<_> = values.iter().map(literal).collect();
            format!("ARRAY[{}]", values.join(", "))
        }
        _ => format!("'{}'", text().replace('\'', "''")),
    }
}

/// What the start of some stored bytes decodes to.
struct Decoded {
    /// Complete fields.
    values: Vec<Value>,
    /// The last value stands just before the bytes rather than at them.
    after_last: bool,
    /// All bytes are accounted for.
    complete: bool,
}

/// Decodes as many fields as the bytes hold. Text fields end in `00 01`; a cut behind one ends in the byte above.
fn decode(shape: &KeyShape, stored: &[u8]) -> Decoded {
    let mut rest = stored.get(shape.prefix.len()..).unwrap_or_default();
    let mut values = Vec::new();
    for column in &shape.columns {
        if rest.is_empty() {
            break;
        }
        match key::decode_value(rest, &column.field) {
            Ok((value, length)) => {
                values.push(value);
                rest = rest.get(length..).unwrap_or_default();
            }
            Err(_) => {
                let mut before = rest.to_vec();
                if let Some(last) = before.last_mut() {
                    *last = last.wrapping_sub(1);
                }
                return match key::decode_value(&before, &column.field) {
                    Ok((value, length)) if length == before.len() => {
                        values.push(value);
                        Decoded {
                            values,
                            after_last: true,
                            complete: true,
                        }
                    }
                    _ => Decoded {
                        values,
                        after_last: false,
                        complete: false,
                    },
                };
            }
        }
    }
    Decoded {
        values,
        after_last: false,
        complete: rest.is_empty(),
    }
}

fn describe_range(table: &TableDef, shape: &KeyShape, range: &KeyRange) -> String {
    let name = |at: usize| table.columns[shape.columns[at].column].name.as_str();
    let (low, low_edge) = without_edge(shape, &range.start, |domain| &domain.start);
    let high = range.end.as_deref();
    let high = high.map(|end| without_edge(shape, end, |domain| &domain.end));
    let (high, high_edge) = high.map_or((None, None), |(end, edge)| (Some(end), edge));
    let start = decode(shape, low);
    // The whole block of some leading values.
    if start.complete && !start.after_last && !start.values.is_empty() {
        let block_end = shape.columns[start.values.len() - 1].block_end(&range.start);
        if block_end == range.end {
            let terms = start
                .values
                .iter()
                .enumerate()
                .map(|(at, value)| equality(name(at), value));
            return terms.collect::<Vec<_>>().join(" AND ");
        }
    }
    // The rest of a block, from somewhere in it on.
    if start.complete
        && let Some(fields) = (1..start.values.len())
            .rev()
            .find(|fields| ends_with_block(shape, range, *fields))
    {
        let (pinned, rest) = start.values.split_at(fields);
        let pinned = pinned.iter().enumerate();
        let terms = pinned.map(|(at, value)| equality(name(at), value));
        let terms = terms.chain(side(shape, fields, rest, start.after_last, true, &name));
        return terms.collect::<Vec<_>>().join(" AND ");
    }
    let unbounded = high.is_none_or(|end| !end.starts_with(&shape.prefix) || end == shape.prefix);
    let end = match high {
        Some(end) if !unbounded => decode(shape, end),
        _ => Decoded {
            values: Vec::new(),
            after_last: false,
            complete: true,
        },
    };
    let shared = start
        .values
        .iter()
        .zip(&end.values)
        .take_while(|(left, right)| left == right)
        .count();
    // Both may end in the same value: `a >= 5 AND a <= 5` of a block that is cut again deeper down.
    let shared = shared.min(start.values.len().max(end.values.len()).saturating_sub(1));
    let mut terms: Vec<_> = start.values[..shared]
        .iter()
        .enumerate()
        .map(|(at, value)| equality(name(at), value))
        .collect();
    if let (Some(low), Some(high)) = (low_edge, high_edge)
        && low == high
    {
        terms.push(format!("{} IS NOT NULL", name(low)));
        return terms.join(" AND ");
    }
    let (low, high) = (
        &start.values[shared..],
        &end.values[shared.min(end.values.len())..],
    );
    if !start.complete || !end.complete || shared >= shape.columns.len() {
        terms.push(format!(
            "key from {} to {}",
            hex(&range.start),
            range.end.as_deref().map_or_else(|| "the end".to_string(), hex)
        ));
        return terms.join(" AND ");
    }
    terms.extend(side(shape, shared, low, start.after_last, true, &name));
    // A block of the shared prefix that runs to its end has no upper term of its own.
    let to_block_end = shared > 0 && end.values.len() == shared && !end.after_last;
    if !unbounded && !to_block_end {
        terms.extend(side(shape, shared, high, end.after_last, false, &name));
    }
    if terms.is_empty() {
        "all".to_string()
    } else {
        terms.join(" AND ")
    }
}

/// Whether a range ends where the block of its start's first fields does.
fn ends_with_block(shape: &KeyShape, range: &KeyRange, fields: usize) -> bool {
    let mut length = shape.prefix.len();
    for column in &shape.columns[..fields] {
        match key::field_length(&range.start[length..], &column.field) {
            Ok(field) => length += field,
            Err(_) => return false,
        }
    }
    shape.columns[fields - 1].block_end(&range.start[..length]) == range.end
}

/// The bytes without the first or last cut of a column that may be NULL, which stands at their end and says no more than that
/// it is none; and that column's place.
fn without_edge<'b>(
    shape: &KeyShape,
    stored: &'b [u8],
    edge: impl Fn(&Span) -> &Vec<u8>,
) -> (&'b [u8], Option<usize>) {
    let mut at = shape.prefix.len();
    for (place, column) in shape.columns.iter().enumerate() {
        let rest = stored.get(at..).unwrap_or_default();
        if !column.not_null && rest == edge(&column.directed_span(&column.domain)) {
            return (&stored[..at], Some(place));
        }
        match key::field_length(rest, &column.field) {
            Ok(length) => at += length,
            Err(_) => break,
        }
    }
    (stored, None)
}

/// `channel = 'alipay'`, `channel IS NULL`.
fn equality(name: &str, value: &Value) -> String {
    match value {
        Value::Null => format!("{name} IS NULL"),
        value => format!("{name} = {}", literal(value)),
    }
}

/// The condition that the start (`low`) or the end of a range puts on the columns from `from` on.
fn side<'a>(
    shape: &KeyShape,
    from: usize,
    values: &[Value],
    after_last: bool,
    low: bool,
    name: &impl Fn(usize) -> &'a str,
) -> Option<String> {
    let columns: Vec<&KeyColumnShape> = shape.columns.iter().skip(from).take(values.len()).collect();
    let last = columns.last()?;
    let descending = last.field.descending;
    let at_edge = matches!(values, [value] if low && !after_last && is_domain_start(last, value));
    if at_edge {
        return None;
    }
    // From the cut on, in the key's direction: the start is included, or stands after the value; the end is the reverse.
    let inclusive = low != after_last;
    let operator = match (low != descending, inclusive) {
        (true, true) => ">=",
        (true, false) => ">",
        (false, true) => "<=",
        (false, false) => "<",
    };
    let literals: Vec<_> = values.iter().map(literal).collect();
    let names: Vec<_> = (from..from + values.len()).map(name).collect();
    let mixed = columns.iter().any(|column| column.field.descending != descending);
    let (names, values) = match (names.as_slice(), literals.as_slice()) {
        ([name], [value]) => ((*name).to_string(), value.clone()),
        _ => (tuple(&names), tuple(&literals)),
    };
    // A row comparison says it only when all columns go the same way; else it is the order of the key that is meant.
    let order = if mixed { " in key order" } else { "" };
    Some(format!("{names} {operator} {values}{order}"))
}

/// Whether a range that starts at this value starts at the first of all values.
fn is_domain_start(column: &KeyColumnShape, value: &Value) -> bool {
    let mut field = Vec::new();
    key::encode_value(&mut field, value, &column.field);
    field == column.directed_span(&column.domain).start
}

fn limited<T>(items: &[T], line: impl Fn(&T) -> String) -> Vec<String> {
    let mut lines: Vec<_> = items.iter().take(LINES_MAX).map(line).collect();
    if items.len() > LINES_MAX {
        lines.push(format!("… {} more", items.len() - LINES_MAX));
    }
    lines
}

fn tuple(items: &[impl AsRef<str>]) -> String {
    let items: Vec<_> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [one] => (*one).to_string(),
        _ => format!("({})", items.join(", ")),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
