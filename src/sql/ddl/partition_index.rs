//! CREATE INDEX, of tables and of their partitions: each has one of its own like each of its table's, which has no entries itself.

use sqlparser::ast::{
    self, ConstraintCharacteristics, CreateIndex, DeferrableInitial, Expr, Ident, IndexType,
    KeyOrIndexDisplay, NullsDistinctOption, ObjectName, PrimaryKeyConstraint, TableConstraint,
    UniqueConstraint,
};

use super::create_index;
use super::like::{self, LikeIndex};
use crate::catalog::{Access, Deferral, IndexDef, TableDef, counterpart};
use crate::error::StatementFault;
use crate::parse::including;
use crate::parse::names;
use crate::sql::relation::table;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Runs CREATE INDEX.
pub(super) async fn create(ctx: &StatementContext, create: &CreateIndex) -> Result<String> {
    let table = table(ctx, &create.table_name, Access::CreateIndex)?;
    if table.partitioning.is_none() {
        return create_index::execute(ctx, create).await;
    }
    if create.concurrently {
        let message = format!(
            "cannot create index on partitioned table \"{}\" concurrently",
            table.name
        );
        return Err(Error::InvalidStatement {
            state: StatementFault::NotImplemented,
            message,
            hint: Some("Make it CONCURRENTLY on each partition, then on the table.".to_string()),
        });
    }
    // It is one transaction with those of the partitions.
    let mut ctx = ctx.clone();
    ctx.in_block = true;
    let tag = create_index::execute(&ctx, create).await?;
    if ctx.hints.only.is_empty() {
        give_to_partitions(&ctx, table.oid).await?;
    }
    Ok(tag)
}

/// Gives the partitions of a table, which was just changed, the indexes of it that they have not. Errors: those of CREATE INDEX.
async fn give_to_partitions(ctx: &StatementContext, parent: u32) -> Result<()> {
    let now = ctx.clone().seeing_definitions().await?;
    let Some(parent) = now.table_by_oid(parent).cloned() else {
        return Ok(());
    };
    for partition in now.partitions_of(&parent)? {
        for index in Owed::indexes(&parent, &partition)?.indexes {
            Box::pin(create(&now.clone().seeing_definitions().await?, &index)).await?;
        }
    }
    Ok(())
}

/// What a partition is to get of its parent's.
#[derive(Default)]
pub(super) struct Owed {
    pub(super) constraints: Vec<TableConstraint>,
    pub(super) indexes: Vec<CreateIndex>,
}

impl Owed {
    /// The indexes of a parent that a partition has not, those of its constraints as constraints.
    pub(super) fn indexes(parent: &TableDef, child: &TableDef) -> Result<Owed> {
        let mut owed = Owed::default();
        for index in parent.all_indexes().filter(|index| !index.invalid) {
            if index.id == 0 && !index.constraint || counterpart(parent, index, child).is_some() {
                continue;
            }
            let like = like::index_like(parent, index, false)?;
            match index.constraint {
                true => owed.constraints.push(constraint_like(index, like)),
                false => {
                    let name = names::quoted_relation(&child.schema, &child.name);
                    owed.indexes.push(index_statement(name, like));
                }
            }
        }
        Ok(owed)
    }
}

fn index_statement(table_name: ObjectName, like: LikeIndex) -> CreateIndex {
    CreateIndex {
        name: None,
        table_name,
        using: like.inverted.map(|method| IndexType::Custom(Ident::new(method))),
        columns: like.columns,
        unique: like.unique,
        concurrently: false,
        if_not_exists: false,
        include: like
            .include
            .iter()
            .map(|name| Ident::with_quote('"', name))
            .collect(),
        nulls_distinct: like.nulls_not_distinct.then_some(false),
        with: like.buckets.map(buckets_option).into_iter().collect(),
        predicate: like.predicate,
        index_options: Vec::new(),
        alter_options: Vec::new(),
    }
}

/// `buckets = n`.
fn buckets_option(count: u16) -> Expr {
    let number = ast::Value::Number(count.to_string(), false);
    Expr::BinaryOp {
        left: Box::new(Expr::Identifier(Ident::new("buckets"))),
        op: ast::BinaryOperator::Eq,
        right: Box::new(Expr::Value(number.into())),
    }
}

fn constraint_like(index: &IndexDef, like: LikeIndex) -> TableConstraint {
    if index.id == 0 {
        return TableConstraint::PrimaryKey(PrimaryKeyConstraint {
            name: None,
            index_name: None,
            index_type: None,
            columns: like.columns,
            index_options: including(&like.include),
            characteristics: None,
        });
    }
    let characteristics = like.deferral.map(|deferral| ConstraintCharacteristics {
        deferrable: Some(true),
        initially: Some(match deferral {
            Deferral::Immediate => DeferrableInitial::Immediate,
            Deferral::Deferred => DeferrableInitial::Deferred,
        }),
        enforced: None,
    });
    TableConstraint::Unique(UniqueConstraint {
        name: None,
        index_name: None,
        index_type_display: KeyOrIndexDisplay::None,
        index_type: None,
        columns: like.columns,
        index_options: including(&like.include),
        characteristics,
        nulls_distinct: match like.nulls_not_distinct {
            true => NullsDistinctOption::NotDistinct,
            false => NullsDistinctOption::None,
        },
    })
}
