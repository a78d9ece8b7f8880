//! Foreign keys of a table as a statement declares them: what a partition has of its parent's.

use sqlparser::ast::{
    self, ConstraintCharacteristics, ConstraintReferenceMatchKind, DeferrableInitial, Ident,
};

use crate::catalog::{ForeignKey, ReferentialAction, TableDef};
use crate::codec::row::ColumnId;
use crate::parse::{names, set_columns};
use crate::system::StatementContext;

/// The foreign keys of a table, under their names.
pub(super) fn declared(ctx: &StatementContext, table: &TableDef) -> Vec<ast::ForeignKeyConstraint> {
    let keys = table.foreign_keys.iter();
    keys.filter_map(|key| declared_key(ctx, table, key)).collect()
}

fn declared_key(
    ctx: &StatementContext,
    table: &TableDef,
    key: &ForeignKey,
) -> Option<ast::ForeignKeyConstraint> {
    let referenced = ctx.table_by_oid(key.table)?;
    let named = |table: &TableDef, ids: &[ColumnId]| -> Vec<Ident> {
        let columns = ids.iter().filter_map(|id| table.column_index_by_id(*id));
        columns
            .map(|at| Ident::with_quote('"', &table.columns[at].name))
            .collect()
    };
    let set = named(table, &key.set_columns);
    let set = set.iter().map(set_columns::marked);
    Some(ast::ForeignKeyConstraint {
        name: Some(Ident::with_quote('"', &key.name)),
        index_name: None,
        columns: named(table, &key.columns),
        foreign_table: names::quoted_relation(&referenced.schema, &referenced.name),
        referred_columns: named(referenced, &key.referenced)
            .into_iter()
            .chain(set)
            .collect(),
        on_delete: Some(written(key.on_delete)),
        on_update: Some(written(key.on_update)),
        match_kind: key.match_full.then_some(ConstraintReferenceMatchKind::Full),
        characteristics: key.deferrable.then(|| ConstraintCharacteristics {
            deferrable: Some(true),
            initially: key.initially_deferred.then_some(DeferrableInitial::Deferred),
            enforced: None,
        }),
    })
}

fn written(action: ReferentialAction) -> ast::ReferentialAction {
    match action {
        ReferentialAction::NoAction => ast::ReferentialAction::NoAction,
        ReferentialAction::Restrict => ast::ReferentialAction::Restrict,
        ReferentialAction::Cascade => ast::ReferentialAction::Cascade,
        ReferentialAction::SetNull => ast::ReferentialAction::SetNull,
        ReferentialAction::SetDefault => ast::ReferentialAction::SetDefault,
    }
}
