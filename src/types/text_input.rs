//! Text → `Value`, one function a type, as PostgreSQL's input functions read it. `Value::parse` for everybody.

use super::TransactionSnapshot;
use super::datetime_decoder::SessionClock;
use super::json_path::JsonPath;
use super::money;
use super::spaces::is_space;
use super::text_search::{TsQuery, TsVector, configuration_name, dictionary_name};
use super::tid;
use super::{
    CatalogType, EnumValue, FormatSettings, Interval, Numeric, PackedValue, SqlType, Value, array, bits,
    datetime_input, floats, json, precision, range_text, record_input, strings,
};
use crate::{Error, Result};

impl Value {
    /// Reads the text form of `ty`, as PostgreSQL's input functions do with the type's modifier: numeric(p,s) rounds,
    /// timestamp(p) too, varchar(n) checks its length, char(n) is padded. A constant to *compare* a column with must not be changed so:
    /// read it as [`SqlType::comparison_type`]. Errors: 22P02, 22007, 22008, 22003, 22001.
    #[expect(clippy::too_many_lines, reason = "an arm a type")]
    pub fn parse(text: &str, ty: &SqlType, settings: &FormatSettings) -> Result<Value> {
        let order = settings.date_style.order;
        let clock = SessionClock {
            zone: settings.time_zone,
            now_us: settings.now_us,
        };
        let value = match ty {
            SqlType::Bool => Value::Bool(parse_bool(text)?),
            SqlType::Int2 => Value::Int(parse_signed(text, ty, i64::from(i16::MIN), i64::from(i16::MAX))?),
            SqlType::Int4 => Value::Int(parse_signed(text, ty, i64::from(i32::MIN), i64::from(i32::MAX))?),
            SqlType::Int8 => Value::Int(parse_signed(text, ty, i64::MIN, i64::MAX)?),
            SqlType::Catalog(CatalogType::OidVector) => {
                let elements = text.split(is_space).filter(|element| !element.is_empty());
                let oids = elements.map(|element| Value::parse(element, &SqlType::Oid, settings));
                Value::Array(oids.collect::<Result<_>>()?)
            }
            SqlType::Catalog(CatalogType::JsonPath) => {
                Value::Text(JsonPath::parse(&strings::checked(text)?)?.to_string())
            }
            SqlType::Catalog(CatalogType::Regconfig) => Value::Text(configuration_name(text)?.to_string()),
            SqlType::Catalog(CatalogType::Regdictionary) => Value::Text(dictionary_name(text)?.to_string()),
            SqlType::Catalog(CatalogType::Record) => return Err(record_input::of_no_type()),
            SqlType::Catalog(CatalogType::PgSnapshot | CatalogType::TxidSnapshot) => {
                Value::Text(TransactionSnapshot::parse(text, &ty.to_string())?.to_string())
            }
            SqlType::Catalog(CatalogType::Tid) => Value::Int(tid::parse(text)?),
            SqlType::Catalog(CatalogType::PgLsn) => Value::Int(super::lsn::parse(text)?),
            SqlType::Catalog(CatalogType::Xid) => Value::Int(unsigned(text) as i64 & i64::from(u32::MAX)),
            SqlType::Catalog(CatalogType::Xid8) => match i64::try_from(unsigned(text)) {
                Ok(number) => Value::Int(number),
                Err(_) => return Err(integer_out_of_range(text, ty)),
            },
            SqlType::Catalog(_) if ty.arrow_type() != arrow::datatypes::DataType::Int64 => {
                Value::Text(strings::checked(text)?)
            }
            SqlType::Oid | SqlType::Catalog(_) => {
                Value::Int(parse_integer(text, ty, i64::from(i32::MIN), i64::from(u32::MAX))? & 0xFFFF_FFFF)
            }
            SqlType::Regclass => Value::Int(parse_regclass(text)?),
            SqlType::Float4 => Value::Float4(floats::parse_f32(text)?),
            SqlType::Float8 => Value::Float8(floats::parse_f64(text)?),
            SqlType::Numeric(Some(size)) => {
                // Rounded at once, so that no number of written digits is too many.
                let rounded = Numeric::parse_rounded(text, size.scale);
                return rounded
                    .and_then(|number| number.fit(Some(*size)))
                    .map(Value::Numeric)
                    .map_err(|error| match error {
                        Error::NumericOutOfRange { detail: None, .. } => {
                            super::numeric::field_overflow(*size)
                        }
                        error => error,
                    });
            }
            SqlType::Money => Value::Money(money::parse(text)?),
            SqlType::Numeric(None) => Value::Numeric(Numeric::parse(text)?),
            SqlType::Text | SqlType::Citext => Value::Text(strings::checked(text)?),
            SqlType::Unknown | SqlType::Void => Value::Unknown(strings::checked(text)?),
            SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Name | SqlType::InternalChar => {
                Value::Text(strings::fit(strings::checked(text)?, ty)?)
            }
            SqlType::Bit(_) | SqlType::VarBit(_) => Value::Text(bits::fit(bits::parse(text)?, ty)?),
            SqlType::Bytea => Value::Bytes(parse_bytea(text)?),
            SqlType::Date => Value::Date(datetime_input::parse_date(text, clock, order)?),
            SqlType::Time(_) => Value::Time(datetime_input::parse_time(text, clock, order)?),
            SqlType::Timestamp(_) => Value::Timestamp(datetime_input::parse_timestamp(text, clock, order)?),
            SqlType::TimestampTz(_) => {
                Value::TimestampTz(datetime_input::parse_timestamptz(text, clock, order)?)
            }
            SqlType::Interval(size) => {
                let fields = size.and_then(|size| size.fields);
                let read = |read: &str| Interval::parse(read, text, settings.interval_style);
                Value::Interval(match fields {
                    Some(fields) => read(&fields.with_units(text))?,
                    None => read(text)?,
                })
            }
            SqlType::Enum(ty) => Value::Enum(EnumValue::parse(text, ty)?),
            SqlType::Range(kind) => Value::Range(range_text::parse_range(text, *kind, settings)?),
            SqlType::Multirange(kind) => {
                Value::Multirange(range_text::parse_multirange(text, *kind, settings)?)
            }
            SqlType::Record(ty) => {
                let read = |word: &str, place: usize| Value::parse(word, &ty.fields[place].ty, settings);
                Value::Record(record_input::parse(text, ty, read)?)
            }
            SqlType::Uuid => Value::Uuid(parse_uuid(text)?),
            SqlType::TsVector => Value::Text(TsVector::parse(&strings::checked(text)?)?.to_string()),
            SqlType::TsQuery => Value::Text(TsQuery::parse(&strings::checked(text)?)?.to_string()),
            SqlType::Packed(kind) => Value::Packed(PackedValue::parse(text, *kind, settings)?),
            SqlType::Json => {
                json::check(text)?;
                Value::Text(text.to_string())
            }
            SqlType::Jsonb => Value::Text(json::normalize(text)?),
            SqlType::Array(element) => {
                Value::Array(array::parse(text, |word| Value::parse(word, element, settings))?)
            }
            SqlType::Int2Vector => {
                let elements = text.split(is_space).filter(|element| !element.is_empty());
                Value::Array(
                    elements
                        .map(|element| Value::parse(element, &SqlType::Int2, settings))
                        .collect::<Result<_>>()?,
                )
            }
        };
        precision::fit(value, ty)
    }
}

fn invalid(text: &str, ty: &SqlType) -> Error {
    Error::InvalidText {
        type_name: ty.base_name().to_string(),
        value: text.to_string(),
    }
}

/// Any unambiguous beginning of true, false, yes, no, on, off; 1 and 0.
fn parse_bool(text: &str) -> Result<bool> {
    let word = text.trim_matches(is_space).to_ascii_lowercase();
    let begins = |whole: &str, least: usize| word.len() >= least && whole.starts_with(&word);
    if begins("true", 1) || begins("yes", 1) || begins("on", 2) || word == "1" {
        Ok(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" {
        Ok(false)
    } else {
        Err(invalid(text, &SqlType::Bool))
    }
}

/// As [`parse_integer`]; digits that are too many are told before what stands behind them is.
fn parse_signed(text: &str, ty: &SqlType, min: i64, max: i64) -> Result<i64> {
    let start = text.trim_start_matches(is_space);
    let signs = usize::from(start.starts_with(['+', '-']));
    let digits = start[signs..].bytes().take_while(u8::is_ascii_digit).count();
    let number = &start[..signs + digits];
    if digits > 0 && !number.parse().is_ok_and(|value| (min..=max).contains(&value)) {
        return Err(integer_out_of_range(text, ty));
    }
    parse_integer(text, ty, min, max)
}

/// As C's strtoull reads it, of a base that the text tells, as far as it goes; what is too large is the largest.
fn unsigned(text: &str) -> u64 {
    let start = text.trim_start_matches(is_space);
    let (is_negative, digits) = match start.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, start.strip_prefix('+').unwrap_or(start)),
    };
    let (base, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => (16, &digits[2..]),
        [b'0', ..] => (8, digits),
        _ => (10, digits),
    };
    let mut number = Some(0_u64);
    for digit in digits.chars().map_while(|digit| digit.to_digit(base)) {
        number = number.and_then(|number| number.checked_mul(base.into())?.checked_add(digit.into()));
    }
    match (number, is_negative) {
        (None, _) => u64::MAX,
        (Some(number), true) => number.wrapping_neg(),
        (Some(number), false) => number,
    }
}

fn integer_out_of_range(text: &str, ty: &SqlType) -> Error {
    Error::NumericOutOfRange {
        message: format!("value \"{text}\" is out of range for type {}", ty.base_name()),
        detail: None,
    }
}

fn parse_integer(text: &str, ty: &SqlType, min: i64, max: i64) -> Result<i64> {
    let trimmed = text.trim_matches(is_space);
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid(text, ty));
    }
    trimmed
        .parse()
        .ok()
        .filter(|value| (min..=max).contains(value))
        .ok_or_else(|| integer_out_of_range(text, ty))
}

/// Only the number of a relation is a constant; names are looked up by whoever knows the catalog.
fn parse_regclass(text: &str) -> Result<i64> {
    if text == "-" {
        return Ok(0);
    }
    text.parse::<u32>()
        .map(i64::from)
        .map_err(|_| Error::UndefinedTable {
            name: text.to_string(),
            nearest: None,
        })
}

/// `\x0aff`, blanks between bytes allowed; else bytes as they are, with `\\` and `\ooo`.
fn parse_bytea(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(hex) => parse_hex(hex),
        None => parse_escaped(text.as_bytes()),
    }
}

fn parse_hex(hex: &str) -> Result<Vec<u8>> {
    let odd = || Error::InvalidParameter {
        message: "invalid hexadecimal data: odd number of digits".to_string(),
        hint: None,
    };
    let mut bytes = Vec::with_capacity(hex.len() / 2);
    let mut chars = hex.chars();
    while let Some(high) = chars.next() {
        if is_space(high) {
            continue;
        }
        let high = hex_digit(high)?;
        let low = hex_digit(chars.next().ok_or_else(odd)?)?;
        bytes.push(high << 4 | low);
    }
    Ok(bytes)
}

fn hex_digit(digit: char) -> Result<u8> {
    let value = digit.to_digit(16).and_then(|value| u8::try_from(value).ok());
    value.ok_or_else(|| Error::InvalidParameter {
        message: format!("invalid hexadecimal digit: \"{digit}\""),
        hint: None,
    })
}

fn parse_escaped(text: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, after @ ..] = rest {
        rest = match rest {
            [b'\\', b'\\', after @ ..] => {
                bytes.push(b'\\');
                after
            }
            [
                b'\\',
                a @ b'0'..=b'3',
                b @ b'0'..=b'7',
                c @ b'0'..=b'7',
                after @ ..,
            ] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                after
            }
            [b'\\', ..] => {
                return Err(Error::DataException {
                    state: "22P02",
                    message: "invalid input syntax for type bytea".to_string(),
                });
            }
            _ => {
                bytes.push(*byte);
                after
            }
        };
    }
    Ok(bytes)
}

/// 32 hex digits, a dash allowed behind every four, all of it in braces or not.
fn parse_uuid(text: &str) -> Result<[u8; 16]> {
    let fail = || invalid(text, &SqlType::Uuid);
    let inner = match text.strip_prefix('{') {
        Some(inner) => inner.strip_suffix('}').ok_or_else(fail)?,
        None => text,
    };
    let mut uuid = [0; 16];
    let mut bytes = inner.bytes().peekable();
    for (i, byte) in uuid.iter_mut().enumerate() {
        let mut digit = || {
            let digit = char::from(bytes.next()?).to_digit(16)?;
            u8::try_from(digit).ok()
        };
        *byte = digit()
            .zip(digit())
            .map(|(high, low)| high << 4 | low)
            .ok_or_else(fail)?;
        if i % 2 == 1 && i < 15 {
            bytes.next_if_eq(&b'-');
        }
    }
    if bytes.next().is_some() {
        Err(fail())
    } else {
        Ok(uuid)
    }
}

/// The digits of a number in SQL text, signed or not: an integer when 64 bits hold it, else a numeric. Errors: 22003.
pub(crate) fn number_value(text: &str) -> Result<Value> {
    let text = text.replace('_', "");
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.as_str()),
    };
    let based = [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)]
        .iter()
        .find_map(|(prefix, base)| digits.strip_prefix(prefix).map(|rest| (rest, *base)));
    let whole = match based {
        Some((rest, base)) => i64::from_str_radix(&format!("{sign}{rest}"), base).ok(),
        None => text.parse::<i64>().ok(),
    };
    match whole {
        Some(whole) => Ok(Value::Int(whole)),
        None => Numeric::parse(&text).map(Value::Numeric),
    }
}
