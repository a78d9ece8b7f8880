//! The one table of types: OIDs, names, aliases and widths are read from here and stand nowhere else. `sql_type` looks
//! types up in it; `pg_type` is made of it.

use super::{CatalogType, PackedKind, RangeKind, SqlType};

/// One type without modifiers, as `pg_type` describes it: a row of [`TYPES`].
#[derive(Debug)]
pub struct TypeRow {
    /// The type; varchar without a length, char(1) and bare numeric stand for their families.
    pub ty: SqlType,
    /// pg_type.oid.
    pub oid: u32,
    /// pg_type.typarray.
    pub array_oid: u32,
    /// pg_type.typname.
    pub catalog_name: &'static str,
    /// The name that `format_type` prints, without modifier.
    pub sql_name: &'static str,
    /// pg_type.typlen; -1 when the width varies.
    pub length: i16,
    /// Further names that SQL text may use.
    pub aliases: &'static [&'static str],
}

const fn row(
    ty: SqlType,
    oids: (u32, u32),
    catalog_name: &'static str,
    sql_name: &'static str,
    length: i16,
    aliases: &'static [&'static str],
) -> TypeRow {
    TypeRow {
        ty,
        oid: oids.0,
        array_oid: oids.1,
        catalog_name,
        sql_name,
        length,
        aliases,
    }
}

const fn catalog_row(
    ty: CatalogType,
    oids: (u32, u32),
    catalog_name: &'static str,
    sql_name: &'static str,
    length: i16,
) -> TypeRow {
    row(SqlType::Catalog(ty), oids, catalog_name, sql_name, length, &[])
}

const fn range_row(kind: RangeKind, oids: (u32, u32), name: &'static str) -> TypeRow {
    row(SqlType::Range(kind), oids, name, name, -1, &[])
}

const fn multirange_row(kind: RangeKind, oids: (u32, u32), name: &'static str) -> TypeRow {
    row(SqlType::Multirange(kind), oids, name, name, -1, &[])
}

/// The oids of citext and of arrays of it, as those of an extension's types are in PostgreSQL: drivers tell by them what is built in. The first
/// number of users' objects is nobody's, and none of them gets as far as the other.
const CITEXT_OIDS: (u32, u32) = (16_384, (1 << 30) - 1);
/// What stands on disk for them: they were these once, and are the same in every database.
const STORED_CITEXT_OIDS: (u32, u32) = (9210, 9211);

/// What stands for a type's oid in keys and records.
pub fn stored_type_oid(oid: u32) -> u32 {
    match oid {
        oid if oid == CITEXT_OIDS.0 => STORED_CITEXT_OIDS.0,
        oid if oid == CITEXT_OIDS.1 => STORED_CITEXT_OIDS.1,
        oid => oid,
    }
}

/// The type's oid that stands so in keys and records.
pub fn type_oid_of_stored(stored: u32) -> u32 {
    match stored {
        oid if oid == STORED_CITEXT_OIDS.0 => CITEXT_OIDS.0,
        oid if oid == STORED_CITEXT_OIDS.1 => CITEXT_OIDS.1,
        oid => oid,
    }
}

const fn packed_row(kind: PackedKind, oids: (u32, u32), length: i16) -> TypeRow {
    row(
        SqlType::Packed(kind),
        oids,
        kind.name(),
        kind.sql_name(),
        length,
        &[],
    )
}

/// What all enum types have in common; names and OIDs are each one's own.
pub(super) static ENUM: TypeRow = row(SqlType::Void, (3500, 0), "anyenum", "anyenum", 4, &[]);

/// What all row types have in common; names and OIDs are each one's own.
pub(super) static RECORD: TypeRow = row(SqlType::Void, (2249, 2287), "record", "record", -1, &[]);

/// Every type but the arrays, which are `array_oid` of their element. Lindorm's names stand among the aliases.
pub static TYPES: &[TypeRow] = &[
    row(SqlType::Bool, (16, 1000), "bool", "boolean", 1, &[]),
    row(
        SqlType::Bytea,
        (17, 1001),
        "bytea",
        "bytea",
        -1,
        &["varbinary", "binary"],
    ),
    row(SqlType::InternalChar, (18, 1002), "char", "\"char\"", 1, &[]),
    row(SqlType::Name, (19, 1003), "name", "name", 64, &[]),
    row(SqlType::Int8, (20, 1016), "int8", "bigint", 8, &[]),
    row(SqlType::Int2, (21, 1005), "int2", "smallint", 2, &["tinyint"]),
    row(
        SqlType::Int2Vector,
        (22, 1006),
        "int2vector",
        "int2vector",
        -1,
        &[],
    ),
    row(SqlType::Int4, (23, 1007), "int4", "integer", 4, &["int"]),
    row(SqlType::Text, (25, 1009), "text", "text", -1, &[]),
    row(SqlType::Oid, (26, 1028), "oid", "oid", 4, &[]),
    row(SqlType::Json, (114, 199), "json", "json", -1, &[]),
    row(SqlType::Float4, (700, 1021), "float4", "real", 4, &[]),
    row(
        SqlType::Float8,
        (701, 1022),
        "float8",
        "double precision",
        8,
        &["double", "float"],
    ),
    row(SqlType::Unknown, (705, 0), "unknown", "unknown", -2, &[]),
    row(
        SqlType::Char(Some(1)),
        (1042, 1014),
        "bpchar",
        "character",
        -1,
        &["nchar", "national character", "national char"],
    ),
    row(
        SqlType::Varchar(None),
        (1043, 1015),
        "varchar",
        "character varying",
        -1,
        VARCHAR_ALIASES,
    ),
    row(SqlType::Citext, CITEXT_OIDS, "citext", "citext", -1, &[]),
    row(SqlType::Bit(None), (1560, 1561), "bit", "bit", -1, &[]),
    row(
        SqlType::VarBit(None),
        (1562, 1563),
        "varbit",
        "bit varying",
        -1,
        &[],
    ),
    row(SqlType::Date, (1082, 1182), "date", "date", 4, &[]),
    row(
        SqlType::Time(None),
        (1083, 1183),
        "time",
        "time without time zone",
        8,
        &[],
    ),
    row(
        SqlType::Timestamp(None),
        (1114, 1115),
        "timestamp",
        "timestamp without time zone",
        8,
        &[],
    ),
    row(
        SqlType::TimestampTz(None),
        (1184, 1185),
        "timestamptz",
        "timestamp with time zone",
        8,
        &[],
    ),
    row(
        SqlType::Interval(None),
        (1186, 1187),
        "interval",
        "interval",
        16,
        &[],
    ),
    row(
        SqlType::Numeric(None),
        (1700, 1231),
        "numeric",
        "numeric",
        -1,
        &["decimal", "dec"],
    ),
    row(SqlType::Regclass, (2205, 2210), "regclass", "regclass", 4, &[]),
    catalog_row(CatalogType::Regproc, (24, 1008), "regproc", "regproc", 4),
    catalog_row(
        CatalogType::Regprocedure,
        (2202, 2207),
        "regprocedure",
        "regprocedure",
        4,
    ),
    catalog_row(CatalogType::Regoper, (2203, 2208), "regoper", "regoper", 4),
    catalog_row(
        CatalogType::Regoperator,
        (2204, 2209),
        "regoperator",
        "regoperator",
        4,
    ),
    catalog_row(CatalogType::Regtype, (2206, 2211), "regtype", "regtype", 4),
    catalog_row(
        CatalogType::Regnamespace,
        (4089, 4090),
        "regnamespace",
        "regnamespace",
        4,
    ),
    catalog_row(CatalogType::Regrole, (4096, 4097), "regrole", "regrole", 4),
    catalog_row(
        CatalogType::Regcollation,
        (4191, 4192),
        "regcollation",
        "regcollation",
        4,
    ),
    catalog_row(
        CatalogType::RegcollationName,
        (4191, 4192),
        "regcollation",
        "regcollation name",
        4,
    ),
    catalog_row(
        CatalogType::RegroleName,
        (4096, 4097),
        "regrole",
        "regrole name",
        4,
    ),
    catalog_row(
        CatalogType::RegclassName,
        (2205, 2210),
        "regclass",
        "regclass name",
        4,
    ),
    catalog_row(CatalogType::RegprocName, (24, 1008), "regproc", "regproc name", 4),
    catalog_row(
        CatalogType::RegprocedureName,
        (2202, 2207),
        "regprocedure",
        "regprocedure name",
        4,
    ),
    catalog_row(
        CatalogType::RegoperName,
        (2203, 2208),
        "regoper",
        "regoper name",
        4,
    ),
    catalog_row(
        CatalogType::RegoperatorName,
        (2204, 2209),
        "regoperator",
        "regoperator name",
        4,
    ),
    catalog_row(
        CatalogType::RegtypeName,
        (2206, 2211),
        "regtype",
        "regtype name",
        4,
    ),
    catalog_row(
        CatalogType::RegnamespaceName,
        (4089, 4090),
        "regnamespace",
        "regnamespace name",
        4,
    ),
    catalog_row(CatalogType::Tid, (27, 1010), "tid", "tid", 6),
    catalog_row(CatalogType::Cid, (29, 1012), "cid", "cid", 4),
    catalog_row(CatalogType::Xid, (28, 1011), "xid", "xid", 4),
    catalog_row(CatalogType::Xid8, (5069, 271), "xid8", "xid8", 8),
    catalog_row(
        CatalogType::PgSnapshot,
        (5038, 5039),
        "pg_snapshot",
        "pg_snapshot",
        -1,
    ),
    catalog_row(
        CatalogType::TxidSnapshot,
        (2970, 2949),
        "txid_snapshot",
        "txid_snapshot",
        -1,
    ),
    catalog_row(CatalogType::OidVector, (30, 1013), "oidvector", "oidvector", -1),
    catalog_row(CatalogType::Aclitem, (1033, 1034), "aclitem", "aclitem", 12),
    catalog_row(
        CatalogType::NodeTree,
        (194, 0),
        "pg_node_tree",
        "pg_node_tree",
        -1,
    ),
    catalog_row(CatalogType::JsonPath, (4072, 4073), "jsonpath", "jsonpath", -1),
    catalog_row(CatalogType::Regconfig, (3734, 3735), "regconfig", "regconfig", 4),
    catalog_row(
        CatalogType::Regdictionary,
        (3769, 3770),
        "regdictionary",
        "regdictionary",
        4,
    ),
    catalog_row(CatalogType::Refcursor, (1790, 2201), "refcursor", "refcursor", -1),
    catalog_row(CatalogType::PgLsn, (3220, 3221), "pg_lsn", "pg_lsn", 8),
    packed_row(PackedKind::Inet, (869, 1041), -1),
    packed_row(PackedKind::Cidr, (650, 651), -1),
    packed_row(PackedKind::MacAddr, (829, 1040), 6),
    packed_row(PackedKind::MacAddr8, (774, 775), 8),
    packed_row(PackedKind::TimeTz(None), (1266, 1270), 12),
    catalog_row(CatalogType::AnyArray, (2277, 0), "anyarray", "anyarray", -1),
    catalog_row(CatalogType::Record, (2249, 2287), "record", "record", -1),
    catalog_row(CatalogType::Void, (2278, 0), "void", "void", 4),
    row(SqlType::Void, (2278, 0), "void", "void", 4, &[]),
    range_row(RangeKind::Int4, (3904, 3905), "int4range"),
    multirange_row(RangeKind::Int4, (4451, 6150), "int4multirange"),
    range_row(RangeKind::Numeric, (3906, 3907), "numrange"),
    multirange_row(RangeKind::Numeric, (4532, 6151), "nummultirange"),
    range_row(RangeKind::Timestamp, (3908, 3909), "tsrange"),
    multirange_row(RangeKind::Timestamp, (4533, 6152), "tsmultirange"),
    range_row(RangeKind::TimestampTz, (3910, 3911), "tstzrange"),
    multirange_row(RangeKind::TimestampTz, (4534, 6153), "tstzmultirange"),
    range_row(RangeKind::Date, (3912, 3913), "daterange"),
    multirange_row(RangeKind::Date, (4535, 6155), "datemultirange"),
    range_row(RangeKind::Int8, (3926, 3927), "int8range"),
    multirange_row(RangeKind::Int8, (4536, 6157), "int8multirange"),
    row(SqlType::Money, (790, 791), "money", "money", 8, &[]),
    row(SqlType::Uuid, (2950, 2951), "uuid", "uuid", 16, &[]),
    row(SqlType::TsVector, (3614, 3643), "tsvector", "tsvector", -1, &[]),
    row(SqlType::TsQuery, (3615, 3645), "tsquery", "tsquery", -1, &[]),
    row(SqlType::Jsonb, (3802, 3807), "jsonb", "jsonb", -1, &[]),
];

const VARCHAR_ALIASES: &[&str] = &[
    "char varying",
    "nchar varying",
    "national character varying",
    "national char varying",
];
