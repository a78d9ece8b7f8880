//! `SavedName`: what an output was called before it was rewritten.

use super::column::RelationAlias;
use super::expr::Expr;

/// The name of an output.
pub struct SavedName {
    relation: Option<RelationAlias>,
    name: String,
}

impl SavedName {
    /// That of this one.
    pub fn of(output: &Expr) -> SavedName {
        let (relation, name) = output.qualified_name();
        SavedName { relation, name }
    }

    /// An output under the name.
    pub fn restore(self, output: Expr) -> Expr {
        let (relation, name) = output.qualified_name();
        match relation == self.relation && name == self.name {
            true => output,
            false => output.alias_qualified(self.relation, self.name),
        }
    }
}
