//! Values of settings: from the text that SET gives to the one form that is kept, and back to what SHOW prints.

use super::definition::{SettingDef, SettingKind, Unit};
use crate::types::strings::NAME_BYTES_MAX;
use crate::types::{
    CharacterEncoding, DateStyle, FormatSettings, IntervalRange, SqlType, Value, Zone, name_of_offset,
};
use crate::{Error, Result};

/// Factors of the units a time may be written in, in milliseconds, largest first.
const TIME_UNITS: [(&str, i64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("min", 60_000),
    ("s", 1000),
    ("ms", 1),
];
/// Factors of the units a size may be written in, in bytes, largest first.
const SIZE_UNITS: [(&str, i64); 5] = [
    ("TB", 1 << 40),
    ("GB", 1 << 30),
    ("MB", 1 << 20),
    ("kB", 1 << 10),
    ("B", 1),
];

/// Checks what SET gives and brings it to the form that is kept; `current` is what it replaces. Errors: 22023, 0A000.
pub(super) fn normalize(def: &SettingDef, values: &[String], current: &str) -> Result<String> {
    if let SettingKind::Names = def.kind {
        return Ok(values
            .iter()
            .map(|name| quote_name(name))
            .collect::<Vec<_>>()
            .join(", "));
    }
    if let SettingKind::DateStyle = def.kind {
        return date_style(def, &values.join(","), current);
    }
    let [value] = values else {
        return Err(invalid(format!("SET {} takes only one argument", def.name)));
    };
    match &def.kind {
        SettingKind::Bool => boolean(def, value),
        SettingKind::Integer { min, max, unit } => integer(def, value, (*min, *max), *unit),
        SettingKind::Real { min, max } => real(def, value, *min, *max),
        SettingKind::Enum(words) => one_of(def, value, words),
        SettingKind::PrintableName => Ok(printable(cut_name(value))),
        SettingKind::Text => Ok(value.clone()),
        SettingKind::TimeZone => time_zone(def, value),
        SettingKind::Encoding => encoding(def, value),
        SettingKind::Names | SettingKind::DateStyle => Ok(value.clone()),
    }
}

/// As much of it as a name may be.
pub(super) fn cut_name(value: &str) -> &str {
    &value[..value.floor_char_boundary(NAME_BYTES_MAX)]
}

/// What every client can be told: what prints.
fn printable(value: &str) -> String {
    let printed = |byte: u8| {
        if matches!(byte, b' '..=b'~') {
            char::from(byte)
        } else {
            '?'
        }
    };
    value.bytes().map(printed).collect()
}

/// The value as SHOW prints it: times and sizes in the largest unit that divides them.
pub(super) fn display(def: &SettingDef, value: &str) -> String {
    let SettingKind::Integer { unit, .. } = def.kind else {
        return value.to_string();
    };
    let (units, factor) = units(unit);
    let number = value.parse::<i64>().unwrap_or_default();
    if number <= 0 || units.is_empty() {
        return value.to_string();
    }
    let Some(base) = number.checked_mul(factor) else {
        return value.to_string();
    };
    match units.iter().find(|(_, size)| base % size == 0) {
        Some((name, size)) => format!("{}{name}", base / size),
        None => value.to_string(),
    }
}

/// The schemas of a search_path, in order, without `"$user"` (no user has a schema of its own name yet).
pub(super) fn search_path(value: &str) -> Vec<String> {
    split_names(value)
        .into_iter()
        .filter(|name| name != "$user" && !name.is_empty())
        .collect()
}

/// Names of a list as SET writes it: quoted ones as they stand, others in lower case.
fn split_names(value: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut chars = value.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                while let Some(c) = chars.next() {
                    if c == '"' && chars.next_if_eq(&'"').is_none() {
                        break;
                    }
                    name.push(c);
                }
            }
            ',' => names.push(std::mem::take(&mut name)),
            c if c.is_whitespace() => {}
            c => name.extend(c.to_lowercase()),
        }
    }
    names.push(name);
    names
}

/// A name as it must be written to mean itself. A value that already is a list (`a, "B"`) is kept.
fn quote_name(name: &str) -> String {
    let plain = |c: char| c.is_lowercase() || c.is_ascii_digit() || matches!(c, '_' | ',' | ' ');
    if name.contains('"') || (!name.is_empty() && name.chars().all(plain)) {
        name.to_string()
    } else {
        format!("\"{name}\"")
    }
}

fn boolean(def: &SettingDef, value: &str) -> Result<String> {
    match parse_bool(value) {
        Some(true) => Ok("on".to_string()),
        Some(false) => Ok("off".to_string()),
        None => Err(invalid(format!(
            "parameter \"{}\" requires a Boolean value",
            def.name
        ))),
    }
}

/// PostgreSQL takes any unique prefix of true, false, yes, no, on, off, 1 and 0.
fn parse_bool(value: &str) -> Option<bool> {
    let value = value.trim().to_ascii_lowercase();
    if value.is_empty() || value == "o" {
        return None;
    }
    let is = |words: &[&str]| words.iter().any(|word| word.starts_with(&value));
    if is(&["true", "yes", "1"]) || value == "on" {
        Some(true)
    } else if is(&["false", "no", "0", "off"]) {
        Some(false)
    } else {
        None
    }
}

fn integer(def: &SettingDef, value: &str, (min, max): (i64, i64), unit: Unit) -> Result<String> {
    let text = value.trim();
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, suffix) = (text[..digits].trim(), text[digits..].trim());
    let unusable = || invalid_value(def, value, None);
    let number: f64 = number.parse().map_err(|_| unusable())?;
    let (units, base) = units(unit);
    let factor = if suffix.is_empty() {
        1.0
    } else if suffix == "us" && unit == Unit::Milliseconds {
        0.001
    } else {
        let hint = units
            .iter()
            .rev()
            .map(|(name, _)| format!("\"{name}\""))
            .collect::<Vec<_>>()
            .join(", ");
        let hint = (!units.is_empty()).then(|| format!("Valid units for this parameter are {hint}."));
        let found = units.iter().find(|(name, _)| *name == suffix);
        let (_, size) = found.ok_or_else(|| invalid_value(def, value, hint))?;
        *size as f64 / base as f64
    };
    let number = (number * factor).round();
    if !number.is_finite() || number < min as f64 || number > max as f64 {
        let unit = def.unit().map(|unit| format!(" {unit}")).unwrap_or_default();
        return Err(invalid(format!(
            "{number}{unit} is outside the valid range for parameter \"{}\" ({min} .. {max})",
            def.name
        )));
    }
    Ok((number as i64).to_string())
}

fn real(def: &SettingDef, value: &str, min: i64, max: i64) -> Result<String> {
    let number: f64 = value
        .trim()
        .parse()
        .map_err(|_| invalid_value(def, value, None))?;
    if !(min as f64..=max as f64).contains(&number) {
        return Err(invalid(format!(
            "{number} is outside the valid range for parameter \"{}\" ({min} .. {max})",
            def.name
        )));
    }
    Ok(number.to_string())
}

fn one_of(def: &SettingDef, value: &str, words: &[&str]) -> Result<String> {
    if let Some(word) = words.iter().find(|word| word.eq_ignore_ascii_case(value.trim())) {
        return Ok(word.to_string());
    }
    // An enum with on and off is also set by any Boolean.
    if let Some(truth) = parse_bool(value) {
        let word = if truth { "on" } else { "off" };
        if words.contains(&word) {
            return Ok(word.to_string());
        }
    }
    Err(invalid_value(
        def,
        value,
        Some(format!("Available values: {}.", words.join(", "))),
    ))
}

fn encoding(def: &SettingDef, value: &str) -> Result<String> {
    match CharacterEncoding::named(value) {
        Some(encoding) if encoding.is_known() => Ok(encoding.name().to_string()),
        Some(encoding) => Err(Error::UnknownConversion {
            setting: def.name,
            value: value.to_string(),
            encoding: encoding.name(),
        }),
        None => Err(invalid_value(def, value, None)),
    }
}

/// A form, an order of day, month and year, or both; what is not said stays as it is.
fn date_style(def: &SettingDef, value: &str, current: &str) -> Result<String> {
    let default = DateStyle::default();
    let current = DateStyle::read(current, default, default).unwrap_or_default();
    match DateStyle::read(value, current, default) {
        Some(style) => Ok(style.to_string()),
        None => Err(invalid_value(
            def,
            value,
            Some("Use one of ISO, Postgres, SQL, German, and one of MDY, DMY, YMD.".to_string()),
        )),
    }
}

/// A zone by its name ([`Zone::of_name`]), or so far east of Greenwich: a number of hours, `INTERVAL '…'` and fields that it is of.
fn time_zone(def: &SettingDef, value: &str) -> Result<String> {
    let value = value.trim();
    let east = match value.parse::<f64>() {
        Ok(hours) if hours.is_finite() => Some((hours * 3600.0) as i64),
        _ => interval_east(def, value)?,
    };
    if let Some(east) = east {
        let too_far = || refused_zone(def, value, "UTC timezone offset is out of range.");
        return name_of_offset(east).ok_or_else(too_far);
    }
    match Zone::of_name(value) {
        Some(Zone::Named(zone)) => Ok(zone.name().to_string()),
        Some(_) => Ok(value.to_ascii_uppercase()),
        None => Err(invalid_value(def, value, None)),
    }
}

/// Seconds of `INTERVAL '…'`, which is no text of a zone. Errors: 22007, 22023 for days and months.
fn interval_east(def: &SettingDef, value: &str) -> Result<Option<i64>> {
    let of_interval = value
        .strip_prefix("INTERVAL '")
        .and_then(|rest| rest.rsplit_once('\''));
    let Some((text, fields)) = of_interval else {
        return Ok(None);
    };
    let range = IntervalRange::from_name(fields.trim());
    let text = range.map_or(text.to_string(), |range| range.with_units(text));
    let Value::Interval(interval) =
        Value::parse(&text, &SqlType::Interval(None), &FormatSettings::default())?
    else {
        return Ok(None);
    };
    let interval = range.map_or(interval, |range| range.cut(interval));
    if interval.months != 0 {
        return Err(refused_zone(
            def,
            value,
            "Cannot specify months in time zone interval.",
        ));
    }
    if interval.days != 0 {
        return Err(refused_zone(
            def,
            value,
            "Cannot specify days in time zone interval.",
        ));
    }
    Ok(Some(interval.microseconds / 1_000_000))
}

fn refused_zone(def: &SettingDef, value: &str, detail: &'static str) -> Error {
    Error::RefusedValue {
        state: "22023",
        message: format!("invalid value for parameter \"{}\": \"{value}\"", def.name),
        detail: Some(detail.into()),
        hint: None,
    }
}

/// Names and sizes of the units of a setting, and the size of its base unit, in ms or bytes.
fn units(unit: Unit) -> (&'static [(&'static str, i64)], i64) {
    match unit {
        Unit::None => (&[], 1),
        Unit::Milliseconds => (&TIME_UNITS, 1),
        Unit::Seconds => (&TIME_UNITS, 1_000),
        Unit::Bytes => (&SIZE_UNITS, 1),
        Unit::Kilobytes => (&SIZE_UNITS, 1 << 10),
        Unit::Megabytes => (&SIZE_UNITS, 1 << 20),
        Unit::Pages => (&SIZE_UNITS, 8 << 10),
    }
}

fn invalid_value(def: &SettingDef, value: &str, hint: Option<String>) -> Error {
    Error::InvalidParameter {
        message: format!("invalid value for parameter \"{}\": \"{value}\"", def.name),
        hint,
    }
}

fn invalid(message: String) -> Error {
    Error::InvalidParameter { message, hint: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_paths_fold_and_quote() {
        assert_eq!(search_path("\"$user\", public"), ["public"]);
        assert_eq!(search_path("App, \"My Schema\""), ["app", "My Schema"]);
        assert_eq!(quote_name("public"), "public");
        assert_eq!(quote_name("$user"), "\"$user\"");
        assert_eq!(quote_name("My Schema"), "\"My Schema\"");
        assert_eq!(quote_name(""), "\"\"");
    }

    #[test]
    fn booleans_take_unique_prefixes() {
        assert_eq!(parse_bool("TRUE"), Some(true));
        assert_eq!(parse_bool("of"), Some(false));
        assert_eq!(parse_bool("o"), None);
        assert_eq!(parse_bool("n"), Some(false));
        assert_eq!(parse_bool("maybe"), None);
    }
}
