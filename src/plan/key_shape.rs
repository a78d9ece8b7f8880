//! `KeyShape`: what the planner must know of one key (types, directions, which columns may be NULL), and how a constant
//! cuts the values of a key column. Used by `boxes` and `key_ranges`; knows nothing of predicates' structure.
//!
//! A cut is a place between two encoded ascending fields, written as the smallest bytes behind it. A column's values lie
//! in its *domain* span. For types of fixed width the domain runs from the smallest field to the one after the largest,
//! so that `a > 5 AND a < 7` on an integer and "everything from the type's maximum" are single points like any other.

use std::sync::Arc;

use std::cmp::Ordering;

use super::column_set::{ColumnSet, Span};
use super::compare::{compare, is_own_kind, reduce};
use super::like::LikeShape;
use super::predicate::CompareOp;
use crate::catalog::{IndexDef, KeyColumn, TableDef};
use crate::codec::key::{self, KeyField};
use crate::codec::keyspace::entry_prefix;
use crate::codec::prefix_end;
use crate::types::{
    ArrayValue, CatalogType, EnumValue, Interval, MultirangeValue, Numeric, PackedValue, RangeValue, SqlType,
    Value, comparable_text, power_of_ten,
};

/// Microseconds in a day: `24:00` is the last time of day.
const DAY_US: i64 = 86_400_000_000;

/// A key as the planner sees it.
#[derive(Debug)]
pub(crate) struct KeyShape {
    /// The bytes before the first field.
    pub(crate) prefix: Vec<u8>,
    /// Its columns, in key order: all that every entry of it has.
    pub(crate) columns: Vec<KeyColumnShape>,
    /// A key with a NULL goes on behind its columns: those of a unique index, which hold NULLs more than once.
    pub(crate) goes_on_behind_null: bool,
    /// The least and the greatest of the few values of a first column: see `TableDef::few_first_values`.
    pub(crate) buckets: Option<(i64, i64)>,
}

/// One column of a key.
#[derive(Debug)]
pub(crate) struct KeyColumnShape {
    /// Position in `TableDef::columns`.
    pub(crate) column: usize,
    /// How it is encoded in the key.
    pub(crate) field: KeyField,
    /// It never holds NULL.
    pub(crate) not_null: bool,
    /// The cuts around all its values.
    pub(crate) domain: Span,
    /// The field of the type's smallest value.
    smallest: Vec<u8>,
    /// How it is encoded when ascending, which is how cuts are written.
    ascending: KeyField,
    /// Whether every field of the type is as long as the next.
    fixed_width: bool,
}

impl KeyShape {
    /// The shape of a table's key. `None`: a column's type cannot stand in a key.
    pub(crate) fn new(table: &TableDef, index: &IndexDef) -> Option<KeyShape> {
        let keys = match index.unique {
            true => index.columns.clone(),
            false => table.sort_columns(index),
        };
        Some(KeyShape {
            prefix: entry_prefix(table.id, index.id).to_vec(),
            goes_on_behind_null: index.unique,
            buckets: table.few_first_values(index),
            ..KeyShape::of_columns(table, &keys)?
        })
    }

    /// The shape of a key that is nowhere stored. `None`: a column's type cannot stand in a key.
    pub(crate) fn of_columns(table: &TableDef, keys: &[KeyColumn]) -> Option<KeyShape> {
        let columns = keys.iter().zip(table.fields_of(keys)).map(|(key, field)| {
            let column = table.column_index_by_id(key.column)?;
            let not_null = table.is_key_column(key.column) || table.columns[column].is_never_null();
            KeyColumnShape::new(column, field, not_null)
        });
        Some(KeyShape {
            prefix: Vec::new(),
            columns: columns.collect::<Option<_>>()?,
            goes_on_behind_null: false,
            buckets: None,
        })
    }

    /// Where the columns begin that conditions bound.
    pub(crate) fn first_bounded(&self) -> usize {
        usize::from(self.buckets.is_some())
    }

    /// Every bucket, each a point; NULL is one where the column may hold it.
    pub(crate) fn all_buckets(&self) -> Option<ColumnSet> {
        let (column, (least, greatest)) = (self.columns.first()?, self.buckets?);
        let bucket = |number: i64| column.compare_set(CompareOp::Eq, &Value::Int(number));
        let buckets: Option<Vec<ColumnSet>> = (least..=greatest).map(bucket).collect();
        Some(ColumnSet::union(&buckets?).with_null(!column.not_null))
    }

    /// Where a table's column stands in the key.
    pub(crate) fn position(&self, column: usize) -> Option<usize> {
        self.columns.iter().position(|key| key.column == column)
    }
}

impl KeyColumnShape {
    fn new(column: usize, field: KeyField, not_null: bool) -> Option<KeyColumnShape> {
        let ascending = KeyField {
            descending: false,
            ..field.clone()
        };
        let encode = |value: &Value| {
            let mut bytes = Vec::new();
            key::encode_value(&mut bytes, value, &ascending);
            bytes
        };
        let (smallest, largest) = extremes(&field.ty)?;
        let smallest = encode(&smallest);
        let (end, fixed_width) = match largest {
            Some(largest) => (increment(&encode(&largest)), true),
            None => (vec![key::tag(&field.ty) + 1], false),
        };
        let mut start = smallest.clone();
        if matches!(field.ty, SqlType::Float4 | SqlType::Float8) {
            // Floats are not counted: "up to -Infinity" is a range like any other, not a point.
            start[1..].fill(0);
        }
        Some(KeyColumnShape {
            column,
            field,
            not_null,
            domain: Span { start, end },
            smallest,
            ascending,
            fixed_width,
        })
    }

    /// Every value but NULL.
    pub(crate) fn not_null_set(&self) -> ColumnSet {
        ColumnSet::from_spans(vec![self.domain.clone()])
    }

    /// NULL alone; nothing where the column holds none.
    pub(crate) fn null_set(&self) -> ColumnSet {
        ColumnSet::none().with_null(!self.not_null)
    }

    /// Everything that the set does not hold.
    pub(crate) fn complement(&self, set: &ColumnSet) -> ColumnSet {
        set.complement(&self.domain, !self.not_null)
    }

    /// The values for which `value op constant` is true. `None`: the pair of types has no operator that we know.
    pub(crate) fn compare_set(&self, op: CompareOp, constant: &Value) -> Option<ColumnSet> {
        if *constant == Value::Null {
            return Some(ColumnSet::none());
        }
        let (before, after) = self.cuts(constant)?;
        let span = |start: &Vec<u8>, end: &Vec<u8>| Span {
            start: start.clone(),
            end: end.clone(),
        };
        let Span { start, end } = &self.domain;
        let first = before == self.smallest;
        let below = if first { start } else { &before };
        let spans = match op {
            CompareOp::Eq => vec![span(&before, &after)],
            CompareOp::NotEq => vec![span(start, below), span(&after, end)],
            CompareOp::Less => vec![span(start, below)],
            CompareOp::LessEq => vec![span(start, &after)],
            CompareOp::Greater => vec![span(&after, end)],
            CompareOp::GreaterEq => vec![span(below, end)],
        };
        Some(ColumnSet::from_spans(spans))
    }

    /// Whether it holds texts in lower case, so that it is ILIKE of which a pattern says where to look.
    pub(crate) fn ignores_case(&self) -> bool {
        self.field.ty == SqlType::Citext
    }

    /// The values that a LIKE pattern of this shape can match, and whether all of them do.
    pub(crate) fn like_set(&self, shape: &LikeShape) -> (ColumnSet, bool) {
        let (text, exact_end, tight) = match shape {
            LikeShape::Exact(text) => (text, true, true),
            LikeShape::Prefix(text) => (text, false, true),
            LikeShape::Loose(text) => (text, false, false),
        };
        if let SqlType::Char(_) = self.field.ty {
            // LIKE sees the padded value and the key does not hold the padding: a pattern that ends in blanks, or has
            // no `%` to take the padding, is checked against the value itself.
            let kept = String::from_utf8_lossy(text);
            let trimmed = comparable_text(&self.field.ty, &kept);
            let tight = tight && !exact_end && trimmed.len() == kept.len();
            return (self.prefix_set(trimmed.as_bytes()), tight);
        }
        if exact_end {
            let start = self.encode_bytes(text);
            let end = self.next(&start);
            return (ColumnSet::from_spans(vec![Span { start, end }]), tight);
        }
        (self.prefix_set(text), tight)
    }

    /// If the span is one value: true.
    pub(crate) fn is_point(&self, span: &Span) -> bool {
        let complete = self.fixed_width || span.start.ends_with(&[0, 1]);
        complete && self.next(&span.start) == span.end
    }

    /// The end of the block of all keys that start with `key`, whose last field is this column's. Fields of fixed width
    /// keep their length, so that the blocks of neighbouring values touch.
    pub(crate) fn block_end(&self, key: &[u8]) -> Option<Vec<u8>> {
        let width = self.domain.start.len();
        let tag = if self.field.descending {
            !self.domain.start[0]
        } else {
            self.domain.start[0]
        };
        match key.len().checked_sub(width) {
            Some(at) if self.fixed_width && at > 0 && key[at] == tag => {
                Some([&key[..at], &increment(&key[at..])].concat())
            }
            // NULL, or a type whose fields differ in length.
            _ => prefix_end(key),
        }
    }

    /// A cut as the key's direction writes it: values from the cut on stand before it when the column is DESC.
    pub(crate) fn directed_span(&self, span: &Span) -> Span {
        if !self.field.descending {
            return span.clone();
        }
        Span {
            start: self.descending_cut(&span.end),
            end: self.descending_cut(&span.start),
        }
    }

    /// The encoded field of a point, in the key's direction.
    pub(crate) fn directed_point(&self, span: &Span) -> Vec<u8> {
        if self.field.descending {
            complement_bytes(&span.start)
        } else {
            span.start.clone()
        }
    }

    /// The encoded NULL, in the key's direction.
    pub(crate) fn directed_null(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        key::encode_value(&mut bytes, &Value::Null, &self.field);
        bytes
    }

    fn descending_cut(&self, cut: &[u8]) -> Vec<u8> {
        let complement = complement_bytes(cut);
        if self.fixed_width {
            increment(&complement)
        } else {
            // A complemented tag is never FF, so there always is an end.
            prefix_end(&complement).expect("a field starts with a tag that is neither 00 nor FF")
        }
    }

    /// The cuts before and after the values that equal a constant (the same cut twice when none does).
    fn cuts(&self, constant: &Value) -> Option<(Vec<u8>, Vec<u8>)> {
        let constant = reduce(&self.field.ty, constant);
        if is_own_kind(&self.field.ty, &constant) {
            let mut before = Vec::new();
            key::encode_value(&mut before, &constant, &self.ascending);
            let after = self.next(&before);
            return Some((self.clamp(before), self.clamp(after)));
        }
        if !self.fixed_width {
            return None;
        }
        let before = self.search(&constant, |ordering| ordering.is_lt())?;
        let after = self.search(&constant, |ordering| ordering.is_le())?;
        Some((before, after))
    }

    /// The first cut whose value does not compare so with the constant: the column's values rise with their encoding, and
    /// so does the comparison, which makes a binary search over the type's fields exact for every pair of types.
    fn search(&self, constant: &Value, below: impl Fn(Ordering) -> bool) -> Option<Vec<u8>> {
        let tag = self.domain.start[0];
        let width = self.domain.start.len() - 1;
        let field = |ordinal: u128| {
            let mut bytes = vec![tag];
            bytes.extend_from_slice(&ordinal.to_be_bytes()[16 - width..]);
            bytes
        };
        let is_below = |ordinal: u128| {
            let (value, _) = key::decode_value(&field(ordinal), &self.ascending).ok()?;
            Some(below(compare(&self.field.ty, &value, constant)?))
        };
        let mut low = ordinal(&self.smallest);
        let mut high = ordinal(&decrement(&self.domain.end));
        if is_below(high)? {
            return Some(self.domain.end.clone());
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if is_below(middle)? {
                low = middle + 1
            } else {
                high = middle
            }
        }
        Some(field(low))
    }

    fn prefix_set(&self, text: &[u8]) -> ColumnSet {
        let start = self.encode_bytes(text);
        let end = match prefix_end(text) {
            Some(next) => self.encode_bytes(&next),
            None => self.domain.end.clone(),
        };
        ColumnSet::from_spans(vec![Span { start, end }])
    }

    /// The field of any bytes in a column of text or bytea, be they valid text or (after a prefix was raised) not.
    fn encode_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut field = Vec::with_capacity(bytes.len() + 3);
        let as_bytea = KeyField {
            ty: SqlType::Bytea,
            ..self.ascending.clone()
        };
        key::encode_value(&mut field, &Value::Bytes(bytes.to_vec()), &as_bytea);
        field[0] = key::tag(&self.field.ty);
        field
    }

    /// The cut after the complete field `field`.
    fn next(&self, field: &[u8]) -> Vec<u8> {
        if self.fixed_width {
            increment(field)
        } else {
            prefix_end(field).expect("a field starts with a tag that is neither 00 nor FF")
        }
    }

    fn clamp(&self, cut: Vec<u8>) -> Vec<u8> {
        if cut < self.domain.start {
            self.domain.start.clone()
        } else if cut > self.domain.end {
            self.domain.end.clone()
        } else {
            cut
        }
    }
}

/// A value of a type that can stand in a key: its smallest.
pub(crate) fn smallest_value(ty: &SqlType) -> Option<Value> {
    extremes(ty).map(|(smallest, _)| smallest)
}

/// The smallest and the largest value of a type; the largest is `None` where fields differ in length.
fn extremes(ty: &SqlType) -> Option<(Value, Option<Value>)> {
    let both = |smallest, largest| Some((smallest, Some(largest)));
    match ty {
        SqlType::Bool => both(Value::Bool(false), Value::Bool(true)),
        SqlType::Int2 => both(Value::Int(i16::MIN.into()), Value::Int(i16::MAX.into())),
        SqlType::Int4 => both(Value::Int(i32::MIN.into()), Value::Int(i32::MAX.into())),
        SqlType::Int8 | SqlType::Catalog(CatalogType::Xid8) => {
            both(Value::Int(i64::MIN), Value::Int(i64::MAX))
        }
        SqlType::Money => both(Value::Money(i64::MIN), Value::Money(i64::MAX)),
        SqlType::Catalog(CatalogType::Tid | CatalogType::PgLsn) => {
            both(Value::Int(i64::MIN), Value::Int(i64::MAX))
        }
        ty if *ty == SqlType::Oid || ty.object_kind().is_some() => {
            both(Value::Int(0), Value::Int(u32::MAX.into()))
        }
        SqlType::Float4 => both(Value::Float4(f32::NEG_INFINITY), Value::Float4(f32::NAN)),
        SqlType::Float8 => both(Value::Float8(f64::NEG_INFINITY), Value::Float8(f64::NAN)),
        SqlType::Numeric(_) if ty.is_variable_numeric() => {
            Some((Value::Numeric(Numeric::NegativeInfinity), None))
        }
        SqlType::Numeric(_) => {
            let size = ty.fixed_size()?;
            let largest = power_of_ten(size.precision)? - 1;
            let number = |unscaled| Value::Numeric(Numeric::from_i128(unscaled, size.shown_scale()));
            both(number(-largest), number(largest))
        }
        SqlType::Date => both(Value::Date(i32::MIN), Value::Date(i32::MAX)),
        SqlType::Time(_) => both(Value::Time(0), Value::Time(DAY_US)),
        SqlType::Timestamp(_) => both(Value::Timestamp(i64::MIN), Value::Timestamp(i64::MAX)),
        SqlType::TimestampTz(_) => both(Value::TimestampTz(i64::MIN), Value::TimestampTz(i64::MAX)),
        SqlType::Enum(labels) => {
            let value = |position| {
                let ty = Arc::clone(labels);
                Value::Enum(EnumValue { ty, position })
            };
            both(value(i64::MIN), value(i64::MAX))
        }
        SqlType::Uuid => both(Value::Uuid([0; 16]), Value::Uuid([0xFF; 16])),
        SqlType::Packed(kind) => {
            let (least, greatest) = PackedValue::bounds(*kind);
            both(Value::Packed(least), Value::Packed(greatest))
        }
        SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Citext
        | SqlType::Name
        | SqlType::InternalChar
        | SqlType::Bit(_)
        | SqlType::VarBit(_) => Some((Value::Text(String::new()), None)),
        SqlType::Bytea => Some((Value::Bytes(Vec::new()), None)),
        SqlType::Interval(_) => {
            let all = |months, days, microseconds| {
                Value::Interval(Interval {
                    months,
                    days,
                    microseconds,
                })
            };
            both(
                all(i32::MIN, i32::MIN, i64::MIN),
                all(i32::MAX, i32::MAX, i64::MAX),
            )
        }
        ty => smallest_nested(ty).map(|smallest| (smallest, None)),
    }
}

/// The smallest value of a type of values that are made of others.
fn smallest_nested(ty: &SqlType) -> Option<Value> {
    Some(match ty {
        SqlType::Jsonb => Value::Text("[]".to_string()),
        SqlType::Array(_) => Value::Array(ArrayValue::default()),
        SqlType::Range(kind) => Value::Range(RangeValue::empty(*kind)),
        SqlType::Multirange(kind) => Value::Multirange(MultirangeValue {
            kind: *kind,
            ranges: Vec::new(),
        }),
        SqlType::Record(row) => {
            let fields = row.fields.iter().map(|field| smallest_value(&field.ty));
            Value::Record(fields.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// The bytes as a number, plus one, as long as before. The first byte is a tag below FF, so nothing is lost.
fn increment(bytes: &[u8]) -> Vec<u8> {
    let mut next = bytes.to_vec();
    for byte in next.iter_mut().rev() {
        let (sum, carry) = byte.overflowing_add(1);
        *byte = sum;
        if !carry {
            break;
        }
    }
    next
}

/// The bytes as a number, minus one, as long as before.
fn decrement(bytes: &[u8]) -> Vec<u8> {
    let mut previous = bytes.to_vec();
    for byte in previous.iter_mut().rev() {
        let (difference, borrow) = byte.overflowing_sub(1);
        *byte = difference;
        if !borrow {
            break;
        }
    }
    previous
}

/// The payload of a field of fixed width (at most 16 bytes) as a number.
fn ordinal(field: &[u8]) -> u128 {
    field[1..]
        .iter()
        .fold(0, |number, byte| number << 8 | u128::from(*byte))
}

fn complement_bytes(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| !byte).collect()
}
