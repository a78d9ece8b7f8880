//! Which index of a partition is that of its parent: nothing records it, the definitions say it.

use super::{ColumnDefault, IndexDef, TableDef};

/// The index of a partition that is like this one of its parent: over the same columns, by their names, in the same order.
pub fn counterpart<'c>(parent: &TableDef, index: &IndexDef, child: &'c TableDef) -> Option<&'c IndexDef> {
    let wanted = Shape::of(parent, index);
    let mut indexes = child.all_indexes().filter(|own| !own.invalid);
    indexes.find(|own| (own.id == 0) == (index.id == 0) && Shape::of(child, own) == wanted)
}

/// Whether conditions bound a key of the one table where they bound one of the other: each has what the other has, and it can be read.
pub fn have_like_keys(one: &TableDef, other: &TableDef) -> bool {
    let can_be_read = |index: &IndexDef| index.is_complete() && index.buckets.is_none();
    let is_like = |index: &IndexDef| {
        let like = counterpart(one, index, other);
        can_be_read(index) && like.is_some_and(can_be_read)
    };
    one.all_indexes().count() == other.all_indexes().count() && one.all_indexes().all(is_like)
}

/// What two indexes have in common that are like one another.
#[derive(PartialEq)]
struct Shape<'t> {
    keys: Vec<(&'t str, bool, bool)>,
    include: Vec<&'t str>,
    predicate: Option<&'t str>,
    unique: bool,
    constraint: bool,
    inverted: bool,
}

impl<'t> Shape<'t> {
    fn of(table: &'t TableDef, index: &'t IndexDef) -> Shape<'t> {
        let name = |id| {
            let column = table.column_index_by_id(id).map(|at| &table.columns[at]);
            match column.map(|column| (column, &column.default)) {
                Some((column, Some(ColumnDefault::Generated(generation)))) if column.hidden => {
                    generation.sql.as_str()
                }
                Some((column, _)) => column.name.as_str(),
                None => "",
            }
        };
        let shown = index.columns.iter();
        Shape {
            keys: shown
                .map(|key| (name(key.column), key.descending, key.nulls_first))
                .collect(),
            include: index.include.iter().map(|id| name(*id)).collect(),
            predicate: index.predicate.as_ref().map(|predicate| predicate.text.as_str()),
            unique: index.unique || index.deferral.is_some(),
            constraint: index.constraint,
            inverted: index.terms.is_some(),
        }
    }
}
