//! Functions that tell of partitioned tables and their partitions.

use super::{FunctionDef, T};
use crate::system::catalog_version::objects::{Found, Objects};
use crate::system::pg_catalog::CatalogContext;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("pg_partition_root", &[T::Regclass], T::Regclass, |b, catalog| {
        b.map1(|oid: i64| ancestors(catalog, oid).last().copied())
    }),
    FunctionDef::catalog_rows(
        "pg_partition_ancestors",
        &[T::Regclass],
        T::Regclass,
        |b, catalog| b.map1(|oid: i64| ancestors(catalog, oid)),
    ),
    FunctionDef::catalog("pg_get_partkeydef", &[T::Oid], T::Text, |b, catalog| {
        b.map1(|oid: i64| {
            let partitioning = catalog.objects().table(oid)?.partitioning.as_ref();
            partitioning.map(|partitioning| partitioning.definition.clone())
        })
    }),
    FunctionDef::catalog(
        "pg_get_partition_constraintdef",
        &[T::Oid],
        T::Text,
        |b, catalog| {
            b.map1(|oid: i64| {
                let partition = catalog.objects().table(oid)?.partition.as_ref();
                partition.and_then(|partition| partition.constraint.clone())
            })
        },
    ),
    // The columns of pg_partition_tree.
    FunctionDef::catalog(
        "pg_partition_tree_relids",
        &[T::Regclass],
        T::Regclass,
        |b, catalog| b.map1(|oid: i64| of_tree(catalog, oid, |node| node.oid)),
    )
    .array(T::Regclass),
    FunctionDef::catalog(
        "pg_partition_tree_parents",
        &[T::Regclass],
        T::Regclass,
        |b, catalog| b.map1(|oid: i64| of_tree(catalog, oid, |node| node.parent)),
    )
    .array(T::Regclass),
    FunctionDef::catalog(
        "pg_partition_tree_leaves",
        &[T::Regclass],
        T::Bool,
        |b, catalog| b.map1(|oid: i64| of_tree(catalog, oid, |node| node.is_leaf)),
    )
    .array(T::Bool),
    FunctionDef::catalog(
        "pg_partition_tree_levels",
        &[T::Regclass],
        T::Int4,
        |b, catalog| b.map1(|oid: i64| of_tree(catalog, oid, |node| node.level)),
    )
    .array(T::Int4),
];

/// The oid of what a relation is a partition of.
fn parent_of(objects: &Objects, oid: i64) -> Option<i64> {
    match objects.find(oid)? {
        Found::Relation(relation) => relation.partition.as_ref().map(|partition| partition.parent),
        Found::Index(_, index) => index.parent,
    }
}

/// A relation that is a partition or has some, and what it is one of, up to the one that is none; of another nothing.
fn ancestors(catalog: &CatalogContext, oid: i64) -> Vec<i64> {
    let objects = catalog.objects();
    let is_partitioned = match objects.find(oid) {
        Some(Found::Relation(relation)) => relation.partitioning.is_some(),
        Some(Found::Index(relation, _)) => relation.partitioning.is_some(),
        None => false,
    };
    let mut chain = vec![oid];
    while let Some(parent) = chain.last().and_then(|oid| parent_of(objects, *oid)) {
        chain.push(parent);
    }
    match chain.len() > 1 || is_partitioned {
        true => chain,
        false => Vec::new(),
    }
}

/// A partitioned table, or a partition, in the tree of one.
struct Node {
    oid: i64,
    parent: Option<i64>,
    is_leaf: bool,
    level: i32,
}

/// What a column of pg_partition_tree has of each relation.
fn of_tree<V>(catalog: &CatalogContext, oid: i64, column: impl Fn(&Node) -> V) -> Vec<V> {
    tree(catalog, oid).iter().map(column).collect()
}

/// A table and its partitions, and those of these, level by level.
fn tree(catalog: &CatalogContext, oid: i64) -> Vec<Node> {
    let objects = catalog.objects();
    let Some(root) = objects
        .table(oid)
        .filter(|table| table.partitioning.is_some() || table.partition.is_some())
    else {
        return Vec::new();
    };
    let node = |oid, parent, level, is_partitioned: bool| Node {
        oid,
        parent,
        is_leaf: !is_partitioned,
        level,
    };
    let parent = root.partition.as_ref().map(|partition| partition.parent);
    let mut nodes = vec![node(oid, parent, 0, root.partitioning.is_some())];
    let mut at = 0;
    while let Some(above) = nodes.get(at) {
        let (parent, level) = (above.oid, above.level + 1);
        let below = objects.relations.iter().filter(|table| {
            let of = table.partition.as_ref();
            of.is_some_and(|of| of.parent == parent)
        });
        let below = below.map(|table| node(table.oid, Some(parent), level, table.partitioning.is_some()));
        let mut below: Vec<Node> = below.collect();
        below.sort_by_key(|node| node.oid);
        nodes.extend(below);
        at += 1;
    }
    nodes
}
