//! New constraints of ALTER TABLE that are asked when a statement ends: of the rows that are there, once they have their entries.

use super::index::NewIndex;
use crate::Result;
use crate::sql::dml;
use crate::system::StatementContext;

/// The names of new constraints that the entries of their indexes do not keep.
#[derive(Default)]
pub(super) struct Settled {
    deferrable: Vec<String>,
    exclusions: Vec<String>,
}

impl Settled {
    pub(super) fn of(indexes: &[NewIndex]) -> Settled {
        let named = |is_wanted: fn(&NewIndex) -> bool| {
            let wanted = indexes.iter().filter(|index| is_wanted(index));
            wanted.map(|index| index.name.clone()).collect()
        };
        Settled {
            deferrable: named(|index| index.deferral.is_some()),
            exclusions: named(|index| index.exclusion.is_some()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.deferrable.is_empty() && self.exclusions.is_empty()
    }

    /// Whether all rows of the table are as they say. Errors: 23505, 23P01.
    pub(super) async fn verify(&self, ctx: &StatementContext, table: u32) -> Result<()> {
        dml::verify_unrepeated(ctx, table, &self.deferrable).await?;
        dml::verify_exclusions(ctx, table, &self.exclusions).await
    }
}
