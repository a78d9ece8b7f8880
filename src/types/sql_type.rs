//! `SqlType`: every type a column, parameter or result may have. Names and OIDs stand in `type_names`, the Arrow types
//! that carry them in `arrow_type`. Everybody uses it; it knows nothing of values.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::array_dimension::DIMENSIONS_MAX;
use super::{CatalogType, EnumType, IntervalRange, PackedKind, RangeKind};

/// The most digits of a numeric that 16 bytes hold, whatever they are.
pub const FIXED_PRECISION_MAX: u16 = 38;
/// The most digits that numeric(p,s) may ask for; PostgreSQL's.
pub(super) const NUMERIC_PRECISION_MAX: i64 = 1_000;
/// The most digits behind the second: microseconds.
pub(crate) const SECOND_DIGITS_MAX: u8 = 6;
/// The longest varchar(n) and char(n), in characters; PostgreSQL's.
pub(super) const CHARACTERS_MAX: u32 = 10_485_760;

/// Precision (digits in all) and scale (digits behind the point) of `numeric(p,s)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NumericSize {
    /// Digits in all, 1–1,000.
    pub precision: u16,
    /// Digits behind the point, -1,000–1,000: of a negative scale, so many before the point are rounded to zeros.
    pub scale: i16,
}

impl NumericSize {
    /// Whether all numbers of the size are a 128-bit integer at one scale, which is how they are then carried and stored.
    pub fn is_fixed(&self) -> bool {
        let places = u16::try_from(self.scale);
        self.precision <= FIXED_PRECISION_MAX && places.is_ok_and(|scale| scale <= self.precision)
    }

    /// Digits behind the point that its numbers show.
    pub fn shown_scale(&self) -> u16 {
        u16::try_from(self.scale).unwrap_or(0)
    }
}

/// What `interval day to second(3)` keeps of a value: never all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IntervalSize {
    /// The fields that are kept; `None`: every one.
    pub fields: Option<IntervalRange>,
    /// Digits behind the second, 0–6; `None`: microseconds.
    pub digits: Option<u8>,
}

/// A SQL type. The comment names the Arrow type that carries it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SqlType {
    /// Boolean.
    Bool,
    /// Int16.
    Int2,
    /// Int32.
    Int4,
    /// Int64.
    Int8,
    /// Float32.
    Float4,
    /// Float64.
    Float8,
    /// `Some` size that is fixed: Decimal128(p, s). Any other, and `None` (bare numeric): Binary, of `numeric::bytes`.
    Numeric(Option<NumericSize>),
    /// Int64: cents.
    Money,
    /// Utf8.
    Text,
    /// Utf8; the limit counts characters. `None` is `varchar` without a length.
    Varchar(Option<u32>),
    /// Utf8, padded with blanks to the length in characters; blanks at the end do not count in comparisons. `None`: what
    /// several lengths have in common, each value as long as it is. No column is of it.
    Char(Option<u32>),
    /// Utf8, kept as written; upper and lower case do not count in comparisons. The extension of its name brings it.
    Citext,
    /// Binary.
    Bytea,
    /// Utf8: a 0 or 1 a bit, as many as the length. `None`: of any, as `"bit"` means, and what several lengths have in common.
    Bit(Option<u32>),
    /// Utf8, the same; the limit counts bits. `None` is `varbit` without a length.
    VarBit(Option<u32>),
    /// Date32: days since 1970-01-01; i32::MIN / MAX are -infinity / infinity.
    Date,
    /// Time64(Microsecond), rounded to so many digits behind the second (0–6); `None`: to microseconds.
    Time(Option<u8>),
    /// Timestamp(Microsecond, None), rounded as `Time`; i64::MIN / MAX are -infinity / infinity.
    Timestamp(Option<u8>),
    /// Timestamp(Microsecond, "UTC"), rounded as `Time`; i64::MIN / MAX are -infinity / infinity.
    TimestampTz(Option<u8>),
    /// Interval(MonthDayNano): PostgreSQL's microseconds times 1,000.
    Interval(Option<IntervalSize>),
    /// FixedSizeBinary(16).
    Uuid,
    /// Binary, of `PackedValue`.
    Packed(PackedKind),
    /// Utf8: the text of a `text_search::TsVector`.
    TsVector,
    /// Utf8: the text of a `text_search::TsQuery`.
    TsQuery,
    /// Utf8, kept as written.
    Json,
    /// Utf8, normalized as PostgreSQL prints jsonb.
    Jsonb,
    /// Utf8: identifiers of catalog relations.
    Name,
    /// PostgreSQL's one-byte "char" of the catalogs: Utf8.
    InternalChar,
    /// Int64 in memory, PostgreSQL's oid outside.
    Oid,
    /// A regclass: Int64 in memory.
    Regclass,
    /// Int64: the position of the label.
    Enum(Arc<EnumType>),
    /// Struct of the columns, which are called f1, f2 … there.
    Record(Arc<RecordType>),
    /// Binary, of `range_bytes`.
    Range(RangeKind),
    /// Binary, of `range_bytes`.
    Multirange(RangeKind),
    /// Struct of a list of the items and of the shape: see `array_column`. Of a list: List of the items.
    Array(ArrayType),
    /// int2vector of the catalogs: List(Int16), printed `1 2`.
    Int2Vector,
    /// A type that only catalog relations have.
    Catalog(CatalogType),
    /// A string literal whose type nothing has decided: Utf8 (sent as text).
    Unknown,
    /// The result of a statement without columns, or a NULL of no type: Null (sent as text).
    Void,
}

/// What the values of an array type hold: elements, which are no arrays. How many dimensions an array has belongs to the value, so that
/// `int[]` and `int[][]` are one type; what a column was declared with is kept beside it, for `pg_attribute` and for the codec.
#[derive(Debug, Clone)]
pub struct ArrayType {
    element: Box<SqlType>,
    /// 0: of a list.
    declared: usize,
}

impl ArrayType {
    /// The pairs of brackets that it was declared with; 0 of a list.
    pub fn declared_dimensions(&self) -> usize {
        self.declared
    }

    /// Arrays of what is made of the element, declared alike.
    pub fn map(&self, made: impl FnOnce(&SqlType) -> SqlType) -> SqlType {
        let element = Box::new(made(&self.element));
        let declared = self.declared;
        SqlType::Array(ArrayType { element, declared })
    }
}

impl SqlType {
    /// The type of arrays of a type; of an array's, the same with one more dimension declared.
    pub fn array(item: SqlType) -> SqlType {
        let (element, declared) = match item {
            SqlType::Array(ArrayType { element, declared }) if declared > 0 => (element, declared),
            item => (Box::new(item), 0),
        };
        let declared = (declared + 1).min(DIMENSIONS_MAX);
        SqlType::Array(ArrayType { element, declared })
    }

    /// The type of lists of a type, which may be arrays: what is gathered within a plan, and no type of SQL.
    pub fn list(item: SqlType) -> SqlType {
        let element = Box::new(item);
        SqlType::Array(ArrayType { element, declared: 0 })
    }
}

/// The element.
impl Deref for ArrayType {
    type Target = SqlType;
    fn deref(&self) -> &SqlType {
        &self.element
    }
}

// Derived, they would tell `int[]` from `int[][]`.
impl PartialEq for ArrayType {
    fn eq(&self, other: &ArrayType) -> bool {
        self.element == other.element && (self.declared == 0) == (other.declared == 0)
    }
}

impl Eq for ArrayType {}

impl Hash for ArrayType {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.element, self.declared == 0).hash(state);
    }
}

impl SqlType {
    /// numeric(precision,scale).
    pub(crate) fn numeric(precision: u16, scale: u16) -> SqlType {
        SqlType::Numeric(Some(NumericSize {
            precision,
            scale: i16::try_from(scale).unwrap_or(i16::MAX),
        }))
    }

    /// The widest fixed numeric with this many digits behind the point.
    pub(crate) fn numeric_of_scale(scale: u16) -> SqlType {
        SqlType::numeric(FIXED_PRECISION_MAX, scale)
    }

    /// The type with numerics of any digits, its items' too.
    pub fn with_any_digits(&self) -> SqlType {
        match self {
            SqlType::Numeric(_) => SqlType::Numeric(None),
            SqlType::Array(item) => item.map(SqlType::with_any_digits),
            other => other.clone(),
        }
    }

    /// The size of a numeric that is carried in 16 bytes.
    pub fn fixed_size(&self) -> Option<NumericSize> {
        match self {
            SqlType::Numeric(size) => size.filter(NumericSize::is_fixed),
            _ => None,
        }
    }

    /// Whether it is a numeric of variable length.
    pub fn is_variable_numeric(&self) -> bool {
        matches!(self, SqlType::Numeric(_)) && self.fixed_size().is_none()
    }

    /// The type of its items, if it is an array's.
    pub fn item_type(&self) -> Option<&SqlType> {
        match self {
            SqlType::Array(item) => Some(item),
            SqlType::Int2Vector => Some(&SqlType::Int2),
            SqlType::Catalog(CatalogType::OidVector) => Some(&SqlType::Oid),
            _ => None,
        }
    }

    /// Whether it is a vector of the catalogs, whose subscripts begin with 0.
    pub fn is_vector(&self) -> bool {
        matches!(
            self,
            SqlType::Int2Vector | SqlType::Catalog(CatalogType::OidVector)
        )
    }

    /// Whether it is what a list of items alone carries: what was gathered, or a vector.
    pub fn is_list(&self) -> bool {
        self.is_vector() || matches!(self, SqlType::Array(item) if item.declared == 0)
    }

    /// What an array holds; itself, if it is none.
    pub fn innermost(&self) -> &SqlType {
        match self {
            SqlType::Array(item) => item.innermost(),
            ty => ty,
        }
    }

    /// The dimensions that an array was declared with (pg_attribute.attndims); 0 of what is no array.
    pub fn declared_dimensions(&self) -> usize {
        match self {
            SqlType::Array(item) => item.declared_dimensions(),
            _ => 0,
        }
    }

    /// The type as which a constant is read to be *compared* with a column of this type: without length or scale, because
    /// a constant must not be rounded, cut or refused before the comparison (`n = '1.555'` on numeric(10,2) is never true).
    pub fn comparison_type(&self) -> SqlType {
        match self {
            SqlType::Numeric(_) => SqlType::Numeric(None),
            SqlType::Varchar(_) | SqlType::Char(_) => SqlType::Text,
            SqlType::Time(_) => SqlType::Time(None),
            SqlType::Timestamp(_) => SqlType::Timestamp(None),
            SqlType::TimestampTz(_) => SqlType::TimestampTz(None),
            SqlType::Interval(_) => SqlType::Interval(None),
            SqlType::Bit(_) => SqlType::Bit(None),
            SqlType::VarBit(_) => SqlType::VarBit(None),
            SqlType::Packed(kind) => SqlType::Packed(kind.whole()),
            SqlType::Array(item) => item.map(SqlType::comparison_type),
            other => other.clone(),
        }
    }

    /// Whether it is there where an extension was asked for: its name is one that the catalog knows.
    pub fn is_of_extension(&self) -> bool {
        *self == SqlType::Citext
    }

    /// Integers, floats and numerics.
    pub fn is_number(&self) -> bool {
        self.is_integer() || self.is_float() || matches!(self, SqlType::Numeric(_))
    }

    /// real, double precision.
    pub fn is_float(&self) -> bool {
        matches!(self, SqlType::Float4 | SqlType::Float8)
    }

    /// bit, bit varying.
    pub fn is_bits(&self) -> bool {
        matches!(self, SqlType::Bit(_) | SqlType::VarBit(_))
    }

    /// inet, cidr, macaddr or macaddr8.
    pub fn packed_kind(&self) -> Option<PackedKind> {
        match self {
            SqlType::Packed(kind) => Some(*kind),
            _ => None,
        }
    }

    /// smallint, integer, bigint.
    pub fn is_integer(&self) -> bool {
        matches!(self, SqlType::Int2 | SqlType::Int4 | SqlType::Int8)
    }

    /// text, varchar, char, citext, name, unknown.
    pub fn is_string(&self) -> bool {
        matches!(
            self,
            SqlType::Text
                | SqlType::Varchar(_)
                | SqlType::Char(_)
                | SqlType::Citext
                | SqlType::Name
                | SqlType::Unknown
        )
    }

    /// What it leaves a query as: an oid that names an object leaves as the name. Any other type stays.
    pub fn output_type(&self) -> SqlType {
        match self {
            SqlType::Regclass => SqlType::Catalog(CatalogType::RegclassName),
            SqlType::Catalog(CatalogType::Regproc) => SqlType::Catalog(CatalogType::RegprocName),
            SqlType::Catalog(CatalogType::Regprocedure) => SqlType::Catalog(CatalogType::RegprocedureName),
            SqlType::Catalog(CatalogType::Regoper) => SqlType::Catalog(CatalogType::RegoperName),
            SqlType::Catalog(CatalogType::Regoperator) => SqlType::Catalog(CatalogType::RegoperatorName),
            SqlType::Catalog(CatalogType::Regtype) => SqlType::Catalog(CatalogType::RegtypeName),
            SqlType::Catalog(CatalogType::Regnamespace) => SqlType::Catalog(CatalogType::RegnamespaceName),
            SqlType::Catalog(CatalogType::Regrole) => SqlType::Catalog(CatalogType::RegroleName),
            SqlType::Catalog(CatalogType::Regcollation) => SqlType::Catalog(CatalogType::RegcollationName),
            SqlType::Array(item) => item.map(SqlType::output_type),
            other => other.clone(),
        }
    }
}

impl RangeKind {
    /// The type of the bounds.
    pub fn bound_type(self) -> SqlType {
        match self {
            RangeKind::Int4 => SqlType::Int4,
            RangeKind::Int8 => SqlType::Int8,
            RangeKind::Numeric => SqlType::Numeric(None),
            RangeKind::Date => SqlType::Date,
            RangeKind::Timestamp => SqlType::Timestamp(None),
            RangeKind::TimestampTz => SqlType::TimestampTz(None),
        }
    }

    /// The kind whose bounds are of the type.
    pub fn of_bounds(ty: &SqlType) -> Option<RangeKind> {
        Some(match ty {
            SqlType::Int4 => RangeKind::Int4,
            SqlType::Int8 => RangeKind::Int8,
            SqlType::Numeric(_) => RangeKind::Numeric,
            SqlType::Date => RangeKind::Date,
            SqlType::Timestamp(_) => RangeKind::Timestamp,
            SqlType::TimestampTz(_) => RangeKind::TimestampTz,
            _ => return None,
        })
    }
}

/// pg_type.oid of `record`, and of its array type.
const RECORD_OIDS: (u32, u32) = (2249, 2287);

/// The type of a row.
#[derive(Debug, Clone, Eq, Serialize, Deserialize)]
pub struct RecordType {
    /// pg_type.oid; that of `record` when it has no name.
    pub oid: u32,
    /// The oid of its array type.
    pub array_oid: u32,
    /// The catalog version that last changed it; 0 of one that has no name.
    #[serde(default)]
    pub version: u64,
    /// Its name: `record` when it has none.
    pub name: String,
    /// Its columns, in order.
    pub fields: Vec<RecordField>,
}

/// A column of a row type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RecordField {
    /// pg_attribute.attnum: stays when others go. Stored values are told apart by it.
    pub number: u16,
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(serialize_with = "put_type", deserialize_with = "read_type")]
    pub ty: SqlType,
}

/// What tells the oid of the type of arrays of a relation's rows from the relation's own. Objects get numbers from 16384 upwards one by one, and
/// none gets as far.
const ROW_ARRAYS: u32 = 1 << 30;

/// The oid of the type of arrays of a relation's rows.
pub fn array_oid_of_rows(relation: u32) -> u32 {
    relation | ROW_ARRAYS
}

/// The relation of whose rows the type with this oid is an array; `None`: it is no such oid.
pub fn relation_of_row_array(oid: i64) -> Option<i64> {
    let rows = i64::from(ROW_ARRAYS);
    (rows..2 * rows).contains(&oid).then(|| oid - rows)
}

impl RecordType {
    /// The type of rows of these columns that no table and no CREATE TYPE says.
    pub fn anonymous(columns: impl IntoIterator<Item = (String, SqlType)>) -> RecordType {
        let fields = (1..).zip(columns);
        RecordType {
            oid: RECORD_OIDS.0,
            array_oid: RECORD_OIDS.1,
            version: 0,
            name: "record".to_string(),
            fields: fields
                .map(|(number, (name, ty))| RecordField { number, name, ty })
                .collect(),
        }
    }

    /// The row type of a table or view: its oid is the relation's, and that of its arrays is made of it.
    pub fn of_relation(
        oid: u32,
        name: &str,
        version: u64,
        columns: impl IntoIterator<Item = (String, SqlType)>,
    ) -> RecordType {
        RecordType {
            oid,
            array_oid: array_oid_of_rows(oid),
            version,
            name: name.to_string(),
            ..RecordType::anonymous(columns)
        }
    }

    /// Whether no name tells it from others.
    pub fn is_anonymous(&self) -> bool {
        self.oid == RECORD_OIDS.0
    }

    /// Whether it is that of a table's or view's rows.
    pub fn is_of_relation(&self) -> bool {
        // What was stored before arrays of rows had types says those of `record`.
        let of_relations = [array_oid_of_rows(self.oid), RECORD_OIDS.1];
        !self.is_anonymous() && of_relations.contains(&self.array_oid)
    }

    /// The place of the column of this name.
    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// Its name as SQL text has it.
    pub fn quoted_name(&self) -> String {
        super::type_quotes::quoted(&self.name)
    }
}

/// Types are the same when they are of one name and their columns are the same: a column that was added makes another one.
impl PartialEq for RecordType {
    fn eq(&self, other: &RecordType) -> bool {
        self.oid == other.oid && self.fields == other.fields
    }
}

impl std::hash::Hash for RecordType {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.oid.hash(state);
        self.fields.hash(state);
    }
}

fn put_type<S: serde::Serializer>(ty: &SqlType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&ty.metadata())
}

fn read_type<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<SqlType, D::Error> {
    let text = String::deserialize(deserializer)?;
    let ty = SqlType::of_metadata(&text);
    ty.ok_or_else(|| serde::de::Error::custom("no name of a type"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::types::{FormatSettings, Value};

    fn pair() -> RecordType {
        let columns = [
            ("a".to_string(), SqlType::Int4),
            ("b c".to_string(), SqlType::array(SqlType::Text)),
        ];
        RecordType::of_relation(16_400, "Pair", 3, columns)
    }

    #[test]
    fn a_field_brings_its_columns_along() {
        let inner = SqlType::Record(Arc::new(pair()));
        let outer = RecordType::anonymous([
            ("x".to_string(), inner.clone()),
            ("y".to_string(), SqlType::Jsonb),
        ]);
        let outer = SqlType::Record(Arc::new(outer));
        for ty in [inner.clone(), outer.clone(), SqlType::array(outer)] {
            assert_eq!(SqlType::from_field(&ty.field("c", true)), ty);
        }
        assert_eq!(inner.name(), "\"Pair\"");
    }

    #[test]
    fn texts_are_read_and_printed() {
        let (settings, ty) = (FormatSettings::default(), SqlType::Record(Arc::new(pair())));
        for (text, printed) in [
            ("(1,\"{a,\"\"b c\"\"}\")", "(1,\"{a,\"\"b c\"\"}\")"),
            (" (,) ", "(,)"),
            ("(2,{})", "(2,{})"),
            ("(\\3,\\{a\\})", "(3,{a})"),
        ] {
            let value = Value::parse(text, &ty, &settings).unwrap();
            assert_eq!(value.to_text(&settings), printed);
        }
        for wrong in [
            "", "1,2", "(1)", "(1,{},3)", "(1,{}", "(1,{})x", "(1,\"{}", "(1,\\",
        ] {
            assert_eq!(
                Value::parse(wrong, &ty, &settings).unwrap_err().sqlstate(),
                "22P02"
            );
        }
    }
}
