//! The catalogs that objects stand in, by their oids: with the object's own, what `pg_description` and `pg_depend` name it by.

use crate::system::catalog_version::objects::{SYSTEM, UserColumn, type_facts};

/// pg_class.
pub(crate) const CLASS_CLASS: i64 = 1259;
/// pg_type.
pub(crate) const TYPE_CLASS: i64 = 1247;
/// pg_constraint.
pub(crate) const CONSTRAINT_CLASS: i64 = 2606;
/// pg_trigger.
pub(crate) const TRIGGER_CLASS: i64 = 2620;
/// pg_proc.
pub(crate) const PROCEDURE_CLASS: i64 = 1255;
/// pg_cast.
pub(crate) const CAST_CLASS: i64 = 2605;
/// pg_language.
pub(crate) const LANGUAGE_CLASS: i64 = 2612;
/// Of roles.
pub(crate) const AUTHID_CLASS: i64 = 1260;
/// Of databases.
pub(super) const DATABASE_CLASS: i64 = 1262;
/// pg_extension.
pub(crate) const EXTENSION_CLASS: i64 = 3079;
/// pg_namespace.
pub(crate) const NAMESPACE_CLASS: i64 = 2615;
/// Of access methods.
pub(crate) const ACCESS_METHOD_CLASS: i64 = 2601;
/// Of tablespaces.
pub(crate) const TABLESPACE_CLASS: i64 = 1213;
/// pg_rewrite.
pub(crate) const REWRITE_CLASS: i64 = 2618;
/// pg_attrdef.
pub(crate) const DEFAULT_CLASS: i64 = 2604;

/// Defaults have no number of their own in our catalog: table and attribute make one that is unique among them.
pub(super) fn default_oid(relation: i64, attribute: usize) -> i64 {
    ((relation << 11) | attribute as i64) & i64::from(u32::MAX)
}

/// The attribute of a default of this number, and whether the relation may be its.
pub(crate) fn attribute_of_default(oid: i64, relation: i64) -> Option<usize> {
    let attribute = usize::try_from(oid & 0x7FF).ok()?;
    (default_oid(relation, attribute) == oid).then_some(attribute)
}

/// The oid of the collation of a column; 0: it has none.
pub(super) fn collation_of(column: &UserColumn) -> i64 {
    let of_type = || type_facts(&column.ty).collation;
    let named = column.collation.as_ref().and_then(|name| {
        let mut known = SYSTEM.collations.iter();
        known.find(|(_, known)| known.name == *name).map(|(oid, _)| *oid)
    });
    named.unwrap_or_else(of_type)
}
