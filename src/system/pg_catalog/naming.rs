//! How PostgreSQL reads and writes names: split at their dots, types as `format_type` prints them, sizes as
//! `pg_size_pretty` does. Pure functions, called by rows and catalog functions.

use crate::codec::keyspace::FIRST_OID;
use crate::parse::quoting::{qualified, quote_ident};
use crate::system::catalog_version::definitions::{PG_CATALOG_OID, type_by_catalog_name};
use crate::system::catalog_version::objects::{Objects, SYSTEM, path_with_catalog};
use crate::types::strings::truncate_name;
use crate::types::{TYPES, relation_of_row_array};

/// Splits a possibly quoted, possibly qualified name as `regclass` reads it; unquoted parts fold to lower case, long ones are cut.
/// `None` when it is no name.
pub(crate) fn split_name(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (mut part, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_part(quoted)?,
            None => {
                let end = rest.find(['.', '"']).unwrap_or(rest.len());
                (rest[..end].trim().to_ascii_lowercase(), &rest[end..])
            }
        };
        if part.is_empty() {
            return None;
        }
        truncate_name(&mut part);
        parts.push(part);
        let after = after.trim_start();
        match after.strip_prefix('.') {
            Some(next) => rest = next.trim_start(),
            None if after.is_empty() => return Some(parts),
            None => return None,
        }
    }
}

/// The part up to its closing quote, and what follows.
fn quoted_part(text: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c != '"' {
            part.push(c);
        } else if chars.next_if(|(_, next)| *next == '"').is_some() {
            part.push('"');
        } else {
            return Some((part, &text[at + 1..]));
        }
    }
    None
}

/// A type's name as `format_type` prints it; `modifier` is `None` when the caller gave NULL.
pub(crate) fn format_type(
    oid: i64,
    modifier: Option<i32>,
    objects: &Objects,
    search_path: &[String],
) -> String {
    if oid == 0 {
        return "-".to_string();
    }
    if let Some(ty) = SYSTEM.types.get(&oid) {
        if ty.is_array && ty.element != 0 && ty.storage != "p" {
            return format!("{}[]", format_type(ty.element, modifier, objects, search_path));
        }
        if let Some(name) = sql_type_name(oid, &ty.name, modifier) {
            return name;
        }
        let visible =
            path_with_catalog(search_path).any(|schema| objects.schema_oid(schema) == Some(ty.namespace));
        let name = if ty.namespace == PG_CATALOG_OID || visible {
            quote_ident(&ty.name)
        } else {
            qualified(&objects.schema_name(ty.namespace).unwrap_or_default(), &ty.name)
        };
        return name + &plain_modifier(modifier);
    }
    if let Some(user) = objects.user_type(oid) {
        let name = match user.is_visible(objects, search_path) {
            true => quote_ident(&user.ty.name),
            false => qualified(&user.ty.schema, &user.ty.name),
        };
        return name + if user.is_array { "[]" } else { "" };
    }
    // The row type of a table shares its oid, of which that of arrays is made.
    let (relation, brackets) = match relation_of_row_array(oid) {
        Some(relation) => (relation, "[]"),
        None => (oid, ""),
    };
    // The catalogs' relations have types of other oids.
    let name = match relation >= i64::from(FIRST_OID) {
        true => objects.relation_display_name(relation, search_path),
        false => None,
    };
    match name {
        Some(name) => name + brackets,
        None => "???".to_string(),
    }
}

/// The names that the SQL standard gives types, with their modifiers.
fn sql_type_name(oid: i64, catalog_name: &str, modifier: Option<i32>) -> Option<String> {
    let given = modifier.filter(|modifier| *modifier >= 0);
    let length = given
        .map(|modifier| format!("({})", modifier - 4))
        .unwrap_or_default();
    let precision = given.map(|modifier| format!("({modifier})")).unwrap_or_default();
    Some(match catalog_name {
        "bpchar" if modifier == Some(-1) => "bpchar".to_string(),
        "bpchar" => format!("character{length}"),
        "varchar" => format!("character varying{length}"),
        "numeric" => match given {
            Some(modifier) => {
                let packed = modifier - 4;
                format!(
                    "numeric({},{})",
                    (packed >> 16) & 0xffff,
                    ((packed & 0x7ff) ^ 1024) - 1024
                )
            }
            None => "numeric".to_string(),
        },
        "time" => format!("time{precision} without time zone"),
        "timetz" => format!("time{precision} with time zone"),
        "timestamp" => format!("timestamp{precision} without time zone"),
        "timestamptz" => format!("timestamp{precision} with time zone"),
        "interval" => type_by_catalog_name(catalog_name, modifier.unwrap_or(-1)).name(),
        "bit" if modifier == Some(-1) => "\"bit\"".to_string(),
        "bit" => format!("bit{precision}"),
        "varbit" => format!("bit varying{precision}"),
        _ => {
            let row = TYPES.iter().find(|row| i64::from(row.oid) == oid)?;
            (row.sql_name != row.catalog_name)
                .then(|| row.sql_name.to_string() + &plain_modifier(modifier))?
        }
    })
}

fn plain_modifier(modifier: Option<i32>) -> String {
    modifier
        .filter(|modifier| *modifier >= 0)
        .map(|modifier| format!("({modifier})"))
        .unwrap_or_default()
}

/// A number of bytes as `pg_size_pretty` prints it.
pub(crate) fn size_pretty(bytes: i128) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes.unsigned_abs() < 10 * 1024 {
        return format!("{bytes} bytes");
    }
    // Half-units, cut off toward zero: PostgreSQL rounds half away from zero at the last step.
    let mut halves = bytes / 512;
    let mut unit = 0;
    while halves.unsigned_abs() >= 20 * 1024 - 1 && unit + 1 < UNITS.len() {
        halves /= 1024;
        unit += 1;
    }
    let rounded = (halves + halves.signum()) / 2;
    format!("{rounded} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_split_into_folded_parts() {
        let parts = |text| split_name(text).map(|parts| parts.join("|"));
        assert_eq!(parts("Public.Orders").as_deref(), Some("public|orders"));
        assert_eq!(parts("\"A.b\".c").as_deref(), Some("A.b|c"));
        assert_eq!(parts("\"a\"\"b\"").as_deref(), Some("a\"b"));
        assert_eq!(parts(""), None);
        assert_eq!(parts("a..b"), None);
        assert_eq!(parts("\"a"), None);
    }

    #[test]
    fn sizes_round_as_postgresql_does() {
        let cases = [
            (0, "0 bytes"),
            (10239, "10239 bytes"),
            (10240, "10 kB"),
            (16384, "16 kB"),
            (10485247, "10239 kB"),
            (10485248, "10 MB"),
            (1073741824, "1024 MB"),
            (-10485248, "-10 MB"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(size_pretty(bytes), expected);
        }
    }
}
