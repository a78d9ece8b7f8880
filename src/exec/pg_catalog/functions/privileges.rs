//! Privileges: there is no authentication yet, so whoever is connected may do everything.

use super::{Call, Function, Returns, strict};
use crate::Result;
use crate::exec::pg_catalog::session_rows::role_names;
use crate::types::Value;

pub(super) static FUNCTIONS: &[Function] = &[
    strict("has_table_privilege", (2, 3), Returns::Bool, allowed),
    strict("has_any_column_privilege", (2, 3), Returns::Bool, allowed),
    strict("has_column_privilege", (3, 4), Returns::Bool, allowed),
    strict("has_schema_privilege", (2, 3), Returns::Bool, allowed),
    strict("has_database_privilege", (2, 3), Returns::Bool, allowed),
    strict("has_function_privilege", (2, 3), Returns::Bool, allowed),
    strict("has_sequence_privilege", (2, 3), Returns::Bool, allowed),
    strict("has_tablespace_privilege", (2, 3), Returns::Bool, allowed),
    strict("has_type_privilege", (2, 3), Returns::Bool, allowed),
    strict("has_language_privilege", (2, 3), Returns::Bool, allowed),
    strict(
        "has_foreign_data_wrapper_privilege",
        (2, 3),
        Returns::Bool,
        allowed,
    ),
    strict("has_server_privilege", (2, 3), Returns::Bool, allowed),
    strict("has_parameter_privilege", (2, 3), Returns::Bool, allowed),
    strict("pg_has_role", (2, 3), Returns::Bool, allowed),
    strict("row_security_active", (1, 1), Returns::Bool, |_| {
        Ok(Value::Bool(false))
    }),
    strict("acldefault", (2, 2), Returns::AclItems, acl_default),
];

fn allowed(_call: &Call<'_>) -> Result<Value> {
    Ok(Value::Bool(true))
}

/// The privileges an object has when nothing was granted: PostgreSQL's, by the kind of object.
fn acl_default(call: &Call<'_>) -> Result<Value> {
    let owner = call.integer(1)?;
    let roles = role_names(call.catalog.user());
    let name = roles
        .into_iter()
        .find(|(oid, _)| *oid == owner)
        .map_or_else(|| owner.to_string(), |(_, name)| name);
    let (public, own) = match call.text(0)? {
        "c" => ("", ""),
        "r" => ("", "arwdDxt"),
        "s" => ("", "rwU"),
        "d" => ("Tc", "CTc"),
        "f" => ("X", "X"),
        "l" | "T" => ("U", "U"),
        "L" => ("", "rw"),
        "n" => ("", "UC"),
        "p" => ("", "sA"),
        "t" => ("", "C"),
        "F" | "S" => ("", "U"),
        other => {
            return Err(crate::Error::internal(format!(
                "unrecognized object type abbreviation: {other}"
            )));
        }
    };
    let mut items = Vec::new();
    if !public.is_empty() {
        items.push(Value::Text(format!("={public}/{name}")));
    }
    if !own.is_empty() {
        items.push(Value::Text(format!("{name}={own}/{name}")));
    }
    Ok(Value::Array(items))
}
