//! Types by any of their names, those of rows of relations among them, for regtype and for the arguments of regprocedure. Called by `object_name`.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::system::catalog_version::definitions::PG_CATALOG_OID;
use crate::system::catalog_version::objects::{SYSTEM, path_with_catalog};
use crate::system::pg_catalog::CatalogContext;
use crate::system::pg_catalog::naming::split_name;
use crate::types::{SqlType, array_oid_of_rows};

/// Types by name, those of pg_catalog.
static TYPE_NAMES: LazyLock<HashMap<&'static str, i64>> = LazyLock::new(|| {
    SYSTEM
        .types
        .iter()
        .filter(|(_, ty)| ty.namespace == PG_CATALOG_OID)
        .map(|(oid, ty)| (ty.name.as_str(), *oid))
        .collect()
});

/// A type by any of its names: the standard's (`integer`), pg_type's (`int4`), an array's (`int4[]`), a table's.
pub(super) fn find_type(catalog: &CatalogContext, text: &str) -> Option<i64> {
    if let Some(element) = text.strip_suffix("[]") {
        let element = find_type(catalog, element.trim_end())?;
        if let Some(user) = catalog.objects().user_type(element) {
            return Some(i64::from(user.ty.array_oid));
        }
        let Some(element) = SYSTEM.types.get(&element) else {
            return row_array(catalog, element);
        };
        let name = format!("_{}", element.name);
        return TYPE_NAMES.get(name.as_str()).copied();
    }
    let folded = text.trim().to_lowercase();
    let base = folded.split('(').next().unwrap_or(&folded).trim();
    let spelled = folded
        .split_once(')')
        .map_or_else(|| base.to_string(), |(_, suffix)| format!("{base}{suffix}"));
    let plain = spelled.strip_prefix("pg_catalog.").unwrap_or(&spelled);
    if let Ok(Some(ty)) = SqlType::from_name(plain, &[])
        && (!matches!(ty, SqlType::Text) || plain == "text")
    {
        return Some(i64::from(ty.oid()));
    }
    let mut parts = split_name(text)?;
    let name = parts.pop()?;
    let schema = parts.pop();
    let user_type = |name: &str| {
        let path = catalog.search_path();
        catalog.objects().user_type_named(schema.as_deref(), name, path)
    };
    if let Some(found) = user_type(&name) {
        return Some(i64::from(found.oid));
    }
    if let Some(element) = name.strip_prefix('_').and_then(user_type) {
        return Some(i64::from(element.array_oid));
    }
    match schema.as_deref() {
        None | Some("pg_catalog") => TYPE_NAMES.get(name.as_str()).copied(),
        Some(_) => None,
    }
    .or_else(|| find_relation(catalog, schema.as_deref(), &name))
    .or_else(|| {
        let element = name.strip_prefix('_')?;
        row_array(catalog, find_relation(catalog, schema.as_deref(), element)?)
    })
}

/// A relation, whose name is its rows' type's, too.
pub(super) fn find_relation(catalog: &CatalogContext, schema: Option<&str>, name: &str) -> Option<i64> {
    let objects = catalog.objects();
    match schema {
        Some(schema) => objects.relation_oid(catalog.schema_meant(schema), name),
        None => {
            path_with_catalog(catalog.search_path()).find_map(|schema| objects.relation_oid(schema, name))
        }
    }
}

/// The oid of the type of arrays of the rows of a relation.
fn row_array(catalog: &CatalogContext, relation: i64) -> Option<i64> {
    catalog.objects().table(relation)?;
    u32::try_from(relation).ok().map(array_oid_of_rows).map(i64::from)
}
