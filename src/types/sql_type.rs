//! `SqlType`: every type a column, parameter or result may have. Names and OIDs stand in `type_names`, the Arrow types
//! that carry them in `arrow_type`. Everybody uses it; it knows nothing of values.

/// The most digits a numeric column has.
pub const NUMERIC_PRECISION_MAX: u8 = 38;
/// Precision and scale of the Decimal256 that carries bare `numeric`: 38 digits on both sides of the point.
pub(super) const BARE_NUMERIC_PRECISION: u8 = 76;
/// See [`BARE_NUMERIC_PRECISION`].
pub(crate) const BARE_NUMERIC_SCALE: i8 = 38;
/// The longest varchar(n) and char(n), in characters; PostgreSQL's.
pub(super) const CHARACTERS_MAX: u32 = 10_485_760;

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

impl SqlType {
    /// The widest numeric with this many digits behind the point.
    pub(crate) fn numeric_of_scale(scale: u8) -> SqlType {
        SqlType::Numeric(Some(NumericSize {
            precision: NUMERIC_PRECISION_MAX,
            scale,
        }))
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

    /// What it leaves a query as: an oid that names an object leaves as the name. Any other type stays.
    pub fn output_type(&self) -> SqlType {
        match self {
            SqlType::Regclass => SqlType::Catalog(CatalogType::RegclassName),
            SqlType::Catalog(CatalogType::Regproc) => SqlType::Catalog(CatalogType::RegprocName),
            SqlType::Catalog(CatalogType::Regtype) => SqlType::Catalog(CatalogType::RegtypeName),
            SqlType::Catalog(CatalogType::Regnamespace) => SqlType::Catalog(CatalogType::RegnamespaceName),
            SqlType::Catalog(CatalogType::Regrole) => SqlType::Catalog(CatalogType::RegroleName),
            other => other.clone(),
        }
    }
}
