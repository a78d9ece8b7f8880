//! `DescribedIndex`: an index as the statement of its table describes it, by a constraint or by LIKE. Called by `create_table`.

use std::collections::BTreeMap;

use super::key::{self, KeyKind, NewUnique};
use super::like::LikeIndex;
use crate::Result;
use crate::catalog::{ColumnDef, Deferral, IndexDef, KeyColumn};
use crate::codec::keyspace::IndexId;
use crate::codec::row::ColumnId;

/// An index as the statement of its table describes it.
pub(super) struct DescribedIndex {
    /// Its name, if given.
    pub(super) name: Option<String>,
    pub(super) columns: Vec<KeyColumn>,
    pub(super) include: Vec<ColumnId>,
    pub(super) unique: bool,
    pub(super) nulls_not_distinct: bool,
    pub(super) constraint: bool,
    pub(super) deferral: Option<Deferral>,
    pub(super) comment: Option<String>,
    /// Options that are only told.
    pub(super) options: BTreeMap<String, String>,
}

impl DescribedIndex {
    /// That of a primary key; `declared`: the statement declares it.
    pub(super) fn primary(columns: Vec<KeyColumn>, include: Vec<ColumnId>, declared: bool) -> DescribedIndex {
        DescribedIndex {
            name: None,
            columns,
            include,
            unique: true,
            nulls_not_distinct: false,
            constraint: declared,
            deferral: None,
            comment: None,
            options: BTreeMap::new(),
        }
    }

    /// With the id and the name that it gets.
    pub(super) fn into_def(self, (id, oid): (IndexId, u32), name: String) -> IndexDef {
        IndexDef {
            include: self.include,
            unique: self.unique,
            nulls_not_distinct: self.nulls_not_distinct,
            constraint: self.constraint,
            deferral: self.deferral,
            options: self.options,
            comment: self.comment,
            ..IndexDef::new(id, oid, name, self.columns)
        }
    }

    /// Whether both make the same constraint of the same keys.
    fn repeats(&self, other: &DescribedIndex) -> bool {
        self.constraint
            && other.constraint
            && self.columns == other.columns
            && self.include == other.include
            && self.nulls_not_distinct == other.nulls_not_distinct
            && self.deferral == other.deferral
    }
}

/// The indexes without those that repeat the primary key or one before them, whose name it takes if it has none.
pub(super) fn without_repeated(
    primary: &mut DescribedIndex,
    indexes: Vec<DescribedIndex>,
) -> Vec<DescribedIndex> {
    let mut kept: Vec<DescribedIndex> = Vec::with_capacity(indexes.len());
    for index in indexes {
        let mut before = std::iter::once(&mut *primary).chain(&mut kept);
        match before.find(|before| before.repeats(&index)) {
            Some(before) => before.name = before.name.take().or(index.name),
            None => kept.push(index),
        }
    }
    kept
}

/// Those of the UNIQUE constraints, then those of LIKE. Errors: as [`key::key_columns`].
pub(super) fn described_indexes(
    unique: Vec<NewUnique>,
    like_indexes: Vec<LikeIndex>,
    columns: &[ColumnDef],
) -> Result<Vec<DescribedIndex>> {
    let mut indexes = Vec::with_capacity(unique.len() + like_indexes.len());
    for NewUnique {
        name,
        columns: written,
        include,
        deferral,
        nulls_not_distinct,
    } in unique
    {
        indexes.push(DescribedIndex {
            name,
            columns: key::key_columns(KeyKind::Unique, &written, columns)?,
            include: key::included_columns(&include, columns)?,
            unique: deferral.is_none(),
            nulls_not_distinct,
            constraint: true,
            deferral,
            comment: None,
            options: BTreeMap::new(),
        });
    }
    for index in like_indexes {
        indexes.push(like_index(index, columns)?);
    }
    Ok(indexes)
}

fn like_index(index: LikeIndex, columns: &[ColumnDef]) -> Result<DescribedIndex> {
    let kind = if index.constraint {
        KeyKind::Unique
    } else {
        KeyKind::Index
    };
    let included = index.include.iter();
    let included = included.filter_map(|name| columns.iter().find(|column| column.name == *name));
    Ok(DescribedIndex {
        name: index.name,
        columns: key::key_columns(kind, &index.columns, columns)?,
        include: included.map(|column| column.id).collect(),
        unique: index.unique,
        nulls_not_distinct: index.nulls_not_distinct,
        constraint: index.constraint,
        deferral: index.deferral,
        comment: index.comment,
        options: index.options,
    })
}
