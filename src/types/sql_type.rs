//! `SqlType`: every type a column, parameter or result may have, with PostgreSQL's name and OID and the Arrow type
//! that carries it. Types that share an Arrow type (text, varchar(n), json …) are told apart by field metadata.
//! Everybody uses it; it knows nothing of values.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit};

use super::type_table::{TYPES, TypeRow};
use crate::error::{Error, Result};

/// The field metadata key that holds the SQL type's name where the Arrow type alone does not tell it.
pub const TYPE_METADATA_KEY: &str = "keyspan.type";

/// The most digits a numeric column has.
pub const NUMERIC_PRECISION_MAX: u8 = 38;
/// Precision and scale of the Decimal256 that carries bare `numeric`: 38 digits on both sides of the point.
pub(super) const BARE_NUMERIC_PRECISION: u8 = 76;
/// See [`BARE_NUMERIC_PRECISION`].
pub(crate) const BARE_NUMERIC_SCALE: i8 = 38;
/// The longest varchar(n) and char(n), in characters; PostgreSQL's.
pub(super) const CHARACTERS_MAX: u32 = 10_485_760;

/// Bytes of the header that PostgreSQL counts into the modifiers of varchar, char and numeric.
const MODIFIER_HEADER: i32 = 4;

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
    /// A type that only catalog relations have.
    Catalog(CatalogType),
    /// A string literal whose type nothing has decided: Utf8 (sent as text).
    Unknown,
    /// The result of a statement without columns, or a NULL of no type: Null (sent as text).
    Void,
}

/// A type that columns of catalog relations have and tables never do. The comment names the Arrow type that carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CatalogType {
    /// Int64: the oid of a function.
    Regproc,
    /// Int64: the oid of a type.
    Regtype,
    /// Int64: the oid of a schema.
    Regnamespace,
    /// Int64: the oid of a role.
    Regrole,
    /// Utf8: what a regclass leaves a query as, because clients are sent the object's name.
    RegclassName,
    /// Utf8: see `RegclassName`.
    RegprocName,
    /// Utf8: see `RegclassName`.
    RegtypeName,
    /// Utf8: see `RegclassName`.
    RegnamespaceName,
    /// Utf8: see `RegclassName`.
    RegroleName,
    /// Int64.
    Xid,
    /// List(Int64), printed `1 2`.
    OidVector,
    /// Utf8.
    Aclitem,
    /// Utf8: a default or view expression, as SQL text.
    NodeTree,
    /// Utf8.
    PgLsn,
    /// Utf8.
    Inet,
    /// Utf8: an array of any type, as text.
    AnyArray,
    /// Utf8: a row of any shape, as text.
    Record,
}

/// The OID that undecided and missing types are sent with.
const TEXT_OID: u32 = 25;
/// The OID of char(n).
const BPCHAR_OID: u32 = 1042;

impl SqlType {
    /// PostgreSQL's OID of the type. Unknown and Void answer text's, because that is what clients are told.
    pub fn oid(&self) -> u32 {
        match self {
            SqlType::Array(element) => element.type_row().array_oid,
            SqlType::Unknown | SqlType::Void => TEXT_OID,
            other => other.type_row().oid,
        }
    }

    /// The type modifier of RowDescription and pg_attribute.atttypmod; -1 when there is none.
    pub fn modifier(&self) -> i32 {
        match self {
            SqlType::Varchar(Some(length)) | SqlType::Char(length) => {
                i32::try_from(*length).map_or(-1, |length| length + MODIFIER_HEADER)
            }
            SqlType::Numeric(Some(size)) => {
                ((i32::from(size.precision) << 16) | i32::from(size.scale)) + MODIFIER_HEADER
            }
            SqlType::Array(element) => element.modifier(),
            _ => -1,
        }
    }

    /// The width in bytes of pg_type.typlen; -1 when it varies.
    pub fn length(&self) -> i16 {
        match self {
            SqlType::Array(_) | SqlType::Unknown | SqlType::Void => -1,
            other => other.type_row().length,
        }
    }

    /// The name as `format_type` prints it, modifier included: `character varying(10)`, `timestamp without time zone`.
    pub fn name(&self) -> String {
        let base = self.base_name();
        match self {
            SqlType::Array(element) => format!("{}[]", element.name()),
            SqlType::Varchar(Some(length)) | SqlType::Char(length) => format!("{base}({length})"),
            SqlType::Numeric(Some(size)) => format!("{base}({},{})", size.precision, size.scale),
            _ => base.to_string(),
        }
    }

    /// The name without modifier, as PostgreSQL's conversion errors give it: `numeric`, `character varying`. For an
    /// array it is its element's.
    pub fn base_name(&self) -> &'static str {
        match self {
            SqlType::Array(element) => element.base_name(),
            other => other.type_row().sql_name,
        }
    }

    /// The name without modifier, `[]` included: how PostgreSQL names types in `column … is of type …`.
    pub fn full_base_name(&self) -> String {
        match self {
            SqlType::Array(element) => format!("{}[]", element.base_name()),
            other => other.base_name().to_string(),
        }
    }

    /// The type as which a constant is read to be *compared* with a column of this type: without length or scale, because
    /// a constant must not be rounded, cut or refused before the comparison (`n = '1.555'` on numeric(10,2) is never true).
    pub fn comparison_type(&self) -> SqlType {
        match self {
            SqlType::Numeric(_) => SqlType::Numeric(None),
            SqlType::Varchar(_) | SqlType::Char(_) => SqlType::Text,
            SqlType::Array(element) => SqlType::Array(Box::new(element.comparison_type())),
            other => other.clone(),
        }
    }

    /// pg_type.typname: `int4`, `varchar`, `_text`.
    pub fn catalog_name(&self) -> String {
        match self {
            SqlType::Array(element) => format!("_{}", element.catalog_name()),
            other => other.type_row().catalog_name.to_string(),
        }
    }

    /// The type with this OID and modifier (as clients give them in Parse), if we have it.
    pub fn from_oid(oid: u32, modifier: i32) -> Option<SqlType> {
        if oid == 0 {
            return Some(SqlType::Unknown);
        }
        if oid == BPCHAR_OID && modifier < MODIFIER_HEADER {
            return Some(SqlType::Text); // bpchar of no length: padding it would change it
        }
        let row = TYPES.iter().find(|row| row.oid == oid || row.array_oid == oid)?;
        let element = row.ty.with_modifier(modifier);
        Some(if row.oid == oid {
            element
        } else {
            SqlType::Array(Box::new(element))
        })
    }

    /// The type that a name in SQL text means, any alias of PostgreSQL's and Lindorm's (`int`, `varchar`, `double`,
    /// `tinyint`, `varbinary`, `decimal` …), lower case, with its modifiers: `from_name("varchar", &[10])`; a trailing
    /// `[]` or a leading `_` makes an array. `None`: unknown. The precision of timestamp(p), time(p) and interval(p) is
    /// checked and then not kept: all three hold microseconds.
    /// Errors: 22023 for a modifier out of range, 42601 where the type takes none.
    pub fn from_name(name: &str, modifiers: &[i64]) -> Result<Option<SqlType>> {
        let name = name.trim();
        if let Some(element) = name.strip_suffix("[]").or_else(|| name.strip_prefix('_')) {
            let element = SqlType::from_name(element, modifiers)?;
            // Arrays of arrays are the same type in PostgreSQL.
            return Ok(element.map(|element| match element {
                SqlType::Array(_) => element,
                element => SqlType::Array(Box::new(element)),
            }));
        }
        match name {
            "char" => return SqlType::Char(1).with_modifiers(modifiers).map(Some),
            "float" if !modifiers.is_empty() => return float_of_bits(modifiers).map(Some),
            _ => {}
        }
        let named = TYPES
            .iter()
            .filter(|row| row.ty != SqlType::InternalChar || name == row.sql_name);
        let found = named
            .into_iter()
            .find(|row| row.catalog_name == name || row.sql_name == name || row.aliases.contains(&name));
        match found {
            Some(row) if row.oid == BPCHAR_OID && name == "bpchar" && modifiers.is_empty() => {
                Ok(Some(SqlType::Text))
            }
            Some(row) => row.ty.with_modifiers(modifiers).map(Some),
            None => Ok(None),
        }
    }

    /// The Arrow type that carries it.
    pub fn arrow_type(&self) -> DataType {
        match self {
            SqlType::Bool => DataType::Boolean,
            SqlType::Int2 => DataType::Int16,
            SqlType::Int4 => DataType::Int32,
            SqlType::Int8 | SqlType::Oid | SqlType::Regclass => DataType::Int64,
            SqlType::Float4 => DataType::Float32,
            SqlType::Float8 => DataType::Float64,
            SqlType::Numeric(Some(size)) => DataType::Decimal128(size.precision, size.scale as i8),
            SqlType::Numeric(None) => DataType::Decimal256(BARE_NUMERIC_PRECISION, BARE_NUMERIC_SCALE),
            SqlType::Text
            | SqlType::Varchar(_)
            | SqlType::Char(_)
            | SqlType::Json
            | SqlType::Jsonb
            | SqlType::Name
            | SqlType::InternalChar
            | SqlType::Unknown => DataType::Utf8,
            SqlType::Bytea => DataType::Binary,
            SqlType::Date => DataType::Date32,
            SqlType::Time => DataType::Time64(TimeUnit::Microsecond),
            SqlType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
            SqlType::TimestampTz => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            SqlType::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
            SqlType::Uuid => DataType::FixedSizeBinary(16),
            SqlType::Array(element) => list_of(element.arrow_type()),
            SqlType::Int2Vector => list_of(DataType::Int16),
            SqlType::Catalog(
                CatalogType::Regproc
                | CatalogType::Regtype
                | CatalogType::Regnamespace
                | CatalogType::Regrole
                | CatalogType::Xid,
            ) => DataType::Int64,
            SqlType::Catalog(CatalogType::OidVector) => list_of(DataType::Int64),
            SqlType::Catalog(_) => DataType::Utf8,
            SqlType::Void => DataType::Null,
        }
    }

    /// An Arrow field that carries it, with the metadata that tells it from others of the same Arrow type.
    pub fn field(&self, name: &str, nullable: bool) -> Field {
        let field = Field::new(name, self.arrow_type(), nullable);
        if SqlType::from_arrow(field.data_type()) == *self {
            return field;
        }
        field.with_metadata(HashMap::from([(TYPE_METADATA_KEY.to_string(), self.name())]))
    }

    /// The SQL type of an Arrow field: by metadata when present and true to the Arrow type (an expression may have
    /// passed the metadata of its argument on), else the natural one (Utf8 is text, Int64 bigint …).
    pub fn from_field(field: &Field) -> SqlType {
        let declared = field
            .metadata()
            .get(TYPE_METADATA_KEY)
            .and_then(|name| SqlType::from_formatted(name));
        match declared {
            Some(ty) if same_carrier(&ty.arrow_type(), field.data_type()) => ty,
            _ => SqlType::from_arrow(field.data_type()),
        }
    }

    /// The natural SQL type of an Arrow type: the one whose values it can hold. What PostgreSQL has no type for is text.
    pub fn from_arrow(data_type: &DataType) -> SqlType {
        match data_type {
            DataType::Null => SqlType::Void,
            DataType::Boolean => SqlType::Bool,
            DataType::Int8 | DataType::UInt8 | DataType::Int16 => SqlType::Int2,
            DataType::UInt16 | DataType::Int32 => SqlType::Int4,
            DataType::UInt32 | DataType::UInt64 | DataType::Int64 => SqlType::Int8,
            DataType::Float16 | DataType::Float32 => SqlType::Float4,
            DataType::Float64 => SqlType::Float8,
            DataType::Decimal32(precision, scale)
            | DataType::Decimal64(precision, scale)
            | DataType::Decimal128(precision, scale) => {
                SqlType::Numeric(u8::try_from(*scale).ok().map(|scale| NumericSize {
                    precision: *precision,
                    scale,
                }))
            }
            DataType::Decimal256(_, _) => SqlType::Numeric(None),
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => SqlType::Bytea,
            DataType::FixedSizeBinary(16) => SqlType::Uuid,
            DataType::FixedSizeBinary(_) => SqlType::Bytea,
            DataType::Date32 => SqlType::Date,
            DataType::Date64 | DataType::Timestamp(_, None) => SqlType::Timestamp,
            DataType::Timestamp(_, Some(_)) => SqlType::TimestampTz,
            DataType::Time32(_) | DataType::Time64(_) => SqlType::Time,
            DataType::Interval(_) | DataType::Duration(_) => SqlType::Interval,
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::FixedSizeList(item, _)
            | DataType::ListView(item)
            | DataType::LargeListView(item) => match SqlType::from_field(item) {
                nested @ SqlType::Array(_) => nested,
                element => SqlType::Array(Box::new(element)),
            },
            DataType::Dictionary(_, value) => SqlType::from_arrow(value),
            DataType::RunEndEncoded(_, value) => SqlType::from_field(value),
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Struct(_)
            | DataType::Union(_, _)
            | DataType::Map(_, _) => SqlType::Text,
        }
    }

    /// Integers, floats and numerics.
    pub fn is_number(&self) -> bool {
        self.is_integer() || matches!(self, SqlType::Float4 | SqlType::Float8 | SqlType::Numeric(_))
    }

    /// smallint, integer, bigint.
    pub fn is_integer(&self) -> bool {
        matches!(self, SqlType::Int2 | SqlType::Int4 | SqlType::Int8)
    }

    /// text, varchar, char, name, unknown.
    pub fn is_string(&self) -> bool {
        matches!(
            self,
            SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Name | SqlType::Unknown
        )
    }

    /// The kind of object whose oid it is: `regclass`, `regproc` …; `None` for any other type.
    pub fn object_kind(&self) -> Option<&'static str> {
        matches!(
            self,
            SqlType::Regclass
                | SqlType::Catalog(
                    CatalogType::Regproc
                        | CatalogType::Regtype
                        | CatalogType::Regnamespace
                        | CatalogType::Regrole
                )
        )
        .then(|| self.base_name())
    }

    /// What it leaves a query as: an oid that names an object leaves as the name. Any other type stays.
    pub fn leaving(&self) -> SqlType {
        match self {
            SqlType::Regclass => SqlType::Catalog(CatalogType::RegclassName),
            SqlType::Catalog(CatalogType::Regproc) => SqlType::Catalog(CatalogType::RegprocName),
            SqlType::Catalog(CatalogType::Regtype) => SqlType::Catalog(CatalogType::RegtypeName),
            SqlType::Catalog(CatalogType::Regnamespace) => SqlType::Catalog(CatalogType::RegnamespaceName),
            SqlType::Catalog(CatalogType::Regrole) => SqlType::Catalog(CatalogType::RegroleName),
            other => other.clone(),
        }
    }

    /// The row of [`TYPES`] of its family; an array's is its element's.
    pub fn type_row(&self) -> &'static TypeRow {
        let family = match self {
            SqlType::Array(element) => return element.type_row(),
            SqlType::Numeric(_) => &SqlType::Numeric(None),
            SqlType::Varchar(_) => &SqlType::Varchar(None),
            SqlType::Char(_) => &SqlType::Char(1),
            other => other,
        };
        TYPES
            .iter()
            .find(|row| row.ty == *family)
            .expect("every type has its row in TYPES")
    }

    /// The type with PostgreSQL's internal modifier, as [`SqlType::modifier`] answers it.
    fn with_modifier(&self, modifier: i32) -> SqlType {
        let size = match u32::try_from(modifier.saturating_sub(MODIFIER_HEADER)) {
            Ok(size @ 1..) => size,
            _ => return self.clone(),
        };
        match self {
            SqlType::Varchar(_) => SqlType::Varchar(Some(size)),
            SqlType::Char(_) => SqlType::Char(size),
            SqlType::Numeric(_) => {
                let (precision, scale) = ((size >> 16) as u8, (size & 0xFFFF) as u8);
                let fits = (1..=NUMERIC_PRECISION_MAX).contains(&precision) && scale <= precision;
                SqlType::Numeric(fits.then_some(NumericSize { precision, scale }))
            }
            other => other.clone(),
        }
    }

    /// The type with the modifiers that SQL text gives it.
    fn with_modifiers(&self, modifiers: &[i64]) -> Result<SqlType> {
        match (self, modifiers) {
            (_, []) => Ok(self.clone()),
            (SqlType::Varchar(_), [length]) => {
                character_length(*length, "varchar").map(|n| SqlType::Varchar(Some(n)))
            }
            (SqlType::Char(_), [length]) => character_length(*length, "char").map(SqlType::Char),
            (SqlType::Numeric(_), [precision]) => {
                numeric_size(*precision, 0).map(|size| SqlType::Numeric(Some(size)))
            }
            (SqlType::Numeric(_), [precision, scale]) => {
                numeric_size(*precision, *scale).map(|size| SqlType::Numeric(Some(size)))
            }
            (SqlType::Numeric(_) | SqlType::Varchar(_) | SqlType::Char(_), _) => {
                Err(invalid_modifier(format!(
                    "invalid {} type modifier",
                    self.type_row().catalog_name.to_uppercase()
                )))
            }
            (SqlType::Timestamp | SqlType::TimestampTz | SqlType::Time | SqlType::Interval, [precision]) => {
                if *precision < 0 {
                    let name = self.type_row().catalog_name.to_uppercase();
                    return Err(invalid_modifier(format!(
                        "{name}({precision}) precision must not be negative"
                    )));
                }
                Ok(self.clone())
            }
            _ => Err(Error::Syntax {
                message: format!(
                    "type modifier is not allowed for type \"{}\"",
                    self.type_row().catalog_name
                ),
                position: 0,
            }),
        }
    }

    /// Reads what [`SqlType::name`] writes.
    fn from_formatted(formatted: &str) -> Option<SqlType> {
        if let Some(element) = formatted.strip_suffix("[]") {
            return SqlType::from_formatted(element).map(|element| SqlType::Array(Box::new(element)));
        }
        let (name, modifiers) = match formatted.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
            Some((name, list)) => (
                name,
                list.split(',')
                    .map(|m| m.parse().ok())
                    .collect::<Option<Vec<i64>>>()?,
            ),
            None => (formatted, Vec::new()),
        };
        SqlType::from_name(name, &modifiers).ok().flatten()
    }
}

/// The type's name, as `format_type` prints it.
impl std::fmt::Display for SqlType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

fn list_of(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new(
        Field::LIST_FIELD_DEFAULT_NAME,
        element,
        true,
    )))
}

/// Whether two Arrow types carry the same values, however laid out.
fn same_carrier(declared: &DataType, found: &DataType) -> bool {
    match (declared, found) {
        (DataType::Utf8, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => true,
        (DataType::Binary, DataType::Binary | DataType::LargeBinary | DataType::BinaryView) => true,
        (DataType::List(declared), DataType::List(found) | DataType::LargeList(found)) => {
            same_carrier(declared.data_type(), found.data_type())
        }
        (declared, DataType::Dictionary(_, found)) => same_carrier(declared, found),
        (declared, found) => declared == found,
    }
}

fn invalid_modifier(message: String) -> Error {
    Error::InvalidParameter { message, hint: None }
}

fn character_length(length: i64, type_name: &str) -> Result<u32> {
    if length < 1 {
        return Err(invalid_modifier(format!(
            "length for type {type_name} must be at least 1"
        )));
    }
    u32::try_from(length)
        .ok()
        .filter(|length| *length <= CHARACTERS_MAX)
        .ok_or_else(|| {
            invalid_modifier(format!(
                "length for type {type_name} cannot exceed {CHARACTERS_MAX}"
            ))
        })
}

fn numeric_size(precision: i64, scale: i64) -> Result<NumericSize> {
    let precision = match u8::try_from(precision) {
        Ok(precision @ 1..=NUMERIC_PRECISION_MAX) => precision,
        _ => {
            let message =
                format!("NUMERIC precision {precision} must be between 1 and {NUMERIC_PRECISION_MAX}");
            return Err(invalid_modifier(message));
        }
    };
    match u8::try_from(scale) {
        Ok(scale) if scale <= precision => Ok(NumericSize { precision, scale }),
        _ => Err(invalid_modifier(format!(
            "NUMERIC scale {scale} must be between 0 and precision {precision}"
        ))),
    }
}

/// `float(n)`: n counts binary digits.
fn float_of_bits(modifiers: &[i64]) -> Result<SqlType> {
    match modifiers {
        [1..=24] => Ok(SqlType::Float4),
        [25..=53] => Ok(SqlType::Float8),
        [bits] if *bits < 1 => Err(invalid_modifier(
            "precision for type float must be at least 1 bit".to_string(),
        )),
        _ => Err(invalid_modifier(
            "precision for type float must be less than 54 bits".to_string(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, modifiers: &[i64]) -> SqlType {
        SqlType::from_name(name, modifiers).unwrap().unwrap()
    }

    #[test]
    fn names_and_aliases_of_postgresql_and_lindorm() {
        let cases: &[(&str, &[i64], &str)] = &[
            ("bool", &[], "boolean"),
            ("tinyint", &[], "smallint"),
            ("int", &[], "integer"),
            ("int4", &[], "integer"),
            ("int8", &[], "bigint"),
            ("double", &[], "double precision"),
            ("float", &[], "double precision"),
            ("float", &[24], "real"),
            ("decimal", &[10, 2], "numeric(10,2)"),
            ("dec", &[10], "numeric(10,0)"),
            ("numeric", &[], "numeric"),
            ("varchar", &[], "character varying"),
            ("varchar", &[10], "character varying(10)"),
            ("char", &[], "character(1)"),
            ("character", &[3], "character(3)"),
            ("\"char\"", &[], "\"char\""),
            ("varbinary", &[], "bytea"),
            ("timestamp", &[3], "timestamp without time zone"),
            ("timestamptz", &[], "timestamp with time zone"),
            ("varchar[]", &[10], "character varying(10)[]"),
            ("_int4", &[], "integer[]"),
            ("bpchar", &[], "text"),
        ];
        for (name, modifiers, expected) in cases {
            assert_eq!(named(name, modifiers).name(), *expected, "{name}{modifiers:?}");
        }
        assert_eq!(SqlType::from_name("geometry", &[]).unwrap(), None);
    }

    #[test]
    fn modifiers_out_of_range_are_refused_in_postgresqls_words() {
        let cases: &[(&str, &[i64], &str, &str)] = &[
            (
                "varchar",
                &[0],
                "22023",
                "length for type varchar must be at least 1",
            ),
            (
                "char",
                &[10_485_761],
                "22023",
                "length for type char cannot exceed 10485760",
            ),
            (
                "numeric",
                &[39],
                "22023",
                "NUMERIC precision 39 must be between 1 and 38",
            ),
            (
                "numeric",
                &[3, 4],
                "22023",
                "NUMERIC scale 4 must be between 0 and precision 3",
            ),
            ("numeric", &[3, 1, 1], "22023", "invalid NUMERIC type modifier"),
            (
                "float",
                &[54],
                "22023",
                "precision for type float must be less than 54 bits",
            ),
            (
                "int4",
                &[4],
                "42601",
                "type modifier is not allowed for type \"int4\"",
            ),
        ];
        for (name, modifiers, state, message) in cases {
            let error = SqlType::from_name(name, modifiers).unwrap_err();
            assert_eq!((error.sqlstate(), error.to_string().as_str()), (*state, *message));
        }
    }

    fn every_type() -> Vec<SqlType> {
        let mut types: Vec<SqlType> = TYPES.iter().map(|row| row.ty.clone()).collect();
        types.extend([
            SqlType::Varchar(Some(10)),
            SqlType::Char(7),
            SqlType::Numeric(Some(NumericSize {
                precision: 10,
                scale: 2,
            })),
            SqlType::Numeric(Some(NumericSize {
                precision: 38,
                scale: 38,
            })),
        ]);
        let arrays: Vec<SqlType> = types
            .iter()
            .filter(|ty| ty.type_row().array_oid != 0)
            .map(|ty| SqlType::Array(Box::new(ty.clone())))
            .collect();
        types.extend(arrays);
        types
    }

    #[test]
    fn fields_tell_every_type_apart() {
        for ty in every_type() {
            assert_eq!(SqlType::from_field(&ty.field("c", true)), ty);
        }
    }

    /// The type of objects whose names the type holds; both have one OID. Any other type stays.
    fn object_of(ty: &SqlType) -> SqlType {
        TYPES
            .iter()
            .map(|row| &row.ty)
            .find(|object| object.leaving() == *ty)
            .unwrap_or(ty)
            .clone()
    }

    #[test]
    fn oid_and_modifier_tell_every_type_apart() {
        for ty in every_type() {
            let expected = match &ty {
                SqlType::Unknown | SqlType::Void => SqlType::Text,
                SqlType::Array(element) => SqlType::Array(Box::new(object_of(element))),
                other => object_of(other),
            };
            assert_eq!(SqlType::from_oid(ty.oid(), ty.modifier()), Some(expected));
        }
        assert_eq!(SqlType::from_oid(0, -1), Some(SqlType::Unknown));
        assert_eq!(SqlType::from_oid(705, -1), Some(SqlType::Unknown));
        assert_eq!(SqlType::from_oid(1042, -1), Some(SqlType::Text));
        assert_eq!(SqlType::from_oid(1700, i32::MIN), Some(SqlType::Numeric(None)));
        assert_eq!(SqlType::from_oid(4_000_000, -1), None);
    }

    #[test]
    fn metadata_of_another_arrow_type_is_not_believed() {
        let cast = SqlType::Varchar(Some(3))
            .field("c", true)
            .with_data_type(DataType::Int32);
        assert_eq!(SqlType::from_field(&cast), SqlType::Int4);
        let view = SqlType::Varchar(Some(3))
            .field("c", true)
            .with_data_type(DataType::Utf8View);
        assert_eq!(SqlType::from_field(&view), SqlType::Varchar(Some(3)));
    }
}
