//! `SqlType`: every type a column, parameter or result may have, with PostgreSQL's name and OID and the Arrow type
//! that carries it. Types that share an Arrow type (text, varchar(n), json …) are told apart by field metadata.

use arrow::datatypes::{DataType, Field};

use crate::Result;

/// The field metadata key that holds the SQL type's name where the Arrow type alone does not tell it.
pub const TYPE_METADATA_KEY: &str = "keyspan.type";

/// Precision (1–38 digits in all) and scale (digits behind the point) of `numeric(p,s)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NumericSize {
    /// Digits in all, 1–38.
    pub precision: u8,
    /// Digits behind the point, 0–precision.
    pub scale: u8,
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
    /// `Some`: Decimal128(p, s). `None` (bare numeric): Decimal256(76, 38), printed without padding zeros.
    Numeric(Option<NumericSize>),
    /// Utf8.
    Text,
    /// Utf8; the limit counts characters. `None` is `varchar` without a length.
    Varchar(Option<u32>),
    /// Utf8, padded with blanks to the length in characters.
    Char(u32),
    /// Binary.
    Bytea,
    /// Date32: days since 1970-01-01; i32::MIN / MAX are -infinity / infinity.
    Date,
    /// Time64(Microsecond).
    Time,
    /// Timestamp(Microsecond, None); i64::MIN / MAX are -infinity / infinity.
    Timestamp,
    /// Timestamp(Microsecond, "UTC"); i64::MIN / MAX are -infinity / infinity.
    TimestampTz,
    /// Interval(MonthDayNano): PostgreSQL's microseconds times 1,000.
    Interval,
    /// FixedSizeBinary(16).
    Uuid,
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
    /// List of the element.
    Array(Box<SqlType>),
    /// int2vector of the catalogs: List(Int16), printed `1 2`.
    Int2Vector,
    /// A string literal whose type nothing has decided: Utf8 (sent as text).
    Unknown,
    /// The result of a statement without columns, or a NULL of no type: Null (sent as text).
    Void,
}

impl SqlType {
    /// PostgreSQL's OID of the type.
    pub fn oid(&self) -> u32 {
        unimplemented!()
    }
    /// The type modifier of RowDescription and pg_attribute.atttypmod; -1 when there is none.
    pub fn modifier(&self) -> i32 {
        unimplemented!()
    }
    /// The width in bytes of pg_type.typlen; -1 when it varies.
    pub fn length(&self) -> i16 {
        unimplemented!()
    }
    /// The name as `format_type` prints it, modifier included: `character varying(10)`, `timestamp without time zone`.
    pub fn name(&self) -> String {
        unimplemented!()
    }
    /// The type with this OID and modifier (as clients give them in Parse), if we have it.
    pub fn from_oid(_oid: u32, _modifier: i32) -> Option<SqlType> {
        unimplemented!()
    }
    /// The type that a name in SQL text means, any alias of PostgreSQL's and Lindorm's (`int`, `varchar`, `double`,
    /// `tinyint`, `varbinary`, `decimal` …), lower case, with its modifiers: `from_name("varchar", &[10])`. `None`: unknown.
    /// Errors: 22023 for a modifier out of range.
    pub fn from_name(_name: &str, _modifiers: &[i64]) -> Result<Option<SqlType>> {
        unimplemented!()
    }
    /// The Arrow type that carries it.
    pub fn arrow_type(&self) -> DataType {
        unimplemented!()
    }
    /// An Arrow field that carries it, with the metadata that tells it from others of the same Arrow type.
    pub fn field(&self, _name: &str, _nullable: bool) -> Field {
        unimplemented!()
    }
    /// The SQL type of an Arrow field: by metadata when present, else the natural one (Utf8 is text, Int64 bigint …).
    pub fn from_field(_field: &Field) -> SqlType {
        unimplemented!()
    }
    /// The natural SQL type of an Arrow type.
    pub fn from_arrow(_data_type: &DataType) -> SqlType {
        unimplemented!()
    }
    /// Integers, floats and numerics.
    pub fn is_number(&self) -> bool {
        unimplemented!()
    }
    /// text, varchar, char, name, unknown.
    pub fn is_string(&self) -> bool {
        unimplemented!()
    }
}

/// The type's name, as `format_type` prints it.
impl std::fmt::Display for SqlType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}
