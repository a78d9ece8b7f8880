//! What PostgreSQL calls a type: names, OIDs and modifiers of a `SqlType`, and the type that each of them means. All are
//! read from the one table (`type_table`). Everybody asks it; it knows nothing of values and of Arrow.

use std::collections::HashMap;
use std::mem::{Discriminant, discriminant};
use std::sync::LazyLock;

use super::sql_type::SECOND_DIGITS_MAX;
use super::type_modifiers::{bit_length, character_length, float_of_bits, invalid_modifier, numeric_size};
use super::type_table::{ENUM, RECORD, TYPES, TypeRow};
use super::{CatalogType, IntervalField, IntervalRange, IntervalSize, PackedKind, SqlType};
use crate::{Error, Result};

/// Bytes of the header that PostgreSQL counts into the modifiers of varchar, char and numeric.
const MODIFIER_HEADER: i32 = 4;

/// The bits of a numeric's modifier that hold its scale, with its sign.
const SCALE_BITS: i32 = 0x7FF;
const SCALE_SIGN: i32 = 0x400;

/// In an interval's modifier: no field is cut off.
const ALL_FIELDS: i32 = 0x7FFF;
/// In an interval's modifier: nothing is rounded.
const ALL_DIGITS: i32 = 0xFFFF;

/// The OID that undecided and missing types are sent with.
const TEXT_OID: u32 = 25;
/// PostgreSQL's OID of void, as which a client declares a parameter that holds the place of an OUT parameter.
pub const VOID_OID: u32 = 2278;
/// The OID of char(n).
const BPCHAR_OID: u32 = 1042;

/// For each kind of type the first of its rows in [`TYPES`]: every column of every result is asked for its row.
static FIRST_ROWS: LazyLock<HashMap<Discriminant<SqlType>, usize>> = LazyLock::new(|| {
    // From the last row on, so that the first of a kind is what stays.
    let rows = TYPES.iter().enumerate().rev();
    rows.map(|(at, row)| (discriminant(&row.ty), at)).collect()
});

impl SqlType {
    /// PostgreSQL's OID of the type. Unknown and Void answer text's, because that is what clients are told.
    pub fn oid(&self) -> u32 {
        match self {
            SqlType::Array(element) => match &**element {
                SqlType::Enum(ty) => ty.array_oid,
                SqlType::Record(ty) => ty.array_oid,
                element => element.type_row().array_oid,
            },
            SqlType::Enum(ty) => ty.oid,
            SqlType::Record(ty) => ty.oid,
            SqlType::Unknown | SqlType::Void => TEXT_OID,
            other => other.type_row().oid,
        }
    }

    /// The type modifier of RowDescription and pg_attribute.atttypmod; -1 when there is none.
    pub fn modifier(&self) -> i32 {
        match self {
            SqlType::Varchar(Some(length)) | SqlType::Char(Some(length)) => {
                i32::try_from(*length).map_or(-1, |length| length + MODIFIER_HEADER)
            }
            SqlType::Numeric(Some(size)) => {
                ((i32::from(size.precision) << 16) | (i32::from(size.scale) & SCALE_BITS)) + MODIFIER_HEADER
            }
            SqlType::Bit(Some(length)) | SqlType::VarBit(Some(length)) => {
                i32::try_from(*length).unwrap_or(-1)
            }
            SqlType::Time(Some(digits))
            | SqlType::Timestamp(Some(digits))
            | SqlType::TimestampTz(Some(digits))
            | SqlType::Packed(PackedKind::TimeTz(Some(digits))) => i32::from(*digits),
            SqlType::Interval(Some(size)) => {
                let fields = size.fields.map_or(ALL_FIELDS, IntervalRange::bits);
                (fields << 16) | size.digits.map_or(ALL_DIGITS, i32::from)
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
            SqlType::Enum(ty) => ty.quoted_name(),
            SqlType::Record(ty) => ty.quoted_name(),
            SqlType::Varchar(Some(length))
            | SqlType::Char(Some(length))
            | SqlType::Bit(Some(length))
            | SqlType::VarBit(Some(length)) => format!("{base}({length})"),
            // Without the quotes it is one bit.
            SqlType::Bit(None) => "\"bit\"".to_string(),
            SqlType::Char(None) => "bpchar".to_string(),
            SqlType::Numeric(Some(size)) => format!("{base}({},{})", size.precision, size.scale),
            SqlType::Time(Some(digits))
            | SqlType::Timestamp(Some(digits))
            | SqlType::TimestampTz(Some(digits))
            | SqlType::Packed(PackedKind::TimeTz(Some(digits))) => {
                // `timestamp(3) without time zone`
                let (word, zone) = base.split_once(' ').unwrap_or((base, ""));
                format!("{word}({digits}) {zone}")
            }
            SqlType::Interval(Some(size)) => {
                let fields = size
                    .fields
                    .map_or_else(String::new, |fields| format!(" {}", fields.name()));
                let digits = size
                    .digits
                    .map_or_else(String::new, |digits| format!("({digits})"));
                format!("{base}{fields}{digits}")
            }
            _ => base.to_string(),
        }
    }

    /// The name without modifier, as PostgreSQL's conversion errors give it: `numeric`, `character varying`. For an
    /// array it is its element's.
    pub fn base_name(&self) -> &str {
        match self {
            SqlType::Array(element) => element.base_name(),
            SqlType::Enum(ty) => &ty.name,
            SqlType::Record(ty) => &ty.name,
            other => other.type_row().sql_name,
        }
    }

    /// The name without modifier, `[]` included: how PostgreSQL names types in `column … is of type …`.
    pub fn full_base_name(&self) -> String {
        match self {
            SqlType::Array(element) => format!("{}[]", element.full_base_name()),
            SqlType::Enum(ty) => ty.quoted_name(),
            SqlType::Record(ty) => ty.quoted_name(),
            other => other.base_name().to_string(),
        }
    }

    /// pg_type.typname: `int4`, `varchar`, `_text`.
    pub fn catalog_name(&self) -> String {
        match self {
            SqlType::Array(element) => format!("_{}", element.catalog_name()),
            SqlType::Enum(ty) => ty.name.clone(),
            SqlType::Record(ty) => ty.name.clone(),
            other => other.type_row().catalog_name.to_string(),
        }
    }

    /// The kind of object whose oid it is: `regclass`, `regproc` …; `None` for any other type.
    pub fn object_kind(&self) -> Option<&str> {
        matches!(
            self,
            SqlType::Regclass
                | SqlType::Catalog(
                    CatalogType::Regproc
                        | CatalogType::Regprocedure
                        | CatalogType::Regoper
                        | CatalogType::Regoperator
                        | CatalogType::Regtype
                        | CatalogType::Regnamespace
                        | CatalogType::Regrole
                        | CatalogType::Regcollation
                )
        )
        .then(|| self.base_name())
    }

    /// Whether its values, or the items of them, are oids that stand for objects: such values are written as names, which are looked up.
    pub fn names_objects(&self) -> bool {
        self.innermost().object_kind().is_some()
    }

    /// The type of the objects whose names it is of, with the same oid: what [`SqlType::output_type`] makes of it is this one. Any other type
    /// stays.
    pub fn object_type(&self) -> SqlType {
        match self {
            SqlType::Array(item) => item.map(SqlType::object_type),
            SqlType::Catalog(kind) if kind.is_name_of_object() => {
                let mut types = TYPES.iter().map(|row| &row.ty);
                let object = types.find(|ty| ty.output_type() == *self);
                object.unwrap_or(self).clone()
            }
            other => other.clone(),
        }
    }

    /// The type with this OID and modifier (as clients give them in Parse), if we have it.
    pub fn from_oid(oid: u32, modifier: i32) -> Option<SqlType> {
        if oid == 0 {
            return Some(SqlType::Unknown);
        }
        let row = TYPES.iter().find(|row| row.oid == oid || row.array_oid == oid)?;
        let element = row.ty.with_modifier(modifier);
        Some(if row.oid == oid {
            element
        } else {
            SqlType::array(element)
        })
    }

    /// The type that a name in SQL text means, any alias of PostgreSQL's and Lindorm's (`int`, `varchar`, `double`,
    /// `tinyint`, `varbinary`, `decimal` …), lower case, with its modifiers: `from_name("varchar", &[10])`; a trailing
    /// `[]` or a leading `_` makes an array, each a dimension. `None`: unknown. More digits behind the second than six are six.
    /// Errors: 22023 for a modifier out of range, 42601 where the type takes none.
    pub fn from_name(name: &str, modifiers: &[i64]) -> Result<Option<SqlType>> {
        let found = SqlType::named(name, modifiers)?;
        Ok(found.filter(|ty| !ty.innermost().is_of_extension()))
    }

    /// The same, the types of extensions too, which are no type's names where nobody asked for the extension.
    fn named(name: &str, modifiers: &[i64]) -> Result<Option<SqlType>> {
        let name = name.trim();
        if let Some(element) = name.strip_suffix("[]").or_else(|| name.strip_prefix('_')) {
            let element = SqlType::named(element, modifiers)?;
            return Ok(element.map(SqlType::array));
        }
        if let Some(fields) = name.strip_prefix("interval ") {
            return match IntervalRange::from_name(fields) {
                Some(fields) => interval_of_fields(fields, modifiers).map(Some),
                None => Ok(None),
            };
        }
        match name {
            "char" => return SqlType::Char(Some(1)).with_modifiers(modifiers).map(Some),
            "bit" if modifiers.is_empty() => return Ok(Some(SqlType::Bit(Some(1)))),
            "\"bit\"" => return SqlType::Bit(None).with_modifiers(modifiers).map(Some),
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
                Ok(Some(SqlType::Char(None)))
            }
            Some(row) => row.ty.with_modifiers(modifiers).map(Some),
            None => Ok(None),
        }
    }

    /// The row of [`TYPES`] of its family; an array's is its element's.
    pub fn type_row(&self) -> &'static TypeRow {
        let family = match self {
            SqlType::Array(element) => return element.type_row(),
            SqlType::Enum(_) => return &ENUM,
            SqlType::Record(_) => return &RECORD,
            SqlType::Numeric(_) => &SqlType::Numeric(None),
            SqlType::Varchar(_) => &SqlType::Varchar(None),
            SqlType::Char(_) => &SqlType::Char(Some(1)),
            SqlType::Bit(_) => &SqlType::Bit(None),
            SqlType::VarBit(_) => &SqlType::VarBit(None),
            SqlType::Time(_) => &SqlType::Time(None),
            SqlType::Timestamp(_) => &SqlType::Timestamp(None),
            SqlType::TimestampTz(_) => &SqlType::TimestampTz(None),
            SqlType::Interval(_) => &SqlType::Interval(None),
            SqlType::Packed(PackedKind::TimeTz(_)) => &SqlType::Packed(PackedKind::TimeTz(None)),
            other => other,
        };
        let first = FIRST_ROWS.get(&discriminant(family)).copied().unwrap_or_default();
        TYPES[first..]
            .iter()
            .find(|row| row.ty == *family)
            .expect("every type has its row in TYPES")
    }

    /// The type with PostgreSQL's internal modifier, as [`SqlType::modifier`] answers it.
    fn with_modifier(&self, modifier: i32) -> SqlType {
        let digits = || {
            u8::try_from(modifier)
                .ok()
                .filter(|digits| *digits <= SECOND_DIGITS_MAX)
        };
        match self {
            SqlType::Time(_) => return SqlType::Time(digits()),
            SqlType::Timestamp(_) => return SqlType::Timestamp(digits()),
            SqlType::TimestampTz(_) => return SqlType::TimestampTz(digits()),
            SqlType::Packed(PackedKind::TimeTz(_)) => return SqlType::Packed(PackedKind::TimeTz(digits())),
            SqlType::Bit(_) => return SqlType::Bit(u32::try_from(modifier).ok()),
            SqlType::VarBit(_) => return SqlType::VarBit(u32::try_from(modifier).ok()),
            SqlType::Interval(_) if modifier < 0 => return self.clone(),
            SqlType::Interval(_) => {
                let digits = u8::try_from(modifier & ALL_DIGITS).ok();
                return interval(IntervalRange::from_bits(modifier >> 16), digits);
            }
            _ => {}
        }
        let size = match u32::try_from(modifier.saturating_sub(MODIFIER_HEADER)) {
            Ok(size @ 1..) => size,
            _ if matches!(self, SqlType::Char(_)) => return SqlType::Char(None),
            _ => return self.clone(),
        };
        match self {
            SqlType::Varchar(_) => SqlType::Varchar(Some(size)),
            SqlType::Char(_) => SqlType::Char(Some(size)),
            SqlType::Numeric(_) => {
                let scale = ((size as i32 & SCALE_BITS) ^ SCALE_SIGN) - SCALE_SIGN;
                SqlType::Numeric(numeric_size(i64::from(size >> 16), i64::from(scale)).ok())
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
            (SqlType::Char(_), [length]) => character_length(*length, "char").map(|n| SqlType::Char(Some(n))),
            (SqlType::Bit(_), [length]) => bit_length(*length, "bit").map(|n| SqlType::Bit(Some(n))),
            (SqlType::VarBit(_), [length]) => bit_length(*length, "varbit").map(|n| SqlType::VarBit(Some(n))),
            (SqlType::Bit(_) | SqlType::VarBit(_), _) => {
                Err(invalid_modifier("invalid type modifier".to_string()))
            }
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
            (SqlType::Time(_), [digits]) => self.second_digits(*digits).map(|n| SqlType::Time(Some(n))),
            (SqlType::Timestamp(_), [digits]) => {
                self.second_digits(*digits).map(|n| SqlType::Timestamp(Some(n)))
            }
            (SqlType::TimestampTz(_), [digits]) => {
                self.second_digits(*digits).map(|n| SqlType::TimestampTz(Some(n)))
            }
            (SqlType::Packed(PackedKind::TimeTz(_)), [digits]) => self
                .second_digits(*digits)
                .map(|n| SqlType::Packed(PackedKind::TimeTz(Some(n)))),
            (SqlType::Interval(_), [digits]) => self.second_digits(*digits).map(|n| interval(None, Some(n))),
            (
                SqlType::Time(_)
                | SqlType::Timestamp(_)
                | SqlType::TimestampTz(_)
                | SqlType::Interval(_)
                | SqlType::Packed(PackedKind::TimeTz(_)),
                _,
            ) => Err(invalid_modifier("invalid type modifier".to_string())),
            _ => Err(Error::Syntax {
                message: format!(
                    "type modifier is not allowed for type \"{}\"",
                    self.type_row().catalog_name
                ),
                position: 0,
            }),
        }
    }

    /// The digits behind the second that SQL text asks for; too many are the most there are. Errors: 22023.
    fn second_digits(&self, digits: i64) -> Result<u8> {
        let (word, zone) = second_digits_name(self);
        if digits < 0 {
            return Err(invalid_modifier(format!(
                "{word}({digits}){zone} precision must not be negative"
            )));
        }
        Ok(u8::try_from(digits).map_or(SECOND_DIGITS_MAX, |digits| digits.min(SECOND_DIGITS_MAX)))
    }

    /// What a type that is written with so many digits behind the second is warned of; `None` when it has them.
    pub(crate) fn reduced_digits(&self, digits: u64) -> Option<String> {
        let is_too_many = digits > u64::from(SECOND_DIGITS_MAX);
        let (word, zone) = second_digits_name(self);
        is_too_many.then(|| {
            format!("{word}({digits}){zone} precision reduced to maximum allowed, {SECOND_DIGITS_MAX}")
        })
    }

    /// Reads what [`SqlType::name`] writes, or any other name with its modifiers in parentheses; the types of extensions too. Errors as
    /// [`SqlType::from_name`].
    pub fn from_formatted(text: &str) -> Result<Option<SqlType>> {
        let inside = text
            .find('(')
            .zip(text.find(')'))
            .filter(|(open, close)| open < close);
        let Some((open, close)) = inside else {
            return SqlType::named(text, &[]);
        };
        let modifiers = text[open + 1..close].split(',');
        let modifiers: Option<Vec<i64>> = modifiers.map(|modifier| modifier.trim().parse().ok()).collect();
        match modifiers {
            Some(modifiers) => {
                let name = format!("{}{}", text[..open].trim_end(), &text[close + 1..]);
                SqlType::named(&name, &modifiers)
            }
            None => Ok(None),
        }
    }
}

/// The type's name, as `format_type` prints it.
impl std::fmt::Display for SqlType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name())
    }
}

/// An interval of these fields, with so many digits behind the second.
fn interval(fields: Option<IntervalRange>, digits: Option<u8>) -> SqlType {
    let keeps_all = fields.is_none() && digits.is_none();
    SqlType::Interval((!keeps_all).then_some(IntervalSize { fields, digits }))
}

/// `interval day to second(3)`. Errors: 22023, 42601 for digits of fields without seconds.
fn interval_of_fields(fields: IntervalRange, modifiers: &[i64]) -> Result<SqlType> {
    match modifiers {
        [] => Ok(interval(Some(fields), None)),
        [digits] if fields.last == IntervalField::Second => {
            let digits = SqlType::Interval(None).second_digits(*digits)?;
            Ok(interval(Some(fields), Some(digits)))
        }
        _ => Err(Error::Syntax {
            message: "syntax error at or near \"(\"".to_string(),
            position: 0,
        }),
    }
}

/// What messages about digits behind the second call the type, before the digits and behind them.
fn second_digits_name(ty: &SqlType) -> (&'static str, &'static str) {
    match ty {
        SqlType::Time(_) => ("TIME", ""),
        SqlType::Packed(_) => ("TIME", " WITH TIME ZONE"),
        SqlType::TimestampTz(_) => ("TIMESTAMP", " WITH TIME ZONE"),
        SqlType::Interval(_) => ("INTERVAL", ""),
        _ => ("TIMESTAMP", ""),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::types::NumericSize;

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
            ("timestamp", &[3], "timestamp(3) without time zone"),
            ("timestamptz", &[7], "timestamp(6) with time zone"),
            ("time", &[0], "time(0) without time zone"),
            ("interval", &[3], "interval(3)"),
            ("interval year to month", &[], "interval year to month"),
            ("interval day to second", &[2], "interval day to second(2)"),
            ("timestamptz", &[], "timestamp with time zone"),
            ("varchar[]", &[10], "character varying(10)[]"),
            ("_int4", &[], "integer[]"),
            ("bpchar", &[], "bpchar"),
            ("bpchar", &[5], "character(5)"),
            ("bit", &[], "bit(1)"),
            ("bit", &[4], "bit(4)"),
            ("\"bit\"", &[], "\"bit\""),
            ("varbit", &[], "bit varying"),
            ("bit varying", &[8], "bit varying(8)"),
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
                &[1001],
                "22023",
                "NUMERIC precision 1001 must be between 1 and 1000",
            ),
            (
                "numeric",
                &[3, 1001],
                "22023",
                "NUMERIC scale 1001 must be between -1000 and 1000",
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

    /// Each type of the table, some with modifiers, and its array.
    pub(in crate::types) fn every_type() -> Vec<SqlType> {
        let mut types: Vec<SqlType> = TYPES.iter().map(|row| row.ty.clone()).collect();
        types.extend([
            SqlType::Varchar(Some(10)),
            SqlType::Char(Some(7)),
            SqlType::Char(None),
            SqlType::Bit(Some(3)),
            SqlType::VarBit(Some(8)),
            SqlType::numeric(10, 2),
            SqlType::numeric(38, 38),
            SqlType::numeric(1_000, 1_000),
            SqlType::numeric(3, 5),
            SqlType::Numeric(Some(NumericSize {
                precision: 5,
                scale: -2,
            })),
        ]);
        let arrays: Vec<SqlType> = types
            .iter()
            .filter(|ty| ty.type_row().array_oid != 0)
            .map(|ty| SqlType::array(ty.clone()))
            .collect();
        types.extend(arrays);
        types
    }

    #[test]
    fn oid_and_modifier_tell_every_type_apart() {
        for ty in every_type() {
            let expected = match &ty {
                SqlType::Unknown | SqlType::Void => SqlType::Text,
                SqlType::Array(element) => SqlType::array(SqlType::object_type(element)),
                other => SqlType::object_type(other),
            };
            assert_eq!(SqlType::from_oid(ty.oid(), ty.modifier()), Some(expected));
        }
        assert_eq!(SqlType::from_oid(0, -1), Some(SqlType::Unknown));
        assert_eq!(SqlType::from_oid(705, -1), Some(SqlType::Unknown));
        assert_eq!(SqlType::from_oid(1042, -1), Some(SqlType::Char(None)));
        assert_eq!(SqlType::from_oid(1700, i32::MIN), Some(SqlType::Numeric(None)));
        assert_eq!(SqlType::from_oid(4_000_000, -1), None);
    }
}
