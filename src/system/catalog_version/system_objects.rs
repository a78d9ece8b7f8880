//! The objects that every database has: relations, types, functions, operators, by oid and by name.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::cells::Cell;
use super::definitions::{PG_CATALOG_OID, definition, static_cells};
use crate::types::SqlType;

/// An object that every database has.
#[derive(Debug, Clone)]
pub(crate) struct SystemObject {
    pub(crate) namespace: i64,
    pub(crate) name: String,
}

/// A type that every database has: what format_type, pg_attribute and information_schema ask about it.
#[derive(Debug, Clone)]
pub(crate) struct SystemType {
    pub(crate) namespace: i64,
    pub(crate) name: String,
    pub(crate) length: i16,
    pub(crate) by_value: bool,
    pub(crate) align: String,
    pub(crate) storage: String,
    pub(crate) collation: i64,
    pub(crate) element: i64,
    pub(crate) is_array: bool,
}

/// The objects that every database has, by oid.
#[derive(Debug)]
pub(crate) struct System {
    pub(crate) classes: HashMap<i64, SystemObject>,
    pub(super) classes_by_name: HashMap<(i64, String), i64>,
    pub(crate) types: HashMap<i64, SystemType>,
    pub(crate) procedures: HashMap<i64, SystemObject>,
    pub(crate) operators: HashMap<i64, SystemObject>,
    pub(crate) collations: HashMap<i64, SystemObject>,
    pub(crate) schemas: Vec<(i64, String)>,
    /// The default btree operator class of a type.
    pub(crate) operator_classes: HashMap<i64, i64>,
}

/// See [`System`].
pub(crate) static SYSTEM: LazyLock<System> = LazyLock::new(|| {
    let classes = named("pg_class", "relname", "relnamespace");
    let classes_by_name = classes
        .iter()
        .map(|(oid, class)| ((class.namespace, class.name.clone()), *oid))
        .collect();
    System {
        classes,
        classes_by_name,
        types: system_types(),
        procedures: named("pg_proc", "proname", "pronamespace"),
        operators: named("pg_operator", "oprname", "oprnamespace"),
        collations: named("pg_collation", "collname", "collnamespace"),
        schemas: read("pg_namespace", &["oid", "nspname"])
            .map(|[oid, name]| (number(&oid), name.unwrap_or_default()))
            .collect(),
        operator_classes: read("pg_opclass", &["opcmethod", "opcdefault", "opcintype", "oid"])
            .filter(|[method, default, _, _]| {
                method.as_deref() == Some("403") && default.as_deref() == Some("t")
            })
            .map(|[_, _, input, oid]| (number(&input), number(&oid)))
            .collect(),
    }
});

/// The oid of pg_catalog or information_schema.
pub(crate) fn system_schema_oid(name: &str) -> Option<i64> {
    SYSTEM
        .schemas
        .iter()
        .find(|(_, schema)| schema == name)
        .map(|(oid, _)| *oid)
}

/// Some columns of a system relation's rows.
pub(crate) fn read<const N: usize>(
    relation: &str,
    columns: &[&str; N],
) -> impl Iterator<Item = [Cell; N]> + use<N> {
    let definition = definition("pg_catalog", relation).expect("the relation stands in relations.txt");
    let positions = columns.map(|column| definition.position(column));
    static_cells("pg_catalog", relation)
        .into_iter()
        .map(move |mut row| positions.map(|position| row.get_mut(position).and_then(Option::take)))
}

fn named(relation: &str, name: &str, namespace: &str) -> HashMap<i64, SystemObject> {
    read(relation, &["oid", name, namespace])
        .map(|[oid, name, namespace]| {
            (
                number(&oid),
                SystemObject {
                    namespace: number(&namespace),
                    name: name.unwrap_or_default(),
                },
            )
        })
        .collect()
}

fn system_types() -> HashMap<i64, SystemType> {
    let columns = [
        "oid",
        "typnamespace",
        "typname",
        "typlen",
        "typbyval",
        "typalign",
        "typstorage",
        "typcollation",
        "typelem",
        "typcategory",
    ];
    read("pg_type", &columns)
        .map(
            |[
                oid,
                namespace,
                name,
                length,
                by_value,
                align,
                storage,
                collation,
                element,
                category,
            ]| {
                let name = name.unwrap_or_default();
                // Arrays of records are of the category of records.
                let is_array =
                    category.as_deref() == Some("A") || number(&element) != 0 && name.starts_with('_');
                let ty = SystemType {
                    namespace: number(&namespace),
                    name,
                    length: number(&length) as i16,
                    by_value: by_value.as_deref() == Some("t"),
                    align: align.unwrap_or_default(),
                    storage: storage.unwrap_or_default(),
                    collation: number(&collation),
                    element: number(&element),
                    is_array,
                };
                (number(&oid), ty)
            },
        )
        .collect()
}

fn number(cell: &Cell) -> i64 {
    cell.as_deref().and_then(|cell| cell.parse().ok()).unwrap_or(0)
}

/// The facts of a type that pg_attribute repeats.
pub(crate) fn type_facts(ty: &SqlType) -> &'static SystemType {
    static TEXT: LazyLock<&'static SystemType> =
        LazyLock::new(|| SYSTEM.types.get(&25).expect("text is a type of every database"));
    static ENUM: LazyLock<SystemType> = LazyLock::new(|| SystemType {
        namespace: 0,
        name: "enum".to_string(),
        length: 4,
        by_value: true,
        align: "i".to_string(),
        storage: "p".to_string(),
        collation: 0,
        element: 0,
        is_array: false,
    });
    static ROW: LazyLock<SystemType> = LazyLock::new(|| SystemType {
        align: "d".to_string(),
        is_array: false,
        ..ENUM_ARRAY.clone()
    });
    static ENUM_ARRAY: LazyLock<SystemType> = LazyLock::new(|| SystemType {
        length: -1,
        by_value: false,
        storage: "x".to_string(),
        is_array: true,
        ..ENUM.clone()
    });
    match (ty, ty.innermost()) {
        (SqlType::Record(_), _) => return &ROW,
        (_, SqlType::Record(_)) => return &ENUM_ARRAY,
        _ => {}
    }
    match (ty.enum_type(), ty) {
        (Some(_), SqlType::Enum(_)) => &ENUM,
        (Some(_), _) => &ENUM_ARRAY,
        (None, ty) => SYSTEM.types.get(&i64::from(ty.oid())).unwrap_or(&TEXT),
    }
}

/// Whether a built-in object's bare name means it.
pub(crate) fn is_in_catalog(object: &SystemObject) -> bool {
    object.namespace == PG_CATALOG_OID
}
